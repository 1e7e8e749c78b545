#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_golden.py CLEW DATA: `clew trace` of the snapshots in DATA/coresight and DATA/coresight-truth prints the given
digests, and ranges and events as OpenCSD does but for what docs/decisions/etm-golden.md explains. The same whatever
the pieces the trace is read in, and the number of threads. The instructions of 002-ack_test_scr are those the model itself logged. TAP."""
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip

CLEW, DATA = sys.argv[1], Path(sys.argv[2])
LIFE = re.compile(r"\S+ EVENT (no_sync \[(init|reset)-decoder\]|eo_trace .*)$")
DROPPED = re.compile(r"\S+ EVENT atoms_dropped (\d+); no address$")
Q = re.compile(r"(\S+) EVENT i_range_nopath first 0x(\S+):\[next (\S+)\] num_i\(\d+\)")



def clew(*args):
    run = subprocess.run([CLEW, "trace", *map(str, args)], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else f"exit {run.returncode}: {run.stderr}"


def zstd(path):
    return subprocess.run(["zstd", "-dcq", path], capture_output=True, text=True, check=True).stdout


def summary(path):
    sets = defaultdict(dict)
    with path.open() as f:
        for row in csv.DictReader(f, delimiter="\t"):
            sets[row.get("snapshot") or row["set"]][row["id"]] = row
    return sets


def by_id(text):
    lines = defaultdict(list)
    for line in text.splitlines():
        lines[line.split(" ", 1)[0]].append(line.rstrip())
    return lines


def golden_lines(lines):
    """The golden lines without what docs/decisions/etm-golden.md calls life and twice."""
    out, nr_twice = [], 0
    for i, line in enumerate(lines):
        is_asked = i + 1 < len(lines) and " EVENT exception " in lines[i + 1] and "[addr also prev br tgt]" not in lines[i + 1]
        is_twice = " EVENT addr_nacc " in line and i and line == lines[i - 1] and is_asked
        nr_twice += bool(is_twice)
        if not is_twice and not LIFE.match(line):
            out.append(line)
    return out, nr_twice


def clew_lines(lines):
    return [line for line in lines if not LIFE.match(line)]


def is_explained(got, want, before):
    """Its points Q and cycles."""
    q = Q.fullmatch(want)
    if q:
        return (got == f"{q[1]} EVENT no_target up to {q[3]}" or DROPPED.match(got)) and before.split()[2] == q[2]
    return " cycle_count " in want and got.replace("[CC=unknown]", "[CC=0]") == want


def first_difference(got, want):
    """Rows of dropped atoms, which OpenCSD does not print, may stand anywhere in @got."""
    at, before = 0, ""
    for line in want:
        while at < len(got) and DROPPED.match(got[at]) and not Q.fullmatch(line):
            at += 1
        if at == len(got):
            return f"missing: {line!r}"
        if got[at] != line and not is_explained(got[at], line, before):
            return f"line {at + 1}: got {got[at]!r}\nwant {line!r}"
        at, before = at + 1, line
    left = [line for line in got[at:] if not DROPPED.match(line)]
    return f"more than wanted: {left[0]!r}" if left else ""


def check_twice():
    """What golden_lines() takes away and what not."""
    nacc, addr = "10 EVENT addr_nacc 0x20000; Memspace [0x2:EL1N]", "10 EVENT exception pref ret addr:0x20008"
    asked, target = addr + "; excep num (0x0e)", addr + " [addr also prev br tgt]; excep num (0x0e)"
    check(golden_lines([nacc, nacc, asked]) == ([nacc, asked], 1), "addr_nacc twice, and an exception that asks for code: one gap")
    check(golden_lines([nacc, nacc, target]) == ([nacc, nacc, target], 0), "addr_nacc twice, and an exception at a branch's target: two gaps")
    check(golden_lines([nacc, nacc]) == ([nacc, nacc], 0), "addr_nacc twice, and nothing after: two gaps")


def check_digest(path, rows):
    want = {f"{i} {r['instructions']} {r['sha256']}" for i, r in rows.items()}
    got = set(clew("-i", path, "--digest").splitlines())
    check(got == want, f"{path.name}: digest of {len(rows)} trace IDs", "\n".join(sorted(got ^ want)))


def check_counts(path, rows, golden, got_lines):
    of_all = [json.loads(line) for line in clew("-i", path, "--json").splitlines()]
    for i in rows:
        units = [u for u in of_all if int(u.get("id", "-1"), 16) == int(i, 16)]
        got = [sum(u[k] for u in units if u.get("decoded")) for k in ("ranges", "exceptions", "unreadable")]
        _, nr_twice = golden_lines(golden[i])
        want = [int(rows[i]["ranges"]), int(rows[i]["exceptions"]), int(rows[i]["nacc"]) - nr_twice]
        check(got == want, f"{path.name} {i}: {want} ranges, exceptions, unreadable places", got)
        nr = sum(int(m[1]) for m in map(DROPPED.match, got_lines[i]) if m)
        check(nr == sum(u.get("atoms_dropped", 0) for u in units), f"{path.name} {i}: {nr} atoms dropped, all reported", units)


def check_ranges(path, rows):
    golden = by_id(zstd(DATA / "coresight/golden" / f"{path.name}.txt.zst"))
    got = by_id(clew("-i", path, "--ranges"))
    for i in rows:
        want = golden_lines(golden[i])[0]
        note = first_difference(clew_lines(got[i]), want)
        check(not note, f"{path.name} {i}: {len(want)} lines of ranges and events", note)
    check_counts(path, rows, golden, got)


def check_invariance(path):
    def digest_of(*options):
        run = subprocess.run([CLEW, "trace", "-i", path, "--ranges", *options], capture_output=True, check=False)
        return hashlib.sha256(run.stdout).hexdigest() if run.returncode == 0 else f"exit {run.returncode}: {run.stderr}"

    want, sums = digest_of(), {}
    for options in (["--piece-bytes=1"], ["--piece-bytes=7"], ["--piece-bytes=4096"], ["--piece-bytes=1073741824"],
                    ["--threads=1"], ["--threads=2"], ["--threads=5"]):
        sums[options[0]] = digest_of(*options)
    ok = set(sums.values()) == {want}
    check(ok, f"{path.name}: the same in pieces of 1, 7, 4096 and all bytes, with 1, 2 and 5 threads", sums)


def in_a_row(insns, log, start):
    """After the first place, from @p start on, where @p insns stand in a row in the log."""
    for at in range(start, len(log) - len(insns) + 1):
        if log[at] == insns[0] and log[at:at + len(insns)] == insns:
            return at + len(insns)
    return None


def check_tarmac(path):
    """Address, exception level and security of each instruction, by the model's own log."""
    line = re.compile(r" I[TS] \(\d+\) ([0-9a-f]+)[: ]\S* *[0-9a-f]* O EL(\d)\w_([ns]) ")
    log = [(int(m[1], 16), m[2], m[3].upper()) for m in line.finditer(zstd(path / "test_TARMAC.zst"))]
    stretches, at = [], 0
    for text in clew("-i", path, "--ranges").splitlines():
        words = text.split()
        if words[1:3] == ["EVENT", "trace_on"]:
            stretches.append([])
        elif words[1] != "EVENT":
            stretches[-1] += [(pc, words[4], words[5]) for pc in range(int(words[1], 16), int(words[2], 16), 4)]
    for insns in stretches:
        end = in_a_row(insns, log, at)
        check(end is not None, f"{path.name}: the model logged these {len(insns)} instructions in a row, with their level", insns[0])
        at = end or at
    total = sum(map(len, stretches))
    check(total == 5146, f"{path.name}: 5146 instructions in all", total)


def main():
    check_twice()
    why = "no CoreSight snapshots here" if not (DATA / "coresight/golden/SUMMARY.tsv").exists() else \
        "" if shutil.which("zstd") else "no zstd here, to unpack the golden decodes"
    if why:
        skip("golden decodes", why)
        done()
    for name, rows in summary(DATA / "coresight/golden/SUMMARY.tsv").items():
        path = DATA / "coresight" / name
        check_digest(path, rows)
        check_ranges(path, rows)
        check_invariance(path)
    for name, rows in summary(DATA / "coresight-truth/SUMMARY.tsv").items():
        check_digest(DATA / "coresight-truth" / name, rows)
        check_invariance(DATA / "coresight-truth" / name)
    check_tarmac(DATA / "coresight/002-ack_test_scr")
    done()


main()
