# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings with branch stacks, of a program that is compiled for them."""
import os
import random
import subprocess
from pathlib import Path

from elf_lib import offset_of

MISPRED, PREDICTED, IN_TX, ABORT = 1, 2, 4, 8

# Two functions named twin, which are two.
SOURCES = {
    "one.c": """#define NI __attribute__((noinline))
static NI int twin(int x) {
	return x * 3;
}
NI int first(int x) {
	return twin(x) + 1;
}
""",
    "two.c": """#define NI __attribute__((noinline))
static NI int twin(int x) {
	return x * 5;
}
NI int second(int x) {
	return twin(x) - 1;
}
int first(int);
int main(void) {
	volatile int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += first(i) + second(i);
	return sum & 1;
}
"""}


class Program:
    """A compiled program; functions by name, as (address, bytes), "twin" as twin1 and twin2."""

    def __init__(self, top):
        for name, text in SOURCES.items():
            Path(top, name).write_text(text, encoding="ascii")
        self.path = os.path.join(top, "prog")
        subprocess.run(["cc", "-g", "-O1", "-fno-inline", "-no-pie", "-Wl,-z,separate-code", "-o", "prog", *SOURCES], cwd=top, check=True)
        out = subprocess.run(["nm", "-S", "--defined-only", "prog"], cwd=top, capture_output=True, text=True, check=True).stdout
        self.at, twins = {}, 0
        for words in map(str.split, out.splitlines()):
            if len(words) == 4 and words[3] in ("main", "first", "second", "twin"):
                twins += words[3] == "twin"
                self.at[words[3] + str(twins) * (words[3] == "twin")] = (int(words[0], 16), int(words[1], 16))
        page = min(self.at.values())[0] & ~0xfff
        self.map = f"map 64 {page:x} 1000 {self.offset(page):x} {self.path}"

    def offset(self, address):
        """In the file, by its program headers."""
        return offset_of(Path(self.path).read_bytes(), address)

    def ip(self, name, offset=0):
        return self.at[name][0] + offset


def sample(ip, branches, time, event=0, pid=0x64, period=16, chain=()):
    line = f"sample {event} {pid:x} {ip:x} {time:x} {period:x}"
    if chain:
        line += " chain " + " ".join(f"{a:x}" for a in chain)
    if branches:
        line += " branches " + " ".join(f"{a:x} {b:x} {f:x}" for a, b, f in branches)
    return line


class Files:
    """The recordings, and what is known of them."""

    def __init__(self, top, prog, sample_make):
        self.top, self.prog, self.sample_make = top, prog, sample_make
        self.text = self.simple()
        self.file = self.make("simple.data", self.text)
        self.unsaid = self.make("unsaid.data", self.text, "--no-feature")
        self.pipe = self.make("pipe.data", self.text, "--pipe")
        self.random = self.make("random.data", self.mixed(random.Random(9), 300))

    def path(self, name):
        return os.path.join(self.top, name)

    def make(self, name, text, *options):
        """@return the path of the recording that @text describes."""
        data = subprocess.run([self.sample_make, *options], input=text.encode(), capture_output=True, check=True).stdout
        Path(self.path(name)).write_bytes(data)
        return self.path(name)

    def simple(self):
        ip, lines, time = self.prog.ip, [], 1000
        cases = [(6, "twin1", [(ip("first", 4), ip("twin1"), PREDICTED | 3 << 4), (ip("main", 12), ip("first"), MISPRED | 12 << 4),
                               (ip("twin1", 2), ip("first", 6), PREDICTED)]),
                 (3, "second", [(ip("second", 4), ip("twin2"), PREDICTED | IN_TX | 70 << 4), (ip("main", 16), ip("second"), ABORT | 70 << 4)]),
                 (1, "second", [(0x700000, ip("second"), PREDICTED), (0, 0, 0), (ip("first", 4), 0x7ffff000, PREDICTED), (0, ip("twin1"), 0)]),
                 (1, "first", [])]
        for nr, name, branches in cases:
            for _ in range(nr):
                time += 100
                lines.append(sample(ip(name, 1), branches, time, chain=(ip(name, 1), ip("main", 16))))
        return "\n".join(["event cycles chain branches", "comm 64 prog", self.prog.map, *lines]) + "\n"

    def mixed(self, dice, nr):
        """Branches between places of all functions and some outside, always with a prediction."""
        names = sorted(self.prog.at)
        lines = ["event cycles branches", "event faults branches", "comm 64 prog", "comm 65 other", self.prog.map,
                 self.prog.map.replace("map 64", "map 65")]

        def place():
            if dice.random() < 0.1:
                return dice.choice((0, 0x700000, 0x7ffff000))
            name = dice.choice(names)
            return self.prog.ip(name, dice.randrange(self.prog.at[name][1]))

        for i in range(nr):
            cycles = dice.choice((0, 1, 5, 900)) << 4
            stack = [(place(), place(), dice.choice((MISPRED, PREDICTED)) | dice.choice((0, IN_TX, ABORT)) | cycles)
                     for _ in range(dice.randrange(33))]
            lines.append(sample(place() or self.prog.ip("main"), stack, 1000 + i, event=dice.randrange(2), pid=dice.choice((0x64, 0x65)),
                                period=dice.randrange(1, 1000)))
        return "\n".join(lines) + "\n"
