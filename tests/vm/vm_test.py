#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""User stacks on other kernels, in qemu: README.md beside this file.

Usage: CLEW_VM=1 vm_test.py CLEW VMLINUZ ...     Environment: CLEW_VM_SECONDS (3) of each recording, CLEW_VM_KEEP=FOLDER"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), os.path.join(HERE, "..", "live")]
from stack_lib import CLEW, StackTap, user_part, why_missing  # noqa: E402
import truth_tree  # noqa: E402

SECONDS = os.environ.get("CLEW_VM_SECONDS", "3")
# name, --call-graph, program, from which version on it has to work, share of right chains
RUNS = [
    ("auto", "auto", "/bin/tree", (0, 0), 99.9),
    ("immediate", "sframe,immediate", "/bin/tree", (6, 1), 99.0),
    ("defer", "defer", "/bin/tree_fp", (6, 19), 95.0),
    ("copy", "dwarf,65528", "/bin/tree", (0, 0), 99.0),
]


def libraries_of(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", out, re.M)


def make_initramfs(t, busybox, programs):
    root = t.path("root")
    for folder in ("bin", "proc", "sys", "dev", "tmp", "etc"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    shutil.copy(busybox, os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, "init"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    for name, path in programs.items():
        shutil.copy(path, os.path.join(root, "bin", name))
        for library in libraries_of(path):
            to = root + library
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(os.path.realpath(library), to)
    with open(os.path.join(root, "runs"), "w", encoding="ascii") as f:
        for name, backend, program, _, _ in RUNS:
            f.write(f"{name} {backend} {program} {SECONDS}\n")
    subprocess.run(f"cd {root} && find . | {busybox} cpio -o -H newc 2>/dev/null | gzip -1 > ../initramfs", shell=True, check=True)
    return t.path("initramfs")


def boot(t, kernel, initramfs):
    """@return {file: text} of what the machine sent, or None"""
    out = t.path("out.tar.gz")
    if os.path.exists(out):
        os.unlink(out)
    argv = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Haswell", "-smp", "2", "-m", "2048", "-display", "none",
            "-no-reboot", "-kernel", kernel, "-initrd", initramfs, "-append", "console=ttyS0 quiet panic=-1",
            "-serial", f"file:{t.path('console')}", "-serial", f"file:{out}", "-net", "none", "-monitor", "none"]
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
        with tarfile.open(out) as tar:
            return {os.path.basename(m.name): tar.extractfile(m).read().decode(errors="replace") for m in tar if m.isfile()}
    except (subprocess.TimeoutExpired, tarfile.TarError, OSError, EOFError):
        with open(t.path("console"), encoding="utf-8", errors="replace") as f:
            t.note(f.read()[-800:])
        return None


def judge(tree, text, may_stop_at_libc):
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
        if v.kind == "short" and may_stop_at_libc and any(sym in ("main", "run") for sym, _ in frames):
            v.kind = "right"  # libc has no frame pointers
        kinds[v.kind] += 1
        if v.kind in ("short", "wrong"):
            whys[f"{v.why} {why_missing(s)}"] += 1
    return kinds, whys


def check_run(t, tree, version, sent, run):
    name, backend, _, since, bar = run
    kernel = sent["kernel"].strip()
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
    judged = sum(kinds.values()) - kinds["outside"] - kinds["no user part"]
    share = 100 * kinds["right"] / judged if judged else 0
    t.note(f"    {share:.2f} % right; {dict(kinds)}; {whys.most_common(4)}")
    t.check(judged > 100, f"{kernel}, {backend}: samples with a user part", f"{kinds} {sent.get(name + '.stats', '')[-500:]}")
    if bar and name == "defer":  # a function that has not set its frame up yet hides its caller: known of frame pointers
        t.check(share >= bar, f"{kernel}, {backend}: at least {bar} % right", f"{share:.2f} %")
    elif bar:
        t.check(share >= bar, f"{kernel}, {backend}: at least {bar} % right", f"{share:.2f} %")
        t.check(not kinds["wrong"], f"{kernel}, {backend}: none wrong", whys.most_common(3))
    if name == "defer":
        nr = re.search(r"CALLCHAIN_DEFERRED events:\s+(\d+)", sent.get("defer.stats", ""))
        t.check(nr and int(nr.group(1)) > 100, f"{kernel}, {backend}: the kernel wrote deferred stacks", sent.get("defer.stats"))


def main():
    t = StackTap()
    kernels = [k for k in sys.argv[2:] if os.path.isfile(k)]
    busybox = next((b for b in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(b)), None)
    if os.environ.get("CLEW_VM") != "1" or not kernels or not shutil.which("qemu-system-x86_64") or not busybox:
        t.skip_all("CLEW_VM=1, kernels, qemu-system-x86_64 and busybox-static are wanted: tests/vm/README.md")
    tree = truth_tree.write_program(t.path("tree.c"), 1, False)
    plain = t.compile("tree", [t.path("tree.c")], ["-O2"])
    trees = {"/bin/tree": tree, "/bin/tree_fp": truth_tree.write_program(t.path("tree_fp.c"), 1, False, has_callbacks=False)}
    with_fp = t.compile("tree_fp", [t.path("tree_fp.c")], ["-O2", "-fno-omit-frame-pointer"])
    initramfs = make_initramfs(t, busybox, {"clew": CLEW, "tree": plain, "tree_fp": with_fp})
    for kernel in kernels:
        sent = boot(t, kernel, initramfs)
        if not t.check(sent is not None and "kernel" in sent, f"{os.path.basename(kernel)}: boots and answers"):
            continue
        keep = os.environ.get("CLEW_VM_KEEP")
        for name, text in sent.items() if keep else ():
            os.makedirs(keep, exist_ok=True)
            with open(os.path.join(keep, sent["kernel"].strip() + "-" + name), "w", encoding="utf-8") as f:
                f.write(text)
        version = tuple(int(n) for n in re.match(r"(\d+)\.(\d+)", sent["kernel"]).groups())
        for run in RUNS:
            check_run(t, trees[run[2]], version, sent, run)
    t.done()


main()
