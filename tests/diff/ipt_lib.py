# SPDX-License-Identifier: LGPL-2.1-or-later
"""Intel PT for tests against other tools: the AUX areas of recordings, and streams made here."""
import glob
import os
import random
import struct

PSB = b"\x02\x82" * 8
# Bytes after what may be a packet, so that readers that disagree on its length agree again.
PADS = bytes(24)


def recordings(data):
    """[(name, path)] of DATA/intel-pt-truth and DATA/intel-pt."""
    truth = sorted(glob.glob(os.path.join(data, "intel-pt-truth", "*", "perf.data")))
    real = sorted(glob.glob(os.path.join(data, "intel-pt", "*.data")))
    return [(os.path.basename(os.path.dirname(p)), p) for p in truth] + [(os.path.basename(p), p) for p in real]


def aux_areas(path):
    """[(offset in the file, bytes)] of each AUXTRACE record."""
    with open(path, "rb") as f:
        data = f.read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end, ret = at + size, []
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        at += size
        if kind == 71:
            aux = struct.unpack_from("<Q", data, at - size + 8)[0]
            ret.append((at, data[at:at + aux]))
            at += aux
    return ret


def payloads(rng, many):
    """16 bytes that may follow a header: zeros, ones, chance, and chance with small bytes first."""
    yield bytes(16)
    yield b"\xff" * 16
    for _ in range(many):
        yield rng.randbytes(16)
        yield bytes(rng.randrange(4) for _ in range(3)) + rng.randbytes(13)


def each_packet():
    """Each first byte, each second one after 02, each third one after 02 C3, with some payloads; in a block of PEBS, too."""
    rng = random.Random(1)
    heads = [bytes([i]) for i in range(256)] + [bytes([2, i]) for i in range(256)] + [bytes([2, 0xc3, i]) for i in range(256)]
    # A TNT whose highest bit is at each place; a CYC of each length; a MODE of each leaf and value.
    heads += [b"\x02\xa3" + (1 << i).to_bytes(6, "little") for i in range(48)]
    heads += [bytes([rng.randrange(32) << 3 | 7] + [rng.randrange(128) << 1 | 1 for _ in range(i)] + [rng.randrange(128) << 1]) for i in range(12)]
    heads += [bytes([0x99, i]) for i in range(256)]
    out = b""
    for head in heads:
        for payload in payloads(rng, 6 if len(head) < 3 else 1):
            out += PSB + head + payload + PADS
    for block in (b"\x02\x63\x01", b"\x02\x63\x81"):
        for head in heads[:512]:
            out += PSB + block + b"\x04" + bytes(8) + head + next(payloads(rng, 0)) + PADS + PSB + block + head + rng.randbytes(16) + PADS
    return out


def anything():
    """Bytes by chance, with a PSB now and then."""
    rng = random.Random(2)
    return b"".join(PSB + rng.randbytes(rng.randrange(100)) + PADS for _ in range(3000))


def record(kind, body):
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def recording(aux):
    """A perf.data with one AUXTRACE of a thread."""
    pmu, ids, attrs, start = 8, 104, 112, 256
    attr = struct.pack("<IIQQQQQ", pmu, 128, 1, 1, 0x10003, 0, 1 | 1 << 18).ljust(128, b"\0")
    info = (pmu, 0, 0, 0, 0, 1 << 10, 1 << 11, 0, 0, 0, 1 << 9, 0xf << 14, 84, 1, 2, 20, 0)
    data = record(70, struct.pack("<II%dQ" % len(info), 1, 0, *info))
    data += record(11, struct.pack("<QQQ", 0, len(aux), 0) + struct.pack("<IIQ", 7, 7, 42))
    data += record(71, struct.pack("<QQQIIII", len(aux), 0, 0, 0, 7, 0xffffffff, 0)) + aux
    head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, attrs, 144, start, len(data), 0, 0) + bytes(32)
    return head + struct.pack("<Q", 42) + (attr + struct.pack("<QQ", ids, 8)).ljust(start - 112, b"\0") + data
