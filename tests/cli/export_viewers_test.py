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
from cli.export_make import KERNEL_AT, NR_EVIL, TYPE, at, chain, clew, cycles, evil, export, message, one, place, program, program_records, recording, run, threads, two, work

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
    tap.check(load("chrome.json", export(one, "chrome").stdout) and re.search(r"app +7 .*other +8|other +8 .*app +7", cli("thread", "list"), re.S),
              "profiler-cli: Chrome's slices have their threads", cli("thread", "list"))
    cli("stop", "--all")
    tap.check(load("one.folded", export(one, "collapsed").stdout) and f"hot - self: {expected} " in cli("thread", "functions", "--limit", "0", "--include-idle"),
              "profiler-cli: a function's own time of collapsed stacks", [expected, cli("thread", "functions", "--limit", "0", "--include-idle")])
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
overlapping = steady("overlap.data", cycles, 7, [10000, 10400, 10800, 20000])
p = export(overlapping, "chrome", "--no-inline")
shown = sum(b - a for _, a, b in slices(json.loads(p.stdout)["traceEvents"])[(7, 7)])
overlap = json.loads(export(overlapping, "chrome", "--no-inline", "--json").stderr)["overlap_ns"]
tap.check(overlap == 4000 - shown > 0 and b"slices are wall time: 0.001 ms less than their samples" in p.stderr, "chrome: the note says by how much they are shorter",
          [overlap, shown, p.stderr])
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

# --- perfetto ---

INTERNED = {5: "function", 6: "frame", 7: "stack", 16: "build_id", 17: "path", 18: "source", 19: "mapping", 48: "task", 49: "execution", 50: "counter"}
SUFFIX = {2: "_[k]"}


class Perfetto:
    """Spec: google/perfetto v58, protos/perfetto/trace. Names must be written before they are used, each once in its sequence."""

    def __init__(self, out):
        self.packets = [message(p) for p in message(out).get(1, [])]
        self.known, self.defaults, self.samples, self.threads, self.lost, self.clocks = {}, {}, [], {}, [], []
        for p in self.packets:
            sequence = p[10][0]
            if p.get(13, [0])[0] & 1:
                assert sequence not in self.defaults
                self.defaults[sequence] = message(p[59][0])
                self.known[sequence] = {k: {} for k in INTERNED.values()}
            assert sequence in self.known
            for field, values in message(p[12][0]).items() if 12 in p else ():
                for m in map(message, values):
                    table = self.known[sequence][INTERNED[field]]
                    assert m[1][0] not in table, "written twice"
                    table[m[1][0]] = m
            if 135 in p or 66 in p:
                self.samples.append((self.known[sequence], message(p.get(135, p.get(66))[0]), p, sequence))
            if 60 in p:
                track = message(p[60][0])
                if 4 in track:
                    t = message(track[4][0])
                    self.threads[t[2][0]] = (t[1][0], t[5][0].decode())
            if 11 in p:
                event = message(p[11][0])
                self.lost.append((p[8][0], event[23][0].decode(), message(event[4][0])[3][0]))
            if 6 in p:
                snapshot = message(p[6][0])
                self.clocks = [{c[1][0]: c[2][0] for c in map(message, snapshot[1])}, snapshot[2][0]]

    def stack_of(self, known, callstack):
        names = []
        for i in known["stack"][callstack][2]:
            f = known["frame"][i]
            assert 3 not in f or (f[3][0] in known["mapping"] and 4 in f and all(part in known["path"] for part in known["mapping"][f[3][0]][7]))
            names.append(known["function"][f[2][0]][2][0].decode() + SUFFIX.get(f[7][0], ""))
        return names

    def counts(self):
        found = []
        for known, s, _, _ in self.samples:
            task = known["task"][s[2][0]]
            found.append(";".join(["%s-%d/%d" % (self.threads[task[3][0]][1], task[2][0], task[3][0]), *self.stack_of(known, s[6][0])]))
        return counted(found)

    def sums(self):
        """Event, with its unit -> (samples, sum of weights)."""
        sums = {}
        for known, s, _, _ in self.samples:
            c = known["counter"][s[10][0]]
            key = (c[2][0].decode(), c[3][0] if 3 in c else c[4][0].decode())
            nr, total = sums.get(key, (0, 0))
            sums[key] = (nr + 1, total + s[11][0])
        return sums


