#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: export_parquet_test.py CLEW [sanitized]: `clew export --to parquet`: rows as DuckDB reads them, by libduckdb, which is also what writes them. TAP."""
import csv
import ctypes
import ctypes.util
import json
import os
import platform
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.export_make import BASE, ENV, NR_EVIL, TYPE, at, chain, clew, cycles, evil, export, long_at, long_program, one, place, program_records, recording, run, two, work

# --- without the library ---

BARE = {k: v for k, v in ENV.items() if k != "LD_LIBRARY_PATH"}
if not ctypes.util.find_library("duckdb"):
    p = subprocess.run([clew, "export", "--to", "parquet", "-i", one, "-o", os.path.join(work, "none.parquet")], env=BARE, capture_output=True, check=False)
    tap.check(p.returncode == 2 and b"libduckdb.so" in p.stderr and b"LD_LIBRARY_PATH" in p.stderr and not os.path.exists(os.path.join(work, "none.parquet")),
              "without the library: exit 2, its name, and where it is looked for", p.stderr)


def find_library():
    """Installed, or that of npm's package (tools/packages.txt)."""
    root = subprocess.run(["npm", "root", "-g"], capture_output=True, text=True, check=False).stdout.strip() if shutil.which("npm") else ""
    of_npm = os.path.join(root, "@duckdb", "node-bindings-linux-" + {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), "none"), "libduckdb.so")
    return of_npm if os.path.exists(of_npm) else ctypes.util.find_library("duckdb")


LIBRARY = find_library()
if not LIBRARY:
    tap.skip("parquet", "no libduckdb.so (npm @duckdb/node-bindings-linux-x64)")
    tap.done()
ENV["LD_LIBRARY_PATH"] = os.path.dirname(LIBRARY)  # that of export_make's run(), too
duck = ctypes.CDLL(LIBRARY)
db, connection = ctypes.c_void_p(), ctypes.c_void_p()
assert not duck.duckdb_open(None, ctypes.byref(db)) and not duck.duckdb_connect(db, ctypes.byref(connection))


def select(path, what, more=""):
    """Rows of texts; lists are joined by ;."""
    out, result = os.path.join(work, "out.csv"), ctypes.create_string_buffer(256)
    sql = f"COPY (SELECT {what} FROM read_parquet('{path}', file_row_number = true) {more}) TO '{out}' (HEADER false, NULLSTR 'NULL')"
    if duck.duckdb_query(connection, sql.encode(), result):
        duck.duckdb_result_error.restype = ctypes.c_char_p
        return [["error", duck.duckdb_result_error(result).decode()]]
    with open(out, newline="", encoding="utf-8") as f:
        return list(csv.reader(f))


def exported(data, *options, name="x.parquet"):
    path = os.path.join(work, name)
    p = export(data, "parquet", "-o", path, *options)
    if p.returncode:
        tap.check(False, "export", p.stderr)
    return path


report = json.loads(run(clew, "report", "-i", one, "--json").stdout)["tables"][0]["events"][0]
path = exported(one)
tap.check(select(path, "count(*), sum(period)") == [[str(report["samples"]), str(report["period"])]], "rows and period are report's", select(path, "count(*), sum(period)"))
described = select(path, "typeof(time), typeof(cpu), typeof(pid), typeof(tid), typeof(comm), typeof(event), typeof(period), typeof(ip), typeof(sym), typeof(dso), "
                         "typeof(level), typeof(cgroup), typeof(stack)", "LIMIT 1")
tap.check(described == [["UBIGINT", "UINTEGER", "UINTEGER", "UINTEGER", "VARCHAR", "VARCHAR", "UBIGINT", "UBIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR[]"]],
          "columns and types", described)


def stacks(data):
    """Outermost first, of the thread: samples."""
    rows = select(exported(data), "comm || ';' || array_to_string(list_reverse(stack), ';'), count(*)", "GROUP BY 1")
    return {s: int(n) for s, n in rows}


