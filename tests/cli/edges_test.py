#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Call chains against the machine code: where a direct call stands before a return address, it leads to the function of the
frame before. Of code that unwind information does not cover: assembly without a frame, an interpreter, a Go program.

usage: edges_test.py CLEW   (through record_lib.py)"""
import bisect
import collections
import os
import platform
import re
import shutil
import struct
import subprocess
import sys

from record_lib import needs_perf_events
from stack_lib import LIVE, StackTap, is_settled, may_use_bpf, samples, user_part


class Program:
    """An x86-64 ELF file: its code by file offset, its functions by symbol."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            self.bytes = f.read()
        self.segments = [p for p in self.table(32, 54, "<IIQQQQQQ") if p[0] == 1 and p[1] & 1]
        sections = self.table(40, 58, "<IIQQQQIIQQ")
        functions = set()
        for s in sections:
            if s[1] in (2, 11):  # a stripped library has the second alone
                functions |= self.functions_of(s, sections[s[6]])
        self.functions = sorted(functions)
        self.jumps = {}

    def table(self, at, size_at, form):
        start, = struct.unpack_from("<Q", self.bytes, at)
        size, nr = struct.unpack_from("<HH", self.bytes, size_at)
        return [struct.unpack_from(form, self.bytes, start + i * size) for i in range(nr)]

    def functions_of(self, symbols, strings):
        found = set()
        for at in range(symbols[4], symbols[4] + symbols[5], 24):
            name, info, _, _, value, size = struct.unpack_from("<IBBHQQ", self.bytes, at)
            if info & 15 == 2 and size and self.offset(value) is not None:
                start = strings[4] + name
                found.add((self.offset(value), size, self.bytes[start:self.bytes.index(b"\0", start)].decode()))
        return found

    def offset(self, address):
        for _, _, offset, vaddr, _, size, _, _ in self.segments:
            if vaddr <= address < vaddr + size:
                return address - vaddr + offset
        return None

    def function(self, offset):
        i = bisect.bisect_right(self.functions, (offset, 1 << 62, "")) - 1
        if i < 0 or offset >= self.functions[i][0] + self.functions[i][1]:
            return None
        return self.functions[i]

    def may_jump_out(self, f):
        """May the function leave by a jump: a tail call?"""
        if f not in self.jumps:
            self.jumps[f] = self.looks_for_jumps(f)
        return self.jumps[f]

    def looks_for_jumps(self, f):
        bias = self.segments[0][3] - self.segments[0][2]
        start = f[0] + bias
        p = subprocess.run(["objdump", "-d", f"--start-address={start}", f"--stop-address={start + f[1]}", self.path],
                           capture_output=True, text=True, check=False)
        if p.returncode:
            return True
        targets = re.findall(r"\sj[a-z]+\s+(\*|0x[0-9a-f]+|[0-9a-f]+)", p.stdout)
        return any(x == "*" or not start <= int(x, 16) < start + f[1] for x in targets)

    def is_indirect_call(self, end):
        for n in range(2, 8):
            if self.bytes[end - n] == 0xff and self.bytes[end - n + 1] >> 3 & 7 == 2:
                return True
        return False

    def edge(self, callee, caller, is_first):
        """What is wrong with this edge, by file offsets; None: nothing."""
        if self.bytes[caller - 5] != 0xe8:
            return None if self.is_indirect_call(caller) else "no call before the return address"
        target = caller + struct.unpack_from("<i", self.bytes, caller - 4)[0]
        led_to, was_in = self.function(target), self.function(callee if is_first else callee - 1)
        if led_to is None or led_to == was_in or self.may_jump_out(led_to):
            return None
        return f"a call of {led_to[2]}"


def led_to(program, pc, caller):
    """Does the direct call in front of @p caller lead to the function that holds the sampled @p pc? Or does it return there?"""
    if program.bytes[pc] == 0xc3 or program.bytes[pc:pc + 2] == b"\xf3\xc3":
        return True  # what lies on top of the stack is where it returns to
    if program.bytes[caller - 5] != 0xe8:
        return False
    target = caller + struct.unpack_from("<i", program.bytes, caller - 4)[0]
    return target <= pc and not any(target < f[0] <= pc for f in program.functions)


