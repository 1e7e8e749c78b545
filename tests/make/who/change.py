# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes of a recording: such that must not change answers, or only where evidence is gone, and damage (sections 14.5 and 14.6 of the
specification)."""
import random
import struct

from perf_bytes import AUXTRACE_HEAD_BYTES, R_AUXTRACE, R_COMM, R_EXIT, R_FORK, R_SWITCH, R_SWITCH_CPU_WIDE

NR_UNRELATED = 300
SHIFT = 5000

CHANGES = {
    "order": (lambda seed: {"order": random.Random(f"order/{seed}")}, "rings are read in another order, trace before or after its sideband"),
    "cuts": (lambda seed: {"cuts": 1 + seed}, "chunks of AUX data end elsewhere"),
    "unrelated": (lambda seed: {"unrelated": NR_UNRELATED}, "threads that never run"),
    "shift-root": (lambda seed: {"shift_root": SHIFT}, "all root ids are greater by a constant"),
    "shift-local": (lambda seed: {"shift_local": SHIFT}, "all ids of containers are greater by a constant"),
    "no-contexts": (lambda seed: {"ctx": False}, "no context packets"),
    "no-switches": (lambda seed: {"switches": False}, "no switch records"),
}


def options(name, seed):
    return CHANGES[name][0](seed)


# Damage.

SHARE = 0.01
DATA_AT = 40  # in the file's header: offset and size of the records
DAMAGED_TYPES = (R_COMM, R_EXIT, R_FORK, R_SWITCH, R_SWITCH_CPU_WIDE)
TICKS_NS = 40  # whole ticks of all counters of the model
TRAILER_BYTES = 32  # pid, tid, time, cpu, identifier


def mutate_file(path, seed):
    """Damage 1 % of the sideband: a bit of an id, or a time that moves by whole ticks, which no test of the clock can see; with odd seeds a bit of
    the time, which is no whole tick then: the clock is not trusted. @return how many records were touched"""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    rng, nr_touched = random.Random(f"mutate/{seed}"), 0
    for at, size in sideband(data):
        if rng.random() < SHARE:
            if seed % 2 or rng.random() < 0.5:
                flip(data, at, size, rng, seed % 2)
            else:
                move(data, at + size - TRAILER_BYTES + 8, rng)
            nr_touched += 1
    with open(path, "wb") as file:
        file.write(data)
    return nr_touched


def sideband(data):
    """(offset, size) of each record that the kernel wrote about threads."""
    return ((at, size) for kind, at, size in records(data) if kind in DAMAGED_TYPES and size >= TRAILER_BYTES + 8)


def records(data):
    """(type, offset, size)"""
    at, size = struct.unpack_from("<QQ", data, DATA_AT)
    end = at + size
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        yield kind, at, size
        at += size
        if kind == R_AUXTRACE:
            at += struct.unpack_from("<Q", data, at - AUXTRACE_HEAD_BYTES + 8)[0]


def flip(data, at, size, rng, is_time):
    """The ids or the time of the trailer, or ids of the body."""
    trailer = at + size - TRAILER_BYTES
    places = [trailer + 8] if is_time else [trailer, at + 8] if trailer - at >= 16 else [trailer]
    data[rng.choice(places) + rng.randrange(8)] ^= 1 << rng.randrange(8)


def move(data, at, rng):
    """The time at @at, by a power of two of ticks, either way."""
    time, = struct.unpack_from("<Q", data, at)
    struct.pack_into("<Q", data, at, time + rng.choice((-1, 1)) * (TICKS_NS << rng.randrange(24)) & (1 << 64) - 1)
