#!/bin/sh
# Usage: truth.sh ETM_TRUTH [SETS_DIR]: run real AArch64 programs under qemu-aarch64, trace what they executed in many
# configurations, decode, compare each instruction. With SETS_DIR: write small sets there, which `make check` decodes.
# `make truth` is this. Recordings take up to 500 MB in $TMPDIR at a time. SEEDS: configurations of each recording.
set -eu
tool=$1 sets=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
start=$(date +%s)
SEEDS=${SEEDS:-4}
"${CC:-cc}" -shared -fPIC -O2 -Wall -Wextra -fvisibility=hidden -o "$work/exec_plugin.so" "$here/exec_plugin.c" -pthread

# build NAME PROGRAM "FLAGS"
build() {
	# shellcheck disable=SC2086 # flags are words
	aarch64-linux-gnu-gcc -Wall -Wl,--build-id=none -o "$work/$1" $3 "$here/progs/$2.c" -lm -pthread
}

# record PROGRAM ROUNDS: the streams are $work/run.*
record() {
	rm -f "$work"/run.*
	qemu-aarch64 -L /usr/aarch64-linux-gnu -plugin "$work/exec_plugin.so,out=$work/run" "$work/$1" "$2" > /dev/null
}

# each PROGRAM ROUNDS: every thread in SEEDS configurations; a line for the table
each() {
	record "$1" "$2"
	for stream in "$work"/run.[0-9]*; do
		for seed in $(seq 1 "$SEEDS"); do
			"$tool" "$work/run" "${stream##*.}" "$seed" > "$work/line" || {
				echo "$1 $2, thread ${stream##*.}, seed $seed: WRONG"
				echo wrong >> "$work/wrong"
				continue
			}
			read -r insns bytes encode decode < "$work/line"
			echo "$1 ${stream##*.} $seed $insns $bytes $encode $decode" >> "$work/all"
		done
	done
	awk -v p="$1" '$1 == p { n += $4; b += $5; d += $7; if ($3 == 1) once += $4 }
		END { printf "%-16s %11d executed, %11d compared, %9d bytes, decoded in %d ms\n", p, once, n, b, d }' "$work/all"
}

# set_of NAME PROGRAM ROUNDS VCPU SEED
set_of() {
	record "$2" "$3"
	"$tool" "$work/run" "$4" "$5" "$sets/$1" > /dev/null
}

build work work "-O1 -static"
build work-auth work "-O2 -static -march=armv8.3-a -mbranch-protection=standard"
build work-dynamic work "-O2"
build threads threads "-O1 -static"
build jit jit "-O1 -static"
if [ -n "$sets" ]; then
	mkdir -p "$sets"
	set_of work work-auth 1 0 4
	set_of threads threads 1 1 3
	set_of jit jit 12 0 2
	ls -l "$sets"
	exit
fi
for run in "work 500" "work-auth 250" "work-dynamic 250" "threads 60" "jit 3000"; do
	# shellcheck disable=SC2086 # two words
	each $run
done
awk '{ n += $4; if ($3 == 1) once += $4 } END { printf "all: %d instructions executed, %d compared\n", once, n }' "$work/all"
echo "$(($(date +%s) - start)) s, $(grep -c . "$work/wrong" 2> /dev/null || echo 0) streams wrong"
[ ! -e "$work/wrong" ]
