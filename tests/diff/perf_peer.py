# SPDX-License-Identifier: LGPL-2.1-or-later
"""Recordings that the installed perf makes and can read."""
import subprocess
import time

TRIES = 5
PATIENCE = 240  # seconds, for a recorder beside it to end


def record(path, options, program, reader, env=None):
    """perf record to @p path, once more where that or `perf READER` fails: beside a recorder that wants build ids Linux writes what
    perf does not survive (record_beside_test.py, which lasts longer than some tries). @return the last recording's CompletedProcess, and
    whether perf reads it."""
    def run(*argv):
        return subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    end, tries, is_read = time.monotonic() + PATIENCE, 0, False
    while not is_read and time.monotonic() < end:
        if tries:
            time.sleep(1)
        p = run("perf", "record", "-o", path, *options, "--", *program)
        is_read = p.returncode == 0 and run("perf", *reader, "-i", path).returncode == 0
        tries += 1
        if tries >= TRIES and p.returncode > 0:  # it has said why, and was not killed
            break
    return p, is_read
