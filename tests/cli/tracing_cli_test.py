#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: tracing_cli_test.py CLEW: intervals of tracing, lost triggers, and windows of snapshots in `clew report`, `script`, `trace` and `dump`, on
recordings made here. TAP."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli import spe_lib as spe

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
MS = 1000000
NONE = 0xFFFFFFFF
START_PAUSED, PAUSE, RESUME = 1, 2, 4
OVERWRITE = 2
TYPE = pm.IDENTIFIER | pm.TID | pm.TIME | pm.CPU


def event(kind, action, ident):
    e = pm.Event(TYPE, ident, kind=kind)
    e.attr = e.attr[:116] + struct.pack("<I", action) + e.attr[120:]
    return e


def run(*args):
    p = subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, check=False, encoding="utf-8", env=dict(os.environ, HOME=work))
    return p.stdout, p.stderr, p.returncode


def aux(e, time, end, size, flags=0, cpu=0):
    body = struct.pack("<QQQ", end, size, flags) + struct.pack("<IIQIIQ", 7, 7, time, cpu, 0, e.ident)
    return pm.record(11, body)


def auxtrace(offset, size, cpu):
    return pm.record(71, struct.pack("<QQQIIII", size, offset, 1, cpu, NONE, cpu, 0)) + bytes(size)


def id_index(events, cpu, tid):
    body = struct.pack("<Q", len(events))
    for e in events:
        body += struct.pack("<QQqq", e.ident, 0, cpu, tid)
    return pm.record(69, body)


def write(name, data):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def paused():
    """Ten intervals of 5 ms of one thread, the second without trace; one that still runs."""
    pmu, resume, pause = events = [event(40, START_PAUSED, 1), event(pm.TRACEPOINT, RESUME, 2), event(pm.TRACEPOINT, PAUSE, 3)]
    records = id_index(events, -1, 7) + pm.comm(pmu, 7, b"seven")
    for i in range(10):
        at = 10 * (i + 1) * MS
        records += resume.sample(0, time=at) + pause.sample(0, time=at + 5 * MS)
        records += aux(pmu, at + 6 * MS, 64 * i, 0 if i == 1 else 64)
    records += resume.sample(0, time=200 * MS) + aux(pmu, 210 * MS, 640, 64)
    return write("paused", pm.perf_data(events, records, {}))


def snapshots():
    e = event(40, 0, 1)
    records = aux(e, 10 * MS, 64, 64, OVERWRITE) + auxtrace(0, 64, 0)
    for i in range(4):
        records += aux(e, (20 + i) * MS, 64 * (i + 2), 64, OVERWRITE)
    records += aux(e, 30 * MS, 32, 32, OVERWRITE, 1) + auxtrace(192, 128, 0) + auxtrace(0, 32, 1)
    return write("snapshots", pm.perf_data([e], records, {}))


def test_paused():
    path = paused()
    out, err, status = run("report", "--stats", "-i", path)
    tap.check(status == 0 and "  thread 7: 11 intervals, 60.000000 ms\n" in out, "the intervals of a thread, and their sum", out + err)
    tap.check("    0.010000000 to 0.015000000, 5.000000 ms\n" in out and "    0.200000000 to still running\n" in out, "each interval", out)
    tap.check("  0.020000000 to 0.025000000, 5.000000 ms; no trace after the resume\n" in out, "a lost resume", out)
    for line in ("21  samples of events that pause or resume", "0  unpaired triggers", "1  lost resumes", "0  times that the kernel throttled"):
        tap.check(line in out, line, out)
    out, err, _ = run("report", "-i", path)
    tap.check("# Hardware trace was on, by the samples of events that pause and resume:\n#   thread 7: 11 intervals" in out, "a report has them below its table", out)
    tap.check("#     and 6 more: --stats has all\n" in out, "not all of many", out)
    tap.check("# no trace after resume at 0.020000000: the trigger was lost" in out, "and what was lost", out)
    out, err, _ = run("script", "-i", path)
    tap.check("hardware trace was on in 11 intervals, 60.000000 ms in all; 1 still running at the end (--stats has each)" in err, "script says the sum", err)
    tap.check("warning: " + path + ": no trace after resume at 0.020000000" in err, "and warns of what was lost", err)
    stats, _, _ = run("script", "--stats", "-i", path)
    tap.check("    0.010000000 to 0.015000000, 5.000000 ms\n" in stats, "script --stats has each interval", stats)
    out, err, _ = run("report", "--json", "-i", path)
    tracing = json.loads(out)["summary"]["tracing"]
    state = tracing["of"][0]
    tap.check(tracing["triggers"] == 21 and tracing["lost_resumes"] == 1 and tracing["running"] == 1, "the counts as JSON", tracing)
    tap.check(state["tid"] == 7 and "cpu" not in state and state["intervals"][0] == {"from": 10 * MS, "to": 15 * MS, "end": "pause"} and
              state["intervals"][1]["outcome"] == "lost_resume" and state["intervals"][10] == {"from": 200 * MS, "end": "running"}, "the intervals as JSON", state)


