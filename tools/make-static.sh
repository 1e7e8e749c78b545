#!/bin/sh
# Usage: make-static.sh OUT.a CC [ARG ...] -- libclew-ROOM.a ...: the rooms as one object in an archive. Its hidden symbols become local, so
# that a program's own functions may have the names of ours.
set -e
out=$1
shift
cc=
while [ "$1" != -- ]; do
	cc="$cc $1"
	shift
done
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# shellcheck disable=SC2086 # a command is a list of words
$cc -r -nostdlib -o "$dir/clew.o" -Wl,--whole-archive "$@" -Wl,--no-whole-archive
$($cc -print-prog-name=objcopy) --localize-hidden "$dir/clew.o"
rm -f "$out"
$($cc -print-prog-name=ar) rcs "$out" "$dir/clew.o"
