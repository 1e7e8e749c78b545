# SPDX-License-Identifier: LGPL-2.1-or-later
"""The truth file of an SPE recording: a line per record with its true owner, and what the recording holds as evidence.

evidence: ctx, aux, queue, switch, kvm (these must be answered; kvm: samples of kvm_entry and kvm_exit around it), or why nothing can be known: zero
(id 0, kernel code: idle or outside), window (inside a switch), lost, no-clock, world (host or guest), none."""

COLUMNS = ("buffer cpu offset tick ns el machine vcpu kind root_pid root_tid rec_pid rec_tid comm serial gtid gcomm evidence").split()
INTEGERS = ("buffer", "cpu", "offset", "tick", "ns", "el", "root_pid", "root_tid", "rec_pid", "rec_tid")
ANSWERABLE = ("ctx", "aux", "queue", "switch", "kvm")


def owner_columns(task, pid, tid, tick, guest, guest_task):
    """machine to gcomm."""
    kind = "idle" if task.kind == "idle" else "outside" if tid == 0 else "task"
    machine, vcpu = (guest.name, task.vcpu) if guest else ("host", "-")
    inside = (guest_task.root_id, guest_task.comm_at(tick)) if guest else ("-", "-")
    return machine, vcpu, kind, task.leader.root_id, task.root_id, pid, tid, task.comm_at(tick), task.serial, *inside


class Truth:
    def __init__(self, recorder):
        self.recorder, self.opts = recorder, recorder.opts

    def stretch_evidence(self, stretch):
        """Of all records of a stretch that lies in no hole; "zero" unless the code is the idle function."""
        opts, task = self.opts, stretch.stay.task
        if opts["spe_leak"] and not opts["guest_ctx"] and stretch.el(2) == 0 and task.kind == "vcpu":
            return "world"
        if opts["ctx"] and (opts["ctx_cpus"] is None or stretch.cpu in opts["ctx_cpus"]):
            return "ctx"
        if opts["mode"] != "cpu":
            return "queue" if opts["mode"] == "thread" else "aux"
        if not opts["switches"] and not opts["tracepoint"]:
            return "none"
        if not opts["time_conv"] or opts["use_clockid"]:
            return "no-clock"
        if stretch.is_window or not opts["switches"]:
            return "window"
        return "zero" if self.is_zero(stretch) else "switch"

    def is_zero(self, stretch):
        """Is the id 0, with no proof what that means?"""
        opts, task = self.opts, stretch.stay.task
        is_root_known = opts["ns_records"] and opts["recorder"] == "root"
        can_be_either = stretch.el(2) and (not stretch.following or stretch.following.was_runnable)
        return task.id_in(self.recorder.space) == 0 and can_be_either and not opts["tracepoint"] and not is_root_known

    def lines(self, buffers):
        yield "#" + "\t".join(COLUMNS) + "\n"
        for buffer in buffers:
            yield from self.buffer_lines(buffer)

    def buffer_lines(self, buffer):
        recorder, opts, last, until, head, tail, evidence = self.recorder, self.opts, None, 0, "", "", ""
        is_lossy = opts["losses"] and not opts["ctx"] and opts["mode"] == "cpu"
        for stretch, offset, tick, is_in_idle in buffer.samples:
            if stretch is not last or tick >= until:
                task = stretch.stay.task
                last, until = stretch, task.next_name_at(tick)
                owner = owner_columns(task, *recorder.ids(task), tick, stretch.guest, stretch.guest_task)
                head = f"{buffer.key}\t{stretch.cpu}\t"
                tail = "\t" + "\t".join(map(str, (stretch.el(opts["host_el"]), *owner))) + "\t"
                evidence = self.stretch_evidence(stretch)
            why = "switch" if evidence == "zero" and is_in_idle else evidence
            if opts["kvm"] and evidence in ("world", "none"):
                world = recorder.kvm_world(stretch.cpu, tick)
                why = "kvm" if world == "guest" or world and evidence == "world" else evidence
            if is_lossy and any(a <= tick <= b for a, b in recorder.holes[stretch.cpu]) and evidence in ("switch", "zero", "window"):
                why = "lost"
            yield f"{head}{offset}\t{tick}\t{recorder.time(tick)}{tail}{why}\n"


def read_truth(path):
    """Lines of a truth file as dicts."""
    with open(path, encoding="utf-8") as file:
        names = file.readline()[1:].split()
        for line in file:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            row.update((k, int(row[k])) for k in INTEGERS if k in row)
            yield row
