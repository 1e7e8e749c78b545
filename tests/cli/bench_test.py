#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench/stacks.py and bench/run.py with recorders that do not run: each says why. No recording is made, nothing is timed.

Usage: bench_test.py"""
import contextlib
import io
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, ".."), os.path.join(HERE, "..", "..", "bench")]
import run  # noqa: E402  # pylint: disable=wrong-import-position
import stacks  # noqa: E402  # pylint: disable=wrong-import-position
import tap  # noqa: E402  # pylint: disable=wrong-import-position

# what it does, what is printed of it
RECORDERS = {
    "refused": ("echo first >&2; echo 'no permission: perf_event_open' >&2; exit 255", "did not run: exit status 255: no permission: perf_event_open"),
    "silent": ("exit 3", "did not run: exit status 3"),
    "killed": ("kill -9 $$", "did not run: signal 9"),
    "no time": ("echo done; echo captured >&2", "did not run: prints no time: captured"),
    "nothing": ("", "did not run: prints no time"),
    "not UTF-8": (r"printf '\377 is not known\n' >&2; exit 1", "did not run: exit status 1: \ufffd is not known"),
    "now and then": ("[ -e $0.once ] && { rm $0.once; echo 1.5 1.25; exit 0; }; : >$0.once; echo busy >&2; exit 1", "1 of 2 did not run: exit status 1: busy"),
}


def script(folder, name, text):
    path = os.path.join(folder, name.replace(" ", "-"))
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)
    return path


def said(text, name):
    return [line.split(name, 1)[1].strip() for line in text.splitlines() if line.strip().startswith(name + " ") and "did not run" in line]


def printed(function, *args):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        function(*args)
    return out.getvalue()


def of_stacks(folder, tools, target):
    stacks.ROUNDS = 2
    clew = script(folder, "reads nothing", "exit 1")
    return printed(stacks.section, "a target", clew, tools, [target], lambda name: os.path.join(folder, "data"))


def of_record(folder, tools, target):
    run.DIR, run.PERF = folder, None
    return printed(lambda: run.print_records(tools, *run.record_rounds(tools, [target], 2)))


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "data"), "wb"):
            pass
        tools = {name: script(folder, name, text) for name, (text, _) in RECORDERS.items()}
        tools["not there"] = os.path.join(folder, "no-such-file")
        expected = {name: want for name, (_, want) in RECORDERS.items()}
        expected["not there"] = f"did not run: [Errno 2] No such file or directory: '{tools['not there']}'"
        target, broken = script(folder, "target", "echo 1.5 1.25"), script(folder, "broken", "echo no such input >&2; exit 4")
        alone = {"alone": None, **tools}
        for what, text in (("stacks", of_stacks(folder, [(name, tool, []) for name, tool in alone.items()], target)),
                           ("record", of_record(folder, alone, target))):
            for name, want in expected.items():
                tap.check(said(text, name) == [want], f"{what}: {name}", text)
        for what, text in (("stacks", of_stacks(folder, [("alone", None, [])], broken)), ("record", of_record(folder, {"alone": None}, broken))):
            tap.check("the target did not run: exit status 4: no such input" in text, f"{what}: the target itself", text)
    tap.done()


main()
