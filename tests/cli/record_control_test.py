#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Targets and times: targets, control commands, several files, filters, probes."""
import glob
import json
import os
import re
import select
import signal
import subprocess
import time

from record_lib import (CLEW, LOOP, PATIENCE, PERF, Tap, command_of, let_run, may_watch_cpus, needs_perf_events, until,
                        while_runs)

t = Tap()
needs_perf_events(t)
SPIN = ["sh", "-c", "while :; do :; done"]


def spin():
    return subprocess.Popen(SPIN)


def lines(path, fields):
    return t.perf("script", "-i", path, "-F", fields)[1].split() if PERF else []


def summary(p):
    return p.communicate(timeout=PATIENCE)[1].decode()


# Targets
k = spin()
for option, name in [("-p", "process"), ("-t", "thread")]:
    r = t.record([option, str(k.pid), "--call-graph", "fp"], while_runs(k.pid, 300))
    t.check(r.status == 0 and r.samples > 100, f"attach to a {name}, for as long as a command", r.err)
    t.check(set(lines(r.path, "pid")) <= {str(k.pid)}, f"attach to a {name}: no other task")
    if PERF:
        comm = t.perf("script", "-i", r.path, "-F", "comm")[1].split()
        t.check(set(comm) == {"sh"}, f"attach to a {name}: known by name", set(comm))
        syms = t.perf("script", "-i", r.path, "-F", "ip,dso")[1]
        t.check("dash" in syms or "bash" in syms or "/sh" in syms,
                f"attach to a {name}: its maps are known", syms[:300])
r = t.record(["-u", str(os.getuid())], while_runs(k.pid, 100))
t.check(r.status == 0 and r.samples > 0, "processes of a user", r.err)
if may_watch_cpus(t):
    r = t.record(["-C", "0"], ["sleep", "0.3"])
    t.check(r.status == 0 and set(lines(r.path, "cpu")) <= {"[000]"}, "one CPU", r.err)
else:
    t.skip("one CPU", "closed to this user")
for options, words in [(["-p", "999999999"], "no process 999999999"),
                       (["-p", "12x"], "not a list of process ids"),
                       (["-C", "4000"], "not online"), (["-u", "nobody-here"], "no user"),
                       (["-e", "cycels"], "cycels"), (["-F", "0"], "-F 0"),
                       (["-F", "9", "-c", "9"], "exclude each other"), (["-m", "3"], "power of two"),
                       (["--call-graph", "magic"], "--call-graph magic"),
                       (["-j", "u,sideways"], "sideways"), (["-k", "sundial"], "sundial"),
                       (["--user-regs=ZZ"], "ZZ"), (["--control", "nowhere"], "--control"),
                       (["--switch-output=7"], "--switch-output=7"), (["-z99"], "-z 99"),
                       (["-D", "10-20"], "not supported"), (["--kcore"], "not supported"),
                       (["--max-events", "4"], "not supported"), (["-S"], "hardware trace"), (["-Sx"], "expected e"),
                       (["--snapshots", "2"], "hardware trace"), (["--trace-between", "a,b"], "no -e names one"),
                       (["--aux-sample"], "after a hardware trace"), (["--aux-sample=1M"], "from 8 to 61440"),
                       (["--trigger", "nowhere"], "--trigger"), (["-e", "cs/aux-action=pause/"], "before it"),
                       (["--switch-max-files", "2"], "needs --switch-output"),
                       (["-G", "x"], "-G needs -a"), (["--exclude-perf"], "tracepoints")]:
    r = t.record(options, ["true"])
    t.check(r.status in (1, 2) and words in r.err, f"{' '.join(options)}: refused with a sentence",
            f"{r.status} {r.err}")
k.kill()
k.wait()

# Control. Times are compared with those of the commands and of their answers, so both are of one clock.
fifo, ack = t.path("ctl"), t.path("ack")
os.mkfifo(fifo)
os.mkfifo(ack)
path = t.path("control.data")
p = subprocess.Popen([CLEW, "record", "-D", "-1", "-k", "monotonic", "--control", f"fifo:{fifo},{ack}", "-o", path, "--",
                      *SPIN], stderr=subprocess.PIPE)
acks = os.open(ack, os.O_RDWR | os.O_NONBLOCK)
ctl = os.open(fifo, os.O_RDWR)


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def command(text):
    """@return the answer; when the command was given; when the answer was there."""
    start, got = now(), b""
    os.write(ctl, text.encode() + b"\n")
    while not got.endswith(b"ack\n") and select.select([acks], [], [], PATIENCE)[0]:
        got += os.read(acks, 4096)
    return got.decode(), start, now()


def sample_times(path):
    p = subprocess.run([CLEW, "script", "--json", "-i", path], capture_output=True, check=False)
    return [s["time"] for s in map(json.loads, p.stdout.splitlines()) if s["type"] == "sample"]


t.check(command("ping")[0] == "ack\n", "control: ping is answered")
t.check(re.search("cpu-clock|cycles", command("evlist")[0]), "control: evlist")
child = command_of(p)
let_run(child, 200)
answer, enabled, is_enabled = command("enable")
t.check(answer == "ack\n", "control: enable")
let_run(child, 300)
answer, disabled, is_disabled = command("disable")
t.check(answer == "ack\n", "control: disable")
let_run(child, 200)
t.check(command("disable nothing-of-that-name")[0] == "ack\n", "control: an unknown event")
os.write(ctl, b"dance\n")
t.check(command("ping")[0] == "ack\n" and not select.select([acks], [], [], 0)[0],
        "control: an unknown command is not acknowledged")
