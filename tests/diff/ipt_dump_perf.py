#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: ipt_dump_perf.py CLEW DATA: `clew dump` of Intel PT against `perf script -D`: the packets, their offsets and fields, of a stream made of
each header, of bytes by chance, and of recordings. perf continues after a bad packet with the next byte, `clew dump` with the next PSB: what is
between is not compared. TAP."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ipt_lib import PSB, anything, aux_areas, each_packet, recording, recordings
from tap import check, done, skip, skip_all

clew, data = os.path.abspath(sys.argv[1]), sys.argv[2]
NAMES = {"TraceStop": "TraceSTOP", "PTW": "PTWRITE"}


def perf_packets(path):
    """[(offset in the file of the area, {offset in it: (bytes, text)})]"""
    text = subprocess.run(["perf", "script", "-D", "-i", path], capture_output=True, check=False).stdout.decode(errors="replace")
    ret = []
    for m in re.finditer(r"(0x[0-9a-f]+) \[(0x[0-9a-f]+)\]: PERF_RECORD_AUXTRACE size:.*\n\.\n\. \.\.\. Intel Processor Trace data: size (\d+) bytes\n"
                         r"((?:\.  [0-9a-f]{8}: .*\n)*)", text):
        packets = {}
        for line in m.group(4).splitlines():
            at, hexed, packet = re.match(r"\.  (\w{8}): ((?: [0-9a-f]{2})+) +(.*)", line).groups()
            packets[int(at, 16)] = (bytes.fromhex(hexed), packet)
        ret.append((int(m.group(1), 16) + int(m.group(2), 16), packets))
    return ret


