#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_truth_test.py CLEW DATA: Intel PT of ../shared/data: the instructions that ran, by digest, in sets made from known streams and in real
captures; and lines as Debian's perf 6.1 prints them. TAP."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap

clew = os.path.abspath(sys.argv[1])
truth = os.path.join(sys.argv[2], "intel-pt-truth")
real = os.path.join(sys.argv[2], "intel-pt")
if not os.path.isdir(truth) or not os.path.isdir(real):
    tap.skip_all("no Intel PT in " + sys.argv[2])

# Sets in which perf is wrong (docs/decisions/intel-pt.md).
PERF_WRONG = {"forms", "far-retc", "filter", "modes", "kernel", "cr3-pgd"}
# perf prints PWRE from another field; CPUs in another order where their times are equal, and with stacks that forget what ran on the other.
OTHER_LINES = {("loss", "--call-trace"), ("switch", "--itrace=be -F tid,ip,addr,flags"), ("switch", "--call-trace"), ("switch", "--insn-trace")}
# Sets with times, which perf estimates where the trace has none: without them, lines are equal.
TIMED = {"jit", "threads", "snapshot", "time-cyc", "time-mtc"}


def run(*args):
    p = subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return p.stdout


def rows(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f][1:]


def digests():
    for name, tid, nr, sha, *_ in rows(os.path.join(truth, "SUMMARY.tsv")):
        if name == "switch":
            continue
        out = run("trace", "--digest", "-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs")).decode()
        tap.check(f"thread {tid} {nr} {sha}" in out.split("\n"), f"{name}, thread {tid}: {nr} instructions, as they ran")


def by_thread():
    """CPUs on which threads alternate: what each of them ran."""
    data = os.path.join(truth, "switch", "perf.data")
    lines = run("script", "--itrace=i1i", "-F", "tid,ip", "-i", data, "--symfs", os.path.join(truth, "symfs")).decode().split("\n")
    for name, tid, nr, sha, *_ in rows(os.path.join(truth, "SUMMARY.tsv")):
        if name == "switch":
            mine = [line.split()[1] + "\n" for line in lines if line.split()[:1] == [tid]]
            tap.check(len(mine) == int(nr) and hashlib.sha256("".join(mine).encode()).hexdigest() == sha, f"switch: what thread {tid} ran on two CPUs")


def captures():
    for name, nr, sha, nr_branches, branches, *_ in rows(os.path.join(real, "golden.tsv")):
        of = ["-i", os.path.join(real, name + ".data"), "--symfs", os.path.join(real, "symfs")]
        out = run("trace", "--digest", *of).decode()
        tap.check(f" {nr} {sha}\n" in out, f"{name}: the {nr} instructions that perf and libipt decode")
        out = run("script", "--itrace=b", "-F", "ip,addr", *of)
        tap.check(hashlib.sha256(out).hexdigest() == branches, f"{name}: the {nr_branches} branches that perf prints")


def lines():
    for name, args, _, sha in rows(os.path.join(truth, "PERF-TEXT.tsv")):
        if name in PERF_WRONG or (name, args) in OTHER_LINES or (args.startswith("--") and "=" not in args and name in TIMED):
            continue
        out = run("script", *args.split(), "-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs"))
        tap.check(hashlib.sha256(out).hexdigest() == sha, f"{name}: script {args}, as perf prints it")


def of_perf(*args):
    p = subprocess.run(["perf", *args], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return p.stdout.decode()


def without_times(text):
    return re.sub(r"^(.{16} +\d+ (?:\[\d+\])?) +\d+\.\d+:", r"\1", text, flags=re.M)


def beside_perf():
    """Where perf is there: lines apart from estimated times, and events besides execution."""
    if not shutil.which("perf"):
        return
    for name in sorted(TIMED):
        of = ["-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs")]
        for how in "--call-trace", "--call-ret-trace", "--insn-trace":
            mine, other = run("script", how, *of).decode(), of_perf("script", how, *of)
            if name == "time-cyc":  # perf prints PWRE from another field, and flags of another branch with these
                mine, other = (re.sub(r"(?<=\d:).* hw: . cstate.*|(?<=\d:).*(?= cbr:| deepest)", "", t) for t in (mine, other))
            tap.check(without_times(mine) == without_times(other), f"{name}: script {how}, as perf but for its times")
    for name, letters, fields in (
        ("tsx-ptw", "xp", "ip,addr,flags,sym,symoff,dso"),
        ("tsx-ptw", "bx", "ip,addr,flags,sym,symoff,dso"),
        ("tsx-ptw", "w", "pid"),  # perf does not know where a PTWRITE without FUP is
        ("events", "Ip", "pid"),
        ("work", "p", "ip,sym,symoff,dso"),
        ("retc", "crewp", "ip,addr,flags"),
        ("plain", "i1000i", "ip,flags,sym,symoff,dso"),
        ("m32", "i7ib", "ip"),
        ("time-cyc", "b", "ip,flags,ipc"),
        ("threads", "b", "ip,flags,ipc"),
        ("threads", "bA", "ip,flags,ipc"),
        ("jit", "bA", "ip,flags,ipc"),
    ):
        of = ["-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs")]
        mine, other = (f("script", "--itrace=" + letters, "-F", "comm,tid,event,synth," + fields, *of) for f in (run, of_perf))
        other = "".join(line + "\n" for line in other.splitlines() if "unknown attr type" not in line)
        tap.check(mine.decode() == other, f"{name}: script --itrace={letters}, as perf prints it")


