# SPDX-License-Identifier: LGPL-2.1-or-later
"""SPE trace of a host: which instructions are sampled, and in which chunks of AUX data they come."""
import struct

from machine import KERNEL
from perf_bytes import COLLISION, M56, PARTIAL, TRUNCATED
from recorder import IDLE_TEXT, IDLE_TEXT_BYTES, KERNEL_TEXT, USER_TEXT, USER_TEXT_BYTES
from spe_bytes import END, PAD, TIMESTAMP, parts_of

NR_GAPS = 4096
ALIGNMENT = 64
KERNEL_INSNS = 0x8000  # of code that is sampled; the idle function lies after it
IDLE_SHARE = 0.9  # of the idle task's records that lie in the idle function


class Stretch:
    """[begin, end) on a CPU with one owner at one level. `stay`: of the host thread; `following`: the next stay there, or None."""

    __slots__ = ("begin", "end", "cpu", "stay", "following", "level", "guest", "guest_task", "is_window")

    def __init__(self, span, cpu, stay, following, segment, is_window):
        (self.begin, self.end), self.cpu, self.stay, self.following, self.is_window = span, cpu, stay, following, is_window
        self.level, self.guest, self.guest_task = (segment.level, segment.guest, segment.task) if segment else (KERNEL, None, None)

    @property
    def is_idle(self):
        return self.stay.task.kind == "idle" and not self.is_window

    def el(self, host_el):
        return 0 if self.level != KERNEL else 1 if self.guest else host_el


def stretches(stays, cpu, end_tick):
    """All of a CPU, in order. The kernel code of a stay lasts until the next one's context is written."""
    for k, stay in enumerate(stays):
        following = stays[k + 1] if k + 1 < len(stays) else None
        out = following.out if following else end_tick
        for segment in stay.segments:
            begin = segment.begin
            if begin < stay.entry:  # the first one: it lasts beyond the entry
                yield Stretch((begin, stay.entry), cpu, stay, following, segment, True)
                begin = stay.entry
            yield Stretch((begin, segment.end), cpu, stay, following, segment, False)
        yield Stretch((stay.end, out), cpu, stay, following, None, False)
        if following:
            yield Stretch((out, following.context), cpu, stay, following, None, True)


class Buffer:
    """AUX data of one CPU (`key`) or of one thread (-1). `chunks`: (closing tick, from, to); `samples`: (stretch, offset, tick, in idle function)."""

    def __init__(self, recorder, key, cuts):
        self.recorder, self.key, self.cuts = recorder, key, cuts
        self.data, self.chunks, self.samples = bytearray(), [], []
        self.is_off = True
        self.since, self.limit = 0, 0
        self.begin_chunk()

    def begin_chunk(self):
        self.since = len(self.data)
        self.limit = self.since + self.cuts.randrange(*self.recorder.opts["chunk"])

    def align(self):
        """A chunk begins at a cache line."""
        self.data += PAD * (-len(self.data) % ALIGNMENT)

    def close(self, tick, cpu, task, flags=0):
        if len(self.data) > self.since or flags:
            self.recorder.record_aux(tick, cpu, task, self.since, len(self.data) - self.since, flags)
            self.chunks.append((tick, self.since, len(self.data)))
        self.begin_chunk()


