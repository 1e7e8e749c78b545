#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each spelling of -e becomes the attr and the name that perf makes of it, as perf evlist -v shows both."""
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from record_lib import CLEW, PERF, Tap, needs_perf_events

# Decided by the session, not by the spelling.
IGNORED = re.compile(r"size|wakeup|read_format|mmap|comm|task|sample_id_all|ksymbol|bpf_event|build_id|inherit|"
                     r"disabled|enable_on_exec|sample_regs_user|exclude_callchain_user|text_poke|cgroup")
IGNORED_BITS = {"ID", "IDENTIFIER", "ADDR", "DATA_SRC", "CPU"}

SPELLINGS = """
cycles cycles:u cycles:uk cpu-cycles cycles/period=1000/u cycles/name=x/
cpu-clock cpu-clock:u cpu-clock:k cpu-clock:ukp task-clock faults page-faults cs context-switches:u migrations dummy dummy:u
bpf-output cgroup-switches:k major-faults:uk minor-faults:uG minor-faults:H minor-faults:GH minor-faults:uh minor-faults:ppp
minor-faults:D minor-faults:P minor-faults:I minor-faults:W minor-faults:e minor-faults:b cpu-clock:
sched:sched_switch sched:sched_switch:u sched:sched_wakeup:k sched:sched_wak* syscalls:sys_enter_op*
mem:0x1000 mem:0x1000:x mem:0x1000:rw mem:0x1000:rw:u mem:0x1000:u mem:4096:w
cpu-clock/period=1000/ cpu-clock/period=0x10/ cpu-clock/freq=100/ cpu-clock/name=foo/ cpu-clock/name=foo/u
cpu-clock/call-graph=fp/ cpu-clock/call-graph=dwarf,stack-size=4096/ cpu-clock/call-graph=no/ cpu-clock/max-stack=10/
cpu-clock/no-inherit/ cpu-clock/no-overwrite/ cpu-clock/percore/ cpu-clock/config=1/ software/config=1/
{cpu-clock,page-faults} {cpu-clock,page-faults}:u grp{cpu-clock:k,page-faults}:u,cs cpu-clock,page-faults,{cs,minor-faults}
""".split()

# As others than root at kernel.perf_event_paranoid 2: perf adds :u, and falls back to cpu-clock.
USER_SPELLINGS = "cycles cycles:u faults cpu-clock/period=100/ {cs,faults}".split()


def events_of(text):
    """{name: {field: value}} of perf evlist -v"""
    events = {}
    for line in text.splitlines():
        m = re.match(r"(\S.*?): (type: .*)", line)
        if not m or line.startswith("# Tip"):
            continue
        fields = {}
        for name, value in re.findall(r"((?:\{[^}]*\}|\w+)): ([^,]+)", m.group(2)):
            if name == "sample_type":
                value = "|".join(b for b in value.split("|") if b not in IGNORED_BITS)
            if not IGNORED.search(name):
                fields[name] = value
        events[m.group(1)] = fields
    events.pop("dummy:u", None)  # a carrier of sideband
    return events


def has_names(path):
    """perf 6.1 ends some recordings of `true` without header features, under load; then evlist makes names up."""
    h = subprocess.run([PERF, "report", "-f", "--header-only", "-i", path], capture_output=True, check=False)
    return b"# event : name = " in h.stdout


def made_by(tool, spelling, directory, prefix):
    path = os.path.join(tempfile.mkdtemp(dir=directory), "x.data")
    os.chmod(os.path.dirname(path), 0o777)
    # perf keeps copied stacks, clew does on request.
    more = ["--store-stacks"] if tool == CLEW and "call-graph=dwarf" in spelling else []
    p = subprocess.run([*prefix, tool, "record", *more, "-e", spelling, "-o", path, "true"], capture_output=True, check=False)
    if not os.path.exists(path) or not os.path.getsize(path):
        return None, p.stderr.decode(errors="replace")
    if not has_names(path):
        return None, "the file names no events"
    v = subprocess.run([PERF, "evlist", "-v", "-i", path], capture_output=True, check=False)
    return events_of(v.stdout.decode(errors="replace")), ""


def compare_all(t, spellings, prefix=(), who=""):
    # perf sleeps for most of its second.
    with ThreadPoolExecutor(16) as pool:
        theirs = pool.map(lambda s: made_by(PERF, s, t.dir, prefix), spellings)
        ours = pool.map(lambda s: made_by(CLEW, s, t.dir, prefix), spellings)
        for spelling, (perf, _), (clew, err) in zip(spellings, theirs, ours):
            what = f"-e '{spelling}'{who}: as perf makes it"
            if perf is None:
                t.skip(what, "perf did not record it, or not whole")
            else:
                t.check(clew == perf, what, err or f"perf {perf}\nclew {clew}")


t = Tap()
if not PERF:
    t.skip_all("no perf to compare with")
needs_perf_events(t)
compare_all(t, SPELLINGS)

with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
    paranoid = int(f.read())
if os.geteuid() == 0 and paranoid == 2 and shutil.which("setpriv"):
    os.chmod(t.dir, 0o777)
    program = os.path.join(t.dir, "clew")
    shutil.copy(CLEW, program)
    CLEW = program
    compare_all(t, USER_SPELLINGS, ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"], " as nobody")
else:
    t.skip("as nobody", "needs root, setpriv, and kernel.perf_event_paranoid 2")
t.done()
