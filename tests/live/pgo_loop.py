#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: pgo_loop.py CLEW DATA: profiles and coverage of a program that runs here, through the compilers and linkers that read them. TAP.

From samples: recorded, exported, built again by clang with the profile, recorded again. From exact traces (soft_pt): what each reader counts is what single
steps counted (DATA/pgo.counts), BOLT makes the program branch less, and lines are gcov's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip, skip_all  # noqa: E402

clew, data = (os.path.abspath(p) for p in sys.argv[1:3])
source = os.path.join(data, "pgo.c")
top = tempfile.mkdtemp()
os.chdir(top)
os.environ["LC_ALL"] = "C.UTF-8"
TIMEOUT = 240
N = "2000"
LLVM = "/usr/lib/llvm-19/bin/"


def run(*argv, **more):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=TIMEOUT, check=False, **more)


def log(text):
    for line in text.rstrip().split("\n"):
        print("# " + line, flush=True)


def has(program, package, name):
    if shutil.which(program):
        return True
    skip(name, f"no {os.path.basename(program)} (package {package})")
    return False


def build(out, *options, compiler="clang-19"):
    p = run(compiler, "-O2", "-g", "-fdebug-info-for-profiling", *options, source, "-o", out)
    return p if p.returncode else None


def record(out, event, program, *argv, frequency=()):
    return run(clew, "record", "-q", *frequency, "-e", event, "-o", out, "--", "./" + program, *argv)


def export(to, recording, out, *options):
    return run(clew, "export", "--to", to, "-i", recording, "-o", out, *options)


def heads(text):
    """Function -> how often it was entered, of LLVM's text."""
    return {name: int(n) for name, n in re.findall(r"^(\S+):\d+:(\d+)$", text, re.M)}


def lines_of(text):
    """Function -> its lines. llvm-profgen also counts line 0, as if it were before the function; and of main() it omits, if .text was moved, the last call."""
    found, name = {}, None
    for line in text.split("\n"):
        if not line.startswith(" "):
            name = line.split(":")[0]
        elif not line.startswith(" 65") and name != "main":
            found.setdefault(name, []).append(line)
    return found


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def truth():
    """Entries of step() by the single steps: branches to its address."""
    return sum(int(n) for n in re.findall(r"^B \S+ 1820 (\d+)$", read(os.path.join(data, "pgo.counts")), re.M))


# --- from samples ---


def hottest(recording):
    """[(function, percent)], most first."""
    text = run(clew, "report", "-i", recording, "--stdio", "--no-children", "-s", "sym", "-g", "none").stdout
    return [(name, float(percent)) for percent, name in re.findall(r"^\s+([0-9.]+)%\s+\[\.\] (\S+)", text, re.M)]


def loop_of_samples():
    name = "samples, clang -fprofile-sample-use, samples: the function that was hottest is gone, or smaller"
    if not has("clang-19", "clang-19", name):
        return
    slow = "-DMORE(x)=((x)%1000003*0x9e3779b97f4a7c15ull)"
    assert not build("first", slow)
    made = record("first.data", "cpu-clock:u", "first", "1000000", frequency=("-F", "4999"))
    if made.returncode:
        skip(name, "events cannot be opened: " + made.stderr.split("\n")[0])
        return
    before = hottest("first.data")
    p = export("llvm", "first.data", "first.prof", "--binary", "first")
    built = run("clang-19", "-O2", "-g", "-fdebug-info-for-profiling", "-fprofile-sample-use=first.prof", "-Rpass=inline", slow, source, "-o", "second")
    again = record("second.data", "cpu-clock:u", "second", "1000000", frequency=("-F", "4999"))
    after = hottest("second.data")
    log(p.stderr + "\n".join(line for line in built.stderr.split("\n") if "remark" in line))
    log("before: " + ", ".join(f"{f} {n}%" for f, n in before[:3]))
    log("after:  " + ", ".join(f"{f} {n}%" for f, n in after[:3]))
    check(before and after and dict(after).get(before[0][0], 0) < before[0][1], name, [p.stderr, built.stderr, before, after])
    check(before and before[0][0] == "step" and "'step' inlined into 'often'" in built.stderr, "which is step(), inlined into often() where that is hot", built.stderr)
    check(made.stdout == again.stdout and made.stdout, "the program prints the same", [made.stdout, again.stdout])


