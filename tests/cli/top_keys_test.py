#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: top_keys_test.py CLEW SPIN: the screen of `clew top` in tmux, with each of its keys. SPIN is top_spin. TAP."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from tap import check, done, skip_all
from tui_lib import HAS_TMUX, Screen

CLEW, SPIN = map(os.path.abspath, sys.argv[1:3])
WORK = tempfile.mkdtemp(prefix="clew-top-keys-")


def screen(options, columns=100, lines=24, command=SPIN, **more):
    return Screen(WORK, f"{CLEW} top {options} -- {command}", columns, lines, **more)


def rows(lines):
    return [line for line in lines[2:-1] if "%" in line]


def test_rows():
    with screen("-d 0.2") as s:
        check(s.wait(lambda lines: rows(lines) and "top_spin" in rows(lines)[0].split()), "the program's hottest function is the first row", s.text())
        check(s.wait(lambda lines: "/s" in lines[0] and "0 lost" in lines[0] and "clew" in lines[0]), "the first line: samples per second, lost, clew itself", s.text())
        s.keys("U")
        check(s.wait(lambda lines: "h help" in lines[-1] and not [r for r in rows(lines) if "[.]" in r]), "U hides user space", s.text())
        s.keys("U")
        check(s.wait(lambda lines: any("[.] top_spin" in r for r in rows(lines))), "and shows it again", s.text())
        s.keys("K")
        check(s.wait(lambda lines: not [r for r in rows(lines) if "[k]" in r] and rows(lines)), "K hides the kernel", s.text())
        s.keys("/")
        s.wait("only names with:")
        s.type("other")
        s.keys("Enter")
        check(s.wait(lambda lines: len(rows(lines)) == 1 and "top_other" in rows(lines)[0]), "/ filters, also what comes later", s.text())
        s.keys("Escape")
        check(s.wait(lambda lines: len(rows(lines)) > 1), "Esc undoes it", s.text())
        s.resize(60, 12)
        check(s.wait(lambda lines: len(lines) == 12 and "/s" in lines[0] and rows(lines)), "it follows a resize", s.text())
        s.keys("h")
        check(s.wait("Keys") and s.wait("the next event"), "h: the keys", s.text())
        s.keys("q")
        s.wait("h help")
        s.keys("q")
        s.resize(100, 24)
        check(s.wait_end() == 0 and s.stty()[0] == s.stty()[1], "q leaves, with the terminal as it was", s.text())


def test_options():
    with screen("-d 0.2 -e cpu-clock,task-clock") as s:
        check(s.wait(lambda lines: "cpu-clock:" in lines[0]), "the first event", s.text())
        s.keys("e")
        check(s.wait(lambda lines: "task-clock:" in lines[0]), "e: the next event", s.text())
        s.keys("Tab")
        check(s.wait(lambda lines: "cpu-clock:" in lines[0]), "so does Tab", s.text())
        s.keys("Z")
        check(s.wait(lambda lines: "[stopped]" in lines[0] and ": 0" in lines[0]), "Z stops sampling", s.text())
        s.keys("Z")
        check(s.wait(lambda lines: "[stopped]" not in lines[0] and ": 0" not in lines[0]), "and goes on", s.text())
        s.keys("z")
        check(s.wait("what is new alone"), "z: no fading", s.text())
        s.keys("d")
        s.wait("seconds between refreshes: 0.2")
        s.keys("C-u")
        s.keys("BSpace", "BSpace", "BSpace")
        s.type("0.01")
        s.keys("Enter")
        check(s.wait("a number from 0.1"), "d: too often", s.text())
        s.keys("d")
        s.wait("seconds between refreshes: 0.2")
        s.keys("BSpace", "BSpace", "BSpace")
        s.type("0.1")
        s.keys("Enter")
        s.keys("d")
        check(s.wait("seconds between refreshes: 0.1"), "d: another time", s.text())
        s.keys("Escape")
        s.wait("h help")
        s.keys("f")
        s.wait("least samples of a row: 0")
        s.keys("BSpace")
        s.type("999999999")
        s.keys("Enter")
        check(s.wait("No row is left"), "f: least samples of a row", s.text())
        s.kill()
        check(s.wait_end() is not None and s.stty()[0] == s.stty()[1], "SIGTERM leaves the terminal as it was", s.text())


