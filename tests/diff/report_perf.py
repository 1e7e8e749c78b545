#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: report_perf.py CLEW [FILE...]: rows of `clew report` equal perf report's: counts, periods, shares.

Without files it records a few programs. Frames without a symbol are summed per file: perf names the callers among them
by run-time address and the sampled ones by file address, clew always by file address."""
import collections
import os
import re
import subprocess
import sys
import tempfile

import perf_peer

clew, files = sys.argv[1], sys.argv[2:]
count = failed = 0
# Of chains above 127 entries, which whatever else runs here may have, perf drops the innermost.
OF_ALL = ["--comms", "rec,sh,swapper"]

PROGRAM = """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
volatile unsigned long sink;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void rec(int d) { if (d) { rec(d - 1); leaf(1000); } else leaf(5000); }
__attribute__((noinline)) void a(void) { rec(3); leaf(3000); }
__attribute__((noinline)) void b(void) { rec(1); a(); for (int i = 0; i < 20; i++) close(open("/dev/zero", O_RDONLY)); }
void *run(void *p) { for (int i = 0; i < 1500; i++) { a(); b(); } return p; }
int main(void)
{
	pthread_t t[3];
	for (int i = 0; i < 3; i++) pthread_create(t + i, 0, run, 0);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	return 0;
}
"""


def check(ok, what, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {what}")
    if not ok:
        for line in str(why).splitlines()[:12]:
            print("#", line[:200])


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def is_address(text):
    return re.fullmatch(r"\[.\] (0x)?[0-9a-f]{16}", text)


def is_before_main(keys):
    """The call in ld.so's _start is its last instruction: perf names the caller by the function after it (docs/decisions/callers.md)."""
    return keys[-1] in ("[.] _start", "[.] _dl_start_user") and any(k.startswith("ld-linux") for k in keys)


def rows(command, options):
    """(event, keys...) -> columns; unresolved rows are summed, their children left out as the sums overlap"""
    out = run(command + ["-n", "--show-total-period", "-g", "none", "-t", "\t"] + options).stdout.decode("utf8", "replace")
    found = collections.Counter()
    sums = collections.Counter()
    event = None
    for line in out.splitlines():
        m = re.match(r"# Samples: .* of events? '(.*?)'", line)
        event = m.group(1) if m else event
        if line.startswith("#") or not line.strip():
            continue
        cells = [c.strip() for c in line.split("\t")]
        shares = [c for c in cells if re.fullmatch(r"\d+\.\d\d%", c)]
        numbers = cells[len(shares):len(shares) + 2]
        keys = cells[len(shares) + 2:]
        if keys and is_before_main(keys):
            if "--percent-limit" not in options:
                sums[(event,) + tuple(keys[:-1]) + ("the dynamic linker's entry",)] += int(numbers[0])
            continue
        if keys and is_address(keys[-1]):
            if "--percent-limit" not in options:
                sums[(event,) + tuple(keys[:-1])] += int(numbers[0])
            continue
        found[(event,) + tuple(shares) + tuple(numbers) + tuple(keys)] += 1
    found.update({k + (n,): 1 for k, n in sums.items() if n})
    return found


def perf_rows(path, options):
    return rows(["perf", "report", "--stdio", "--no-inline", "-i", path], options)


def tenth(path, what):
    """Options of a tenth of the time in which there is anything to compare: the program need not have run in each of them."""
    tenths = [["--no-children", "--time", f"10%/{n}"] for n in range(2, 11)]
    return next((options for options in tenths if perf_rows(path, options + (OF_ALL if what == "all CPUs" else []))), tenths[0])


def tries(what):
    """Of all CPUs: binaries that other programs ran, and symbols of the kernel, may go between the one reader and the other."""
    return 3 if what == "all CPUs" else 1


