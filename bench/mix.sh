#!/bin/sh
# Usage: mix.sh WORKLOAD SECONDS DIR: real programs for the benchmarks to record, side by side, for SECONDS:
# a threaded program with frame pointers, a compiler, an interpreter, a compressor, a sort, short-lived shells.
workload=$1 seconds=$2 dir=$3
mkdir -p "$dir"

{
	echo '#include <stdio.h>'
	i=0
	while [ $i -lt 300 ]; do
		echo "int f$i(int x) { for (int i = 0; i < x; i++) x = x * 31 + i % ($i + 1); printf(\"%d\", x); return x; }"
		i=$((i + 1))
	done
} > "$dir/many.c"
seq 300000 | awk '{ printf "%d %d\n", ($1 * 7919) % 1000003, $1 }' > "$dir/numbers"

again() { while :; do "$@" > "$dir/out.$1" 2>&1 || :; done; }
compile() { cc -O2 -c "$dir/many.c" -o "$dir/many.o"; }
crunch() {
	xz -k -f -3 "$dir/numbers"
	sort -n -k1 "$dir/numbers"
	python3 -c 'import json; t = json.dumps([{str(i): list(range(i % 50))} for i in range(20000)]); json.loads(t)'
}
spawn() { for where in / /etc /usr; do ls $where | wc -l; done; }

again compile & jobs=$!
again crunch & jobs="$jobs $!"
again spawn & jobs="$jobs $!"
"$workload" "$seconds" 8 > "$dir/out.workload"
# shellcheck disable=SC2086 # a list of numbers
kill $jobs
wait
