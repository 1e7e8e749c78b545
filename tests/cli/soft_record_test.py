#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The software trace source, live: what it records against pure single steps, what the programs notice of it, and
what it does at events. No check depends on how fast anything runs.

Usage: soft_record_test.py CLEW SOFT_TRUTH SOFT_APP SOFT_BEGINS [short]

short: without what takes long, for builds in which all does."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all  # noqa: E402

clew, truth, app, begins = (os.path.abspath(p) for p in sys.argv[1:5])
is_short = "short" in sys.argv[5:]
top = tempfile.mkdtemp()
os.chdir(top)
TIMEOUT = 240


def run(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, **more)


def record(*argv):
    return run(clew, "record", "-o", "perf.data", *argv)


def script(*argv):
    return run(clew, "script", "-i", "perf.data", *argv)


def addresses():
    return [line.split()[0] for line in script("--itrace=i1i", "-F", "ip").stdout.splitlines() if line.strip()]


def same_as_stepped(name, *argv):
    """The program is the last that is executed: soft_truth starts it at the addresses it always has."""
    stepped = run(truth, "steps", *argv)
    traced = record("-e", "soft_pt//u", "--", truth, "--exec", *argv)
    want, got = open("steps").read().split(), addresses()
    tail = got[-len(want):]
    where = next((i for i, (a, b) in enumerate(zip(want, tail)) if a != b), len(want))
    check(traced.returncode == stepped.returncode and tail == want, f"{name}: each instruction as it was stepped",
          [traced.stderr, f"{len(want)} stepped, {len(got)} traced, first difference {where}",
           *want[where:where + 3], "traced:", *tail[where:where + 3]])
    check(stepped.stdout == traced.stdout, f"{name}: its output is the same", traced.stdout)


def one_kind_of_trace():
    probe = record("-e", "soft_pt//u", "--", "true")
    if "x86-64" in probe.stderr:
        skip_all("not an x86-64 machine, or built without Zydis")
    if "may not be traced" in probe.stderr:
        skip_all("ptrace is not allowed here")
    check(probe.returncode == 0, "true is recorded", probe.stderr)


def edges():
    alone = run(app)
    traced = record("-v", "-e", "soft_pt//u", "--", app)
    check(traced.stdout == alone.stdout, "signals, threads, children, exec: the output is the same",
          [traced.stdout, traced.stderr])
    errors = [e for e in script("--itrace=e").stdout.splitlines() if "code made at run time" not in e]
    check(not errors, "and all but generated code is decoded", errors)
    check("not where" not in traced.stderr, "no thread was lost", traced.stderr)


def peers():
    perf = shutil.which("perf")
    record("-e", "soft_pt//u", "--", app, "calls")
    if not perf:
        skip("perf decodes the same branches", "there is no perf")
        return
    ours = script("--itrace=b", "-F", "ip,addr").stdout.split()
    theirs = run(perf, "script", "-i", "perf.data", "--itrace=b", "-F", "ip,addr").stdout.split()
    check(len(ours) > 1000 and ours == theirs, "perf decodes the same branches", [len(ours), len(theirs)])


def at_system_call():
    made = record("-e", "soft_pt/aux-action=start-paused/u,syscalls:sys_enter_newuname/aux-action=resume/,"
                  "syscalls:sys_exit_newuname/aux-action=pause/", "uname")
    if "tracefs" in made.stderr or "no event" in made.stderr:
        skip("uname from its entry to its exit", "tracepoints cannot be read")
        return
    lines = [line for line in script("--itrace=b", "-F", "event,ip,sym").stdout.splitlines() if line.strip()]
    kinds = [re.sub(r":.*", "", line.split()[0].replace("syscalls:", "")) for line in lines]
    check(kinds == ["sys_enter_newuname", "branches", "branches", "sys_exit_newuname"],
          "uname from its entry to its exit: trace between the samples", [made.stderr, *lines])
    check("uname" in lines[2] if len(lines) > 2 else False, "it is the system call's own instruction", lines)
    check("[paused]" not in script("--call-trace").stdout, "and in the interval that the samples make")


