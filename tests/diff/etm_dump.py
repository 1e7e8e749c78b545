#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_dump.py CLEW DATA PROGRAM: `clew dump` names the packets that OpenCSD's trc_pkt_lister names, with their fields, of each
snapshot below DATA/coresight and DATA/coresight-truth, of those that PROGRAM writes, and of DATA/simpleperf-etm's list of packets. TAP."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tap import check, done, skip

clew, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

# Not packets: what was passed over, and what the end cut.
NO_PACKETS = ('I_NOT_SYNC', 'I_INCOMPLETE', 'I_INCOMPLETE_EOT', 'I_BAD', 'I_UNSUPPORTED')
# OpenCSD 1.3 does not print the bit that makes them Root and Realm.
SECURITY = {'S': 'S', 'NS': 'NS', 'Root': 'S', 'Realm': 'NS'}




def number(word, pattern, text):
    m = re.search(word + pattern, text) if word in text else None
    return int(m.group(1), 0) if m else None


def of_lister(line):
    """A packet in OpenCSD's words: (unit, index, name, fields)."""
    m = re.match(r'\s*Idx:(\d+); ID:([0-9a-f]+);\s+(I_\w+) : (.*)', line)
    if not m or m.group(3) in NO_PACKETS:
        return None
    name, text = m.group(3).replace('I_SCR_', 'I_SRC_'), m.group(4)
    cycles = number('Count=', r'(0x[0-9a-f]+)', text)
    f = {'address': number('Addr=', r'(0x[0-9A-F]+)', text), 'timestamp': number('Updated val = ', r'(0x[0-9a-f]+)', text),
         'cycles': number('CC=', r'(0x[0-9a-f]+)', text) if cycles is None else cycles, 'commit': number('Commit', r'\((\d+)\)', text),
         'cancel': number('Cancel', r'\((\d+)\)', text), 'instructions': number('Count', r'\((\d+)\)', text),
         'vmid': number('VMID=', r'(0x[0-9a-f]+)', text), 'contextidr': number('CID=', r'(0x[0-9a-f]+)', text), 'atoms': None, 'context': None}
    if name.startswith('I_ATOM'):
        f['atoms'] = re.search(r'; ([EN]+)', text).group(1)
    m = re.search(r'Ctxt: AArch(\d+),\s*EL(\d),\s*(\w+);', text) if 'Ctxt' in text else None
    if m:
        f['context'] = (int(m.group(1)), int(m.group(2)), SECURITY[m.group(3)])
    return int(line.split('ID:')[1].split(';')[0], 16), int(line.split('Idx:')[1].split(';')[0]), name, f


def of_clew(line):
    p = json.loads(line)
    if p['packet'] in NO_PACKETS:
        return None
    c = p.get('context')
    f = {'address': int(p['address'], 16) if 'address' in p else None,
         'timestamp': int(p['timestamp'], 16) if 'timestamp' in p else None, 'cycles': p['cycles'] or 0 if 'cycles' in p else None,
         'commit': p.get('commit') if p['packet'] == 'I_COMMIT' else None,
         'cancel': p.get('cancel') if p['packet'].startswith('I_CANCEL') else None, 'instructions': p.get('instructions'),
         'vmid': c.get('vmid') if c else None, 'contextidr': c.get('contextidr') if c else None,
         'atoms': p.get('atoms') if p['packet'].startswith('I_ATOM') else None,
         'context': (c['bits'], c['el'], SECURITY[c['security']]) if c else None}
    return p['unit'], p['input'], p['packet'], f


def packets(lines, parse):
    """A list for each trace unit."""
    ret = {}
    for line in lines:
        p = parse(line)
        if p:
            ret.setdefault(p[0], []).append(p[1:])
    return list(ret.values())


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, cwd=work).stdout.decode(errors='replace').splitlines()


def buffers(directory):
    """The names of a snapshot's trace buffers, in order."""
    ret, inis = [], [f for f in os.listdir(directory) if f.endswith('.ini')]
    for ini in inis:
        text = open(os.path.join(directory, ini), errors='replace').read().replace('\r', '')
        m = re.search(r'^\s*buffers\s*=\s*(.*)$', text, re.M)
        for section in m.group(1).split(',') if m else ():
            name = re.search(r'^\[%s\][^\[]*?^\s*name\s*=\s*(\S+)' % re.escape(section.strip()), text, re.M)
            if section.strip() and name:
                ret.append(name.group(1))
    return ret


def differences(want, got, slack):
    """@slack: OpenCSD's index of a byte in a frame is near it; None: it is another index altogether."""
    for i, (w, g) in enumerate(zip(want, got)):
        if w[1:] != g[1:] or (slack is not None and abs(w[0] - g[0]) > slack):
            return ['packet %d' % i, 'want %s' % (w,), 'got  %s' % (g,)]
    if len(want) != len(got):
        return ['%d packets, not %d' % (len(got), len(want))]
    return None


def compare(name, want, got, slack):
    """Units are known by their contents: OpenCSD does not name the unit of unformatted trace."""
    left = list(got)
    for w in want:
        near = sorted(left, key=lambda g: (bool(differences(w, g, slack)), abs(len(g) - len(w))))
        best = differences(w, near[0], slack) if near else ['no trace unit left']
        check(not best, '%s: %d packets' % (name, len(w)), best or ())
        left = [g for g in left if g is not near[0]]
    check(not left, '%s: no other packets' % name)


def snapshot(directory):
    want = []
    got = packets(run(clew, 'dump', '--json', '-i', directory), of_clew)
    if any(p[1] == 'I_ITE' for g in got for p in g):
        skip(os.path.basename(directory), 'OpenCSD knows instrumentation packets from 1.6 on')
        return
    for name in buffers(directory):
        want += packets(run('trc_pkt_lister', '-ss_dir', directory, '-src_name', name), of_lister)
    compare(os.path.basename(directory), want, got, 16)


def recording():
    listed = os.path.join(data, 'simpleperf-etm/perf_etm.ocsd-packets.txt')
    file = os.path.join(data, 'simpleperf-etm/perf_etm.data')
    if not os.path.exists(listed) or not os.path.exists(file):
        skip('a list of packets', 'no recording with one here')
        return
    got = packets(run(clew, 'dump', '--json', '-i', file), of_clew)
    if not got:
        skip('a list of packets', 'recordings are not decoded')
        return
    compare('perf_etm.data', packets(open(listed, errors='replace'), of_lister), got, None)


work = tempfile.mkdtemp()  # trc_pkt_lister writes a file where it is
recording()
if not shutil.which('trc_pkt_lister'):
    skip('snapshots', 'no trc_pkt_lister here')
else:
    made = os.path.join(work, 'made')
    os.mkdir(made)
    run(os.path.abspath(sys.argv[3]), made)
    for path in (made, os.path.join(data, 'coresight'), os.path.join(data, 'coresight-truth')):
        for entry in sorted(os.listdir(path)) if os.path.isdir(path) else ():
            if os.path.exists(os.path.join(path, entry, 'snapshot.ini')):
                snapshot(os.path.join(path, entry))
shutil.rmtree(work)
done()
