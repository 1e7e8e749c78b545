#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clew record writes, perf reads without a warning and with the same counts."""
import json
import os

from record_lib import LOOP, PERF, Tap, may_watch_cpus, needs_perf_events

t = Tap()
needs_perf_events(t)
WIDE = may_watch_cpus(t)
LONG = ["sh", "-c", "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done"]  # that outlasts a delay

for name, options in [
    ("default", []),
    ("call chains", ["--call-graph", "fp"]),
    ("user stacks", ["--call-graph", "dwarf,1024", "--store-stacks"]),
    ("compressed", ["-z", "--call-graph", "fp"]),
    ("compressed hard", ["-z19"]),
    ("period", ["-e", "page-faults", "-c", "1"]),
    ("two events", ["-e", "cpu-clock", "-e", "page-faults"]),
    ("a group", ["-e", "{task-clock,page-faults}"]),
    ("namespaces", ["--namespaces"]),
    ("cgroups", ["--all-cgroups"]),
    ("registers", ["-I", "--user-regs=IP,SP"]),
    ("addresses", ["-d", "-e", "page-faults"]),
    ("clock", ["-k", "monotonic"]),
    ("stat", ["-s"]),
    ("per thread", ["--per-thread"]),
    ("tail", ["--tail-synthesize"]),
    ("no build ids", ["-B"]),
    ("period, cpu and id fields", ["-P", "--sample-cpu", "--sample-identifier", "-R"]),
    ("overwrite", ["--overwrite"]),
    ("no inherit", ["-i"]),
    ("delay", ["-D", "1"]),
    ("system wide", ["-a"]),
    ("one CPU", ["-C", "0"]),
    ("switches", ["-a", "--switch-events"]),
]:
    if not WIDE and set(options) & {"-a", "-C", "-I", "--namespaces"}:
        t.skip(name, "closed to this user")
        continue
    r = t.record_all(options, LONG if name == "delay" else LOOP)
    t.check(r.status == 0 and r.samples > 0, f"{name}: records", r.err)
    t.perf_agrees(r, name)

for name, options in [("pipe", ["--call-graph", "fp"]), ("compressed pipe", ["-z"]),
                      ("pipe of two events", ["-e", "cpu-clock,page-faults"])]:
    r = t.record_all(options, LOOP, pipe=True)
    t.check(r.status == 0 and r.samples > 0, f"{name}: records", r.err)
    t.perf_agrees(r, name)

r = t.record_all(["--json", "-q"], LOOP)
summary = json.loads(r.err.splitlines()[-1])
t.check(summary["samples"] > 0 and summary["files"] == 1 and summary["bytes"] == os.path.getsize(r.path) and summary["path"] == r.path
        and summary["exit_status"] == 0 and summary["why_empty"] is None, "--json: the summary as one object", r.err)

# One sample with the counts of three events: perf prints up to three lines for it.
r = t.record(["-e", "{task-clock,page-faults,context-switches}:S"], LOOP)
if t.check(r.status == 0 and r.samples > 0, "group read: records", r.err) and PERF:
    nr, err = t.perf_samples(r.path)
    t.check(not err and r.samples <= nr <= 3 * r.samples, "group read: perf reads it", err)

t.done()
