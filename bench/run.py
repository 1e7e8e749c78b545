#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compare clew with perf on this machine, in one run: `make bench`.

read:   report and script of one recording of two million samples and more, with kernel and user call chains
record: what recording at 10 kHz on all CPUs costs a target, and what is lost
tables: what compiling, caching and searching unwind tables costs
merge:  what putting user stacks into their samples costs, after a recording (merge.py)
stacks: what full user stacks cost at 4999 Hz, and how large they are (stacks.py)
unwind: what unwinding copied stacks costs (unwind.py)
etm:    what decoding CoreSight trace costs, against OpenCSD (etm.py)
pt:     what decoding Intel PT costs, against libipt, and its text, against perf; captures as they are and repeated (pt.py)
spe:    what reports and texts of Arm SPE cost, against perf (spe.py)
aux:    what draining AUX areas costs, against write(2), and for how long a snapshot stops the trace (aux.py)
export: what exports cost, against `perf script | awk`, and whether their memory grows with the samples (export.py)
soft:   how fast the software trace source traces, and what a paused program pays (soft.py)

Usage: run.py [read] [record] [tables] [merge] [stacks] [unwind] [etm] [pt] [spe] [aux] [export] [soft]    Environment: BUILD (build), SAMPLES (2000000), ROUNDS of record (5)
and of stacks (10), STACKS: a part of the name of the only target of stacks
The recording is made once and kept in BUILD/bench/. Times are of this machine, now: compare ratios."""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from aux import bench_aux
from etm import bench_etm
from export import bench_export, bench_growth
from merge import bench_merge
from peer import Rounds, take
from pt import bench_pt
from soft import bench_soft
from spe import bench_spe
from stacks import bench_stacks
from unwind import bench_unwind

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
SAMPLES = int(os.environ.get("SAMPLES", "2000000"))
CLEW = os.path.join(BUILD, "clew")
PERF = shutil.which("perf")
DIR = os.path.join(BUILD, "bench")
WORKLOAD = os.path.join(DIR, "workload")
BIG = os.path.join(DIR, "big.data")
TABLE_FILES = ("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.*", "/usr/bin/python3.*[0-9]",
               "/usr/lib/gcc/x86_64-linux-gnu/*/cc1", "/usr/lib/llvm-*/lib/libclang-cpp.so.*", "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1",
               "/usr/aarch64-linux-gnu/lib/libc.so.6")
HERE = os.path.dirname(os.path.abspath(__file__))


def measure(argv, stdout=subprocess.DEVNULL):
    """Run argv. @return (exit status, wall seconds, CPU seconds, peak resident MiB)"""
    start = time.monotonic()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, time.monotonic() - start, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def make_recording():
    if os.path.exists(BIG):
        return True
    if not PERF:
        print("perf is not installed, and it makes the recording: apt-get install linux-perf")
        return False
    seed = os.path.join(DIR, "seed.data")
    print("recording 30 s of a mix of programs", flush=True)
    subprocess.run([PERF, "record", "-q", "-a", "-g", "-F", "10000", "-m", "4M", "-o", seed, "--",
                    os.path.join(HERE, "mix.sh"), WORKLOAD, "30", os.path.join(DIR, "mix")], check=True)
    subprocess.run([os.path.join(DIR, "grow"), seed, BIG + ".part", str(SAMPLES)], check=True)
    os.rename(BIG + ".part", BIG)
    return True


def print_row(name, result):
    status, wall, cpu, rss = result
    note = "" if status == 0 else f"   exit status {status}"
    print(f"  {name:<28} {wall:9.2f} s {cpu:9.2f} s CPU {rss:9.0f} MiB{note}", flush=True)


def print_ratio(what, perf, clew):
    if perf and clew and clew[0] == 0:
        print(f"  {what}: {perf[1] / clew[1]:.1f} times as fast, "
              f"{perf[2] / clew[2]:.1f} times less CPU, {clew[3] / perf[3]:.2f} of the memory", flush=True)


def is_same_text(a, b):
    """Run both commands into a pipe each and compare what they print. @return True, or what cmp says."""
    one = subprocess.Popen(a, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    two = subprocess.Popen(b, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    fds = (one.stdout.fileno(), two.stdout.fileno())
    cmp = subprocess.run(["cmp", *(f"/dev/fd/{fd}" for fd in fds)], pass_fds=fds, capture_output=True, text=True)
    for child in (one, two):
        child.stdout.close()
        child.wait()
    return True if cmp.returncode == 0 else (cmp.stdout + cmp.stderr).strip()


def bench_read():
    if not make_recording():
        return
    print(f"read: {BIG}, {os.path.getsize(BIG) >> 20} MiB")
    for what, options in (("report", ["--stdio"]), ("script", [])):
        perf = measure([PERF, what, *options, "-i", BIG]) if PERF else None
        if perf:
            print_row(f"perf {what}", perf)
        clew = measure([CLEW, what, *options, "-i", BIG])
        print_row(f"clew {what}", clew)
        print_ratio(what, perf, clew)
    if PERF:
        same = is_same_text([PERF, "script", "-i", BIG], [CLEW, "script", "-i", BIG])
        print("  script: " + ("identical output" if same is True else f"DIFFERENT output: {same}"), flush=True)


def bench_exports():
    if not make_recording():
        return
    bench_export(CLEW, PERF, DIR, BIG, measure, print_row)
    seed, quarter = os.path.join(DIR, "seed.data"), os.path.join(DIR, "quarter.data")
    subprocess.run([os.path.join(DIR, "grow"), seed, quarter, str(SAMPLES // 4)], check=True)
    bench_growth(CLEW, quarter, BIG, measure)
    os.unlink(quarter)


def contents(path):
    """(samples, lost events) of a recording, as perf counts them"""
    if not PERF:
        return 0, 0
    stats = subprocess.run([PERF, "report", "--stats", "-i", path], capture_output=True, text=True, check=False).stdout
    samples = re.search(r"SAMPLE events:\s+(\d+)", stats)
    return int(samples.group(1)) if samples else 0, sum(int(n) for n in re.findall(r"LOST(?:_SAMPLES)? events:\s+(\d+)", stats))


def record_rounds(tools, target, nr):
    """Each tool in turn records everything at 10 kHz. @return (Rounds, {name: [samples, lost events]})"""
    rounds, notes = Rounds(list(tools)), {name: [0, 0] for name in tools}
    path = os.path.join(DIR, "overhead.data")
    for _ in range(nr):
        for name, tool in tools.items():
            recorder = [tool, "record", "-a", "--call-graph", "fp", "-F", "10000", "-o", path, "--"] if tool else []
            if rounds.add(name, take([*recorder, *target])) and tool:
                notes[name] = [a + b for a, b in zip(notes[name], contents(path))]
    return rounds, notes


def print_records(tools, rounds, notes):
    print("record: -a -g -F 10000, seconds the target took, median of interleaved runs")
    if not rounds.took("alone"):
        print("  the target " + rounds.trouble("alone"))
        return
    alone = statistics.median(t.seconds for t in rounds.took("alone"))
    for name, tool in tools.items():
        times = [t.seconds for t in rounds.took(name)]
        if times:
            took = statistics.median(times)
            more = f"  {100 * (took / alone - 1):+6.1f} %  {notes[name][0]} samples, {notes[name][1]} lost records" if tool else ""
            print(f"  {name:<12} {took:7.3f} s (from {min(times):.3f} to {max(times):.3f}){more}")
        if rounds.trouble(name):
            print(f"  {name:<12} " + rounds.trouble(name))


def bench_record():
    tools = {"alone": None, **({"perf record": PERF} if PERF else {}), "clew record": CLEW}
    print_records(tools, *record_rounds(tools, [WORKLOAD, "1", "2", "20000"], int(os.environ.get("ROUNDS", "5"))))


def bench_tables():
    subprocess.run(["ninja", "-C", BUILD, "bench/table_bench"], check=True, stdout=subprocess.DEVNULL)
    found = []
    for name in TABLE_FILES:
        found += sorted(glob.glob(name))[-1:]
    print("tables: compile, load from the cache, search; milliseconds and nanoseconds", flush=True)
    subprocess.run([os.path.join(DIR, "table_bench"), *found], check=False)


def main():
    wanted = sys.argv[1:] or ["read", "record", "tables", "merge", "stacks", "unwind", "etm", "pt", "spe", "aux", "export", "soft"]
    os.environ.pop("DEBUGINFOD_URLS", None)
    subprocess.run(["ninja", "-C", BUILD, "bench/grow", "bench/workload"], check=True, stdout=subprocess.DEVNULL)
    if not PERF:
        print("perf is not installed: clew alone is timed")
    if "read" in wanted:
        bench_read()
    if "record" in wanted:
        bench_record()
    if "tables" in wanted:
        bench_tables()
    if "merge" in wanted:
        bench_merge(CLEW, DIR)
    if "stacks" in wanted:
        bench_stacks(CLEW, PERF, BUILD, DIR)
    if "unwind" in wanted:
        bench_unwind(CLEW, PERF, BUILD, DIR)
    if "etm" in wanted:
        bench_etm(BUILD)
    if "pt" in wanted:
        bench_pt(BUILD)
    if "spe" in wanted:
        bench_spe(BUILD, DIR)
    if "aux" in wanted:
        bench_aux(BUILD, DIR)
    if "export" in wanted:
        bench_exports()
    if "soft" in wanted:
        bench_soft(CLEW, BUILD, DIR)


if __name__ == "__main__":
    main()
