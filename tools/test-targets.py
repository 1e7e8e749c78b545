#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: test-targets.py BUILD [--suite SUITE] [TEST ...]

Print, one a line, the files in BUILD that the tests need: those of SUITE, those named, or all. `ninja -C BUILD` takes them. meson
builds the same by itself before it runs tests, but mixes the output of the build with theirs."""
import argparse
import json
import os
import subprocess
import sys


def introspect(build, what):
    return json.loads(subprocess.check_output(["meson", "introspect", "--" + what, build]))


def is_chosen(test, args):
    if args.suite and not any(suite.endswith(":" + args.suite) for suite in test["suite"]):
        return False
    return not args.tests or test["name"] in args.tests


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--suite")
    parser.add_argument("tests", nargs="*")
    args = parser.parse_args()
    chosen = [test for test in introspect(args.build, "tests") if is_chosen(test, args)]
    missing = set(args.tests) - {test["name"] for test in chosen}
    if missing or not chosen:
        sys.exit("no such test: " + ", ".join(sorted(missing) or [args.suite or "any"]))
    needed = {target for test in chosen for target in test["depends"]}
    files = {name for target in introspect(args.build, "targets") if target["id"] in needed for name in target["filename"]}
    print(*sorted(os.path.relpath(name, args.build) for name in files), sep="\n")


main()
