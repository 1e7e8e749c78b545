#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two real virtual machines that record themselves while this host is recorded, merged by clew merge: README.md beside this file.

Usage: CLEW_VM=1 guest_merge_vm.py CLEW VMLINUZ     Environment: QEMU, BUSYBOX (static), ACCEL (tcg,thread=multi), CLEW_VM_SECONDS (5),
CLEW_VM_KEEP (a folder for the recordings)"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import tap  # noqa: E402
import vm_lib  # noqa: E402

SECONDS = os.environ.get("CLEW_VM_SECONDS", "5")
BOOT_LIMIT = 400


def accel():
    return os.environ.get("ACCEL", "tcg,thread=multi")


def make_initramfs(tmp, clew):
    root = os.path.join(tmp, "root")
    vm_lib.make_root(root, "guest_init", {"clew": clew})
    with open(os.path.join(root, "seconds"), "w") as f:
        f.write(SECONDS)
    return vm_lib.pack(root)


def boot(tmp, n, kernel, initramfs):
    # On a busy host an emulated timer is late: the kernel would panic, or stop to trust its counter and let its clock jump.
    late = "no_timer_check tsc=reliable"
    cpu = "host" if accel().startswith("kvm") else "Haswell"
    argv = vm_lib.machine(kernel, initramfs, [f"{tmp}/console{n}", f"{tmp}/guest{n}.data"], memory=512, cpu=cpu, accel=accel(), boot=late,
                          more=["-name", f"guest{n},debug-threads=on"])
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def record_all(tmp, clew, kernel, initramfs):
    """@return the pids of both machines; their recordings and the host's are in tmp."""
    host = subprocess.Popen([clew, "record", "-q", "-a", "--switch-events", "-e", "cpu-clock", "-F", "49", "-o", f"{tmp}/host.data"],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    machines = [boot(tmp, n, kernel, initramfs) for n in range(2)]
    for machine in machines:
        try:
            machine.wait(BOOT_LIMIT)
        except subprocess.TimeoutExpired:
            machine.kill()
            machine.wait()
    host.send_signal(signal.SIGINT)
    _, err = host.communicate(timeout=60)
    tap.check(os.path.exists(f"{tmp}/host.data"), "the host is recorded", err)
    return [m.pid for m in machines]


def check_merged(tmp, clew, pids):
    out = f"{tmp}/merged.data"
    p = subprocess.run([clew, "merge", f"--guest={tmp}/guest0.data", f"--guest={tmp}/guest1.data", f"{tmp}/host.data", "-o", out],
                       capture_output=True, text=True, check=False)
    print("# " + p.stderr.replace("\n", "\n# "))
    fits = re.findall(r"guest(\d)\.data: process (\d+): (sure|likely): .*?contained (\d+) of (\d+)", p.stderr)
    tap.check([(int(n), int(pid)) for n, pid, *_ in fits] == list(enumerate(pids)), "each guest is found to be of its own process, without a hint", fits)
    tap.check(all(int(a) >= 0.99 * int(b) for *_, a, b in fits), "their events fall where their virtual CPUs ran", fits)
    wrong = subprocess.run([clew, "merge", f"--guest={tmp}/guest0.data,{pids[1]}", f"{tmp}/host.data", "-o", f"{tmp}/wrong"],
                           capture_output=True, text=True, check=False)
    tap.check(wrong.returncode == 1, "the other process is refused", wrong.stderr)
    if p.returncode:
        return
    text = subprocess.run([clew, "script", "-i", out, "--show-switch-events"], capture_output=True, text=True, check=False).stdout
    tap.check(re.search(r"init +\d+ .*PERF_RECORD_SWITCH", text), "switches inside the guests are in the merged recording", text[-500:])
    if shutil.which("perf"):
        perf = subprocess.run(["perf", "script", "-i", out, "--show-switch-events"], capture_output=True, text=True, check=False)
        tap.check(perf.returncode == 0 and "out of order" not in perf.stderr, "perf script reads it", perf.stderr)


def main():
    if os.environ.get("CLEW_VM") != "1" or len(sys.argv) < 3 or vm_lib.what_is_missing():
        tap.skip_all("CLEW_VM=1, qemu, a static busybox and a kernel are needed")
    clew = os.path.realpath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        pids = record_all(tmp, clew, sys.argv[2], make_initramfs(tmp, clew))
        for n in range(2):
            size = os.path.getsize(f"{tmp}/guest{n}.data") if os.path.exists(f"{tmp}/guest{n}.data") else 0
            console = open(f"{tmp}/console{n}", errors="replace").read() if os.path.exists(f"{tmp}/console{n}") else ""
            tap.check(size > 1 << 14, f"guest {n} recorded itself", console[-600:])
        check_merged(tmp, clew, pids)
        if os.environ.get("CLEW_VM_KEEP"):
            shutil.copytree(tmp, os.environ["CLEW_VM_KEEP"], ignore=shutil.ignore_patterns("root"), dirs_exist_ok=True)
    tap.done()


main()
