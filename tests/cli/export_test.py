#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_test.py CLEW [sanitized]: `clew export`, format by format: totals are those of `clew report`, consumers load it, names cannot break it. TAP.

Formats of viewers with a time axis: export_viewers_test.py."""
import gzip
import json
import os
import pty
import re
import shutil
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import (BASE, ENV, LONG, NR_EVIL, SOURCE, TYPE, at, chain, clew, compiled, cycles, evil, export, long_at, main_samples, message, one, packed, place, program,
                             program_records, recording, run, symbols, threads, two, work)

FORMATS = {"pprof", "collapsed", "speedscope", "callgrind", "firefox", "chrome", "chrome-samples", "perfetto", "perfetto-v57", "perf.data"}
# Each has its checks below, or in export_viewers_test.py and export_perf_test.py; parquet, which needs a library, in export_parquet_test.py.
OF_CODE = {"lcov", "llvm", "llvm-profgen", "autofdo", "bolt"}  # export_code_test.py

report = json.loads(run(clew, "report", "-i", one, "--json").stdout)["tables"][0]["events"][0]
SAMPLES, PERIOD = report["samples"], report["period"]
tap.check(SAMPLES == at["hot"][1] + 4 and PERIOD == 1000 * SAMPLES, "the recording is what it should be", report)


# --- readers of each format: (stack, outermost first) -> weight ---

def of_collapsed(out):
    stacks = {}
    for line in out.decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        stacks[stack] = stacks.get(stack, 0) + int(weight)
    return stacks


class Pprof:
    """Spec: google/pprof, proto/profile.proto."""

    def __init__(self, out):
        p = message(gzip.decompress(out))
        self.strings = [s.decode() for s in p[6]]
        text = lambda m, field: self.strings[m.get(field, [0])[0]]
        self.types = [(text(t, 1), text(t, 2)) for t in map(message, p[1])]
        functions = {f[1][0]: text(f, 2) for f in map(message, p[5])}
        self.declared = {text(f, 2): (text(f, 4), f.get(5, [0])[0]) for f in map(message, p[5])}
        self.mappings = [(m[1][0], text(m, 5), text(m, 6)) for m in map(message, p[3])]
        self.locations = {}
        for m in map(message, p[4]):
            self.locations[m[1][0]] = [functions[message(line)[1][0]] for line in m[4]]
        self.samples = []
        for m in map(message, p.get(2, [])):
            labels = {text(x, 1): text(x, 2) if 2 in x else x[3][0] for x in map(message, m.get(3, []))}
            self.samples.append((packed(m[1][0]), packed(m[2][0]), labels))

    def total(self, column):
        return sum(s[1][column] for s in self.samples)

    def of_function(self, name):
        """Samples with it innermost."""
        return sum(s[1][0] for s in self.samples if self.locations[s[0][0]][0] == name)


def of_speedscope(out):
    d = json.loads(out)
    names = [f["name"] for f in d["shared"]["frames"]]
    profiles = {}
    for p in d["profiles"]:
        assert p["type"] == "sampled" and p["startValue"] == 0 and p["endValue"] == sum(p["weights"]) and len(p["samples"]) == len(p["weights"])
        profiles[p["name"]] = (p["unit"], [([names[i] for i in s], w) for s, w in zip(p["samples"], p["weights"])])
    return d, profiles


# --- collapsed ---

p = export(one, "collapsed")
lines = of_collapsed(p.stdout)
tap.check(p.returncode == 0 and sum(lines.values()) == PERIOD, "collapsed: the sum is report's period", [p.stderr, sum(lines.values())])
count = of_collapsed(export(one, "collapsed", "--weight", "samples").stdout)
tap.check(sum(count.values()) == SAMPLES, "collapsed: --weight samples: the sum is report's number", sum(count.values()))
NR_MIX = count.get("app;main;outer;hot;mix", 0) + count.get("other;main;outer;hot;mix", 0)
tap.check(NR_MIX and count.get("app;main;outer;hot"), "collapsed: an inlined function is a frame", sorted(count))
tap.check(count.get("app;main;outer;hot;in_kernel_[k]") or count.get("app;main;outer;hot;mix;in_kernel_[k]"), "collapsed: the level is the end of a name",
          sorted(count))
tap.check(any(s.startswith("app;[cut: undefined-mark];hot") for s in count), "collapsed: a cut stack begins with the reason", sorted(count))
tap.check("app;[app+0xff123]" in count and "app;[unknown]" in count, "collapsed: what has no name is counted", sorted(count))
count = of_collapsed(export(one, "collapsed", "--weight=samples", "--no-inline", "--no-cut-frames", "--no-level-suffix").stdout)
tap.check(sum(count.values()) == SAMPLES and not [s for s in count if "mix" in s or "cut" in s or "_[" in s] and "app;main;outer;hot;in_kernel" in count,
          "collapsed: without inlined functions, cut frames and levels the sum is the same", sorted(count))
count = of_collapsed(export(one, "collapsed", "--weight=samples", "--by", "tid,cpu,cgroup").stdout)
tap.check(sum(count.values()) == SAMPLES and {s.split(";")[0] for s in count} == {"app-7/7", "other-8/8"}, "collapsed: --by tid", sorted(count))
count = of_collapsed(export(one, "collapsed", "--weight=samples", "--by", "pid", "--tid", "8").stdout)
tap.check({s.split(";")[0] for s in count} == {"other-8"}, "collapsed: --by pid, and a filter", sorted(count))

# --- two events ---

p = export(two, "collapsed", "--weight=samples")
tap.check(sum(of_collapsed(p.stdout).values()) == SAMPLES and b"page-faults (5)" in p.stderr and b"-e NAME" in p.stderr,
          "collapsed: of two events the first is written, and the message names the other", p.stderr)
p = export(two, "collapsed", "--weight=samples", "-e", "page-faults")
tap.check(sum(of_collapsed(p.stdout).values()) == 5 and b"cpu-clock" in p.stderr, "collapsed: -e chooses the event", p.stderr)
both = Pprof(export(two, "pprof").stdout)
tap.check(both.types == [("cpu-clock.samples", "count"), ("cpu-clock", "nanoseconds"), ("page-faults.samples", "count"), ("page-faults", "count")] and
          [both.total(i) for i in range(4)] == [SAMPLES, PERIOD, 5, 5000], "pprof: two events are two pairs of columns", both.types)
d, profiles = of_speedscope(export(two, "speedscope").stdout)
tap.check(len(profiles) == 4 and sum(w for n, (u, s) in profiles.items() if n.endswith("page-faults") for _, w in s) == 5000,
          "speedscope: a profile per thread and event", list(profiles))
p = export(two, "pprof", "-e", "cycels")
tap.check(p.returncode == 2 and b"there is no event 'cycels'" in p.stderr and b"cpu-clock, page-faults" in p.stderr, "an unknown event is refused, with the list",
          p.stderr)

# --- pprof ---

out = export(one, "pprof").stdout
pprof = Pprof(out)
tap.check([pprof.total(0), pprof.total(1)] == [SAMPLES, PERIOD], "pprof: totals are report's", pprof.types)
tap.check(pprof.of_function("mix") == NR_MIX, "pprof: an inlined function is a line of its location", pprof.of_function("mix"))
tap.check(["mix", "hot"] in pprof.locations.values(), "pprof: the innermost function is first", list(pprof.locations.values()))
lines = SOURCE.split("\n")
tap.check(all(pprof.declared[f] == (program + ".c", 1 + next(i for i, line in enumerate(lines) if f" {f}(" in line)) for f in ("mix", "hot", "outer", "main")),
          "pprof: where functions are declared", pprof.declared)
tap.check(pprof.mappings[0][:2] == (1, program) and len(pprof.mappings[0][2]) in (0, 40), "pprof: mapping 1 is the program", pprof.mappings)
labels = [s[2] for s in pprof.samples]
tap.check({x["level"] for x in labels} == {"user", "kernel"} and {x["tid"] for x in labels} == {7, 8} and {x["thread"] for x in labels} == {"app", "other"} and
          [x["stack"] for x in labels if "stack" in x] == ["cut: undefined-mark"] and not any("cpu" in x for x in labels), "pprof: labels", labels)
tap.check(pprof.strings[0] == "" and out[3:8] == bytes(5), "pprof: string 0 is empty, and gzip has neither name nor time", out[:12])

SPACED = pm.Event(TYPE | pm.CGROUP)
links = b"".join(struct.pack("<QQ", 4, 4026531830 + i) for i in range(7))
spaced = recording("spaced.data", [SPACED], [*program_records(SPACED), pm.record(16, struct.pack("<IIQ", 7, 7, 7) + links + SPACED.sample_id(7, 2)),
                                             pm.cgroup(SPACED, 5, b"/group;one"), SPACED.sample(place("hot"), chain=chain(place("hot")), cgroup=5)])
labels = Pprof(export(spaced, "pprof", "--by", "cpu").stdout).samples[0][2]
tap.check(labels == {"thread": "app", "pid": 7, "tid": 7, "pidns": 4026531833, "cgroup": "/group;one", "level": "user"}, "pprof: namespace and control group", labels)
count = of_collapsed(export(spaced, "collapsed", "--by", "cgroup").stdout)
tap.check([s for s in count if s.startswith("/group:one;app;")], "collapsed: --by cgroup", count)

GO = shutil.which("go")
profile = os.path.join(work, "one.pb.gz")
with open(profile, "wb") as f:
    f.write(out)


def go(*options):
    return run(GO, "tool", "pprof", *options, profile).stdout.decode()


def go_total(*options):
    found = re.search(r"Total samples = (\S+)", go("-sample_index=0", "-top", *options))
    return int(found.group(1)) if found else 0


def selected(*filters):
    """What is left of the total with a focus: the sum of flat values."""
    text = go("-sample_index=0", "-top", "-nodefraction=0", *filters)
    found = re.search(r"Showing nodes accounting for (\d+)", text)
    return int(found.group(1)) if found else text


if GO:
    tap.check(go_total() == SAMPLES, "go tool pprof: the total is report's", go("-top"))
    tap.check("mix (inline)" in go("-sample_index=0", "-top"), "go tool pprof: inlined functions", go("-top"))
    tids = {tid: sum(of_collapsed(export(one, "collapsed", "--weight=samples", "--tid", tid).stdout).values()) for tid in ("7", "8")}
    tap.check(all(selected("-tagfocus=tid=" + tid) == nr for tid, nr in tids.items()), "go tool pprof: -tagfocus=tid selects what --tid does", tids)
    tap.check(selected("-tagfocus=level=kernel") == 1 and selected("-tagfocus=thread=other") == tids["8"], "go tool pprof: -tagfocus=level and thread")
    raw = go("-raw")
    tap.check(f"1: 0x{BASE:x}/0x{BASE + 0x100000:x}/0x0 {program}" in raw, "go tool pprof: -raw lists the mapping", raw[-600:])
    build_id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program).stdout.decode())
    if build_id:
        listed = os.path.join(work, "listed.data")
        name = program.encode().ljust(len(program) + 8 & ~7, b"\0")
        ids = pm.record(67, struct.pack("<i20s4x", -1, bytes.fromhex(build_id.group(1))) + name, 2)
        with open(listed, "wb") as f:
            f.write(pm.perf_data([cycles], b"".join([*threads, *main_samples(cycles)]), {2: ids, 12: pm.event_desc([cycles], [b"cpu-clock"])}))
        with open(profile, "wb") as f:
            f.write(export(listed, "pprof").stdout)
        raw = go("-raw")
        tap.check(f"{program} {build_id.group(1)}" in raw, "go tool pprof: and its build id, where the recording has it", raw[-600:])
else:
    tap.skip("go tool pprof", "no go (package golang-go)")

PROTO = """syntax = "proto3";
message ValueType { int64 type = 1; int64 unit = 2; }
message Label { int64 key = 1; int64 str = 2; int64 num = 3; int64 num_unit = 4; }
message Sample { repeated uint64 location_id = 1; repeated int64 value = 2; repeated Label label = 3; }
message Mapping { uint64 id = 1; uint64 memory_start = 2; uint64 memory_limit = 3; uint64 file_offset = 4; int64 filename = 5; int64 build_id = 6;
	bool has_functions = 7; bool has_filenames = 8; bool has_line_numbers = 9; bool has_inline_frames = 10; }
