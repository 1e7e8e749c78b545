#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perfdata_files_test.sh CLEW FOLDER...
# Each recording in the folders goes through header, evlist, script and report: status 0 and no error; those that are
# damaged or no recordings: status 1 and exactly one error, with an offset where there is one. TAP.
clew=$1
shift
. "$(dirname "$0")/../tap.sh"

run() {
	"$clew" "$1" -i "$2" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	errors=$(grep -c '^clew: error: ' "$dir/err")
}

good() {
	for command in header evlist script report; do
		run $command "$1"
		[ "$status" = 0 ] && [ "$errors" = 0 ]
		check $? "$command $(basename "$1")"
	done
}

bad() {
	for command in header evlist script report; do
		run $command "$1"
		[ "$status" = 1 ] && [ "$errors" = 1 ] && grep -q "$2" "$dir/err"
		check $? "$command $(basename "$1") is refused once: $(grep -m 1 '^clew: error' "$dir/err" | sed "s|$1|FILE|")"
	done
}

for folder; do
	for file in "$folder"/*data*; do
		[ -f "$file" ] || continue
		case $file in
		*corrupted*) bad "$file" 'offset 0x' ;;
		*perf_inject.data) bad "$file" 'not a perf.data file' ;;
		*) good "$file" && [ -n "$("$clew" script -i "$file" 2>/dev/null | head -n 1)" ] && whole=$file ;;
		esac
	done
done
[ $count != 0 ] || skip_all "no recordings here"
printf 'PERFILE2' >"$dir/short.data"
: >"$dir/empty.data"
bad "$dir/short.data" 'not a perf.data file'
bad "$dir/empty.data" 'empty'
printf 'PERFILE3%64s' '' >"$dir/newer.data"
bad "$dir/newer.data" 'of a version'
bad "$dir" 'not a regular file'
for command in --help version evlist header 'header --json' report script; do
	"$clew" $command -i "$whole" >/dev/full 2>"$dir/err"
	[ $? = 1 ] && [ "$(grep -c '^clew: error' "$dir/err")" = 1 ]
	check $? "$command reports a full disk"
done
tap_done
