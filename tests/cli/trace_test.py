#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: trace_test.py CLEW: `clew trace` of a snapshot made here: every output, every choice, every refusal. TAP."""
import hashlib
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done

CLEW = str(Path(sys.argv[1]).resolve())



def clew(*args, cwd=None):
    return subprocess.run([CLEW, "trace", *map(str, args)], capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL)


def check_out(args, want, name):
    run = clew(*args)
    check(run.returncode == 0 and run.stdout == want, name, f"exit {run.returncode}\n{run.stdout}{run.stderr}")


def check_refused(args, status, words, name, cwd=None):
    run = clew(*args, cwd=cwd)
    check(run.returncode == status and words in run.stderr and not run.stdout, name, run.stdout + run.stderr)


REGS = "[regs]\nTRCCONFIGR=1\nTRCTRACEIDR={}\nTRCIDR0=0x28000ea1\nTRCIDR2=0x488\n"
# 0x10000: add; b +8; nop; ret
CODE = struct.pack("<4I", 0x91000400, 0x14000002, 0xd503201f, 0xd65f03c0)
# async, trace info, trace on, address and context 0x10000 EL1 N, E E, address 0x20000, E, exception 0xe at 0x20000
SYNC = bytes(11) + b"\x80\x01\x01\x00"
TRACE = SYNC + b"\x04\x82\x00\x00\x01\x00\x31\xf7\xf7" + b"\x9a\x00\x00\x02\x00\xf7" + b"\x05"


def make(top):
    (top / "snapshot.ini").write_text(
        "[snapshot]\nversion=1.0\n[device_list]\na=cpu.ini\nb=etm.ini\nc=stm.ini\nx4=etm2.ini\n[trace]\nmetadata=trace.ini\n")
    (top / "cpu.ini").write_text("[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=code.bin\naddress=0x10000\n")
    (top / "etm.ini").write_text("[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n" + REGS.format("0x10"))
    (top / "etm2.ini").write_text("[device]\nname=ETM_1\nclass=trace_source\ntype=ETM4\n" + REGS.format("0x1a"))
    (top / "stm.ini").write_text("[device]\nname=STM_0\nclass=trace_source\ntype=STM\n[regs]\nSTMTCSR=0xA00005\n")
    (top / "trace.ini").write_text(
        "[trace_buffers]\nbuffers=x,y,z\n[x]\nfile=t.bin\nformat=source_data\n[y]\nfile=t.bin\nformat=source_data\n"
        "[z]\nfile=t.bin\nformat=source_data\n[source_buffers]\nETM_0=x\nETM_1=y\nSTM_0=z\n[core_trace_sources]\ncpu_0=ETM_0\n")
    (top / "code.bin").write_bytes(CODE)
    (top / "t.bin").write_bytes(TRACE)


LINES = """{0} EVENT no_sync [init-decoder]
{0} EVENT trace_on [begin or filter]
{0} EVENT context el=1 sec=N ctxid=- vmid=- 64
{0} 10000 10008 A64 1 N - -
{0} 1000c 10010 A64 1 N - -
{0} EVENT addr_nacc 0x20000; Memspace [0x2:EL1N]
{0} EVENT no_sync [bad-packet]
{0} EVENT eo_trace [end-of-trace]
"""
ADDRESSES = "10000\n10004\n1000c\n"


def check_outputs(top):
    sha = hashlib.sha256(ADDRESSES.encode()).hexdigest()
    check_out(["-i", top, "--ranges"], LINES.format("10") + LINES.format("1a"), "--ranges")
    check_out(["-i", top / "snapshot.ini", "--ranges", "--id=1a"], LINES.format("1a"), "--id, and the .ini named")
    check_out(["-i", top, "--ranges", "--cpu=0"], LINES.format("10") + LINES.format("1a"), "--cpu: both are the only core's")
    ranges = "".join(line + "\n" for line in LINES.format("10").splitlines() if "EVENT" not in line)
    check_out(["-i", top, "--ranges", "--id=0x10", "--events=none"], ranges, "--events=none")
    nacc = [line for line in LINES.format("10").splitlines() if "EVENT" not in line or "addr_nacc" in line]
    check_out(["-i", top, "--ranges", "--id=10-11", "--events=addr_nacc,exception"], "\n".join(nacc) + "\n", "--events")
    check_out(["-i", top, "--digest"], f"10 3 {sha}\n1a 3 {sha}\n", "--digest")
    check_out(["-i", top, "--digest", "--json", "--id=10"],
              f'{{"id":"0x10","instructions":3,"sha256":"{sha}"}}\n', "--digest --json")
    check_out(["-i", top, "--edges"], "10004 1000c 2 1\n1000c 20000 2 1\n", "--edges: of both units together")


