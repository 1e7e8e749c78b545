#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_trace_golden.py CLEW DIR: each DIR/NAME.trace (format: spe/README.md) is made into a recording, and rewritten from the bytes of its packets, with
what clew says of them: packets, records, events, warnings. It has to be what was read. With UPDATE=1 the files are replaced instead. TAP."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path += [TESTS, os.path.join(TESTS, 'cli')]
from spe_lib import COMM, PMU, TIME_CONV, aux, chunk, record, recording, v2  # noqa: E402
from tap import check, done  # noqa: E402

clew = os.path.abspath(sys.argv[1])
TITLES = ('[core]', '[packets]', '[records]', '[events]', '[warnings]')
BYTES_COLUMN = 46
FIELDS = 'event,ip,addr,phys_addr,weight,data_src,flags,brstack'


class Bad(Exception):
    """Not a file of this format."""


def run(path, *args):
    p = subprocess.run([clew, args[0], '-i', path, *args[1:]], capture_output=True, text=True, check=False)
    if p.returncode:
        raise Bad('clew %s: %s' % (' '.join(args), p.stderr))
    return p.stdout.splitlines(), p.stderr.splitlines()


def sections(path):
    """{title: lines}; '': the head."""
    out, at = {'': []}, ''
    with open(path, encoding='utf-8') as f:
        for line in f.read().splitlines():
            if line in TITLES:
                at = line
                out[at] = []
            elif line or at == '':
                out[at].append(line)
    if not out[''] or not any(line.startswith('# Spec: ') for line in out['']) or '[packets]' not in out:
        raise Bad('no title, no "# Spec: " line, or no packets')
    return out


def midr_of(lines):
    for line in lines:
        m = re.match(r'midr\s+(0x[0-9a-f]+)', line)
        if m:
            return int(m[1], 16)
    raise Bad('no midr')


def bytes_of(lines):
    return bytes.fromhex(''.join(line.rpartition('|')[2] for line in lines if not line.startswith('#')))


def packets(path, size):
    """All bytes of the AUX range, a packet a line."""
    for p in map(json.loads, run(path, 'dump', '--json')[0]):
        if p['offset'] >= size:
            return  # what fills up the recording's 8 bytes
        nr = min(p['size'], size - p['offset'])
        text = p['text'] if p['packet'] != 'PAD' or nr == 1 else 'PAD %d' % nr
        hexes = p['bytes'] or '00' * nr
        yield '%s| %s' % (text.ljust(BYTES_COLUMN), ' '.join(hexes[i:i + 2] for i in range(0, len(hexes), 2)))


def fields_of(event):
    yield from (('pc', event['ip']), *event['op'].items())


def records(path):
    for e in map(json.loads, run(path, 'script', '--json', '--itrace=i1i')[0]):
        if 'op' not in e:
            continue
        words = ['%s=%s' % (k, json.dumps(v, separators=(',', ':')) if isinstance(v, (bool, dict)) else str(v).replace(' ', '-')) for k, v in fields_of(e)]
        yield from textwrap.wrap('%d: %s' % (e['aux_offset'], ' '.join(words)), 118, subsequent_indent='    ', break_on_hyphens=False)


def rewritten(path, work):
    old = sections(path)
    trace = bytes_of(old['[packets]'])
    data = os.path.join(work, 'spe.data')
    with open(data, 'wb') as f:
        f.write(recording([record(79, TIME_CONV), v2((0, midr_of(old.get('[core]', [])), PMU, ())), COMM, aux(trace), chunk(0, len(trace), 1 << 62)]))
    out = [*old[''], '[core]', *old['[core]'], '', '[packets]', *packets(data, len(trace)), '', '[records]', *records(data), '', '[events]']
    out += [' '.join(line.split()) for line in run(data, 'script', '--itrace=fmtbaMi1il2', '-F', FIELDS)[0]]
    warnings = [re.sub(r'^clew: (\w+: )?\S*spe\.data: ', '', w) for w in run(data, 'trace')[1]]
    return '\n'.join(out + ['', '[warnings]'] + warnings) + '\n'


def main():
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(os.path.join(sys.argv[2], '*.trace'))):
            with open(path, encoding='utf-8') as f:
                old = f.read()
            try:
                new = rewritten(path, work)
            except Bad as why:
                check(False, os.path.basename(path), why)
                continue
            if os.environ.get('UPDATE') and new != old:
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(new)
            check(new == old or os.environ.get('UPDATE'), old.splitlines()[0].lstrip('# '),
                  ['- %s\n# + %s' % pair for pair in zip(old.splitlines(), new.splitlines()) if pair[0] != pair[1]])
    done()


main()