lines = [line.rsplit(" ", 1) for line in export(one, "collapsed", "--weight=samples").stdout.decode().splitlines()]
tap.check(stacks(one) == {s: int(n) for s, n in lines}, "stacks are those of collapsed", stacks(one))
rows = select(path, "sym, level, count(*)", "WHERE sym = 'in_kernel' GROUP BY ALL")
tap.check(rows == [["in_kernel", "kernel", "1"]], "the function sampled, without the ending of its level", rows)
rows = select(path, "count(*)", "WHERE sym != stack[1] AND level = 'user'")
tap.check(rows == [["0"]], "is the first of the stack", rows)
rows = select(path, "DISTINCT comm, pid, tid", "ORDER BY pid")
tap.check(rows == [["app", "7", "7"], ["other", "8", "8"]], "owners", rows)
rows = select(path, "DISTINCT dso", "WHERE sym = 'hot'")
tap.check(len(rows) == 1 and rows[0][0].endswith("/app"), "binaries", rows)
rows = select(exported(two), "event, count(*), sum(period)", "GROUP BY 1 ORDER BY 1")
tap.check(rows == [["cpu-clock", str(report["samples"]), str(report["period"])], ["page-faults", "5", "5000"]], "two events", rows)
rows = select(exported(two, "-e", "page-faults"), "count(*)")
tap.check(rows == [["5"]], "-e", rows)
rows = select(exported(one, "--tid", "8"), "DISTINCT tid")
tap.check(rows == [["8"]], "a filter", rows)

GROUPED = pm.Event(TYPE | pm.CGROUP | pm.CPU, kind=pm.SOFTWARE, config=0)
grouped = recording("grouped.data", [GROUPED], [*program_records(GROUPED), pm.cgroup(GROUPED, 5, b"/group;one"),
                                                GROUPED.sample(place("hot"), time=2000, cgroup=5, chain=chain(place("hot"))),
                                                GROUPED.sample(place("hot"), time=3000, cgroup=99, chain=chain(place("hot")))])
rows = select(exported(grouped), "cgroup, cpu, time, ip = %d" % place("hot"))
tap.check(rows == [["/group;one", "0", "2000", "true"], ["NULL", "0", "3000", "true"]], "control group, CPU, time and address; what is unknown is NULL", rows)
rows = select(exported(evil), "count(*), count(DISTINCT sym)")
tap.check(rows[0][0] == str(NR_EVIL) or int(rows[0][0]) > 1, "hostile names", rows)

with open(exported(one), "rb") as a, open(exported(one, name="y.parquet"), "rb") as b:
    first, second = a.read(), b.read()
tap.check(first == second and first[:4] == first[-4:] == b"PAR1", "two runs are equal", [len(first), len(second)])
p = run(clew, "export", "--to", "parquet", "-i", one)
tap.check(p.returncode == 0 and p.stdout == first, "standard output", p.stderr)

# --- many rows, a full disk ---

block = [cycles.sample(place("hot", i % 7), time=2000 + i, chain=chain(place("hot", i % 7), place("main", 9))) for i in range(2000)]
long_1, long_4 = (recording(f"long{nr}.data", [cycles], [*program_records(cycles), *block * nr]) for nr in (50, 200))


rows = select(exported(long_1, name="long_1.parquet"), "count(*), count_if(file_row_number // 50 + 2000 = time)")
tap.check(rows == [["100000"] * 2], "in order of time", rows)


