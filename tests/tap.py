# SPDX-License-Identifier: LGPL-2.1-or-later
"""Test Anything Protocol for tests in Python."""
import sys

count = failed = 0


def check(ok, name, note=""):
    """@p note says why not: anything, or a list of lines."""
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}", flush=True)
    lines = map(str, note) if isinstance(note, (list, tuple)) else str(note).splitlines()
    for line in list(lines)[:20] if not ok else ():
        print("# " + line, flush=True)


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def done():
    print(f"1..{count}")
    sys.exit(failed != 0)
