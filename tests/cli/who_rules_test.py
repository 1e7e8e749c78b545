#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: who_rules_test.py CLEW: single rules of who ran, each in a small recording of Arm SPE: ids that are none, clocks that are wrong, CPUs of any number. TAP."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from spe_lib import COMM, N1, PMU, TIME_CONV, aux, chunk, load, record, recording, sample_id, switch, v2  # noqa: E402
from tap import check, done  # noqa: E402

clew = os.path.abspath(sys.argv[1])
TICK = 40  # ns


def run(*args):
    p = subprocess.run((clew,) + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def conv(mult):
    return record(79, struct.pack('<QQQQQBB6x', 0, mult, 0, 0, 0, 1, 0))


def comm(pid, name, time):
    return record(3, struct.pack('<II', pid, pid) + name.encode().ljust(8, b'\0') + sample_id(pid, pid, time))


def sample(pid, time):
    return record(9, struct.pack('<QQIIQII', 42, 0x1000, pid, pid, time, 0, 0), 2)


def write(path, records):
    with open(path, 'wb') as f:
        f.write(recording(records))
    return path


def owners(path):
    out = run('script', '--json', '--itrace=M', '-i', path)[1]
    return [e['who'] for e in map(json.loads, out.splitlines()) if 'op' in e]


def stays(mult, late=0, cpu=0):
    """Threads 100 and 200 in turn, and an operation in the middle of each stay; @late: ns that the switches are behind the counter's."""
    records, trace = [conv(mult), v2((cpu, N1, PMU, ())), comm(100, 'prog', TICK), comm(200, 'other', 2 * TICK)], b''
    for i in range(40):
        a, b = (100, 200) if i % 2 else (200, 100)
        time = 1000 * TICK * (i + 1)
        records += [switch(True, a, b, time + late, cpu), switch(False, b, a, time + 10 * TICK + late, cpu)]
        trace += load(0x1000, 1000 * (i + 1) + 500)
    return records[:4] + [aux(trace, cpu=cpu), record(11, struct.pack('<QQQ', 0, len(trace), 0) + sample_id(100, 100, 1000 * TICK * 42 + late, cpu))] + records[4:]


def test_clock(work):
    want = [100 if i % 2 == 0 else 200 for i in range(40)]
    got = owners(write(os.path.join(work, 'right.data'), stays(TICK)))
    check([w.get('local') for w in got] == want, 'a clock of whole ticks: each thread by its switches', got[:3])
    path = write(os.path.join(work, 'between.data'), stays(TICK, late=TICK // 2))
    got = owners(path)
    check(len(got) == 40 and all(w['kind'] == 'unknown' and w['reason'] == 'clock-untrusted' for w in got), 'times between ticks: the clock is not trusted (W12)', got[:3])
    check(re.search(r'times of the trace compare with those of records: no, times of records are not those of whole ticks', run('report', '--stats', '-i', path)[1]),
          'and report --stats says so')
    got = owners(write(os.path.join(work, 'fast.data'), stays(2 * TICK)))
    check(len(got) == 40 and not any('local' in w for w in got), 'operations after the end of their chunk: no answer by switches (W12)', got[:3])
    got = owners(write(os.path.join(work, 'none.data'), stays(0)))
    check(len(got) == 40 and all(w.get('reason') == 'no-clock' for w in got), 'mult 0: no clock (W11)', got[:3])


def test_ids(work):
    """Id 0 is no thread: COMM of a task outside the namespace names no thread (W2)."""
    path = write(os.path.join(work, 'zero.data'), [COMM, sample(0, 10), comm(0, 'evil', 20), sample(0, 30), sample(100, 40)])
    status, out, err = run('script', '-i', path, '-F', 'comm,tid')
    check(status == 0 and 'evil' not in out and out.count('prog') == 1, 'COMM of id 0', [out, err])
    records = stays(TICK)
    records.insert(4, comm(0, 'evil', 3 * TICK))
    records.insert(5, record(7, struct.pack('<IIIIQ', 0, 100, 0, 100, 4 * TICK) + sample_id(100, 100, 4 * TICK)))
    records.insert(6, record(10, struct.pack('<IIQQQIIQQII', 0, 0, 0x1000, 0x1000, 0, 0, 0, 0, 0, 5, 0) + b'/evil\0\0\0' + sample_id(0, 0, 5 * TICK)))
    records.append(record(4, struct.pack('<IIIIQ', 0, 0, 0, 0, 41000 * TICK) + sample_id(0, 0, 41000 * TICK)))
    path = write(os.path.join(work, 'outside.data'), records)
    check([w.get('local') for w in owners(path)] == [100 if i % 2 == 0 else 200 for i in range(40)], 'FORK and MMAP2 of id 0 change no thread')
    check('evil' not in run('script', '-i', path, '--itrace=M')[1] and 'evil' not in run('report', '-i', path, '-s', 'comm')[1], 'nor in a trace')
    path = write(os.path.join(work, 'dead.data'), [conv(TICK), v2((0, N1, PMU, ())), comm(100, 'prog', TICK), aux(load(0x1000, 1500)), chunk(0, len(load(0, 0)), 4000 * TICK),
                                                   switch(True, 100, -1, 1000 * TICK), switch(False, -1, 100, 1010 * TICK), switch(True, -1, 100, 2000 * TICK),
                                                   switch(False, 100, -1, 2010 * TICK)])
    got = owners(path)
    check(len(got) == 1 and got[0]['kind'] == 'unknown' and got[0]['reason'] == 'dead', 'a stay of id -1', got)


def test_cpus(work):
    """A CPU's number is only a number (W32)."""
    for cpu in (70000, 0x7fffffff, 0xfffffffe):
        got = owners(write(os.path.join(work, 'cpu.data'), stays(TICK, cpu=cpu)))
        check([w.get('local') for w in got] == [100 if i % 2 == 0 else 200 for i in range(40)], 'CPU %u' % cpu, got[:2])


def test_hole(work):
    """LOST ends stays of its own CPU (W8)."""
    first, second = stays(TICK), stays(TICK, cpu=1)
    first[1] = v2((0, N1, PMU, ()), (1, N1, PMU, ()))
    lost = record(2, struct.pack('<QQ', 42, 7) + sample_id(0, 0, 20800 * TICK, 1))
    at_lost = 6 + 2 * 20  # after the IN of the twentieth stay
    path = write(os.path.join(work, 'hole.data'), first + second[4:at_lost] + [lost] + second[at_lost:])
    out = run('script', '--json', '--itrace=M', '-i', path)[1]
    got = {0: [], 1: []}
    for e in map(json.loads, out.splitlines()):
        got[e['aux_cpu']].append(e['who'].get('local', e['who'].get('reason')))
    want = [100 if i % 2 == 0 else 200 for i in range(40)]
    check(got[0] == want, 'a hole on another CPU ends nothing', got[0])
    check('lost' in got[1] and got[1].count('lost') == 1 and all(g in (w, 'lost') for g, w in zip(got[1], want)), 'on its own no answer is across it', got[1])


def main():
    with tempfile.TemporaryDirectory() as work:
        test_clock(work)
        test_ids(work)
        test_cpus(work)
        test_hole(work)
    done()


main()
