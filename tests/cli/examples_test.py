#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: examples_test.py BUILD CLEW SAMPLE_MAKE DATA: the programs of docs/examples, built against what `meson install` puts into a
folder, shared and static, and run on recordings and a snapshot made here; on DATA, ../shared/data, beside the command. TAP.
Run from the top folder."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all

from branch_lib import Files, Program

BUILD, CLEW, MAKE, DATA = (str(Path(p).resolve()) for p in sys.argv[1:5])
EXAMPLES = sorted(Path("docs/examples").glob("*.c"))
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# A64: add; b +8; nop; ret. Trace: async, trace info, trace on, address 0x10000 at EL1, E E, address 0x20000, E
CODE = struct.pack("<4I", 0x91000400, 0x14000002, 0xd503201f, 0xd65f03c0)
TRACE = bytes(11) + b"\x80\x01\x01\x00\x04\x82\x00\x00\x01\x00\x31\xf7\xf7\x9a\x00\x00\x02\x00\xf7"


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, **more)


def snapshot(top):
    top.mkdir()
    (top / "snapshot.ini").write_text("[snapshot]\nversion=1.0\n[device_list]\na=cpu.ini\nb=etm.ini\n[trace]\nmetadata=trace.ini\n")
    (top / "cpu.ini").write_text("[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=code.bin\naddress=0x10000\n")
    (top / "etm.ini").write_text("[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=1\nTRCTRACEIDR=0x10\n"
                                 "TRCIDR0=0x28000ea1\nTRCIDR2=0x488\n")
    (top / "trace.ini").write_text("[trace_buffers]\nbuffers=x\n[x]\nfile=t.bin\nformat=source_data\n[source_buffers]\nETM_0=x\n"
                                   "[core_trace_sources]\ncpu_0=ETM_0\n")
    (top / "code.bin").write_bytes(CODE)
    (top / "t.bin").write_bytes(TRACE)
    return top


class Installed:
    """What is installed, and the examples built with it."""

    def __init__(self, top):
        self.top = top
        run("meson", "install", "-C", BUILD, "--no-rebuild", env={**os.environ, "DESTDIR": str(top / "dest")})
        pc = next((top / "dest").rglob("clew.pc"))
        self.lib = pc.parent.parent
        self.env = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(top / "dest"), "PKG_CONFIG_PATH": str(pc.parent)}

    def flags(self, *options):
        return run("pkg-config", *options, "clew", env=self.env).stdout.split()

    def build(self):
        private = [f for f in self.flags("--static", "--libs-only-l") if f != "-lclew"]
        for c in EXAMPLES:
            shared = run("cc", *FLAGS, "-o", self.top / c.stem, c, *self.flags("--cflags", "--libs"))
            static = run("cc", *FLAGS, "-o", self.top / (c.stem + "-static"), c, *self.flags("--cflags"), self.lib / "libclew.a", "-pthread", *private)
            check(not shared.returncode and not static.returncode, f"{c.name} builds, shared and static", shared.stderr + static.stderr)
        check(run(CLEW, "--version").stdout.split()[1] == self.flags("--modversion")[0], "the version is the command's")

    def out(self, name, *args):
        """The output, which is that of both programs."""
        env = {**os.environ, "LD_LIBRARY_PATH": str(self.lib)}
        shared, static = (run(self.top / (name + kind), *args, env=env) for kind in ("", "-static"))
        if shared.stdout != static.stdout or shared.returncode != static.returncode:
            return f"shared and static differ: {shared} {static}"
        return shared.stdout + shared.stderr


def counts(output):
    """{words after the numbers: the numbers}"""
    return {" ".join(line.split()[n:]): [int(w) for w in line.split()[:n]]
            for line in output.splitlines() for n in [len(re.match(r"[\d ]*", line).group().split())]}


def test_made(i, top):
    f = Files(str(top), Program(str(top)), MAKE)
    got = counts(i.out("functions", f.file))
    check(got == {"twin prog": [6], "second prog": [4], "first prog": [1]}, "functions: samples by function", got)
    got = counts(i.out("edges", f.file))
    check(got.get("main -> first") == [6, 6] and got.get("first -> twin") == [6, 0] and got.get("twin -> first") == [6, 0]
          and got.get("main -> second") == [3, 0], "edges: branches between functions", got)
    check(sum(n for n, _ in got.values()) == 28, "edges: as many branches as clew report has", got)
    got = i.out("outcome", f.file)
    check(all(x in got for x in ("event cycles, ", "thread 100/100 prog: 11 samples", f"binary {f.prog.path}", "samples 11, lost records 0,")),
          "outcome: events, threads, binaries, counts", got)
    data = Path(f.file).read_bytes()
    (top / "text").write_text("no recording")
    check(i.out("functions", top / "text").startswith(f"{top}/text: "), "a failure names the file", i.out("functions", top / "text"))
    check(i.out("outcome", top / "none") == f"{top}/none: open: No such file or directory\n", "and says why", i.out("outcome", top / "none"))
    (top / "pipe").write_bytes(Path(f.pipe).read_bytes()[:-20])
    check("the file was cut at byte" in i.out("outcome", top / "pipe"), "outcome: a file that was cut", i.out("outcome", top / "pipe"))
    check(len(data) > 0 and i.out("ranges", f.file).startswith(f"{f.file}: "), "ranges: a recording without trace", i.out("ranges", f.file))


