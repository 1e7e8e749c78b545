#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: sframe_golden.py CLEW DIR: `clew sframe dump` prints what objdump --sframe printed for the files below
../shared/data/sframe, white space aside; `check` finds their linked files as they are; `make` gives the same rules."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip




def clew(*args):
    return subprocess.run([CLEW, "sframe", *map(str, args)], capture_output=True, text=True)


def words(text):
    return text[text.index("file format"):].split()


def relative(text):
    """Addresses counted from their function: in the bytes of a relocatable file they are not there yet."""
    start = 0
    out = []
    for line in text.splitlines():
        head = re.match(r"( *func idx \[\d+\]: pc = )0x([0-9a-f]+)(.*)", line)
        row = re.match(r"    ([0-9a-f]{16})  (.*)", line)
        if head:
            start = int(head[2], 16)
            line = head[1] + head[3]
        elif row:
            line = f"{int(row[1], 16) - start:x} {row[2]}"
        out.append(line)
    return "\n".join(out)


def check_elf(path, text):
    got = clew("dump", path)
    check(got.returncode == 0 and words(got.stdout) == words(text.read_text()), f"elf/{path.name}", got.stdout + got.stderr)


def check_raw(path):
    text = path.with_suffix(".txt").read_text()
    sections = path.with_suffix(".sections").read_text()
    address = int(re.search(r"\.sframe +\S+ +([0-9a-f]+)", sections)[1], 16)
    got = clew("dump", f"--address={address:#x}", path)
    a, b = got.stdout, text
    if "VERSION_3" in text and not address:
        a, b = relative(a), relative(b)
    check(got.returncode == 0 and words(a) == words(b), f"{path.parent.name}/{path.name}", got.stdout + got.stderr)


def check_linked(path):
    got = clew("check", path)
    lost = re.search(r"lost mark +(\d+)", got.stdout)
    differs = re.search(r"differs +(\d+)", got.stdout)
    want = "0" if "v3" in path.name else "1"
    check(got.returncode == 0 and differs and differs[1] == "0" and lost[1] == want,
          f"check {path.name}: {want} lost marks", got.stdout + got.stderr)
    damaged = bytearray(path.read_bytes())
    at = damaged.index(b"\xe2\xde")
    # The last row of the third function: at 0x13b, CFA 8 becomes 24.
    row = damaged.index(bytes.fromhex("3b010308"), at)
    damaged[row + 3] = 24
    with tempfile.NamedTemporaryFile(suffix=".linked") as f:
        f.write(damaged)
        f.flush()
        got = clew("check", f.name)
    check(got.returncode == 1 and re.search(r"differs: 0x401152-0x401153 .*\.sframe sp\+24 .*\.eh_frame sp\+8 ", got.stdout),
          "and a row that was changed", got.stdout + got.stderr)


def check_made(path):
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "made")
        for form in [], ["--v2"]:
            made = clew("make", "-o", out, *form, path)
            got = clew("check", "-s", out, path)
            check(made.returncode == 0 and got.returncode == 0 and "differs          0 " in got.stdout,
                  f"make {' '.join(form)} for {path.name}: {made.stdout.partition(chr(10))[0].partition(': ')[2]}", made.stderr + got.stdout + got.stderr)


CLEW = os.path.abspath(sys.argv[1])
top = Path(sys.argv[2])
check_made(Path(CLEW))
for name in "/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3":
    if os.path.exists(name):
        check_made(Path(name))
if not top.is_dir():
    skip("given files", f"{top} is not there")
else:
    for path in sorted((top / "elf").glob("*")):
        if path.suffix == ".o":
            check_elf(path, path.with_suffix(".txt"))
        elif path.suffix == ".linked":
            check_elf(path, path.with_suffix(".linked.txt"))
            check_linked(path)
            check_made(path)
    for path in sorted(top.glob("2.*/*.sframe")):
        check_raw(path)
done()
