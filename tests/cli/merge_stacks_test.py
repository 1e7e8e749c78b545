#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of the default -g as the installed perf reads them: the same samples and addresses, without a warning.

Usage: merge_stacks_test.py CLEW"""
import glob
import os
import signal
import subprocess

from merge_lib import chains_of_clew, compare, hotspot, needs_bpf_and_perf, run
from stack_lib import CLEW, StackTap
from record_lib import RINGS, has_lost, until

LOOP = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"


def kill_it(t):
    """A recorder that is killed leaves the deferred form."""
    path = t.path("killed.data")
    child = subprocess.Popen([CLEW, "record", "-q", "-g", "-o", path, "--", "sh", "-c", "echo $$; while :; do :; done"], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    program = int(child.stdout.readline())
    begun = os.path.getsize(path)
    until(lambda: os.path.getsize(path) > begun + 65536)  # some pass has reached the file
    child.kill()
    child.wait()
    os.kill(program, signal.SIGKILL)
    found = chains_of_clew(path)
    t.check(found and any(c for _, c in found), "kill -9: clew reads stacks of what was written", len(found))
    merged = t.path("killed-merged.data")
    p = run([CLEW, "inject", "--merge-stacks", "-i", path, "-o", merged])
    t.check(p.returncode == 0, "kill -9: what is there can be merged", p.stderr)
    t.check(chains_of_clew(merged) == found, "kill -9: with the same stacks")


def main():
    t = StackTap()
    needs_bpf_and_perf(t)
    for name, more in (("plain", []), ("compressed", ["-z"]), ("two events", ["-e", "cpu-clock,page-faults"]),
                       ("copied", ["--call-graph", "dwarf"])):
        r = t.record_stacks(name.replace(" ", "-"), "auto", ["sh", "-c", LOOP], more)
        if not t.check(r.status == 0, f"{name}: recorded", r.err[-300:]):
            continue
        compare(t, name, r.path)
        t.check(not os.path.exists(r.path + ".merging"), f"{name}: nothing is left beside it")
    hotspot(t, "plain", t.path("plain.data"))
    for name, options in (("all CPUs", ["-a"]), ("switched files", ["--switch-output=24K"])):
        path = t.path(name.replace(" ", "-") + ".data")
        for rings in RINGS:
            for f in glob.glob(path + "*"):
                os.unlink(f)
            p = run([CLEW, "record", "-g", *rings, *options, "-o", path, "--", "sh", "-c", LOOP])
            if not has_lost(p.stderr):
                break
        files = sorted(glob.glob(path + "*"))
        t.check(p.returncode == 0 and files, f"{name}: recorded", p.stderr)
        bad = [f for f in files if "Reserved" in run(["perf", "evlist", "-i", f]).stderr or f.endswith(".merging")]
        t.check(not bad, f"{name}: each of the files is merged", bad)
        compare(t, name, max(files, key=lambda f: len(chains_of_clew(f))))
    kill_it(t)
    r = t.record_stacks("apart", "auto,deferred", ["sh", "-c", LOOP])
    dump = run([CLEW, "script", "-D", "-i", r.path]).stdout
    t.check("PERF_RECORD_CALLCHAIN_DEFERRED" in dump, "auto,deferred: the stacks stand in records of their own")
    merged = t.path("merged.data")
    p = run([CLEW, "inject", "--merge-stacks", "-i", r.path, "-o", merged])
    t.check(p.returncode == 0, "inject --merge-stacks", p.stderr)
    t.check(run([CLEW, "script", "--json", "-i", r.path]).stdout == run([CLEW, "script", "--json", "-i", merged]).stdout,
            "merged: clew says of every sample what it said before")
    compare(t, "merged", merged)
    p = run([CLEW, "inject", "--merge-stacks", "-i", merged, "-o", t.path("again.data")])
    t.check(p.returncode == 1 and not os.path.exists(t.path("again.data")), "merging again is refused, and leaves no file", p.stderr)
    t.done()


main()
