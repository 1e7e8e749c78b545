#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_golden_cli_test.py CLEW DIR: each DIR/NAME.trace of a processor without facts (tests/golden/pt/README.md) is made into a recording and a binary: clew script
and clew trace, with one thread and with three, give the instructions of its flow. TAP."""
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "diff")]
from ipt_lib import record
from tap import check, done

clew = os.path.abspath(sys.argv[1])
NAME = b"/traced/code.elf"
PID, ID = 4242, 2
SAMPLE_ID = struct.pack("<IIQ", PID, PID, ID)
KERNEL = 1 << 63


class Trace:
    def __init__(self, path):
        parts = re.split(r"^\[(\w+)\]\n", path.read_text(), flags=re.M)
        self.parts = dict(zip(parts[1::2], parts[2::2]))
        self.is_plain = all(line == "any" or line.startswith("libipt") for line in self.parts["processor"].split("\n") if line)
        self.runs, self.sizes = [], {}
        for m in re.finditer(r"^([0-9a-f]+) (?:64|32|16) ([0-9a-f]+) +(?:x(\d+) )?", self.parts["code"], re.M):
            self.add(int(m[1], 16), bytes.fromhex(m[2]), int(m[3] or 1))

    def add(self, address, code, times):
        if not self.runs or self.runs[-1][0] + len(self.runs[-1][1]) != address:
            self.runs.append((address, bytearray()))
        self.runs[-1][1].extend(code * times)
        for i in range(times):
            self.sizes[address + i * len(code)] = len(code)

    def images(self):
        """Its runs, those of a page together."""
        ret = []
        for address, code in sorted(self.runs):
            if ret and address < (ret[-1][0] + len(ret[-1][1]) + 0xfff) & ~0xfff:
                ret[-1][1].extend(b"\xf4" * (address - ret[-1][0] - len(ret[-1][1])) + code)
            else:
                ret.append((address, bytearray(code)))
        return ret

    def packets(self):
        return bytes.fromhex("".join(re.findall(r"\|((?: [0-9a-f]{2})*)$", self.parts["packets"], re.M)))

    def insns(self):
        for m in re.finditer(r"^([0-9a-f]+)-([0-9a-f]+) (?:64|32|16)", self.parts["flow"], re.M):
            at, end = int(m[1], 16), int(m[2], 16)
            while at < end:
                yield at
                at += self.sizes[at]


def elf(runs):
    """@return its bytes, and the offset of each run."""
    at, heads, body = 64 + 56 * len(runs), b"", b""
    offsets = []
    for address, code in runs:
        body += bytes(-(at + len(body) - address) % 4096)
        offsets.append(at + len(body))
        heads += struct.pack("<IIQQQQQQ", 1, 5, offsets[-1], address, address, len(code), len(code), 4096)
        body += code
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, runs[0][0], 64, 0, 0, 64, 56, len(runs), 64, 0, 0)
    return head + heads + body, offsets


def attr(kind, config, flags):
    return struct.pack("<IIQQQQQ", kind, 128, config, 1, 0x10003, 0, flags).ljust(128, b"\0")


def recording(trace, images, offsets):
    packets = trace.packets()
    aux = packets.ljust((len(packets) + 7) // 8 * 8, b"\0")
    info = [8, 0, 0, 0, 0, 0x400, 0x800, 0, 0, 0, 0x200, 0x3c000, 0, 0, 2, 0, 0]
    data = record(70, struct.pack("<II17Q", 1, 0, *info))
    data += record(3, struct.pack("<II", PID, PID) + b"traced\0\0" + SAMPLE_ID)
    for (address, code), offset in zip(images, offsets):
        start = address & ~0xfff
        size = (address + len(code) - start + 0xfff) & ~0xfff
        body = struct.pack("<IIQQQIIQQII", PID, PID, start, size, offset & ~0xfff, 8, 1, 4711, 0, 5, 2)
        data += record(10, body + NAME.ljust(24, b"\0") + SAMPLE_ID)
    data += record(71, struct.pack("<QQQIIII", len(aux), 0, 0, 0, PID, 0xffffffff, 0)) + aux
    data += record(4, struct.pack("<IIIIQ", PID, PID, PID, PID, 0) + SAMPLE_ID)
    ids = 104
    attrs = attr(8, 0x2001, 1 << 18) + struct.pack("<QQ", ids, 8)
    attrs += attr(1, 9, 1 << 18 | 1 << 23 | 1 << 8 | 1 << 9 | 1 << 13) + struct.pack("<QQ", ids + 8, 8)
    start = ids + 16 + len(attrs)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, ids + 16, len(attrs), start, len(data), 0, 0) + bytes(32)
    return head + struct.pack("<QQ", 1, ID) + attrs + data


def run(*args):
    return subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout


def compare(trace, name, folder):
    images = trace.images()
    code, offsets = elf(images)
    (folder / NAME.decode()[1:]).write_bytes(code)
    (folder / "perf.data").write_bytes(recording(trace, images, offsets))
    args = ["-i", str(folder / "perf.data"), "--symfs", str(folder)]
    want = [f"{a:x}" for a in trace.insns()]
    digest = hashlib.sha256("".join(a + "\n" for a in want).encode()).hexdigest()
    got = run("script", *args, "--itrace=i1i", "-F", "ip").split()
    digests = [run("trace", *args, "--digest", f"--threads={n}") for n in (1, 3)]
    ok = got == want and (not want or all(f"{len(want)} {digest}" in d for d in digests))
    check(ok, f"{name}: {len(want)} instructions", "" if ok else f"{want[:20]}\n{got[:20]}\n{digests}")


def main():
    with tempfile.TemporaryDirectory() as t:
        folder = pathlib.Path(t)
        (folder / "traced").mkdir()
        for path in sorted(pathlib.Path(sys.argv[2]).glob("*.trace")):
            trace = Trace(path)
            # The kernel has no binary here, and what the rest of a page has is not said.
            if trace.is_plain and "NACC" not in trace.parts["flow"] and all(a < KERNEL for a, _ in trace.runs):
                compare(trace, path.name, folder)
    done()


main()