message Line { uint64 function_id = 1; int64 line = 2; }
message Location { uint64 id = 1; uint64 mapping_id = 2; uint64 address = 3; repeated Line line = 4; bool is_folded = 5; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 filename = 4; int64 start_line = 5; }
message Profile { repeated ValueType sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
	repeated Function function = 5; repeated string string_table = 6; int64 drop_frames = 7; int64 keep_frames = 8; int64 time_nanos = 9;
	int64 duration_nanos = 10; ValueType period_type = 11; int64 period = 12; repeated int64 comment = 13; int64 default_sample_type = 14; }
"""
if shutil.which("protoc"):
    with open(os.path.join(work, "profile.proto"), "w", encoding="ascii") as f:
        f.write(PROTO)
    p = run("protoc", "--decode=Profile", "profile.proto", input=gzip.decompress(out))
    text = p.stdout.decode()
    tap.check(p.returncode == 0 and text.count("\nsample {") == len(pprof.samples) and not re.search(r"^ *\d+:", text, re.M),
              "protoc: all fields are those of profile.proto", [p.stderr, text[:500]])
else:
    tap.skip("protoc: all fields are those of profile.proto", "no protoc (package protobuf-compiler)")

# --- speedscope ---

d, profiles = of_speedscope(export(one, "speedscope").stdout)
tap.check(d["$schema"] == "https://www.speedscope.app/file-format-schema.json" and d["activeProfileIndex"] == 0 and d["exporter"] == "clew" and
          set(d) == {"$schema", "exporter", "name", "activeProfileIndex", "shared", "profiles"}, "speedscope: the document", list(d))
tap.check(all(set(f) <= {"name", "file"} for f in d["shared"]["frames"]), "speedscope: frames have no line", d["shared"]["frames"])
tap.check(list(profiles) == ["app pid 7 tid 7 cpu-clock", "other pid 8 tid 8 cpu-clock"] and {u for u, _ in profiles.values()} == {"nanoseconds"} and
          sum(w for _, s in profiles.values() for _, w in s) == PERIOD, "speedscope: a profile per thread, the largest first; the sum is report's", list(profiles))
stacks = [tuple(s) for _, samples in profiles.values() for s, _ in samples]
tap.check(stacks.count(("main", "outer", "hot", "mix")) == NR_MIX and ("[cut: undefined-mark]", "hot") in [s[:2] for s in stacks],
          "speedscope: stacks, outermost first", stacks)
_, profiles = of_speedscope(export(one, "speedscope", "--weight", "samples").stdout)
tap.check({u for u, _ in profiles.values()} == {"none"} and sum(w for _, s in profiles.values() for _, w in s) == SAMPLES, "speedscope: --weight samples",
          list(profiles))

# --- callgrind ---

ANNOTATE = shutil.which("callgrind_annotate")


class Callgrind:
    """Own and inclusive cost by function, as the format defines it: lines after calls= are of the call."""

    def __init__(self, out):
        self.head, self.own, self.inclusive, self.file_of, names, calls = {}, {}, {}, {}, {}, False
        for line in out.decode().splitlines():
            key, _, rest = line.partition("=" if re.match("[a-z]+=", line) else ":")
            if re.match("[a-z]+=", line):
                calls = calls or key == "calls"
                found = re.match(r"\((\d+)\)(?: (.*))?$", rest)
                if found:
                    kind = {"ob": "ob", "cob": "ob", "fn": "fn", "cfn": "fn"}.get(key, "file")
                    assert (found.group(2) is None) == ((kind, found.group(1)) in names), line
                    name = names.setdefault((kind, found.group(1)), found.group(2))
                    self.file_of.update({self.fn: name} if key == "fi" else {})
                    self.fn = name if key == "fn" else getattr(self, "fn", None)
            elif re.match(r"\d", line):
                costs = [int(c) for c in line.split()[1:]]
                for sums in (self.inclusive,) if calls else (self.own, self.inclusive):
                    sums[self.fn] = [a + b for a, b in zip(sums.get(self.fn, [0] * 9), costs)]
                calls = False
            elif line:
                self.head.setdefault(key, rest.strip())


out = export(two, "callgrind").stdout
c = Callgrind(out)
tap.check(c.head["events"] == "cpu_clock cpu_clock_samples page_faults page_faults_samples" and
          c.head["summary"] == c.head["totals"] == f"{PERIOD} {SAMPLES} 5000 5" and c.head["positions"] == "line" and
          [sum(v[i] for v in c.own.values()) for i in range(4)] == [PERIOD, SAMPLES, 5000, 5], "callgrind: two events, and their sums are report's", c.head)
tap.check(c.own["mix"][1] == NR_MIX, "callgrind: an inlined function is a function", c.own)
rows = json.loads(run(clew, "report", "-i", one, "--json", "--children", "--inline", "-s", "sym").stdout)["tables"][0]["rows"]
c = Callgrind(export(one, "callgrind", "--no-level-suffix").stdout)
children = {r["sym"].replace(" (inlined)", ""): r["values"][0]["total"] for r in rows if r.get("sym") in ("main", "outer", "hot", "mix", "in_kernel")}
tap.check(len(children) == 5 and all(c.inclusive[f][0] == n for f, n in children.items()), "callgrind: inclusive cost is that of report --children",
          [children, c.inclusive])


def stack_of(*functions, time):
    """Outermost first."""
    return cycles.sample(place(functions[-1], 8), chain=chain(place(functions[-1], 8), *(place(f, 8) for f in functions[-2::-1])), time=time)


recursive = recording("recursive.data", [cycles], [*program_records(cycles), stack_of("main", "outer", "hot", "outer", "hot", time=5),
                                                   stack_of("main", "main", "outer", "outer", time=6)])
c = Callgrind(export(recursive, "callgrind", "--weight=samples", "--no-inline").stdout)
tap.check({f: n[0] for f, n in c.inclusive.items()} == {"main": 2, "outer": 2, "hot": 1}, "callgrind: with recursion a sample counts once", c.inclusive)
# Part of a function is in another file, as of a macro or header.
with open(os.path.join(work, "part.inc"), "w", encoding="ascii") as f:
    f.write("\tfor (unsigned long i = 0; i < n; i++)\n\t\tsink += i * n;\n")
mixed = compiled("mixed", 'static volatile unsigned long sink;\n__attribute__((noinline)) unsigned long both(unsigned long n)\n{\n#include "part.inc"\n\treturn sink;\n}\n'
                 "int main(void)\n{\n\treturn (int)both(3);\n}\n")
inside = symbols(mixed)["both"]
parts = export(recording("mixed.data", [cycles], [*program_records(cycles, path=mixed), *(cycles.sample(BASE + inside[0] + i, chain=chain(BASE + inside[0] + i), time=5 + i)
                                                                                          for i in range(inside[1]))]), "callgrind", "--weight=samples").stdout
c = Callgrind(parts)
tap.check(c.own == {"both": [inside[1]]} and re.search(rb"^fi=\(\d+\) .*part.inc$", parts, re.M), "callgrind: code of another file is under fi=, in one function",
          [c.own, parts.decode()])
p = export(one, "callgrind", "--by", "cpu")
tap.check(p.returncode == 2 and b"callgrind does not distinguish by cpu" in p.stderr, "callgrind: --by cpu is refused", p.stderr)
p = export(one, "pprof", "--instr")
tap.check(p.returncode == 2 and b"no place for the costs of instructions" in p.stderr, "--instr is refused by other formats", p.stderr)
head, *parts = export(one, "callgrind", "--by", "tid").stdout.split(b"\npart: ")
parts = {int(re.search(rb"^thread: (\d+)$", p, re.M).group(1)): Callgrind(b"part: " + p) for p in parts}
of_tid = {tid: sum(of_collapsed(export(one, "collapsed", "--tid", str(tid)).stdout).values()) for tid in parts}
tap.check(sorted(parts) == [7, 8] and all(c.head["summary"] == c.head["totals"] and int(c.head["totals"].split()[0]) == of_tid[tid] == sum(v[0] for v in c.own.values())
                                         for tid, c in parts.items()), "callgrind: --by tid: a part for each thread, with its totals", [head, of_tid])
parts = export(one, "callgrind", "--by", "pid").stdout.split(b"\npart: ")[1:]
tap.check([re.findall(rb"^(?:pid|thread): .*", p, re.M) for p in parts] == [[b"pid: 7"], [b"pid: 8"]], "callgrind: --by pid", parts[:1])
instr = export(one, "callgrind", "--instr").stdout
places = {int(x, 16) for x in re.findall(rb"^(0x[0-9a-f]+) \d+ ", instr, re.M)}
tap.check(b"\npositions: instr line\n" in instr and re.search(rb"^calls=\d+ 0x0 0$", instr, re.M) and len(places) > 10, "callgrind: --instr", instr[:400])
nm = run("nm", program).stdout.decode() if shutil.which("nm") else ""
hot_at = re.search(r"^0*([0-9a-f]+) t hot$", nm, re.M)
tap.check(not hot_at or any(int(hot_at.group(1), 16) <= x < int(hot_at.group(1), 16) + at["hot"][1] for x in places), "callgrind: addresses are those of the linked file",
          [nm[:300], sorted(places)[:9]])


def annotate(data, name, *options):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(data)
    return run(ANNOTATE, "--threshold=100", *options, path).stdout.decode()


if ANNOTATE:
    text = annotate(out, "callgrind.out", "--inclusive=yes", "--tree=both")
    tap.check(re.search(r"^ *%s \(100.*PROGRAM TOTALS" % f"{PERIOD:,}", text, re.M) and re.search(r"\*  .*:outer", text), "callgrind_annotate: the total is report's",
              text[:2000])
    rows_of = [re.findall(r"^ *([\d,]+) .*:(\w+)", annotate(d, "instr.out", "--inclusive=yes"), re.M) for d in (export(one, "callgrind").stdout, instr)]
    tap.check(sorted(rows_of[0]) == sorted(rows_of[1]) and rows_of[0], "callgrind_annotate: with --instr it reads the same", rows_of)
else:
    tap.skip("callgrind_annotate: the total is report's", "no callgrind_annotate (package valgrind)")

# --- names ---

out = export(evil, "collapsed", "--weight=samples").stdout
tap.check(out.count(b"\n") == NR_EVIL and sum(of_collapsed(out).values()) == NR_EVIL and out.splitlines()[0].count(b";") == 3,
          "collapsed: names add neither lines nor frames", out[:300])
tap.check(not re.search(rb"[\0-\x09\x0b-\x1f\x7f\xff]", out), "collapsed: no control character, and UTF-8", out[:300])
tap.check(not long_at or LONG.encode() in out, "collapsed: a name of 1 MB", len(out))
_, profiles = of_speedscope(export(evil, "speedscope").stdout)
tap.check(sum(len(s) for _, s in profiles.values()) == NR_EVIL, "speedscope: the same names", list(profiles))
out = export(evil, "pprof").stdout
pprof = Pprof(out)
tap.check(pprof.total(0) == NR_EVIL and not any("\n" in s or "\x01" in s for s in pprof.strings), "pprof: the same names", [s[:80] for s in pprof.strings])
if GO:
    with open(profile, "wb") as f:
        f.write(out)
    tap.check(go_total() == NR_EVIL, "go tool pprof: the same names", go("-top")[:400])
else:
    tap.skip("go tool pprof: the same names", "no go (package golang-go)")

out = export(evil, "callgrind", "--weight=samples").stdout
c = Callgrind(out)
tap.check(c.head["totals"] == str(NR_EVIL) and not re.search(rb"[\0-\x09\x0b-\x1f\x7f\xff]", out) and len(c.own) == NR_EVIL, "callgrind: the same names",
          out[:400])
if ANNOTATE:
    text = annotate(out, "evil.out")
    tap.check(re.search(r"^ *%d \(100.*PROGRAM TOTALS" % NR_EVIL, text, re.M), "callgrind_annotate: the same names", text[:400])
else:
    tap.skip("callgrind_annotate: the same names", "no callgrind_annotate (package valgrind)")

# --- output ---

for to in sorted(FORMATS):
    a, b = export(two, to), export(two, to)
    tap.check(a.returncode == 0 and a.stdout == b.stdout and a.stdout, to + ": two runs are equal", a.stderr)
    host = socket.gethostname().encode()
    plain = gzip.decompress(a.stdout) if a.stdout[:2] == b"\x1f\x8b" else a.stdout
    tap.check(len(host) < 4 or host not in plain, to + ": it does not name the machine", host)
    path = os.path.join(work, "out." + to + ".gz")
    p = export(two, to, "-o", path)
    with open(path, "rb") as f:
        written = f.read()
    tap.check(p.returncode == 0 and not p.stdout and gzip.decompress(written) == plain, to + ": -o NAME.gz is the same, compressed", p.stderr)
    p = export(two, to, "--json")
    summary = json.loads(p.stderr)
    tap.check(summary["format"] == to and summary["samples"] + summary["omitted_samples"] == SAMPLES + 5 and
              sum(e["period"] for e in summary["events"]) == summary["period"] and p.stderr.count(b"\n") == 1, to + ": --json is one object", p.stderr)
    with open("/dev/full", "wb") as full:
        p = subprocess.run([clew, "export", "--to", to, "-i", two], stdout=full, stderr=subprocess.PIPE, check=False, env=ENV)
    tap.check(p.returncode == 1 and b"standard output" in p.stderr, to + ": an output that is full is an error", p.stderr)

# --- memory ---


def peak(to, data):
    """KiB."""
    with open(os.devnull, "wb") as null:
        child = subprocess.Popen([clew, "export", "-q", "--to", to, "-i", data, "-o", os.path.join(work, "out")], stdin=null, stdout=null, env=ENV)
        _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return use.ru_maxrss


block = list(main_samples(cycles))
long_1 = recording("long1.data", [cycles], [*threads, *block * 500])
long_4 = recording("long4.data", [cycles], [*threads, *block * 2000])
for to in sorted(FORMATS):
    if sys.argv[2:] == ["sanitized"]:
        tap.skip(to + ": four times as many samples take no more memory", "the sanitizer keeps what is freed")
        continue
    peaks = [peak(to, long_1), peak(to, long_4)]
    tap.check(peaks[1] < peaks[0] * 1.1, to + ": four times as many samples take no more memory", peaks)

many = recording("many.data", [cycles], [*program_records(cycles), cycles.sample(place("hot"), chain=chain(place("hot")), time=5) * 500001])
p = export(many, "speedscope", "-o", os.path.join(work, "out"))
tap.check(p.returncode == 0 and b"speedscope needs minutes and gigabytes" in p.stderr and b"pprof" in p.stderr, "speedscope: so many samples that its page does not load them",
          p.stderr)
os.remove(many)

# --- refusals ---

master, slave = pty.openpty()
p = subprocess.run([clew, "export", "--to", "pprof", "-i", one], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, check=False, env=ENV)
os.close(slave)
tap.check(p.returncode == 2 and b"terminal" in p.stderr and b"-o FILE" in p.stderr, "a binary format is not written to a terminal", p.stderr)
os.close(master)
for options, words in (([], b"--to FORMAT is missing"), (["--to", "pproof"], b"no format 'pproof'"), (["--to", "pprof", "--weight", "x"], b"--weight is"),
                       (["--to", "pprof", "--by", "pid,x"], b"no key 'x'"), (["--to", "pprof", "x.data"], b"unexpected argument")):
    p = run(clew, "export", "-i", one, *options)
    tap.check(p.returncode == 2 and words in p.stderr, "refused: " + " ".join(options or ["no format"]), p.stderr)
cut = os.path.join(work, "cut.data")
with open(cut, "wb") as f:
    f.write(pm.perf_data([cycles], b"".join([*threads, *main_samples(cycles)]), {})[:-30])
p = export(cut, "collapsed", "--weight=samples")
tap.check(p.returncode == 0 and b"ends inside a record" in p.stderr and sum(of_collapsed(p.stdout).values()) == SAMPLES - 1, "a recording that was cut", p.stderr)
help_text = run(clew, "export", "--help").stdout.decode()
tap.check(all(f in help_text for f in FORMATS) and set(run(clew, "export", "--to", "?").stderr.decode().split("formats: ")[1].strip().split(", ")) == FORMATS | OF_CODE | {"parquet"},
          "all formats are tested here or in the others, and in the help", help_text)

shutil.rmtree(work, ignore_errors=True)
tap.done()
