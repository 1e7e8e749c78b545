#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clocks of guests, as `clew merge --guest` finds them, against the truth of tests/make/who: a "sure" offset lies within its band, and no guest
is sure in the process of another. No sample of a guest has a wrong CPU of the host. TAP.

Usage: who_merge.py CLEW [SEEDS [JOBS]]    skipped where clew merge has no --guest"""
import collections
import concurrent.futures
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "make", "who")]
# pylint: disable=wrong-import-position
import change
import tap
import who_make
from cases import MERGE_CASES, options
from perf_bytes import M32, R_SAMPLE

FIT = re.compile(r"process (\d+): (sure|likely|not found): offset (-?\d+) (ticks|ns),.* band (-?[\d.]+) us")
R_ID_INDEX = 69
MIN_WITH_CPU = 0.75  # near a move the thread of a virtual CPU is on either CPU; after a loss, on any until its next switch
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


def merged_cpus(path, pid):
    """{vcpu: the host's CPU of each of its samples, None: unknown}, of the guest in process @pid."""
    with open(path, "rb") as file:
        data = file.read()
    vcpus, out = {}, collections.defaultdict(list)
    for kind, at, size in change.records(data):
        if kind == R_ID_INDEX:
            nr = struct.unpack_from("<Q", data, at + 8)[0]
            for n in range(nr):
                ident, (machine, vcpu) = struct.unpack_from("<Q", data, at + 16 + 32 * n)[0], struct.unpack_from("<QQ", data, at + 16 + 32 * nr + 16 * n)
                vcpus[ident] = vcpu if machine == pid else None
        elif kind == R_SAMPLE:
            ident, _, _, _, _, cpu = struct.unpack_from("<QQIIQI", data, at + 8)
            if vcpus.get(ident) is not None:
                out[vcpus[ident]].append(None if cpu == M32 else cpu)
    return out


def wrong_cpus(path, pid, truth):
    found = merged_cpus(path, pid)
    with open(truth, encoding="utf-8") as file:
        pairs = [pair for vcpu, line in enumerate(file) for pair in zip(map(int, line.split()), found[vcpu], strict=True)]
    nr_known, nr_wrong = sum(cpu is not None for _, cpu in pairs), sum(cpu not in (None, true) for true, cpu in pairs)
    is_bad = nr_wrong or nr_known < MIN_WITH_CPU * len(pairs)
    return is_bad and f"CPU of the host: {nr_wrong} wrong, {nr_known} known of {len(pairs)}"


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
                if is_own and not wrong and found.verdict == "sure":
                    wrong = wrong_cpus(out, pid, f"{prefix}.guest{guest}.cpus")
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