command("stop")
err = summary(p)
times = sample_times(path)
t.check(times and enabled < min(times) and max(times) < is_disabled, "control: samples of the enabled time only",
        f"{times[:1]} to {times[-1:]}, enabled {enabled} to {is_disabled}: {err}")
t.check(sum(is_enabled < at < disabled for at in times) > 100, "control: samples all the time between",
        f"{len(times)} samples: {err}")
os.close(ctl)
os.close(acks)

r_fd, w_fd = os.pipe()
p = subprocess.Popen([CLEW, "record", "--control", f"fd:{r_fd}", "-o", path, "--", *SPIN],
                     stderr=subprocess.PIPE, pass_fds=[r_fd])
command_of(p)
os.write(w_fd, b"stop\n")
t.check("samples" in summary(p), "control by descriptor: stop")

# Several files
def take_files(out, options):
    """Two files by signal, the third at the end. @return what the recorder said, the files."""
    p = subprocess.Popen([CLEW, "record", "--switch-output", "--call-graph", "fp", *options, "-o", out, "--", *SPIN],
                         stderr=subprocess.PIPE)
    child = command_of(p)
    for i in range(2):
        let_run(child, 300)
        p.send_signal(signal.SIGUSR2)
        until(lambda: len(glob.glob(out + ".2*")) > i)
    let_run(child, 300)
    p.send_signal(signal.SIGINT)
    return summary(p), sorted(glob.glob(out + ".2*"))


err, files = take_files(t.path("many.data"), [])
t.check(len(files) == 3, "switch-output by signal: three files", err)
total = int(re.search(r"\((\d+) samples", err).group(1))
if PERF:
    counts = [t.perf_samples(f) for f in files]
    t.check(all(n > 0 and not e for n, e in counts), "each of them reads", counts)
    t.check(sum(n for n, _ in counts) == total, "no sample twice or missing", (counts, total))
    for f in files:
        comm = set(t.perf("script", "-i", f, "-F", "comm")[1].split())
        t.check(comm <= {"sh", "clew-exec"}, "each knows its tasks", comm)

out = t.path("size.data")
r = t.record(["--switch-output=64K", "--switch-max-files", "2", "-F", "20000", "--call-graph", "fp"],
             ["sh", "-c", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done"], name="size.data")
files = glob.glob(out + ".2*")
t.check(r.status == 0 and len(files) == 2, "switch-output by size keeps the last two", (r.err, files))
r = t.record(["--switch-output=1s"], ["sh", "-c", f"until ls {t.path('time.data')}.2* 2>/dev/null; do sleep 0.1; done; {LOOP[2]}"],
             name="time.data")
t.check(len(glob.glob(t.path("time.data.2*"))) >= 2, "switch-output by time", r.err)
r = t.record(["--max-size", "100K", "-F", "20000", "--call-graph", "fp"], SPIN)
t.check("--max-size" in r.err and os.path.getsize(r.path) < 3_000_000, "max-size ends it", r.err)
err, files = take_files(t.path("over.data"), ["--overwrite", "-m", "64K", "-F", "20000"])
if PERF:
    counts = [t.perf_samples(f) for f in files]
    t.check(len(files) == 3 and all(n > 0 and (not e or "Processed" in e and "lost" in e) for n, e in counts), "overwrite: snapshots",
            (counts, err))

# Tracepoints, filters, probes, breakpoints
if os.geteuid() == 0 and os.path.isdir("/sys/kernel/tracing/events/sched"):
    r = t.record(["-e", "sched:sched_process_exec", "-e", "sched:sched_switch", "--filter",
                  'prev_comm ~ "sl*p"', "-a"], ["sh", "-c", "sleep 0.1; true"])
    t.check(r.status == 0 and r.samples > 0, "tracepoints with a filter", r.err)
    if PERF:
        text = t.perf("script", "-i", r.path)[1]
        comms = set(re.findall(r"prev_comm=(\S+)", text))
        t.check(comms == {"sleep"}, "the filter holds", comms)
        t.check("filename=" in text, "fields are laid out", text[:200])
    r = t.record(["-e", "sched:sched_switch", "--exclude-perf", "-a"], ["sleep", "0.2"])
    t.check(r.status == 0, "exclude-perf", r.err)
    r = t.record(["-e", "sched:sched_switch", "--filter", "no_such_field > 1", "-a"], ["true"])
    t.check(r.status != 0 and "no_such_field" in r.err, "a filter on no field: refused", r.err)
else:
    t.skip("tracepoints", "needs root and tracefs")

source, program = t.path("probe.c"), t.path("probe")
with open(source, "w", encoding="ascii") as f:
    f.write("#include <stdio.h>\nvolatile int watched;\n"
            "__attribute__((noinline)) int probed(int n) { watched = n; return n + 1; }\n"
            "int main(int c, char **v) { (void)v; int s = 0; for (int i = 0; i < 50; i++) s += probed(i);\n"
            "if (c > 1) printf(\"%p\\n\", (void *)&watched); return s == 0; }\n")
if subprocess.run(["cc", "-O1", "-no-pie", "-o", program, source], check=False).returncode:
    t.skip("probes", "no compiler")
else:
    if os.geteuid() == 0:
        r = t.record(["-e", f"uprobe:{program}:probed"], [program])
        t.check(r.status == 0 and r.samples == 50, "a uprobe hits each call", r.err)
        t.perf_agrees(r, "uprobe")
    else:
        t.skip("uprobe", "needs root")
    address = subprocess.run([program, "x"], capture_output=True, check=False).stdout.decode().strip()
    r = t.record(["-e", f"mem:{address}:w:u"], [program])
    t.check(r.status == 0 and r.samples == 50, "a breakpoint hits each write", r.err)
    t.perf_agrees(r, "breakpoint")

t.done()
