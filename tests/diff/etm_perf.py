#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_perf.py CLEW FOLDER

The trace snapshots in FOLDER (data/coresight-truth), each wrapped as a perf.data file with cs_etm, through `perf
script` and `clew script`: the same events of the trace, CPU by CPU; and where the trace has times, clew's in their
order. Where perf is left for a reason, see docs/decisions/etm-events.md. TAP."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

COMM, FORK, MMAP2, AUX, AUXTRACE_INFO, AUXTRACE = 3, 7, 10, 11, 70, 71
PMU, EVENT_ID, CS_ETM, ETMV4 = 8, 71, 3, 0x4040404040404040
SAMPLE = 0x1C7  # IP TID TIME ID CPU PERIOD
FLAGS = 1 << 1 | 1 << 5 | 1 << 6 | 1 << 8 | 1 << 9 | 1 << 12 | 1 << 18 | 1 << 23  # user code; mmap2, comm, ids for all
REGISTERS = ("TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCAUTHSTATUS")
CYCLES = re.compile(r"/P/-/-/\d+/")
FORMS = (
    "--itrace=b -F comm,tid,cpu,event,flags,ip,addr",
    "--itrace=b -F cpu,ip,sym,symoff,dso,addr",
    "--itrace=b -F cpu,ip,insn,insnlen",
    "--itrace=i1i -F comm,tid,cpu,event,period,ip",
    "--itrace=i100il -F cpu,period,ip,brstack",
    "--itrace=i1000il16 -F cpu,period,ip,brstack",
)


def ini(path):
    """{section: {key: value}}; a repeated key keeps its last value."""
    ret, section = {}, None
    for line in open(path, encoding="ascii"):
        line = line.strip()
        if line.startswith("["):
            section = ret.setdefault(line[1:-1], {})
        elif "=" in line:
            key, value = line.split("=", 1)
            section[key.strip()] = value.strip()
    return ret


def framed(trace, trace_id):
    """CoreSight frames of one source: its ID first, 14 bytes after it; ignore packets fill the last."""
    ret = bytearray()
    trace += b"\x70" * (-len(trace) % 14)
    for at in range(0, len(trace), 14):
        frame, low_bits = bytearray([trace_id << 1 | 1]), 0
        for slot, byte in enumerate(trace[at : at + 14], 1):
            if slot % 2 == 0:
                low_bits |= (byte & 1) << slot // 2
                byte &= 0xFE
            frame.append(byte)
        ret += frame + bytes([low_bits])
    return bytes(ret)


def record(kind, misc, body, size=None):
    return struct.pack("<IHH", kind, misc, size or 8 + len(body)) + body


def text(s):
    s = s.encode()
    return s + b"\0" * (8 - len(s) % 8)


def ids(pid, time, cpu=0):
    return struct.pack("<IIQQII", pid, pid, time, EVENT_ID, cpu, 0)


def side_records(folder, dumps, pid):
    ret = record(COMM, 0x2000, struct.pack("<II", pid, pid) + text("prog") + ids(pid, 1))
    for dump in dumps:
        start, size, offset = (int(dump[key], 0) for key in ("address", "length", "offset"))
        path = os.path.realpath(os.path.join(folder, dump["file"]))
        ret += record(MMAP2, 2, struct.pack("<IIQQQIIQQII", pid, pid, start, (size + 0xFFF) & ~0xFFF, offset, 8, 1, 5, 0, 5, 2)
                      + text(path) + ids(pid, 2))
    for tid in (pid + 1, pid + 2):
        ret += record(FORK, 0, struct.pack("<IIIIQ", pid, pid, tid, pid, 3) + ids(pid, 3))
    return ret


def rings_of(folder, units):
    """The trace of each ring, in frames, and the units that there are: one ring for all, or one for each."""
    ini_file = ini(os.path.join(folder, "trace.ini"))
    rings = []
    for number, name in enumerate(sorted(key for key in ini_file if key.startswith("buffer"))):
        source = ini_file[name]
        trace = open(os.path.join(folder, source["file"]), "rb").read()
        if source["format"] == "source_data":
            trace = framed(trace, int(units[number]["TRCTRACEIDR"], 0))
        rings.append(trace + b"\0" * (-len(trace) % 16))
    return rings, units if source["format"] != "source_data" else units[: len(rings)]


