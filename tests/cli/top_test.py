#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: top_test.py CLEW SPIN CHURN LIBRARY [--minute]: `clew top`, live: SPIN is top_spin, CHURN top_churn, LIBRARY its library. Tables and objects
of a known program, what is lost while the analyzer stands still, and memory that does not grow with new code and threads. --minute: only that, for a
minute with the default bound. TAP."""
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all

CLEW, SPIN, CHURN, LIBRARY = map(os.path.abspath, sys.argv[1:5])
F_SETPIPE_SZ = 1031
PATIENCE = 240  # seconds, for what takes few on a quiet machine
DIR = tempfile.mkdtemp(prefix="clew-top-")


def run(*args, **more):
    return subprocess.run([CLEW, "top", *args], capture_output=True, text=True, check=False, timeout=PATIENCE, **more)


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


def rows(o):
    return o["tables"][0]["rows"] if o["tables"] else []


def shares(o):
    """By function, in percent of all."""
    period = o["tables"][0]["events"][0]["period"] if o["tables"] else 1
    found = {}
    for r in rows(o):
        found[r["sym"]] = found.get(r["sym"], 0) + 100 * r["values"][0]["self"] / period
    return found


def resident(pid):
    """In KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def ran(pid):
    """In user space, in 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rpartition(")")[2].split()[11])


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_objects():
    p = run("--json", "-n", "3", "-d", "0.5", "--", SPIN)
    found = objects(p.stdout)
    check(p.returncode == 0 and [o["refresh"] for o in found] == [1, 2, 3] and all(o["format"] == "clew-top" for o in found),
          "--json -n 3: three objects, one a line", p.stderr + p.stdout[:300])
    last = found[-1] if found else {}
    share = shares(last) if last else {}
    check(sum(o["samples"] for o in found) == last.get("all_samples") and sum(last["levels"].values()) == last["samples"],
          "samples of the refreshes sum up, and of the levels", last)
    check(share.get("top_spin", 0) > share.get("top_other", 100) and abs(sum(share.values()) - 100) < 1, "the program's functions, in order", share)
    check(all(0 < o["cpu_seconds"] <= o["all_cpu_seconds"] and o["seconds"] > 0 for o in found), "the time that clew itself took", found[:1])


def test_zero():
    kept, zeroed = (objects(run("--json", "-n", "4", "-d", "0.3", *z, "--", SPIN).stdout)[-1] for z in ([], ["-z"]))
    check(kept["tables"][0]["events"][0]["samples"] > kept["samples"], "counts of earlier refreshes fade", kept["samples"])
    check(zeroed["tables"][0]["events"][0]["samples"] == zeroed["samples"], "-z: they do not count", zeroed["samples"])


def test_rows():
    def one(*options):  # not the first: on a busy machine the program has no sample in it yet
        return objects(run("--json", "-n", "3", "-d", "0.5", *options, "--", SPIN).stdout)[-1]

    o = one("-K")
    check(rows(o) and not [r for r in rows(o) if r["level"] != "."], "-K hides the kernel", [r["sym"] for r in rows(o)])
    o = one("-U")
    check(o["tables"] and not [r for r in rows(o) if r["level"] == "."], "-U hides user space", [r["sym"] for r in rows(o)])
    o = one("-E", "1", "-s", "comm,sym")
    check(len(rows(o)) == 1 and rows(o)[0]["comm"] == "top_spin" and o["sort"] == ["comm", "sym"], "-E and -s", rows(o))
    o = one("-f", "100000000")
    check(o["tables"] and not rows(o), "-f: rows of few samples are hidden", len(rows(o)))
    p = run("--stdio", "-n", "1", "-d", "1", "-g", "--call-graph", "fp", "--", SPIN)
    check("main" in p.stdout and re.search(r"Children\s+Self", p.stdout) and "--" in p.stdout, "-g: callers, and their share", p.stdout[:600])


def test_text():
    p = run("--stdio", "-n", "2", "-d", "0.5", "--", SPIN)
    heads = re.findall(r"^# clew top, refresh (\d): \d+ samples/s, \d+ lost.*, kernel [\d.]+ %, user [\d.]+ %, guest [\d.]+ %.*clew itself [\d.]+ %", p.stdout, re.M)
    check(p.returncode == 0 and heads == ["1", "2"], "--stdio -n 2: two tables with their heads", p.stdout[:400] + p.stderr)
    check(re.search(r"^ +[\d.]+% +top_spin +\[\.\] top_spin$", p.stdout, re.M), "the table's row", p.stdout[:800])
    colored, plain = (run("--stdio", "-n", "1", "-d", "0.3", "--stdio-color", "always", *more, "--", SPIN).stdout for more in ([], ["--no-color"]))
    check("\x1b[" in colored and "\x1b" not in plain and "top_spin" in plain, "--no-color: no colours", plain[:300])


def test_ends():
    p = run("--json", "-d", "60", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    found = objects(p.stdout)
    check(p.returncode == 0 and len(found) == 1 and found[0]["samples"] > 0, "the end of the command is the last refresh", p.stdout[:300] + p.stderr)
    p = run("--json", "-n", "1", "--", "/nonexistent")
    check(p.returncode == 127 and not p.stdout, "a command that is not there", p.returncode)
    spin = subprocess.Popen([SPIN])
    p = run("--json", "-n", "2", "-d", "0.5", "-p", str(spin.pid))
    check(len(objects(p.stdout)) == 2 and "top_spin" in shares(objects(p.stdout)[-1]), "-p PID", p.stdout[:300] + p.stderr)
    p = subprocess.Popen([CLEW, "top", "--json", "-d", "0.1", "-p", str(spin.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    check(p.returncode == 0, "Ctrl-C ends it", err)
    p = subprocess.Popen([CLEW, "top", "--json", "-d", "0.1", "-p", str(spin.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    p.stdout.close()
    check(p.wait(timeout=PATIENCE) in (0, 1) and "rror" not in p.stderr.read(), "so does a reader that goes", p.returncode)
    p.stderr.close()
    spin.kill()
    spin.wait()


def test_refused():
    for args, words in ((["-d", "0.05"], "0.1"), (["--stdio", "--json"], "exclude"), (["-s", "symbol_to"], "branches"), (["-s", "nonsense"], "no key"),
                        (["-c", "1", "-F", "9"], "exclude"), (["--max-memory", "1M"], "32M"), (["-b"], "clew record -b")):
        p = run(*([] if "--json" in args else ["--json"]), *args, "--", "true")
        check(p.returncode == 2 and words in p.stderr, f"refused: {' '.join(args)}", p.stderr)


def test_lost():
    """While all of clew stands still, the smallest of rings overflows."""
    p = subprocess.Popen([CLEW, "top", "--json", "-d", "0.2", "-m", "1", "-F", "5000", "--", SPIN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    before = json.loads(p.stdout.readline())
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        child = f.read().split()[0]

    p.send_signal(signal.SIGSTOP)
    start = ran(child)
    ok = until(lambda: ran(child) > start + 60)  # of 10 ms: some 3000 samples
    p.send_signal(signal.SIGCONT)
    lost = after = 0
    while ok and not lost and after < 100:
        o = json.loads(p.stdout.readline())
        lost, after = o["all_lost"] - before["all_lost"], after + 1
    check(lost > 0, "what had no room while the analyzer stood still is counted as lost", o if ok else "the program did not run")
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=PATIENCE)
    with open(os.path.join(DIR, "text"), "w+", encoding="utf-8") as f:
        p = subprocess.Popen([CLEW, "top", "--stdio", "-d", "0.2", "-m", "1", "-F", "5000", "--", SPIN], stdout=f, stderr=subprocess.DEVNULL)
        until(lambda: os.stat(f.name).st_size)
        with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as c:
            child = c.read().split()[0]
        p.send_signal(signal.SIGSTOP)
        start = ran(child)
        ok = until(lambda: ran(child) > start + 60)
        p.send_signal(signal.SIGCONT)
        check(ok and until(lambda: re.search(r", [1-9]\d* lost", open(f.name, encoding="utf-8").read())), "and the text says so", f.read()[:300])
        p.send_signal(signal.SIGTERM)
        p.wait(timeout=PATIENCE)


def test_slow_reader():
    """No ring is read late because of one: the next refresh has all that came meanwhile."""
    p = subprocess.Popen([CLEW, "top", "--json", "-d", "0.1", "-m", "8M", "--", SPIN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
    fcntl.fcntl(p.stdout, F_SETPIPE_SZ, 4096)
    found = [json.loads(p.stdout.readline())]
    with open(f"/proc/{p.pid}/task/{p.pid}/children", encoding="ascii") as f:
        child = f.read().split()[0]
    start = ran(child)
    until(lambda: ran(child) > start + 150)
    while len(found) < 1000 and found[-1]["seconds"] < 0.5:
        found.append(json.loads(p.stdout.readline()))
    found.append(json.loads(p.stdout.readline()))
    last = found[-1]
    check(last["all_lost"] == 0 and sum(o["samples"] for o in found) == last["all_samples"] and max(o["seconds"] for o in found) >= 0.5,
          "a reader that stands still delays a refresh, and nothing is lost", last)
    start = ran(child)
    until(lambda: ran(child) > start + 200)
    p.send_signal(signal.SIGTERM)
    until(lambda: not os.path.exists(f"/proc/{child}"))
    time.sleep(0.5)  # for the last refresh, which waits for its reader
    found += objects(p.stdout.read())
    p.stdout.close()
    p.wait(timeout=PATIENCE)
    check([o["refresh"] for o in found] == list(range(1, len(found) + 1)) and sum(o["samples"] for o in found) == found[-1]["all_samples"],
          "nor is a refresh, when it reads on after the end", [o["refresh"] for o in found])


def churn(options, is_enough):
    """@return of each refresh the resident set in KiB, and its object. AddressSanitizer would keep 256 MiB of what was freed."""
    env = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"}
    p = subprocess.Popen([CLEW, "top", "--json", "-d", "0.5", "-s", "comm,dso,sym", *options, "--", CHURN, LIBRARY],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    found, end = [], time.monotonic() + PATIENCE
    while time.monotonic() < end and not is_enough(found):
        line = p.stdout.readline()
        if not line:
            break
        found.append((resident(p.pid), json.loads(line)))
    p.send_signal(signal.SIGTERM)
    err = p.communicate(timeout=PATIENCE)[1]
    for name in os.listdir("/tmp"):
        if re.fullmatch(r"perf-\d+\.map", name) and not os.path.exists(f"/proc/{name[5:-4]}"):
            try:
                os.unlink(os.path.join("/tmp", name))
            except OSError:
                pass
    return found, err


def check_level(found, what):
    """The machine's other work decides how far the program comes, not how much memory its last half takes more than the first."""
    sizes = [size for size, _ in found]
    first, second = max(sizes[:len(sizes) // 2], default=0), max(sizes[len(sizes) // 2:], default=1 << 30)
    check(second < 512 * 1024 and second <= first * 1.25 + 4096, what, f"{first} KiB, then {second} KiB, in {len(sizes)} refreshes")
    print(f"# {what}: {first} KiB in the first half, {second} KiB in the second, {len(sizes)} refreshes, {found[-1][1]['analyses'] if found else 0} analyses")


def test_memory():
    found, err = churn(["--max-memory", "32M"], lambda f: f and f[-1][1]["analyses"] >= 7)
    if not found:
        skip("memory with new code and threads all the time", err.strip()[:200])
        return
    names = {r["sym"] or "" for _, o in found for r in rows(o)}
    check(found[-1][1]["analyses"] >= 7, "the analysis begins anew when it has grown", found[-1][1]["analyses"])
    check_level(found, "the resident set is level with new code and threads all the time")
    check(any(n.startswith("generated_") for n in names), "functions made at run time have their names", sorted(names)[:20])
    check("top_spin" in names, "so have those of libraries loaded at run time")
    check(sum(o["samples"] for _, o in found) == found[-1][1]["all_samples"], "no sample is missed when the analysis begins anew")


def test_minute():
    start = time.monotonic()
    found, err = churn([], lambda f: time.monotonic() > start + 60)
    check(found, "a minute of new code and threads", err)
    check_level(found, "the resident set is level over a minute, with the default bound")


first = run("--json", "-n", "1", "-d", "0.1", "--", SPIN)
if first.returncode:
    skip_all("events cannot be opened here: " + first.stderr.strip()[:200])
if "--minute" in sys.argv:
    test_minute()
    done()
test_objects()
test_zero()
test_rows()
test_text()
test_ends()
test_refused()
test_lost()
test_slow_reader()
test_memory()
done()