def test_ranges(i, top):
    got = i.out("ranges", snapshot(top / "snapshot"))
    check(got == "ETM_0 0x10000-0x10008 2 -\nETM_0 0x1000c-0x10010 1 -\n", "ranges: of a snapshot", got)
    got = i.out("units", top / "snapshot")
    check(got == "ETM_0: 3 instructions, 2 branches taken, 0 gaps\n", "units: counts of a snapshot", got)
    juno = Path(DATA, "coresight/juno_r1_1")
    found = sorted(p.parent for p in juno.rglob("snapshot.ini"))
    if not found:
        skip("ranges: as clew trace --ranges", f"{juno} is not here")
        skip("units: as many instructions as ranges has", f"{juno} is not here")
        return
    want = [line.split()[1:3] for line in run(CLEW, "trace", "-i", found[0], "--ranges", "--events=none").stdout.splitlines()]
    lines = [line.split() for line in i.out("ranges", found[0]).splitlines()]
    got = [line[1].replace("0x", "").split("-") for line in lines]
    check(want and sorted(got) == sorted(want), "ranges: as clew trace --ranges", f"{len(got)} {len(want)}")
    got = sum(int(n) for n in re.findall(r": (\d+) instructions", i.out("units", found[0])))
    want = sum(int(line[2]) for line in lines)
    check(got == want, "units: as many instructions as ranges has", f"{got} {want}")


def by_function(report):
    """{function: instructions} of `clew report --json`, or of the lines of ranges."""
    counts_of = {}
    for name, nr in report:
        counts_of[name] = counts_of.get(name, 0) + nr
    return counts_of


def test_functions_of_ranges(i):
    """Functions that end inside a range: each instruction is counted in its own."""
    truth = Path(DATA, "intel-pt-truth")
    for name in ("plain", "forms", "kernel"):
        path = truth / name / "perf.data"
        if not path.exists():
            skip(f"ranges: functions of {name}", f"{path} is not here")
            continue
        lines = [line.rsplit(" ", 3) for line in i.out("ranges", path, truth / "symfs").splitlines()]
        got = by_function((line[3], int(line[2])) for line in lines)
        table = json.loads(run(CLEW, "report", "-i", path, "--symfs", truth / "symfs", "--itrace=i1i", "--json", "-s", "sym", "--no-children").stdout)
        rows = (row for t in table["tables"] for row in t["rows"])
        want = by_function((r["sym"] if not r["sym"].startswith("0x") else "-", r["values"][0]["samples"]) for r in rows)
        check(want and got == want, f"ranges: instructions by function, {name}, as clew report counts them",
              sorted((set(got.items()) ^ set(want.items())))[:6])


def test_words():
    """The header lists every word that the library hands out."""
    header = Path("include/clew/session.h").read_text(encoding="utf-8")
    words = set()
    for path, start, end in (("src/stitch/stitch_name.c", "stitch_reason_name", "return"), ("src/unwind/unw_rule.c", "stop_names", "};")):
        text = Path(path).read_text(encoding="utf-8").split(start, 1)[1]
        words |= set(re.findall(r'"([a-z-]+)"', text.split(end, 1)[0]))
    missing = [w for w in words if f'"{w}"' not in header and w not in ("", "none", "unknown")]
    check(len(words) > 25 and not missing, "session.h has each word for why a stack is missing or ends", missing)


def test_recording(i):
    path = Path(DATA, "perfdata/sleep.data")
    if not path.exists():
        skip("functions and outcome agree on a recording", f"{path} is not here")
        return
    samples = int(re.search(r"^samples (\d+)", i.out("outcome", path), re.M).group(1))
    total = sum(n for (n,) in counts(i.out("functions", path)).values())
    check(samples == total > 0, "functions and outcome agree on a recording", f"{samples} {total}")


def main():
    if run("cc", "--version").returncode or run("pkg-config", "--version").returncode:
        skip_all("no cc or pkg-config")
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        i = Installed(top)
        i.build()
        test_made(i, top)
        test_ranges(i, top)
        test_functions_of_ranges(i)
        test_words()
        test_recording(i)
    done()


main()
