# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records user stacks live, reads them with `clew script --json` and checks the outcomes. Beside record_lib.py.

CLEW_TEST_STACKS=N: N times the length (1: some seconds each). CLEW_TEST_KEEP=DIR: recordings are kept there."""
import collections
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
from elf_lib import entry  # noqa: E402
from record_lib import CLEW, Tap  # noqa: E402

LIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live")
LENGTH = float(os.environ.get("CLEW_TEST_STACKS", "1"))
IS_FULL = "CLEW_TEST_STACKS" in os.environ
HZ = 4999
CC = os.environ.get("CC", "cc").split()
CXX = os.environ.get("CXX", "c++").split()

Recording = collections.namedtuple("Recording", "path status err seconds peak_mib")


class StackTap(Tap):
    def __init__(self):
        super().__init__()
        keep = os.environ.get("CLEW_TEST_KEEP")
        if keep:
            shutil.rmtree(self.dir)
            os.makedirs(keep, exist_ok=True)
            self.dir = keep

    def note(self, text):
        print(f"# {text}", flush=True)

    def done(self):
        if os.environ.get("CLEW_TEST_KEEP"):
            print(f"1..{self.count}")
            sys.exit(self.failed != 0)
        super().done()

    def compile(self, name, sources, flags, compiler=None):
        """@compiler: the command, if not this machine's. @return the program, or None where there is no compiler."""
        is_cxx = any(s.endswith(".cc") for s in sources)
        out = self.path(name)
        try:
            p = subprocess.run([*(compiler or (CXX if is_cxx else CC)), "-w", *flags, *sources, "-o", out, "-lpthread", "-ldl"],
                               capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return None
        if p.returncode:
            self.note(p.stderr[-500:])
            return None
        return out

    def record_stacks(self, name, backend, command, more=(), timeout=600, stdin=None, env=None):
        """clew record --call-graph BACKEND -- COMMAND, with the recorder's own peak of memory."""
        path = self.path(name + ".data")
        argv = [CLEW, "record", *([] if "-c" in more else ["-F", str(HZ)]), "--call-graph", backend, *more, "-o", path, "--", *command]
        start = time.monotonic()
        with open(self.path(name + ".err"), "w+b") as err, open(self.path(name + ".out"), "wb") as out:
            child = subprocess.Popen(argv, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.dir,
                                     env={**os.environ, **(env or {})})
            peak = 0
            while True:
                try:
                    child.wait(timeout=0.02)
                    break
                except subprocess.TimeoutExpired:
                    peak = max(peak, peak_mib(child.pid))
                    if time.monotonic() - start > timeout:
                        child.kill()
                        child.wait()
                        break
            err.seek(0)
            text = err.read().decode(errors="replace")
        return Recording(path, child.returncode, text, time.monotonic() - start, peak)


def peak_mib(pid):
    """Of its memory until now; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as f:
            return next((int(line.split()[1]) / 1024 for line in f if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def samples(path, max_stack=2048, more=()):
    """The samples of a recording, as `clew script --json` prints them."""
    p = subprocess.Popen([CLEW, "script", "--json", "--max-stack", str(max_stack), *more, "-i", path], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    for line in p.stdout:
        s = json.loads(line)
        if s["type"] == "sample":
            yield s
    p.wait()


def user_part(s):
    return [f for f in s.get("callchain", []) if f.get("kind") == "user"]


def why_missing(s):
    """What the sample says of the end of its user part, or of there being none. "": nothing, so it is to be whole."""
    stack = s.get("user_stack", {})
    if stack.get("stop", "outermost") != "outermost":
        return stack["stop"]
    return stack.get("reason") or s.get("callchain_why", "")


# A stack may end early because the recorder was not ready, or another thread was in its way, and then says so.
IN_TIME = {"no-table-yet", "mappings-busy"}


def is_settled(s):
    return why_missing(s) not in IN_TIME


def without_table_again(recorded):
    """Stacks that end for want of a table by which a stack of the same thread was walked before: a table comes once, and stays."""
    had, found = set(), []
    for s in sorted(recorded, key=lambda s: s["time"]):
        user, program = user_part(s), (s["tid"], s["comm"])
        if user and why_missing(s) == "no-table-yet" and (program, user[-1].get("dso")) in had:
            found.append(s)
        had.update((program, frame.get("dso")) for frame, caller in zip(user, user[1:]) if caller.get("how") == "table")
    return found


def is_by_nature(s):
    """Kernel-only because there is no user part to be had."""
    return s["pid"] == 0 or s.get("user_stack", {}).get("state") == "none-expected"


class Entries:
    """Where threads begin: the entry points of binaries, and clone()."""

    def __init__(self):
        self.of = {}

    def entry(self, path):
        if path not in self.of:
            self.of[path] = self.read(path)
        return self.of[path]

    @staticmethod
    def read(path):
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError:
            return None
        return entry(data) if data[:5] == b"\x7fELF\x02" else None

    def is_outermost(self, frame):
        entry = self.entry(frame.get("dso", ""))
        if entry is not None and "dsoff" in frame and 0 <= int(frame["dsoff"], 16) - entry < 64:
            return True
        return "clone" in frame.get("sym", "") or frame.get("sym") in ("_start", "_dl_start_user", "thread_start")


class Share:
    """How many user stacks reach the thread's outermost frame, and what the others say."""

    def __init__(self):
        self.nr = self.whole = self.kernel_only = self.unmarked = 0
        self.unmarked_samples = []
        self.reasons = collections.Counter()
        self.ends = collections.Counter()
        self.entries = Entries()

    def take(self, s):
        user = user_part(s)
        why = why_missing(s)
        if not user and is_by_nature(s):
            self.kernel_only += 1
            return
        self.nr += 1
        if user and self.entries.is_outermost(user[-1]):
            self.whole += 1
            return
        # Inside of execve() the stack is the one at the return from there: at ld.so's entry, which is not mapped yet.
        why = why or (user[-1].get("why", "") if user else "")
        self.reasons[why or ("no user part, no reason" if not user else "no reason")] += 1
        if not why:
            self.unmarked += 1
            self.unmarked_samples = [*self.unmarked_samples, json.dumps(s)][:3]
        if user:
            last = user[-1]
            self.ends[f"{last.get('sym', '?')} {os.path.basename(last.get('dso', '?'))}+{last.get('dsoff', '?')}"] += 1

    def percent(self):
        """Of the stacks for which the recorder had the tables: how soon it has them depends on how busy the machine is."""
        ready = self.nr - self.reasons["no-table-yet"]
        return 100 * self.whole / ready if ready else 0

    def text(self):
        more = "".join(f"; {n} {why}" for why, n in self.reasons.most_common(5))
        ends = "".join(f"; {n} end in {end}" for end, n in self.ends.most_common(3))
        return f"{self.percent():.2f} % of {self.nr}, {self.kernel_only} kernel-only{more}{ends}"


def share_of(path):
    share = Share()
    for s in samples(path):
        share.take(s)
    return share


def may_use_bpf():
    return os.geteuid() == 0 and os.path.exists("/sys/kernel/btf/vmlinux")
