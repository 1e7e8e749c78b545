# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings made inside guests, of switches, names and mappings, and the truth for merging them: the offset of each guest's clock."""
import random
import struct

from perf_bytes import (A_CONTEXT_SWITCH, A_COMM, A_DISABLED, A_SAMPLE_ID_ALL, A_TASK, CPU, IDENTIFIER, IP, M64, MISC_KERNEL, MISC_OUT, MISC_PREEMPT,
                        MISC_USER, R_COMM, R_FINISHED_ROUND, R_MMAP, R_SAMPLE, R_SWITCH_CPU_WIDE, TID, TIME, Clock, Event, File, record, text)
from recorder import DUMMY, KERNEL_TEXT, KERNEL_TEXT_BYTES, SIDEBAND_ID, SOFTWARE, USER_TEXT, USER_TEXT_BYTES
from recording import features

COLUMNS = "guest vmmpid offset drift_ppm unit"
CPU_CLOCK, SAMPLE_NS, SAMPLE_ID = 0, 1_000_000, 5000
DRIFTS_PPM = (-120, -37, 18, 150)


class GuestRecording:
    """`data`: the file; `row`: guest, pid of its host process, host clock - guest clock, drift, unit of the offset; `cpus`: per virtual CPU the host's
    CPU of each sample."""

    def __init__(self, recorder, guest, rng, drifts):
        self.guest, self.rng = guest, rng
        self.ppm = rng.choice(DRIFTS_PPM) if drifts else 0
        self.clock = Clock(recorder.opts["freq"], rng.randrange(10**9))
        slack = (recorder.end - recorder.begin) // 8
        self.begin, self.end = recorder.begin + rng.randrange(slack), recorder.end - rng.randrange(slack)
        flags = A_DISABLED | A_SAMPLE_ID_ALL | A_COMM | A_TASK | A_CONTEXT_SWITCH
        self.event = Event(SOFTWARE, (DUMMY, 0, 0), 1, TID | TIME | CPU | IDENTIFIER, flags, [SIDEBAND_ID + v for v in range(guest.nr_cpus)])
        switches = sorted((s for s in guest.switches if self.begin <= s[0] < self.end), key=lambda s: s[0])
        self.samples = sorted(self.take_samples(recorder.host), key=lambda s: s[0]) if recorder.opts["guest_samples"] else []
        self.sampling = Event(SOFTWARE, (CPU_CLOCK, 0, 0), SAMPLE_NS, IP | TID | TIME | CPU | IDENTIFIER, A_DISABLED | A_SAMPLE_ID_ALL,
                              [SAMPLE_ID + v for v in range(guest.nr_cpus)])
        self.data = self.file(switches)
        self.cpus = [[cpu for _, vcpu, _, cpu in self.samples if vcpu == v] for v in range(guest.nr_cpus)]
        offset, unit = guest.offset, "ticks"
        if drifts:
            first = next((tick for tick, _, previous, _, _ in switches if previous.kind == "idle"), self.begin)
            offset, unit = recorder.clock.ns(first) - self.ns(first), "ns"
        self.row = f"{guest.number} {guest.vmm.id_in(recorder.space)} {offset} {-self.ppm} {unit}\n"

    def ns(self, tick):
        """perf's time in the guest."""
        ns = self.clock.ns(tick - self.guest.offset)
        return ns + ns * self.ppm // 1_000_000

    def file(self, switches):
        file = File([self.event] + ([self.sampling] if self.samples else []), features(self.guest.nr_cpus))
        if not self.ppm:
            file.add(self.clock.record())
        none = self.event.trailer(0, 0, 0, 0)
        file.add(record(R_MMAP, MISC_KERNEL, struct.pack("<iIQQQ", -1, 0, KERNEL_TEXT, KERNEL_TEXT_BYTES, KERNEL_TEXT)
                        + text("[kernel.kallsyms]_text") + none))
        for task in self.guest.tasks:
            ids = struct.pack("<II", task.root_id, task.root_id)
            file.add(record(R_COMM, 0, ids + text(task.comm_at(0)) + none))
            if task.image:
                file.add(record(R_MMAP, MISC_USER, ids + struct.pack("<QQQ", USER_TEXT, USER_TEXT_BYTES, 0) + text(f"/bin/image{task.image}") + none))
        for tick, vcpu, task, _ in self.samples:
            file.add(self.sample(tick, vcpu, task))
        for tick, vcpu, previous, following, is_runnable in switches:
            misc = MISC_OUT | (MISC_PREEMPT if is_runnable else 0)
            file.add(self.switch(misc, previous, following, tick, vcpu))
            file.add(self.switch(0, following, previous, tick + self.rng.randrange(3, 20), vcpu))
        file.add(record(R_FINISHED_ROUND, 0, b""))
        return file.finish()

    def take_samples(self, host):
        """(tick, vcpu, task, the host's CPU): at random, and close to entries and exits, where the thread may be about to move."""
        rng = random.Random(f"samples/{self.begin}/{self.guest.number}")
        for cpu, stay in ((c, s) for c, stays in enumerate(host.cpus) for s in stays if s.task.guest is self.guest):
            own = [s for s in stay.segments if s.guest]
            for segment in own[:1] + own[-1:] + [s for s in own[1:-1] if rng.random() < 0.1]:
                tick = rng.randrange(segment.begin, segment.end)
                if self.begin <= tick < self.end:
                    yield tick, stay.task.vcpu, segment.task, cpu

    def sample(self, tick, vcpu, task):
        body = struct.pack("<QQIIQII", SAMPLE_ID + vcpu, KERNEL_TEXT, task.root_id, task.root_id, self.ns(tick) & M64, vcpu, 0)
        return record(R_SAMPLE, MISC_KERNEL, body)

    def switch(self, misc, task, other, tick, vcpu):
        trailer = self.event.trailer(task.root_id, task.root_id, self.ns(tick) & M64, vcpu)
        return record(R_SWITCH_CPU_WIDE, misc, struct.pack("<II", other.root_id, other.root_id) + trailer)
