#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""perf.data of version 1 ("PERFFILE", perf before 3.4), in both byte orders: each command reads it as it reads version 2, and script and
header are perf's.

Usage: version1_test.py CLEW SAMPLE_MAKE"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import tap

CLEW, MAKE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TEXT = """event cycles chain
event instructions
comm 7 prog
map 7 401000 2000 1000 /no/such/prog
sample 0 7 401010 10 5 chain 401010 402020 9000
sample 1 7 402020 20 6
round
comm 7 prog two
sample 0 7 401030 30 7 chain 401030
"""
COMMANDS = (["script"], ["report", "--stdio"], ["report", "--stats"], ["report", "--json"], ["evlist", "-v"], ["script", "--json"], ["header"],
            ["export", "--to", "pprof", "-o", "-"], ["export", "--to", "collapsed", "-o", "-"], ["script", "-D"])


def run(*words, **more):
    return subprocess.run(words, capture_output=True, env={**os.environ, "LC_ALL": "C"}, **more)


def make(path, *options):
    with open(path, "wb") as f:
        f.write(run(MAKE, *options, input=TEXT.encode()).stdout)
    os.utime(path, (10 ** 9, 10 ** 9))


def lines(p):
    return [line for line in p.stdout.decode(errors="replace").splitlines()]


def same(out):
    """Without what the versions' headers say of themselves, and of the file."""
    return [line for line in out.splitlines() if not re.match(rb"# (header version|data offset|data size|feat offset|hostname|missing features|captured on)", line)
            and b'"captured_on"' not in line]


def against_perf(t, path, what):
    p, c = run("perf", "script", "-i", path), run(CLEW, "script", "-i", path)
    t.check(p.stdout and p.stdout == c.stdout, f"{what}: script is perf's", [lines(p), lines(c), p.stderr])
    p, c = run("perf", "script", "--header-only", "-i", path), run(CLEW, "script", "--header-only", "-i", path)
    heads = [{m[0] for m in re.findall(rb"^# (header version : \d+|hostname : \w+|data offset +: \d+|data size +: \d+|event : .*)()$", x.stdout, re.M)} for x in (p, c)]
    t.check({h for h in heads[0] if not h.startswith(b"event")} <= heads[1] and len(heads[0]) >= 4, f"{what}: header is perf's", heads)
    p, c = run("perf", "report", "--stdio", "-g", "none", "--no-children", "-i", path), run(CLEW, "report", "--stdio", "-g", "none", "--no-children", "-i", path)
    rows = [[line.split() for line in x.stdout.splitlines() if b"%" in line] for x in (p, c)]
    t.check(rows[0] and rows[0] == rows[1], f"{what}: report has perf's rows", rows)


def main():
    t = tap
    with tempfile.TemporaryDirectory() as top:
        for big in (), ("--big",):
            for size in "64", "104":
                v1, v2 = os.path.join(top, "v1.data"), os.path.join(top, "v2.data")
                make(v1, "--version1", f"--attr-bytes={size}", *big)
                make(v2, f"--attr-bytes={size}", *big)
                what = f"{'big' if big else 'little'}-endian, attrs of {size} bytes"
                for command in COMMANDS:
                    outs = []
                    for path in v1, v2:
                        shutil.copy2(path, os.path.join(top, "perf.data"))
                        outs.append(run(CLEW, *command, "-i", "perf.data", cwd=top))
                    ok = outs[0].returncode == outs[1].returncode == 0 and outs[0].stdout
                    a, b = (same(o.stdout) for o in outs)
                    if command[0] == "header":  # sections of features move what follows them
                        a, b = ([x for x in y if not x.startswith(b"# event")] for y in (a, b))
                    t.check(ok and (a == b or command[-1] == "-D"), f"{what}: {' '.join(command)}", [outs[0].stderr, a[:6], b[:6]])
                if shutil.which("perf"):
                    against_perf(t, v1, what)
                else:
                    t.skip(f"{what}: as perf reads it", "perf is not installed")
        piped = os.path.join(top, "pipe.data")
        make(piped, "--version1", "--pipe")
        out = run(CLEW, "script", "-i", "-", stdin=open(piped, "rb"))
        t.check(b"(/no/such/prog)" in out.stdout and not out.returncode, "a pipe of version 1", out.stderr)
        big = os.path.join(top, "words32.data")
        make(big, "--version1", "--big", "--words32", "--attr-bytes=64")
        out = run(CLEW, "header", "-i", big)
        t.check(b"hostname : box" in out.stdout, "features of a 32-bit big-endian machine", out.stdout)
        if shutil.which("perf"):
            against_perf(t, big, "32-bit, big-endian")
    t.done()


main()
