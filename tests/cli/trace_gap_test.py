#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: trace_gap_test.py CLEW: atoms that come while no address is known are a gap in every output, and the branch in front of
them has no target: it did not go to the next address. By one thread and by several. TAP."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from cs_snapshot import SYNC, address, address_context, write_raw_snapshot
from tap import check, done

clew = os.path.abspath(sys.argv[1])
E = b'\xf7'
EVENT = b'\x75'  # two bits of four
AT_TARGET = 0x40  # E1:E0 = 10: the exception's return address is where the branch before it went
BR = bytes.fromhex('00001fd6')  # to x0
NOP = bytes.fromhex('1f2003d5')
CODE = (BR + NOP * 63) * 2  # at 0x10000 and 0x10100
BEGIN = ['10 EVENT no_sync [init-decoder]', '10 EVENT trace_on [begin or filter]', '10 EVENT context el=1 sec=N ctxid=- vmid=- 64']
END = '10 EVENT eo_trace [end-of-trace]'
DROPPED = '10 EVENT atoms_dropped %d; no address'
RAN = '10 %x %x A64 1 N - -'


def run(*args):
    p = subprocess.run((clew,) + args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return p.stdout.decode(), p.stderr.decode()


def ran(at):
    return RAN % (at, at + 4)


def exception(kind, flags, at):
    return bytes([0x06, kind << 1 | flags]) + address(at)


def check_ranges(name, trace, want, begin=None):
    """@want: the lines between the beginning and the end."""
    with tempfile.TemporaryDirectory() as top:
        write_raw_snapshot(top, trace, CODE)
        got = run('trace', '-i', top, '--ranges')[0].splitlines()
    check(got == (begin or BEGIN) + want + [END], name, got)


def branches(text):
    """(from, to) of the lines of `clew script --itrace=b`."""
    return [(int(m[1], 16), int(m[2], 16)) for m in re.finditer(r'branches: +([0-9a-f]+) .* => +([0-9a-f]+) ', text)]


def check_outputs(top):
    """Once dropped, between 10000 and 10100; then 10100 to itself."""
    got = run('trace', '-i', top, '--ranges', '--json')[0].splitlines()
    check('{"id":"0x10","event":"atoms_dropped","details":"1; no address"}' in got, '--ranges --json has the gap', got)
    got = run('trace', '-i', top, '--ranges', '--events=atoms_dropped')[0].splitlines()
    check(got == [ran(0x10000), DROPPED % 1, ran(0x10100), ran(0x10100)], '--events=atoms_dropped', got)
    got = run('trace', '-i', top)[0]
    check('  1 branch not followed: no address was known\n' in got, 'the summary has it', got)
    got = run('trace', '-i', top, '--json')[0]
    check('"unreadable":0,"atoms_dropped":1,' in got, 'and that of --json', got)
    got = run('trace', '-i', top, '--edges')[0].splitlines()
    check(got == ['10000 - 1 1', '10100 - 1 1', '10100 10100 1 1'], '--edges: the branch has no target', got)
    got = run('trace', '-i', top, '--edges', '--json')[0].splitlines()
    check(len(got) == 3 and json.loads(got[0])['from'] == '0x10000' and 'to' not in json.loads(got[0]), '--edges --json: nor there', got)


def check_events(top):
    got, err = run('script', '-i', top, '--itrace=be')
    check(branches(got) == [(0, 0x10000), (0x10000, 0), (0, 0x10100), (0x10100, 0x10100)], 'script --itrace=b: to nowhere, and on from nowhere', got)
    check(got.count('Lost trace data: branches came before an address') == 1, 'and --itrace=e says why', got)
    check('1 branch was not followed' in err, 'and how many', err)
    got, err = run('report', '-i', top, '--itrace=b', '-s', 'symbol_from,symbol_to')
    check('1 branch was not followed' in err and '1 place of the trace' in err, 'report: how many', err)


def check_inject(top):
    out = os.path.join(top, 'out')
    err = run('inject', '-i', top, '--format=bolt', '-o', out)[1]
    check('1 branch was not followed' in err, 'inject: how many', err)
    with open(out, encoding='ascii') as f:
        got = [line.split()[1:3] for line in f if line.startswith('B ')]
    check(got == [['10000', 'X:0'], ['10100', '10100'], ['10100', 'X:0']], 'inject --format=bolt: to X:0', got)


def check_gap():
    trace = SYNC + address_context(0x10000) + E + E + address(0x10100)
    check(len(trace) == 29, '29 bytes')
    check_ranges('BR, E, E and an address', trace, [ran(0x10000), DROPPED % 1])
    trace += E + address(0x10100) + E
    want = [ran(0x10000), DROPPED % 1, ran(0x10100), ran(0x10100)]
    check_ranges('and what ran there', trace, want)
    with tempfile.TemporaryDirectory() as top:
        write_raw_snapshot(top, trace, CODE)
        check_outputs(top)
        check_events(top)
        check_inject(top)


def check_places():
    begin = SYNC + address_context(0x10000)
    check_ranges('at the end of the trace', begin + E * 4, [ran(0x10000), DROPPED % 3])
    check_ranges('before what has no effect', begin + E * 3 + EVENT + E + address(0x10100) + E,
                 [ran(0x10000), DROPPED % 2, '10 EVENT event Numbered:0;', '10 EVENT event Numbered:2;', DROPPED % 1, ran(0x10100)])
    check_ranges('in front of an exception', begin + E * 2 + exception(0xe, 1, 0x10100),
                 [ran(0x10000), DROPPED % 1, '10 EVENT exception pref ret addr:0x10100; excep num (0x0e)'])
    check_ranges('after an exception', begin + E + exception(0xe, AT_TARGET, 0x10100) + E + address(0x10100) + E,
                 [ran(0x10000), '10 EVENT exception pref ret addr:0x10100 [addr also prev br tgt]; excep num (0x0e)', DROPPED % 1, ran(0x10100)])
    check_ranges('in front of lost trace', begin + E * 2 + b'\x00\x05', [ran(0x10000), DROPPED % 1, '10 EVENT no_sync [overflow]'])
    check_ranges('in front of a synchronisation', begin + E * 2 + SYNC[:-1] + address_context(0x10100) + E,
                 [ran(0x10000), DROPPED % 1, BEGIN[2], ran(0x10100)])
    check_ranges('before the first address', SYNC + E * 5 + address_context(0x10000) + E, [DROPPED % 5, BEGIN[2], ran(0x10000)], BEGIN[:2])


def check_missing_code():
    """What is dropped after missing code is reported as well, but is not a second error."""
    nacc = '10 EVENT addr_nacc 0x20000; Memspace [0x2:EL1N]'
    trace = SYNC + address_context(0x20000) + E * 3 + address(0x10000) + E
    check_ranges('after missing code', trace, [nacc, DROPPED % 2, ran(0x10000)])
    with tempfile.TemporaryDirectory() as top:
        write_raw_snapshot(top, trace, CODE)
        got = run('script', '-i', top, '--itrace=be')[0]
        check(got.count('error') == 1 and 'Failed to get instruction' in got, 'one error', got)
        got = run('trace', '-i', top)[0]
        check('  code missing 1 time\n  2 branches not followed: no address was known\n' in got, 'and two lines of the summary', got)
    check_ranges('twice, and an exception: both times it was asked for', SYNC + address_context(0x20000) + E + address(0x20000) + E +
                 exception(0xe, AT_TARGET, 0x20000), [nacc, nacc, '10 EVENT exception pref ret addr:0x20000 [addr also prev br tgt]; excep num (0x0e)'])


def check_threads():
    """Gaps at every place of the parts that threads are given."""
    blocks = [SYNC + address_context(0x10000) + E * (2 + n % 3) + (address(0x10100) + E) * (n % 5) for n in range(6000)]
    blocks = [b if n % 4 else b.replace(SYNC, SYNC[:-1]) for n, b in enumerate(blocks)]
    with tempfile.TemporaryDirectory() as top:
        write_raw_snapshot(top, b''.join(blocks), CODE)
        for mode in '--ranges', '--edges', '--json':
            one = run('trace', '-i', top, mode, '--threads=1')[0]
            for n in '2', '4':
                got = run('trace', '-i', top, mode, '--threads=' + n)[0]
                check(got == one and one, '%s: %s threads say the same as one' % (mode, n))
        one = run('trace', '-i', top, '--ranges', '--events=atoms_dropped')[0].splitlines()
        nr = sum(int(line.split()[3].rstrip(';')) for line in one if ' EVENT ' in line)
        check(nr == sum(1 + n % 3 for n in range(6000)), 'each atom that was dropped is reported once', nr)
        edges = run('trace', '-i', top, '--edges')[0].splitlines()
        check('10000 - 6000 1' in edges and not [e for e in edges if e.startswith('10000 1')], 'and no branch has a target that it did not have', edges)


check_gap()
check_places()
check_missing_code()
check_threads()
done()
