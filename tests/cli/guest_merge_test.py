#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""clew merge --guest on the recordings of a host and its guests of ../shared/data/who-truth, of which the offsets are known.

Usage: guest_merge_test.py CLEW DATA"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

CLEW, DATA = sys.argv[1], os.environ.get("CLEW_TEST_DATA", sys.argv[2])
TICKS_PER_US = 25


def run(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)


def merge(out, host, *guests):
    """@p guests: files, and options."""
    return run(CLEW, "merge", *(g if g.startswith("--") else f"--guest={g}" for g in guests), host, "-o", out)


def unpack(tmp, name):
    path = os.path.join(tmp, name)
    subprocess.run(["zstd", "-dqf", "-o", path, os.path.join(DATA, "who-truth", name + ".zst")], check=True)
    return path


def truth_of(case):
    with open(os.path.join(DATA, "who-truth", case + ".merge")) as f:
        return [line.split() for line in f if line[0] != "#"]


def found(p):
    m = re.search(r"process (\d+): (sure|likely|not found): offset (-?\d+) (ticks|ns), drift (.*?), band ([\d.]+) us", p.stderr)
    return m.groups() if m else None


def check_offset(case, row, p):
    guest, pid, offset, drift, unit = row
    got = found(p)
    name = f"{case}: guest {guest}"
    is_sure = got and got[:2] == (pid, "sure")
    tap.check(is_sure, f"{name}: sure, and of the right process", p.stderr)
    if not is_sure:
        return
    tap.check(got[3] == unit, f"{name}: in {unit}", got)
    per_us = TICKS_PER_US if unit == "ticks" else 1000
    error = abs(-int(got[2]) - int(offset)) / per_us
    tap.check(error <= float(got[5]), f"{name}: the true offset is in the band", (got, offset))
    if unit == "ns":
        tap.check(abs(float(got[4].split()[0]) + float(drift)) < 1, f"{name}: so is the drift", (got, drift))


def switches(path):
    """Of threads of guests: name, time."""
    text = run(CLEW, "script", "--show-switch-events", "--show-task-events", "-i", path).stdout
    return re.findall(r"^ *(g\d-app\d) +\d+ \[(\d+)\] +([\d.]+): PERF_RECORD_SWITCH", text, re.M), text


def check_switches(case, merged, nr):
    got, text = switches(merged)
    tap.check(len(got) > 100 * nr, f"{case}: switches of guests have the guests' names", len(got))
    times = [float(t) for t in re.findall(r"\] +([\d.]+): PERF_RECORD_SWITCH", text)]
    tap.check(times == sorted(times), f"{case}: all in order of time")
    names = {n[:2] for n, _, _ in got}
    tap.check(len(names) == nr, f"{case}: threads of equal ids have the name of their own machine", names)


def check_json(case, merged, truth):
    lines = run(CLEW, "script", "--json", "--show-switch-events", "-i", merged).stdout.splitlines()
    found = {(e.get("machine_pid"), e.get("vcpu")) for e in map(json.loads, lines) if re.fullmatch(r"g\d-app\d|swapper", e.get("comm", "")) and "machine_pid" in e}
    tap.check(found == {(int(row[1]), v) for row in truth for v in (0, 1)}, f"{case}: --json has the machine and virtual CPU of each", found)


def check_result(case, truth, text):
    r = json.loads(text)
    want = [(int(row[1]), row[4], "sure", False) for row in truth]
    tap.check([(g["pid"], g["unit"], g["verdict"], g["is_given"]) for g in r["guests"]] == want, f"{case}: --json names process and unit of each guest", text)
    tap.check(all(abs(-g["offset"] - int(row[2])) <= g["band_us"] * (TICKS_PER_US if row[4] == "ticks" else 1000)
                  for g, row in zip(r["guests"], truth)), f"{case}: --json has the offsets", text)
    tap.check(r["host_records"] > 0 and r["guest_records"] > 0 and r["bad_records"] == 0, f"{case}: and the numbers of records", text)


