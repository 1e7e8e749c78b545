#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: etm_script.sh CLEW FOLDER
# Events of decoded ETM trace against the given 208 branches, and against perf script where there is one that decodes
# CoreSight. FOLDER holds simpleperf's recordings. Where perf is left for a reason: docs/decisions/etm-events.md. TAP.
. "$(dirname "$0")/../tap.sh"
clew=$(realpath "$1")
cd "$2" 2>/dev/null && [ -f perf_etm.data ] || skip_all "no recordings with ETM trace here"
file=perf_etm.fixed.data # perf does not read the other

run() {
	"$clew" script -i "$file" --symfs symfs "$@" >"$dir/got" 2>"$dir/err"
}

cp perf_etm.branches.txt "$dir/want"
for file in perf_etm.data perf_etm.fixed.data; do
	for itrace in '' --itrace=b --itrace=be; do
		run $itrace -F pid,tid,cpu,event,flags,ip,addr
		check_same "$file $itrace: the given branches"
	done
done

# Calls and returns are of these lines; perf 6.1 prints them all. Its 'tr end  return' is a jump through a register.
grep -E '  (call|tr end) ' perf_etm.branches.txt >"$dir/want"
run --itrace=c -F pid,tid,cpu,event,flags,ip,addr
check_same 'calls alone'
grep -E 'u:   (return|tr strt) ' perf_etm.branches.txt >"$dir/want"
run --itrace=r -F pid,tid,cpu,event,flags,ip,addr
check_same 'returns alone'
tail -n +6 perf_etm.branches.txt >"$dir/want"
run --itrace=bs5 -F pid,tid,cpu,event,flags,ip,addr
check_same 'the first five skipped'
: >"$dir/want"
run --no-itrace
[ ! -s "$dir/got" ] && echo none | tee "$dir/want" "$dir/got" >/dev/null
check_same 'no events of the trace'

cat >"$dir/want" <<'END'
    __libc_init@plt
    __libc_init@plt
        Loop
END
run --call-trace
sed 's/^.*)\t//; s/ *$//' "$dir/got" >"$dir/calls" && mv "$dir/calls" "$dir/got"
check_same 'a line each call, and the end of the trace'
run --insn-trace
wc -l <"$dir/got" >"$dir/n" && cp "$dir/n" "$dir/got"
echo 944 >"$dir/want"
check_same 'every instruction'

# report PATTERN OPTION...: the rows with PATTERN, blanks squeezed
report() {
	pattern=$1
	shift
	"$clew" report -i "$file" --symfs symfs "$@" 2>"$dir/err" | grep -E "$pattern" | tr -s ' ' >"$dir/got"
}
cat >"$dir/want" <<'END'
 201 [.] Loop [.] Loop
 1 N/A [.] _start
 1 N/A [.] main
 1 [.] Loop [.] main
 1 [.] __libc_init@plt N/A
 1 [.] _start [.] _start_main
 1 [.] _start_main [.] __libc_init@plt
 1 [.] main [.] Loop
END
report '^ *[0-9]' --itrace=b -n -F sample,symbol_from,symbol_to
sed -i 's/^ [0-9.]*%//' "$dir/got"
check_same 'report: branches by function'
printf '%s\n' ' 96.81% 96.81% etm_test_loop Loop' >"$dir/want"
report '96.81% ' --itrace=i10ig -s comm,sym -g none --children
sed -i 's/\[\.\] //' "$dir/got"
check_same 'report: instructions and their callers'

# The units' description says an unknown version: byte 16 of AUXTRACE_INFO.
cp "$file" "$dir/newer.data"
printf '\011' | dd of="$dir/newer.data" bs=1 seek="$((0x418))" conv=notrunc 2>/dev/null
for command in script 'report --stdio'; do
	"$clew" $command -i "$dir/newer.data" >/dev/null 2>"$dir/err"
	grep -q 'cannot be decoded: the description of the trace units is of a newer perf' "$dir/err"
	check $? "$command: why trace of a newer perf is not decoded"
done

# The same from perf. A period of no instructions, which perf prints at the end of a block, is left out.
if perf script -i "$file" --symfs symfs --itrace=b 2>/dev/null | grep -q branches; then
	while read -r options; do
		perf script -i "$file" --symfs symfs $options 2>/dev/null | grep -v ' 0  *instructions' >"$dir/want"
		run $options
		check_same "as perf: $options"
	done <<-'END'
		--itrace=b -F pid,tid,cpu,event,flags,ip,addr
		--itrace=b -F comm,tid,cpu,event,flags,ip,addr,insn,insnlen
		--itrace=b -F ip
		--itrace=i1i -F comm,tid,cpu,event,period,ip
		--itrace=i1i -F ip,insn,insnlen
		--itrace=i10i -F tid,event,period,ip
		--itrace=i7il -F event,period,ip,brstack
		--itrace=i10il8 -F event,period,ip,brstack
		--itrace=i1il3 -F event,period,ip,brstack
		--itrace=i1000il64 -F event,period,ip,brstack
	END
fi
tap_done
