#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: profile_addresses_test.py CLEW SAMPLE_MAKE: profiles of one program, linked in several ways: in each format its loop is where its reader looks for it,
also where .text lies elsewhere in the file than in memory. TAP."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from elf_lib import loads  # noqa: E402
from tap import check, done, skip, skip_all  # noqa: E402

clew, sample_make = (os.path.abspath(p) for p in sys.argv[1:3])
top = tempfile.mkdtemp()
os.chdir(top)
os.environ["LC_ALL"] = "C.UTF-8"
BASE = 0x550000000000
NR, DEPTH = 50, 8
SOURCE = """__attribute__((noinline)) int hotloop(int n)
{
	int x = 1;
	for (int i = 0; i < n; i++)
		x = x * 3 + i;
	return x;
}
int main(void)
{
	return hotloop(100) == 3;
}
"""
LAYOUTS = (("pie",), ("fixed", "-no-pie"), ("separate", "-Wl,-z,separate-code"), ("fixed-separate", "-no-pie", "-Wl,-z,separate-code"),
           ("together", "-Wl,-z,noseparate-code"), ("fixed-together", "-no-pie", "-Wl,-z,noseparate-code"), ("moved", "-Wl,--section-start=.text=0x41000"),
           ("far", "-no-pie", "-Wl,-Ttext-segment=0x7000000"), ("lld", "-fuse-ld=lld"), ("lld-fixed", "-fuse-ld=lld", "-no-pie"),
           ("lld-separate", "-fuse-ld=lld", "-Wl,-z,separate-code"), ("lld-pages", "-fuse-ld=lld", "-Wl,-z,separate-loadable-segments"))


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, check=False, **more)


class Program:
    def __init__(self, name, options):
        self.name = name
        p = run("gcc", "-O1", "-gdwarf-4", "-fno-unroll-loops", *options, "-o", name, "prog.c", text=True)
        self.ok = p.returncode == 0
        if not self.ok:
            return
        with open(name, "rb") as f:
            self.segments = list(loads(f.read()))
        code = run("objdump", "-d", "--disassemble=hotloop", name, text=True).stdout
        jumps = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"^ *([0-9a-f]+):.*\tj\w+ +([0-9a-f]+) <hotloop", code, re.M)]
        self.last, self.first = next((a, b) for a, b in jumps if b < a)
        self.offset, self.vaddr = next((o, v) for x, o, v, n in self.segments if x and v <= self.first < v + n)
        self.base = self.segments[0].address
        self.record()

    def file_offset(self, address):
        return address - self.vaddr + self.offset

    def record(self):
        page = self.vaddr & ~0xfff
        at = {a: BASE + (a - page) for a in (self.first, self.last)}
        lines = ["event cycles chain branches", "comm 64 prog", f"map 64 {BASE:x} 10000 {self.offset & ~0xfff:x} {os.path.join(top, self.name)}"]
        stack = " ".join(f"{at[self.last]:x} {at[self.first]:x} 2" for _ in range(DEPTH))
        lines += [f"sample 0 64 {at[self.last]:x} {1000 + i:x} 1 chain {at[self.last]:x} branches {stack}" for i in range(NR)]
        with open(self.name + ".data", "wb") as f:
            f.write(run(sample_make, input=("\n".join(lines) + "\n").encode()).stdout)

    def export(self, to, *options):
        return run(clew, "export", "--to", to, "-i", self.name + ".data", *options, text=True)


def by_simpleperf(p, offset):
    """The linked address of an offset, by the last executable segment that begins at or before it."""
    return offset + [v - o for x, o, v, _ in p.segments if x and o <= offset][-1]


def ranges_of(text):
    """[(first, last, count)], [(from, to, count)] of AutoFDO's text."""
    return tuple([tuple(int(n, 16 if i < 2 else 10) for i, n in enumerate(m)) for m in re.findall(pattern, text, re.M)]
                 for pattern in (r"^([0-9a-f]+)-([0-9a-f]+):(\d+)$", r"^([0-9a-f]+)->([0-9a-f]+):(\d+)$"))


def moved(pairs, by):
    return [(by(a), by(b), n) for a, b, n in pairs]


