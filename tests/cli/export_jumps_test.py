#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_jumps_test.py CLEW DATA: jumps in `clew export --to callgrind --instr`, of branch stacks and of a trace, against objdump's own view of the program. TAP."""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import BASE, TYPE, at, branches_in, chain, compiled, export, one, place, program, program_records, recording, run, work

truth = os.path.join(os.path.abspath(sys.argv[2]), "coresight-truth", "work")


def jumps(out):
    """Of a whole file: (from, to) -> (kind, how often, of how many, function, target's function), as the format defines it."""
    found, names, function, target, jump = {}, {}, None, None, None
    for line in out.decode().splitlines():
        key, equals, rest = line.partition("=")
        if jump:
            source = int(line.split()[0], 16)
            assert len(line.split()) == 2 and (source, jump[0]) not in found, line
            found[source, jump[0]] = (*jump[1:], function, target or function)
            jump = target = None
        elif key in ("fn", "cfn", "jfn") and equals:
            ident, _, name = rest.partition(") ")
            name = names.setdefault(ident.rstrip(")"), name)
            function, target = (name, target) if key == "fn" else (function, name if key == "jfn" else target)
        elif key in ("jump", "jcnd") and equals:
            counts, to, _ = rest.split()
            counts = [int(n) for n in counts.split("/")]
            assert len(counts) == (2 if key == "jcnd" else 1), line
            jump = (int(to, 16), key, counts[0], counts[-1])
    return found


BRANCH = re.compile(r"^ +([0-9a-f]+):\t(j[a-z]+|b\.[a-z]+|cb\w+|tb\w+) .*?\b([0-9a-f]+) <hot", re.M)
CONDITIONAL = [(int(a, 16), int(b, 16)) for a, op, b in BRANCH.findall(run("objdump", "-d", "--no-show-raw-insn", "--disassemble=hot", program).stdout.decode())
               if op != "jmp" and int(b, 16) <= int(a, 16)]
if not CONDITIONAL:
    tap.skip_all("no objdump (package binutils), or no loop that it shows")
start = int(re.search(r"^ +\d+: 0*([0-9a-f]+) .* hot$", run("readelf", "-Ws", program).stdout.decode(), re.M).group(1), 16)
loop, top = (place("hot", x - start) for x in CONDITIONAL[0])
last = next(int(x, 16) for x, op in re.findall(r"^ +([0-9a-f]+):\t(\S+)", run("objdump", "-d", "--no-show-raw-insn", "--disassemble=hot", program).stdout.decode(), re.M)[::-1]
            if op.startswith("ret"))
CALL = next(o for o, _, to in branches_in(program, "outer") if to == "hot")
STACKS = pm.Event(TYPE | pm.BRANCH_STACK, kind=pm.SOFTWARE, config=0)
# Newest first: hot() was called, its loop ran three times, and it returned.
pairs = ((place("hot", last - start), place("outer", 5)), (loop, top), (loop, top), (place("outer", CALL), place("hot")))
data = recording("stacks.data", [STACKS], [*program_records(STACKS), *(STACKS.sample(place("hot", 2), chain=chain(place("hot", 2), place("outer", 5)), branches=pairs, time=5 + i)
                                                                      for i in range(7))])
out = export(data, "callgrind", "--instr").stdout
found = jumps(out)
tap.check({k: v[:3] for k, v in found.items()} == {CONDITIONAL[0]: ("jcnd", 14, 21)}, "a conditional jump: how often it was taken, of how often it ran; no calls, no returns",
          [found, CONDITIONAL, out.decode()[-600:]])
tap.check(all({f, t} <= {"hot", "mix"} for *_, f, t in found.values()), "in its functions", found)
outside = jumps(export(recording("other.data", [STACKS], [*program_records(STACKS), STACKS.sample(place("main", 2), chain=chain(place("main", 2)), branches=pairs, time=5)]),
                       "callgrind", "--instr").stdout)
tap.check(not outside, "none of functions without samples", outside)
for options, what in ((["--instr", "--by", "tid"], "--by tid"), ([], "without --instr")):
    tap.check(b"\njcnd=" not in export(data, "callgrind", *options).stdout, f"none: {what}")
tap.check(not jumps(export(one, "callgrind", "--instr").stdout), "none of plain samples")
p = export(data, "callgrind", "--instr", "-e", "cpu-clock")
tap.check(jumps(p.stdout) == found, "of the event of -e", p.stderr)
p = run(sys.argv[1] and os.path.abspath(sys.argv[1]), "export", "--to", "callgrind", "--instr", "-i", "-", input=export(data, "perf.data").stdout)
tap.check(p.returncode == 0 and b"\nfn=" in p.stdout and not jumps(p.stdout), "none of a pipe, which is read once", p.stderr)
tap.check(export(data, "callgrind", "--instr").stdout == out, "two runs are equal")

# A branch that no instruction is at, and one that leaves its file.
odd = ((place("hot", 1), top), (loop, BASE + 0xff000), (0x10, top), (loop, 0x10))
p = export(recording("odd.data", [STACKS], [*program_records(STACKS), STACKS.sample(place("hot", 2), chain=chain(place("hot", 2)), branches=odd, time=5)]), "callgrind", "--instr")
tap.check(p.returncode == 0 and all(k[0] != start + 1 for k in jumps(p.stdout)), "branches that cannot be", [p.stderr, jumps(p.stdout)])

damaged = os.path.join(work, "damaged.data")
with open(data, "rb") as f:
    whole = f.read()
with open(damaged, "wb") as f:
    f.write(whole[:-len(whole) // 8] + bytes(len(whole) // 8))
p, q = export(damaged, "callgrind", "--instr"), export(damaged, "callgrind")
tap.check(p.returncode == q.returncode and p.stderr == q.stderr and (b"\nfn=" in p.stdout) == (b"\nfn=" in q.stdout), "a damaged recording: as without jumps", [p.stderr, q.stderr])

if shutil.which("callgrind_annotate"):
    path = os.path.join(work, "callgrind.out")
    with open(path, "wb") as f:
        f.write(out)
    p = run("callgrind_annotate", path)
    tap.check(p.returncode == 0 and not p.stderr and b"PROGRAM TOTALS" in p.stdout and re.search(rb":(hot|mix)\b", p.stdout), "callgrind_annotate reads it, without a warning",
              p.stdout + p.stderr)
else:
    tap.skip("callgrind_annotate reads it", "no callgrind_annotate (package valgrind)")

# --- of a trace ---

if os.path.exists(truth):
    p = export(truth, "callgrind", "--instr")
    found = jumps(p.stdout)
    ways = {kind: sum(v[0] == kind for v in found.values()) for kind in ("jump", "jcnd")}
    tap.check(p.returncode == 0 and min(ways.values()) > 5 and all(n <= of for _, n, of, *_ in found.values()) and any(n < of for _, n, of, *_ in found.values()),
              "of a trace", [p.stderr, ways])
else:
    tap.skip("of a trace", "no " + truth)
shutil.rmtree(work, ignore_errors=True)
tap.done()
