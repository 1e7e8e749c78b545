#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_index_test.py CLEW DATA: filters of Intel PT decode what they need, and print what they would print of all; the index beside the file, and
files in its place. DATA/intel-pt-truth may be absent. TAP."""
import os
import re
import struct
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, ".."), os.path.join(here, "..", "diff")]
from ipt_lib import PSB, record
from tap import check, done, skip

clew = os.path.abspath(sys.argv[1])
truth = os.path.join(sys.argv[2], "intel-pt-truth")
FIELDS = "comm,pid,tid,time,event,ip,addr,flags"


def script(path, *args, stdin=None):
    p = subprocess.run([clew, "script", "--ns", "-i", path, *args], stdin=stdin or subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return p.stdout.splitlines(), p.stderr


def part(err):
    """The part of the trace that was decoded."""
    m = re.search(r"(\d+) of (\d+) bytes of trace were decoded", err)
    return int(m[1]) / int(m[2]) if m else 1.0


def ns(line):
    m = re.search(r"\s(\d+)\.(\d{9}):", line)
    return int(m[1]) * 10**9 + int(m[2]) if m else None


def seconds(t):
    return f"{t // 10**9}.{t % 10**9:09d}"


def check_times(name, path, *more):
    """Windows of time: the lines that a filter of all lines keeps."""
    args = ("--no-index", *more)
    lines, _ = script(path, *args)
    times = [ns(x) for x in lines]
    lo, hi = min(x for x in times if x), max(x for x in times if x)
    wrong, least = [], 1.0
    for i in range(5):
        for size in (100, 5):
            a = lo + (hi - lo) * i // 5
            b = a + (hi - lo) // size
            out, err = script(path, *args, "--time", f"{seconds(a)},{seconds(b)}")
            least = min(least, part(err))
            if out != [x for x, t in zip(lines, times) if t is None or a <= t <= b]:
                wrong.append((a, b))
    check(lines and not wrong, f"{name}: {' '.join(more[:1])}: of a range of time, the lines that all of it has there", wrong)
    check(least < 0.95, f"{name}: and not all of the trace is decoded for them", least)


def of_truth():
    symfs = ("--symfs", os.path.join(truth, "symfs"))
    for name in ("time-cyc", "time-mtc", "threads", "snapshot", "jit", "switch"):
        path = os.path.join(truth, name, "perf.data")
        if not os.path.exists(path):
            skip(name, "not in " + truth)
            continue
        check_times(name, path, "--itrace=be", *symfs, "-F", FIELDS)
        check_times(name, path, "--itrace=i1ie", *symfs, "-F", "comm,tid,time,ip")
        if name in ("switch", "threads"):
            check_threads(name, path, symfs, name == "switch")


def check_threads(name, path, symfs, has_cpus):
    args = ("--no-index", "--itrace=be", *symfs, "-F", FIELDS + (",cpu" if has_cpus else ""))
    lines, _ = script(path, *args)
    at = [re.match(r"\s*(\S+)\s+(\d+)/(\d+)\s+(?:\[(\d+)\])?", x) for x in lines]
    for option, group in (("--comms", 1), ("--pid", 2), ("--tid", 3)) + ((("--cpu", 4),) if has_cpus else ()):
        for value in sorted({m[group] for m in at}):
            out, err = script(path, *args, option, value)
            check(out == [x for x, m in zip(lines, at) if m[group] == value], f"{name}: {option} {value}: the lines that all of it has", err)
            if option == "--cpu" or (name == "threads" and option == "--tid"):
                check(part(err) < 0.9, f"{name}: {option} {value}: other rings are not decoded", err)


# --- a trace made here: each slice has a PSB+ and a line; ten in a row are of one thread ---

THREADS = (100, 200, 300)


def event(kind, body, misc=0, pid=0, tid=0, time=0, cpu=0, ident=2):
    return struct.pack("<IHH", kind, misc, 40 + len(body)) + body + struct.pack("<IIQIIQ", pid, tid, time, cpu, 0, ident)


def slice_of(tsc, ip, pads):
    return (PSB + b"\x19" + struct.pack("<Q", tsc)[:7] + b"\x02\x03\x0a\x00\x02\x23" + b"\x99\x01\x71" + struct.pack("<Q", ip)[:6] + bytes(pads)
            + b"\x01")


def make(nr_cpus, nr_slices, pads):
    """Ticks are nanoseconds."""
    pmu, attrs, ids = 8, 120, 104
    sample_type = 1 | 2 | 4 | 1 << 7 | 1 << 16
    config = 1 | 1 << 10 | 1 << 13
    info = (pmu, 31, 1 << 31, 0, 1, 1 << 10, 1 << 11, 3, 0, 1, 1 << 9, 0xf << 14, 84, 1, 2, 10, 0)
    data = record(70, struct.pack("<II%dQ" % len(info), 1, 0, *info))
    for tid in THREADS:
        data += event(3, struct.pack("<II", tid, tid) + b"thread%d\0" % (tid // 100), 0, tid, tid, 1)
    rings = [b""] * nr_cpus
    for i in range(nr_slices):
        for cpu in range(nr_cpus):
            before, tid = (THREADS[(n // 10 + cpu) % len(THREADS)] for n in (i - 1, i))
            time = 1000000 + i * 10000 + cpu * 100
            rings[cpu] += slice_of(time + 2000, 0x400000 + 16 * i, pads)
            if before != tid or not i:
                data += event(15, struct.pack("<II", tid, tid), 0x2000, before, before, time, cpu)
                data += event(15, struct.pack("<II", before, before), 0, tid, tid, time + 100, cpu)
    for cpu, aux in enumerate(rings):
        aux += bytes(-len(aux) % 8)
        data += record(71, struct.pack("<QQQIIII", len(aux), 0, 0, cpu, 0xffffffff, cpu, 0)) + aux
    attr = struct.pack("<IIQQQQQ", pmu, 128, config, 1, sample_type, 0, 1 | 1 << 5 | 1 << 18).ljust(128, b"\0") + struct.pack("<QQ", ids, 8)
    attr += struct.pack("<IIQQQQQ", 1, 128, 9, 1, sample_type, 0, 1 | 1 << 18 | 1 << 26).ljust(128, b"\0") + struct.pack("<QQ", ids + 8, 8)
    start = attrs + len(attr)
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, attrs, len(attr), start, len(data), 0, 0) + bytes(32)
    return head + struct.pack("<QQ", 1, 2) + attr + data


M64 = (1 << 64) - 1


def mix(a, b):
    r = a * b
    return a ^ b ^ (r & M64) ^ r >> 64


def hash_bytes(data):
    """base/hash.h"""
    h = len(data) ^ 0x8ebc6af09c88c6e3
    for at in range(0, len(data) - 7, 8):
        h = mix(h ^ 0xa0761d6478bd642f, struct.unpack_from("<Q", data, at)[0] ^ 0xe7037ed1a0b428db)
    rest = data[len(data) // 8 * 8:]
    return mix(h ^ 0xa0761d6478bd642f, int.from_bytes(rest, "little") ^ 0xe7037ed1a0b428db)


def sealed(body):
    return body + struct.pack("<Q", hash_bytes(body))


def of_made(work):
    path = os.path.join(work, "perf.data")
    index = path + ".clew-index"
    with open(path, "wb") as f:
        f.write(make(2, 60, 700))
    check_times("made", path, "--itrace=b", "-F", FIELDS)
    args = ("--itrace=b", "-F", FIELDS + ",cpu")
    lines, _ = script(path, "--no-index", *args)
    check(len(lines) == 2 * 60, "the made trace has a line for each slice", lines[:4])
    for tid in THREADS:
        for option, value in (("--tid", str(tid)), ("--pid", str(tid)), ("--comms", f"thread{tid // 100}")):
            out, err = script(path, "--no-index", *args, option, value)
            check(out and out == [x for x in lines if f"{tid}/{tid}" in x] and part(err) < 0.9, f"{option} {value}: what ran of it, of parts of the trace", err)
        both = ("--tid", str(tid), "--cpu", "1", "--time", "0.0012,0.0014")
        out, err = script(path, "--no-index", *args, *both)
        check(out == [x for x in lines if f"{tid}/{tid}" in x and "[001]" in x and 1200000 <= ns(x) <= 1400000] and part(err) < 0.2, f"{' '.join(both)}", err)
    check(not os.path.exists(index), "--no-index keeps no index")

    wish = (*args, "--time", "0.00125,0.0013")
    want = [x for x in lines if 1250000 <= ns(x) <= 1300000]
    script(path, *wish)
    check(not os.path.exists(index), "a small trace has no index, either")
    script(path, "--index", *args)
    check(not os.path.exists(index), "nor one that is decoded in whole")
    check(script(path, "--index", *wish)[0] == want and os.path.exists(index), "--index keeps one")
    with open(index, "rb") as f:
        good = f.read()
    check(sealed(good[:-8]) == good and not os.path.exists(index + ".part"), "which ends with its check")
    inode = os.stat(index).st_ino
    out, err = script(path, *wish)
    check(out == want and os.stat(index).st_ino == inode and part(err) < 0.3, "it is used the next time", err)
    with open(path, "rb") as f:
        os.remove(index)
        script("-", "--index", *wish, stdin=f)
    check(not os.path.exists(index) and not os.path.exists("-.clew-index"), "standard input has none")
    hostile(path, index, good, wish, want)


def hostile(path, index, good, wish, want):
    def wrong(contents):
        bad = []
        for i, data in enumerate(contents):
            with open(index, "wb") as f:
                f.write(data)
            if script(path, *wish)[0] != want:
                bad.append(i)
        return bad

    check(not wrong(good[:i] for i in range(0, len(good), 131)), "an index that is cut changes nothing")
    check(not wrong(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:] for i in range(0, len(good), 131)), "nor one with a wrong bit")
    body, head = good[:-8], 36 + 16
    places = [struct.unpack_from("<QQ", body, at) for at in range(head, head + 60 * 16, 16)]
    def lie(change):
        return sealed(body[:head] + b"".join(struct.pack("<QQ", *change(i, *p)) for i, p in enumerate(places)) + body[head + 60 * 16:])
    lies = (lie(lambda i, o, w: (o + 1, w)), lie(lambda i, o, w: (o, w + 50000)), lie(lambda i, o, w: (o, w ^ 0x7f << 56)), lie(lambda i, o, w: (o + (1 << 40), w)),
            sealed(body[:36] + bytes(16) + body[52:]), sealed(body[:44] + struct.pack("<Q", M64) + body[52:]), sealed(body + bytes(8)), sealed(body[:8]))
    check(not wrong(lies), "nor one that fits and lies")
    os.remove(index)
    os.mkfifo(index)
    check(script(path, *wish)[0] == want, "nor a fifo in its place")
    os.remove(index)


def of_large(work):
    path = os.path.join(work, "large.data")
    with open(path, "wb") as f:
        f.write(make(1, 2200, 4000))
    lines, _ = script(path, "--itrace=b", "-F", FIELDS)
    out, err = script(path, "--itrace=b", "-F", FIELDS, "--time", "0.011,0.0112")
    check(out == [x for x in lines if 11000000 <= ns(x) <= 11200000] and part(err) < 0.02, "a range of a large trace", err)
    check(os.path.exists(path + ".clew-index"), "has an index from then on")
    os.utime(path, (1, 1))
    again, _ = script(path, "--itrace=b", "-F", FIELDS, "--time", "0.011,0.0112")
    check(again == out, "which is made again when the recording is another one")
    p = subprocess.run([clew, "report", "--stdio", "-i", path, "--itrace=b", "--time", "0.011,0.0112"], capture_output=True, text=True, check=False)
    check(p.returncode == 0 and part(p.stderr) < 0.02, "clew report decodes as much", p.stderr)
    out, err = script(path, "--itrace=bs10", "-F", FIELDS, "--time", "0.011,0.0112")
    check(part(err) == 1.0, "the first events are counted where they are skipped", err)


with tempfile.TemporaryDirectory() as tmp:
    of_made(tmp)
    of_large(tmp)
if os.path.isdir(truth):
    of_truth()
else:
    skip("truth sets", "none in " + sys.argv[2])
done()
