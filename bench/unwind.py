# SPDX-License-Identifier: LGPL-2.1-or-later
"""Part of run.py: stacks copied by perf record --call-graph dwarf: ns a frame of the walker, and both scripts of the same file."""
import os
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CXX = """#include <map>
#include <regex>
#include <string>
int main(int c, char **v) { std::map<std::string, int> m; std::regex r("a(b|c)*d");
    for (int i = 0; i < c; i++) m[v[i]] = std::regex_match(v[i], r); return m.size(); }
"""
PYTHON = """import json, time
f = lambda n: f(n - 1) if n else json.dumps([{'a': list(range(50))}] * 20, indent=1)
t = time.time()
while time.time() - t < 8: f(40)
"""
BASH = "f() { local i=$1; ((i > 0)) && f $((i - 1)) || x=${x/a/b}$i; }; for ((n = 0; n < 9000; n++)); do f 12; x=; done"


def targets(work):
    """(name, bytes of stack to copy, command): recursions of known depth, and real programs"""
    recurse, source = os.path.join(work, "recurse"), os.path.join(work, "big.cc")
    subprocess.run(["cc", "-O2", "-o", recurse, os.path.join(HERE, "recurse.c")], check=True)
    with open(source, "w", encoding="ascii") as f:
        f.write(CXX)
    return [("depth 30", 16384, [recurse, "6", "22"]), ("depth 70", 16384, [recurse, "6", "60"]), ("depth 110", 16384, [recurse, "6", "103"]),
            ("cc1plus", 32768, ["g++", "-O2", "-w", "-c", "-o", os.path.join(work, "big.o"), source]), ("python3", 16384, ["/usr/bin/python3", "-c", PYTHON]),
            ("bash", 32768, ["bash", "-c", BASH]), ("openssl rsa", 16384, ["openssl", "speed", "-seconds", "2", "rsa2048"])]


def fastest(argv, times=3):
    """(wall, CPU) seconds of the fastest run"""
    found = []
    for _ in range(times):
        start = time.monotonic()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, use = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        found.append((time.monotonic() - start, use.ru_utime + use.ru_stime))
    return min(found)


def bench_unwind(clew, perf, build, work):
    if not perf:
        return
    subprocess.run(["ninja", "-C", build, "bench/walk_bench"], check=True, stdout=subprocess.DEVNULL)
    print("unwind: perf record -F 1999 --call-graph dwarf; script of either tool, the fastest of 3")
    data = os.path.join(work, "stacks.data")
    for name, size, argv in targets(work):
        run = subprocess.run([perf, "record", "-q", "-F", "1999", "--call-graph", f"dwarf,{size}", "-o", data, "--", *argv],
                             stdin=subprocess.DEVNULL, capture_output=True, check=False)
        walk = subprocess.run([os.path.join(build, "bench", "walk_bench"), data], capture_output=True, text=True, check=False)
        if run.returncode or walk.returncode:
            print(f"  {name}: not recorded")
            continue
        print(f"  {name}: {walk.stdout.strip()}", flush=True)
        theirs, ours = fastest([perf, "script", "--no-inline", "-i", data]), fastest([clew, "script", "-i", data])
        print(f"    perf script --no-inline {theirs[0]:.3f} s, {theirs[1]:.3f} CPU; clew script {ours[0]:.3f} s, {ours[1]:.3f} CPU: "
              f"{theirs[0] / ours[0]:.1f} times as fast, {theirs[1] / ours[1]:.1f} times less CPU", flush=True)
        os.unlink(data)
