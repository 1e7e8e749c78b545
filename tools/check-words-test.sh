#!/bin/sh
# check-words.py finds what it should find, and nothing else. TAP.
top=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# check N STATUS TITLE ARGUMENT...: the words of want.txt are found
check() {
	number=$1 status=$2 title=$3
	shift 3
	python3 "$top/check-words.py" "$@" > out.txt
	found=$?
	[ $found = "$status" ] && cmp -s out.txt want.txt && echo "ok $number - $title" && return
	echo "not ok $number - $title"
	echo "# exit status $found"
	sed 's/^/# /' out.txt
}

printf '# a comment\nnobody    unknown\ngoes on   continues\n' > words.txt
printf 'nobody\n`nobody`\nit goes\non\n' > text.md
printf '#include "nobody.h"\nint nobody; char c = '"'\"'"';\nconst char *a = "it goes "\n\t"on", *b = "Nobody // \\n", *c = "nobodys";\n' > text.c
printf '/* goes */ int x; /* on, it goes\n * on */\n// Nobody\n' > comment.c
printf 'someone\n' > clean.md
echo 1..4
printf 'text.md:1: nobody: unknown\ntext.md:3: goes on: continues\ntext.c:4: Nobody: unknown\ntext.c:3: goes on: continues\n' > want.txt
check 1 1 'prose and literals, over line ends; no code or includes' words.txt text.md text.c
printf 'comment.c:3: Nobody: unknown\ncomment.c:1: goes on: continues\n' > want.txt
check 2 1 'comments, over line ends, each for itself' words.txt comment.c
: > want.txt
check 3 0 none words.txt clean.md
printf 'nobody unknown\n' > damaged.txt
check 4 1 'a line of the list without what to write instead' damaged.txt clean.md 2> err.txt
