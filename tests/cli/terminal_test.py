#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: terminal_test.py CLEW SAMPLE_MAKE: what stands on a terminal: progress, the pager, Ctrl-C, the width. TAP.

Each command runs on a pseudo terminal of its own. A slow input is a pipe that is fed when the test
has seen what it waits for, so nothing here depends on how fast anything is.
"""
import codecs
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done

CLEW, MAKE = (str(Path(p).resolve()) for p in sys.argv[1:3])
CLEAR = "\r\x1b[K"


def make(text, *options):
    return subprocess.run([MAKE, *options], input=text.encode(), capture_output=True, check=True).stdout


class Terminal:
    """A command with a pseudo terminal as its own; @p keep: descriptors by number that are not it."""

    def __init__(self, args, columns=80, stdin=None, stdout=None, **env):
        self.master, line = pty.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))

        def own():
            os.setsid()
            fcntl.ioctl(line, termios.TIOCSCTTY, 0)

        self.p = subprocess.Popen([CLEW, *args], stdin=line if stdin is None else stdin,
                                  stdout=line if stdout is None else stdout, stderr=line, preexec_fn=own,
                                  env={**os.environ, "PAGER": "cat", "TERM": "vt100", **env})
        os.close(line)
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def more(self):
        """@return whether there was something."""
        try:
            data = os.read(self.master, 65536)
        except OSError:  # EIO: all have closed it
            return False
        self.text += self.decoder.decode(data)
        return bool(data)

    def wait_for(self, pattern):
        while not re.search(pattern, self.text):
            if not self.more():
                return False
        return True

    def end(self):
        while self.more():
            pass
        os.close(self.master)
        return self.p.wait()


top = tempfile.TemporaryDirectory(prefix="clew-terminal-")
os.chdir(top.name)
HEAD = "event cycles:u\ncomm a app\nmap a 400000 10000 0 /nowhere/app\n"
SAMPLES = "".join(f"sample 0 a 400{i:03x} {1000 + i:x} 1\n" for i in range(256))
PIPE = make(HEAD + SAMPLES, "--pipe")
Path("perf.data").write_bytes(make(HEAD + SAMPLES))


def slow(args, first=PIPE[:len(PIPE) // 2], **kw):
    """A command that reads a pipe, of which it has the first part: of PIPE, the first half."""
    read_end, write_end = os.pipe()
    t = Terminal([*args, "-"] if args[0] == "diff" else [*args, "-i", "-"], stdin=read_end, **kw)
    os.close(read_end)
    while first:
        first = first[os.write(write_end, first):]
    return t, write_end


def feed(write_end):
    os.write(write_end, PIPE[len(PIPE) // 2:])
    os.close(write_end)


# Progress
t, rest = slow(["report"])
check(t.wait_for(r"clew: reading: \d+ s"), "report: a line while it reads", t.text)
feed(rest)
status = t.end()
after = t.text[t.text.rfind(CLEAR) + len(CLEAR):]
check(status == 0 and "0x" in after and "clew: reading" not in after,
      "report: the line is gone before the first line of the report", t.text)
out = os.open("script.txt", os.O_WRONLY | os.O_CREAT)
t, rest = slow(["script"], stdout=out)
check(t.wait_for(r"clew: reading: \d+ s"), "script to a file: a line while it reads", t.text)
feed(rest)
status = t.end()
os.close(out)
check(status == 0 and t.text.endswith(CLEAR) and Path("script.txt").read_text().count("app") >= 256,
      "script to a file: the line goes, the file has all", t.text)
t, rest = slow(["diff", "--force", "perf.data"])
check(t.wait_for(r"clew: reading: \d+ s"), "diff: a line while it reads", t.text)
feed(rest)
status = t.end()
after = t.text[t.text.rfind(CLEAR) + len(CLEAR):]
check(status == 0 and after.startswith("# A: perf.data: ") and "clew: reading" not in after, "diff: the line is gone before the table", t.text)
t, rest = slow(["header"])
check(t.wait_for(r"clew: \w+: \d+ s"), "header: a line while it reads", t.text)
feed(rest)
t.end()
for name, *args in (("report --html", "report", "--html", "page.html"), ("report --json", "report", "--json"), ("annotate", "annotate", "--stdio"),
                    ("annotate --html", "annotate", "--html", "code.html"), ("export", "export", "--to", "collapsed", "-o", "out.txt"),
                    ("export to a page's reader", "export", "--to", "firefox", "-o", "out.json")):
    t, rest = slow(args)
    check(t.wait_for(r"clew: reading: \d+ s"), f"{name}: a line while it reads", t.text)
    feed(rest)
    t.end()
    check(CLEAR in t.text.rpartition("clew: reading")[2], f"{name}: the line is erased", repr(t.text[-300:]))
    p = subprocess.run([CLEW, *args, "-i", "-"], input=PIPE, capture_output=True, check=False)
    check(b"\r" not in p.stderr and b"reading: " not in p.stderr, f"{name}: no line in a pipe", p.stderr)
t, rest = slow(["view", "--no-open"])
check(t.wait_for(r"clew: reading: \d+ s"), "view: a line while it reads", t.text)
feed(rest)
t.wait_for("is served")
check(CLEAR in t.text.rpartition("clew: reading")[2], "view: erased before the address is said", repr(t.text[-300:]))
t.p.terminate()
t.end()
t, rest = slow(["report", "-q"])
feed(rest)
status = t.end()
check(status == 0 and CLEAR not in t.text, "-q: no line", t.text)
read_end, write_end = os.pipe()
p = subprocess.Popen([CLEW, "report", "-i", "-"], stdin=read_end, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
os.close(read_end)
os.write(write_end, PIPE)
os.close(write_end)
check(CLEAR.encode() not in b"".join(p.communicate()), "no terminal: no line")

# Hardware trace: inject waits in open() for the reader of its output, all decoded.
(Path(top.name) / "snap").mkdir()
for name, text in {
        "snapshot.ini": "[snapshot]\nversion=1.0\n[device_list]\na=cpu.ini\nb=etm.ini\n[trace]\nmetadata=trace.ini\n",
        "cpu.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[dump1]\nfile=code.bin\naddress=0x10000\n",
        "etm.ini": "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\nTRCCONFIGR=1\nTRCTRACEIDR=0x10\n"
                   "TRCIDR0=0x28000ea1\nTRCIDR2=0x488\n",
        "trace.ini": "[trace_buffers]\nbuffers=x\n[x]\nfile=t.bin\nformat=source_data\n[source_buffers]\nETM_0=x\n"
                     "[core_trace_sources]\ncpu_0=ETM_0\n"}.items():
    (Path("snap") / name).write_text(text)
(Path("snap") / "code.bin").write_bytes(struct.pack("<4I", 0x91000400, 0x14000002, 0xd503201f, 0xd65f03c0))
# async, trace info, trace on, address and context 0x10000, E, E, address 0x10000, E, E
(Path("snap") / "t.bin").write_bytes(bytes(11) + b"\x80\x01\x01\x00\x04" + b"\x82\x00\x00\x01\x00\x31\xf7\xf7" +
                                     b"\x9a\x00\x00\x01\x00\xf7\xf7" * 8)
os.mkfifo("out.fifo")
t = Terminal(["inject", "-i", "snap", "-o", "out.fifo"])
check(t.wait_for("clew: decoding trace: 100 %"), "inject: how much of the trace is decoded", t.text)
with open("out.fifo", "rb") as f:
    f.read()
t.end()

# Ctrl-C and the pager
PAGER = str(Path("pager").resolve())  # one word: root's goes through no shell
# The shell reads its own mask: it blocks signals while it waits for a child.
Path(PAGER).write_text("#!/bin/sh\ntrap '' INT\necho PAGER BEGINS\ncat\nwhile read -r line; do\n"
                       "case $line in SigBlk*) echo \"$line\";; esac\ndone < /proc/$$/status\necho PAGER ENDS\n")
os.chmod(PAGER, 0o755)
t, rest = slow(["report"], PAGER=PAGER)
t.wait_for("clew: reading")
os.write(t.master, b"\x03")
status = t.end()
os.close(rest)
check(status == -signal.SIGINT and "PAGER" not in t.text, "Ctrl-C before the first line: no pager was started",
      f"{status} {t.text!r}")
check(t.text.endswith(CLEAR), "Ctrl-C: the unfinished line is taken away", repr(t.text))
# More than script gathers before it writes, and the rounds that let it go.
MANY = "".join(f"sample 0 a 400000 {1000 + i:x} 1\n" for i in range(8000))
MANY = make(HEAD + MANY + "".join(f"round\nsample 0 a 400000 {4000 + i:x} 1\n" for i in range(4)), "--pipe")
t, rest = slow(["script"], first=MANY, PAGER=PAGER)
check(t.wait_for(r"PAGER BEGINS\r\n.*cycles"), "script: the pager has the first lines at once", repr(t.text))
os.write(t.master, b"\x03")
status = t.end()
os.close(rest)
check(status == -signal.SIGINT and t.text.endswith("PAGER ENDS\r\n"), "Ctrl-C later: the pager is waited for",
      f"{status} {t.text!r}")
t = Terminal(["report", "--header"], PAGER=PAGER)
status = t.end()
check(status == 0 and t.text.startswith("PAGER BEGINS") and "# Total Lost" in t.text and
      t.text.endswith("PAGER ENDS\r\n"), "all of a report goes through the pager, the header too", t.text)
t = Terminal(["script"], PAGER=PAGER)
t.end()
check(re.search(r"SigBlk:\t0+\r\nPAGER ENDS", t.text), "whichever thread starts the pager: no signal is blocked in it", t.text)

# No line of a report is wider than the terminal. Names of 60 columns, half of them wide characters; forks in 20 callers.
NAMES = "\u65e5\u672c" * 15 + "x" * 120
CHAINS = "".join(f"sample 0 a 400{i:03x} {2000 + i:x} 1 chain " + " ".join(f"400{k:03x}" for k in range(i, -1, -1)) + "\n" for i in range(20))
Path("wide.data").write_bytes(make(f"event {'cycles' * 20} chain\ncomm a \u65e5\u672c\u8a9e-long-name\nmap a 400000 10000 0 /nowhere/{NAMES}\n" + CHAINS))
UTF8 = {"LC_ALL": "C.UTF-8"}


def width(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def lines_of(args, columns, **env):
    t = Terminal(["report", "-i", "wide.data", *args], columns=columns, **env)
    t.end()
    return re.sub(r"\x1b\[[0-9;]*[mK]", "", t.text).replace("\r\n", "\n").replace("\r", "").split("\n")


TABLES = {"default": [], "callees": ["--no-children", "-g", "callee"], "flat": ["-g", "flat"], "folded": ["-g", "folded"],
          "more numbers": ["-n", "--show-total-period"], "one column": ["-s", "dso"], "symbols not last": ["-s", "sym,dso,comm"],
          "--stats": ["--stats"], "files": ["-v"]}
for columns in 80, 40, 200:
    for name, args in TABLES.items():
        lines = lines_of(args, columns, **UTF8)
        check(len(lines) > 10 and max(map(width, lines)) <= columns, f"{columns} columns, {name}: no line is wider",
              [line for line in lines if width(line) > columns][:3])
for columns in 80, 40:
    t = Terminal(["diff", "wide.data", "wide.data"], columns=columns, **UTF8)
    t.end()
    lines = re.sub(r"\x1b\[[0-9;]*[mK]", "", t.text).replace("\r", "").split("\n")
    check(len(lines) > 10 and max(map(width, lines)) <= columns and any("\u2026" in line for line in lines), f"diff, {columns} columns: no line is wider",
          [line for line in lines if width(line) > columns][:3])
lines = lines_of([], 80, **UTF8)
row = next(line for line in lines if "%" in line)
check("\u65e5\u672c" in row and "\u2026" in row and "[.]" in row and width(row) > 70, "80 columns: each column has its share, cuts are marked",
      row)
check(any(re.search(r"^ {50,}'--[0-9.]+%--0x[0-9a-f]+$", line) for line in lines), "80 columns: names in deep forks are there", lines[8:50])
check(not any("\u2026" in line for line in lines_of(["-w", "0"], 80, **UTF8)), "-w 0: nothing is cut")
check([width(w) for w in lines_of(["-w", "0,0,7,9,5"], 80, **UTF8)[6].split("  ")][-3:] == [7, 9, 5], "-w: widths as asked for",
      lines_of(["-w", "0,0,7,9,5"], 80, **UTF8)[4:8])
lines = lines_of([], 80, LC_ALL="C")
check(not any("\u2026" in line for line in lines) and any(line.endswith("...") for line in lines), "no UTF-8: cuts are marked with dots", lines[:12])
lines = lines_of([], 80, PAGER=PAGER, **UTF8)
check(lines[0] == "PAGER BEGINS" and max(map(width, lines)) <= 80 and any("\u2026" in line for line in lines),
      "through the pager: as wide as the terminal", lines[:12])
plain = subprocess.run([CLEW, "report", "-i", "wide.data"], capture_output=True, env={**os.environ, **UTF8}, check=True).stdout.decode()
check("\u2026" not in plain and NAMES in plain and "cycles" * 20 in plain, "no terminal: nothing is cut", plain[:500])
check(NAMES in "\n".join(lines_of(["-t", ","], 40, **UTF8)), "-t: for programs, nothing is cut")
for bad in "x", "1,", "-1", "70000", ",".join(["1"] * 25):
    p = subprocess.run([CLEW, "report", "-w", bad, "-i", "wide.data"], capture_output=True, text=True, check=False)
    check(p.returncode == 2 and "-w takes" in p.stderr, f"-w {bad[:10]}: refused", p.stderr)

done()
