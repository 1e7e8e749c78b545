# SPDX-License-Identifier: LGPL-2.1-or-later
"""perf.data as the model writes it: records with trailers, the clock of TIME_CONV, AUX trace and its index.

Spec: Linux uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt; tools/lib/perf/include/perf/event.h."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cli"))
# pylint: disable=wrong-import-position
import perf_make
from perf_make import CPU, IDENTIFIER, PERIOD, RAW, TID, TIME  # noqa: F401

IP, feature_text = perf_make.IP, perf_make.text
R_MMAP, R_LOST, R_COMM, R_EXIT, R_FORK, R_SAMPLE = 1, 2, 3, 4, 7, 9
R_AUX, R_ITRACE_START, R_SWITCH, R_SWITCH_CPU_WIDE, R_NAMESPACES = 11, 12, 14, 15, 16
R_FINISHED_ROUND, R_AUXTRACE_INFO, R_AUXTRACE, R_TIME_CONV = 68, 70, 71, 79
MISC_KERNEL, MISC_USER, MISC_OUT, MISC_PREEMPT, MISC_EXEC = 1, 2, 1 << 13, 1 << 14, 1 << 13
A_DISABLED, A_INHERIT, A_MMAP, A_COMM, A_TASK, A_SAMPLE_ID_ALL, A_MMAP2 = 1, 1 << 1, 1 << 8, 1 << 9, 1 << 13, 1 << 18, 1 << 23
A_USE_CLOCKID, A_CONTEXT_SWITCH, A_NAMESPACES = 1 << 25, 1 << 26, 1 << 28
F_TRACING_DATA, F_VERSION, F_ARCH, F_NRCPUS, F_CPUID, F_AUXTRACE = 1, 4, 6, 7, 9, 18
TRUNCATED, PARTIAL, COLLISION = 1, 4, 8  # flags of AUX
M32, M56, M64 = (1 << 32) - 1, (1 << 56) - 1, (1 << 64) - 1
AUXTRACE_HEAD_BYTES = 48


def record(kind, misc, body):
    return perf_make.record(kind, body + bytes(-len(body) % 8), misc)


def text(name):
    return perf_make.padded(name.encode())


class Event:
    """One attr of 128 bytes with an id per CPU."""

    def __init__(self, kind, configs, period, sample_type, flags, idents):
        self.sample_type, self.idents = sample_type, idents
        self.ident = idents[0]
        head = struct.pack("<IIQQQQQ", kind, 128, configs[0], period, sample_type, 0, flags).ljust(56, b"\0")
        self.attr = (head + struct.pack("<QQ", *configs[1:3])).ljust(128, b"\0")

    def trailer(self, pid, tid, time, cpu):
        """What sample_id_all appends."""
        out = b""
        if self.sample_type & TID:
            out += struct.pack("<II", pid & M32, tid & M32)
        if self.sample_type & TIME:
            out += struct.pack("<Q", time & M64)
        if self.sample_type & CPU:
            out += struct.pack("<II", cpu, 0)
        return out + struct.pack("<Q", self.idents[cpu])


class Clock:
    """Ticks to perf's ns as TIME_CONV says. `mask`: of a counter narrower than 64 bits, which is at `cycles` when recorded."""

    def __init__(self, freq, zero=0, cycles=0, mask=0):
        self.shift, self.zero, self.cycles, self.mask = 24, zero, cycles, mask
        self.mult = round((10**9 << self.shift) / freq)
        while self.mult > M32:
            self.mult >>= 1
            self.shift -= 1

    def ns(self, tick):
        if self.mask:
            tick = self.cycles + ((tick - self.cycles) & self.mask)
        whole, rest = tick >> self.shift, tick & ((1 << self.shift) - 1)
        return self.zero + whole * self.mult + (rest * self.mult >> self.shift)

    def record(self):
        return record(R_TIME_CONV, 0, struct.pack("<QQQQQBB6x", self.shift, self.mult, self.zero & M64, self.cycles, self.mask, 1,
                                                  1 if self.mask else 0))


