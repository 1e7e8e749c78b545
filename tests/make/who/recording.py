# SPDX-License-Identifier: LGPL-2.1-or-later
"""The file of a recording: rings and AUX buffers are read in rounds, one CPU after the other, as perf record does."""
import struct

from perf_bytes import F_ARCH, F_CPUID, F_NRCPUS, F_TRACING_DATA, F_VERSION, M32, R_FINISHED_ROUND, File, feature_text, record, tracing_data

CPUID = b"0x00000000410fd490"  # Neoverse N2
LAG_US = 7  # between the readings of two rings in a round


def features(nr_cpus):
    return {F_ARCH: feature_text(b"aarch64"), F_NRCPUS: struct.pack("<II", nr_cpus, nr_cpus), F_VERSION: feature_text(b"7.3.0"),
            F_CPUID: feature_text(CPUID)}


class Reader:
    """Where the reading of a ring and its AUX buffer (or None) stands."""

    def __init__(self, ring, buffer):
        ring.sort()
        self.ring, self.buffer, self.nr_read, self.read_to = ring.records, buffer, 0, 0

    def read_ring(self, file, tick):
        while self.nr_read < len(self.ring) and self.ring[self.nr_read][0] <= tick:
            file.add(self.ring[self.nr_read][2])
            self.nr_read += 1

    def read_trace(self, file, tick, rng, tid):
        if not self.buffer:
            return
        to = max((to for closed, _, to in self.buffer.chunks if closed <= tick), default=0)
        if to > self.read_to:
            file.add_trace(bytes(self.buffer.data[self.read_to:to]), self.read_to, rng.getrandbits(63), self.buffer.key, tid)
            self.read_to = to


def write(recorder, buffers, rng, auxtrace_info):
    """@return the bytes of the file. @rng: when rings are read; option `order`: a generator of another order within the rounds."""
    opts, us, order = recorder.opts, recorder.us, recorder.opts["order"]
    more = {F_TRACING_DATA: tracing_data(recorder.has_tracepoint, opts["kvm"])} if recorder.has_tracepoint or opts["kvm"] else {}
    file = File(recorder.events, {**features(recorder.host.nr_cpus), **more})
    if opts["time_conv"]:
        file.add(recorder.clock.record())
    file.add(auxtrace_info)
    for data in recorder.made_up():
        file.add(data)
    by_key = {buffer.key: buffer for buffer in buffers}
    readers = [Reader(ring, by_key.get(cpu if recorder.is_timed else cpu - 1)) for cpu, ring in enumerate(recorder.rings)]
    tid = M32 if recorder.is_timed else recorder.ids(next(iter(recorder.targets)))[1]
    tick, end = recorder.begin, recorder.end + 50 * us
    while tick < end:
        tick += rng.randrange(*opts["round"]) * us
        if tick >= end:
            tick = 1 << 64
        for cpu, reader in in_order(readers, order):
            lag = rng.randrange(2 * opts["round"][1]) * us if opts["late"] and cpu % 2 and tick < end else 0
            ring_to, trace_to = tick + cpu * LAG_US * us - lag, tick + (0 if opts["late"] else cpu * LAG_US * us)
            is_trace_first = order is not None and order.random() < 0.5
            if is_trace_first:
                reader.read_trace(file, trace_to, rng, tid)
            reader.read_ring(file, ring_to)
            if not is_trace_first:
                reader.read_trace(file, trace_to, rng, tid)
        file.add(record(R_FINISHED_ROUND, 0, b""))
    return file.finish()


def in_order(readers, order):
    out = list(enumerate(readers))
    if order is not None:
        order.shuffle(out)
    return out
