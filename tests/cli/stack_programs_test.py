#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""User stacks of Debian's programs as they are, without frame pointers: at least 99.5 % of the samples with a user part reach the
thread's outermost frame, and the others say why not. Programs that are not installed are skipped; of node, with code made while it
runs, the share is only printed.

Usage: stack_programs_test.py CLEW [NAME ...]     Environment: stack_lib.py; CLEW_TEST_BACKENDS (auto)"""
import glob
import os
import random
import shutil
import subprocess
import sys

from stack_lib import IS_FULL, LENGTH, LIVE, StackTap, may_use_bpf, share_of
import truth_tree

BAR = 99.5
SECONDS = max(1, round(1.5 * LENGTH))


def cc1():
    p = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True, check=False) if shutil.which("gcc") else None
    path = p.stdout.strip() if p else ""
    return path if os.path.isabs(path) else None


def make_inputs(t):
    rng = random.Random(3)
    with open(t.path("lines"), "w", encoding="ascii") as f:
        for _ in range(int(400000 * LENGTH)):
            f.write(f"{rng.randrange(1 << 60):x} {rng.randrange(1000)} clew {rng.random()}\n")
    truth_tree.write_program(t.path("tree.c"), 2, False)
    truth_tree.write_program(t.path("tree.cc"), 2, True)
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-E", t.path("tree.c"), "-o", t.path("tree.i")], check=False)
    with open(t.path("make.sql"), "w", encoding="ascii") as f:
        f.write("create table t(a, b, c);\n"
                f"with recursive n(i) as (select 1 union all select i + 1 from n where i < {int(200000 * LENGTH)}) "
                "insert into t select i, random(), hex(randomblob(12)) from n;\n"
                "create index x on t(b); select count(*), max(c) from t where b > 0 group by a % 17 order by 2;\n"
                "select count(*) from t a join t b on a.b = b.b where a.c like '%AB%';\n")


def commands(t):
    """name -> argv, or None where it is missing"""
    n = SECONDS
    have = shutil.which
    lines, loops = t.path("lines"), int(300000 * LENGTH)
    system_python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else have("python3")
    tools = {
        "bash": [have("bash"), "-c", f"f() {{ local x=$1; (( x > 20 )) && return; s=${{s:0:50}}$x; f $((x+1)); }}; "
                 f"for ((i=0;i<{loops // 60};i++)); do f 0; a[i%100]=${{s//1/2}}; done"],
        "python3": [system_python, "-c", "import re, json\ndef f(n):\n    return n if n < 2 else f(n-1)+f(n-2)\n"
                    f"for i in range({n * 40}):\n    f(20); json.loads(json.dumps([{{'a': i, 'b': [1.5]*50}}]*200)); "
                    "re.sub(r'(a|b)+c', 'x', 'ababc'*2000); sorted(str(j) for j in range(20000))"],
        "perl": [have("perl"), "-e", "sub f { my $n = shift; $n < 2 ? $n : f($n-1)+f($n-2) } "
                 f"for (1..{n * 3}) {{ f(20); my %h = map {{ $_ => $_ x 3 }} 1..20000; "
                 "my @s = sort { $a cmp $b } keys %h; my $j = join ',', @s; $j =~ s/(1+)2/$1/g; }"],
        "cc1": [cc1(), "-quiet", "-O2", "-fpreprocessed", t.path("tree.i"), "-o", "/dev/null"],
        "openssl rsa": [have("openssl"), "speed", "-seconds", str(n), "rsa2048"],
        # bn_gather5: its rules misstate its frame
        "openssl rsa, no IFMA": ["env", "OPENSSL_ia32cap=:~0x200000", have("openssl"), "speed", "-seconds", str(n), "rsa2048"],
        "openssl ecdsa": [have("openssl"), "speed", "-seconds", str(n), "ecdsap256"],
        "openssl ecdsa p521": [have("openssl"), "speed", "-seconds", str(n), "ecdsap521"],
        "sort": [have("sort"), "-k2,2n", "-k1,1", "--parallel=2", lines, "-o", "/dev/null"],
        "sort, one locale": ["env", "LC_ALL=C.UTF-8", have("sort") or "", "-f", "--parallel=1", lines, "-o", "/dev/null"],
        "xz": [have("xz"), "-k", "-c", "-T1", "-1", lines],
        "xz, threads": [have("xz"), "-k", "-c", "-T2", "-3", "--block-size=1MiB", lines],
        "sqlite3": [have("sqlite3"), ":memory:", f".read {t.path('make.sql')}"],
        "git": [have("git"), "-C", t.path("repository"), "log", "-p", "--stat", "-M"],
        "tar": [have("tar"), "-C", "/usr/share", "-cf", t.path("out.tar"), "perl" if os.path.isdir("/usr/share/perl") else "doc"],
        "grep": [have("grep"), "-E", "-c", "([0-9a-f]+)[13579]+ [0-9]+ (clew|ariadne) .*(5|7){3}", lines],
        "awk": [have("gawk") or have("awk"), "{ n[$2] += length($1); gsub(/a/, \"b\"); s = s substr($0, 1, 1) } "
                "END { for (k in n) print k, n[k] }", lines],
        "find": [have("find"), "/usr", "-name", "*.h", "-newer", "/bin/sh", "-size", "+2"],
        "gzip": [have("gzip"), "-9", "-c", lines],
        "bzip2": [have("bzip2"), "-c", lines],
        "zstd": [have("zstd"), "-9", "-c", "-q", lines],
        "gdb": [have("gdb"), "-batch", "-ex", "info functions pthread", have("git") or "/bin/sh"],
        "readelf": [have("readelf"), "-a", "-W", have("git") or "/bin/sh"],
        "g++ driver and all": [have("g++"), "-O1", "-c", t.path("tree.cc"), "-o", "/dev/null"],
        "make": [have("make"), "-f", t.path("many.mk"), "-j2", "-s"],
    }
    return {name: argv if argv and argv[0] and argv[-1] is not None and None not in argv else None for name, argv in tools.items()}


def make_repository(t):
    if not shutil.which("git"):
        return
    repo = t.path("repository")
    run = lambda *a: subprocess.run(["git", "-C", repo, "-c", "user.name=c", "-c", "user.email=c@c", *a], check=True,  # noqa: E731
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.makedirs(repo, exist_ok=True)
    run("init", "-q")
    with open(t.path("lines"), encoding="ascii") as f:
        text = [f.readline() for _ in range(4000)]
    rng = random.Random(4)
    for i in range(int(40 * min(LENGTH, 4))):
        for _ in range(300):
            text[rng.randrange(len(text))] = f"changed {i} {rng.random()}\n"
        with open(os.path.join(repo, f"file{i % 5}"), "w", encoding="ascii") as f:
            f.writelines(text)
        run("add", "-A")
        run("commit", "-q", "-m", f"change {i}")


def measure(t, name, argv, backend, bar, more=()):
    tag = "".join(c if c.isalnum() else "-" for c in f"{name}-{backend}")
    r = t.record_stacks(tag, backend, argv, more)
    if not t.check(os.path.exists(r.path) and r.status is not None and r.status >= 0, f"{name}: recorded", r.err):
        return
    share = share_of(r.path)
    t.note(f"{name}, {backend}: {share.text()}")
    if bar and share.nr >= 200:
        t.check(share.percent() >= bar, f"{name}, {backend}: at least {bar} % reach the outermost frame", share.text())
        t.check(not share.unmarked, f"{name}, {backend}: the others say why", "\n".join([share.text(), *share.unmarked_samples]))
    elif bar:
        t.skip(f"{name}, {backend}: at least {bar} %", f"only {share.nr} samples")
    if not os.environ.get("CLEW_TEST_KEEP"):
        for f in glob.glob(t.path(tag) + ".*"):
            os.unlink(f)


def main():
    t = StackTap()
    wanted = sys.argv[2:]
    backends = os.environ.get("CLEW_TEST_BACKENDS", "auto").split()
    if not may_use_bpf() and backends == ["auto"]:
        t.skip_all("tables in the kernel need root and BTF")
    make_inputs(t)
    make_repository(t)
    with open(t.path("many.mk"), "w", encoding="ascii") as f:
        f.write("all: $(addprefix t,$(shell seq 1 60))\nt%:\n\t@expr $* + 1 >/dev/null; true\n")
    todo = commands(t)
    for name, flags, source, arguments in (("C++ with exceptions", ["-O2"], "tree.cc", []),
                                           ("handler on another stack", ["-O2"], "tree.c", ["-s", "2000"])):
        program = t.compile("own" + source[5:], [t.path(source)], flags)
        todo[name] = [program, f"{1.5 * LENGTH}", *arguments] if program else None
    quick = ["bash", "python3", "perl", "cc1", "openssl rsa", "openssl rsa, no IFMA", "openssl ecdsa", "sort", "xz", "sqlite3", "git",
             "C++ with exceptions", "handler on another stack"]
    for name, argv in todo.items():
        if wanted and name not in wanted or not wanted and not IS_FULL and name not in quick:
            continue
        if not argv:
            t.skip(name, "not installed")
            continue
        for backend in backends:
            measure(t, name, argv, backend, BAR)
    node = shutil.which("node")
    if node and (IS_FULL or "node" in wanted):
        measure(t, "node, with its JIT", [node, "-e", "function f(n) { return n < 2 ? n : f(n-1) + f(n-2) } "
                f"for (let i = 0; i < {4 * SECONDS}; i++) {{ f(27); JSON.parse(JSON.stringify(Array(2000).fill({{a: [1, 'x']}}))) }}"],
                backends[0], None)
    t.done()


main()
