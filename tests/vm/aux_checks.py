# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a recording of softaux has to hold, by the sequence numbers in it. Each check takes a Given and returns what is wrong, [text]."""
import json
import os
import re
import struct
import subprocess

from aux_file import R_HW_ID, R_AUXTRACE_INFO, R_COMM, R_MMAP2, R_SAMPLE, SA_BYTES, SA_START, SA_STOP, TRUNCATED, AuxFile, soft_records

MS = 10**6
ALL_ONES = 0xffffffff
SAMPLE_AUX = 1 << 20
KERNEL_COMPLAINT = re.compile(r"WARNING:|BUG:|Oops|refcount_t|general protection|soft lockup")


class Given:
    """What a row has left: @file() its recordings, @text() what was printed."""

    def __init__(self, folder, row, clew, perfs):
        self.folder, self.row, self.clew, self.perfs = folder, row, clew, perfs
        self.parsed = {}
        self.notes = []

    def path(self, name="a.data"):
        return os.path.join(self.folder, name)

    def names(self):
        return sorted(n for n in os.listdir(self.folder) if ".data" in n)

    def file(self, name="a.data"):
        if name not in self.parsed:
            self.parsed[name] = AuxFile(self.path(name))
        return self.parsed[name]

    def text(self, name="log"):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def option(self, name, default):
        m = re.search(rf"\b{name}=(\w+)", self.row.module)
        return int(m.group(1), 0) if m else default

    def report(self, name, form):
        """What `clew report` says of a recording: @form is --stats or --json."""
        return subprocess.run([self.clew, "report", form, "-i", self.path(name)], capture_output=True, text=True, errors="replace", check=False,
                              stdin=subprocess.DEVNULL)

    def stats(self, name="a.data"):
        return self.report(name, "--stats").stdout

    def summary(self):
        return json.loads(self.report("a.data", "--json").stdout or "{}").get("summary", {})

    def stride(self):
        return self.option("stride", SA_BYTES)

    def soft(self, name="a.data"):
        """All records of the payload by time."""
        found = []
        for traces in self.file(name).buffers().values():
            found += [s for _, s in soft_records(b"".join(t.data for t in traces), self.stride())[0]]
        return sorted(found, key=lambda s: s.time)


# --- of every row ---

def ended(g):
    """As the row's script asked."""
    status = g.text("status").strip()
    return [] if status == "0" else [f"status {status or 'missing'} of the row's script"] + g.text().splitlines()[-12:]


def nothing_left(g):
    """A41, A7: no event and no mapping is left, and the kernel has not complained."""
    said = g.text("left").strip()
    wrong = [f"rmmod: {said}"] if said else []
    return wrong + [line for line in g.text("kernel").splitlines() if KERNEL_COMPLAINT.search(line)][:5]


# --- full mode ---

def has_trace(g):
    n = len(g.soft())
    g.notes.append(f"{n} records of softaux, {len(g.file().traces)} AUXTRACE, {len(g.file().aux_records())} AUX, {g.file().lost()} lost")
    return [] if n > 50 else [f"only {n} records of softaux"]


class Joined:
    """The files of one recording, one after the other."""

    def __init__(self, g):
        self.files = [g.file(name) for name in g.names()]

    def buffers(self):
        found = {}
        for f in self.files:
            for idx, traces in f.buffers().items():
                found.setdefault(idx, []).extend(traces)
        return found


def contiguous(g, file=None):
    """A11: each byte once and in order: offsets follow each other, and so do sequence numbers, from 0."""
    wrong = []
    for idx, traces in (file or g.file()).buffers().items():
        at = 0
        for t in traces:
            if t.offset != at:
                wrong.append(f"buffer {idx}: offset {t.offset}, not {at}")
            at = t.offset + t.size
        good, bad = soft_records(b"".join(t.data for t in traces), g.stride())
        wrong += [f"buffer {idx}: no record at {pos}" for pos in bad[:3]]
        seqs = [s.seq for _, s in good]
        begins = [n for n, seq in enumerate(seqs) if seq == 0]  # each event counts from 0; a second one is there where a CPU came back
        if len(begins) > 1 + g.row.restarts or (begins and len({good[n][1].id for n in begins}) != len(begins)):
            wrong.append(f"buffer {idx}: begins {len(begins)} times")
        begin = 0
        for n, seq in enumerate(seqs):
            begin = n if seq == 0 else begin
            if seq != n - begin and len(wrong) < 6:
                wrong.append(f"buffer {idx}: sequence number {seq}, not {n - begin}")
    return wrong