def pt_trace(*after):
    """A thread's trace from 10 to 20 ms, and what is written at 25 ms, after the pause: (packets, has it code?)."""
    pmu = event(8, START_PAUSED, 1)
    pmu.attr = pmu.attr[:8] + struct.pack("<Q", 1 | 1 << 10 | 1 << 12 | 1 << 13) + pmu.attr[16:]
    events = [pmu, event(pm.TRACEPOINT, RESUME, 2), event(pm.TRACEPOINT, PAUSE, 3)]
    info = (8, 31, 1 << 31, 0, 1, 1 << 10, 1 << 11, 0, 0, 0, 1 << 9, 0xf << 14, 84, 1, 2, 20, 0)

    def at(ms):
        return b"\x19" + struct.pack("<Q", ms * MS)[:7]

    trace = b"\x02\x82" * 8 + at(11) + bytes.fromhex("02030a00 0223") + at(12) + PTWRITE
    for what in after:
        trace += at(25) + what
    trace += bytes(-len(trace) % 8)
    records = pm.record(70, struct.pack("<II%dQ" % len(info), 1, 0, *info)) + id_index(events, -1, 7) + pm.comm(pmu, 7, b"seven")
    records += events[1].sample(0, time=10 * MS) + events[2].sample(0, time=20 * MS) + aux(pmu, 40 * MS, 0, len(trace))
    records += pm.record(71, struct.pack("<QQQIIII", len(trace), 0, 1, 0, 7, NONE, 0)) + trace
    return write("pt", pm.perf_data(events, records, {}))


PTWRITE, CBR = bytes.fromhex("0212 2a000000"), bytes.fromhex("02030b00")
BEGIN = b"\x71" + struct.pack("<Q", 0x401000)[:6]  # of code that is nowhere


def lost_pauses(path, itrace):
    """As each view has them: None where it does not know."""
    stats = [run(*args, "--stats", "-i", path, *itrace)[0] for args in (("report",), ("script",))]
    found = [re.search(r"(\d+|unknown)  lost pauses", s) for s in stats]
    views = [None if not m or m[1] == "unknown" else int(m[1]) for m in found]
    tracing = json.loads(run("report", "--json", "-i", path, *itrace)[0])["summary"]["tracing"]
    views.append(tracing.get("lost_pauses"))
    views.append(None if views[0] is None else sum(i.get("outcome") == "lost_pause" for i in tracing["of"][0]["intervals"]))
    for args in (("script",), ("report",)):
        said = "trace ran 5000 us after pause at 0.020000000" in "".join(run(*args, "-i", path, *itrace)[:2])
        views.append(None if views[0] is None and not said else int(said))
    return views


def test_lost_pauses():
    for name, nr, after in (("nothing", 0, ()), ("PTWRITE", 1, (PTWRITE,)), ("CBR", 1, (CBR,)), ("trace without code", 1, (BEGIN, b"\x0c"))):
        path = pt_trace(*after)
        for itrace in (["--itrace=bwpe"], ["--itrace=e"]):
            views = lost_pauses(path, itrace)
            tap.check(views == [nr] * 6, f"{name} after a pause, {itrace[0]}: each view counts it", views)
        text = run("script", "-i", path, "--itrace=bwpe")[0]
        tap.check(("[paused]" in text) == bool(nr) or after == (CBR,), f"{name} after a pause: [paused] where it was lost", text)
    views = lost_pauses(pt_trace(PTWRITE), ["--no-itrace"])
    out = run("report", "--stats", "-i", pt_trace(PTWRITE), "--no-itrace")[0]
    tap.check(views == [None] * 6 and "     unknown  lost pauses" in out and "0  lost pauses" not in out, "undecoded: it is unknown, and not 0", [views, out])


