#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_perf.py CLEW [RECORDS]: events of Arm SPE as perf 7 prints them, byte for byte: recordings made here by chance, of each core whose data sources
have names, and the packets of each payload. CLEW_PERF_NEW names such a perf (fetch_perf.sh brings one). What differs by intent, by the list in
clew-script(1), is not in the recordings. TAP."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
from spe_lib import COMM, N1, PMU, TIME_CONV, at, aux, chunk, count, record, recording, v2  # noqa: E402
from tap import check, done, skip_all  # noqa: E402

perf = os.environ.get('CLEW_PERF_NEW')
if not perf:
    skip_all('CLEW_PERF_NEW does not name a perf 7')
clew = os.path.abspath(sys.argv[1])
nr_records = int(sys.argv[2]) if len(sys.argv) > 2 else 400
ARM = [0x410f0000 | part << 4 for part in (0xd0c, 0xd40, 0xd44, 0xd49, 0xd4b, 0xd4c, 0xd4d, 0xd4e, 0xd4f, 0xd81, 0xd82, 0xd84, 0xd85, 0xd87, 0xd89)]
COMMON, AMPERE, HIP12, UNKNOWN = ARM + [0x4e0f0100], 0xc00fac40, 0x480fd060, 0x410fd030
SOURCES = {AMPERE: (0, 3, 5, 7, 8, 9, 4), HIP12: (*range(10), 0xd, 0x10, 0x11, 0x12, 0xa), UNKNOWN: (0, 8)}
FIELDS = 'event,ip,addr,phys_addr,weight,data_src'
LETTERS = ('fmtbaMi1i', 'ft', 'ma', 'Mi3i')
BRANCH_LETTERS = ('c', 'bi1il1', 'bi1il2')
SAMPLE_TYPE = 0x10087 | 1 << 3 | 1 << 14 | 1 << 15 | 1 << 19  # ADDR, WEIGHT, DATA_SRC, PHYS_ADDR: else perf 7 prints no such fields


def pick(rng, *values):
    return rng.choice(values)


def operation(rng, crs):
    """Not class 3, which both refuse; nor what perf takes for something else: indirect branches that are no call, of which it makes returns, and calls
    and returns, in which it sees vectors where the data source is printed. It has no name for conditional ones with an outcome."""
    kind = rng.randrange(8)
    if kind < 4:
        return 1, rng.randrange(256)
    if kind < 6:
        op = rng.randrange(8) | rng.choice(crs) << 3
        return 2, op & ~2 if op >> 3 in (0, 3) else op
    return 0, pick(rng, 0, 1, 2, 4, 5, 8, 0x1c, 0x88, 0xfe & ~1)


def code_address(rng, index):
    """User code at EL0, a kernel's at EL1 or EL2: perf has the same address for these."""
    level = rng.randrange(3)
    address = rng.randrange(0x1000, 1 << 40) & ~3 | (0xff800000000000 if level else 0)
    return bytes([0xb0 + index]) + struct.pack('<Q', address | level << 61 | 1 << 63)


def one(rng, time, midr, crs):
    op_class, op = operation(rng, crs)
    sources = SOURCES.get(midr, (0, 8, 9, 0xa, 0xb, 0xc, 0xd, 0xe, 5))
    out = code_address(rng, 0) + count(1, rng.randrange(64)) + count(0, rng.randrange(1, 4096))
    events = rng.getrandbits(32) & rng.getrandbits(32)
    size, header = pick(rng, (1, 0x42), (2, 0x52), (4, 0x62), (8, 0x72))
    if op_class == 2 and op & 1 and op >> 3 in (1, 2):
        events &= ~(1 << 6 | 1 << 7 | 1 << 16)
    out += bytes([header]) + (events & (1 << 8 * size) - 1).to_bytes(size, 'little')
    out += bytes([0x48 + op_class, op])
    if op_class == 1:
        out += b'\xb2' + struct.pack('<Q', rng.randrange(1 << 55) | pick(rng, 0, 0xff << 56)) + count(2, 3)
        out += b'\xb3' + struct.pack('<Q', rng.randrange(1 << 48) | 1 << 63) if rng.randrange(2) else b''
    if op_class == 2:
        out += code_address(rng, 1)
    if op_class != 2 or rng.randrange(2):  # absent, of a load: differs by intent
        out += b'\x43' + bytes([pick(rng, *sources)])
    out += code_address(rng, 4) if rng.randrange(3) == 0 else b''
    return out + at(time)


def make(path, midr, nr, seed, crs=(0, 3)):
    rng = random.Random(seed)
    trace = b''.join(one(rng, 1000 + i, midr, crs) for i in range(nr))
    with open(path, 'wb') as f:
        f.write(recording([record(79, TIME_CONV), v2((0, midr, PMU, ())), COMM, aux(trace), chunk(0, len(trace), 10000)], SAMPLE_TYPE))


def lines(program, path, *options):
    p = subprocess.run([program, 'script', '-i', path, *options], capture_output=True, text=True, check=False, errors='replace')
    if p.returncode:
        print('# %s: %s' % (program, p.stderr))
    return p.stdout.splitlines()


def compare(name, path, letters):
    fields = FIELDS if letters in LETTERS else 'event,ip,addr,weight,flags' + (',brstack' if 'l' in letters else '')
    # The column of the event is as wide as the longest name in the recording, of which one is perf's own.
    ours, theirs = ([l.lstrip() for l in lines(p, path, '--itrace=' + letters, '-F', fields)] for p in (clew, perf))
    wrong = [(a, b) for a, b in zip(ours, theirs) if a != b]
    check(not wrong and len(ours) == len(theirs) and ours, '%s, --itrace=%s: %d lines' % (name, letters, len(theirs)),
          [len(ours), len(theirs), len(wrong)] + ['%s\n# %s' % w for w in wrong[:4]])


def compare_dump(path):
    """-D: each payload of operations, and events."""
    text = [[l for l in lines(p, path, '-D') if re.match(r'\.  [0-9a-f]{8}:', l)] for p in (clew, perf)]
    wrong = [(a, b) for a, b in zip(*text) if a != b]
    check(not wrong and len(text[0]) == len(text[1]) and text[0], '-D: %d lines' % len(text[1]), ['%s\n# %s' % w for w in wrong[:4]])


def main():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'spe.data')
        for midr in (N1, AMPERE, HIP12, UNKNOWN):
            make(path, midr, nr_records, midr)
            for letters in LETTERS:
                compare('%x' % midr, path, letters)
            compare_dump(path)
            make(path, midr, nr_records, midr, range(4))
            for letters in BRANCH_LETTERS:
                compare('%x' % midr, path, letters)
        for midr in COMMON:
            make(path, midr, 60, midr)
            compare('%x' % midr, path, 'fmtbaMi1i')
    done()


main()
