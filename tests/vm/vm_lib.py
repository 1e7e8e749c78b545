# SPDX-License-Identifier: LGPL-2.1-or-later
"""Emulated machines: their initramfs, made of busybox, programs of this machine with their libraries and an init; and the command that boots one."""
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
QEMU = os.environ.get("QEMU", "qemu-system-x86_64")
BUSYBOX = os.environ.get("BUSYBOX", shutil.which("busybox") or "/bin/busybox")
FOLDERS = ("bin", "proc", "sys", "dev", "tmp", "etc")


def what_is_missing():
    """To boot a machine at all; "" if nothing is."""
    missing = [name for name, program in (("qemu-system-x86_64", QEMU), ("a static busybox", BUSYBOX)) if not shutil.which(program)]
    return " and ".join(missing)


def libraries_of(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", out, re.M)


def put_program(root, path, to=None):
    """With the libraries that it is linked with."""
    to = os.path.join(root, "bin", to or os.path.basename(path))
    shutil.copy(path, to)
    os.chmod(to, 0o755)
    for library in libraries_of(path):
        os.makedirs(os.path.dirname(root + library), exist_ok=True)
        shutil.copy(os.path.realpath(library), root + library)


def make_root(root, init, programs):
    """A folder to pack(). @init: a file beside this one. @programs: {name: path}"""
    for folder in FOLDERS:
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    shutil.copy(BUSYBOX, os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, init), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    for name, path in programs.items():
        put_program(root, path, name)


def pack(root):
    """@return the initramfs of that folder, beside it."""
    out = os.path.join(os.path.dirname(root), "initramfs")
    subprocess.run(f"cd {root} && find . | {BUSYBOX} cpio -o -H newc 2>/dev/null | gzip -1 > {out}", shell=True, check=True)
    return out


def machine(kernel, initramfs, serials, memory=2048, cpu="Haswell", accel="tcg,thread=multi", boot="", more=()):
    """The command. @serials: the files of its console and further serial lines. @boot: further words for the kernel"""
    lines = [word for path in serials for word in ("-serial", f"file:{path}")]
    return [QEMU, *more, "-accel", accel, "-cpu", cpu, "-smp", "2", "-m", str(memory), "-display", "none", "-no-reboot", "-net", "none", "-monitor", "none",
            "-kernel", kernel, "-initrd", initramfs, "-append", f"console=ttyS0 quiet panic=-1 {boot}".strip(), *lines]
