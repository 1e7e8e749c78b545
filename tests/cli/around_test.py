#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: around_test.py CLEW DATA: `clew script --around`: the windows that a model makes of all calls, of Intel PT and of ETM; text, JSON, and wrong
arguments. What is not in DATA is skipped. TAP."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from tap import check, done, skip

clew = os.path.abspath(sys.argv[1])
truth = os.path.join(sys.argv[2], "intel-pt-truth")
PT = lambda name: ("-i", os.path.join(truth, name, "perf.data"), "--symfs", os.path.join(truth, "symfs"))
CALLS = {"call", "bco", "int", "syscall", "hw int"}

# --call-trace around one call; what is left of the column's blanks is cut.
GOLDEN = """\
            work  4242 (/traced/work.elf                                  )\t                            _dl_find_object_from_map
            work  4242 (/traced/work.elf                                  )\t                    _dlfo_sort_mappings.part.0
            work  4242 (/traced/work.elf                                  )\t                __mprotect
            work  4242 (/traced/work.elf                                  )\t
            work  4242 (/traced/work.elf                                  )\t            _init
--
            work  4242 (/traced/work.elf                                  )\t                                new_do_write
            work  4242 (/traced/work.elf                                  )\t                                    _IO_new_file_write
            work  4242 (/traced/work.elf                                  )\t                                        __libc_write
            work  4242 (/traced/work.elf                                  )\t
            work  4242 (/traced/work.elf                                  )\t                            __libc_cleanup_pop_restore
"""


def script(*args):
    return subprocess.run([clew, "script", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def events(*args):
    return [json.loads(x) for x in script("--json", *args).stdout.splitlines()]


def thread(e):
    return e.get("tid", ("cpu", e.get("cpu")))


def model(calls, names, nr):
    """{window: its calls}, without an order among them."""
    ret, by_thread = [], {}
    for e in calls:
        by_thread.setdefault(thread(e), []).append(e)
    for mine in by_thread.values():
        hits = [i for i, e in enumerate(mine) if e.get("addr", {}).get("sym") in names]
        shown, last = [], -1
        for i in hits:
            lo, hi = max(i - nr, 0), min(i + nr, len(mine) - 1)
            # A window that has ended is not in the next one again.
            if last >= 0 and i <= last:
                shown[-1] += mine[last + 1:hi + 1]
            else:
                shown.append(mine[max(lo, last + 1):hi + 1])
            last = max(hi, last)
        ret += shown
    return ret


def windows(got):
    ret = {}
    for e in got:
        ret.setdefault(e.pop("window"), []).append(e)
    return ret


def key(window):
    return json.dumps(window, sort_keys=True)


def check_set(name, where):
    calls = [e for e in events(*where, "--itrace=c") if e.get("flow") in CALLS]
    syms = sorted({e["addr"]["sym"] for e in calls if "sym" in e.get("addr", {})})
    if not syms:
        check(False, f"{name}: calls with symbols")
        return
    for names, nr in ((syms[:1], 16), (syms[len(syms) // 2:][:1], 0), (syms[1:4], 3), (syms[::5], 1), (syms[::3], 2)):
        got = events(*where, "--itrace=c", f"--around={','.join(names)}:{nr}")
        mine = windows(got)
        want = model(calls, set(names), nr)
        check(len(got) == sum(map(len, want)) and sorted(map(key, mine.values())) == sorted(map(key, want)),
              f"{name}: {nr} calls around those of {len(names)} functions, in {len(want)} windows", f"{len(mine)} windows of {len(got)} calls")
        order = [e for e in got]
        check(all(thread(a) == thread(b) for w in mine.values() for a, b in zip(w, w[1:])) and order, f"{name}: each of one thread")


def text():
    if not os.path.isdir(truth):
        skip("text", "no Intel PT in " + sys.argv[2])
        return
    p = script("--around=__libc_write,__mprotect:2", *PT("work"))
    check("".join(x.rstrip(" ") + "\n" for x in p.stdout.splitlines()) == GOLDEN and not p.stderr, "text is that of --call-trace, with lines between", p.stdout + p.stderr)
    p = script("--around=__libc_write:0", "-F", "ip,sym", *PT("work"))
    check(p.stdout.split()[1:] == ["_IO_new_file_write"], "-F chooses other columns", p.stdout)
    p = script("--around=__libc_write", *PT("work"))
    check("__libc_write" in p.stdout.splitlines()[16] and len(p.stdout.splitlines()) <= 16 + 1 + 16, "16 calls by default", p.stdout)
    check(not script("--around=nowhere", *PT("work")).stdout, "nothing of a function that is not called")
    for name in ("work", "threads", "switch"):
        check_set(name, PT(name))


def usage():
    for arg in ("", ":3", "main:1025", "main:99999999999999999999"):
        p = script("--around=" + arg)
        check(p.returncode == 129 or (p.returncode and "--around" in p.stderr), f"--around={arg} is rejected", p.stderr)


def etm():
    for name in ("hello", "threads"):
        path = os.path.join(sys.argv[2], "coresight-truth", name)
        if os.path.isdir(path):
            check_set("ETM, " + name, ("-i", path))
        else:
            skip(name, "not in " + sys.argv[2])


text()
etm()
usage()
done()
