#!/bin/bash
# Usage: etm_inject.sh CLEW DATA: profiles for AutoFDO are simpleperf's byte for byte; BOLT and AutoFDO accept what they are given,
# where they are installed. TAP.
clew=$1
data=$2/simpleperf-etm
truth=$2/coresight-truth
. "$(dirname "$0")/../tap.sh"
[ -e "$data/perf_inject.data" ] || skip_all "no $data"

for file in perf_etm perf_etm.fixed; do
	for threads in 1 2; do
		"$clew" inject -i "$data/$file.data" --symfs "$data/symfs" --threads $threads 2> "$dir/err" | cmp -s - "$data/perf_inject.data"
		check $? "$file, $threads threads: as simpleperf"
		! grep -q 'lost or damaged' "$dir/err"
		check $? "$file, $threads threads: an AUX record's end is no loss"
	done
done
"$clew" inject -i - --symfs "$data/symfs" < "$data/perf_etm.data" 2> /dev/null | cmp -s - "$data/perf_inject.data"
check $? "from standard input"
cat "$data/perf_etm.data" | "$clew" inject -i - --symfs "$data/symfs" > "$dir/out" 2> "$dir/err"
[ $? = 1 ] && [ ! -s "$dir/out" ] && ! grep -q neither "$dir/err"
check $? "a file through a pipe: not that it holds no trace"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" -o "$dir/one" 2> /dev/null && cmp -s "$dir/one" "$data/perf_inject.data"
check $? "-o FILE"
mkdir "$dir/all"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" -o "$dir/all" 2> /dev/null &&
	cmp -s "$dir/all/etm_test_loop.autofdo" "$data/perf_inject.data" && [ "$(ls "$dir/all")" = etm_test_loop.autofdo ]
check $? "-o DIR"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" --indirect 2> /dev/null | diff - "$data/perf_inject.data" > "$dir/diff"
[ "$(grep '^[<>]' "$dir/diff")" = "< 1088->10a4:1
> 1088->0:1" ]
check $? "--indirect: the one return that stays in the binary has its target"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" --format=bolt 2> /dev/null | sort > "$dir/bolt"
printf '%s\n' 'B 1004 100c 1 0' 'B 1050 10e0 1 0' 'B 106c 1074 100 0' 'B 1070 1084 1 0' 'B 1080 105c 100 0' 'B 1088 10a4 1 0' \
	'B 10a0 1054 1 0' 'B 10b0 X:0 1 0' 'B 10ec X:0 1 0' 'F 1000 1004 1' 'F 100c 1050 1' 'F 1054 106c 1' 'F 105c 106c 99' \
	'F 105c 1070 1' 'F 1070 1070 1' 'F 1074 1080 100' 'F 1084 1088 1' 'F 108c 10a0 1' 'F 10e0 10ec 1' 'f 10a4 10b0 1' | sort |
	diff - "$dir/bolt" | sed 's/^/# /'
[ "${PIPESTATUS[2]}" = 0 ]
check $? "BOLT: branches and runs"
"$clew" inject -i "$data/perf_kernel.data" > "$dir/out" 2> "$dir/err"
[ $? = 1 ] && [ ! -s "$dir/out" ] && grep -q 'hint: the code at .* places was not found: --symfs' "$dir/err"
check $? "without the code: no output, and what to do"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" --binary=other > "$dir/out" 2> "$dir/err"
[ $? = 1 ] && [ ! -s "$dir/out" ] && grep -q 'hint: most ran in /data/local/tmp/etm_test_loop' "$dir/err"
check $? "of a binary that did not run: no output, and which did"
"$clew" inject -i "$data/perf_etm.data" --symfs "$data/symfs" -o "$dir/none/such" > "$dir/out" 2> "$dir/err"
[ $? = 1 ] && grep -q 'none/such: No such file' "$dir/err"
check $? "output that cannot be made"

mkdir "$dir/modules" && cp "$data/rq_stats.ko" "$dir/modules"
"$clew" inject -i "$data/perf_kernel.data" --symfs "$dir/modules" > "$dir/out" 2> "$dir/err"
printf '%s\n' 9 0-14:1 18-2c:1 30-44:1 48-5c:1 60-74:1 e0-e0:1 140-168:1 18c-194:1 2ec-2ec:1 0 5 '74->e0:1' 'e0->0:1' '168->18c:1' \
	'194->0:1' '2ec->140:1' '// build_id: 0xa535d7222f9f01d1000000000000000000000000' '// /vendor/lib/modules/rq_stats.ko' '' | cmp -s - "$dir/out"
check $? "a kernel module: addresses in its .text"

# Truth: each instruction as often as the emulator ran it. The programs are linked to 0x400000.
expand() { # BASE: ranges of the text to "ADDRESS COUNT" of each instruction
	gawk -v base="$1" '
		function hex(s) { return strtonum("0x" s) }
		NR == 1 { left = $1; next }
		left-- > 0 { split($1, p, "[-:]"); add(hex(p[1]) + base, hex(p[2]) + base, p[3]) }
		function add(from, to, n) { for (; from <= to; from += 4) nr[from] += n }
		END { for (a in nr) printf "%x %d\n", a, nr[a] }' | sort
}
for set in hello work threads; do
	if ! command -v zstdcat > /dev/null || ! command -v gawk > /dev/null; then
		skip "$set" "no zstdcat or gawk"
		continue
	fi
	mkdir "$dir/$set"
	zstdcat "$truth/$set"/truth_*.txt.zst | sort | uniq -c | awk '{ print $2, $1 }' | sort > "$dir/$set/want"
	"$clew" inject -i "$truth/$set" -o "$dir/$set" 2> /dev/null
	for file in "$dir/$set"/*.autofdo; do
		case $file in
		*.elf.autofdo) expand $((0x400000)) < "$file" ;;
		*) expand 0 < "$file" ;; # a dump of bare memory
		esac
	done | sort > "$dir/$set/got"
	cmp -s "$dir/$set/want" "$dir/$set/got"
	check $? "$set: $(wc -l < "$dir/$set/want") instructions, each as often as the truth has it"
done

# Peers. BOLT cannot make a control flow graph of some functions of the C library: traces in those are all it may refuse.
perf2bolt=$(ls /usr/lib/llvm-*/bin/perf2bolt 2> /dev/null | tail -n 1)
for set in hello work; do
	if [ -z "$perf2bolt" ]; then
		skip "$set" "no perf2bolt"
		continue
	fi
	"$clew" inject -i "$truth/$set" --format=bolt -o "$dir/$set.bolt" 2> /dev/null &&
		"$perf2bolt" "$truth/$set/$set.elf" -pa -p "$dir/$set.bolt" -o "$dir/$set.fdata" > "$dir/log" 2>&1 &&
		[ -s "$dir/$set.fdata" ] && grep -q 'Out of range traces involving unknown regions: 0 ' "$dir/log"
	check $? "$set: perf2bolt takes it: $(grep -o 'wrote [0-9]* objects' "$dir/log"), $(grep -o 'mismatching.*' "$dir/log")"
done
tap_done
