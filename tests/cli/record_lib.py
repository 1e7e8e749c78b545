# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs `clew record` live and asks perf, where there is one, what it wrote. argv[1]: the clew."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

CLEW = os.path.abspath(sys.argv[1])
CLEW_FILE = os.path.realpath(CLEW)
PERF = shutil.which("perf")
LOOP = ["sh", "-c", "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls /proc >/dev/null"]

# Others may keep the CPUs for so long that a ring overflows: recorded again, with longer ones.
RINGS = ([], [], ["-m", "8M"], ["-m", "32M"], ["-m", "128M"])
PATIENCE = 240  # seconds, for what happens at once on a quiet machine
# Ends when a task has used so much of a CPU: argv: its number, ms.
RAN = ("import os, sys, time\n"
       "def ms():\n"
       "    f = open(f'/proc/{sys.argv[1]}/stat').read().rpartition(')')[2].split()\n"
       "    return (int(f[11]) + int(f[12])) * 1000 / os.sysconf('SC_CLK_TCK')\n"
       "end = ms() + int(sys.argv[2])\n"
       "while ms() < end: time.sleep(.01)\n")


def while_runs(pid, ms):
    """A command that lasts until the task @pid has run for @ms more, however long it has to wait for a CPU."""
    return [sys.executable, "-c", RAN, str(pid), str(ms)]


def let_run(pid, ms):
    return subprocess.run(while_runs(pid, ms), timeout=PATIENCE, check=False, stderr=subprocess.DEVNULL).returncode == 0


def until(condition):
    """@return whether it came true."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def command_of(recorder):
    """The task that a recorder has started, once it is the program it was to be."""
    def children():
        try:
            with open(f"/proc/{recorder.pid}/task/{recorder.pid}/children", encoding="ascii") as f:
                return [int(c) for c in f.read().split()]
        except OSError:
            return []

    def is_running():
        try:
            return any(os.readlink(f"/proc/{c}/exe") != CLEW_FILE for c in children())
        except OSError:
            return False

    return children()[0] if until(lambda: is_running() or recorder.poll() is not None) and children() else 0


def has_lost(said):
    """Did a recorder report records that found no room?"""
    return re.search(r"samples, \d+ lost", said) is not None


class Result:
    def __init__(self, status, err, path):
        self.status, self.err, self.path = status, err, path
        m = re.search(r"\((\d+) samples(?:, (\d+) lost)?", err)
        self.samples = int(m.group(1)) if m else 0
        self.lost = int(m.group(2) or 0) if m else 0


class Tap:
    def __init__(self):
        self.count = self.failed = 0
        self.dir = tempfile.mkdtemp(prefix="clew-record-")

    def check(self, ok, what, detail=""):
        self.count += 1
        self.failed += not ok
        print(f"{'ok' if ok else 'not ok'} {self.count} - {what}", flush=True)
        if not ok and detail:
            print("\n".join("# " + line for line in str(detail).splitlines()[-12:]), flush=True)
        return ok

    def skip(self, what, why):
        self.count += 1
        print(f"ok {self.count} - {what} # SKIP {why}", flush=True)

    def skip_all(self, why):
        print(f"1..0 # SKIP {why}")
        shutil.rmtree(self.dir, ignore_errors=True)
        sys.exit(0)

    def done(self):
        print(f"1..{self.count}")
        shutil.rmtree(self.dir, ignore_errors=True)
        sys.exit(self.failed != 0)

    def path(self, name="perf.data"):
        return os.path.join(self.dir, name)

    def record(self, options, command=None, pipe=False, name="perf.data", timeout=PATIENCE):
        path = self.path(name)
        args = [CLEW, "record", *options, "-o", "-" if pipe else path]
        with open(path if pipe else os.devnull, "wb") as out:
            p = subprocess.run(args + (["--", *command] if command else []), stdout=out,
                               stderr=subprocess.PIPE, timeout=timeout, check=False)
        return Result(p.returncode, p.stderr.decode(errors="replace"), path)

    def record_all(self, options, *args, **more):
        """Until nothing is lost."""
        for rings in RINGS:
            r = self.record([*rings, *options], *args, **more)
            if r.status or not r.lost:
                break
        return r

    def perf(self, *args):
        p = subprocess.run([PERF, *args], stdin=subprocess.DEVNULL, capture_output=True,
                           check=False)
        return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")

    def perf_samples(self, path):
        """Samples that perf script prints, and its complaints."""
        status, out, err = self.perf("script", "-i", path, "-F", "tid,time,event")
        lines = [line for line in out.splitlines() if re.match(r"\s*-?\d+\s+\d+\.\d+: ", line)]
        return len(lines), err if status or err.strip() else ""

    def perf_agrees(self, r, name):
        if not PERF:
            self.skip(f"{name}: perf reads it", "no perf here")
            return
        nr, err = self.perf_samples(r.path)
        self.check(not err, f"{name}: perf script is content", err)
        self.check(nr == r.samples, f"{name}: perf script's count", f"{nr}, not {r.samples}")
        status, _, err = self.perf("report", "--stdio", "-i", r.path)
        self.check(status == 0 and not err.strip(), f"{name}: perf report is content", err)


def needs_perf_events(t):
    """Nothing to test where the kernel gives no events at all."""
    r = t.record(["-e", "task-clock:u"], ["true"])
    if "captured" not in r.err:
        t.skip_all("no events to be had here: " + " ".join(r.err.split()))


def may_watch_cpus(t):
    """Whole CPUs are closed to most users, and so are the kernel's tracepoints."""
    return "captured" in t.record(["-a", "-e", "task-clock"], ["true"]).err