def contiguous_across(g):
    """A45: no byte is lost between files, and none is in two."""
    files = Joined(g)
    with_trace = sum(bool(f.traces) for f in files.files)
    g.notes.append(f"{len(files.files)} files, {with_trace} with trace")
    return contiguous(g, files) + ([] if with_trace > 2 else [f"{with_trace} files with trace"])


def records_fit(g):
    """AUX records of full mode describe what is there: in order, none beyond the bytes, without gap unless records were lost."""
    wrong, ends, sizes = [], {}, {}
    is_of_task = any(t.cpu == ALL_ONES for t in g.file().traces)
    for t in g.file().traces:
        key = t.tid if is_of_task else t.cpu
        sizes[key] = max(sizes.get(key, 0), t.offset + t.size)
    for r, offset, size, _ in g.file().aux_records():
        key = r.tid if is_of_task else r.cpu
        end = ends.get(key, 0)
        if offset < end or (offset > end and not g.file().lost()):
            wrong.append(f"buffer of {key}: AUX offset {offset} after {end}")
        ends[key] = offset + size
    wrong += [f"buffer of {key}: AUX records up to {end} of {sizes.get(key, 0)} bytes" for key, end in ends.items() if end > sizes.get(key, 0)]
    if not g.file().lost():
        wrong += [f"buffer of {key}: {size} bytes, AUX records of {ends.get(key, 0)}" for key, size in sizes.items() if ends.get(key, 0) != size]
    return wrong


def gaps(g, name="a.data"):
    """Where softaux was stopped by a full buffer: a start without a stop before it. [(time of the last record before, time of the start)]"""
    found = []
    for traces in g.file(name).buffers().values():
        last = {}
        for _, s in soft_records(b"".join(t.data for t in traces), g.stride())[0]:
            before = last.get(s.id)
            if before and s.type == SA_START and before.type != SA_STOP:
                found.append((before.time, s.time))
            last[s.id] = s
    return found


def no_loss_unsaid(g):
    """No loss without a loss record: a TRUNCATED, or LOST, in each gap."""
    f = g.file()
    said = [r.time for r, _, _, flags in f.aux_records() if flags & TRUNCATED]
    missing = [(a, b) for a, b in gaps(g) if not any(a - MS <= t <= b + MS for t in said)]
    g.notes.append(f"{len(gaps(g))} gaps, {len(said)} TRUNCATED")
    return [] if not missing or f.lost() else [f"{len(missing)} of {len(gaps(g))} gaps without TRUNCATED: {missing[:3]}"]


def no_gaps(g):
    return [f"stopped by a full buffer: {gap}" for gap in gaps(g)[:3]]


def no_lost(g):
    return [f"{g.file().lost()} records lost"] if g.file().lost() else []


def has_gaps(g):
    """The row has to provoke what it is for."""
    return [] if gaps(g) else ["the buffer was never full"]


def ran_on(g):
    """A14, A15: after a gap it was traced again, in each buffer; and clew reported the gap."""
    wrong = [] if gaps(g) else ["no restart"]
    return wrong + ([] if re.search(r"AUX|trace|buffer", g.text("err")) else ["not reported: " + g.text("err").strip()[-200:]])


def restarts_each_time(g):
    """A14: each time that the reader went on, so did the trace."""
    conts = [float(t) * 1e9 for t in g.text("stops").split()]
    starts = sorted(s.time for s in g.soft() if s.type == SA_START)
    wrong = []
    for at, until in zip(conts, [*conts[1:], 1 << 63]):
        first = next((t for t in starts if t >= at - 10 * MS), 0)
        g.notes.append(f"{(first - at) / MS:.0f} ms")
        if not at - 10 * MS <= first < until:
            wrong.append(f"no trace after the reader went on at {at / 1e9:.2f}")
    return wrong + ([] if len(conts) == 3 else [f"the reader stood still {len(conts)} times"])