def check_header(case, merged, truth):
    """How certain the clocks are, for readers: half the band that merge printed, at least."""
    guests = json.loads(run(CLEW, "header", "--json", "-i", merged).stdout).get("guests", [])
    tap.check([(str(g["machine"]), g["clock"]) for g in guests] == [(row[1], "sure") for row in truth], f"{case}: the header names the guests", guests)
    tap.check(all(1000 < g["band_ns"] < 50000 for g in guests), f"{case}: with the band of their clocks", guests)
    text = run(CLEW, "header", "--header-only", "-i", merged).stdout
    tap.check(len(re.findall(r"^# guest : process \d+, \S+, clock sure, to [\d.]+ us either way$", text, re.M)) == 2, f"{case}: in text, too", text)


def check_perf(case, merged):
    if not shutil.which("perf"):
        return tap.skip(f"{case}: perf script reads it", "there is no perf")
    p = run("perf", "script", "--show-switch-events", "--show-task-events", "-i", merged)
    bad = [line for line in p.stderr.splitlines() if re.search("unknown|invalid|out of order|fail|error", line, re.I)]
    tap.check(p.returncode == 0 and not bad, f"{case}: perf script reads it", p.stderr)
    tap.check(re.search(r"g0-app\d +\d+ \[\d+\] .*SWITCH", p.stdout), f"{case}: with the guest's names")
    words = ("script", "--show-switch-events", "-F", "+machine_pid,+vcpu", "-i", merged)
    want, got = ([line for line in run(c, *words).stdout.splitlines() if line.startswith("VM:")] for c in ("perf", CLEW))
    tap.check(len(got) > 100 and got == want, f"{case}: machine_pid and vcpu as perf prints them", (len(got), len(want)))


def check_wrong(tmp, case, host, guests, truth):
    out = os.path.join(tmp, "wrong.data")
    other = {row[0]: truth[1 - i][1] for i, row in enumerate(truth)}
    for row, guest in zip(truth, guests):
        p = merge(out, host, f"{guest},{other[row[0]]}")
        tap.check(p.returncode == 1 and "was not found" in p.stderr, f"{case}: guest {row[0]} of the other process is refused", p.stderr)
        tap.check(f"it fits process {row[1]}" in p.stderr, f"{case}: its own is named", p.stderr)
        tap.check(not os.path.exists(out), f"{case}: nothing is written")
        # The same with its own process taken by a guest of that recording.
        p = merge(out, host, f"{guest},{row[1]}", f"{guest},{other[row[0]]}")
        tap.check(p.returncode == 1 and "it fits process" not in p.stderr and "nearest offset" in p.stderr
                  and re.search(r"contained \d+ of \d+ events", p.stderr),
                  f"{case}: no process of another guest is named, but what came nearest", p.stderr)


def check_given(tmp, host, guest, row):
    out = os.path.join(tmp, "given.data")
    p = merge(out, host, f"{guest},{row[1]},{-int(row[2])}")
    tap.check(p.returncode == 0 and "offset fits" in p.stderr, "the true offset is accepted", p.stderr)
    p = merge(out, host, f"{guest},{row[1]},{-int(row[2]) + 50000}")
    tap.check(p.returncode == 0 and "is wrong: the switches say" in p.stderr, "a wrong one is contradicted, and used", p.stderr)
    p = merge(out, host, f"{guest},{row[1]},{-int(row[2])},2")
    tap.check(p.returncode == 2 and "SCALE has to be" in p.stderr, "a scale that no machine has is refused, with the limits", p.stderr)


def nr_trace(path):
    return json.loads(run(CLEW, "header", "--json", "-i", path).stdout)["records"].get("AUXTRACE", 0)


