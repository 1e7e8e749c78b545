#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""AUX recording on the AUX code of a real kernel: clew records from softaux in an emulated machine, and what it wrote is judged out here. README.md.

Usage: CLEW_VM=1 aux_vm.py CLEW [ROW ...]     Environment: CLEW_VM_CACHE (/tmp/kernels), CLEW_VM_KERNEL (6.12), CLEW_VM_KEEP=FOLDER, QEMU, BUSYBOX"""
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
# pylint: disable=wrong-import-position
import tap
import vm_lib
from aux_checks import Given, ended, nothing_left
from aux_rows import ROWS

CACHE = os.environ.get("CLEW_VM_CACHE", "/tmp/kernels")
ARCH = vm_lib.fetched(vm_lib.ARCHS[os.environ.get("ARCH", "amd64")], CACHE)
KERNEL = os.environ.get("CLEW_VM_KERNEL", "6.12")
NEW_PERF = os.path.join(CACHE, "perf-6.12", "usr/bin/perf")
BOOT_SECONDS = 60
# Before each row's script. began: waits until what is recorded runs; $p: the recorder.
PRELUDE = "began() { until [ -e running ]; do kill -0 $p || exit 1; usleep 20000; done; }\n"


def tool(*command):
    """@return why it failed, or nothing"""
    p = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if p.returncode == 0 else f"{os.path.basename(command[0])}: {(p.stderr or p.stdout).strip()[-300:]}"


def prepare():
    """Fetch what is missing, and build. @return (kernel, module, perf or None), or why that cannot be."""
    qemu = [] if "QEMU" in os.environ else ["qemu"]
    why = tool(os.path.join(HERE, "fetch.sh"), CACHE, *qemu, f"module:{KERNEL}") or tool(os.path.join(HERE, "softaux", "build.sh"), CACHE, KERNEL)
    if why:
        return why
    folder = os.path.realpath(os.path.join(CACHE, f"module-{KERNEL}"))
    version = os.path.basename(folder)[len("module-"):]
    if tool(os.path.join(HERE, "fetch.sh"), CACHE, "perf"):
        print("# no perf 6.12: it is not asked")
    return os.path.join(CACHE, f"vmlinuz-{version}"), os.path.join(CACHE, f"softaux-{version}", "softaux.ko")


def make_initramfs(tmp, clew, module, rows):
    load, root = os.path.join(tmp, "load"), os.path.join(tmp, "root")
    subprocess.run(["cc", "-O1", "-static", "-fno-pie", "-no-pie", "-o", load, os.path.join(HERE, "aux_load.c")], check=True)
    symbols = subprocess.run(["nm", load], capture_output=True, text=True, check=True).stdout
    addresses = {words[2]: words[0].lstrip("0") for words in map(str.split, symbols.splitlines()) if len(words) == 3}
    vm_lib.make_root(root, "aux_init", {"clew": clew, "load": load})
    if any(row.needs_perf for row in rows):
        vm_lib.put_program(root, NEW_PERF)
    shutil.copy(module, os.path.join(root, "softaux.ko"))
    os.mkdir(os.path.join(root, "rows"))
    for row in rows:
        script = re.sub(r"@(\w+)@", lambda m: "0x" + addresses[m.group(1)], PRELUDE + row.script)
        for name, text in ((f"{row.name}.sh", script), (f"{row.name}.module", f"{row.limit} {row.module}\n")):
            with open(os.path.join(root, "rows", name), "w", encoding="ascii") as f:
                f.write(text)
    with open(os.path.join(root, "rows", "order"), "w", encoding="ascii") as f:
        f.write("".join(row.name + "\n" for row in rows))
    return vm_lib.pack(root)


def unpack(tmp, path):
    """What the machine sent, whole rows only. @return names"""
    names, at = [], 0
    with open(path, "rb") as f:
        data = f.read()
    while data[at:at + 4] == b"ROW ":
        end = data.index(b"\n", at)
        _, name, size = data[at:end].decode().split()
        if end + 1 + int(size) > len(data):
            break
        with tarfile.open(fileobj=io.BytesIO(data[end + 1:end + 1 + int(size)])) as tar:
            for m in tar:
                if m.isfile():
                    to = os.path.join(tmp, "rows", name, os.path.basename(m.name))
                    os.makedirs(os.path.dirname(to), exist_ok=True)
                    with open(to, "wb") as f:
                        f.write(tar.extractfile(m).read())
        names.append(name)
        at = end + 1 + int(size)
    return names


def boot(tmp, kernel, initramfs, rows):
    """@return the rows that came back. An emulator that crashes its guest (README.md) is given three boots."""
    console, out = os.path.join(tmp, "console"), os.path.join(tmp, "out")
    limit = BOOT_SECONDS + 3 * sum(row.limit for row in rows)
    names = []
    for _ in range(3):
        argv = vm_lib.machine(kernel, initramfs, [console, out], memory=1024, arch=ARCH, boot="no_timer_check tsc=reliable")
        began = time.monotonic()
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            print("# the machine did not come to its end")
        names = unpack(tmp, out) if os.path.exists(out) else []
        print(f"# {len(names)} of {len(rows)} rows in {time.monotonic() - began:.0f} s")
        if len(names) == len(rows):
            break
        with open(console, errors="replace", encoding="utf-8") as f:
            print("# " + "\n# ".join(f.read()[-600:].splitlines()))
    return names


def perfs():
    found = {"perf": ["perf"]} if shutil.which("perf") else {}
    if os.path.exists(NEW_PERF):
        found["perf 6.12"] = [NEW_PERF]
    return found


def verdict(row, g, check):
    try:
        wrong = check(g)
    except Exception as e:  # pylint: disable=broad-except
        wrong = [f"{type(e).__name__}: {e}"]
    if row.todo and wrong:
        print(f"# TODO {row.name}: {check.__name__}: {wrong[0][:200]}")
        return
    tap.check(not wrong, f"{row.name}: {check.__name__}{' (marked todo)' if row.todo else ''}", wrong)


def judge(tmp, clew, row):
    g = Given(os.path.join(tmp, "rows", row.name), row, clew, perfs())
    began, end = (float(t) for t in (g.text("seconds") or "0 0").split())
    for check in (ended, nothing_left, *row.checks):
        verdict(row, g, check)
    said = " ".join(g.text("err").split())[-160:]
    print(f"# {row.name}: {end - began:.1f} s; {'; '.join(g.notes)}; {said}")


def main():
    clew, chosen = os.path.realpath(sys.argv[1]), sys.argv[2:]
    rows = [r for r in ROWS if not chosen or r.name in chosen or (chosen == ["short"] and r.is_short)]
    if os.environ.get("CLEW_VM") != "1" or not rows:
        tap.skip_all("CLEW_VM=1 boots machines, and fetches packages for them: tests/vm/README.md")
    prepared = prepare()
    if isinstance(prepared, str) or vm_lib.what_is_missing(ARCH):
        tap.skip_all(prepared if isinstance(prepared, str) else f"missing: {vm_lib.what_is_missing(ARCH)}")
    kernel, module = prepared
    rows = [r for r in rows if os.path.exists(NEW_PERF) or not r.needs_perf]
    with tempfile.TemporaryDirectory() as tmp:
        clew = shutil.copy(clew, tmp)  # the same to the end, whatever is built meanwhile
        names = boot(tmp, kernel, make_initramfs(tmp, clew, module, rows), rows)
        for row in rows:
            if tap_row(row, names):
                judge(tmp, clew, row)
        if os.environ.get("CLEW_VM_KEEP"):
            shutil.rmtree(os.path.join(os.environ["CLEW_VM_KEEP"], "rows"), ignore_errors=True)
            shutil.copytree(tmp, os.environ["CLEW_VM_KEEP"], ignore=shutil.ignore_patterns("root"), dirs_exist_ok=True)
    tap.done()


def tap_row(row, names):
    if row.name in names:
        return True
    tap.check(False, f"{row.name}: the machine got that far")
    return False


main()