def sums_gaps(g):
    """A15: --stats sums what is missing, by buffer."""
    said = g.stats()
    nr = sum(1 for *_, flags in g.file().aux_records() if flags & TRUNCATED)
    sum_said = sum(int(n) for n in re.findall(r"(\d+) truncated", said))
    return [] if nr and sum_said == nr else [f"{nr} TRUNCATED, {sum_said} said: " + said[-600:]]


def read_by_time(g):
    """A16: long before an area is half full, which is when the kernel wakes the reader."""
    nr = {idx: len(traces) for idx, traces in g.file().buffers().items()}
    return [] if max(nr.values(), default=0) > 3 else [f"AUXTRACE of the buffers: {nr}"]


def second_goes_on(g):
    """A16: the end of a task ends its own buffer, and not the recording."""
    first, second = (int(t) for t in g.text("tasks").split())
    end = {tid: max((s.time for s in g.soft() if s.tid == tid), default=0) for tid in (first, second)}
    return [] if 0 < end[first] < end[second] - 100 * MS else [f"last records: {end}"]


def keeps_flags(g):
    """A18: what the driver says of a transaction stands in the file, and is counted by kind, buffer by buffer."""
    flags = g.option("end_flags", 0)
    records = g.file().aux_records()
    wrong = [f"flags {f:#x}" for *_, f in records if f & flags != flags][:3]
    nr = len(records)
    said = {kind: sum(int(n) for n in re.findall(rf"(\d+) {kind}", g.text("err"))) for kind in ("AUX records", "partial", "with collisions", "of unknown kind")}
    return wrong + [f"{n} said to be {kind}, of {nr}" for kind, n in said.items() if not nr or n != nr]


def grows_as_it_is(g):
    """A44: what reads the pipe as it is written counts what the whole has."""
    grown, whole = counts(g.text("grown")), counts(g.stats())
    return [] if grown and grown == whole else [f"(as it grew, whole) {grown} {whole}"]


# --- snapshots ---

def held_together(g):
    """A25: while one buffer is read, none is written: all stand still from the last stop to the first start."""
    spans, wrong = [], []
    for traces in g.file().buffers().values():
        soft = [s for t in traces for _, s in soft_records(t.data, g.stride())[0]]
        stops = [s.time for s in soft if s.type == SA_STOP]
        starts = sorted(s.time for s in soft if s.type == SA_START)
        spans.append([(t, next((u for u in starts if u > t), 1 << 63)) for t in stops])
    one, other = (spans + [[], []])[:2]
    for a, b in one:
        near = [(x, y) for x, y in other if x < b and a < y]
        if not near:
            wrong.append(f"the other was traced all the time from {a} to {b}")
    # A buffer without anything new has no window, and so no stop in the file.
    return wrong[:3] if len(wrong) > len(one) // 4 or not one else []


def lists_windows(g):
    """A26: clew's reader lists each window: where, how much, whether older trace was overwritten, from when to when; and the span of all."""
    snapshots = g.summary().get("snapshots", [])
    listed = sorted((w["offset"], w["bytes"]) for s in snapshots for w in s["windows"])
    wrong = [] if listed == sorted((t.offset, t.size) for t in g.file().traces) else [f"{len(listed)} windows, not {len(g.file().traces)}"]
    wrong += [f"{w}" for s in snapshots for w in s["windows"] if "to" not in w or "overwritten" not in w or not {"cpu", "tid"} & w.keys()][:2]
    return wrong + ([] if any("from" in s for s in snapshots) else ["no span of a snapshot"])


def newest_of_size(g):
    """A22: of each buffer the newest bytes, as many as asked for."""
    wrong = [f"window of {t.size} bytes" for t in g.file().traces if t.size > g.row.aux_bytes][:3]
    return wrong + ([] if any(t.size == g.row.aux_bytes for t in g.file().traces) else ["no window is full"])


