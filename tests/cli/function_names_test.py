#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Functions are found by each of their names: as linked, as clew prints them, with parameters; main of a stripped program, too. TAP.

Usage: function_names_test.py CLEW"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all

CLEW = os.path.abspath(sys.argv[1])
SOURCE = r"""
#include <cstdio>
#include <new>
#define OWN __attribute__((noinline)) __attribute__((noclone))
namespace a {
OWN int f(int x) { __asm__ volatile(""); return x * 3; }
OWN int g(int x) { __asm__ volatile(""); return x * 5; }
OWN int g(double x) { __asm__ volatile(""); return (int)x; }
template <typename T, typename U> OWN T h(T x, U y) { __asm__ volatile(""); return x + (T)y; }
struct S {
	int v;
	OWN S(int x) : v(x) { __asm__ volatile(""); }
	OWN int operator()(int x, int y) const { __asm__ volatile(""); return x + y + v; }
	OWN bool operator<(const S &o) const { __asm__ volatile(""); return v < o.v; }
	OWN int at(int x) const { __asm__ volatile(""); return x + v; }
	OWN operator long() const { __asm__ volatile(""); return v; }
	OWN virtual ~S() { __asm__ volatile(""); }
};
template <typename T> OWN T twice(T x) { __asm__ volatile(""); return x + x; }
template <typename T> OWN T twice(T x, int y) { __asm__ volatile(""); return x + y; }
}
namespace { OWN int hidden(int x) { __asm__ volatile(""); return x + 9; } }
extern "C" OWN int plain(int x) { __asm__ volatile(""); return x + 1; }
extern "C" int rust(int) __asm__("_RNvC7mycrate3foo");
extern "C" OWN int rust(int x) { __asm__ volatile(""); return x - 1; }
int main() {
	a::S s(2), t(3);
	int n = a::f(2) + a::g(3) + a::g(2.5) + a::h<int, long>(1, 2L) + s(1, 2) + (s < t) + s.at(4) + hidden(3) + plain(2) + rust(5) + (long)s + a::twice(3) + a::twice(4, 5);
	::operator delete(::operator new(4));
	return n == 0;
}
"""
# What is asked for, and the name that is printed.
NAMES = [("a::f", "a::f"), ("a::f(int)", "a::f"), ("_ZN1a1fEi", "a::f"), ("a::g(int)", "a::g"), ("a::g( double )", "a::g"),
         ("a::h<int, long>", "a::h<int, long>"), ("a::h<int,long>(int,long)", "a::h<int, long>"), ("a::S::operator()", "a::S::operator()"),
         ("a::S::operator()(int, int) const", "a::S::operator()"), ("a::S::operator<", "a::S::operator<"), ("a::S::at(int) const", "a::S::at"),
         ("(anonymous namespace)::hidden", "(anonymous namespace)::hidden"), ("plain", "plain"), ("mycrate::foo", "mycrate::foo"),
         ("_RNvC7mycrate3foo", "mycrate::foo"), ("a::S::operator long", "a::S::operator long"),
         ("a::S::operator long() const", "a::S::operator long")]


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, errors="replace", check=False, **more)


def clew(*args):
    return run(CLEW, *args, cwd=TOP)


def test_recording():
    for asked, shown in NAMES:
        r = clew("record", "-q", "--trace-function", asked, "-o", "f.data", "--", "./t")
        calls = clew("script", "-i", "f.data", "--call-trace").stdout
        check(not r.returncode and shown in calls, f"--trace-function {asked}", r.stderr + calls)
    r = clew("record", "--trace-function", "operator new(unsigned long)@libstdc++.so.6", "-o", "f.data", "--", "./t")
    if os.uname().machine != "x86_64":
        skip("--trace-function of a library by its short name", "the type of sizes may be another")
    else:
        check("of operator new" in r.stderr, "--trace-function of a library by its short name", r.stderr)
    r = clew("record", "-q", "--trace-between", "a::g(int),a::h<int, long>", "-e", "soft_pt//u", "-o", "b.data", "--", "./t")
    calls = clew("script", "-i", "b.data", "--call-trace").stdout if not r.returncode else r.stderr
    if "uprobe" in r.stderr:
        skip("--trace-between takes both names", r.stderr.splitlines()[0])
    else:
        check("a::g" in calls and "plain" not in calls, "--trace-between takes both names", calls)


