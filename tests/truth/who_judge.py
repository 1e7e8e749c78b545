# SPDX-License-Identifier: LGPL-2.1-or-later
"""Answers against the truth: right, wrong or unknown, each record, and how much of what could be known is known."""
import collections

from truth import ANSWERABLE, COLUMNS
from who_answers import ANY_GUEST

LEVELS = {"0": "EL0", "1": "EL1", "2": "EL2", "3": "EL3"}
MIN_COVERAGE = 0.99
NR_EXAMPLES = 5
NR_OWNER_COLUMNS = 5  # buffer to ns stand before the owner
Owner = collections.namedtuple("Owner", COLUMNS[NR_OWNER_COLUMNS:])
RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"


def judge(owner, answer):
    """(verdict, why). An owner is wrong if anything the answer says is."""
    if answer.kind == "unknown":
        return UNKNOWN, answer.reason
    wrong = next(filter(None, (check(owner, answer) for check in (wrong_world, wrong_kind, wrong_ids, wrong_name))), None)
    if wrong:
        return WRONG, wrong
    if answer.kind == "idle-or-outside":
        return UNKNOWN, answer.kind
    return RIGHT, "" if owner.kind != "task" or answer.name is not None else "name unproven"


def wrong_world(owner, answer):
    if answer.level is not None and answer.level != LEVELS[owner.el]:
        return f"{answer.level} for EL{owner.el}"
    if owner.machine == "host":
        return answer.machine != "host" and "host called guest"
    if answer.machine not in (ANY_GUEST, int(owner.rec_pid)):
        return f"{owner.machine} of {owner.rec_pid} called {answer.machine}"
    if answer.vcpu is not None and str(answer.vcpu) != owner.vcpu:
        return f"vcpu {answer.vcpu} for {owner.vcpu}"
    if answer.guest_local is not None and str(answer.guest_local) != owner.gtid:
        return f"guest thread {answer.guest_local} for {owner.gtid}"
    return answer.guest_root is not None and str(answer.guest_root) != owner.gtid and f"guest thread {answer.guest_root} for {owner.gtid}"


def wrong_kind(owner, answer):
    allowed = {"idle": ("idle", "idle-or-outside"), "outside": ("outside", "idle-or-outside", "task"), "task": ("task",)}
    if answer.kind not in allowed[owner.kind]:
        return f"{owner.kind} called {answer.kind}"
    return owner.kind == "outside" and answer.local is not None and f"outside called local {answer.local}"


def wrong_ids(owner, answer):
    if answer.kind == "idle-or-outside":
        return None
    if answer.root is not None and answer.root != int(owner.root_tid):
        return f"root id {answer.root} for {owner.root_tid}"
    return answer.local is not None and answer.local != int(owner.rec_tid) and f"local id {answer.local} for {owner.rec_tid}"


def wrong_name(owner, answer):
    if owner.kind != "task" or answer.kind != "task" or answer.name is None:
        return None
    if answer.name != owner.comm:
        return f"name {answer.name} for {owner.comm}"
    return answer.pid is not None and answer.pid > 0 and answer.pid != int(owner.rec_pid) and f"pid {answer.pid} for {owner.rec_pid}"


def judge_ids(owner, answer):
    """Of damaged sideband: names are not judged."""
    return judge(owner, answer._replace(name=None, level=None, pid=None))


class Tally:
    """Verdicts of one recording or, added up, of many. `failures`: what went wrong as a whole; `wrong_stays`: which stays have wrong owners."""

    def __init__(self):
        self.failures, self.wrong_stays = [], set()
        self.verdicts, self.why, self.evidence = collections.Counter(), collections.Counter(), collections.Counter()
        self.nr_answerable = self.nr_answered = 0
        self.examples = []

    def __iadd__(self, other):
        for counter, more in ((self.verdicts, other.verdicts), (self.why, other.why), (self.evidence, other.evidence)):
            counter.update(more)
        self.nr_answerable += other.nr_answerable
        self.nr_answered += other.nr_answered
        self.examples = (self.examples + other.examples)[:NR_EXAMPLES]
        self.failures += other.failures
        return self

    @property
    def nr_records(self):
        return sum(self.verdicts[v] for v in (RIGHT, WRONG, UNKNOWN))

    @property
    def coverage(self):
        return self.nr_answered / self.nr_answerable if self.nr_answerable else 1.0

    def add(self, owner, answer, nr, verdict, why, place):
        """@nr records with one owner and one answer, the first at @place."""
        self.count(verdict, nr, why and (f"{verdict}, {why}" if verdict != WRONG else verdict),
                   f"{place}: {why}: {answer} {owner}" if verdict == WRONG else None)
        self.evidence[answer.evidence if verdict != UNKNOWN else answer.reason or answer.kind] += nr
        if owner.evidence in ANSWERABLE:
            self.nr_answerable += nr
            self.nr_answered += nr * (verdict == RIGHT)
        if verdict == WRONG:
            self.wrong_stays.add((place[0], owner.serial))

    def count(self, verdict, nr, why, example):
        self.verdicts[verdict] += nr
        if why:
            self.why[why] += nr
        if example and len(self.examples) < NR_EXAMPLES:
            self.examples.append(example)

    def allow(self, nr_touched):
        """Of a damaged recording: wrong owners, but not of more threads on a CPU than records were touched; and any coverage."""
        if len(self.wrong_stays) > nr_touched:
            self.failures.append(f"wrong owners of {len(self.wrong_stays)} threads, {nr_touched} records touched")
        self.why["wrong, allowed"] += self.verdicts.pop(WRONG, 0)
        self.nr_answerable = self.nr_answered = 0

    def faults(self):
        """Sentences; none: all is well."""
        out = [f"{self.verdicts[v]} records {v}" for v in (WRONG, "missing", "extra") if self.verdicts[v]]
        out += self.failures
        if not self.nr_records:
            out.append("no record")
        if self.coverage < MIN_COVERAGE:
            out.append(f"coverage {self.coverage:.2%} of {self.nr_answerable}")
        return out and out + self.examples + self.details()

    def details(self):
        return [f"{why}: {nr}" for why, nr in self.why.most_common(12)]

    def __str__(self):
        parts = [f"{self.nr_records} records"] + [f"{v} {self.verdicts[v]}" for v in (RIGHT, WRONG, UNKNOWN)]
        return ", ".join(parts + [f"coverage {self.coverage:.2%}"])


def truth_by_place(path):
    """{(buffer, offset): all columns from el on, as they stand}"""
    with open(path, encoding="utf-8") as file:
        assert file.readline()[1:].split() == list(COLUMNS)
        out = {}
        for line in file:
            buffer, _cpu, offset, _tick, _ns, owner = line.rstrip("\n").split("\t", NR_OWNER_COLUMNS)
            out[int(buffer), int(offset)] = owner
    return out


def compare(truth, answers, judged=judge):
    """@truth: truth_by_place(), used up; @answers: ((buffer, offset), Answer). Equal answers to equal owners are judged once."""
    tally, counts, places = Tally(), {}, {}
    for place, answer in answers:
        columns = truth.pop(place, None)
        if columns is None:
            tally.verdicts["extra"] += 1
            continue
        key = columns, answer
        if key in counts:
            counts[key] += 1
        else:
            counts[key], places[key] = 1, place
    for (columns, answer), nr in counts.items():
        owner = Owner(*columns.split("\t"))
        tally.add(owner, answer, nr, *judged(owner, answer), places[columns, answer])
    tally.verdicts["missing"] = len(truth)
    return tally
