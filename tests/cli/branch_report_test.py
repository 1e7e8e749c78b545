#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: branch_report_test.py CLEW SAMPLE_MAKE TRACE_DIR: `clew report` of branch stacks. TAP.

Recordings are made of text, of a program compiled here. What perf prints of the same file is the
judge where it is installed (6.1: its columns through -F, as its -s with "symbol" crashes on files
without a machine's description); numbers written down here are, everywhere.
"""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all

import perf_make as pm
from branch_lib import Files, Program, sample

CLEW, MAKE, TRACE = (str(Path(p).resolve()) for p in sys.argv[1:4])
PERF = shutil.which("perf")
ENV = {**os.environ, "LC_ALL": "C", "PERF_CONFIG": "/dev/null", "PAGER": "cat", "HOME": "/nonexistent"}
def run(args, stdin=None, text=True):
    return subprocess.run(args, capture_output=True, text=text, env=ENV, stdin=stdin, check=False)


def clew(path, *options):
    return run([CLEW, "report", "-i", path, *options])


def head(path, *options):
    """The lines that say how many there were, and the titles of the columns."""
    lines = clew(path, "-t", "|", *options).stdout.splitlines()
    return [x[2:] for x in lines if x.startswith(("# Samples", "# Event count", "# Overhead"))]


def same_name(text):
    """perf's letter for what it does not know, and its ways to write an address there, as here."""
    text = text.strip()
    if text.startswith("[H]"):
        text = "[.]" + text[3:]
    if text.startswith("[.] 0") and not text.startswith("[.] 0x"):
        text = "[.] 0x" + text[4:]
    return "?" if text == "??:0" or text.startswith("[unknown][") else text


def rows(output):
    """Rows as (columns), with how often each is there."""
    lines = [x for x in output.splitlines() if "|" in x and not x.startswith("#")]
    return Counter(tuple(same_name(c) for c in line.split("|")) for line in lines)


def perf(path, *options, stdin=None):
    return run([PERF, "report", "--stdio", "-f", "-i", path, *options], stdin)


def values(path, keys, *options):
    """{texts of the keys: samples}"""
    out = clew(path, "--json", "-s", keys, *options)
    if out.returncode:
        return {out.stderr: 0}
    found = Counter()
    for table in json.loads(out.stdout)["tables"]:
        for row in table["rows"]:
            found[tuple(row[k] for k in keys.split(","))] += row["values"][0]["samples"]
    return dict(found)


def test_counts(f):
    """Numbers known without perf."""
    want = {("[.] first", "[.] twin"): 6, ("[.] main", "[.] first"): 6, ("[.] twin", "[.] first"): 6, ("[.] second", "[.] twin"): 3,
            ("[.] main", "[.] second"): 3, ("[.] 0x0000000000700000", "[.] second"): 1,
            ("[.] 0x0000000000000000", "[.] 0x0000000000000000"): 1, ("[.] first", "[.] 0x000000007ffff000"): 1,
            ("[.] 0x0000000000000000", "[.] twin"): 1}
    got = values(f.file, "symbol_from,symbol_to")
    check(got == want, "symbol_from, symbol_to: each entry of a stack counts one", got)
    twins = [x for x in clew(f.file, "-s", "symbol_to", "-n").stdout.splitlines() if x.endswith("[.] twin")]
    check([x.split()[1] for x in twins] == ["7", "3"], "two functions of one name are two rows", twins)
    got = values(f.file, "mispredict,cycles")
    want = {(False, 3): 6, (True, 12): 6, (False, None): 8, (False, 70): 3, (None, 70): 3, (None, None): 2}
    check(got == want, "mispredict and cycles, as JSON", got)
    got = values(f.file, "abort,in_tx")
    check(got == {(False, False): 22, (False, True): 3, (True, False): 3}, "abort and in_tx, as JSON", got)
    got = rows(clew(f.file, "-t", "|", "-F", "overhead,mispredict,cycles,abort,in_tx").stdout)
    want = {("21.43%", "N", "3", ".", "."), ("21.43%", "Y", "12", ".", "."), ("28.57%", "N", "-", ".", "."), ("10.71%", "N", "70", ".", "T"),
            ("10.71%", "N/A", "70", "A", "."), ("7.14%", "N/A", "-", ".", ".")}
    check(set(got) == want, "the same as text", got)
    got = values(f.file, "dso_from,dso_to")
    check(got == {("prog", "prog"): 24, ("[unknown]", "prog"): 2, ("prog", "[unknown]"): 1, ("[unknown]", "[unknown]"): 1}, "dso_from, dso_to", got)
    got = values(f.file, "srcline_from,srcline_to")
    check(got.get(("one.c:6", "one.c:3")) == 6 and got.get(("two.c:6", "two.c:3")) == 3, "srcline_from, srcline_to", got)
    got = values(f.file, "dso,sym")
    check(got.get(("prog", "first")) == 12 and got.get(("prog", "twin")) == 10, "dso and sym are where a branch goes to", got)
    got = values(f.file, "local_weight")
    check(got == {(3,): 6, (12,): 6, (70,): 6, (1,): 10}, "local_weight: the branch's cycles, or 1", got)


def test_mode(f):
    """When branches are counted, and when samples."""
    said = ["Samples: 28 of event 'cycles', branches of 11 samples", "Event count (approx.): 28"]
    default = "Overhead|Command|Source Shared Object|Source Symbol|Target Symbol|Basic Block Cycles"
    check(head(f.file) == [*said, default], "the header has the feature: branches, and their keys", head(f.file))
    got = clew(f.file, "--no-branch-stack").stdout
    check("# Samples: 11 of event 'cycles'\n" in got and "Children" in got, "--no-branch-stack: samples and their chains", got)
    got = clew(f.unsaid).stdout
    check("# Samples: 11 of event 'cycles'\n" in got, "no feature: samples", got)
    check(head(f.unsaid, "-b") == [*said, default], "no feature and -b: branches", head(f.unsaid, "-b"))
    check(head(f.file, "-s", "+mispredict")[2] == default + "|Branch Mispredicted", "+KEY adds to the default keys", head(f.file, "-s", "+mispredict"))
    check(head(f.file, "-s", "+dso")[2] == default + "|Shared Object", "+KEY of what is a default key of samples", head(f.file, "-s", "+dso"))
    with open(f.pipe, "rb") as pipe:
        got = run([CLEW, "report", "-i", "-", "-b", "-s", "symbol_from"], stdin=pipe).stdout
    check("# Samples: 28 of event" in got, "a stream with -b", got)
    got = clew(f.file, "--folded")
    check(sorted(got.stdout.split("\n")) == ["", "prog;main;first 1", "prog;main;second 4", "prog;main;twin 6"], "--folded: samples", got.stdout + got.stderr)
    got = clew(f.file, "-g", "caller")
    check(got.returncode == 0 and "call graphs are for samples" in got.stderr and "Samples: 28" in got.stdout, "-g: branches, and a note", got.stderr)
    got = json.loads(clew(f.file, "--json").stdout)["tables"][0]["events"][0]
    check(got["samples"] == got["period"] == 28 and got["branch_stacks"] == 11 and got["stackless_samples"] == 0, "--json: the event", got)


def test_refusals(f):
    bare = "\n".join(x.split(" chain")[0] for x in f.text.splitlines()) + "\n"
    plain = f.make("plain.data", bare)
    cases = [
        ("a key of branches without the feature", f.unsaid, ["-s", "symbol_from"], "'symbol_from' is a key for branches, but the header of"),
        ("-F too", f.unsaid, ["-F", "overhead,cycles"], "-b counts them"),
        ("a key of branches with --no-branch-stack", f.file, ["--no-branch-stack", "-s", "in_tx"], "--no-branch-stack counts samples"),
        ("a key of branches in a stream", f.pipe, ["-s", "dso_to"], "-b counts them"),
        ("a key of branches, no branch stacks", plain, ["-s", "dso_to"], "has no branch stacks"),
        ("-b, no branch stacks", plain, ["-b"], "has no branch stacks to count"),
        ("-b and --folded", f.file, ["-b", "--folded"], "--folded count samples"),
        ("a key of branches and --folded", f.file, ["--folded", "-s", "cycles"], "--folded counts samples"),
        ("an unknown key", f.file, ["-s", "symbol_fro"], "there is no key 'symbol_fro'"),
    ]
    for name, path, options, want in cases:
        got = clew(path, *options)
        check(got.returncode == 2 and want in got.stderr and not got.stdout, "refused: " + name, got.stderr + got.stdout)
    got, samples = clew(f.make("said.data", bare, "--feature")), clew(plain)
    check(got.returncode == 0 and got.stdout == samples.stdout and "no event has any" in got.stderr,
          "a header that says it of no event: a sentence, and samples", got.stderr + got.stdout)
    empty = f.make("empty.data", "\n".join(x.split(" branches ")[0] for x in f.text.splitlines()) + "\n")
    got = clew(empty)
    check(got.returncode == 0 and "the branch stacks of its 11 samples are empty" in got.stderr, "stacks without entries: a sentence", got.stderr)
    text = f.text.replace("comm 64", "event plain\ncomm 64", 1) + sample(f.prog.ip("main"), [], 5000, event=1) + "\n"
    got = clew(f.make("two.data", text))
    check("'plain'" not in got.stdout and "1 samples of events without branch stacks are not shown" in got.stderr,
          "an event without branch stacks: left out, and said", got.stdout + got.stderr)


def test_filters(f):
    ends = "symbol_from,symbol_to"
    taken = {("[.] second", "[.] twin"), ("[.] main", "[.] second"), ("[.] 0x0000000000700000", "[.] second"),
             ("[.] 0x0000000000000000", "[.] 0x0000000000000000"), ("[.] first", "[.] 0x000000007ffff000"), ("[.] 0x0000000000000000", "[.] twin")}
    got = values(f.file, ends, "--symbols", "second")
    check(set(got) == taken, "--symbols: of samples taken there, as perf", got)
    got = values(f.file, ends, "--dsos", "prog")
    check(sum(got.values()) == 28 and values(f.file, ends, "--dsos", "[unknown]") == {}, "--dsos: of samples taken there, as perf", got)
    got = values(f.file, ends, "sec")
    check(got == {("[.] second", "[.] twin"): 3, ("[.] main", "[.] second"): 3, ("[.] 0x0000000000700000", "[.] second"): 1},
          "a part of a name: branches with such an end", got)
    got = values(f.file, ends, "-U")
    check(sum(got.values()) == 24 and "0x" not in str(got), "--hide-unresolved: both ends are known", got)
    got = clew(f.file, "--comms", "nix", "-s", ends)
    check("# Samples: 28 of event 'cycles', branches of 11 samples, of which the filter keeps 0\n" in got.stdout, "--comms: the others count in the total", got.stdout)
    got = rows(clew(f.file, "-t", "|", "-F", "overhead,symbol_to", "--percent-limit", "20").stdout)
    check(got == {("42.86%", "[.] first"): 1, ("25.00%", "[.] twin"): 1}, "--percent-limit", got)


KEYS = ["symbol_from,symbol_to", "comm,dso_from,symbol_from,symbol_to,cycles", "dso_from,dso_to", "mispredict", "cycles", "abort,in_tx",
        "comm,pid,mispredict,in_tx,abort,cycles", "symbol_from", "symbol_to", "symbol_to,symbol_from,comm", "dso_to,symbol_to,mispredict",
        "srcline_from,srcline_to", "srcline_to", "dso", "comm"]


def by_keys(found):
    """{texts of the keys: samples or period} of rows with a share, that number, and keys. perf 6.1 compares flags and source lines
    by no order, and shows a row twice now and then."""
    total = Counter()
    for (_, nr, *keys), times in found.items():
        total[tuple(keys)] += int(nr) * times
    return total


def same_rows(f, name, path, options, keys, column="sample"):
    fields = "overhead,%s,%s" % (column, keys)
    theirs, ours = (g(path, "-t", "|", "-F", fields, *options) for g in (perf, clew))
    want, got = rows(theirs.stdout), rows(ours.stdout)
    sums, own = by_keys(want), by_keys(got)
    note = [f"only perf: {x} {sums[x]}" for x in sums if own[x] != sums[x]][:8] + [f"only clew: {x} {own[x]}" for x in own if own[x] != sums[x]][:8]
    is_nothing = "nix" in options or "[unknown]" in options
    shares = all(x in got for x, times in want.items() if times == 1 and own[x[2:]] == int(x[1]))
    check(own == sums and is_nothing != bool(own) and shares, f"perf, {name}, {keys}: {len(own)} rows", note or theirs.stderr + ours.stderr)
    return len(own)


def test_perf(f):
    nr = 0
    for keys in KEYS:
        nr += same_rows(f, "two events", f.random, [], keys)
    for options in (["-U"], ["--comms", "prog,x"], ["--comms", "nix"], ["--comms", "other,x", "--percentage", "relative"],
                    ["--percent-limit", "1"], ["-b"]):
        nr += same_rows(f, " ".join(options), f.random, options, "comm,symbol_from,symbol_to")
    # A row of perf's is there, or not, as its first sample says: these have samples of one place each.
    for options in (["--symbols", "second"], ["--symbols", "twin"], ["--dsos", "prog"], ["--dsos", "[unknown]"], ["-g", "caller"]):
        nr += same_rows(f, " ".join(options), f.file, options, "symbol_from,symbol_to")
    for name, path, options in (("no feature, -b", f.unsaid, ["-b"]), ("a pipe's file, -b", f.pipe, ["-b"]), ("feature", f.file, [])):
        for keys in ("comm,dso_from,symbol_from,symbol_to,cycles", "abort,in_tx"):
            nr += same_rows(f, name, path, options, keys, "period")
    for name, path in (("--no-branch-stack", f.random), ("no feature", f.unsaid)):
        nr += same_rows(f, name, path, ["--no-branch-stack", "--no-children", "-g", "none"], "comm,dso,pid")
    check(nr > 800, f"perf: {nr} rows are the same", nr)


def titles(output):
    line = next((x for x in output.splitlines() if x.startswith("# ") and "Overhead" in x), "")
    return [x.strip() for x in line[2:].split("|")]


def test_perf_mode(f):
    keys = "overhead,sample,period,symbol_from,symbol_to,dso_from,dso_to,mispredict,cycles,abort,in_tx,srcline_from,srcline_to"
    for name, path, options in (("default keys", f.file, []), ("default keys, -b", f.unsaid, ["-b"]), ("no feature", f.unsaid, ["--no-children"]),
                                ("--no-branch-stack", f.file, ["--no-branch-stack", "--no-children"]), ("+mispredict", f.file, ["-s", "+mispredict"])):
        ours, theirs = (titles(g(path, "-t", "|", "-g", "none", *options).stdout) for g in (clew, perf))
        check(ours == theirs and len(ours) > 3, "perf, titles of " + name, [ours, theirs])
    ours, theirs = (titles(g(f.file, "-t", "|", "-F", keys).stdout) for g in (clew, perf))
    check(sorted(ours) == sorted(theirs) and len(ours) == 13, "perf, titles of all keys", [ours, theirs])
    ours, theirs = (clew(f.file).stdout, perf(f.file).stdout)
    for line in ("Samples: 28", "Event count (approx.): 28"):
        check(line in ours and line in theirs, "perf, header line: " + line, [ours, theirs])
    for name, path, options in (("no feature", f.unsaid, []), ("--no-branch-stack", f.file, ["--no-branch-stack"]), ("a pipe's file", f.pipe, [])):
        theirs = perf(path, *options, "-F", "overhead,symbol_from")
        check("Invalid --fields key" in theirs.stderr and clew(path, *options, "-F", "overhead,symbol_from").returncode == 2,
              "perf refuses a key of branches too: " + name, theirs.stderr)


def hostile_file(f, name, stacks):
    """@stacks: (count the record says, bytes after it)."""
    event = pm.Event(pm.IP | pm.TID | pm.TIME | pm.PERIOD | pm.BRANCH_STACK | pm.IDENTIFIER, branch=9)
    data = pm.comm(event, 0x64, b"prog")
    good = [(f.prog.ip("main"), f.prog.ip("first")), (0, 0), (2**64 - 1, 2**63), (0xffffffff81000000, 1)]
    data += event.sample(f.prog.ip("main"), pid=0x64, branches=good)
    for nr, payload in stacks:
        body = event.sample(f.prog.ip("main"), pid=0x64, branches=())[8:]
        data += pm.record(9, body[:-8] + struct.pack("<Q", nr) + payload, pm.USER)
    data += event.sample(f.prog.ip("main"), pid=0x64, branches=good)
    Path(f.path(name)).write_bytes(pm.perf_data([event], data, {15: b""}))
    return f.path(name)


def test_hostile(f):
    entry = struct.pack("<QQQ", f.prog.ip("main"), f.prog.ip("first"), 2)
    full = b"".join(struct.pack("<QQQ", 0x1000000 + i * 64, i << 40 | 0xfff, 2**64 - 1) for i in range(2720))
    bad = [(1, b""), (2, entry), (2**16, entry * 4), (2**61, entry), (2**63, entry), (2**64 - 1, entry), (0x5555555555555556, entry * 2),
           (3, entry * 3 + b"\0" * 8), (4, entry * 3 + entry[:16])]
    bad_count = 8  # words after a stack are no fault: perf, too, does not look at them
    path = hostile_file(f, "bad.data", bad)
    got = json.loads(clew(path, "--json").stdout)
    event = got["tables"][0]["events"][0]
    check(got["summary"]["unusable"] == bad_count and event["branch_stacks"] == 3 and event["samples"] == 11,
          "counts that do not fit their records: skipped, counted, the rest is shown", [got["summary"], event])
    path = hostile_file(f, "full.data", [(2720, full)] * 4)
    for keys in ("symbol_from,symbol_to,cycles", "srcline_from,srcline_to", "dso,sym,srcline,srcfile", "mispredict,abort,in_tx,local_weight"):
        got = clew(path, "--json", "-s", keys)
        total = sum(r["values"][0]["samples"] for r in json.loads(got.stdout)["tables"][0]["rows"]) if not got.returncode else got.stderr
        check(total == 4 * 2720 + 8, f"full stacks of hostile addresses: {keys}", total)
    data = Path(path).read_bytes()
    broken = 0
    for cut in range(len(data) // 3, len(data), len(data) // 40):
        Path(f.path("cut.data")).write_bytes(data[:cut])
        broken += clew(f.path("cut.data"), "-b", "-s", "symbol_from,srcline_to,cycles").returncode not in (0, 1, 2)
    check(not broken, "cut anywhere: no crash", broken)
    for path, options in ((f.random, ()), (f.random, ("-s", "srcline_from,sym,cycles"))):
        both = [clew(path, *options, *more).stdout for more in ((), ("--single-threaded",))]
        check(both[0] == both[1] and both[0], "the same with one thread: " + " ".join(options))


def test_trace(f):
    """Branches of decoded trace: the same keys."""
    path = os.path.join(TRACE, "perf_etm.fixed.data")
    if not os.path.exists(path):
        skip("decoded trace", "no " + path)
        return
    of_trace = ("--symfs", os.path.join(TRACE, "symfs"))
    events = values(path, "symbol_from,symbol_to", "--itrace=b", *of_trace)
    check(events.get(("[.] Loop", "[.] Loop")) == 201 and events.get(("N/A", "[.] main")) == 1, "--itrace=b: without -b", events)
    check(values(path, "symbol_from,symbol_to", "--itrace=b", "-b", *of_trace) == events, "--itrace=b -b: the same")
    got = clew(path, "--itrace=i10il", *of_trace).stdout
    check("branches of 95 samples" in got and "Source Symbol" in got, "--itrace=il: the last branches, by default", got)
    got = values(path, "mispredict,cycles,symbol_to", "--itrace=b", *of_trace)
    check(got.get((None, None, "[.] Loop")) == 202, "--itrace=b: what a trace does not say", got)


def main():
    if not shutil.which("cc") or not shutil.which("nm"):
        skip_all("no compiler here")
    with tempfile.TemporaryDirectory() as top:
        f = Files(top, Program(top), MAKE)
        for test in (test_counts, test_mode, test_refusals, test_filters, test_hostile, test_trace):
            test(f)
        for test in (test_perf, test_perf_mode):
            if PERF:
                test(f)
            else:
                skip(test.__name__, "perf is not installed")
    done()


main()
