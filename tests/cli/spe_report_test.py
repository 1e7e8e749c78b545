#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_report_test.py CLEW: reports of Arm SPE, by source line, by branch, in columns; AUX records that say what is missing; reserved counters. TAP."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from elf_lib import code_load  # noqa: E402
from spe_lib import COMM, N1, NONE, PMU, TIME_CONV, address, at, aux, branch, chunk, count, flags, load, record, recording, sample_id, switch, v2  # noqa: E402
from tap import check, done, skip  # noqa: E402

clew = os.path.abspath(sys.argv[1])
SOURCE = '''int table[64];
static inline int get(int i) { return table[i & 63]; }
int sum(int n)
{
	return get(n) + get(n + 1);
}
void fill(int n)
{
	table[n] = n;
}
void _start(void) { for (;;) fill(sum(1)); }
'''
LINES = {'sum': {2, 5, 6}, 'fill': {9, 10}}


def run(*args):
    p = subprocess.run((clew,) + args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def write(path, records):
    with open(path, 'wb') as f:
        f.write(recording([record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM] + records))
    return path


def of_thread(path, trace, head=b''):
    return write(path, [head, aux(trace, 0, NONE, 100), chunk(0, len(trace), 1 << 20)])


def build(work):
    """@return the program, {function: (address, size)}, and the record of its mapping"""
    source, elf = os.path.join(work, 'walk.c'), os.path.join(work, 'walk')
    with open(source, 'w', encoding='utf-8') as f:
        f.write(SOURCE)
    subprocess.run(['gcc', '-g', '-O1', '-ffreestanding', '-nostdlib', '-static', '-no-pie', '-fno-stack-protector', '-fcf-protection=none', source, '-o', elf], check=True)
    with open(elf, 'rb') as f:
        data = f.read()
    _, offset, address, length = code_load(data)
    name = elf.encode()
    mmap = record(1, struct.pack('<IIQQQ', 100, 100, address, length, offset) + name + bytes(8 - len(name) % 8) + sample_id(100, 100, 2), 2)
    text = subprocess.run(['nm', '-S', elf], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {m[3]: (int(m[1], 16), int(m[2], 16)) for m in re.finditer(r'^(\w+) (\w+) T (\w+)$', text, re.M)}, mmap


def test_functions(path, functions):
    """-S: tables of one function's operations, not only its rows."""
    for option, command in (('--mem', 'accesses'), ('--branch', 'branches')):
        for how in ('--symbols=fill', '--symbol-filter=fil'):
            out = run('report', option, how, '-i', path)[1]
            total = re.search(r'sampled: (\d+)', out)
            check(total and int(total[1]) == functions['fill'][1] and '[.] sum' not in out, f'report {option} {how}: {command} of that function alone', out)
        out, err = run('report', option, '--symbols=nosuch', '-i', path)[1:]
        check('no function or file of the recording has those names' in err and err.count('warning') == 1, f'report {option} -S: a name that is nowhere', [out, err])


def test_lines(work):
    if not shutil.which('gcc') or not shutil.which('nm'):
        skip('source lines', 'no gcc')
        return
    functions, mmap = build(work)
    places = [address + i for name in LINES for address, size in [functions[name]] for i in range(size)]
    path = of_thread(os.path.join(work, 'lines.data'), b''.join(load(pc, 100 + i) + branch(pc, pc, 100 + i) for i, pc in enumerate(places)), mmap)
    for option, command in (('--mem', 'memory'), ('--branch', 'branch')):
        status, out, err = run('report', option, '--json', '-i', path, '--sort', 'sym,srcline')
        rows = json.loads(out)['rows']
        got = {}
        for row in rows:
            got.setdefault(row['keys']['sym'].split()[-1], set()).add(row['keys']['srcline'])
        want = {name: {'walk.c:%d' % n for n in lines} for name, lines in LINES.items()}
        check(status == 0 and all(got[name] <= want[name] and len(got[name]) > 1 for name in LINES), 'report %s by source line' % option, [got, err])
        check(sum(row['count'] for row in rows) == len(places), 'each %s in one row' % command, rows)
    test_functions(path, functions)
    got = {l.split('/')[-1] for l in run('script', '-i', path, '--itrace=M', '-F', 'ip,srcline')[1].splitlines() if '.c:' in l}
    check('walk.c:9' in ' '.join(got), 'script -F srcline', got)
    first = json.loads(run('script', '-i', path, '--itrace=M', '--json', '--inline')[1].splitlines()[0])
    check(first.get('line') and first['file'].endswith('walk.c'), 'script --json --inline', first)


def test_columns(work):
    """Each title stands where its column begins."""
    trace = branch(0x1000, 0x2000, 100) + branch(0x123456789a, 0x2000, 110, bits=0x82) + load(0x1000, 120, source=0xe) + load(0x123456789a, 130, source=8)
    path = of_thread(os.path.join(work, 'columns.data'), trace)
    for option, first, titles in (('--branch', 'Address', ('Command', 'Symbol')), ('--mem', 'Command', ('Command', 'Symbol'))):
        out = run('report', option, '-i', path, '--sort', 'comm,sym')[1].splitlines()
        at = next(i for i, l in enumerate(out) if l.startswith('#') and all(t in l for t in titles))
        rows = [l for l in out[at + 2:at + 12] if 'prog' in l]
        check(len(rows) == 2 and all(l[out[at].index('Command'):].startswith('prog ') and l[out[at].index('Symbol'):].startswith('[') for l in rows),
              'report %s: columns' % option, out)
        check(not any(l != l.rstrip() for l in out), 'report %s: no blanks at the ends of lines' % option, out)
        check(first in out[at], 'report %s: titles' % option, out[at])
        cells = [l.split('|') for l in run('report', option, '-i', path, '--sort', 'comm,sym', '-t', '|')[1].splitlines() if '|' in l]
        check(len(cells) > 2 and any(c[-2] == 'prog' for c in cells) and all(c == c.strip() for l in cells for c in l), 'report %s -t: cells' % option, cells)
        status, _, err = run('report', option, '-i', path, '-w', '9')
        check(status == 2 and '-w does not apply' in err, 'report %s: -w is refused' % option, err)
        check(run('report', option, '-i', path, '-w', '0')[0] == 0, 'report %s: -w 0 asks for nothing else' % option)


def test_aux_flags(work):
    """AUX records with flags: totals and times per CPU."""
    traces = [load(0x1000 + i, 100 + i) for i in range(6)]
    of_chunks = [0, 1, 4, 8, 5, 13]  # TRUNCATED 1, PARTIAL 4, COLLISION 8
    records = []
    for i, trace in enumerate(traces):
        records.append(chunk(i * len(trace), len(trace), 1000000000 * (i + 1), flags=of_chunks[i]))
    path = write(os.path.join(work, 'flags.data'), [aux(b''.join(traces))] + records)
    out = run('report', '--stats', '-i', path)[1]
    check(re.search(r'^  cpu 0: 6 records, 3 truncated: .*, 3 partial: .*, 2 with collisions: .*; from 2\.000000000 to 6\.000000000$', out, re.M), 'report --stats: flags of AUX records', out)
    errors = [json.loads(l) for l in run('script', '--itrace=e', '--json', '-i', path)[1].splitlines()]
    check(len(errors) == 8 and all(e['cpu'] == 0 for e in errors), 'script --itrace=e: flags have the CPU', errors)
    path = write(os.path.join(work, 'none.data'), [aux(traces[0]), chunk(0, len(traces[0]), 1000)])
    out = run('report', '--stats', '-i', path)[1]
    check(re.search(r'^  cpu 0: 1 record$', out, re.M), 'report --stats: no flags', out)


def test_reserved(work):
    trace = load(0x1000, 100, more=b'\x9b' + struct.pack('<H', 77) + b'\x23\xb1' + struct.pack('<Q', 0x8000000000001234))
    trace = b''.join(trace[:-8] + struct.pack('<Q', 100 + i) for i in range(40))
    path = of_thread(os.path.join(work, 'reserved.data'), trace)
    got = [json.loads(l)['op'] for l in run('script', '--json', '--itrace=M', '-i', path)[1].splitlines()]
    check(len(got) == 40 and all(op.get('other_counters') == {'3': 77} and op.get('other_addresses') == {'25': '0x8000000000001234'} for op in got),
          'reserved counters and addresses, by number', got[:2])
    path = of_thread(os.path.join(work, 'plain.data'), load(0x1000, 100))
    got = json.loads(run('script', '--json', '--itrace=M', '-i', path)[1])['op']
    check('other_counters' not in got and 'other_addresses' not in got, 'where there are none, no member', got)


def between(pc, level, target, target_level, time, el1=None):
    """A branch between levels, with the contexts that a host at EL2 has."""
    return address(0, pc, level) + count(0, 13) + flags(2) + b'\x4a\x02' + address(1, target, target_level) + \
        (b'' if el1 is None else b'\x64' + struct.pack('<I', el1)) + b'\x65' + struct.pack('<I', 100) + at(time)


def test_worlds(work):
    """Both ends of a branch, each in its own world."""
    host, guest, user = 0xffff800080001000, 0xffff000000002000, 0x401000
    trace = between(host, 2, host, 2, 100) + between(guest, 1, host, 2, 110, 5) + between(user, 0, guest, 1, 120, 5) + between(user, 0, host, 2, 130)
    path = write(os.path.join(work, 'worlds.data'), [aux(trace), chunk(0, len(trace), 10000)])
    got = [(e['kind'], e['addr']['kind'], e['who'].get('machine', 'host').split()[0])
           for e in map(json.loads, run('script', '--json', '--itrace=b', '-i', path)[1].splitlines())]
    check(got == [('kernel', 'kernel', 'host'), ('guest-kernel', 'kernel', 'guest'), ('guest-kernel', 'guest-kernel', 'guest'), ('user', 'kernel', 'host')],
          'branches between a host at EL2 and its guest', got)


def test_returns(work):
    """Where an exception return of the host at EL2 leads in user code: its contexts are the host's, so its own code decides, on the thread of a virtual CPU."""
    kernel, user = 0xffff800080000000, 0x401000
    with open(os.path.join(work, 'kallsyms'), 'w', encoding='ascii') as f:
        f.write(''.join('%x T %s\n' % (kernel + at, name) for at, name in ((0, '_stext'), (0x1000, '__guest_enter'), (0x2000, 'ret_to_user'), (0x3000, '_etext'))))
    trace = between(kernel + 0x1010, 2, user, 0, 100) + between(kernel + 0x2010, 2, user, 0, 110) + between(0xffff900000000000, 2, user, 0, 120)
    maps = record(1, struct.pack('<IIQQQ', NONE, 0, kernel, 0x10000, kernel) + b'[kernel.kallsyms]_stext\0' + sample_id(0, 0, 0), 1) + \
        record(1, struct.pack('<IIQQQ', 100, 100, 0x400000, 0x8000, 0) + b'/nowhere/vmm'.ljust(16, b'\0') + sample_id(100, 100, 2), 2)
    initial = record(16, struct.pack('<IIQ', 2, 2, 7) + struct.pack('<QQ', 3, 0xeffffffc) * 7 + sample_id(2, 2, 0))
    for name, want in ((b'CPU 0/KVM', ['guest', '/nowhere/vmm', '']), (b'prog', ['guest', '/nowhere/vmm', '/nowhere/vmm'])):
        comm = record(3, struct.pack('<II', 100, 100) + name.ljust(16, b'\0') + sample_id(100, 100, 1))
        path = write(os.path.join(work, 'returns.data'), [initial, comm, maps, aux(trace), chunk(0, len(trace), 10000)])
        lines = run('script', '--json', '--itrace=b', '--kallsyms', os.path.join(work, 'kallsyms'), '-i', path)[1].splitlines()
        got = ['guest' if 'guest' in e['addr'].get('kind', '') else e['addr'].get('dso', '') for e in map(json.loads, lines)]
        check(got == want, 'returns from EL2 to user code, of a thread %s' % name.decode(), lines)


def test_keys(work):
    trace = branch(0x1000, 0x2000, 100) + branch(0x1004, 0x2000, 110, bits=0x82) + branch(0x1008, 0x2000, 120, bits=0x10002)
    path = of_thread(os.path.join(work, 'keys.data'), trace)
    for options in (('--branch',), ('--itrace=b',)):
        out = run('report', '-i', path, '--json', '--sort', 'mispredict,in_tx', *options)[1]
        rows = json.loads(out)
        rows = rows['rows'] if options[0] == '--branch' else rows['tables'][0]['rows']
        check(len(rows) == 3, 'report %s: branches by mispredict and in_tx' % options[0], out)
    trace = load(0x1000, 100, level=2, more=b'\x65' + struct.pack('<I', 77))
    path = write(os.path.join(work, 'root.data'), [aux(trace), chunk(0, len(trace), 10000)])
    check(':-1' in run('report', '-i', path, '--sort', 'comm')[1], 'a thread that only a root id is known of')
    status, out, err = run('report', '--mem', '-i', path)
    check(status == 0 and not err, 'report --mem: no notes on options that were not given', err)


def test_levels(work):
    """Each level and security state is a row, also where operations are counted together."""
    pcs = [b'\xb0' + struct.pack('<Q', 0x1000 | el << 61 | ns << 63 | nse << 60) for el in range(4) for ns in (0, 1) for nse in (0, 1)]
    trace = b''.join(pc + flags(0x16) + b'\x49\0' + at(100 + i) for i, pc in enumerate(3 * pcs))
    path = write(os.path.join(work, 'levels.data'), [aux(trace), chunk(0, len(trace), 1 << 20)])
    want = {'EL%d%s' % (el, s) for el in range(4) for s in ('', ' secure', ' root', ' realm')}
    for options in ('--itrace=i',), ('--mem',):
        tables = json.loads(run('report', '-i', path, '--json', '--sort', 'level', *options)[1])
        rows = tables['rows'] if '--mem' in options else tables['tables'][0]['rows']
        got = {(r.get('keys') or r)['level']: r.get('count') or r['values'][0]['samples'] for r in rows}
        check(got == dict.fromkeys(want, 3), 'report %s: rows by level and security state' % options[0], got)


def test_trace(work):
    path = of_thread(os.path.join(work, 'trace.data'), load(0x1000, 100))
    for option in '--ranges', '--digest', '--edges':
        status, out, err = run('trace', option, '-i', path)
        check(not out and 'Arm SPE samples operations' in err, 'trace %s: why there is nothing' % option, [status, out, err])
    check('1 record' in run('trace', '-i', path)[1], 'trace: the number of records')


def test_missing_files(work):
    path = of_thread(os.path.join(work, 'files.data'), load(0x1000, 100))
    for option in '--vmlinux', '--kallsyms', '--guestmount', '--guestkallsyms', '--guestmodules', '--guestvmlinux':
        status, _, err = run('script', '-i', path, option, '/no/file')
        check(status == 0 and err.count('%s=/no/file: it does not exist' % option) == 1, 'script %s: a file that does not exist' % option, [status, err])


def switched(path, nr, every):
    """Two threads in turn, each for @every records, within few AUX records; damage in some places. @return the path"""
    other = record(3, struct.pack('<II', 200, 200) + b'more\0\0\0\0' + sample_id(200, 200, 2))
    pieces = [load(0x400000 + 4 * (i % 7 * (i % 3)), 10000 + 10 * i, va=0x5000 + i % 5 * 64) for i in range(nr)]
    for i in range(nr // 2, nr, nr // 3):
        pieces[i] = pieces[i][:-5]
    trace, switches = b''.join(pieces), []
    for i in range(0, nr, every):
        run_by = (100, 200) if i // every % 2 else (200, 100)
        time = 10000 + 10 * i - 5
        switches += [switch(True, run_by[1], run_by[0], time), switch(False, run_by[0], run_by[1], time)]
    cuts = [0, len(trace) // 5, len(trace)]
    cuts[1] = sum(map(len, pieces[:nr // 5]))
    write(path, [other] + [aux(trace)] + switches + [chunk(a, b - a, 20000 + 10 * nr) for a, b in zip(cuts, cuts[1:])])
    return path


def sums_of(path, *options):
    """{(thread, address): number of operations} of a report"""
    out = json.loads(run('report', '--json', '-s', 'comm,sym', '-i', path, *options)[1])
    return out['tables']


def test_counted_once(work):
    """The report takes what its first pass counted, or reads again: as if each record counted alone."""
    for every in 17, 3000, 1 << 30:
        path = switched(os.path.join(work, 'switched.data'), 20000, every)
        both, one = sums_of(path), sums_of(path, '--single-threaded')
        each = sums_of(path, '--time', '0,1000')
        check(both == one == each and len(both[0]['rows']) >= (2 if every < 20000 else 1), 'switches after %d records: counted together as alone' % every,
              [both, one, each])


def test_taken_alone(work):
    """Only taken branches were recorded, without the one before each: a profile of branches."""
    trace = b''.join(branch(0x400008, 0x400004, 1000 + i) for i in range(5)) + branch(0x400014, 0x400020, 1010)
    name = b'/no/such/prog'
    mmap = record(1, struct.pack('<IIQQQ', 100, 100, 0x400000, 0x1000, 0) + name + bytes(8 - len(name) % 8) + sample_id(100, 100, 2), 2)
    path = os.path.join(work, 'taken.data')
    with open(path, 'wb') as f:
        f.write(recording([record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, mmap, aux(trace, 0, NONE, 100), chunk(0, len(trace), 2000)]))
    for args in (('export', '--to', 'bolt'), ('inject', '--format=bolt')):
        status, out, err = run(*args, '-i', path)
        check(status == 0 and out.splitlines() == ['B 8 4 5 0', 'B 14 20 1 0'] and 'counts are of 6 sampled branches' in err and
              'only taken branches were recorded' in err, 'taken branches alone: ' + args[0], [out, err])
    status, out, err = run('export', '--to', 'autofdo', '-i', path)
    check(out.splitlines()[:6] == ['0', '2', '8:5', '14:1', '2', '8->4:5'], 'and their addresses are samples', [out, err])
    status, out, err = run('report', '-b', '--json', '-i', path)
    got = {t['events'][0]['name']: t['events'][0]['samples'] for t in json.loads(out)['tables']} if status == 0 else {}
    check(got.get('branch') == 6, 'report -b counts each of them', [got, err])


def main():
    with tempfile.TemporaryDirectory() as work:
        test_lines(work)
        test_columns(work)
        test_aux_flags(work)
        test_reserved(work)
        test_worlds(work)
        test_returns(work)
        test_keys(work)
        test_levels(work)
        test_trace(work)
        test_missing_files(work)
        test_counted_once(work)
        test_taken_alone(work)
    done()


main()
