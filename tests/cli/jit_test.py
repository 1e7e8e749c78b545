#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: jit_test.py CLEW: code made at run time has the name, lines and bytes that its jitdump file gives to the time of the sample; which
file is which program's; where a perf map counts. Each rule in a small recording. TAP."""
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from cli.jit_lib import ARCH_TIME, RWX, Dump, Recording
from tap import check, done

CLEW = os.path.abspath(sys.argv[1])
# No process has such a number: what is in /tmp for it is ours.
PID = 5000000 + os.getpid() * 16
A, SIZE = 0x7F1000000000, 0x10000
folder = tempfile.mkdtemp(prefix="clew-jit.")
data = os.path.join(folder, "j.data")
ENV = {**os.environ, "LC_ALL": "C", "PERF_CONFIG": "/dev/null", "PAGER": "cat", "HOME": folder}


def run(*args):
    p = subprocess.run((CLEW,) + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, check=False)
    return p.stdout.decode(), p.stderr.decode()


def names(recording, *more):
    """Of each sample; "-" for none."""
    recording.write(data)
    out = run("script", "-i", data, "-F", "ip,sym", *more)[0]
    return " ".join("-" if f[1].startswith("[") else f[1] for f in (line.split() for line in out.splitlines() if line.strip()))


def program(pid=PID, clock=1, dump=None, at=100, chain=False):
    """A program that maps a dump and memory for code."""
    r = Recording(clock, chain)
    r.exec(pid, "jit", at)
    if dump:
        r.mmap(pid, 0x7E0000000000, 4096, dump, at + 1)
    r.mmap(pid, A, SIZE, "//anon", at + 2, RWX)
    return r


def perf_map(text, pid=PID):
    path = f"/tmp/perf-{pid}.map"
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def remove_files():
    for path in glob.glob(f"/tmp/perf-{PID // 16}*.map") + glob.glob(folder + "/*.dump"):
        os.unlink(path)
    for i in range(16):
        if os.path.exists(f"/tmp/perf-{PID + i}.map"):
            os.unlink(f"/tmp/perf-{PID + i}.map")


def test_times():
    d = Dump(PID, 101)
    d.load(1000, A, 64, "first", 0x90)
    d.load(2000, A, 64, "second", 0xCC)
    d.load(3000, A, 64, "third", 0xF4)
    r = program(dump=d.write(folder))
    for at in (500, 1000, 1999, 2000, 2500, 3500):
        r.sample(PID, A + 8, at)
    check(names(r) == "- first first second second third", "an address that is used again, by the sample's time", names(r))
    out = run("report", "-i", data, "-s", "sym", "--stdio")[0]
    check(all(name in out for name in ("first", "second", "third")), "report", out)
    out = run("annotate", "-i", data, "--stdio", "first")[0]
    check("nop" in out and "hlt" not in out, "annotate shows the code of the time", out)
    out = run("annotate", "-i", data, "--stdio", "third")[0]
    check("hlt" in out and f"{A:x}" in out, "and of the last one, at its address", out)
    out = run("annotate", "-i", data, "--stdio", "first")[0]
    check(f"{A:x}" in out, "addresses are those at run time", out)
    out = run("script", "-i", data, "--json")[0]
    check('"second"' in out and "9223372036854" not in out and "0x8000000" not in out, "script --json", out[:2000])
    out = run("export", "--to", "collapsed", "-i", data, "-o", "-")[0]
    check("first" in out and "second" in out and "third" in out, "exports", out)
    check("Code made at run time" not in run("report", "-i", data, "--stdio")[0], "no doubt where clocks compare")


def test_partial():
    d = Dump(PID, 101)
    d.load(1000, A, 256, "big")
    d.load(2000, A + 128, 64, "small")
    r = program(dump=d.write(folder))
    for addr, time in ((A + 130, 1500), (A + 130, 2500), (A, 2500), (A + 250, 2500), (A + 256, 2500)):
        r.sample(PID, addr, time)
    check(names(r) == "big small big big -", "a small function inside an older one's range", names(r))
    remove_files()
    d = Dump(PID, 101)
    d.load(1000, A, 64, "low")
    d.load(1000, A + 64, 64, "high")
    d.load(2000, A + 32, 64, "over")
    r = program(dump=d.write(folder))
    for addr, time in ((A + 40, 1500), (A + 70, 1500), (A + 40, 2500), (A + 70, 2500), (A + 10, 2500), (A + 100, 2500)):
        r.sample(PID, addr, time)
    check(names(r) == "low high over over low high", "one across two older ones", names(r))


