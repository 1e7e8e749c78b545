#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run a script of busybox's shell as root in an emulated machine, with programs of the host's, and print what it printed.

Usage: vm_run.py KERNEL SCRIPT [PROGRAM ...]     Programs are put into /bin with their libraries. What the script leaves in its folder, /tmp/out, is
written to CLEW_VM_KEEP, if given. The exit status is the script's.
Environment: ARCH (amd64, or arm64), CLEW_VM_CACHE (/tmp/kernels), CLEW_VM_KEEP, CLEW_VM_LIMIT (300 s), CLEW_VM_BOOT (words for the kernel), QEMU, BUSYBOX"""
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import vm_lib  # noqa: E402


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    arch = vm_lib.fetched(vm_lib.ARCHS[os.environ.get("ARCH", "amd64")], vm_lib.CACHE)
    if vm_lib.what_is_missing(arch):
        sys.exit(f"missing: {vm_lib.what_is_missing(arch)}")
    with tempfile.TemporaryDirectory() as tmp:
        root = os.path.join(tmp, "root")
        vm_lib.make_root(root, "run_init", {os.path.basename(path): path for path in sys.argv[3:]}, arch)
        with open(sys.argv[2], encoding="utf-8") as f:
            script = f.read()
        wrong = vm_lib.run_script(arch, tmp, sys.argv[1], root, script, int(os.environ.get("CLEW_VM_LIMIT", "300")), os.environ.get("CLEW_VM_BOOT", ""))
        if wrong:
            sys.exit(wrong)
        out = os.path.join(tmp, "out")
        if os.environ.get("CLEW_VM_KEEP"):
            shutil.copytree(out, os.environ["CLEW_VM_KEEP"], dirs_exist_ok=True)
        with open(os.path.join(out, "log"), encoding="utf-8", errors="replace") as f:
            sys.stdout.write(f.read())
        with open(os.path.join(out, "status"), encoding="ascii") as f:
            sys.exit(int(f.read()))


main()
