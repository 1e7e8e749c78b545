#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: callers_test.py CLEW: a return address belongs to the call before it, in every view. TAP.

Each caller's call is the last instruction of its function, or of what was inlined into it: the next function is wrong_NAME, in a file of its own, and
neither name may stand anywhere. Of x86-64 and of arm64 programs, as the kernel records chains by frame pointers."""
import base64
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm

clew = os.path.abspath(sys.argv[1])
folder = tempfile.TemporaryDirectory()
work = folder.name
ENV = dict(os.environ, PAGER="cat", LC_ALL="C.UTF-8", HOME=work, XDG_CACHE_HOME=work)
BASE, KERNEL, K = 0x400000, 0xFFFFFFFF81000000, 2**64 - 128
TYPE = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CALLCHAIN
U = pm.CONTEXT_USER

SOURCE = """
#ifdef __cplusplus
extern "C" {
#endif
volatile int sink;
#line 1 "right_leaf.c"
__attribute__((noinline)) void right_leaf(int n) { sink = n; sink = n + 1; }
__attribute__((noinline, noreturn)) void right_spin(int n) { for (;;) sink = n; }
#line 1 "right_fatal.c"
__attribute__((noinline, noreturn)) void right_fatal(int n) { right_spin(n); }
#line 1 "wrong_after_fatal.c"
__attribute__((noinline)) int wrong_after_fatal(int n) { sink = n; return n; }
#line 1 "right_entry.c"
__attribute__((noinline, noreturn)) void right_entry(int n) { right_fatal(n); }
#line 1 "wrong_after_entry.c"
__attribute__((noinline)) int wrong_after_entry(int n) { sink = n; return n; }
#line 1 "right_first.h"
static inline __attribute__((always_inline)) void right_first(int n) { right_leaf(n); }
#line 1 "wrong_second.h"
static inline __attribute__((always_inline)) void wrong_second(int n) { sink = n; }
#line 1 "right_both.c"
__attribute__((noinline)) void right_both(int n) { right_first(n); wrong_second(n); sink = n; }
#line 1 "right_start.c"
void _start(void) { right_both(1); right_entry(2); wrong_after_fatal(3); wrong_after_entry(4); }
#ifdef __cplusplus
}
#endif
"""
OPTIONS = ["-O1", "-g", "-nostdlib", "-static", "-fno-omit-frame-pointer", "-fno-toplevel-reorder", "-falign-functions=1", "-fno-exceptions",
           "-fno-asynchronous-unwind-tables", "-fno-stack-protector", "-Wl,--build-id=sha1", "-no-pie"]
MACHINES = {"x86_64": ("g++", "-xc++", "-fcf-protection=none"), "aarch64": ("aarch64-linux-gnu-gcc", "-xc")}

ELF_OF = {"x86_64": 62, "aarch64": 183}


def run(*args, **more):
    more = more if "input" in more else {"stdin": subprocess.DEVNULL, **more}
    return subprocess.run(args, capture_output=True, check=False, env=ENV, cwd=work, **more)


def compiled(machine):
    path = os.path.join(work, "app-" + machine)
    try:
        p = run(*MACHINES[machine], *OPTIONS, "-o", path, "-", input=SOURCE.encode())
    except FileNotFoundError:
        return None
    if p.returncode:
        return None
    with open(path, "rb") as f:
        return path if struct.unpack_from("<H", f.read(20), 18)[0] == ELF_OF[machine] else None


class Program:
    """Where its functions are, by offset in the file, and where calls return to."""

    def __init__(self, machine, path):
        self.machine, self.path = machine, path
        with open(path, "rb") as f:
            self.bytes = f.read()
        out = run("readelf", "-W", "-l", "-s", path).stdout.decode()
        offset, address = next((int(a, 16), int(b, 16)) for a, b in re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .*R E ", out))
        rows = re.findall(r": ([0-9a-f]{16}) +(\d+) FUNC .* (\S+)\n", out)
        self.linked = address - offset
        self.at = {name: (int(at, 16) - address + offset, int(size)) for at, size, name in rows}

    def target(self, at):
        """Of a direct call that ends before @at."""
        if self.machine == "aarch64":
            word, = struct.unpack_from("<I", self.bytes, at - 4)
            return at - 4 + 4 * ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000) if word >> 26 == 0x25 else None
        return at + struct.unpack_from("<i", self.bytes, at - 4)[0] if self.bytes[at - 5] == 0xE8 else None

    def returns_to(self, caller, callee):
        start, size = self.at[caller]
        return next(BASE + at for at in range(start + 5 if self.machine == "x86_64" else start + 4, start + size + 1)
                    if self.target(at) == self.at[callee][0])

    def place(self, function, more=0):
        return BASE + self.at[function][0] + more


def recording(p, name, samples):
    e = pm.Event(TYPE, ident=1)
    records = [pm.comm(e, 7, b"app"), pm.mmap2(e, 7, BASE, 0x100000, p.path.encode()),
               pm.ksymbol(e, KERNEL, b"right_kleaf"), pm.ksymbol(e, KERNEL + 64, b"right_kcaller"), pm.ksymbol(e, KERNEL + 128, b"wrong_after_kcaller"),
               pm.ksymbol(e, KERNEL + 192, b"asm_exc_page_fault"), pm.ksymbol(e, KERNEL + 256, b"wrong_before_interrupted"),
               pm.ksymbol(e, KERNEL + 320, b"right_interrupted")]
    for i, (chain, misc) in enumerate(samples):
        ip = next(w for w in chain if w < 2**64 - 4095)
        records.append(e.sample(ip, misc=misc, chain=chain, time=1000 + i))
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(pm.perf_data([e], b"".join(records), {6: pm.text(p.machine.encode()), 12: pm.event_desc([e], [b"cpu-clock"])}))
    return path


def samples_of(p):
    fatal = (p.returns_to("right_fatal", "right_spin"), p.returns_to("right_entry", "right_fatal"))
    both = (p.returns_to("right_both", "right_leaf"), p.returns_to("_start", "right_both"))
    return [
        ((U, p.place("right_spin", 4), *fatal), pm.USER),
        ((U, p.place("right_leaf", 4), *both), pm.USER),
        ((K, KERNEL + 8, KERNEL + 128, U, p.place("right_spin", 4), *fatal), pm.KERNEL),
        ((K, KERNEL + 8, KERNEL + 200, KERNEL + 320, KERNEL + 128, U, p.place("right_leaf", 4), *both), pm.KERNEL),
    ]


STACKS = {
    "app;right_entry;right_fatal;right_spin 1",
    "app;_start;right_both;right_first;right_leaf 1",
    "app;right_entry;right_fatal;right_spin;right_kcaller_[k];right_kleaf_[k] 1",
    "app;_start;right_both;right_first;right_leaf;right_kcaller_[k];right_interrupted_[k];asm_exc_page_fault_[k];right_kleaf_[k] 1",
}


def unpacked(out):
    """What a format packs."""
    if out[:2] == b"\x1f\x8b":
        return gzip.decompress(out)
    return out


def view(data, *args):
    return run(clew, *args, "-i", data)


def html(data, *args):
    path = os.path.join(work, "page.html")
    out = run(clew, *args, "--html", path, "-q")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    blocks = {}
    for kind, block in re.findall(r'id="(data|other)-\d+">([A-Za-z0-9+/=]*)</script>', text):
        blocks[kind] = blocks.get(kind, b"") + base64.b64decode(block)
    return out, b"".join(gzip.decompress(b) for b in blocks.values())


def check_out(what, p, out, wants, note=None):
    missing = [w for w in wants if w.encode() not in out]
    wrong = sorted(set(re.findall(rb"wrong\w*", out)))
    tap.check(p.returncode == 0 and not missing and not wrong, what, note or [f"status {p.returncode}", f"missing {missing}", f"wrong {wrong}", p.stderr.decode()[:500]])


FUNCTIONS = ("right_fatal", "right_entry", "right_both", "right_kcaller")
INLINED = (*FUNCTIONS, "right_first")
VIEWS = [
    (("report", "-q"), FUNCTIONS),
    (("report", "-q", "--children", "-g", "graph,0,caller"), FUNCTIONS),
    (("report", "-q", "--no-children", "-g", "graph,0,callee"), FUNCTIONS),
    (("report", "-q", "-g", "flat,0"), FUNCTIONS),
    (("report", "-q", "-g", "fractal,0"), FUNCTIONS),
    (("report", "-q", "-g", "folded,0"), FUNCTIONS),
    (("report", "-q", "-G"), FUNCTIONS),
    (("report", "-q", "-g", "graph,0,caller,function"), FUNCTIONS),
    (("report", "-q", "-g", "graph,0,caller,address"), FUNCTIONS),
    (("report", "-q", "-s", "sym,srcline", "-g", "graph,0,caller,address"), ("right_fatal.c:1", "right_first.h:1")),
    (("report", "-q", "--inline"), INLINED),
    (("report", "-q", "-s", "sym,srcline"), (*FUNCTIONS, "right_fatal.c:1", "right_first.h:1")),
    (("report", "-q", "--inline", "-s", "sym,srcline"), (*INLINED, "right_fatal.c:1", "right_first.h:1")),
    (("report", "-q", "-s", "srcfile"), ("right_fatal.c", "right_entry.c", "right_first.h")),
    (("report", "-q", "-s", "dso,sym", "--no-children"), ("right_spin",)),
    (("report", "-q", "-S", "right_fatal"), ("right_fatal",)),
    (("report", "-q", "--folded"), FUNCTIONS),
    (("report", "-q", "--folded", "--inline"), INLINED),
    (("report", "-q", "--json"), FUNCTIONS),
    (("report", "-q", "--json", "--inline"), INLINED),
    (("script", "--json"), FUNCTIONS),
    (("script", "--json", "--inline"), (*INLINED, "right_fatal.c", "right_first.h")),
    (("annotate", "-q", "--stdio-color=never"), ("right_spin",)),
]
EXPORTS = [(to, options) for to in ("pprof", "collapsed", "speedscope", "callgrind", "firefox", "chrome", "chrome-samples", "perfetto", "perfetto-v57")
           for options in ((), ("--no-inline",))]
EXPORTS.append(("callgrind", ("--instr",)))


def check_views(machine, data):
    for args, wants in VIEWS:
        p = view(data, *args)
        check_out(f"{machine}: {' '.join(args)}", p, p.stdout, wants)
    for to, options in EXPORTS:
        p = view(data, "export", "--to", to, *options)
        check_out(f"{machine}: export --to {to} {' '.join(options)}", p, unpacked(p.stdout), FUNCTIONS if options == ("--no-inline",) else INLINED)
    stacks = set(view(data, "export", "--to", "collapsed", "-q", "--weight=samples").stdout.decode().splitlines())
    tap.check(stacks == STACKS, machine + ": the stacks, frame by frame", sorted(stacks ^ STACKS))
    p, out = html(data, "report", "-i", data)
    check_out(machine + ": report --html", p, out, FUNCTIONS)
    p, out = html(data, "report", "--inline", "-i", data)
    check_out(machine + ": report --html --inline", p, out, INLINED)
    p = run(clew, "diff", "-q", "-s", "sym", data, data)
    check_out(machine + ": diff", p, p.stdout, ("right_spin",))
    p, out = html(data, "diff", data, data)
    check_out(machine + ": diff --html", p, out, ("right_fatal",))


def check_perf_data(machine, data):
    """The addresses are recorded ones; a reader of ours names them as in the recording."""
    path = os.path.join(work, "again.data")
    p = run(clew, "export", "--to", "perf.data", "-i", data, "-o", path, "-q")
    again = view(path, "export", "--to", "collapsed", "-q", "--weight=samples").stdout.decode().splitlines()
    tap.check(p.returncode == 0 and set(again) == STACKS, machine + ": export --to perf.data", p.stderr.decode() or again)


def check_parquet(machine, data):
    path = os.path.join(work, "x.parquet")
    p = run(clew, "export", "--to", "parquet", "-i", data, "-o", path, "-q")
    if p.returncode:
        tap.skip(machine + ": export --to parquet", p.stderr.decode().strip()[:100])
        return
    with open(path, "rb") as f:
        check_out(machine + ": export --to parquet", p, f.read(), ("right_fatal",))


def check_callgrind(p, data):
    """Costs of a call are at its instruction, as viewers of assembler text find it."""
    out = view(data, "export", "--to", "callgrind", "--instr", "-q").stdout.decode()
    at = {int(x, 16) for x in re.findall(r"^calls=.*\n(0x[0-9a-f]+) ", out, re.M)}
    calls = [("right_fatal", "right_spin"), ("right_entry", "right_fatal"), ("right_both", "right_leaf"), ("_start", "right_both")]
    want = {p.returns_to(*c) - BASE + p.linked - (4 if p.machine == "aarch64" else 5) for c in calls}
    tap.check(want <= at, p.machine + ": callgrind --instr: the calls", [sorted(map(hex, want)), sorted(map(hex, at))])


def frames(data):
    return [json.loads(line)["callchain"] for line in view(data, "script", "--json", "--inline").stdout.splitlines()]


def check_json(p, data):
    """What stands there of a frame: the address is that of the recording."""
    chains = frames(data)
    caller = chains[0][1]
    start, size = p.at["right_fatal"]
    want = {"sym": "right_fatal", "ip": hex(BASE + start + size), "symoff": size, "dsoff": hex(start + size), "line": 1}
    tap.check({k: caller[k] for k in want} == want and "exact" not in caller, p.machine + ": JSON: the address itself, the call's function", caller)
    exact = [[f.get("sym") for f in c if f.get("exact")] for c in chains]
    tap.check(exact == [[], [], ["right_spin"], ["right_interrupted", "right_leaf"]], p.machine + ": JSON: what is no caller", exact)


def check_one_address(p):
    """An address that is sampled, and where a call returns to; both in one recording, in either order."""
    at = p.returns_to("right_fatal", "right_spin")
    caller = ((U, p.place("right_spin", 4), at), pm.USER)
    sampled = ((U, at, p.returns_to("right_entry", "right_fatal")), pm.USER)
    for order in ((caller, sampled), (sampled, caller)):
        data = recording(p, "order.data", order)
        out = view(data, "export", "--to", "collapsed", "-q", "--weight=samples").stdout.decode().split("\n")
        want = ["", "app;right_entry;wrong_after_fatal 1", "app;right_fatal;right_spin 1"]
        tap.check(sorted(out) == want, p.machine + ": one address, sampled and returned to", out)
        out = view(data, "report", "-q", "-s", "sym,srcline", "--children", "-g", "none").stdout.decode()
        tap.check(re.search(r"right_fatal +right_fatal.c:1\b", out) and re.search(r"wrong_after_fatal +wrong_after_fatal.c:1\b", out),
                  p.machine + ": and their lines", out)
    both = p.returns_to("right_both", "right_leaf")
    data = recording(p, "lines.data", [((U, p.place("right_leaf", 4), both), pm.USER), ((U, both), pm.USER)])
    for options in ((), ("--inline",)):
        out = view(data, "report", "-q", "-s", "srcline", "--children", "-g", "none", *options).stdout.decode()
        tap.check("right_first.h:1" in out and "wrong_second.h:1" in out, f"{p.machine}: two lines of one function at one address {options}", out)


def check_as_perf(p, data):
    """The text of clew script is perf's: symbols at the addresses themselves (docs/decisions/callers.md)."""
    out = view(data, "script", "-F", "ip,sym").stdout.decode()
    tap.check("wrong_after_fatal" in out and "wrong_after_kcaller" in out and "right_fatal" not in out, p.machine + ": script prints what perf prints", out)