out = export(one, "perfetto").stdout
p = Perfetto(out)
tap.check(p.counts() == TRUTH, "perfetto: threads and stacks are those of collapsed stacks", [p.counts(), TRUTH])
tap.check(p.sums() == {("cpu-clock", 1): (SAMPLES, PERIOD)} and {message(d[100][0])[1][0] for s, d in p.defaults.items() if 100 in d} == {b"clew cpu-clock"},
          "perfetto: a packet for each sample; the sum of weights is report's", p.sums())
modes = {s[2].get(8, [0])[0]: s[0]["execution"][s[1][4][0]][3][0] for s in p.samples}
tap.check(modes[2000] == 2 and {m for t, m in modes.items() if t != 2000} == {1}, "perfetto: modes", modes)
tap.check([s[1][7][0] for s in p.samples if 7 in s[1]] == [b"undefined-mark"], "perfetto: a cut stack says why")
known = p.samples[0][0]
mix = [f for f in known["frame"].values() if known["function"][f[2][0]][2] == [b"mix"]]
paths = {b"/" + b"/".join(known["path"][i][2][0] for i in known["mapping"][f[3][0]][7]) for f in mix}
tap.check(mix and paths == {program.encode()} and {known["source"][f[5][0]][2][0] for f in mix} == {program.encode() + b".c"} and all(f[6][0] for f in mix),
          "perfetto: mapping, file and line of an inlined function", [mix, paths])
p = Perfetto(export(two, "perfetto").stdout)
tap.check(p.sums() == {("cpu-clock", 1): (SAMPLES, PERIOD), ("page-faults", "page-faults"): (5, 5000)} and len({s[3] for s in p.samples}) == 2,
          "perfetto: two events are two sequences", p.sums())
tap.check(Perfetto(export(one, "perfetto", "--weight=samples").stdout).sums() == {("cpu-clock", "samples"): (SAMPLES, SAMPLES)}, "perfetto: --weight samples")
p = Perfetto(export(grouped, "perfetto").stdout)
tap.check(p.clocks == [{3: 500, 1: 5_000_000_000}, 3] and {d[58][0] for d in p.defaults.values()} == {3} and [s[2][8][0] for s in p.samples] == [2000 + 1000 * i for i in range(6)],
          "perfetto: times are the recording's, with its clock and the wall's", p.clocks)
tap.check(p.lost == [(1000, "lost", 17), (9000, "lost", 4)] and {s[0]["execution"][s[1][4][0]][2][0] for s in p.samples} == {0}, "perfetto: lost records, and the CPU",
          p.lost)
tap.check(Perfetto(out).clocks == [{10: 0}, 10], "perfetto: without a clock it is the kernel's", Perfetto(out).clocks)
p = Perfetto(export(evil, "perfetto").stdout)
tap.check(len(p.samples) == NR_EVIL and sum(p.counts().values()) == NR_EVIL, "perfetto: hostile names", [s[:80] for s in p.counts()])

old = export(two, "perfetto-v57").stdout
p = Perfetto(old)
last = {s[3]: s[1][6][0] for s in p.samples}
names = {message(message(d[12][0])[1][0])[10][0]: last[s] for s, d in p.defaults.items() if 12 in d}
tap.check(len(p.samples) == SAMPLES + 5 and names == {b"cpu-clock": PERIOD, b"page-faults": 5000}, "perfetto-v57: samples of older readers, with running totals", names)
found = counted(";".join(["%s-%d/%d" % (p.threads[s[3][0]][1], s[2][0], s[3][0]), *(n.replace("_[k]_[k]", "_[k]") for n in p.stack_of(known, s[4][0]))])
                for known, s, packet, sequence in p.samples if sequence == min(last))
