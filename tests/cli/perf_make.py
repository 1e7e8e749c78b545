# SPDX-License-Identifier: LGPL-2.1-or-later
"""Little perf.data files for tests in Python. Names are bytes and may be anything.
Spec: Linux uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt."""
import os
import struct

IP, TID, TIME, ADDR, CALLCHAIN, CPU, PERIOD = 1, 2, 4, 8, 1 << 5, 1 << 7, 1 << 8
RAW, BRANCH_STACK, WEIGHT, DATA_SRC, IDENTIFIER = 1 << 10, 1 << 11, 1 << 14, 1 << 15, 1 << 16
CGROUP, WEIGHT_STRUCT = 1 << 21, 1 << 24
HARDWARE, SOFTWARE, TRACEPOINT, RAW_EVENT = 0, 1, 2, 4
KERNEL, USER = 1, 2  # misc
CONTEXT_USER = 2**64 - 512
HEAD_BYTES = 104
MMAP, COMM, TASK, SAMPLE_ID_ALL, MMAP2 = 1 << 8, 1 << 9, 1 << 13, 1 << 18, 1 << 23


def attr(sample_type, kind=SOFTWARE, config=0, branch=0):
    """perf_event_attr of 128 bytes."""
    flags = MMAP | COMM | TASK | SAMPLE_ID_ALL | MMAP2
    return struct.pack("<IIQQQQQIIQQQ", kind, 128, config, 1000, sample_type, 0, flags, 0, 0, 0, 0, branch).ljust(128, b"\0")


class Event:
    def __init__(self, sample_type, ident=1, **more):
        self.sample_type, self.ident = sample_type, ident
        self.attr = attr(sample_type, **more)

    def sample_id(self, pid, time):
        """What stands at the end of records that are no samples."""
        out = struct.pack("<IIQII", pid, pid, time, 0, 0)
        return out + struct.pack("<Q", self.ident) if self.sample_type & IDENTIFIER else out

    def sample(self, ip, pid=7, time=1000, misc=USER, addr=0, chain=(), raw=b"", branches=(), weight=0, cgroup=0):
        parts = (
            (IDENTIFIER, lambda: struct.pack("<Q", self.ident)),
            (IP, lambda: struct.pack("<Q", ip)),
            (TID, lambda: struct.pack("<II", pid, pid)),
            (TIME, lambda: struct.pack("<Q", time)),
            (ADDR, lambda: struct.pack("<Q", addr)),
            (CPU, lambda: struct.pack("<II", 0, 0)),
            (PERIOD, lambda: struct.pack("<Q", 1)),
            (CALLCHAIN, lambda: struct.pack("<%dQ" % (1 + len(chain)), len(chain), *chain)),
            (RAW, lambda: struct.pack("<I", len(raw) + -(4 + len(raw)) % 8) + raw + bytes(-(4 + len(raw)) % 8)),
            (BRANCH_STACK, lambda: struct.pack("<Q", len(branches)) + b"".join(struct.pack("<QQQ", a, b, 0) for a, b in branches)),
            (WEIGHT | WEIGHT_STRUCT, lambda: struct.pack("<Q", weight)),
            (CGROUP, lambda: struct.pack("<Q", cgroup)),
        )
        return record(9, b"".join(make() for bit, make in parts if self.sample_type & bit), misc)


def record(kind, body, misc=0):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def padded(name):
    return name + bytes(8 - len(name) % 8)


def comm(event, pid, name, time=1):
    return record(3, struct.pack("<II", pid, pid) + padded(name) + event.sample_id(pid, time))


def inode(name):
    """Device and inode as the kernel would record them; of a file that does not exist: some."""
    try:
        st = os.stat(name)
    except (OSError, ValueError):
        return 8, 1, 1
    return os.major(st.st_dev), os.minor(st.st_dev), st.st_ino


def mmap2(event, pid, start, size, name, pgoff=0, misc=USER, time=1):
    return record(10, struct.pack("<IIQQQIIQQII", pid, pid, start, size, pgoff, *inode(name), 0, 5, 2) + padded(name) + event.sample_id(pid, time), misc)


def cgroup(event, ident, path, time=1):
    return record(19, struct.pack("<Q", ident) + padded(path) + event.sample_id(0, time))


def ksymbol(event, address, name, time=1):
    return record(17, struct.pack("<QIHH", address, 64, 1, 0) + padded(name) + event.sample_id(0, time))


def text(s):
    """A string of a feature section."""
    s += bytes(64 - len(s) % 64)
    return struct.pack("<I", len(s)) + s


def event_desc(events, names):
    """Feature 12: events with their names."""
    out = struct.pack("<II", len(events), 128)
    for e, name in zip(events, names):
        ids = struct.pack("<Q", e.ident) if e.sample_type & IDENTIFIER else b""
        out += e.attr + struct.pack("<I", len(ids) // 8) + text(name) + ids
    return out


def own_ids(event):
    """Of an event, in the file: `idents`, where it has several (one per CPU), else `ident`."""
    numbers = getattr(event, "idents", [event.ident]) if event.sample_type & IDENTIFIER else []
    return struct.pack("<%dQ" % len(numbers), *numbers)


def records_at(events):
    """Offset in the file of the first record."""
    return HEAD_BYTES + sum(len(own_ids(e)) + len(e.attr) + 16 for e in events)


def perf_data(events, records, features):
    """A whole file. @features: {number: bytes}."""
    ids, entries = b"", b""
    for e in events:
        own = own_ids(e)
        entries += e.attr + struct.pack("<QQ", HEAD_BYTES + len(ids), len(own))
        ids += own
    attrs_at = HEAD_BYTES + len(ids)
    data_at = records_at(events)
    at = data_at + len(records) + 16 * len(features)
    bits, table, sections = [0] * 4, b"", b""
    for number in sorted(features):
        bits[number // 64] |= 1 << number % 64
        table += struct.pack("<QQ", at + len(sections), len(features[number]))
        sections += features[number]
    head = b"PERFILE2" + struct.pack("<8Q", HEAD_BYTES, 144, attrs_at, len(entries), data_at, len(records), 0, 0) + struct.pack("<4Q", *bits)
    return head + ids + entries + records + table + sections
