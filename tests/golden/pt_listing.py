#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pt_listing.py DIR

The assembly of the code in DIR/*.trace is what GNU objdump says of the encodings. With UPDATE=1 it is written to the files. What objdump does not know is
not compared, but one instruction stands in one line. TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tap  # noqa: E402

MACHINES = {'64': 'i386:x86-64', '32': 'i386', '16': 'i8086'}
LINE = re.compile(r'^([0-9a-f]+) (64|32|16) ([0-9a-f]+) *(x\d+ )?([^;]*?) *(;.*)?$')
NEWER = ('(bad)', 'rex2')


def disassembly(mode, address, code):
    """@return (assembly, bytes) of the first instruction."""
    with tempfile.NamedTemporaryFile() as f:
        f.write(code)
        f.flush()
        out = subprocess.run(['objdump', '-D', '-b', 'binary', '-m', MACHINES[mode], f'--adjust-vma={address:#x}', '--insn-width=15', f.name],
                             capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        m = re.match(r'\s*[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*(.*)$', line)
        if m:
            text = re.sub(r'\s+#.*', '', m[2])
            return re.sub(r'\s+', ' ', text).strip(), len(m[1].split())
    return '(bad)', 0


def check(path, known):
    lines = path.read_text().splitlines()
    wrong, is_code = [], False
    for at, line in enumerate(lines):
        if line.startswith('['):
            is_code = line == '[code]'
        m = is_code and LINE.match(line)
        if not m:
            continue
        key = (m[2], int(m[1], 16), m[3])
        if key not in known:
            known[key] = disassembly(m[2], key[1], bytes.fromhex(m[3]))
        text, n = known[key]
        if text.startswith(NEWER) or (text == m[5] and n * 2 == len(m[3])):
            continue
        wrong.append(f'{path.name}:{at + 1}: {m[3]} is {text}, of {n} bytes')
        lines[at] = f'{m[1]} {m[2]} {m[3]:8} {m[4] or ""}{text}' + (f'  {m[6]}' if m[6] else '')
    if os.environ.get('UPDATE'):
        path.write_text('\n'.join(lines) + '\n')
        wrong = [w for w in wrong if 'of 0 bytes' in w]
    return wrong


def main():
    if not shutil.which('objdump'):
        tap.skip_all('no objdump here')
    known = {}
    wrong = [w for path in sorted(pathlib.Path(sys.argv[1]).glob('*.trace')) for w in check(path, known)]
    tap.check(not wrong, "the listings are objdump's", wrong)
    tap.done()


main()
