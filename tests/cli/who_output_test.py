#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What users see of who ran: `--stats`, `-F who`, the sort keys, and the tables of sampled operations. On the sets of tests/data/who, with their truth.
TAP.

Usage: who_output_test.py CLEW DIR"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip_all

CLEW, SETS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ENV = {**os.environ, "LC_ALL": "C", "PAGER": "cat", "HOME": "/nonexistent"}
EVERY = "--itrace=i1i"


def clew(command, path, *options):
    return subprocess.run([CLEW, command, "-i", path, *options], capture_output=True, text=True, env=ENV, check=False)


def events(path):
    lines = clew("script", path, EVERY, "--json").stdout.splitlines()
    return [e for e in map(json.loads, lines) if e["type"] == "sample"]


def block(text, title):
    """{word: number} of the lines after @p title, up to the next title."""
    lines = text.partition(title + "\n")[2].splitlines()
    found = {}
    for m in iter(lambda: re.fullmatch(r"\s+(\d+)  (.*)", lines.pop(0)) if lines else None, None):
        found[m.group(2)] = int(m.group(1))
    return found


def rows(path, keys):
    """{(key, ...): records} of a report over instructions, which each record is one of."""
    out = clew("report", path, EVERY, "-s", keys, "-n", "-t", "|").stdout
    cells = [[c.strip() for c in line.split("|")] for line in out.splitlines() if line and not line.startswith("#")]
    return {tuple(c[2:]): int(c[1]) for c in cells}


def test_stats(name, path, found):
    kinds = collections.Counter(e["who"]["kind"] for e in found)
    evidence = collections.Counter(e["who"]["evidence"] for e in found if e["who"]["kind"] != "unknown")
    reasons = collections.Counter(e["who"]["reason"] for e in found if e["who"]["kind"] == "unknown")
    for command in "script", "report":
        text = clew(command, path, "--stats").stdout
        who = block(text, "Who ran:")
        check(who.pop("records", 0) == len(found) and sum(who.values()) == len(found), f"{name}: {command} --stats: kinds add up to the records", text[-900:])
        if "idle-or-outside" not in kinds:  # idle by its function needs symbols
            check(who == kinds, f"{name}: {command} --stats: and are those of script", f"{who} {kinds}")
        check(block(text, "known by evidence:") == evidence, f"{name}: {command} --stats: evidence", f"{evidence} {text[-900:]}")
        check(block(text, "unknown by reason:") == reasons, f"{name}: {command} --stats: reasons", f"{reasons} {text[-900:]}")
        check("made in the initial PID namespace: " in text, f"{name}: {command} --stats: facts of the recording", text[-900:])


def test_fields(name, path, found):
    lines = clew("script", path, EVERY, "-F", "+who").stdout.splitlines()
    texts = collections.Counter(m.group(1) for m in (re.search(r"\s(task|idle|outside|idle-or-outside|unknown)/\S+", line) for line in lines) if m)
    check(texts == collections.Counter(e["who"]["kind"] for e in found), f"{name}: -F +who: each record has its answer", f"{texts} {lines[:2]}")
    of_json = [json.loads(line) for line in clew("script", path, EVERY, "--json", "-F", "+who").stdout.splitlines()]
    check(sum("who" in e for e in of_json) == len(found), f"{name}: --json -F +who is accepted", len(of_json))
    check(not any(re.match(r"\s*:-1 .* (outside|idle)", line) for line in lines), f"{name}: what is no thread has the name of what it is")


def test_keys(name, path, found):
    check({k[0]: n for k, n in rows(path, "evidence").items()} == collections.Counter(e["who"].get("evidence") or e["who"]["reason"] for e in found),
          f"{name}: -s evidence, or the reason", rows(path, "evidence"))
    check({k[0]: n for k, n in rows(path, "level").items()} == collections.Counter(e["who"]["level"] for e in found), f"{name}: -s level", rows(path, "level"))
    by_tid = rows(path, "tid")
    kinds = collections.Counter(e["who"]["kind"] for e in found)
    for kind in "outside", "idle-or-outside", "unknown":
        nr = sum(n for k, n in by_tid.items() if k[0].endswith(f"[{kind}]"))
        check(nr == kinds[kind], f"{name}: -s tid: {kind} is a row of its own", f"{nr} {kinds[kind]} {by_tid}")
    check(not any(re.match(r"-1:|0:(?!\[|swapper)", k[0]) for k in by_tid), f"{name}: no thread has the id 0 or -1", by_tid)


def test_machine(path):
    found = events(path)
    guests = collections.Counter(e["who"].get("machine", "[unknown]") for e in found)
    by = rows(path, "machine")
    check(sum(by.values()) == len(found) and sum(n for k, n in by.items() if k[0] == "host") == guests["host"], "leak: -s machine", f"{by} {guests}")


def speculative(ops):
    return sum("events" in op and not int(op["events"], 16) & 2 for op in ops)


def not_retired(text):
    found = re.search(r"^# Speculative, did not retire: (\d+) of them", text, re.M)
    return int(found.group(1)) if found else 0


def test_memory(path):
    found = [e["op"] for e in events(path) if e["op"].get("kind") in ("load", "store")]
    text = clew("report", path, "--mem").stdout
    loads = sum(op["kind"] == "load" for op in found)
    head = re.search(r"sampled: (\d+) \((\d+) loads, (\d+) stores\)", text)
    check(head and tuple(map(int, head.groups())) == (len(found), loads, len(found) - loads), "--mem: each access once", text[:300])
    check(not_retired(text) == speculative(found), "--mem: those that did not retire are counted", text[:400])
    check("# Cache lines of 64 bytes" in text, "--mem: cache lines")
    made = clew("report", path, "--mem", "--json")
    check(made.returncode == 0 and json.loads(made.stdout), "--mem --json", made.stderr)


def test_branches(path):
    found = [e["op"] for e in events(path) if e["op"].get("kind") == "branch"]
    made = clew("report", path, "--branch")
    nr = re.search(r"sampled: (\d+)", made.stdout)
    check(nr and int(nr.group(1)) == len(found), "--branch: each branch operation once", made.stdout[:400])
    check(not_retired(made.stdout) == speculative(found), "--branch: those that did not retire are counted", made.stdout[:400])
    made = clew("report", path, "--branch", "--json")
    check(made.returncode == 0 and json.loads(made.stdout), "--branch --json", made.stderr)


def main():
    if not shutil.which("zstd"):
        skip_all("no zstd")
    with tempfile.TemporaryDirectory() as where:
        def unpack(name):
            path = os.path.join(where, name + ".data")
            subprocess.run(["zstd", "-dqf", os.path.join(SETS, name + ".data.zst"), "-o", path], check=True)
            return path
        for name in "root-switch.0", "box-switch.0", "box-mix.0", "noclock.0":
            path = unpack(name)
            found = events(path)
            for test in test_stats, test_fields, test_keys:
                test(name, path, found)
        test_machine(unpack("leak.0"))
        test_memory(unpack("box-mix.0"))
        test_branches(unpack("box-mix.0"))
    done()


main()
