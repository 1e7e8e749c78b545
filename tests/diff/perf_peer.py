# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings that the installed perf makes and can read."""
import subprocess

TRIES = 5


def record(path, options, program, reader, env=None):
    """perf record to @p path, once more where that or `perf READER` fails: beside a recorder that wants build ids Linux writes what
    perf does not survive (record_beside_test.py). @return the last recording's CompletedProcess, and whether perf reads it."""
    def run(*argv):
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    for _ in range(TRIES):
        p = run("perf", "record", "-o", path, *options, "--", *program)
        is_read = p.returncode == 0 and run("perf", *reader, "-i", path).returncode == 0
        if is_read:
            break
    return p, is_read