TRACED = """
#include <unistd.h>
static volatile int sink;
__attribute__((noinline)) void right_leaf(int n) { sink = n; }
__attribute__((noinline, noreturn)) void right_exit(int n) { right_leaf(n); for (;;) _exit(0); }
__attribute__((noinline, noreturn)) void right_fatal(int n) { right_exit(n); }
__attribute__((noinline)) int wrong_after_fatal(int n) { sink = n; return n; }
int main(int argc, char **argv) { if (argc > 5) return wrong_after_fatal(argc); (void)argv; right_fatal(1); }
__attribute__((noinline)) int wrong_after_main(int n) { sink = n; return n; }
"""


def check_trace():
    """Call chains made of trace: of a program that is stepped, as Intel PT."""
    path, data = os.path.join(work, "traced"), os.path.join(work, "traced.data")
    if not shutil.which("gcc"):
        tap.skip("call chains made of trace", "no gcc")
        return
    p = run("gcc", "-O1", "-g", "-falign-functions=1", "-fno-toplevel-reorder", "-xc", "-o", path, "-", input=TRACED.encode())
    if p.returncode == 0:
        p = run(clew, "record", "-q", "-e", "soft_pt//u", "--per-thread", "-o", data, path)
    if p.returncode:
        tap.skip("call chains made of trace", p.stderr.decode().strip()[:100])
        return
    out = view(data, "export", "--to", "collapsed", "--itrace=i1ig", "-q").stdout.decode()
    tap.check("main;right_fatal;right_exit;right_leaf " in out and "wrong" not in out, "call chains made of trace", re.findall(".*right_leaf.*|.*wrong.*", out))
    out = view(data, "script", "--itrace=i1ig", "-F", "ip,sym").stdout.decode()
    tap.check("wrong_after_fatal" in out, "and as perf prints them", out[-500:])


for machine in MACHINES:
    path = compiled(machine)
    if not path:
        tap.skip(machine, f"{MACHINES[machine][0]} is missing, or cannot compile")
        continue
    program = Program(machine, path)
    if sum(program.at["right_fatal"]) != program.at["wrong_after_fatal"][0]:
        tap.skip(machine, "this compiler leaves room between functions")
        continue
    recorded = recording(program, machine + ".data", samples_of(program))
    check_views(machine, recorded)
    check_perf_data(machine, recorded)
    check_parquet(machine, recorded)
    check_callgrind(program, recorded)
    check_json(program, recorded)
    check_one_address(program)
    check_as_perf(program, recorded)
check_trace()
folder.cleanup()
tap.done()
