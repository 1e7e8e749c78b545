#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perfdata_stats.sh CLEW FILE-OR-FOLDER...
# For each recording that perf reads to its end: as many records of each type as `perf report --stats` counts. TAP.
clew=$1
shift
. "$(dirname "$0")/../tap.sh"
perf --version >/dev/null 2>&1 || skip_all "no perf here"

# Only the first table: the ones after it are by event. perf counts a HEADER_END for its own use.
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
	check_same "$(basename "$1"): $(wc -l <"$dir/got") types"
}

for arg; do
	[ -d "$arg" ] && set -- "$arg"/*data* || set -- "$arg"
	for file; do
		[ -f "$file" ] && compare "$file"
	done
done
[ $count != 0 ] || skip_all "no recordings here"
tap_done
