#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: unknown_test.py CLEW: what is not known (commands, options, programs) is answered with the exact cause and what may be meant, and no
file is touched. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()

# Those of perf 6.1 and what came since that are not clew's.
OF_PERF = (
    "archive bench buildid-cache buildid-list c2c config daemon data ftrace iostat kallsyms kmem kvm kwork lock mem probe sched "
    "test timechart"
).split()


def run(*args, **more):
    p = subprocess.run([clew, *args], stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=work, encoding="utf-8", **more)
    return p.returncode, p.stdout, p.stderr


def says(name, args, *parts, status=2):
    got, out, err = run(*args)
    missing = [part for part in parts if part not in err]
    tap.check(got == status and not missing and not out, name, [got, *missing, out, err])


def swapped(word):
    """Two letters in each other's place."""
    return word[:3] + word[4] + word[3] + word[5:]


def commands():
    slips = [(swapped(meant), meant) for meant in ("record", "report", "script")]
    for word, meant in (*slips, ("Report", "report"), ("headr", "header")):
        says(f"clew {word}", [word], f"there is no command '{word}'", f"did you mean 'clew {meant}'?")
    for word in OF_PERF:
        status, _out, err = run(word)
        tap.check(status == 2 and f"'{word}' is a perf command" in err and err.count("hint: ") == 1, f"clew {word}", err)
    says("a program", ["./a.out"], "clew record -g -- ./a.out")
    says("nothing near", ["xyzzyx"], "there is no command 'xyzzyx'", "clew --help")
    says("clew help, misspelt", ["help", swapped("record")], "did you mean 'clew record'?")
    says("clew trace ls", ["trace", "ls"], "takes no argument 'ls'", "syscalls:*")
    says("clew sframe, misspelt", ["sframe", swapped("check"), "x"], f"there is no '{swapped('check')}'", "did you mean 'clew sframe check'?")
    says("clew sframe xyzzyx", ["sframe", "xyzzyx", "x"], "dump, check or make, not 'xyzzyx'", "clew sframe --help")
    says("a long word", ["x" * 4000], "there is no command 'xxx", "clew --help")


def options():
    says("report -D", ["report", "-D"], "'clew script -D'")
    says("header -D", ["header", "-D"], "there is no option '-D' here", "'clew script -D': every record")
    says("a letter after others", ["report", "--stdio", "-nZq"], "there is no option '-Z' here", "clew report --help")
    says("script -json", ["script", "-json"], "did you mean '--json'?")
    says("misspelt", ["script", "--jsno"], "there is no option '--jsno' here", "did you mean '--json'?")
    says("misspelt, with an argument", ["report", "--srot=sym"], "there is no option '--srot' here", "did you mean '--sort'?")
    says("misspelt, negated", ["report", "--no-chidren"], "did you mean '--no-children'?")
    says("of another command", ["report", "--show-mmap-events"], "'clew script --show-mmap-events'")
    says("of another command, misspelt", ["report", "--show-mmap-evnets"], "did you mean 'clew script --show-mmap-events'?")
    says("several begin so", ["report", "--st"], "'--st' may be any of ", "--stats", "--stdio-color")
    says("takes no argument", ["script", "--json=yes"], "'--json' takes no argument")
    says("needs an argument", ["report", "--sort"], "'--sort' needs an argument")
    says("report -F: by its own name", ["report", "-F", "overhead,xyzzyx"], "--fields: there is no key 'xyzzyx'")
    says("nothing near", ["evlist", "--xyzzyx"], "there is no option '--xyzzyx' here", "clew evlist --help")
    for command in "record report diff script trace dump evlist header inject sframe list doctor".split():
        says(f"clew {command}: all tables are looked through", [command, "--show-mmap-evnets"], "--show-mmap-events")


def write(name, text, mode=0o644):
    path = os.path.join(work, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def refuses_program(name, args, status, why, **more):
    """@args name a program that cannot run: perf.data stays, and nothing is added."""
    write("perf.data", "an older recording")
    before = sorted(os.listdir(work))
    got, _out, err = run("record", "-e", "dummy", *args, **more)
    with open(os.path.join(work, "perf.data"), encoding="utf-8", errors="replace") as f:
        text = f.read()
    after = sorted(os.listdir(work))
    tap.check(got == status and "cannot run" in err and why in err and text == "an older recording" and before == after, name, [got, err, text, before, after])


def programs():
    plain = write("plain.txt", "no program")
    os.mkdir(os.path.join(work, "directory"))
    refuses_program("no such program", ["--", "no-such-program-xyzzy"], 127, "No such file")
    refuses_program("no such program, system-wide", ["-a", "--", "no-such-program-xyzzy"], 127, "No such file")
    refuses_program("no such path", ["--", "./none"], 127, "No such file")
    refuses_program("an empty name", ["--", ""], 127, "No such file")
    refuses_program("no program", ["--", plain], 126, "Permission denied")
    refuses_program("a directory", ["--", "./directory"], 126, "Permission denied")
    write("first/prog", "#!/bin/sh\nexit 3\n", 0o644)
    refuses_program("in $PATH, and may not be run", ["--", "prog"], 126, "Permission denied", env=dict(os.environ, PATH=f"{work}/none:{work}/first"))
    status, _out, err = run("record", "-e", "dummy", "-n", "-o", "possible.data", "--", "true")
    if status:
        tap.skip("programs that are there", "cannot record here: " + err.strip().split("\n")[0])
        return
    os.remove(os.path.join(work, "possible.data"))
    data = os.path.join(work, "addresses.data")
    status, _out, err = run("record", "-q", "-d", "-W", "-e", "page-faults:u", "-c", "1", "-o", data, "--", "true")
    for tool in "mem", "c2c":
        words = re.search(r"'clew (report --mem)'", run(tool)[2])
        got, out, err = run(*(words.group(1).split() if words else [tool]), "-i", data)
        tap.check(not status and not got and words, f"clew {tool}: what the hint names is there", err)
    os.remove(data)
    bad = write("bad", "#!/no/such/interpreter\n", 0o755)
    refuses_program("exec itself fails", ["--", bad], 127, "No such file")
    write("second/prog", "#!/bin/sh\nexit 3\n", 0o755)
    status, _out, err = run("record", "-e", "dummy", "-n", "-o", "o.data", "--", "prog", env=dict(os.environ, PATH=f"{work}/first:{work}/second:{os.environ['PATH']}"))
    tap.check(status == 3, "the second of $PATH runs", [status, err])


commands()
options()
programs()
shutil.rmtree(work)
tap.done()
