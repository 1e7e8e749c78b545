#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clocks of guests, as `clew merge --guest` finds them, against the truth of tests/make/who: a "sure" offset lies within its band, and no guest
is sure in the process of another. TAP.

Usage: who_merge.py CLEW [SEEDS [JOBS]]    skipped where clew merge has no --guest"""
import collections
import concurrent.futures
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
from cases import MERGE_CASES, options

FIT = re.compile(r"process (\d+): (sure|likely|not found): offset (-?\d+) (ticks|ns),.* band (-?[\d.]+) us")
SLACK_US = 1  # a drifting offset is given for the first event, the fit for the first edge
Fit = collections.namedtuple("Fit", "verdict offset unit band_us")


def fit(clew, host, guest, pid, out):
    """What clew says of @guest in process @pid; None: nothing, with its messages."""
    done = subprocess.run([clew, "merge", "-i", host, "-o", out, f"--guest={guest},{pid}"], capture_output=True, text=True, check=False)
    for found, verdict, offset, unit, band in FIT.findall(done.stderr):
        if int(found) == pid:
            return Fit(verdict, int(offset), unit, float(band)), done.stderr
    return None, done.stderr


def faults_of(found, offset, unit, us):
    """@offset: the true one, host - guest; clew prints guest - host."""
    if found is None:
        return "no fit printed"
    if found.verdict == "not found":
        return "not found"
    error_us = abs(found.offset + offset) / us
    is_off = found.unit != unit or error_us > found.band_us + SLACK_US
    return f"{found}, the truth is {-offset} {unit}: {error_us:.1f} us away" if is_off and found.verdict == "sure" else None


def check_seed(clew, case, seed):
    """@return (how many guests were sure, faults)"""
    nr_sure, faults = 0, []
    with tempfile.TemporaryDirectory() as where:
        prefix, out = os.path.join(where, case), os.path.join(where, "out.data")
        who_make.write_files(prefix, case, seed)
        with open(prefix + ".merge", encoding="utf-8") as file:
            truth = [line.split() for line in file if not line.startswith("#")]
        for guest, own_pid, offset, _drift, unit in truth:
            us = options(case, seed, {})["us"] if unit == "ticks" else 1000
            for pid in (int(row[1]) for row in truth):
                found, messages = fit(clew, prefix + ".data", f"{prefix}.guest{guest}.data", pid, out)
                is_own = pid == int(own_pid)
                wrong = faults_of(found, int(offset), unit, us) if is_own else found and found.verdict == "sure" and f"sure in process {pid}"
                nr_sure += is_own and found is not None and found.verdict == "sure"
                if wrong:
                    faults.append(f"{case} seed {seed} guest {guest}: {wrong}: {messages.strip()[-300:]}")
    return nr_sure, faults


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    clew = os.path.abspath(sys.argv[1])
    nr_seeds, nr_jobs = (int(word) for word in (sys.argv[2:] + ["2", "2"][len(sys.argv) - 2:]))
    if "--guest" not in subprocess.run([clew, "merge", "--help"], capture_output=True, text=True, check=False).stdout:
        tap.skip_all("clew merge has no --guest")
    with concurrent.futures.ProcessPoolExecutor(nr_jobs) as pool:
        for case in MERGE_CASES:
            nr_sure, faults = 0, []
            for sure, wrong in pool.map(check_seed, *zip(*((clew, case, seed) for seed in range(nr_seeds)))):
                nr_sure += sure
                faults += wrong
            tap.check(not faults, f"{case}: {nr_sure} guests sure in {nr_seeds} seeds", faults)
    tap.done()


if __name__ == "__main__":
    main()
