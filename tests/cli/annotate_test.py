#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: annotate_test.py CLEW SAMPLE_MAKE: `clew annotate` of a program that is compiled here. TAP.

Recordings are made of text: known numbers of samples at known addresses, for two events. What perf annotate counts at each
address of the same file is compared, where perf is installed."""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all
from cli import perf_make as pm

CLEW, MAKE = (str(Path(p).resolve()) for p in sys.argv[1:3])
PERF = shutil.which("perf") if shutil.which("objdump") else None
ENV = {**os.environ, "LC_ALL": "C", "PERF_CONFIG": "/dev/null", "PAGER": "cat", "HOME": "/nonexistent"}
SOURCE = """volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x)
{
	x ^= x >> 7;
	return x * 12345;
}
__attribute__((noinline)) void leaf(void)
{
	sink = 1;
}
__attribute__((noinline)) unsigned long hot(unsigned long n)
{
	unsigned long s = 0;
	for (unsigned long i = 0; i < n; i++) {
		if (i % 3)
			s += mix(sink + i);
		else
			leaf();
	}
	return s;
}
int main(int c, char **v)
{
	(void)v;
	for (int i = c > 1 ? 20000 : 1; i; i--)
		sink = hot(3000);
	return 0;
}
"""


def run(args, cwd=None, text=True):
    return subprocess.run(args, capture_output=True, text=text, errors="replace" if text else None, env=ENV, stdin=subprocess.DEVNULL, cwd=cwd, check=False)


class Program:
    def __init__(self, top, name="work"):
        self.top, self.name = top, name
        self.source = os.path.join(top, name + ".c")
        self.path = os.path.join(top, name)
        Path(self.source).write_text(SOURCE, encoding="ascii")
        subprocess.run(["cc", "-g", "-O1", "-no-pie", "-Wl,-z,noseparate-code", "-Wl,--build-id", "-o", self.path, self.source], check=True)
        self.symbols = {}
        for line in run(["nm", "-S", "--defined-only", self.path]).stdout.splitlines():
            words = line.split()
            if len(words) == 4:
                self.symbols[words[3]] = (int(words[0], 16), int(words[1], 16))

    def record(self, name, counts):
        """@p counts: (event, address) -> samples of period 10 and 3."""
        base = 0x400000
        lines = ["event cycles", "event faults", "comm 64 work", f"map 64 {base:x} 2000 0 {self.path}"]
        time = 1000
        for (event, address), nr in sorted(counts.items()):
            for _ in range(nr):
                time += 16
                lines.append(f"sample {event:x} 64 {address:x} {time:x} {(10, 3)[event]:x}")
        data = subprocess.run([MAKE], input=("\n".join(lines) + "\n").encode(), capture_output=True, check=True).stdout
        path = os.path.join(self.top, name)
        Path(path).write_bytes(data)
        return path


def annotate(path, *options):
    return run([CLEW, "annotate", "-i", path, *options])


def as_json(path, *options):
    p = annotate(path, "--json", *options)
    return json.loads(p.stdout) if p.returncode == 0 else {"symbols": [], "sources": [], "error": p.stderr}


def per_address(symbol, event):
    return {int(i["address"], 16): i["samples"][event] for i in symbol["instructions"] if i["samples"][event]}


def instructions(prog, name):
    """Addresses by objdump, where it is installed."""
    out = run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={name}", prog.path]).stdout
    return [int(m.group(1), 16) for m in re.finditer(r"^ +([0-9a-f]+):", out, re.M)]


def of_perf(path, symbol):
    """{event: {address: samples}}"""
    out = run([PERF, "annotate", "--stdio", "-n", "-i", path, symbol]).stdout
    found, event = {}, None
    for line in out.splitlines():
        m = re.search(r"Source code & Disassembly of \S+ for (\S+) \(", line)
        if m:
            event = m.group(1)
            found[event] = {}
        m = re.match(r"\s*(\d+) :\s+([0-9a-f]+):", line)
        if m and event and int(m.group(1)):
            found[event][int(m.group(2), 16)] = int(m.group(1))
    return found


def of_report(path, symbol, event):
    out = json.loads(run([CLEW, "report", "-i", path, "--json", "-S", symbol, "--no-children", "--sort", "sym"]).stdout)
    for table in out["tables"]:
        if table["events"][0]["name"] == event:
            rows = [r["values"][0] for r in table["rows"] if r["sym"] == symbol]
            return sum(r["samples"] for r in rows), sum(r["self"] for r in rows)
    return 0, 0


def counts(prog):
    dice = random.Random(4)
    at = instructions(prog, "hot")
    if not at:
        start, size = prog.symbols["hot"]
        at = [i for i in range(start, start + size)]
    made = Counter()
    for _ in range(500):
        made[(0, dice.choice(at))] += 1
    for _ in range(60):
        made[(1, dice.choice(at[:5]))] += 1
    for _ in range(40):
        made[(0, prog.symbols["leaf"][0])] += 1
    prog.file = path = prog.record("random.data", made)
    found = as_json(path, "hot")["symbols"]
    check(len(found) == 2, "one listing for each event", found)
    for symbol, event in zip(found, (0, 1)):
        name = symbol["events"][0]["name"]
        want = {a: n for (e, a), n in made.items() if e == event and a in range(prog.symbols["hot"][0], sum(prog.symbols["hot"]))}
        if shutil.which("objdump"):
            check(per_address(symbol, 0) == want, f"{name}: samples at each address", (per_address(symbol, 0), want))
        total = sum(i["samples"][0] for i in symbol["instructions"]), sum(i["period"][0] for i in symbol["instructions"])
        check(total == (symbol["events"][0]["samples"], symbol["events"][0]["period"]), f"{name}: they are all of the function")
        check(total == of_report(path, "hot", name), f"{name}: as clew report counts it", (total, of_report(path, "hot", name)))
        if PERF:
            check(of_perf(path, "hot").get(name) == per_address(symbol, 0), f"{name}: as perf annotate counts each address",
                  (of_perf(path, "hot").get(name), per_address(symbol, 0)))
        else:
            skip(f"{name}: as perf annotate", "no perf, or no objdump")
    text = annotate(path, "hot").stdout.split("\n\n")[0]
    shares = [float(m.group(1)) for m in re.finditer(r"^ *(\d+\.\d\d) \|", text, re.M)]
    check(abs(sum(shares) - 100) < 0.01 * len(shares), "shares sum up to 100 %", sum(shares))
    names = [s["symbol"] for s in as_json(path, "--max-symbols", "9")["symbols"]]
    check(names == ["hot", "hot", "leaf"], "without a name: the hottest first", names)
    p = annotate(path, "--max-symbols=1")
    check("leaf" not in re.findall(r"^# (\S+) in", p.stdout, re.M) and "1 more function" in p.stderr, "--max-symbols", p.stderr)
    # Between instructions: to the one that covers it.
    inner = prog.record("inner.data", {(0, prog.symbols["hot"][0] + 1): 4, (0, prog.symbols["hot"][0]): 1})
    symbol = as_json(inner, "hot")["symbols"][0]
    check(sum(per_address(symbol, 0).values()) == 5, "samples inside of instructions are not lost", per_address(symbol, 0))
    return path


def stacks(prog):
    """Branch stacks of a made loop: hot's first jump back, taken 3 times, then once not."""
    jumps = [i for i in as_json(prog.file, "hot")["symbols"][0]["instructions"] if "target" in i and int(i["target"], 16) < int(i["address"], 16)]
    if not jumps:
        skip("branch stacks", "no jump back")
        return
    back, to, start = int(jumps[0]["address"], 16), int(jumps[0]["target"], 16), prog.symbols["hot"][0]
    main = re.findall(r"^ +([0-9a-f]+):\t(?:call|jmp|bl|b) .*<hot>", run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=main", prog.path]).stdout, re.M)
    if not main:
        skip("branch stacks", "no call of hot() in main()")
        return
    main = int(main[0], 16)
    # Newest first: main -> hot, into the loop by a jump if it has one, then three times round, in 9, 6 and 20 cycles since the branch before.
    into = [(int(i["address"], 16), int(i["target"], 16)) for i in as_json(prog.file, "hot")["symbols"][0]["instructions"]
            if "target" in i and start < int(i["address"], 16) < back and re.match(r"(jmp|b)\s", i["text"])][:1]
    branches = " ".join(f"{a:x} {b:x} {2 | c << 4:x}" for a, b, c in [(back, to, 9), (back, to, 6), (back, to, 20), *((a, b, 11) for a, b in into), (main, start, 5)])
    lines = ["event cycles branches", "comm 64 work", f"map 64 400000 2000 0 {prog.path}", f"sample 0 64 {to:x} 10 1 branches {branches}"]
    path = os.path.join(prog.top, "stacks.data")
    Path(path).write_bytes(subprocess.run([MAKE], input=("\n".join(lines) + "\n").encode(), capture_output=True, check=True).stdout)
    symbol = as_json(path, "hot")["symbols"][0]
    at = {int(i["address"], 16): i for i in symbol["instructions"]}
    check(symbol["flow"] == "branch_stacks" and at[start]["executed"] == 1 and at[back]["executed"] == 3 and at[back]["taken"] == 3,
          "branch stacks count what ran, and branches", [at[start], at[to], at[back]])
    text = annotate(path, "hot").stdout
    check("in branch stacks of samples" in text, "the text says where counts come from")
    runs = [(to, back, 9), (to, back, 6), (into[0][1] if into else start, back, 20), *((start, a, 11) for a, _ in into)]
    inside = [[i for i in at if a <= i <= b] for a, b, _ in runs]
    shares = {i: [c / len(run) for run, (_, _, c) in zip(inside, runs) if i in run] for i in at}
    want = {i: sum(x) / len(x) for i, x in shares.items() if x}
    got = {i: at[i]["cycles"] for i in at if "cycles" in at[i]}
    check(symbol["has_cycles"] and got.keys() == want.keys() and all(abs(got[i] - want[i]) < 0.001 for i in got), "cycles of each instruction", (got, want))
    ends = {i: (at[i]["block_cycles"], at[i]["block_ipc"], at[i]["blocks_timed"]) for i in at if "block_cycles" in at[i]}
    ipc = sum(len(run) for run in inside[:3]) / 35
    check(ends.keys() == {b for _, b, _ in runs} and abs(ends[back][0] - 35 / 3) < 0.001 and abs(ends[back][1] - ipc) < 0.001 and ends[back][2] == 3,
          "and of the block, where it ends", ends)
    line = re.search(rf"(\S+) +(\S+) +(\S+) \|[^\n]* {back:x}: ", text)
    check(line and line.groups() == (f"{want[back]:.2f}", f"{35 / 3:.2f}", f"{ipc:.2f}"), "the text has the same", text)
    branches = f"{back:x} {to:x} 2 " * 2
    Path(path).write_bytes(subprocess.run([MAKE], input=("\n".join([*lines[:3], f"sample 0 64 {to:x} 10 1 branches {branches}"]) + "\n").encode(), capture_output=True, check=True).stdout)
    text = annotate(path, "hot").stdout
    check(not as_json(path, "hot")["symbols"][0]["has_cycles"] and "Executed" in text and "IPC" not in text, "stacks without cycles: no such columns", text)


def jit(prog):
    """Code that a JIT compiler wrote: its jitdump file has names, bytes and lines."""
    code, at = bytes.fromhex("85ff7404ffcf75fc89f8c3"), 0x7F0000001000  # test, je +4, dec, jne -4, mov, ret
    load = struct.pack("<IIQQQQ", 100, 100, at, at, len(code), 1) + b"made\0" + code
    place = struct.pack("<QQQII", at, 1, at, 3, 0) + b"made.js\0"
    data = struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, 100, 0, 0)
    for kind, body in ((2, place), (0, load)):
        data += struct.pack("<IIQ", kind, 16 + len(body), 1) + body
    path = os.path.join(prog.top, "jit-100.dump")
    Path(path).write_bytes(data)
    lines = ["event cycles", "comm 64 js", f"map 64 6f0000000000 1000 0 {path}", f"map 64 {at:x} 1000 0 //anon",
             *[f"sample 0 64 {at + 4:x} {16 + i:x} 1" for i in range(3)]]
    file = os.path.join(prog.top, "jit.data")
    Path(file).write_bytes(subprocess.run([MAKE], input=("\n".join(lines) + "\n").encode(), capture_output=True, check=True).stdout)
    p = annotate(file, "made")
    check(re.search(r"^ +100\.00 \| .*7f0000001004: +dec edi$", p.stdout, re.M) and "ret" in p.stdout, "code made at run time", p.stdout + p.stderr)


