#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What clew doctor says is true: states are held to what the machine does, hints to what following them brings. Nothing of the machine is
changed: rights are given to a copy of the command."""
import json
import os
import re
import shutil
import subprocess

from record_lib import CLEW, Tap

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
t = Tap()
os.chmod(t.dir, 0o755)


def run(*args):
    p = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return p.returncode, p.stdout.decode(errors="replace"), p.stderr.decode(errors="replace")


def rows(*command):
    status, out, _ = run(*command, "doctor", "--json")
    return {r["id"]: r for r in json.loads(out)["rows"]} if status in (0, 1) and out else {}


def check_hints(found, who):
    """Commands exist where their package would be; packages are known to apt; a binary that gets rights is this one."""
    fixes = [r["fix"] for r in found.values() if r["fix"]]
    commands = {c for f in fixes for c in re.findall(r"\bsudo ([a-z-]+)", f)}
    missing = [c for c in commands if not shutil.which(c, path=SBIN)]
    if missing:
        t.skip(f"{who}: {missing} are there", "not installed in this image")
    t.check(not {c for c in commands} - {"setcap", "sysctl", "mount", "apt-get", "dnf"}, f"{who}: commands in hints", commands)
    for package in sorted({p for f in fixes for p in re.findall(r"apt-get install (\S+?),? ?(?:$|,|from)", f)}):
        status, out, _ = run("apt-cache", "policy", package) if shutil.which("apt-cache") else (1, "", "")
        if status or not run("apt-cache", "policy", "linux-image-amd64")[1].count("Candidate"):
            t.skip(f"{who}: the package {package} is known", "no lists of packages here")
        else:
            t.check("Candidate:" in out and "Candidate: (none)" not in out, f"{who}: the package {package} is known", out)
    named = [r for r in found.values() if re.search(r"apt-get|dnf", r["fix"])]
    release = os.uname().release
    t.check(all(os.path.exists(f"/var/lib/dpkg/info/linux-image-{release}.list") or os.path.exists("/etc/redhat-release") for r in named),
            f"{who}: a package is named only where the kernel came from one", named)
    setcaps = [s for f in fixes for s in re.findall(r"setcap (\S+)", f)]
    t.check(all("cap_bpf" in s for s in setcaps if "cap_perfmon" in s) and len(set(setcaps)) <= 1, f"{who}: one set of rights, with cap_bpf", setcaps)


mine = rows(CLEW)
t.check(mine, "doctor runs")
check_hints(mine, "this user")

# States, tried out.
ways = {"stacks-bpf-deferred": "sframe", "stacks-bpf-immediate": "sframe,immediate", "stacks-kernel-deferred": "defer", "stacks-copy": "dwarf"}
for row, way in ways.items():
    status, _, err = run(CLEW, "record", "-e", "cpu-clock:u", "--call-graph", way, "-o", t.path(), "--", "true")
    refused = "does not work here" in err
    t.check((mine[row]["state"] == "yes") == (not refused), f"{row}: as recording finds it", f"{mine[row]}\n{err}")
tries = {"user-space": ["-e", "cpu-clock:u"], "kernel-space": ["-e", "cpu-clock"], "system-wide": ["-a", "-e", "cpu-clock"],
         "hardware-counters": ["-e", "instructions:u"], "namespaces": ["--namespaces", "-e", "cpu-clock:u"], "switch-events": ["--switch-events", "-e", "cpu-clock:u"],
         "cgroup-records": ["--all-cgroups", "-e", "cpu-clock:u"], "clockid": ["-k", "monotonic", "-e", "cpu-clock:u"],
         "tracepoints": ["-e", "sched:sched_switch"], "breakpoints": ["-e", "mem:0x1000:w:u"]}
for row, options in tries.items():
    if row not in mine:
        continue
    if os.geteuid():
        t.skip(f"{row}: as recording finds it", "not root: recording may fall back to what is open to a user")
        continue
    _, _, err = run(CLEW, "record", *options, "-o", t.path(), "--", "true")
    was_open = "captured" in err or "nothing was recorded" in err
    t.check((mine[row]["state"] == "yes") == was_open, f"{row}: as recording finds it", f"{mine[row]}\n{err}")
with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
    shown = any(int(line.split()[0], 16) for line in f)
t.check((mine["kallsyms"]["state"] == "yes") == shown, "kallsyms: as the file shows", mine["kallsyms"])
# The perf that is named: what it cannot read of clew's is named too.
named = re.match(r"(\S+) reads what clew writes", mine["perf"]["detail"])
if not named or mine["stacks-copy"]["state"] != "yes":
    t.skip("perf: reads what clew writes", "it is not here, or no stacks can be recorded")
else:
    for what, options in ("a file", []), ("KIND,deferred", ["deferred"]), ("pipe", ["-"]):
        path = t.path("pipe" if options == ["-"] else "perf.data")
        with open(path + ".out", "wb") as f:
            subprocess.run([CLEW, "record", "-q", "-e", "page-faults:u", "-c", "1", "--call-graph", ",".join(["dwarf", *(o for o in options if o != "-")]),
                            "-o", "-" if options == ["-"] else path, "--", "true"], stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL, check=False)
        status, out, err = run(named[1], "script", "-i", path + ".out" if options == ["-"] else path)
        reads = not status and "page-faults" in out and "Reserved bits" not in err
        t.check(reads or (options and what in mine["perf"]["detail"]), f"perf: {what} reads, or is named as what does not", f"{mine['perf']}\n{err[-300:]}")

# Addresses hidden from everybody, as this command sees it: the first step is the sysctl, and for root the only one.
hide = 'mount --bind "$1" /proc/sys/kernel/kptr_restrict && mount --bind "$2" /proc/kallsyms && shift 2 && exec "$@"'
for name, text in ("two", "2\n"), ("zeros", "0000000000000000 T _text\n"):
    with open(t.path(name), "w", encoding="ascii") as f:
        f.write(text)
can_hide = not os.geteuid() and "syslog" in mine["capabilities"]["detail"] and shutil.which("unshare")
hidden = rows("unshare", "-m", "sh", "-c", hide, "sh", t.path("two"), t.path("zeros"), CLEW) if can_hide else {}
if hidden:
    t.check(hidden["kallsyms"]["fix"] == "sudo sysctl kernel.kptr_restrict=1", "kptr_restrict 2: what root does about it", hidden["kallsyms"])
else:
    t.skip("kptr_restrict 2: what root does about it", "needs root, cap_syslog and mount namespaces")

# A user follows the hints.
copy = t.path("clew")
if os.geteuid() or not shutil.which("setpriv") or not shutil.which("setcap", path=SBIN):
    t.skip("a user follows the hints", "needs root, setpriv and setcap")
elif os.statvfs(t.dir).f_flag & os.ST_NOSUID:
    t.skip("a user follows the hints", "files here give no rights")
elif "libclew" in run("ldd", CLEW)[1]:
    t.skip("a user follows the hints", "the command needs a library beside it")
else:
    shutil.copy(CLEW, copy)
    os.chmod(copy, 0o755)
    before = rows(*NOBODY, copy)
    if not before:
        t.skip("a user follows the hints", "the user nobody may not run the command here")
    else:
        check_hints(before, "nobody")
        hinted = {i: r for i, r in before.items() if r["state"] == "no" and "setcap" in r["fix"] and "kptr_restrict" not in r["fix"]}
        given = {m for r in hinted.values() for m in re.findall(r"setcap (\S+) ", r["fix"])}
        if not hinted or subprocess.run(["setcap", *given, copy], check=False, env={**os.environ, "PATH": SBIN}, capture_output=True).returncode:
            t.skip("nobody, with the rights of the hint", "nothing hinted, or rights cannot be given to files here")
        elif not rows(*NOBODY, copy):
            t.skip("nobody, with the rights of the hint", "a command with rights does not run here")
        else:
            after = rows(*NOBODY, copy)
            for i, r in hinted.items():
                t.check(after[i]["state"] == "yes", f"nobody, with the rights of the hint: {i}", f"{r}\n{after.get(i)}")
t.done()
