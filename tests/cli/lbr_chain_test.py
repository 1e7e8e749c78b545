#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: lbr_chain_test.py CLEW: call chains whose user part is in the branch stack (record --call-graph lbr): as perf reads them. TAP."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import BASE, CONTEXT_KERNEL, KERNEL_AT, TYPE, branches_in, chain, clew, export, place, program, program_records, recording, run, work

CALL_STACK, USER = 1 << 11, 1
CALLS = {f: next((o for o, _, to in branches_in(program, f) if to == callee), None) for f, callee in (("outer", "hot"), ("main", "outer"))}
if None in CALLS.values():
    tap.skip_all("no objdump (package binutils), or no calls that it shows")
event = pm.Event(TYPE | pm.BRANCH_STACK, branch=CALL_STACK | USER)
# The calls that have not returned, newest first.
calls = ((place("outer", CALLS["outer"]), place("hot")), (place("main", CALLS["main"]), place("outer")), (0x10, place("main")))
kernel_part = (CONTEXT_KERNEL, KERNEL_AT + 4, KERNEL_AT + 8)
deep = calls[:2] * 16
samples = [
    event.sample(place("hot", 6), chain=chain(place("hot", 6)), branches=calls, time=10),
    event.sample(KERNEL_AT + 4, misc=pm.KERNEL, chain=(*kernel_part, *chain(place("hot", 6))), branches=calls, time=11),
    event.sample(KERNEL_AT + 4, misc=pm.KERNEL, chain=(*kernel_part, *chain()), branches=calls, time=12),
    event.sample(KERNEL_AT + 4, misc=pm.KERNEL, chain=kernel_part, branches=calls, time=13),  # of a kernel thread: no user mark
    event.sample(place("hot", 6), chain=chain(place("hot", 6)), branches=calls[:1], time=14),
    event.sample(place("hot", 6), chain=chain(place("hot", 6)), branches=deep, time=15),
    event.sample(place("outer", 1), chain=chain(place("outer", 1)), branches=calls, time=16),  # hot() went there by a jump
]
WANT = ["main;outer;hot", "main;outer;hot;in_kernel_[k];in_kernel_[k]", "main;outer;hot;in_kernel_[k];in_kernel_[k]", "in_kernel_[k];in_kernel_[k]", "outer;hot",
        ";".join(["main", "outer"] * 16 + ["hot"]), "main;outer;hot;outer"]
data = recording("lbr.data", [event], [*program_records(event), pm.ksymbol(event, KERNEL_AT, b"in_kernel"), *samples])
addresses = [[int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+)(?: |$)", part, re.M)]
             for part in run(clew, "script", "-i", data, "-F", "ip").stdout.decode().split("\n\n") if part.strip()]
user = [place("hot") - BASE, calls[0][0] - BASE, calls[1][0] - BASE, 0x10]  # perf prints those of a file as they are in it
tap.check(addresses == [user, [*kernel_part[1:], *user], [*kernel_part[1:], *user], [*kernel_part[1:]], user[:2], [user[0], *(a - BASE for a, _ in deep)], user],
          "script: where the last call went, then the calls, after the kernel's part", [[hex(a) for a in s] for s in addresses])
if shutil.which("perf"):
    for fields in ("ip,sym", "ip,sym,symoff,dso", "comm,tid,time,event,ip,sym", "brstack,ip"):
        ours, theirs = (run(tool, "script", "-i", data, "-F", fields).stdout for tool in (clew, "perf"))
        tap.check(ours == theirs and ours, f"script -F {fields}: as perf's", [ours.decode(), theirs.decode()])
else:
    tap.skip("script: as perf's", "no perf (package linux-perf)")


def folded(text):
    return {line.rsplit(" ", 1)[0].split(";", 1)[1].replace("[unknown];", ""): int(line.rsplit(" ", 1)[1]) for line in text.decode().splitlines()}


want = {}
for stack in WANT:
    want[stack] = want.get(stack, 0) + 1
p = export(data, "collapsed", "--no-cut-frames", "--weight", "samples", "--no-inline")
tap.check(folded(p.stdout) == want, "collapsed: callers of all", [folded(p.stdout), want, p.stderr])
p = run(clew, "report", "-i", data, "--json")
tap.check(p.returncode == 0 and json.loads(p.stdout), "report reads them", p.stderr)
# The line of the sampled address, not of the function's beginning, where perf's text does not have to be met.
p = run(clew, "script", "--json", "-i", data)
first = json.loads(p.stdout.decode().splitlines()[0]) if not p.returncode else {}
tap.check(f"{place('hot', 6):x}" in json.dumps(first), "JSON: the sampled address is in the chain", [first, p.stderr])
# Without call stacks in the stack, the chain is the kernel's.
plain = pm.Event(TYPE | pm.BRANCH_STACK, branch=1 << 3 | USER)
other = recording("any.data", [plain], [*program_records(plain), plain.sample(place("hot", 6), chain=chain(place("hot", 6), place("outer", 9)), branches=calls, time=10)])
tap.check(folded(export(other, "collapsed", "--no-cut-frames", "--weight", "samples", "--no-inline").stdout) == {"outer;hot": 1}, "-j any with a chain: the recorded chain")
shutil.rmtree(work, ignore_errors=True)
tap.done()
