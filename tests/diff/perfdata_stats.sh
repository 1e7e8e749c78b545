#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perfdata_stats.sh CLEW FILE-OR-FOLDER...
# For each recording that perf reads to its end: as many records of each type as `perf report --stats` counts. TAP.
clew=$1
shift
if ! perf --version >/dev/null 2>&1; then
	echo '1..0 # SKIP no perf here'
	exit 0
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
count=0
failed=0

# Only the first table: the ones behind it are by event. perf counts a HEADER_END for its own use.
perf_counts() {
	perf report --stats -i "$1" 2>"$dir/err" | awk '
		/^Aggregated stats/ { on = 1; next }
		/ stats:$/ { on = 0 }
		on && $2 == "events:" && $1 != "TOTAL" { print $1, $3 }' | sort
}

clew_counts() {
	"$clew" header -i "$1" 2>/dev/null | awk '/^#   [A-Z]/ { print $2, $4 }' | sort
}

compare() {
	perf_counts "$1" >"$dir/want"
	[ -s "$dir/want" ] || return
	clew_counts "$1" >"$dir/got"
	count=$((count + 1))
	if cmp -s "$dir/want" "$dir/got"; then
		echo "ok $count - $(basename "$1"): $(wc -l <"$dir/got") types"
	else
		echo "not ok $count - $(basename "$1")"
		diff "$dir/want" "$dir/got" | sed 's/^/# /'
		sed 's/^/# perf: /' "$dir/err" | head -3
		failed=1
	fi
}

for arg; do
	[ -d "$arg" ] && set -- "$arg"/*data* || set -- "$arg"
	for file; do
		[ -f "$file" ] && compare "$file"
	done
done
if [ $count = 0 ]; then
	echo '1..0 # SKIP no recordings here'
	exit 0
fi
echo "1..$count"
exit $failed
