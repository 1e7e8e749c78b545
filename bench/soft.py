# SPDX-License-Identifier: LGPL-2.1-or-later
"""The software trace source: instructions and stops a second while it traces, and what a program that is paused pays."""
import os
import re
import subprocess
import time

PAUSED = (
    ("alone", None),
    ("paused: a function", ["--trace-function", "not_called"]),
    ("paused: a system call", ["-e", "soft_pt/aux-action=start-paused/u,syscalls:sys_enter_newuname/aux-action=resume/"]),
)


def traced(clew, data, name, *argv):
    from_ = time.monotonic()
    out = subprocess.run([clew, "record", "-v", "-o", data, "-e", "soft_pt//u", "--", *argv],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False).stderr
    seconds = time.monotonic() - from_
    with subprocess.Popen([clew, "script", "-i", data, "--itrace=i1i", "-F", "ip"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        instructions = sum(1 for _ in p.stdout)
    stops = int(re.search(r"(\d+) stops", out)[1])
    print(f"  {name:24} {instructions:9} instructions, {instructions / seconds:8.0f} a second; {stops / seconds:7.0f} stops a second; "
          f"{os.path.getsize(data) * 8 / instructions:.2f} bits each", flush=True)


def bench_soft(clew, build, folder):
    subprocess.run(["ninja", "-C", build, "bench/soft_load"], check=True, stdout=subprocess.DEVNULL)
    data = os.path.join(folder, "soft.data")
    load = os.path.join(folder, "soft_load")
    print("soft: traced", flush=True)
    traced(clew, data, "ls -l /etc", "/bin/ls", "-l", "/etc")
    traced(clew, data, "awk, a loop", "awk", "BEGIN { for (i = 0; i < 3000; i++) s += i * i; print s }")
    traced(clew, data, "sh, processes", "/bin/sh", "-c", "ls / | sort")
    print("soft: not traced", flush=True)
    for name, options in PAUSED:
        command = [load] if options is None else [clew, "record", "-q", "-o", data, *options, "--", load]
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        print(f"  {name:24} {out.strip()}", flush=True)
