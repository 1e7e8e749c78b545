#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_intervals_test.py CLEW: `clew export`: context switches, times without recording, ids in other PID namespaces, in each format with a place for them. TAP."""
import gzip
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
from cli.export_make import TYPE, chain, export, message, place, program_records, recording, run, work

OUT, PREEMPT = 1 << 13, 1 << 14
E = pm.Event(TYPE | pm.CPU, kind=pm.SOFTWARE, config=0)


def switch(when, misc=0, pid=7):
    return pm.record(14, E.sample_id(pid, when), misc)


def throttle(kind, when):
    return pm.record(kind, struct.pack("<QQQ", when, 1, 1) + E.sample_id(7, when))


def tasks(*ids):
    """Records of type 65: id in /proc, local id, id in its own namespace, depth, inode. Spec: docs/spec/perf-data.md."""
    body = b"CLEWWHO\0" + struct.pack("<IIII", 3, 24, 0, 0) + b"".join(struct.pack("<IIIIQ", *t) for t in ids)
    return pm.record(65, body)


def sample(when, pid=7):
    return E.sample(place("hot"), pid=pid, time=when, chain=chain(place("hot"), place("main", 9)))


records = [tasks((7, 7, 1, 2, 4026532000), (8, 8, 2, 2, 4026532000)), *program_records(E), *program_records(E, 8),
           sample(10000), switch(11000, OUT), switch(14000), sample(15000), throttle(5, 15500), switch(16000, OUT | PREEMPT), switch(16500), throttle(6, 17500),
           sample(20000), sample(21000, 8), switch(90000, OUT)]
data = recording("intervals.data", [E], records)

# --- the note ---

p = export(data, "firefox", "--json")
note = json.loads(p.stderr)
tap.check(note["pauses"] == 1 and note["paused_ns"] == 2000 and note["moved_markers"] == 0, "the object says what was not recorded", note)
p = export(data, "collapsed")
tap.check(b"1 times, 0.002 ms in all, were not recorded" in p.stderr, "and so does the note, of every format", p.stderr)

# --- firefox ---

firefox = export(data, "firefox")
d = json.loads(firefox.stdout)
strings = d["shared"]["stringArray"]


def markers(thread):
    t = thread["markers"]
    return [(strings[n], s, e, phase, x.get("reason")) for n, s, e, phase, x in zip(t["name"], t["startTime"], t["endTime"], t["phase"], t["data"])]


found = {t["name"]: markers(t) for t in d["threads"]}
tap.check(found["app (1)"] == [("paused", 0.0055, 0.0075, 1, "throttled"), ("switch", 0.001, 0.004, 1, "waiting"), ("switch", 0.006, 0.0065, 1, "preempted")] and
          found["app (2)"] == [], "firefox: intervals off CPU, and without recording; a thread's name has its id in its namespace", found)
schemas = {s["name"]: [f["key"] for f in s["fields"]] for s in d["meta"]["markerSchema"]}
tap.check(schemas == {"clew-lost": ["records"], "clew-cgroup": ["group"], "clew-switch": ["reason"], "clew-paused": ["reason"]}, "firefox: each marker has a schema", schemas)
late = recording("late.data", [E], [*program_records(E), throttle(5, 1000), sample(10000), sample(12000), throttle(6, 20000)])
p = export(late, "firefox", "--json")
d = json.loads(p.stdout)
strings = d["shared"]["stringArray"]
tap.check(markers(d["threads"][0]) == [("paused", 0.009 if d["threads"][0]["samples"]["time"][0] == 0.009 else 0, d["threads"][0]["samples"]["time"][1], 1, "throttled")] and
          json.loads(p.stderr)["moved_markers"] == 1, "firefox: markers are within the time of all samples, and the object counts those that were moved",
          [markers(d["threads"][0]), p.stderr])

