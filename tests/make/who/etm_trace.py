# SPDX-License-Identifier: LGPL-2.1-or-later
"""ETM trace of a host, CPU-wide: every segment of the model's stays executes some loops of its image."""
from etm_bytes import Unit, first_id, frames
from etm_code import KERNEL_CODE, USER_CODE, Core, kernel_image, user_image
from machine import KERNEL, USER
from truth import owner_columns

COLUMNS = ("cpu chunk n first last crc tick ns el machine vcpu kind root_pid root_tid rec_pid rec_tid comm serial gtid gcomm image").split()
LOOP_US, MAX_LOOPS = 40, 12


class Place:
    """What a segment executes: of which stay, at which level, in which guest or the host."""

    def __init__(self, stay, segment, host_el):
        self.stay, self.guest, self.guest_task = stay, segment.guest, segment.task
        self.task = segment.task if segment.guest else stay.task  # the owner of user code
        self.level = segment.level if self.task.image else KERNEL  # kernel threads have no user code
        self.el = 0 if self.level == USER else 1 if segment.guest else host_el


class Buffer:
    """Formatted trace of a CPU, as recording.py reads it. `runs`: (chunk, owner columns, Run)."""

    def __init__(self, key):
        self.key, self.data, self.chunks, self.runs = key, bytearray(), [], []


class Etm:
    def __init__(self, recorder, rng):
        self.recorder, self.opts, self.host, self.rng, self.us = recorder, recorder.opts, recorder.host, rng, recorder.us
        self.images, self.kernels = {}, {}
        for machine in (self.host, *self.host.guests):
            number = 0 if machine is self.host else machine.number + 1
            self.kernels[machine] = kernel_image(3 + 2 * number)
            for task in (t for t in machine.tasks if t.image):
                self.images[machine, task.image] = user_image(task.image + 7 * number)

    def buffers(self):
        return [Cpu(self, cpu).trace() for cpu in range(self.host.nr_cpus)]


