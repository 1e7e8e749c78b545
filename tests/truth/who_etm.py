#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Instructions of the model's ETM recordings, by clew, against the truth: every address, and who executed it. TAP.

Guests: their recordings are merged first, with the true offset; their files are given by --guestmount.
Code of tasks outside a container has no mapping and may be missing; so may that of user space in guests that do not write their contexts, and
that of a vcpu thread where a chunk of trace begins: it may be the host's or the guest's. Without contexts, kernel code between the change of the id and
cpu_switch_to may go to either thread.

Usage: who_etm.py CLEW [SEEDS [CASE]...]    skipped where clew does not say who ran"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "make", "who")]
# pylint: disable=wrong-import-position
import etm_trace
import tap
import who_make
from cases import ETM_CASES, options
from etm_code import SWITCH_TO
from who_answers import answer_of
from who_judge import LEVELS, RIGHT, WRONG, Owner, judge

MAX_EXTRA = 256  # instructions that belong to no run, before the next that does
Step = collections.namedtuple("Step", "pc time answer")


class Executed:
    """A line of the truth: nr instructions with one owner."""

    def __init__(self, line):
        row = dict(zip(etm_trace.COLUMNS, line.rstrip("\n").split("\t")))
        self.cpu, self.nr, self.first, self.crc, self.image = int(row["cpu"]), int(row["n"]), int(row["first"], 16), int(row["crc"], 16), row["image"]
        self.time, self.chunk = int(row["ns"]), row["chunk"]
        self.owner = Owner(*(row[name] for name in Owner._fields if name in row), evidence="ctx")

    def matches(self, steps, at):
        """Are these instructions the next ones? The time is that of a timestamp before them."""
        if at + self.nr > len(steps) or steps[at].pc != self.first or steps[at].answer.level != LEVELS[self.owner.el] or steps[at].time > self.time:
            return False
        crc = 0
        for step in steps[at:at + self.nr]:
            crc = zlib.crc32(b"%x\n" % step.pc, crc)
        return crc == self.crc

    def is_of(self, step):
        """The host, or a guest?"""
        return (self.owner.machine == "host") == (step.answer.machine == "host")

    def may_be_missing(self, opts, is_first):
        """@is_first: of its chunk. Then it may be the host's or a guest's."""
        if is_first and self.owner.el == "0" and "/KVM" in self.owner.comm:
            return True
        has_no_thread = self.owner.machine != "host" and not opts["guest_ctx"]
        return self.owner.el == "0" and (self.owner.kind == "outside" or has_no_thread)


def merge_guests(clew, prefix):
    """@return (the merged file, folder with the guests' files)"""
    mount, options_ = prefix + ".mount", []
    os.mkdir(mount)
    with open(prefix + ".merge", encoding="utf-8") as file:
        for guest, pid, offset, _drift, _unit in (line.split() for line in file if not line.startswith("#")):
            os.symlink(f"{prefix}.fs/guest{guest}", os.path.join(mount, pid))
            options_.append(f"--guest={prefix}.guest{guest}.data,{pid},{-int(offset)}")
    subprocess.run([clew, "merge", "-i", prefix + ".data", "-o", prefix + ".merged", *options_], check=True, capture_output=True)
    return prefix + ".merged", mount


def steps_of(clew, prefix, has_guests):
    """{cpu: [Step]}"""
    data, more = prefix + ".data", []
    if has_guests:
        data, mount = merge_guests(clew, prefix)
        more = ["--guestmount=" + mount]
    input_ = ["-i", data, "--symfs", prefix + ".fs", "-k", prefix + ".fs/vmlinux", *more]
    command = [clew, "script", "--json", "--itrace=i1i", *input_]
    out = collections.defaultdict(list)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8") as process:
        for event in map(json.loads, process.stdout):
            if "ip" in event and "who" in event:
                out[event["cpu"]].append(Step(int(event["ip"], 16), event["time"], answer_of(event)))
    return out, input_


def alone(answer):
    """Without the event's own ids and name, which lines of clew trace do not have."""
    return answer._replace(name=None, pid=None)


def check_trace(clew, input_, steps, counts):
    """clew trace gives as many instructions to each owner as clew script."""
    command = [clew, "trace", "--ranges", "-F", "+who", "--json", *input_]
    of_trace = collections.Counter()
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8").stdout.splitlines():
        event = json.loads(line)
        if "start" in event and "who" in event:
            of_trace[alone(answer_of(event))] += (int(event["end"], 16) - int(event["start"], 16)) // 4
    counts["extra"] += of_trace != collections.Counter(alone(step.answer) for own in steps.values() for step in own)


def compare_cpu(runs, steps, counts, opts):
    at, previous, chunk, is_without_contexts = 0, None, None, opts["recorder"] == "container"
    for run in runs:
        found = next((k for k in range(at, min(at + MAX_EXTRA, len(steps))) if run.matches(steps, k)), None)
        may_be_missing, chunk = run.may_be_missing(opts, run.chunk != chunk), run.chunk
        # What is equal, of another machine, is a later one; if not, that one will be missing, or this one extra.
        if found is not None and may_be_missing and not run.is_of(steps[found]):
            found = None
        if found is None:
            counts["not decoded, allowed" if may_be_missing else "missing"] += run.nr
            continue
        counts["extra"] += found - at
        judge_run(run, previous if is_without_contexts else None, steps[found:found + run.nr], counts)
        at, previous = found + run.nr, run.owner
    counts["extra"] += len(steps) - at


def judge_run(run, previous, steps, counts):
    """@previous: an owner that is right, too, up to cpu_switch_to."""
    for step in steps:
        verdict, why = judge(run.owner, step.answer)
        if verdict == WRONG and previous and run.image == "kernel" and judge(previous, step.answer)[0] != WRONG:
            verdict = RIGHT
        if step.pc == SWITCH_TO:
            previous = None
        counts[verdict] += 1
        counts[f"{verdict}: {why}"] += bool(why)


def check(clew, case, seed):
    counts, opts = collections.Counter(), options(case, seed, {})
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, case)
        who_make.write_files(prefix, case, seed)
        try:
            steps, input_ = steps_of(clew, prefix, bool(opts["guests"]))
            check_trace(clew, input_, steps, counts)
        except subprocess.CalledProcessError as error:
            return collections.Counter({f"merge: {error.stderr[-200:]}": 1, "missing": 1})
        runs = collections.defaultdict(list)
        with open(prefix + ".truth", encoding="utf-8") as file:
            next(file)
            for run in map(Executed, file):
                runs[run.cpu].append(run)
        for cpu, own in runs.items():
            compare_cpu(own, steps[cpu], counts, opts)
    return counts


def says_who(clew):
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, "etm")
        who_make.write_files(prefix, "etm", 0)
        return bool(steps_of(clew, prefix, False)[0])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    clew, nr_seeds, cases = os.path.abspath(sys.argv[1]), int((sys.argv + ["1"])[2]), sys.argv[3:] or ETM_CASES
    if not says_who(clew):
        tap.skip_all("clew script --json does not say who executed instructions")
    for case in cases:
        counts = sum((check(clew, case, seed) for seed in range(nr_seeds)), collections.Counter())
        lines = [f"{name}: {nr}" for name, nr in counts.most_common()]
        tap.check(counts[RIGHT] and not (counts[WRONG] or counts["missing"] or counts["extra"]), f"{case}: " + ", ".join(lines[:3]), lines)
    tap.done()


if __name__ == "__main__":
    main()
