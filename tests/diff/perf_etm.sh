#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perf_etm.sh CLEW DATA: the ranges that clew finds in recordings with ETM trace are those between perf's branches, in the
# recording's own form and as perf's text of 6.1 (perf_etm.branches.txt), and as the perf of this machine says, if it can decode.
clew=$1 data=$2/simpleperf-etm nr=0 failed=0

check() { # NAME WANT GOT
	nr=$((nr + 1))
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		failed=1
	fi
}
skip() { nr=$((nr + 1)); echo "ok $nr - $1 # SKIP $2"; }

# "FROM => TO" a line: what ran between two of them. A branch from 0 begins trace.
ranges_of_branches() {
	awk '{
		for (i = 2; i < NF && $i != "=>"; i++)
			;
		if (i < NF && $(i - 1) != "0")
			print to, $(i - 1)
		to = $(i + 1)
	}'
}
# The same of clew: the last instruction in place of the end; without the last range, after which perf prints no branch; joined
# where a branch was not taken, which perf leaves out.
ranges_of_clew() {
	"$clew" trace --ranges --events=none --symfs "$data/symfs" -i - < "$1" | python3 -c 'import sys
rows = []
for line in sys.stdin:
	start, end = (int(x, 16) for x in line.split()[1:3])
	if rows and rows[-1][1] == start:
		rows[-1][1] = end
	else:
		rows.append([start, end])
for start, end in rows[:-1]:
	print("%x %x" % (start, end - 4))'
}

if [ ! -d "$data" ]; then
	echo "1..0 # SKIP no $data"
	exit 0
fi
want=$(ranges_of_branches < "$data/perf_etm.branches.txt")
check "perf prints 206 branches that come from somewhere" 206 "$(echo "$want" | wc -l)"
for file in perf_etm.data perf_etm.fixed.data; do
	check "$file: the ranges of perf 6.1" "$want" "$(ranges_of_clew "$data/$file")"
done
if live=$(perf script --symfs "$data/symfs" -i "$data/perf_etm.fixed.data" -F ip,addr 2>/dev/null) && [ -n "$live" ]; then
	check "the ranges of this machine's perf" "$(echo "$live" | ranges_of_branches)" "$(ranges_of_clew "$data/perf_etm.data")"
else
	skip "the ranges of this machine's perf" "it decodes no CoreSight"
fi

# What is not there is said, and is no failure of the rest.
said=$("$clew" trace --ranges --symfs "$data" -i "$data/perf_kernel.data" 2>&1)
check "perf_kernel.data: the stretches of rq_stats.ko" 9 "$(echo "$said" | grep -c '^1c ffffff99f5897')"
check "and nothing that does not fit" 3 "$(echo "$said" | grep -c 'EVENT no_sync')"
check "the kernel itself is not there" 4740 "$(echo "$said" | grep -c 'EVENT addr_nacc')"
said=$("$clew" trace --ranges -i "$data/perf_with_missing_aux_data.data" 2>&1)
check "AUX records without trace" 1 "$(echo "$said" | grep -c 'not in the file .*6 times')"
echo "1..$nr"
exit $failed
