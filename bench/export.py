# SPDX-License-Identifier: LGPL-2.1-or-later
"""`make bench`, section export: what exports cost, against perf's text turned into collapsed stacks, and whether memory grows with the samples."""
import os
import re
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FORMATS = ("pprof", "collapsed", "speedscope", "callgrind")


def measure_pipe(first, second, output):
    """Both commands in a pipe. @return as run.measure(): their CPU seconds together, the peak of the larger one."""
    start = time.monotonic()
    with open(output, "wb") as out:
        one = subprocess.Popen(first, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        two = subprocess.Popen(second, stdin=one.stdout, stdout=out, stderr=subprocess.DEVNULL)
    one.stdout.close()
    status, cpu, rss = 0, 0.0, 0.0
    for child in (two, one):
        _, how, use = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(how)
        status, cpu, rss = status or child.returncode, cpu + use.ru_utime + use.ru_stime, max(rss, use.ru_maxrss / 1024)
    return status, time.monotonic() - start, cpu, rss


def sum_of(path):
    """Of collapsed stacks."""
    with open(path, errors="replace", encoding="utf-8") as f:
        return sum(int(line.rsplit(" ", 1)[1]) for line in f)


def nr_samples(clew, path):
    text = subprocess.run([clew, "report", "--stats", "-i", path], capture_output=True, text=True, check=False).stdout
    found = re.search(r"SAMPLE events:\s+(\d+)", text)
    return int(found.group(1)) if found else 0


def bench_export(clew, perf, directory, recording, measure, print_row):
    """@measure, @print_row: of run.py."""
    print(f"export: {recording}, {os.path.getsize(recording) >> 20} MiB, {nr_samples(clew, recording)} samples", flush=True)
    theirs, lines = None, os.path.join(directory, "perf.collapsed")
    if perf:
        theirs = measure_pipe([perf, "script", "-i", recording], ["awk", "-f", os.path.join(HERE, "collapse.awk")], lines)
        print_row("perf script | awk", theirs)
        print(f"    {sum_of(lines)} samples", flush=True)
    for to in FORMATS:
        path = os.path.join(directory, "out." + to)
        result = measure([clew, "export", "-q", "--to", to, "--weight", "samples", "-i", recording, "-o", path])
        print_row("clew export --to " + to, result)
        more = f"    {os.path.getsize(path)} bytes" if os.path.exists(path) else ""
        if to == "collapsed" and more:
            more += f", {sum_of(path)} samples"
        if theirs and result[0] == 0:
            more += f", {theirs[1] / result[1]:.1f} times as fast, {theirs[2] / result[2]:.1f} times less CPU"
        print(more, flush=True)


def bench_growth(clew, small, large, measure):
    """@large: as @small, but four times as long. Each repetition has processes of its own, which every command has to know: the first row is reading alone."""
    rows = [("report --stats", ["report", "--stats"]), *((to, ["export", "-q", "--to", to, "-o", os.devnull]) for to in FORMATS)]
    for name, words in rows:
        peaks = [measure([clew, *words, "-i", path])[3] for path in (small, large)]
        print(f"  {name}: {peaks[0]:.0f} MiB, of four times as many samples and processes {peaks[1]:.0f} MiB: {100 * (peaks[1] / peaks[0] - 1):+.1f} %", flush=True)
