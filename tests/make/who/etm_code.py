# SPDX-License-Identifier: LGPL-2.1-or-later
"""Toy code of the model's ETM cases. Every image has its own length of loop, so that a wrong image or owner changes what is decoded; all user
images stand at one address, all kernels at another."""
import struct
import zlib

from etm_bytes import EXCEPTION_CALL, EXCEPTION_IRQ

USER_BASE, KERNEL_BASE = 0x400000, 0xffff800080000000
USER_CODE, KERNEL_CODE = USER_BASE + 0x100, KERNEL_BASE + 0x100
SWITCH_TO, GUEST_ENTER = KERNEL_BASE + 0x8000, KERNEL_BASE + 0x9000
NOP, SVC, ERET, RET = 0xd503201f, 0xd4000001, 0xd69f03e0, 0xd65f03c0


def b(pc, to):
    return 0x14000000 | (to - pc >> 2) & 0x3ffffff


def bl(pc, to):
    return 0x94000000 | (to - pc >> 2) & 0x3ffffff


def cbz(register, pc, to):
    return 0xb4000000 | (to - pc >> 2 & 0x7ffff) << 5 | register


def signed(value, bits):
    return value - (1 << bits) if value >> bits - 1 else value


def is_cbz(word):
    return word >> 24 == 0xb4


def is_b_or_bl(word):
    return word & 0x7c000000 == 0x14000000


def target_of(word, at):
    if is_cbz(word):
        return at + 4 * signed(word >> 5 & 0x7ffff, 19)
    return at + 4 * signed(word & 0x3ffffff, 26)


def user_image(number):
    """loop: nop...; cbz x0, loop; svc; b loop"""
    end = USER_CODE + 4 * (2 + number % 23)
    code = {at: NOP for at in range(USER_CODE, end, 4)}
    return {**code, end: cbz(0, end, USER_CODE), end + 4: SVC, end + 8: b(end + 8, USER_CODE)}


def kernel_image(nr_nops):
    """loop: nop...; cbz x0, loop; cbz x1, switch; cbz x2, enter; eret. switch: bl cpu_switch_to; b loop. enter: b __guest_enter"""
    end = KERNEL_CODE + 4 * nr_nops
    switch, enter = end + 16, end + 24
    code = {at: NOP for at in range(KERNEL_CODE, end, 4)}
    return {**code, end: cbz(0, end, KERNEL_CODE), end + 4: cbz(1, end + 4, switch), end + 8: cbz(2, end + 8, enter), end + 12: ERET,
            switch: bl(switch, SWITCH_TO), switch + 4: b(switch + 4, KERNEL_CODE), enter: b(enter, GUEST_ENTER),
            SWITCH_TO: NOP, SWITCH_TO + 4: RET, GUEST_ENTER: NOP, GUEST_ENTER + 4: ERET}


KERNEL_SYMBOLS = (("_text", KERNEL_BASE, 0), ("kernel_loop", KERNEL_CODE, 0x100), ("cpu_switch_to", SWITCH_TO, 8), ("__guest_enter", GUEST_ENTER, 8))


def elf(code, base, symbols):
    """A static executable with one segment, .text and a symbol table."""
    body = bytearray(max(code) + 4 - base)
    for at, word in code.items():
        struct.pack_into("<I", body, at - base, word)
    strings, table = b"\0", bytes(24)
    for name, at, size in symbols:
        table += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, at, size)
        strings += name.encode() + b"\0"
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    table_at = -(-len(body) // 8) * 8
    strings_at, names_at = table_at + len(table), table_at + len(table) + len(strings)
    sections_at = -(-(names_at + len(names)) // 8) * 8
    head = struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 2, 183, 1, min(code), 64, sections_at, 0, 64, 56, 1, 64, 5, 4)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, len(body), len(body), 0x1000)
    body[:len(head)] = head
    first = min(code) - base
    sections = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 1, 6, base + first, first, len(body) - first, 0, 0, 4, 0)
    sections += struct.pack("<IIQQQQIIQQ", 7, 2, 0, 0, table_at, len(table), 3, 1, 8, 24)
    for name_at, at, size in ((15, strings_at, len(strings)), (23, names_at, len(names))):
        sections += struct.pack("<IIQQQQIIQQ", name_at, 3, 0, 0, at, size, 0, 0, 1, 0)
    return (bytes(body).ljust(table_at, b"\0") + table + strings + names).ljust(sections_at, b"\0") + sections


class Run:
    """Instructions with one owner: how many, the first and last, CRC-32 of their addresses (hex and newline each)."""

    def __init__(self):
        self.nr_insns, self.first, self.last, self.crc = 0, None, None, 0

    def add(self, pc):
        self.first = pc if self.first is None else self.first
        self.last = pc
        self.nr_insns += 1
        self.crc = zlib.crc32(b"%x\n" % pc, self.crc)


class Core:
    """Executes toy code and emits packets of it. `note(owner, run)` is called for what ran with each owner."""

    def __init__(self, unit, note):
        self.unit, self.note = unit, note
        self.code, self.pc, self.owner, self.pending, self.link, self.run = None, None, None, "", None, Run()

    def own(self, owner):
        """What runs from here on is @owner's; None: nothing runs."""
        if self.run.nr_insns and self.owner:
            self.note(self.owner, self.run)
        self.owner, self.run = owner, Run()

    def flush(self):
        self.unit.atoms(self.pending)
        self.pending = ""

    def to_waypoint(self, pc, until=None):
        """@return the address of the next branch, or @until if that comes first."""
        while pc != until:
            self.run.add(pc)
            if self.code[pc] not in (NOP, SVC):
                break
            pc += 4
        return pc

    def atom(self, is_taken):
        at = self.to_waypoint(self.pc)
        word = self.code[at]
        self.pending += "E" if is_taken else "N"
        self.pc = None
        if is_cbz(word):
            self.pc = target_of(word, at) if is_taken else at + 4
        elif is_b_or_bl(word):
            self.link = at + 4 if word >> 31 else self.link
            self.pc = target_of(word, at)

    def atoms(self, text):
        for atom in text:
            self.atom(atom == "E")

    def loops(self, nr):
        while self.code[self.pc] >> 24 == 0x14:  # user code comes back after the svc
            self.atom(True)
        self.atoms("E" * nr)

    def switch_path(self):
        """Through cpu_switch_to, which returns to where the next task left it."""
        self.atoms("NEEE")
        self.flush()
        self.pc = self.link
        self.unit.target(self.pc)
        self.atom(True)

    def leave(self, is_guest_entry):
        """Out of a kernel by eret: to user code, or through __guest_enter."""
        self.atoms("NNEEE" if is_guest_entry else "NNNE")
        self.flush()
        self.unit.exception_return()

    def interrupt(self, rng, is_call=False):
        """Out of what runs by an exception. @return where it will continue"""
        if is_call:
            self.atom(False)
            back, kind = self.pc + 4, EXCEPTION_CALL
        else:
            back, kind = self.pc, EXCEPTION_IRQ
            while self.code[back] == NOP and rng.random() < 0.5:
                back += 4
        self.to_waypoint(self.pc, back)
        self.flush()
        self.unit.exception(kind, back)
        return back

    def enter(self, code, pc, *ids):
        """@ids: el, vmid, cid."""
        self.flush()
        self.code, self.pc = code, pc
        self.unit.go_to(pc, *ids)