def groups(prog, path):
    found = as_json(path, "hot", "--group")["symbols"]
    check(len(found) == 2, "events of no group stay apart", len(found))
    if not PERF:
        skip("--group", "no perf")
        return
    data = os.path.join(prog.top, "group.data")
    p = run([PERF, "record", "-q", "-e", "{cpu-clock:u,page-faults:u}", "-c", "100000", "-o", data, prog.path, "loop"])
    found = as_json(data, "hot", "--group")["symbols"] if p.returncode == 0 else []
    if not found:
        skip("--group", "perf records no samples here")
        return
    check([e["name"] for e in found[0]["events"]] == ["cpu-clock:u", "page-faults:u"] and len(found[0]["instructions"][0]["samples"]) == 2,
          "--group: a column for each event, also without samples", found[0]["events"])


def text_of(prog, path):
    p = annotate(path, "hot")
    check(p.returncode == 0 and not p.stderr, "text", p.stderr)
    check(re.search(r"> .* 13 +unsigned long s = 0;|> .* 14 +for \(unsigned long i = 0; i < n; i\+\+\) \{", p.stdout), "source lines", p.stdout)
    check(re.search(r"\| .*inlined mix at work\.c:16$", p.stdout, re.M), "an inlined call names its place", p.stdout)
    check(re.search(r"<leaf>$", p.stdout, re.M), "a call names its function", p.stdout)
    check(re.search(r"\+-*>", p.stdout), "jumps are arrows", p.stdout)
    check("\033" not in p.stdout, "no colours in a pipe")
    check("\033[31m" in annotate(path, "hot", "--stdio-color=always").stdout, "colours where asked for")
    check(prog.source + ":" in annotate(path, "hot", "-l").stdout, "-l names the file")
    check("more functions" in annotate(path, "--max-symbols", "1").stderr and not annotate(path, "-q", "--max-symbols", "1").stderr, "-q: no notes")
    bare = annotate(path, "hot", "--no-source").stdout
    check("unsigned" not in bare and re.search(r"\| .*[0-9a-f]+: ", bare), "--no-source: instructions alone")
    check("Samples |" in annotate(path, "hot", "-n").stdout, "-n: numbers of samples")


