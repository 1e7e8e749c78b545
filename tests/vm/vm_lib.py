# SPDX-License-Identifier: LGPL-2.1-or-later
"""Emulated machines: their initramfs, made of busybox, programs with their libraries and an init; and the command that boots one. Of this machine's
architecture, or of arm64, emulated as well: its programs are those of a cross build."""
import dataclasses
import os
import re
import shutil
import subprocess
import tarfile

HERE = os.path.dirname(os.path.realpath(__file__))
CACHE = os.environ.get("CLEW_VM_CACHE", "/tmp/kernels")  # of fetch.sh
FOLDERS = ("bin", "proc", "sys", "dev", "tmp", "etc")


@dataclasses.dataclass(frozen=True)
class Arch:
    name: str  # Debian's
    qemu: str
    busybox: str  # static
    cpu: str
    serial: str  # its serial lines are /dev/NAME0, ...
    libraries: tuple = ("ldd",)  # lists those of a program
    tools: str = ""  # what the names of its compiler and binutils begin with
    machine: tuple = ()  # more of qemu's command


AMD64 = Arch("amd64", os.environ.get("QEMU", "qemu-system-x86_64"), os.environ.get("BUSYBOX") or shutil.which("busybox") or os.path.join(CACHE, "busybox"), "Haswell", "ttyS")
ARM64 = Arch("arm64", "qemu-system-aarch64", "", "max,pauth-impdef=on", "ttyAMA", ("qemu-aarch64-static", "/lib/ld-linux-aarch64.so.1", "--list"),
             "aarch64-linux-gnu-", ("-M", "virt"))
ARCHS = {arch.name: arch for arch in (AMD64, ARM64)}


def tool(*command, env=None):
    """@return why it failed, or nothing"""
    p = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    return "" if p.returncode == 0 else f"{os.path.basename(command[0])}: {(p.stderr or p.stdout).strip()[-300:]}"


def fetch(arch, cache, *what):
    """By fetch.sh. @return why it failed, or nothing"""
    return tool(os.path.join(HERE, "fetch.sh"), cache, *what, env={"ARCH": arch.name})


def fetched(arch, cache):
    """@arch with the programs that fetch_machine() puts into the folder @cache."""
    if arch == AMD64:
        return arch if "QEMU" in os.environ else dataclasses.replace(arch, qemu=os.path.join(cache, "qemu"))
    return dataclasses.replace(arch, qemu=os.path.join(cache, f"qemu-{arch.name}"), busybox=os.path.join(cache, f"busybox-{arch.name}"))


def fetch_machine(arch, cache, kernel):
    """What a machine of @kernel (fetch.sh: module:VERSION) needs. @return (version, image), or why that cannot be."""
    emulator = () if arch.name == AMD64.name and "QEMU" in os.environ else ("qemu",) if arch.name == AMD64.name else ("qemu", "busybox")
    why = "" if shutil.which(AMD64.busybox) else fetch(AMD64, cache, "busybox")
    why = why or fetch(arch, cache, *emulator, f"module:{kernel}")
    if why:
        return why
    version = os.path.basename(os.path.realpath(module_of(arch, cache, kernel)))[len("module-"):]
    return version, os.path.join(cache, f"vmlinuz-{version}")


def module_of(arch, cache, kernel):
    """The folder of fetch.sh, whether @kernel is a version or a series."""
    return os.path.join(cache, f"module-{kernel}" if arch.name == AMD64.name or "-cloud-" in kernel else f"module-{kernel}-{arch.name}")


def what_is_missing(arch=AMD64):
    """To boot a machine at all; "" if nothing is."""
    needed = (("qemu", arch.qemu), ("a static busybox", arch.busybox), (arch.libraries[0], arch.libraries[0]))
    return " and ".join(name for name, program in needed if not shutil.which(program))


def libraries_of(program, arch=AMD64):
    out = subprocess.run([*arch.libraries, program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", out, re.M)


def put_program(root, path, to=None, arch=AMD64):
    """With the libraries that it is linked with. @to: its name in /bin"""
    to = os.path.join(root, "bin", to or os.path.basename(path))
    shutil.copy(path, to)
    os.chmod(to, 0o755)
    for library in libraries_of(os.path.realpath(path), arch):
        os.makedirs(os.path.dirname(root + library), exist_ok=True)
        if not os.path.exists(root + library):
            shutil.copy(os.path.realpath(library), root + library)


def make_root(root, init, programs, arch=AMD64):
    """A folder to pack(). @init: a file beside this one. @programs: {name: path}"""
    for folder in FOLDERS:
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    shutil.copy(arch.busybox, os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, init), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    for name, path in programs.items():
        put_program(root, path, name, arch)


def pack(root):
    """@return the initramfs of that folder, beside it. Not compressed: an emulated machine takes seconds to unpack it."""
    out = os.path.join(os.path.dirname(root), "initramfs")
    subprocess.run(f"cd {root} && find . | {AMD64.busybox} cpio -o -H newc 2>/dev/null > {out}", shell=True, check=True)
    return out


def machine(kernel, initramfs, serials, memory=2048, cpu="", accel="tcg,thread=multi", boot="", more=(), arch=AMD64):
    """The command. @serials: the files of its console and further serial lines; init finds the second as $serial. @boot: further words for the kernel"""
    lines = [word for path in serials for word in ("-serial", f"file:{path}")]
    words = f"console={arch.serial}0 serial=/dev/{arch.serial}1 quiet panic=-1 {boot}"
    return [arch.qemu, *arch.machine, *more, "-accel", accel, "-cpu", cpu or arch.cpu, "-smp", "2", "-m", str(memory), "-display", "none", "-no-reboot",
            "-net", "none", "-monitor", "none", "-kernel", kernel, "-initrd", initramfs, "-append", words.strip(), *lines]


def run_script(arch, tmp, kernel, root, script, limit=300, boot=""):
    """Boot run_init's machine for @script (text), with the programs in @root. Fills tmp/out. @return the console's text if it has not come to its end"""
    console, sent, out = (os.path.join(tmp, name) for name in ("console", "sent", "out"))
    shutil.rmtree(out, ignore_errors=True)
    with open(os.path.join(root, "script"), "w", encoding="utf-8") as f:
        f.write(script)
    argv = machine(kernel, pack(root), [console, sent], boot=boot, arch=arch)
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=limit)
        with tarfile.open(sent) as tar:
            tar.extractall(out)
        return ""
    except (subprocess.TimeoutExpired, tarfile.TarError, OSError, EOFError) as e:
        with open(console, encoding="utf-8", errors="replace") as f:
            return f"{f.read()}\n{e}"