def at_function():
    made = record("-e", "soft_pt/aux-action=start-paused/u", "--trace-between", "top,recurse", app, "calls")
    if "uprobe" in made.stderr and made.returncode:
        skip("from one function to another", "no uprobes here")
        return
    text = script("--call-trace").stdout
    check(text.count("leaf") == 10 and text.count("middle") == 5 and "[paused]" not in text,
          "from each call of one function to one of another, by probes", [made.stderr, *text.splitlines()])


def without_registers():
    """Four places take all debug registers: the threads are stepped, also over the probes' own INT3."""
    places = (("top", "resume"), ("recurse", "pause"), ("main", "pause"), ("spin", "resume"))
    probes = ",".join(f"uprobe:{app}:{symbol}/aux-action={action}/" for symbol, action in places)
    made = record("-v", "-e", f"soft_pt/aux-action=start-paused/u,{probes}", app, "calls")
    if "uprobe" in made.stderr and made.returncode:
        skip("the same without a free debug register", "no uprobes here")
        return
    text = script("--call-trace").stdout
    steps = int(re.search(r"(\d+) single steps", made.stderr)[1])
    check(text.count("leaf") == 10 and steps > 10 and made.stdout == "calls: 85\n",
          "the same without a free debug register", [made.stdout, made.stderr, *text.splitlines()])


