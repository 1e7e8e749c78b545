# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings for the tests of `clew export`, and what runs it. sys.argv[1] is the command.

They are made of a program compiled here: samples at each byte of a function with another inlined into it, callers, a level, stacks that are cut, and places
without a name."""
import os
import re
import subprocess
import sys
import tempfile

import tap
from cli import perf_make as pm

clew = os.path.abspath(sys.argv[1])
work = tempfile.mkdtemp()
ENV = dict(os.environ, PAGER="cat", LC_ALL="C.UTF-8", HOME=work, XDG_CACHE_HOME=work, GOCACHE=work + "/go", PPROF_TMPDIR=work)

SOURCE = """
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdul;
	return x ^ x >> 29;
}
__attribute__((noinline)) unsigned long hot(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += mix(i + n);
	return sink;
}
__attribute__((noinline)) unsigned long outer(unsigned long n)
{
	return hot(n) + 1;
}
int main(void)
{
	return (int)outer(3);
}
"""
BASE, UNDEFINED_MARK, CONTEXT_KERNEL = 0x400000, 2**64 - 4000, 2**64 - 128


def run(*args, **more):
    more = more if "input" in more else {"stdin": subprocess.DEVNULL, **more}
    return subprocess.run(args, capture_output=True, check=False, env=ENV, cwd=work, **more)


def export(data, to, *options):
    return run(clew, "export", "--to", to, "-i", data, *options)


def compiled(name, source, *options):
    path = os.path.join(work, name)
    with open(path + ".c", "w", encoding="ascii") as f:
        f.write(source)
    p = run("cc", "-O2", "-g", "-no-pie", "-Wl,--build-id=sha1", "-o", path, path + ".c", *options)
    if p.returncode:
        tap.skip_all("no compiler: " + p.stderr.decode()[:200])
    return path


def symbols(path):
    """Name -> (file offset, size)."""
    out = run("readelf", "-W", "-l", "-s", path).stdout.decode()
    offset, address = next((int(a, 16), int(b, 16)) for a, b in re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) .*R E ", out))
    rows = re.findall(r": ([0-9a-f]{16}) +(\d+) FUNC .* (\S+)\n", out)
    return {name: (int(at, 16) - address + offset, int(size)) for at, size, name in rows}


def branches_in(path, function):
    """Offset in the function, what is there, and the name of where it goes, of each branch in it, by objdump; without that: none."""
    try:
        out = run("objdump", "-d", "--no-show-raw-insn", "--disassemble=" + function, path).stdout.decode()
    except FileNotFoundError:
        return []
    rows = re.findall(r"^ +([0-9a-f]+):\t(\S+)(?:.*<([^+>]+))?", out, re.M)
    return [(int(a, 16) - int(rows[0][0], 16), op, to) for a, op, to in rows if re.match(r"j|call|bl?$|b\.|cb|tb|ret", op)]


program = compiled("app", SOURCE)
at = symbols(program)
KERNEL_AT = 0xFFFFFFFF81000000


def recording(name, events, records):
    path = os.path.join(work, name)
    with open(path, "wb") as f:
        f.write(pm.perf_data(events, b"".join(records), {12: pm.event_desc(events, [b"cpu-clock", b"page-faults"])}))
    return path


def place(function, more=0):
    return BASE + at[function][0] + more


def program_records(e, pid=7, name=b"app", path=None):
    return [pm.comm(e, pid, name), pm.mmap2(e, pid, BASE, 0x100000, (path or program).encode())]


def chain(*places):
    return (pm.CONTEXT_USER, *places)


TYPE = pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CALLCHAIN


def main_samples(e):
    """Of each byte of hot(), called by outer(), called by main(); in the kernel; cut; without a symbol; without a mapping."""
    back = (place("outer", 9), place("main", 9))
    for i in range(at["hot"][1]):
        yield e.sample(place("hot", i), chain=chain(place("hot", i), *back), time=1000 + i, pid=7 + (i % 3 == 0))
    yield e.sample(KERNEL_AT + 4, misc=pm.KERNEL, chain=(CONTEXT_KERNEL, KERNEL_AT + 4, *chain(place("hot", 1), *back)), time=2000)
    yield e.sample(place("hot", 2), chain=(*chain(place("hot", 2)), UNDEFINED_MARK, place("main")), time=2001)
    yield e.sample(BASE + 0xff123, chain=chain(BASE + 0xff123), time=2002)
    yield e.sample(0x10, chain=chain(0x10), time=2003)


cycles = pm.Event(TYPE, ident=1, kind=pm.SOFTWARE, config=0)
faults = pm.Event(TYPE, ident=2, kind=pm.SOFTWARE, config=2)
threads = [*program_records(cycles), *program_records(cycles, 8, b"other"), pm.ksymbol(cycles, KERNEL_AT, b"in_kernel")]
one = recording("one.data", [cycles], [*threads, *main_samples(cycles)])
two = recording("two.data", [cycles, faults], [*threads, *main_samples(cycles), *list(main_samples(faults))[:5]])

# Names that no consumer expects.
EVIL = b'a;b\nc\x01"</script>\\\xff\xe2\x80\xae(x) 1'
LONG = "long_" + "x" * (1 << 20)
OUTER = "__attribute__((noinline)) unsigned long outer"
long_program = compiled("long", SOURCE.replace(OUTER, f'unsigned long outer(unsigned long n) __asm__("{LONG}");\n{OUTER}'))
long_at = symbols(long_program).get(LONG)  # assemblers may refuse it
evil = [*program_records(cycles, 7, EVIL), pm.ksymbol(cycles, KERNEL_AT, EVIL), pm.mmap2(cycles, 7, 0x900000, 0x1000, EVIL),
        cycles.sample(KERNEL_AT + 1, misc=pm.KERNEL, chain=(CONTEXT_KERNEL, KERNEL_AT + 1, *chain(0x900010, place("main", 1))), time=5),
        *program_records(cycles, 9, b"(odd", long_program)]
if long_at:
    evil += [cycles.sample(BASE + long_at[0], pid=9, chain=chain(BASE + long_at[0]), time=6)]
evil = recording("evil.data", [cycles], evil)
NR_EVIL = 1 + bool(long_at)


# --- protocol buffers ---


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def message(data):
    """Field -> values: numbers, or bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def packed(data):
    values, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values
