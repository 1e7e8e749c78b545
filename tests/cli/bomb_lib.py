# SPDX-License-Identifier: LGPL-2.1-or-later
"""Small files that stand for much: ELF files, recordings, and a way to run clew on them and see what it took."""
import lzma
import os
import struct
import subprocess
import tempfile
import zlib

TEXT_AT, TEXT_BYTES, BASE = 0x1000, 64, 1 << 24

# --- ELF files: Spec: System V ABI, "Object Files" ---

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNSYM = 1, 2, 3, 11
SHF_ALLOC, SHF_EXEC, SHF_COMPRESSED = 2, 4, 0x800


class Section:
    def __init__(self, name, data, kind=SHT_PROGBITS, flags=0, addr=0, link=0, entry=0):
        self.name, self.data, self.kind, self.flags, self.addr, self.link, self.entry = name, data, kind, flags, addr, link, entry


def symbol(name, value, size=TEXT_BYTES):
    return struct.pack("<IBBHQQ", name, 0x12, 0, 1, value, size)  # a global function in section 1


def symbols(names, first_link, kind=SHT_SYMTAB):
    """The two sections of a symbol table, all at .text; @p first_link: number of the second one."""
    text, table = b"\0", bytes(24)
    for i, name in enumerate(names):
        table += symbol(len(text), TEXT_AT + i * TEXT_BYTES // len(names), TEXT_BYTES // len(names))
        text += name + b"\0"
    prefix = b".dyn" if kind == SHT_DYNSYM else b"."
    flags = SHF_ALLOC if kind == SHT_DYNSYM else 0
    return [Section(b".dynsym" if flags else b".symtab", table, kind, flags, link=first_link, entry=24),
            Section(prefix + b"str" if flags else b".strtab", text, SHT_STRTAB, flags)]


def elf(sections, load_bytes=1 << 20):
    names, body, heads, at = b"\0", b"", [bytes(64)], 64 + 56
    sections = sections + [Section(b".shstrtab", None, SHT_STRTAB)]
    places = []
    for s in sections:
        places.append(len(names))
        names += s.name + b"\0"
    for s, name in zip(sections, places):
        data = names if s.data is None else s.data
        body += bytes(-(at + len(body)) % 16)
        heads.append(struct.pack("<IIQQQQIIQQ", name, s.kind, s.flags, s.addr, at + len(body), len(data), s.link, 0, 16, s.entry))
        body += data
    body += bytes(-(at + len(body)) % 16)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, at + len(body), 0, 64, 56, 1, 64,
                                                     len(heads), len(heads) - 1)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, load_bytes, load_bytes, 4096)
    return head + load + body + b"".join(heads)


def text_section():
    return Section(b".text", b"\x90" * TEXT_BYTES, flags=SHF_ALLOC | SHF_EXEC, addr=TEXT_AT)


def exported(names=(b"exported",)):
    return [text_section()] + symbols(names, 3, SHT_DYNSYM)


def with_debugdata(unpacked_bytes):
    """A stripped library with a packed symbol table that unpacks to that."""
    strings = b"\0hidden_function\0" + bytes(unpacked_bytes)
    table = Section(b".symtab", bytes(24) + symbol(1, TEXT_AT), SHT_SYMTAB, link=3, entry=24)
    inner = elf([text_section(), table, Section(b".strtab", strings, SHT_STRTAB)])
    return elf(exported() + [Section(b".gnu_debugdata", lzma.compress(inner, preset=0))])


def with_lines(rows, dir_bytes=1, nr_files=1, more=()):
    """One compile unit over .text and the following, with a packed line table of so many rows. Spec: DWARF 4, 6.2."""
    program = b"\0\x09\2" + struct.pack("<Q", TEXT_AT) + b"\x21" * rows + b"\0\1\1"
    lengths = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    before = struct.pack("<BBBbBB", 1, 1, 1, -5, 14, 13) + lengths + b"d" * dir_bytes + b"\0\0" + b"a.c\0\0\0\0" + b"b\0\1\0\0" * (nr_files - 1) + b"\0"
    table = struct.pack("<HI", 4, len(before)) + before + program
    table = struct.pack("<I", len(table)) + table
    abbrev = b"\1\x11\0\3\x08\x10\x17\x11\1\x12\7\0\0\0"
    unit = struct.pack("<HIB", 4, 0, 8) + b"\1a.c\0" + struct.pack("<IQQ", 0, TEXT_AT, 1 << 32)
    packed = struct.pack("<IIQQ", 1, 0, len(table), 1) + zlib.compress(table, 9)
    return elf(exported() + [Section(b".debug_abbrev", abbrev), Section(b".debug_info", struct.pack("<I", len(unit)) + unit),
                             Section(b".debug_line", packed, flags=SHF_COMPRESSED), *more])


def packed_zeros(name, size):
    """A packed section."""
    pack, part = zlib.compressobj(9), bytes(1 << 20)
    data = b"".join(pack.compress(part) for _ in range(size >> 20)) + pack.flush()
    return Section(name, struct.pack("<IIQQ", 1, 0, size, 1) + data, flags=SHF_COMPRESSED)


# --- recordings: Spec: Linux tools/perf/Documentation/perf.data-file-format.txt ---

IP, TID, TIME, CALLCHAIN, CPU, PERIOD = 1, 2, 4, 0x20, 0x80, 0x100
PERF_CONTEXT_USER, PERF_CONTEXT_USER_DEFERRED = (1 << 64) - 512, (1 << 64) - 640
DEFERS = 3 << 38  # of an event's flags: defer_callchain, defer_output


