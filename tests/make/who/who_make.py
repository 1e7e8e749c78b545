#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Make a recording of the model and its truth, the same bytes for the same arguments.

Usage: who_make.py CASE SEED OUT [CHANGE | OPTION=NUMBER]...
       who_make.py --list    cases and changes; options: BASE of cases.py

OUT.data, OUT.truth; OUT.kallsyms: the kernel's symbols. ETM: OUT.fs: files with code. Cases with recordings made inside guests:
OUT.guestN.data; OUT.guestN.cpus: a line per virtual CPU, the host's CPU of each sample; and OUT.merge: their clocks."""
import os
import random
import struct
import sys

import change
import recording
from cases import CASES, options
from etm_bytes import auxtrace_info
from etm_code import KERNEL_BASE, KERNEL_SYMBOLS, USER_BASE, USER_CODE, elf
from etm_trace import Etm, truth_lines
from guest_recording import COLUMNS, GuestRecording
from host import Host
from perf_bytes import R_AUXTRACE_INFO, Clock, record
from recorder import IDLE_TEXT, IDLE_TEXT_BYTES, KERNEL_TEXT, Recorder
from spe_trace import Spe
from truth import Truth

SPE_TYPE = 4  # of AUXTRACE_INFO
TRC_BASE, TRC_VMID, TRC_CID = 1 | 1 << 11, 1 << 7 | 1 << 15, 1 << 6  # TRCCONFIGR: timestamps; VMID with VMIDOPT; CID
WRAP_MASK = (1 << 56) - 1
KALLSYMS = ((KERNEL_TEXT, "_text"), (IDLE_TEXT, "cpu_do_idle"), (IDLE_TEXT + IDLE_TEXT_BYTES, "arch_cpu_idle_dead"))


class Made:
    """A run of a machine and its recording."""

    def __init__(self, case, seed, changes=None):
        self.rng = {part: random.Random(f"{case}/{seed}/{part}") for part in ("machine", "clock", "trace", "loss", "file", "guests")}
        self.opts = opts = options(case, seed, changes or {})
        self.rng["cuts"] = random.Random(f"{case}/{seed}/cuts/{opts['cuts']}")
        us, clock = opts["us"], self.rng["clock"]
        begin, mask, cycles = clock.randrange(10**12, 10**13), 0, 0
        if opts["wrap"]:
            begin, mask = (1 << 56) - us * 500 * opts["ms"], WRAP_MASK
            cycles = begin - us * 5_000_000
        self.clock = self.counter = self.started(Clock(opts["freq"], 0, cycles, mask), begin, clock.randrange(10**12, 10**13))
        if opts["use_clockid"]:
            self.clock = self.started(Clock(opts["freq"] * 1001 // 1000), begin, clock.randrange(10**15, 10**16))
            self.clock.record = self.counter.record
        self.host = Host(self.rng["machine"], opts, begin, begin + opts["ms"] * 1000 * us, us)
        self.recorder = Recorder(self.host, opts, self.clock)
        self.recorder.record_sideband()

    @staticmethod
    def started(clock, tick, ns):
        clock.zero = ns - clock.ns(tick & WRAP_MASK if clock.mask else tick)
        return clock

    def spe(self):
        """@return (bytes of the file, lines of the truth)"""
        buffers = Spe(self.recorder, self.rng["trace"], self.rng["cuts"]).buffers()
        self.recorder.lose(self.rng["loss"])
        info = record(R_AUXTRACE_INFO, 0, struct.pack("<IIQQ", SPE_TYPE, 0, self.opts["pmu"], 1))
        return recording.write(self.recorder, buffers, self.rng["file"], info), Truth(self.recorder).lines(buffers)


    def etm(self):
        """@return (bytes of the file, lines of the truth, Etm with its images)"""
        etm, opts = Etm(self.recorder, self.rng["trace"]), self.opts
        buffers = etm.buffers()
        has_cid = opts["host_el"] == 1 or opts["guests"] and opts["guest_ctx"]
        trcconfigr = TRC_BASE | (TRC_VMID if opts["host_el"] == 2 else 0) | (TRC_CID if has_cid else 0)
        info = record(R_AUXTRACE_INFO, 0, auxtrace_info(self.host.nr_cpus, opts["pmu"], trcconfigr))
        return recording.write(self.recorder, buffers, self.rng["file"], info), truth_lines(self.recorder, buffers), etm

    def guests(self):
        """The recordings made inside the guests."""
        return [GuestRecording(self.recorder, guest, self.rng["guests"], self.opts["drift"]) for guest in self.host.guests]


def kallsyms():
    return "".join(f"{address:x} T {name}\n" for address, name in KALLSYMS)


def write_files(out, case, seed, changes=None):
    """@changes: options over those of the case."""
    made = Made(case, seed, changes)
    if made.opts["trace"] == "etm":
        data, truth, etm = made.etm()
        write_images(out + ".fs", etm)
    else:
        data, truth = made.spe()
    if made.opts["guest_recordings"]:
        write_guests(out, made.guests())
    with open(out + ".data", "wb") as file:
        file.write(data)
    with open(out + ".truth", "w", encoding="utf-8") as file:
        file.writelines(truth)
    with open(out + ".kallsyms", "w", encoding="utf-8") as file:
        file.write(kallsyms())
    return made


def write_images(root, etm):
    """The files of the host; those of guests in guestN/."""
    for machine, kernel in etm.kernels.items():
        folder = root if machine is etm.host else os.path.join(root, machine.name)
        os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
        with open(os.path.join(folder, "vmlinux"), "wb") as file:
            file.write(elf(kernel, KERNEL_BASE, KERNEL_SYMBOLS))
        for (owner, number), code in etm.images.items():
            if owner is machine:
                with open(os.path.join(folder, "bin", f"image{number}"), "wb") as file:
                    file.write(elf(code, USER_BASE, [("loop", USER_CODE, len(code) * 4)]))


def write_guests(out, guests):
    for guest in guests:
        with open(f"{out}.guest{guest.guest.number}.data", "wb") as file:
            file.write(guest.data)
        with open(f"{out}.guest{guest.guest.number}.cpus", "w", encoding="utf-8") as file:
            file.writelines(" ".join(map(str, cpus)) + "\n" for cpus in guest.cpus)
    with open(out + ".merge", "w", encoding="utf-8") as file:
        file.write("#" + COLUMNS + "\n" + "".join(guest.row for guest in guests))


def changes_of(word, seed):
    name, equals, number = word.partition("=")
    return {name: int(number)} if equals else change.options(name, seed)


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, about) in {**CASES, **change.CHANGES}.items():
            print(f"{name:18} {about}")
    elif len(sys.argv) > 3 and sys.argv[1] in CASES:
        seed = int(sys.argv[2])
        write_files(sys.argv[3], sys.argv[1], seed, dict(pair for word in sys.argv[4:] for pair in changes_of(word, seed).items()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
