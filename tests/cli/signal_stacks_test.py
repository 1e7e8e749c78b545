#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: signal_stacks_test.py CLEW: stacks of signal handlers through trampolines that no unwind information describes (musl, static and dynamic; Go) or
describes as if they were called. They go on to what was interrupted, by every way to read stacks, and what does not reach the thread's beginning says so:
in script, in exports, and in --stats, which judge alike."""
import collections
import json
import os
import re
import shutil
import subprocess

from record_lib import CLEW, needs_perf_events
from stack_lib import LIVE, StackTap, may_use_bpf, samples, user_part

t = StackTap()
needs_perf_events(t)
SOURCE = os.path.join(LIVE, "signals_musl.c")
MUSL = [shutil.which("musl-gcc")] if shutil.which("musl-gcc") else None
BACKENDS = ["dwarf", *(["sframe", "sframe,immediate"] if may_use_bpf() else [])]
ON_CPU = ["-e", "cpu-clock:u"]
NAMES = {"burn", "first", "second", "third", "leaf", "inner", "outer", "main"}


def output(*words):
    return subprocess.run([CLEW, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


def own(stack):
    """The frames of the program itself, innermost first."""
    return [f.get("sym") for f in stack if f.get("sym") in NAMES]


def check_judgement(r, name):
    """What script calls whole is whole in exports and --stats."""
    states = collections.Counter(s["user_stack"]["state"] for s in samples(r.path) if "user_stack" in s)
    out = t.path("stacks.txt")
    said = subprocess.run([CLEW, "export", "--to", "collapsed", "--json", "-i", r.path, "-o", out], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False).stderr
    cut = json.loads(said)["cut_stacks"]
    stats = json.loads(output("report", "--json", "-i", r.path))["summary"]["user_stacks"]
    t.check(cut == states["partial"] + states["lost"] == stats["partial"] + sum(stats["lost"].values()), f"{name}: exports and --stats cut the same stacks",
            f"{cut} {states} {stats}")
    text = output("report", "--stats", "-i", r.path)
    line = re.search(r"^ *(\d+) .*complete, of which with unproven frames", text, re.M)
    t.check((int(line.group(1)) if line else 0) == stats["complete_with_unproven_frames"], f"{name}: --stats has a line for unproven frames", text)


def check_musl(name, program, args, backend):
    r = t.record_stacks(name, backend, [program, *args], more=ON_CPU)
    what = f"{name} {' '.join(args)} {backend}"
    inside = wrong = unmarked = beyond = named = 0
    for s in samples(r.path):
        stack = user_part(s)
        handlers = [i for i, f in enumerate(stack) if f.get("sym") in ("first", "second", "third")]
        if not handlers or stack[0].get("sym") != "burn":
            continue
        inside += 1
        after = stack[handlers[0] + 1:]
        # After the handler comes the trampoline, then what the signal interrupted.
        wrong += any("setjmp" in f.get("sym", "") or f.get("sym") == "memcpy" for f in after[:1])
        beyond += len(after) > 1 and after[1].get("how") == "signal"
        named += not after or after[0].get("sym", "__restore_rt") == "__restore_rt"
        is_whole = bool(stack) and stack[-1].get("sym") in ("main", "_start", "_start_c", "__libc_start_main", "libc_start_main_stage2")
        unmarked += not is_whole and s["user_stack"]["state"] != "partial"
    t.check(inside > 30, f"{what}: handlers were sampled", f"{inside} {r.err}")
    t.check(beyond == inside, f"{what}: each goes on through the trampoline", f"{beyond} of {inside}")
    t.check(not wrong and named == inside, f"{what}: the trampoline has no other function's name", f"{wrong} {named} of {inside}")
    t.check(not unmarked, f"{what}: a stack that is cut says so", f"{unmarked} of {inside}")
    return r


if not MUSL:
    t.skip("musl", "no musl-gcc here")
else:
    plain = t.compile("musl_static", [SOURCE], ["-O1", "-g", "-static", "-fno-pie", "-no-pie"], MUSL)
    dynamic = t.compile("musl_dynamic", [SOURCE], ["-O1", "-g"], MUSL)
    stripped = t.compile("musl_stripped", [SOURCE], ["-O1", "-static", "-fno-asynchronous-unwind-tables"], MUSL)
    for program in filter(None, (plain, dynamic)):
        name = os.path.basename(program)
        for backend in BACKENDS:
            for args in [], ["alt"]:
                r = check_musl(name, program, args, backend)
        check_judgement(r, name)
    # The signal came in a function that keeps no frame.
    for program in filter(None, (plain, dynamic)):
        for backend in BACKENDS:
            r = t.record_stacks("leaf", backend, [program], more=ON_CPU)
            chains = [own(user_part(s)) for s in samples(r.path)]
            third = [c for c in chains if "third" in c]
            t.check(third and all(c == ["burn", "third", "leaf", "main"] for c in third), f"{os.path.basename(program)} {backend}: from the handler "
                    "through a leaf to main", collections.Counter(map(tuple, third)))
    # Nothing at all is described: what was found by frame pointers, or not at all, is no whole stack.
    if stripped:
        for backend in BACKENDS:
            r = t.record_stacks("bare", backend, [stripped], more=ON_CPU)
            states = collections.Counter(s["user_stack"].get("stop", s["user_stack"]["state"]) for s in samples(r.path) if "second" in own(user_part(s)))
            t.check(states and not states["outermost"] and not states["fp-end"], f"without unwind information, {backend}: no handler's stack is whole", states)

# glibc's has its rules: as before.
glibc = t.compile("glibc", [SOURCE], ["-O1", "-g"])
for backend in BACKENDS if glibc else []:
    r = t.record_stacks("glibc", backend, [glibc], more=ON_CPU)
    chains = collections.Counter(tuple(own(user_part(s))) for s in samples(r.path) if "second" in own(user_part(s)))
    want = ("burn", "second", "first", "inner", "outer", "main")
    t.check(chains[want] and chains[want] >= 0.98 * sum(chains.values()), f"glibc {backend}: through both handlers to main", chains)

go = shutil.which("go")
program = t.path("go_signals")
if not go or subprocess.run([go, "build", "-o", program, os.path.join(LIVE, "signals.go")], capture_output=True, check=False,
                            env={**os.environ, "GOCACHE": t.path("cache"), "GOFLAGS": "-mod=mod"}).returncode:
    t.skip("Go", "no Go here")
else:
    for backend in BACKENDS:
        r = t.record_stacks("go", backend, [program], more=ON_CPU)
        seen = through = wrong = 0
        for s in samples(r.path):
            stack = user_part(s)
            at = next((i for i, f in enumerate(stack) if "sigtramp" in f.get("sym", "") or "cgoSigtramp" in f.get("sym", "")), None)
            if at is None or at + 1 >= len(stack) or "sigtramp" in stack[at + 1].get("sym", ""):
                continue
            seen += 1
            through += "sigreturn" in stack[at + 1].get("sym", "")
            wrong += at + 2 < len(stack) and stack[at + 2].get("how") != "signal"
        if seen:
            t.check(through == seen and not wrong, f"Go {backend}: from the handler through the runtime's trampoline", f"{through} of {seen}, {wrong}")
        else:
            t.skip(f"Go {backend}", "no handler was sampled")
t.done()
