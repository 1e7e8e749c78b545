#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: stat_test.py CLEW: `clew stat`, live: exact counts of system calls that a program makes so many of, in children, threads,
groups, intervals and runs; and the form of each output against that of `perf stat`. TAP."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all

CLEW, PERF = os.path.abspath(sys.argv[1]), shutil.which("perf")
TRACEPOINT = "syscalls:sys_enter_getppid"
CALLS = "import os\nfor i in range({}): os.getppid()\n"
PATIENCE = 240


def run(tool, *args, **more):
    return subprocess.run([tool, "stat", *args], capture_output=True, text=True, check=False, timeout=PATIENCE, **more)


def clew(*args, **more):
    return run(CLEW, *args, **more)


def python(code):
    return ["--", sys.executable, "-S", "-c", code]


def rows(text):
    """Fields of -x ';' by event."""
    return {f[2]: f for f in (line.split(";") for line in text.splitlines()) if len(f) > 5}


def objects(text):
    return [json.loads(line) for line in text.splitlines()]


p = clew("-x;", "-e", "page-faults", "true")
if p.returncode:
    skip_all("events cannot be opened here: " + p.stderr.strip()[:200])
has_tracepoints = clew("-e", TRACEPOINT, "true").returncode == 0
is_root = os.geteuid() == 0

