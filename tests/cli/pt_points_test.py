#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_points_test.py CLEW DATA: Intel PT that does not show what runs between places: recorded without TNT (notnt) or branches (branch=0).
DATA/intel-pt-truth may be absent. TAP."""
import os
import re
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "diff")]
from ipt_lib import PSB, recording
from tap import check, done, skip

clew = os.path.abspath(sys.argv[1])
truth = os.path.join(sys.argv[2], "intel-pt-truth")
NO_TNT, BRANCH, PT = 1 << 55, 1 << 13, 1


def run(*args):
    p = subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return p.stdout, p.stderr


def with_config(data, change):
    """Of the event of the trace: the first one whose config has PT and a type of its own."""
    at, size = struct.unpack_from("<QQ", data, 24)
    entry = struct.unpack_from("<Q", data, 16)[0]
    for attr in range(at, at + size, entry):
        kind, _, config = struct.unpack_from("<IIQ", data, attr)
        if kind > 5:
            return data[:attr + 8] + struct.pack("<Q", change(config)) + data[attr + 16:]
    raise ValueError("no event of a trace")


def without_tnt(path):
    """The recording, as the processor would have made it with DisTNT; padding is where the TNT were."""
    data = bytearray(open(path, "rb").read())
    lines, nr = run("dump", "-i", path)[0].splitlines(), 0
    for line in lines:
        m = re.match(r" *\d+ +(\d+)  ((?:[0-9a-f]{2} )+) *TNT ", line)
        if m:
            size = len(m[2].split())
            data[int(m[1]):int(m[1]) + size] = bytes(size)
            nr += 1
    return with_config(bytes(data), lambda c: c | NO_TNT), nr


def no_tnt(directory):
    for name in ("plain", "tsx-ptw", "time-mtc", "work", "loss", "events"):
        path, made = os.path.join(truth, name, "perf.data"), os.path.join(directory, name)
        if not os.path.exists(path):
            skip(name, "not in " + truth)
            continue
        data, nr = without_tnt(path)
        with open(made, "wb") as f:
            f.write(data)
        args = ["-F", "comm,tid,event,synth,ip,addr,flags", "--symfs", os.path.join(truth, "symfs")]
        want, _ = run("script", "--itrace=qi1ibxwpIe", "-i", path, *args)
        out, err = run("script", "--itrace=i1ibxwpIe", "-i", made, *args)
        check(nr > 500 and out == want and "instructions" in out, f"{name} without TNT: the places that q has of all of it")
        check(err.count("instructions are unknown: its conditional branches were not traced (notnt)") == 1, f"{name} without TNT: said once", err)
        out, _ = run("trace", "-i", made, "--symfs", os.path.join(truth, "symfs"))
        check("instructions unknown" in out and ", 0 instructions" in out, f"{name} without TNT: in the summary of clew trace", out)
        out, _ = run("script", "-i", made, *args)
        check("Trace doesn't match" not in out and "Bad packet" not in out, f"{name} without TNT: default events, and nothing that does not fit")


def full(header, ip):
    return bytes([header]) + struct.pack("<Q", ip)[:6]


FUP, TIP, PGE = 0x7d, 0x6d, 0x71


def ptwrite(value, ip):
    return b"\x02\x92" + struct.pack("<I", value) + full(FUP, ip)


def no_branches(directory):
    """PSB+ without FUP, PTWRITE and power states at their FUPs."""
    path = os.path.join(directory, "no-branches")
    trace = (PSB + bytes.fromhex("02030a00 0223") + ptwrite(0x2a, 0x401000) + bytes.fromhex("02c2 60000000 01000000 0222 0022 02e2") + full(FUP, 0x401004)
             + bytes.fromhex("02a2 2201000000") + PSB + bytes.fromhex("02030a00 0223") + ptwrite(0x2b, 0x401010))
    with open(path, "wb") as f:
        f.write(with_config(recording(trace), lambda _: PT | 1 << 4 | 1 << 12 | 1 << 5))
    out, err = run("script", "--itrace=i1ibwpe", "-F", "event,ip,synth", "-i", path)
    want = ["psb: psb offs: 0 0", "cbr: cbr: 10 freq: 500 MHz ( 50%) 0", "instructions: 401000", "ptwrite: IP: 1 payload: 0x2a 401000",
            "mwait: hints: 0x60 extensions: 0x1 401004", "pwre: hw: 0 cstate: 2 sub-cstate: 2 401004", "exstop: IP: 1 401004", "instructions: 401004",
            "pwrx: deepest cstate: 2 last cstate: 2 wake reason: 0x1 401004", "psb: psb offs: 0x41 0", "instructions: 401010", "ptwrite: IP: 1 payload: 0x2b 401010"]
    got = [re.sub(r"  +", " ", re.sub(r":HG|[*+]", "", x)).strip() for x in out.splitlines()]
    check(got == want, "branch=0: PTWRITE and power states, each at its place", "\n".join(got))
    check(err.count("instructions are unknown: its branches were not traced (branch=0)") == 1, "branch=0: said once", err)


def ignored():
    snapshot = os.path.join(sys.argv[2], "intel-pt-truth", "plain", "perf.data")
    if os.path.exists(snapshot):
        _, err = run("script", "--itrace=qb", "-i", snapshot)
        check("is ignored" not in err, "q has a meaning for Intel PT", err)


with tempfile.TemporaryDirectory() as made_in:
    no_tnt(made_in)
    no_branches(made_in)
ignored()
done()
