#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: memory_test.py CLEW: what is unpacked or kept of an input stays within --max-memory, says so, and the rest goes on."""
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap
from bomb_lib import (BASE, DEFERS, IS_PACKED, PERF_CONTEXT_USER, PERF_CONTEXT_USER_DEFERRED, ROUND, TEXT_AT, Run, arch, aux, auxtrace, comm, elf, etm_unit, exported, is_sanitized, mmap2, packed_names, packed_samples, packed_zeros, record, recording,
                      sample, symbols, text_section, with_debugdata, with_ids, with_lines)

CLEW = os.path.abspath(sys.argv[1])
MIB = 1 << 20
OWN_KIB = 64 << 10  # the program itself, its libraries, the input's pages
measures = not is_sanitized(CLEW)


def put(name, data):
    path = os.path.join(scratch, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def make(name, make_data, *words):
    """put(), by another process: what this one had at most counts as what its children have."""
    child = os.fork()
    if not child:
        put(name, make_data(*words))
        os._exit(0)
    os.waitpid(child, 0)
    return os.path.join(scratch, name)


def mapped(name, paths):
    """a recording with one sample in .text of each"""
    data = b"".join(mmap2(BASE * (i + 1), MIB, os.fsencode(p)) + sample(BASE * (i + 1) + TEXT_AT + 8) for i, p in enumerate(paths))
    return put(name, recording(data))


def run(*words):
    return Run(CLEW, list(words))


def report(path, *words):
    return run("report", "--stdio", "-i", path, "--kallsyms", "/dev/null", *words)


def check_within(r, budget, name):
    if measures:
        tap.check(r.kib <= budget // 1024 + OWN_KIB, f"{name}: no more memory than that", f"{r.kib} KiB")
    else:
        tap.skip(f"{name}: no more memory than that", "a sanitizer's memory is not measured")


def check_left_out(r, what, name, more=0):
    """one sentence on what was left out, and how to allow more"""
    lines = [line for line in r.err.splitlines() if "was used up" in line]
    tap.check(r.status == 0, f"{name}: the rest goes on", r.err)
    tap.check(len(lines) == 1 and what in lines[0], f"{name}: one sentence says what was left out", r.err)
    tap.check(len(lines) == 1 and lines[0].endswith(f" and {more} more") == bool(more), f"{name}: and how many things more", r.err)
    tap.check("--max-memory SIZE" in r.err, f"{name}: and what allows more", r.err)


def check_whole(r, name):
    tap.check(r.status == 0 and not r.err, f"{name}: nothing is left out", r.err)


def test_debugdata():
    path = make("packed.so", with_debugdata, 40 * MIB)
    data = mapped("packed.data", [path])
    whole = report(data)
    check_whole(whole, "packed symbols")
    tap.check("hidden_function" in whole.out, "packed symbols: they are found", whole.out)
    r = report(data, "--max-memory", "16M")
    check_left_out(r, f"the packed symbols (.gnu_debugdata) of {path}", "packed symbols over the budget")
    check_within(r, 16 * MIB, "packed symbols over the budget")
    tap.check("exported" in r.out and "hidden" not in r.out, "packed symbols over the budget: exported ones are left", r.out)


def test_copies():
    """Of different files as many are unpacked as there is room for."""
    paths = [make(f"copy{i}.so", with_debugdata, 20 * MIB) for i in range(5)]
    r = report(mapped("copies.data", paths), "--max-memory", "50M", "-s", "dso,sym")
    check_left_out(r, f"of {paths[2]}", "five files", more=2)
    check_within(r, 50 * MIB, "five files")
    tap.check(r.out.count("hidden") == 2 and r.out.count("exported") == 3, "five files: the first two had room", r.out)


def test_spellings():
    """One file under many names is opened and parsed once: there is room for it once."""
    names = [b"function_%d" % i for i in range(20000)]
    path = put("many.so", elf([text_section()] + symbols([b"the_first"] + names, 3)))
    size = os.path.getsize(path)
    where, base = os.path.split(path)
    paths = [where + "/" + "./" * (i % 500) + "/" * (i // 500) + base for i in range(1000)]
    r = report(mapped("spellings.data", paths), "--max-memory", str(size + 8 * MIB), "-s", "dso")
    check_whole(r, "1,000 names of one file")
    check_within(r, size + 8 * MIB, "1,000 names of one file")
    tap.check(" 100.00%" in r.out and "without a symbol" not in r.out, "1,000 names of one file: all have its symbols", r.out)
    linked = os.path.join(scratch, "link.so")
    os.link(path, linked)
    os.symlink(path, os.path.join(scratch, "soft.so"))
    r = report(mapped("links.data", [path, linked, os.path.join(scratch, "soft.so")]), "-s", "dso,sym", "--max-memory", str(size + 8 * MIB))
    rows = [line.split() for line in r.out.splitlines() if "%" in line and not line.startswith("#")]
    tap.check(sorted(row[1] for row in rows) == ["link.so", "many.so", "soft.so"] and len({row[-1] for row in rows}) == 1,
              "each name keeps its own row", r.out)
    check_whole(r, "links of one file")
    other = put("other.so", elf([text_section()] + symbols([b"the_other"], 3)))
    r = report(mapped("two.data", [path, other]), "-s", "dso,sym")
    tap.check("the_other" in r.out and ("the_first" in r.out or "function_" in r.out), "another file has its own symbols", r.out)


def test_symbols():
    names = [b"function_%d" % i for i in range(60000)]
    path = put("symbols.so", elf([text_section()] + symbols(names, 3)))
    r = report(mapped("symbols.data", [path]), "--max-memory", str(os.path.getsize(path) + 2 * MIB))
    check_left_out(r, f"the symbols of {path}", "a symbol table over the budget")
    tap.check("memory budget" in r.out and "--max-memory" in r.out, "a symbol table over the budget: the report gives the reason", r.out)
    r = report(mapped("symbols.data", [path]), "--max-memory", str(os.path.getsize(path) - 1))
    check_left_out(r, f"the file {path}", "a file over the budget")


def complaints(r):
    """But for the note that nothing in a made recording says which file it was."""
    return [line for line in r.err.splitlines() if not line.startswith("clew: not checked: ")]


def test_lines():
    path = make("lines.so", with_lines, MIB)
    data = mapped("lines.data", [path])
    words = "script", "-F", "ip,sym,srcline", "-i", data, "--kallsyms", "/dev/null"
    whole = run(*words)
    tap.check(whole.status == 0 and not complaints(whole) and "a.c:" in whole.out, "a line table is read", whole.out + whole.err)
    r = run(*words, "--max-memory", "32M")
    check_left_out(r, f"a line table of {path} (112 MiB)", "a line table over the budget")
    check_within(r, 32 * MIB, "a line table over the budget")
    tap.check("exported" in r.out and "a.c:" not in r.out, "a line table over the budget: symbols are left", r.out)
    for to in ("lcov", "--samples"), ("llvm",):
        r = run("export", "--to", *to, "-i", data, "--kallsyms", "/dev/null", "--max-memory", "32M")
        check_left_out(r, f"a line table of {path} (112 MiB)", f"export --to {to[0]}: a line table over the budget")
        check_within(r, 32 * MIB, f"export --to {to[0]}: a line table over the budget")
    r = run("export", "--to", "lcov", "--samples", "-i", data, "--kallsyms", "/dev/null", "--max-memory", "130M")
    check_left_out(r, "source lines of", "export --to lcov: more lines than the budget has room for")
    check_within(r, 130 * MIB, "export --to lcov: more lines than the budget has room for")
    path = make("large.so", with_lines, 64, 1, 1, [packed_zeros(b".debug_str", 300 * MIB)])
    r = run("script", "-F", "ip,sym,srcline", "-i", mapped("large.data", [path]), "--kallsyms", "/dev/null", "--max-memory", "1G")
    tap.check(r.status == 0 and not complaints(r) and "a.c:" in r.out, "debug information of 300 MiB is read where the budget has room", r.out + r.err)
    path = make("files.so", with_lines, 64, 60000, 5000)
    data = mapped("files.data", [path])
    r = run("script", "-F", "ip,sym,srcline", "-i", data, "--kallsyms", "/dev/null", "--max-memory", "64M")
    check_left_out(r, f"a line table of {path}", "a line table of 5,000 long paths")
    check_within(r, 64 * MIB, "a line table of 5,000 long paths")
    path = make("packed_lines.so", with_lines, 40 * MIB)
    data = mapped("packed_lines.data", [path])
    r = run("script", "-F", "ip,sym,srcline", "-i", data, "--kallsyms", "/dev/null", "--max-memory", "16M")
    check_left_out(r, f"the packed debug sections of {path} (40 MiB)", "packed sections over the budget")
    check_within(r, 16 * MIB, "packed sections over the budget")


def test_kernel():
    text = b"".join(b"%016x T kernel_function_%d\n" % (0xffffffff81000000 + 64 * i, i) for i in range(200000))
    path = put("kallsyms", text)
    kernel = put("kernel.data", recording(sample(0xffffffff81000008).replace(b"\x09\0\0\0\2\0", b"\x09\0\0\0\1\0", 1)))
    words = "report", "--stdio", "-i", kernel, "--kallsyms", path
    r = run(*words)
    tap.check("kernel_function_0" in r.out and not r.err, "kernel symbols are read", r.out + r.err)
    r = run(*words, "--max-memory", "4M")
    check_left_out(r, f"the kernel's symbols in {path}", "kernel symbols over the budget")


def test_perf_map():
    """The names of run-time generated code: the text itself, too, while it is read."""
    pid = 4194305  # above what Linux gives
    path = f"/tmp/perf-{pid}.map"
    data = put("generated.data", recording(mmap2(BASE, MIB, b"//anon", pid=pid) + sample(BASE + 8, pid=pid)))
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        make(path, lambda: b"%x 100 generated\n" % BASE + b"".join(b"%s\n" % (b"x" * MIB) for _ in range(120)))
        r = report(data, "--max-memory", "16M")
        check_left_out(r, f"the symbols of {path}", "a perf-PID.map over the budget")
        check_within(r, 16 * MIB, "a perf-PID.map over the budget")
        tap.check("allow more with --max-memory SIZE" in r.out, "a perf-PID.map over the budget: the report says so", r.out)
        r = report(data, "--max-memory", "160M")
        check_whole(r, "a perf-PID.map within the budget")
        tap.check("] generated" in r.out, "a perf-PID.map within the budget: it is read", r.out)
        os.unlink(path)
        os.mkfifo(path)
        r = report(data)
        tap.check("perf-PID.map is not a regular file\n" in r.out, "a fifo as perf-PID.map: what would not help is not advised", r.out)
        os.unlink(path)
        r = report(data)
        tap.check("with its option for perf maps" in r.out, "no perf-PID.map: what makes one is", r.out)
    finally:
        if os.path.lexists(path):
            os.unlink(path)


def snapshot(name, device_list, devices, dumps=()):
    """a directory of trace; @p devices: (file, text)"""
    where = os.path.join(scratch, name)
    os.makedirs(where)
    listed = "".join(f"device{i}={d}\n" for i, d in enumerate(device_list))
    put(f"{name}/snapshot.ini", f"[snapshot]\nversion=1.0\n[device_list]\n{listed}[trace]\nmetadata=trace.ini\n".encode())
    put(f"{name}/trace.ini", b"[trace_buffers]\nbuffers=b0\n[b0]\nname=ETB\nfile=t.bin\nformat=coresight\n"
        b"[core_trace_sources]\ncpu0=ETM\n[source_buffers]\nETM=ETB\n")
    put(f"{name}/t.bin", bytes(4096))
    for file, text in devices:
        put(f"{name}/{file}", text)
    for file, size in dumps:
        with open(os.path.join(where, file), "wb") as f:
            f.truncate(size)
    return where


UNIT = b"[device]\nname=ETM\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=0x1\nTRCTRACEIDR=0x10\nTRCIDR0=0x28000ea1\n" \
       b"TRCIDR1=0x4100f403\nTRCIDR2=0x488\nTRCIDR8=0\n"


def test_snapshot():
    lines = b"".join(b"key%07d=value\n" % i for i in range(40000))
    where = snapshot("again", [("./" * (i % 10)) + "dev.ini" for i in range(1024)], [("dev.ini", UNIT + lines)])
    r = run("trace", "-i", where, "--max-memory", "1M")
    tap.check(r.status == 0 and "1023 devices share .ini files with others: read once" in r.err,
              "one .ini of 1,024 devices is read once", r.err)
    tap.check("memory budget" not in r.err and "1 trace unit" in r.out, "one .ini of 1,024 devices: there is room for it", r.out + r.err)
    check_within(r, MIB, "one .ini of 1,024 devices")
    others = [(f"dev{i}.ini", b"[device]\nname=other%d\n" % i + lines) for i in range(4)]
    where = snapshot("others", ["dev.ini"] + [file for file, _ in others], [("dev.ini", UNIT)] + others)
    r = run("trace", "-i", where, "--max-memory", "1500K")
    check_left_out(r, "the .ini file dev2.ini", ".ini files over the budget", more=1)
    tap.check("1 trace unit" in r.out and "dev2.ini: the memory budget has no room for it" in r.err,
              ".ini files over the budget: the trace is read", r.out + r.err)
    core = b"[device]\nname=cpu0\nclass=core\ntype=Cortex-A53\n" + b"".join(
        b"[dump%d]\nfile=%s\naddress=0x%x\n" % (i, file, i << 32) for i, file in enumerate((b"small", b"./small", b"large")))
    where = snapshot("dumps", ["dev.ini", "core.ini"], [("dev.ini", UNIT), ("core.ini", core)], [("small", 3 * MIB), ("large", 64 * MIB)])
    r = run("trace", "-i", where, "--max-memory", "4M")
    check_left_out(r, "the memory dump large (64 MiB)", "a memory dump over the budget")
    r = run("trace", "-i", where, "--max-memory", "80M")
    tap.check(r.status == 0 and "budget" not in r.err, "memory dumps that fit are mapped", r.err)


def deep(nr_samples, nr_frames):
    """a recording of chains, each frame of which is another address"""
    data = b""
    for i in range(nr_samples):
        first = 0x1000 + i * nr_frames * 16
        data += sample(first, 2 + i, [PERF_CONTEXT_USER] + list(range(first, first + nr_frames * 16, 16)))
    return recording(data, True)


def test_depth():
    data = put("deep.data", deep(20, 3000))
    r = report(data, "--no-children")
    tap.check(r.status == 0 and "20 samples have more than 1024 frames in their call chains: 39520 more frames are not shown" in r.err,
              "deep chains: how much is left out", r.err)
    tap.check(r.out.count("[897 more frames]\n") == 20, "deep chains: a graph ends after 127 frames and says how many more there are",
              r.out[-500:])
    lines = len(r.out.splitlines())
    tap.check(20 * 127 < lines < 20 * 140, "deep chains: that is all that is printed", lines)
    rows = report(data, "--max-stack", "3000", "--no-children")
    tap.check(not rows.err and "more frames" not in rows.out and len(rows.out.splitlines()) > 20 * 3000,
              "deep chains: --max-stack prints all of them", rows.err)
    flat = report(data, "--no-children", "-g", "folded")
    tap.check(flat.out.count(";[897 more frames]\n") == 20, "deep chains: folded paths end so, too")
    r = report(data)
    tap.check("more than 262144 branches" in r.out and len(r.out.splitlines()) < 262144 + 20 * 1024 * 5 + 100,
              "deep chains: with callers, too, the report is no flood", len(r.out.splitlines()))
    short = put("short.data", deep(20, 127))
    r = report(short, "--no-children")
    tap.check(not r.err and "more frame" not in r.out and r.out == report(short, "--no-children", "--max-stack", "8000").out,
              "chains of 127 frames are drawn in full", r.err)


def test_records():
    """Records that wait for their turn: no time is newer than the one before, so none may go before the end."""
    packed, each = 60, 100
    data = b"".join(packed_samples(range((packed - i) * each, (packed - i - 1) * each, -1)) for i in range(packed))
    path = put("records.data", recording(data, features=[(6, arch()), IS_PACKED]))
    r = report(path, "--max-memory", "64M")
    check_left_out(r, f"a part of the order in time of {path}", "packed records over the budget")
    check_within(r, 64 * MIB, "packed records over the budget")
    tap.check(f"# Samples: {packed * each} of event" in r.out, "packed records over the budget: all are counted", r.out)
    path = put("fewer.data", recording(packed_samples(range(each, 0, -1)), features=[(6, arch()), IS_PACKED]))
    r = report(path, "--max-memory", "64M")
    check_whole(r, "packed records within the budget")
    tap.check(f"# Samples: {each} of event" in r.out, "packed records within the budget: all are counted", r.out)


def threads(nr):
    """threads with a name each, then samples of some of them"""
    return recording(b"".join(comm(i, b"name of thread %07d " % i + b"x" * 200) for i in range(1, nr)) +
                     b"".join(sample(0x1000, 2, pid=i) for i in (1, 2, nr - 1)))


def names(kind, head):
    """records with long names, 120 MiB of these, and a sample"""
    nr, each = 2000, 20
    data = b"".join(packed_names(kind, range(i, i + each), head) + ROUND for i in range(0, nr, each))
    return recording(data + sample(0x1000, 2), features=[(6, arch()), IS_PACKED])


def files(nr):
    """files in a process, with a sample in each"""
    return recording(b"".join(mmap2(BASE * (i + 1), 4096, b"/no/file/%07d/" % i + b"x" * 200) + sample(BASE * (i + 1) + 8) for i in range(nr)))


def test_told():
    """What records describe: threads, names, mappings, files, cgroups."""
    path = make("threads.data", threads, 200000)
    r = run("script", "-F", "comm,tid", "-i", path, "--max-memory", "16M")
    # Names of threads, or what is kept of their programs: whatever comes first.
    check_left_out(r, f" of {path}", "200,000 threads", more=left_more(r))
    check_within(r, 16 * MIB, "200,000 threads")
    lines = [line.split() for line in r.out.splitlines()]
    tap.check(len(lines) == 3 and [line[-1] for line in lines] == ["1", "2", "199999"], "200,000 threads: each sample has its number", r.out)
    tap.check(lines[0][:3] == ["name", "of", "thread"] and lines[-1][:2] == ["[not", "kept]"],
              "200,000 threads: the first ones keep their names, the last has none, not another's", r.out)
    r = run("script", "-F", "comm,tid", "-i", path)
    check_whole(r, "200,000 threads with room")
    for name, kind, head, what in (
            ("comms", 3, lambda i: struct.pack("<II", 1, 1), "names of threads and files of"),
            ("paths", 10, lambda i: struct.pack("<IIQQQIIQQII", 1, 1, BASE * (i + 1), 4096, 0, 0, 0, 0, 0, 5, 2), "names of threads and files of"),
            ("cgroups", 19, lambda i: struct.pack("<Q", i), "names of cgroups of")):
        path = make(f"{name}.data", names, kind, head)
        r = report(path, "--max-memory", "16M")
        check_left_out(r, f"{what} {path}", f"long {name}", more=left_more(r))
        check_within(r, 16 * MIB, f"long {name}")
        tap.check("# Samples: 1 of event" in r.out, f"long {name}: the sample is counted", r.out)
    path = make("files.data", files, 50000)
    r = report(path, "--max-memory", "16M", "-s", "dso")
    check_left_out(r, path, "50,000 files", more=left_more(r))
    check_within(r, 16 * MIB, "50,000 files")
    tap.check("# Samples: 50000 of event" in r.out, "50,000 files: all samples are counted", r.out[:400])
    check_whole(report(path, "-s", "dso"), "50,000 files with room")


def keys(nr):
    return recording(b"".join(sample(0x1000 + i % 16, 2, pid=i + 1) for i in range(nr)))


def places(nr):
    """samples without a file, each at another address, and called from another"""
    return recording(b"".join(sample(0x1000 + i * 16, 2, [PERF_CONTEXT_USER, 0x1000 + i * 16, 0x10000000 + i * 16]) for i in range(nr)), True)


def nested(nr_threads, nr_frames):
    """threads that all have one deep path: rows of each frame for each thread"""
    chain = [PERF_CONTEXT_USER] + [0x1000 + 16 * i for i in range(nr_frames)]
    return recording(b"".join(sample(0x1000, 2, chain, pid=i + 1) for i in range(nr_threads)), True)


def test_report():
    """What a report itself keeps: functions, paths, keys, rows."""
    for name, make_data, nr, words in (
            ("places", places, 400000, ("-g", "none", "--no-children")),
            ("called places", places, 400000, ()),
            ("threads", keys, 400000, ("-s", "tid")),
            ("rows", lambda n: nested(n, 400), 1500, ("-s", "tid,sym", "-g", "none", "--children"))):
        path = make(name.replace(" ", "_") + ".data", make_data, nr)
        r = report(path, "--max-memory", "32M", *words)
        check_left_out(r, path, f"a report of {nr} {name}", more=left_more(r))
        check_within(r, 32 * MIB, f"a report of {nr} {name}")
        tap.check(f"# Samples: {nr} of event" in r.out and f"# Event count (approx.): {nr}" in r.out,
                  f"a report of {nr} {name}: all samples are counted", r.out[:400])
        tap.check(len(re.findall(r"^ +\d+\.\d+%", r.out, re.M)) > 1000, f"a report of {nr} {name}: there is room for some of its rows", r.out[:400])


def test_header():
    """Commands that read the header alone."""
    path = make("ids.data", with_ids, 15, 1000000)
    for words in ("header",), ("evlist",), ("header", "--json"), ("report", "--stdio"), ("script",):
        name = f"{' '.join(words)} of 15,000,000 ids"
        r = run(*words, "-i", path, "--max-memory", "32M")
        check_left_out(r, f"ids of events of {path}", name, more=left_more(r))
        check_within(r, 32 * MIB, name)
    r = run("evlist", "-i", path, "--max-memory", "32M")
    tap.check(r.out.count("cpu-clock") == 15, "evlist of 15,000,000 ids: all events are named", r.out)
    check_whole(run("evlist", "-i", path), "evlist of 15,000,000 ids with room")
    packed = put("packed_header.data", recording(packed_samples(range(1, 100)), features=[(6, arch()), IS_PACKED]))
    whole = run("header", "-i", packed)
    check_whole(whole, "header of packed records")
    tap.check(whole.out == run("header", "-i", packed, "--max-memory", "64M").out, "header of packed records: the same with another budget")
    for word in "header", "evlist":
        r = run(word, "-i", packed, "--max-memory=many")
        tap.check(r.status == 2 and "--max-memory takes a size" in r.err, f"{word} --max-memory many is refused", r.err)


def traced(sideband, nr):
    """one ETM's trace, with so many records beside it"""
    return recording(etm_unit() + auxtrace(0, bytes(64)) + b"".join(sideband(i) for i in range(nr)) + aux(0, 64, nr + 2))


def patches(i):
    """TEXT_POKE: code of the kernel, by a byte each"""
    return record(20, struct.pack("<QHH", 0xffffffff81000000 + i * 16, 1, 1) + b"\x90\x91" + bytes(2) + struct.pack("<IIQII", 1, 1, i + 1, 0, 0))


def test_sideband():
    """What is kept beside a hardware trace, of all times."""
    for name, sideband, nr, what in (
            ("threads", lambda i: comm(i + 1, b"name of thread %07d " % i + b"x" * 200, i + 1), 200000, "what threads did later in"),
            ("execs", lambda i: mmap2(BASE, 4096, b"/no/file/%07d/" % i + b"x" * 200, i + 1), 200000, "what threads did later in"),
            ("switches", lambda i: record(14, struct.pack("<IIQII", i + 1, i + 1, i + 1, 0, 0), misc=0), 300000, "what threads did later in"),
            ("patches", patches, 600000, "what threads did later in"),
            ("chunks", lambda i: aux(i * 64, 64, i + 1), 800000, "trace that comes later in"),
            ("buffers", lambda i: auxtrace(i * 8, bytes(8)), 800000, "trace that comes later in")):
        path = make(f"aux_{name}.data", traced, sideband, nr)
        r = run("trace", "-i", path, "--max-memory", "16M", "--kallsyms", "/dev/null")
        check_left_out(r, f"{what} {path}", f"trace beside {nr} {name}", more=left_more(r))
        check_within(r, 16 * MIB, f"trace beside {nr} {name}")
        tap.check("1 trace unit" in r.out, f"trace beside {nr} {name}: the unit is reported", r.out)
        r = run("trace", "-i", path, "--kallsyms", "/dev/null")
        tap.check(r.status == 0 and "memory budget" not in r.err, f"trace beside {nr} {name}: there is room by default", r.err)


def deferred(nr, has_stacks):
    """samples with stacks that follow all of them, the last one's first, or never"""
    data = b"".join(sample(0x1000, 2 + i, [PERF_CONTEXT_USER_DEFERRED, (1 << 32) + i], i % 1000 + 1) for i in range(nr))
    stacks = (record(22, struct.pack("<QQ10Q", (1 << 32) + i, 10, *range(0x1000, 0x1050, 8)) + struct.pack("<IIQII", i % 1000 + 1, i % 1000 + 1, nr + 2, 0, 0))
              for i in reversed(range(nr if has_stacks else 0)))
    return recording(data + b"".join(stacks), True, flags=DEFERS)


def test_waiting():
    """Samples that wait for their stacks, and stacks for theirs."""
    for nr, has_stacks in (600000, False), (250000, True):
        path = make("deferred.data", deferred, nr, has_stacks)
        for words in ("report", "--stats"), ("inject", "--merge-stacks", "-o", os.path.join(scratch, "merged.data")):
            name = f"{words[0]} of {nr} samples {'far from' if has_stacks else 'without'} their stacks"
            r = run(*words, "-i", path, "--max-memory", "16M")
            check_within(r, 16 * MIB, name)
            tap.check(r.status == 0 and str(nr) in r.out + r.err, f"{name}: all are counted", r.out + r.err)
            tap.check(words[0] == "inject" or "timeout" in r.out, f"{name}: what was not waited for has its reason", r.out)


def left_more(r):
    """how many things more were left out, as it says itself"""
    more = re.search(r" and (\d+) more$", r.err, re.M)
    return int(more.group(1)) if more else 0


def test_normal():
    """What fits is as it was, whatever the budget."""
    path = put("normal.so", elf(exported((b"one", b"two"))))
    data = mapped("normal.data", [path])
    first = report(data)
    second = report(data, "--max-memory", "1G")
    check_whole(first, "a normal file")
    tap.check(first.out == second.out and "one" in first.out, "a normal file: the same with another budget", second.out)


def test_option():
    data = mapped("option.data", [])
    for word in "", "0", "12X", "-1", "many":
        r = report(data, f"--max-memory={word}")
        tap.check(r.status == 2 and "--max-memory takes a size" in r.err, f"--max-memory '{word}' is refused", r.err)


with tempfile.TemporaryDirectory(prefix="clew-memory.") as scratch:
    test_normal()
    test_option()
    test_debugdata()
    test_copies()
    test_spellings()
    test_symbols()
    test_lines()
    test_kernel()
    test_perf_map()
    test_snapshot()
    test_depth()
    test_records()
    test_told()
    test_report()
    test_header()
    test_sideband()
    test_waiting()
tap.done()
