#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_perf_test.py CLEW DATA DEFERRED: `clew export --to perf.data`: records, chains and totals that perf reads. DATA: ../shared/data. TAP."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli import spe_lib
from cli.export_make import ENV, clew, cycles, evil, export, one, run, two, work

DATA, DEFERRED = (os.path.abspath(p) for p in sys.argv[2:4])
PERF = shutil.which("perf")


def events(path, *options):
    tables = json.loads(run(clew, "report", "-i", path, "--json", *options).stdout)["tables"]
    return [(e["name"], e["samples"], e["period"]) for t in tables for e in t["events"] if e["samples"]]


def copied(path, *options, name="copy.data"):
    to = os.path.join(work, name)
    p = run(clew, "export", "--to", "perf.data", "-i", path, "-o", to, *options)
    return to if p.returncode == 0 else tap.check(False, "export: " + path, p.stderr)


def stats(path):
    """Records by type."""
    return {k: int(v) for k, v in re.findall(r"^ *(\S+) events:\s+(\d+)", run(clew, "report", "--stats", "-i", path).stdout.decode(), re.M)}


def script(path, *options):
    return run(clew, "script", "-F", "comm,tid,time,period,event,ip,sym", "-i", path, *options).stdout


def check_perf(path, what, *options):
    """perf's totals are clew's, and it warns of nothing."""
    if not PERF:
        return tap.skip(f"perf report: {what}", "no perf (package linux-perf)")
    p = subprocess.run([PERF, "report", "--stdio", "-f", "-i", path, *options], env=dict(ENV, PERF_CONFIG="/dev/null"), stdin=subprocess.DEVNULL, capture_output=True,
                       check=False)
    text = p.stdout.decode(errors="replace")
    periods = [int(n) for n in re.findall(r"^# Event count \(approx\.\): (\d+)", text, re.M)]
    names = re.findall(r"^# Samples: \S+\s+of event '([^']+)'", text, re.M)
    expected = [(e, period) for e, _, period in events(path)]
    tap.check(list(zip(names, periods)) == expected and not re.search("out of order|unknown event|failed to process|was corrupted", text + p.stderr.decode(errors="replace")),
              f"perf report: {what}: its totals, and no warning", [expected, names, periods, p.stderr[:500]])
    return text


# --- plain recordings ---

for path, what in ((one, "one event"), (two, "two events"), (evil, "hostile names")):
    to = copied(path)
    tap.check(events(to) == events(path) and script(to) == script(path), f"{what}: the same samples", [events(to), events(path)])
    check_perf(to, what)
to = copied(two, "-e", "page-faults")
tap.check([e[:2] for e in events(to)] == [("page-faults", 5)], "-e: one event's samples", events(to))
to = copied(one, "--tid", "8")
tap.check(script(to) == script(one, "--tid", "8") and script(to) != script(one), "a filter", events(to))

p = export(one, "perf.data")
piped = os.path.join(work, "piped.data")
with open(piped, "wb") as f:
    f.write(p.stdout)
tap.check(p.returncode == 0 and script(piped) == script(one), "standard output: the form of a pipe", p.stderr)
if PERF:
    q = subprocess.run([PERF, "report", "--stdio", "-i", "-"], input=p.stdout, capture_output=True, check=False)
    tap.check(b"Event count (approx.): %d" % events(one)[0][2] in q.stdout, "perf report of a pipe", q.stderr[:300])

late = pm.Event(cycles.sample_type, ident=2, kind=pm.SOFTWARE, config=2)


def named(event):
    """The record by which a pipe names it."""
    return pm.record(64, event.attr + struct.pack("<Q", event.ident))


samples = [b"".join(e.sample(0x1000 + i, chain=(0x1000 + i,), time=from_time + i) for i in range(5000)) for e, from_time in ((cycles, 1000), (late, 9000))]
piped = b"".join([struct.pack("<8sQ", b"PERFILE2", 16), named(cycles), samples[0], 2 * pm.record(68, b""), named(late), samples[1]])
p = run(clew, "export", "--to", "perf.data", "-i", "-", "-o", os.path.join(work, "late.data"), input=piped)
tap.check(p.returncode == 1 and b"bad file" in p.stderr and [e[1] for e in events(os.path.join(work, "late.data"))] == [5000],
          "a pipe that names an event after samples: what came before, and an error", p.stderr)

# --- trace by snapshots ---

OVERWRITE = 2  # PERF_AUX_FLAG_
trace = b"".join(spe_lib.load(0x400000 + 4 * i, 1000 + i) for i in range(40))
taken = os.path.join(work, "taken.data")
with open(taken, "wb") as f:
    f.write(spe_lib.recording([spe_lib.record(79, spe_lib.TIME_CONV), spe_lib.v2((0, spe_lib.N1, spe_lib.PMU, ())), spe_lib.COMM, spe_lib.aux(trace, 0, 0, 100),
                               spe_lib.chunk(0, len(trace), 5000, flags=OVERWRITE)]))
to = copied(taken)
tap.check([e[1] for e in events(to)] == [40, 40] and events(to) == events(taken), "trace by snapshots", [events(to), events(taken)])
check_perf(to, "trace by snapshots")

# --- what is not copied ---