def loop_of_autofdo():
    name = "samples, create_llvm_prof --use_lbr=false, clang: step() is inlined into often()"
    slow = "-DMORE(x)=((x)%1000003*0x9e3779b97f4a7c15ull)"
    if not (has("clang-19", "clang-19", name) and has("create_llvm_prof", "autofdo", name)):
        return
    assert not build("old", "-gdwarf-4", slow)
    made = record("old.data", "cpu-clock:u", "old", "1000000", frequency=("-F", "4999"))
    if made.returncode:
        skip(name, "events cannot be opened: " + made.stderr.split("\n")[0])
        return
    export("autofdo", "old.data", "old.text", "--binary", "old", "--autofdo-base=segment")
    p = run("create_llvm_prof", "--binary=old", "--profiler=text", "--use_lbr=false", "--profile=old.text", "--format=binary", "--out=old.prof")
    remarks = run("clang-19", "-O2", "-gdwarf-4", "-fdebug-info-for-profiling", "-fprofile-sample-use=old.prof", "-Rpass=inline", slow, source, "-o", "new").stderr
    check("'step' inlined into 'often'" in remarks, name, [p.stderr, remarks])


UNLUCKY = """
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned long sink;
static __attribute__((noinline)) unsigned long step(unsigned long x)
{
	if (__builtin_expect(x % 16 == 0, 1)) {
		for (int i = 0; i < 2; i++)
			sink += x >> i;
		x ^= sink & 1;
	}
	if (__builtin_expect(x % 16 == 3, 1))
		sink ^= x * 7;
	return x * 6364136223846793005ul + 1442695040888963407ul;
}
unsigned long other(unsigned long x);
int main(int argc, char **argv)
{
	unsigned long x = 1;

	for (long i = argc > 1 ? atol(argv[1]) : 9; i > 0; i--)
		x = step(x >> 7) + other(x);
	printf("%lu\\n", x);
	return 0;
}
"""
OTHER = """
static __attribute__((noinline)) unsigned long step(unsigned long x)
{
	return x % 3 ? x + 1 : x / 3;
}
unsigned long other(unsigned long x)
{
	return step(x) + step(x + 1);
}
"""


def of_fdata(path):
    return sorted(read(path).splitlines()[1:])


def bolt_of_samples():
    """A program laid out for what seldom happens; two of its functions have one name."""
    name = "samples, llvm-bolt: fewer branches are taken"
    if not (has("clang-19", "clang-19", name) and has(LLVM + "llvm-bolt", "bolt-19", name)):
        return
    for path, text in (("unlucky.c", UNLUCKY), ("other.c", OTHER)):
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
    run("clang-19", "-O2", "-g", "-Wl,--emit-relocs", "unlucky.c", "other.c", "-o", "unlucky")
    made = record("unlucky.data", "cpu-clock:u", "unlucky", "50000000", frequency=("-F", "4999"))
    if made.returncode:
        skip(name, "events cannot be opened: " + made.stderr.split("\n")[0])
        return
    export("bolt", "unlucky.data", "unlucky.fdata", "--binary", "unlucky")
    bolted = run(LLVM + "llvm-bolt", "unlucky", "-data=unlucky.fdata", "-o", "lucky", "-reorder-blocks=ext-tsp", "-dyno-stats")
    stats = [(int(n), float(p)) for n, p in re.findall(r"(\d+) : taken branches \(([-+=0-9.]+)%\)", bolted.stdout + bolted.stderr)]
    log("\n".join(line for line in (bolted.stdout + bolted.stderr).split("\n") if re.search(r"taken branches|execution profile", line)))
    check(stats and stats[0][1] < 0, name, bolted.stdout + bolted.stderr)
    check(run("./lucky", N).stdout == run("./unlucky", N).stdout != "", "the program prints the same")
    if has("perf", "linux-perf", "perf2bolt -nl"):
        export("perf.data", "unlucky.data", "unlucky.perf")
        p = run(LLVM + "perf2bolt", "unlucky", "-nl", "-p", "unlucky.perf", "-o", "theirs.fdata")
        check(os.path.exists("theirs.fdata") and of_fdata("unlucky.fdata") == of_fdata("theirs.fdata"), "perf2bolt -nl of the same samples has the same lines",
              [p.stderr[-500:], of_fdata("unlucky.fdata")[:9]])


# --- from exact traces ---


def trace(program, *build_options):
    """@return its recording, or None: skipped."""
    p = build(program, *build_options)
    if p:
        log(p.stderr)
        return None
    p = record(program + ".data", "soft_pt//u", program, N)
    return program + ".data" if not p.returncode else None


