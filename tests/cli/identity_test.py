#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files and kernels that are not the recorded ones give no names; what cannot be checked is said once per file.

Usage: identity_test.py CLEW SAMPLE_MAKE"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from perf_make import CPU, IP, KERNEL, PERIOD, TID, TIME, Event, mmap2, perf_data

CLEW, MAKE = map(os.path.abspath, sys.argv[1:3])
TOP = tempfile.mkdtemp()
PROGRAM = "int hot(int a){volatile int i;for(i=0;i<30000000;i++);return a+i;}int main(void){return !hot(1);}\n"


def path(name):
    return os.path.join(TOP, name)


def run(*args):
    return subprocess.run([CLEW, *args], capture_output=True, encoding="utf-8", cwd=TOP, check=False)


def build(name, source=PROGRAM):
    subprocess.run(["gcc", "-g", "-O1", "-fno-inline", "-Wl,--build-id=none", "-x", "c", "-o", path(name), "-"], input=source.encode(), check=True)


def recording(name, program, age=0):
    """One sample in hot(), without an inode, written @p age seconds ago."""
    out = subprocess.run(["nm", path(program)], capture_output=True, encoding="ascii", check=True).stdout
    at = next(int(line.split()[0], 16) for line in out.splitlines() if line.endswith(" T hot"))
    text = f"event cycles branches\nmap 7 400000 100000 0 {path(program)}\nsample 0 7 {0x400000 + at:x} 10 1 branches {0x400000 + at:x} {0x400000 + at:x} 2\n"
    with open(path(name), "wb") as f:
        f.write(subprocess.run([MAKE, "--no-inodes"], input=text.encode(), capture_output=True, check=True).stdout)
    now = os.stat(path(program)).st_mtime
    os.utime(path(name), (now - age, now - age))


def names(data, *args):
    p = run("script", "--json", "-i", data, *args)
    rows = [json.loads(line) for line in p.stdout.splitlines()]
    return [r.get("sym") for r in rows], [r.get("why") for r in rows], p.stderr


def not_checked():
    build("prog")
    recording("c.data", "prog", age=-5)
    syms, _, err = names("c.data")
    tap.check(syms == ["hot"] and err.count("not checked") == 1 and "neither a build id nor an inode" in err, "script: a file without inode or build id", err)
    text = run("report", "--stdio", "-i", "c.data").stdout
    tap.check("hot" in text and text.count("Not checked") == 1 and text.count(path("prog")) == 1, "report: the same, once", text)
    summary = json.loads(run("report", "--json", "-i", "c.data").stdout)["summary"]
    tap.check([u["dso"] for u in summary.get("unchecked", [])] == [path("prog")], "report --json: the same", summary)
    for command in (["annotate", "hot"], ["export", "--to", "collapsed", "-o", "-"], ["export", "--to", "bolt"], ["inject", "--format=bolt"]):
        err = run(*command, "-i", "c.data").stderr
        tap.check(err.count("not checked") == 1, f"{command[0]}: the same", err)


def changed():
    recording("d.data", "prog", age=60)
    syms, why, err = names("d.data")
    tap.check(syms == [None] and why == ["the file was changed after it was recorded"] and "not checked" not in err, "a file changed after the recording", [syms, why, err])
    text = run("report", "--stdio", "-i", "d.data").stdout
    tap.check("hot" not in text and "changed after it was recorded" in text, "report: why", text)
    text = run("annotate", "hot", "-i", "d.data").stderr
    tap.check("changed after it was recorded" in text, "annotate: why", text)
    for command in (["export", "--to", "autofdo"], ["inject"]):
        text = run(*command, "-i", "d.data").stderr
        tap.check("changed after it was recorded: addresses are file offsets" in text, f"{command[0]}: why", text)
    syms, _, err = names("d.data", "--symfs", "/.")
    tap.check(syms == ["hot"] and "not checked" in err, "--symfs says where the files are", [syms, err])


def recorded():
    p = run("record", "-o", "r.data", "-e", "cpu-clock", "-F", "max", "--", path("prog"))
    if p.returncode:
        tap.skip("a recording of its own", "no recording here")
        return
    shutil.copy2(path("prog"), path("old"))
    syms, _, err = names("r.data")
    tap.check("not checked" not in err and "hot" in syms, "a recorded file is checked by its inode", [err, syms[:5]])
    os.utime(path("prog"), (os.stat(path("prog")).st_atime, os.stat(path("r.data")).st_mtime + 9))
    err = names("r.data")[2]
    before = set(filter(None, syms)) & {"hot", "main"}
    tap.check(not set(filter(None, names("r.data")[0])) & {"hot", "main"}, "changed, in place", [before, err])
    os.rename(path("old"), path("prog"))
    tap.check(not set(filter(None, names("r.data")[0])) & {"hot", "main"}, "a copy at its path, with its time", err)


def kernels():
    """The addresses of our own kernel's functions, in recordings that do not say that they are of it."""
    try:
        with open("/proc/kallsyms", encoding="ascii") as f:
            lines = [line.split()[:3] for line in f if line.split()[2] in ("_text", "_stext", "vfs_read")]
    except OSError:
        lines = []
    at = {name: int(a, 16) for a, _, name in lines}
    if not at.get("vfs_read") or not at.get("_text"):
        tap.skip("kernels", "/proc/kallsyms is hidden")
        return
    here = os.uname()
    for what, release, host, moved, want in (
            ("nothing is known", None, None, 0, None), ("our release, host and address", here.release, here.nodename, 0, "vfs_read"),
            ("another release", "3.4.0", here.nodename, 0, None), ("another host", here.release, "elsewhere", 0, None),
            ("another address", here.release, here.nodename, 0x200000, None)):
        event = Event(IP | TID | TIME | CPU | PERIOD)
        records = [mmap2(event, 0xffffffff, at["_text"] - moved, 0x2000000, b"[kernel.kallsyms]_text", at["_text"] - moved, KERNEL),
                   event.sample(at["vfs_read"] + 4, misc=KERNEL)]
        features = {n: string(s) for n, s in ((3, host), (4, release)) if s}
        with open(path("k.data"), "wb") as f:
            f.write(perf_data([event], b"".join(records), features))
        syms, why, _ = names("k.data")
        tap.check(syms == [want] and (want or why[0]), f"a kernel: {what}", [syms, why])


def string(s):
    raw = s.encode() + b"\0"
    raw += b"\0" * (-len(raw) % 64)
    return len(raw).to_bytes(4, "little") + raw


def main():
    try:
        if shutil.which("gcc"):
            not_checked()
            changed()
            recorded()
        else:
            tap.skip("files", "no gcc")
        kernels()
    finally:
        shutil.rmtree(TOP)
    tap.done()


main()
