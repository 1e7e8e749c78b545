# SPDX-License-Identifier: LGPL-2.1-or-later
"""What full user stacks cost while recording: run.py's section "stacks".

Four targets at 4999 Hz: a program 40 to 110 frames deep with and without frame pointers, a loop of short system calls, `make -j2`.
Alone, under `perf record --call-graph fp` and under clew, in turn; seconds, CPU seconds of the target (steadier on a busy machine) and
of the recorder. Then the size of what was written, and what was lost, beside perf's copies of 8 KiB."""
import json
import os
import re
import statistics
import subprocess

from peer import Rounds, take

HZ = 4999
ROUNDS = int(os.environ.get("ROUNDS", "10"))
LENGTH = os.environ.get("DEEP", "400000")
CALLS = os.environ.get("CALLS", "4000000")
FILES = int(os.environ.get("FILES", "60"))


def tools_of(perf, clew):
    tools = [("alone", None, [])]
    if perf:
        tools += [("perf, fp", perf, ["--call-graph", "fp"])]
    tools += [("clew, auto", clew, ["--call-graph", "auto"]), ("clew, auto -z", clew, ["--call-graph", "auto", "-z"]),
              ("clew, fp", clew, ["--call-graph", "fp"])]
    if perf:
        tools += [("perf, dwarf,8192", perf, ["--call-graph", "dwarf,8192"])]
    return tools


def contents(clew, path):
    """(samples, frames per sample, samples whose chain reaches _start, lost) of a recording, as clew reads it"""
    nr = frames = whole = 0
    p = subprocess.Popen([clew, "script", "--json", "-i", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in p.stdout:
        s = json.loads(line)
        if s["type"] != "sample":
            continue
        chain = [f for f in s.get("callchain", []) if f.get("kind") != "kernel"]
        nr += 1
        frames += len(s.get("callchain", []))
        whole += bool(chain) and chain[-1].get("sym") == "_start"
    p.wait()
    stats = subprocess.run([clew, "report", "--stats", "-i", path], capture_output=True, text=True, check=False).stdout
    lost = sum(int(n) for n in re.findall(r"LOST(?:_SAMPLES)? events:\s+(\d+)", stats))
    lost += sum(int(n) for n in re.findall(r"^\s*(\d+)\s+lost: ", stats, re.M))
    return nr, frames / nr if nr else 0, whole, lost


def measured(tools, target, path):
    rounds = Rounds([name for name, _, _ in tools])
    for _ in range(ROUNDS):
        for name, tool, more in tools:
            recorder = [tool, "record", "-F", str(HZ), *more, "-o", path(name), "--"] if tool else []
            rounds.add(name, take([*recorder, *target]))
    return rounds


def more_than_alone(slower):
    quarter = statistics.quantiles(slower, n=4) if len(slower) > 1 else slower * 3
    return f"{statistics.median(slower):+6.1f} % ({quarter[0]:+.1f} to {quarter[-1]:+.1f})"


def cost_line(rounds, name, is_recorder):
    took = rounds.took(name)
    line = f"    {name:<17} {statistics.median(t.seconds for t in took):7.3f} s"
    if is_recorder:
        line += "  " + more_than_alone(rounds.slower(name, lambda t: t.seconds))
    line += f"  CPU {statistics.median(t.cpu for t in took):7.3f} s"
    if is_recorder:
        line += (f"  {more_than_alone(rounds.slower(name, lambda t: t.cpu))}"
                 f"  recorder {statistics.median(t.all_cpu - t.cpu for t in took):6.3f} s")
    return line


def contents_line(clew, path):
    nr, frames, whole, lost = contents(clew, path)
    if not nr:
        return "      no samples"
    return (f"      {nr} samples of {frames:.1f} frames, {100 * whole / nr:.1f} % to _start, "
            f"{os.path.getsize(path) / nr:.0f} bytes each (120 + 8 a frame: {120 + 8 * frames:.0f}), {lost} lost")


def section(what, clew, tools, target, path):
    rounds = measured(tools, target, path)
    if not rounds.took("alone"):
        print(f"  {what}: the target " + rounds.trouble("alone"))
        return
    print(f"  {what}: what the target took, median of {ROUNDS} interleaved runs, and how much more than alone")
    for name, tool, _ in tools:
        if rounds.took(name):
            print(cost_line(rounds, name, tool), flush=True)
        if rounds.trouble(name):
            print(f"    {name:<17} " + rounds.trouble(name), flush=True)
        if tool and rounds.took(name):
            print(contents_line(clew, path(name)), flush=True)


def make_sources(folder):
    """@return the command that compiles FILES small files in @p folder, two at a time"""
    os.makedirs(folder, exist_ok=True)
    for i in range(FILES):
        with open(os.path.join(folder, f"f{i}.c"), "w", encoding="ascii") as f:
            f.write(f"#include <stdio.h>\n#include <stdlib.h>\nint f{i}(int x) {{ while (x-- > {i}) printf(\"%d\", abs(x)); return x; }}\n")
    with open(os.path.join(folder, "Makefile"), "w", encoding="ascii") as f:
        f.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n%.o: %.c\n\tcc -O1 -c -o $@ $<\n")
    return ["make", "-B", "-s", "-j2", "-C", folder]


def targets(folder):
    tool = lambda name: os.path.join(folder, name)  # noqa: E731
    return [("40 to 110 frames deep, with frame pointers", [tool("deep_fp"), LENGTH]), ("the same without", [tool("deep"), LENGTH]),
            ("short system calls, 20 frames deep, with frame pointers", [tool("calls"), CALLS]),
            (f"make -j2, {FILES} small C files", make_sources(tool("sources")))]


def bench_stacks(clew, perf, build, folder):
    print(f"stacks: at {HZ} Hz")
    path = lambda name: os.path.join(folder, "stacks-" + re.sub(r"\W+", "-", name) + ".data")  # noqa: E731
    subprocess.run(["ninja", "-C", build, "bench/deep", "bench/deep_fp", "bench/calls", "bench/cost"], check=True, stdout=subprocess.DEVNULL)
    wanted = os.environ.get("STACKS", "")
    for what, target in targets(folder):
        if wanted in what:
            section(what, clew, tools_of(perf, clew), [os.path.join(folder, "cost"), *target], path)