def check_raw(top):
    raw = ["--raw", top / "t.bin", "--regs", REGS.format("0x10")[7:-1].replace("\n", ","), "--format=source_data"]
    want = clew("-i", top, "--ranges", "--id=10").stdout
    check(want, "ranges of the snapshot")
    check_out([*raw, "--memory", f"{top / 'code.bin'}@0x10000", "--ranges"], want, "--raw with --memory: as the snapshot")
    check("--memory=FILE@ADDRESS" in clew(*raw).stdout, "--raw: what to supply", clew(*raw).stdout)
    check_refused([*raw, "--memory", "x"], 2, "FILE@ADDRESS", "--memory without an address")


def check_json(top):
    lines = [json.loads(line) for line in clew("-i", top, "--ranges", "--json", "--id=10").stdout.splitlines()]
    check(lines[3] == {"id": "0x10", "start": "0x10000", "end": "0x10008", "isa": "A64", "el": 1, "security": "N"},
          "--ranges --json: a range", lines)
    check(lines[5]["event"] == "addr_nacc" and lines[5]["id"] == "0x10", "and an event", lines)
    edges = [json.loads(line) for line in clew("-i", top, "--edges", "--json").stdout.splitlines()]
    check(edges[0] == {"from": "0x10004", "to": "0x1000c", "count": 2, "taken": True, "space": edges[0]["space"]},
          "--edges --json", edges)
    units = [json.loads(line) for line in clew("-i", top, "--json").stdout.splitlines()]
    check([u["decoded"] for u in units] == [True, True, False], "--json: three units", units)
    check(units[0]["missing_code"] == [{"start": "0x20000", "end": "0x21000", "times": 1}], "what code is missing", units[0])
    check(units[0]["sync_lost"][0]["times"] == 1, "and why sync was lost", units[0])


def check_summary(top):
    out = clew("-i", top).stdout
    for words in ("ETM_0  ID 10  CPU 0  ETMv4.0", "3 instructions in 2 ranges", "0x20000-0x21000  2 times", "[dumpN]",
                  "STM_0  ID 20  CPU 0  session 3  not decoded: an STM is not decoded", "sync lost 1 time: bad packet"):
        check(words in out, f"summary: {words}", out)


def check_refusals(top):
    check_refused(["-i", top / "no"], 1, "No such file", "no such input")
    check_refused([], 1, "perf.data", "no input at all", cwd=top)
    check_refused(["x"], 2, "-i x", "a word")
    check_refused(["-i", top, "--ranges", "--digest"], 2, "exclude", "two outputs")
    check_refused(["-i", top, "--events=no_such"], 2, "no_such", "an unknown event")
    check_refused(["-i", top, "--id=zz"], 2, "zz", "an ID that is none")
    check_refused(["-i", top, "--cpu=1,x"], 2, "1,x", "a CPU that is none")
    for option in ("--pid=1", "--tid=1", "--comm=x", "--time=1,2"):
        check_refused(["-i", top, option], 2, option.split("=")[0], f"{option}: trace units know no threads")
    check_refused(["-i", top, "--id=33"], 1, "no trace unit", "an unused ID")
    with tempfile.TemporaryDirectory() as empty:
        check_refused(["-i", empty], 1, "snapshot.ini", "a directory without snapshot.ini")


def main():
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        make(top)
        check_outputs(top)
        check_json(top)
        check_raw(top)
        check_summary(top)
        check_refusals(top)
    done()


main()
