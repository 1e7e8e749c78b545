#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Debian's programs, recorded by the default `clew record -g`, as other tools read the file: the installed perf, hotspot's parser, the
Firefox Profiler's importer and samply's. All samples, all user stacks to where the thread began, and no warning. The programs work off an amount, not
a time, and each tool is compared with clew on one and the same file.

Usage: merge_programs_test.py CLEW [NAME ...]     Environment: stack_lib.py"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from merge_lib import check_whole, compare, firefox_row, hotspot_row, needs_bpf_and_perf, run, samply
from record_lib import RINGS, has_lost
from stack_lib import CLEW, LENGTH, StackTap, samples

BASH = ("read x; f() { local x=$1; (( x > 20 )) && return; s=${s:0:50}$x; f $((x+1)); }; "
        "for ((i=0;i<%d;i++)); do f 0; a[i%%100]=${s//1/2}; done")
PYTHON = """import json, sys
def f(n):
    return n if n < 2 else f(n-1)+f(n-2)
lines = sys.stdin.readlines()
for i in range(%d):
    f(18); json.loads(json.dumps([{'a': i, 'b': [1.5]*50}]*200)); sorted(lines[:20000])
"""
OPTIONS = (("plain", []), ("-z", ["-z"]), ("-a", ["-a"]), ("--switch-output", ["--switch-output=48K"]))


def commands():
    """name -> argv; each waits for its input before it begins."""
    have = shutil.which
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else have("python3")
    tools = {
        "bash": [have("bash"), "-c", BASH % int(300 * LENGTH)],
        "python3": [python, "-c", PYTHON % int(8 * LENGTH)],
        "openssl": [have("openssl"), "enc", "-aes-256-cbc", "-pbkdf2", "-iter", str(int(300000 * LENGTH)), "-k", "clew", "-out", "/dev/null"],
        "sort": [have("sort"), "-k2,2n", "-k1,1", "--parallel=2", "-o", "/dev/null"],
    }
    return {name: argv if argv[0] else None for name, argv in tools.items()}


def make_input(t):
    rng = random.Random(3)
    with open(t.path("lines"), "w", encoding="ascii") as f:
        for _ in range(int(60000 * LENGTH)):
            f.write(f"{rng.randrange(1 << 60):x} {rng.randrange(1000)} clew {rng.random()}\n")


def record_all(path, record_once):
    """@p record_once(options), until nothing is lost."""
    for rings in RINGS:
        for f in glob.glob(path + "*"):
            os.unlink(f)
        p = record_once(rings)
        if not has_lost(p.stderr):
            break
    return p


def record(t, path, argv, options):
    with open(t.path("lines"), "rb") as stdin:
        return subprocess.run([CLEW, "record", "-v", "-g", *options, "-o", path, "--", *argv], stdin=stdin, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)


def record_pid(t, path, argv, options):
    """Attached to a program that waits. When the recording's command runs, the program gets its input. The recording ends with the
    program, and then its command with SIGTERM."""
    begin, over = t.path("begin"), t.path("over")
    for fifo in (begin, over):
        os.mkfifo(fifo)
    program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def feed():
        with open(begin, "rb"), open(t.path("lines"), "rb") as lines:
            program.communicate(lines.read())
        os.write(done_fd, b"over\n")
    done_fd = os.open(over, os.O_RDWR)  # does not wait for the other side
    feeder = threading.Thread(target=feed)
    feeder.start()
    p = subprocess.run([CLEW, "record", "-v", "-g", *options, "-p", str(program.pid), "-o", path, "--", "sh", "-c", ": > $0; read x < $1", begin, over],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    feeder.join()
    os.close(done_fd)
    for fifo in (begin, over):
        os.unlink(fifo)
    return p


def check_files(t, name, path, p, comm, options=()):
    files = [f for f in sorted(glob.glob(path + "*")) if list(samples(f, more=["--max-events=1"]))]
    no_copy = re.search(r"(\d+) no room for a copy", p.stderr)
    if not t.check(p.returncode in (0, 143) and files and no_copy and not re.search("warning|error", p.stderr), f"{name}: recorded",
                   f"{p.returncode} {p.stderr}"):
        return
    # The last of several files may hold nothing but the program's end, in the kernel.
    last = files[-1]
    for i, f in enumerate(files):
        which = name if len(files) == 1 else f"{name}, file {i + 1}"
        if compare(t, which, f, may_be_bare=len(files) > 1):
            last = f
    with ThreadPoolExecutor() as beside:
        rows = [beside.submit(hotspot_row, t, name, last), beside.submit(firefox_row, t, name, last, comm)]
        check_whole(t, name, files, comm, int(no_copy.group(1)))
    for row in rows:
        row.result()()
    if "-a" not in options:  # times of two CPUs may be the same in its unit
        samply(t, name, last)


def main():
    t = StackTap()
    needs_bpf_and_perf(t)
    make_input(t)
    for name, argv in commands().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        if not argv:
            t.skip(name, "not installed")
            continue
        run([CLEW, "record", "-q", "-g", "-o", t.path("first.data"), "--", *argv])  # its tables are made, and kept
        comm = os.path.basename(os.path.realpath(argv[0])) if name != "python3" else "python3"
        for what, options in OPTIONS:
            path = t.path(f"{name}{what}.data")
            p = record_all(path, lambda rings: record(t, path, argv, [*rings, *options]))
            check_files(t, f"{name} {what}", path, p, comm, options)
        path = t.path(f"{name}-p.data")
        check_files(t, f"{name} -p", path, record_all(path, lambda rings: record_pid(t, path, argv, rings)), comm)
    t.done()


main()
