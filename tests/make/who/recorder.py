# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a recorder sees of a host: a ring of sideband records per CPU as the kernel writes them, and records made up from /proc at the start."""
import bisect
import random
import struct

from perf_bytes import (A_CONTEXT_SWITCH, A_COMM, A_DISABLED, A_INHERIT, A_MMAP, A_MMAP2, A_NAMESPACES, A_SAMPLE_ID_ALL, A_TASK, A_USE_CLOCKID, CPU,
                        IDENTIFIER, IP, KVM_ENTRY_ID, KVM_EXIT_ID, M56, MISC_EXEC, MISC_KERNEL, MISC_OUT, MISC_PREEMPT, MISC_USER, PERIOD, R_AUX, R_COMM, R_EXIT,
                        R_FORK, R_ITRACE_START, R_LOST, R_MMAP, R_NAMESPACES, R_SAMPLE, R_SWITCH, R_SWITCH_CPU_WIDE, RAW, SCHED_SWITCH_ID, TID,
                        TIME, Event, kvm_raw, record, sched_switch_raw, text)

KERNEL_TEXT, KERNEL_TEXT_BYTES = 0xffff800080000000, 0x100000
IDLE_TEXT, IDLE_TEXT_BYTES = KERNEL_TEXT + 0x40000, 0x100
USER_TEXT, USER_TEXT_BYTES = 0x400000, 0x10000
AUX_ID, SIDEBAND_ID, TRACEPOINT_ID, KVM_ID = 1000, 2000, 3000, 4000  # KVM_ID: of both events, in turn
SOFTWARE, TRACEPOINT, DUMMY = 1, 2, 9
FIRST_UNRELATED = 1 << 21  # ids no task of the model has


class Ring:
    """Records of one CPU. Those of one tick keep the order in which they were added."""

    def __init__(self):
        self.records = []  # (tick, order, bytes)

    def add(self, tick, data):
        self.records.append((tick, len(self.records), data))

    def sort(self):
        self.records.sort(key=lambda r: r[:2])