def record(kind, body, misc=2):
    body += bytes(-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def mmap2(addr, size, path, time=1, pid=1):
    name = path + b"\0"
    name += bytes(-len(name) % 8)
    return record(10, struct.pack("<IIQQQIIQQII", pid, pid, addr, size, 0, 0, 0, 0, 0, 5, 2) + name +
                  struct.pack("<IIQII", pid, pid, time, 0, 0))


def comm(tid, name, time=1):
    name += b"\0"
    return record(3, struct.pack("<II", tid, tid) + name + bytes(-len(name) % 8) + struct.pack("<IIQII", tid, tid, time, 0, 0))


def sample(ip, time=2, chain=None, pid=1):
    body = struct.pack("<QIIQIIQ", ip, pid, pid, time, 0, 0, 1)
    if chain is not None:
        body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
    return record(9, body)


def attr_of(kind, more_flags=0):
    flags = more_flags | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 18 | 1 << 23
    return struct.pack("<IIQQQQQ", 1, 128, 0, 1000, kind, 0, flags).ljust(128, b"\0")


def with_ids(nr_events, nr_ids):
    """Events that all have the same ids; no records."""
    ids_at = 104 + nr_events * 144
    attrs = (attr_of(IP | TID | TIME) + struct.pack("<QQ", ids_at, nr_ids * 8)) * nr_events
    ids = struct.pack(f"<{nr_ids}Q", *range(1, nr_ids + 1))
    return b"PERFILE2" + struct.pack("<8Q4Q", 104, 144, 104, len(attrs), ids_at + len(ids), 0, 0, 0, 0, 0, 0, 0) + attrs + ids


def recording(data, has_chains=False, features=(), flags=0):
    """@p features: (number, bytes), in order."""
    attr = attr_of(IP | TID | TIME | CPU | PERIOD | (CALLCHAIN if has_chains else 0), flags)
    data_at = 104 + len(attr) + 16
    bits, table, blob = [0] * 4, b"", b""
    features = list(features) or [(6, arch())]
    for number, content in features:
        bits[number // 64] |= 1 << number % 64
        table += struct.pack("<QQ", data_at + len(data) + 16 * len(features) + len(blob), len(content))
        blob += content
    head = b"PERFILE2" + struct.pack("<8Q4Q", 104, len(attr) + 16, 104, len(attr) + 16, data_at, len(data), 0, 0, *bits)
    return head + attr + bytes(16) + data + table + blob


def arch():
    return struct.pack("<I", 64) + b"x86_64".ljust(64, b"\0")


def zstd_frame(parts):
    """@p parts: bytes as they are, a number of zeros, or (byte, how often), each below 128 KiB. Spec: RFC 8878, 3.1.1"""
    out = struct.pack("<IBB", 0xfd2fb528, 0, 0x50)  # a window of 1 MiB, no size, no checksum
    for i, part in enumerate(parts):
        if isinstance(part, bytes):
            size, kind, text = len(part), 0, part
        else:
            text, size = (b"\0", part) if isinstance(part, int) else part
            kind = 1
        out += (size << 3 | kind << 1 | (i == len(parts) - 1)).to_bytes(3, "little") + text
    return out


ROUND = record(68, b"", misc=0)  # FINISHED_ROUND: what stands before the last one may be played


def etm_unit():
    """AUXTRACE_INFO of one ETMv4 unit, CPU 0. Spec: Linux tools/perf/util/cs-etm.h"""
    words = [1, 1, 0, 0x4040404040404040, 0, 8, 1, 0x10, 0x28000ea1, 0x4100f403, 0x488, 0, 0, 1]
    return record(70, struct.pack(f"<II{len(words)}Q", 3, 0, *words), misc=0)


def aux(offset, size, time):
    return record(11, struct.pack("<QQQ", offset, size, 0) + struct.pack("<IIQII", 1, 1, time, 0, 0), misc=0)


def auxtrace(offset, payload):
    return record(71, struct.pack("<QQQIIII", len(payload), offset, 0, 0, 1, 0, 0), misc=0) + payload


LONG = 60000


def packed_names(kind, numbers, head, tail=struct.pack("<IIQII", 1, 1, 1, 0, 0)):
    """A COMPRESSED record of records with long names, each of which has a number; @p head(number): what stands before the name."""
    parts = []
    for number in numbers:
        name = head(number) + b"/%07d" % number
        last = bytes(8) + tail  # the name ends there
        parts += [struct.pack("<IHH", kind, 2, 8 + len(name) + LONG + len(last)) + name, (b"x", LONG), last]
    frame = zstd_frame(parts)
    return struct.pack("<IHH", 81, 0, 8 + len(frame)) + frame


def packed_samples(times, record_bytes=65528):
    """A COMPRESSED record of samples that are mostly zeros."""
    parts = []
    for time in times:
        one = sample(0x1000, time)
        parts += [struct.pack("<IHH", 9, 2, record_bytes) + one[8:], record_bytes - len(one)]
    frame = zstd_frame(parts)
    return struct.pack("<IHH", 81, 0, 8 + len(frame)) + frame


IS_PACKED = 27, struct.pack("<IIIII", 1, 1, 1, 1, 1 << 20)


# --- runs ---

class Run:
    """clew's output, status and the most memory it had at once, in KiB."""

    def __init__(self, clew, words):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([clew] + words, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     env=dict(os.environ, PAGER="cat", XDG_CACHE_HOME="/nonexistent"))
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = self.status = os.waitstatus_to_exitcode(status)
            self.kib = usage.ru_maxrss
            self.out, self.err = (self.read(f) for f in (out, err))

    @staticmethod
    def read(f):
        f.seek(0)
        return f.read().decode("utf8", "replace")


def is_sanitized(clew):
    """Then its memory is mostly the sanitizer's."""
    with open(clew, "rb") as f:
        return b"__asan_init" in f.read()
