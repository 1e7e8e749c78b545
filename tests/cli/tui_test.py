#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: tui_test.py CLEW SAMPLE_MAKE: `clew report --tui` in tmux: its rows are those of the text, its keys, sizes, colours, hostile names, and
the terminal after it. TAP. Each check waits for what it wants to see; none depends on how fast anything is."""
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from cli.tui_lib import HAS_TMUX, Screen
from tap import check

if not HAS_TMUX:
    tap.skip_all("tmux is not installed")
if not shutil.which("gcc"):
    tap.skip_all("gcc is not installed")
CLEW, MAKE = (str(Path(p).resolve()) for p in sys.argv[1:3])
top = tempfile.TemporaryDirectory(prefix="clew-tui-")
work = Path(top.name)
ENV = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": top.name}


def clew(*args):
    p = subprocess.run([CLEW, *args], capture_output=True, text=True, check=False, cwd=work, env=ENV, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout, p.stderr


if "ncurses, which was missing" in clew("report", "--tui")[2]:
    tap.skip_all("clew was built without ncurses")

# --- recordings ---

NAMES = [f"vfs_step_{i}" for i in range(3)] + [f"work_{i:02}" for i in range(40)] + ["parse_a_very_long_name_that_has_no_room_0123456789_end"]
HOSTILE = b"evil\x1b]0;TITLE\x07\x1b[2J\r\xc2\x9b31m_end"
GUEST_USER = 5  # PERF_RECORD_MISC_
PLAIN = b"evil" + b"A" * (len(HOSTILE) - 8) + b"_end"
source = "".join(f"int {n}(int x) {{ int s = 0; for (int i = 0; i < x; i++) s += {i} * i; return s; }}\n" for i, n in enumerate([*NAMES, PLAIN.decode()]))
(work / "app.c").write_text(source + "int main(int n, char **v) { (void)v; return " + " + ".join(f"{n}(n)" for n in NAMES) + "; }\n")
subprocess.run(["gcc", "-O1", "-g", "-fno-inline", "-no-pie", "-o", "app", "app.c"], cwd=work, check=True)
(work / "evil").write_bytes((work / "app").read_bytes().replace(PLAIN, HOSTILE))
ADDRESS = {n: int(a, 16) for a, _, n in (line.split() for line in subprocess.run(["nm", "app"], cwd=work, capture_output=True, text=True, check=True).stdout.splitlines()
                                          if len(line.split()) == 3)}
MAP = f"map 1 400000 10000 0 {work}/app\nmap 2 400000 10000 0 {work}/app\n"


def make(name, text):
    data = subprocess.run([MAKE], input=text if isinstance(text, bytes) else text.encode(), capture_output=True, check=True).stdout
    (work / name).write_bytes(data)


def sample(i, name, pid=1, event=0, chain=()):
    frames = [ADDRESS[n] + 4 for n in (name, *(chain or ()))]
    return f"sample {event} {pid} {frames[0]:x} {1000000000 + i * 1000000:x} {100 + i:x}" + (" chain " + " ".join(f"{a:x}" for a in frames) if chain is not None else "") + "\n"


HEAD = "event cycles:u chain\nevent instructions:u chain\ncomm 1 app\ncomm 2 other\n" + MAP
many = "".join(sample(i, n, pid=1 + i % 2, chain=("work_00", "main") if i % 3 else ("main",)) for i, n in enumerate(NAMES))
make("perf.data", HEAD + many + "".join(sample(50 + i, NAMES[i], event=1, chain=("main",)) for i in range(5)))
make("none.data", HEAD)
(work / "damaged.data").write_bytes((work / "perf.data").read_bytes()[:64] + bytes(64))
make("flat.data", "event cycles:u\ncomm 1 app\n" + MAP + "".join(sample(i, n, chain=None) for i, n in enumerate(NAMES)))
make("calls.data", HEAD + many + "".join(sample(60 + i, "main", event=i // 2, chain=()) for i in range(3)))
make("lone.data", HEAD + "".join(sample(60 + i, "main", chain=()) for i in range(3)))
make("hostile.data", b"event cycles:u chain\ncomm 1 \x1b]0;COMM\x07\x1b[31mred\n" + f"map 1 400000 10000 0 {work}/evil\n".encode() +
     sample(0, PLAIN.decode(), chain=("main",)).encode())


def grouped():
    """Two events of a group, two control groups, and a name of wide characters."""
    kind = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.PERIOD
    events = [pm.Event(kind | pm.CGROUP), pm.Event(kind | pm.CGROUP, ident=2)]
    records = pm.comm(events[0], 7, "日本語".encode()) + pm.comm(events[0], 8, b"plain")
    records += pm.cgroup(events[0], 5, b"/one") + pm.cgroup(events[0], 6, b"/two")
    for pid in (7, 8):
        records += pm.mmap2(events[0], pid, 0x400000, 0x10000, str(work / "app").encode())
    for i, n in enumerate(["work_01"] * 3 + ["work_02"] * 2 + ["work_03"]):
        records += events[0].sample(ADDRESS[n] + 4, pid=7 + i % 2, time=1000 + i, cgroup=5 + i % 2)
    for i, n in enumerate(["work_03"] * 3 + ["work_02"]):
        records += events[1].sample(ADDRESS[n] + 4, pid=7 + i % 2, time=2000 + i, cgroup=5)
    group = struct.pack("<I", 1) + pm.text(b"g") + struct.pack("<II", 0, 2)
    return pm.perf_data(events, records, {12: pm.event_desc(events, [b"first", b"second"]), 17: group})


(work / "group.data").write_bytes(grouped())

ROW = re.compile(r"^[-+ ] +(\d+\.\d\d%) +(\d+\.\d\d%)  (.*?)\s*$")


def text_rows(*args):
    """(children, self, names) of the text's first table."""
    out = clew("report", "--stdio", "-q", "-g", "none", *args)[1].split("\n\n")[0]
    found = [re.match(r"^ +(\d+\.\d\d%) +(\d+\.\d\d%)  (.*?)\s*$", line) for line in out.splitlines() if not line.startswith("#")]
    return [(m[1], m[2], m[3].split()) for m in found if m]


