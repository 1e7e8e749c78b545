#!/bin/sh
# Record a real program for a few seconds and show where the time went: `make demo`.
set -eu
cd "$(dirname "$0")/.."
clew=${BUILD:-build}/clew
data=${BUILD:-build}/demo.data

show() { printf '\n$ %s\n' "$*"; "$@"; }

show "$clew" record -g -o "$data" -- python3 -q -c '
import compileall
compileall.compile_dir("/usr/lib/python3", maxlevels=3, quiet=2, force=True, legacy=False, stripdir="/", optimize=0)'
show "$clew" report --stdio -i "$data" --percent-limit 2
