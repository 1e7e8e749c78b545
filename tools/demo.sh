#!/bin/sh
# `make demo`: record a real program for a few seconds and show where the time went. The program is the compiler, building clew's own
# sources; then clew itself, reading that recording, because it is built with frame pointers and so has call chains; then one function of a command of clew.
set -eu
cd "$(dirname "$0")/.."
clew=${BUILD:-build}/clew
work=${BUILD:-build}/demo
mkdir -p "$work"

show() { printf '\n$ %s\n' "$*"; "$@"; }

printf 'for file in src/base/*.c src/perfdata/*.c; do\n\tcc -std=gnu11 -O2 -D_GNU_SOURCE -Iinclude -Isrc -c -o /dev/null "$file"\ndone\n' > "$work/compile.sh"

show "$clew" record -g -F 9999 -o "$work/compile.data" -- sh "$work/compile.sh"
show "$clew" report --stdio --no-children -g none --sort comm,dso --percent-limit 1 -i "$work/compile.data"
show "$clew" report --stdio --no-children -g none --sort dso,sym --percent-limit 0.7 -i "$work/compile.data"
show "$clew" record -g -F 19999 -o "$work/script.data" -- sh -c "$clew script -i $work/compile.data > $work/script.txt"
show "$clew" report --stdio --sort comm --comm clew -g graph,5 -i "$work/script.data"
# One function of a program that knows nothing of it, without trace hardware.
if [ "$(uname -m)" = x86_64 ]; then
	show "$clew" record --trace-function qsort --max-calls 1 -o "$work/qsort.data" -- "$clew" list sw
	show "$clew" script --call-trace -F -dso --max-events 24 -i "$work/qsort.data"
fi
