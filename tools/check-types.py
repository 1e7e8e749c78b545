#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: check-types.py: each struct, union, enum, constant, macro, typedef and inline function that a room uses of another room's
headers has to belong to one that its line of tools/layers.txt names. Neither includes nor symbols show that: a header of an allowed room
passes on the types of others. Prints FILE:LINE: NAME belongs to ROOM, and exits 1, for each that does not. Run from the top folder."""
import glob
import os
import re
import sys

KERNEL = "/vmlinux.h"
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
TAG = re.compile(r"\b(?:struct|union|enum)\s+(?:__attribute__\(\(\w+\)\)\s+)?([A-Za-z_]\w*)(\s*\{)?")
ENUM = re.compile(r"\benum\b[^;{}()]*\{([^{}]*)\}")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
TYPEDEF = re.compile(r"^typedef\b[^;{}]*?(?:\(\*(\w+)\)|(\w+))\s*(?:\([^;]*\))?;", re.M)
INLINE = re.compile(r"^static inline\b[^;{}()=]*?(?:__attribute__\(\(\w+\)\)[^;{}()=]*?)?(\w+)\(", re.M)
STATIC = re.compile(r"^static\b[^;{}()=]*?\b(\w+)\(", re.M)
OPAQUE = re.compile(r"^(?:struct|union)\s+(\w+);", re.M)
WORD = re.compile(r"(?<![.\w>])[A-Za-z_]\w*")


def read_layers(path):
    """@return {room: the rooms it may use}, {public header: the room that owns it}"""
    layers, public = {}, {}
    with open(path, encoding="ascii") as f:
        for line in f:
            line = line.partition("#")[0]
            room = re.match(r"([a-z][\w/]*):\s*(.*)", line)
            header = re.match(r"<clew/(.*)>\s*=\s*(\S+)", line)
            if room:
                layers[room.group(1)] = set(room.group(2).split())
            elif header:
                public[header.group(1)] = header.group(2)
    return layers, public


def read_code(path):
    """The file's text without comments and literals, its lines kept."""
    with open(path, encoding="utf-8") as f:
        return NOISE.sub(lambda m: "\n" * m.group().count("\n") or " ", f.read())


def defined_names(code):
    """{(is a tag, name)} that @p code defines: a tag follows struct, union or enum"""
    tags = {m.group(1) for m in TAG.finditer(code) if m.group(2)}
    words = set(MACRO.findall(code)) | set(INLINE.findall(code))
    words |= {a or b for a, b in TYPEDEF.findall(code)}
    for body in ENUM.findall(code):
        body = re.sub(r"\([^()]*\)", "", body)
        words |= set(re.findall(r"(?:^|,)\s*([A-Za-z_]\w*)", body))
    return {(True, name) for name in tags} | {(False, name) for name in words}


def opaque_names(code, room):
    """Tags that @p room declares for the rooms above it to define, by its own name: struct trace_steps; in trace"""
    return {(True, name) for name in OPAQUE.findall(code) if name.startswith(os.path.basename(room) + "_")}


def used_names(code):
    """(line, is a tag, name)"""
    for m in TAG.finditer(code):
        yield code.count("\n", 0, m.start()) + 1, True, m.group(1)
    for number, line in enumerate(code.split("\n"), 1):
        for name in WORD.findall(line):
            yield number, False, name


def wrong_uses(code, own, owners, may):
    """(line, name, rooms) of the first use of each name in @p code that only rooms outside of @p may define"""
    seen = set(own)
    for line, is_tag, name in used_names(code):
        rooms = owners.get((is_tag, name), may)
        if (is_tag, name) not in seen and not rooms & may:
            seen.add((is_tag, name))
            yield line, name, " or ".join(sorted(rooms))


def find_sources(public):
    """@return {path: room}"""
    sources = {path: os.path.dirname(path).removeprefix("src/") for path in glob.glob("src/**/*.[ch]", recursive=True)}
    return sources | {f"include/clew/{name}": room for name, room in public.items() if os.path.exists(f"include/clew/{name}")}


def main():
    layers, public = read_layers("tools/layers.txt")
    sources = find_sources(public)
    code = {path: read_code(path) for path in sorted(sources)}
    own = {path: defined_names(text) for path, text in code.items()}
    owners = {}
    for path, names in own.items():
        for name in names | opaque_names(code[path], sources[path]) if path.endswith(".h") and not path.endswith(KERNEL) else ():
            owners.setdefault(name, set()).add(sources[path])
    for path, text in code.items():
        own[path] = own[path] | {(False, name) for name in STATIC.findall(text)}
    for path in own:  # BPF programs have the kernel's names of their room's vmlinux.h; they are no room's
        own[path] = own[path] | own.get(os.path.dirname(path) + KERNEL, set())
    wrong = [f"{path}:{line}: {name} belongs to {to}" for path, text in code.items()
             for line, name, to in wrong_uses(text, own[path], owners, {sources[path]} | layers.get(sources[path], set()))]
    if not owners:
        wrong.append("no headers read")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