def autofdo(p, differs):
    ran, went = [(p.first, p.last, NR * (DEPTH - 1))], [(p.last, p.first, NR * DEPTH)]
    out = p.export("autofdo")
    runs, branches = ranges_of(out.stdout)
    check(moved(runs, lambda a: by_simpleperf(p, a)) == ran and moved(branches, lambda a: by_simpleperf(p, a)) == went and runs[0][0] == p.file_offset(p.first),
          p.name + ": autofdo: offsets in the file", [out.stdout, out.stderr, hex(p.first)])
    check(out.stderr.count("--autofdo-base=segment") == differs and out.stderr.count("create_llvm_prof 0.19 needs") == differs,
          p.name + ": autofdo: a note where another reader needs others", out.stderr)
    check(p.export("autofdo", "--autofdo-base", "offset").stdout == out.stdout and run(clew, "inject", "-i", p.name + ".data", text=True).stdout == out.stdout,
          p.name + ": autofdo: the same with --autofdo-base=offset, and of clew inject")
    old = p.export("autofdo", "--autofdo-base=segment")
    runs, branches = ranges_of(old.stdout)
    check(moved(runs, lambda a: a + p.base) == ran and moved(branches, lambda a: a + p.base) == went, p.name + ": autofdo: from the first segment, if that is asked for",
          [old.stdout, old.stderr])
    check(old.stderr.count("--autofdo-base=offset") == differs and (old.stdout != out.stdout) == differs, p.name + ": autofdo: and a note for its readers", old.stderr)
    injected = run(clew, "inject", "--autofdo-base=segment", "-i", p.name + ".data", text=True)
    check(injected.stdout == old.stdout and injected.stderr.count("--autofdo-base=offset") == differs, p.name + ": autofdo: the same of clew inject", injected.stderr)
    s = json.loads(p.export("autofdo", "--json").stderr.strip().split("\n")[0])
    check(s["base"] == "offset" and s["bases_differ"] == differs, p.name + ": autofdo: in JSON, too", s)
    if not shutil.which("create_llvm_prof"):
        skip(p.name + ": create_llvm_prof", "no create_llvm_prof (package autofdo)")
        return
    with open("old.text", "w", encoding="ascii") as f:
        f.write(old.stdout)
    made = run("create_llvm_prof", "--binary=" + p.name, "--profile=old.text", "--profiler=text", "--format=text", "--out=old.prof", text=True)
    with open("old.prof", encoding="utf-8") as f:
        prof = f.read()
    check(re.search(r"^hotloop:[1-9]", prof, re.M), p.name + ": create_llvm_prof 0.19 reads that", [prof, made.stderr])


def others(p):
    out = p.export("bolt").stdout
    check(f"B {p.last:x} {p.first:x} {NR * DEPTH} 0\n" in out and f"F {p.first:x} {p.last:x} {NR * (DEPTH - 1)}\n" in out, p.name + ": bolt: linked addresses", out)
    check(out == run(clew, "inject", "--format=bolt", "-i", p.name + ".data", text=True).stdout, p.name + ": bolt: the same of clew inject")
    check(ranges_of(p.export("llvm-profgen").stdout) == ([(p.first, p.last, NR * (DEPTH - 1))], [(p.last, p.first, NR * DEPTH)]), p.name + ": llvm-profgen: linked addresses")
    check(re.search(r"^hotloop:\d+:\d+\n( .*\n)* [34](\.\d+)?: " + str(NR * (DEPTH - 1)), p.export("llvm").stdout, re.M), p.name + ": llvm: the loop's lines", p.export("llvm").stdout)
    check(f"DA:5,{NR * (DEPTH - 1)}\n" in p.export("lcov", "--samples").stdout, p.name + ": lcov: the loop's line", p.export("lcov", "--samples").stdout)
    check(re.search(rf"^0x{p.last:x} \d+ {NR} {NR}$", p.export("callgrind", "--instr").stdout, re.M), p.name + ": callgrind: linked addresses", p.export("callgrind", "--instr").stdout)
    notes = run(clew, "annotate", "--stdio", "-i", p.name + ".data", "hotloop", text=True).stdout
    check(re.search(rf"^.*\b{NR * DEPTH}\b.*\b{p.last:x}:", notes, re.M), p.name + ": annotate: linked addresses", notes)


with open("prog.c", "w", encoding="ascii") as f:
    f.write(SOURCE)
if run("gcc", "--version").returncode or not shutil.which("objdump") or os.uname().machine != "x86_64":
    skip_all("no gcc or objdump for x86-64")
nr_differing = 0
for layout, *flags in LAYOUTS:
    prog = Program(layout, flags)
    if not prog.ok:
        skip(layout, "cannot be linked" + (" (package lld)" if "lld" in layout else ""))
        continue
    is_other = prog.vaddr - prog.offset != prog.base
    nr_differing += is_other
    autofdo(prog, is_other)
    others(prog)
check(nr_differing > 0, "at least one layout has .text elsewhere than in the file")
p = run(clew, "inject", "--autofdo-base=page", "-i", "pie.data", text=True)
check(p.returncode == 2 and "offset or segment" in p.stderr and not p.stdout, "--autofdo-base: no other word", p.stderr)
p = run(clew, "inject", "--format=bolt", "--autofdo-base=segment", "-i", "pie.data", text=True)
check(p.returncode == 2 and not p.stdout, "nor for bolt", p.stderr)
p = run(clew, "export", "--to", "llvm", "--autofdo-base=segment", "-i", "pie.data", text=True)
check(p.returncode == 2 and not p.stdout, "nor for other formats", p.stderr)
shutil.rmtree(top, ignore_errors=True)
done()
