#!/bin/sh
# Usage: run.sh CORPUS EXE [MAKER]: run a fuzz target over CORPUS/* and what `MAKER DIR` writes into DIR.
# A libFuzzer target goes on for FUZZ_SECONDS (5) with inputs of its own; what it finds is left in crash-* files.
set -eu
corpus=$1 exe=$2 maker=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/new" "$work/made"
[ -z "$maker" ] || "$maker" "$work/made"
[ -d "$corpus" ] || corpus=
if ! "$exe" -help=1 2>&1 | grep -q libFuzzer; then
	"$exe" "$work/made" ${corpus:+"$corpus"}
	exit
fi
"$exe" -max_total_time="${FUZZ_SECONDS:-5}" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
	-artifact_prefix="${exe##*/}-" -print_final_stats=1 "$work/new" "$work/made" ${corpus:+"$corpus"} > "$work/log" 2>&1 || {
	tail -n 60 "$work/log"
	exit 1 # libFuzzer's own is 77, which would be a test that was skipped
}
grep -E '^stat::number_of_executed_units|INITED|^Done' "$work/log"