def clew_packets(path):
    """{offset in the file: packet}"""
    p = subprocess.run([clew, "dump", "--json", "-i", path], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return {x["input"]: x for x in map(json.loads, p.stdout.decode().splitlines()) if "packet" in x}


def raw(p, at, size):
    return int.from_bytes(bytes.fromhex(p["bytes"])[at:at + size], "little")


def perf_text(p):
    """The fields that clew found, in perf's words. Numbers that perf prints as they are in the packet come from its bytes."""
    kind, size, fup = p["packet"], p["size"], int("fup" in p)
    name = NAMES.get(kind, kind)
    number = {k: int(v, 16) for k, v in p.items() if isinstance(v, str) and v.startswith("0x")}
    if kind == "TNT":
        return f"TNT {p['branches']} ({len(p['branches'])})"
    if kind in ("TIP", "TIP.PGE", "TIP.PGD", "FUP"):
        return f"{name} {number['address'] & ((1 << 8 * (size - 1)) - 1):#x}" if size > 1 else f"{name} no ip"
    if kind == "CYC":
        return f"CYC {p['cycles']:#x}"
    if kind in ("TSC", "MTC", "MNT"):
        return f"{name} {number[{'TSC': 'tsc', 'MTC': 'ctc', 'MNT': 'value'}[kind]]:#x}"
    if kind == "CBR":
        return f"CBR {raw(p, 3, 1) << 8 | p['ratio']:#x}"
    if kind == "TMA":
        return f"TMA CTC {number['ctc']:#x} FC {number['fast']:#x}"
    if kind == "MODE.Exec":
        return f"MODE.Exec IF:{int('if' in p)} {p.get('mode', '0-bit')[:-4]}"
    if kind == "MODE.TSX":
        return f"MODE.TSX TXAbort:{int('abort' in p)} InTX:{int('in_tx' in p)}"
    if kind == "PIP":
        return f"PIP {number['cr3'] >> 5:#x} (NR={int('non_root' in p)})"
    if kind == "VMCS":
        return f"VMCS {number['value' if 'value' in number else 'vmcs'] >> 12:#x}"
    if kind == "PTW":
        return f"PTWRITE {number['value']:#x} IP:{fup}"
    if kind in ("EXSTOP", "BEP"):
        return f"{name} IP:{fup}"
    if kind == "MWAIT":
        return f"MWAIT {raw(p, 2, 8):#x} Hints {number['hints'] & 0xff:#x} Extensions {number['extensions'] & 3:#x}"
    if kind == "PWRE":
        return f"PWRE {raw(p, 2, 2):#x} HW:{int('hw' in p)} CState:{p['state']} Sub-CState:{p['sub_state']}"
    if kind == "PWRX":
        return f"PWRX {raw(p, 2, 5):#x} Last CState:{p['last']} Deepest CState:{p['deepest']} Wake Reason {number['reason']:#x}"
    if kind == "BBP":
        return f"BBP SZ {p['item_bytes']}-byte Type {p['type']:#x}"
    if kind == "BIP":
        return f"BIP ID 0x{p['item']:02x} Value {number['value']:#x}"
    if kind == "CFE":
        return f"CFE IP:{fup} Type 0x{p['type']:02x} Vector {p['vector']:#x}"
    if kind == "EVD":
        return f"EVD Type 0x{p['type']:02x} Payload {number['value']:#x}"
    return name


def known(p, text):
    """What perf 6.1 reads otherwise (docs/decisions/intel-pt.md); None: nothing. @p text None: it has no packet there."""
    if p["packet"] == "TRIG" and text == "Bad packet!":
        return "TRIG"
    if p["packet"] == "BAD" and text == "TNT  (0)":
        return "TNT without a branch"
    if p["packet"] == "MODE.Exec" and "mode" not in p and text == "Bad packet!":
        return "MODE.Exec of CS.L and CS.D"
    if p["packet"] == "MODE.TSX" and "in_tx" in p and "abort" in p and text == "Bad packet!":
        return "MODE.TSX of InTX and TXAbort"
    return None


def same(p, perf):
    """perf shows PADs after a packet, up to 8 bytes, with it."""
    if p["packet"] == "BAD":
        return perf[1] == "Bad packet!"
    ours, theirs = bytes.fromhex(p["bytes"]), perf[0]
    return theirs.startswith(ours) and not any(theirs[len(ours):]) and perf_text(p) == perf[1]


class Area:
    """The packets of one area, at @p at in the file, from @p begin on. After a difference that is known, and after a bad packet, the two are in
    step again with the next PSB that both see."""

    def __init__(self, at, size, begin):
        self.at, self.size, self.begin, self.end = at, size, begin, 0
        self.nr, self.wrong, self.known = 0, [], collections.Counter()
        self.is_lost = False

    def take(self, at, p, perf):
        if p["packet"] == "PAD":
            return
        if perf and same(p, perf):
            self.is_lost = p["packet"] == "BAD" or self.is_lost and p["packet"] != "PSB"
        elif not self.is_lost and p["packet"] not in ("NOT_SYNCED", "INCOMPLETE"):
            why = known(p, perf and perf[1])
            self.is_lost = bool(why)
            if why:
                self.known[why] += 1
            else:
                self.wrong.append(f"at {at:#x}: {p}, perf: {perf}")
        self.nr += not self.is_lost

    def compare(self, ours, theirs):
        """@p ours by offset in the file, @p theirs in the area."""
        at, in_step = self.begin, set()
        while at < self.size and self.at + at in ours:
            p = ours[self.at + at]
            if at + p["size"] > self.size:  # the next area continues it
                break
            self.take(at, p, theirs.get(at))
            if not self.is_lost:
                in_step |= set(range(at + 1, at + p["size"]))
            at += p["size"]
        self.end = at
        self.wrong += [f"only perf, at {x:#x}: {theirs[x]}" for x in theirs if x in in_step]


def are_whole(packets):
    """Is every byte of each unit in one packet?"""
    ends = {}
    for p in sorted(packets, key=lambda p: p["offset"]):
        if p["offset"] != ends.get(p["unit"], 0):
            return False
        ends[p["unit"]] = p["offset"] + p["size"]
    return bool(ends)


def compare(name, path):
    ours = clew_packets(path)
    areas, perf = dict(aux_areas(path)), perf_packets(path)
    for at, theirs in perf:
        # Bytes that the area before had, and those before the first PSB, are only perf's.
        begin = areas[at].find(PSB)
        while begin >= 0 and at + begin not in ours:
            begin = areas[at].find(PSB, begin + 1)
        area = Area(at, len(areas[at]), begin if begin >= 0 else len(areas[at]))
        area.compare(ours, theirs)
        notes = "".join(f", {n} {why}" for why, n in sorted(area.known.items()))
        check(area.nr and not area.wrong, f"{name}, at {at:#x}: {area.nr} packets in bytes {begin} to {area.end} of {len(areas[at])}{notes}", area.wrong)
    check(are_whole(ours.values()) and [at for at, _ in perf] == sorted(areas), f"{name}: every byte, each area")


def main():
    if not shutil.which("perf"):
        skip_all("no perf")
    with tempfile.TemporaryDirectory() as work:
        for name, stream in (("each header", each_packet()), ("bytes by chance", anything())):
            path = os.path.join(work, "perf.data")
            with open(path, "wb") as f:
                f.write(recording(stream))
            if not perf_packets(path):
                skip_all("this perf reads no Intel PT")
            compare(name, path)
    found = recordings(data)
    for name, path in found:
        compare(name, path)
    if not found:
        skip("recordings", "no Intel PT in " + data)
    done()


main()
