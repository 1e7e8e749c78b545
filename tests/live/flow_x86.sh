#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: flow_x86.sh FLOW_X86_TEST [STEPS]
#
# Single-steps programs of several kinds, STEPS instructions (20000000) in all, and holds the flow
# engine to each of them (tests/live/flow_x86_test.c). Programs that are not installed are left out.
test=$1
want=${2:-20000000}
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
PATH=/usr/bin:$PATH # not a wrapper script in front of it
total=0 failed=0 nr=0

# The input of the programs that need one.
seq 1 20000 | awk '{ print ($1 * 7919) % 20011, "line", $1 }' > "$dir/lines"
sed 's/.*/int f&(int x) { switch (x) { case 1: return x * 3; default: return x ? f&(x - 1) : 0; } }/' > "$dir/in.c" <<EOF
$(seq 1 300)
EOF

# step MOST PROGRAM [ARGUMENT...]
step() {
	most=$1
	shift
	[ "$total" -lt "$want" ] || return 0
	program=$(command -v "$1") || return 0
	shift
	[ $((want - total)) -ge "$most" ] || most=$((want - total))
	if ! "$test" "$most" "$program" "$@" > "$dir/out" 2>&1; then
		cat "$dir/out"
		failed=1
		return 0
	fi
	if grep -q '^1\.\.0 # SKIP' "$dir/out"; then
		cat "$dir/out"
		exit 0
	fi
	steps=$(sed -n 's/^ok 1 - .*: \([0-9]*\) instructions.*/\1/p' "$dir/out")
	total=$((total + ${steps:-0}))
	nr=$((nr + 1))
	printf '# %-10s %9d of %d instructions\n' "${program##*/}" "$total" "$want"
}

PYTHONHASHSEED=0 step 4000000 python3 -c 'import json; json.dumps([{str(i): [i] * 3} for i in range(20000)])'
step 4000000 bash -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); a[i % 50]=x$i; done'
step 4000000 "$(gcc -print-prog-name=cc1 2> /dev/null || echo cc1)" -quiet -O2 "$dir/in.c" -o /dev/null
step 4000000 openssl dgst -sha512 "$dir/lines" "$dir/in.c"
step 4000000 sort -k 3 --parallel=1 "$dir/lines"
step 3000000 perl -e '$h{$_ % 997} .= "$_," for 1 .. 100000; print join "\n", sort keys %h'
step 3000000 awk '{ n[$1 % 100] += $3 } END { for (i in n) print i, n[i] }' "$dir/lines"
step 3000000 gzip -9 -c "$dir/lines"
step 3000000 sed -n 's/\(.*\)line\(.*\)/\2 \1/p' "$dir/lines"
# Whatever is missing above: the rest.
step 20000000 python3 -c 'print(sum(len(str(i * i)) for i in range(3000000)))'

[ "$total" -ge "$want" ] || failed=1
[ "$failed" -eq 0 ] && echo "ok 1 - $nr programs, $total instructions as they ran" || echo "not ok 1 - $nr programs, $total of $want instructions"
echo "1..1"
exit $failed
