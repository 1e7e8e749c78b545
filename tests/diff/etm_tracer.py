#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_tracer.py CLEW PROGRAM: the instructions of generated trace are the same for clew and for OpenCSD. PROGRAM writes snapshots into
the directory that it is given. docs/decisions/etm-speculation.md says what they lack. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

clew, program = (os.path.abspath(a) for a in sys.argv[1:3])
if not shutil.which('trc_pkt_lister'):
    print('1..0 # SKIP no trc_pkt_lister here')
    sys.exit(0)
work = tempfile.mkdtemp()
failed = 0
LIMIT = 1 << 20  # bytes: a range that was invented may be any


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, cwd=work).stdout.decode(errors='replace')


def addresses(ranges):
    ret = []
    for start, end in ranges:
        start, end = int(start, 16), int(end, 16)
        ret += range(start, min(end, start + LIMIT), 4)
    return ret


made = os.path.join(work, 'made')
os.mkdir(made)
run(program, made)
names = sorted(os.listdir(made))
for i, name in enumerate(names):
    path = os.path.join(made, name)
    text = run('trc_pkt_lister', '-ss_dir', path, '-decode_only')
    want = addresses(re.findall(r'INSTR_RANGE\(exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\]', text))
    lines = [x.split() for x in run(clew, 'trace', '-i', path, '--ranges', '--events=none').splitlines()]
    got = addresses((x[1], x[2]) for x in lines)
    ok = want == got and len(want) > 1000
    failed += not ok
    print('%s %d - %s: %d instructions' % ('ok' if ok else 'not ok', i + 1, name, len(want)))
    if not ok:
        at = next((k for k, (w, g) in enumerate(zip(want, got)) if w != g), min(len(want), len(got)))
        print('# from %d of %d and %d on: %s, not %s' % (at, len(want), len(got), [hex(x) for x in got[at:at + 4]], [hex(x) for x in want[at:at + 4]]))
shutil.rmtree(work)
print('1..%d' % len(names))
sys.exit(failed != 0 or not names)
