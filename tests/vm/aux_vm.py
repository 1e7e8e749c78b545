#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""AUX recording on the AUX code of a real kernel: clew records from softaux in an emulated machine, and what it wrote is judged out here. README.md.

Usage: CLEW_VM=1 aux_vm.py CLEW [ROW ...]     Environment: CLEW_VM_CACHE (/tmp/kernels), CLEW_VM_KERNEL (6.12), CLEW_VM_KEEP=FOLDER, QEMU, BUSYBOX,
ARCH (amd64), CLEW_IN_VM: the clew that records in there, of a cross build; CLEW reads what it has recorded"""
import concurrent.futures
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

CACHE = vm_lib.CACHE
ARCH = vm_lib.fetched(vm_lib.ARCHS[os.environ.get("ARCH", "amd64")], CACHE)
KERNEL = os.environ.get("CLEW_VM_KERNEL", "6.12")
NEW_PERF = os.path.join(CACHE, "perf-6.12", "usr/bin/perf")
BOOT_SECONDS = 60
# Before each row's script. began: waits until what is recorded runs; $p: the recorder. now: seconds of the clock that perf's times are of, as the kernel's log
# is; that of /proc/uptime is seconds late after the slow boot of an emulated machine of arm64.
PRELUDE = r"""began() { until [ -e running ]; do kill -0 $p || exit 1; usleep 20000; done; }
now() { echo now > /dev/kmsg; dmesg | sed -n 's/^\[ *\([0-9.]*\)\] now$/\1/p' | tail -n 1; }
"""


def prepare():
    """Fetch what is missing, and build. @return (kernel, module), or why that cannot be."""
    fetched = vm_lib.fetch_machine(ARCH, CACHE, KERNEL)
    if isinstance(fetched, str):
        return fetched
    version, kernel = fetched
    if why := vm_lib.tool(os.path.join(HERE, "softaux", "build.sh"), CACHE, version):
        return why
    if vm_lib.fetch(vm_lib.AMD64, CACHE, "perf"):
        print("# no perf 6.12: it is not asked")
    return kernel, os.path.join(CACHE, f"softaux-{version}", "softaux.ko")


def make_initramfs(tmp, clew, module, rows):
    load, root = os.path.join(tmp, "load"), os.path.join(tmp, "root")
    subprocess.run([f"{ARCH.tools}gcc", "-O1", "-static", "-fno-pie", "-no-pie", "-o", load, os.path.join(HERE, "aux_load.c")], check=True)
    symbols = subprocess.run([f"{ARCH.tools}nm", load], capture_output=True, text=True, check=True).stdout
    addresses = {words[2]: words[0].lstrip("0") for words in map(str.split, symbols.splitlines()) if len(words) == 3}
    vm_lib.make_root(root, "aux_init", {"clew": clew, "load": load}, ARCH)
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


def next_row(f, at):
    """Of what the machine sends. @return (name, where it begins, where it ends), None: not whole yet. The first is its boot."""
    f.seek(at)
    line = f.readline(200)
    if not line.startswith(b"ROW ") or not line.endswith(b"\n"):
        return None
    _, name, size = line.decode().split()
    begin, end = at + len(line), at + len(line) + int(size)
    return (name, begin, end) if os.fstat(f.fileno()).st_size >= end else None


def unpack(to_folder, path):
    """What the machine sent, whole rows only. @return names"""
    names, at = [], 0
    with open(path, "rb") as f:
        while row := next_row(f, at):
            name, begin, at = row
            if begin == at:
                continue
            f.seek(begin)
            with tarfile.open(fileobj=io.BytesIO(f.read(at - begin))) as tar:
                for m in tar:
                    if m.isfile():
                        to = os.path.join(to_folder, name, os.path.basename(m.name))
                        os.makedirs(os.path.dirname(to), exist_ok=True)
                        with open(to, "wb") as one:
                            one.write(tar.extractfile(m).read())
            names.append(name)
    return names


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        words = f.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def run_machine(argv, out, until):
    """@return seconds of CPU: of the boot, then of each row. On a busy host only these say what a row costs."""
    used, before, at = [], 0, 0
    with open(out, "wb+") as f, subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None:
            now = cpu_seconds(p.pid)
            while row := next_row(f, at):
                at = row[2]
                used.append(now - before)
                before = now
            if time.monotonic() > until:
                print("# the machine did not come to its end")
                p.kill()
            time.sleep(0.1)
    return used or [before]


def clock(tmp):
    """For the kernel: on a busy host it would find a wrong frequency, and its seconds would be some tenths of one."""
    khz = subprocess.run([os.path.join(tmp, "load"), "tsc"], capture_output=True, text=True, check=False).stdout.strip() if ARCH.name == "amd64" else ""
    return f"tsc=reliable tsc_early_khz={khz}" if khz else ""


def port_to(path):
    """/dev/vport0p1 of the machine. A serial line is emulated byte by byte: 10 MB were a third of all CPU seconds."""
    return ("-device", "virtio-serial-pci,max_ports=2", "-chardev", f"file,id=rows,path={path}", "-device", "virtserialport,chardev=rows,nr=1")


def boot(tmp, to_folder, kernel, initramfs, rows):
    """@return the rows that came back. An emulator that crashes its guest (README.md) is given three boots."""
    console, out = os.path.join(tmp, "console"), os.path.join(tmp, "out")
    limit = BOOT_SECONDS + 3 * sum(row.limit for row in rows)
    names = []
    for _ in range(3):
        argv = vm_lib.machine(kernel, initramfs, [console], memory=1024, arch=ARCH, boot=f"no_timer_check {clock(tmp)}", more=port_to(out))
        began = time.monotonic()
        used = run_machine(argv, out, began + limit)
        names = unpack(to_folder, out)
        print(f"# {len(names)} of {len(rows)} rows in {time.monotonic() - began:.0f} s, {sum(used):.0f} s of CPU, {used[0]:.0f} of them to boot")
        if len(names) == len(rows):
            for name, seconds in zip(names, used[1:]):
                with open(os.path.join(to_folder, name, "cpu"), "w", encoding="ascii") as f:
                    f.write(f"{seconds:.1f}")
            break
        with open(console, errors="replace", encoding="utf-8") as f:
            print("# " + "\n# ".join(f.read()[-600:].splitlines()))
    return names


def boot_all(tmp, clew, kernel, module, rows):
    """In two machines side by side where that many CPUs are: most rows wait for something now and then. @return the rows that came back"""
    nr = min(int(os.environ.get("CLEW_VM_MACHINES", 2)), len(os.sched_getaffinity(0)), len(rows))

    def boot_one(i):
        folder = os.path.join(tmp, f"machine{i}")
        os.mkdir(folder)
        mine = rows[i::nr]
        return boot(folder, os.path.join(tmp, "rows"), kernel, make_initramfs(folder, clew, module, mine), mine)
    with concurrent.futures.ThreadPoolExecutor(nr) as pool:
        return [name for names in pool.map(boot_one, range(nr)) for name in names]


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
    print(f"# {row.name}: {end - began:.1f} s, {g.text('cpu') or 0} of CPU; {'; '.join(g.notes)}; {said}")


def main():
    clew, chosen = os.path.realpath(sys.argv[1]), sys.argv[2:]
    rows = [r for r in ROWS if not chosen or r.name in chosen or (chosen == ["short"] and r.is_short)]
    if os.environ.get("CLEW_VM") != "1" or not rows:
        tap.skip_all("CLEW_VM=1 boots machines, and fetches packages for them: tests/vm/README.md")
    if ARCH.name != "amd64" and "CLEW_IN_VM" not in os.environ:
        tap.skip_all(f"CLEW_IN_VM is wanted, a clew of {ARCH.name}: make check-vm ARCH={ARCH.name}")
    prepared = prepare()
    if isinstance(prepared, str) or vm_lib.what_is_missing(ARCH):
        tap.skip_all(prepared if isinstance(prepared, str) else f"missing: {vm_lib.what_is_missing(ARCH)}")
    kernel, module = prepared
    rows = those_of_arch([r for r in rows if os.path.exists(NEW_PERF) or not r.needs_perf])
    with tempfile.TemporaryDirectory() as tmp:
        clew = shutil.copy(clew, tmp)  # the same to the end, whatever is built meanwhile
        recorder = shutil.copy(os.environ.get("CLEW_IN_VM", clew), os.path.join(tmp, "recorder"))
        subprocess.run([f"{ARCH.tools}strip", recorder], check=True)
        names = boot_all(tmp, recorder, kernel, module, rows) if rows else []
        for row in rows:
            if tap_row(row, names):
                judge(tmp, clew, row)
        if os.environ.get("CLEW_VM_KEEP"):
            shutil.rmtree(os.path.join(os.environ["CLEW_VM_KEEP"], "rows"), ignore_errors=True)
            shutil.copytree(tmp, os.environ["CLEW_VM_KEEP"], ignore=shutil.ignore_patterns("root"), dirs_exist_ok=True)
    tap.done()


def those_of_arch(rows):
    for row in rows:
        if ARCH.name in row.not_on:
            tap.skip(row.name, f"{ARCH.name}: {row.not_on[ARCH.name]}")
    return [r for r in rows if ARCH.name not in r.not_on]


def tap_row(row, names):
    if row.name in names:
        return True
    tap.check(False, f"{row.name}: the machine got that far")
    return False


main()