def is_started(callee, caller):
    """Entered without a call: a goroutine's first function, what a signal or the runtime's preemption interrupted."""
    words = callee.get("sym", "") + " " + caller.get("sym", "")
    return (any(x in words for x in ("runtime.goexit", "sigreturn", "sigtramp", "asyncPreempt", "sigpanic"))
            or "signal" in (callee.get("how"), caller.get("how")))


def bad_edges(program, recorded):
    bad, nr = collections.Counter(), 0
    for s in recorded:
        user = user_part(s)
        for i in range(1, len(user)):
            callee, caller = user[i - 1], user[i]
            if not all(f.get("dso") == program.path and "dsoff" in f for f in (callee, caller)) or is_started(callee, caller):
                continue
            nr += 1
            what = program.edge(int(callee["dsoff"], 16), int(caller["dsoff"], 16), i == 1)
            if what:
                bad[f"{callee.get('sym')} <- {caller.get('sym')} +{caller.get('symoff')}: {what}"] += 1
    return bad, nr


def names(s):
    return [f.get("sym", "?") for f in user_part(s)]


def check_leaf(t, backend, recorded):
    """The functions without a frame, and those with a frame pointer: who called them, and how that was found."""
    callers = collections.Counter()
    for s in recorded:
        user = user_part(s)
        for i, f in enumerate(user[:-1]):
            if f.get("sym") in ("bare_leaf", "framed"):
                callers[f["sym"], user[i + 1].get("sym"), user[i + 1].get("how")] += 1
    t.note(f"{backend}: {dict(callers)}")
    want = {("bare_leaf", "call_leaf", "derived"), ("bare_leaf", "framed", "derived"), ("framed", "call_framed", "fp-prologue")}
    t.check(set(callers) <= want, f"{backend}: functions without unwind information: the caller, and how it was found", callers)
    t.check(all(names(s)[-1] == "_start" for s in recorded if is_settled(s) and names(s)[:1] in (["bare_leaf"], ["framed"])),
            f"{backend}: and on to the outermost frame")


def check_interpreter(t, backend, recorded, loop):
    seen, wrong = 0, collections.Counter()
    for s in recorded:
        user = user_part(s)
        if not user or not is_settled(s) or not loop[0] <= int(user[0]["ip"], 16) < loop[1]:
            continue
        seen += 1
        hows = [f.get("how") for f in user[1:3]]
        if names(s)[2:4] != ["interpret", "main"] or hows != ["fp-convention"] * 2 or s["user_stack"].get("stop") != "outermost":
            wrong[str(list(zip(names(s), [None] + hows)))] += 1
    t.note(f"{backend}: {seen} samples in the interpreter's loop")
    t.check(not wrong, f"{backend}: an interpreter's frames, with return addresses that follow no call", wrong)


def assembly(t):
    path = t.compile("edge_calls", [os.path.join(LIVE, "edge_calls.c")], ["-O1", "-fno-omit-frame-pointer", "-fcf-protection=none"])
    if not path:
        t.skip("assembly", "no compiler")
        return
    program = Program(path)
    for backend in ["auto", "dwarf"] if may_use_bpf() else ["dwarf"]:
        r = t.record_stacks("asm-" + backend, backend, [path, "1500"])
        if not t.check(r.status == 0, f"{backend}: recorded", r.err):
            continue
        with open(t.path("asm-" + backend + ".out"), encoding="ascii") as f:
            loop = [int(x) for x in f.read().split()]
        recorded = list(samples(r.path))
        bad, nr = bad_edges(program, recorded)
        t.note(f"{backend}: {len(recorded)} samples, {nr} edges in the program")
        t.check(not bad, f"{backend}: each direct call leads to the function of the frame before", bad)
        check_leaf(t, backend, recorded)
        check_interpreter(t, backend, recorded, loop)


# Real assembly by hand. As archives their calls are direct; of shared libraries they go through the PLT, which proves nothing.
LIBRARIES = (("nettle", "-DNETTLE"), ("gmp", "-DGMP"), ("crypto", "-DCRYPTO"))
FFMPEG = ["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=640x480:duration=4", "-c:v", "mpeg4", "-f", "null", "-"]
OUTERMOST = "_start", "_dl_start_user", "_dl_start", "clone", "__clone3", "clone3", "__clone"