attr = struct.pack(">IIQQQQQ", 1, 128, 0, 1000, 7, 0, 0).ljust(128, b"\0")
records = struct.pack(">IHHQIIQ", 9, 2, 32, 0x1000, 7, 7, 5) * 3
swapped = os.path.join(work, "swapped.data")
with open(swapped, "wb") as f:
    f.write(struct.pack(">QQQQQQQQQ", 0x32454C4946524550, 104, 144, 104, 144, 248, len(records), 0, 0) + bytes(32) + attr + bytes(16) + records)
p = export(swapped, "perf.data")
tap.check(p.returncode == 1 and not p.stdout and b"of the other byte order" in p.stderr and b"on a machine of its byte order" in p.stderr, "the other byte order: why, and what to do",
          p.stderr)
p = export(swapped, "collapsed", "--weight=samples")
tap.check(p.returncode == 0 and p.stdout.rstrip().endswith(b" 3"), "other formats are written of it", [p.stdout, p.stderr])
snapshot = os.path.join(DATA, "coresight-truth", "work")
if os.path.exists(snapshot):
    p = export(snapshot, "perf.data")
    tap.check(p.returncode == 1 and not p.stdout and b"directory of trace" in p.stderr, "a directory of trace: why", p.stderr)
else:
    tap.skip("a directory of trace", "no " + snapshot)

# --- stacks ---

to = copied(DEFERRED)
tap.check(script(to) == script(DEFERRED) and "CALLCHAIN_DEFERRED" in stats(DEFERRED) and "CALLCHAIN_DEFERRED" not in stats(to), "deferred stacks are in their samples",
          [stats(to), script(to)[:300]])
check_perf(to, "deferred stacks")

LOOP = "import hashlib\nfor i in range(300): hashlib.sha256(bytes(100000)).hexdigest()"
live = os.path.join(work, "dwarf.data")
made = PERF and subprocess.run([PERF, "record", "-q", "-e", "cpu-clock", "-F", "2000", "--all-cgroups", "--call-graph", "dwarf,8192", "-o", live, "--", sys.executable,
                                "-c", LOOP], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
if made:
    to = copied(live)
    tap.check(events(to) == events(live) and script(to) == script(live), "copied stacks are call chains", [events(to), events(live)])
    tap.check(os.path.getsize(to) < os.path.getsize(live) / 2, "and no copies", [os.path.getsize(to), os.path.getsize(live)])
    text = check_perf(to, "copied stacks, control groups, build ids")
    ids = [subprocess.run([PERF, "buildid-list", "-i", f], capture_output=True, check=False).stdout for f in (live, to)]
    tap.check(ids[0] == ids[1] and ids[0], "build ids are kept", ids)
    groups = [subprocess.run([PERF, "report", "--stdio", "-s", "cgroup", "-g", "none", "-i", f], capture_output=True, check=False).stdout.decode() for f in (live, to)]
    groups = [re.findall(r"^ +[\d.]+%.*", g, re.M) for g in groups]
    tap.check(groups[0] and [re.split(" +", x)[-1] for x in groups[0]] == [re.split(" +", x)[-1] for x in groups[1]], "control groups are kept", groups)
    leaf = [subprocess.run([PERF, "report", "--stdio", "--no-children", "-s", "sym", "-g", "none", "-i", f], capture_output=True, check=False).stdout for f in (live, to)]
    leaf = [re.findall(rb"^ +[\d.]+%.*", x, re.M) for x in leaf]
    tap.check(leaf[0] == leaf[1] and leaf[0], "perf report: own time of each function is that of the recording", [x[:5] for x in leaf])
else:
    tap.skip("copied stacks", "perf cannot record here")

# --- hardware trace ---

truth = os.path.join(DATA, "intel-pt-truth")
if os.path.isdir(truth):
    symfs = ("--symfs", os.path.join(truth, "symfs"))
    for name, itrace in (("switch", "i100usbe"), ("switch", "i1000ig16"), ("switch", "cr"), ("threads", "i100usbe"), ("work", "i10usbe"), ("kernel", "i100usbe")):
        path = os.path.join(truth, name, "perf.data")
        to = copied(path, *symfs, "--itrace=" + itrace)
        kinds = stats(to)
        tap.check(events(to) == events(path, *symfs, "--itrace=" + itrace) and not [k for k in kinds if k.startswith(("AUX", "ITRACE"))],
                  f"{name}, --itrace={itrace}: samples in place of the trace", [events(to), kinds])
        check_perf(to, f"{name}, --itrace={itrace}", *symfs)
    path = os.path.join(truth, "switch", "perf.data")
    to = copied(path, *symfs, "--itrace=i1000il8")
    tap.check(events(to) == events(path, *symfs, "--itrace=i1000il8"), "last branches are kept", events(to))
else:
    tap.skip("hardware trace", "no Intel PT in " + DATA)
spe = os.path.join(DATA, "spe", "spe-synth.data")
if os.path.exists(spe):
    to = copied(spe)
    tap.check(events(to) == events(spe), "SPE: sampled operations", events(to))
    check_perf(to, "SPE")
else:
    tap.skip("SPE", "no spe-synth.data in " + DATA)

# --- what is refused ---

p = run(clew, "export", "--to", "perf.data", "-i", one, "-o", os.path.join(work, "x.data"), "--by", "tid")
tap.check(p.returncode == 2 and b"--by: perf.data does not distinguish by tid" in p.stderr, "--by is refused", p.stderr)
tap.done()
