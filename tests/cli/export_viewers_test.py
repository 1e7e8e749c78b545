#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_viewers_test.py CLEW: `clew export` to formats of viewers with a time axis: stacks and sums are those of collapsed stacks and `clew report`. TAP."""
import json
import os
import re
import shutil
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import KERNEL_AT, NR_EVIL, TYPE, at, chain, clew, cycles, evil, export, one, place, program, program_records, recording, run, threads, two, work

report = json.loads(run(clew, "report", "-i", one, "--json").stdout)["tables"][0]["events"][0]
SAMPLES, PERIOD = report["samples"], report["period"]


def collapsed(data, *options):
    """Stack with its thread -> number of samples."""
    lines = [line.rsplit(" ", 1) for line in export(data, "collapsed", "--weight=samples", "--by=tid", *options).stdout.decode().splitlines()]
    return {stack: int(nr) for stack, nr in lines}


def counted(stacks):
    counts = {}
    for s in stacks:
        counts[s] = counts.get(s, 0) + 1
    return counts


TRUTH, PLAIN = collapsed(one), collapsed(one, "--no-level-suffix")


def lost(e, nr, when):
    return pm.record(2, struct.pack("<QQ", e.ident, nr) + e.sample_id(7, when))


# Records lost before the first sample and after the last one; a control group; wall time.
GROUPED = pm.Event(TYPE | pm.CPU | pm.CGROUP, kind=pm.SOFTWARE, config=0)
in_hot = {"chain": chain(place("hot"), place("main", 9))}
grouped = [*program_records(GROUPED), pm.cgroup(GROUPED, 5, b"/group;one"), pm.cgroup(GROUPED, 6, b"/two"), lost(GROUPED, 17, 1000),
           *(GROUPED.sample(place("hot"), time=2000 + 1000 * i, cgroup=5 + (i > 2), **in_hot) for i in range(6)), lost(GROUPED, 4, 9000)]
grouped_path = os.path.join(work, "grouped.data")
CLOCK_MONOTONIC = 1
with open(grouped_path, "wb") as f:
    f.write(pm.perf_data([GROUPED], b"".join(grouped), {12: pm.event_desc([GROUPED], [b"cpu-clock"]), 29: struct.pack("<IIQQ", 1, CLOCK_MONOTONIC, 5_000_000_000, 500)}))
grouped = grouped_path

# --- firefox ---


def table(t):
    """Rows of columns; each must be as long as the table says."""
    columns = {k: v for k, v in t.items() if isinstance(v, list)}
    assert all(len(v) == t["length"] for v in columns.values()), {k: len(v) for k, v in columns.items()}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


class Firefox:
    """Spec: firefox-devtools/profiler, src/types/profile.ts, version 61."""

    def __init__(self, out):
        self.json = p = json.loads(out)
        shared = p["shared"]
        self.strings = shared["stringArray"]
        self.frames, self.functions = table(shared["frameTable"]), table(shared["funcTable"])
        self.sources, self.resources = table(shared["sources"]), table(shared["resourceTable"])
        self.stacks = table(shared["stackTable"])
        assert all(s["prefix"] is None or s["prefix"] < i for i, s in enumerate(self.stacks)) and not table(shared["nativeSymbols"])
        self.threads = {(t["name"], t["pid"], t["tid"]): t for t in p["threads"]}
        self.samples = {k: table(t["samples"]) for k, t in self.threads.items()}

    def name_of(self, frame):
        return self.strings[self.functions[frame["func"]]["name"]]

    def frames_of(self, stack):
        """Outermost first."""
        frames = []
        while stack is not None:
            frames.insert(0, self.frames[self.stacks[stack]["frame"]])
            stack = self.stacks[stack]["prefix"]
        return frames

    def counts(self):
        return counted(";".join(["%s-%s/%d" % k, *map(self.name_of, self.frames_of(s["stack"]))]) for k, samples in self.samples.items() for s in samples)

    def total(self, column="weight"):
        return sum(s[column] for samples in self.samples.values() for s in samples)

    def categories(self):
        return {self.name_of(f): self.json["meta"]["categories"][f["category"]]["name"] for f in self.frames}

    def markers(self):
        return [(self.strings[m["name"]], m["startTime"], m["data"]) for t in self.json["threads"] for m in table(t["markers"])]