def check_library(t, what, path, recorded, min_derived):
    program = Program(path)
    bad, nr = bad_edges(program, recorded)
    t.check(not bad, f"{what}: each direct call leads to the function of the frame before", bad)
    derived, untrue, incomplete = collections.Counter(), collections.Counter(), collections.Counter()
    for s in recorded:
        user = user_part(s)
        if len(user) > 1 and user[1].get("how") == "derived" and all(f.get("dso") == path and "dsoff" in f for f in user[:2]):
            edge = f"{user[0].get('sym')} <- {user[1].get('sym')}"
            derived[edge] += 1
            if not led_to(program, int(user[0]["dsoff"], 16), int(user[1]["dsoff"], 16)):
                untrue[edge] += 1
        if s.get("user_stack", {}).get("state") == "complete" and names(s)[-1] not in OUTERMOST:
            incomplete[str(names(s))] += 1
    t.note(f"{what}: {len(recorded)} samples, {nr} edges, derived: {dict(derived.most_common(8))}")
    t.check(not untrue, f"{what}: a caller by its return address called the very function that was sampled", untrue)
    t.check(sum(derived.values()) >= min_derived, f"{what}: functions without a frame have their caller", derived)
    t.check(not incomplete, f"{what}: what is complete reaches the outermost function", incomplete)


def check_program(t, what, command, min_derived):
    for backend in ["auto", "dwarf"] if may_use_bpf() else ["dwarf"]:
        r = t.record_stacks("library", backend, command, ["-e", "cpu-clock:u"])
        if t.check(r.status == 0, f"{what}, {backend}: recorded", r.err):
            recorded = list(samples(r.path))
            files = collections.Counter(user_part(s)[0].get("dso") for s in recorded if user_part(s))
            check_library(t, f"{what}, {backend}", files.most_common(1)[0][0], recorded, min_derived)


def libraries(t):
    source = os.path.join(LIVE, "edge_asm.c")
    for name, define in LIBRARIES:
        archive = subprocess.run(["gcc", f"-print-file-name=lib{name}.a"], capture_output=True, text=True, check=False).stdout.strip()
        for form, word in (("archive", archive), ("shared", f"-l{name}")):
            what = f"lib{name}, {form}"
            if (form, name) == ("archive", "crypto"):
                continue  # its assembly has unwind information in either form
            path = t.compile(f"edge_{name}_{form}", [source, word], ["-O2", define]) if os.path.isabs(word) or form == "shared" else None
            if path:
                check_program(t, what, [path], 4 if form == "archive" else 0)
            else:
                t.skip(what, "not installed")
    if shutil.which("ffmpeg"):
        check_program(t, "libavcodec", FFMPEG, 0)
    else:
        t.skip("libavcodec", "ffmpeg is not installed")


UNTRUE = r"""
#include <signal.h>
#include <stdlib.h>
void untrue(void);
/* Its rule says that the return address is on top of the stack, where a 0 is. */
__asm__(".text\n.globl untrue\n.type untrue, @function\nuntrue:\n.cfi_startproc\n"
	"sub $72, %rsp\nmovq $0, (%rsp)\nmov $400000000, %ecx\n1: dec %ecx\njnz 1b\nadd $72, %rsp\nret\n"
	".cfi_endproc\n.size untrue, . - untrue\n");
static void handler(int sig) { for (volatile int i = 0; i < 100000000; i++) ; _Exit(sig != SIGSEGV); }
static void (*volatile null)(void);
int main(void) { untrue(); signal(SIGSEGV, handler); null(); return 1; }
"""


def zeros(t):
    """A return address of 0 is the deepest frame's mark only after a call."""
    with open(t.path("untrue.c"), "w", encoding="ascii") as f:
        f.write(UNTRUE)
    path = t.compile("untrue", [t.path("untrue.c")], ["-O1"])
    if not path:
        t.skip("return addresses of 0", "no compiler")
        return
    for backend in ["auto", "dwarf"] if may_use_bpf() else ["dwarf"]:
        r = t.record_stacks("untrue-" + backend, backend, [path], ["-e", "cpu-clock:u"])
        recorded = [s for s in samples(r.path) if is_settled(s)]
        for what, name in (("where the rule is wrong", "untrue"), ("where a signal interrupted a call through NULL", "handler")):
            stops = collections.Counter((s["user_stack"].get("stop"), s["user_stack"]["state"]) for s in recorded if names(s)[:1] == [name])
            t.check(set(stops) == {("bad-ra", "partial")}, f"{backend}: 0 {what}: not complete", f"{stops} {r.err[-300:]}")


