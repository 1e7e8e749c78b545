#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: help_test.py CLEW TOP: of each command of `clew --help`, TOP being the folder of the sources: its --help has examples, of options that are
there; it has a man page, with examples; and bash, zsh and fish complete it and all its options. Shells that are missing are skipped. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip

CLEW, TOP = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
HOME = tempfile.mkdtemp()
ENVIRONMENT = dict(os.environ, PATH=f"{os.path.dirname(CLEW)}:{os.environ['PATH']}", HOME=HOME, XDG_CONFIG_HOME=HOME, XDG_DATA_HOME=HOME, LC_ALL="C.UTF-8")
OPTION = re.compile(r"^ {2,6}(?:-., )? *(--[a-z][a-z0-9-]*)", re.M)
BY_MAIN = "version"  # has neither options nor help


def run(*args):
    return subprocess.run([*map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=HOME).stdout


COMMANDS = re.findall(r"^  ([a-z]+)  ", run(CLEW, "--help"), re.M)
HELP = {c: run(CLEW, c, "--help") for c in COMMANDS}
OPTIONS = {c: set(OPTION.findall(HELP[c])) for c in COMMANDS}


def calls(text):
    """(command, options) of each call of clew in lines of examples."""
    for call in re.split(r"[|;]|&&", text):
        words = call.split()
        if len(words) > 1 and words[0] == "clew":
            ours = words[2:words.index("--")] if "--" in words else words[2:]
            yield words[1], [w.split("=")[0] for w in ours if w.startswith("--")]


def unknown(text):
    """Commands and options of examples that are not there."""
    found = []
    for line in text.splitlines():
        for command, options in calls(line):
            taken = HELP.get(command, "")
            found += [f"{command} {o}" for o in options if not re.search(re.escape(o.replace("--no-", "--")) + r"(?![a-z0-9-])", taken)]
            found += [command] if command not in COMMANDS else []
    return found


def test_help(command):
    text = HELP[command]
    check(text.startswith(f"Usage: clew {command}") and "--help" in OPTIONS[command], f"{command} --help", text[:200])
    examples = text.partition("\nExamples:\n")[2]
    nr = len(re.findall(r"^  (?:.*\| )?clew ", examples, re.M))
    check(nr >= 2 and f"clew {command}" in examples, f"{command} --help: two examples", f"{nr}\n{examples}")
    check(not unknown(examples), f"{command} --help: what they name is there", unknown(examples))


def test_page(command):
    page = TOP / "man" / f"clew-{command}.1.scd"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    check(text.startswith(f"clew-{command}(1)") and all(f"\n# {s}\n" in text for s in ("NAME", "SYNOPSIS", "EXIT STATUS", "EXAMPLES", "SEE ALSO")),
          f"man page of {command}", re.findall("^# .*", text, re.M))
    examples = text.partition("\n# EXAMPLES\n")[2].partition("\n# ")[0].replace("++\n", "\n")
    check("clew " in examples and not unknown(examples), f"man page of {command}: what its examples name is there", unknown(examples))
    check(f"'clew-{command}.1'" in (TOP / "man/meson.build").read_text(encoding="utf-8")
          and f"*clew-{command}*(1)" in (TOP / "man/clew.1.scd").read_text(encoding="utf-8"), f"man page of {command} is installed, and in clew(1)")


BASH = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _clew; printf "%s\\n" "${COMPREPLY[@]}"'
FISH = 'source $argv[1]; complete -C "$argv[2..-1]"'
# What completion functions call, without a line editor.
ZSH = """compadd() { if [[ $1 == -a ]]; then print -l -- ${(P)2}; else print -l -- $@; fi }
_describe() { print -l -- ${(P)2%%:*}; }
_files() { }; _command_names() { }
file=$1; shift; words=("$@"); CURRENT=$#; source $file"""


def completed(shell, *words):
    files = {"bash": "clew.bash", "zsh": "_clew", "fish": "clew.fish"}
    file = TOP / "completions" / files[shell]
    if shell == "bash":
        out = run("bash", "-c", BASH, "bash", file, *words)
    elif shell == "zsh":
        out = run("zsh", "-f", "-c", ZSH, "zsh", file, *words)
    else:
        out = run("fish", "--no-config", "-c", FISH, file, *words)
    return {line.split("\t")[0].strip() for line in out.splitlines()}


def test_shell(shell):
    if not shutil.which(shell):
        skip(f"{shell} completes all commands and options", f"no {shell} here")
        return
    got = completed(shell, "clew", "")
    check(set(COMMANDS) <= got, f"{shell} completes commands", set(COMMANDS) - got)
    for command in COMMANDS:
        if command == BY_MAIN:
            continue
        got = completed(shell, "clew", command, "--")
        check(OPTIONS[command] <= got, f"{shell} completes options of {command}", [OPTIONS[command] - got, got])


def main():
    check("record" in COMMANDS and "report" in COMMANDS, "clew --help lists commands", COMMANDS)
    for command in COMMANDS:
        if command == BY_MAIN:
            continue
        test_help(command)
        test_page(command)
    for shell in ("bash", "zsh", "fish"):
        test_shell(shell)
    shutil.rmtree(HOME)
    done()


main()
