# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings for the tests of the page, made of numbers: several threads, CPUs, control groups, periods and levels; hostile names; nothing."""
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cli import perf_make as pm

COMMON = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | pm.CALLCHAIN | pm.CGROUP
CONTEXT_KERNEL = 2**64 - 128
KERNEL_AT = 0xFFFFFFFFA0000000
START = 1_000_000_000_000


class Sampled(pm.Event):
    def at(self, ip, chain, pid, tid, time, cpu, period, cgroup=0, misc=pm.USER):
        body = struct.pack("<QQIIQIIQQ", self.ident, ip, pid, tid, time, cpu, 0, period, len(chain))
        return pm.record(9, body + struct.pack("<%dQ" % len(chain), *chain) + struct.pack("<Q", cgroup), misc)


def functions(path):
    """Addresses of the functions of a program, in the order of their names."""
    out = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    found = {n: int(a, 16) for a, k, n in (line.split() for line in out.splitlines()) if k in "tT"}
    return [found[n] for n in sorted(found) if n.startswith("f_")]


def program(work, nr=40, clone=""):
    """A library whose functions f_00... each have a few bytes; f_07 ends as a compiler's @clone does."""
    source = os.path.join(work, "p.c")
    with open(source, "w", encoding="ascii") as f:
        f.write('int f_07(int x) __asm__("f_07%s");\n' % clone)
        f.writelines("int f_%02d(int x) { return x * %d + %d; }\n" % (i, i + 3, i) for i in range(nr))
    path = os.path.join(work, "libpage.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", path, source], check=True)
    return path, functions(path)


def many(make, work, recording, nr, stacks=20000):
    """Samples as of a busy service, by tests/make/page_make.c: a million a second."""
    path, at = program(work, 600)
    with open(recording, "wb") as f:
        subprocess.run([make, path, str(nr), str(stacks)], input="".join("%x\n" % a for a in at).encode(), stdout=f, check=True)


def rounds(seed):
    """Numbers that look random and are the same everywhere."""
    x = seed
    while True:
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        yield x >> 33


