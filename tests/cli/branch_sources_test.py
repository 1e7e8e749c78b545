#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: branch_sources_test.py CLEW SAMPLE_MAKE: branch stacks of programs for x86-64, i386, A64, A32 and T32, whose entries come from every address of the code in
turn: those that are branches of it, by hand, are counted, all others are dropped and reported; runs through a branch that is always taken, too. TAP."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from elf_lib import code_load  # noqa: E402
from tap import check, done, skip, skip_all  # noqa: E402

clew, sample_make = (os.path.abspath(p) for p in sys.argv[1:3])
top = tempfile.mkdtemp()
os.chdir(top)
os.environ["LC_ALL"] = "C.UTF-8"
BASE = 0x10000000  # of the mapping; the programs do not know it


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, check=False, **more)


class Program:
    """Assembled from lines "LABEL: instruction"; a '*' after the label: it is a branch. @text: without directives."""

    def __init__(self, name, lines, *command, head=""):
        self.path, self.command = os.path.join(top, name), " ".join(command)
        self.branches, text = [], [head, ".text", ".globl _start", "_start:"]
        for i, line in enumerate(lines):
            label = f"at{i:03}"
            text.append(f".globl {label}\n{label}: {line.lstrip('*')}")
            if line.startswith("*"):
                self.branches.append(label)
        text.append(".globl the_end\nthe_end: .byte 0\n")
        with open(self.path + ".s", "w", encoding="ascii") as f:
            f.write("\n".join(text))
        self.made = run(*command, "-nostdlib", "-static", "-Wl,--build-id=none", "-o", self.path, self.path + ".s")
        self.ok = not self.made.returncode
        if self.ok:
            with open(self.path, "rb") as f:
                code = code_load(f.read())
            self.offset, self.vaddr = code.offset & ~0xfff, code.address - (code.offset & 0xfff)
            self.labels = self.symbols()

    def symbols(self):
        """Of the clang and gcc used here nm reads every machine's table."""
        out = run("nm", self.path, text=True).stdout
        even = ~1 if "arm-linux" in self.command else ~0  # T32 functions are odd
        return {name: int(a, 16) & even for a, name in re.findall(r"^([0-9a-f]+) . (\w+)$", out, re.M)}

    def where(self, label):
        return self.labels[label] - self.vaddr + BASE

    def recording(self, name, stacks, kind="branches"):
        lines = [f"event cycles {kind}", "comm 64 prog", f"map 64 {BASE:x} 10000 {self.offset:x} {self.path}"]
        for i, stack in enumerate(stacks):
            lines.append(f"sample 0 64 {self.where('the_end'):x} {1000 + i:x} 1 branches " + " ".join(f"{a:x} {b:x} 2" for a, b in stack))
        p = run(sample_make, input=("\n".join(lines) + "\n").encode())
        path = os.path.join(top, name)
        with open(path, "wb") as f:
            f.write(p.stdout)
        return path

    def bolt(self, recording):
        p = run(clew, "export", "--to", "bolt", "--json", "-i", recording, text=True)
        branches = {int(a, 16) for a in re.findall(r"^B ([0-9a-f]+) ", p.stdout, re.M)}
        runs = {(int(a, 16), int(b, 16)) for a, b in re.findall(r"^[Ff] ([0-9a-f]+) ([0-9a-f]+) ", p.stdout, re.M)}
        return branches, runs, json.loads(p.stderr.strip().split("\n")[0]) if p.returncode == 0 else p.stderr


def each_address(name, lines, *command, head=""):
    p = Program(name, lines, *command, head=head)
    if not p.ok:
        skip(name, f"{command[0]} cannot build it")
        return
    start, end = p.where("_start"), p.where("the_end")
    stacks = [[(a, start)] for a in range(start, end)]
    branches, _, s = p.bolt(p.recording(name + ".data", stacks))
    want = {p.labels[label] for label in p.branches}
    check(branches == want, f"{name}: of {end - start} addresses the {len(want)} branches are counted",
          [sorted(map(hex, branches - want)), sorted(map(hex, want - branches)), s])
    check(isinstance(s, dict) and s["not_branches"] == end - start - len(want), f"{name}: and the others reported", s)
    text = run(clew, "inject", "--format=bolt", "-i", name + ".data", text=True)
    check(f"{end - start - len(want)} of {end - start} branches were dropped: the code has no branch" in text.stderr, f"{name}: clew inject says so", text.stderr)

    # perf's rows are of all entries: `report -b` has them, too, and says how many are no branches.
    out = run(clew, "report", "-b", "-s", "symbol_from", "--json", "-i", name + ".data", text=True)
    events = json.loads(out.stdout)["tables"][0]["events"] if out.returncode == 0 else [{}]
    check(events[0].get("not_branches") == end - start - len(want) and events[0]["samples"] == end - start, f"{name}: report -b counts them", events or out.stderr)
    check(f"{end - start - len(want)} of {end - start} branches are none: the code has no branch" in out.stderr, f"{name}: and says so", out.stderr)


