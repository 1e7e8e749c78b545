# SPDX-License-Identifier: LGPL-2.1-or-later
"""Intel PT: decoding against libipt's block decoder, and text against perf script, in one run."""
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


def repeat(path, to, nr):
    """Write a copy of the perf.data, of one AUXTRACE record and without timestamps in it, with its trace nr times: each time begins with a PSB."""
    with open(path, "rb") as f:
        data = f.read()
    start, size = struct.unpack_from("<QQ", data, 40)
    records, more = [], 0
    for kind, at, size_of in records_of(data):
        record = bytearray(data[at:at + size_of])
        records.append(record)
        if kind == AUXTRACE:
            trace = data[at + size_of:at + size_of + struct.unpack_from("<Q", record, 8)[0]]
            struct.pack_into("<Q", record, 8, len(trace) * nr)
            records += [trace] * nr
            more += len(trace) * (nr - 1)
    head, features = bytearray(data[:start]), bytearray(data[start + size:])
    struct.pack_into("<Q", head, 48, size + more)
    for i in range(sum(bin(word).count("1") for word in struct.unpack_from("<4Q", data, 72))):
        struct.pack_into("<Q", features, 16 * i, struct.unpack_from("<Q", features, 16 * i)[0] + more)
    with open(to, "wb") as f:
        f.writelines([head, *records, features])


def cpu_of(argv, nr):
    """CPU seconds, to /dev/null, the least of nr runs."""
    best = None
    for _ in range(nr):
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, use = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        took = use.ru_utime + use.ru_stime
        best = took if best is None else min(best, took)
    return best


def script(who, path, how):
    return [who, "script", *how, "-i", path, "--symfs", os.path.join(DATA, "symfs")]


def bench_text(clew, path, how):
    """As it is: start-up, symbols, and code that is met for the first time."""
    mine, other = cpu_of(script(clew, path, how), 10), cpu_of(script("perf", path, how), 3)
    print(f"  {os.path.basename(path)}: script {' '.join(how)}: clew {1000 * mine:.1f} ms, perf {1000 * other:.1f} ms of CPU: {other / mine:.1f} x", flush=True)


def bench_long_text(clew, name, how, mine_mib, other_mib):
    """Repeated. perf, of which 100 MiB take minutes, is given fewer repeats: what is compared is CPU time per MiB of trace."""
    path = os.path.join(DATA, name + ".data")
    size = len(parts_of(path)[0])
    took = {}
    with tempfile.TemporaryDirectory() as folder:
        for who, mib in ((clew, mine_mib), ("perf", other_mib)):
            long, nr = os.path.join(folder, "long.data"), max(1, (mib << 20) // size)
            repeat(path, long, nr)
            took[who] = (cpu_of(script(who, long, how), 2 if who == clew else 1), nr * size / 2**20)
    (mine, m), (other, o) = took[clew], took["perf"]
    print(f"  {name}.data, repeated: script {' '.join(how)}: clew {m:.0f} MiB in {mine:.2f} s ({m / mine:.0f} MiB/s), perf {o:.0f} MiB in {other:.2f} s "
          f"({o / other:.1f} MiB/s) of CPU: {m / mine / (o / other):.1f} x", flush=True)


def bench_texts(clew):
    forms = ["--call-trace"], ["--itrace=b"], ["--itrace=b", "-F", "ip,addr,flags"], ["--itrace=e"], ["--insn-trace"]
    for how in forms:
        for name in ("unzip",) if how == ["--insn-trace"] else ("qemu", "mruby", "unzip"):
            bench_text(clew, os.path.join(DATA, name + ".data"), how)
    for how, mine, other in ((forms[0], 100, 10), (forms[1], 100, 5), (forms[3], 100, 10), (forms[4], 20, 1)):
        for name in "qemu", "mruby", "unzip":
            bench_long_text(clew, name, how, mine, other)


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
    bench_texts(os.path.join(build, "clew"))
    print(f"  all in {time.monotonic() - start:.0f} s")