def same_names(seen, names):
    """@p seen: of a pane, where the first columns may be missing and names be cut in their middle."""
    words = seen.split()
    names = names[len(names) - len(words):]
    for word, name in zip(words, names):
        before, cut, after = word.partition("…")
        if word != name and not (cut and name.startswith(before) and name.endswith(after)):
            return False
    return bool(words)


def pane_rows(lines):
    return [(m[1], m[2], m[3]) for m in map(ROW.match, lines) if m]


def same_rows(seen, text):
    return len(seen) == len(text) and all(s[:2] == t[:2] and same_names(s[2], t[2]) for s, t in zip(seen, text))


def reversed_lines(lines):
    """Numbers of the lines that begin in reverse video, of a capture with colours."""
    found, is_on = [], False
    for i, line in enumerate(lines):
        at = 0
        for m in re.finditer(r"\x1b\[([0-9;]*)m|([^\x1b])", line):
            if m[2]:
                if not at and is_on:
                    found.append(i)
                at += 1
                continue
            for number in (m[1] or "0").split(";"):
                is_on = True if number == "7" else False if number in ("0", "27", "") else is_on
    return found


def cursor(s):
    """The line of the cursor, between the bars."""
    return [i for i in reversed_lines(s.lines(colors=True)) if 1 < i < len(s.seen) - 1]


def wait_cursor(s, line):
    return s.wait(lambda lines: [i for i in reversed_lines(lines) if 1 < i < len(lines) - 1] == [line], colors=True)


def screen(*args, command="report --tui", **more):
    return Screen(work, " ".join([CLEW, command, *args]), **more)


def where(s, note=""):
    return [note, *s.seen]


# --- rows, and the size ---

text = text_rows()
with screen() as s:
    check(s.wait("rows") and "Samples: 44 of event 'cycles:u'" in s.seen[0] and "[perf.data]" in s.seen[0], "the head: samples, event, file", s.seen)
    check(re.search(r"Children +Self +Command +Shared.* +Symbol", s.seen[1]), "titles", s.seen)
    check(same_rows(pane_rows(s.seen), text[:21]), "80x24: rows equal those of the text", [*s.seen, *map(str, text[:22])])
    check(f"{len(text)} of {len(text)} rows" in s.seen[23], "the last line counts rows", s.seen)
    s.keys("+", "Down", "Down")
    check(s.wait(lambda lines: lines[2].startswith("- ")), "+ opens a row", s.seen)
    opened = s.seen[4:7]
    s.resize(60, 12)
    check(s.wait(lambda lines: len(lines) == 12 and "q back" in lines[11] and lines[2].startswith("- ") and lines[4:7] == opened), "60x12: what is open stays open", [*opened, *s.seen])
    s.keys("C")
    check(s.wait(lambda lines: same_rows(pane_rows(lines), text[:9])), "60x12: rows equal those of the text", s.seen)
    s.resize(40, 6)
    check(s.wait(lambda lines: len(lines) == 6 and len(pane_rows(lines)) == 3) and same_rows(pane_rows(s.seen), text[:3]), "40x6: three rows", s.seen)
    s.resize(39, 6)
    check(s.wait("too small: 40x6 needed"), "39x6: too small", s.seen)
    s.resize(40, 5)
    check(s.wait(lambda lines: len(lines) == 5 and "too small" in lines[0]), "40x5: too small", s.seen)
    s.resize(80, 24)
    check(s.wait(lambda lines: same_rows(pane_rows(lines), text[:21])), "and back", s.seen)
    s.keys("q")
    check(s.wait_end() == 0, "q leaves with status 0")
    check(len(set(s.stty())) == 1, "stty -a is as before", s.stty())
    check(s.wait(lambda lines: "Samples" not in "\n".join(lines)), "the screen is as before", s.seen)

