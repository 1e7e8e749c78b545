# SPDX-License-Identifier: LGPL-2.1-or-later
"""A recording of AUX data as it stands in perf.data: its events, its records, its traces by buffer. Also one that was cut off, or that came by a pipe.

Spec: Linux uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt; tools/lib/perf/include/perf/event.h; softaux/softaux.h"""
import collections
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "make", "who"))
# pylint: disable=wrong-import-position
from perf_bytes import CPU, IDENTIFIER, IP, R_AUX, R_AUXTRACE, R_AUXTRACE_INFO, R_LOST, R_SAMPLE, TID, TIME, TRUNCATED  # noqa: F401

HEADER_ATTR, R_THROTTLE, R_HW_ID, R_COMPRESSED = 64, 5, 21, 81
KERNEL_RECORDS = 64  # types below are the kernel's, and end with a sample_id
START_PAUSED, PAUSE, RESUME = 1, 2, 4
SA_START, SA_TICK, SA_STOP, SA_PAUSE, SA_RESUME = 1, 2, 3, 4, 5
SA = struct.Struct("<IBBHQQIIIIIIIIII")
SA_MAGIC, SA_BYTES = 0x58554153, 64

Event = collections.namedtuple("Event", "type config period sample_type aux_action size ids")
Record = collections.namedtuple("Record", "type misc body id pid tid time cpu")
Trace = collections.namedtuple("Trace", "at offset size reference idx tid cpu data")
Soft = collections.namedtuple("Soft", "type paused cpu seq time pid tid starts stops pauses resumes id skipped")


def event_of(attr, ids):
    kind, size, config, period, sample_type = struct.unpack_from("<IIQQQ", attr)
    action, = struct.unpack_from("<I", attr, 116) if size >= 120 else (0,)
    return Event(kind, config, period, sample_type, action, size, ids)


class AuxFile:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.data = f.read()
        self.events, self.records, self.traces = [], [], []
        self.cut_at = 0  # where the last record is not whole; 0: all are
        if len(self.data) < 16 or self.data[:8] != b"PERFILE2":
            raise ValueError("no perf.data")
        head_bytes, = struct.unpack_from("<Q", self.data, 8)
        self.is_pipe = head_bytes == 16
        if self.is_pipe:
            self._walk(16, len(self.data))
        else:
            self._walk_file()
        self._add_ids()

    def _walk_file(self):
        entry, attrs, attrs_bytes, at, size = struct.unpack_from("<5Q", self.data, 16)
        self.features, = struct.unpack_from("<Q", self.data, 72)
        for pos in range(attrs, attrs + attrs_bytes, entry):
            ids, ids_bytes = struct.unpack_from("<QQ", self.data, pos + entry - 16)
            self.events.append(event_of(self.data[pos:pos + entry - 16], struct.unpack_from("<%dQ" % (ids_bytes // 8), self.data, ids)))
        self.is_closed = size > 0
        self._walk(at, at + size if size else len(self.data))

    def _walk(self, at, end):
        while at + 8 <= end:
            kind, misc, size = struct.unpack_from("<IHH", self.data, at)
            if size < 8 or at + size > end:
                break
            body = self.data[at + 8:at + size]
            if kind == R_AUXTRACE:
                bytes_, offset, reference, idx, tid, cpu = struct.unpack_from("<QQQIiI", body)
                trace = self.data[at + size:min(at + size + bytes_, end)]
                self.traces.append(Trace(at, offset, bytes_, reference, idx, tid, cpu, trace))
                self.records.append((kind, misc, body))
                at += bytes_
                if at + size > end:
                    break
            elif kind == HEADER_ATTR:
                attr_bytes, = struct.unpack_from("<I", body, 4)
                self.events.append(event_of(body, struct.unpack_from("<%dQ" % ((len(body) - attr_bytes) // 8), body, attr_bytes)))
            else:
                self.records.append((kind, misc, body))
            at += size
        if at != end:
            self.cut_at = at

    def _add_ids(self):
        """sample_type has to be one for all, but for samples."""
        by_id = {i: e for e in self.events for i in e.ids}
        first = self.events[0].sample_type if self.events else 0
        made = []
        for kind, misc, body in self.records:
            who = [0, 0, 0, 0, 0]
            if kind == R_SAMPLE:
                who = self._of_sample(body, by_id, first)
            elif kind < KERNEL_RECORDS:
                who = self._of_trailer(body, first)
            made.append(Record(kind, misc, body, *who))
        self.records = made

    @staticmethod
    def _of_sample(body, by_id, sample_type):
        ident, at = 0, 0
        if sample_type & IDENTIFIER:
            ident, at = struct.unpack_from("<Q", body)[0], 8
            sample_type = by_id[ident].sample_type if ident in by_id else sample_type
        at += 8 * bool(sample_type & IP)
        pid = tid = time = cpu = 0
        if sample_type & TID:
            pid, tid = struct.unpack_from("<II", body, at)
            at += 8
        if sample_type & TIME:
            time, = struct.unpack_from("<Q", body, at)
            at += 8
        for bit in (1 << 3, 1 << 6, 1 << 9):  # ADDR, ID, STREAM_ID
            at += 8 * bool(sample_type & bit)
        if sample_type & CPU:
            cpu, = struct.unpack_from("<I", body, at)
        return ident, pid, tid, time, cpu

    @staticmethod
    def _of_trailer(body, sample_type):
        at = len(body)
        ident = pid = tid = time = cpu = 0
        if sample_type & IDENTIFIER:
            at -= 8
            ident, = struct.unpack_from("<Q", body, at)
        if sample_type & CPU:
            at -= 8
            cpu, = struct.unpack_from("<I", body, at)
        at -= 8 * bool(sample_type & 1 << 9) + 8 * bool(sample_type & 1 << 6)
        if sample_type & TIME:
            at -= 8
            time, = struct.unpack_from("<Q", body, at)
        if sample_type & TID:
            at -= 8
            pid, tid = struct.unpack_from("<II", body, at)
        return ident, pid, tid, time, cpu

    def of_type(self, kind):
        return [r for r in self.records if r.type == kind]

    def lost(self):
        return sum(struct.unpack_from("<QQ", r.body)[1] for r in self.of_type(R_LOST))

    def aux_records(self):
        """(record, offset, size, flags)"""
        return [(r, *struct.unpack_from("<QQQ", r.body)) for r in self.of_type(R_AUX)]

    def buffers(self):
        """{idx: its traces in the order of the file}"""
        found = {}
        for t in self.traces:
            found.setdefault(t.idx, []).append(t)
        return found

    def triggers(self):
        """[(record, action)] by time, of events with aux-action."""
        actions = {i: e.aux_action for e in self.events for i in e.ids if e.aux_action & (PAUSE | RESUME)}
        return sorted(((r, actions[r.id]) for r in self.of_type(R_SAMPLE) if r.id in actions), key=lambda pair: pair[0].time)


def soft_records(data, stride=SA_BYTES):
    """@return [(position, Soft)] of the records in @data, and [position] of what is no record; resumes at the next magic number."""
    good, bad, at = [], [], 0
    while at + SA_BYTES <= len(data):
        w = SA.unpack_from(data, at)
        x = 0
        for word in struct.unpack_from("<16I", data, at):
            x ^= word
        if w[0] == SA_MAGIC and not x:
            good.append((at, Soft(*w[1:14])))
            at += stride
            continue
        bad.append(at)
        at = data.find(b"SAUX", at + 1)
        if at < 0:
            break
    return good, bad