class Recorder:
    """`space`: the PID namespace of the recorder; `targets`: the tasks its events follow, None: whole CPUs; `time(tick)`: perf's ns."""

    def __init__(self, host, opts, clock):
        self.host, self.opts, self.clock, self.us = host, opts, clock, host.us
        self.space = host.containers[0] if opts["recorder"] == "container" else host.root
        span = host.end - host.begin
        self.begin, self.end = host.begin + span // 10, host.end - span // 20
        self.enabled = [self.begin + 3 * self.us * c for c in range(host.nr_cpus)]
        self.is_timed = opts["mode"] != "thread"
        self.rings = [Ring() for _ in range(host.nr_cpus)]
        self.holes = [[] for _ in range(host.nr_cpus)]  # per CPU: (tick before, tick after)
        self.kvm_ticks = [[] for _ in range(host.nr_cpus)]  # per CPU: (tick, is it an entry) of samples of kvm_entry and kvm_exit, lost or not
        self.targets = None if opts["mode"] == "cpu" else self.pick_targets()
        self.open_events()

    def open_events(self):
        opts, cpus = self.opts, range(self.host.nr_cpus if self.is_timed else 1)
        common = A_SAMPLE_ID_ALL | (A_INHERIT if self.targets is not None else 0)
        sample = IP | TID | IDENTIFIER | (TIME | CPU if self.is_timed else 0)
        flags = common | A_MMAP | A_COMM | A_TASK | A_MMAP2
        flags |= A_CONTEXT_SWITCH if opts["switches"] else 0
        flags |= A_NAMESPACES if opts["ns_records"] else 0
        flags |= A_USE_CLOCKID if opts["use_clockid"] else 0
        self.aux_event = Event(opts["pmu"], opts["aux_config"], opts["period"], sample, common | A_DISABLED, [AUX_ID + c for c in cpus])
        self.sideband = Event(SOFTWARE, (DUMMY, 0, 0), 1, sample, flags, [SIDEBAND_ID + c for c in cpus])
        self.tracepoint = self.tracepoint_event(SCHED_SWITCH_ID, [TRACEPOINT_ID + c for c in cpus], common)
        self.kvm_events = [self.tracepoint_event(config, [KVM_ID + 2 * c + n for c in cpus], common)
                           for n, config in enumerate((KVM_ENTRY_ID, KVM_EXIT_ID)) if opts["kvm"]]
        self.events = [self.aux_event, self.sideband] + ([self.tracepoint] if self.has_tracepoint else []) + self.kvm_events

    @staticmethod
    def tracepoint_event(config, idents, flags):
        return Event(TRACEPOINT, (config, 0, 0), 1, IP | TID | TIME | CPU | PERIOD | RAW | IDENTIFIER, flags, idents)

    @property
    def has_tracepoint(self):
        return self.opts["tracepoint"] and self.targets is None

    def pick_targets(self):
        """The process that runs longest, of those that are there at the start, and all it forks; thread mode: its leader alone."""
        time = {}
        for stay in (s for stays in self.host.cpus for s in stays if self.begin < s.entry < self.end):
            leader = stay.task.leader
            if leader.kind == "user" and leader.born is None and leader.id_in(self.space) > 0:
                time[leader] = time.get(leader, 0) + stay.end - stay.entry
        top = max(time, key=lambda t: (time[t], -t.serial))
        if self.opts["mode"] == "thread":
            return {top}
        out = {t for t in self.host.tasks if t.leader is top}
        for task in self.host.tasks:
            parent = task.parent
            while parent and parent not in out:
                parent = parent.parent
            if parent:
                out.add(task)
        return out

    def is_seen(self, task):
        return self.targets is None or task in self.targets

    def time(self, tick):
        return self.clock.ns(tick & M56 if self.clock.mask else tick)

    def ids(self, task, tick=None, space=None):
        """(pid, tid) of a task as the recorder's namespace has them; both -1 once it is released."""
        tid = task.id_in(space or self.space, tick)
        return (-1 if tid == -1 else task.leader.id_in(space or self.space, tick)), tid

    def trailer(self, event, task, tick, cpu):
        return event.trailer(*self.ids(task, tick), self.time(tick), cpu if self.is_timed else 0)

    def ring(self, cpu):
        """A recording of one thread has one ring."""
        return self.rings[cpu if self.is_timed else 0]

    # What the kernel writes.

    def record_sideband(self):
        for cpu, stays in enumerate(self.host.cpus):
            for stay in stays[1:]:
                self.record_switch(stay, cpu)
            if self.opts["kvm"]:
                self.record_kvm(cpu, stays)
        for tick, cpu, kind, task in self.host.events:
            if self.enabled[cpu] <= tick < self.end and self.is_seen(task):
                self.record_life(tick, cpu, kind, task)
        if self.host.offline:
            cpu, begin, end = self.host.offline
            self.rings[cpu].records = [r for r in self.rings[cpu].records if not begin <= r[0] < end]

    def record_switch(self, stay, cpu):
        begin = self.enabled[cpu]
        if self.has_tracepoint and begin <= stay.tracepoint < self.end:
            self.ring(cpu).add(stay.tracepoint, self.sched_switch(stay, cpu))
        if not self.opts["switches"] or not self.is_timed:
            return
        if begin <= stay.out < self.end and self.is_seen(stay.previous):
            misc = MISC_OUT | (MISC_PREEMPT if stay.was_runnable else 0)
            self.ring(cpu).add(stay.out, self.switch(misc, stay.previous, stay.task, stay.out, cpu))
        if begin <= stay.entry < self.end and self.is_seen(stay.task):
            self.ring(cpu).add(stay.entry, self.switch(0, stay.task, stay.previous, stay.entry, cpu))

    def switch(self, misc, task, other, tick, cpu):
        trailer = self.trailer(self.sideband, task, tick, cpu)
        if self.targets is not None:
            return record(R_SWITCH, misc, trailer)
        return record(R_SWITCH_CPU_WIDE, misc, struct.pack("<ii", *self.ids(other, tick)) + trailer)

    def sched_switch(self, stay, cpu):
        return self.sample(TRACEPOINT_ID + cpu, stay.previous, stay.tracepoint, cpu, sched_switch_raw(stay.previous, stay.task, stay.tracepoint))

    def sample(self, ident, task, tick, cpu, raw):
        raw += bytes(-(4 + len(raw)) % 8)
        body = struct.pack("<QQiiQIIQI", ident, KERNEL_TEXT + 0x1000, *self.ids(task, tick), self.time(tick), cpu, 0, 1, len(raw))
        return record(R_SAMPLE, MISC_KERNEL, body + raw)

    def record_kvm(self, cpu, stays):
        """Both tracepoints are hit in the host's kernel: before the guest runs, and after it has run. Some exits are handled in between. The two
        events are enabled and disabled one after the other."""
        rng = random.Random(f"kvm/{self.begin}/{cpu}")
        spans = [[self.enabled[cpu] + rng.randrange(self.us), self.end - rng.randrange(self.us)] for _ in range(2)]
        for stay, entry, leave in (visit for stay in stays for visit in self.visits(stay, rng)):
            for n, tick in enumerate((entry, leave)):
                if spans[n][0] <= tick < spans[n][1]:
                    self.kvm_ticks[cpu].append((tick, n == 0))
                    self.ring(cpu).add(tick, self.sample(KVM_ID + 2 * cpu + n, stay.task, tick, cpu, kvm_raw(n == 0, stay.task, KERNEL_TEXT)))

    def visits(self, stay, rng):
        """(stay, tick of kvm_entry, tick of kvm_exit) of each time that KVM enters the guest in @stay."""
        segments, entry = stay.segments, None
        for k, segment in enumerate(segments[1:], 1):
            before = segments[k - 1]
            if segment.guest and not before.guest and entry is None:
                entry = before.end - rng.randrange(1 + min(self.us, before.end - max(before.begin, stay.entry)) // 2)
            elif before.guest and not segment.guest:
                follows = segments[k + 1] if k + 1 < len(segments) else None
                if follows and follows.guest and rng.random() < 0.3:
                    continue  # the hypervisor's own code goes back at once
                yield stay, entry, segment.begin + rng.randrange(1 + min(self.us, segment.end - segment.begin) // 2)
                entry = None

    def record_life(self, tick, cpu, kind, task):
        ring = self.ring(cpu)
        if kind in ("fork", "exit"):
            who = task.parent if kind == "fork" else task
            (pid, tid), (ppid, ptid) = self.raw_ids(task, tick), self.raw_ids(task.parent if kind == "fork" else task.leader, tick)
            body = struct.pack("<iiiiQ", pid, ppid, tid, ptid, self.time(tick))
            ring.add(tick, record(R_FORK if kind == "fork" else R_EXIT, 0, body + self.trailer(self.sideband, who, tick, cpu)))
        elif kind == "exec":
            body = struct.pack("<ii", *self.ids(task, tick)) + text(task.comm_at(tick))
            ring.add(tick, record(R_COMM, MISC_EXEC, body + self.trailer(self.sideband, task, tick, cpu)))
            ring.add(tick + 1, self.mmap(task, tick + 1, self.trailer(self.sideband, task, tick + 1, cpu)))
        elif self.opts["ns_records"]:
            ring.add(tick, self.namespaces(task, tick, self.trailer(self.sideband, task.parent, tick, cpu)))

    def raw_ids(self, task, tick):
        """As FORK and EXIT hold them: a process may be gone while its thread is not."""
        return task.leader.id_in(self.space, tick), task.id_in(self.space, tick)

    def mmap(self, task, tick, trailer, space=None):
        body = struct.pack("<iiQQQ", *self.ids(task, tick, space), USER_TEXT, USER_TEXT_BYTES, 0) + text(f"/bin/image{task.image or 0}")
        return record(R_MMAP, MISC_USER, body + trailer)

    def namespaces(self, task, tick, trailer, space=None):
        links = (0xF0000000, 0xEFFFFFFE, 0xEFFFFFFF, task.space.inode, 0xEFFFFFFD, 0xF0000001, 0xEFFFFFFB)
        body = struct.pack("<iiQ", *self.ids(task, tick, space), len(links)) + b"".join(struct.pack("<QQ", 4, inode) for inode in links)
        return record(R_NAMESPACES, 0, body + trailer)

    def record_aux(self, tick, cpu, task, offset, size, flags):
        body = struct.pack("<QQQ", offset, size, flags)
        self.ring(cpu).add(tick, record(R_AUX, 0, body + self.trailer(self.aux_event, task, tick, cpu)))

    def record_itrace_start(self, tick, cpu, task):
        body = struct.pack("<ii", *self.ids(task, tick))
        self.ring(cpu).add(tick, record(R_ITRACE_START, 0, body + self.trailer(self.aux_event, task, tick, cpu)))

    def kvm_world(self, cpu, tick):
        """"guest" between an entry and its exit, "host" between an exit and the next entry, if nothing between them was lost; else None."""
        ticks = self.kvm_ticks[cpu]
        k = bisect.bisect_left(ticks, (tick, False))
        if not 0 < k < len(ticks) or ticks[k][0] == tick or ticks[k - 1][1] == ticks[k][1]:
            return None
        since, to = ticks[k - 1][0], ticks[k][0]
        is_whole = not any(a <= to and b >= since for a, b in self.holes[cpu])
        return ("guest" if ticks[k - 1][1] else "host") if is_whole else None

    # What the recorder makes up.

    def made_up(self):
        """From /proc: time 0, ids of the namespace that mounted it: the recorder's, or the initial one (host_proc)."""
        space = self.host.root if self.opts["host_proc"] else self.space
        none = self.sideband.trailer(0, 0, 0, 0)
        kernel = struct.pack("<iIQQQ", -1, 0, KERNEL_TEXT, KERNEL_TEXT_BYTES, KERNEL_TEXT) + text("[kernel.kallsyms]_text")
        yield record(R_MMAP, MISC_KERNEL, kernel + none)
        for task in sorted(self.host.tasks, key=lambda t: t.serial):
            if not self.is_in_proc(task, space):
                continue
            if self.opts["ns_records"]:
                yield self.namespaces(task, None, none, space)
            yield record(R_COMM, 0, struct.pack("<ii", *self.ids(task, None, space)) + text(task.comm_at(self.begin)) + none)
            if task.kind != "kthread" and task.leader is task:
                yield self.mmap(task, None, none, space)
        for n in range(self.opts["unrelated"]):
            number = FIRST_UNRELATED + n
            yield record(R_COMM, 0, struct.pack("<ii", number, number) + text(f"unrelated-{n}") + none)

    def is_in_proc(self, task, space):
        if not self.is_seen(task) or task.id_in(space) <= 0 or task.born is not None and task.born >= self.begin:
            return False
        return task.exit is None or task.exit >= self.begin

    # Loss.

    def lose(self, rng):
        """Full rings: all records of a span are gone, LOST stands before the next."""
        for cpu, ring in enumerate(self.rings):
            ring.sort()
            for _ in range(self.opts["losses"]):
                if len(ring.records) >= 30:
                    self.lose_span(ring, cpu, rng.randrange(5, len(ring.records) - 15), rng.randrange(1, 12))

    def lose_span(self, ring, cpu, first, nr):
        before, after = ring.records[first - 1][0], ring.records[first + nr][0]
        body = struct.pack("<QQ", SIDEBAND_ID + cpu, nr) + self.sideband.trailer(0, 0, self.time(after), cpu)
        ring.records[first:first + nr] = [(after, -1, record(R_LOST, 0, body))]
        self.holes[cpu].append((before, after))
