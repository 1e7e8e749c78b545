#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""User stacks on other kernels, in qemu: README.md beside this file.

Usage: CLEW_VM=1 vm_test.py CLEW VMLINUZ ...     Environment: CLEW_VM_SECONDS (3) of each recording, CLEW_VM_KEEP=FOLDER, QEMU,
CLEW_VM_PERF=FOLDER of ../diff/fetch_perf.sh; ARCH (amd64, or arm64), CLEW_VM_CACHE (/tmp/kernels), CLEW_IN_VM: the clew of ARCH, if CLEW is none"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "live")]
from merge_lib import chains_of_perf, compare, run  # noqa: E402
from stack_lib import CLEW, StackTap, samples, user_part, why_missing  # noqa: E402
import truth_tree  # noqa: E402
import vm_lib  # noqa: E402

PERF = os.environ.get("CLEW_VM_PERF", "")
ARCH = vm_lib.ARCHS[os.environ.get("ARCH", "amd64")]
# Signed return addresses, as all of Debian's programs have them there.
COMPILER = [ARCH.tools + "gcc", "-mbranch-protection=standard"] if ARCH == vm_lib.ARM64 else None
FREESTANDING = ["-O1", "-g0", "-fno-omit-frame-pointer", "-static", "-nostdlib", "-fno-stack-protector", "-fno-pie", "-no-pie",
                "-Wl,--build-id=sha1"]
SECONDS = os.environ.get("CLEW_VM_SECONDS", "3")
# name, --call-graph, program, from which version on it has to work, share of right chains
RUNS = [
    ("auto", "auto", "/bin/tree", (0, 0), 99.9),
    ("immediate", "sframe,immediate", "/bin/tree", (6, 1), 99.0),
    # arm64 has no CONFIG_UNWIND_USER (7.3).
    ("defer", "defer", "/bin/tree_fp", (6, 19) if ARCH == vm_lib.AMD64 else (99, 0), 99.0),
    ("copy", "dwarf,65528", "/bin/tree", (0, 0), 99.0),
]

SCRIPT = r"""uname -r > version
while read -r name backend program seconds; do
	clew record -v -F 499 --call-graph "$backend" -o "/tmp/$name.data" -- "$program" "$seconds" > "$name.err" 2>&1
	echo "status $?" >> "$name.err"
	clew script --json -i "/tmp/$name.data" > "$name.json" 2>> "$name.err"
	clew report --stats -i "/tmp/$name.data" > "$name.stats" 2>&1
	rm -f "/tmp/$name.data"
done < /runs
# A perf of its own, with its libraries, where one was given.
perf="/perf/ld-linux-x86-64.so.2 --library-path /perf /perf/perf"
for program in $([ -x /perf/perf ] && echo deferred tree_fp); do
	$perf record -F 499 --call-graph fp,defer -o "perf-$program.data" -- "/bin/$program" 1 > "perf-$program.err" 2>&1
	echo "status $?" >> "perf-$program.err"
done
"""


def put_perf(root):
    """The perf of CLEW_VM_PERF with all its libraries, and the loader they go with."""
    lib, perf = os.path.join(PERF, "root/usr/lib/x86_64-linux-gnu"), os.path.join(PERF, "root/usr/bin/perf")
    loader = os.path.join(lib, "ld-linux-x86-64.so.2")
    out = subprocess.run([loader, "--library-path", lib, "--list", perf], capture_output=True, text=True, check=False).stdout
    os.makedirs(os.path.join(root, "perf"))
    for path in [loader, perf, *re.findall(r"=> (/\S+) \(", out)]:
        shutil.copy(path, os.path.join(root, "perf", os.path.basename(path)))


def make_root(t, programs):
    root = t.path("root")
    vm_lib.make_root(root, "run_init", programs, t.arch)
    if PERF:
        put_perf(root)
    with open(os.path.join(root, "runs"), "w", encoding="ascii") as f:
        for name, backend, program, _, _ in RUNS:
            f.write(f"{name} {backend} {program} {SECONDS}\n")
    return root