class Cpu:
    """The trace unit of a CPU. `back`: where interrupted code continues."""

    def __init__(self, etm, cpu):
        self.etm, self.cpu, self.recorder, self.opts, self.us, self.rng = etm, cpu, etm.recorder, etm.opts, etm.us, etm.rng
        is_root = self.opts["recorder"] == "root"  # else the driver omits all ids
        is_el2 = self.opts["host_el"] == 2
        has_guest_ids = self.opts["guest_ctx"] and bool(etm.host.guests)
        self.unit = Unit(is_root and is_el2, is_root and (not is_el2 or has_guest_ids))
        self.core, self.buffer, self.back = Core(self.unit, self.note), Buffer(cpu), {}

    def note(self, owner, run):
        self.buffer.runs.append((len(self.buffer.chunks), owner, run))

    def trace(self):
        recorder, begin = self.recorder, self.recorder.enabled[self.cpu] + self.us
        previous, nr_segments = None, 0
        for stay, segment in ((s, g) for s in self.etm.host.cpus[self.cpu] for g in s.segments):
            if segment.end <= begin or segment.begin >= recorder.end:
                continue
            tick, place = max(segment.begin, begin), Place(stay, segment, self.opts["host_el"])
            if previous is None:
                recorder.record_itrace_start(begin, self.cpu, stay.task if begin >= stay.landing else stay.previous)
            if previous is None or nr_segments >= self.opts["etm_chunk"]:
                self.close(tick, previous)
                self.open(place, tick)
                nr_segments = 0
            else:
                self.move(previous, place, tick)
                if self.rng.random() < self.opts["etm_timestamps"]:
                    self.core.flush()
                    self.unit.time(tick)
            self.core.loops(min(MAX_LOOPS, 1 + (segment.end - tick) // (LOOP_US * self.us)))
            previous = place
            nr_segments += 1
        self.close(recorder.end + 2, previous)
        return self.buffer

    # Chunks.

    def open(self, place, tick):
        self.unit.begin()
        self.unit.time(tick)
        self.enter(place, is_resumed=place.level == USER)
        self.own(place, tick)

    def close(self, tick, place):
        self.core.own(None)
        self.core.flush()
        if place:
            begin = len(self.buffer.data)
            self.buffer.data += frames(bytes(self.unit.out), first_id(self.cpu))
            self.recorder.record_aux(tick, self.cpu, place.stay.task, begin, len(self.buffer.data) - begin, 0)
            self.buffer.chunks.append((tick, begin, len(self.buffer.data)))
        self.unit.out = bytearray()

    # From one segment to the next.

    def move(self, before, place, tick):
        if bool(before.guest) != bool(place.guest):
            (self.into_guest if place.guest else self.out_of_guest)(before, place, tick)
        elif before.level == KERNEL and place.level == KERNEL:
            self.switch(before, place, tick)
        elif place.level == USER and before.level == KERNEL:
            self.core.leave(False)
            self.own(place, tick)
            self.enter(place, is_resumed=True)
        elif place.level == KERNEL:
            self.back[self.key(before)] = self.core.interrupt(self.rng, self.rng.random() < 0.5)
            self.own(place, tick)
            self.enter(place)

    def switch(self, before, place, tick):
        """The kernel continues, perhaps for another thread: its id changes, then its stack."""
        if before.stay is place.stay and before.guest_task is place.guest_task:
            return
        self.core.loops(1)
        self.core.flush()
        self.unit.ids(place.el, *self.ids(place))
        self.own(place, tick)
        self.core.loops(1)
        self.core.switch_path()

    def into_guest(self, before, place, tick):
        if before.level == USER:
            self.back[self.key(before)] = self.core.interrupt(self.rng)
            self.enter_host(before, tick)
        self.core.leave(True)
        self.own(place, tick)
        self.enter(place, is_resumed=place.level == USER or self.key(place) in self.back)

    def out_of_guest(self, before, place, tick):
        """Always by an exception to the host's kernel."""
        self.back[self.key(before)] = self.core.interrupt(self.rng)
        self.enter_host(place, tick)
        if place.level == USER:
            self.core.leave(False)
            self.own(place, tick)
            self.enter(place, is_resumed=True)

    def enter_host(self, place, tick):
        """The host's kernel, for the thread of @place."""
        task, el = place.stay.task, self.opts["host_el"]
        self.core.own((tick, el, owner_columns(task, *self.recorder.ids(task), tick, None, None), "kernel"))
        self.core.enter(self.etm.kernels[self.etm.host], KERNEL_CODE, el, task.root_id, 0)

    def enter(self, place, is_resumed=False):
        if place.level == KERNEL:
            code, pc = self.etm.kernels[place.guest or self.etm.host], KERNEL_CODE
        else:
            code, pc = self.etm.images[place.guest or self.etm.host, place.task.image], USER_CODE
        self.core.enter(code, self.back.get(self.key(place), pc) if is_resumed else pc, place.el, *self.ids(place))

    def own(self, place, tick):
        task = place.stay.task
        owner = owner_columns(task, *self.recorder.ids(task), tick, place.guest, place.guest_task)
        self.core.own((tick, place.el, owner, place.task.image if place.level == USER else "kernel"))

    def key(self, place):
        """Code that continues where it was interrupted: of a thread; kernels continue anywhere."""
        return place.guest, place.task if place.level == USER else None

    def ids(self, place):
        """(vmid, cid)"""
        root_id = place.stay.task.root_id
        if self.opts["host_el"] == 1:
            return 0, root_id
        return root_id, place.guest_task.root_id if place.guest and self.opts["guest_ctx"] else 0


def truth_lines(recorder, buffers):
    """Runs of instructions with one owner at one level, per CPU in order."""
    yield "#" + "\t".join(COLUMNS) + "\n"
    for buffer in buffers:
        for chunk, (tick, el, owner, image), run in buffer.runs:
            columns = (buffer.key, chunk, run.nr_insns, f"{run.first:x}", f"{run.last:x}", f"{run.crc:08x}", tick, recorder.time(tick), el, *owner, image)
            yield "\t".join(map(str, columns)) + "\n"