def sources(prog, path):
    moved = os.path.join(prog.top, "elsewhere", "deep")
    os.makedirs(moved)
    text = Path(prog.source).read_text(encoding="ascii")
    os.unlink(prog.source)
    p = annotate(path, "hot")
    check(p.returncode == 0 and re.search(r"> .*work\.c:14$", p.stdout, re.M), "without source: its lines by number", p.stdout)
    Path(moved, "work.c").write_text(text.replace("unsigned long s = 0;", "unsigned long s = 0; /* moved */"), encoding="ascii")
    future = os.stat(prog.path).st_mtime + 100
    os.utime(os.path.join(moved, "work.c"), (future, future))
    p = annotate(path, "hot", "--source-dir", moved)
    check("i < n; i++" in p.stdout, "--source-dir", p.stdout)
    check("was changed after the binary" in p.stderr, "a newer file is a warning", p.stderr)
    found = as_json(path, "hot", "--source-dir", moved)["sources"]
    check([(s["name"], s["path"], s["is_newer"]) for s in found] == [(prog.source, os.path.join(moved, "work.c"), True)], "in JSON, too", found)
    Path(prog.source).write_text(text.replace("leaf();", "leaf(); /*\x1b]0;EVIL\x07\x9b*/"), encoding="latin1")
    out = run([CLEW, "annotate", "-i", path, "hot"], text=False).stdout
    check(b"\\x1b]0;EVIL\\x07\\x9b" in out and b"\x1b" not in out and b"\x9b" not in out, "source text cannot steer the terminal", out[:500])
    Path(prog.source).write_text(text, encoding="ascii")
    os.utime(prog.source, (1, 1))