def sampled(work, nr=4000, seed=7, clone="", has_faults=False):
    """@has_faults: each fifth sample is one of another event, which counts 1 and has no kernel's."""
    path, at = program(work, clone=clone)
    event, faults = Sampled(COMMON, config=0), Sampled(COMMON, ident=2, config=2)
    r = rounds(seed)
    records = b"".join(pm.cgroup(event, g + 1, b"/slice-%d" % g + b"/inner" * (g == 2)) for g in range(3))
    records += pm.ksymbol(event, KERNEL_AT, b"k_work") + pm.ksymbol(event, KERNEL_AT + 64, b"k_wait")
    for p in (100, 200, 300):
        records += pm.comm(event, p, b"proc-%d" % p) + pm.mmap2(event, p, 0, 0x100000, path.encode())
    time = START
    for i in range(nr):
        time += 1000 + next(r) % 200000
        if i == nr // 2:
            records += pm.comm(event, 100, b"renamed", time)
            time += 6_000_000_000  # a difference of more than 32 bits
        pid = (100, 200, 300)[next(r) % 3]
        chain = [at[0] + 1, at[1 + next(r) % 3] + 1]
        for _ in range(next(r) % 8):
            chain.append(at[4 + next(r) % 36] + 1)
        if next(r) % 9 == 0:
            chain.append(at[1] + 1)  # a recursion, now and then
        user = (pm.CONTEXT_USER, *reversed(chain))
        period = 250000 + next(r) % 3 * 1000
        if next(r) % 4 == 0:
            ip = KERNEL_AT + 64 * (next(r) % 2) + 8
            records += event.at(ip, (CONTEXT_KERNEL, ip, *user), pid, pid, time, next(r) % 4, period, 1 + pid // 100 % 3, pm.KERNEL)
        elif has_faults and i % 5 == 0:
            records += faults.at(chain[-1], user, pid, pid, time, next(r) % 4, 1, 1 + pid // 100 % 3)
        else:
            records += event.at(chain[-1], user, pid, pid, time, next(r) % 4, period, 1 + pid // 100 % 3)
    records += pm.record(2, struct.pack("<QQ", 1, 17) + event.sample_id(100, time))  # LOST
    records += pm.record(5, struct.pack("<QQQ", time, 7, 7) + event.sample_id(100, time)) + pm.record(6, struct.pack("<QQQ", time, 7, 7) + event.sample_id(100, time))  # THROTTLE, UNTHROTTLE
    records += pm.record(11, struct.pack("<QQQ", 0, 4096, 1) + event.sample_id(100, time))  # AUX, truncated
    if has_faults:
        return write(work, "sampled.data", [event, faults], records, [b"cpu-clock", b"page-faults"])
    return write(work, "sampled.data", event, records, b"cpu-clock")


def write(work, name, events, records, names):
    """One event and its name, or lists of them."""
    events, names = (x if isinstance(x, list) else [x] for x in (events, names))
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(pm.perf_data(events, records, {12: pm.event_desc(events, names)}))
    return path


def empty(work):
    return write(work, "empty.data", Sampled(COMMON), b"", b"cpu-clock")


OUT, PREEMPTED = 1 << 13, 1 << 14
def plain(work, name, flags, comms=(b"one",)):
    """Samples with only what @p flags says: no stacks, no times, no symbols."""
    event = pm.Event(flags)
    records = b"".join(pm.comm(event, 7 + i, c) + pm.mmap2(event, 7 + i, 0x400000, 0x1000, b"/nowhere/app") for i, c in enumerate(comms))
    records += b"".join(event.sample(0x400000 + 16 * (i % 5), pid=7 + i % len(comms), time=START + 1000 * i, chain=(pm.CONTEXT_USER, 0x400000 + 16 * (i % 5))) for i in range(60))
    return write(work, name, event, records, b"cpu-clock")


def half_timeless(work):
    """Samples of an event without times, then those of one that has them."""
    timed, timeless = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.PERIOD), pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.PERIOD, ident=2)
    records = b"".join((timeless if i < 20 else timed).sample(0x400000, time=START + 1000 * i) for i in range(60))
    return write(work, "half.data", [timed, timeless], records, [b"cpu-clock", b"cycles"])


# Of a thread: (ns after START, what happened).
SWITCHES = ((500, "in"), (2000, "preempted"), (3000, "in"), (5000, "out"), (9000, "in"), (12000, "out"))


def switched(work, late=()):
    """One thread with samples and switches, one with switches alone, and the idle task; @late: when the second, with a sample then, is switched to after the last sample."""
    event, records = Sampled(COMMON), b""
    at = {"in": 0, "preempted": OUT | PREEMPTED, "out": OUT}
    records += pm.comm(event, 100, b"busy") + pm.comm(event, 200, b"silent")
    items = [(t, pm.record(14, event.sample_id(tid, START + t), at[what])) for tid in (100, 200, 0) for t, what in SWITCHES]
    items += [(t, event.at(0x1000, (pm.CONTEXT_USER, 0x1000), 100, 100, START + t, 0, 1000)) for t in (1000, 1500, 4000, 10000, 13000)]
    items += [(t, pm.record(14, event.sample_id(200, START + t))) for t in late]
    items += [(12500, event.at(0x1000, (pm.CONTEXT_USER, 0x1000), 200, 200, START + 12500, 0, 1000))] if late else []
    records += b"".join(r for _, r in sorted(items, key=lambda x: x[0]))
    return write(work, "switched.data", event, records, b"cpu-clock")


def paused(work):
    """Two threads on two CPUs; events are throttled: from before the first sample on, in between, and until after the last one."""
    event, records = Sampled(COMMON), pm.comm(Sampled(COMMON), 100, b"one") + pm.comm(Sampled(COMMON), 200, b"two")
    throttled = lambda kind, t, cpu: (t, pm.record(kind, struct.pack("<QQQ", START + t, cpu, cpu) + struct.pack("<IIQIIQ", 100, 100, START + t, cpu, 0, event.ident)))
    items = [(t, event.at(0x1000, (pm.CONTEXT_USER, 0x1000), 100 * (1 + cpu), 100 * (1 + cpu), START + t, cpu, 1000)) for t, cpu in ((1000, 0), (2000, 1), (9000, 0), (11000, 1))]
    items += [throttled(5, 500, 0), throttled(6, 1500, 0), throttled(5, 3000, 1), throttled(6, 7000, 1), throttled(5, 10000, 0), throttled(6, 12000, 0), throttled(5, 200, 2), throttled(6, 900, 2)]
    return write(work, "paused.data", event, records + b"".join(r for _, r in sorted(items, key=lambda x: x[0])), b"cpu-clock")


def lossy(work):
    """Two threads on two CPUs, and what was lost of each; the last is of a CPU without samples, after all others."""
    event = Sampled(COMMON)
    records = pm.comm(event, 100, b"one") + pm.comm(event, 200, b"two")
    lost = lambda t, cpu, nr: (t, pm.record(2, struct.pack("<QQ", event.ident, nr) + struct.pack("<IIQIIQ", 100, 100, START + t, cpu, 0, event.ident)))
    items = [(t, event.at(0x1000, (pm.CONTEXT_USER, 0x1000), 100 * (1 + cpu), 100 * (1 + cpu), START + t, cpu, 1000)) for t, cpu in ((500, 0), (1500, 0), (500, 1), (9000, 0), (10000, 1))]
    items += [lost(2500, 0, 17), lost(4500, 1, 3), lost(10000, 0, 5), lost(12000, 2, 1)]
    return write(work, "lossy.data", event, records + b"".join(r for _, r in sorted(items, key=lambda x: x[0])), b"cpu-clock")


EVIL = [b"<img src=x onerror=window.hacked=1>", b"</script><script>window.hacked=2</script>", b"\xe2\x80\xaetxt.exe", b"--><svg onload=window.hacked=3>",
        b"\x1b[31m\xff\xc3(", b"long" * 15000, b"@DATA@ ${window.hacked=4} \\u0041", b"__proto__", b"' onclick='window.hacked=5"]


def hostile(work):
    event = Sampled(COMMON)
    records = b""
    for i, evil in enumerate(EVIL):
        pid = 100 + i
        records += pm.cgroup(event, i + 1, b"/" + evil) + pm.comm(event, pid, evil[:200]) + pm.ksymbol(event, KERNEL_AT + 64 * i, evil)
        records += pm.mmap2(event, pid, 0x1000 * (i + 1), 0x1000, b"/nowhere/" + evil[:3000])
    for n in range(90):
        i = n % len(EVIL)
        k, u = KERNEL_AT + 64 * i + 4, 0x1000 * (i + 1) + 16
        records += event.at(k, (CONTEXT_KERNEL, k, pm.CONTEXT_USER, u, u + 16), 100 + i, 100 + i, START + n * 1000000, 0, 1000, i + 1, pm.KERNEL)
    return write(work, "<b>hostile.data", event, records, b"<i>event</i>")
