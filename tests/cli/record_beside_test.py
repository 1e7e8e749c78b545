#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A recorder beside another one: Linux marks the mappings of an event that wants no build ids as if they held one when
another recorder's event wants them. None of that may reach a file."""
import re
import subprocess

from record_lib import CLEW, PATIENCE, PERF, Tap, may_watch_cpus, needs_perf_events

t = Tap()
needs_perf_events(t)
if not may_watch_cpus(t):
    t.skip_all("no events of whole CPUs here")

MMAP2, BUILD_ID = 10, 1 << 14


def mappings(path):
    """misc of each MMAP2 record, as its bytes say, not as the reader judges it."""
    p = subprocess.run([CLEW, "script", "-D", "-i", path], capture_output=True, check=False)
    words = re.findall(rb"^ +0000 ((?: [0-9a-f]{2}){8})", p.stdout, re.M)
    heads = [bytes.fromhex(w.decode()) for w in words]
    return [int.from_bytes(h[4:6], "little") for h in heads
            if int.from_bytes(h[:4], "little") == MMAP2]


# Its events are on when the command runs, and stay until the command may end.
beside = subprocess.Popen([CLEW, "record", "-a", "-q", "-o", t.path("wide.data"), "--", "sh", "-c",
                           "echo on; read line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
t.check(beside.stdout.readline() == b"on\n", "a recorder of all CPUs runs")
for name, options, pipe in [
    ("in the ring's order", ["-B"], False),
    ("packed", ["-B", "-z"], False),
    ("through a pipe", ["-B"], True),
    ("overwritten", ["-B", "--overwrite"], False),
    ("user stacks", ["-B", "-g"], False),
    ("copied stacks", ["-B", "--call-graph", "dwarf"], False),
    ("two events", ["-B", "-e", "cpu-clock,page-faults"], False),
]:
    r = t.record(options, ["sh", "-c", "ls / >/dev/null"], pipe=pipe)
    misc = mappings(r.path)
    t.check(r.status == 0 and len(misc) > 2, f"{name}: mappings", f"{len(misc)} {r.err}")
    t.check(not any(m & BUILD_ID for m in misc), f"{name}: none says it holds a build id",
            " ".join(hex(m) for m in misc))
    if PERF:
        status, _, err = t.perf("script", "-i", r.path, "--show-mmap-events")
        t.check(status == 0, f"{name}: perf reads it", f"{status} {err}")
    else:
        t.skip(f"{name}: perf reads it", "no perf here")
# Programs of BPF are loaded meanwhile: their records are made once for all recorders, with the sizes of each added up.
for name, options in [("as they come", ["-a"]), ("merged by time", ["-a", "-g"])]:
    r = t.record(options, [CLEW, "record", "-q", "-g", "-o", t.path("inner.data"), "--", "ls", "/"], name="bpf.data")
    p = subprocess.run([CLEW, "script", "-D", "-i", r.path], capture_output=True, check=False)
    if b"PERF_RECORD_KSYMBOL" not in p.stdout:
        t.skip(f"BPF programs, {name}", "none was loaded")
    elif PERF:
        status, _, err = t.perf("script", "-i", r.path)
        t.check(status == 0 and "failed to process" not in err, f"BPF programs, {name}: perf reads it", f"{status} {err}")
r = t.record([], ["ls", "/"])
t.check(any(m & BUILD_ID for m in mappings(r.path)), "asked for, build ids are there")
beside.communicate(b"\n", timeout=PATIENCE)
t.check(beside.returncode == 0, "the other recorder ended well", beside.returncode)
t.done()
