#!/bin/sh
# `make demo`: record a real program for a few seconds and show where the time went. The program is the compiler, building clew's own
# sources; then clew itself, reading that recording, because it is built with frame pointers and so has call chains.
set -eu
cd "$(dirname "$0")/.."
clew=${BUILD:-build}/clew
build=${BUILD:-build}/demo-compile.data
read=${BUILD:-build}/demo-script.data

show() { printf '\n$ %s\n' "$*"; "$@"; }

compile() { # a few seconds of real work
	cat > "${BUILD:-build}/demo-compile.sh" <<-END
		for file in src/base/*.c src/perfdata/*.c; do
			cc -std=gnu11 -O2 -D_GNU_SOURCE -DCLEW_VERSION='""' -Iinclude -Isrc -c -o /dev/null "\$file"
		done
	END
	show "$clew" record -g -F 4999 -o "$build" -- sh "${BUILD:-build}/demo-compile.sh"
}

compile
show "$clew" report --stdio --no-children -g none --sort comm,dso --percent-limit 1 -i "$build"
show "$clew" report --stdio --no-children -g none --sort dso,sym --percent-limit 1 -i "$build"
show "$clew" record -g -F 19999 -o "$read" -- "$clew" script -i "$build" > "${BUILD:-build}/demo-script.txt"
show "$clew" report --stdio --percent-limit 4 -i "$read"
