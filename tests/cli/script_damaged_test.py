#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: script_damaged_test.py CLEW PROGRAM

PROGRAM writes recordings into the folder it is given. Damaged at random (the same way each time), each makes `clew
script` end with status 0 or 1 in reasonable time, in every form of output; whole lines of JSON stay JSON. TAP.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

NR_RUNS = 240
SECONDS = 60
FORMS = [
    [],
    ["--json", "--inline"],
    ["-D"],
    ["-F", "+misc", "--header"],
    ["--ns", "--show-task-events", "--show-mmap-events", "--show-namespace-events", "--show-cgroup-events"],
    ["--show-switch-events", "--show-bpf-events", "--show-text-poke-events", "--show-lost-events", "--show-round-events"],
]


def damage(data):
    for _ in range(random.choice([0, 1, 3, 10, 50])):
        at = random.randrange(len(data))
        data[at] = random.choice([0, 255, 128, random.randrange(256), data[at] ^ 1])
    if random.random() < 0.3:
        del data[random.randrange(len(data)):]
    return data


def is_bad_json(text):
    try:
        for line in text.splitlines():
            json.loads(line)
    except ValueError as error:
        return str(error)
    return None


def complaint(clew, path, form):
    """What is wrong with this run, or None."""
    try:
        run = subprocess.run([clew, "script", "-i", path] + form, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s"
    if run.returncode not in (0, 1) or b"Sanitizer" in run.stderr or b"runtime error" in run.stderr:
        return f"status {run.returncode}: {run.stderr[-600:].decode(errors='replace')}"
    return is_bad_json(run.stdout) if "--json" in form else None


def main():
    clew, program = sys.argv[1:3]
    random.seed(6)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True, stdout=subprocess.DEVNULL)
        files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
        bad = []
        for i in range(NR_RUNS):
            with open(random.choice(files), "rb") as file:
                data = damage(bytearray(file.read()))
            path = os.path.join(folder, "damaged")
            with open(path, "wb") as file:
                file.write(data)
            form = FORMS[i % len(FORMS)]
            why = complaint(clew, path, form)
            if why:
                bad.append(f"run {i} {' '.join(form)}: {why}")
    for line in "\n".join(bad).splitlines()[:40]:
        print("#", line)
    print("not ok" if bad else "ok", 1, f"- {NR_RUNS} damaged recordings of {len(files)}")
    print("1..1")
    return bool(bad)


sys.exit(main())
