# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arm SPE records. Parts of a record are encoded once and put together for each, because the model makes millions.

Spec: Arm ARM (DDI 0487), "Statistical Profiling Extension sample record specification"."""
import functools
import random

from perf_bytes import M56

PAD, END, CONTEXT, TIMESTAMP = b"\0", b"\x01", 0x64, 0x71
PC, TARGET, DATA_VA, DATA_PA = 0xb0, 0xb1, 0xb2, 0xb3
LATENCY_TOTAL, LATENCY_ISSUE, LATENCY_XLAT = 0x98, 0x99, 0x9a
EVENTS_2, SOURCE, OP_OTHER, OP_MEMORY, OP_BRANCH = 0x52, 0x43, 0x48, 0x49, 0x4a
NON_SECURE = 1 << 63
NR_PARTS = 512


def packet(header, value, size=8):
    return bytes([header]) + (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def address(header, value, el):
    return packet(header, value & M56 | NON_SECURE | el << 61)


def contexts(values):
    """@values: (index, id) pairs; index 0: CONTEXTIDR_EL1, 1: CONTEXTIDR_EL2."""
    return b"".join(packet(CONTEXT + index, value, 4) for index, value in values)


def memory(rng, el):
    """What stands before and after the contexts of a load or store."""
    top = 0x1ffff << 47 if el else 0
    before = packet(EVENTS_2, rng.choice([0x16, 0x16, 0x1e, 0x36, 0x11e, 0x31e]), 2) + packet(OP_MEMORY, rng.choice([0, 0, 0, 1, 4, 5, 0x12]), 1)
    before += packet(DATA_VA, rng.randrange(1 << 47) | top) + packet(LATENCY_XLAT, rng.randrange(1, 40), 2)
    if rng.random() < 0.1:
        before += packet(DATA_PA, rng.randrange(1 << 40) | NON_SECURE)
    return before, packet(SOURCE, rng.choice([0, 8, 0xb, 0xe]), 1)


def branch(rng, el):
    target = rng.randrange(1 << 20) * 4 | (0xffff8 << 44 if el else 0)
    return (packet(EVENTS_2, 2 | rng.choice([0, 0, 0x80, 0x40]), 2) + packet(OP_BRANCH, rng.choice([0, 1, 1, 2]), 1)
            + address(TARGET, target, el)), b""


def part(rng, el):
    """All between the PC and the timestamp but the contexts, as (before, after)."""
    latency = packet(LATENCY_ISSUE, rng.randrange(1, 8), 2) + packet(LATENCY_TOTAL, rng.randrange(8, 900), 2)
    kind = rng.randrange(10)
    if kind < 9:
        before, after = memory(rng, el) if kind < 6 else branch(rng, el)
    else:
        before, after = packet(EVENTS_2, 2, 2) + packet(OP_OTHER, 0, 1), b""
    return latency + before, after


class Parts:
    """Encoded parts of records at one level: PC packets of code that begins at `base`, and operations. The same ones in every recording."""

    def __init__(self, el, base, nr_insns):
        rng = random.Random(f"{el}/{base}")
        self.pcs = [address(PC, base + 4 * rng.randrange(nr_insns), el) for _ in range(NR_PARTS)]
        self.ops = [part(rng, el) for _ in range(NR_PARTS)]

    @functools.lru_cache(maxsize=256)
    def with_contexts(self, values):
        """The operations with contexts in their place: one list per task."""
        context_bytes = contexts(values)
        return [before + context_bytes + after for before, after in self.ops]


@functools.lru_cache(maxsize=None)
def parts_of(el, base, nr_insns):
    return Parts(el, base, nr_insns)
