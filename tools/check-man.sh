#!/bin/sh
# Usage: check-man.sh CLEW: each option that a command's --help lists is in its man page. TAP. Run from the top folder.
clew=$1
count=0
failed=0
for command in $("$clew" --help | sed -n 's/^  \([a-z]\+\)  .*/\1/p'); do
	page=man/clew-$command.1.scd
	[ "$command" = version ] && continue
	count=$((count + 1))
	missing=$("$clew" "$command" --help | sed -n 's/^ \{2,6\}\(\(-.,\)\? *--[a-z][a-z0-9-]*\).*/\1/p' | grep -oE -- '--[a-z0-9-]+' | sort -u |
		while read -r option; do
			[ "$option" = --help ] || grep -qE -- "--(no-)?${option#--}([^a-z0-9-]|\$)" "$page" 2> /dev/null || echo "$option"
		done)
	if [ -e "$page" ] && [ -z "$missing" ]; then
		echo "ok $count - $page"
	else
		echo "not ok $count - $page"
		echo "# missing:" $missing
		failed=1
	fi
done
echo "1..$count"
exit $failed
