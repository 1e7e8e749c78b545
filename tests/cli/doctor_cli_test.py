#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""clew doctor and clew list: what they print, as text and as JSON, and their exit statuses."""
import json
import os
import shutil
import subprocess

from record_lib import CLEW, Tap


def run(*args):
    p = subprocess.run([CLEW, *args], capture_output=True, check=False)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


t = Tap()
status, out, err = run("doctor", "--json")
report = json.loads(out)
t.check(status == (0 if report["can_record"] else 1) and not err, "doctor: the status is the verdict", err)
t.check(report["version"] == 1, "doctor --json: version")
rows = report["rows"]
t.check(all(r["state"] in ("yes", "no", "fact") for r in rows), "doctor --json: states")
t.check(len({r["id"] for r in rows}) == len(rows), "doctor --json: ids are unique")
t.check(all(r["detail"] for r in rows if r["state"] == "no"), "doctor --json: each no has a reason")
status, text, err = run("doctor")
t.check(all(r["title"] in text for r in rows), "doctor: the text has all rows")
t.check("\033" not in text, "doctor: no colours off a terminal")
t.check(run("doctor", "nonsense")[0] == 2, "doctor: takes no words")
t.check(run("doctor", "--help")[0] == 0, "doctor --help")

status, out, err = run("list", "sw")
t.check(status == 0 and "context-switches" in out and "sched:" not in out, "list sw: software events only", out + err)
status, out, err = run("list", "--json", "*-faults")
events = [json.loads(line) for line in out.splitlines()]
t.check(len(events) >= 5 and all(e["name"].endswith("-faults") for e in events), "list --json: one object a line", out)
t.check(run("list", "no-such-event")[0] == 1, "list: nothing matches is status 1")
status, out, err = run("list")
t.check(status == 0 and "mem:ADDRESS" in out, "list: all", err)

# The shell completes what is listed.
completion = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "completions", "clew.bash")
if shutil.which("bash"):
    ask = '. "$1"; clew() { "$CLEW" "$@"; }; COMP_WORDS=(clew record -e page-f); COMP_CWORD=3; _clew; echo "${COMPREPLY[*]}"'
    p = subprocess.run(["bash", "-c", ask, "bash", completion], capture_output=True, check=False, env={**os.environ, "CLEW": CLEW})
    t.check(p.stdout.split() == [b"page-faults"], "bash completes the events of list", [p.stdout, p.stderr])
else:
    t.skip("bash completes the events of list", "no bash here")

# What is listed can be spelled.
if report["can_record"]:
    p = subprocess.run([CLEW, "record", "-o", t.path(), "-e", "cpu-clocks", "true"], capture_output=True, check=False)
    t.check(p.returncode != 0 and b"did you mean 'cpu-clock'?" in p.stderr, "a misspelt event is a question", p.stderr)
t.done()