def limited(nr_bytes, *options):
    """Files may have no more bytes; a pipe may."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (nr_bytes, nr_bytes))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    return run(clew, "export", *options, preexec_fn=limit, restore_signals=False)


# What the library writes, and what we keep for it.
for data, nr_bytes, words in ((one, 100, rb".*File too large"), (long_1, 20000, rb"File too large")):
    p = limited(nr_bytes, "--to", "parquet", "-i", data)
    tap.check(p.returncode == 1 and not p.stdout and re.search(rb"^clew: error: parquet: " + words + rb"$", p.stderr, re.M), f"files of at most {nr_bytes} bytes: why", p.stderr)
for to in ("speedscope", "firefox"):
    p = limited(20000, "--to", to, "-i", long_1)
    tap.check(p.returncode == 1 and f"clew: error: {to}: File too large\n".encode() in p.stderr, f"{to}: why", p.stderr)
path = os.path.join(work, "full.json")
p = limited(100000, "--to", "chrome-samples", "-i", long_1, "-o", path)
tap.check(p.returncode == 1 and f"{path}: File too large".encode() in p.stderr and not os.path.exists(path), "other formats: why, and no file is left", p.stderr)


# --- an end before the end ---


def files_of(pid):
    """Opened by a process for writing: path, and does it have a name?"""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            link, is_regular = os.readlink(f"/proc/{pid}/fd/{fd}"), stat.S_ISREG(os.stat(f"/proc/{pid}/fd/{fd}").st_mode)
        except OSError:
            continue
        if is_regular and not link.startswith(os.path.dirname(clew)):
            found.append((link.removesuffix(" (deleted)"), not link.endswith(" (deleted)")))
    return found


def stop(number, to):
    """Of a pipe that does not end: status, the files it had open, and what is at its output afterwards."""
    path = os.path.join(work, "stopped")
    with open(path, "wb") as f:
        f.write(b"earlier")
    with subprocess.Popen([clew, "export", "-q", "--to", to, "-i", "-", "-o", path], stdin=subprocess.PIPE, env=ENV, cwd=work) as p:
        p.stdin.write(unfinished)
        p.stdin.flush()
        files = []
        while p.poll() is None and not any("/var/tmp/" in name or name.startswith("/tmp/#") for name, _ in files):
            time.sleep(0.01)
            files = files_of(p.pid)
        p.send_signal(number)
        p.wait()
    with open(path, "rb") as f:
        return p.returncode, [name for name, is_named in files if is_named], f.read(), sorted(n for n in os.listdir(work) if n.startswith("stopped"))


rounds = pm.record(68, b"") * 2
unfinished = b"".join([struct.pack("<8sQ", b"PERFILE2", 16), pm.record(64, cycles.attr + struct.pack("<Q", cycles.ident)), *program_records(cycles), *block * 4, rounds])
for to in ("parquet", "speedscope"):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        got = stop(number, to)
        tap.check(got == (-number, [], b"earlier", ["stopped"]), f"{to}, {number.name}: nothing remains, and what stood there stays", got)
with subprocess.Popen([clew, "export", "-q", "--to", "parquet", "-i", long_1], stdout=subprocess.PIPE, env=ENV, cwd=work) as p:
    p.stdout.close()
    p.wait()
tap.check(p.returncode == 0, "a reader that is gone", p.returncode)

# --- wide rows, memory ---


def peak(to, data):
    """KiB."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(run(sys.executable, "-c", code, clew, "export", "-q", "--to", to, "-i", data, "-o", os.path.join(work, "long")).stdout)


def deep(nr, depth):
    """Samples with stacks of functions that have the longest name."""
    name = BASE + long_at[0]
    return [cycles.sample(name, time=10 + i, pid=9, chain=chain(*[name + 1] * depth)) for i in range(nr)]


inputs = [long_1, long_4]
if long_at:
    inputs += [recording("wide.data", [cycles], [*program_records(cycles, 9, b"wide", long_program), *deep(300, 6), *deep(3, 200)])]
    path = os.path.join(work, "wide.parquet")
    p = export(inputs[-1], "parquet", "-o", path, "--json")
    rows = select(path, "count(*), min(len(stack)), max(len(stack)), count(DISTINCT time), count_if(stack[-1] = '[cut: names too long]')")
    tap.check(p.returncode == 0 and rows == [["303", "6", "7", "300", "3"]] and json.loads(p.stderr)["cut_stacks"] == 3, "names of a MiB: all rows, the widest are cut", [rows, p.stderr])
if sys.argv[2:] == ["sanitized"]:
    tap.skip("memory: at most 150 MiB more than another format takes", "the sanitizer keeps what is freed")
else:
    more = [peak("parquet", d) - peak("collapsed", d) for d in inputs]
    tap.check(max(more) < 150 << 10, "memory: at most 150 MiB more than another format takes", more)
shutil.rmtree(work, ignore_errors=True)
tap.done()
