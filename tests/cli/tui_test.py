#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: tui_test.py CLEW SAMPLE_MAKE: `clew report --tui` in tmux: its rows are those of the text, its keys, sizes, colours, hostile names, and
the terminal after it. TAP. Each check waits for what it wants to see; none depends on how fast anything is."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
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

NAMES = [f"vfs_step_{i}" for i in range(3)] + [f"work_{i:02}" for i in range(40)] + ["parse_a_very_long_name_that_no_terminal_of_eighty_columns_has_room_for_0123456789_end"]
HOSTILE = b"evil\x1b]0;TITLE\x07\x1b[2J\r\xc2\x9b31m_end"
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
make("flat.data", "event cycles:u\ncomm 1 app\n" + MAP + "".join(sample(i, n, chain=None) for i, n in enumerate(NAMES)))
make("hostile.data", b"event cycles:u chain\ncomm 1 \x1b]0;COMM\x07\x1b[31mred\n" + f"map 1 400000 10000 0 {work}/evil\n".encode() +
     sample(0, PLAIN.decode(), chain=("main",)).encode())

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


def all_rows(s, nr):
    """Scroll through the browser."""
    s.keys("Home")
    rows, page = [], len(pane_rows(s.seen))
    for first in range(nr):
        s.wait(lambda lines: pane_rows(lines) != [])
        rows.append(pane_rows(s.seen)[min(first, page - 1)])
        before = s.text()
        if first + 1 < nr:
            s.keys("Down")
            s.wait(lambda lines, b=before: "\n".join(lines) != b or first < page - 1)
    return rows


def screen(*args, command="report --tui", **more):
    return Screen(work, " ".join([CLEW, command, *args]), **more)


def where(s, note=""):
    return [note, *s.seen]


# --- rows, and the size ---

text = text_rows()
with screen() as s:
    check(s.wait("rows") and "Samples: 44 of event 'cycles:u'" in s.seen[0] and "[perf.data]" in s.seen[0], "the head: samples, event, file", s.seen)
    check(re.search(r"Children +Self +Command +Shared Object +Symbol", s.seen[1]), "titles", s.seen)
    check(same_rows(pane_rows(s.seen), text[:21]), "80x24: rows equal those of the text", [*s.seen, *map(str, text[:22])])
    check(f"{len(text)} of {len(text)} rows" in s.seen[23], "the last line counts rows", s.seen)
    s.keys("+", "Down", "Down")
    check(s.wait(lambda lines: lines[2].startswith("- ")), "+ opens a row", s.seen)
    opened = [line for line in s.seen if line.startswith(("  +", "  -", "    "))]
    s.resize(60, 12)
    check(s.wait(lambda lines: len(lines) == 12 and "rows" in lines[11] or "q back" in lines[11]) and s.seen[2].startswith("- ") and
          [line for line in s.seen if line.startswith(("  +", "  -", "    "))][1:4] == opened[1:4], "60x12: what is open stays open", [*opened, *s.seen])
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

tap.done()
