#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""User stacks of uprobes and uretprobes, live: each hit has its stack, and all of it, whatever else samples the task.

alone:   the probe is the only event; the callers of each hit are known
nested:  returns of a recursion: the kernel's trampoline stands in place of return addresses, and is seen through
copied:  a copied stack ends at a probed return, and says so
beside:  a clock of 10 kHz interrupts the probes of several threads
cookies: no stack of a probe ends the wait for another
events:  two clocks, several threads: every sample is found by its own event's request

Usage: stack_probes_test.py CLEW [PART ...]     Environment: stack_lib.py"""
import collections
import os
import re
import subprocess
import sys

from record_lib import RINGS
from stack_lib import CLEW, IN_TIME, LIVE, StackTap, may_use_bpf, samples, user_part, why_missing

BACKENDS = ["auto", "sframe,immediate"]
NR, DEPTH = 100, 5


def names(s):
    return [f.get("sym", "?") for f in user_part(s)]


def is_loss(r):
    """Does the recorder report records that found no room?"""
    return re.search(r"\d lost|full ring|full map", r.err)


def record_joined(t, name, backend, command, more):
    """Again, with longer rings, where the machine kept the recorder from them, or held the CPU that wrote a request for longer than a recorder waits."""
    for rings in RINGS:
        r = t.record_stacks(name, backend, command, [*more, *rings])
        if not is_loss(r) and "without their request" not in r.err:
            break
    return r


def record(t, name, backend, events, command):
    return record_joined(t, name, backend, command, ["-c", "1", *[o for e in events for o in ("-e", e)]])


def drop_unmatched(t, what, found):
    """Without the samples that say their request was not found, where these are few: a machine may hold the CPU that
    writes a request for longer than a recorder waits. The demand is that none gets another's stack."""
    matched = [s for s in found if why_missing(s) != "unmatched"]
    nr = len(found) - len(matched)
    if not nr or nr > max(1, len(found) // 1000):
        return found
    t.note(f"{what}: {nr} of {len(found)} unmatched")
    return matched


def check_chains(t, what, found, wanted):
    """@p found: samples; @p wanted: the innermost functions of each, as a Counter of tuples."""
    is_whole = len(matched := drop_unmatched(t, what, found)) == len(found)
    found = matched
    bare = collections.Counter(why_missing(s) or "no reason" for s in found if not user_part(s))
    t.check(not bare, f"{what}: every sample has a user stack", bare)
    early = collections.Counter(why_missing(s) for s in found if why_missing(s) not in ("", *IN_TIME))
    t.check(not early, f"{what}: no stack ends early", early)
    if any(why_missing(s) for s in found):
        t.note(f"{what}: {collections.Counter(why_missing(s) for s in found)}")
    depth = max(len(w) for w in wanted)
    chains = collections.Counter(tuple(n for n in names(s) if n in ("probed", "nested", "calls", "main")) for s in found
                                 if not why_missing(s))
    wrong = {c: n for c, n in chains.items() if c not in wanted}
    t.check(not wrong, f"{what}: the callers are right", f"{wrong}; depth {depth}")
    if is_whole and not any(why_missing(s) for s in found):
        t.check(chains == wanted, f"{what}: and each as often as it was called", f"{chains}\n{wanted}")


def chain_of(first, outermost):
    return (*first, *["nested"] * (DEPTH + 1), "calls", *outermost)


def alone(t, program):
    for backend in BACKENDS:
        for kind, first in (("uprobe", ["probed"]), ("uretprobe", [])):
            for shell in (False, True):
                what = f"{backend}: {kind}{', of what a shell starts' if shell else ''}"
                command = ["sh", "-c", f"'{program}' plain {NR}; true"] if shell else [program, "plain", str(NR)]
                r = record(t, "alone", backend, [f"{kind}:{program}:probed"], command)
                found = list(samples(r.path))
                t.check(len(found) == NR, f"{what}: every hit is a sample", f"{len(found)}: {r.err}")
                check_chains(t, what, found, collections.Counter({chain_of(first, ["main"]): NR}))


def nested(t, program):
    wanted = collections.Counter({(*["nested"] * n, "calls", "main"): NR for n in range(DEPTH + 1)})
    for backend in BACKENDS:
        r = record(t, "nested", backend, [f"uretprobe:{program}:nested"], [program, "plain", str(NR)])
        check_chains(t, f"{backend}: returns of a recursion", list(samples(r.path)), wanted)
    # A uprobe within: all the calls above it are to return to the trampoline.
    events = [f"uretprobe:{program}:nested", f"uprobe:{program}:probed"]
    r = record(t, "within", "auto", events, [program, "plain", str(NR)])
    found = [s for s in samples(r.path) if s["event"].startswith("uprobe:")]
    t.check(len(found) == NR, "within: every hit is a sample", f"{len(found)}: {r.err}")
    check_chains(t, "within: a uprobe below probed returns", found, collections.Counter({chain_of(["probed"], ["main"]): NR}))


def beside(t, program):
    threads = 3
    for backend in BACKENDS:
        r = record_joined(t, "beside", backend, [program, "threads", str(NR * 10), str(threads)],
                          ["-e", f"uprobe:{program}:probed/period=1/", "-e", "cpu-clock/freq=10000/"])
        if is_loss(r):
            t.skip(f"{backend}: beside a clock", "records were lost: " + r.err[-80:])
            continue
        found = list(samples(r.path))
        probes = [s for s in found if s["event"].startswith("uprobe:")]
        t.check(len(probes) == NR * 10 * threads, f"{backend}: beside a clock: every hit is a sample", f"{len(probes)}: {r.err}")
        check_chains(t, f"{backend}: beside a clock", probes, collections.Counter({chain_of(["probed"], []): NR * 10 * threads}))
        clocks = [s for s in found if not s["event"].startswith("uprobe:")]
        silent = [s for s in clocks if not user_part(s) and not why_missing(s)]
        t.check(not silent, f"{backend}: beside a clock: its samples have a stack or say why not", silent[:2])
        untrue = collections.Counter(why_missing(s) for s in drop_unmatched(t, backend, clocks) if why_missing(s) in ("unmatched", "no-record"))
        t.check(not untrue, f"{backend}: beside a clock: each of its samples is found", untrue)
        # Threads end once each, by a call of their own: only the last entry of each can have been that.
        ended = collections.Counter(s["tid"] for s in clocks if why_missing(s) == "exit")
        t.check(all(n <= 1 for n in ended.values()), f"{backend}: beside a clock: no living task is said to have ended", ended)


def copied(t, program):
    """A copy of the stack holds the trampoline's address and not what it replaced: the stack ends there, and says so."""
    events = ["-e", f"uretprobe:{program}:nested", "-e", f"uprobe:{program}:probed"]
    for what, words in ("dwarf", []), ("dwarf, stored", ["--store-stacks"]):
        # All copies fit in the ring: none is lost where the recorder is slow.
        r = t.record_stacks("copied", "dwarf,4096", [program, "plain", str(NR)], ["-c", "1", "-m", "16M", *events, *words])
        found = [s for s in samples(r.path) if s["event"].startswith("uprobe:")]
        t.check(len(found) == NR, f"{what}: every hit is a sample", f"{len(found)}: {r.err}")
        chains = collections.Counter(tuple(names(s)) for s in found)
        t.check(chains == {("probed", "nested"): NR}, f"{what}: frames up to the probed return, and not its trampoline", chains)
        stops = collections.Counter((s["user_stack"]["state"], s["user_stack"].get("stop")) for s in found)
        t.check(stops == {("partial", "uretprobe"): NR}, f"{what}: it says that a uretprobe ends the stack", stops)


OWN = 1 << 63  # of a cookie: its stack says nothing of what else the task was asked for


def cookies(t, program):
    """A clock may have asked for a stack in the same entry, which comes later: a reader must not take it for lost."""
    for backend in BACKENDS:
        r = record(t, "cookies", backend + ",deferred", [f"uprobe:{program}:probed"], [program, "plain", str(NR)])
        dump = subprocess.run([CLEW, "script", "-D", "-i", r.path], capture_output=True, text=True, check=False).stdout
        found = [int(c, 16) for c in re.findall(r"CALLCHAIN_DEFERRED cookie 0x([0-9a-f]+)", dump)]
        t.check(len(found) == NR and all(c & OWN for c in found),
                f"{backend}: cookies: stacks of probes speak for themselves alone", found[:3])


def events(t, program):
    for backend in BACKENDS:
        r = record_joined(t, "events", backend, [program, "spin", "20000000", "4"], ["-e", "task-clock", "-e", "cpu-clock"])
        if is_loss(r):
            t.skip(f"{backend}: two events", "records were lost: " + r.err[-80:])
            continue
        found = drop_unmatched(t, f"{backend}: two events", list(samples(r.path)))
        by_event = collections.Counter((s["event"], why_missing(s)) for s in found)
        unmatched = {k: n for k, n in by_event.items() if k[1] == "unmatched"}
        t.check(not unmatched and len({k[0] for k in by_event}) == 2,
                f"{backend}: two events, four threads: every sample's request is found", by_event)


def main():
    t = StackTap()
    if not may_use_bpf():
        t.skip_all("needs root and BTF")
    if not os.path.isdir("/sys/bus/event_source/devices/uprobe") or not os.access("/sys/kernel/tracing/uprobe_events", os.W_OK):
        t.skip_all("needs uprobes and tracefs")
    program = t.compile("probes", [os.path.join(LIVE, "truth_probes.c")], ["-O1", "-fno-optimize-sibling-calls"])
    if not program:
        t.skip_all("no compiler")
    r = t.record_stacks("can", "sframe", ["true"])
    if r.status:
        t.skip_all("BPF stacks: " + r.err[-200:])
    wanted = sys.argv[2:]
    for name, run in (("alone", alone), ("nested", nested), ("beside", beside), ("copied", copied), ("cookies", cookies), ("events", events)):
        if not wanted or name in wanted:
            run(t, program)
    t.done()


main()
