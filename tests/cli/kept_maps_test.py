#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: kept_maps_test.py CLEW: the perf-PID.map of a process comes with the recording: names of generated code are there when the process,
its map and its root directory are gone. Needs gcc and to record; a part needs root. TAP."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip_all

CLEW = os.path.abspath(sys.argv[1])
# Makes code, runs it for so many seconds, and then names it. A second argument is its root.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
#if defined(__x86_64__)
	/* mov $1000000,%ecx; 1: dec %ecx; jnz 1b; ret */
	static const unsigned char code[] = {0xb9, 0x40, 0x42, 0x0f, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#else
	static const unsigned int code[] = {0xd2a001e0, 0xf1000400, 0x54ffffe1, 0xd65f03c0};
#endif
	double seconds = atof(argv[1]);
	struct timespec a, b;
	char path[64];
	FILE *f;
	void *p;
	if (argc > 2 && (chroot(argv[2]) || chdir("/")))
		return 2;
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof(code));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(code));
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		((void (*)(void))p)();
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	if (!f)
		return 3;
	fprintf(f, "%lx %zx made_here_%d\n", (long)p, sizeof(code), getpid());
	fclose(f);
	printf("%d\n", getpid());
	return 0;
}
"""

if not shutil.which("gcc"):
    skip_all("no gcc")
folder = tempfile.mkdtemp(prefix="clew-kept.")
source, program = os.path.join(folder, "p.c"), os.path.join(folder, "p")
with open(source, "w", encoding="ascii") as f:
    f.write(PROGRAM)
subprocess.run(["gcc", "-O1", "-o", program, source], check=True)


def run(*args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **more)


def record(name, *args, options=()):
    data = os.path.join(folder, name)
    p = run(CLEW, "record", "-q", "-F", "499", "-e", "cpu-clock:u", *options, "-o", data, "--", program, *args)
    return data, p.stdout.decode().strip(), p


def remove_map(pid):
    path = f"/tmp/perf-{pid}.map"
    if os.path.exists(path):
        os.unlink(path)


def symbols(data, *more):
    return run(CLEW, "report", "-i", data, "--stdio", "-s", "sym", *more).stdout.decode()


p = run(CLEW, "record", "-o", os.path.join(folder, "true.data"), "-e", "cpu-clock:u", "--", "true")
if b"captured" not in p.stderr:
    skip_all("no events to be had here: " + p.stderr.decode())
data, pid, p = record("plain.data", "1")
check(p.returncode == 0 and os.path.exists(f"/tmp/perf-{pid}.map"), "a program that names its code as it ends", p.stderr)
remove_map(pid)
check(f"made_here_{pid}" in symbols(data), "the names are there when its map is deleted", symbols(data))
out = run(CLEW, "script", "-i", data, "-F", "ip,sym").stdout.decode()
check(f"made_here_{pid}" in out, "in script", out[:500])
with open(f"/tmp/perf-{pid}.map", "w", encoding="ascii") as f:
    f.write("1000 7fffffff0000 of_another\n")
check("of_another" not in symbols(data) and f"made_here_{pid}" in symbols(data), "a file of that name counts no more", symbols(data))
remove_map(pid)
copy = os.path.join(folder, "copy.data")
p = run(CLEW, "export", "--to", "perf.data", "-i", data, "-o", copy)
check(p.returncode == 0 and f"made_here_{pid}" in symbols(copy), "in a copy of the recording", p.stderr)
if shutil.which("perf"):
    p = run("perf", "script", "-i", data, "-F", "ip,sym")
    check(p.returncode == 0 and b"unknown" not in p.stderr.lower() and p.stdout, "perf reads the recording", p.stderr)

piped = os.path.join(folder, "pipe.data")
with open(piped, "wb") as f:
    p = subprocess.run([CLEW, "record", "-F", "499", "-e", "cpu-clock:u", "-o", "-", "--", "sh", "-c", f"{program} 1 >&2"], stdout=f,
                       stderr=subprocess.PIPE, check=False)
said = p.stderr.decode()
check(p.returncode == 0 and said.count("not kept in a pipe") == 1, "a pipe has none, which is said", said)
for line in said.splitlines():
    if line.isdigit():
        remove_map(line)

running = subprocess.Popen([program, "2"], stdout=subprocess.PIPE)
time.sleep(0.3)
data = os.path.join(folder, "attached.data")
p = run(CLEW, "record", "-q", "-F", "499", "-e", "cpu-clock:u", "-o", data, "-p", str(running.pid))
running.communicate()
remove_map(running.pid)
check(f"made_here_{running.pid}" in symbols(data), "of a process that ran before the recording", symbols(data) + p.stderr.decode())

p = run(CLEW, "record", "-q", "-F", "499", "-e", "cpu-clock:u", "--switch-output=1s", "-o", os.path.join(folder, "parts.data"), "--", program,
        "2.5")
pid = p.stdout.decode().strip()
remove_map(pid)
last = sorted(glob.glob(os.path.join(folder, "parts.data.*")))[-1:]
check(last and f"made_here_{pid}" in symbols(last[0]), "the last of several files has the map that was written last", p.stderr.decode())

if os.geteuid() == 0:
    root = tempfile.mkdtemp(prefix="clew-root.")
    os.mkdir(os.path.join(root, "tmp"))
    data, pid, p = record("chroot.data", "1", root)
    inside = os.path.join(root, "tmp", f"perf-{pid}.map")
    check(p.returncode == 0 and os.path.exists(inside) and not os.path.exists(f"/tmp/perf-{pid}.map"), "a program in another root", p.stderr)
    shutil.rmtree(root)
    check(f"made_here_{pid}" in symbols(data), "the names are there when its root is deleted", symbols(data))
    os.mkdir(root)
    os.mkdir(os.path.join(root, "tmp"))
    data = os.path.join(folder, "container.data")
    # A PID namespace of its own: it is 1 there, or the first child of what is.
    p = run(CLEW, "record", "-q", "-F", "499", "-e", "cpu-clock:u", "-o", data, "--", "unshare", "--pid", "--mount", "--fork", program, "1", root)
    shutil.rmtree(root)
    if p.returncode == 0:
        check("made_here_1" in symbols(data), "nor in another PID namespace, by its number there", symbols(data) + p.stderr.decode())
shutil.rmtree(folder)
done()
