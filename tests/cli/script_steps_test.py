#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: script_steps_test.py CLEW DATA: lines of a trace are copied from others of the same place; with --max-events each is made by itself. TAP."""
import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import check, done, skip_all

clew, data = os.path.abspath(sys.argv[1]), sys.argv[2]
FORMS = (
    ["--call-trace"],
    ["--call-ret-trace"],
    ["--itrace=b"],
    ["--itrace=cre", "-F", "+flags,+symoff,+callindent,+insn"],
    ["--insn-trace"],
    ["--itrace=i1i", "-F", "comm,tid,time,ip,sym,symoff,flags,insnlen"],
)


def script(*args):
    return subprocess.run([clew, "script", *args], stdin=subprocess.DEVNULL, capture_output=True, check=False)


def inputs():
    for path in sorted(glob.glob(os.path.join(data, "intel-pt-truth", "*", "perf.data"))):
        yield path, ["--symfs", os.path.join(data, "intel-pt-truth", "symfs")]
    yield os.path.join(data, "intel-pt", "unzip.data"), ["--symfs", os.path.join(data, "intel-pt", "symfs")]
    yield os.path.join(data, "coresight-truth", "threads"), []
    yield os.path.join(data, "simpleperf-etm", "perf_etm.fixed.data"), ["--symfs", os.path.join(data, "simpleperf-etm", "symfs")]


if not os.path.isdir(os.path.join(data, "intel-pt-truth")):
    skip_all("no traces in " + data)
for path, more in inputs():
    wrong, nr = [], 0
    for how in FORMS:
        out = script(*how, "-i", path, *more)
        each = script(*how, "-i", path, *more, "--max-events", "1000000000")
        nr += out.stdout.count(b"\n")
        if out.stdout != each.stdout or out.returncode != each.returncode:
            wrong.append(how)
    check(nr > 100 and not wrong, f"{os.path.relpath(path, data)}: {nr} lines, copied or made, are the same", wrong)
done()
