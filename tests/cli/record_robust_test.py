#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A recording that ends badly leaves a file that reads; the exit status says so."""
import os
import signal
import subprocess
import tempfile
import threading

from record_lib import CLEW, LOOP, PATIENCE, PERF, Tap, command_of, let_run, may_watch_cpus, needs_perf_events, until

t = Tap()
needs_perf_events(t)
SPIN = ["sh", "-c", "while :; do :; done"]


def start(options, command, **kw):
    return subprocess.Popen([CLEW, "record", *options, "--", *command], stderr=subprocess.PIPE, **kw)


def finish(p):
    err = p.communicate(timeout=PATIENCE)[1].decode(errors="replace")
    return p.returncode, err


def readable(path, what):
    """perf reads samples from it and has nothing to complain about."""
    if not PERF:
        t.skip(what, "no perf here")
        return
    nr, err = t.perf_samples(path)
    t.check(nr > 0 and not err, what, f"{nr} samples; {err}")


# Signals. Under nohup the commands would ignore one of them.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for number, name in [(signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP")]:
    path = t.path(f"{name}.data")
    p = start(["-o", path], SPIN)
    let_run(command_of(p), 200)
    p.send_signal(number)
    status, err = finish(p)
    t.check("samples" in err and status >= 128, f"SIG{name}: ends, reports the command's end", err)
    readable(path, f"SIG{name}: the file is whole")

