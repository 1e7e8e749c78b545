#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every way of reading user stacks, on programs without frame pointers. argv[1]: the clew."""
import json
import os
import re
import shutil
import signal
import subprocess
from collections import Counter

from record_lib import CLEW, PERF, Tap, command_of, may_watch_cpus, needs_perf_events, until, while_runs

DEPTH = 60
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static double spin(int n)
{ double x = n; for (int i = 0; i < 20000; i++) x = x * 1.0000001 + i; return x; }
__attribute__((noinline)) double deeper(int n)
{ volatile char pad[32]; double r; pad[0] = (char)n; r = n ? deeper(n - 1) : spin(n); return r + pad[0]; }
static double seconds(void)
{ struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static int calls(double until)
{
	int zero = open("/dev/zero", 0), interrupted = 0, cut = 0, n = 0; size_t size = 32 << 20;
	char *to = malloc(size); struct timespec ms = {0, 1000000};
	for (; seconds() < until; n++) {
		interrupted += nanosleep(&ms, NULL) && errno == EINTR;
		cut += read(zero, to, size) != (ssize_t)size;
	}
	printf("interrupted %d cut %d rounds %s\n", interrupted, cut, n > 3 ? "some" : "few");
	return 0;
}
__attribute__((noinline, noreturn)) static void innermost(double until)
{ double s = 0; while (seconds() < until) s += spin(1); exit(s == 1); }
__attribute__((noinline, noreturn)) void ends_with_a_call(double until) { innermost(until); }
int main(int c, char **v)
{
	double until = seconds() + atof(v[2]), s = 0;
	if (!strcmp(v[1], "calls")) return calls(until);
	if (!strcmp(v[1], "noreturn")) ends_with_a_call(until);
	if (!strcmp(v[1], "faults"))
		while (seconds() < until) { char *p = malloc(8 << 20); memset(p, 1, 8 << 20); free(p); s += deeper(5); }
	while (seconds() < until) /* which takes a system call */
		for (int i = 0; i < 30; i++) s += deeper(atoi(v[1]));
	return s == 1;
}
"""

t = Tap()
needs_perf_events(t)
if not shutil.which("gcc"):
    t.skip_all("no gcc to build programs without frame pointers")
DEEP = t.path("deep")
with open(t.path("deep.c"), "w", encoding="utf-8") as f:
    f.write("#include <fcntl.h>\n" + PROGRAM)
subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", DEEP,
                t.path("deep.c")], check=True)
WIDE = may_watch_cpus(t)
os.environ["XDG_CACHE_HOME"] = t.path("cache")


def doctor():
    p = subprocess.run([CLEW, "doctor", "--json"], capture_output=True, text=True, check=False)
    return {row["id"]: row for row in json.loads(p.stdout)["rows"]}


ROWS = doctor()


def samples(path, event=None):
    p = subprocess.run([CLEW, "script", "--json", "-i", path], capture_output=True, text=True,
                       check=False)
    for line in p.stdout.splitlines():
        try:
            o = json.loads(line)
        except ValueError:
            continue
        if o.get("type") == "sample" and (not event or o.get("event", "").startswith(event)):
            yield o


def frames(o):
    return [frame.get("sym") for frame in o.get("callchain", [])]


def judge(path, comm="deep", pid=None):
    """Samples of the program; how many reach its start; how many have another first frame than the
    instruction that was sampled; depths of those in the innermost function; frames of all samples of the file."""
    nr = whole = wrong = nr_frames = 0
    depths = Counter()
    for o in samples(path):
        names = frames(o)
        nr_frames += len(names)
        if o["comm"] != comm or pid not in (None, o["pid"]):
            continue
        nr += 1
        depths[names.count("deeper")] += any(str(name).startswith("spin") for name in names)
        whole += "main" in names and names[-1] == "_start"
        chain = o.get("callchain", [])
        wrong += o.get("kind") == "user" and chain != [] and chain[0]["ip"] != o["ip"]
    return nr, whole, wrong, depths, nr_frames


def check_whole(name, r, share=0.98, pid=None):
    """@return frames of a sample"""
    if not t.check(r.status == 0 and r.samples > 50, f"{name}: records", r.err):
        return 0
    nr, whole, wrong, depths, nr_frames = judge(r.path, pid=pid)
    print(f"# {name}: {whole} of {nr} are whole")
    t.check(whole >= share * nr, f"{name}: from _start to the sample", f"{whole} of {nr}\n{r.err}")
    t.check(wrong == 0, f"{name}: each sample has its own stack", f"{wrong} of {nr} have another's")
    t.check(max(depths) == DEPTH + 1 and depths[DEPTH + 1] >= max(30, share * depths.total()),
            f"{name}: all {DEPTH + 1} levels", depths)
    t.check(r.lost == 0, f"{name}: nothing lost", r.err)
    return nr_frames / r.samples


def size_of(path):
    return os.path.getsize(path)


RUN = [DEEP, str(DEPTH), "0.3"]
KINDS = [("dwarf", "stacks-copy"), ("sframe", "stacks-bpf-deferred"),
         ("sframe,immediate", "stacks-bpf-immediate"), ("defer", "stacks-kernel-deferred")]
WORKS = []
for kind, row in KINDS:
    r = t.record_all(["--call-graph", kind, "-F", "4999"], RUN)
    if ROWS[row]["state"] != "yes":
        t.check(r.status and f"--call-graph {kind}" in r.err and "--call-graph auto" in r.err,
                f"{kind}: does not work here, and says why: {ROWS[row]['detail'][:60]}", r.err)
        continue
    if kind == "defer":  # the kernel follows frame pointers, of which there are none
        t.check(r.status == 0 and r.samples > 50, "defer: records", r.err)
        continue
    WORKS.append(kind)
    depth = check_whole(kind, r)
    t.check(size_of(r.path) / r.samples <= 120 + 8 * depth + 40000 / r.samples,
            f"{kind}: at most 120 bytes a sample and 8 a frame",
            f"{size_of(r.path) / r.samples:.0f} bytes, {depth:.1f} frames")
    z = t.record_all(["--call-graph", kind, "-F", "4999", "-z"], RUN, name="z.data")
    check_whole(f"{kind} -z", z)
    t.check((size_of(z.path) - 20000) / z.samples <= (120 + 8 * depth) / 4,
            f"{kind} -z: a quarter of that", f"{size_of(z.path) / z.samples:.0f} bytes")

r = t.record_all(["-g", "-F", "4999"], RUN)
check_whole("-g", r)
t.check(r.err.count("user stacks: ") == 2, "-g: one line names the method, one the outcome",
        r.err)
r = t.record(["-g", "-v"], RUN)
t.check(all(f"not {row[7:]}" in r.err or ROWS[row]["state"] == "yes" for _, row in KINDS[:1]),
        "-v: a line for each that was passed over", r.err)

r = t.record_all(["--call-graph", "dwarf,32768", "--store-stacks", "-F", "999"], RUN)
t.check(r.status == 0 and size_of(r.path) > r.samples * 32000, "--store-stacks keeps the copies", r.err)
if PERF:
    t.perf_agrees(r, "--store-stacks")
    t.perf_agrees(t.record_all(["--call-graph", "dwarf,8192", "--store-stacks", "-e",
                                "cpu-clock,page-faults"], RUN), "--store-stacks of two events")
r = t.record(["--call-graph", "dwarf,1024", "-F", "999"], RUN)
cut = re.search(r"(\d+) cut by the copy's size", r.err)
t.check(cut, "stacks that a small copy cuts are reported", r.err)
marked = sum(o.get("user_stack", {}).get("stop") == "stack-truncated" for o in samples(r.path))
t.check(cut and int(cut.group(1)) == marked, "and each is marked in the file", f"{marked}: {r.err}")

for kind in WORKS:
    r = t.record(["--call-graph", kind, "-F", "4999"], [DEEP, "noreturn", "0.2"])
    seen = [frames(o) for o in samples(r.path) if o["comm"] == "deep"]
    seen = [f for f in seen if "main" in f and any(str(name).startswith("innermost") for name in f)]
    t.check(len(seen) > 50 and all("ends_with_a_call" in f for f in seen),
            f"{kind}: a caller with a call as its last instruction",
            Counter(str(f) for f in seen).most_common(3))

    # Pipes, several files, a sudden end.
    p = t.record_all(["--call-graph", kind, "-F", "4999"], RUN, pipe=True, name="pipe.data")
    check_whole(f"{kind} -o -", p)
    # The last file may begin when the command has ended, and its maps are not recorded then. A slow recorder has to be given time for a third one.
    files = []
    for seconds in ("0.5", "2", "8", "32"):
        for n in files:
            os.unlink(t.path(n))
        subprocess.run([CLEW, "record", "--switch-output=100K", "--call-graph", kind, "-F", "4999", "-o", t.path("many.data"), "--", DEEP, str(DEPTH), seconds],
                       stderr=subprocess.DEVNULL, check=False)
        files = sorted(n for n in os.listdir(t.dir) if n.startswith("many.data."))
        if len(files) > 2:
            break
    parts = [judge(t.path(n)) for n in files[:-1]]
    nr, whole = sum(x[0] for x in parts), sum(x[1] for x in parts)
    t.check(len(files) > 2 and nr and whole >= 0.97 * nr and not any(x[2] for x in parts),
            f"{kind} --switch-output: each file has its stacks", f"{whole} of {nr} in {len(files)}")
    for n in files:
        os.unlink(t.path(n))
    out = t.path("killed.data")
    with subprocess.Popen([CLEW, "record", "--call-graph", kind, "-F", "4999", "-o", out, "--",
                           DEEP, str(DEPTH), "200"], stderr=subprocess.DEVNULL) as k:
        program = command_of(k)
        until(lambda: size_of(out) > 1 << 20)
        k.send_signal(signal.SIGKILL)
        k.wait()
        os.kill(program, signal.SIGKILL)
    nr, whole, wrong, *_ = judge(out)
    # Of the last samples the stacks had not been written.
    nr -= sum(o.get("user_stack", {}).get("reason") == "end" for o in samples(out))
    print(f"# {kind}: killed: {whole} of {nr} are whole")
    t.check(nr > 200 and whole >= 0.97 * nr and not wrong, f"{kind}: killed, the file is readable",
            f"{whole} of {nr}, {wrong} wrong")

    # Others' processes.
    with subprocess.Popen([DEEP, str(DEPTH), "200"]) as k:
        r = t.record_all(["--call-graph", kind, "-F", "999", "-p", str(k.pid)], while_runs(k.pid, 300))
        check_whole(f"{kind} -p", r)
        if WIDE:
            # Tables of all that runs here are made, and kept: a slow recorder is not to make them while samples come.
            t.record(["--call-graph", kind, "-F", "99", "-a"], ["true"])
            # Few: on a busy machine the program's 300 ms last long, and whatever runs meanwhile is recorded too.
            r = t.record_all(["--call-graph", kind, "-F", "199", "-a"], while_runs(k.pid, 300))
            check_whole(f"{kind} -a", r, pid=k.pid)  # not of another run of this test
        k.kill()

    # Several events at once, a tracepoint among them.
    events = ["-e", "cpu-clock", "-e", "page-faults"]
    if WIDE and os.path.exists("/sys/kernel/tracing/events/sched/sched_switch"):
        events += ["-e", "sched:sched_switch"]
    r = t.record(["--call-graph", kind, *events, "-F", "2000"], [DEEP, "faults", "0.7"])
    seen = Counter(o["event"].split(":")[0] for o in samples(r.path))
    nr, whole, wrong, *_ = judge(r.path)
    print(f"# {kind}: several events: {whole} of {nr} are whole")
    t.check(r.status == 0 and len(seen) >= 2 and whole >= 0.9 * nr and not wrong,
            f"{kind}: several events", f"{whole} of {nr}, {wrong} wrong, {seen}\n{r.err}")

    # What is recorded does not notice.
    path = t.path("calls.data")
    plain, seen = (subprocess.run([*prefix, DEEP, "calls", "0.4"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, check=False).stdout
                   for prefix in ([], [CLEW, "record", "--call-graph", kind, "-F", "4999",
                                       "-o", path, "--"]))
    t.check(plain == seen and "interrupted 0 cut 0" in plain,
            f"{kind}: no system call is interrupted or cut", f"{plain}{seen}")
    if kind == "sframe":
        long = [o for o in samples(path) if "read_zero" in str(frames(o)) or
                "read_iter_zero" in str(frames(o))]
        t.check(not long or sum(frames(o)[-1] == "_start" for o in long) >= 0.99 * len(long),
                f"{kind}: samples inside one long call have its stack ({len(long)})")

# Each event has its own depth; whoever asks for more gets it.
for kind, row in KINDS:
    if ROWS[row]["state"] != "yes":
        continue
    r = t.record(["--call-graph", kind, "-F", "4999", "-e", "cpu-clock/max-stack=8/", "-e", "task-clock"], RUN)
    short, deep = [[o for o in samples(r.path, e) if o["comm"] == "deep"] for e in ("cpu-clock", "task-clock")]
    lengths = Counter(len(frames(o)) for o in short)
    stops = Counter(o.get("user_stack", {}).get("stop") for o in short if len(frames(o)) == 8)
    t.check(r.status == 0 and len(short) > 50 and max(lengths) == 8, f"{kind}, max-stack=8: no sample has more", lengths)
    t.check(stops["max-depth"] > 0.9 * sum(stops.values()), f"{kind}, max-stack=8: the cut is reported", stops)
    t.check(sum(len(frames(o)) > DEPTH for o in deep) > 0.9 * len(deep) > 50, f"{kind}: the other event has all", r.err)
r = t.record(["--call-graph", "auto", "-F", "999", "-e", "cpu-clock/call-graph=fp/"], RUN)
t.check(r.status == 0 and r.samples > 50, "auto, and no event that takes it", r.err)

t.done()