p = Firefox(export(one, "firefox").stdout)
tap.check(p.counts() == PLAIN, "firefox: threads and stacks are those of collapsed stacks", [p.counts(), PLAIN])
tap.check(round(p.total() * 1e6) == p.total("threadCPUDelta") == PERIOD and {t["samples"]["weightType"] for t in p.json["threads"]} == {"tracing-ms"},
          "firefox: of a clock weights are milliseconds; the sum is report's", p.total())
tap.check({k: p.categories()[k] for k in ("hot", "in_kernel", "[cut: undefined-mark]")} ==
          {"hot": "User", "in_kernel": "Kernel", "[cut: undefined-mark]": "Cut stack"}, "firefox: categories", p.categories())
depths = {p.name_of(f): f["inlineDepth"] for f in p.frames}
sources = {p.strings[s["filename"]] for s in p.sources}
tap.check(depths["mix"] == 1 and depths["hot"] == 0 and sources == {program + ".c"} and all(f["line"] for f in p.frames if p.name_of(f) == "mix"),
          "firefox: depth of inlined functions, files and lines", [depths, sources])
hot = sorted({f["address"] for f in p.frames if p.name_of(f) == "hot"})
tap.check(at["hot"][0] <= hot[0] and hot[-1] < sum(at["hot"]) and {f["address"] for f in p.frames if p.name_of(f) == "[unknown]"} == {-1},
          "firefox: addresses are offsets in the file", hot)
libs = p.json["libs"]
tap.check(libs[0]["name"] == "app" and libs[0]["path"] == program and [p.strings[r["name"]] for r in p.resources] == [lib["name"] for lib in libs], "firefox: binaries",
          libs)
tap.check(all(s["time"] <= t["time"] for v in p.samples.values() for s, t in zip(v, v[1:])) and p.json["meta"]["interval"] == 0.001 and
          p.json["meta"]["preprocessedProfileVersion"] == 61, "firefox: times ascend", p.json["meta"])
p = Firefox(export(one, "firefox", "--weight=samples").stdout)
tap.check(p.total() == SAMPLES and {t["samples"]["weightType"] for t in p.json["threads"]} == {"samples"}, "firefox: --weight samples", p.total())
p = export(two, "firefox", "-e", "page-faults")
f = Firefox(p.stdout)
tap.check(f.total() == 5000 and {t["samples"]["weightType"] for t in f.json["threads"]} == {"samples"} and b"cpu-clock" in p.stderr, "firefox: -e chooses the event",
          p.stderr)
tap.check(round(Firefox(export(two, "firefox").stdout).total() * 1e6) == PERIOD, "firefox: of two events it is the first")
p = Firefox(export(grouped, "firefox").stdout)
tap.check(p.markers() == [("lost", 0.001, {"type": "clew-lost", "records": 17}), ("lost", 0.006, {"type": "clew-lost", "records": 4}),
                          ("cgroup", 0.001, {"type": "clew-cgroup", "group": "/group;one"}), ("cgroup", 0.004, {"type": "clew-cgroup", "group": "/two"})],
          "firefox: markers of lost records and control groups, in the time of the samples", p.markers())
tap.check(p.json["meta"]["startTime"] == (5_000_000_000 + 1000 - 500) / 1e6 and p.samples[("app", "7", 7)][0]["time"] == 0.001,
          "firefox: the first record is time 0, and its wall time is known", p.json["meta"]["startTime"])
out = export(evil, "firefox").stdout
p = Firefox(out)
tap.check(sum(map(len, p.samples.values())) == NR_EVIL and not re.search(rb"[\0-\x09\x0b-\x1f\x7f\xff]", out) and not any("\n" in s for s in p.strings),
          "firefox: hostile names", [s[:80] for s in p.strings])

CLI = shutil.which("profiler-cli")


def cli(*args):
    return run(CLI, *args).stdout.decode()


