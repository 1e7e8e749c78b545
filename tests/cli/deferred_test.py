#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: deferred_test.py CLEW DEFERRED_FILES: deferred user stacks through the command, as files, pipes and streams."""
import json
import subprocess
import sys

from record_lib import CLEW, Tap

make_files = sys.argv[2]


def run(words, stdin=None):
    return subprocess.run([CLEW] + words, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).stdout.decode("utf8", "replace")


def stream(words, path):
    """through a pipe: it cannot be read twice"""
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        return run(words, cat.stdout)


SYMBOLS = ["--kallsyms", "/dev/null", "--symfs", "/nonexistent"]

t = Tap()
subprocess.run([make_files, t.dir], check=True)
plain, packed, pipe = (t.path(f"deferred.data-{i}") for i in range(3))
for options in ["script"], ["script", "--json"], ["script", "--no-merge-callchains"], ["script", "--stats"]:
    want = run(options + ["-i", plain] + SYMBOLS)
    name = " ".join(options)
    t.check(want and run(options + ["-i", packed] + SYMBOLS) == want, f"{name}: a compressed file reads the same")
    t.check(run(options + ["-i", pipe] + SYMBOLS) == want, f"{name}: so does a pipe's file")
    t.check(stream(options + ["-i", "-"] + SYMBOLS, pipe) == want, f"{name}: so does a stream")
    t.check(stream(options + ["--wait-all", "-i", "-"] + SYMBOLS, pipe) == want, f"{name}: with --wait-all too")
THERE = "complete", "partial", "unproven"
samples = [json.loads(line) for line in run(["script", "--json", "-i", plain] + SYMBOLS).splitlines()]
states = [s["user_stack"] for s in samples]
t.check(len(samples) == 22 and all(s["state"] in (*THERE, "none-expected", "lost") for s in states),
        "JSON: each sample has one outcome", states)
t.check(all(("reason" in s) == (s["state"] not in THERE) for s in states), "JSON: and a reason where it is not there")
t.check(all((s["state"] == "complete") == (s.get("stop") == "outermost") for s in states),
        "JSON: complete is what reached the outermost frame", states)
t.check([s["state"] for s in states if s.get("stop") == "no-info"] == ["partial"], "JSON: what ended early is partial")
t.check([s["stop"] for s in states if "stop" in s] == ["outermost", "no-info"], "JSON: and why the stack ends")
t.check(all(any(f["kind"] == "user" for f in e["callchain"]) for e in samples if e["user_stack"]["state"] in THERE),
        "JSON: what is there has user frames")
t.check([s["time"] for s in samples] == sorted(s["time"] for s in samples), "samples come by their own time")
stats = run(["report", "--stats", "-i", plain])
line = "samples 22: complete 1, partial 1, unproven 7, none-expected 3 (idle 1, kernel-thread 1, exiting 1), lost 10 (no-record 1, exit 1, " \
    "exec 1, end 1, empty 1, map-full 1, ring-full 1, refused 2, unmatched 1)"
t.check(line in stats and "reached the outermost frame" in stats, "report --stats adds up", stats)
t.check(line in run(["script", "--stats", "-i", plain]), "script --stats says the same")
report = json.loads(run(["report", "--json", "-i", plain] + SYMBOLS))["summary"]["user_stacks"]
t.check(report["samples"] == sum(report[x] for x in THERE) + sum(report["none_expected"].values()) + sum(report["lost"].values()),
        "report --json adds up", report)
raw = run(["script", "--no-merge-callchains", "-i", plain, "-F", "ip,sym"] + SYMBOLS)
t.check(raw.count("DEFERRED CALLCHAIN [cookie: ") == 8 and raw.count("(cookie)") == 21,
        "--no-merge-callchains: stacks by themselves, cookies in chains", raw)
dump = run(["script", "-D", "-i", plain])
t.check("PERF_RECORD_CALLCHAIN_DEFERRED cookie 0x10001, 3 frames, stop outermost\n" in dump, "-D prints the trailer")
for words in ["--comms", "eleven"], ["--time", "1.000011,1.000013"], ["-G"]:
    t.check(run(["script", "-i", plain] + words + SYMBOLS) == stream(["script", "-i", "-"] + words + SYMBOLS, pipe),
            f"{' '.join(words)}: file and stream agree")
merged = t.path("merged.data")
subprocess.run([CLEW, "inject", "--merge-stacks", "-i", plain, "-o", merged], check=True, stderr=subprocess.DEVNULL)
with open(merged, "r+b") as f:
    data = f.read()
    f.seek(data.index(b"CLEWSTK"))
    f.write(b"x")
SAID = "how user stacks end and were found is unknown for 22 samples: the header's record of it (feature 240) is damaged"
for options in ["script"], ["script", "--json"], ["report"], ["report", "--stats"], ["report", "--json"]:
    p = subprocess.run([CLEW, *options, "-i", merged] + SYMBOLS, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    t.check(p.returncode == 0 and p.stderr.count(SAID) == 1, f"{' '.join(options)}: damage in header feature 240 is said, once", p.stderr)
    t.check(len(p.stdout) > 500 and (options != ["report", "--json"] or json.loads(p.stdout)["summary"]["unknown_stacks"] == 22),
            f"{' '.join(options)}: and the rest is there", p.stdout[-500:])
t.done()
