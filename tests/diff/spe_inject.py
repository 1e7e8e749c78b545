#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: spe_inject.py CLEW: profiles and hits of lines from Arm SPE: a program that qemu-aarch64 runs instruction by instruction, its branches as records of SPE, and what
`clew inject` makes of them, counted here and read by BOLT and AutoFDO where they are installed. TAP."""
import collections
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../cli'))
from elf_lib import code_load  # noqa: E402
from spe_lib import COMM, N1, NONE, PMU, TIME_CONV, aux, branch, chunk, record, recording, sample_id, v2  # noqa: E402
from tap import check, done, skip, skip_all  # noqa: E402

clew = os.path.abspath(sys.argv[1])
SOURCE = '''
__attribute__((noinline)) int odd(int n)
{
	return n * 3 + 1;
}

__attribute__((noinline)) int walk(int n)
{
	int steps = 0;

	while (n != 1) {
		if (n & 1)
			n = odd(n);
		else
			n >>= 1;
		steps++;
	}
	return steps;
}

void _start(void)
{
	int sum = 0;

	for (int i = 2; i < 40; i++)
		sum += walk(i);
	register long x0 __asm__("x0") = sum & 63, x8 __asm__("x8") = 94;
	__asm__ volatile("svc 0" : : "r"(x0), "r"(x8));
	__builtin_unreachable();
}
'''
NR_SQUASHED = 40


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, check=False, **more)


def executed(elf, log):
    """Addresses of all instructions, in order; and the exit status."""
    status = run('qemu-aarch64', '-singlestep', '-d', 'exec,nochain', '-D', log, elf).returncode
    with open(log, encoding='utf-8') as f:
        return [int(m[1], 16) for m in re.finditer(r'^Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/', f.read(), re.M)], status


def code_of(elf):
    """{address: instruction}, and (address, offset, size) of what is mapped."""
    with open(elf, 'rb') as f:
        data = f.read()
    _, offset, address, length = code_load(data)
    return {address + i: struct.unpack_from('<I', data, offset + i)[0] for i in range(0, length & ~3, 4)}, (address, offset, length)


def payload_of(insn):
    """The operation packet's, or None: no branch."""
    if insn >> 26 == 5:
        return 0
    if insn >> 26 == 0x25:
        return 8  # call
    if insn & 0xfe000000 == 0x54000000 or insn & 0x7c000000 == 0x34000000:
        return 1  # B.cond, CBZ, TBZ
    if insn & 0xfffffc1f == 0xd65f0000:
        return 0x12  # return
    return None


def branches_of(pcs, code):
    """(PC, next, operation, is taken, target of the taken branch before) of each branch."""
    before = None
    for pc, to in zip(pcs, pcs[1:]):
        op = payload_of(code[pc])
        if op is None:
            continue
        yield pc, to, op, to != pc + 4, before
        before = to if to != pc + 4 else before


def make(path, elf, pcs, code, mapped, step=1):
    """A recording of each branch, or each step-th one, once; NR_SQUASHED of them also as executed only speculatively, and elsewhere. @return branches"""
    parts, at, nr, trace = [], 0, 0, b''
    for pc, to, op, is_taken, before in list(branches_of(pcs, code))[::step]:
        nr += 1
        trace += branch(pc, to, 1000 + nr, op, 2 if is_taken else 0x42, before)
        if nr <= NR_SQUASHED:
            trace += branch(pc, pc + 0x100, 1000 + nr, op, 0x80, before)
        if len(trace) > 60000:
            trace += bytes(-len(trace) % 8)
            parts += [aux(trace, at, NONE, 100), chunk(at, len(trace), 2000 + nr)]
            at, trace = at + len(trace), b''
    parts += [aux(trace, at, NONE, 100), chunk(at, len(trace), 2000 + nr)]
    name = elf.encode()
    mmap = record(1, struct.pack('<IIQQQ', 100, 100, mapped[0], mapped[2], mapped[1]) + name + bytes(8 - len(name) % 8) + sample_id(100, 100, 2), 2)
    with open(path, 'wb') as f:
        f.write(recording([record(79, TIME_CONV), v2((0, N1, PMU, ())), COMM, mmap] + parts))
    return nr


def expected(pcs, code):
    """BOLT's lines, counted from what ran: each branch was sampled once."""
    lines = collections.Counter()
    for pc, to, _, is_taken, before in branches_of(pcs, code):
        if is_taken:
            lines['B %x %x' % (pc, to)] += 1
        start = before if before is not None and before <= pc else None
        if is_taken and start is not None:
            lines['F %x %x' % (start, pc)] += 1
        elif not is_taken:
            lines['F %x %x' % (pc if start is None else start, pc + 4)] += 1
    return lines


def found(text):
    lines = collections.Counter()
    for kind, first, last, count in re.findall(r'^([BFf]) (\S+) (\S+) (\d+)', text, re.M):
        lines['%s %s %s' % (kind.upper(), first, last)] += int(count)
    return lines


