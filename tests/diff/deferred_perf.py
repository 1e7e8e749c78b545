#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: deferred_perf.py CLEW DEFERRED_FILES: deferred user stacks as perf >= 6.19 prints them, where perf is right.

CLEW_PERF_NEW names such a perf (fetch_perf.sh brings one); without it there is nothing to compare with. Where the two differ, this names each case
and checks that perf still is as docs/decisions/stitching.md says."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from record_lib import CLEW, Tap  # noqa: E402

make_files = sys.argv[2]
perf = os.environ.get("CLEW_PERF_NEW")
t = Tap()

if not perf:
    t.skip_all("CLEW_PERF_NEW does not name a perf >= 6.19")


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout.decode("utf8", "replace")


def events(tool, path, options):
    """[(header line, [frames])]: columns' widths differ from release to release, the rest does not"""
    no_inline = ["--no-inline"] if tool == perf else []
    found = []
    for line in run([tool, "script", "-i", path] + no_inline + options).splitlines():
        line = re.sub(r"\s+", " ", line.strip())
        if not line:
            continue
        if re.match(r"[0-9a-f]+( |$)", line) and found:
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return found


def by_time(list_of_events):
    return {re.search(r"(\d+\.\d+):", head).group(1): (head, frames) for head, frames in list_of_events}


# What perf 7.3.4 prints otherwise, by time in the story of tests/make/defer_make.c.
DEFECTS = {
    "1.000013": "the sampled address twice",
    "1.000023": "a sample after its stack: its cookie as a frame",
    "1.000030": "a sample without stack: its cookie as a frame",
    "1.000031": "a mark that is not the word before the last: its cookie as a frame",
    "1.000060": "the stack and the name of the program started later",
    "1.000064": "the name of the task as it was at the end of the file, and its cookie",
    "1.000080": "a sample without stack at the end: its cookie",
}
DEFECTS.update({f"1.00004{i}": "a reason for no stack: taken for a cookie and printed" for i in range(1, 9)})


def compare_story(path, name):
    ours, theirs = by_time(events(CLEW, path, [])), by_time(events(perf, path, []))
    t.check(ours.keys() == theirs.keys(), f"{name}: the same samples")
    other = {when for when in ours if ours[when] != theirs.get(when)}
    for when in sorted(other - DEFECTS.keys()):
        print("#", when, ours[when], theirs.get(when))
    t.check(not other - DEFECTS.keys(), f"{name}: {len(ours) - len(other)} samples of {len(ours)} print alike")
    for when in sorted(DEFECTS.keys() - other):
        print(f"# {when}: this perf prints it right: {DEFECTS[when]}")
    ours, theirs = events(CLEW, path, ["--no-merge-callchains"]), events(perf, path, ["--no-merge-callchains"])
    other = [x for x, y in zip(ours, theirs) if x != y]
    t.check(len(ours) == len(theirs) and all("1.000031" in head for head, _ in other),
            f"{name}: --no-merge-callchains prints alike, but for a mark where perf does not look", other)


def compare_recording(path, name):
    """Any recording: what perf could not match is left out."""
    ours, theirs = events(CLEW, path, ["-F", "comm,tid,time,event,ip,sym"]), \
        events(perf, path, ["-F", "comm,tid,time,event,ip,sym"])
    mine = {}
    for head, frames in ours:
        mine.setdefault(head, []).append(len(frames))
    found = wrong = 0
    for head, frames in theirs:
        if any("(cookie)" in f for f in frames) or head not in mine:
            continue
        found += 1
        wrong += len(frames) not in mine[head]
    # Late samples end with a cookie that perf calls an address.
    t.check(found and wrong <= found / 20, f"{name}: {found} samples have as many frames as in perf, but {wrong}")
    t.check(sum(map(len, mine.values())) == len(theirs), f"{name}: the same number of samples")


subprocess.run([make_files, t.dir], check=True)
# perf reads neither a compressed file without its feature nor every pipe from a file
compare_story(t.path("deferred.data-0"), "file")
data = t.path("live.data")
# Silent where this machine cannot record so.
subprocess.run([CLEW, "record", "-q", "-F", "999", "--call-graph", "auto", "-o", data, "--", "sh", "-c",
                "dd if=/dev/zero of=/dev/null bs=64M count=40; ls -lR /usr/share/doc"],
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
if os.path.exists(data) and "CALLCHAIN_DEFERRED" in run([CLEW, "report", "--stats", "-i", data]):
    compare_recording(data, "a recording made here")
else:
    t.skip("a recording made here", "nothing is recorded with deferred stacks here")
t.done()
