# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same run recorded in two ways: what clew answers may differ only where evidence does."""
import collections
import os
import tempfile

import change
import who_make
from cases import options
from who_answers import ANY_GUEST, answers
from who_judge import RIGHT, UNKNOWN, WRONG, Tally, compare, truth_by_place

# Changes that need what a case does not have, or that take away or add evidence there.
POINTLESS = {
    "cuts": {"noclock", "clockid", "thread"},  # bounds come from the chunks; a thread's stays are the chunks
    "no-contexts": {"leak", "leak-noctx", "guests-quiet"},  # guests are found by them
}
# Changes that move evidence there: an AUX record is also the last one before a loss, or all there is of time; and ids of
# a foreign /proc that happen to be local ids no longer are.
MOVING = {
    "cuts": {"root-ctx-lost", "root-switch-lost", "box-mix-lost", "noclock-ctx", "leak-kvm-lost"},
    "shift-root": {"box-hostproc", "box-mix-hostproc"},
}


def applies(name, case, seed):
    opts = options(case, seed, {})
    needs = {"shift-local": opts["recorder"] == "container" and not opts["host_proc"], "no-contexts": opts["ctx"],
             "no-switches": opts["mode"] == "cpu"}
    return needs.get(name, True) and case not in POINTLESS.get(name, ())


def in_order(found):
    """{buffer: [(offset, answer)]}: records keep their order where their offsets change."""
    out = collections.defaultdict(list)
    for (buffer, offset), answer in found:
        out[buffer].append((offset, answer))
    return {buffer: sorted(rows, key=lambda r: r[0]) for buffer, rows in out.items()}


def unshifted(number, is_shifted):
    return number - change.SHIFT if is_shifted and number is not None and number > change.SHIFT else number


def plain(name, answer, is_box):
    """An answer as it would be without the change `name`."""
    is_root, is_local = name == "shift-root", name == ("shift-local" if is_box else "shift-root")
    machine = unshifted(answer.machine, is_local) if isinstance(answer.machine, int) else answer.machine
    return answer._replace(root=unshifted(answer.root, is_root), local=unshifted(answer.local, is_local), pid=unshifted(answer.pid, is_local),
                           machine=machine, thread=None)


def is_weaker(one, other):
    """Less evidence: what both say agrees."""
    if "unknown" in (one.kind, other.kind):
        return True
    worlds = {one.machine, other.machine}
    if len(worlds) > 1 and ("host" in worlds or ANY_GUEST not in worlds):
        return False
    pairs = [(one.root, other.root), (one.local, other.local)]
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def difference(name, case, before, after, is_box):
    """What of two answers to one record must be equal and is not; or None."""
    if name.startswith("no-"):
        return None if is_weaker(before, after) else f"{before} became {after}"
    after, before = plain(name, after, is_box), before._replace(thread=None)
    may_differ = case in MOVING.get(name, ()) and is_weaker(before, after) and (
        before.name == after.name or None in (before.name, after.name))
    return None if after == before or may_differ else f"{before} became {after}"


class Recorded:
    def __init__(self, clew, prefix):
        found = list(answers(clew, prefix + ".data", "--kallsyms=" + prefix + ".kallsyms"))
        self.owners = in_order(truth_by_place(prefix + ".truth").items())
        self.tally = compare(truth_by_place(prefix + ".truth"), found)
        self.lanes = in_order(found)


def check(clew, case, seed, opts):
    """All changes that apply to a case. @return Tally: wrong: differs, or is wrong by the truth."""
    total = Tally()
    with tempfile.TemporaryDirectory() as where:
        def made(name):
            prefix = os.path.join(where, name or "base")
            who_make.write_files(prefix, case, seed, {**opts, **(change.options(name, seed) if name else {})})
            return Recorded(clew, prefix)
        base = made(None)
        for name in (n for n in change.CHANGES if applies(n, case, seed)):
            changed = made(name)
            total.verdicts[WRONG] += changed.tally.verdicts[WRONG] - base.tally.verdicts[WRONG]
            compare_lanes(total, name, case, base, changed, options(case, seed, {})["recorder"] == "container")
    return total


def lengths(lanes):
    return {buffer: len(rows) for buffer, rows in lanes.items()}


def compare_lanes(total, name, case, base, changed, is_box):
    if lengths(base.lanes) != lengths(changed.lanes):
        total.failures.append(f"{name}: another number of records")
        return
    for buffer, rows in base.lanes.items():
        others = changed.lanes[buffer]
        for i, ((offset, one), (_, other)) in enumerate(zip(rows, others)):
            # To end a chunk takes time: what is sampled next may be another operation, with a truth of its own.
            if name == "cuts" and base.owners[buffer][i][1] != changed.owners[buffer][i][1]:
                continue
            wrong = difference(name, case, one, other, is_box)
            verdict = WRONG if wrong else UNKNOWN if other.kind == "unknown" else RIGHT
            total.count(verdict, 1, f"{name}, {verdict}", wrong and f"{name}, {buffer}+{offset}: {wrong}")
