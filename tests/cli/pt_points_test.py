#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_points_test.py CLEW DATA: Intel PT that does not show what runs between places: recorded without TNT (notnt) or branches (branch=0); and PEBS
records in a trace.
DATA/intel-pt-truth may be absent. TAP."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "diff")]
from ipt_lib import PSB, record, recording
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


# --- PEBS ---

IP_TID_TIME_ADDR, WEIGHT, DATA_SRC, IDENTIFIER, REGS_INTR = 0xf, 1 << 14, 1 << 15, 1 << 16, 1 << 18
AUX_OUTPUT, TSC = 1 << 31, 1000000


def with_events(aux, *events):
    """A recording of one thread: the trace, and (sample_type, registers) of each event that writes into it. Ticks are nanoseconds."""
    pmu, ids, attrs = 8, 104, 200
    rows = [struct.pack("<IIQQQQQ", pmu, 128, PT | 1 << 10 | BRANCH, 1, IDENTIFIER | 7, 0, 1 << 18).ljust(128, b"\0")]
    for sample_type, regs in events:
        row = bytearray(struct.pack("<IIQQQQQ", 0, 128, 0, 1000, sample_type | IDENTIFIER | 7, 0, 1 << 18 | AUX_OUTPUT | 2 << 15).ljust(128, b"\0"))
        struct.pack_into("<Q", row, 96, regs)
        rows.append(bytes(row))
    start = attrs + 144 * len(rows)
    info = (pmu, 31, 1 << 31, 0, 1, 1 << 10, 1 << 11, 0, 0, 0, 1 << 9, 0xf << 14, 84, 1, 2, 20, 0)
    aux += bytes(-len(aux) % 8)
    data = record(70, struct.pack("<II%dQ" % len(info), 1, 0, *info))
    data += record(3, struct.pack("<II", 7, 7) + b"prog\0\0\0\0" + struct.pack("<IIQQ", 7, 7, 1, 42))
    data += record(11, struct.pack("<QQQIIQQ", 0, len(aux), 0, 7, 7, 2, 42))
    data += record(71, struct.pack("<QQQIIII", len(aux), 0, TSC, 0, 7, 0xffffffff, 0)) + aux
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, attrs, 144 * len(rows), start, len(data), 0, 0) + bytes(32)
    head = (head + struct.pack("<%dQ" % len(rows), *range(42, 42 + len(rows)))).ljust(attrs, b"\0")
    return head + b"".join(row + struct.pack("<QQ", ids + 8 * i, 8) for i, row in enumerate(rows)) + data


def items(kind, values):
    return b"\x02\x63" + bytes([kind]) + b"".join(bytes([i << 3 | 4]) + struct.pack("<Q", v) for i, v in values.items())


def pebs_record(ip, ticks, memory=None, has_fup=True):
    """Its registers are 0x100 more each."""
    end = b"\x02\xb3" + full(FUP, ip) if has_fup else b"\x02\x33"
    return items(4, {0: ip, 1: 1, 2: TSC + ticks}) + (items(5, memory) if memory else b"") + items(1, {i: 0x100 * i + 0x100 for i in range(18)}) + end


def pebs(directory):
    path = os.path.join(directory, "pebs")
    trace = PSB + b"\x19" + struct.pack("<Q", TSC)[:7] + bytes.fromhex("02031400 0223 9901") + full(PGE, 0x401000)
    trace += pebs_record(0x401002, 10000, {0: 0xdead000, 1: 1, 2: 77, 3: 0}) + pebs_record(0x401010, 20000, {0: 0xbeef000, 2: 99}, False)
    trace += items(5, {0: 0x1234}) + PSB + bytes.fromhex("9901") + full(FUP, 0x401018) + bytes.fromhex("0223")  # cut by a PSB
    trace += pebs_record(0x401020, 30000) + b"\x01"
    with open(path, "wb") as f:
        f.write(with_events(trace, (IP_TID_TIME_ADDR | WEIGHT | REGS_INTR, 0xff03ff)))
    args = ("--itrace=qo", "-F", "hw:comm,tid,time,event,ip,period,addr,weight,iregs", "-i", path)
    out, _ = run("script", *args)
    got = [line.split() for line in out.splitlines()]
    check([line[2:8] for line in got] == [[f"0.0010{i}0:", "1000", "cycles:pp:", addr, weight, ip] for i, addr, weight, ip in
                                          ((1, "dead000", "77", "401002"), (2, "beef000", "99", "401010"), (3, "0", "0", "401020"))],
          "o: each record of PEBS, with its own time and address; not one that is cut", out)
    regs = [r.split(":")[1] for r in " ".join(got[0][9:]).replace(": ", ":").split()] if got else []
    order = (3, 6, 4, 5, 9, 10, 8, 7, 2, 1, 11, 12, 13, 14, 15, 16, 17, 18)
    check(regs == [hex(0x100 * i) for i in order], "o: and registers", regs)
    if shutil.which("perf"):
        other = subprocess.run(["perf", "script", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
        check(out == other, "o: as perf prints them", other)
    out, _ = run("script", "--itrace=q", *args[1:])
    check(not out, "without o there are none", out)
    with open(path, "wb") as f:
        f.write(with_events(trace, (IP_TID_TIME_ADDR, 0), (IP_TID_TIME_ADDR, 0)))
    out, _ = run("script", "--itrace=qo", "-F", "hw:comm,event,ip", "-i", path)
    check(not out, "o: of two events it is unknown which one a record is of", out)


def ignored():
    snapshot = os.path.join(sys.argv[2], "intel-pt-truth", "plain", "perf.data")
    if os.path.exists(snapshot):
        _, err = run("script", "--itrace=qb", "-i", snapshot)
        check("is ignored" not in err, "q has a meaning for Intel PT", err)
        args = ("script", "--itrace=qi1ig", "-F", "ip,sym", "-i", snapshot, "--symfs", os.path.join(truth, "symfs"))
        out, _ = run(*args)
        each = [x for x in out.split("\n\n") if x.strip()]
        check(len(each) > 2000 and all(len(x.strip().splitlines()) == 1 for x in each), "q: places have no callers", out[:400])


with tempfile.TemporaryDirectory() as made_in:
    no_tnt(made_in)
    no_branches(made_in)
    pebs(made_in)
ignored()
done()
