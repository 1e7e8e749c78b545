#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: perfdata_cli.sh CLEW FILE-OR-FOLDER-OR-PROGRAM...
# A program is one that writes recordings into the folder it is given.
# For each recording that perf reads: `clew evlist` in all its forms and `clew header` print what perf prints. TAP.
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

# check WHAT: $dir/want and $dir/got are the same
check() {
	count=$((count + 1))
	if cmp -s "$dir/want" "$dir/got"; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		diff "$dir/want" "$dir/got" | head -6 | cut -c1-200 | sed 's/^/# /'
		failed=1
	fi
}

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
	check "evlist $2 $(basename "$1")"
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
		check "header $option $(basename "$1")"
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
if [ $count = 0 ]; then
	echo '1..0 # SKIP no recordings here'
	exit 0
fi
echo "1..$count"
exit $failed
