# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arm SPE: report and script of long recordings, beside perf, and what a second CPU gains: run.py's section "spe".

mkbig.py of ../shared/data/spe makes two records in turn; who_make makes records that all differ, of 64 threads on 2 CPUs with their switches. Times
are CPU times in user space, on one CPU: a busy machine disturbs them least. SPE_RECORDS (4000000)"""
import os
import resource
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MKBIG = os.path.realpath(os.path.join(HERE, "..", "..", "shared", "data", "spe", "mkbig.py"))
RECORDS = os.environ.get("SPE_RECORDS", "4000000")
ALL_EVENTS, PERF_EVENTS = "--itrace=i1ibfmtaM", "--itrace=i1ifmtaM"
# clew's arguments, perf's (None: perf has none of it), and of which recordings.
ROWS = (
    (["report"], ["report", "--stdio"], "two alike"),
    (["report", "--mem"], None, "two alike"),
    (["report", "--branch"], None, "two alike"),
    (["script"], ["script"], "two alike"),
    # perf 6.1 makes fewer events of a record by default: all that it can, of both, and no more of ours
    (["script", PERF_EVENTS], ["script", ALL_EVENTS], "two alike"),
    (["report", "--sort", "comm,dso"], ["report", "--stdio", "--sort", "comm,dso"], "64 threads"),
    (["report", "--sort", "sym"], ["report", "--stdio", "--sort", "sym"], "64 threads"),
    (["script"], ["script"], "64 threads"),
)


def make(build, folder):
    """@return {name: path} of the recordings that can be made here"""
    tool, found = os.path.join(build, "bench", "who_make"), {}
    makers = {"two alike": [sys.executable, MKBIG, RECORDS], "64 threads": [tool, "spe", RECORDS, "2"]}
    if not os.path.exists(MKBIG):
        print(f"  {MKBIG}: not here")
        del makers["two alike"]
    for name, argv in makers.items():
        path = os.path.join(folder, f"spe-{name.replace(' ', '-')}-{RECORDS}.data")
        if not os.path.exists(path):
            subprocess.run([*argv, path + ".part"], check=True, stdout=subprocess.DEVNULL)
            os.rename(path + ".part", path)
        found[name] = path
    return found


def run(argv, cpus):
    """@return (user seconds, wall seconds) of argv on the first @p cpus CPUs"""
    allowed = sorted(os.sched_getaffinity(0))[:cpus]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, allowed))
    if done.returncode:
        print(f"  {' '.join(argv)}: exit status {done.returncode}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, time.monotonic() - start


def bench_spe(build, folder):
    """@return nothing; prints ratios."""
    subprocess.run(["ninja", "-C", build, "bench/who_make", "bench/spe_bench"], check=True, stdout=subprocess.DEVNULL)
    clew, perf, files = os.path.join(build, "clew"), shutil.which("perf"), make(build, folder)
    print(f"spe: {RECORDS} records; seconds in user space on one CPU", flush=True)
    for ours, theirs, name in ROWS:
        if name not in files:
            continue
        path = files[name]
        user, wall = run([clew, *ours, "-i", path], 1)
        two = run([clew, *ours, "-i", path], 2)[1]
        line = f"  {name:<12} {' '.join(ours):<24} {user:6.2f} s, {os.path.getsize(path) / user / 1e6:5.0f} MB/s; with two CPUs {wall / two:.1f} times as fast"
        if perf and theirs:
            other = run([perf, *theirs, "-i", path], 1)[0]
            line += f"; perf {other:.2f} s, {other / user:.1f} times as much"
        print(line, flush=True)
