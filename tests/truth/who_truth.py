#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who ran, by clew, against the truth: recordings of the model of tests/make/who. No owner may be wrong, and of the records with evidence at
least 99 % must have one. TAP.

Usage: who_truth.py CLEW sets DIR...            sets NAME.data.zst, NAME.truth.zst; a folder that is missing is skipped
       who_truth.py CLEW model [OPTION]...      recordings made here, case by case
       who_truth.py CLEW changes [OPTION]...    changes that must not change answers, or only where evidence is gone
       who_truth.py CLEW mutate [OPTION]...     damaged sideband: few wrong answers, no crash
Options: --seeds N (of each case), --first SEED, --step US (mean time between samples), --cases A,B or `one`: another one of all for each seed, --jobs N
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "..", "make", "who")]
# pylint: disable=wrong-import-position
import change
import tap
import who_changes
import who_make
from cases import ETM_CASES, MERGE_CASES, SPE_CASES
from who_answers import Failed, answers
from who_judge import Tally, compare, judge_ids, truth_by_place


def is_judged_here(name):
    """Not ETM (its truth lists runs of instructions), nor what is only about merging."""
    return name.split(".")[0] not in ETM_CASES + MERGE_CASES


# Sets of files.

def unpack(folder, name, where):
    prefix = os.path.join(where, name)
    for part in (".data", ".truth"):
        subprocess.run(["zstd", "-qdf", os.path.join(folder, name + part + ".zst"), "-o", prefix + part], check=True)
    with open(prefix + ".kallsyms", "w", encoding="utf-8") as file:
        file.write(who_make.kallsyms())
    return prefix


def check_files(clew, prefix, judged=None):
    found = answers(clew, prefix + ".data", "--kallsyms=" + prefix + ".kallsyms")
    return compare(truth_by_place(prefix + ".truth"), found, *[judged] if judged else [])


def check_set(clew, folder, name):
    with tempfile.TemporaryDirectory() as where:
        try:
            tally = check_files(clew, unpack(folder, name, where))
        except Failed as error:
            tap.check(False, name, error)
            return
    tap.check(not tally.faults(), f"{name}: {tally}", tally.faults())


def check_sets(clew, folders):
    for folder in folders:
        names = [m[1] for m in map(re.compile(r"(.*)\.truth\.zst").fullmatch, sorted(os.listdir(folder)))
                 if m and is_judged_here(m[1])] if os.path.isdir(folder) else []
        if not names:
            tap.skip(folder, "no sets here")
        for name in names:
            check_set(clew, folder, name)


# Recordings made here.

def check_model(clew, case, seed, step):
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, f"{case}.{seed}")
        who_make.write_files(prefix, case, seed, {"spe_step_us": step})
        return check_files(clew, prefix)


def check_mutated(clew, case, seed, step):
    """@return Tally with a fault for each stay beyond the touched records that has a wrong owner."""
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, f"{case}.{seed}")
        who_make.write_files(prefix, case, seed, {"spe_step_us": step})
        nr_touched = change.mutate_file(prefix + ".data", seed)
        tally = check_files(clew, prefix, judge_ids)
    tally.allow(nr_touched)
    return tally


def check_changed(clew, case, seed, step):
    return who_changes.check(clew, case, seed, {"spe_step_us": step})


def guarded(task, clew, case, seed, step):
    """A Tally that says what failed, so that other seeds continue."""
    try:
        return case, task(clew, case, seed, step)
    except Failed as error:
        tally = Tally()
        tally.failures.append(f"{case} seed {seed}: {error}")
        return case, tally


def run_seeds(clew, task, opts):
    """Each case with each of its seeds, by opts.jobs processes. @return {case: Tally}"""
    cases = opts.cases.split(",") if opts.cases not in (None, "one") else SPE_CASES
    seeds = range(opts.first, opts.first + opts.seeds)
    jobs = [(cases[n % len(cases)], n) for n in seeds] if opts.cases == "one" else [(case, n) for n in seeds for case in cases]
    tallies = {case: Tally() for case, _ in jobs}
    with concurrent.futures.ProcessPoolExecutor(opts.jobs) as pool:
        for case, tally in pool.map(guarded, *zip(*((task, clew, case, seed, opts.step) for case, seed in jobs)), chunksize=4):
            tallies[case] += tally
    return tallies


def check_seeds(clew, task, opts):
    total = Tally()
    for case, tally in run_seeds(clew, task, opts).items():
        total += tally
        tap.check(not tally.faults(), f"{case}: {tally}", tally.faults())
    print(f"# total: {total}")
    for name, nr in total.evidence.most_common():
        print(f"#   {name}: {nr}")
    if task is check_mutated and not opts.cases and opts.first % 2 == 0:
        tap.check(total.evidence["switch"] * 8 > total.nr_records, "answers by damaged switches are judged, too", total.evidence)
    if total.why["wrong, allowed"]:
        print(f"#   wrong, by the damage: {total.why['wrong, allowed']}")


def has_answers(clew):
    """Does this clew say who ran?"""
    with tempfile.TemporaryDirectory() as where:
        prefix = os.path.join(where, "probe")
        who_make.write_files(prefix, "thread", 0)
        return next(answers(clew, prefix + ".data"), None) is not None


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cases")
    return parser.parse_args(arguments)


def main():
    tasks = {"model": check_model, "changes": check_changed, "mutate": check_mutated}
    if len(sys.argv) < 3 or sys.argv[2] not in ("sets", *tasks):
        sys.exit(__doc__)
    clew = os.path.abspath(sys.argv[1])
    if not has_answers(clew):
        tap.skip_all("clew script --json does not say who ran")
    if sys.argv[2] == "sets":
        check_sets(clew, sys.argv[3:])
    else:
        check_seeds(clew, tasks[sys.argv[2]], parse(sys.argv[3:]))
    tap.done()


if __name__ == "__main__":
    main()
