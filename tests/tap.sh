# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# Test Anything Protocol for tests in sh, which source this. $dir is theirs, and goes when they end.
count=0
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# check STATUS NAME: 0 is good; else the last error is shown
check() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		[ ! -e "$dir/err" ] || head -n 5 "$dir/err" | cut -c1-200 | sed 's/^/# /'
		failed=1
	fi
}

# check_same NAME: $dir/want, which is not empty, and $dir/got
check_same() {
	diff "$dir/want" "$dir/got" > "$dir/err" 2>&1 && [ -s "$dir/want" ]
	check $? "$1"
}

skip() { # NAME WHY
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

skip_all() { # WHY
	echo "1..0 # SKIP $1"
	exit 0
}

tap_done() {
	echo "1..$count"
	exit $failed
}