# --- keys ---


def said(s, text):
    """In the last line."""
    return s.wait(lambda lines: text in lines[-1])


def shows(s, rows):
    return s.wait(lambda lines: same_rows(pane_rows(lines), rows[:21]))


def head(s, text):
    return s.wait(lambda lines: text in lines[0])


FORMATS = [x.split()[-1] for x in clew("export", "--to", "?")[2].split("formats: ")[1].replace(",", "").split()]


def export_collapsed(s):
    """x: the lines of the file."""
    path = work / "clew.collapsed"
    path.unlink(missing_ok=True)
    s.keys("x")
    s.wait("Export to")
    s.keys(*["Down"] * FORMATS.index("collapsed"), "Enter")
    said(s, "write to: clew.collapsed")
    s.keys("Enter")
    return path.read_text().splitlines() if said(s, "collapsed: ") else []


with screen() as s:
    s.wait("rows")
    for key, line in (("Down", 3), ("Down", 4), ("Up", 3), ("End", 22), ("Up", 21), ("Home", 2), ("NPage", 22), ("PPage", 2)):
        s.keys(key)
        check(wait_cursor(s, line), f"{key}: the cursor is in line {line}", s.seen)
    s.keys("Space")
    check(wait_cursor(s, 22), "Space: a page down", s.seen)
    s.keys("Home")
    wait_cursor(s, 2)

    s.keys("/")
    check(said(s, "only names with:"), "/ asks", s.seen)
    s.type("vf")
    check(head(s, "filter: vf"), "it filters as typed", s.seen)
    s.type("s_")
    check(shows(s, text_rows("vfs_")) and len(pane_rows(s.seen)) == 3, "and leaves what --symbol-filter leaves", s.seen)
    s.keys("Enter")
    check(said(s, f"3 of {len(text)} rows"), "and counts", s.seen)
    s.keys("Escape", "Home")
    check(shows(s, text), "Esc undoes it", s.seen)
    at = [i for i, row in enumerate(text[:21]) if "vfs_" in row[2][-1]]
    s.keys("Home", "n")
    check(wait_cursor(s, 2 + at[0]) if at else True, "n: the next match", s.seen)
    s.keys("N", "N")
    check(s.wait(lambda lines: any("vfs_" in lines[i] for i in reversed_lines(s.lines(colors=True)) if 1 < i < len(lines) - 1)), "N: the previous one", s.seen)
    s.keys("/", "x", "y")
    check(said(s, "only names with: xy") and s.wait("No row is left"), "a filter that no row has", s.seen)
    s.keys("Escape", "Home")
    check(shows(s, text), "Esc while typing: as before", s.seen)

    s.keys("t")
    check(head(s, "thread: ") and shows(s, text_rows("--comms", text[0][2][0])), "t: the rows of --comms", s.seen)
    s.keys("F")
    check(shows(s, text_rows("--comms", text[0][2][0], "--percentage", "relative")), "F: percent of these, as --percentage relative", s.seen)
    s.keys("F", "Escape")
    check(shows(s, text), "F again, Esc: all", s.seen)
    s.keys("d")
    check(head(s, "dso: app") and shows(s, text_rows("--dsos", "app")), "d: the rows of --dsos", s.seen)
    s.keys("d")
    check(s.wait(lambda lines: "dso:" not in lines[0]), "d again: all", s.seen)
    s.keys("k")
    check(s.wait("No row is left"), "k: no row is of the kernel", s.seen)
    s.keys("k", "c")
    check(said(s, "no cgroup"), "c: without control groups it says how", s.seen)

    s.keys("L")
    said(s, "least percent")
    s.keys("C-u")
    s.type("2.5")
    s.keys("Enter")
    few = text_rows("--percent-limit", "2.5")
    check(shows(s, few) and 0 < len(few) < 40, "L: the rows of --percent-limit", s.seen)
    s.keys("L", "C-u", "x", "Enter")
    check(said(s, "a number from 0 to 100"), "L: no number is rejected", s.seen)
    s.keys("L", "C-u", "0", "Enter")
    check(shows(s, text), "L: 0 shows all", s.seen)

    s.keys("Tab")
    other = clew("report", "--stdio", "-q", "-g", "none")[1].split("\n\n")[1]
    check(head(s, "5 of event 'instructions:u'") and len(pane_rows(s.seen)) == len([x for x in other.splitlines() if "%" in x]), "Tab: the next event", s.seen)
    s.keys("BTab")
    check(head(s, "44 of event 'cycles:u'") and shows(s, text), "Shift+Tab: and back", s.seen)
    s.keys("5")
    check(said(s, "no event 5"), "0-9 without a group", s.seen)

    main = [i for i, row in enumerate(text) if row[2][-1] == "main"][0]
    s.keys("Home", *["Down"] * main, "+")
    check(s.wait(lambda lines: any(re.match(r"  [+ ] ", line) for line in lines[3:])), "+ opens a graph", s.seen)
    s.keys("e")
    check(s.wait(lambda lines: not any(re.match(r" +\+ ", line) for line in lines[2 + main:6 + main])), "e opens all below", s.seen)
    graph = [re.search(r"(\d+\.\d\d%) (\w+)", line) for line in s.seen[3 + main:-1] if not ROW.match(line) and "…" not in line]
    shares = set(re.findall(r"--(\d+\.\d\d%)--(\w+)", clew("report", "--stdio", "-q")[1]))
    check(len([m for m in graph if m]) > 5 and all((m[1], m[2]) in shares for m in graph if m), "shares in graphs are those of the text", [*s.seen, shares])
    s.keys("V")
    check(s.wait(lambda lines: any(re.match(r" .*%? \w+  app$", line) for line in lines[3:])), "V: files in graphs", s.seen)
    s.keys("V", "C")
    check(s.wait(lambda lines: len(pane_rows(lines)) == 21), "C closes all", s.seen)
    s.keys("E")
    check(s.wait(lambda lines: not [x for x in lines[2:-1] if re.match(r" *\+ ", x)]), "E opens all", s.seen)
    s.keys("C", "Home", "H")
    check(s.wait(lambda lines: "Children" not in lines[1] and len(pane_rows(lines)) == 22), "H: no titles", s.seen)
    s.keys("H")
    check(s.wait(lambda lines: "Children" in lines[1]), "H: titles", s.seen)

    for key in ("h", "?", "F1"):
        s.keys(key)
        check(s.wait(lambda lines: "Keys" in lines[0] and "annotate" in "\n".join(lines)), f"{key}: help", s.seen)
        s.keys("q")
        check(s.wait(lambda lines: "Samples" in lines[0]), f"{key}: q leaves it", s.seen)
    s.keys("i")
    check(s.wait(lambda lines: "perf.data" in lines[0] and "header version" in "\n".join(lines)), "i: the header", s.seen)
    s.keys("Escape")
    s.wait(lambda lines: "Samples" in lines[0])
    for key in ("Enter", "m", "Right"):
        s.keys(key)
        check(s.wait("Copy the name"), f"{key}: the menu", s.seen)
        s.keys("Escape")
        s.wait(lambda lines: "Copy the name" not in "\n".join(lines))
    s.keys("m", "Down", "Enter")
    check(s.wait(lambda lines: lines[2].startswith("- ")), "the menu opens the graph", s.seen)
    s.keys("C", "m", "w")
    check(s.wait(lambda lines: "q back" in lines[-1] and text[0][2][-1] in lines[1]), "w in the menu shows the whole row", s.seen)
    s.keys("q", "m", "y")
    check(said(s, "copied"), "y in the menu copies the name", s.seen)
    s.keys("m", "G")
    s.wait(lambda lines: "Copy" not in "\n".join(lines))
    s.keys("E")
    check(s.wait(lambda lines: "    work_00\n    main\n" in "\n".join(x.rstrip() for x in lines)), "G in the menu: callers after the function, as -g callee", s.seen)
    s.keys("m", "G", "C", "r")
    check(said(s, "no scripts"), "r says that there are none", s.seen)
    s.keys("z")
    check(said(s, "no such key"), "other keys are rejected", s.seen)

    s.keys("P")
    check(said(s, "write to: clew-report.txt"), "P asks for a file", s.seen)
    s.keys("Enter")
    check(said(s, "is written"), "P writes it", s.seen)
    rows = [ROW.match(line) for line in (work / "clew-report.txt").read_text().splitlines()[1:]]
    check([(m[1], m[2], m[3].split()) for m in rows if m] == text, "the file has all rows", (work / "clew-report.txt").read_text())
    s.keys("P", "C-u")
    s.type("/nonexistent/x")
    s.keys("Enter")
    check(said(s, "No such file"), "P says why it cannot", s.seen)
    written = (work / "clew-report.txt").read_text()
    limits = resource.prlimit(s.child(), resource.RLIMIT_FSIZE)
    resource.prlimit(s.child(), resource.RLIMIT_FSIZE, (16, limits[1]))
    s.keys("P", "Enter")
    check(said(s, "File too large") and (work / "clew-report.txt").read_text() == written and not (work / "clew-report.txt.old").exists(),
          "no room: what stood there stands there again", [*s.seen, *os.listdir(work)])
    resource.prlimit(s.child(), resource.RLIMIT_FSIZE, limits)

    s.keys("x")
    s.wait("Export to")
    formats = [line.strip("| ") for line in s.seen if line.strip().startswith("|")] if not s.seen[0].startswith("+") else []
    check(s.wait("collapsed"), "x: a menu of formats", s.seen)
    s.keys(*["Down"] * FORMATS.index("collapsed"), "Enter")
    said(s, "write to: clew.collapsed")
    s.keys("Enter")
    check(said(s, "collapsed: ") and
          (work / "clew.collapsed").read_text() == clew("export", "--to", "collapsed")[1], "x: what clew export writes", s.seen)

    def exported(what, expected):
        """The samples of the rows that are shown, and no others."""
        written = export_collapsed(s)
        check(written and sorted(written) == sorted(expected), what, [*s.seen, *expected, "-", *written])

    stacks = clew("export", "--to", "collapsed")[1].splitlines()
    s.keys("/", "w", "o", "r", "k", "_", "1", "Enter")
    exported("x under a filter", [x for x in stacks if x.rpartition(";")[2].startswith("work_1")])
    s.keys("Escape")
    s.keys("t")
    thread = re.search(r"thread: +(?:\d+:)?(\w+)", head(s, "thread:") and s.seen[0] or "")
    exported("x in a thread", [x for x in stacks if thread and x.startswith(thread[1])])
    s.keys("t")

    s.keys("T")
    said(s, "time FROM,TO (1.000000000,")
    s.type("1.005,1.020")
    s.keys("Enter")
    some = text_rows("--time", "1.005,1.020")
    check(shows(s, some) and head(s, "16 of event"), "T: the rows of --time", [*s.seen, *map(str, some)])
    s.keys("T", "C-u", "x", "Enter")
    check(said(s, "FROM,TO"), "T: what is no range is rejected", s.seen)
    s.keys("T", "C-u", "Enter")
    check(head(s, "44 of event"), "T: nothing: all again", s.seen)

    s.keys("s")
    check(s.wait("Recordings of this folder") and s.wait("flat.data") and "app.c" not in s.text(), "s: recordings of this folder", s.seen)
    files = sorted(p.name for p in work.glob("*.data"))
    s.keys(*["Up"] * len(files), *["Down"] * files.index("flat.data"), "Enter")
    check(head(s, "[flat.data]"), "s: another recording", s.seen)
    s.keys("s", *["Up"] * len(files), *["Down"] * files.index("damaged.data"), "Enter")
    check(said(s, "the other recording cannot be read") and "[flat.data]" in s.seen[0], "s: a damaged one: the one before stays", s.seen)
    s.keys("+")
    check(said(s, "'clew record -g' records them"), "without call chains + says how to record them", s.seen)
    s.keys("a")
    check(s.wait("Source and instructions"), "a: annotate", s.seen)
    s.keys("q")
    check(head(s, "[flat.data]"), "q: back", s.seen)
    s.keys("C-c")
    check(s.wait_end() == 0 and len(set(s.stty())) == 1, "Ctrl+C leaves, and restores the terminal", s.stty())

