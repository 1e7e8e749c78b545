#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacks against the truth: programs with a call chain that follows from their innermost function (tests/live/truth_tree.py), in C and C++,
with and without frame pointers, with signals on another stack, threads, modules that come and go.

At least 99.9 % of the samples have exactly the right chain, down to the thread's first frame, and none says anything wrong without a
mark. With the kernel's frame pointers (fp) nothing is asked but that the recording works: it is printed beside.

Usage: stack_truth_test.py CLEW     Environment: stack_lib.py; CLEW_TEST_BACKENDS="auto dwarf,65528": only these"""
import collections
import os
from concurrent.futures import ThreadPoolExecutor

from stack_lib import HZ, IS_FULL, LENGTH, LIVE, StackTap, may_use_bpf, samples, user_part, why_missing
import truth_tree

SEED = 1
# name, source, flags, arguments, share of right samples asked for (percent)
PROGRAMS = [
    ("C, no frame pointers", "c", ["-O2", "-fomit-frame-pointer"], [], 99.9),
    ("C, frame pointers", "c", ["-O2", "-fno-omit-frame-pointer"], [], 99.9),
    ("C++, exceptions", "cc", ["-O2"], [], 99.9),
    ("signals on another stack", "c", ["-O2"], ["-s", "1000"], 99.9),
    ("threads", "c", ["-O2"], ["-t", "4"], 99.9),
]
FULL_PROGRAMS = [
    ("C, -O1, static", "c", ["-O1", "-static"], [], 99.9),
    ("C, -O3, no PIE", "c", ["-O3", "-no-pie"], [], 99.9),
    ("C++, frame pointers, -Os", "cc", ["-Os", "-fno-omit-frame-pointer"], [], 99.9),
]


def judge_recording(tree, path):
    kinds, wrong, short = collections.Counter(), collections.Counter(), collections.Counter()
    for s in samples(path):
        frames = [(f.get("sym"), f.get("dso")) for f in user_part(s)]
        why = why_missing(s)
        if not frames:
            kinds["no user part" if why or s["pid"] == 0 else "unmarked"] += 1
            continue
        v = truth_tree.judge(tree, frames)
        if v.kind == "wrong":
            wrong[v.why + (f" (marked: {why})" if why else "")] += 1
            kinds["marked" if why else "wrong"] += 1
        elif v.kind == "short":
            short[f"{v.why}: {why or 'without a mark'}"] += 1
            kinds["short" if why else "unmarked"] += 1
        else:
            kinds[v.kind] += 1
    return kinds, wrong, short


def check(t, tree, name, backend, path, bar):
    kinds, wrong, short = judge_recording(tree, path)
    judged = sum(kinds.values()) - kinds["outside"] - kinds["no user part"]
    share = 100 * kinds["right"] / judged if judged else 0
    t.note(f"{name}, {backend}: {share:.3f} % right; " + ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())))
    for why, n in (wrong + short).most_common(6):
        t.note(f"    {n}: {why}")
    if bar is None:
        return
    t.check(judged > 500 * LENGTH, f"{name}, {backend}: samples", judged)
    t.check(share >= bar, f"{name}, {backend}: at least {bar} % agree with the truth", f"{share:.3f} %")
    t.check(not kinds["wrong"], f"{name}, {backend}: nothing wrong without a mark", kinds["wrong"])
    t.check(not kinds["unmarked"], f"{name}, {backend}: nothing short without a mark", kinds["unmarked"])


def run(t, tree, backends, name, program, arguments, bar):
    for backend in backends:
        tag = "".join(c if c.isalnum() else "-" for c in f"{name}-{backend}")
        # Of copies, which "auto" makes before it has the tables, a few are cut by nature: too few samples, and these are a thousandth.
        r = t.record_stacks(tag, backend, [program, f"{1.5 * LENGTH}", *arguments])
        if not t.check(r.status == 0, f"{name}, {backend}: recorded", r.err):
            continue
        t.note(" / ".join(line for line in r.err.splitlines() if line.strip())[:300])
        check(t, tree, name, backend, r.path, None if backend == "fp" else bar)
        if not os.environ.get("CLEW_TEST_KEEP"):
            os.unlink(r.path)


def main():
    t = StackTap()
    trees = {kind: truth_tree.write_program(t.path(f"tree.{kind}"), SEED, kind == "cc") for kind in ("c", "cc")}
    backends = os.environ.get("CLEW_TEST_BACKENDS", "").split() or \
        (["auto", "sframe,immediate", "dwarf,65528", "fp"] if may_use_bpf() else ["auto", "dwarf,65528"])
    todo = PROGRAMS + (FULL_PROGRAMS if IS_FULL else [])
    plain = ("c", "-O2")
    ways = sorted({plain, *((kind, *flags) for _, kind, flags, *_ in todo)})
    with ThreadPoolExecutor(os.cpu_count()) as beside:
        programs = dict(zip(ways, beside.map(lambda way: t.compile("-".join(way), [t.path(f"tree.{way[0]}")], way[1:]), ways)))
    for i, (name, kind, flags, arguments, bar) in enumerate(todo):
        program = programs[kind, *flags]
        if not program:
            t.skip(name, "no compiler")
            continue
        run(t, trees[kind], backends if i == 0 or IS_FULL else backends[:1], name, program, arguments, bar)
    modules = [t.compile(f"module{pad}.so", [t.path("module.c")], ["-O2", "-shared", "-fPIC", f"-DPAD={pad}"]) for pad in (24, 3000)]
    if programs[plain] and all(modules):
        # What is mapped for a moment is not read in time: marked is enough.
        run(t, trees["c"], backends[:1], "modules that come and go", programs[plain], ["-m", *modules], 0)
    t.note(f"-F {HZ}, {LENGTH} times the length")
    t.done()


main()