# Counts
if has_tracepoints:
    p = clew("-x;", "-e", TRACEPOINT, *python(CALLS.format(1234)))
    check(rows(p.stderr)[TRACEPOINT][0] == "1234", "each system call is counted", p.stderr)
    p = clew("-x;", "-e", TRACEPOINT, *python("import os\nif not os.fork():\n " + CALLS.format(50).replace("\n", "\n ") +
                                              "\n os._exit(0)\nos.wait()\n" + CALLS.format(7)))
    check(rows(p.stderr)[TRACEPOINT][0] == "57", "those of children, too", p.stderr)
    p = clew("-i", "-x;", "-e", TRACEPOINT, *python("import os\nif not os.fork():\n os.getppid()\n os._exit(0)\nos.wait()\n" +
                                                    CALLS.format(7)))
    check(rows(p.stderr)[TRACEPOINT][0] == "7", "not with -i", p.stderr)
    p = clew("-x;", "-e", TRACEPOINT, *python("import threading\ndef f():\n " + CALLS.format(20).replace("\n", "\n ") +
                                              "\nt = [threading.Thread(target=f) for i in range(3)]\n"
                                              "for x in t: x.start()\nfor x in t: x.join()\n"))
    check(rows(p.stderr)[TRACEPOINT][0] == "60", "those of threads, too", p.stderr)
    p = clew("-x;", "-e", f"{{{TRACEPOINT},syscalls:sys_enter_getuid}},page-faults",
             *python(CALLS.format(9) + "for i in range(5): os.getuid()\n"))
    check(rows(p.stderr)[TRACEPOINT][0] == "9", "in a group: the leader", p.stderr)
    check(int(rows(p.stderr)["syscalls:sys_enter_getuid"][0]) >= 5, "and a member", p.stderr)
    p = clew("-j", "-r", "3", "-e", TRACEPOINT, *python(CALLS.format(11)))
    check(objects(p.stderr)[0]["counter-value"] == "11.000000" and objects(p.stderr)[0]["variance"] == 0, "the mean of three runs",
          p.stderr)
    p = clew("-j", "-I", "20", "-e", TRACEPOINT, *python("import time\n" + (CALLS.format(100) + "time.sleep(.03)\n") * 4))
    values = [o["counter-value"] for o in objects(p.stderr)]
    check(values and sum(float(v) for v in values if v[0] != "<") == 400, "the sum of intervals is what happened", p.stderr)
    times = [o["interval"] for o in objects(p.stderr)]
    check(times == sorted(set(times)), "their times ascend", times)
    p = clew("-x;", "-e", TRACEPOINT, "--filter", "common_pid == 0", *python(CALLS.format(3)))
    check(rows(p.stderr)[TRACEPOINT][0] == "0", "a filter counts what passes it", p.stderr)

    # A running process that waits for a line, then makes its calls.
    k = subprocess.Popen([sys.executable, "-S", "-u", "-c", "import sys, os\nprint(1)\nsys.stdin.readline()\n" + CALLS.format(321)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    k.stdout.readline()
    c = subprocess.Popen([CLEW, "stat", "-x;", "--per-thread", "-I", "50", "-e", TRACEPOINT + ",page-faults", "-p", str(k.pid)],
                         stderr=subprocess.PIPE, text=True)
    first = c.stderr.readline()
    k.communicate(b"\n")
    rest = c.communicate(timeout=PATIENCE)[1]
    mine = [line.split(";") for line in (first + rest).splitlines() if TRACEPOINT in line]
    check(sum(int(f[2]) for f in mine if f[2].isdigit()) == 321, "a running process, until it ends", first + rest)
    check(all(f[1].endswith(f"-{k.pid}") for f in mine), "each thread by name", first + rest)
else:
    skip("counts of system calls", "tracepoints cannot be opened here")

p = clew("-x;", "-e", "page-faults,minor-faults,task-clock", *python("x = bytearray(64 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"))
f = rows(p.stderr)
check(int(f["page-faults"][0]) >= int(f["minor-faults"][0]) > 0, "page faults", p.stderr)
check(float(f["task-clock"][0]) > 0 and f["task-clock"][1] == "msec", "time in milliseconds", p.stderr)
check(abs(float(f["task-clock"][0]) * 1e6 - int(f["task-clock"][3])) < 2e6, "which is how long it ran", p.stderr)

# Targets and the end
if is_root:
    cpus = subprocess.run(["nproc"], capture_output=True, text=True, check=True).stdout.strip()
    p = clew("-a", "-A", "-j", "-e", "cpu-clock", "--timeout", "50")
    check(len(objects(p.stderr)) >= int(cpus) and all("cpu" in o for o in objects(p.stderr)), "each CPU", p.stderr)
    p = clew("-C", "0", "-e", "cpu-clock", "--timeout", "20")
    check("stats for 'CPU(s) 0'" in p.stderr and "seconds user" not in p.stderr, "one CPU", p.stderr)
    p = clew("-a", "--per-core", "-j", "-e", "cpu-clock", "sleep", "0.01")
    check(re.fullmatch(r"S\d+-D\d+-C\d+", objects(p.stderr)[0]["core"]) is not None, "each core", p.stderr)
    p = clew("--timeout", "20", "-j", "-e", "cpu-clock")
    check(p.returncode == 0 and len(objects(p.stderr)) == 1, "without a command: the machine, until the time is over", p.stderr)
else:
    skip("CPUs", "needs root")
check(clew("sh", "-c", "exit 3").returncode == 3, "the command's status is ours")
check(clew("sh", "-c", "kill -9 $$").returncode == 137, "also of one that was killed")
p = clew("/nonexistent/program")
check(p.returncode == 127 and "cannot run" in p.stderr, "a command that does not exist", p.stderr)
p = clew("--timeout", "50", "-e", "page-faults", "sleep", "100")
check(p.returncode == 128 + signal.SIGTERM and "time elapsed" in p.stderr, "a command that is stopped after a time", p.stderr)
c = subprocess.Popen([CLEW, "stat", "-I", "10", "-e", "page-faults", "sleep", "100"], stderr=subprocess.PIPE, text=True)
c.stderr.readline()
c.send_signal(signal.SIGINT)
check(c.wait(timeout=PATIENCE) == 128 + signal.SIGTERM, "or by a signal")
p = clew("-n", "true")
check("task-clock" not in p.stderr and "seconds user" in p.stderr, "no events: times alone", p.stderr)
p = clew("-D", "100000", "-e", "page-faults", "true")
check(p.returncode == 0 and re.search(r"<not counted>\s+page-faults", p.stderr) is not None, "a command that ends before it is counted",
      p.stderr)
p = clew("printf", "a\\033[31mb")
check("\033" not in p.stderr and p.stdout.startswith("a"), "the command's output is its own", p.stdout)
p = clew("-n", "echo", "a\033[2Jb")
check("\033" not in p.stderr and "a\\x1b[2Jb" in p.stderr, "its words cannot steer a terminal", p.stderr)

# Files
with tempfile.TemporaryDirectory() as top:
    path = os.path.join(top, "out")
    clew("-o", path, "-x;", "-e", "page-faults", "true")
    p = clew("-o", path, "--append", "-x;", "-e", "minor-faults", "true")
    text = open(path).read()
    check(p.stderr == "" and text.count("# started on ") == 2 and set(rows(text)) == {"page-faults", "minor-faults"}, "-o and --append",
          text)
    os.symlink(path, path + ".link")
    p = clew("-o", path + ".link", "--append", "true")
    check(p.returncode == 1 and "cannot write" in p.stderr, "nothing is appended through a link", p.stderr)
p = clew("-o", "/dev/full", "-e", "page-faults", "true")
check(p.returncode == 1 and "No space left" in p.stderr, "a full disk", p.stderr)

# Command lines
for args, words in [(["-e", "no-such-event"], "no-such-event"), (["-r", "2", "-I", "10", "true"], "exclude each other"),
                    (["-r", "2", "-a"], "-r needs a command"), (["-A", "true"], "need -a or -C"),
                    (["--per-thread", "true"], "--per-thread needs"), (["--append", "true"], "--append needs -o"),
                    (["-x", "", "true"], "-x needs"), (["-x,", "-j", "true"], "exclude each other"),
                    (["-n", "-e", "cs", "true"], "-n counts no events"), (["--interval-count", "2", "true"], "needs -I"),
                    (["-a", "-A", "--per-core"], "exclude each other"), (["-M", "x", "true"], "-M is not supported"),
                    (["-D", "-1", "true"], "-D -1")]:
    p = clew(*args)
    check(p.returncode == 2 and words in p.stderr, f"rejected: {' '.join(args)}", p.stderr)
p = clew("-v", "-e", "{cycles,page-faults}", "true")
check(p.returncode == 0, "a group with an event that may be absent", p.stderr)


# The form of perf's
def form(text):
    """Numbers, and the rates that depend on them, are as good as others; lines keep their widths."""
    text = re.sub(r"started on .*", "started on D", text)
    text = re.sub(r"( +)[\d.]+ \+- [\d.]+ seconds", "T +- T seconds", text)
    text = re.sub(r"  \( \+- +[\d.]+% \)", "", text)
    text = re.sub(r"<not counted>", lambda m: "0".rjust(len(m.group())), text)
    text = re.sub(r" +[\d.]+ (?:[KMG]|  ?)?/sec +(?=\n)", lambda m: "R", text)
    text = re.sub(r" *[\d.]+,[KMG]?/sec", "R", text)
    text = re.sub(r"\"metric-unit\" : \"[KMG]?/sec\"", "R", text)
    text = re.sub(r"(?<![\w.-])(\s*)\d[\d.]*", lambda m: "9".rjust(len(m.group())) if m.group(1) else "9", text)
    text = re.sub(r"(?m)^\{.*", lambda m: re.sub(" +", " ", m.group()), text)
    return re.sub(r"(\d)\d+", r"\1", re.sub(r"[\d.]+(?=\"|,|\n|%|})", "9", text))


def forms_agree(name, *args):
    if not PERF:
        skip(f"as perf: {name}", "no perf here")
        return
    ours, theirs = clew(*args).stderr, ""
    for _ in range(20):  # perf 6.1 now and then ends without a word, or after the names of columns
        theirs = theirs if "faults" in theirs else run(PERF, *args).stderr
    if "faults" not in theirs:
        skip(f"as perf: {name}", "perf printed nothing")
        return
    check(form(ours) == form(theirs), f"as perf: {name}", form(ours) + "----\n" + form(theirs))


# /proc of another PID namespace: its ids are others, and 2 is a kernel's thread there.
if is_root and not subprocess.run(["unshare", "--fork", "--pid", "true"], capture_output=True, check=False).returncode:
    p = subprocess.run(["unshare", "--fork", "--pid", "sh", "-c", 'sleep .5 & "$0" stat -x, -e page-faults -p $!; wait', CLEW],
                       capture_output=True, text=True, check=False, timeout=PATIENCE)
    check(p.returncode == 0 and "page-faults" in p.stderr, "-p in a PID namespace ends with the process", p.stderr)
else:
    skip("-p in a PID namespace", "no PID namespaces to be made here")

if PERF and "6.1" in subprocess.run([PERF, "--version"], capture_output=True, text=True, check=False).stdout:
    EVENTS = ["-e", "task-clock,page-faults,minor-faults"]
    forms_agree("text", *EVENTS, "true")
    forms_agree("text of all default events", "true")
    forms_agree("text of detailed events", "-d", "true")
    forms_agree("text of an event alone", "-e", "page-faults", "true")
    forms_agree("text of runs", "-r", "2", *EVENTS, "true")
    forms_agree("fields", "-x,", *EVENTS, "true")
    forms_agree("fields of default events", "-x,", "true")
    forms_agree("fields of runs", "-x,", "-r", "2", "-e", "page-faults", "true")
    forms_agree("JSON", "-j", *EVENTS, "true")
    forms_agree("JSON of runs", "-j", "-r", "2", *EVENTS, "true")
    forms_agree("intervals", "-I", "100000", *EVENTS, "true")
    forms_agree("intervals as fields", "-x,", "-I", "100000", *EVENTS, "true")
    forms_agree("intervals as JSON", "-j", "-I", "100000", *EVENTS, "true")
    if is_root:
        forms_agree("CPUs", "-a", "-A", *EVENTS, "true")
        forms_agree("CPUs as fields", "-a", "-A", "-x,", *EVENTS, "true")
        forms_agree("cores", "-a", "--per-core", *EVENTS, "true")
        forms_agree("cores as JSON", "-a", "--per-core", "-j", *EVENTS, "true")
        forms_agree("sockets", "-a", "--per-socket", *EVENTS, "true")
        forms_agree("the machine", "-a", *EVENTS, "true")
    k = subprocess.Popen(["sleep", "1000"])
    while "(sleep) S" not in open(f"/proc/{k.pid}/stat").read():
        time.sleep(.01)
    time.sleep(.1)
    forms_agree("threads", "--per-thread", "-p", str(k.pid), "-e", "page-faults", "true")
    forms_agree("threads as fields", "--per-thread", "-x,", "-p", str(k.pid), "-e", "page-faults", "true")
    k.kill()
    k.wait()
else:
    skip("as perf", "no perf 6.1 here")
done()
