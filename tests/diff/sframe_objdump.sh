#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: sframe_objdump.sh CLEW SEEDS: random amd64 sections of our own writer, printed by clew and by this machine's objdump,
# white space aside. Sections of versions that this objdump does not read (2.40: only 1) are left out. TAP.
clew=$1 seeds=$2
if ! objdump --help 2>&1 | grep -q -- --sframe || ! command -v objcopy as > /dev/null; then
	echo "1..0 # SKIP no objdump --sframe here"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/seeds"
"$seeds" "$work/seeds"
as -o "$work/empty.o" /dev/null 2> /dev/null || { echo "1..0 # SKIP as does not make x86-64 objects here"; exit 0; }
nr=0
wrong=
for seed in "$work"/seeds/*; do
	tail -c +2 "$seed" > "$work/section"
	[ "$(od -An -tu1 -j4 -N1 "$work/section" | tr -d ' ')" = 3 ] || continue
	objcopy --add-section .sframe="$work/section" "$work/empty.o" "$work/file.o"
	objdump --sframe "$work/file.o" > "$work/want" 2> /dev/null
	grep -q SFRAME_VERSION "$work/want" || continue
	nr=$((nr + 1))
	"$clew" sframe dump "$work/file.o" > "$work/got"
	[ "$(tr -d ' \n' < "$work/want")" = "$(tr -d ' \n' < "$work/got")" ] || wrong="$wrong $(basename "$seed")"
done
if [ $nr = 0 ]; then
	echo "1..0 # SKIP this objdump reads none of the versions"
elif [ -z "$wrong" ]; then
	echo "ok 1 - $nr sections, the text of $(objdump --version | sed 1q)"
	echo 1..1
else
	echo "not ok 1 - $nr sections"
	echo "# differ:$wrong"
	echo 1..1
	exit 1
fi
