# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests need of a little-endian ELF file, of 32 or 64 bits: where it is loaded. Spec: gABI, Program Header."""
import collections
import struct

Load = collections.namedtuple("Load", "is_executable offset address bytes")


def loads(data):
    """PT_LOAD segments, with the bytes they have in the file."""
    wide = data[4] == 2
    start, = struct.unpack_from("<Q" if wide else "<I", data, 32 if wide else 28)
    size, nr = struct.unpack_from("<HH", data, 54 if wide else 42)
    for at in range(start, start + size * nr, size):
        if wide:
            kind, flags, offset, address, _, filled = struct.unpack_from("<IIQQQQ", data, at)
        else:
            kind, offset, address, _, filled, _, flags = struct.unpack_from("<IIIIIII", data, at)
        if kind == 1:
            yield Load(bool(flags & 1), offset, address, filled)


def code_load(data):
    """The first one that is executable; None: there is none."""
    return next((load for load in loads(data) if load.is_executable), None)


def offset_of(data, address):
    """Where @address is in the file; None: it is not."""
    return next((address - s.address + s.offset for s in loads(data) if 0 <= address - s.address < s.bytes), None)


def entry(data):
    """The entry point's offset in the file; None: it has none. Of 64 bits."""
    return offset_of(data, struct.unpack_from("<Q", data, 24)[0])