def test_move():
    d = Dump(PID, 101)
    i = d.load(1000, A, 64, "mover")
    d.move(2000, i, A, A + 4096, 64)
    d.load(3000, A, 64, "taker")
    d.move(4000, i, A + 4096, A + 8192, 64)
    r = program(dump=d.write(folder))
    for addr, time in ((A, 1500), (A, 2500), (A + 4100, 2500), (A, 3500), (A + 4100, 4500), (A + 8200, 4500)):
        r.sample(PID, addr, time)
    check(names(r) == "mover - mover taker - mover", "a function that moves twice", names(r))
    out = run("report", "-i", data, "-s", "sym", "--stdio")[0]
    check(sum("mover" in line for line in out.splitlines()) == 1, "is one row", out)
    remove_files()
    d = Dump(PID, 101)
    i = d.load(1000, A, 64, "mover")
    d.load(1900, A, 32, "taker")
    d.move(2000, i, A, A + 4096, 64)
    r = program(dump=d.write(folder))
    for addr in (A, A + 40, A + 4096):
        r.sample(PID, addr, 2500)
    check(names(r) == "taker - mover", "what took a part of its place before it moved stays", names(r))


def test_again():
    d = Dump(PID, 101)
    for n in range(3):
        d.load(1000 + 2000 * n, A, 64, "ping")
        d.load(2000 + 2000 * n, A, 64, "pong")
    r = program(dump=d.write(folder))
    for time in range(1500, 7000, 1000):
        r.sample(PID, A, time)
    check(names(r) == "ping pong ping pong ping pong", "the same code again", names(r))
    out = run("report", "-i", data, "-s", "sym", "--stdio")[0]
    check(sum("ping" in line for line in out.splitlines()) == 1, "is one row", out)


def test_lines():
    d = Dump(PID, 101)
    d.lines(1000, A, [(A, 10), (A + 32, 20)], "first.js")
    d.load(1000, A, 64, "first")
    d.lines(2000, A, [(A, 30), (A + 16, 40)], "second.js")
    i = d.load(2000, A, 64, "second")
    d.move(3000, i, A, A + 4096, 64)
    r = program(dump=d.write(folder))
    for addr, time in ((A + 33, 1500), (A + 33, 2500), (A + 4096 + 17, 3500)):
        r.sample(PID, addr, time)
    r.write(data)
    out = run("script", "-i", data, "-F", "ip,sym,srcline")[0]
    lines = [line.strip() for line in out.splitlines() if ".js:" in line]
    check(lines == ["first.js:20", "second.js:40", "second.js:40"], "lines of the time, and where a function moved to", out)


def test_close():
    d = Dump(PID, 101)
    d.load(1000, A, 64, "open")
    d.close(2000)
    d.load(3000, A, 64, "never")
    r = program(dump=d.write(folder))
    r.sample(PID, A, 3500)
    check(names(r) == "open", "nothing is read after the end of a dump", names(r))


def test_programs():
    first, second = Dump(PID, 101), Dump(PID + 1, 1101)
    first.load(200, A, 64, "of_first")
    second.load(1200, A, 64, "of_second")
    r = program(dump=first.write(folder))
    r.sample(PID, A, 300)
    r.exec(PID, "jit2", 1000)
    r.mmap(PID, A, SIZE, "//anon", 1050, RWX)
    r.sample(PID, A, 1060)
    r.mmap(PID, 0x7E0000000000, 4096, second.write(folder), 1100)
    r.sample(PID, A, 1300)
    check(names(r) == "of_first - of_second", "code of the program before an exec is gone", names(r))
    remove_files()
    first, second = Dump(PID, 101), Dump(PID + 1, 102)
    first.load(200, A, 64, "of_first")
    second.load(300, A + 64, 64, "of_second")
    second.load(400, A, 64, "of_second_again")
    r = program(dump=first.write(folder))
    r.mmap(PID, 0x7E0000001000, 4096, second.write(folder), 103)
    for addr, time in ((A, 250), (A + 64, 350), (A, 450)):
        r.sample(PID, addr, time)
    check(names(r) == "of_first of_second of_second_again", "two dumps of one program", names(r))


