#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""pid_namespaces_test.py CLEW: recordings made inside real PID namespaces, against one of the same time made outside. Outside, ids are root ids and every
switch is recorded: it is known which task ran when on each CPU. Samples of both share perf's clock."""
import bisect
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

CLEW = os.path.abspath(sys.argv[1])
INITIAL = "pid:[4026531836]"
WORK = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"
NOT_A_TASK = {"[idle]", "[outside]", "[idle-or-outside]"}
tmp = tempfile.TemporaryDirectory(prefix="clew-pid-ns-")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def needs():
    if os.geteuid():
        tap.skip_all("needs root to make PID namespaces and to record all CPUs")
    if os.readlink("/proc/self/ns/pid") != INITIAL:
        tap.skip_all("runs in a PID namespace itself: root ids cannot be had")
    if run("unshare", "--fork", "--pid", "--mount-proc", "true").returncode:
        tap.skip_all("no PID namespaces to be made here")
    p = run(CLEW, "record", "-a", "-e", "cpu-clock", "-e", "sched:sched_switch", "--switch-events", "-o", tmp.name + "/try", "sleep", "0.01")
    if p.returncode:
        tap.skip_all("cannot record all CPUs and sched_switch: " + p.stderr.strip().splitlines()[-1])


def script(path, *args):
    p = run(CLEW, "script", "--json", "-i", path, *args)
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]


def header(path):
    return json.loads(run(CLEW, "header", "--json", "-i", path).stdout)["recorder"]


def header_text(path):
    return run(CLEW, "header", "-i", path).stdout


class Truth:
    """Stays of tasks on CPUs, by a recording from outside: (from, to, root id, name)."""

    def __init__(self, path):
        self.stays = collections.defaultdict(list)
        open_stay = {}
        for e in script(path, "--show-switch-events", "--show-lost-events"):
            cpu = e.get("cpu")
            if e["type"] == "LOST":
                open_stay.pop(cpu, None)
            if e["type"] != "SWITCH_CPU_WIDE":
                continue
            began = open_stay.pop(cpu, None)
            if " IN " in e["text"]:
                open_stay[cpu] = (e["time"], e.get("tid"), e.get("comm"))
            elif began and e.get("tid") in (began[1], None):  # None: it was the last stay of a thread
                self.stays[cpu].append((began[0], e["time"], *began[1:]))
        for stays in self.stays.values():
            stays.sort()

    def at(self, cpu, time):
        """None: unknown, or in a switch."""
        stays = self.stays[cpu]
        i = bisect.bisect(stays, (time,)) - 1
        return stays[i][2:] if i >= 0 and stays[i][0] < time < stays[i][1] else None


def record(name, unshare, inner):
    """@p inner: a shell's words; $CLEW records into $IN. Beside it a task outside keeps running."""
    out, inside = (f"{tmp.name}/{name.replace('/', '')}.{end}" for end in ("out", "in"))
    for path in filter(os.path.exists, (out, inside)):
        os.unlink(path)
    noise = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        p = subprocess.run([CLEW, "record", "-a", "-m", "8M", "-F", "100", "-e", "cpu-clock", "--switch-events", "-o", out, *unshare, "sh", "-c",
                            inner], env={**os.environ, "CLEW": CLEW, "IN": inside, "WORK": WORK}, capture_output=True, text=True, check=False)
    finally:
        noise.kill()
        noise.wait()
    return Truth(out), inside, p.stderr


class Judged:
    """A recording made inside against the truth. roots: the root ids of the local ids that were sampled."""

    def __init__(self, truth, inside):
        self.pairs, self.wrong, self.kinds = collections.defaultdict(collections.Counter), [], collections.Counter()
        samples = [e for e in script(inside) if e["type"] == "sample"]
        of = [(s, t) for s in samples if (t := truth.at(s["cpu"], s["time"]) if "cpu" in s else None)]
        for s, t in of:
            if s.get("tid"):
                self.pairs[s["tid"]][t[0]] += 1
        self.roots = {local: c.most_common(1)[0][0] for local, c in self.pairs.items()}
        for s, t in of:
            if s["comm"] != ":-1":  # of a thread that is dead
                self.weigh(s, t)
        # In a sample of sched_switch stand both ids of the task that leaves: the local one, and in its fields the root id.
        self.both = {(s["tid"], s["fields"]["prev_pid"]) for s in samples if s.get("tid") and s["event"] == "sched:sched_switch"}
        self.first = min((s["time"] for s in samples), default=0)

    def weigh(self, s, t):
        self.kinds[s["comm"] if s["comm"] in NOT_A_TASK else "task"] += 1
        is_in = t[0] in self.roots.values()
        ok = {"[idle]": t[0] == 0, "[outside]": t[0] and not is_in, "[idle-or-outside]": not is_in}.get(s["comm"], t[0] == self.roots.get(s.get("tid")))
        if not ok or (s["comm"] not in NOT_A_TASK and s.get("tid", 0) in (0, 2**32 - 1)):
            self.wrong.append((s["comm"], s.get("tid"), t))

    def has_all(self, is_system_wide):
        return self.roots and (not is_system_wide or self.kinds["[outside]"] and self.kinds["task"] and self.both)

    def check(self, name):
        tap.check(self.kinds and not self.wrong, f"{name}: each sample is of the task that ran, or outside where that was", self.wrong or "none compared")
        tap.check(len(set(self.roots.values())) == len(self.roots) and self.roots, f"{name}: one root id for each local id", dict(self.pairs))
        apart = [(local, root) for local, root in self.both if self.roots.get(local, root) != root]
        tap.check(not apart, f"{name}: root ids by switches inside", apart)


