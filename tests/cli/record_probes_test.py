#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Uprobes are followed into children and threads, counted to the last hit, and leave nothing in tracefs.

Usage: record_probes_test.py CLEW"""
import os
import re
import signal
import subprocess
import sys

from record_lib import CLEW, PATIENCE, Tap

LIST = "/sys/kernel/tracing/uprobe_events"
LIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live")
NR = 50
CPU = str(min(os.sched_getaffinity(0)))  # tasks that share one CPU may lose their probes: docs/decisions/bpf-stacks.md


def definitions(pid):
    """Lines of the kernel's list that the recorder @p pid has made."""
    with open(LIST, encoding="utf-8", errors="replace") as f:
        return [line for line in f if re.match(rf"[pr]\d*:clew_{pid}_", line)]


def record_by(t, options, command):
    """@return (samples, recorder's pid, its messages)"""
    p = subprocess.Popen([CLEW, "record", *options, "-o", t.path(), "--", *command], stderr=subprocess.PIPE, text=True,
                         cwd=t.dir)
    err = p.communicate(timeout=PATIENCE)[1]
    m = re.search(r"\((\d+) samples", err)
    return (int(m.group(1)) if m else 0), p.pid, err


def follows(t, program):
    event = f"uprobe:{program}:probed"
    for what, events, command, wanted in (
            ("the command itself", [event], [program, "plain", str(NR)], NR),
            ("its threads", [event], [program, "threads", str(NR), "3"], 3 * NR),
            ("children that do not exec", [event], [program, "fork", str(NR), "3"], 3 * NR),
            ("children side by side", [event], ["taskset", "-c", CPU, program, "beside", str(20 * NR), "3"], 60 * NR),
            ("a child, after its threads", [event], ["sh", "-c", f"taskset -c {CPU} '{program}' after {20 * NR} 3; true"], 80 * NR),
            ("programs that a shell starts", [event], ["sh", "-c", f"'{program}' plain {NR}; '{program}' plain {NR}; true"],
             2 * NR),
            ("a return", [f"uretprobe:{program}:probed"], ["sh", "-c", f"'{program}' plain {NR}; true"], NR),
            ("returns of nested calls", [f"uretprobe:{program}:nested"], ["sh", "-c", f"'{program}' plain {NR}; true"], 6 * NR),
            ("two events of one place", [event, f"uretprobe:{program}:probed"], ["sh", "-c", f"'{program}' plain {NR}; true"],
             2 * NR)):
        options = [o for e in events for o in ("-e", e)]
        nr, pid, err = record_by(t, options, command)
        t.check(nr == wanted, f"{what}: each hit is a sample", f"{nr}, not {wanted}: {err}")
        t.check(not definitions(pid), f"{what}: no definition stays", definitions(pid))
    nr, _, err = record_by(t, ["--no-inherit", "-e", event], ["sh", "-c", f"'{program}' plain {NR}; true"])
    t.check(nr == 0, "--no-inherit: children are not followed", err)
    nr, _, err = record_by(t, ["-a", "-e", event], ["sh", "-c", f"'{program}' plain {NR}; true"])
    t.check(nr == NR, "-a: each hit is a sample", f"{nr}: {err}")
    other = subprocess.Popen([program, "endless", "1000000"])
    nr, _, err = record_by(t, ["-e", event], [program, "plain", str(NR)])
    t.check(nr == NR and other.poll() is None, "hits of a process that is not recorded are no samples", f"{nr}: {err}")
    nr, _, err = record_by(t, ["-g", "-e", event], [program, "plain", str(NR)])
    t.check(nr == NR and other.poll() is None and f"user stacks: {NR} for {NR} samples" in err, "and have no stacks",
            f"{nr}, the other: {other.poll()}: {err}")
    other.kill()
    other.wait()


def odd_names(t, program):
    for name in ("a b", "x:0x10", "per%cent", "new\nline"):
        odd = t.path(name)
        os.link(program, odd)
        spelled = odd.replace(":", "\\:")
        nr, pid, err = record_by(t, ["-e", f"uprobe:{spelled}:probed"], [odd, "plain", str(NR)])
        t.check(nr == NR and not definitions(pid), f"a file named {name!r}: each hit is a sample", err)
        os.unlink(odd)


def is_open(t, p):
    """Has the recorder come so far? The command says so."""
    return p.stdout.readline() == b"go\n"


def ends_by(t, program, number):
    # The shell waits on a pipe, so that the recorder lives until the signal.
    p = subprocess.Popen([CLEW, "record", "-e", f"uprobe:{program}:probed", "-o", t.path(), "--", "sh", "-c",
                          f"'{program}' plain {NR}; echo go; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    ready = is_open(t, p)
    during = definitions(p.pid)
    p.send_signal(number)
    p.stdin.close()
    p.wait(timeout=PATIENCE)
    p.stdout.close()
    return ready and len(during) == 1, p.pid


def removed_after(t, program):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ok, pid = ends_by(t, program, number)
        t.check(ok and not definitions(pid), f"{number.name}: the definition is there, and then no more", definitions(pid))
    ok, pid = ends_by(t, program, signal.SIGKILL)
    t.check(ok, "SIGKILL: the definition was there")
    # It may be held by the dying recorder's command for a moment: then the one after the next removes it.
    for _ in range(100):
        record_by(t, ["-e", f"uprobe:{program}:probed"], ["true"])
        if not definitions(pid):
            break
    t.check(not definitions(pid), "SIGKILL: a later recorder removes it", definitions(pid))


def main():
    t = Tap()
    if os.geteuid() or not os.access(LIST, os.W_OK):
        t.skip_all("needs root and tracefs with uprobe_events")
    program = t.path("probes")
    if subprocess.run([*os.environ.get("CC", "cc").split(), "-w", "-O1", "-fno-optimize-sibling-calls", "-o", program,
                       os.path.join(LIVE, "truth_probes.c"), "-lpthread"], check=False).returncode:
        t.skip_all("no compiler")
    follows(t, program)
    odd_names(t, program)
    removed_after(t, program)
    t.done()


sys.exit(main())