def test_fork():
    d = Dump(PID, 101)
    d.load(200, A, 64, "shared")
    d.load(600, A + 64, 64, "own_one", pid=PID + 1)
    d.load(700, A, 64, "parents")
    r = program(dump=d.write(folder))
    r.fork(PID + 1, PID, 500)
    for pid, addr in ((PID, A), (PID + 1, A), (PID + 1, A + 64), (PID, A + 64)):
        r.sample(pid, addr, 800)
    check(names(r) == "parents shared own_one -", "a child has its parent's code as of the fork, and its own", names(r))
    remove_files()
    perf_map(f"{A:x} 40 old\n{A + 64:x} 40 kept\n")
    perf_map(f"{A:x} 40 new\n", PID + 1)
    r = program()
    r.fork(PID + 1, PID, 500)
    for pid, addr in ((PID, A), (PID + 1, A), (PID + 1, A + 64)):
        r.sample(pid, addr, 800)
    check(names(r) == "old new kept", "maps: the child's, then its parent's", names(r))


def test_beside():
    perf_map(f"{A:x} 40 in_map\n{A + 64:x} 40 only_map\n")
    d = Dump(PID, 101)
    d.load(1000, A, 64, "in_dump")
    d.load(1000, A + 128, 64, "only_dump")
    r = program(dump=d.write(folder))
    for addr in (A, A + 64, A + 128):
        r.sample(PID, addr, 1500)
    check(names(r) == "in_dump only_map only_dump", "a map beside a dump hides nothing, nor does the dump", names(r))


def test_clocks():
    d = Dump(PID, 101)
    d.load(1000, A, 64, "first")
    d.load(2000, A, 64, "second")
    for clock, what in ((None, "perf's own clock"), (4, "another clock")):
        r = program(dump=d.write(folder), clock=clock)
        r.sample(PID, A, 1500)
        check(names(r) == "second", f"{what} does not compare with the dump's: the last code", names(r))
        out = run("report", "-i", data, "--stdio")[0]
        check(out.count("cannot be compared") == 1, "which is said once", out)
        check(run("script", "-i", data)[1].count("cannot be compared") == 1, "by script, too")
        out = json.loads(run("report", "-i", data, "--json")[0])
        check("cannot be compared" in json.dumps(out), "and in JSON")
    remove_files()
    d = Dump(PID, 10, ARCH_TIME)
    d.load(100, A, 64, "first")
    d.load(200, A, 64, "second")
    r = program(dump=d.write(folder), clock=None)
    r.time_conv(0, 10, 0)
    r.sample(PID, A, 1500)
    r.sample(PID, A, 2500)
    check(names(r) == "first second", "ticks of a counter, which the recording converts", names(r))
    r = program(dump=d.write(folder), clock=1)
    r.time_conv(0, 10, 0)
    r.sample(PID, A, 1500)
    check(names(r) == "second", "but not to a clock that was chosen", names(r))


def test_damaged():
    d = Dump(PID, 101)
    d.load(1000, A, 64, "whole")
    good = d.bytes
    d.load(2000, A, 64, "cut")
    r = program(dump=d.write(folder))
    r.sample(PID, A, 2500)
    r.write(data)
    wrong = []
    for size in range(len(d.bytes)):
        with open(d.write(folder), "wb") as f:
            f.write(d.bytes[:size])
        want = "whole" if size >= len(good) else "-"
        if size % 7 == 0 and names(r) != want:
            wrong.append((size, names(r)))
    check(not wrong, "a dump that is cut anywhere", wrong)
    d = Dump(PID, 101)
    d.load(1000, 2**64 - 16, 64, "wraps")
    d.move(1100, 1, 2**64 - 16, 2**63 - 1, 2**63)
    d.load(1200, A, 0, "empty")
    d.move(1300, 99, A, A + 64, 64)
    d.load(1400, A, 64, "right")
    r = program(dump=d.write(folder))
    r.sample(PID, A, 1500)
    check(names(r) == "right", "impossible addresses and sizes", names(r))
    d = Dump(PID, 101)
    d = Dump(PID, 101, big=True)
    d.load(1000, A, 64, "other_order")
    r = program(dump=d.write(folder))
    r.sample(PID, A, 1500)
    check(names(r) == "other_order", "the other byte order", names(r))


