#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: grep_app.sh DIR: names of recordings are hostile, so the page's own script has no way to make markup or code of a text. TAP.
words='innerHTML\|outerHTML\|insertAdjacentHTML\|document\.write\|\beval\b\|new Function\|\.html(\|javascript:\|srcdoc\|createContextualFragment\|DOMParser\|import(\|fetch(\|XMLHttpRequest\|WebSocket'
nr=0
check() {
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		echo "$2" | sed 's/^/# /'
	fi
}
check "no text becomes markup or code" "$(grep -n "$words" "$1"/*.js)"
check "attributes are set by name" "$(grep -no "setAttribute([^'k][^,]*\|setAttribute('\(style\|on\|src\|href\)[^)]*" "$1"/*.js)"
check "no style, handler or address in the markup" "$(grep -n ' style=\| on[a-z]*=\|src=\|href=\|https*:' "$1/page.html")"
check "no address in the style" "$(grep -n 'url(\|@import\|https*:' "$1/style.css")"
if command -v node > /dev/null; then
	for f in "$1"/*.js; do
		check "syntax of $(basename "$f")" "$(node --check "$f" 2>&1)"
	done
else
	nr=$((nr + 1))
	echo "ok $nr - syntax # SKIP no node"
fi
echo "1..$nr"