def check_trace(tmp, host, row):
    """A guest's recording with trace: only the host's stays, and a message says so. Any such recording will do."""
    out = os.path.join(tmp, "trace.data")
    p = merge(out, host, f"{host},{row[1]},0")
    tap.check(p.returncode == 0 and re.search(r"\d{4,} bytes of hardware trace of guests were not merged", p.stderr), "trace of a guest: a warning", p.stderr)
    tap.check("from the guest's own recording" in p.stderr, "trace of a guest: with what to do", p.stderr)
    tap.check(nr_trace(out) == nr_trace(host) > 0, "trace of a guest: only the host's is in the file", (nr_trace(out), nr_trace(host)))


def check_arguments(tmp, host, guest):
    for what, words in (("no guest", [host, "-o", "x"]), ("no output", ["--guest", guest, host]), ("two hosts", ["--guest", guest, host, host, "-o", "x"]),
                        ("no number", [f"--guest={guest},me", host, "-o", "x"]), ("a scale of 0", [f"--guest={guest},1,0,0", host, "-o", "x"])):
        p = run(CLEW, "merge", *words)
        tap.check(p.returncode == 2 and "error" in p.stderr, f"{what}: a usage error", p.stderr)
    p = merge(os.path.join(tmp, "x"), host, os.path.join(tmp, "nosuch"))
    tap.check(p.returncode == 1 and "hint: name it with --guest=FILE" in p.stderr, "a guest that is missing: how it is named", p.stderr)
    p = merge(os.path.join(tmp, "x"), host, f"{guest},4000000")
    tap.check(p.returncode == 1 and "has no thread of a virtual CPU" in p.stderr, "a process that runs no machine is refused", p.stderr)
    p = merge(os.path.join(tmp, "x"), host, guest, guest)
    tap.check(p.returncode == 2 and "are both of process" in p.stderr, "one machine twice is refused", p.stderr)


def check_damaged(tmp, host, guest, pid):
    with open(guest, "rb") as f:
        whole = f.read()
    path = os.path.join(tmp, "damaged.data")
    codes = set()
    for i in range(40):
        data = bytearray(whole[:len(whole) * (i % 4 + 1) // 4])
        for k in range(i):
            data[(104 + 7919 * (i + 1) * (k + 1)) % len(data)] ^= 1 << k % 8
        with open(path, "wb") as f:
            f.write(data)
        codes.add(merge(os.path.join(tmp, "x"), host, f"{path},{pid}").returncode)
    tap.check(codes <= {0, 1}, "damaged guests are merged or refused", codes)


def main():
    if not os.path.exists(os.path.join(DATA, "who-truth", "merge.0.data.zst")) or not shutil.which("zstd"):
        tap.skip_all("the recordings of ../shared/data/who-truth, or zstd, are missing")
    with tempfile.TemporaryDirectory() as tmp:
        for case in ("merge.0", "merge-drift.1"):
            truth = truth_of(case)
            host = unpack(tmp, case + ".data")
            guests = [unpack(tmp, f"{case}.guest{row[0]}.data") for row in truth]
            out = os.path.join(tmp, case + ".merged")
            for row, guest in zip(truth, guests):
                check_offset(case, row, merge(out, host, guest))
            p = merge(out, host, *guests, "--json")
            tap.check(p.returncode == 0, f"{case}: both guests", p.stderr)
            check_result(case, truth, p.stdout)
            check_switches(case, out, 2)
            check_header(case, out, truth)
            check_json(case, out, truth)
            check_perf(case, out)
            check_wrong(tmp, case, host, guests, truth)
            if case == "merge.0":
                first = (host, guests[0], truth[0])
        p = merge(os.path.join(tmp, "x"), first[0], os.path.join(tmp, "merge-drift.1.guest0.data"))
        tap.check(p.returncode == 1 and "was not found" in p.stderr, "a guest of another host is refused", p.stderr)
        check_given(tmp, *first)
        check_trace(tmp, first[0], first[2])
        check_arguments(tmp, first[0], first[1])
        check_damaged(tmp, first[0], first[1], first[2][1])
    tap.done()


main()
