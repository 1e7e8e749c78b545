# SPDX-License-Identifier: LGPL-2.1-or-later
"""ETMv4 packets of one trace unit, CoreSight frames around them, and perf's metadata.

Spec: Arm ETMv4 (IHI 0064), "Trace protocol"; CoreSight architecture (IHI 0029), "Trace formatter"; Linux tools/perf/util/cs-etm.h."""
import struct

EXCEPTION_CALL, EXCEPTION_IRQ = 2, 14
ASYNC_INFO = bytes(11) + b"\x80\x01\x01\x00\x04"  # A-sync, trace info, trace on
EVENT_PACKET = b"\x71"
FRAME_BYTES, DATA_BYTES = 16, 14
ETM_MAGIC = 0x4040404040404040


def first_id(cpu):
    """Trace ID of a CPU's unit."""
    return 0x10 + 2 * cpu


def address(at):
    return bytes([at >> 2 & 0x7f, at >> 9 & 0x7f]) + (at >> 16).to_bytes(6, "little")


class Unit:
    """`has_vmid`, `has_cid`: are CONTEXTIDR_EL2 (as VMID, VMIDOPT) and CONTEXTIDR_EL1 traced? `out`: packets of the current chunk."""

    def __init__(self, has_vmid, has_cid):
        self.has_vmid, self.has_cid, self.out = has_vmid, has_cid, bytearray()

    def begin(self):
        self.out += ASYNC_INFO

    def context(self, el, vmid, cid):
        info = el | 0x30 | (0x40 if self.has_vmid else 0) | (0x80 if self.has_cid else 0)
        return bytes([info]) + b"".join(struct.pack("<I", value) for value, has in ((vmid, self.has_vmid), (cid, self.has_cid)) if has)

    def go_to(self, at, el, vmid, cid):
        self.out += b"\x85" + address(at) + self.context(el, vmid, cid)

    def ids(self, el, vmid, cid):
        self.out += b"\x81" + self.context(el, vmid, cid)

    def atoms(self, text):
        """@text: E and N."""
        while text:
            n = len(text) - len(text.lstrip("E"))
            if n >= 4:
                n = min(n, 24)
                self.out.append(0xc0 | n - 4)
            else:
                n = 1
                self.out.append(0xf7 if text[0] == "E" else 0xf6)
            text = text[n:]

    def exception(self, kind, back):
        self.out += bytes([6, 1 | kind << 1, 0x9d]) + address(back)

    def exception_return(self):
        self.out.append(7)

    def target(self, at):
        self.out += b"\x9d" + address(at)

    def time(self, tick):
        out = bytearray([2])
        for n in range(8):
            out.append(tick >> 7 * n & 0x7f | (0x80 if n < 7 or tick >> 56 else 0))
        if tick >> 56:
            out.append(tick >> 56 & 0xff)
        self.out += out


def frames(data, ident):
    """Formatter frames with one source: each begins with its ID, the last is filled with ID 0, which takes an even slot."""
    if len(data) % DATA_BYTES and len(data) % 2 == 0:
        data += EVENT_PACKET
    return b"".join(frame(data[at:at + DATA_BYTES], ident) for at in range(0, len(data), DATA_BYTES))


def frame(part, ident):
    out = bytearray(FRAME_BYTES)
    out[0] = ident << 1 | 1
    for slot, value in enumerate(part, 1):
        if slot % 2 == 0:  # its low bit is in the last byte
            out[FRAME_BYTES - 1] |= (value & 1) << slot // 2
            value &= 0xfe
        out[slot] = value
    if len(part) < DATA_BYTES:
        out[1 + len(part)] = 0x01
    return bytes(out)


def auxtrace_info(nr_cpus, pmu, trcconfigr):
    words = [1, pmu << 32 | nr_cpus, 0]
    for cpu in range(nr_cpus):
        words += [ETM_MAGIC, cpu, 8, trcconfigr, first_id(cpu), 0x28000ea1, 0x4100f422, 0x20001088, 0, 0xcc, 1]
    return struct.pack(f"<II{len(words)}Q", 3, 0, *words)