def without_renamed(theirs, ours):
    """But for callers whose call is their last instruction, as of code that does not return: perf names them by the function after. Such
    rows have no samples of their own, and are equal but for the symbol."""
    left = list(ours.elements())
    for row in theirs.elements():
        pair = next((k for k in left if k[:-1] == row[:-1] and "0" in row[:-1] and "0.00%" in row[:-1]), None)
        if pair:
            left.remove(pair)
            theirs = theirs - collections.Counter([row])
    return list(theirs.elements()), left


def compare(path, what, options):
    for _ in range(tries(what)):
        perf = perf_rows(path, options)
        ours = rows([clew, "report", "-i", path], options)
        theirs_alone, ours_alone = without_renamed(perf - ours, ours - perf)
        diff = [f"perf {k}" for k in theirs_alone] + [f"clew {k}" for k in ours_alone]
        if not diff:
            break
    check(perf and not diff, f"{what}: {sum(perf.values())} rows with {' '.join(options)}", "\n".join(diff))


def stats(path, what):
    perf = run(["perf", "report", "--stats", "-i", path]).stdout.decode()
    ours = run([clew, "report", "--stats", "-i", path]).stdout.decode().split("\nSamples:\n")[0]
    perf, ours = perf.split(), ours.split()
    check(perf == ours, f"{what}: --stats", f"perf {perf}\nclew {ours}")


def threads(path, what):
    for _ in range(tries(what)):
        one = run([clew, "report", "-i", path, "--single-threaded"]).stdout
        two = run([clew, "report", "-i", path]).stdout
        if one == two:
            break
    check(one and one == two, f"{what}: the same with one thread and two")


def record(path, options, program):
    global count
    if perf_peer.record(path, options, program, ["report", "--stdio"])[1]:
        return True
    count += 1
    print(f"ok {count} # SKIP perf record {' '.join(options)} failed")
    return False


def recordings(folder):
    source, program = folder + "/rec.c", folder + "/rec"
    with open(source, "w") as f:
        f.write(PROGRAM)
    if run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", program, source,
            "-lpthread"]).returncode:
        return
    for what, options, command in [
        ("recursion in threads", ["-F", "2000", "-g", "-e", "cpu-clock"], [program]),
        ("no call chains", ["-F", "2000", "-e", "cpu-clock"], [program]),
        ("all CPUs", ["-F", "1000", "-g", "-a", "-e", "cpu-clock"], [program]),
        ("two events", ["-F", "2000", "-g", "-e", "cpu-clock", "-e", "page-faults"], ["sh", "-c", "ls -lR /usr/share/doc >/dev/null"]),
    ]:
        path = folder + "/perf.data"
        if record(path, options, command):
            yield what, path


def main():
    if run(["perf", "--version"]).returncode:
        print("1..0 # SKIP no perf here")
        return 0
    if not files and run(["perf", "record", "-e", "cpu-clock", "-o", "/dev/null", "--", "true"]).returncode:
        print("1..0 # SKIP perf cannot record here")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder  # no configuration, no build-id cache
        for what, path in [(os.path.basename(f), f) for f in files] or recordings(folder):
            for options in [["--no-children"], ["--children"], ["--sort", "dso"], ["--no-children", "--sort", "comm,sym"],
                            ["--no-children", "--sort", "comm"], ["--percent-limit", "1"], ["--comms", "rec,sh"], ["--max-stack", "3"],
                            ["-U"], tenth(path, what), ["--no-children", "--symbol-filter=sys"],
                            ["--comms", "rec,sh", "--percentage", "relative"]]:
                if what == "two events" and "--symbol-filter=sys" in options:
                    continue  # perf applies it to the first event alone
                if what == "all CPUs" and "dso" in options:
                    continue  # perf keeps or drops such a row by its first sample's thread
                if what == "all CPUs" and "--comms" not in options:
                    options = options + OF_ALL
                if what == "all CPUs" and "-U" in options:
                    options = options + ["--percentage", "relative"]  # clew may know symbols in other programs that perf does not
                compare(path, what, options)
            stats(path, what)
            threads(path, what)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