def made_up(inside):
    """Local ids and names that the recorder made of /proc."""
    return {(e.get("tid"), e.get("comm")) for e in script(inside, "--show-task-events", "--show-mmap-events")
            if e["type"] in ("COMM", "FORK", "MMAP2") and e.get("time") in (None, 0)}


def record_until_all_ran(name, unshare, inner, is_system_wide):
    """Which tasks run in these milliseconds is the scheduler's choice: again, up to ten times, until each kind was sampled."""
    for _ in range(10):
        truth, inside, said = record(name, unshare, inner)
        judged = Judged(truth, inside) if os.path.exists(inside) else None
        if not judged or judged.has_all(is_system_wide):
            break
    return judged, inside, said


def test(name, unshare, inner, ids, is_system_wide=True):
    judged, inside, said = record_until_all_ran(name, unshare, inner, is_system_wide)
    if not judged:
        tap.check(False, f"{name}: recorded inside", said)
        return
    h = header(inside)
    tap.check(h["pid_namespace"] == "other" and h["procfs_ids"] == ids, f"{name}: not in the initial namespace; ids of /proc: {ids}", h)
    tap.check(("/proc is of another PID namespace: its ids are translated" in said) == (ids != "same"), f"{name}: that is reported where the ids differ", said)
    text = header_text(inside)
    shown = [tuple(map(int, m)) for m in re.findall(r"^# thread : (\d+) in /proc, (?:none|\d+) here, (\d+) in its own namespace", text, re.M)]
    tap.check(shown == [(t["procfs"], t["inner"]) for t in h["tasks"]], f"{name}: header shows the ids of threads", (shown, h["tasks"]))
    since = re.findall(r" cpu (\d+) (\d+)\.(\d{9})", text.partition("# records of switches are complete from :")[2].partition("\n")[0])
    tap.check([(int(c), int(s + ns)) for c, s, ns in since] == [(t["cpu"], t["ns"]) for t in h["tracked_from"]], f"{name}: and since when switches are recorded", since)
    judged.check(name)
    roots = judged.roots
    foreign = {m for m in made_up(inside) if m[0] and m[0] not in roots and m[1] not in ("clew", "clew-exec", "sh", "unshare")}
    tap.check(not foreign, f"{name}: no name or map of another namespace", foreign)
    if h["procfs_namespace"] == "initial":
        both = {t["local"]: t["procfs"] for t in h["tasks"]}
        known = {local: both[local] for local in roots if local in both}
        tap.check(known and all(roots[n] == known[n] for n in known), f"{name}: the pairs of ids are those that ran", (both, roots))
    if is_system_wide:
        tap.check(judged.has_all(True), f"{name}: tasks inside and outside", (judged.kinds, judged.both))
        tap.check(all(0 < t["ns"] <= judged.first for t in h["tracked_from"]), f"{name}: side-band is recorded before the first sample is", (h, judged.first))
        tap.check(len(h["tracked_from"]) == len(os.sched_getaffinity(0)) or os.cpu_count() != len(os.sched_getaffinity(0)),
                  f"{name}: since when each CPU is tracked", h["tracked_from"])


needs()
NEW = ["unshare", "--fork", "--pid"]
ALL, ONE = '"$CLEW" record -a -F 1000 -e cpu-clock -e sched:sched_switch -o "$IN" sh -c "$WORK"', '"$CLEW" record -F 1000 -e cpu-clock --sample-cpu -o "$IN" sh -c "$WORK"'
ATTACHED = '''sh -c "while :; do :; done" & w=$!; "$CLEW" record -p $w -F 1000 -e cpu-clock --sample-cpu -o "$IN" sh -c "$WORK; $WORK"; kill $w'''
test("all CPUs, with /proc", [*NEW, "--mount-proc"], ALL, "same")
test("all CPUs, with the host's /proc", NEW, ALL, "translated")
test("all CPUs, second level", [*NEW, "--mount-proc", *NEW, "--mount-proc"], ALL, "same")
test("all CPUs, second level with the first one's /proc", [*NEW, "--mount-proc", *NEW], ALL, "translated")
test("a command, with /proc", [*NEW, "--mount-proc"], ONE, "same", False)
test("a command, with the host's /proc", NEW, ONE, "translated", False)
test("a process, with the host's /proc", NEW, ATTACHED, "translated", False)
# BPF knows other ids than samples have: -g has to choose another way of reading user stacks.
for words, unshare in (("with /proc", [*NEW, "--mount-proc"]), ("with the host's /proc", NEW)):
    p = run(*unshare, CLEW, "record", "-g", "-e", "cpu-clock:u", "-o", tmp.name + "/stacks", "sh", "-c", WORK)
    tap.check(not p.returncode and " samples complete" in p.stderr, f"{words}: -g records user stacks", p.stderr)
tap.done()
