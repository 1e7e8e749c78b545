#!/bin/sh
# Usage: ipt_truth.sh IPT_TRUTH [SETS_DIR]: run real x86 programs under qemu-x86_64 and qemu-i386, make Intel PT of what they executed in many
# configurations, decode, compare each instruction; then again by libipt's rule of returns, and with libipt. With SETS_DIR: write small sets
# there, which `make check` decodes. `make truth-pt` is this. Recordings take up to 500 MB in $TMPDIR at a time. SEEDS: configurations of each.
set -eu
tool=$1 sets=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
start=$(date +%s)
SEEDS=${SEEDS:-4}
has_libipt=yes i386='' qemu=qemu-x86_64
"$tool" --can-libipt || has_libipt=
"${CC:-cc}" -shared -fPIC -O2 -Wall -Wextra -fvisibility=hidden -o "$work/exec_plugin.so" "$here/exec_plugin.c" -pthread

# build NAME PROGRAM "FLAGS" ["LIBRARIES"]
build() {
	# shellcheck disable=SC2086 # flags are words
	"${CC:-cc}" -Wall -Wl,--build-id=none -o "$work/$1" $3 "$here/progs/$2.c" ${4--lm -pthread}
}

# record PROGRAM ROUNDS: the streams are $work/run.*
record() {
	rm -f "$work"/run.*
	"$qemu" -plugin "$work/exec_plugin.so,out=$work/run" "$work/$1" "$2" > /dev/null
}

# try PROGRAM VCPU SEED [--libipt]: a line for the table
try() {
	# shellcheck disable=SC2086 # nothing, or a word
	"$tool" "$work/run" "$2" "$3" $i386 ${4:-} > "$work/line" || {
		echo "$1, thread $2, seed $3 ${4:-}: WRONG"
		echo wrong >> "$work/wrong"
		return
	}
	read -r insns bytes encode decode < "$work/line"
	echo "$1 $2 $3 $insns $bytes $encode $decode ${4:-own}" >> "$work/all"
}

# each PROGRAM ROUNDS: every thread in SEEDS configurations
each() {
	record "$1" "$2"
	for stream in "$work"/run.[0-9]*; do
		for seed in $(seq 1 "$SEEDS"); do
			try "$1" "${stream##*.}" "$seed"
			[ -z "$has_libipt" ] || try "$1" "${stream##*.}" "$seed" --libipt
		done
	done
	awk -v p="$1" '$1 == p { n[$8] += $4; b += $5; d[$8] += $7; if ($3 == 1 && $8 == "own") once += $4 }
		END { printf "%-12s %11d executed, %11d compared, %11d with libipt, %9d bytes, decoded in %d ms\n",
			p, once, n["own"], n["--libipt"], b, d["own"] }' "$work/all"
}

# set_of NAME PROGRAM ROUNDS VCPU SEED
set_of() {
	record "$2" "$3"
	"$tool" "$work/run" "$4" "$5" "$sets/$1" > /dev/null
}

build work work "-O1 -static"
build work-cet work "-O2 -static -fcf-protection=full"
build work-dynamic work "-O2"
build threads threads "-O1 -static"
build jit jit_x86 "-O1 -static"
if [ -n "$sets" ]; then
	mkdir -p "$sets"
	set_of threads threads 1 0 3
	set_of jit jit 4 0 2
	ls -l "$sets"
	exit
fi
for run in "work 60" "work-cet 30" "work-dynamic 30" "threads 12" "jit 3000"; do
	# shellcheck disable=SC2086 # two words
	each $run
done
# 32-bit code needs no C library for 32 bits.
build bare bare_i386 "-m32 -O1 -static -nostdlib -ffreestanding -fno-pic -no-pie -fno-stack-protector" "" && {
	i386=--i386 qemu=qemu-i386
	each bare 1
}
awk '{ n[$8] += $4; if ($3 == 1 && $8 == "own") once += $4 }
	END { printf "all: %d instructions executed, %d compared, %d with libipt\n", once, n["own"], n["--libipt"] }' "$work/all"
echo "$(($(date +%s) - start)) s, $(grep -c . "$work/wrong" 2> /dev/null || echo 0) streams wrong"
[ ! -e "$work/wrong" ]
