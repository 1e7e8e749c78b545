#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: script_fields_cli_test.py CLEW: columns of `clew script` that only some samples have, on recordings made here; perf's text beside it,
where there is a perf 6.1. TAP."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
KERNEL_START = 0xFFFFFFFF81000000
LATENCY = 5 | 3 << 32  # weight 5 and, of WEIGHT_STRUCT, ins_lat 3


def run(program, path, *fields):
    p = subprocess.run([program, "script", "-i", path, *fields], stdin=subprocess.DEVNULL, capture_output=True, check=False, encoding="utf-8",
                       env=dict(os.environ, HOME=work))
    return p.returncode, p.stdout, p.stderr


def has_perf():
    perf = shutil.which("perf")
    return perf and "version 6.1." in subprocess.run([perf, "--version"], capture_output=True, check=False, encoding="utf-8").stdout


def recording(name, sample_type, branches=()):
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | sample_type, kind=pm.RAW_EVENT, config=0x1CD, branch=8 if branches else 0)
    records = pm.comm(event, 7, b"prog") + pm.mmap2(event, 7, 0x7000000, 0x100000, b"/no/such/lib.so", pgoff=0x2000)
    records += pm.mmap2(event, 2**32 - 1, KERNEL_START, 0x1000000, b"[kernel.kallsyms]_text", pgoff=KERNEL_START, misc=pm.KERNEL)
    records += event.sample(0x7000010, weight=LATENCY, branches=branches)
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(pm.perf_data([event], records, {6: pm.text(b"x86_64"), 12: pm.event_desc([event], [b"ev"])}))
    return path


def prints(name, path, want, *fields):
    _status, out, err = run(clew, path, *fields)
    tap.check(out.split() == want, name, [out, err, want])
    if not has_perf():
        tap.skip(name + ": perf's text", "no perf 6.1 here")
        return
    _status, theirs, _err = run("perf", path, *fields)
    tap.check(out == theirs, name + ": perf's text", [out, theirs])


plain = recording("weight.data", pm.WEIGHT)
struct = recording("weight_struct.data", pm.WEIGHT_STRUCT)
PLACE = ["7000010", "[unknown]", "(/no/such/lib.so)"]
START = ["prog", "7", "[000]", "0.000001:", "1", "ev:"]
prints("WEIGHT: no ins_lat", plain, [*START, str(LATENCY), *PLACE])
prints("WEIGHT_STRUCT: both", struct, [*START, "5", "3", *PLACE])
prints("WEIGHT_STRUCT: ins_lat asked for", struct, ["prog", "3"], "-F", "comm,ins_lat")
status, out, err = run(clew, plain, "-F", "comm,ins_lat")
tap.check(status == 1 and not out and "no WEIGHT_STRUCT: the field 'ins_lat' cannot be printed" in err, "WEIGHT: ins_lat asked for", [status, out, err])

status, out, err = run(clew, plain, "--json", "-F", "+who")
tap.check(status == 0 and '"who":{"kind":"task","evidence":"sample"' in out, "--json -F +who: of a sample", [status, out, err])
tap.check('"who"' not in run(clew, plain, "--json")[1], "--json: only where it is asked for")
status, out, err = run(clew, plain, "--json", "--stats")
tap.check(status == 2 and not out and "exclude each other" in err, "--json --stats is refused", [status, out, err])
status, out, err = run(clew, plain, "--json", "-F", "ip")
tap.check(status == 2 and "exclude each other" in err, "--json -F ip is refused", [status, out, err])

ends = [(0x7000010, 0x7000020), (KERNEL_START + 0x100, KERNEL_START + 0x200), (0x1234, 0x5678)]
branchy = recording("branches.data", pm.BRANCH_STACK, ends)
prints("brstackoff: a file that is not found, the kernel, no file", branchy,
       ["0x2010/0x2020/-/-/-/0/", "0x100/0x200/-/-/-/0/", "0x1234/0x5678/-/-/-/0/"], "-F", "brstackoff")
prints("brstack: addresses", branchy, ["0x%x/0x%x/-/-/-/0/" % e for e in ends], "-F", "brstack")
prints("both: brstack", branchy, ["0x%x/0x%x/-/-/-/0/" % e for e in ends], "-F", "brstack,brstackoff")
shutil.rmtree(work)
tap.done()
