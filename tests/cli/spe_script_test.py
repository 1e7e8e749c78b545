#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_script_test.py CLEW: Arm SPE in recordings, made here and from ../shared/data: events, threads, metadata, what is lost. TAP."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from spe_lib import COMM, N1, NONE, PMU, TIME_CONV, address, at, aux, branch, chunk, count, info, load, record, recording, sample_id, v2  # noqa: E402
from tap import check, done, skip  # noqa: E402

clew = os.path.abspath(sys.argv[1])
data = os.environ.get('CLEW_TEST_DATA') or os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../../shared/data')
work = tempfile.mkdtemp()


def run(*args):
    p = subprocess.run((clew,) + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def script(name, *args):
    status, out, err = run('script', '-i', name, *args)
    check(status == 0, '%s is read' % name, err)
    return out


def events(name, itrace):
    return [e for e in map(json.loads, script(name, '--json', '--itrace=' + itrace).splitlines()) if 'op' in e]


def write(name, records, **more):
    with open(os.path.join(work, name), 'wb') as f:
        f.write(recording(records, **more))
    return name


all_of = [('f', 0x8, 'l1d-miss'), ('f', 0x4, 'l1d-access'), ('m', 0x200, 'llc-miss'), ('m', 0x100, 'llc-access'),
          ('t', 0x20, 'tlb-miss'), ('t', 0x10, 'tlb-access'), ('a', 0x400, 'remote-access')]


def simple(name, trace, metadata=None, head=b'', **more):
    return write(name, [record(79, TIME_CONV), metadata or v2((0, N1, PMU, ())), head, COMM, aux(trace), chunk(0, len(trace), 10000)], **more)


def test_letters():
    trace = load(0x1000, 100, sum(bits for _, bits, _ in all_of) | 2, source=9) + branch(0x2000, 0x3000, 200)
    simple('letters.data', trace)
    names = [e['event'] for e in events('letters.data', 'fmtbaMi1i')]
    check(names == [n for _, _, n in all_of[:6]] + ['remote-access', 'memory', 'instructions', 'branch', 'instructions'],
          'one record makes all its events, in order', names)
    out = script('letters.data', '-F', 'event')
    check([w.strip(' :') for w in out.split()] == [n + ':' for n in names] or [w.strip(':') for w in out.split()] == names,
          'so they are by default', out)
    for letter, bits, name in all_of:
        got = [e['event'] for e in events('letters.data', letter)]
        check(got == [n for l, _, n in all_of if l == letter], '%s: %s' % (letter, name), got)
    for letter in 'bcr':
        check([e['event'] for e in events('letters.data', letter)] == ['branch'], '%s: branch' % letter)
    periods = simple('period.data', b''.join(load(0x1000 + 4 * i, 100 + i) for i in range(10)))
    got = [int(e['ip'], 16) for e in events(periods, 'Mi4i')]
    check(got == [0x100c, 0x100c, 0x101c, 0x101c], 'every fourth record', got)


def test_fields():
    simple('fields.data', load(0x1000, 100, va=0xff00007f12345678, source=0x0b, more=b'\xb3' + struct.pack('<Q', 0x80123456 | 1 << 63)))
    out = script('fields.data', '--itrace=M', '-F', 'event,ip,addr,phys_addr,weight,data_src').split()
    want = ['memory:', '7f12345678', '688200842', '|OP', 'LOAD|LVL', 'L3', 'hit|SNP', 'Hit|TLB', 'Walker', 'hit|LCK', 'No|BLK', 'N/A',
            '12', '1000', '80123456']
    check(out == want, 'addresses, weight and data source', out)
    got = events('fields.data', 'M')[0]
    op = got['op']
    check((got['aux_offset'], got['aux_cpu'], op['issue'], op['total'], op['xlat'], op['tag'], op['source_name'], op['events_bits']) ==
          (0, 0, 4, 12, 1, 0xff, 'system cache', 32), 'JSON has what perf does not keep', got)
    simple('absent.data', address(0, 0x1000) + b'\x49\0' + at(100))
    op = events('absent.data', 'M')[0]['op']
    check(not {'va', 'pa', 'total', 'issue', 'xlat', 'source', 'events', 'context_el1', 'target'} & set(op), 'absent is not zero', op)


def test_branches():
    rows = [(0, 2, 'jmp'), (1, 2, 'jcc'), (1, 0x82, 'jcc/miss/'), (1, 0x42, 'jcc/not_taken/'), (1, 0xc2, 'jcc/miss,not_taken/'), (2, 2, 'jmp'),
            (8, 2, 'call'), (9, 2, 'bco'), (16, 2, 'return'), (17, 2, 'bro'), (24, 2, 'jmp'), (26, 2, 'jmp'), (1, 0x10002, 'jcc                ()'), (1, 0x10042, 'jcc/not_taken/                  ()'),
            (1, 0x100c2, 'jcc/miss,not_taken/ ()')]
    simple('branches.data', b''.join(branch(0x1000, 0x2000, 100 + i, op, bits) for i, (op, bits, _) in enumerate(rows)))
    got = [l.strip() for l in script('branches.data', '--itrace=b', '-F', 'flags').splitlines()]
    check(got == [text for _, _, text in rows], 'flags', got)
    simple('stack.data', branch(0x40000c, 0x50000c, 100, 1, 0x82, before=0x400000) + branch(0x400010, 0x400014, 101, 1, 0x42))
    got = [l.split() for l in script('stack.data', '--itrace=bl2', '-F', 'brstack').splitlines()]
    check(got == [['0x40000c/0x50000c/M/-/-/13/COND/-', '0x0/0x400000/-/-/-/0//-'], ['0x400010/0x400014/PN/-/-/13/COND/-']], 'branch stacks', got)
    rows = [(0, ''), (1, 'COND'), (2, 'IND'), (8, 'CALL'), (9, 'COND_CALL'), (10, 'CALL'), (16, 'RET'), (17, 'COND_RET'), (24, 'UNCOND'), (25, 'COND'), (26, 'IND')]
    simple('types.data', b''.join(branch(0x1000, 0x2000, 100 + i, op) for i, (op, _) in enumerate(rows)))
    got = [l.split()[0].split('/')[6] for l in script('types.data', '--itrace=bl1', '-F', 'brstack').splitlines()]
    check(got == [name for _, name in rows], 'types of branches', got)
    got = [len(l.split()) for l in script('stack.data', '--itrace=bl1', '-F', 'brstack').splitlines()]
    check(got == [1, 1], 'l1: one entry each', got)


def test_metadata():
    trace = load(0x1000, 100, source=0x0e)
    rows = [('v1', info(PMU, 1), None), ('v2', v2((0, N1, PMU, ())), 'DRAM'), ('longer blocks', v2((1, N1, PMU, (7, 8)), (0, N1, PMU, (7, 8, 9))), 'DRAM'),
            ('another core', v2((0, 0x410fd030, PMU, ())), None), ('AmpereOne', v2((0, 0xc00fac40, PMU, ())), None),
            ('a CPU without SPE', v2((0, N1, (1 << 64) - 1, ())), None), ('an unknown version', info(7, 4, PMU, 0), None)]
    for name, metadata, want in rows:
        file = simple('meta.data', trace, metadata)
        got = events(file, 'M')
        check(len(got) == 1 and got[0]['op'].get('source') == 14 and got[0]['op'].get('source_name') == want, name, got)
        out = run('trace', '-i', file)[1]
        check(('data sources have no names: ' in out) == (want is None and name != 'AmpereOne'), '%s: clew trace says why a source has no name' % name, out)
        unit = json.loads(run('trace', '--json', '-i', file)[1].splitlines()[0])
        check(('unnamed_sources' in unit) == (want is None and name != 'AmpereOne'), '%s: in JSON, too' % name, unit)
    simple('newer.data', trace, info(7, 4, PMU, 0))
    check('newer perf' in run('trace', '-i', 'newer.data')[2], 'an unknown version is reported')
    write('short.data', [record(79, TIME_CONV), info(2, 4, PMU, 3, 0x1010101010101010), COMM, aux(trace), chunk(0, len(trace), 10000)])
    check(run('script', '-i', 'short.data')[0] >= 0, 'blocks beyond the end')
    for name, other, want in (('like', N1, 'DRAM'), ('different', 0x410fd030, None)):
        write('thread.data', [record(79, TIME_CONV), v2((0, N1, PMU, ()), (1, other, PMU, ())), COMM, aux(trace, cpu=NONE, tid=100),
                              chunk(0, len(trace), 10000)])
        got = events('thread.data', 'M')
        check(len(got) == 1 and got[0]['op'].get('source_name') == want and got[0]['tid'] == 100 and 'aux_cpu' not in got[0],
              'the buffer of a thread, on %s cores' % name, got)


def test_lost():
    trace = b''.join(load(0x1000 + 4 * i, 100 + i) for i in range(30))
    size = len(trace) // 30
    write('uncovered.data', [record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, aux(trace[:7 * size + 8]), aux(trace[7 * size + 8:], 7 * size + 8),
                             chunk(size, 2 * size, 10000), chunk(10 * size, 5 * size, 20000)])
    got = [e['aux_offset'] for e in events('uncovered.data', 'M')]
    check(sorted(got) == [i * size for i in range(30)], 'bytes that no AUX record describes', got)
    write('snapshot.data', [record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, aux(trace), chunk(64, 128, 10000, flags=2)])
    check(len(events('snapshot.data', 'M')) == 30, 'a snapshot: all of the buffer')
    first, second = trace[:5 * size - 9], trace[5 * size:]  # of the first range the last record is cut, and the second one begins with a record
    write('partial.data', [record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, aux(first + second), chunk(0, len(first), 10000, flags=5),
                           chunk(len(first), len(second), 20000)])
    got = [e['aux_offset'] for e in events('partial.data', 'M')]
    check(got == [i * size for i in range(4)] + [len(first) + i * size for i in range(25)], 'PARTIAL costs the last record of its range', got)
    simple('cut.data', trace[:-5])
    check(len(events('cut.data', 'M')) == 29, 'a cut record makes no event')
    for name, clock in (('none', b''), ('mult 0', record(79, struct.pack('<QQQQQBB6x', 0, 0, 0, 0, 0, 1, 0))),
                        ('shift 64', record(79, struct.pack('<QQQQQBB6x', 64, 1, 0, 0, 0, 1, 0)))):
        write('clock.data', [clock, v2((0, N1, PMU, ())), COMM, aux(trace), chunk(0, len(trace), 10000)])
        got = events('clock.data', 'M')
        check(len(got) == 30 and all('time' not in e for e in got), 'TIME_CONV: %s' % name, got)
    simple('zero.data', bytes(1 << 16))
    check(events('zero.data', 'M') == [], 'padding alone')


def test_padded():
    """Of a Neoverse N1: padding also stands between packets."""
    first = bytes.fromhex('b0d0c2a1ed66baffc0000000000065805f00004900521600990400980c00b2286b0903370eff009a010000000000000000000043000000 71')
    second = bytes.fromhex('b0e0b0efed66baffc00000000000650e0000004a01524200991000981100b1e4b0efed66baffc00000000000000000000000000000000071')
    simple('padded.data', b''.join((second if i & 1 else first) + struct.pack('<Q', 1000 + i) for i in range(9)))
    got = [(e['op']['kind'], e['op']['total'], e['op']['context_el2'], e['aux_offset']) for e in events('padded.data', 'i1i')]
    check(got == [('branch', 17, 14, 64 * i) if i & 1 else ('load', 12, 0x5f80, 64 * i) for i in range(9)], 'records with padding inside', got)


def test_commands():
    trace = branch(0x1000, 0x2000, 100) + branch(0x2010, 0x3000, 110, before=0x2000) + branch(0x3008, 0x300c, 120, bits=0x42, before=0x3000) + \
        branch(0x4000, 0x5000, 130, bits=0)
    mmap = record(1, struct.pack('<IIQQQ', 100, 100, 0x1000, 0x8000, 0) + b'/nowhere/prog'.ljust(16, b'\0') + sample_id(100, 100, 2))
    simple('inject.data', trace, head=mmap)
    status, out, err = run('inject', '-i', 'inject.data')
    check(status == 0 and '0-1000' not in out and out.count('->') == 2, 'inject: two branches were taken, one was squashed', [out, err])
    status, out, err = run('inject', '-i', 'inject.data', '--format=bolt')
    check(status == 0, 'inject for BOLT', [out, err])
    for args in (('trace',), ('trace', '--json'), ('trace', '--ranges'), ('trace', '--edges'), ('dump',), ('dump', '--stat'), ('report', '--stdio'), ('evlist',)):
        status, out, err = run(*args, '-i', 'inject.data')
        check(status in (0, 1), ' '.join(args), err)
    for option, want in (('--mem', 'no sample says where its data came from'), ('--branch', '')):
        err = run('report', option, '-i', 'inject.data')[2]
        check(want in err and 'holds no samples' not in err, 'report %s: what is missing' % option, err)
    out = run('report', '--stdio', '-i', 'inject.data')[1]
    check("of event 'branch'" in out and "of event 'instructions'" in out and "of event 'tlb-miss'" not in out, 'report', out)


def test_levels():
    # The level says what ran, not the address.
    simple('levels.data', load(0x1000, 100, level=0) + load(0x2000, 110, level=1) + load(0x3000, 130, level=3))
    got = [l.split()[0] for l in script('levels.data', '--itrace=M', '-F', 'misc').splitlines()]
    check(got == ['U', 'K', 'H'], 'cpumode by level', got)
    # A kernel at EL2 proves that EL1 is a guest's.
    simple('vhe.data', load(0x1000, 100, level=0) + load(0xffff000008150000, 110, level=1) + load(0xffff000008150000, 120, level=2))
    got = [l.split()[0] for l in script('vhe.data', '--itrace=M', '-F', 'misc').splitlines()]
    check(got == ['U', 'G', 'H'], 'cpumode by level, with a kernel at EL2', got)


packet_line = re.compile(r'\.  [0-9a-f]{8}:')


def test_dump():
    """Packets as perf prints them; the same in `clew dump`, however they are cut."""
    path = os.path.join(data, 'spe/spe-synth.data')
    if not os.path.exists(path):
        skip('spe-synth', 'no ' + path)
        return
    texts = [json.loads(l)['text'] for l in run('dump', '--json', '-i', path)[1].splitlines()]
    lines = [l for l in run('script', '-D', '-i', path)[1].splitlines() if packet_line.match(l)]
    check(len(texts) == 26 and [l.split('  ')[-1].split(None, 0)[0].endswith(t) for l, t in zip(lines, texts)] == [True] * 26,
          'dump and script -D', [texts, lines])
    if shutil.which('perf'):
        out = subprocess.run(('perf', 'script', '-D', '-i', path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
        want = [l for l in out.splitlines() if packet_line.match(l)]
        check(lines == [l.replace('ADDR 0x8000000030201000 (4)', 'PBT 0x30201000 el0 ns=1') for l in want] or not want, 'as perf script -D', want)
    simple('core.data', address(0, 0x1000) + b'\x52\x02\x10' + at(100))
    out = run('script', '-D', '-i', 'core.data')[1]
    check('EV RETIRED LATE-PREFETCH\n' in out, "a core's own events", out)
    # A header of two bytes that is none, an alignment of one byte, and a counter, each cut by the end of a piece.
    trace = bytes(7) + b'\x20\x55\x01' + bytes(5) + b'\x20\0' + bytes(6) + b'\x98\5\0' + bytes(6)
    want = []
    for cut in (32, 8, 16, 24):
        write('cut.data', [record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, aux(trace[:cut]), aux(trace[cut:], cut), chunk(0, 32, 10000)])
        got = [(p['offset'], p['bytes'], p['text']) for p in map(json.loads, run('dump', '--json', '-i', 'cut.data')[1].splitlines()) if p['bytes']]
        want = want or got
        check(got == want and [b for _, b, _ in got] == ['20', '55', '01', '20', '980500'], 'packets over two pieces: at %d' % cut, got)
    trace = b''.join(load(0x1000 + 4 * i, 100 + i) for i in range(30000))
    simple('long.data', trace)
    out = run('dump', '--json', '-i', 'long.data')[1].splitlines()
    check(len(out) >= 30000 * 8 and not [l for l in out if '"bad"' in l], 'packets over pieces', len(out))
    check('# cpu 0: SPE' in run('dump', '--stat', '-i', path)[1], 'counts')
    names = [json.loads(l)['packet'] for l in run('dump', '--json', '--kind=ev,data,I_TS', '-i', path)[1].splitlines()]
    check(names == ['EV', 'DATA-SOURCE', 'TS', 'EV', 'TS', 'EV', 'DATA-SOURCE'], '--kind', names)
    names = run('dump', '--stat', '--kind=OP-TYPE', '-i', path)[1].split()
    check(names[:7] == ['#', 'cpu', '0:', 'SPE', 'OP-TYPE', '3', '6'] and len(names) == 8, '--kind --stat', names)
    one = load(0x1000, 100)
    write('two.data', [record(79, TIME_CONV), v2((0, N1, PMU, ()), (1, N1, PMU, ())), COMM, aux(2 * one, cpu=0), aux(one, cpu=1),
                       chunk(0, len(one), 10000), chunk(0, len(one), 20000, cpu=1), chunk(len(one), len(one), 30000)])
    out = run('dump', '-i', 'two.data')[1].splitlines()
    heads = [l for l in out if l.startswith('#')]
    check(heads == ['# cpu 0: SPE', '# cpu 1: SPE', '# cpu 0: SPE'], 'each piece of trace has the CPU above it', heads)
    out = run('dump', '--stat', '-i', 'two.data')[1].splitlines()
    check([i for i, l in enumerate(out) if l.startswith('#')] == [0, len(out) // 2], '--stat: so has each table', out)


def test_shared():
    for name in ('sw-thread', 'sw-wide'):
        path = os.path.join(data, 'spe/%s.data' % name)
        if not os.path.exists(path):
            skip(name, 'no ' + path)
            continue
        got = [e['tid'] for e in events(path, 'M')]
        check(got == [100, 100, 200, 200], '%s: A, A, B, B' % name, got)


def test_truth():
    """Every record of the model once, and none with a thread that it is not of."""
    top = os.path.join(data, 'who-truth')
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        if not name.endswith('.truth.zst') or name.startswith('etm'):
            continue
        stem = name[:-len('.truth.zst')]
        with open(os.path.join(work, 'truth.data'), 'wb') as f:
            subprocess.run(('zstd', '-dcq', os.path.join(top, stem + '.data.zst')), stdout=f, check=True)
        truth = subprocess.run(('zstd', '-dcq', os.path.join(top, name)), stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
        rows = [l.split('\t') for l in truth if not l.startswith('#')]
        want = {(r[0], int(r[2])): r for r in rows}
        all_events = events('truth.data', 'i1i')
        check(sorted(e['aux_offset'] for e in all_events) == sorted(int(r[2]) for r in rows), '%s: %d records' % (stem, len(rows)), len(all_events))
        wrong = []
        for e in all_events:
            r = want.get((str(e.get('aux_cpu', rows[0][0])), e['aux_offset']))
            if r and e.get('tid') and r[8] == 'task' and str(e['tid']) not in (r[12], r[10]):
                wrong.append((r, e))
        check(not wrong, '%s: no wrong thread' % stem, wrong)


def test_repeats():
    """Lines that repeat are copied; with --max-events each is made."""
    begin, step = 99_999_999_990_000, 1000  # the seconds get a digit more on the way
    some = [load(0x1000, 0), load(0x1000, 0, bits=0x26), branch(0x2000, 0x3000, 0), branch(0x2000, 0x3000, 0, bits=0x82), load(0x1004, 0, va=0x6000)]
    trace = b''.join(some[i * i % 5][:-8] + struct.pack('<Q', begin + i * step) for i in range(60))
    records = [record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, aux(trace), chunk(0, len(trace), begin + 10 ** 9)]
    write('repeats.data', records)
    for more in ((), ('--ns',), ('-F', '+addr'), ('-F', '+who,+flags'), ('-F', '+data_src'), ('--reltime',), ('-F', 'event,ip'), ('--tid', '100'),
                 ('-S', 'none'), ('--itrace=i3i',), ('--itrace=iM',)):
        out = script('repeats.data', *more)
        check(out == script('repeats.data', '--max-events', '1000000', *more), 'repeated lines: ' + ' '.join(more), out[:500])
    check(len(script('repeats.data').splitlines()) > 100, 'there are repeated lines')


for test in (test_repeats, test_letters, test_fields, test_branches, test_metadata, test_lost, test_padded, test_commands, test_levels, test_dump, test_shared):
    test()
if shutil.which('zstd'):
    test_truth()
else:
    skip('who-truth', 'no zstd')
shutil.rmtree(work)
done()
