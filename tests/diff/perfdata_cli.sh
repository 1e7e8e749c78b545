#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perfdata_cli.sh CLEW FILE-OR-FOLDER-OR-PROGRAM...
# A program is one that writes recordings into the folder it is given.
# For each recording that perf reads: `clew evlist` in all its forms and `clew header` print what perf prints. TAP.
clew=$1
shift
. "$(dirname "$0")/../tap.sh"
perf --version >/dev/null 2>&1 || skip_all "no perf here"

# perf 6.1 has no name for this bit, clew has.
known() {
	sed 's/|TRANSACTION//; s/TRANSACTION|//'
}

# In a pipe perf 6.1 evlist names the events by their attrs (by their description everywhere else), and of an attr that
# is shorter than its own it takes the last fields from what follows: compare what stands between.
middle() {
	sed 's/^[^ ]*: //; s/ sample_id_all: 1.*//'
}

is_pipe() {
	[ "$(head -c 16 "$1" | od -An -tx1 -j8 | tr -d ' \n')" = 1000000000000000 ]
}

compare_evlist() {
	perf evlist -i "$1" "$2" 2>/dev/null | sed "s/'perf evlist/'clew evlist/" >"$dir/want.all"
	[ -s "$dir/want.all" ] || return
	"$clew" evlist -i "$1" "$2" 2>/dev/null >"$dir/got.all"
	if is_pipe "$1"; then
		[ "$2" = -v ] || [ "$2" = -F ] || return
		middle <"$dir/want.all" >"$dir/want"
		middle <"$dir/got.all" >"$dir/got"
	else
		cp "$dir/want.all" "$dir/want"
		known <"$dir/got.all" >"$dir/got"
	fi
	check_same "evlist $2 $(basename "$1")"
}

compare() {
	for option in -f -v -F -g --trace-fields; do
		compare_evlist "$1" "$option"
	done
	for option in -I -f; do
		perf report --header-only -i "$1" "$option" 2>/dev/null | sed '/^$/d' >"$dir/want"
		[ -s "$dir/want" ] || return
		"$clew" header --header-only -i "$1" "$option" 2>/dev/null | known >"$dir/got"
		if is_pipe "$1"; then # perf prints the features in the order in which they come
			sort -o "$dir/want" "$dir/want"
			sort -o "$dir/got" "$dir/got"
		fi
		check_same "header $option $(basename "$1")"
	done
}

for arg; do
	if [ -f "$arg" ] && [ -x "$arg" ]; then
		mkdir -p "$dir/made" && "$arg" "$dir/made" && arg=$dir/made
	fi
	[ -d "$arg" ] && set -- "$arg"/*data* || set -- "$arg"
	for file; do
		[ -f "$file" ] && compare "$file"
	done
done
[ $count != 0 ] || skip_all "no recordings here"
tap_done