def go(t):
    if not shutil.which("go"):
        t.skip("go", "no Go compiler")
        return
    path = t.path("edge_calls_go")
    env = {**os.environ, "HOME": t.dir, "GOCACHE": t.path("gocache"), "GO111MODULE": "off", "GOFLAGS": ""}
    p = subprocess.run(["go", "build", "-o", path, os.path.join(LIVE, "edge_calls.go")], env=env, cwd=t.dir, capture_output=True,
                       text=True, check=False)
    if p.returncode:
        t.skip("go", "it does not build: " + p.stderr[-200:])
        return
    r = t.record_stacks("go", "auto" if may_use_bpf() else "dwarf", [path])
    if not t.check(r.status == 0, "go: recorded", r.err):
        return
    recorded = list(samples(r.path))
    bad, nr = bad_edges(Program(path), recorded)
    t.note(f"go: {len(recorded)} samples, {nr} edges")
    t.check(not bad, "go: each direct call leads to the function of the frame before", bad)
    hows = collections.Counter(f.get("how") for s in recorded for f in user_part(s)[1:] if f.get("dso") == path)
    t.check(set(hows) <= {"table", "signal"}, "go: its own unwind information has all frames", hows)


def stripped_go(t):
    """Without symbols a Go program has no unwind information either: frame pointers are all there is."""
    paths = {}
    for name, flags in (("go_whole", []), ("go_stripped", ["-ldflags=-s -w"])):
        paths[name] = t.path(name)
        env = {**os.environ, "HOME": t.dir, "GOCACHE": t.path("gocache"), "GO111MODULE": "off", "GOFLAGS": ""}
        p = shutil.which("go") and subprocess.run(["go", "build", *flags, "-o", paths[name], os.path.join(LIVE, "edge_calls.go")], env=env, cwd=t.dir,
                                                  capture_output=True, text=True, check=False)
        if not p or p.returncode:
            t.skip("stripped Go", "no Go compiler" if not p else "it does not build: " + p.stderr[-200:])
            return
    program = Program(paths["go_stripped"])
    program.functions = Program(paths["go_whole"]).functions  # which are at the same places
    for backend in ["auto", "dwarf"] if may_use_bpf() else ["dwarf"]:
        r = t.record_stacks("stripped", backend, [paths["go_stripped"]])
        if not t.check(r.status == 0, f"stripped Go, {backend}: recorded", r.err):
            continue
        recorded = list(samples(r.path))
        states = collections.Counter(s.get("user_stack", {}).get("state") for s in recorded)
        pairs = [pair for s in recorded for pair in zip(user_part(s), user_part(s)[1:])]
        hows = collections.Counter(caller.get("how") for callee, caller in pairs if callee.get("dso") == caller.get("dso") == paths["go_stripped"])
        bad, nr = bad_edges(program, recorded)
        t.note(f"stripped Go, {backend}: {dict(states)}, {nr} edges, {dict(hows)}, bad: {dict(bad.most_common(4))}")
        t.check(set(hows) <= {"derived", "fp-prologue", "fp-convention", "signal"}, f"stripped Go, {backend}: each frame says what it rests on", hows)
        untrue, _ = bad_edges(program, [s for s in recorded if s.get("user_stack", {}).get("state") == "complete"])
        t.check(not untrue, f"stripped Go, {backend}: no impossible edge is in a complete stack", untrue)
        derived, _ = bad_edges(program, [s for s in recorded if not any(f.get("how") == "fp-convention" for f in user_part(s))])
        t.check(not derived, f"stripped Go, {backend}: nor where no frame pointer was believed by convention", derived)


def main():
    t = StackTap()
    if platform.machine() != "x86_64":
        t.skip_all("the programs are for x86-64")
    needs_perf_events(t)
    assembly(t)
    zeros(t)
    go(t)
    libraries(t)
    stripped_go(t)
    t.done()


if __name__ == "__main__":
    sys.exit(main())
