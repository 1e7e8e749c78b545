# SPDX-License-Identifier: LGPL-2.1-or-later
"""What full user stacks cost while recording: run.py's section "stacks".

One program, 40 to 110 frames deep, at 4999 Hz, on a CPU of its own: alone, under `perf record --call-graph fp` and under clew, in
turn, so that a busy minute hits all alike. Then the size of what was written, and what was lost, beside perf's copies of 8 KiB."""
import json
import os
import re
import statistics
import subprocess

HZ = 4999
ROUNDS = int(os.environ.get("ROUNDS", "10"))
LENGTH = os.environ.get("DEEP", "400000")


def take(tool, more, program, path):
    """@return (seconds the program says it took, what the recorder printed) or None"""
    argv = [program, LENGTH]
    if tool:
        argv = [tool, "record", "-F", str(HZ), *more, "-o", path, "--", *argv]
    run = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    took = re.search(r"^(\d+\.\d+)$", run.stdout, re.M)
    return (float(took.group(1)), run.stderr) if took and not run.returncode else None


def tools_of(perf, clew):
    tools = [("alone", None, [])]
    if perf:
        tools += [("perf, fp", perf, ["--call-graph", "fp"])]
    tools += [("clew, auto", clew, ["--call-graph", "auto"]), ("clew, auto -z", clew, ["--call-graph", "auto", "-z"])]
    if perf:
        tools += [("perf, dwarf,8192", perf, ["--call-graph", "dwarf,8192"])]
    return tools


def contents(clew, path):
    """(samples, frames a sample, samples whose chain reaches _start, lost) of a recording, as clew reads it"""
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


def paired(tools, program, path):
    times, sizes = {name: [] for name, _, _ in tools}, {}
    for _ in range(ROUNDS):
        for name, tool, more in tools:
            got = take(tool, more, program, path(name))
            if got:
                times[name].append(got[0])
                sizes[name] = os.path.getsize(path(name)) if tool else 0
    return times, sizes


def section(what, clew, tools, program, path):
    times, sizes = paired(tools, program, path)
    if not times["alone"]:
        print("  the target did not run")
        return
    print(f"  {what}: seconds the target took, median of {ROUNDS} interleaved runs")
    for name, tool, _ in tools:
        if not times[name]:
            print(f"    {name:<17} did not run")
            continue
        # Each run against its own neighbour: the machine's slow changes drop out.
        slower = [100 * (b / a - 1) for a, b in zip(times["alone"], times[name])]
        quarter = statistics.quantiles(slower, n=4) if len(slower) > 1 else slower * 3
        line = f"    {name:<17} {statistics.median(times[name]):7.3f} s"
        if tool:
            nr, frames, whole, lost = contents(clew, path(name))
            line += f"  {statistics.median(slower):+6.2f} % ({quarter[0]:+.2f} to {quarter[-1]:+.2f})"
            if nr:
                line += (f"  {nr} samples of {frames:.1f} frames, {100 * whole / nr:.1f} % to _start, "
                         f"{sizes[name] / nr:.0f} bytes each (120 + 8 a frame: {120 + 8 * frames:.0f}), {lost} lost")
        print(line, flush=True)


def bench_stacks(clew, perf, build, folder):
    print(f"stacks: 40 to 110 frames deep, at {HZ} Hz")
    path = lambda name: os.path.join(folder, "stacks-" + re.sub(r"\W+", "-", name) + ".data")  # noqa: E731
    subprocess.run(["ninja", "-C", build, "bench/deep", "bench/deep_fp"], check=True, stdout=subprocess.DEVNULL)
    for what, program in (("with frame pointers", "deep_fp"), ("without", "deep")):
        section(what, clew, tools_of(perf, clew), os.path.join(folder, program), path)
