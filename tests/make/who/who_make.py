#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Make a recording of the model and its truth, the same bytes for the same arguments.

Usage: who_make.py CASE SEED OUT [CHANGE | OPTION=NUMBER]...
       who_make.py --list    cases and changes; options: BASE of cases.py

OUT.data, OUT.truth; OUT.kallsyms: the kernel's symbols. merge: OUT.guestN.data, recordings made inside guests, and OUT.merge: their clocks."""
import random
import struct
import sys

import change
import recording
from cases import CASES, options
from guest_recording import COLUMNS, GuestRecording
from host import Host
from perf_bytes import R_AUXTRACE_INFO, Clock, record
from recorder import IDLE_TEXT, IDLE_TEXT_BYTES, KERNEL_TEXT, Recorder
from spe_trace import Spe
from truth import Truth

SPE_TYPE = 4  # of AUXTRACE_INFO
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


    def guests(self):
        """Of the cases about merging: the recordings made inside the guests."""
        return [GuestRecording(self.recorder, guest, self.rng["guests"], self.opts["drift"]) for guest in self.host.guests]


def kallsyms():
    return "".join(f"{address:x} T {name}\n" for address, name in KALLSYMS)


def write_files(out, case, seed, changes=None):
    """@changes: options over those of the case."""
    made = Made(case, seed, changes)
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


def write_guests(out, guests):
    for guest in guests:
        with open(f"{out}.guest{guest.guest.number}.data", "wb") as file:
            file.write(guest.data)
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
