# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings of Arm SPE, made here: records of perf.data, and records of SPE."""
import struct

PMU, NONE = 9, 0xffffffff
N1 = 0x410fd0c1
TIME_CONV = struct.pack('<QQQQQBB6x', 0, 1, 0, 0, 0, 1, 0)


# --- a recording ---

def record(kind, body, misc=0):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def sample_id(pid, tid, time, cpu=0, number=42):
    return struct.pack('<IIQIIQ', pid, tid, time, cpu, 0, number)


def info(*words):
    return record(70, struct.pack('<II', 4, 0) + struct.pack('<%dQ' % len(words), *words))


def v2(*cpus):
    """cpus: (CPU, MIDR, PMU type, further words)."""
    words = [2, 4, PMU, len(cpus)]
    for cpu, midr, pmu, more in cpus:
        words += [0x1010101010101010, cpu, 4 + len(more), midr, pmu, 256, 1 << 23] + list(more)
    return info(*words)


def aux(trace, offset=0, cpu=0, tid=NONE):
    trace += bytes(-len(trace) % 8)
    return record(71, struct.pack('<QQQIIII', len(trace), offset, 0, 0, tid, cpu, 0)) + trace


def chunk(offset, size, time, tid=100, flags=0, cpu=0):
    return record(11, struct.pack('<QQQ', offset, size, flags) + sample_id(100, tid, time, cpu))


def switch(out, current, other, time, cpu=0):
    """SWITCH_CPU_WIDE, of threads that are their processes; -1: dead."""
    return record(15, struct.pack('<ii', other, other) + sample_id(current & 0xffffffff, current & 0xffffffff, time, cpu), 1 << 13 if out else 0)


def recording(records, sample_type=0x10087):
    attr = struct.pack('<IIQQQQQ', PMU, 128, 7, 1, sample_type, 0, 1 | 1 << 18).ljust(128, b'\0')
    ids, at = struct.pack('<Q', 42), 112 + 144
    body = b''.join(records)
    head = struct.pack('<8sQQQQQQQQ', b'PERFILE2', 104, 144, 112, 144, at, len(body), 0, 0) + bytes(32)
    return head + ids + attr + struct.pack('<QQ', 104, 8) + body


COMM = record(3, struct.pack('<II', 100, 100) + b'prog\0\0\0\0' + sample_id(100, 100, 1))


# --- records of SPE ---

def address(index, value, level=0):
    return bytes([0xb0 + index]) + struct.pack('<Q', value & ((1 << 56) - 1) | level << 61 | 1 << 63)


def count(index, value):
    return bytes([0x98 + index]) + struct.pack('<H', value)


def flags(value):
    return b'\x62' + struct.pack('<I', value)


def at(time):
    return b'\x71' + struct.pack('<Q', time)


def load(pc, time, bits=0x16, va=0x5000, source=None, level=0, context=None, more=b''):
    source = b'' if source is None else b'\x43' + bytes([source])
    context = b'' if context is None else b'\x64' + struct.pack('<I', context)
    return address(0, pc, level) + count(1, 4) + count(0, 12) + flags(bits) + b'\x49\0' + b'\xb2' + struct.pack('<Q', va) + \
        count(2, 1) + context + source + more + at(time)


def branch(pc, target, time, op=1, bits=2, before=None):
    return address(0, pc) + count(0, 13) + flags(bits) + b'\x4a' + bytes([op]) + address(1, target) + \
        (address(4, before) if before else b'') + at(time)