def one_window_each(g):
    """A27: one snapshot at the end, whatever ended it."""
    wrong = [] if len(g.names()) == 3 else [f"{g.names()}"]
    for name in g.names():
        nr = max((len(traces) for traces in g.file(name).buffers().values()), default=0)
        wrong += [f"{name}: {w}" for w in windows(g, g.file(name))] + ([] if nr == 1 else [f"{name}: {nr} windows of a buffer"])
    return wrong + [line for line in g.text("statuses").splitlines() if not re.search(r" (0|130|137|143)$", line)]


def windows(g, file=None):
    """A20-A22, A11: each window holds the newest bytes up to a stop, and nothing twice; between two is a gap only if the later one is full."""
    wrong, full, n = [], 0, 0
    length, stride = g.row.aux_bytes, g.stride()
    for idx, traces in (file or g.file()).buffers().items():
        given = -1
        for t in traces:
            n += 1
            good, bad = soft_records(t.data, stride)
            is_full = t.size + 2 * stride > length
            full += is_full
            cut = [at for at in bad if at > 0] or bad if not (bad and is_full and bad[0] == 0) else bad[1:]
            if cut:
                wrong.append(f"buffer {idx}, window {n}: no record at {cut[:2]}")
            if not good:
                if t.size >= stride:
                    wrong.append(f"buffer {idx}, window {n}: {t.size} bytes without a record")
                continue
            seqs = [s.seq for _, s in good]
            if seqs != list(range(seqs[0], seqs[0] + len(seqs))):
                wrong.append(f"buffer {idx}, window {n}: not contiguous")
            if seqs[0] <= given:
                wrong.append(f"buffer {idx}, window {n}: {given - seqs[0] + 1} records twice")
            if seqs[0] > given + 1 and not is_full:
                wrong.append(f"buffer {idx}, window {n}: {seqs[0] - given - 1} records skipped with {t.size} of {length} bytes used")
            if good[-1][1].type != SA_STOP:
                wrong.append(f"buffer {idx}, window {n}: ends with type {good[-1][1].type}, so not with the newest")
            given = seqs[-1]
    g.notes.append(f"{n} windows, {full} full")
    return wrong[:6] + ([f"{len(wrong)} in all"] if len(wrong) > 6 else [])


def windows_across(g):
    """-S with --switch-output: each request closes a file, which holds its snapshot and no other."""
    files, asked = Joined(g), int(g.text("asked") or 0)
    with_trace = [f for f in files.files if f.traces]
    wrong = windows(g, files)
    wrong += [f"{f.path}: {len(f.traces)} windows" for f in with_trace if len(f.buffers()) != len(f.traces)]
    return wrong + ([] if len(with_trace) == asked else [f"{asked} asked for, {len(with_trace)} files with a snapshot"])


def samples_hold_trace(g):
    """7: each sample ends with the newest bytes, in order; the first record may be cut."""
    asked, nr, wrong = g.row.aux_bytes, 0, []
    ids = {i for e in g.file().events for i in e.ids if e.sample_type & SAMPLE_AUX}
    for r in g.file().of_type(R_SAMPLE):
        at = len(r.body) - asked - 8
        if r.id not in ids or at < 0 or struct.unpack_from("<Q", r.body, at)[0] != asked:
            continue
        nr += 1
        good, bad = soft_records(r.body[at + 8:], g.stride())
        seqs = [s.seq for _, s in good]
        if good and (seqs != list(range(seqs[0], seqs[0] + len(seqs))) or any(pos for pos in bad)):
            wrong.append(f"sample at {r.time}: {seqs}, no record at {bad}")
    g.notes.append(f"{nr} samples with {asked} bytes of trace")
    return wrong[:3] + ([] if nr > 20 else [f"{nr} samples with {asked} bytes of trace"]) + ([] if not g.file().traces else ["AUXTRACE"])


