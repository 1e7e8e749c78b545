#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Threads of guests in a host's SPE records, by clew, against the truth: the recordings of the guests are merged with the offset that clew finds
itself. No thread may be wrong, and of the records in guests a share must have one. TAP.

Usage: who_guests.py CLEW [SEEDS]"""
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "make", "who")]
# pylint: disable=wrong-import-position
import tap
import who_make
from who_answers import answers
from who_judge import WRONG, Owner, judge, truth_by_place

# Enough switches for the fit; samples far apart.
CHANGES = {"guest_recordings": True, "ms": 500, "spe_step_us": 400, "pid_max": 4000}
# The recordings of guests lack an eighth at each end. Without CONTEXTIDR, user code of virtual CPUs' threads is of an unknown world.
MIN_KNOWN = {"leak": 0.6, "leak-noctx": 0.3}


def merge(clew, prefix):
    guests = []
    with open(prefix + ".merge", encoding="utf-8") as file:
        for guest, pid, *_ in (line.split() for line in file if not line.startswith("#")):
            guests.append(f"--guest={prefix}.guest{guest}.data,{pid}")
    done = subprocess.run([clew, "merge", "-i", prefix + ".data", "-o", prefix + ".merged", *guests], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def check_stats(clew, case, seed, merged):
    """CONTEXTIDR_EL1 and the guest's switches name the same threads, where there are both."""
    text = subprocess.run([clew, "script", "--itrace=i1i", "--stats", "-i", merged], capture_output=True, text=True, check=False).stdout
    has_both = re.search(r"^ +\d+  in a guest, its context equals the id of its own switches$", text, re.M)
    tap.check(bool(has_both) == (case == "leak") and "the two differ" not in text, f"{case} {seed}: contexts agree with the guest's switches", text)


def check(clew, case, seed):
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, case)
        who_make.write_files(prefix, case, seed, CHANGES)
        ok, messages = merge(clew, prefix)
        if not ok:
            return tap.check(False, f"{case} {seed}: merged", messages)
        with open(prefix + ".kallsyms", "w", encoding="utf-8") as file:
            file.write(who_make.kallsyms())
        check_stats(clew, case, seed, prefix + ".merged")
        truth = truth_by_place(prefix + ".truth")
        for place, answer in answers(clew, prefix + ".merged", "--kallsyms=" + prefix + ".kallsyms"):
            if place not in truth:
                continue
            owner = Owner(*truth[place].split("\t"))
            verdict, why = judge(owner, answer)
            counts[f"wrong: {why}"] += verdict == WRONG
            if owner.machine != "host":
                counts["guest"] += 1
                counts["by switches"] += answer.guest_local is not None
                counts["in the band"] += answer.reason == "switching"
    wrong = {name: nr for name, nr in counts.items() if nr and name.startswith("wrong")}
    text = ", ".join(f"{name} {counts[name]}" for name in ("guest", "by switches", "in the band"))
    tap.check(not wrong and counts["guest"] > 100, f"{case} {seed}: no thread is wrong: {text}", wrong or counts)
    tap.check(counts["by switches"] > MIN_KNOWN[case] * counts["guest"], f"{case} {seed}: threads of guests are known by switches", counts)
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for case in MIN_KNOWN:
        for seed in range(int((sys.argv + ["1"])[2])):
            check(os.path.abspath(sys.argv[1]), case, seed)
    tap.done()


if __name__ == "__main__":
    main()
