#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: dump_pt_test.py CLEW: `clew dump` of Intel PT: text, JSON, counts, filters; bytes before a PSB, bad ones, and a packet that the end cuts. TAP."""
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "diff")]
from ipt_lib import PSB, recording
from tap import check, done

clew = os.path.abspath(sys.argv[1])
# Text before a PSB; what a PSB+ has; branches; a block of PEBS in which a TNT's byte is an item; a bad header, and what that hides.
TRACE = (b"text" + PSB + bytes.fromhex("1901000000000001 0273020100ff01 02030a00 0243010010000000 99015d3412400000 0223"
                                       "7d785634120080 02a3050000000000 2d0010 01 07 02 59aa 00 0212adde0000 c4 026381 a4efbeadde 0233 a4 9922 02f3 4d11111111 05 0223")
         + PSB + bytes.fromhex("0223 06 2d34"))
WANT = """\
# thread 7: Intel PT
        0       504  74 65 78 74                                     NOT_SYNCED 4 bytes skipped
        4       508  02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 PSB
       20       524  19 01 00 00 00 00 00 01                         TSC        0x1000000000001
       28       532  02 73 02 01 00 ff 01                            TMA        ctc=0x102 fast=0x1ff
       35       539  02 03 0a 00                                     CBR        10
       39       543  02 43 01 00 10 00 00 00                         PIP        cr3=0x1000000 non_root
       47       551  99 01                                           MODE.Exec  64-bit
       49       553  5d 34 12 40 00                                  FUP        0x401234
       54       558  00                                              PAD
       55       559  02 23                                           PSBEND
       57       561  7d 78 56 34 12 00 80                            FUP        0xffff800012345678
       64       568  02 a3 05 00 00 00 00 00                         TNT        NT
       72       576  2d 00 10                                        TIP        0xffff800012341000
       75       579  01                                              TIP.PGD
       76       580  07 02                                           CYC        32
       78       582  59 aa                                           MTC        0xaa
       80       584  00                                              PAD
       81       585  02 12 ad de 00 00                               PTW        0xdead
       87       591  c4                                              TNT        TNNNTN
       88       592  02 63 81                                        BBP        type=1 general registers item_bytes=4
       91       595  a4 ef be ad de                                  BIP        item=20 0xdeadbeef
       96       600  02 33                                           BEP
       98       602  a4                                              TNT        NTNNTN
       99       603  99 22                                           MODE.TSX   abort
      101       605  02 f3                                           OVF
      103       607  4d 11 11 11 11                                  TIP        0xffff800011111111 doubtful
      108       612  05                                              BAD        reserved, or a field that does not end
      109       613  02 23                                           NOT_SYNCED 2 bytes skipped
      111       615  02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 PSB
      127       631  02 23                                           PSBEND
      129       633  06                                              TNT        T
      130       634  2d 34                                           INCOMPLETE the trace ends inside it
"""


