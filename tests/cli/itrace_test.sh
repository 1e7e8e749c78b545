#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: itrace_test.sh CLEW SNAPSHOTS
# What --itrace and its like refuse, and forms of output on a trace snapshot (skipped where there is none). TAP.
clew=$1
snapshot=$2/ts_marker
. "$(dirname "$0")/../tap.sh"

# run STATUS COMMAND...: is this its status?
run() {
	want=$1
	shift
	"$clew" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[ $status = "$want" ]
}

# refused TEXT COMMAND...: status 2, nothing printed, one error with TEXT
refused() {
	text=$1
	shift
	run 2 "$@" && [ ! -s "$dir/out" ] && [ "$(grep -c '^clew: error: ' "$dir/err")" = 1 ] && grep -q -- "$text" "$dir/err"
	check $? "$* is refused: $text"
}

refused 'no such letter' script --itrace=bk
refused "unit is i, t, ms, us or ns" script --itrace=i10x
refused '1 to 1024' report --itrace=il0
refused 'number of events to skip' script --itrace=bs
refused "'raw' or 'disasm'" script --insn-trace=hex
refused 'no other program is run' script --xed
: >"$dir/empty" && run 1 script -i "$dir/empty" --itrace=b
check $? 'an empty file is none'

if [ ! -d "$snapshot" ]; then
	skip forms "no snapshots here"
	tap_done
fi

# lines PATTERN TEXT: so many lines of the output have it
lines() {
	[ "$(grep -cE -- "$1" "$dir/out")" = "$2" ]
}

refused 'neither records nor a header' script -i "$snapshot" -D
refused 'neither records nor a header' script -i "$snapshot" --header
refused 'neither records nor a header' evlist -i "$snapshot"
refused 'neither records nor a header' header -i "$snapshot"
refused 'a snapshot has none' script -i "$snapshot" --stats
refused 'a snapshot has none' report -i "$snapshot" --stats
refused 'leaves nothing' script -i "$snapshot" --no-itrace
refused 'leaves nothing' report -i "$snapshot" --no-itrace
run 0 script -i "$snapshot" && lines ' branches: ' 189
check $? 'branches by default'
run 0 script -i "$snapshot/snapshot.ini" && lines ' branches: ' 189
check $? 'the snapshot by its file'
# noted LETTERS TEXT: the letters make no events of their own, and one line says so
noted() {
	run 0 script -i "$snapshot" --itrace="b$1" && lines ' branches: ' 189 && [ "$(grep -c 'itrace: ' "$dir/err")" = 1 ] &&
		grep -q -- "$2" "$dir/err"
	check $? "--itrace=b$1 is noted"
}
noted AqdxwpoIfmMtay "'AqdxwpoIfmMtay' has no meaning"
noted G16L "'GL' has no meaning"
noted l "without 'i' they have no effect"
noted g16 "without 'i' they have no effect"
run 0 script -i "$snapshot" --insn-trace && lines ' insn: ([0-9a-f]{2} ){3}[0-9a-f]{2}$' 1050
check $? '--insn-trace: bytes of every instruction'
run 0 script -i "$snapshot" --insn-trace=disasm
if grep -q 'without the capstone library' "$dir/err"; then
	skip --insn-trace=disasm "built without capstone"
else
	lines '		ret$' "$("$clew" script -i "$snapshot" --itrace=i1i -F ip,insn | grep -c 'insn: c0 03 5f d6')"
	check $? '--insn-trace=disasm: as many returns as there are of their bytes'
fi
run 0 script -i "$snapshot" --json --itrace=bi1i &&
	python3 -c 'import json, sys; n = [json.loads(line)["event"] for line in open(sys.argv[1])]; sys.exit(n.count("branches") != 189 or n.count("instructions") != 1050)' "$dir/out"
check $? '--json: a document a line'
run 0 script -i "$snapshot" --itrace=i50ig4l3 -F ip,brstack
check $? 'chains and last branches'
lines '^( 0x[0-9a-f]+/0x[0-9a-f]+/P/-/-/0/ ){1,3}$' "$(grep -c '^$' "$dir/out")"
check $? 'of each at most three branches'
run 0 report -i "$snapshot" --itrace=b -s dso_from,symbol_from,symbol_to && grep -q 'Source Symbol *Target Symbol' "$dir/out"
check $? 'report: branches by their ends'
run 0 script -i "$snapshot" --max-events 5 && lines ' branches: ' 5
check $? '--max-events ends the decoding'
"$clew" script -i "$snapshot" >/dev/full 2>"$dir/err"
[ $? = 1 ] && [ "$(grep -c '^clew: error' "$dir/err")" = 1 ]
check $? 'a full disk is reported'
tap_done