def check_bolt(work, elf, status):
    bolt = sorted(glob.glob('/usr/lib/llvm-*/bin/perf2bolt'))
    if not bolt:
        skip('BOLT', 'no perf2bolt')
        return
    fdata, new = os.path.join(work, 'fdata'), os.path.join(work, 'new.elf')
    p = run(bolt[-1], elf, '-pa', '-p', os.path.join(work, 'bolt'), '-o', fdata)
    said = p.stdout + p.stderr
    check(p.returncode == 0 and os.path.getsize(fdata) and not re.search(r'traces involving unknown regions: [1-9]|mismatching.*: [1-9]', said),
          'perf2bolt takes it: %s' % re.findall(r'wrote \d+ objects', said), said)
    with open(fdata, encoding='utf-8') as f:
        edges = f.read()
    check(all(' %s ' % name in edges for name in ('walk', 'odd', '_start')), 'edges of all functions', edges)
    p = run(os.path.join(os.path.dirname(bolt[-1]), 'llvm-bolt'), elf, '-o', new, '--data=' + fdata, '--reorder-blocks=ext-tsp')
    check(p.returncode == 0 and run('qemu-aarch64', new).returncode == status, 'llvm-bolt rearranges the program, which does the same', p.stdout + p.stderr)


def check_autofdo(work, elf, nr_odd):
    if not shutil.which('create_llvm_prof'):
        skip('AutoFDO', 'no create_llvm_prof (apt-get install autofdo)')
        return
    prof = os.path.join(work, 'prof')
    p = run('create_llvm_prof', '--profiler=text', '--format=text', '--profile=' + os.path.join(work, 'autofdo'), '--binary=' + elf, '--out=' + prof)
    text = ''
    if os.path.exists(prof):
        with open(prof, encoding='utf-8') as f:
            text = f.read()
    check(p.returncode == 0 and re.search(r'^walk:\d+:\d+$', text, re.M), 'create_llvm_prof takes it', [p.stderr[-500:], text])
    check(re.search(r'^ \d+: \d+ odd:%d$' % nr_odd, text, re.M), 'with the calls that were made', text)
    if shutil.which('clang'):
        p = run('clang', '--target=aarch64-linux-gnu', '-O2', '-g', '-ffreestanding', '-fprofile-sample-use=' + prof, '-c', os.path.join(work, 'walk.c'),
                '-o', os.path.join(work, 'walk.o'))
        check(p.returncode == 0 and not p.stderr, 'clang uses it', p.stderr)


def check_lcov(data, pcs, code, step):
    """Of each conditional branch, what was sampled of it; a branch that is passed on the way to a sampled one is not sampled by that."""
    p = run(clew, 'export', '--to', 'lcov', '--samples', '-i', data)
    want = collections.defaultdict(lambda: [0, 0])
    for pc, _, op, is_taken, _ in list(branches_of(pcs, code))[::step]:
        if op == 1:
            want[pc][not is_taken] += 1
    got = [[int(n) for n in pair] for pair in re.findall(r'^BRDA:\d+,\d+,0,(\d+)\nBRDA:\d+,\d+,1,(\d+)$', p.stdout, re.M) if pair != ('0', '0')]
    check(sorted(got) == sorted(want.values()) and len(got) > 2, 'each conditional branch as often as it was sampled, taken and not', [p.stderr, got, want])
    p = run(clew, 'export', '--to', 'callgrind', '--instr', '-i', data)
    jumps = {(int(a, 16), int(n), int(of)) for n, of, a in re.findall(r'^jcnd=(\d+)/(\d+) 0x\S+ \d+\n(0x\S+) \d+$', p.stdout, re.M)}
    check(jumps and jumps <= {(pc, taken, taken + others) for pc, (taken, others) in want.items()}, 'and so are jumps of callgrind', [p.stderr, jumps, want])


def main():
    gcc = 'aarch64-linux-gnu-gcc'
    if not shutil.which(gcc) or not shutil.which('qemu-aarch64'):
        skip_all('no %s or qemu-aarch64' % gcc)
    with tempfile.TemporaryDirectory() as work:
        source, elf, data = (os.path.join(work, name) for name in ('walk.c', 'walk', 'perf.data'))
        with open(source, 'w', encoding='utf-8') as f:
            f.write(SOURCE)
        subprocess.run([gcc, '-gdwarf-4', '-O1', '-ffreestanding', '-nostdlib', '-static', '-fno-asynchronous-unwind-tables', '-Wl,--emit-relocs', source, '-o', elf],
                       check=True)
        pcs, status = executed(elf, os.path.join(work, 'log'))
        code, mapped = code_of(elf)
        nr = make(data, elf, pcs, code, mapped)
        for name in ('bolt', 'autofdo'):
            base = ['--autofdo-base=segment'] if name == 'autofdo' else []  # create_llvm_prof is 0.19
            p = run(clew, 'inject', '-i', data, '--format=' + name, *base, '-o', os.path.join(work, name))
            check(p.returncode == 0, '--format=%s of %d branches' % (name, nr), p.stderr)
        with open(os.path.join(work, 'bolt'), encoding='utf-8') as f:
            got, want = found(f.read()), expected(pcs, code)
        check(got == want, '%d branches and runs, each as often as it was sampled' % len(want), [(got - want), (want - got)])
        check_bolt(work, elf, status)
        p = run(clew, 'export', '--to', 'lcov', '-i', data)
        check(p.returncode == 1 and '--samples' in p.stderr, 'sampled operations are no coverage, but if that is asked for', p.stderr)
        for step in (1, 3):
            make(data, elf, pcs, code, mapped, step)
            check_lcov(data, pcs, code, step)
        calls = [pc for pc, _, op, _, _ in branches_of(pcs, code) if op == 8]
        check_autofdo(work, elf, max(collections.Counter(calls).values()))
    done()


main()
