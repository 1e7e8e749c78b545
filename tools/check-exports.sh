#!/bin/sh
# Usage: check-exports.sh libclew.so: every exported function is declared in a public header, and the other way round. Run from the top folder.
exported=$(mktemp) declared=$(mktemp)
trap 'rm -f "$exported" "$declared"' EXIT
nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort -u > "$exported"
cat include/clew/*.h | tr '\n' ' ' | tr ';{}' '\n\n\n' | sed -n 's/.*CLEW_API.*[ *]\(clew_[a-z0-9_]*\)(.*/\1/p' |
	LC_ALL=C sort -u > "$declared"
[ -s "$exported" ] || { echo "no symbols read"; exit 1; }
diff "$declared" "$exported" | sed -n 's/^< /declared, not exported: /p; s/^> /exported, not declared: /p' | grep . && exit 1
exit 0
