#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: switch_lost_test.py CLEW: `clew record --switch-output`, live: each file counts what was lost in its own time, and no file what an earlier one has
counted. The program makes one sample for each number it reads, so that nothing depends on time. TAP."""
import glob
import json
import os
import signal
import subprocess

import record_lib
from record_lib import CLEW, PATIENCE, Tap, command_of, until

t = Tap()
# Pages that were never touched: as many as the line says. Answers a line when all are.
PROGRAM = """import mmap, os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
pages = mmap.mmap(-1, 4096 << 12)
pages.madvise(mmap.MADV_NOHUGEPAGE)
at = 0
for line in sys.stdin:
    for at in range(at, at + int(line)):
        pages[at << 12] = 1
    at += 1
    print(at, flush=True)
"""


def touch(nr):
    p.stdin.write(f"{nr}\n")
    p.stdin.flush()
    return p.stdout.readline()


def ping():
    """Answered after the rings are read."""
    os.write(ctl[1], b"ping\n")
    return os.read(acks[0], 16)


def switch(nr):
    p.send_signal(signal.SIGUSR2)
    return until(lambda: len(files()) == nr)


def files():
    return sorted(glob.glob(out + ".2*"))


out = t.path("lost.data")
ctl, acks = os.pipe(), os.pipe()
p = subprocess.Popen([CLEW, "record", "--switch-output", "--control", f"fd:{ctl[0]},{acks[1]}", "-e", "page-faults:u", "-c", "1", "-m", "1", "-o", out, "--",
                      record_lib.sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                     pass_fds=[ctl[0], acks[1]])
command_of(p)
touch(1)
ping()
p.send_signal(signal.SIGSTOP)
touch(2000)
p.send_signal(signal.SIGCONT)
ping()
touch(1)  # the kernel says with it what was lost before
ping()
ok = switch(1)
touch(3)
ping()
ok = ok and switch(2)
touch(2)
ping()
p.send_signal(signal.SIGINT)
err = p.communicate(timeout=PATIENCE)[1]
t.check(ok and len(files()) == 3, "three files", err)


def lost_of(path):
    said = subprocess.run([CLEW, "report", "--json", "-i", path], capture_output=True, check=False).stdout
    text = subprocess.run([CLEW, "script", "--show-lost-events", "-i", path], capture_output=True, check=False, text=True).stdout
    return json.loads(said)["summary"]["lost"], text.count("LOST_SAMPLES")


found = [lost_of(f) for f in files()]
t.check(found and found[0][0] > 1000 and found[0][1] >= 1, "the first one has lost samples, and their sum", (found, err))
t.check(found[1:] == [(0, 0)] * 2, "the others have not", (found, err))
t.done()
