#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: etm_insns.py CLEW FOLDER...

`clew script --itrace=i1i` prints every instruction of the trace snapshots in the folders, by the digests of their
SUMMARY.tsv (../shared/data/README.md), unit by unit; of several sessions, one after the other. TAP."""
import collections
import hashlib
import os
import subprocess
import sys


def wanted(folder):
    """Of each snapshot: {(instructions, digest)} of the units that ran any."""
    ret = collections.defaultdict(set)
    for summary in (os.path.join(folder, "golden", "SUMMARY.tsv"), os.path.join(folder, "SUMMARY.tsv")):
        if not os.path.exists(summary):
            continue
        for line in open(summary, encoding="ascii"):
            field = line.rstrip("\n").split("\t")
            if field[2].isdigit() and int(field[2]):
                ret[field[0]].add((int(field[2]), field[-1]))
    return ret


def printed(clew, snapshot):
    """The same of what clew prints: a unit's sessions are named NAME_s0, NAME_s1, ... after the first."""
    digest = collections.defaultdict(hashlib.sha256)
    count = collections.Counter()
    with subprocess.Popen([clew, "script", "-i", snapshot, "--itrace=i1i", "-F", "comm,ip"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        for line in run.stdout:
            name, ip = line.split()
            name = name.rsplit("_s", 1)[0]
            digest[name].update((ip + "\n").encode())
            count[name] += 1
    return {(count[name], digest[name].hexdigest()) for name in digest}


def main():
    clew, count, failed = os.path.abspath(sys.argv[1]), 0, 0
    for folder in sys.argv[2:]:
        for name, want in sorted(wanted(folder).items()):
            snapshot = os.path.join(folder, name)
            if not os.path.isdir(snapshot):
                continue
            got = printed(clew, snapshot)
            count += 1
            failed += got != want
            print("ok" if got == want else "not ok", count, "-", name, sum(n for n, _ in want), "instructions")
            if got != want:
                print("# got", got, "\n# want", want)
    print(f"1..{count}" if count else "1..0 # SKIP no snapshots here")
    return failed != 0


sys.exit(main())
