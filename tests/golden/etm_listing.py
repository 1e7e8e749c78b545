#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_listing.py DIR

LLVM's assembler makes the encodings of the code in DIR/*.trace. With UPDATE=1 they are written to
the files; an encoding may be "?" then. TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

TARGETS = {
    "a64": ["-triple=aarch64", "-mattr=+tme,+v8.7a"],
    "a32": ["-triple=armv7a"],
    "t32": ["-triple=thumbv8m.main"],
}
# LLVM writes a branch's target as the distance from this.
AHEAD = {"a64": 0, "a32": 8, "t32": 4}
LINE = re.compile(r"^([0-9a-f]+) (a64|a32|t32) +(\S+) +([^;]+?) *(;.*)?$")
BRANCH = re.compile(r"^(b|bl|blx|cbn?z|tbn?z|b\.?(?:eq|ne))\b(.*?)\b0x([0-9a-f]+)$")


def relative(address, isa, text):
    m = BRANCH.match(text)
    if not m:
        return text
    base = address + AHEAD[isa]
    if isa == "t32" and m[1] == "blx":
        base &= ~3
    return f"{m[1]}{m[2]}#{int(m[3], 16) - base}"


def assemble(llvm_mc, isa, lines):
    """@return the encodings as the listings write them, or the assembler's complaint."""
    run = subprocess.run([llvm_mc, *TARGETS[isa], "-show-encoding"], input="\n".join(lines) + "\n",
                         capture_output=True, text=True, check=False)
    if run.returncode:
        return None, run.stderr
    found = []
    for hexes in re.findall(r"encoding: \[(.*)\]", run.stdout):
        b = [int(x, 16) for x in hexes.split(",")]
        if isa == "t32" and len(b) == 4:
            b = [b[2], b[3], b[0], b[1]]
        found.append("".join(f"{x:02x}" for x in reversed(b)))
    return found, ""


def listing(path):
    """@return (line number, match) of each instruction."""
    is_code = False
    for at, line in enumerate(path.read_text().splitlines()):
        if line.startswith("["):
            is_code = line == "[code]"
        m = is_code and LINE.match(line)
        if m:
            yield at, m


def check(path, llvm_mc):
    lines = path.read_text().splitlines()
    wrong = []
    for isa in TARGETS:
        insns = [(at, m) for at, m in listing(path) if m[2] == isa]
        if not insns:
            continue
        texts = [relative(int(m[1], 16), isa, m[4]) for _, m in insns]
        encodings, why = assemble(llvm_mc, isa, texts)
        if encodings is None or len(encodings) != len(insns):
            wrong.append(f"{path.name}: {why or 'one line, one instruction'}")
            continue
        for (at, m), encoding in zip(insns, encodings):
            if m[3] == encoding:
                continue
            wrong.append(f"{path.name}:{at + 1}: {m[4]} is {encoding}")
            lines[at] = f"{m[1]} {isa} {encoding:8} {m[4]}"
            if m[5]:
                lines[at] = f"{lines[at]:40}{m[5]}"
    if os.environ.get("UPDATE") and not any("error" in w for w in wrong):
        path.write_text("\n".join(lines) + "\n")
        wrong = []
    return wrong


def main():
    llvm_mc = shutil.which("llvm-mc") or shutil.which("llvm-mc-19") or shutil.which("llvm-mc-14")
    if not llvm_mc:
        tap.skip_all("no llvm-mc here")
    wrong = [w for path in sorted(pathlib.Path(sys.argv[1]).glob("*.trace"))
             for w in check(path, llvm_mc)]
    tap.check(not wrong, "the listings' encodings are those of LLVM's assembler", wrong)
    tap.done()


main()
