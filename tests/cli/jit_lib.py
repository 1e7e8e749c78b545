# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of code made at run time, jitdump files and perf maps, for tests in Python.
Spec: Linux tools/perf/Documentation/jitdump-specification.txt and jit-interface.txt."""
import os
import struct

from cli import perf_make as pm

MONOTONIC = 1
RWX = 7
ARCH_TIME = 1


class Recording:
    """One event with IP, TID, TIME, CPU and PERIOD; times in ns. @clock: CLOCK_ number; None: perf's own."""

    def __init__(self, clock=MONOTONIC, chain=False):
        self.event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | (pm.CALLCHAIN if chain else 0))
        flags = pm.MMAP | pm.COMM | pm.TASK | pm.SAMPLE_ID_ALL | pm.MMAP2 | 1 << 24  # comm_exec
        flags |= 0 if clock is None else 1 << 25
        self.event.attr = struct.pack("<IIQQQQQIIQQQQIi", 1, 128, 0, 1000, self.event.sample_type, 0, flags, 0, 0, 0, 0, 0, 0, 0,
                                      clock or 0).ljust(128, b"\0")
        self.records = b""
        self.features = {}

    def add(self, kind, body, pid, time, misc=0):
        self.records += pm.record(kind, body + self.event.sample_id(pid, time), misc)

    def exec(self, pid, name, time):
        self.add(3, struct.pack("<II", pid, pid) + pm.padded(name.encode()), pid, time, 0x2000)

    def fork(self, pid, parent, time):
        self.add(7, struct.pack("<IIIIQ", pid, parent, pid, parent, time), parent, time)

    def exit(self, pid, parent, time):
        self.add(4, struct.pack("<IIIIQ", pid, parent, pid, parent, time), pid, time)

    def mmap(self, pid, start, size, path, time, prot=5, flags=2, ino=0):
        self.add(10, struct.pack("<IIQQQIIQQII", pid, pid, start, size, 0, 8, 1, ino, 0, prot, flags) + pm.padded(path.encode()), pid, time,
                 pm.USER)

    def time_conv(self, shift, mult, zero):
        self.records += pm.record(79, struct.pack("<QQQQQBB6x", shift, mult, zero, 0, 0, 1, 0))

    def sample(self, pid, ip, time, chain=()):
        self.records += self.event.sample(ip, pid=pid, time=time, chain=chain)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(pm.perf_data([self.event], self.records, self.features))
        return path


class Dump:
    """A jitdump file. Code bytes: a number of them, of one value."""

    def __init__(self, pid, time=0, flags=0, machine=62, big=False):
        self.order = ">" if big else "<"
        self.pid, self.index = pid, 0
        self.bytes = struct.pack(self.order + "IIIIIIQQ", 0x4a695444, 1, 40, machine, 0, pid, time, flags)

    def record(self, kind, time, body):
        self.bytes += struct.pack(self.order + "IIQ", kind, 16 + len(body), time) + body

    def load(self, time, addr, size, name, byte=0x90, pid=None, index=None):
        self.index = self.index + 1 if index is None else index
        pid = self.pid if pid is None else pid
        code = byte if isinstance(byte, bytes) else bytes([byte]) * size
        self.record(0, time, struct.pack(self.order + "IIQQQQ", pid, pid, addr, addr, size, self.index) + name.encode() + b"\0" + code)
        return self.index

    def move(self, time, index, old, new, size, pid=None):
        pid = self.pid if pid is None else pid
        self.record(1, time, struct.pack(self.order + "IIQQQQQ", pid, pid, new, old, new, size, index))

    def lines(self, time, addr, lines, path):
        body = struct.pack(self.order + "QQ", addr, len(lines))
        for at, line in lines:
            body += struct.pack(self.order + "QII", at, line, 0) + path.encode() + b"\0"
        self.record(2, time, body)

    def close(self, time):
        self.record(3, time, b"")

    def write(self, folder):
        path = os.path.join(folder, f"jit-{self.pid}.dump")
        with open(path, "wb") as f:
            f.write(self.bytes)
        return path
