#!/bin/sh
# check-words.py finds what it should find, and nothing else. TAP.
top=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
printf '# a comment\nnobody    unknown\ngoes on   continues\n' > words.txt
printf 'nobody\n`nobody`\nit goes\non\n' > text.md
printf '#include "nobody.h"\n/* nobody */\nint nobody; // nobody\nconst char *a = "it goes "\n\t"on", *b = "Nobody\\n", *c = "nobodys";\n' > text.c
printf 'someone\n' > clean.md
echo 1..3
python3 "$top/check-words.py" words.txt text.md text.c > out.txt
status=$?
printf 'text.md:1: nobody: unknown\ntext.md:3: goes on: continues\ntext.c:5: Nobody: unknown\ntext.c:4: goes on: continues\n' > want.txt
cmp -s out.txt want.txt && echo 'ok 1 - prose and literals, over line ends; no comments, code or includes' || { echo 'not ok 1 - found'; sed 's/^/# /' out.txt; }
[ $status = 1 ] && echo 'ok 2 - exit status 1' || echo "not ok 2 - exit status $status"
python3 "$top/check-words.py" words.txt clean.md && echo 'ok 3 - none' || echo 'not ok 3 - none'
