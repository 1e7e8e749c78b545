# SPDX-License-Identifier: LGPL-2.1-or-later
"""What merging user stacks into their samples costs: run.py's section "merge".

Five programs, recorded by `clew record -F 4000` in both forms, in turn: bytes of a sample in each, time and peak memory of the pass over the
file, and the CPU time of the program itself, which is to be the same: merging begins when it has ended."""
import os
import re
import shutil
import statistics
import subprocess
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))
FORMS = (("deferred", "auto,deferred"), ("merged", "auto"))
PYTHON = ("import json\ndef f(n):\n    return n if n < 2 else f(n-1) + f(n-2)\n"
          "for i in range(80):\n    f(22); json.loads(json.dumps([[i] * 50] * 500))")


def make_inputs(folder):
    lines, source = os.path.join(folder, "merge-lines"), os.path.join(folder, "merge.c")
    with open(lines, "w", encoding="ascii") as f:
        f.writelines(f"{i * 2654435761 % (1 << 32):x} {i % 977} clew\n" for i in range(300000))
    with open(source, "w", encoding="ascii") as f:
        f.writelines(f"int f{i}(int *a, int n) {{ int s = {i}; for (int i = 0; i < n; i++) s += a[i] * (s ^ i); return s; }}\n" for i in range(120))
    return lines, source


def programs(folder):
    lines, source = make_inputs(folder)
    found = {
        "sh, a loop": ["sh", "-c", "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done"],
        "python3": ["/usr/bin/python3", "-c", PYTHON],
        "openssl": ["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter", "1000000", "-k", "clew", "-in", "/dev/null", "-out", "/dev/null"],
        "sort": ["sort", "-k2,2n", "-k1,1", "--parallel=2", lines, "-o", "/dev/null"],
        "gcc -O2": ["gcc", "-O2", "-c", source, "-o", "/dev/null"],
    }
    return {name: argv for name, argv in found.items() if shutil.which(argv[0])}


def record(clew, kind, argv, path):
    """@return (CPU seconds of the program, samples) or None"""
    timed = ["bash", "-c", "TIMEFORMAT='took %3U %3S'; time \"$@\"", "bash", *argv]
    p = subprocess.run([clew, "record", "--call-graph", kind, "-o", path, "--", *timed], stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, check=False)
    took, nr = re.search(r"^took (\S+) (\S+)$", p.stderr, re.M), re.search(r"\((\d+) samples", p.stderr)
    return (float(took.group(1)) + float(took.group(2)), int(nr.group(1))) if took and nr else None


def merge(clew, path, to):
    """@return (seconds, peak MiB) of a command that does nothing else"""
    start = time.monotonic()
    child = subprocess.Popen([clew, "inject", "--merge-stacks", "-i", path, "-o", to], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, use = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - start, use.ru_maxrss / 1024


def row(clew, name, argv, folder):
    path = {form: os.path.join(folder, f"merge-{form}.data") for form, _ in FORMS}
    cpu, bytes_of, passes = {form: [] for form, _ in FORMS}, {}, []
    for _ in range(ROUNDS):  # interleaved: a busy minute hits both alike
        for form, kind in FORMS:
            got = record(clew, kind, argv, path[form])
            if not got or not got[1]:
                print(f"  {name:<12} was not recorded")
                return
            cpu[form].append(got[0])
            bytes_of[form] = os.path.getsize(path[form]) / got[1], got[1]
        passes.append(merge(clew, path["deferred"], path["merged"] + ".again"))
    more = [100 * (b / a - 1) for a, b in zip(cpu["deferred"], cpu["merged"]) if a]
    print(f"  {name:<12} {bytes_of['deferred'][1]:>7} {bytes_of['deferred'][0]:>9.0f} {bytes_of['merged'][0]:>7.0f} "
          f"{1000 * statistics.median(s for s, _ in passes):>9.0f} {max(mib for _, mib in passes):>8.0f} "
          f"{statistics.median(cpu['deferred']):>10.3f} {statistics.median(cpu['merged']):>8.3f} {statistics.median(more):>+7.1f}", flush=True)


def bench_merge(clew, folder):
    print(f"merge: bytes a sample; time and memory of the pass; CPU seconds of the program, median of {ROUNDS} interleaved runs")
    print(f"  {'':<12} {'samples':>7} {'deferred':>9} {'merged':>7} {'pass, ms':>9} {'MiB':>8} {'s deferred':>10} {'s merged':>8} {'%':>7}")
    for name, argv in programs(folder).items():
        row(clew, name, argv, folder)
    for name in ("merge-deferred.data", "merge-merged.data", "merge-merged.data.again", "merge-lines", "merge.c"):
        for path in (os.path.join(folder, name), os.path.join(folder, name + ".old")):
            if os.path.exists(path):
                os.unlink(path)