def names(text):
    found = []
    for line in text.splitlines():
        name = line.partition("\t")[2]  # of psb: none
        if name.strip():
            found.append((len(name) - len(name.lstrip())) // 4 * "." + name.split()[0])
    return found


def calls_of_function():
    tree = ["top", "middle", "leaf", "leaf", "recurse", "recurse", "recurse", "middle", "leaf", "leaf", "leaf"]
    for option, nr in ((), 5), (("--max-calls", "2"), 2), (("--max-calls=1",), 1):
        made = record("--trace-function", "top", *option, app, "calls")
        got = [n.strip(".") for n in names(script("--call-trace").stdout)]
        calls = [n for n in got if n != "main"]
        check(calls == tree * nr and made.stdout == "calls: 85\n", f"{nr} calls of a function, as a tree",
              [made.stdout, made.stderr, *got])
    made = record("--trace-function", "uname@libc.so.6", "uname")
    check("1 call of uname" in made.stderr, "a function of a library", made.stderr)
    made = record("--trace-function", "nosuchfunction", app, "calls")
    check("it was not called" in made.stderr and made.stdout == "calls: 85\n", "one that is nowhere", made.stderr)


def window(first, last, *argv):
    """One window for each call of first, up to last: all trace lies in the intervals of the samples."""
    alone = run(begins, *argv)
    made = record("-e", "soft_pt/aux-action=start-paused/u", "--trace-between", f"{first},{last}", "--", begins, *argv)
    if "uprobe" in made.stderr and made.returncode:
        return None
    lines = [line.split() for line in script("--itrace=i1i", "-F", "event,ip,sym,symoff").stdout.splitlines()]
    places = [line[-1] for line in lines if "instructions" in line[0]]
    text = script("--itrace=b", "-F", "event,ip,sym").stdout
    lost = re.search(r"(\d+)  lost pauses", run(clew, "report", "-i", "perf.data", "--stats").stdout)
    good = made.stdout == alone.stdout and "[paused]" not in text and (not lost or lost[1] == "0")
    return good, places, [made.stdout, alone.stdout, made.stderr, *text.splitlines()[:20], *places[:20]]


def windows():
    names = "plain ret jcc jmp call indirect call_indirect memory loop rep recurse".split()
    wrong = []
    for name in names:
        found = window(f"win_{name}", "win_end", f"win_{name}")
        if not found:
            skip("windows that begin with any instruction", "no uprobes here")
            return
        good, places, why = found
        starts = [i for i, p in enumerate(places) if p == f"win_{name}+0x0" and (not i or "win_" not in places[i - 1])]
        if not good or places[:1] != [f"win_{name}+0x0"] or len(starts) < 1:
            wrong += [name, *why]
    check(not wrong, "windows that begin with any instruction", wrong)
    good, places, why = window("win_jcc", "win_jcc", "win_jcc")
    check(good and not places, "a window that ends where it begins has no trace", why)
    for more in "threads", "alarms":
        good, places, why = window("win_ret", "win_end", "windows", more)
        check(good and places, f"windows beside {more}", why)


def own_traps():
    """The program's own single steps, breakpoints and SIGTRAPs are its own."""
    alone = run(begins, "traps").stdout
    for name, options in (("traced", ("-e", "soft_pt//u")), ("waiting for a function", ("--trace-function", "win_end")),
                          ("between two functions", ("-e", "soft_pt/aux-action=start-paused/u", "--trace-between", "win_end,win_helper"))):
        made = record(*options, "--", begins, "traps")
        if "uprobe" in made.stderr and made.returncode:
            skip(f"its own traps, {name}", "no uprobes here")
            continue
        # The kernel's uprobes give the trap after them another code.
        same = (lambda s: re.sub("codes [0-9a-f]+", "", s)) if "win_helper" in " ".join(options) else str
        check(same(made.stdout) == same(alone), f"its own traps, {name}", [made.stderr, made.stdout, "alone:", alone])


def traced_by(pid):
    return [int(re.search(r"TracerPid:\t(\d+)", open(f"/proc/{pid}/task/{t}/status").read())[1])
            for t in os.listdir(f"/proc/{pid}/task")]


def wait_for(what):
    until = time.time() + 60
    while not what() and time.time() < until:
        time.sleep(0.02)
    return what()


def attached():
    with subprocess.Popen([app, "spin"]) as p:
        wait_for(lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 2)
        cpus = os.sched_getaffinity(p.pid)
        made = record("-e", "soft_pt//u", "-p", str(p.pid), "--", "sleep", "0.3")
        check(made.returncode == 0 and traced_by(p.pid) == [0, 0], "a process that runs, and is released", made.stderr)
        errors = script("--itrace=e").stdout
        check(not errors and "spin" in script("--itrace=b").stdout, "its trace is decoded", errors)
        for number in signal.SIGTERM, signal.SIGKILL:
            with subprocess.Popen([clew, "record", "-q", "-o", "perf.data", "-e", "soft_pt//u", "-p", str(p.pid)],
                                  stderr=subprocess.DEVNULL) as c:
                wait_for(lambda: all(traced_by(p.pid)))
                time.sleep(0.1)
                c.send_signal(number)
            gone = wait_for(lambda: traced_by(p.pid) == [0, 0])
            time.sleep(0.1)
            check(gone and p.poll() is None and os.sched_getaffinity(p.pid) == cpus,
                  f"it runs on when clew ends by {number.name}", [p.poll(), traced_by(p.pid)])
        with subprocess.Popen([clew, "record", "-q", "-o", "other.data", "-e", "soft_pt//u", "-p", str(p.pid)],
                              stderr=subprocess.DEVNULL) as c:
            wait_for(lambda: all(traced_by(p.pid)))
            made = record("-e", "soft_pt//u", "-p", str(p.pid), "--", "true")
            check(made.returncode and "another program traces it" in made.stderr, "what is traced already is refused",
                  made.stderr)
            c.send_signal(signal.SIGTERM)
        p.kill()


def refused():
    for argv, why in (
            (("-e", "soft_pt//k", "true"), "cannot see the kernel"),
            (("-e", "soft_pt//u", "-a", "true"), "traces tasks"),
            (("-e", "soft_pt//u", "-S", "true"), "no snapshots"),
            (("-e", "soft_pt/noretcomp=0/u", "true"), "always writes times"),
            (("-e", "soft_pt/psb_period=99/u", "true"), "at most 15"),
            (("-e", "soft_pt/aux-action=start-paused/u,page-faults/aux-action=resume/", "true"), "cannot act on soft_pt"),
            (("--max-calls=3", "true"), "--max-calls needs"),
            (("--trace-function=", "true"), "expected SYMBOL")):
        made = record(*argv)
        check(made.returncode and why in made.stderr, f"refused: {' '.join(argv)}", made.stderr)


try:
    one_kind_of_trace()
    same_as_stepped("true", "/bin/true")
    if not is_short:
        same_as_stepped("calls", app, "calls")
        same_as_stepped("ls", "/bin/ls", "/")
        edges()
        peers()
    at_system_call()
    at_function()
    without_registers()
    calls_of_function()
    windows()
    own_traps()
    attached()
    refused()
finally:
    shutil.rmtree(top)
done()
