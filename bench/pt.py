# SPDX-License-Identifier: LGPL-2.1-or-later
"""Intel PT: decoding against libipt's block decoder and perf script, in one run."""
import os
import shutil
import struct
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.realpath(os.path.join(HERE, "..", "..", "shared", "data", "intel-pt"))
MMAP2, AUXTRACE = 10, 71
LONG_BYTES = 100 << 20


def records_of(data):
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield kind, at, size
        at += size + (struct.unpack_from("<Q", data, at + 8)[0] if kind == AUXTRACE else 0)


def parts_of(path):
    """The trace of a perf.data, and its code as FILE:OFFSET:ADDRESS:BYTES."""
    with open(path, "rb") as f:
        data = f.read()
    trace, sections = b"", []
    for kind, at, size in records_of(data):
        if kind == AUXTRACE:
            trace += data[at + size:at + size + struct.unpack_from("<Q", data, at + 8)[0]]
        elif kind == MMAP2:
            address, length, offset = struct.unpack_from("<QQQ", data, at + 16)
            name = data[at + 72:at + size].split(b"\0")[0].decode()
            file = os.path.join(DATA, "symfs") + name
            if os.path.exists(file):
                length = min(length, os.path.getsize(file) - offset)
                sections.append(f"{file}:{offset}:{address}:{length}")
    return trace, sections


def bench_decoding(tool, path):
    trace, sections = parts_of(path)
    name = os.path.basename(path)
    with tempfile.NamedTemporaryFile() as raw:
        raw.write(trace)
        raw.flush()
        print(f"  {name}, as it is ({len(trace) >> 10} KiB):", flush=True)
        subprocess.run([tool, raw.name, "1", "10", *sections], check=False)
        print(f"  {name}, repeated to {LONG_BYTES >> 20} MiB:", flush=True)
        subprocess.run([tool, raw.name, str(LONG_BYTES // len(trace)), "1", *sections], check=False)


def bench_text(clew, path, *how):
    """CPU seconds, to /dev/null."""
    times = {}
    for who in clew, "perf":
        best = None
        for _ in range(2):
            before = os.times()
            subprocess.run([who, "script", *how, "-i", path, "--symfs", os.path.join(DATA, "symfs")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
            after = os.times()
            took = after.children_user + after.children_system - before.children_user - before.children_system
            best = took if best is None else min(best, took)
        times[who] = best
    print(f"  {os.path.basename(path)}: script {' '.join(how)}: clew {times[clew]:.2f} s, perf {times['perf']:.2f} s of CPU: {times['perf'] / times[clew]:.1f} x", flush=True)


def bench_pt(build):
    """@return nothing; prints ratios."""
    if subprocess.run(["ninja", "-C", build, "bench/pt_bench"], stdout=subprocess.DEVNULL, check=False).returncode:
        print("pt: libipt is not installed, and it is what clew is compared with: apt-get install libipt-dev")
        return
    print("pt:", flush=True)
    if not os.path.isdir(DATA):
        print(f"  {DATA}: not here")
        return
    start = time.monotonic()
    for name in "qemu", "mruby", "unzip":
        bench_decoding(os.path.join(build, "bench", "pt_bench"), os.path.join(DATA, name + ".data"))
    if not shutil.which("perf"):
        print("  perf is not installed: apt-get install linux-perf")
        return
    for how in ("--call-trace",), ("--itrace=b", "-F", "ip,addr,flags"), ("--itrace=e",):
        for name in "qemu", "mruby":
            bench_text(os.path.join(build, "clew"), os.path.join(DATA, name + ".data"), *how)
    print(f"  all in {time.monotonic() - start:.0f} s")