def test_memory():
    """What may hold generated code."""
    perf_map(f"{A:x} 40 made\n")
    for path in ("//anon", "[heap]", "/SYSV00000000 (deleted)", "/memfd:doublemapper (deleted)", "/dev/zero (deleted)", "/anon_hugepage (deleted)",
                 "/dev/hugepages/x", "/dev/shm/x (deleted)", "[anon:JIT]"):
        r = Recording()
        r.exec(PID, "jit", 100)
        r.mmap(PID, A, SIZE, path, 102, RWX)
        r.sample(PID, A + 8, 1000)
        r.sample(PID, A + 100, 1000)
        check(names(r) == "made -", "code in " + path, names(r))


def test_map_order():
    perf_map(f"{A:x} 40 LazyCompile:*a_long_old_name file.js:1\n{A:x} 40 f\n")
    r = program()
    r.sample(PID, A + 8, 1000)
    check(names(r) == "f", "the later entry, whatever its name", names(r))
    perf_map(f"{A:x} 100 outer\n{A + 0x40:x} 40 inner\n{A + 0xF0:x} 40 end\n{A + 0x200:x} 10 gone\n{A + 0x1F0:x} 40 all\n")
    r = program()
    for at in (0, 0x40, 0x7F, 0x80, 0xEF, 0xF0, 0x12F, 0x130, 0x205):
        r.sample(PID, A + at, 1000)
    check(names(r) == "outer inner inner outer outer end end - all", "entries that overlap", names(r))


def test_map_age():
    """Times of the file and of the program: by the recording's own pair of clocks, and by the boot."""
    wall = 1700000000 * 10**9
    path = perf_map(f"{A:x} 40 made\n")
    r = program(at=10**12)
    r.sample(PID, A, 10**12 + 1000)
    r.features[29] = struct.pack("<IIQQ", 1, 1, wall, 10**12)
    for age, want in ((3600, "-"), (1, "-"), (-1, "made")):
        os.utime(path, ns=(wall, wall - age * 10**9))
        check(names(r) == want, f"a map {age} s older than its program", names(r))
    os.utime(path, ns=(wall, wall - 10**9))
    names(r)
    out = run("report", "-i", data, "--stdio")[0]
    check("perf-PID.map is older than the process" in out, "which is the reason that is given", out)
    check(names(r, "-f") == "made", "-f reads it anyway")
    os.utime(path, ns=(wall, wall + 10**9))
    r = program(at=10**12)
    r.features[29] = struct.pack("<IIQQ", 1, 1, wall, 10**12)
    r.sample(PID, A, 10**12 + 1000)
    r.exec(PID, "next", 10**12 + 2 * 10**9)
    r.mmap(PID, A, SIZE, "//anon", 10**12 + 2 * 10**9 + 1, RWX)
    r.sample(PID, A, 10**12 + 3 * 10**9)
    check(names(r) == "made -", "a map before an exec is not the next program's", names(r))
    up = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    if up < 60 * 10**9:
        return
    r = program(at=up, clock=None)
    r.sample(PID, A, up + 1000)
    for age, want in ((30, "-"), (-1, "made")):
        os.utime(path, ns=(0, time.time_ns() - age * 10**9))
        check(names(r) == want, f"the same, {age} s, where clocks count from the boot", names(r))


for test in (test_times, test_partial, test_move, test_again, test_lines, test_close, test_programs, test_fork, test_beside, test_clocks,
             test_damaged, test_memory, test_map_order, test_map_age):
    test()
    remove_files()
subprocess.run(["rm", "-rf", folder], check=True)
done()
