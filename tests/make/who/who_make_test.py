#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The model makes the same bytes for the same seed, on any day and with any hash seed; the committed sets are what it makes. TAP.

Usage: who_make_test.py DIR    tests/data/who"""
import hashlib
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
# pylint: disable=wrong-import-position
import tap

CASES = ("root-ctx", "box-mix-lost", "task", "thread", "truncate", "leak", "etm-guests", "merge")
NR_SETS = 6


def digests(folder):
    """{file below @folder: hash}"""
    out = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                out[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return out


def made(case, seed, hash_seed, *words):
    with tempfile.TemporaryDirectory() as where:
        subprocess.run([os.path.join(HERE, "who_make.py"), case, str(seed), os.path.join(where, "x"), *words], check=True,
                       env={**os.environ, "PYTHONHASHSEED": str(hash_seed)})
        return digests(where)


def set_words():
    """How sets.sh makes them."""
    with open(os.path.join(HERE, "sets.sh"), encoding="utf-8") as file:
        return re.findall(r"\w+=\d+", re.search(r"who_make\.py.*", file.read())[0])


def hash_of_set(path):
    return hashlib.sha256(subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout).hexdigest()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for case in CASES:
        one, other = made(case, 7, 1), made(case, 7, 2)
        tap.check(one == other and one["x.data"] != made(case, 8, 1)["x.data"], f"{case}: the same seed, the same bytes; another one, others")
    folder, words = sys.argv[1], set_words()
    names = sorted(name[:-len(".truth.zst")] for name in os.listdir(folder) if name.endswith(".truth.zst"))
    for name in names[::max(1, len(names) // NR_SETS)]:
        files = made(*name.split("."), 0, *words)
        same = all(files["x" + part] == hash_of_set(os.path.join(folder, name + part + ".zst")) for part in (".data", ".truth"))
        tap.check(same, f"{name} is what sets.sh makes", "run tests/make/who/sets.sh tests/data/who")
    tap.done()


if __name__ == "__main__":
    main()
