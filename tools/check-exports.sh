#!/bin/sh
# Usage: check-exports.sh libclew.so libclew.a: every exported function is declared in a public header and named in src/libclew.map, and the
# other way round; so is every global symbol of the archive. Run from the top folder.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
status=0
names() { # FILE: the names in column 3, without versions
	awk '$2 != "A" && NF == 3 { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u > "$1"
	[ -s "$1" ] || { echo "$1: no symbols read"; exit 1; }
}
compare() { # FILE HOW
	diff "$dir/declared" "$dir/$1" | sed -n "s/^< /declared, not $2: /p; s/^> /$2, not declared: /p" | grep . && status=1
}
nm -D --defined-only "$1" | names "$dir/exported"
nm -g --defined-only "$2" | names "$dir/archive"
sed -n 's/^\t\(clew_[a-z0-9_]*\);$/\1/p' src/libclew.map | LC_ALL=C sort > "$dir/map"
cat include/clew/*.h | tr '\n' ' ' | tr ';{}' '\n\n\n' | sed -n 's/.*CLEW_API.*[ *]\(clew_[a-z0-9_]*\)(.*/\1/p' |
	LC_ALL=C sort -u > "$dir/declared"
compare exported exported
compare archive "global in the archive"
compare map "in src/libclew.map"
exit $status