# kill -9: with and without compression
def has_samples(path):
    p = subprocess.run([CLEW, "script", "-F", "tid", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return p.stdout.strip()


def has_kernel_addresses():
    with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
        return int(f.readline().split()[0], 16) or int(f.readline().split()[0], 16)


def places(path):
    return subprocess.run([CLEW, "script", "-F", "ip,sym,dso", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout


for options, name in [([], "plain"), (["-z"], "compressed"), (["-a"], "system wide")]:
    if options == ["-a"] and not may_watch_cpus(t):
        t.skip("kill -9, system wide", "closed to this user")
        continue
    path = t.path(f"kill9-{name}.data")
    p = start([*options, "-o", path], SPIN, start_new_session=True)
    child = command_of(p)
    until(lambda: let_run(child, 500) and has_samples(path))
    p.kill()
    p.wait()
    os.killpg(p.pid, signal.SIGKILL)
    p.stderr.close()
    readable(path, f"kill -9, {name}: readable up to the last flush")
    if options == ["-a"] and has_kernel_addresses():
        kernel = [line for line in places(path).splitlines() if b"([kernel.kallsyms])" in line]
        t.check(kernel and not all(b"[unknown]" in line for line in kernel), f"kill -9, {name}: the kernel's functions have names", kernel[:3])

# A command that kills itself, fails, is not there
r = t.record([], ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill -9 $$"])
t.check(r.status == 137 and r.samples > 0, "a killed command: 128 + 9, and its samples", r.err)
readable(r.path, "a killed command: the file is whole")
r = t.record([], [*LOOP[:2], LOOP[2] + "; exit 7"])
t.check(r.status == 7 and r.samples > 0, "a failing command's own status", r.err)
r = t.record([], ["/nonexistent/program"], name="never.data")
t.check(r.status == 127 and "cannot run" in r.err and "No such file" in r.err,
        "a missing command: 127 and why", r.err)
t.check(not os.path.exists(r.path), "a missing command leaves no file")
r = t.record([], ["/etc/passwd"], name="never.data")
t.check(r.status == 126 and "Permission denied" in r.err, "not executable: 126 and why", r.err)
r = t.record(["-e", "alignment-faults"], ["true"])
t.check(r.status == 1 and "nothing was recorded" in r.err, "no sample: status 1 and why", r.err)
r = t.record(["-n"], ["true"])
t.check(r.status == 0, "-n: no samples were wanted", r.err)

# A full disk
if os.geteuid() == 0:
    with tempfile.TemporaryDirectory(prefix="clew-full-") as full:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", full],
                          check=False, capture_output=True).returncode:
            t.skip("full disk", "no tmpfs to be mounted here")
        else:
            try:
                for options, name in [([], "plain"), (["-z"], "compressed"), (["-e", "cpu-clock,sched:sched_switch"], "tracepoints")]:
                    path = os.path.join(full, "perf.data")
                    subprocess.run(["rm", "-f", path, path + ".old"], check=False)
                    p = start(["-F", "20000", "--call-graph", "dwarf,4096", "--store-stacks", *options, "-o", path],
                              ["sh", "-c", "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done"])
                    status, err = finish(p)
                    if name != "compressed":
                        t.check(status == 1 and "No space left" in err,
                                f"full disk, {name}: said, status 1", f"{status} {err}")
                    readable(path, f"full disk, {name}: whole up to there")
                for options, name in [([], "user stacks"), (["-F", "4000", "--switch-output=40K"], "user stacks, several files")]:
                    subprocess.run(["find", full, "-type", "f", "-delete"], check=False)
                    p = start(["-F", "20000", "--call-graph", "dwarf,4096", *options, "-o", os.path.join(full, "perf.data")],
                              ["sh", "-c", "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done"])
                    status, err = finish(p)
                    left = len(os.listdir(full))  # the last one, and those that were whole
                    t.check(status == 1 and "No space left" in err and err.count("user stacks remain separate") == 1 + (left > 1),
                            f"full disk, {name}: says that the stacks stay where they are", f"{left} files, status {status} {err}")
            finally:
                subprocess.run(["umount", full], check=False)
else:
    t.skip("full disk", "needs root to mount a small tmpfs")
p = start(["-o", "/dev/full"], LOOP)
status, err = finish(p)
t.check(status == 1 and "No space left" in err, "/dev/full: said, status 1", err)

# A reader of the pipe that goes away
p = subprocess.Popen(f"'{CLEW}' record -o - -- sh -c 'while :; do :; done' | head -c 3000 >/dev/null",
                     shell=True, stderr=subprocess.PIPE)
status, err = finish(p)
t.check("Broken pipe" in err, "a pipe without a reader: ends and says so", err)

# A fifo as output: not renamed, written as a pipe
fifo = t.path("fifo")
os.mkfifo(fifo)
reader = subprocess.Popen(["cat", fifo], stdout=open(t.path("from-fifo.data"), "wb"))
p = start(["-o", fifo], LOOP)
status, err = finish(p)
reader.wait(timeout=PATIENCE)
t.check(status == 0 and os.path.exists(fifo), "a fifo as output", err)
readable(t.path("from-fifo.data"), "a fifo as output: what came through reads")

# 500 threads a second
if os.path.exists("/usr/bin/python3"):
    storm = ("import threading,time\n"
             "for _ in range(50):\n"
             " s=[threading.Thread(target=int) for _ in range(50)]\n"
             " [x.start() for x in s]; [x.join() for x in s]; time.sleep(.08)\n")
    r = t.record_all(["--call-graph", "fp", "--switch-events"], ["python3", "-c", storm])
    t.check(r.status == 0 and r.samples > 0 and r.lost == 0, "a storm of threads: nothing lost", r.err)
    readable(r.path, "a storm of threads: the file is whole")

# Without sysfs all CPUs are recorded, not the first alone.
cpus = sorted(os.sched_getaffinity(0))
bare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec taskset -c "$@"', "sh", str(cpus[-1])]
if len(cpus) < 2 or subprocess.run([*bare, "true"], capture_output=True, check=False).returncode:
    t.skip("without sysfs", "one CPU, or no mount namespace to be made here")
else:
    path = t.path("bare.data")
    p = subprocess.run([*bare, CLEW, "record", "-o", path, "--", *LOOP], capture_output=True, text=True, check=False)
    t.check(p.returncode == 0 and "samples" in p.stderr, "without sysfs: the last CPU is recorded", p.stderr)

# Attached tasks that end meanwhile, one after the other
kids = [subprocess.Popen(["sh", "-c", f"read x; i=0; while [ $i -lt {n} ]; do i=$((i+1)); done"], stdin=subprocess.PIPE)
        for n in (200000, 600000)]
reaper = threading.Thread(target=lambda: [k.wait() for k in kids])
commands, acks = os.pipe(), os.pipe()
path = t.path("attached.data")
p = subprocess.Popen([CLEW, "record", "-o", path, "--control", f"fd:{commands[0]},{acks[1]}", "-p", ",".join(str(k.pid) for k in kids)],
                     stderr=subprocess.PIPE, pass_fds=[commands[0], acks[1]])
os.close(acks[1])
os.write(commands[1], b"ping\n")
os.read(acks[0], 4)  # attached
for k in kids:
    k.stdin.close()
reaper.start()
status, err = finish(p)
reaper.join()
t.check(status == 0 and "samples" in err, "-p: ends with the last of its processes", err)
readable(path, "-p: the file is whole")

t.done()
