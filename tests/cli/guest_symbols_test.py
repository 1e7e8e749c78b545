#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples of a virtual machine, merged into the host's recording: their symbols are those of the guest, never of the host.

Usage: guest_symbols_test.py CLEW"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile

from perf_make import CPU, IDENTIFIER, IP, KERNEL, TID, TIME, USER, Event, comm, event_desc, mmap2, perf_data, record

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
import tap  # noqa: E402

CLEW = os.path.realpath(sys.argv[1])
NO_TASK = 2**32 - 1
TEXT, MODULE, BASE = 0xffffffff81000000, 0xffffffffc0400000, 0x400000
VMM, APP, LATER = 4711, 5, 1000000


def run(*words):
    return subprocess.run([CLEW, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def save(path, event, name, records):
    with open(path, "wb") as f:
        f.write(perf_data([event], b"".join(records), {12: event_desc([event], [name])}))


def host(path):
    e = Event(IP | TID | TIME | CPU | IDENTIFIER, ident=9)
    switch = record(15, struct.pack("<II", 0, 0) + e.sample_id(VMM, 1500))
    save(path, e, b"cpu-clock", [comm(e, VMM, b"CPU 0/KVM"), switch, comm(e, APP, b"of-host"), mmap2(e, APP, BASE, 1 << 24, b"/bin/app"),
                                 e.sample(TEXT + 0x10, pid=APP, time=LATER + 7000, misc=KERNEL)])


def guest(path, main):
    e = Event(IP | TID | TIME | CPU)  # without ids
    save(path, e, b"cpu-clock", [
        mmap2(e, NO_TASK, TEXT, 1 << 24, b"[kernel.kallsyms]_text", pgoff=TEXT, misc=KERNEL, time=0),
        mmap2(e, NO_TASK, MODULE, 1 << 16, b"/lib/modules/6/kernel/fs/toy-fs.ko", misc=KERNEL, time=0),
        comm(e, APP, b"of-guest", time=5000), mmap2(e, APP, BASE, 1 << 24, b"/bin/app", time=5000),
        e.sample(TEXT + 0x110, pid=APP, time=6000, misc=KERNEL), e.sample(MODULE + 0x20, pid=APP, time=6001, misc=KERNEL),
        e.sample(BASE + main, pid=APP, time=6002, misc=USER)])


def text_symbol():
    """The file's offset of main() of clew itself."""
    for line in subprocess.run(["nm", CLEW], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words[-2:] == ["T", "main"]:
            address = int(words[0], 16)
    for line in subprocess.run(["readelf", "-lW", CLEW], capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and int(words[2], 16) <= address < int(words[2], 16) + int(words[4], 16):
            return address - int(words[2], 16) + int(words[1], 16)
    raise ValueError("main")


def samples(path, *options):
    p = run("script", "-i", path, "-F", "comm,pid,cpu,time,ip,sym,dso", "--kallsyms", "/dev/null", *options)
    return [line for line in p.stdout.splitlines() if line.strip()], p


def main():
    if not shutil.which("nm") or not shutil.which("readelf"):
        tap.skip_all("there is no nm or readelf")
    with tempfile.TemporaryDirectory() as tmp:
        where = {name: os.path.join(tmp, name) for name in ("host", "guest", "merged", "mount", "kallsyms", "modules")}
        host(where["host"])
        guest(where["guest"], text_symbol())
        p = run("merge", f"--guest={where['guest']},{VMM},{-LATER}", where["host"], "-o", where["merged"])
        tap.check(p.returncode == 0, "merged, with a given offset", p.stderr)
        lines, p = samples(where["merged"])
        tap.check(len(lines) == 4, "all samples", lines + [p.stderr])
        tap.check([("of-guest" in x) for x in lines] == [True, True, True, False], "with the name in their own machine", lines)
        tap.check("1.006000" in lines[0].replace(" ", "") or "0.001006" in lines[0], "at the host's time", lines)
        tap.check(not any("main" in x or "k_" in x for x in lines), "without the guest's files, no symbols", lines)
        kallsyms = f"{TEXT:x} T _text\n{TEXT + 0x100:x} T k_guest\n{TEXT + 0x200:x} T k_next\n{MODULE:x} t m_toy\t[toy_fs]\n"
        root = os.path.join(where["mount"], str(VMM))
        os.makedirs(os.path.join(root, "proc"))
        os.makedirs(os.path.join(root, "bin"))
        shutil.copy(CLEW, os.path.join(root, "bin", "app"))
        for path in (where["kallsyms"], os.path.join(root, "proc", "kallsyms")):
            with open(path, "w") as f:
                f.write(kallsyms)
        with open(where["modules"], "w") as f:
            f.write(f"toy_fs 16384 0 - Live 0x{MODULE:x}\n")
        lines, p = samples(where["merged"], "--guestkallsyms", where["kallsyms"], "--guestmodules", where["modules"])
        tap.check("k_guest" in lines[0] and "m_toy" in lines[1], "--guestkallsyms: its kernel and modules", lines + [p.stderr])
        tap.check("k_guest" not in lines[3], "and not the host's", lines)
        lines, p = samples(where["merged"], "--guestmount", where["mount"])
        tap.check("k_guest" in lines[0] and "m_toy" in lines[1], "--guestmount: its /proc/kallsyms", lines + [p.stderr])
        tap.check(" main" in lines[2], "and its files", lines)
    tap.done()


main()