def dump(*args):
    p = subprocess.run((clew, "dump", "-i", path) + args, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def packets(*args):
    return [json.loads(x) for x in dump("--json", *args)[1].splitlines()]


with tempfile.TemporaryDirectory() as work:
    path = os.path.join(work, "perf.data")
    with open(path, "wb") as f:
        f.write(recording(TRACE))
    status, out, err = dump()
    check(status == 0 and not err and out == WANT, "text", out + err)

    lines = packets()
    check([(x["offset"], x["packet"]) for x in lines] == [(int(x.split()[0]), x[69:80].strip()) for x in WANT.splitlines()[1:]], "JSON has the same packets", lines)
    check(sum(x["size"] for x in lines) == len(TRACE) and all(x["input"] == x["offset"] + 504 and x["tid"] == 7 and x["unit"] == 0 for x in lines),
          "every byte is in one packet", lines)
    check(b"".join(bytes.fromhex(x["bytes"]) for x in lines) == TRACE, "and shown", lines)
    by_offset = {x["offset"]: {k: v for k, v in x.items() if k not in ("offset", "input", "unit", "tid", "size", "bytes")} for x in lines}
    for offset, want in ((39, {"packet": "PIP", "cr3": "0x1000000", "non_root": True}), (64, {"packet": "TNT", "branches": "NT"}),
                         (72, {"packet": "TIP", "address": "0xffff800012341000"}), (75, {"packet": "TIP.PGD"}), (76, {"packet": "CYC", "cycles": 32}),
                         (28, {"packet": "TMA", "ctc": "0x102", "fast": "0x1ff"}), (99, {"packet": "MODE.TSX", "abort": True}),
                         (88, {"packet": "BBP", "type": 1, "block": "general registers", "item_bytes": 4}),
                         (91, {"packet": "BIP", "item": 20, "value": "0xdeadbeef"}), (108, {"packet": "BAD"}),
                         (103, {"packet": "TIP", "address": "0xffff800011111111", "doubtful": True})):
        check(by_offset[offset] == want, f"JSON of {want['packet']}", by_offset[offset])

    status, out, err = dump("--stat")
    rows = [x.split() for x in out.splitlines()]
    check(rows[0] == "# thread 7: Intel PT".split() and ["PSB", "2", "32", "24.2%"] in rows and rows[-1] == ["all", str(len(lines)), str(len(TRACE))], "counts", out)
    stat = packets("--stat")[0]
    check(stat["nr"] == len(lines) and stat["size"] == len(TRACE) and stat["packets"]["NOT_SYNCED"] == {"nr": 2, "size": 6}, "counts as JSON", stat)

    for names, want in (("tip", {"TIP"}), ("TIP.PGD,fup", {"TIP.PGD", "FUP"}), ("MODE", {"MODE.Exec", "MODE.TSX"}), ("bad,not_synced", {"BAD", "NOT_SYNCED"})):
        got = {x["packet"] for x in packets("--kind=" + names)}
        check(got == want, "--kind=" + names, got)
    status, out, err = dump("--kind=TIPS")
    check(status == 2 and "no packet 'TIPS'" in err and not out, "--kind of what there is not", err)
    status, out, err = dump("--frames")
    check(status == 0 and not out and "no trace of it is in frames" in err, "--frames: there are none", out + err)
    status, out, err = dump("--cpu=0")
    check(status == 1 and not out, "--cpu of a trace of a thread", out + err)

    with open(os.path.join(work, "trace.pt"), "wb") as f:
        f.write(TRACE)

    def dump_raw(*args):
        p = subprocess.run((clew, "dump", "--raw", "trace.pt", *args), capture_output=True, check=False, stdin=subprocess.DEVNULL, cwd=work)
        return p.returncode, p.stdout.decode(), p.stderr.decode()

    status, out, err = dump_raw("--protocol=PT")
    want = ["# trace.pt: Intel PT"] + [f"{x[:9]}{int(x[9:19]) - 504:10}{x[19:]}" for x in WANT.splitlines()[1:]]
    check(status == 0 and not err and out.splitlines() == want, "--raw", out + err)
    for args, word in (("--regs=TRCCONFIGR=1", "no registers"), ("--format=tpiu", "no frames"), ("--input=perf.data", "exclude each other")):
        status, out, err = dump_raw("--protocol=PT", args)
        check(status == 2 and word in err and not out, f"--raw with {args}", err)
    status, out, err = dump_raw("--protocol=PT", "--frames")
    check(status == 0 and not out and "no trace of it is in frames" in err, "--raw: no frames", out + err)
    status, out, err = dump_raw("--protocol=PTM")
    check(status == 2 and not out, "--raw of another protocol", err)
    os.truncate(os.path.join(work, "trace.pt"), 0)
    status, out, err = dump_raw("--protocol=PT")
    check(status == 0 and not err and not out, "an empty file is no error", out + err)
done()
