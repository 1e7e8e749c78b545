#!/bin/bash
# Usage: branch_inject.sh CLEW DATA BRSTACK_MAKE: profiles from branch stacks, compared with perf2bolt. TAP.
clew=$1
truth=$2/coresight-truth
brstack_make=$3
. "$(dirname "$0")/../tap.sh"
perf2bolt=$(ls /usr/lib/llvm-*/bin/perf2bolt 2> /dev/null | tail -n 1)
[ -e "$truth/work" ] || skip_all "no $truth"
[ -n "$perf2bolt" ] && command -v perf > /dev/null && command -v zstdcat > /dev/null || skip_all "no perf2bolt, perf or zstdcat"

# Branch stacks, made from the truth: BOLT must find in what clew wrote what it finds in the recording itself; and the runs of the trace
# must be the runs between the branches.
bolt() { # OUT OPTIONS...: what perf2bolt makes of it, sorted
	"$perf2bolt" "$elf" -o "$dir/fdata" "${@:2}" > "$dir/log" 2>&1 && sort "$dir/fdata" > "$1" && [ -s "$1" ]
}
for set in hello work; do
	elf=$dir/$set.elf
	cp "$truth/$set/$set.elf" "$elf"
	for every in 11 f; do
		zstdcat "$truth/$set/truth_10.txt.zst" | "$brstack_make" "$elf" 400000 0 7e000 $every > "$dir/stacks.data"
		"$clew" inject -i "$dir/stacks.data" --format=bolt -o "$dir/stacks.bolt" 2> /dev/null &&
			bolt "$dir/ours" -pa -p "$dir/stacks.bolt" && bolt "$dir/theirs" -p "$dir/stacks.data" -ignore-build-id &&
			cmp -s "$dir/ours" "$dir/theirs"
		check $? "$set: branch stacks: as perf2bolt reads them, $(wc -l < "$dir/ours") lines"
	done
	grep -i ^f "$dir/stacks.bolt" > "$dir/stacks.runs"
	"$clew" inject -i "$truth/$set" --format=bolt 2> /dev/null | grep -i ^f > "$dir/trace.runs"
	bolt "$dir/ours" -pa -p "$dir/trace.runs" && bolt "$dir/theirs" -pa -p "$dir/stacks.runs" && cmp -s "$dir/ours" "$dir/theirs"
	check $? "$set: edges of runs: the same from trace and from branch stacks, $(wc -l < "$dir/ours") lines"
done
tap_done
