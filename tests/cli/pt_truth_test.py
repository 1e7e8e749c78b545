#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_truth_test.py CLEW DATA: Intel PT of ../shared/data: the instructions that ran, by digest, in sets made from known streams and in real
captures; and lines as Debian's perf 6.1 prints them. TAP."""
import hashlib
import os
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
# Lines that are not yet as perf's: event trace's letters, the order of CPUs with equal times, and times of instructions between packets.
NOT_YET = {("events", "--itrace=be -F tid,ip,addr,flags"), ("switch", "--itrace=be -F tid,ip,addr,flags")}
TIMED = {"jit", "threads", "snapshot", "switch", "time-cyc", "time-mtc"}


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
        if name in PERF_WRONG or (name, args) in NOT_YET or args == "--call-trace" or (args == "--insn-trace" and name in TIMED):
            continue
        out = run("script", *args.split(), "-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs"))
        tap.check(hashlib.sha256(out).hexdigest() == sha, f"{name}: script {args}, as perf prints it")


digests()
by_thread()
captures()
lines()
tap.done()
