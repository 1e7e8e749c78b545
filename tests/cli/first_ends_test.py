#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: first_ends_test.py CLEW: a process whose first thread has ended. /proc/PID has then no maps, files, root and namespaces of it any more: they are
those of another thread. Every way to record it, and those that end, load a library or execute another program while it is recorded."""
import os
import re
import subprocess

from record_lib import CLEW, PERF, may_watch_cpus, needs_perf_events, until
from stack_lib import LIVE, StackTap, may_use_bpf, samples, user_part

t = StackTap()
needs_perf_events(t)
program = t.compile("first_ends", [os.path.join(LIVE, "first_ends.c")], ["-O1", "-g"])
library = t.compile("late.so", [os.path.join(LIVE, "first_ends_library.c")], ["-O1", "-g", "-shared", "-fPIC"])
if not program or not library:
    t.skip_all("no compiler")
AS_FAST_AS_IT_GETS = ["-F", "1999", "-e", "cpu-clock:u"]


def is_zombie(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[0] == "Z"


class Running:
    """The program: pid, tid of the thread that lives on. Its first thread has ended."""
    def __init__(self, ms, *args):
        self.p = subprocess.Popen([program, str(ms), *args], stdout=subprocess.PIPE, text=True)
        self.pid, self.tid = (int(n) for n in self.p.stdout.readline().split())
        self.p.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        self.p.stdout.close()


def name_of(s):
    """Of the sampled function; "?" where nothing of the file is known. Libraries may be stripped."""
    return s.get("sym") or ("?" if s.get("dso", "[unknown]") in ("[unknown]", program, library) else "of a library")


def names(path, wanted=lambda s: s["comm"] == "first_ends"):
    """Of the program's samples: how many, and by name of the sampled function."""
    found = {}
    for s in samples(path):
        if wanted(s) and s.get("kind") == "user":
            found[name_of(s)] = found.get(name_of(s), 0) + 1
    return sum(found.values()), found


def all_named(r, name, want, what):
    nr, found = names(r.path)
    t.check(found.get(want, 0) > 0 and not found.get("?"), f"{name}: {what}", f"{nr} {found} {r.err}")


# --- it has ended when the recording begins ---
with Running(0) as running:
    t.check(until(lambda: is_zombie(running.pid)), "the first thread has ended")
    ways = [("-p", ["-p", str(running.pid)]), ("-t", ["-t", str(running.tid)]), ("-u", ["-u", str(os.getuid())])]
    ways += [("-a", ["-a"])] if may_watch_cpus(t) else []
    for name, options in ways:
        for stacks in [[], ["--call-graph", "dwarf"], *([["--call-graph", "sframe"]] if may_use_bpf() else [])]:
            what = f"{name} {stacks[-1] if stacks else 'without stacks'}"
            r = t.record([*AS_FAST_AS_IT_GETS, *stacks, *options], ["sleep", "0.3"])
            all_named(r, what, "in_thread", "the others' samples have names")
            whole = [s for s in samples(r.path) if s["comm"] == "first_ends" and s["tid"] == running.tid and user_part(s)]
            if stacks:
                t.check(whole and any("in_thread" in [f.get("sym") for f in user_part(s)] and len(user_part(s)) > 2 for s in whole),
                        f"{what}: and their callers", f"{len(whole)}")
    r = t.record([*AS_FAST_AS_IT_GETS, "-p", str(running.pid), "--namespaces"], ["sleep", "0.1"])
    mnt = os.stat(f"/proc/{running.tid}/ns/mnt").st_ino
    shown = subprocess.run([CLEW, "script", "--show-namespace-events", "-i", r.path], capture_output=True, text=True, check=False).stdout
    t.check(f"PERF_RECORD_NAMESPACES {running.pid}/{running.pid}" in shown, "namespaces are recorded", shown[:500])
    with open(r.path, "rb") as f:
        raw = f.read()
    t.check(raw.count(mnt.to_bytes(8, "little")) >= 2, "they are those that the others have", f"{mnt}")
    maps = subprocess.run([CLEW, "script", "--show-mmap-events", "-i", r.path], capture_output=True, text=True, check=False).stdout
    with open(f"/proc/{running.tid}/maps", encoding="utf-8") as f:
        executable = [line for line in f if re.search(r" r-xp .*/", line)]
    recorded = [line for line in maps.splitlines() if f"PERF_RECORD_MMAP2 {running.pid}/{running.pid}" in line and "r-xp /" in line]
    t.check(len(recorded) == len(executable), "each of its mappings is recorded once, as its own", f"{len(recorded)} of {len(executable)}")
    t.check(all(re.search("<[0-9a-f]{20,}>", line) for line in recorded), "with the file's build id", "\n".join(recorded))
    if PERF:
        status, out, _ = t.perf("script", "-i", r.path, "-F", "comm,ip,sym")
        t.check(status == 0 and "in_thread" in out, "perf reads it", out[:300])
    p = subprocess.run([CLEW, "record", "-q", "-e", "soft_pt//u", "-p", str(running.pid), "-o", t.path("soft.data"), "--", "sleep", "0.2"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if "soft_pt" in p.stderr and "may not be traced" not in p.stderr:
        t.skip("soft_pt", p.stderr.splitlines()[0])
    else:
        out = subprocess.run([CLEW, "script", "--itrace=b", "-i", t.path("soft.data")], capture_output=True, text=True, check=False).stdout
        t.check("in_thread" in out, "soft_pt -p: the others are traced, with their code", p.stderr + out[:200])
    # A file that was replaced is found by what is mapped.
    os.rename(program, program + ".moved")
    r = t.record([*AS_FAST_AS_IT_GETS, "-B", "-p", str(running.pid)], ["sleep", "0.2"])
    all_named(r, "-p, the program is renamed", "in_thread", "its names are those of what is mapped")
    os.rename(program + ".moved", program)

# --- it ends meanwhile ---
for stacks in [[], ["--call-graph", "dwarf"], *([["--call-graph", "sframe"]] if may_use_bpf() else [])]:
    what = stacks[-1] if stacks else "without stacks"
    r = t.record([*AS_FAST_AS_IT_GETS, *stacks], ["timeout", "-s", "KILL", "0.7", program, "200"])
    all_named(r, f"it ends while a command is recorded, {what}", "in_thread", "names before and after")
    with Running(600) as running:
        r = t.record([*AS_FAST_AS_IT_GETS, *stacks, "-p", str(running.pid)], ["sleep", "1"])
        all_named(r, f"it ends during -p, {what}", "in_thread", "names before and after")

# --- -t names a thread, whose process maps more ---
with Running(700, "load", library) as running:
    r = t.record([*AS_FAST_AS_IT_GETS, "-t", str(running.tid)], ["sleep", "1.2"])
    nr, found = names(r.path)
    if "in_library" not in found and "in_thread" in found and not found.get("?"):
        t.skip("-t: a library that is loaded meanwhile", "it came too late")
    else:
        all_named(r, "-t: a library that is loaded meanwhile", "in_library", "has its names")

# --- another thread executes a program, and becomes the first ---
with Running(700, "exec") as running:
    r = t.record([*AS_FAST_AS_IT_GETS, "-p", str(running.pid)], ["sleep", "1.2"])
    nr, found = names(r.path, lambda s: s["pid"] == running.pid)
    if "in_new_program" in found and "in_thread" in found:
        t.check(not found.get("?"), "another thread executes a program: names before and after", found)
    else:
        t.skip("another thread executes a program", f"it came too early or too late: {found}")
t.done()