def load(name, data):
    """Its daemon may need longer than the half second that it is given. @return whether it is loaded."""
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(data)
    for _ in range(3):
        cli("load", path)
        for _ in range(50):
            if "threads" in cli("profile", "info"):
                return True
            time.sleep(0.2)
        cli("stop", "--all")
    return False


def self_ns(function, nr_threads):
    """Sum over the threads of what it prints: "f-3. app!hot - self: 14.000μs (50.0%), ..."."""
    total = 0
    for i in range(nr_threads):
        cli("thread", "select", f"t-{i}")
        for value, unit in re.findall(r"!%s - self: ([0-9.]+)(ns|μs|ms|s) " % function, cli("thread", "functions", "--limit", "0", "--include-idle")):
            total += float(value) * {"ns": 1, "μs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return round(total)


if CLI:
    expected = 1000 * sum(nr for s, nr in TRUTH.items() if s.endswith(";hot"))
    tap.check(load("one.json", export(one, "firefox").stdout) and self_ns("hot", 2) == expected, "profiler-cli: a function's own time is that of collapsed stacks",
              [self_ns("hot", 2), expected])
    cli("stop", "--all")
    tap.check(load("grouped.json", export(grouped, "firefox").stdout) and re.search(r"lost .* 17\n", cli("thread", "markers", "--list")),
              "profiler-cli: lost records are a marker", cli("thread", "markers", "--list"))
    cli("stop", "--all")
else:
    tap.skip("profiler-cli", "no profiler-cli (npm @firefox-devtools/profiler-cli)")

# --- chrome ---


def slices(events):
    """(names, from, to) of what was on top, thread by thread; begin and end must nest, as a reader sees them that sorts by time."""
    out = {}
    for who in sorted({(e["pid"], e["tid"]) for e in events if e["ph"] in "BE"}):
        stack, since = [], None
        of_thread = [e for e in events if (e["pid"], e["tid"]) == who and e["ph"] in "BE"]
        assert all(a["ts"] <= b["ts"] for a, b in zip(of_thread, of_thread[1:])), "times of a thread ascend"
        for e in of_thread:
            now = round(e["ts"] * 1000)
            if stack and now > since:
                out.setdefault(who, []).append((tuple(stack), since, now))
            since = now
            if e["ph"] == "B":
                stack.append(e["name"])
            else:
                assert stack.pop() == e["name"], e
        assert not stack
    return out


def steady(name, event, pid, times):
    return recording(name, [event], [*program_records(event, pid), *(event.sample(place(("hot", "outer")[i % 2], 1), pid=pid, time=t, chain=chain(
        place(("hot", "outer")[i % 2], 1), place("main", 9))) for i, t in enumerate(times))])


STEADY = [10000 + 1000 * i + (0, -100, 0, -50)[i % 4] for i in range(100)]
p = export(steady("steady.data", cycles, 7, STEADY), "chrome", "--no-inline")
d = json.loads(p.stdout)
tap.check(set(d) == {"displayTimeUnit", "otherData", "traceEvents"} and d["displayTimeUnit"] == "ns" and
          [(e["name"], e["args"]["name"]) for e in d["traceEvents"] if e["ph"] == "M"] == [("thread_name", "app"), ("process_name", "app")],
          "chrome: the document, and names of threads and processes", d["traceEvents"][:3])
begun = [e["name"] for e in d["traceEvents"] if e["ph"] == "B"]
tap.check(begun.count("main") == 1 and begun.count("hot") == begun.count("outer") == 50, "chrome: what samples have in common stays open", begun[:9])
top = slices(d["traceEvents"])[(7, 7)]
total = sum(b - a for _, a, b in top)
tap.check(0.99 * 100000 < total <= 100000 and top[0][1] == 0, "chrome: slices last as long as the period, and no longer", total)
edges = [e for e in d["traceEvents"] if e["ph"] in "BE" and e["name"] != "main"]
tap.check(all(round(1000 * (b["ts"] - a["ts"])) == 1 for a, b in zip(edges[1::2], edges[2::2]) if a["ph"] == "E" and b["ts"] - a["ts"] < 0.05),
          "chrome: an end that a begin causes lies 1 ns before it", edges[:4])
top = slices(json.loads(export(steady("gap.data", cycles, 7, [10000, 2000000, 2000000]), "chrome", "--no-inline").stdout)["traceEvents"])[(7, 7)]
tap.check([(s, b - a) for s, a, b in top] == [(("main", "hot"), 1000), (("main", "outer"), 1), (("main",), 1), (("main", "hot"), 1000)],
          "chrome: a sample lasts its period at most, and those of one instant are apart", top)
p = export(one, "chrome")
found = {(n,) for who, top in slices(json.loads(p.stdout)["traceEvents"]).items() for s, _, _ in top for n in s}
tap.check({("mix",), ("in_kernel_[k]",), ("[cut: undefined-mark]",), ("[unknown]",)} <= found, "chrome: inlined functions, levels, cut stacks", found)
by_pid = {who[0]: sum(b - a for _, a, b in top) for who, top in slices(json.loads(p.stdout)["traceEvents"]).items()}
nr_by_pid = {pid: sum(nr for s, nr in TRUTH.items() if f"/{pid};" in s) for pid in (7, 8)}
tap.check(all(0 < by_pid[pid] <= 1000 * nr for pid, nr in nr_by_pid.items()), "chrome: of no thread slices last longer than its period", [by_pid, nr_by_pid])
events = json.loads(export(grouped, "chrome").stdout)["traceEvents"]
tap.check([(e["ts"], e["args"]) for e in events if e["ph"] == "I"] == [(0, {"records": 17}), (8, {"records": 4})] and
          {e["cat"] for e in events if e["ph"] == "B"} == {"/group;one"}, "chrome: lost records, and the control group", events)
out = export(evil, "chrome").stdout
events = json.loads(out)["traceEvents"]
tap.check(len([e for e in events if e["ph"] == "B"]) == len([e for e in events if e["ph"] == "E"]) >= NR_EVIL and not re.search(rb"[\0-\x09\x0b-\x1f\x7f\xff]", out),
          "chrome: hostile names", out[:300])


def of_samples(out):
    """The document, and its stacks with threads, once for each sample."""
    d = json.loads(out)
    names = {e["tid"]: e["args"]["name"] for e in d["traceEvents"] if e["name"] == "thread_name"}
    found = []
    for s in d["samples"]:
        stack, at = [], s["sf"]
        while at:
            stack.insert(0, d["stackFrames"][at]["name"])
            at = d["stackFrames"][at].get("parent")
        found.append(";".join(["%s-%d/%d" % (names[s["tid"]], s["pid"], s["tid"]), *stack]))
    return d, found


d, found = of_samples(export(one, "chrome-samples").stdout)
tap.check(counted(found) == TRUTH and sum(s["weight"] for s in d["samples"]) == PERIOD, "chrome-samples: threads and stacks are those of collapsed stacks", found)
d, found = of_samples(export(two, "chrome-samples", "--weight=samples").stdout)
tap.check(counted(s["name"] for s in d["samples"]) == {"cpu-clock": SAMPLES, "page-faults": 5} and {s["weight"] for s in d["samples"]} == {1},
          "chrome-samples: two events, and --weight samples", counted(s["name"] for s in d["samples"]))
d, found = of_samples(export(grouped, "chrome-samples").stdout)
tap.check([s["ts"] for s in d["samples"]] == [1, 2, 3, 4, 5, 6] and {s["cpu"] for s in d["samples"]} == {0} and {s["cat"] for s in d["samples"]} == {"/group;one", "/two"} and
          [e["args"]["records"] for e in d["traceEvents"] if e["ph"] == "I"] == [17, 4], "chrome-samples: time, CPU, control group, lost records", d["samples"])
d, found = of_samples(export(evil, "chrome-samples").stdout)
tap.check(len(found) == NR_EVIL, "chrome-samples: hostile names", [s[:80] for s in found])

shutil.rmtree(work, ignore_errors=True)
tap.done()
