#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: script_diff.sh CLEW FILE-OR-FOLDER...
# `clew script` prints what `perf script` 6.1 prints: on recordings made here with perf (those that this machine allows),
# with options and field lists, and on the given files as far as perf reads them. TAP.
clew=$1
shift
. "$(dirname "$0")/../tap.sh"
perf --version >/dev/null 2>&1 || skip_all "no perf here"

# same FILE [OPTION...]: both print the same, where perf prints anything
same() {
	file=$1
	shift
	# Binaries that other programs ran, and symbols of the kernel, may go between the one reader and the other: then both once more.
	for _ in 1 2 3; do
		perf script ${perf_kernel:-} -i "$file" "$@" >"$dir/want" 2>/dev/null
		[ -s "$dir/want" ] || return
		"$clew" script -i "$file" "$@" >"$dir/got" 2>/dev/null
		cmp -s "$dir/want" "$dir/got" && break
		# What still runs of a deleted file is named by clew alone, from what it has mapped: not where files are said to lie elsewhere.
		"$clew" script --symfs=/ -i "$file" "$@" >"$dir/got" 2>/dev/null
		cmp -s "$dir/want" "$dir/got" && break
	done
	check_same "$(basename "$file") $* ($(wc -l <"$dir/got") lines)"
}

# record NAME ARGUMENT...: again where perf is killed, by what Linux writes beside a recorder that wants build ids (record_beside_test.py)
record() {
	out=$dir/$1.data
	shift
	for _ in $(seq 100); do
		perf record -q -o "$out" "$@" >/dev/null 2>&1
		status=$?
		[ $status != 0 ] || return
		[ $status -ge 128 ] || break
		sleep 1
	done
	rm -f "$out"
}

busy='i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; ls /usr/lib >/dev/null; (exec ls) >/dev/null'
record clock -e cpu-clock -F 999 -a -- sh -c "$busy"
record clock_g -e cpu-clock -F 999 -g -a --switch-events --namespaces -- sh -c "$busy"
record task_g -e task-clock -F 999 -g --all-cgroups -- sh -c "$busy"
record packed -z -e task-clock -F 999 -g -- sh -c "$busy"
record faults -e page-faults -c 1 -d --phys-data --data-page-size -- sh -c "$busy"
record regs -e task-clock -F 999 -I --user-regs=ax,ip,sp -- sh -c "$busy"
record group -e '{task-clock,page-faults,context-switches}:S' -g -- sh -c "$busy"
record mixed -e 'task-clock,sched:sched_switch,page-faults' -F 500 -g -- sh -c "$busy"
record sched -e 'sched:*' -a -- sh -c "$busy"
record syscalls -e 'raw_syscalls:*,kmem:kfree' -- sh -c "$busy"
perf record -q -o - -e 'sched:sched_switch,cpu-clock' -g -a -- sh -c "$busy" >"$dir/pipe.data" 2>/dev/null || rm -f "$dir/pipe.data"

for file in "$dir"/*.data; do
	same "$file"
	same "$file" -G --ns
	same "$file" -F comm,tid,ip,sym
	same "$file" -F +pid,-time
	same "$file" --deltatime --max-stack 3
	same "$file" --show-task-events --show-mmap-events --show-namespace-events --show-switch-events --show-cgroup-events
	same "$file" --comms sh --no-demangle
done
same "$dir/faults.data" -F +addr,+phys_addr,+data_page_size,+data_src
same "$dir/regs.data" -F +iregs,+uregs,+misc
same "$dir/mixed.data" -F sw:comm,event -F trace:time,trace
same "$dir/task_g.data" --stop-bt main -S main

# Of other machines: perf names their kernels by this one's symbols, clew does not (docs/decisions/symbols.md).
perf_kernel=--kallsyms=/dev/null
for arg; do
	[ -d "$arg" ] && set -- "$arg"/*data* || set -- "$arg"
	for file; do
		[ -f "$file" ] && same "$file" --no-itrace
	done
done
[ $count != 0 ] || skip_all "perf can neither record nor read here"
tap_done
