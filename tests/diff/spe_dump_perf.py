#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_dump_perf.py SPE_TEXT [RECORDING...]: the text of SPE packets against `perf script -D`, of a made buffer with each header
and payload, and of recordings. Older perf says less of operations and events: there only the bytes of the line are compared."""
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from tap import check, done, skip_all  # noqa: E402

PMU = 9


def record(kind, body):
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def recording(aux):
    """A perf.data with one AUXTRACE whose bytes are at a multiple of 16: perf counts alignment from where they are in memory."""
    aux += bytes(-len(aux) % 8)
    attr = struct.pack("<IIQQQQQ", PMU, 128, 7 | 7 << 32, 1000, 0x10087, 0, 1 | 1 << 18 | 1 << 23).ljust(128, b"\0")
    data = record(70, struct.pack("<IIQQ", 4, 0, PMU, 1))
    ids, attrs, start = 104, 112, 256
    data += record(11, struct.pack("<QQQ", 0, len(aux), 0) + struct.pack("<IIQIIQ", 1, 1, 1000, 0, 0, 42))
    pad = -(start + len(data) + 48) % 16
    start += pad
    data += record(71, struct.pack("<QQQIIII", len(aux), 0, 0x1234, 0, 0xffffffff, 0, 0)) + aux
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, attrs, 144, start, len(data), 0, 0) + bytes(32)
    return head + struct.pack("<Q", 42) + (attr + struct.pack("<QQ", ids, 8)).ljust(start - 112, b"\0") + data


def each_packet():
    """Each header, short and extended, with some payloads; all payloads of operations."""
    rng = random.Random(1)
    out = b""
    for first in range(256):
        size = 1 << (first >> 4 & 3)
        if first & 0xfc == 0x20:
            for second in range(256):
                out += bytes([first, second]) + (bytes(15) if second == 0 else rng.randbytes(1 << (second >> 4 & 3)))
        elif first & 0xfc == 0x48:
            for payload in range(256):
                out += bytes([first, payload])
        else:
            for _ in range(20):
                out += bytes([first]) + (rng.randbytes(size) if first > 1 else bytes(rng.randrange(40)) + b"\1")
    return out + b"\xb0\1"


def perf_dump(path):
    """(size, [line]) of each AUXTRACE."""
    text = subprocess.run(["perf", "script", "-D", "-i", path], capture_output=True, text=True, check=False, errors="replace").stdout
    parts = re.findall(r"^\. \.\.\. ARM SPE data: size (0x[0-9a-f]+) bytes\n((?:\.  [0-9a-f]{8}: .*\n)*)", text, re.M)
    return [(int(size, 16), lines.splitlines()) for size, lines in parts]


def bytes_of(lines):
    return bytes.fromhex("".join(line[13:61] for line in lines))


def is_later(text):
    """Perf 6.1 has other text, or none, for these."""
    return re.match(r"(OTHER|SVE-|SME-|LD|ST|B\b|EV|PBT|OP-TYPE)", text)


def compare(name, program, lines):
    ours = subprocess.run([program], input=bytes_of(lines), capture_output=True, check=True).stdout.decode().splitlines()[2:]
    wrong = [(a, b) for a, b in zip(ours, lines) if a != b and (a[:62] != b[:62] or not is_later(a[62:]))]
    for a, b in wrong[:5]:
        print(f"# {a}\n# perf: {b}")
    check(not wrong and len(ours) == len(lines), f"{name}: {len(lines)} lines, {sum(a != b for a, b in zip(ours, lines))} with newer text")


def main():
    if not shutil.which("perf"):
        skip_all("no perf")
    program, *paths = sys.argv[1:]
    with tempfile.NamedTemporaryFile() as f:
        f.write(recording(each_packet()))
        f.flush()
        parts = perf_dump(f.name)
        if not parts:
            skip_all("this perf reads no SPE")
        for _, lines in parts:
            compare("each header", program, lines)
    for path in paths:
        if not os.path.exists(path):
            print(f"# no {path}")
            continue
        for size, lines in perf_dump(path):
            compare(f"{os.path.basename(path)}: {size} bytes", program, lines)
    done()


main()