def refusals(prog, path):
    p = annotate(path, "hott")
    check(p.returncode == 1 and "did you mean 'hot'" in p.stderr, "an unknown function", p.stderr)
    p = annotate(path, "hot", "--dso", "libc.so.6")
    check(p.returncode == 1 and "no samples" in p.stderr, "not of that file", p.stderr)
    check(annotate(path, "hot", "--dso", "work").returncode == 0, "of that file")
    p = annotate(path, "hot", "again")
    check(p.returncode == 2, "one name at most", p.stderr)
    p = annotate(path, "--json", "--stdio")
    check(p.returncode == 2, "--json excludes --stdio", p.stderr)
    p = annotate(os.path.join(prog.top, "none.data"))
    check(p.returncode == 1 and "none.data" in p.stderr, "no such recording", p.stderr)


def other_build(prog):
    """The kernel's records have build ids: a program built again is another one."""
    path = os.path.join(prog.top, "live.data")
    p = run([CLEW, "record", "-o", path, "-F", "5000", "-e", "cpu-clock:u", "--", prog.path, "loop"], cwd=prog.top)
    if p.returncode or "hot" not in run([CLEW, "report", "-i", path, "--sort", "sym"]).stdout:
        skip("a recording of a program", "none can be made here: " + p.stderr[-100:].replace("\n", " "))
        return
    found = as_json(path, "hot")["symbols"][0]
    check(found["no_code"] is None and found["build_id"], "a recording of this machine", found["no_code"])
    check(sum(i["samples"][0] for i in found["instructions"]) == of_report(path, "hot", found["events"][0]["name"])[0], "as report counts it")
    if PERF:
        check(of_perf(path, "hot").get(found["events"][0]["name"]) == per_address(found, 0), "as perf annotate counts it",
              (of_perf(path, "hot"), per_address(found, 0)))
    syms = os.path.join(prog.top, "hidden")
    os.rename(prog.path, syms)
    gone = annotate(path, "hot")
    check(gone.returncode == 1 and "no sample" in gone.stderr, "a program that is gone has no names", gone.stderr)
    os.rename(syms, prog.path)