CLI = shutil.which("profiler-cli")
if CLI:
    path = os.path.join(work, "intervals.json")
    with open(path, "wb") as f:
        f.write(firefox.stdout)
    for _ in range(3):  # its daemon may need longer than it is given
        run(CLI, "load", path)
        for _ in range(50):
            if b"threads" in run(CLI, "profile", "info").stdout:
                break
            time.sleep(0.2)
        else:
            run(CLI, "stop", "--all")
            continue
        break
    out = run(CLI, "thread", "markers", "--list").stdout.decode()
    tap.check(len(re.findall(r"switch ", out)) >= 2 and "paused" in out and "preempted" in out, "profiler-cli: the markers", out)
    out = run(CLI, "thread", "list").stdout.decode()
    tap.check("app (1)" in out, "profiler-cli: the id in the namespace", out)
    run(CLI, "stop", "--all")
else:
    tap.skip("profiler-cli: the markers", "no profiler-cli (npm @firefox-devtools/profiler-cli)")

# --- chrome ---

for to in ("chrome", "chrome-samples"):
    d = json.loads(export(data, to).stdout)
    x = [(e["name"], e["ts"], e["dur"], e["args"]) for e in d["traceEvents"] if e["ph"] == "X"]
    tap.check(x == [("paused", 5.5, 2, {"reason": "throttled", "cpu": 0})], to + ": times without recording", x)
    ids = {e["tid"]: e["args"].get("pid_in_ns") for e in d["traceEvents"] if e["name"] == "thread_name"}
    tap.check(ids == {7: 1, 8: 2}, to + ": ids in the namespace", ids)

# --- perfetto ---


def only(m, field):
    return m.get(field, [None])[0]


packets = [message(p) for p in message(export(data, "perfetto").stdout)[1]]
states = [(only(p, 8), message(p[117][0])) for p in packets if 117 in p]
tap.check([(t, only(s, 1), only(s, 2), only(s, 3), only(s, 4)) for t, s in states] ==
          [(11000, 0, b"app", 7, 4), (14000, 0, b"app", 7, 3), (16000, 0, b"app", 7, 2), (16500, 0, b"app", 7, 3), (90000, 0, b"app", 7, 4)],
          "perfetto: states of tasks", states)
tracks = {only(message(p[60][0]), 1): message(p[60][0]) for p in packets if 60 in p}
events = [(only(p, 8), message(p[11][0])) for p in packets if 11 in p]
pauses = [(t, only(e, 9), only(tracks[only(e, 11)], 2), only(e, 23)) for t, e in events if only(e, 9) in (1, 2)]
tap.check(pauses == [(15500, 1, b"trace state, CPU 0", b"paused"), (17500, 2, b"trace state, CPU 0", None)], "perfetto: slices without recording", pauses)
inner = [(only(message(tracks[only(e, 11)][4][0]), 2), only(message(e[4][0]), 10), only(message(e[4][0]), 3)) for t, e in events if only(e, 23) == b"PID namespace"]
tap.check(inner == [(7, b"pid_in_ns", 1), (8, b"pid_in_ns", 2)], "perfetto: ids in the namespace", inner)

# Spec: google/perfetto v58, protos/perfetto/trace: what these records need of it.
PROTO = """syntax = "proto2";
message State { optional int32 cpu = 1; optional string comm = 2; optional int64 tid = 3; optional int32 state = 4; }
message Annotation { optional uint64 uint_value = 3; optional string string_value = 6; optional string name = 10; }
message Event { repeated Annotation debug_annotations = 4; optional int32 type = 9; optional uint64 track_uuid = 11; optional string name = 23; }
message Packet { optional uint64 timestamp = 8; optional Event track_event = 11; optional State generic_kernel_task_state_event = 117; }
message Trace { repeated Packet packet = 1; }
"""
if shutil.which("protoc"):
    with open(os.path.join(work, "states.proto"), "w", encoding="ascii") as f:
        f.write(PROTO)
    p = run("protoc", "--decode=Trace", "states.proto", input=export(data, "perfetto").stdout)
    text = p.stdout.decode()
    tap.check(p.returncode == 0 and text.count("generic_kernel_task_state_event {") == 5 and 'string_value: "throttled"' in text, "protoc: the same", [p.stderr, text[:300]])