def llvm(program):
    export("llvm", program + ".data", "out", "--binary", program)
    return heads(read("out"))


def profgen(program):
    name = program + ": llvm-profgen"
    if not has("llvm-profgen-19", "llvm-19", name):
        return
    export("llvm-profgen", program + ".data", "unsymbolized", "--binary", program)
    for form in ("text", "extbinary"):
        p = run("llvm-profgen-19", "--binary=" + program, "--unsymbolized-profile=unsymbolized", "--use-offset=0", "--format=" + form, "-o", "out." + form)
        text = run("llvm-profdata-19", "merge", "--sample", "--text", "out." + form, "-o", "-").stdout
        check(heads(text) == llvm(program) and heads(text)["step"] == truth(), f"{name}, {form}: functions are entered as often as clew counts", [p.stderr, text])
    export("llvm", program + ".data", "ours", "--binary", program)
    ours, theirs = lines_of(read("ours")), lines_of(read("out.text"))
    check(ours == theirs and all(theirs.values()), name + ": and each line", [ours, theirs])


def autofdo(program):
    name = program + ": create_llvm_prof"
    if not has("create_llvm_prof", "autofdo", name):
        return
    p = export("autofdo", program + ".data", "text", "--binary", program, "--autofdo-base=segment")
    made = run("create_llvm_prof", "--binary=" + program, "--profile=text", "--profiler=text", "--format=text", "--out=out")
    entered = {f: n for f, n in heads(read("out")).items() if f != "main"}  # it does not know of calls from elsewhere
    check("DWARF" not in p.stderr and entered == {f: n for f, n in llvm(program).items() if f != "main"} and entered["step"] == truth(),
          name + ": functions are entered as often as clew counts", [p.stderr, made.stderr, read("out")])


def warns_of_dwarf_5():
    p = export("autofdo", "pie.data", "text", "--binary", "pie")
    check("DWARF 5" in p.stderr and "-gdwarf-4" in p.stderr, "of DWARF 5, which create_llvm_prof cannot read, a warning", p.stderr)


def bolt(program):
    name = program + ": BOLT"
    if not has(LLVM + "perf2bolt", "bolt-19", name):
        return
    export("bolt", program + ".data", "text", "--binary", program)
    read_by = run(LLVM + "perf2bolt", program, "-pa", "-p", "text", "-o", "fdata")
    nr_lines = len(read("text").splitlines())
    nr_read = re.search(r"read (\d+) aggregated LBR entries", read_by.stdout + read_by.stderr)
    wrong = re.search(r"mismatching disassembled function contents: \d+ \(([0-9.]+)%\)", read_by.stdout + read_by.stderr)
    check(nr_read and int(nr_read[1]) == nr_lines and wrong and float(wrong[1]) <= 1, f"{name}: it reads each of {nr_lines} lines, and finds its branches", read_by.stderr)
    made = run(LLVM + "llvm-bolt", program, "-data=fdata", "-o", "bolted", "-reorder-blocks=ext-tsp", "-dyno-stats")
    stats = [(int(n), float(p)) for n, p in re.findall(r"(\d+) : taken branches \(([-+=0-9.]+)%\)", made.stdout + made.stderr)]
    log("\n".join(line for line in (made.stdout + made.stderr).split("\n") if re.search(r"(taken|executed).*\(", line)))
    check(stats and stats[0][1] < 0, name + ": with the profile, fewer branches are taken", made.stderr)
    check(run("./bolted", N).stdout == run("./" + program, N).stdout != "", name + ": the program prints the same")


def exact():
    if not has("clang-19", "clang-19", "exact profiles"):
        return
    if not trace("pie", "-Wl,--emit-relocs"):
        skip("exact profiles", "no soft_pt here: not x86-64, or ptrace is not allowed")
        return
    check(llvm("pie") == {"step": truth(), "often": 10, "seldom": 10, "main": 1}, "entries of functions are those that single steps counted", llvm("pie"))
    warns_of_dwarf_5()
    # Where the text's offset in the file is not its address.
    for program, *options in (("fixed", "-no-pie"), ("moved", "-Wl,--section-start=.text=0x41000"), ("lld", "-fuse-ld=lld")):
        if program == "lld" and not has("ld.lld", "lld", "a program linked by lld"):
            continue
        if not trace(program, "-gdwarf-4", "-Wl,--emit-relocs", *options):
            check(False, program + ": traced")
            continue
        for reader in (profgen, autofdo, bolt):
            reader(program)