def wrap(folder, out, pid):
    units = [ini(os.path.join(folder, f))["regs"] for f in sorted(os.listdir(folder)) if f.startswith("ETM_")]
    cpu = ini(os.path.join(folder, "cpu_0.ini"))
    dumps = [cpu[section] for section in cpu if section.startswith("dump")]
    rings, units = rings_of(folder, units)
    info = [1, PMU << 32 | len(units), 0]
    for number, regs in enumerate(units):
        info += [ETMV4, number, len(REGISTERS)] + [int(regs[name], 0) for name in REGISTERS]
    data = record(AUXTRACE_INFO, 0, struct.pack("<II", CS_ETM, 0) + struct.pack(f"<{len(info)}Q", *info))
    data += side_records(folder, dumps, pid)
    for cpu, trace in enumerate(rings):
        data += record(AUX, 0, struct.pack("<QQQ", 0, len(trace), 0) + ids(pid, 10, cpu))
    config = 1 << 28 if int(units[0]["TRCCONFIGR"], 0) & 1 << 11 else 0  # timestamps
    attr = struct.pack("<IIQQQQQ", PMU, 128, config, 1, SAMPLE, 0, FLAGS).ljust(128, b"\0")
    head = 104 + 8 + len(attr) + 16
    index = struct.pack("<Q", len(rings))
    tid = pid if len(units) == 1 else 0xFFFFFFFF
    for cpu, trace in enumerate(rings):
        index += struct.pack("<QQ", head + len(data), 48)
        data += record(AUXTRACE, 0, struct.pack("<QQQIIII", len(trace), 0, 0, cpu, tid, cpu, 0), 48) + trace
    with open(out, "wb") as f:
        f.write(struct.pack("<8s12Q", b"PERFILE2", 104, 144, 112, 144, head, len(data), 0, 0, 1 << 18, 0, 0, 0))
        f.write(struct.pack("<Q", EVENT_ID) + attr + struct.pack("<QQ", 104, 8) + data)
        f.write(struct.pack("<QQ", head + len(data) + 16, len(index)) + index)


def by_cpu(command):
    """Lines by CPU, in order; without cycles of branches, which perf 6.1 does not take from the trace, and its samples of
    no instructions."""
    ret, has_period = {}, "period" in command[-1]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    for line in out.splitlines():
        field = line.split("[", 1)[1].split("]", 1)
        if not has_period or field[1].split()[:1] != ["0"]:
            ret.setdefault(field[0], []).append(CYCLES.sub("/P/-/-/", line.rstrip()))
    return ret


def compare(clew, path, form):
    want = by_cpu(["perf", "script", "-i", path] + form.split())
    got = by_cpu([clew, "script", "-i", path] + form.split())
    total = sum(map(len, want.values()))
    for cpu in sorted(set(want) | set(got)):
        # perf now and then reports the end of the trace as one of tracing
        if len(want.get(cpu, [])) == len(got.get(cpu, [])) + 1 and want[cpu][-1] not in got.get(cpu, []):
            want[cpu].pop()
        for a, b in zip(want.get(cpu, []) + [""], got.get(cpu, []) + [""]):
            if a != b:
                return total, f"# perf {a[:150]}\n# clew {b[:150]}"
    return total, "" if total else "# perf prints nothing"


def branches(command):
    """(CPU, time or None, the rest) of each line, in order."""
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    lines = [re.match(r"\s*\[(\d+)\]\s+(?:([\d.]+|-):)?\s*(.*)", line).groups() for line in out.splitlines()]
    return [(cpu, int(time.replace(".", "")) if time and time != "-" else None, " ".join(rest.split())) for cpu, time, rest in lines]


def order(clew, path, has_own_rings):
    """What is wrong with the order of clew's branches: less time than before; and where each CPU has a ring, perf's order too,
    but for perf's guess that an instruction takes a tick, which lasts until the next timestamp. None: no event has a time."""
    got = branches([clew, "script", "-i", path, "--itrace=bT", "-F", "cpu,time,ip,addr", "--ns"])
    times = [time for _, time, _ in got if time is not None]
    if not times:
        return None
    if any(a > b for a, b in zip(times, times[1:])):
        return "not in order of time"
    own, longest, latest = {}, 0, 0
    for cpu, time, rest in got:
        line = own.setdefault(cpu, [])
        longest = max(longest, (time or 0) - (line[-1][0] or time or 0) if line else 0)
        line.append((time, rest))
    for cpu, _, rest in branches(["perf", "script", "-i", path, "--itrace=b", "-F", "cpu,ip,addr"]) if has_own_rings else []:
        if not own[cpu] and rest.endswith("=> 0"):
            continue  # perf now and then reports the end of the trace as one of tracing
        time, want = own[cpu].pop(0)
        if rest != want:
            return f"perf {rest}, clew {want}"
        if time is not None and latest - time > longest:
            return f"perf has {rest} elsewhere: {latest - time} ticks"
        latest = max(latest, time or 0)
    return "" if max(map(len, own.values())) < 4 or not has_own_rings else "perf has less"  # it leaves out the last bytes of a ring


def main():
    clew, folder, count, failed = os.path.abspath(sys.argv[1]), sys.argv[2], 0, 0
    if not os.path.isdir(folder) or not shutil.which("perf"):
        print("1..0 # SKIP no snapshots or no perf here")
        return 0
    with tempfile.TemporaryDirectory() as temp:
        for name in ("hello", "work", "threads-framed", "threads"):
            has_own_rings = name == "threads"
            path = os.path.join(temp, name + ".data")
            wrap(os.path.join(folder, name), path, 0x1000)
            if not by_cpu(["perf", "script", "-i", path, "--itrace=b", "-F", "cpu,ip,addr"]):
                print("1..0 # SKIP this perf does not decode CoreSight")
                return 0
            for form in () if has_own_rings else FORMS:
                total, why = compare(clew, path, form)
                count += 1
                failed += why != ""
                print("not ok" if why else "ok", count, "-", name, form, f"({total} lines)")
                if why:
                    print(why)
            why = order(clew, path, has_own_rings)
            count += 1
            is_bad = why or (why is None) == name.startswith("threads")
            failed += bool(is_bad)
            print("not ok" if is_bad else "ok", count, "-", name, "order:", "no times" if why is None else why or "of time")
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
