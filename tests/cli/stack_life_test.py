#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What recording user stacks does to programs, and what short lives do to the recording.

long call:  samples of one long system call share one cookie and get one stack
short:      stacks of short system calls are read at the sample, and not put off by another interrupt
remaps:     so they are where mappings change all the time
calls:      no call comes back short or interrupted because of the recording, by the program's own count and by strace's
flood:      threads, forks, execs, modules and 10 kHz of signals: the outcomes add up to the samples, memory is bounded, nothing hangs
            (CLEW_TEST_STACKS=1 and more: a million threads)
end:        a task that stays in one system call for the whole recording

Usage: stack_life_test.py CLEW     Environment: stack_lib.py"""
import collections
import os
import re
import shutil
import subprocess
import sys

from stack_lib import CLEW, HZ, IS_FULL, LENGTH, LIVE, StackTap, may_use_bpf, samples, user_part, why_missing

BACKENDS = ["auto"]
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")


def outcomes(path):
    """The table of outcomes as `clew report --stats` prints it: ({outcome: samples}, samples)."""
    p = subprocess.run([CLEW, "report", "--stats", "-i", path], capture_output=True, text=True, check=False)
    m = re.search(r"^ *samples (\d+): complete (\d+), partial (\d+), unproven (\d+), none-expected (\d+)[^,]*?(?: \([^)]*\))?, "
                  r"lost (\d+)", p.stdout, re.M)
    total = re.search(r"^ *(\d+)  delivered", p.stdout, re.M)
    if not m or not total:
        return {}, None
    table = {"there": sum(int(m.group(i)) for i in (2, 3, 4)), "none-expected": int(m.group(5)), "lost": int(m.group(6))}
    reasons = sum(int(n) for n in re.findall(r"^ +(\d+) +[\d.]+%  (?:lost|none expected): ", p.stdout, re.M))
    if reasons != table["none-expected"] + table["lost"]:
        table["reasons that do not add up"] = reasons
    return table, int(total.group(1))


def one_long_call(t, program):
    r = t.record_stacks("long", "auto,deferred", [program, "read", "1024", "3"])
    if not t.check(r.status == 0, "long call: recorded", r.err):
        return
    chains, nr, nr_bare = collections.Counter(), 0, collections.Counter()
    is_begun = False
    for s in samples(r.path):
        is_begun = is_begun or any(f.get("sym") == "main" for f in user_part(s))
        if not is_begun:  # the dynamic linker reads, too
            continue
        if not any(f.get("sym", "") in ("ksys_read", "__x64_sys_read", "__arm64_sys_read") for f in s.get("callchain", []) if f.get("kind") == "kernel"):
            continue
        nr += 1
        user = user_part(s)
        if not user:
            nr_bare[why_missing(s)] += 1
        chains[tuple(f["ip"] for f in user)] += 1
    t.note(f"long call: {nr} samples in read(), {len(chains)} different user stacks, without: {dict(nr_bare)}")
    t.check(nr > 300, "long call: samples in the call", nr)
    t.check(len(chains) == 1 and not nr_bare, "long call: every sample of it has the same user stack", chains.most_common(3))
    cookies = collections.Counter(f["ip"] for s in samples(r.path, more=["--no-merge-callchains"]) for f in s.get("callchain", [])
                                  if f["kind"] == "cookie" and any(k.get("sym") == "ksys_read" for k in s["callchain"]))
    of_calls = [n for n in cookies.values() if n > 20]  # the dynamic linker reads, too
    t.note(f"long call: cookies of the samples in read(): {dict(cookies)}")
    t.check(len(of_calls) == 3 and sum(of_calls) > 0.95 * nr, "long call: each call has one cookie, which all its samples share", cookies)
    deep = [f.get("sym") for s in samples(r.path) for f in user_part(s)]
    t.check(all(f"deep{i}" in deep for i in range(1, 9)), "long call: the stack holds deep1 to deep8")


def record_with_tables(t, name, program, nr):
    """Until the tables are there all stacks are put off, and how soon that is depends on how busy the machine is: again, with @p nr doubled, until it was
    less than a tenth of the recording. @return the recording, its requests and those walked at once; None where they are not counted"""
    for _ in range(5):
        r = t.record_stacks(name, "auto", [program, str(nr)], ["-v"])
        m = re.search(r"(\d+) ended in user space.* BPF: (\d+) requests, .* (\d+) walked at once", r.err)
        without = re.search(r"(\d+) no-table-yet", r.err)
        if not m or 10 * (int(m[1]) + int(without[1] if without else 0)) < int(m[2]):
            break
        nr *= 2
    return r, m and (int(m[2]), int(m[3]))


def short_calls(t, program):
    r, walks = record_with_tables(t, "short", program, 1000000)
    if not t.check(r.status == 0 and walks, "short: recorded, and -v counts the stacks walked at once", r.err):
        return
    put_off, listed = walks[0] - walks[1], list(samples(r.path))
    in_kernel = sum(any(f.get("kind") == "kernel" for f in s.get("callchain", [])) for s in listed)
    of_loop = [u for u in map(user_part, listed) if any(f.get("sym") == "call" for f in u)]
    t.note(f"short: {len(listed)} samples, {in_kernel} in the kernel, {put_off} put off, {len(of_loop)} in the loop")
    t.check(in_kernel > 100 and put_off < in_kernel / 2, "short: less than half of the samples in the kernel is put off", (put_off, in_kernel))
    t.check(len(of_loop) > 0.9 * len(listed) and all(u[-1].get("sym") == "_start" and sum(f.get("sym") == "descend" for f in u) == 15 for u in of_loop),
            "short: each stack has all frames down to _start", [[f.get("sym") for f in u] for u in of_loop[:3]])


REMAPS = """#include <stdlib.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	for (long i = atol(argv[1]); i; i--)
		munmap(mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}