tap.check(found == TRUTH and {s[1][5][0] for s in p.samples} == {1, 2} and all(3 in f for s in p.samples for f in s[0]["frame"].values()),
          "perfetto-v57: threads, stacks and modes; each frame has a mapping", found)

PROTO = """syntax = "proto3";
message InternedString { uint64 iid = 1; bytes str = 2; }
message Mapping { uint64 iid = 1; uint64 build_id = 2; repeated uint64 path_string_ids = 7; }
message Frame { uint64 iid = 1; uint64 function_name_id = 2; uint64 mapping_id = 3; uint64 rel_pc = 4; uint64 source_path_iid = 5; uint32 line_number = 6; uint32 kind = 7; }
message Callstack { uint64 iid = 1; repeated uint64 frame_ids = 2 [packed = false]; }
message TaskContext { uint64 iid = 1; uint32 pid = 2; uint32 tid = 3; }
message ExecutionContext { uint64 iid = 1; uint32 cpu = 2; uint32 mode = 3; }
message CounterDescriptor { uint64 iid = 1; string name = 2; uint32 unit = 3; string unit_str = 4; }
message InternedData { repeated InternedString function_names = 5; repeated Frame frames = 6; repeated Callstack callstacks = 7; repeated InternedString build_ids = 16;
	repeated InternedString mapping_paths = 17; repeated InternedString source_paths = 18; repeated Mapping mappings = 19; repeated TaskContext tasks = 48;
	repeated ExecutionContext executions = 49; repeated CounterDescriptor counters = 50; }
message StackSample { uint64 task_context_iid = 2; uint64 execution_context_iid = 4; uint64 callstack_iid = 6; string unwind_error = 7; uint64 primary_descriptor_iid = 10;
	uint64 primary_weight = 11; }
message PerfSample { uint32 cpu = 1; uint32 pid = 2; uint32 tid = 3; uint64 callstack_iid = 4; uint32 cpu_mode = 5; uint64 timebase_count = 6; }
message StackSampleDefaults { string source = 1; }
message Timebase { uint64 period = 1; uint64 frequency = 2; string name = 10; }
message PerfSampleDefaults { Timebase timebase = 1; }
message Defaults { PerfSampleDefaults perf_sample_defaults = 12; uint32 timestamp_clock_id = 58; StackSampleDefaults stack_sample_defaults = 100; }
message Clock { uint32 clock_id = 1; uint64 timestamp = 2; }
message ClockSnapshot { repeated Clock clocks = 1; uint32 primary_trace_clock = 2; }
message ThreadDescriptor { int32 pid = 1; int32 tid = 2; string thread_name = 5; }
message TrackDescriptor { uint64 uuid = 1; string name = 2; ThreadDescriptor thread = 4; }
message DebugAnnotation { uint64 uint_value = 3; string name = 10; }
message TrackEvent { repeated DebugAnnotation debug_annotations = 4; uint32 type = 9; uint64 track_uuid = 11; string name = 23; }
message TracePacket { ClockSnapshot clock_snapshot = 6; uint64 timestamp = 8; uint32 trusted_packet_sequence_id = 10; TrackEvent track_event = 11; InternedData interned_data = 12;
	uint32 sequence_flags = 13; Defaults trace_packet_defaults = 59; TrackDescriptor track_descriptor = 60; PerfSample perf_sample = 66; StackSample stack_sample = 135; }
message Trace { repeated TracePacket packet = 1; }
"""
if shutil.which("protoc"):
    with open(os.path.join(work, "trace.proto"), "w", encoding="ascii") as f:
        f.write(PROTO)
    for data, kind in ((out, "stack_sample {"), (old, "perf_sample {"), (export(grouped, "perfetto").stdout, "track_event {")):
        p = run("protoc", "--decode=Trace", "trace.proto", input=data)
        text = p.stdout.decode()
        tap.check(p.returncode == 0 and kind in text and not re.search(r"^ *\d+:", text, re.M), "protoc: all fields have a name: " + kind, [p.stderr, text[:500]])
else:
    tap.skip("protoc: all fields have a name", "no protoc (package protobuf-compiler)")

shutil.rmtree(work, ignore_errors=True)
tap.done()