def traced(prog):
    path = os.path.join(prog.top, "trace.data")
    p = run([CLEW, "record", "-o", path, "-e", "soft_pt//u", "--", prog.path], cwd=prog.top)
    if p.returncode:
        skip("counts of a trace", "no soft_pt here")
        return
    found = as_json(path, "hot")["symbols"]
    check(len(found) == 1 and found[0]["flow"] == "trace" and found[0]["events"][0]["counts"] == "executed", "what an exact trace executed",
          found and found[0]["events"])
    if not found:
        return
    insns = found[0]["instructions"]
    check(insns[0]["executed"] == 1 and max(i["executed"] for i in insns) == 3000, "once in, and 3000 times round",
          [i["executed"] for i in insns])
    check(any(i.get("callee") == "leaf" and i["executed"] == 1000 for i in insns), "a third of the rounds calls leaf", insns)
    split = [sorted((i["taken"], i["not_taken"])) for i in insns if "not_taken" in i]
    check([1000, 2000] in split and [1, 2999] in split, "taken and not taken", split)
    text = annotate(path, "hot").stdout
    check("counted in the trace" in text and re.search(r"Executed +Taken +Not taken", text), "the column says executed", text)
    p = annotate(path, "hot", "--comms", "work")
    check(p.returncode == 0 and "of the whole trace alone" in p.stderr and "Executed" not in p.stdout, "filters: samples, with a note", p.stderr)
    sampled = as_json(path, "hot", "--itrace=b")["symbols"]
    check(sampled[0]["events"][0]["counts"] == "samples" and sampled[0]["events"][0]["name"].startswith("branches"), "--itrace: events as report has them")