def test_signal():
    for key, text in ("h", "Keys"), ("d", "seconds between refreshes"):
        with screen("-d 0.2") as s:
            s.wait("h help")
            s.keys(key)
            s.wait(text)
            s.kill()
            check(s.wait_end() is not None and s.stty()[0] == s.stty()[1], f"SIGTERM leaves what {key} opened, too", s.text())
    with screen("-d 0.2") as s:
        s.wait("top_spin")
        s.keys("p")
        s.wait("write the last seconds to: perf.data")
        s.keys("Enter")
        s.wait("[perf.data]")
        s.keys("Enter")
        s.wait("Annotate")
        s.kill()
        check(s.wait_end() is not None and s.stty()[0] == s.stty()[1], "and another command's browser, with its menu", s.text())


def test_saved():
    path = os.path.join(WORK, "saved.data")
    with screen("-d 0.2 -g --call-graph fp") as s:
        s.wait("top_spin")
        s.keys("p")
        s.wait("write the last seconds to: perf.data")
        s.keys(*["BSpace"] * len("perf.data"))
        s.type("saved.data")
        s.keys("Enter")
        check(s.wait("[saved.data]") and s.wait("top_spin"), "p: the last seconds in the browser", s.text())
        s.keys("q")
        check(s.wait("saved.data is written") and s.wait(lambda lines: "/s," in lines[0]), "and back", s.text())
        p = subprocess.run([CLEW, "report", "--json", "-i", path], capture_output=True, text=True, check=False)
        saved = [r for t in json.loads(p.stdout)["tables"] for r in t["rows"]] if p.returncode == 0 else []
        check("top_spin" in [r["sym"] for r in saved] and [r for r in saved if r["values"][0]["total"] > r["values"][0]["self"]],
              "it is a recording, with call chains", p.stderr)
        p = subprocess.run([CLEW, "header", "-i", path], capture_output=True, text=True, check=False)
        check(p.returncode == 0, "and a file with a header", p.stderr)
        s.keys("/")
        s.wait("only names with:")
        s.type("top_other")
        s.keys("Enter")
        s.wait(lambda lines: rows(lines) and "top_other" in rows(lines)[0] and len(rows(lines)) == 1)
        s.keys("a")
        check(s.wait(lambda lines: "top_other" in lines[0] and "/s," not in lines[0]), "a: the function's instructions", s.text())
        scratch = [f for d in ("/var/tmp", "/tmp") for f in glob.glob(f"{d}/clew-*/clew-top-{s.child()}.data")]
        check(len(scratch) == 1 and os.stat(os.path.dirname(scratch[0])).st_mode & 0o777 == 0o700, "of a file in a folder that is ours alone", scratch)
        s.keys("q")
        check(s.wait(lambda lines: "/s," in lines[0]), "and back", s.text())
        s.keys("q")
        check(s.wait_end() == 0, "q leaves", s.text())
    check(not [n for n in os.listdir(os.environ.get("TMPDIR", "/tmp")) if n.startswith("clew-top-") and n.endswith(".data")], "no file is left")
    check(not any(map(os.path.exists, scratch + list(map(os.path.dirname, scratch)))), "nor its folder", scratch)


def test_ends():
    with screen("-d 0.2", command="sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'") as s:
        check(s.wait("[ended]") and rows(s.lines()), "what was shown last stays when the command has ended", s.text())
        s.keys("q")
        check(s.wait_end() == 0, "q leaves", s.text())
    with screen("-d 0.2 -n 2") as s:
        check(s.wait_end() == 0, "-n 2 ends by itself", s.text())
    with screen("-d 0.2", term="dumb") as s:
        check(s.wait_end() == 2, "a terminal without a cursor", s.text())
    p = subprocess.run([CLEW, "top", "--", SPIN], capture_output=True, text=True, check=False)
    check(p.returncode == 2 and "terminal" in p.stderr and "--stdio" in p.stderr, "no terminal: 2, and what else there is", p.stderr)


first = subprocess.run([CLEW, "top", "--json", "-n", "1", "-d", "0.1", "--", SPIN], capture_output=True, text=True, check=False)
if first.returncode:
    skip_all("events cannot be opened here: " + first.stderr.strip()[:200])
if not HAS_TMUX:
    skip_all("no tmux")
if "ncurses" in subprocess.run([CLEW, "report", "--tui"], capture_output=True, text=True, check=False).stderr:
    skip_all("built without ncurses")
test_rows()
test_options()
test_signal()
test_saved()
test_ends()
done()
