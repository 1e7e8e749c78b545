#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A recording of a real perf with the kernel's deferred user stacks: perf 7.3.4, Linux 7.3.4, --call-graph fp,defer, in tests/vm of
tests/vm/deferred.c. deferred-7.3.txt has what that perf's script printed of it: a line a sample, the time in ns and the addresses.

Usage: perf_capture_test.py CLEW FOLDER"""
import json
import os
import re
import shutil
import sys

from merge_lib import compare, firefox, hotspot, run, samply
from stack_lib import CLEW, StackTap, samples

RECORDING = os.path.join(sys.argv[2], "deferred-7.3.data")
OTHER_KERNEL = ("No kallsyms or vmlinux",)


def of_that_perf():
    with open(os.path.join(sys.argv[2], "deferred-7.3.txt"), encoding="ascii") as f:
        return sorted((int(time), [int(ip, 16) for ip in ips]) for time, *ips in map(str.split, f))


def stacks(path):
    return sorted((s["time"], [int(f["ip"], 16) for f in s["callchain"] if f.get("kind") in ("user", "kernel")]) for s in samples(path))


def main():
    t = StackTap()
    wanted = of_that_perf()
    t.check(stacks(RECORDING) == wanted, "script: the stacks that perf prints", [w for w in wanted if w not in stacks(RECORDING)][:1])
    stats = run([CLEW, "report", "--stats", "-i", RECORDING]).stdout
    t.check(re.search(r"CALLCHAIN_DEFERRED events:\s+55\b", stats) and re.search(r"deferred stacks 55: without a sample 0, twice 0", stats),
            "report --stats: each deferred stack has its samples", stats)
    rows = re.findall(r"^\s+[\d.]+%\s+(\d+)\s", run([CLEW, "report", "--stdio", "-n", "-g", "none", "--no-children", "-i", RECORDING]).stdout, re.M)
    t.check(sum(map(int, rows)) == len(wanted), "report: counts all samples", rows)
    merged = t.path("merged.data")
    p = run([CLEW, "inject", "--merge-stacks", "-i", RECORDING, "-o", merged])
    t.check(p.returncode == 0 and f"{len(wanted)} of {len(wanted)} samples" in p.stderr, "inject --merge-stacks", p.stderr)
    t.check("DEFERRED" not in run([CLEW, "script", "-D", "-i", merged]).stdout, "merged: no deferred record is left")
    t.check(stacks(merged) == wanted, "merged: the same stacks")
    t.check([json.dumps(s) for s in samples(merged)] == [json.dumps(s) for s in samples(RECORDING)], "merged: clew says the same of each sample")
    if shutil.which("perf"):
        compare(t, "merged", merged, OTHER_KERNEL)
        hotspot(t, "merged", merged)
        firefox(t, "merged", merged, "deferred")
        samply(t, "merged", merged)
    else:
        t.skip("merged, as perf reads it", "perf is not installed")
    t.done()


main()
