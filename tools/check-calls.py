#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: check-calls.py libclew-ROOM.a ...: each function or table that a room uses of another room has to belong to one that its
line of tools/layers.txt names. Includes alone do not show that: a header of an allowed room may pass on those of others.
Prints ROOM OBJECT: SYMBOL belongs to ROOM, and exits 1, for each that does not. Run from the top folder, on a plain build."""
import os
import re
import subprocess
import sys


def read_layers(path):
    """@return {room: the rooms it may use}"""
    layers = {}
    with open(path, encoding="ascii") as f:
        for line in f:
            m = re.match(r"([a-z][\w/]*):\s*(.*)", line.partition("#")[0])
            if m:
                layers[m.group(1)] = set(m.group(2).split())
    return layers


def room_of(archive, layers):
    """libclew-packet-etm.a is packet/etm."""
    name = os.path.basename(archive).removeprefix("libclew-").removesuffix(".a")
    return next((room for room in layers if room.replace("/", "-") == name), None)


def symbols(archive):
    """(object, kind, name) of each global symbol"""
    text = subprocess.run(["nm", "-g", "-P", archive], check=True, capture_output=True, text=True).stdout
    current = ""
    for line in text.splitlines():
        head = re.fullmatch(r".*\[(.*)\]:", line)
        if head:
            current = head.group(1)
        elif line.strip():
            name, kind = line.split()[:2]
            yield os.path.basename(current), kind, name


def main():
    layers = read_layers("tools/layers.txt")
    owner, uses, failed = {}, [], 0
    for archive in sys.argv[1:]:
        room = room_of(archive, layers)
        if not room:
            print(f"{archive}: no line of tools/layers.txt")
            failed = 1
            continue
        for where, kind, name in symbols(archive):
            if kind in "Uw":
                uses.append((room, where, name))
            else:
                owner[name] = room
    for room, where, name in uses:
        to = owner.get(name, room)
        if to != room and to not in layers[room]:
            print(f"{room} {where}: {name} belongs to {to}")
            failed = 1
    if not owner:
        print("no symbols read")
        failed = 1
    return failed


sys.exit(main())