# Prefixes that may be omitted, and branches in the middle of other instructions: e8 in an immediate, jmp in a displacement.
X86 = ["nop", "mov $0x12345678, %eax", "*jmp 1f", "mov $0xe9e8ebeb, %ecx", "1: add $0x70, %al", "*jne 1b", "*notrack jmp *%rax", "*bnd ret", "*rep ret",
       "lea 0x74eb74eb(%rax), %rdx", "*call *8(%rax)", "*call 1b", "*.byte 0x2e; je 1b", "*jmp *0x7475(%rip)", "movabs $0xc3c3c3c3c3c3c3c3, %rbx", "*loop 1b", "*jrcxz 1b",
       "test %eax, %eax", "*.byte 0x0f, 0x8f, 0xeb, 0xfe, 0x00, 0x00", "xor %eax, %eax", "*ret", "int3", "ud2", "*jmp 1b", "nopw 0x74(%rax,%rax,1)", "*ret"]
each_address("x86-64", ["nop"] * 3 + X86, "gcc")
each_address("x86-64, a function far from its beginning", ["nop"] * 2 + ["mov $0x12345678, %eax"] * 120 + X86, "gcc",
             head=".type _start, @function\n.size _start, the_end - _start")
each_address("i386", ["nop"] * 3 + ["mov $0xe8e8e9, %eax", "*jmp 1f", "1: inc %eax", "*jne 1b", "*call 1b", "add $0xebeb, %ecx", "*ret"], "gcc", "-m32")
A64 = ["nop", "*b 1f", "add x0, x0, #1", "1: cmp x0, #4", "*b.ne 1b", "*cbz x1, 1b", "*tbnz x2, #3, 1b", "*bl 1b", "*br x3", "*blr x4", "svc #0", "isb", "wfi", "*ret", "*retaa",
       "ldr x0, [x1]", "*braaz x5", ".word 0", "*b 1b"]
each_address("A64", A64, "aarch64-linux-gnu-gcc", "-march=armv8.3-a")
ARM = ("clang-19", "-target", "arm-linux-gnueabihf", "-fuse-ld=lld", "-march=armv7-a")
A32 = ["nop", "*b 1f", "add sp, sp, #8", "1: cmp r0, #4", "*bne 1b", "*bl 1b", "*bx lr", "*blx r3", "mov r1, #0xd000", "*pop {r4, pc}", "*ldr pc, [r1]", "push {r4, lr}", "add r0, r0, #1",
       "*mov pc, lr"]
each_address("A32", A32, *ARM, head=".arm")
T32 = ["nop", "*b 1f", "movw r0, #0xd0d0", "1: cmp r0, #4", "*bne 1b", "*bne.w 1b", "*bl 1b", "*bx lr", "*blx r3", "*cbz r0, 2f", "push {r4, lr}", "*2: pop {r4, pc}",
       "add.w r0, r0, #1", "*b.w 1b", "*tbb [pc, r0]", "*ldr.w pc, [r1]"]
each_address("T32", T32, *ARM, head=".thumb\n.syntax unified\n.thumb_func")


# --- runs ---

p = Program("runs", ["nop", "nop", "*ret", "nop", "*jne 1f", "nop", "1: nop", "*call 2f", "nop", "2: nop", "*jmp *%rax", "nop", "*jmp 3f", "3: nop", "syscall", "nop", "*ret"], "gcc")
if not p.ok:
    skip_all("gcc cannot build a program")
names = {p.labels[f"at{i:03}"]: i for i in range(17)}


def runs_of(pairs, kind="branches"):
    """Runs from the first to the second instruction, each the middle of a stack. @return those that were counted."""
    at = [p.where(f"at{i:03}") for i in range(17)]
    _, runs, s = p.bolt(p.recording("runs.data", [[(at[b], at[0]), (at[2], at[a])] for a, b in pairs], kind))
    return {(names[a], names[b]) for a, b in runs}, s


ALL = [(0, 2), (0, 4), (3, 4), (3, 7), (3, 10), (5, 7), (8, 10), (8, 12), (8, 16), (11, 12), (11, 16), (13, 16), (12, 16)]
# 12 is a jump to the next instruction: never recorded by some, and straight in any case.
STRAIGHT = {(0, 2), (3, 4), (3, 7), (5, 7), (8, 10), (11, 12), (11, 16), (13, 16), (12, 16)}
got, s = runs_of(ALL)
check(got == STRAIGHT, "runs end at a branch that is always taken: what is beyond did not run", [got ^ STRAIGHT, s])
check(s["bad_ranges"] == len(ALL) - len(STRAIGHT), "and are reported", s)
for name, kind in (("any_call", 1 | 1 << 4), ("cond", 1 | 1 << 10), ("ind_call", 1 | 1 << 6), ("any_ret", 1 | 1 << 5), ("ind_jmp", 1 | 1 << 12), ("call", 1 | 1 << 13), ("stack", 1 | 1 << 11)):
    got, s = runs_of(ALL, f"branches={kind:x}")
    check(not got and s["filtered_stacks"] == len(ALL), f"-j {name}: branches alone", [got, s])
    for to in ("autofdo", "llvm-profgen"):
        out = run(clew, "export", "--to", to, "-i", "runs.data", text=True)
        check(out.stdout.split("\n")[0] == "0" and f"(-j {name})" in out.stderr, f"-j {name}: {to} has no ranges, and a note why", [out.stdout, out.stderr])
    out = run(clew, "annotate", "--stdio", "-i", "runs.data", text=True)
    check("executed, taken, not taken" not in out.stdout and f"(-j {name})" in out.stderr, f"-j {name}: annotate knows only what was taken", [out.stdout[:400], out.stderr])
shutil.rmtree(top, ignore_errors=True)
done()