class Spe:
    """Takes samples of a host into buffers. `rng`: what is sampled; `cuts`: where chunks end, so that other cuts leave the records as they are."""

    def __init__(self, recorder, rng, cuts):
        self.recorder, self.opts, self.us = recorder, recorder.opts, recorder.us
        self.rng, self.cuts = rng, cuts
        self.gaps = [max(1, int(rng.expovariate(1 / self.opts["spe_step"]))) for _ in range(NR_GAPS)]
        host_el = self.opts["host_el"]
        self.user, self.kernel = parts_of(0, USER_TEXT, USER_TEXT_BYTES // 4), parts_of(host_el, KERNEL_TEXT, KERNEL_INSNS)
        self.guest_kernel = parts_of(1, KERNEL_TEXT, KERNEL_INSNS)
        self.in_idle = [rng.random() < IDLE_SHARE for _ in self.kernel.pcs]
        idle = parts_of(host_el, IDLE_TEXT, IDLE_TEXT_BYTES // 4).pcs
        self.idle_pcs = [own if is_in else other for own, other, is_in in zip(idle, self.kernel.pcs, self.in_idle)]
        self.nowhere = [False] * len(self.in_idle)
        self.nr_taken = 0
        self.end_packet = self.timestamp if self.opts["timestamps"] else lambda tick: END

    @staticmethod
    def timestamp(tick):
        return struct.pack("<BQ", TIMESTAMP, tick & M56)

    def buffers(self):
        lanes = [[s for s in stretches(stays, c, self.recorder.end) if s.begin < s.end] for c, stays in enumerate(self.recorder.host.cpus)]
        if self.opts["mode"] == "cpu":
            return [self.of_cpu(c, lane) for c, lane in enumerate(lanes)]
        if self.opts["mode"] == "task":
            return [self.of_tasks(c, lane) for c, lane in enumerate(lanes)]
        return [self.of_tasks(-1, sorted((s for lane in lanes for s in lane), key=lambda s: s.begin))]

    def of_cpu(self, cpu, lane):
        """Of all that a CPU executes while it is online."""
        recorder, offline = self.recorder, self.recorder.host.offline
        buffer, tick, last = Buffer(recorder, cpu, self.cuts), recorder.enabled[cpu] + self.us, None
        spans = [(tick, recorder.end)]
        if offline and offline[0] == cpu:
            spans = [(tick, offline[1]), (offline[2] + self.us, recorder.end)]
        for begin, end in spans:
            tick, buffer.is_off = begin, True
            for stretch in (s for s in lane if s.end > begin and s.begin < end):
                tick, last = max(tick, stretch.begin), stretch
                while tick < min(stretch.end, end):
                    if buffer.is_off:
                        recorder.record_itrace_start(tick, cpu, self.current(stretch, tick))
                        buffer.is_off = False
                        tick += self.next_gap()
                        continue
                    tick = self.sample(buffer, stretch, tick, min(stretch.end, end))
            buffer.close(end - 1, cpu, last.stay.task)
        return buffer

    def next_gap(self):
        return self.gaps[self.nr_taken % NR_GAPS]

    @staticmethod
    def current(stretch, tick):
        """Of the kernel: it changes at the landing, after the context."""
        return stretch.stay.task if tick >= stretch.stay.landing else stretch.stay.previous

    def of_tasks(self, key, lane):
        """Of the tasks that the events follow: on between start and stop of each stay; every stop closes a chunk."""
        recorder = self.recorder
        buffer, tick, stay = Buffer(recorder, key, self.cuts), 0, None
        for stretch in lane:
            task, begin = stretch.stay.task, max(recorder.enabled[stretch.cpu] + self.us, stretch.stay.start)
            stop = min(stretch.following.stop, recorder.end) if stretch.following else recorder.end
            if not recorder.is_seen(task) or stretch.end <= begin or stretch.begin >= stop:
                continue
            if stretch.stay is not stay:
                recorder.record_itrace_start(begin, stretch.cpu, task)
                stay, tick = stretch.stay, begin + self.next_gap()
            tick = max(tick, stretch.begin)
            while tick < min(stretch.end, stop):
                tick = self.sample(buffer, stretch, tick, min(stretch.end, stop))
            if stretch.end >= stop:
                buffer.close(stop, stretch.cpu, task)
        return buffer

    # Records of one stretch.

    def sample(self, buffer, stretch, tick, end):
        """Records from @tick on. @return the tick to continue at: @end or later, unless data was lost."""
        if stretch.guest and not self.opts["spe_leak"]:
            return end
        (pcs, idle), operations = self.code_of(stretch), self.parts_of(stretch).with_contexts(self.contexts_of(stretch))
        data, samples, gaps, end_packet, truncate = buffer.data, buffer.samples, self.gaps, self.end_packet, self.opts["truncate"]
        n = self.nr_taken
        while tick < end:
            if len(data) == buffer.since:
                buffer.align()
            samples.append((stretch, len(data), tick, idle[n & 511]))
            data += pcs[n & 511] + operations[(n ^ n >> 9) & 511] + end_packet(tick)
            following = tick + gaps[n & 4095]
            n += 1
            if len(data) >= buffer.limit:
                following = max(following, self.interrupt(buffer, stretch, tick))
            tick = following
            if truncate and self.rng.random() < truncate and not stretch.is_window:
                tick = self.lose_data(buffer, stretch, samples[-1][2])
                break
        self.nr_taken = n
        return tick

    def code_of(self, stretch):
        """PC packets, and which of them lie in the idle function."""
        if stretch.is_idle:
            return self.idle_pcs, self.in_idle
        return self.parts_of(stretch).pcs, self.nowhere

    def parts_of(self, stretch):
        return self.user if stretch.level != KERNEL else self.guest_kernel if stretch.guest else self.kernel

    def contexts_of(self, stretch):
        opts, owner = self.opts, stretch.stay.task.root_id
        if not opts["ctx"] or opts["ctx_cpus"] is not None and stretch.cpu not in opts["ctx_cpus"]:
            return ()
        if not stretch.guest:
            return ((opts["host_el"] - 1, owner),)
        return ((1, owner), (0, stretch.guest_task.root_id)) if opts["guest_ctx"] else ((1, owner),)

    def interrupt(self, buffer, stretch, tick):
        """The buffer is full enough: an interrupt closes a chunk. @return the first tick after it"""
        closed = tick + self.cuts.randrange(1, 4)
        if not stretch.is_window and closed < stretch.end:
            buffer.close(closed, stretch.cpu, stretch.stay.task, COLLISION if self.cuts.random() < 0.1 else 0)
        return closed + 1

    def lose_data(self, buffer, stretch, tick):
        """A cut record, then nothing until the reader has made room. @return when trace begins again"""
        whole = self.kernel.pcs[0] + self.kernel.ops[0][0]
        if len(buffer.data) == buffer.since:
            buffer.align()
        buffer.data += whole[:self.rng.randrange(1, len(whole))]
        buffer.close(tick + 4, stretch.cpu, stretch.stay.task, TRUNCATED | PARTIAL)
        buffer.is_off = True
        return tick + self.rng.randrange(30, 400) * self.us
