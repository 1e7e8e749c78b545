#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The unit tests of a build on another kernel, in an emulated machine: README.md.

Usage: CLEW_VM=1 unit_vm.py BUILD [TEST ...]
Environment: ARCH (amd64, or arm64 with BUILD a cross build), CLEW_VM_KERNEL (6.12), CLEW_VM_CACHE (/tmp/kernels), CLEW_VM_KEEP=FOLDER"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import tap  # noqa: E402
import vm_lib  # noqa: E402

CACHE = vm_lib.CACHE
LIMIT = 1200  # seconds of one test in there, on a busy host
# As many at a time as the machine has CPUs, each in a folder of its own; what it prints and how it ends is kept.
WORKERS = 2
SCRIPT = """run() {
	began=$(cut -d ' ' -f 1 /proc/uptime)
	timeout -s KILL LIMIT $1 > /tmp/out/$1.tap 2> /tmp/out/$1.err < /dev/null
	echo $? > /tmp/out/$1.status
	echo $1 $(cat /tmp/out/$1.status) > /dev/console
	grep ^not /tmp/out/$1.tap > /dev/console
	echo $began $(cut -d ' ' -f 1 /proc/uptime) > /tmp/out/$1.seconds
}
worker() {
	while read -r name; do
		mkdir /tmp/work$1
		cd /tmp/work$1
		run $name
		cd /
		rm -rf /tmp/work$1
	done < /tests$1
}
for n in WORKERS; do
	worker $n &
done
wait
"""


def unit_tests(build):
    """{name: program}"""
    out = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout
    return {t["name"]: t["cmd"][0] for t in json.loads(out) if any(suite.endswith(":unit") for suite in t["suite"])}


def make_root(arch, tmp, tests):
    """Without debug information, which would be nine tenths of it."""
    root = os.path.join(tmp, "root")
    vm_lib.make_root(root, "run_init", tests, arch)
    for name in tests:
        subprocess.run([f"{arch.tools}strip", "--strip-debug", os.path.join(root, "bin", name)], check=True)
    # libc loads it when a thread ends by pthread_exit().
    for libc in [path for path in vm_lib.libraries_of(next(iter(tests.values())), arch) if os.path.basename(path) == "libc.so.6"]:
        shutil.copy(os.path.join(os.path.dirname(libc), "libgcc_s.so.1"), os.path.dirname(root + libc))
    for n in range(WORKERS):
        with open(os.path.join(root, f"tests{n}"), "w", encoding="ascii") as f:
            f.write("".join(name + "\n" for name in list(tests)[n::WORKERS]))
    return root


def judge(out, name):
    def text(ending):
        try:
            with open(os.path.join(out, name + ending), encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""
    said, status = text(".tap"), text(".status").strip()
    failed = re.findall(r"^not ok .*", said, re.M)
    done = re.findall(r"^ok .*", said, re.M)
    plan = re.search(r"^1\.\.(\d+)(?:\s*# SKIP (.*))?", said, re.M)
    whole = plan and int(plan.group(1)) == len(done) + len(failed)
    wrong = failed or ([] if whole and status == "0" else [f"status {status or 'missing'}, {len(done)} of {plan.group(1) if plan else '?'} checks"])
    began, end = map(float, (text(".seconds") or "0 0").split())
    tap.check(not wrong, f"{name}: {len(done)} checks, {end - began:.1f} s", wrong[:5] + (text(".err").splitlines()[-5:] if wrong else []))
    for reason in ([plan.group(2)] if plan and plan.group(2) else []) + re.findall(r"# SKIP (.*)", "\n".join(done)):
        print(f"# {name}: skipped: {reason}")


def main():
    if os.environ.get("CLEW_VM") != "1" or len(sys.argv) < 2:
        tap.skip_all("CLEW_VM=1 boots machines, and fetches packages for them: tests/vm/README.md")
    arch = vm_lib.fetched(vm_lib.ARCHS[os.environ.get("ARCH", "amd64")], CACHE)
    kernel = vm_lib.fetch_machine(arch, CACHE, os.environ.get("CLEW_VM_KERNEL", "6.12"))
    if isinstance(kernel, str) or vm_lib.what_is_missing(arch):
        tap.skip_all(kernel if isinstance(kernel, str) else f"missing: {vm_lib.what_is_missing(arch)}")
    tests = {name: path for name, path in unit_tests(sys.argv[1]).items() if len(sys.argv) == 2 or name in sys.argv[2:]}
    with tempfile.TemporaryDirectory() as tmp:
        root, began = make_root(arch, tmp, tests), time.monotonic()
        script = SCRIPT.replace("LIMIT", str(LIMIT)).replace("WORKERS", " ".join(map(str, range(WORKERS))))
        why = vm_lib.run_script(arch, tmp, kernel[1], root, script, limit=100 + 30 * len(tests))
        print(f"# {kernel[0]}: {time.monotonic() - began:.0f} s for {len(tests)} tests")
        tap.check(not why, "the machine comes to its end", why[-800:].splitlines())
        for name in tests if not why else ():
            judge(os.path.join(tmp, "out"), name)
        if os.environ.get("CLEW_VM_KEEP") and not why:
            shutil.copytree(os.path.join(tmp, "out"), os.environ["CLEW_VM_KEEP"], dirs_exist_ok=True)
    tap.done()


main()
