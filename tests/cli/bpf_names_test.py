#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: bpf_names_test.py CLEW: BPF programs that were loaded before a recording began are described by it, whatever is recorded, in each of its
files, as perf describes them; so clew's own unwinder has its name in clew's own recording."""
import glob
import json
import os
import re
import shutil
import subprocess

from record_lib import CLEW, PATIENCE, PERF, Tap, let_run, may_watch_cpus, needs_perf_events
from stack_lib import may_use_bpf

t = Tap()
needs_perf_events(t)
if not may_use_bpf():
    t.skip_all("no BPF programs can be loaded here")

RECORD = re.compile(r"PERF_RECORD_(?:KSYMBOL .* type 1 .*|BPF_EVENT .*)")


def described(path, reader=CLEW, ids=None):
    """What a file says of the BPF programs @ids (None: of all) that were loaded before it began. Others may load some meanwhile."""
    p = subprocess.run([reader, "script", "--show-bpf-events", "-i", path], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    lines = p.stdout.decode(errors="replace").splitlines()
    programs, parts = [], []
    for line in (RECORD.search(line).group() for line in lines if RECORD.search(line) and re.search(r" 0\.000000: ", line)):
        parts.append(line)
        m = re.search(r"BPF_EVENT type 1, flags 0, id (\d+)", line)
        if m:
            programs += parts if ids is None or int(m.group(1)) in ids else []
            parts = []
    return programs


def programs_of(pid):
    """Ids of the BPF programs that a process holds."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path, encoding="ascii") as f:
                found.update(int(line.split()[1]) for line in f if line.startswith("prog_id:"))
        except OSError:
            pass
    return found


# Its programs are there as long as it runs.
beside = subprocess.Popen([CLEW, "record", "-q", "--call-graph", "sframe", "-o", t.path("beside.data"), "--", "sh", "-c", "echo on; read line"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)
t.check(beside.stdout.readline() == b"on\n", "a recorder that has loaded BPF programs runs")
spin = subprocess.Popen(["sh", "-c", "while :; do :; done"])
t.check(let_run(spin.pid, 20), "a process to record runs")
held = programs_of(beside.pid)
t.check(held, "and holds them", held)
short = ["true"]
ways = [("a command", [], short), ("-p", ["-p", str(spin.pid)], ["sleep", "0.3"]), ("-t", ["-t", str(spin.pid)], ["sleep", "0.3"]),
        ("-u", ["-u", str(os.getuid())], ["sleep", "0.3"]), ("-z", ["-z"], short), ("--overwrite", ["--overwrite"], short),
        ("--tail-synthesize", ["--tail-synthesize"], short)]
if may_watch_cpus(t):
    ways.append(("-a", ["-a"], ["sleep", "0.2"]))
seen = {}
for name, options, command in ways:
    r = t.record(["-F", "1999", *options], command)
    seen[name] = described(r.path, ids=held)
    names = [line for line in seen[name] if "_on_sample" in line]
    t.check(names and "BPF_EVENT" in "".join(seen[name]), f"{name}: a program that another has loaded, and its load", seen[name][:4] or r.err)
    t.check(any("_walk_step_now" in line for line in seen[name]), f"{name}: a function of such a program", seen[name])
    if PERF:
        t.check(described(r.path, PERF, held) == seen[name], f"{name}: perf reads the same", described(r.path, PERF, held)[:4])
r = t.record(["-F", "1999"], short, pipe=True)
t.check(described(r.path, ids=held) == seen["a command"], "through a pipe: the same", described(r.path)[:4])
if PERF:
    path = t.path("perf.data.perf")
    subprocess.run([PERF, "record", "-q", "-F", "1999", "-o", path, "--", *short], capture_output=True, check=False)
    theirs = described(path, PERF, held)
    if theirs:
        t.check(theirs == seen["a command"], "perf record writes the same of them", "\n".join(set(theirs) ^ set(seen["a command"])))
    else:
        t.skip("perf record writes the same of them", "this perf writes none")
else:
    t.skip("perf record writes the same of them", "no perf here")

# Each file by itself.
base = t.path("several.data")
subprocess.run([CLEW, "record", "-q", "-F", "1999", "--switch-output=1s", "-p", str(spin.pid), "-o", base, "--", "sleep", "2.5"],
               stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
files = sorted(glob.glob(base + ".*"))
t.check(len(files) > 1 and all(described(f, ids=held) == seen["-p"] for f in files), f"all {len(files)} files of --switch-output",
        [len(described(f)) for f in files])
t.check(not described(t.record(["--no-bpf-event"], short).path), "none with --no-bpf-event")
beside.communicate(b"\n", timeout=PATIENCE)
t.check(beside.returncode == 0, "the other recorder ended well", beside.returncode)
spin.kill()
spin.wait()

# Its own, which are loaded before it records.
r = t.record(["-F", "9999", "--call-graph", "sframe", "-e", "cpu-clock"], ["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])
names = described(r.path)
t.check(any("_on_sample" in n for n in names), "clew's own programs in its own recording", names[:4] or r.err)
p = subprocess.run([CLEW, "script", "--json", "-i", r.path], capture_output=True, check=False)
ksyms = [(int(m.group(1), 16), int(m.group(2))) for m in (re.search(r"addr (\w+) len (\d+)", n) for n in names) if m]
inside = named = 0
for line in p.stdout.splitlines():
    s = json.loads(line)
    for f in s.get("callchain", []) if s["type"] == "sample" else []:
        ip = int(f.get("ip", "0x0"), 16)
        if any(start <= ip < start + size for start, size in ksyms):
            inside += 1
            named += f.get("sym", "").startswith("bpf_prog_")
t.check(inside == named, f"all {inside} frames in its own programs have their name", f"{named}")

# With no right to look at others' programs, its own have their names all the same.
CAPS = "cap_perfmon,cap_bpf,cap_syslog,cap_sys_ptrace,cap_ipc_lock"
copy = t.path("clew")
shutil.copy(CLEW, copy)
os.chmod(t.dir, 0o777)
if os.getuid() or not shutil.which("setcap") or not shutil.which("setpriv") or subprocess.run(["setcap", CAPS + "+ep", copy], check=False).returncode:
    t.skip("without CAP_SYS_ADMIN", "no other user or capabilities here")
else:
    path = t.path("own.data")
    p = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", copy, "record", "-q", "--call-graph", "sframe", "-F", "1999",
                        "-o", path, "--", *short], capture_output=True, check=False)
    names = described(path)
    if p.returncode and not os.path.exists(path):
        t.skip("without CAP_SYS_ADMIN", p.stderr.decode(errors="replace"))
    else:
        t.check(any("_on_sample" in n for n in names) and any("_walk_step_now" in n for n in names), "without CAP_SYS_ADMIN: its own", names[:4])
t.done()