class File:
    """Records in order; finish() makes the bytes."""

    def __init__(self, events, features):
        self.events, self.features = events, features
        self.records, self.index = bytearray(), b""
        self.nr_traces, self.at = 0, perf_make.records_at(events)

    def add(self, data):
        self.records += data

    def add_trace(self, data, offset, reference, cpu, tid):
        """AUXTRACE. @cpu: -1: of one thread."""
        data += bytes(-len(data) % 8)
        self.index += struct.pack("<QQ", self.at + len(self.records), AUXTRACE_HEAD_BYTES)
        self.nr_traces += 1
        body = struct.pack("<QQQIIII", len(data), offset, reference, max(cpu, 0), tid & M32, cpu & M32, 0)
        self.records += struct.pack("<IHH", R_AUXTRACE, 0, AUXTRACE_HEAD_BYTES) + body + data

    def finish(self):
        features = dict(self.features)
        if self.nr_traces:
            features[F_AUXTRACE] = struct.pack("<Q", self.nr_traces) + self.index
        return perf_make.perf_data(self.events, bytes(self.records), features)


COMMON_FIELDS = (b"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                 b"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n")
SCHED_SWITCH_ID, KVM_ENTRY_ID, KVM_EXIT_ID = 316, 901, 902


def tracepoint_format(name, ident, fields, text_):
    return b"name: %s\nID: %d\nformat:\n" % (name, ident) + COMMON_FIELDS + fields + b"\nprint fmt: " + text_ + b"\n"


SCHED_SWITCH_FORMAT = tracepoint_format(b"sched_switch", SCHED_SWITCH_ID, b"""\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
""", b'"prev_pid=%d ==> next_pid=%d", REC->prev_pid, REC->next_pid')

# Of arm64, include/trace/events/kvm.h and arch/arm64/kvm/trace_arm.h.
KVM_FORMATS = (
    tracepoint_format(b"kvm_entry", KVM_ENTRY_ID, b"\tfield:unsigned long vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n", b'"PC: 0x%016lx", REC->vcpu_pc'),
    tracepoint_format(b"kvm_exit", KVM_EXIT_ID, b"""\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;
\tfield:unsigned int esr_ec;\toffset:12;\tsize:4;\tsigned:0;
\tfield:unsigned long vcpu_pc;\toffset:16;\tsize:8;\tsigned:0;
""", b'"ret %d EC: 0x%04x, PC: 0x%016lx", REC->ret, REC->esr_ec, REC->vcpu_pc'))


def sched_switch_raw(previous, next_, tick):
    return struct.pack("<HBBi16siiq16sii", SCHED_SWITCH_ID, 0, 0, previous.root_id, previous.comm_at(tick).encode()[:15], previous.root_id, 120, 0,
                       next_.comm_at(tick).encode()[:15], next_.root_id, 120)


def kvm_raw(is_entry, task, pc):
    head = struct.pack("<HBBi", KVM_ENTRY_ID if is_entry else KVM_EXIT_ID, 0, 0, task.root_id)
    return head + (struct.pack("<Q", pc) if is_entry else struct.pack("<iIQ", 1, 0, pc))


def tracing_data(has_sched, has_kvm):
    """The feature of that name with the formats of sched:sched_switch, of kvm:kvm_entry and kvm:kvm_exit."""
    def sized(name, data):
        return name + b"\0" + struct.pack("<Q", len(data)) + data

    def system(name, formats):
        return name + b"\0" + struct.pack("<I", len(formats)) + b"".join(struct.pack("<Q", len(f)) + f for f in formats)
    page = (b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
            b"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")
    head = b"\x17\x08\x44tracing" + b"0.6\0" + b"\0" + b"\x08" + struct.pack("<I", 4096)
    systems = ([system(b"sched", [SCHED_SWITCH_FORMAT])] if has_sched else []) + ([system(b"kvm", KVM_FORMATS)] if has_kvm else [])
    return (head + sized(b"header_page", page) + sized(b"header_event", b"# compressed entry header\n") + struct.pack("<II", 0, len(systems))
            + b"".join(systems) + struct.pack("<IIQ", 0, 0, 0))