else:
    tap.skip("protoc: the same", "no protoc (package protobuf-compiler)")

# --- pprof ---

profile = message(gzip.decompress(export(data, "pprof").stdout))
strings = [s.decode() for s in profile[6]]
labels = [{strings[only(message(x), 1)]: only(message(x), 3) for x in message(s)[3]} for s in profile[2]]
tap.check({(x["pid"], x["pidns"], x["pid_in_ns"]) for x in labels} == {(7, 4026532000, 1), (8, 4026532000, 2)}, "pprof: namespace, and the id in it", labels)
tap.check({"times without recording: 1", "nanoseconds of these: 2000"} <= set(strings), "pprof: a comment", strings)
if shutil.which("go"):
    path = os.path.join(work, "x.pb.gz")
    with open(path, "wb") as f:
        f.write(export(data, "pprof").stdout)
    out = run("go", "tool", "pprof", "-tags", path).stdout.decode()
    tap.check("pid_in_ns" in out, "go tool pprof: the label", out)

# --- hardware trace that other events pause, and that a full buffer cuts ---

MS = 1000000
START_PAUSED, PAUSE, RESUME = 1, 2, 4
TRUNCATED = 1


def event(kind, action, ident):
    e = pm.Event(pm.IDENTIFIER | pm.TID | pm.TIME | pm.CPU, ident, kind=kind)
    e.attr = e.attr[:116] + struct.pack("<I", action) + e.attr[120:]
    return e


def aux(e, when, end, flags=0):
    return pm.record(11, struct.pack("<QQQ", end, 64, flags) + struct.pack("<IIQIIQ", 7, 7, when, 0, 0, e.ident))


def traced(name, e, events, more):
    """Samples of events[1] at 10, 20 ms; of events[2] 5 ms later."""
    index = pm.record(69, struct.pack("<Q", len(events)) + b"".join(struct.pack("<QQqq", x.ident, 0, -1, 7) for x in events))
    records = [index, pm.comm(e, 7, b"seven")]
    for i in (1, 2):
        records += [events[1].sample(0, time=10 * i * MS), events[2].sample(0, time=(10 * i + 5) * MS), aux(e, (10 * i + 6) * MS, 64 * i, more)]
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(pm.perf_data(events, b"".join(records), {}))
    return path


events = [event(40, START_PAUSED, 1), event(pm.TRACEPOINT, RESUME, 2), event(pm.TRACEPOINT, PAUSE, 3)]
x = [e for e in json.loads(export(traced("paused.data", events[0], events, 0), "chrome-samples").stdout)["traceEvents"] if e["ph"] == "X"]
tap.check([(e["dur"], e["args"]) for e in x] == [(5000, {"reason": "paused", "tid": 7})], "a time in which trace was paused", x)
events = [event(40, 0, 1), event(pm.TRACEPOINT, 0, 2), event(pm.TRACEPOINT, 0, 3)]
x = [e for e in json.loads(export(traced("full.data", events[0], events, TRUNCATED), "chrome-samples").stdout)["traceEvents"] if e["ph"] == "X"]
tap.check([(e["dur"], e["args"]) for e in x] == [(10000, {"reason": "buffer full", "cpu": 0})], "a time without trace, as its buffer was full", x)

# Damaged: an end without a begin, and the same twice.
odd = recording("odd.data", [E], [*program_records(E), throttle(6, 900), throttle(5, 1000), throttle(5, 1100), sample(10000), switch(10500), switch(10600, OUT), switch(10700, OUT),
                                  sample(12000), throttle(6, 900), pm.record(5, b""), pm.record(14, b""), pm.record(65, b"CLEWWHO\0\3\0\0\0\1\0\0\0")])
for to in ("firefox", "chrome", "chrome-samples", "perfetto", "perfetto-v57", "pprof"):
    p = export(odd, to)
    tap.check(p.returncode in (0, 1) and p.stdout and b"2 samples written" in p.stderr, to + ": records that do not fit together", p.stderr)
shutil.rmtree(work, ignore_errors=True)
tap.done()