def same_as_perf(text):
    """Points of perf, but for what it has wrong (docs/decisions/intel-pt.md)."""
    return re.sub(r"tr strt tr end", "tr end        ", text)


def points():
    """Without a walk: as perf, but for the flags of a branch that leaves the filter, and of what is no branch."""
    if not shutil.which("perf"):
        return
    for name in sorted({row[0] for row in rows(os.path.join(truth, "SUMMARY.tsv"))} - {"kernel", "switch", "cr3-pgd"}):
        of = ["-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs")]
        for letters, fields in (("qbe", "event,ip,addr,flags,sym,symoff,dso"), ("qi1ibe", "event,ip,sym,dso"), ("qqi1ipe", "event,synth,ip,sym"),
                                ("qi1ibxwpIe", "event,ip" if name not in ("tsx-ptw", "events") else "event")):
            mine, other = (f("script", "--itrace=" + letters, "-F", "comm,tid," + fields, *of) for f in (run, of_perf))
            other = "".join(line + "\n" for line in other.splitlines() if "unknown attr type" not in line)
            tap.check(mine.decode() == same_as_perf(other), f"{name}: script --itrace={letters}, as perf prints it")
    for name in ("foo", "mruby"):
        of = ["-i", os.path.join(real, name + ".data"), "--symfs", os.path.join(real, "symfs")]
        for letters, fields in (("qbe", "ip,addr,flags"), ("qqi1ie", "ip")):
            mine, other = (f("script", "--itrace=" + letters, "-F", "tid,event," + fields, *of) for f in (run, of_perf))
            tap.check(mine.decode() == same_as_perf(other), f"{name}: script --itrace={letters}, as perf prints it")


def without_binaries():
    """A recording of Linux 4.14, several AUX records of a CPU in one trace; neither kernel nor libraries are there."""
    data = os.path.join(sys.argv[2], "perfdata", "perf.data.intel_pt-4.14")
    out = run("script", "-i", data).decode().splitlines()
    errors = [re.sub(r"(Failed to get instruction).*", r"\1", line) for line in out if "trace error" in line]
    tap.check(len([line for line in out if " psb: " in line]) == 10, "4.14: each PSB")
    tap.check(len([line for line in out if " cycles: " in line]) == 15, "4.14: each sample")
    tap.check(all(line.endswith("code 5: Failed to get instruction") for line in errors) and len(errors) > 100, "4.14: code is missing, and nothing else is wrong")
    branches = [line for line in out if " branches: " in line]
    tap.check(any("7fb36d08bd60" in line and "=> ffffffffba001340" in line for line in branches), "4.14: interrupts need no code")
    if shutil.which("perf"):
        other = of_perf("script", "-i", data).splitlines()
        mine = [re.sub(r"(Failed to get instruction).*", r"\1", line) for line in out]
        missing = [line for line in other if line not in mine]
        # perf reports some binaries twice, and names a thread that the side-band does not prove
        tap.check(len(other) == 146 and len(missing) <= 8 and len(out) == 145, f"4.14: as perf, {len(missing)} lines differ")


def cycles():
    """What clew annotate has of CYC packets: all of them, but for code that is in no function or runs from one into the next."""
    of = ["-i", os.path.join(truth, "time-cyc", "perf.data")]
    symbols = json.loads(run("annotate", "--json", "--max-symbols=100000", "--symfs", os.path.join(truth, "symfs"), *of))["symbols"]
    insns = [i for s in symbols for i in s["instructions"] if "timed" in i]
    nr, all_cycles = sum(i["timed"] for i in insns), sum(i["timed"] * i["cycles"] for i in insns)
    in_blocks = sum(i["blocks_timed"] * i["block_cycles"] for i in insns if "blocks_timed" in i)
    counted = sum(int(n) for n in re.findall(r" CYC +(\d+)", run("dump", *of).decode()))
    ran = next(int(r[2]) for r in rows(os.path.join(truth, "SUMMARY.tsv")) if r[0] == "time-cyc")
    tap.check(0.9 * counted < all_cycles <= counted and abs(in_blocks - all_cycles) < 5, "time-cyc: cycles of instructions, and of blocks, are those counted", (all_cycles, in_blocks, counted))
    tap.check(0.9 * ran < nr <= ran and abs(all_cycles / nr - counted / ran) < 0.02, "time-cyc: cycles per instruction", (all_cycles / nr, counted / ran))
    none = json.loads(run("annotate", "--json", "--symfs", os.path.join(truth, "symfs"), "-i", os.path.join(truth, "time-mtc", "perf.data")))["symbols"]
    tap.check(none and not any(s["has_cycles"] for s in none), "time-mtc: a trace that does not count them")


digests()
by_thread()
cycles()
captures()
lines()
beside_perf()
points()
without_binaries()
tap.done()
