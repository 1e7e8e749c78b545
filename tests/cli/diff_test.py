#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: diff_test.py CLEW: `clew diff` of recordings made here: a recording and itself, both ways, two builds of a file, noise, exit statuses, JSON
against text and `clew report`. TAP."""
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm

CLEW = os.path.abspath(sys.argv[1])
TOP = Path(tempfile.mkdtemp())
ENVIRONMENT = dict(os.environ, PAGER="cat", LC_ALL="C.UTF-8", HOME=str(TOP), XDG_CACHE_HOME=str(TOP))
SAMPLE = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD
KERNEL = 0xFFFFFFFFA0000000
CPU_CLOCK, PAGE_FAULTS = 0, 2  # software events


def run(*args):
    return subprocess.run([CLEW, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=TOP)


def diff(*args):
    p = run("diff", "--json", *args)
    return json.loads(p.stdout) if p.stdout else {"failed": p.stderr}


def rows(*args):
    return diff(*args)["tables"][0]["rows"]


def by_name(found, value="delta"):
    return {r["sym"]: r["values"][1][value] for r in found}


def write(name, data):
    path = TOP / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def kernel(name, counts, config=CPU_CLOCK, event="cpu-clock", step=1000, comm=b"task"):
    """A recording of functions of the kernel. @counts: {name: samples}."""
    e = pm.Event(SAMPLE, config=config)
    places = {f: KERNEL + 64 * i for i, f in enumerate(sorted(counts))}
    records = pm.comm(e, 7, comm) + b"".join(pm.ksymbol(e, at, f.encode()) for f, at in places.items())
    time = 1000
    for f in sorted(counts):
        for _ in range(counts[f]):
            time += step
            records += e.sample(places[f] + 4, time=time, misc=pm.KERNEL)
    return write(name, pm.perf_data([e], records, {12: pm.event_desc([e], [event.encode()])}))


def test_itself():
    a = kernel("same.data", {"f%d" % i: 1 + i * i for i in range(30)})
    found = rows(a, a)
    tap.check(len(found) == 30 and all(r["values"][1]["delta"] == 0 and r["values"][1]["ratio"] == 1 and not r["values"][1]["significant"] for r in found),
              "a recording and itself: only zeros", found)
    text = run("diff", a, a).stdout
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    tap.check(len(lines) == 30 and all(" 0.00% " in line and "~" not in line for line in lines), "in the text, too", text)
    tap.check(run("diff", "--significant", a, a).stdout.count("[k]") == 0, "none is significant")
    tap.check(run("diff", "--fail-above=0", a, a).returncode == 0, "nothing to fail on")


def test_both_ways():
    dice = random.Random(3)
    names = ["f%d" % i for i in range(40)]
    a = kernel("a.data", {f: dice.randrange(1, 200) for f in names[:35]})
    b = kernel("b.data", {f: dice.randrange(1, 400) for f in names[5:]})
    there, back = rows(a, b), rows(b, a)
    one, two = by_name(there), by_name(back)
    tap.check(set(one) == set(names) and all(one[f] == -two[f] for f in names), "the other way round, differences are opposite", [one, two])
    states, others = by_name(there, "state"), by_name(back, "state")
    swapped = {"new": "gone", "gone": "new", "both": "both"}
    tap.check(all(others[f] == swapped[states[f]] for f in names) and sorted(states.values()).count("new") == 5, "and so is what is new or gone", states)
    tap.check(by_name(there, "significant") == by_name(back, "significant"), "the same rows are significant")
    for found in there, back:
        tap.check(abs(sum(by_name(found).values())) < 1e-9, "differences of shares add up to 0")
    deltas = [r["values"][1]["delta"] for r in there]
    tap.check(deltas == sorted(deltas, reverse=True), "what grew most comes first", deltas)
    deltas = [abs(r["values"][1]["delta"]) for r in rows("-o", "delta-abs", a, b)]
    tap.check(deltas == sorted(deltas, reverse=True), "-o delta-abs: the largest first", deltas)
    found = rows("-o", "ratio", a, b)
    ratios = [math.inf if r["values"][1]["state"] == "new" else r["values"][1]["ratio"] or 0 for r in found]
    tap.check(ratios == sorted(ratios, reverse=True) and not any(r["values"][1]["ratio"] for r in found if r["values"][1]["state"] != "both"),
              "-o ratio: new rows, then by ratio, which they do not have", ratios)
    found = rows("-o", "wdiff:2,3", a, b)
    weighted = [r["values"][1]["wdiff"] for r in found]
    tap.check(weighted == sorted(weighted, reverse=True) and all(
        r["values"][1]["wdiff"] == 3 * r["values"][1]["period"] - 2 * r["values"][0]["period"] for r in found), "-o wdiff: by weighted periods", weighted)
    test_report(a, b, there)
    test_text(a, b, there)
    test_perf(a, b, there)
    tap.check(run("diff", a, b).stdout == run("diff", "--single-threaded", a, b).stdout, "one thread, the same text")


def test_report(a, b, found):
    """Values are those of clew report."""
    for i, path in enumerate((a, b)):
        table = json.loads(run("report", "--json", "-i", path).stdout)["tables"][0]
        want = {r["sym"]: r["values"][0]["self"] for r in table["rows"]}
        got = {r["sym"]: r["values"][i]["period"] for r in found if r["values"][i]["samples"]}
        tap.check(got == want, f"periods of {path.name} are those of clew report", [got, want])
        total = table["events"][0]["period"]
        tap.check(all(abs(r["values"][i]["value"] - 100 * r["values"][i]["period"] / total) < 1e-9 for r in found), "values are shares of its total")


def test_text(a, b, found):
    """Text is JSON, rounded."""
    lines = [line.split(",") for line in run("diff", "-t", ",", "-s", "sym", a, b).stdout.splitlines() if line and line[0] != "#"]
    want = []
    for r in found:
        old, new = r["values"]
        ratio = "%.3f" % new["ratio"] if new["state"] == "both" else new["state"]
        want.append(["%.2f%%" % v["value"] if v["samples"] else "-" for v in (old, new)] + ["%+.2f%%" % new["delta"], ratio, "[k] " + r["sym"]])
    tap.check(lines == want, "the text has the values of the JSON", [x for x in zip(lines, want) if x[0] != x[1]])
    wide = [line for line in run("diff", "--stdio-color", "always", a, b).stdout.splitlines() if "[k]" in line]
    dim = {line.split("[k] ")[1].split("\x1b")[0].strip() for line in wide if line.startswith("\x1b[2m")}
    tap.check(dim == {r["sym"] for r in found if not r["values"][1]["significant"]}, "rows that may be noise are dimmed", dim)
    plain = [line for line in run("diff", a, b).stdout.splitlines() if "[k]" in line]
    marked = {line.split("[k] ")[1].strip() for line in plain if "~" in line}
    tap.check(marked == {r["sym"] for r in found if not r["values"][1]["significant"] and r["values"][1]["delta"]}, "and marked", marked)
    kept = {r["sym"] for r in rows("--significant", a, b)}
    tap.check(kept == {r["sym"] for r in found if r["values"][1]["significant"]}, "--significant omits them", kept)


def perf_diff(a, b, *options):
    """{function: the number after the baseline} of rows that perf compares: not of those that are gone."""
    p = subprocess.run(["perf", "diff", "-f", "-s", "sym", *options, a, b], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    return {name: float(number) for number, name in re.findall(r"([-+]?[0-9.]+)%? +\[k\] (\w+)", p.stdout) if "+" in number or "-" in number or options}


def test_perf(a, b, found):
    if not shutil.which("perf") or subprocess.run(["perf", "--version"], capture_output=True, check=False).returncode:
        tap.skip("differences are perf diff's", "perf is not here")
        tap.skip("weighted differences are perf diff's", "perf is not here")
        return
    want, ours = perf_diff(a, b), by_name(found)
    states = by_name(found, "state")
    tap.check(len(want) > 20 and all(abs(ours[f] - want[f]) < 0.006 for f in want if states[f] != "gone"), "differences are perf diff's", [want, ours])
    want, ours = perf_diff(a, b, "-c", "wdiff:2,3"), by_name(rows("-o", "wdiff:2,3", a, b), "wdiff")
    both = [f for f in want if states[f] == "both"]
    tap.check(len(both) > 20 and all(ours[f] == want[f] for f in both), "weighted differences are perf diff's", [want, ours])


def test_noise():
    """Two recordings of one program: samples of the same distribution."""
    dice, called, all_rows = random.Random(11), 0, 0
    weights = {"f%d" % i: 1 / (1 + i) for i in range(60)}
    for n in range(12):
        pair = []
        for side in range(2):
            picks = dice.choices(list(weights), list(weights.values()), k=dice.randrange(1500, 4000))
            pair.append(kernel(f"noise{n}{side}.data", {f: picks.count(f) for f in weights if f in picks}))
        found = [r for r in rows(*pair) if max(v["value"] for v in r["values"]) > 0.5]
        all_rows += len(found)
        called += sum(r["values"][1]["significant"] for r in found)
    tap.check(all_rows > 400 and called <= 0.05 * all_rows, f"two recordings of one program: {called} of {all_rows} rows are called significant")
    slow = dict.fromkeys(weights, 40)
    a, b = kernel("fast.data", slow), kernel("slow.data", dict(slow, f7=140))
    found = [r["sym"] for r in rows("--significant", a, b) if r["values"][1]["delta"] > 0]
    tap.check(found == ["f7"], "a function that became slower is", found)


def test_fail_above():
    a, b = kernel("before.data", {"f": 500, "g": 500}), kernel("after.data", {"f": 400, "g": 600})
    p = run("diff", "--fail-above=5", a, b)
    tap.check(p.returncode == 1 and "[k] g" in p.stdout and "grew by more than 5 %" in p.stderr and "[k] g" in p.stderr, "--fail-above: 10 points are more than 5", p)
    p = run("diff", "--fail-above=15", a, b)
    tap.check(p.returncode == 0 and not p.stderr, "and less than 15", p)
    p = run("diff", "--fail-above", "0", kernel("few.data", {"f": 5, "g": 5}), kernel("few2.data", {"f": 4, "g": 6}))
    tap.check(p.returncode == 0, "what may be noise does not fail", p)
    p = run("diff", "--fail-above", "5", "--json", a, b)
    tap.check(p.returncode == 1 and json.loads(p.stdout), "with --json, too", p)
    longer = kernel("longer.data", {"f": 500, "g": 800})
    p = run("diff", "--fail-above", "25", "--normalize", "none", a, longer)
    tap.check(p.returncode == 1, "of totals: 300 more of 1000 are more than 25 %", p)
    tap.check(run("diff", "--fail-above", "35", "--normalize", "none", a, longer).returncode == 0, "and less than 35 %")


def test_normalize():
    a = kernel("short.data", {"f": 100, "g": 300}, step=1000)
    b = kernel("long.data", {"f": 400, "g": 300}, step=4000)
    head = run("diff", "--normalize", "time", a, b).stdout
    tap.check("total 400 ns, in 0.000399 s: 1002506" in head and "per second of the recording" in head, "time: the head has both totals and lengths", head)
    found = {r["sym"]: r["values"] for r in rows("--normalize", "time", a, b)}
    tap.check(abs(found["f"][0]["value"] - 100 / 399e-6) < 1 and abs(found["f"][1]["value"] - 400 / (699 * 4e-6)) < 1, "values are per second", found)
    found = {r["sym"]: r["values"] for r in rows("--normalize", "cpu", a, b)}
    tap.check(abs(found["f"][0]["value"] - 0.25e9) < 1e-3, "cpu: per second of the clock's time", found)
    found = {r["sym"]: r["values"] for r in rows("--normalize", "ref=g", a, b)}
    tap.check(abs(found["f"][0]["value"] - 100 / 3) < 1e-9 and abs(found["f"][1]["delta"] - 100) < 1e-9 and found["g"][1]["delta"] == 0,
              "ref: percent of a function", found)
    found = {r["sym"]: r["values"] for r in rows("--normalize", "none", a, b)}
    tap.check(found["f"][1]["delta"] == 300 and found["g"][1]["delta"] == 0, "none: totals", found)
    for how, words in (("ref=h", "in that function"), ("cpu", "does not count CPU time")):
        faults = kernel("faults.data", {"f": 10}, config=PAGE_FAULTS, event="page-faults")
        p = run("diff", "--normalize", how, faults, faults)
        tap.check(p.returncode == 2 and words in p.stderr and "faults.data" in p.stderr, f"{how}: refused where there is nothing to divide by", p)


def test_events():
    a, b = kernel("clock.data", {"f": 10}), kernel("other.data", {"f": 10}, config=PAGE_FAULTS, event="page-faults")
    p = run("diff", a, b)
    tap.check(p.returncode == 2 and not p.stdout and "'cpu-clock'" in p.stderr and "'page-faults'" in p.stderr, "different events: both are named", p)
    p = run("diff", "--force", a, b)
    tap.check(p.returncode == 0 and "'cpu-clock'" in p.stdout and "'page-faults'" in p.stdout, "--force compares them", p)
    b = kernel("unit.data", {"f": 10}, config=PAGE_FAULTS)
    p = run("diff", a, b)
    tap.check(p.returncode == 2 and "different units" in p.stderr, "different units of one name", p)
    p = run("diff", "--force", a, b)
    tap.check(p.returncode == 0, "--force compares these, too", p)


def test_several():
    a, b, c = (kernel(f"n{i}.data", {"f": 100 + 50 * i, "g": 100, **({"h": 50} if i == 2 else {})}) for i in range(3))
    found = {r["sym"]: r["values"] for r in rows(a, b, c)}
    tap.check(all(len(v) == 3 for v in found.values()) and found["h"][1]["state"] == "none" and found["h"][2]["state"] == "new"
              and abs(found["f"][2]["delta"] - (200 / 350 - 0.5) * 100) < 1e-9, "three recordings: each is compared with the first", found)
    text = run("diff", a, b, c).stdout
    tap.check(all(x in text for x in ("# C: ", "B-A", "B/A", "C-A", "C/A")), "with columns for each", text)


def test_filters():
    e = pm.Event(SAMPLE, config=CPU_CLOCK)

    def recording(name, nr):
        records = pm.comm(e, 7, b"main") + pm.comm(e, 8, b"helper") + pm.ksymbol(e, KERNEL, b"f") + pm.ksymbol(e, KERNEL + 64, b"g")
        for i in range(100):
            records += e.sample(KERNEL + (64 if i < nr else 0), pid=7 + i % 2, time=1000 + i * 1000, misc=pm.KERNEL)
        return write(name, pm.perf_data([e], records, {12: pm.event_desc([e], [b"cpu-clock"]), 21: struct.pack("<QQ", 1000, 100000)}))

    a, b = recording("few-g.data", 20), recording("many-g.data", 60)
    found = {r["sym"]: r["values"] for r in rows("--comms", "main", a, b)}
    tap.check(found["g"][0]["value"] == 10 and found["g"][1]["value"] == 30, "--comms: of both, as shares of all", found)
    found = {r["sym"]: r["values"] for r in rows("--comms", "main", "--percentage", "relative", a, b)}
    tap.check(found["g"][0]["value"] == 20 and found["g"][1]["value"] == 60, "--percentage relative: of the filtered", found)
    found = [r["sym"] for r in rows("-s", "sym", "-S", "g", a, b)]
    tap.check(found == ["g"], "-S: rows of some functions", found)
    found = diff("--time", "0%-50%", a, b)["tables"][0]["events"]
    tap.check([x["samples"] for x in found] == [50, 50], "--time in percent: of each recording its own", found)
    found = rows("-s", "comm", a, b)
    tap.check([r["comm"] for r in found] == ["helper", "main"] and "sym" not in found[0], "--sort: threads", found)
    found = {r["sym"] for r in rows("--percent-limit", "70", "-s", "sym", a, b)}
    tap.check(found == {"f"}, "--percent-limit: rows that are small in all are omitted", found)


ELF = """.text
%s
"""


def library(path, functions, size=64):
    """A library with these functions in this order, each @size bytes; their addresses, and its build id."""
    lines = "".join(f'.globl "{f}"\n.type "{f}",@function\n"{f}": ret\n.skip {size - 1}\n.size "{f}",{size}\n' for f in functions)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = path.with_suffix(".s")
    source.write_text(ELF % lines)
    subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,--build-id=sha1", "-o", path, source], check=True)
    nm = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    at = {words[2]: int(words[0], 16) for words in map(str.split, nm.splitlines()) if len(words) == 3}
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return at, bytes.fromhex(notes.split("Build ID: ")[1].split()[0])


def build_id(path, ident):
    name = pm.padded(os.fsencode(path))
    return struct.pack("<IHHi", 0, 2, 8 + 4 + 24 + len(name), -1) + ident.ljust(20, b"\0") + struct.pack("<BBH", len(ident), 0, 0) + name


def user(name, path, at, counts, ident=b""):
    """A recording of functions of a library that is mapped as it is linked, or of addresses in it."""
    e = pm.Event(SAMPLE, config=CPU_CLOCK)
    records, time = pm.comm(e, 7, b"task") + pm.mmap2(e, 7, 0, 0x100000, os.fsencode(path)), 1000
    for f in counts:
        for _ in range(counts[f]):
            time += 1000
            records += e.sample(at[f] if f in at else f, time=time)
    features = {12: pm.event_desc([e], [b"cpu-clock"])}
    if ident:
        features[2] = build_id(path, ident)
    return write(name, pm.perf_data([e], records, features))


def test_builds():
    old, new, moved = TOP / "old/libwork.so", TOP / "new/libwork.so", TOP / "moved/libcopy.so"
    at, ident = library(old, ["first", "work", "help.part.0", "last"])
    new_at, new_ident = library(new, ["last", "help.part.3.cold", "first.constprop.0", "more", "work.llvm.123456"])
    a = user("old.data", old, at, {"first": 100, "work": 50, "help.part.0": 20, "last": 30}, ident)
    b = user("new.data", new, new_at, {"first.constprop.0": 100, "work.llvm.123456": 50, "help.part.3.cold": 20, "last": 30}, new_ident)
    found = rows(a, b)
    tap.check({r["sym"] for r in found} == {"first", "work", "help", "last"} and all(r["values"][1]["delta"] == 0 and r["dso"] == "libwork.so" for r in found),
              "two builds of a library are paired by name, whatever the compiler adds and wherever functions are", found)
    states = by_name(rows("--exact", a, b), "state")
    tap.check(states.get("last") == "both" and states.get("first") == "gone" and states.get("first.constprop.0") == "new", "--exact: by names as they are", states)
    moved.parent.mkdir()
    moved.write_bytes(old.read_bytes())
    c = user("moved.data", moved, at, {"first": 100, "work": 50, "help.part.0": 20, "last": 30}, ident)
    found = rows(a, c)
    tap.check(len(found) == 4 and all(r["values"][1]["delta"] == 0 and r["dso"] == "libwork.so" for r in found), "one build id, two names: one file", found)
    states = [r["values"][1]["state"] for r in rows("--exact", a, c)]
    tap.check(sorted(states) == ["gone"] * 4 + ["new"] * 4, "--exact: two files", states)
    found = rows("-s", "sym", a, c)
    tap.check(len(found) == 4 and all(r["values"][1]["state"] == "both" for r in found), "also where the file is no column", found)
    found = rows("-s", "dso", a, b)
    tap.check([r["dso"] for r in found] == ["libwork.so"], "-s dso", found)
    nowhere = Path("/nowhere/libwork.so")
    a, b = (user(f"nowhere{i}.data", nowhere, {}, {0x1000 * i + 0x10: 10, 0x1000 * i + 0x20: 30}) for i in (1, 2))
    found = rows(a, b)
    tap.check([(r["sym"], r["values"][1]["delta"]) for r in found] == [("[unresolved]", 0)], "addresses without a symbol are one row of their file", found)
    tap.check(len(rows("--exact", a, b)) == 4, "--exact: each address")
    a = user("symfs.data", Path("/work/libwork.so"), at, {"first": 10})
    (TOP / "symfs/work").mkdir(parents=True)
    (TOP / "symfs/work/libwork.so").write_bytes(old.read_bytes())
    found = [r["sym"] for r in rows("--symfs", TOP / "symfs", a, a)]
    tap.check(found == ["first"], "--symfs is for both", found)


def test_usage():
    a, b = TOP / "a.data", TOP / "b.data"
    for args, words in (((a,), "2 to 16 recordings"), (("-", "-"), "only one recording"), (("-s", "nonsense", a, b), "no key 'nonsense'"),
                        (("-s", "symbol_to", a, b), "key for branches"), (("-o", "wdiff:1", a, b), "wdiff:WA,WB"), (("-o", "wdiff:inf,1", a, b), "wdiff"),
                        (("--normalize", "ref=", a, b), "ref=SYMBOL"), (("--normalize", "ref=f", "-s", "dso", a, b), "sort by sym"),
                        (("--fail-above", "x", a, b), "0 to 100"), (("--stdio-color", "red", a, b), "--stdio-color"), (("--percentage", "all", a, b), "relative"),
                        (("--json", "-t", ",", a, b), "exclude each other"), (("--tme", "1,2", a, b), "--time")):
        p = run("diff", *args)
        tap.check(p.returncode == 2 and words in p.stderr and not p.stdout, "refused: " + " ".join(map(str, args)), p)
    p = run("diff", a, TOP / "missing.data")
    tap.check(p.returncode == 1 and "missing.data" in p.stderr, "a recording that is missing", p)
    p = run("diff", a, write("text", b"no recording"))
    tap.check(p.returncode == 1 and "text" in p.stderr, "a file that is no recording", p)
    p = run("diff")
    tap.check(p.returncode == 1 and "perf.data.old" in p.stderr, "without names: perf.data.old and perf.data", p)
    write("perf.data.old", a.read_bytes())
    write("perf.data", b.read_bytes())
    tap.check(run("diff").stdout.splitlines()[3:] == run("diff", a, b).stdout.splitlines()[3:], "and there they are")
    data = b.read_bytes()
    with open(a, "rb") as stdin:
        p = subprocess.run([CLEW, "diff", "-", str(b)], stdin=stdin, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    tap.check(p.returncode == 0 and p.stdout.splitlines()[3:] == run("diff", a, b).stdout.splitlines()[3:], "one from standard input", p)
    p = run("diff", "--force", a, write("cut.data", data[: len(data) * 2 // 3]))  # events' names are at the end
    tap.check("cut.data" in p.stderr and "[k]" in p.stdout, "one that is cut: what is there is compared, with a message", p)
    empty = kernel("empty.data", {})
    p = run("diff", a, empty)
    tap.check(p.returncode == 0 and "holds no samples" in p.stderr and "gone" in p.stdout, "one without samples", p)
    p = run("diff", empty, empty)
    tap.check(p.returncode == 0 and not p.stdout, "both without samples", p)
    p = run("diff", "--max-memory", "20k", a, b)
    tap.check(p.returncode == 0 and "memory budget" in p.stderr, "--max-memory: what has no room is named", p)


def main():
    test_itself()
    test_both_ways()
    test_noise()
    test_fail_above()
    test_normalize()
    test_events()
    test_several()
    test_filters()
    test_builds()
    test_usage()
    shutil.rmtree(TOP)
    tap.done()


main()