def kcore(prog):
    """A directory as of 'perf record --kcore': the kernel's code and names are those of its copies."""
    at, code = 0xFFFFFFFF81000000, bytes.fromhex("85ff7404ffcf75fc89f8c3")  # test, je +4, dec, jne -4, mov, ret
    event = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.PERIOD)
    records = pm.mmap2(event, 2**32 - 1, at, 1 << 20, b"[kernel.kallsyms]_text", pgoff=at, misc=pm.KERNEL) + pm.comm(event, 64, b"work")
    records += b"".join(event.sample(at + 0x104, pid=64, time=9 + i, misc=pm.KERNEL) for i in range(3))
    top = os.path.join(prog.top, "with-kcore")
    os.makedirs(os.path.join(top, "kcore_dir"))
    Path(top, "data").write_bytes(pm.perf_data([event], records, {12: pm.event_desc([event], [b"cycles"])}))
    Path(top, "kcore_dir", "kallsyms").write_text(f"{at:x} T _text\n{at + 0x100:x} T do_work\n{at + 0x10b:x} T do_more\n", encoding="ascii")
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0x1000, at, 0, 0x1000, 0x1000, 0x1000)
    Path(top, "kcore_dir", "kcore").write_bytes((head + segment).ljust(0x1100, b"\0") + code.ljust(0xF00, b"\x90"))
    for path in (top, os.path.join(top, "data")):
        symbol = as_json(path, "do_work")["symbols"][0]
        check(symbol["no_code"] is None and [i["text"].split()[0] for i in symbol["instructions"]] == ["test", "je", "dec", "jne", "mov", "ret"] and
              sum(i["samples"][0] for i in symbol["instructions"]) == 3, "kernel code of a copy of kcore: " + os.path.basename(path), symbol)
    p = run([CLEW, "annotate", "-i", "data", "do_work"], cwd=top)
    check(p.returncode == 0 and " jne " in p.stdout, "named from inside the directory", p.stderr)
    check("do_work" in run([CLEW, "report", "-i", top, "-s", "sym"]).stdout, "clew report opens the directory, too")
    os.rename(os.path.join(top, "kcore_dir"), os.path.join(top, "gone"))
    p = run([CLEW, "annotate", "-i", top, "--kallsyms", os.path.join(top, "gone", "kallsyms"), "do_work"])
    check(p.returncode == 0 and "its instructions are unknown: no image of this kernel" in p.stdout and "without a build id" in p.stdout, "without the copy: addresses, and why the running kernel's code is not used", p.stdout + p.stderr)


def main():
    if not shutil.which("cc"):
        skip_all("no compiler")
    with tempfile.TemporaryDirectory() as top:
        prog = Program(top)
        path = counts(prog)
        stacks(prog)
        groups(prog, path)
        jit(prog)
        kcore(prog)
        text_of(prog, path)
        sources(prog, path)
        refusals(prog, path)
        other_build(prog)
        traced(prog)
    done()


main()
