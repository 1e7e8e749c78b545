#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: page_bench.py CLEW PAGE_MAKE [SAMPLES]: the page of a recording with a million samples: its size, how long it takes to write, to open, to filter, and the
renderer's memory. Best of several, as other programs run. Fails only above five times the goals. TAP."""
import os
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from page import browser, page_data

CLEW, MAKE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SAMPLES = int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000
WORK = tempfile.mkdtemp()
ENV = {**os.environ, "LC_ALL": "C", "HOME": WORK, "XDG_CACHE_HOME": WORK}
GOALS = {"bytes": 8 * SAMPLES + 200_000, "ready ms": 1500, "filter ms": 300, "longest task ms": 500}


def show(name, value, unit, goal=None):
    print(f"# {name}: {value:,.1f} {unit}".replace(".0 ", " ") + (f" (goal {goal:,})" if goal else ""), flush=True)
    if goal:
        tap.check(value <= 5 * goal, f"{name}: not above five times the goal", value)


def write(recording, page):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([CLEW, "report", "-q", "-i", recording, "--html", page], env=ENV, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    show("written in", after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "s of CPU")
    show("peak memory of clew report", after.ru_maxrss / 1024, "MiB")


def opened(b, page):
    """@return milliseconds until the page was ready, since it was opened."""
    b.open(page)
    return b.js("return clewPage.mark.opened")


def filtered(b, share):
    return b.js("const t = performance.now(), d = clewPage.p.end; clewPage.select(d * %f, d * %f); document.body.offsetHeight; return [performance.now() - t, clewPage.mark.count]" % share)


def main():
    if browser.why_not():
        tap.skip_all(browser.why_not())
    recording, page = os.path.join(WORK, "many.data"), os.path.join(WORK, "many.html")
    page_data.many(MAKE, WORK, recording, SAMPLES)
    write(recording, page)
    show("the file", os.path.getsize(page), "bytes", GOALS["bytes"])
    show("a sample", os.path.getsize(page) / SAMPLES, "bytes")
    b = browser.Browser()
    try:
        ready = [opened(b, page) for _ in range(4)]
        show("ready", min(ready), "ms after opening, best of 4", GOALS["ready ms"])
        print("# " + b.js("return JSON.stringify(clewPage.mark)"))
        b.js("window.longest = 0; new PerformanceObserver((l) => l.getEntries().forEach((e) => { window.longest = Math.max(window.longest, e.duration); })).observe({type: 'longtask'})")
        runs = [filtered(b, s) for s in ((0.1, 0.35), (0.3, 0.9), (0, 0.5), (0.5, 1), (0.05, 0.95), (0.4, 0.41))]
        show("a filter by time, drawn", min(r[0] for r in runs), "ms, best of 6", GOALS["filter ms"])
        show("the slowest of these", max(r[0] for r in runs), "ms")
        show("of which counting", min(r[1] for r in runs), "ms")
        for view in "23451":
            b.keys(view)
        show("longest task after loading", b.js("return window.longest"), "ms", GOALS["longest task ms"])
        show("heap", b.js("return performance.memory.usedJSHeapSize") / 2**20, "MiB")
    finally:
        b.close()
    tap.done()


main()
