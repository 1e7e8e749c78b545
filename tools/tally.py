#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: tally.py TESTLOG.json ...

Sum up meson's test logs. A TAP test counts once for each of its lines, any other test once; a test that
fails without a line saying so (a crash, a timeout, a wrong plan) counts as one failure. Names what failed
and why tests were skipped; the last line is `N passed, N failed, N skipped`. Exit status 1 if any failed."""
import collections
import json
import os
import re
import sys

POINT = re.compile(r"^(not )?ok\b[^#\n]*(# *(?P<directive>SKIP|TODO)\b *(?P<why>.*))?", re.M | re.I)
PLAN = re.compile(r"^1\.\.(\d+)(?: *# *SKIP *(?P<why>.*))?", re.M | re.I)
GOOD = {"OK", "EXPECTEDFAIL"}


def count_test(test, skips):
    """@return (passed, failed, skipped) of one entry of the log."""
    out = test.get("stdout") or ""
    plan = PLAN.search(out)
    passed = failed = skipped = 0
    if test["result"] == "SKIP":
        skips[(plan.group("why") if plan else out.strip().split("\n")[-1]) or "no reason given"] += 1
        return 0, 0, 1
    if plan:
        for point in POINT.finditer(out):
            if (point.group("directive") or "").upper() == "SKIP" or point.group(1) and point.group("directive"):
                skips[point.group("why")] += 1 # a TODO that fails is reported like a test not run
                skipped += 1
            elif point.group(1) and not point.group("directive"):
                failed += 1
            else:
                passed += 1
    elif test["result"] in GOOD:
        passed = 1
    if test["result"] not in GOOD and failed == 0:
        failed = 1
    return passed, failed, skipped


def failed_rows(test):
    """The first rows that failed, with the remarks after each; of a test that has none its last lines. Where only the end of a
    log is shown, this is what shows."""
    lines = (test.get("stdout") or "").strip().split("\n")
    rows = []
    is_remark = False
    for line in lines:
        is_failed = line.startswith("not ok") and not re.search(r"# *(SKIP|TODO)\b", line, re.I)
        is_remark = is_failed or (is_remark and line.startswith("#"))
        if is_remark:
            rows.append(line)
    return ["    " + line[:240] for line in rows[:12] or lines[-4:]]


def main():
    total = [0, 0, 0]
    skips = collections.Counter()
    for path in sys.argv[1:]:
        step = os.path.basename(path).removesuffix(".json")
        counts = [0, 0, 0]
        with open(path, encoding="utf-8") as log:
            for line in log:
                try:
                    test = json.loads(line)
                except ValueError:
                    test = {"name": "a line of the log is no JSON", "result": "ERROR"}
                got = count_test(test, skips)
                counts = [a + b for a, b in zip(counts, got)]
                if got[1]:
                    print(f"FAILED {step}: {test['name']} ({test['result']})")
                    print(*failed_rows(test), sep="\n")
        print("%s: %d passed, %d failed, %d skipped" % (step, *counts))
        total = [a + b for a, b in zip(total, counts)]
    for why, n in skips.most_common():
        print(f"skipped {n}: {why}")
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] or not total[0] else 0


sys.exit(main())