def as_many_as_asked(g):
    """A23: k requests are k snapshots, or a line says how many were merged."""
    asked = int(g.text("asked") or 0)
    m = re.search(r"(\d+) snapshots", g.text("err"))
    merged = sum(int(n) for n in re.findall(r"(\d+) requests? merged", g.text("err")))
    taken = int(m.group(1)) if m else 0
    return [] if asked and taken + merged >= asked else [f"{asked} asked for, {taken} taken, {merged} merged"]


# --- shared sinks, life ---

def sink_is_whole(g):
    """9: the data of all CPUs lies in one buffer or the other, each sequence number once."""
    seqs = sorted(s.seq for s in g.soft())
    twice = len(seqs) - len(set(seqs))
    ids = {s.id for s in g.soft()}
    hw = len(g.file().of_type(R_HW_ID))
    wrong = [f"{twice} sequence numbers twice"] if twice else []
    return wrong + ([] if len(ids) > 1 and hw >= len(ids) else [f"ids {sorted(ids)}, {hw} AUX_OUTPUT_HW_ID"])


def both_sides_of_hotplug(g):
    """A37: CPU 1 was traced before it went offline, and after it came back."""
    off, on = (float(t) * 1e9 for t in g.text("offline").split()[:2])
    times = [s.time for s in g.soft() if s.cpu == 1]
    said = g.text("err")
    wrong = [] if any(t < off for t in times) else ["nothing of CPU 1 before"]
    wrong += [f"not said: {what}" for what in ("CPU 1 went offline", "CPU 1 came back", "missing where it was offline: 1 times") if what not in said]
    return wrong + ([] if any(t > on for t in times) else ["nothing of CPU 1 after it came back"])


def has_orphans(g):
    """A40: tasks that outlive the first are traced to their end."""
    first = g.soft()[0].pid if g.soft() else 0
    return [] if len({s.tid for s in g.soft()}) > 10 and first else ["children are missing"]


def has_sideband(g):
    """A39: names, mappings and AUX records of what was traced until the disk was full."""
    f = g.file()
    wrong = [] if any(b"load\0" in r.body for r in f.of_type(R_COMM)) else ["no COMM of the command"]
    described = sum(size for _, _, size, _ in f.aux_records())
    whole = sum(t.size for t in f.traces)
    return wrong + ([] if described >= whole // 2 and f.of_type(R_MMAP2) else [f"AUX records of {described} of {whole} bytes, {len(f.of_type(R_MMAP2))} MMAP2"])


def is_readable(g):
    """A38, A39: up to the last whole record, by clew."""
    p = g.report("a.data", "--stats")
    wrong = [] if p.returncode == 0 and "AUX events" in p.stdout else [f"clew report: status {p.returncode}: {p.stderr.strip()[-300:]}"]
    return wrong + ([] if g.file().traces else ["no AUXTRACE"])


# --- others read it ---

def counts(text):
    """{record: number} of --stats: of the whole file, without what clew counts of each event."""
    found = {}
    whole = re.split(r"\n\n|\n(?!Aggregated)\S.* stats:\n", text)[0]
    for name, n in re.findall(r"^\s*([A-Z_0-9]+) events:\s+(\d+)", whole, re.M):
        found.setdefault(name, int(n))
    found.pop("TOTAL", None)
    return found


def perf_agrees_on_each(g):
    """A45: each file is complete in itself."""
    return [f"{name}: {wrong}" for name in g.names() for wrong in perf_agrees(g, name)]


def run_perf(command, file, cwd, is_pipe):
    with open(os.path.join(cwd, file), "rb") as f, subprocess.Popen(["cat"], stdin=f, stdout=subprocess.PIPE) as cat:
        return subprocess.run([*command, "-i", "-" if is_pipe else file], cwd=cwd, stdin=cat.stdout if is_pipe else subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False)


def perf_agrees(g, file="a.data"):
    """A42, A49: perf counts in the file what clew counts, and dumps each trace."""
    ours = counts(g.stats(file))
    wrong = [] if ours else ["clew report --stats: nothing"]
    wrong += [f"attr of {e.size} bytes" for e in g.file(file).events if e.size > 128][:1]
    # As a pipe, to perf: 6.1 counts nothing of a pipe's output in a file.
    given = {"cwd": g.folder, "is_pipe": g.file(file).is_pipe}
    for name, perf in g.perfs.items():
        p = run_perf([*perf, "report", "--stats"], file, **given)
        theirs = counts(p.stdout)
        if p.returncode or theirs != ours:
            unlike = {k: (ours.get(k), theirs.get(k)) for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k)}
            wrong.append(f"{name} report --stats: status {p.returncode}, (ours, its) {unlike} {p.stderr.strip()[-200:]}")
        # perf stops at a trace that it cannot decode, unless it is asked not to.
        plain = [] if g.file(file).of_type(R_AUXTRACE_INFO) else ["--no-itrace"]
        p = run_perf([*perf, "script", "-D", *plain], file, **given)
        dumped = len(re.findall(r"PERF_RECORD_AUXTRACE size", p.stdout))
        if p.returncode or dumped != len(g.file(file).traces):
            wrong.append(f"{name} script -D: status {p.returncode}, {dumped} of {len(g.file(file).traces)} AUXTRACE; {p.stderr.strip()[-200:]}")
    return wrong