def test_probes():
    for asked, _ in NAMES:
        r = clew("record", "-q", "-e", f"uprobe:./t:{asked}", "-o", "u.data", "--", "./t")
        if "uprobe" not in r.stderr or "has no symbol" in r.stderr:
            hits = clew("script", "-i", "u.data", "-F", "ip").stdout.split()
            check(not r.returncode and len(hits) == 1, f"uprobe {asked}", r.stderr)
        else:
            skip(f"uprobe {asked}", r.stderr.splitlines()[0])
    for option in (["-e", "uprobe:./t:a::g"], ["--trace-function", "a::g"], ["--trigger", "a::g", "-e", "soft_pt//u", "-S"]):
        r = clew("record", "-q", *option, "-o", "u.data", "--", "./t")
        check(r.returncode and "a::g(int)" in r.stderr and "a::g(double)" in r.stderr, f"{option[0]}: several functions are listed", r.stderr)
    for asked in ("a::twice<int>", "a::S::~S"):
        listed = clew("record", "-q", "--trace-function", asked, "-o", "u.data", "--", "./t").stderr.partition(f"functions '{asked}': ")[2].strip()
        found = [clew("record", "-q", "--trace-function", name, "-o", "u.data", "--", "./t") for name in listed.split("; ")]
        check(len(found) == 2 and not any("functions '" in r.stderr for r in found), f"what is listed for {asked} is taken", listed)
    for event in ("{uprobe:./t:a::f(int),uprobe:./t:a::h<int, long>}", "uprobe:./t:a::f(int)+4", "uprobe:./t:a::f:u"):
        r = clew("record", "-q", "-e", event, "-o", "u.data", "--", "./t")
        check(not r.returncode or "has no symbol" not in r.stderr, f"-e {event}", r.stderr)


def test_stripped():
    relr, slot = "-Wl,-z,pack-relative-relocs", "-Wl,--no-relax"
    for name, flags in (("pie", ["g++"]), ("no-pie", ["g++", "-no-pie"]), ("static", ["g++", "-static"]), ("slot", ["g++", slot]),
                        ("slot-no-pie", ["g++", "-no-pie", slot]), ("slot-relr", ["g++", slot, relr]), ("musl", ["musl-gcc"]),
                        ("musl-static", ["musl-gcc", "-static"])):
        source = "t.c" if flags[0] == "musl-gcc" else "t.cc"
        if not shutil.which(flags[0]) or run(*flags, "-O1", "-o", name, source, cwd=TOP).returncode:
            skip(f"main of a stripped program, {name}", "it cannot be built here")
            continue
        run("strip", name, cwd=TOP)
        r = clew("record", "-q", "--trace-function", "main", "-o", "m.data", "--", f"./{name}")
        check(not r.returncode and "1 call of main" in clew("record", "--trace-function", "main", "-o", "m.data", "--", f"./{name}").stderr,
              f"main of a stripped program, {name}", r.stderr)


def test_views():
    r = clew("record", "-q", "-e", "soft_pt//u", "-o", "t.data", "--", "./t")
    if r.returncode:
        skip("views", r.stderr)
        return
    for asked, shown in NAMES:
        rows = json.loads(clew("report", "-i", "t.data", "--itrace=i1i", "--no-children", "-s", "sym", "-S", asked, "--json").stdout)
        got = {row["sym"] for table in rows["tables"] for row in table["rows"]}
        check(got == {shown}, f"report -S {asked}", got)
        got = clew("script", "-i", "t.data", "--itrace=i1i", "-S", asked, "-F", "ip,sym").stdout.splitlines()
        check({line.split(None, 1)[1] for line in got if line.strip()} == {shown}, f"script -S {asked}", set(got))
        out = clew("script", "-i", "t.data", "--itrace=c", "--around", f"{asked}:1", "-F", "ip,sym,addr").stdout
        check(out.strip(), f"script --around {asked}", out)
        out = clew("annotate", "-i", "t.data", "--itrace=i1i", "--stdio", asked).stdout
        check(shown in out, f"annotate {asked}", out[:200])
    rows = json.loads(clew("report", "-i", "t.data", "--itrace=i1i", "--no-children", "-s", "sym", "-S", "a::h<int, long>(int, long),plain",
                           "--json").stdout)
    got = {row["sym"] for table in rows["tables"] for row in table["rows"]}
    check(got == {"a::h<int, long>", "plain"}, "commas in brackets do not divide a list", got)


def main():
    if not shutil.which("g++"):
        skip_all("no g++")
    with open(os.path.join(TOP, "t.c"), "w", encoding="utf-8") as f:
        f.write("int main(void) { return 0; }\n")
    with open(os.path.join(TOP, "t.cc"), "w", encoding="utf-8") as f:
        f.write(SOURCE)
    built = run("g++", "-O1", "-g", "-o", "t", "t.cc", cwd=TOP)
    if built.returncode:
        skip_all("g++ builds nothing here: " + built.stderr.splitlines()[0])
    probe = clew("record", "-q", "-e", "soft_pt//u", "-o", "probe.data", "--", "./t")
    if "steps x86-64 programs" in probe.stderr:
        skip_all("no software trace here")
    test_recording()
    test_probes()
    test_stripped()
    test_views()
    done()


with tempfile.TemporaryDirectory() as TOP:
    main()