# --- coverage ---


def of_gcov(path):
    found = re.findall(r"^ *([0-9]+|#####)\*?: *(\d+):", read(path), re.M)
    return {int(line): 0 if n == "#####" else int(n) for n, line in found}


def outcomes(path):
    """Counts of both ways of each branch, in order of lines."""
    return [sorted(map(int, pair)) for pair in re.findall(r"^branch +\d+ taken (\d+)[^\n]*\nbranch +\d+ taken (\d+)", read(path), re.M)]


def coverage():
    name = "coverage without optimisation"
    if not (has("gcc", "gcc", name) and has("gcov", "gcc", name)):
        return
    run("gcc", "-O0", "-g", source, "-o", "cover")
    if record("cover.data", "soft_pt//u", "cover", N).returncode:
        skip(name, "no soft_pt here")
        return
    p = export("lcov", "cover.data", "cover.info", "--binary", "cover")
    run("gcc", "-O0", "-g", "--coverage", source, "-o", "gcov")
    run("./gcov", N)
    run("gcov", "-b", "-c", "gcov-pgo.c")
    ours = {int(a): int(b) for a, b in re.findall(r"^DA:(\d+),(\d+)$", read("cover.info"), re.M)}
    theirs = of_gcov("pgo.c.gcov")
    both = set(ours) & set(theirs)
    log(p.stderr + f"{len(both)} lines of both, {sorted(set(theirs) - both)} only of gcov, {sorted(set(ours) - both)} only of ours")
    check(len(both) >= 30 and all(ours[n] == theirs[n] for n in both), name + ": each line that both name counts as gcov counts it",
          [f"line {n}: {ours[n]} != {theirs[n]}" for n in sorted(both) if ours[n] != theirs[n]])
    branches = [sorted(map(int, pair)) for pair in re.findall(r"^BRDA:\d+,\d+,0,(\d+)\nBRDA:\d+,\d+,1,(\d+)$", read("cover.info"), re.M)]
    check(branches == outcomes("pgo.c.gcov") and len(branches) == 5, "and each branch", [branches, outcomes("pgo.c.gcov")])
    functions = {f: int(n) for n, f in re.findall(r"^FNDA:(\d+),(\S+)$", read("cover.info"), re.M)}
    check(functions == {"step": truth(), "often": 10, "seldom": 10, "main": 1}, "and each function", functions)
    if has("genhtml", "lcov", "genhtml"):
        p = run("genhtml", "-q", "-o", "html", "cover.info")
        check(p.returncode == 0 and os.path.exists("html/index.html"), "genhtml makes pages of it", p.stdout + p.stderr)
        p = run("lcov", "--rc", "lcov_branch_coverage=1", "--summary", "cover.info")
        text = p.stdout + p.stderr
        check(f"({len(ours)} of {len(ours)} lines)" in text and "(4 of 4 functions)" in text and "(9 of 10 branches)" in text, "lcov --summary has the same numbers", text)


def never_ran():
    """Lines, functions and branches that did not run are there."""
    with open("never.c", "w", encoding="ascii") as f:
        f.write("int never(int x)\n{\n\tif (x)\n\t\treturn 1;\n\treturn 2;\n}\nint main(int argc, char **argv)\n{\n\t(void)argv;\n\tif (argc > 5)\n\t\treturn never(argc);\n\treturn 0;\n}\n")
    run("gcc", "-O0", "-g", "never.c", "-o", "never")
    if record("never.data", "soft_pt//u", "never").returncode:
        return
    export("lcov", "never.data", "never.info", "--binary", "never")
    text = read("never.info")
    lines = {int(a): int(b) for a, b in re.findall(r"^DA:(\d+),(\d+)$", text, re.M)}
    check([lines.get(n) for n in (3, 4, 5, 10, 11, 12)] == [0, 0, 0, 1, 0, 1] and "FNDA:0,never\n" in text and "FNDA:1,main\n" in text,
          "what never ran is there with 0", text)
    check(re.findall(r"^BRDA:(3|10),0,[01],(\S+)$", text, re.M) == [("3", "-"), ("3", "-"), ("10", "1"), ("10", "0")], "and its branches with -", text)


if not os.access(source, os.R_OK):
    skip_all("no " + source)
loop_of_samples()
loop_of_autofdo()
bolt_of_samples()
exact()
coverage()
never_ran()
os.chdir("/")
shutil.rmtree(top, ignore_errors=True)
done()