"""


def mappings_change(t):
    """All stacks lead through two mappings, libc's and the program's; with each call others change."""
    with open(t.path("remaps.c"), "w", encoding="ascii") as f:
        f.write(REMAPS)
    r, walks = record_with_tables(t, "remaps", t.compile("remaps", [t.path("remaps.c")], ["-O2"]), 150000)
    t.note(f"remaps: {walks} requests, walked at once")
    t.check(r.status == 0 and walks and walks[1] > walks[0] / 2, "remaps: most stacks are walked at once", r.err)
    whole = [user_part(s)[-1:] for s in samples(r.path) if any(f.get("sym") == "main" for f in user_part(s))]
    t.check(whole and all(u[0].get("sym") == "_start" for u in whole), "remaps: each stack is whole", len(whole))


def counted(text):
    m = re.search(r"calls (\d+) short (\d+) interrupted (\d+)", text)
    return tuple(int(n) for n in m.groups()) if m else None


def leaves_calls_alone(t, program):
    for what, arguments, more in (("read", ["read", "256", "8"], []),
                                  ("block", ["block", str(int(300 * LENGTH))], []),
                                  ("block, with sched_switch", ["block", str(int(300 * LENGTH))],
                                   ["-e", f"cpu-clock/freq={HZ}/", "-e", "sched:sched_switch", "-c", "1"])):
        alone = counted(subprocess.run([program, *arguments], capture_output=True, text=True, check=False).stdout)
        tag = what.replace(", ", "-").replace(" ", "-")
        r = t.record_stacks(tag, "auto", [program, *arguments], more)
        if r.status and more and "sched" in r.err:
            t.skip(f"{what}: calls", "no tracepoints here")
            continue
        with open(t.path(tag + ".out"), encoding="ascii") as f:
            now = counted(f.read())
        t.check(now is not None and now[0] == alone[0] and now[1:] == alone[1:] == (0, 0),
                f"{what}: as many calls, none short or interrupted", f"alone {alone}, recorded {now}; {r.err[-200:]}")


def strace_table(path):
    """call -> (calls, errors)"""
    table = {}
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                m = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\d+)?\s+(\w+)$", line)
                if m and m.group(3) != "total":
                    table[m.group(3)] = (int(m.group(1)), int(m.group(2) or 0))
    except OSError:
        pass
    return table


def strace_agrees(t, program):
    strace = shutil.which("strace")
    if not strace:
        t.skip("strace -c: no calls more, no errors more", "no strace here")
        return
    for what, arguments in (("read", ["read", "64", "4"]), ("block", ["block", "100"])):
        argv = lambda name: [strace, "-f", "-c", "-o", t.path(name), program, *arguments]  # noqa: E731
        p = subprocess.run(argv("alone.strace"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if p.returncode:
            t.skip(f"strace -c, {what}", p.stderr[-100:])
            continue
        t.record_stacks("strace-" + what, "auto", argv("recorded.strace"))
        alone, now = strace_table(t.path("alone.strace")), strace_table(t.path("recorded.strace"))
        names = ("read", "nanosleep", "clock_nanosleep", "poll", "select", "pselect6", "epoll_wait", "epoll_pwait",
                 "restart_syscall")
        # How often the program's feeding thread sleeps depends on time; its errors do not.
        show = lambda table, n: table.get(n, (0, 0)) if what == "read" else table.get(n, (0, 0))[1]  # noqa: E731
        differ = [f"{n}: {show(alone, n)} alone, {show(now, n)} recorded" for n in names if show(alone, n) != show(now, n)]
        t.check(alone and now and not differ, f"strace -c, {what}: no call more, no error more", "\n".join(differ))


def flood(t, churn, module):
    nr = int(os.environ.get("CLEW_TEST_THREADS", "1000000" if IS_FULL else "20000"))
    name = "flood"
    r = t.record_stacks(name, "auto", [churn, str(nr), "10000", module], ["-v"], timeout=900)
    with open(t.path(name + ".out"), encoding="ascii") as f:
        t.note(f"flood: {f.read().strip()}; {r.seconds:.1f} s, recorder at most {r.peak_mib:.0f} MiB")
    t.note(" / ".join(line for line in r.err.splitlines() if "user stacks" in line or "captured" in line))
    if not t.check(r.status == 0, "flood: the recording ends by itself", r.err):
        return
    t.check(r.peak_mib < 400, "flood: the recorder's memory stays below 400 MiB", f"{r.peak_mib:.0f} MiB")
    listed = sum(1 for _ in samples(r.path))
    m = re.search(r"\((\d+) samples", r.err)
    t.check(m and listed == int(m.group(1)), "flood: script has every sample", f"{listed}; {r.err[-120:]}")
    table, total = outcomes(r.path)
    t.note(f"flood: outcomes {table}")
    if not t.check(bool(table), "flood: --stats prints the table of outcomes"):
        return
    t.check(sum(table.values()) == total, "flood: the outcomes add up to the samples", f"{table}, {total}")
    nr_bare = sum(1 for s in samples(r.path) if not user_part(s) and not why_missing(s) and s["pid"])
    t.check(nr_bare == 0, "flood: whoever has no user part says why", nr_bare)
    if not os.environ.get("CLEW_TEST_KEEP"):
        os.unlink(r.path)


def grows(t, churn):
    """No leak: twice the flood takes no more memory."""
    peaks = []
    for nr in (20000, 80000) if IS_FULL else (5000, 20000):
        r = t.record_stacks(f"grow{nr}", "auto", [churn, str(nr), "0"], timeout=900)
        peaks.append(r.peak_mib)
        if os.path.exists(r.path):
            os.unlink(r.path)
    t.check(peaks[1] < peaks[0] + 64, "flood: four times the threads, and not 64 MiB more", peaks)


def stays_in_the_kernel(t, program):
    """Sampled at sched_switch while it goes to sleep, for longer than the recording."""
    path, begin = t.path("end.data"), t.path("begin")
    os.mkfifo(begin)
    fd = os.open(begin, os.O_RDWR)  # does not wait for the other side
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; input(); time.sleep(600)"], stdin=fd)
    try:
        p = subprocess.run([CLEW, "record", "-e", "sched:sched_switch", "-c", "1", "--call-graph", "auto", "-p", str(sleeper.pid),
                            "-o", path, "--", "sh", "-c", f"echo > {begin}; sleep 1"], capture_output=True, text=True, timeout=600, check=False)
        t.check(p.returncode == 0 or "no tracepoint" in p.stderr, "end: the recording does not wait for a sleeping task", p.stderr)
        found = list(samples(path)) if os.path.exists(path) else []
        t.note(f"end: {len(found)} samples of a task that slept on: {[why_missing(s) or len(user_part(s)) for s in found][:5]}")
    finally:
        sleeper.kill()
        sleeper.wait()
        os.close(fd)


def main():
    t = StackTap()
    if not may_use_bpf():
        t.skip_all("needs root and BTF")
    calls = t.compile("calls", [os.path.join(LIVE, "truth_calls.c")], ["-O2"])
    churn = t.compile("churn", [os.path.join(LIVE, "truth_churn.c")], ["-O2"])
    with open(t.path("module.c"), "w", encoding="ascii") as f:
        f.write("int m0(int x) { return x + 1; }\n")
    module = t.compile("module.so", [t.path("module.c")], ["-O2", "-shared", "-fPIC"])
    if not calls or not churn or not module:
        t.skip_all("no compiler")
    short = t.compile("short", [os.path.join(BENCH, "calls.c")], ["-O2", "-g", "-fno-optimize-sibling-calls"])
    wanted = sys.argv[2:]
    for name, run in (("long", lambda: one_long_call(t, calls)), ("short", lambda: short_calls(t, short)), ("remaps", lambda: mappings_change(t)), ("calls", lambda: leaves_calls_alone(t, calls)),
                      ("strace", lambda: strace_agrees(t, calls)), ("flood", lambda: flood(t, churn, module)),
                      ("grow", lambda: grows(t, churn)), ("end", lambda: stays_in_the_kernel(t, calls))):
        if not wanted or name in wanted:
            run()
    t.done()


main()
