#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: numbers_test.py CLEW: all views of one recording have the same samples and period: text, JSON, terminal, page, server, annotation, comparison, exports. TAP.

Spec: views.md V70. What is inside each of them is in the test of each."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import tui_lib
from cli.export_make import clew, export, run, two, work
from page import unpack

ELSEWHERE = {"parquet", "lcov", "llvm-profgen", "bolt"}  # that needs a library; these count what ran, not samples


def of_events(events):
    return {e.get("name") or e["event"]: (e["samples"], e["period"]) for e in events}


def of_json():
    return of_events(e for t in json.loads(run(clew, "report", "-i", two, "--json").stdout)["tables"] for e in t["events"])


def of_rows():
    """Summed again from the rows."""
    tables = json.loads(run(clew, "report", "-i", two, "--json", "--no-children").stdout)["tables"]
    return {t["events"][i]["name"]: tuple(sum(r["values"][i][key] for r in t["rows"]) for key in ("samples", "self"))
            for t in tables for i in range(len(t["events"]))}


def of_text():
    text = run(clew, "report", "-i", two, "--stdio").stdout.decode()
    return {name: (int(nr), int(period)) for nr, name, period in
            re.findall(r"^# Samples: (\d+) +of event '(.*)'\n# Event count \(approx\.\): (\d+)$", text, re.M)}


def of_script():
    sums = {}
    for line in run(clew, "script", "-i", two, "--json").stdout.decode().splitlines():
        e = json.loads(line)
        if e.get("type") == "sample":
            nr, period = sums.get(e["event"], (0, 0))
            sums[e["event"]] = nr + 1, period + e["period"]
    return sums


def of_diff():
    tables = json.loads(run(clew, "diff", "--json", two, two).stdout)["tables"]
    both = [[t["events"][i] for t in tables] for i in range(2)]
    return of_events(both[0]) if of_events(both[0]) == of_events(both[1]) else both


def of_page(path):
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    return {e["name"]: unpack.sums(head, columns, i)[1:] for i, e in enumerate(head["events"])}


def of_html():
    path = os.path.join(work, "numbers.html")
    p = run(clew, "report", "-i", two, "--html", path)
    return of_page(path) if p.returncode == 0 else p.stderr


def of_export(name):
    sums = {}
    for event in WANT:
        p = export(two, name, "--json", "-e", event, "-o", os.path.join(work, "numbers.out"))
        said = [json.loads(line) for line in p.stderr.decode().splitlines() if line.startswith("{")]
        if p.returncode or len(said) != 1:
            return p.stderr
        sums[event] = of_events(said[0]["events"])[event] if "events" in said[0] else (said[0]["samples"], None)
    return sums


def of_terminal():
    sums = {}
    with tui_lib.Screen(work, f"{clew} report --tui -i {two}", columns=120) as s:
        for event in WANT:
            if not s.wait(f"of event '{event}'"):
                return s.seen
            nr, name, period = re.search(r"Samples: (\d+) +of event '(.*?)', (\d+)", s.seen[0]).groups()
            sums[name] = int(nr), int(period)
            s.keys("Tab")
    return sums


def of_function(event):
    """hot's own samples and period: in report's rows, and in its annotation."""
    rows = json.loads(run(clew, "report", "-i", two, "--json", "--no-children", "-s", "sym").stdout)["tables"]
    table = next(t for t in rows if t["events"][0]["name"] == event)
    row = next(r["values"][0] for r in table["rows"] if r["sym"] == "hot")
    e = next(s for s in json.loads(run(clew, "annotate", "hot", "-i", two, "--json").stdout)["symbols"] if s["events"][0]["name"] == event)
    return [(row["samples"], row["self"])] + [tuple(sum(i[key][0] for i in e["instructions"]) for key in ("samples", "period"))] + [(e["events"][0]["samples"], e["events"][0]["period"])]


WANT = of_json()
tap.check(len(WANT) == 2 and all(nr and period for nr, period in WANT.values()), "report --json has both events", WANT)
for what, found in (("rows of report --json", of_rows()), ("text of report", of_text()), ("script --json", of_script()), ("diff --json", of_diff()), ("page", of_html())):
    tap.check(found == WANT, what, [found, WANT])
for name in WANT:
    got = of_function(name)
    tap.check(len(set(got)) == 1 and got[0][0], f"annotate, {name}", got)
formats = run(clew, "export", "--to", "?").stderr.decode().split("formats: ")[1].strip().split(", ")
for name in sorted(set(formats) - ELSEWHERE):
    got = of_export(name)
    is_of_samples = isinstance(got, dict) and all(period is None for _, period in got.values())
    want = {e: (nr, None) for e, (nr, _) in WANT.items()} if is_of_samples else WANT
    tap.check(got == want, f"export --to {name}", [got, want])
if tui_lib.HAS_TMUX:
    found = of_terminal()
    tap.check(found == WANT, "terminal", [found, WANT])
else:
    tap.skip("terminal", "no tmux")
shutil.rmtree(work, ignore_errors=True)
tap.done()