# --- 100,000 callers ---


def cpu_ms(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 // os.sysconf("SC_CLK_TCK")


event = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD | pm.CALLCHAIN)
(work / "wide.data").write_bytes(pm.perf_data(
    [event], pm.comm(event, 7, b"app") + pm.mmap2(event, 7, 0x400000, 0x10000, b"/nowhere/app") + pm.mmap2(event, 7, 0x7000000, 0x200000, b"/nowhere/lib") +
    b"".join(event.sample(0x400010, chain=(pm.CONTEXT_USER, 0x400010, 0x7000000 + 16 * i)) for i in range(100000)), {12: pm.event_desc([event], [b"cpu-clock"])}))
with screen("-i wide.data --no-children -g caller,0 -s sym") as s:
    s.wait("rows")
    before = cpu_ms(s.child())
    s.keys("+")
    check(s.wait(lambda lines: len([x for x in lines if re.match(r"  [-+ ] 0\.00% 0x", x)]) == 20), "a row with 100,000 callers opens", s.seen)
    took = cpu_ms(s.child()) - before
    check(took <= 100, "in at most 100 ms of CPU time", took)
    s.keys("q")

# --- x of one file ---

shutil.copy(work / "app", work / "copy")
make("files.data", "event cycles:u\ncomm 1 app\ncomm 2 other\n" + MAP.replace("map 2 400000 10000 0 " + str(work / "app"), "map 2 400000 10000 0 " + str(work / "copy")) +
     "".join(sample(i, NAMES[i // 3], pid=2 if i % 3 else 1, chain=None) for i in range(30)))
with screen("-i files.data") as s:
    s.wait("rows")
    s.keys("d")
    check(head(s, "dso: copy"), "d: the file with the most samples", s.seen)
    written = export_collapsed(s)
    check(written and sum(int(x.split()[-1]) for x in written) == sum(100 + i for i in range(30) if i % 3) and all(x.startswith("other;") for x in written), "x in a file", written)
    s.keys("q")
with screen("-i files.data -d app") as s:
    s.wait("rows")
    written = export_collapsed(s)
    check(written and sum(int(x.split()[-1]) for x in written) == sum(range(100, 130, 3)), "x with -d", written)
    s.keys("q")

# --- x of samples without a symbol, without an address, and of a guest ---


def nr_exported(s):
    return sum(int(x.split()[-1]) for x in export_collapsed(s))


place = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD)
nowhere = pm.Event(pm.IDENTIFIER | pm.TID | pm.TIME | pm.CPU | pm.PERIOD)
(work / "place.data").write_bytes(pm.perf_data(
    [place], pm.comm(place, 7, b"app") + pm.mmap2(place, 7, 0x400000, 0x10000, str(work / "app").encode()) +
    b"".join(place.sample(ADDRESS["work_00"]) for i in range(2)) + b"".join(place.sample(0x10) for i in range(3)), {12: pm.event_desc([place], [b"place"])}))
(work / "nowhere.data").write_bytes(pm.perf_data(
    [nowhere], pm.comm(nowhere, 7, b"app") + b"".join(nowhere.sample(0) for i in range(4)), {12: pm.event_desc([nowhere], [b"nowhere"])}))
for options, nr in (("place.data", 5), ("place.data -d app", 2), ("place.data -U", 2), ("nowhere.data", 4)):
    with screen(f"-i {options}") as s:
        s.wait("rows")
        check(nr_exported(s) == nr, f"x of {options}", s.seen)
        s.keys("q")
with screen("-i nowhere.data") as s:
    s.wait("rows")
    s.keys("d")
    check(head(s, "dso: [unknown]") and nr_exported(s) == 4, "x in no file: samples without an address", s.seen)
    s.keys("q")
(work / "guest.data").write_bytes(pm.perf_data(
    [place], pm.comm(place, 7, b"app") + place.sample(0x10) + b"".join(place.sample(0x10, misc=GUEST_USER) for i in range(2)), {12: pm.event_desc([place], [b"place"])}))
with screen("-i guest.data -s machine,comm") as s:
    s.wait("rows")
    s.keys("/", *"guest", "Enter")
    check(head(s, "filter: guest") and nr_exported(s) == 2, "x of a machine: what rows alone ask who ran for", s.seen)
    s.keys("q")

# --- groups, control groups, wide characters ---

with screen("-i group.data -s cgroup,comm,sym --no-children") as s:
    check(s.wait("rows") and "'first' and 1 more" in s.seen[0], "a group: events side by side", s.seen)

    def cells(lines):
        return [m.groups() for m in (re.match(r"^  +(\d+\.\d\d%) +(\d+\.\d\d%)  (\S+) +(\S+) +(\[.*)$", x) for x in lines) if m]

    table = [m.groups() for m in re.finditer(r"^ +(\d+\.\d\d%) +(\d+\.\d\d%)  (\S+) +(\S+) +(\[.*\S) *$",
                                             clew("report", "--stdio", "-q", "-i", "group.data", "-s", "cgroup,comm,sym", "--no-children")[1], re.M)]
    check(cells(s.seen) == table and len(table) > 3, "its rows equal the text's", [*s.seen, *map(str, table)])
    check({len(x.encode("utf-16-le")) // 2 + sum(ord(c) > 0x2E80 for c in x) - len(x[x.index("[.]"):]) for x in s.seen if "[.]" in x} == {s.seen[1].index("Symbol")},
          "wide characters keep columns aligned", s.seen)
    s.keys("1")
    by_second = sorted(range(len(table)), key=lambda i: -float(table[i][1][:-1]))
    check(s.wait(lambda lines: cells(lines) == [table[i] for i in by_second]), "1: sorted by the second event", s.seen)
    s.keys("0")
    check(s.wait(lambda lines: cells(lines) == table), "0: by the first", s.seen)
    s.keys("c")
    check(head(s, "cgroup: " + table[0][2]) and cells(s.lines()) == [x for x in table if x[2] == table[0][2]], "c: rows of one control group", s.seen)
    rows = [x.split(";")[-1].split() for x in export_collapsed(s)]
    check(sorted(n for n, _ in rows) == sorted(x[4].split()[-1] for x in table if x[2] == table[0][2] and x[0] != "0.00%"), "x in a control group", [*rows, *map(str, table)])
    s.keys("q")

# --- colours, terminals ---

for name, args, env, expected in (("colours", "", {}, True), ("NO_COLOR", "", {"NO_COLOR": "1"}, False), ("--no-color", "--no-color", {}, False),
                                  ("TERM=vt100", "", {}, False)):
    with screen(args, term="vt100" if name.startswith("TERM") else None, **env) as s:
        s.wait("rows")
        codes = re.findall(r"\x1b\[(?:[0-9;]*;)?3[0-8]m", s.text(colors=True))
        check(bool(codes) == expected and same_rows(pane_rows(s.lines()), text[:21]), name, [codes, *s.seen])
        s.keys("q")

for command in ("report", "annotate", "diff perf.data flat.data"):
    with screen("--tui", command=command, term="dumb") as s:
        check(s.wait_end() == 2 and s.wait("TERM is 'dumb'"), f"{command}: TERM=dumb: status 2, with a message", s.text())
    with screen("--tui < /dev/null", command=command) as s:
        check(s.wait_end() == 2 and s.wait("standard input is none"), f"{command}: no keys: status 2, with a message", s.text())
    status, out, err = clew(*command.split(), "--tui")
    check(status == 2 and not out and err.count("\n") == 1 and "needs a terminal" in err, f"{command}: no terminal: status 2, one sentence", err)
with screen(term="nothing-known") as s:
    check(s.wait_end() == 2 and s.wait(lambda lines: "nothing is known about TERM 'nothing-known'" in "".join(lines)), "an unknown TERM: status 2, with a message", s.text())
for args in (["--json"], ["--mem"], ["--stats"], ["--html", "x"], ["-t", ";"], ["--header-only"]):
    check(clew("report", "--tui", *args)[0] == 2 and "exclude" in clew("report", "--tui", *args)[2], f"--tui excludes {args[0]}")

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
    with screen() as s:
        s.wait("rows")
        s.kill(number)
        check(s.wait_end() not in (0, None) and len(set(s.stty())) == 1, f"{number.name}: stty -a is as before", s.stty())
        check(s.wait(lambda lines: "Samples" not in "\n".join(lines)), f"{number.name}: and the screen", s.seen)
with screen(jobs=True) as s:
    s.wait("rows")
    s.keys("C-z")
    check(s.wait_end() not in (0, None) and len(set(s.stty())) == 1, "Ctrl+Z stops it, and restores the terminal", s.stty())

# --- hostile names ---

with screen("-i hostile.data") as s:
    check(s.wait("rows") and "\\x1b]0;COMM\\x07\\x1b[31mred" in s.text(), "a hostile thread name is escaped", s.seen)
    check(any("…" in line and line.rstrip().endswith("_end") for line in s.seen[:-1]), "a long name is cut in its middle", s.seen)
    for _ in range(3):
        s.keys("Down")
    s.resize(140, 24)
    check(s.wait("\\x1b]0;TITLE\\x07\\x1b[2J\\x0d\\xc2\\x9b31m_end"), "a hostile function name, too", s.seen)
    title = s.tmux("display-message", "-p", "#{pane_title}")
    check("TITLE" not in title and "COMM" not in title, "none of them set the title", title)
    s.keys("q")
with screen() as s:
    s.wait("rows")
    s.keys("/")
    s.type("a_very_long")
    s.keys("Enter")
    check(said(s, NAMES[-1]) and "…" in s.seen[2], "the last line has the whole of a name that is cut", s.seen)
    s.keys("q")

# --- states ---

with screen("-i none.data") as s:
    check(s.wait("The recording has no samples to show") and "holds no samples" in s.text(), "an empty recording: a sentence", s.seen)
    for key in ("Down", "+", "Enter", "Escape", "a", "t", "d", "e", "E", "C", "n", "Tab", "5", "F", "L"):
        s.keys(key)
    s.keys("Escape", "q")
    check(s.wait_end() == 0, "its keys do nothing, q leaves", s.text())
check(clew("report", "--tui", "-i", "missing.data")[0] == 2, "a missing recording")
with screen("-i missing.data") as s:
    check(s.wait_end() == 1 and s.wait("missing.data"), "a missing recording: status 1, with a message", s.text())
    check(len(set(s.stty())) == 1, "and the terminal is as before")
make("lost.data", HEAD.replace(str(work), "/nowhere") + many)
with screen("-i lost.data") as s:
    check(s.wait("rows") and "/nowhere/app" in s.seen[-1] or "i: " in s.seen[-1], "no symbols: the last line says so", s.seen)
    s.keys("i")
    check(s.wait("/nowhere/app"), "and i why", s.seen)
    s.keys("q", "q")

# --- annotate ---

annotated = [line for line in clew("annotate", "work_07", "--stdio")[1].split("\n") if " | " in line or " > " in line]
with screen("work_07", command="annotate --tui") as s:
    check(s.wait("Source and instructions") and "work_07 in " in s.seen[0] and "1 samples of 'cycles:u'" in s.seen[0], "annotate: the head", s.seen)
    check([x.rstrip() for x in s.seen[1:1 + len(annotated)]] == [x[:80].rstrip() for x in annotated][:21], "annotate: the text's lines", [*s.seen, *annotated])
    jump = [i for i, x in enumerate(annotated) if re.search(r"\bj[a-z]+ ", x)][-1]
    target = re.search(r"0x([0-9a-f]+)", annotated[jump].split(":")[1])[1]
    s.keys("Home", *["Down"] * (jump - 1), "Enter")
    check(s.wait(lambda lines: any(re.search(rf"\b{target}:", lines[i]) for i in reversed_lines(s.lines(colors=True)) if 1 < i < len(lines) - 1)), "Enter: to the target of a jump", [target, *s.seen])
    s.keys("Escape")
    check(wait_cursor(s, 1 + jump), "Esc: back", s.seen)
    s.keys("s")
    check(s.wait(lambda lines: not any(" > " in x for x in lines[2:-1])), "s: no source", s.seen)
    s.keys("s", "t")
    check(s.wait(lambda lines: "Samples |" in lines[1]), "t: numbers of samples", s.seen)
    s.keys("t", "/")
    s.type("lea ")
    s.keys("Enter")
    check(s.wait(lambda lines: any("lea " in lines[i] for i in reversed_lines(s.lines(colors=True)) if 1 < i < len(lines) - 1)), "/: finds a line", s.seen)
    s.keys(">")
    check(s.wait(lambda lines: "work_07 in " not in lines[0]), ">: another function", s.seen)
    s.keys("<")
    check(head(s, "work_07 in "), "<: and back", s.seen)
    s.keys("P", "Enter")
    check(said(s, "clew-annotate.txt is written") and [x.rstrip() for x in (work / "clew-annotate.txt").read_text().splitlines()] == [x.rstrip() for x in annotated],
          "P writes its lines", (work / "clew-annotate.txt").read_text())
    s.resize(60, 12)
    check(s.wait(lambda lines: len(lines) == 12 and "work_07" in lines[0]), "60x12", s.seen)
    s.resize(40, 6)
    check(s.wait(lambda lines: len(lines) == 6 and "work_07" in lines[0]), "40x6", s.seen)
    s.keys("q")
    check(s.wait_end() == 0 and len(set(s.stty())) == 1, "q leaves", s.stty())
with screen("main -i calls.data", command="annotate --tui") as s:
    s.wait("Source and instructions")
    s.keys("/")
    s.type("<work_00>")
    s.keys("Enter", "Enter")
    check(head(s, "work_00 in "), "Enter: into the function of a call", s.seen)
    s.keys("Escape")
    check(head(s, "main in "), "Esc: back to the call", s.seen)
    s.keys("Tab")
    head(s, "instructions:u")
    s.keys("/")
    s.type("<work_00>")
    s.keys("Enter", "Enter")
    head(s, "work_00 in ")
    s.keys("Escape")
    check(s.wait(lambda lines: "main in " in lines[0] and "instructions:u" in lines[0]), "also to its event", s.seen)
    s.keys("n")
    s.keys("Enter")
    check(head(s, "work_00 in "), "n, Enter: the only such call again", s.seen)
with screen("main -i lone.data", command="annotate --tui") as s:
    s.wait("Source and instructions")
    s.keys("/")
    s.type("<work_00>")
    s.keys("Enter", "Enter")
    check(said(s, "no samples in 'work_00'") and "main in " in s.seen[0], "a function without samples: a sentence", s.seen)
    s.keys("q")

# --- diff ---

make("old.data", HEAD + many)
make("new.data", HEAD + many + "".join(sample(100 + i, "work_05") for i in range(40)))
compared = [line.split() for line in clew("diff", "old.data", "new.data")[1].splitlines() if "%" in line and not line.startswith("#")]
with screen("old.data new.data", command="diff --tui", columns=140) as s:
    check(s.wait("rows") and "A: old.data" in s.seen[0] and "B: new.data" in s.seen[0], "diff: the head", s.seen)
    check([x.split() for x in s.seen[2:-1]] == [[w if w != NAMES[-1] else w for w in x] for x in compared[:21]], "diff: the text's rows", [*s.seen, *map(str, compared)])
    s.keys("s")
    check(s.wait(lambda lines: [x.split() for x in lines[2:-1] if x.strip()] ==
                 [line.split() for line in clew("diff", "old.data", "new.data", "--significant")[1].splitlines() if "%" in line and not line.startswith("#")]),
          "s: the rows of --significant", s.seen)
    s.keys("Escape", "/")
    s.type("vfs_")
    s.keys("Enter")
    check(s.wait(lambda lines: len([x for x in lines[2:-1] if "vfs_" in x]) == 3 and "3 of " in lines[-1]), "/ filters", s.seen)
    s.keys("Escape", "Tab")
    check(said(s, "no other event") or head(s, "instructions"), "Tab", s.seen)
    s.keys("i")
    check(s.wait("--normalize share"), "i: what values are", s.seen)
    s.keys("q", "P", "Enter")
    check(said(s, "clew-diff.txt is written"), "P writes it", s.seen)
    s.resize(60, 12)
    check(s.wait(lambda lines: len(lines) == 12 and "old.data" in lines[0]), "60x12", s.seen)
    s.resize(40, 6)
    check(s.wait(lambda lines: len(lines) == 6 and "old.data" in lines[0]), "40x6", s.seen)
    s.keys("q")
    check(s.wait_end() == 0 and len(set(s.stty())) == 1, "q leaves", s.stty())
with screen("old.data new.data --fail-above 1", command="diff --tui") as s:
    s.wait("rows")
    s.keys("q")
    check(s.wait_end() == 1 and s.wait("--fail-above"), "--fail-above counts here, too", s.text())

# --- the rooms ---

sources = Path(__file__).resolve().parents[2] / "src"
found = sorted(str(p.relative_to(sources)) for p in sources.rglob("*.[ch]") if re.search(r"#include <(curses|ncurses|term|panel|menu)\.h", p.read_text()))
check(found == ["cli/tui_screen.c"], "curses is in one file", found)

tap.done()
