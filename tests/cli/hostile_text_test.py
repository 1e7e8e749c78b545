#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: hostile_text_test.py CLEW: names that want to steer the terminal and to forge lines, wherever a name may come from: no command prints them
raw, in a pipe or on a terminal, and JSON stays JSON. TAP."""
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp().encode()
ENVIRONMENT = dict(os.environ, PAGER="cat", LC_ALL="C.UTF-8", HOME=work.decode(), XDG_CACHE_HOME=work.decode())

# A title, a cleared screen, CR, backspace; a line; tab, DEL; CSI as a byte and as a character; no UTF-8; turned text, a line separator.
ONE_LINE = b"\x1b]0;EVIL\x07\x1b[2J\r\x08FORGED\t\x7f\x9b31m\xc2\x9b31m\xff\xc3(\xe2\x80\xae\xe2\x80\xa8\"\\"
EVIL = ONE_LINE.replace(b"FORGED", b"\nFORGED")
BAD = {*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)} - {ord("\n"), ord("\t")}


def faults(out):
    """What a terminal or a reader of lines would fall for."""
    found = []
    try:
        found += ["U+%04X" % ord(c) for c in out.decode() if ord(c) in BAD]
    except UnicodeDecodeError as e:
        found.append("no UTF-8: %s" % e)
    if b"FORGED\t" in out:
        found.append("a tab")
    if any(line.lstrip().startswith(b"FORGED") for line in out.split(b"\n")):
        found.append("a forged line")
    return found


def in_pipe(args):
    p = subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, check=False, env=ENVIRONMENT, cwd=work)
    return p.stdout, p.stderr


def on_terminal(args):
    master, slave = pty.openpty()
    with tempfile.TemporaryFile() as errors:
        p = subprocess.Popen([clew, *args], stdin=subprocess.DEVNULL, stdout=slave, stderr=errors, env=ENVIRONMENT, cwd=work)
        os.close(slave)
        out = b""
        while True:
            try:
                piece = os.read(master, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            out += piece
        os.close(master)
        p.wait()
        errors.seek(0)
        return out.replace(b"\r\n", b"\n"), errors.read()


def clean(name, args, runs=(in_pipe,), shows=True, is_json=False):
    """@shows: the name is in the output at all, else the row would say nothing."""
    for run in runs:
        out, err = run(args)
        wrong = faults(out) + faults(err)
        if shows and b"EVIL" not in out + err:
            wrong.append("the name is not there")
        if is_json:
            try:
                for document in [out] if args[0] in ("report", "annotate", "diff") else out.splitlines():
                    json.loads(document)
            except ValueError as e:
                wrong.append("no JSON: %s" % e)
        tap.check(not wrong, name + (", on a terminal" if run is on_terminal else ""), [*wrong, out, err])


def write(name, data):
    path = os.path.join(work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


# A tracepoint with the recorded bytes as its text.
FORMAT = (
    b"name: evil\nID: 100\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
    b'\tfield:char text[64];\toffset:8;\tsize:64;\tsigned:0;\n\nprint fmt: "text=%s", REC->text\n'
)


def tracing_data():
    out = b"\x17\x08\x44tracing0.6\0" + struct.pack("<BBI", 0, 8, 4096)
    out += b"header_page\0" + struct.pack("<Q", 0) + b"header_event\0" + struct.pack("<Q", 0)
    out += struct.pack("<I", 0) + struct.pack("<I", 1) + b"sys\0" + struct.pack("<IQ", 1, len(FORMAT)) + FORMAT
    return out + struct.pack("<IIQ", 0, 0, 0)


def features(events):
    one = struct.pack("<I", 1)
    return {
        1: tracing_data(),
        **{n: pm.text(b"x86_64" + EVIL if n == 6 else b"w%d" % n + EVIL) for n in (3, 4, 5, 6, 8, 9)},
        11: struct.pack("<I", 2) + pm.text(b"perf" + EVIL) + pm.text(b"arg'" + EVIL),
        12: pm.event_desc(events, [b"ev" + EVIL, b"tp" + EVIL]),
        13: one + pm.text(b"0" + EVIL) + one + pm.text(b"0" + EVIL),
        14: one + struct.pack("<IQQ", 0, 1, 1) + pm.text(b"0" + EVIL),
        16: one + struct.pack("<I", 1) + pm.text(b"pmu" + EVIL),
        17: one + pm.text(b"group" + EVIL) + struct.pack("<II", 0, 2),
        20: struct.pack("<II", 1, 1) + struct.pack("<IIII", 1, 64, 64, 8) + b"".join(pm.text(x + EVIL) for x in (b"Data", b"32K", b"0")),
        28: one + pm.text(b"cap" + EVIL) + pm.text(b"value" + EVIL),
        30: one + pm.text(b"hybrid" + EVIL) + pm.text(b"0" + EVIL),
        31: one + one + pm.text(b"pmu" + EVIL) + pm.text(b"cap" + EVIL) + pm.text(b"value" + EVIL),
    }


def recording(binary, function):
    """@function: an address in @binary, which is mapped as it is linked."""
    common = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD
    first = pm.Event(common | pm.ADDR | pm.CALLCHAIN | pm.BRANCH_STACK | pm.CGROUP, config=2, branch=8)  # page-faults: addresses have names
    second = pm.Event(common | pm.RAW, ident=2, kind=pm.TRACEPOINT, config=100)
    places = (function, 0x7000010)
    records = pm.comm(first, 7, b"comm" + EVIL) + pm.cgroup(first, 5, b"/cgroup" + EVIL)
    records += pm.mmap2(first, 7, 0, 0x100000, binary) + pm.mmap2(first, 7, 0x7000000, 0x1000, b"/nowhere/d" + EVIL)
    records += pm.ksymbol(first, 0xFFFFFFFFA0000000, b"bpf_prog" + EVIL)
    for time, ip in enumerate(places, 10):
        records += first.sample(ip, time=time, addr=places[1], cgroup=5, branches=[places], chain=(pm.CONTEXT_USER, ip, *places))
    records += second.sample(places[1], time=20, raw=struct.pack("<HHI", 100, 0, 0) + (b"EVIL" + EVIL)[:63].ljust(64, b"\0"))
    return pm.perf_data([first, second], records, features([first, second]))


def symbol_of(path, start):
    """The address of the first symbol that begins with @start."""
    with open(path, "rb") as f:
        elf = f.read()
    at, size, nr = struct.unpack_from("<Q", elf, 0x28)[0], *struct.unpack_from("<HH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, at + size * i) for i in range(nr)]
    for s in sections:
        if s[1] != 2:  # SHT_SYMTAB
            continue
        names = sections[s[6]][4]
        for i in range(s[4], s[4] + s[5], 24):
            name, _info, _other, _section, value, _size = struct.unpack_from("<IBBHQQ", elf, i)
            if elf[names + name :].startswith(start):
                return value
    raise LookupError(start)


# With room after it: its frame may come and go.
FUNCTION = 'int victim(int x) { int y[4] = {x, 1, x, 2}; return y[x & 3] * 7 + x; }\n__asm__(".text\\n.skip 64");\n'


def make_binary():
    """A library with a hostile path, source file and symbol; the place of the symbol."""
    line = "".join("\\%03o" % c for c in b"src" + EVIL)
    source = write(b"code.c", '#line 1 "%s"\n%s' % (line, FUNCTION))
    path = os.path.join(work, b"lib" + EVIL + b".so")
    plain = os.path.join(work, b"plain.so")
    flags = ["-g", "-O1", "-shared", "-fPIC", "-nostdlib", "-fasynchronous-unwind-tables", "-fno-toplevel-reorder"]
    subprocess.run(["cc", *flags, "-o", plain, source], check=True)
    subprocess.run(["cc", *flags, "-fno-omit-frame-pointer", "-o", os.path.join(work, b"framed.so"), source], check=True)
    subprocess.run(["objcopy", "--redefine-sym", b"victim=victim" + EVIL, plain, path], check=True)
    return path, symbol_of(path, b"victim")


def recordings(binary, function):
    path = write(b"recording" + EVIL, recording(binary, function))
    both = (in_pipe, on_terminal)
    all_fields = "comm,tid,pid,time,cpu,event,trace,ip,sym,symoff,dso,dsoff,srcline,addr,period,cgroup"
    shows = ["--show-task-events", "--show-mmap-events", "--show-cgroup-events", "--show-bpf-events"]
    clean("script", ["script", "-i", path], both)
    clean("script, all fields", ["script", "-i", path, "-F", "sw:" + all_fields + ",brstack", "--inline", "--full-source-path"])
    clean("script, branches by name", ["script", "-i", path, "-F", "sw:ip,brstacksym,dso", "-G"])
    clean("script, latency format", ["script", "-i", path, "-L"])
    clean("script, other records", ["script", "-i", path, *shows], both)
    clean("script -D", ["script", "-i", path, "-D"])
    clean("script --header", ["script", "-i", path, "--header", "-I"])
    clean("script --json", ["script", "-i", path, "--json", *shows], is_json=True)
    clean("header", ["header", "-i", path, "-I"], both)
    clean("header --json", ["header", "-i", path, "-I", "--json"], is_json=True)
    for option in ([], ["-v"], ["-F"], ["-g"], ["--trace-fields"]):
        clean(" ".join(["evlist", *option]), ["evlist", "-i", path, *option], both if not option else (in_pipe,))
    clean("evlist --json", ["evlist", "-i", path, "--json"], is_json=True)
    report = ["report", "-i", path, "--stdio-color", "never"]
    clean("report", report, both)
    for option in (["--no-group"], ["-g", "flat"], ["-g", "folded"], ["--folded"], ["--stats"], ["--header"], ["-s", "srcline,srcfile,cgroup"], ["-v"]):
        clean(" ".join(["report", *option]), [*report, *option])
    clean("report --json", [*report, "--json"], is_json=True)
    clean("diff", ["diff", "--stdio-color", "never", path, path], both)
    clean("diff -v, by lines", ["diff", "-v", "--exact", "-s", "srcline,srcfile,cgroup,sym", path, path])
    clean("diff --fail-above", ["diff", "--fail-above", "0", path, write(b"none" + EVIL, b"no recording")])
    clean("diff --json", ["diff", "--json", path, path], is_json=True)
    clean("annotate", ["annotate", "-i", path, "--stdio-color", "never"], both)
    clean("annotate -l -v", ["annotate", "-i", path, "-l", "-v"])
    clean("annotate --json", ["annotate", "-i", path, "--json"], is_json=True)
    clean("annotate, no such function", ["annotate", "-i", path, b"victim" + EVIL + b"2"])
    for to in "collapsed", "callgrind":
        clean("export --to " + to, ["export", "--to", to, "-i", path], both)
    for to in ("llvm",), ("autofdo",), ("lcov", "--samples"):
        clean("export --to " + to[0], ["export", "-i", path, "--to", *to], both)
    clean("export --to bolt", ["export", "-i", path, "--to", "bolt", "--binary", b"victim" + EVIL])
    clean("export --to speedscope", ["export", "-q", "--to", "speedscope", "-i", path], is_json=False)
    # Messages name the file.
    cut = write(b"cut" + EVIL, recording(binary, function)[:900])
    clean("a file that is cut off", ["script", "-i", cut])
    clean("no recording", ["report", "-i", write(b"other" + EVIL, b"no recording at all")])
    clean("no trace", ["inject", "-i", path, "-o", os.path.join(work, b"out"), "--format=autofdo"])


def command_lines():
    clean("no such file", ["script", "-i", EVIL])
    clean("no such command", [EVIL])
    clean("no such option", ["report", b"--" + EVIL])
    clean("no such key", ["report", "-s", EVIL])
    clean("no such field", ["script", "-F", EVIL])
    clean("no such event", ["record", "-e", EVIL, "--", "true"])
    clean("no such program", ["record", "-o", os.path.join(work, b"none.data"), "--", EVIL], shows=False)
    clean("one word too many", ["doctor", EVIL])
    for name, args in (("no such program", ["--", EVIL]), ("no such folder for -o", ["-o", EVIL + b"/x", "--", "true"]), ("no such user", ["-u", EVIL]),
                       ("no such process", ["-p", EVIL])):
        err = in_pipe(["record", "-e", "dummy", "-n", *args])[1]
        tap.check(b"EVIL" in err and b"hint:" not in err, "record, %s: a newline in the name begins no hint" % name, err)


def tables(binary):
    section = os.path.join(work, b"section" + EVIL)
    other = os.path.join(work, b"other.section")
    clean("sframe make", ["sframe", "make", "-o", section, binary])
    in_pipe(["sframe", "make", "-o", other, os.path.join(work, b"framed.so")])
    clean("sframe dump", ["sframe", "dump", section])
    clean("sframe check", ["sframe", "check", "-s", section, binary])
    clean("sframe make --json", ["sframe", "make", "--json", "-o", section, binary], is_json=True)
    clean("sframe dump --json", ["sframe", "dump", "--json", section], is_json=True)
    clean("sframe check --json", ["sframe", "check", "--json", "-s", section, binary], is_json=True)
    clean("sframe check --json, a function named", ["sframe", "check", "--json", "-s", other, binary], is_json=True)
    clean("sframe check, a function named", ["sframe", "check", "-s", other, binary])


def snapshot():
    """CoreSight trace; names in .ini files are of one line each."""
    evil = ONE_LINE.replace(b"\r", b"")
    name = b"snap" + EVIL
    write(os.path.join(name, b"snapshot.ini"), b"[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\ndevice1=etm.ini\n\n[trace]\nmetadata=trace.ini\n")
    write(os.path.join(name, b"cpu.ini"), b"[device]\nname=cpu_0%s\nclass=core\ntype=Cortex-A53\n\n[regs]\nPC(size:64)=0x10000\n\n"
          b"[dump1]\nfile=code.bin\naddress=0x10000\nlength=0x10\n" % evil)
    write(os.path.join(name, b"etm.ini"), b"[device]\nname=ETM_0%s\nclass=trace_source\ntype=ETM4\n\n[regs]\nTRCCONFIGR(0x004)=1\nTRCTRACEIDR(0x010)=0x10\n"
          b"TRCIDR0(0x078)=0x28000EA1\nTRCIDR1(0x079)=0x4100f403\nTRCIDR2(0x07A)=0x488\nTRCIDR8(0x060)=0\n" % evil)
    write(os.path.join(name, b"trace.ini"), b"[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace%s\nformat=source_data\n\n"
          b"[source_buffers]\nETM_0%s=ETB_0\n\n[core_trace_sources]\ncpu_0%s=ETM_0%s\n" % (evil, evil, evil, evil))
    write(os.path.join(name, b"code.bin"), bytes.fromhex("00040091" "02000014" "1f2003d5" "c0035fd6"))
    # Async, trace info, trace on, an address with context, two atoms.
    write(os.path.join(name, b"trace" + evil), bytes(11) + b"\x80\x01\x01\x00\x04\x82\x00\x00\x01\x00\x31\xf7\xf7")
    path = os.path.join(work, name)
    clean("trace", ["trace", "-i", path])
    clean("trace --json", ["trace", "-i", path, "--json"], is_json=True)
    clean("dump", ["dump", "-i", path])
    clean("dump --json", ["dump", "-i", path, "--json"], shows=False, is_json=True)


command_lines()
snapshot()
if sys.byteorder != "little" or not shutil.which("cc") or not shutil.which("objcopy"):
    tap.skip("binaries", "no cc or objcopy here that makes them")
    recordings(b"/no/such" + EVIL, 0x1000)
else:
    library, place = make_binary()
    recordings(library, place)
    tables(library)
shutil.rmtree(work)
tap.done()
