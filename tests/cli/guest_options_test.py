#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Code of virtual machines by --guestmount and --guestvmlinux, in each command that decodes trace: the model's guests, merged.

Usage: guest_options_test.py CLEW"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, *where) for where in (("..",), ("..", "truth"), ("..", "make", "who"))]
# pylint: disable=wrong-import-position
import tap
import who_etm
import who_make

CLEW = os.path.realpath(sys.argv[1])


class Merged:
    def __init__(self, prefix):
        who_make.write_files(prefix, "etm-guests", 0)
        self.fs, (self.data, self.mount) = prefix + ".fs", who_etm.merge_guests(CLEW, prefix)
        self.machine = min(os.listdir(self.mount))

    def run(self, command, *words):
        host = ("-i", self.data, "--symfs", self.fs, "-k", self.fs + "/vmlinux")
        return subprocess.run([CLEW, command, *host, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)

    def executed(self, *words):
        """Instructions by --digest, by --ranges, and by script."""
        digest = sum(int(line.split()[1]) for line in self.run("trace", "--digest", *words).stdout.splitlines())
        ranges = [json.loads(line) for line in self.run("trace", "--ranges", "--json", *words).stdout.splitlines()]
        script = self.run("script", "--itrace=i1i", "-F", "ip", *words).stdout.splitlines()
        return digest, sum((int(r["end"], 16) - int(r["start"], 16)) // 4 for r in ranges if "start" in r), len(script)


def check_code(merged, name, words, nr_host):
    digest, ranges, script = merged.executed(*words)
    tap.check(digest > nr_host, f"{name}: trace decodes code of guests", (digest, nr_host))
    tap.check(digest == ranges == script, f"{name}: trace --digest, --ranges and script have the same instructions", (digest, ranges, script))


def check_inject(merged):
    binary = f"--binary=/{merged.machine}/bin/image4"
    p = merged.run("inject", binary, "--guestmount=" + merged.mount)
    tap.check(p.returncode == 0 and re.search(r"^[0-9a-f]+-[0-9a-f]+:\d+$", p.stdout, re.M), "inject: a profile of a guest's program", p.stderr)
    p = merged.run("inject", binary)
    tap.check(p.returncode == 1 and "no code of a binary" in p.stderr, "inject: none without the guests' files", p.stderr)


def main():
    with tempfile.TemporaryDirectory() as where:
        merged = Merged(os.path.join(where, "m"))
        nr_host = merged.executed()[0]
        # The other guest has another kernel: what comes of its trace with this one is not looked at.
        check_code(merged, "--guestvmlinux", [f"--guestvmlinux={merged.mount}/{merged.machine}/vmlinux"], nr_host)
        check_code(merged, "--guestmount", ["--guestmount=" + merged.mount], nr_host)
        check_inject(merged)
        p = merged.run("trace", "--digest", "--guestkallsyms=/dev/null", "--guestmodules=/dev/null")
        tap.check(p.returncode == 0, "--guestkallsyms and --guestmodules are taken, too", p.stderr)
    tap.done()


main()