def perf_decodes(g):
    """A42: two PTWRITE payloads per record of softaux as intel_pt."""
    records = sum(t.size for t in g.file().traces) // SA_BYTES
    wrong = []
    for name, perf in g.perfs.items():
        p = subprocess.run([*perf, "script", "--itrace=w", "-i", g.path()], capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL)
        nr = len(re.findall(r"payload:", p.stdout))
        if nr != 2 * records:
            wrong.append(f"{name}: {nr} payloads of {records} records; {p.stderr.strip()[-200:]}")
    return wrong if records else ["no trace"]


def clew_reads_perfs(g):
    """What perf has recorded in there."""
    ours, theirs = counts(g.stats("perf.data")), counts(g.text("stats"))
    return [] if theirs.get("AUXTRACE") and ours == theirs else [f"(ours, perf's) {ours} {theirs}"]


def perf_in_there_agrees(g):
    ours, theirs = counts(g.stats()), counts(g.text("stats.clew"))
    return [] if theirs.get("AUXTRACE") and ours == theirs else [f"(ours, perf's) {ours} {theirs}"]


def filters_are_set(g):
    """A47: what the kernel got: a symbol's range, and one of a segment's start moved by a byte, as Linux makes an empty one of it."""
    symbol, segment = (int(w) for w in g.text("expected").split())
    got = [tuple(int(w) for w in line.split(",")[:2]) for line in g.text("filters").splitlines()]
    wrong = [] if len(got) == 2 and got[0][0] == symbol and got[0][1] > 0 and got[1] == (segment + 1, 0x1ff) else [f"{got}, not {symbol}, {segment + 1}"]
    return wrong + ([] if re.search("byte", g.text("err")) else ["not said: " + g.text("err")[-300:]])


def parts_said(g):
    return dict(re.findall(r"^CASE (\S+)\n(.*?)(?=^CASE |\Z)", g.text("said"), re.M | re.S))


def accepted(g):
    """A1: what the kernel accepts is recorded."""
    return [f"{name}: {text.strip()[-200:]}" for name, text in parts_said(g).items() if "\nstatus 0" not in "\n" + text or "error:" in text] or \
        ([] if parts_said(g) else ["no case"])


def refused(g):
    """A1: each part of "said" is a row of the errno table: its command fails, with the sentence that the row names, and never with the errno's alone."""
    wrong, parts = [], parts_said(g)
    for name, pattern in g.row.sentences.items():
        text = " ".join(parts.get(name, "").split())
        m = re.search(r" status (\d+)$", text)
        print(f"#   {name}: {text[:300]}")
        if not m or m.group(1) == "0":
            wrong.append(f"{name}: accepted: {text[-150:]}")
        elif not re.search(pattern, text):
            wrong.append(f"{name}: {text[:200]}")
        if re.search(r"Invalid argument|Operation not supported", text):
            wrong.append(f"{name}: bare errno")
    return wrong