def boot(t, kernel, root):
    """What the machine sent, {file: text}; recordings stay in t.dir. None: no emulated machine came to its end (README.md: which qemu)"""
    sent, out = {}, t.path("out")
    for _ in range(3):
        why = vm_lib.run_script(t.arch, t.dir, kernel, root, SCRIPT, limit=600)
        if not why:
            break
        t.note(why[-800:])
    else:
        return None
    for name in os.listdir(out):
        if name.endswith(".data"):
            os.replace(os.path.join(out, name), t.path(name))
            continue
        with open(os.path.join(out, name), encoding="utf-8", errors="replace") as f:
            sent[name] = f.read()
    return sent


def judge(tree, text, has_frame_pointers):
    kinds, whys = collections.Counter(), collections.Counter()
    for line in text.splitlines():
        s = json.loads(line)
        if s["type"] != "sample":
            continue
        frames = [(f.get("sym"), f.get("dso")) for f in user_part(s)]
        if not frames:
            kinds["no user part"] += 1
            whys[why_missing(s)] += 1
            continue
        v = truth_tree.judge(tree, frames)
        if has_frame_pointers and v.kind == "wrong":
            # A function that has not set its frame up yet, or no longer has it, hides its caller; the emulator interrupts at calls.
            v = truth_tree.judge(tree, frames[1:])
            kinds["first caller hidden"] += v.kind != "wrong"
        if has_frame_pointers and v.kind == "short" and any(sym in ("main", "run") for sym, _ in frames):
            v.kind = "right"  # libc has no frame pointers
        kinds[v.kind] += 1
        if v.kind in ("short", "wrong"):
            whys[f"{v.why} {why_missing(s)}"] += 1
    return kinds, whys


def check_run(t, tree, version, sent, of):
    name, backend, _, since, bar = of
    kernel = sent["version"].strip()
    err, text = sent.get(name + ".err", ""), sent.get(name + ".json", "")
    told = [line.split("clew: ", 1)[-1] for line in err.splitlines() if "user stacks" in line or "error" in line or "hint" in line]
    t.note(f"{kernel} {backend}: " + " / ".join(told)[:420])
    works = "status 0" in err
    if version < since:
        t.check(not works and "error" in err, f"{kernel}, {backend}: refused, with a reason", err[-300:])
        return
    if not t.check(works, f"{kernel}, {backend}: records", err[-600:]):
        return
    if name == "auto" and version >= (6, 18):
        t.check("user stacks: bpf-deferred" in err, f"{kernel}, {backend}: puts stacks off in BPF", told)
    kinds, whys = judge(tree, text, name == "defer")
    judged = sum(kinds.values()) - kinds["outside"] - kinds["no user part"] - kinds["first caller hidden"]
    share = 100 * kinds["right"] / judged if judged else 0
    t.note(f"    {share:.2f} % right; {dict(kinds)}; {whys.most_common(4)}")
    t.check(judged > 100, f"{kernel}, {backend}: samples with a user part", f"{kinds} {sent.get(name + '.stats', '')[-500:]}")
    t.check(share >= bar, f"{kernel}, {backend}: at least {bar} % right", f"{share:.2f} %")
    t.check(not kinds["wrong"], f"{kernel}, {backend}: none wrong", whys.most_common(3))
    if name == "defer":
        nr = re.search(r"deferred stacks (\d+): without a sample 0, twice 0", sent.get("defer.stats", ""))
        t.check(nr and int(nr.group(1)) > 100, f"{kernel}, {backend}: the kernel wrote deferred stacks", sent.get("defer.stats"))


def chains_of_new_perf(path):
    """Whole addresses, the kernel's too"""
    return chains_of_perf(path, os.path.join(PERF, "perf"), lambda ip: True, (1 << 64) - 1)[0]


