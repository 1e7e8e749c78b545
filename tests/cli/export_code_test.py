#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_code_test.py CLEW DATA [sanitized]: `clew export` for compilers, linkers and coverage: from plain samples, branch stacks and a trace; totals are
those of the recording, and its readers load it where they are installed. TAP.

Live recordings, exact counts and the loops through compilers: tests/live/pgo_loop.py."""
import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import (BASE, ENV, SOURCE, TYPE, at, branches_in, chain, clew, compiled, cycles, evil, export, main_samples, one, place, program, program_records, recording,
                             run, symbols, threads, two, work)

truth = os.path.join(os.path.abspath(sys.argv[2]), "coresight-truth")
FORMATS = ("lcov", "llvm", "llvm-profgen", "autofdo", "bolt")
FROM_SAMPLES = ("lcov", "llvm", "autofdo", "bolt")  # the other needs branches
NR_HOT = at["hot"][1]
# In user code with a file: each byte of hot(), and one more of it; [app+0xff123] is beyond its end.
NR_KNOWN = NR_HOT + 1


def options_of(to):
    return ["--samples"] if to == "lcov" else []


def summary(data, to, *options):
    return json.loads(export(data, to, "--json", *options).stderr)


def write(name, data):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


# --- LLVM, of samples ---


class Llvm:
    """Function -> [total, entered, {place: count}, {(place, callee): the same}]."""

    def __init__(self, out):
        self.functions, stack = {}, []
        for line in out.decode().splitlines():
            depth = len(line) - len(line.lstrip(" "))
            del stack[depth:]
            if not depth:
                name, total, head = line.rsplit(":", 2)
                stack.append(self.functions.setdefault(name, [int(total), int(head), {}, {}]))
                continue
            at_place, rest = line.strip().split(": ", 1)
            if re.match(r"\d", rest):
                stack[-1][2][at_place] = int(rest.split()[0])
                continue
            callee, total = rest.rsplit(":", 1)
            stack.append(stack[-1][3].setdefault((at_place, callee), [int(total), 0, {}, {}]))

    def total(self):
        return sum(f[0] for f in self.functions.values())


def adds_up(f):
    return f[0] == sum(f[2].values()) + sum(c[0] for c in f[3].values()) and all(adds_up(c) for c in f[3].values())


p = export(one, "llvm")
llvm = Llvm(p.stdout)
tap.check(p.returncode == 0 and llvm.total() == NR_KNOWN and list(llvm.functions) == ["hot"], "llvm: each sample with a source line counts once",
          [p.stderr, NR_KNOWN, p.stdout.decode()])
hot = llvm.functions["hot"]
tap.check(all(adds_up(f) for f in llvm.functions.values()), "llvm: totals are those of places and of what was inlined", p.stdout.decode())
line = {w: 1 + next(i for i, text in enumerate(SOURCE.split("\n")) if w in text) for w in ("hot(unsigned", "sink += mix", "x ^= x", "x *= 0x", "mix(unsigned")}
CALL = str(line["sink += mix"] - line["hot(unsigned"])
mix = [f for (where, callee), f in hot[3].items() if callee == "mix" and where.split(".")[0] == CALL]
tap.check(mix and {w.split(".")[0] for w in mix[0][2]} >= {str(line["x ^= x"] - line["mix(unsigned"]), str(line["x *= 0x"] - line["mix(unsigned"])},
          "llvm: what was inlined is inside of its caller, at the line of the call, by lines of its own", p.stdout.decode())
tap.check(hot[1] == hot[2].get("0", 0), "llvm: entered as often as the function's own line was sampled", hot)
s = summary(one, "llvm")
tap.check(s["source"] == "samples" and s["samples"] == NR_HOT + 4 and s["with_lines"] == NR_KNOWN and s["without_lines"] == 0 and
          [(b["binary"], b["skipped"]) for b in s["binaries"]] == [(program, 1)], "llvm: the summary counts samples with lines, and without", s)
tap.check(b"1 counts have no address in the file" in p.stderr, "llvm: a message counts what is not in the file", p.stderr)
bare = compiled("bare", SOURCE, "-g0")
inner = symbols(bare)["hot"][0]
p = export(recording("bare.data", [cycles], [*program_records(cycles, path=bare), cycles.sample(BASE + inner, chain=chain(BASE + inner), time=5)]), "llvm")
tap.check(p.returncode == 0 and not p.stdout and b"1 of 1 samples are of code without source lines" in p.stderr and b"-g -fdebug-info-for-profiling" in p.stderr,
          "llvm: without debug information, a message says so", p.stderr)
p = export(one, "llvm", "--tid", "8")
tap.check(Llvm(p.stdout).total() == sum(i % 3 == 0 for i in range(NR_HOT)), "llvm: filters apply to samples", p.stderr)
p = export(two, "llvm")
tap.check(Llvm(p.stdout).total() == NR_KNOWN and b"5 samples of other events were omitted: page-faults (5)" in p.stderr and b"-e NAME" in p.stderr,
          "llvm: one event, and the message names the other", p.stderr)
tap.check(Llvm(export(two, "llvm", "-e", "page-faults").stdout).total() == 5, "llvm: -e chooses the event")

later = [cycles.sample(BASE + inner + i, pid=9, chain=chain(BASE + inner + i), time=50 + i) for i in range(3)]
both = recording("both.data", [cycles], [*program_records(cycles), *program_records(cycles, 9, path=bare), cycles.sample(place("hot"), chain=chain(place("hot")), time=5),
                                         *later])
tap.check(summary(both, "autofdo")["binaries"][0]["binary"] == bare, "the binary with most samples is the one that is written")
tap.check(summary(both, "autofdo", "--binary", "app")["binaries"][0]["binary"] == program, "--binary chooses another")

CPP = """
namespace n { struct s { static int f(int); }; }
__attribute__((noinline)) int n::s::f(int x)
{
	return x * 3;
}
int main(int argc, char **)
{
	return n::s::f(argc);
}
"""
path = os.path.join(work, "cpp")
with open(path + ".cc", "w", encoding="ascii") as f:
    f.write(CPP)
if run("c++", "-O2", "-g", "-no-pie", "-o", path, path + ".cc").returncode:
    tap.skip("llvm: names as linked", "no C++ compiler (package g++)")
else:
    link = symbols(path)["_ZN1n1s1fEi"]
    cpp = recording("cpp.data", [cycles], [*program_records(cycles, path=path), cycles.sample(BASE + link[0], chain=chain(BASE + link[0]), time=5)])
    text = export(cpp, "llvm").stdout
    tap.check(text.startswith(b"_ZN1n1s1fEi:1:") and re.search(rb"^ [0-2]: 1$", text, re.M), "llvm: names as linked, lines from the function's definition", text)

PROFDATA = shutil.which("llvm-profdata-19")
if PROFDATA:
    path = write("llvm.prof", export(one, "llvm").stdout)
    p = run(PROFDATA, "merge", "--sample", "--extbinary", path, "-o", path + ".bin")
    text = run(PROFDATA, "merge", "--sample", "--text", path + ".bin", "-o", "-").stdout if not p.returncode else b""
    tap.check(Llvm(text).functions == llvm.functions, "llvm-profdata: the same again, by its binary form", [p.stderr, text.decode()])
else:
    tap.skip("llvm-profdata: the same again, by its binary form", "no llvm-profdata-19 (package llvm-19)")

# --- LCOV, of samples ---


def of_lcov(out):
    """Path -> (line -> count, function -> count)."""
    files = {}
    for part in out.decode().split("end_of_record\n")[:-1]:
        lines = {int(a): int(b) for a, b in re.findall(r"^DA:(\d+),(\d+)$", part, re.M)}
        functions = {b: int(a) for a, b in re.findall(r"^FNDA:(\d+),(.*)$", part, re.M)}
        found = {k: int(v) for k, v in re.findall(r"^(LF|LH|FNF|FNH|BRF|BRH):(\d+)$", part, re.M)}
        assert found["LF"] == len(lines) and found["LH"] == sum(n > 0 for n in lines.values()), part
        assert found["FNF"] == len(functions) and found["FNH"] == sum(n > 0 for n in functions.values()), part
        files[re.search(r"^SF:(.*)$", part, re.M).group(1)] = (lines, functions)
    return files


p = export(one, "lcov")
tap.check(p.returncode == 1 and not p.stdout and b"no instruction trace" in p.stderr and b"--samples" in p.stderr, "lcov: samples are no coverage, but if that is asked for",
          p.stderr)
info = export(one, "lcov", "--samples").stdout
lines, functions = of_lcov(info)[program + ".c"]
tap.check(functions == {"hot": NR_KNOWN, "mix": functions["mix"], "outer": 0, "main": 0} and mix and functions["mix"] == mix[0][0],
          "lcov: samples of each function, and of what was inlined; none of others", functions)
back = 1 + next(i for i, text in enumerate(SOURCE.split("\n")) if "return hot" in text)
tap.check(lines[back] == 0 and lines[line["x ^= x"]] > 0, "lcov: lines without a sample are there", lines)
for name, *command in (("genhtml", "-q", "-o", os.path.join(work, "html")), ("lcov", "--summary")):
    if not shutil.which(name):
        tap.skip(name + " reads it", f"no {name} (package lcov)")
        continue
    p = run(name, *command, write("samples.info", info))
    tap.check(p.returncode == 0 and (name == "genhtml" or b"functions..: 50.0% (2 of 4 functions)" in p.stdout + p.stderr), name + " reads it", p.stdout + p.stderr)

# --- AutoFDO, and what needs branches ---

p = export(one, "autofdo")
lists = p.stdout.decode().split("\n")
counts = [int(x.rsplit(":", 1)[1]) for x in lists[2:2 + int(lists[1])]]
tap.check(lists[0] == "0" and sum(counts) == NR_KNOWN and lists[2 + len(counts)] == "0", "autofdo: plain samples are the list of addresses", [p.stderr, *lists[:5]])
for to in FORMATS:
    if to not in FROM_SAMPLES:
        p = export(one, to)
        tap.check(p.returncode == 1 and not p.stdout and b"neither instruction trace, SPE records nor branch stacks" in p.stderr and b"--to llvm" in p.stderr,
                  to + ": plain samples have no branches, and the message says what takes them", p.stderr)

# --- BOLT, of samples ---


def of_fdata(out):
    """Event, and (function, offset) -> samples."""
    head, *rows = [line.split(" ") for line in out.decode().splitlines()]
    assert head[0] == "no_lbr" and all(row[0] == "1" and len(row) == 4 for row in rows), out
    return head[1], {(f, int(offset, 16)): int(n) for _, f, offset, n in rows}


p = export(one, "bolt")
event, rows = of_fdata(p.stdout)
tap.check(p.returncode == 0 and event == "cycles" and rows == {("hot", i): 2 if i == 2 else 1 for i in range(NR_HOT)} and b"llvm-bolt -data" in p.stderr,
          "bolt: plain samples by function and offset; of a clock as of cycles", [p.stderr, p.stdout])
tap.check(of_fdata(export(two, "bolt", "-e", "page-faults").stdout)[0] == "page-faults", "bolt: other events have their names")
LOCALS = """
#include <stdlib.h>
static __attribute__((noinline)) int same(int x) { return x * %d + rand(); }
int NAME(int x) { return same(x) + same(x + 1); }
"""
for i in (1, 2):
    with open(os.path.join(work, f"local{i}.c"), "w", encoding="ascii") as f:
        f.write(LOCALS.replace("NAME", f"of_{i}") % (i + 2))
twice = compiled("twice", "int of_1(int), of_2(int);\nint main(int c, char **v) { (void)v; return of_1(c) + of_2(c); }\n", "local1.c", "local2.c")
local = sorted(int(x, 16) for x in re.findall(r"([0-9a-f]{16}) +\d+ FUNC +LOCAL .* same\n", run("readelf", "-Ws", twice).stdout.decode()))
offset, address = next((int(a, 16), int(b, 16)) for a, b in re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .*R E ", run("readelf", "-Wl", twice).stdout.decode()))
data = recording("twice.data", [cycles], [*program_records(cycles, path=twice), *(cycles.sample(BASE + x - address + offset + 1, chain=(), time=5 + i)
                                                                                   for i, x in enumerate([local[0], *local, 0x10000]))])
p = export(data, "bolt")
tap.check(of_fdata(p.stdout)[1] == {("same/1", 1): 2, ("same/2", 1): 1}, "bolt: local functions of one name are numbered by address", [p.stdout, p.stderr])
s = summary(one, "bolt")
tap.check((s["source"], s["samples_in_no_function"]) == ("samples", 0), "bolt: --json", s)

# --- branch stacks ---

STACKS = pm.Event(TYPE | pm.BRANCH_STACK, kind=pm.SOFTWARE, config=0)
# hot() returns to outer(), which called it: newest first. What hot() ran is one straight line: its loop was not entered.
CALLS = {f: [o for o, _, to in branches_in(program, f) if to == callee] for f, callee in (("outer", "hot"), ("main", "outer"))}
RETURNS = [o for o, op, _ in branches_in(program, "hot") if op.startswith("ret")]
if not (all(CALLS.values()) and RETURNS):
    tap.skip_all("no objdump, or no calls that it shows")
CALL, MAIN_CALL, RET = CALLS["outer"][0], CALLS["main"][0], RETURNS[0]
pairs = ((place("hot", RET), place("outer", CALL + 5)), (place("outer", CALL), place("hot")), (place("main", MAIN_CALL), place("outer")))
stacks = recording("stacks.data", [STACKS], [*program_records(STACKS), *(STACKS.sample(place("outer", 5), chain=chain(place("outer", 5)), branches=pairs, time=5 + i)
                                                                        for i in range(7))])
link = {name: int(address, 16) for address, name in re.findall(r"([0-9a-f]{16})\s+\d+ FUNC.*\s(\S+)\n", run("readelf", "-Ws", program).stdout.decode())}
p = export(stacks, "llvm-profgen")
want = ["2", f"{link['outer']:x}-{link['outer'] + CALL:x}:7", f"{link['hot']:x}-{link['hot'] + RET:x}:7", "3"]
want[1:3] = sorted(want[1:3], key=lambda x: int(x.split("-")[0], 16))
tap.check(p.stdout.decode().split("\n")[:4] == want and f"{link['outer'] + CALL:x}->{link['hot']:x}:7\n" in p.stdout.decode(),
          "llvm-profgen: ranges and branches of stacks, at linked addresses", [p.stderr, p.stdout, want])
tap.check(sorted(re.findall(r"^B \S+ \S+ 7 0$", export(stacks, "bolt").stdout.decode(), re.M)) and export(stacks, "bolt").stdout == run(
    clew, "inject", "--format", "bolt", "-i", stacks).stdout, "bolt: as clew inject writes it")
tap.check(export(stacks, "autofdo").stdout == run(clew, "inject", "-i", stacks).stdout, "autofdo: as clew inject writes it")
f = Llvm(export(stacks, "llvm").stdout).functions
tap.check(f["hot"][1] == 7 and f["outer"][1] == 7, "llvm: entries of functions are branches to them", f)
tap.check(b"it has no instruction trace" in export(stacks, "lcov").stderr, "lcov: branch stacks are samples, too")
lines, functions = of_lcov(export(stacks, "lcov", "--samples").stdout)[program + ".c"]
tap.check(functions["hot"] == functions["outer"] == 7 and functions["main"] == 0, "lcov: --samples of branch stacks", functions)

# --- names ---

for to in FORMATS:
    p = export(evil, to, *options_of(to))
    tap.check(p.returncode in (0, 1) and not re.search(rb"[\0-\x09\x0b-\x1f\x7f\xff]", p.stdout + p.stderr), to + ": names of strangers", p.stdout + p.stderr)
named = compiled("na,m\ne", SOURCE)
inner = symbols(named)["hot"][0]
odd = recording("odd.data", [cycles], [*program_records(cycles, path=named), cycles.sample(BASE + inner, chain=chain(BASE + inner), time=5)])
files = of_lcov(export(odd, "lcov", "--samples").stdout)
tap.check([f[1]["hot"] for name, f in files.items() if name.endswith("na,m\\x0ae.c")] == [1], "lcov: a path cannot begin a line", list(files))

# --- output ---

for to in FORMATS:
    data = one if to in FROM_SAMPLES else stacks
    a, b = (export(data, to, *options_of(to)) for _ in range(2))
    tap.check(a.returncode == 0 and a.stdout and a.stdout == b.stdout, to + ": two runs are equal", a.stderr)
    host = socket.gethostname().encode()
    tap.check(len(host) < 4 or host not in a.stdout, to + ": it does not name the machine", host)
    path = os.path.join(work, "out.gz")
    p = export(data, to, *options_of(to), "-o", path)
    with open(path, "rb") as f:
        written = f.read()
    tap.check(p.returncode == 0 and not p.stdout and gzip.decompress(written) == a.stdout, to + ": -o NAME.gz is the same, compressed", p.stderr)
    p = export(data, to, *options_of(to), "--json")
    s = json.loads(p.stderr)
    tap.check(s["format"] == to and s["samples"] == (7 if data == stacks else NR_HOT + 4) and p.stderr.count(b"\n") == 1, to + ": --json is one object", p.stderr)
    with open("/dev/full", "wb") as full:
        p = subprocess.run([clew, "export", "--to", to, "-i", data, *options_of(to)], stdout=full, stderr=subprocess.PIPE, check=False, env=ENV)
    tap.check(p.returncode == 1 and b"standard output" in p.stderr, to + ": an output that is full is an error", p.stderr)
    p = export(data, to, *options_of(to), "--max-memory", "4K")
    tap.check(p.returncode in (0, 1), to + ": without memory", p.stderr)

# --- a trace ---

if os.path.exists(os.path.join(truth, "work")):
    for to in ("autofdo", "bolt"):
        a, b = export(os.path.join(truth, "work"), to), run(clew, "inject", "--format", to, "-i", os.path.join(truth, "work"))
        tap.check(a.returncode == 0 and a.stdout and a.stdout == b.stdout, to + ": of a trace, as clew inject writes it", a.stderr)
    s = summary(os.path.join(truth, "work"), "llvm-profgen")
    tap.check(s["source"] == "trace" and s["binaries"][0]["ranges"] > 900, "llvm-profgen: of a trace", s)
else:
    tap.skip("of a trace", "no " + truth)

# --- memory ---


def peak(to, data):
    """KiB."""
    child = subprocess.Popen([clew, "export", "-q", "--to", to, *options_of(to), "-i", data, "-o", os.path.join(work, "out")], stdin=subprocess.DEVNULL, env=ENV)
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return use.ru_maxrss


block = list(main_samples(cycles))
long_1 = recording("long1.data", [cycles], [*threads, *block * 500])
long_4 = recording("long4.data", [cycles], [*threads, *block * 2000])
for to in FROM_SAMPLES:
    if sys.argv[3:] == ["sanitized"]:
        tap.skip(to + ": four times as many samples take no more memory", "the sanitizer keeps what is freed")
        continue
    peaks = [peak(to, long_1), peak(to, long_4)]
    tap.check(peaks[1] < peaks[0] * 1.1, to + ": four times as many samples take no more memory", peaks)

# --- refusals ---

for to, options, words in (("llvm", ["--weight", "samples"], b"--weight is not for --to llvm"), ("bolt", ["--by", "pid"], b"--by is not for --to bolt"),
                           ("lcov", ["--itrace=b"], b"--itrace is not for"), ("pprof", ["--binary", "x"], b"--binary is not for --to pprof"),
                           ("llvm", ["--no-inline"], b"--no-inline is not for"), ("lcov", ["--instr"], b"--instr is not for"),
                           ("llvm", ["--samples"], b"--samples is not for"), ("bolt", ["--samples"], b"--samples is not for"),
                           ("llvm", ["--indirect"], b"--indirect is not for"), ("pprof", ["--samples"], b"--samples is not for"),
                           ("llvm", ["-e", "cycels"], b"there is no event 'cycels'")):
    p = export(one, to, *options)
    tap.check(p.returncode == 2 and words in p.stderr, f"refused: {to} " + " ".join(options), p.stderr)
if os.path.exists(os.path.join(truth, "work")):
    p = export(os.path.join(truth, "work"), "bolt", "--tid", "1")
    tap.check(p.returncode == 2 and b"neither filters nor events apply" in p.stderr, "filters of a trace are refused", p.stderr)
with open(one, "rb") as f:
    pipe = f.read()
p = run(clew, "export", "--to", "llvm", "-i", "-", input=pipe)
tap.check(p.returncode == 1 and not p.stdout and b"--no-itrace" in p.stderr, "a pipe: an option is named that reads it", p.stderr)
for data, formats in ((one, FROM_SAMPLES), (stacks, FORMATS)):
    pipe = export(data, "perf.data").stdout
    for to in formats:
        p = run(clew, "export", "--to", to, "-i", "-", "--no-itrace", *options_of(to), input=pipe)
        tap.check(p.returncode == 0 and p.stdout and p.stdout == export(data, to, *options_of(to)).stdout,
                  f"{to}: {os.path.basename(data)} by a pipe is the same with --no-itrace", p.stderr)
p = export(one, "llvm", "-o", "-")
tap.check(p.returncode == 0 and p.stdout == export(one, "llvm").stdout, "-o -: standard output", p.stderr)
p = export(one, "llvm", "--binary", "nothing")
tap.check(p.returncode == 1 and b"no code of a binary 'nothing' was executed" in p.stderr and program.encode() in p.stderr, "a binary that did not run, and which did", p.stderr)
cut = os.path.join(work, "cut.data")
with open(cut, "wb") as f:
    f.write(pm.perf_data([cycles], b"".join([*threads, *main_samples(cycles)]), {})[:-30])
p = export(cut, "llvm")
tap.check(p.returncode == 0 and b"ends inside a record" in p.stderr and Llvm(p.stdout).total() == NR_KNOWN, "a recording that was cut", p.stderr)
help_text = run(clew, "export", "--help").stdout.decode()
tap.check(all(f in help_text for f in FORMATS), "all formats are in the help", help_text)

shutil.rmtree(work, ignore_errors=True)
tap.done()