def test_snapshots():
    path = snapshots()
    out, err, _ = run("report", "--stats", "-i", path)
    tap.check("  snapshot 1: 64 bytes in 1 window, complete from the start to 0.010000000\n" in out, "a snapshot", out + err)
    tap.check("  snapshot 2: 160 bytes in 2 windows, in common complete from 0.021000000 to 0.030000000\n" in out, "since when all are complete", out)
    tap.check("    CPU 0: offset 192, 128 bytes, older ones were overwritten; complete from 0.021000000 to 0.023000000\n" in out, "a full window", out)
    stats, _, _ = run("script", "--stats", "-i", path)
    tap.check("    CPU 1: offset 0, 32 bytes, complete from the start to 0.030000000\n" in stats, "in script --stats, too", stats)
    out, err, _ = run("report", "--json", "-i", path)
    second = json.loads(out)["summary"]["snapshots"][1]
    tap.check(second["bytes"] == 160 and second["from"] == 21 * MS and second["windows"][0] ==
              {"cpu": 0, "offset": 192, "bytes": 128, "overwritten": True, "from": 21 * MS, "to": 23 * MS}, "as JSON", second)


def test_gaps():
    e = event(40, 0, 1)
    records = b"".join(aux(e, at * MS, 64 * at, 64, flags) for at, flags in ((10, 0), (20, 1), (26, 1), (30, 0), (40, 1)))
    records += aux(e, 50 * MS, 64, 64, 0, 1) + auxtrace(0, 64, 0)
    out, err, _ = run("report", "--stats", "-i", write("gaps", pm.perf_data([e], records, {})))
    tap.check("  cpu 0: 5 records, 3 truncated: the ring was full; from 0.020000000 to 0.040000000\n    gaps: 3, 10.000000 ms at most\n"
              "    gap from 0.020000000 to 0.026000000, flags 0x1\n    gap from 0.026000000 to 0.030000000, flags 0x1\n"
              "    gap from 0.040000000 to the end, flags 0x1\n  cpu 1: 1 record\n" in out, "gaps of full buffers, each with its end", out + err)


def test_snapshots_of_spe():
    """Two windows; the second begins inside a record, 20 bytes after what was overwritten."""
    trace = b"".join(spe.load(0x1000 + 8 * i, 100 + i) for i in range(8))
    size = len(trace)
    records = [spe.v2((0, spe.N1, spe.PMU, ())), spe.COMM, spe.chunk(size, size, 100, flags=OVERWRITE), spe.aux(trace),
               spe.chunk(3 * size, 2 * size, 200, flags=OVERWRITE), spe.aux(trace[20:], 2 * size + 20)]
    path = write("spe", spe.recording(records))
    out, err, status = run("trace", "-i", path)
    tap.check(status == 0 and ", 15 records, 1 damaged," in out, "of the record that is cut off, the rest; all that follow are whole", out + err)
    window = f"    CPU 0: offset {2 * size + 20}, {size - 16} bytes, older ones were overwritten; complete from 0.000000200 to 0.000000200\n"
    tap.check("\nSnapshots of hardware trace:\n  snapshot 1: 344 bytes in 1 window, complete from the start to 0.000000100\n" in out and
              out.endswith(window), "trace has the windows", out)
    tap.check("  snapshot 2: 328 bytes in 1 window, complete from 0.000000200 to 0.000000200\n" in out, "and of a single one, its time", out)
    for args in (("dump",), ("dump", "--stat")):
        tap.check(run(*args, "-i", path)[0].endswith(window), " ".join(args) + " has them at its end")
    tap.check("Snapshots" not in run("dump", "--kind=TS", "-i", path)[0], "not where packets of a kind are asked for")
    for command in ("trace", "dump"):
        last = json.loads(run(command, "--json", "-i", path)[0].splitlines()[-1])
        tap.check([w["offset"] for s in last["snapshots"] for w in s["windows"]] == [0, 2 * size + 20], command + " --json has an object of them", last)


test_paused()
test_lost_pauses()
test_gaps()
test_snapshots()
test_snapshots_of_spe()
tap.done()