def is_known_defect(theirs, ours):
    """perf 7.3.4 prints the cookie of a sample that comes after its stack (docs/decisions/stitching.md)."""
    return theirs[:-1] == ours[:len(theirs) - 1] and len(ours) >= len(theirs) and theirs[-1] & 0xffffffff < 64


def check_perf(t, version, sent):
    """A perf >= 6.19 recorded in there: clew reads what that perf reads, and what it merges the perf here reads."""
    for program in ("deferred", "tree_fp"):
        name, path = f"perf's {program}", t.path(f"perf-{program}.data")
        said = sent.get(f"perf-{program}.err", "")
        if version < (6, 19):
            continue
        if not t.check("status 0" in said, f"{name}: recorded", said):
            continue
        stats = run([CLEW, "report", "--stats", "-i", path]).stdout
        t.check(re.search(r"CALLCHAIN_DEFERRED events:\s+[1-9]", stats), f"{name}: with deferred stacks", stats)
        ours = sorted((s["time"], [int(f["ip"], 16) for f in s.get("callchain", []) if f.get("kind") in ("user", "kernel")])
                      for s in samples(path))
        theirs = chains_of_new_perf(path)
        unlike = [(a, b) for a, b in zip(theirs, ours) if a != b and not (a[0] == b[0] and is_known_defect(a[1], b[1]))]
        t.note(f"{name}: {len(ours)} samples, {sum(a != b for a, b in zip(theirs, ours))} with a cookie as a frame in perf")
        t.check(ours and len(ours) == len(theirs) and not unlike, f"{name}: the stacks are what that perf prints", unlike[:1])
        merged = t.path(f"merged-{program}.data")
        p = run([CLEW, "inject", "--merge-stacks", "-i", path, "-o", merged])
        t.check(p.returncode == 0, f"{name}: merged", p.stderr)
        t.check(chains_of_new_perf(merged) == ours, f"{name}: that perf reads the merged file as clew the deferred one")
        if shutil.which("perf"):
            compare(t, f"{name}, merged", merged, ("No kallsyms or vmlinux",))  # it is another kernel's


def main():
    t = StackTap()
    t.arch = ARCH if ARCH == vm_lib.AMD64 else vm_lib.fetched(ARCH, vm_lib.CACHE)
    kernels = [k for k in sys.argv[2:] if os.path.isfile(k)]
    if os.environ.get("CLEW_VM") != "1" or not kernels or vm_lib.what_is_missing(t.arch):
        t.skip_all("CLEW_VM=1, kernels, qemu and busybox-static are wanted: tests/vm/README.md")
    tree = truth_tree.write_program(t.path("tree.c"), 1, False)
    plain = t.compile("tree", [t.path("tree.c")], ["-O2"], COMPILER)
    trees = {"/bin/tree": tree, "/bin/tree_fp": truth_tree.write_program(t.path("tree_fp.c"), 1, False, has_callbacks=False)}
    with_fp = t.compile("tree_fp", [t.path("tree_fp.c")], ["-O2", "-fno-omit-frame-pointer"], COMPILER)
    programs = {"clew": os.environ.get("CLEW_IN_VM", CLEW), "tree": plain, "tree_fp": with_fp}
    if PERF:
        programs["deferred"] = t.compile("deferred", [os.path.join(HERE, "deferred.c")], FREESTANDING)
    root = make_root(t, programs)
    for kernel in kernels:
        sent = boot(t, kernel, root)
        if not t.check(sent is not None and "version" in sent, f"{os.path.basename(kernel)}: boots and answers"):
            continue
        keep = os.environ.get("CLEW_VM_KEEP")
        for name, text in sent.items() if keep else ():
            os.makedirs(keep, exist_ok=True)
            with open(os.path.join(keep, sent["version"].strip() + "-" + name), "w", encoding="utf-8") as f:
                f.write(text)
        version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", sent["version"]).groups())
        for of in RUNS:
            check_run(t, trees[of[2]], version, sent, of)
        if PERF:
            check_perf(t, version, sent)
    t.done()


main()
