#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""containers_test.py CLEW DENY_CALL SAMPLE_MAKE: binaries of tasks that see other files than we do. Real mount namespaces and root directories; what runs in
them (tests/live/container_app.c) puts hostile links in place of its own file; that path names another program on the host."""
import ctypes
import errno
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import stack_lib as lib
from record_lib import CLEW, needs_perf_events

t = lib.StackTap()
DENY = os.path.abspath(sys.argv[2])
SOURCE = os.path.join(lib.LIVE, "container_app.c")
if os.geteuid():
    t.skip_all("needs root to make mount namespaces")
needs_perf_events(t)
if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode:
    t.skip_all("no mount namespaces to be made here")
app, host = t.compile("app", [SOURCE], ["-O1", "-static"]), t.compile("host", [SOURCE], ["-O1", "-static", "-DON_THE_HOST"])
if not app or not host:
    t.skip_all("no compiler, or no static libc")

# $0: ROOT, $1: directory of the program, $2: the program to copy
ENTER = {
    "pivot_root": """mount -t tmpfs tmpfs "$0" && mkdir -p "$0/old" "$0/proc" "$0/tmp" "$0$1" && mount --rbind /proc "$0/proc" && cp "$2" "$0$1/app" &&
                     cp "$2" "$0$1/again" && cd "$0" && shift 2 && pivot_root . old && cd / && exec "$@" """,
    "chroot": """mount -t tmpfs tmpfs "$0" && mkdir -p "$0/tmp" "$0$1" && cp "$2" "$0$1/app" && cp "$2" "$0$1/again" &&
                 r=$0 && shift 2 && exec chroot "$r" "$@" """,
    "no": """cp "$2" "$1/app" && shift 2 && exec "$@" """,
}


class Container:
    """A program in another mount namespace, or in ours below another root directory; HOST is what the host has at its path."""
    nr = 0

    def __init__(self, kind, *args, host_file=host):
        Container.nr += 1
        self.dir = t.path(f"c{Container.nr}")
        self.root, self.bin, self.kind = self.dir + "/root", self.dir + "/bin", kind
        self.path = self.bin + "/app"
        for d in (self.root, self.bin, self.dir + "/host"):
            os.makedirs(d)
        if kind != "no":
            shutil.copy(host_file, self.path)
        shutil.copy(host, self.dir + "/host/app")
        for name in ("in", "out"):
            os.mkfifo(f"{self.dir}/{name}")
        self.to, self.back = (os.open(f"{self.dir}/{name}", os.O_RDWR) for name in ("in", "out"))
        unshare = [] if kind == "no" else ["unshare", "-m", "--propagation", "private"]
        if kind == "chroot":  # the root directory alone: the mount below is the host's own
            unshare = []
        self.p = subprocess.Popen([*unshare, "sh", "-c", ENTER[kind], self.root, self.bin, app, self.path, *(a.format(c=self) for a in args)],
                                  stdin=self.to, stdout=self.back, stderr=subprocess.DEVNULL)
        self.do("-")  # answers: it runs

    def do(self, what):
        os.write(self.to, what.encode())
        while True:
            answer = os.read(self.back, 1)
            if answer in b".!":
                return answer == b"."

    def record(self, *options):
        path = f"{self.dir}/{len(os.listdir(self.dir))}.data"
        p = subprocess.run([CLEW, "record", "-q", "-e", "task-clock:u", "-F", "499", *options, "-o", path, "-p", str(self.p.pid), "--",
                            "sh", "-c", f"printf w > {self.dir}/in; head -c 1 {self.dir}/out > /dev/null"],
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.err = p.stderr.decode(errors="replace")
        return path

    def end(self):
        self.p.kill()
        self.p.wait()
        os.close(self.to)
        os.close(self.back)
        if self.kind == "chroot":
            subprocess.run(["umount", "-l", self.root], check=False)


def has_openat2():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(437, -1, b"/", None, 0) < 0 and ctypes.get_errno() == errno.EINVAL


def report(path, *before):
    p = subprocess.run([*before, CLEW, "report", "--stdio", "-s", "dso,sym", "-i", path], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (p.stdout + p.stderr).decode(errors="replace")


def is_ours(text):
    return "work_in_container" in text and "SECRET" not in text


# Where the program is, and what its path names afterwards.
LINKS = [("an absolute link", "{c.dir}/host"), ("a link upwards", "../" * 40 + "{c.dir}/host"), ("a link through /proc/1/root", "/proc/1/root{c.dir}/host"),
         ("a link through /proc/self/root", "/proc/self/root/old{c.dir}/host")]
for kind in ("pivot_root", "chroot"):
    for name, link in LINKS[:None if kind == "pivot_root" else 2]:
        c = Container(kind, link)
        files = [(c.record("-B"), "without build id"), (c.record(), "with build id")]
        if name == LINKS[0][0]:
            for path, with_id in files:
                t.check(is_ours(report(path)), f"{kind}, {with_id}: its own file is found", report(path) + c.err)
                if with_id == "without build id":
                    text = report(path, DENY, "openat2", "38")
                    t.check(is_ours(text), f"{kind}, {with_id}, no openat2: what it has mapped is found", text)
        t.check(c.do("s"), f"{kind}: {name} in place of its directory")
        for path, with_id in files:
            t.check(is_ours(report(path)), f"{kind}, {with_id}, {name}: not followed to the host", report(path) + c.err)
        path = c.record("-B")
        t.check(is_ours(report(path)), f"{kind}, {name}: recorded after that", report(path) + c.err)
        c.end()

# Its file is gone.
for kind in ("pivot_root", "no"):
    c = Container(kind)
    before = c.record("-B")
    t.check(c.do("u"), f"{kind}: unlinks its file")
    for path, when in [(before, "recorded before"), (c.record(), "recorded after")]:
        t.check(is_ours(report(path)), f"namespace: {kind}, a deleted file, {when}: what is mapped is found", report(path) + c.err)
    c.end()

# It executes another program: what was mapped then is to be had by its path only.
c = Container("pivot_root", "{c.bin}/again", "{c.dir}/host")
path = c.record("-B")
t.check(c.do("x-"), "executes another program")
if has_openat2():
    t.check(is_ours(report(path)), "after exec: by path, in its namespace", report(path) + c.err)
else:
    t.skip("after exec: by path, in its namespace", "no openat2 here")
for error, name in [("38", "ENOSYS"), ("1", "EPERM")]:
    text = report(path, DENY, "openat2", error)
    t.check("container" not in text and "SECRET" not in text and "without openat2" in " ".join(text.split()),
            f"after exec, openat2 gives {name}: refused, with the reason", text)
c.end()

# The process has ended.
c = Container("pivot_root")
path, with_id = c.record("-B", "--namespaces"), c.record("--namespaces")
c.end()
for path, name in [(path, "without build id"), (with_id, "with build id")]:
    text = report(path)
    t.check("SECRET" not in text and "of a process that has ended" in " ".join(text.split()), f"ended, {name}: the host's file is not taken, and it is said",
            text)
c = Container("pivot_root", host_file=app)
with_id = c.record("--namespaces")
c.end()
if b"BuildID" in subprocess.run(["readelf", "-n", app], capture_output=True, check=False).stdout.replace(b"Build ID", b"BuildID"):
    t.check(is_ours(report(with_id)), "ended: the host's file is taken where its build id is the recorded one", report(with_id))
else:
    t.skip("ended: the host's file of the same build id", "the linker makes no build ids, or there is no readelf")

# Unwinding while recording: tables are those of its own files.
for way in ("sframe", "dwarf"):
    c = Container("pivot_root", "{c.dir}/host")
    c.do("s")
    path = c.record("--call-graph", way)
    if not os.path.exists(path) or "does not work here" in c.err:
        t.skip(f"user stacks, {way}", "not here: " + c.err.splitlines()[0])
    else:
        p = subprocess.run([CLEW, "script", "-F", "ip,sym", "-i", path], capture_output=True, check=False)
        stacks = [s.split() for s in p.stdout.decode(errors="replace").split("\n\n") if s.strip()]
        whole = [s for s in stacks if "work_in_container" in s and "call_in_container" in s and "main" in s]
        t.check(whole and not any("SECRET" in f for s in stacks for f in s), f"user stacks, {way}: in a container, after the swap",
                f"{len(whole)} of {len(stacks)}\n{stacks[:3]}\n{c.err}")
    c.end()
# A recording of elsewhere: here its number is a kernel thread's, which has another root.
THREAD = 2  # kthreadd, which all kernel threads come from
if os.path.exists(f"/proc/{THREAD}/comm") and open(f"/proc/{THREAD}/comm", encoding="ascii").read() == "kthreadd\n":
    pid, path = f"{THREAD:x}", t.path("elsewhere.data")
    symbol = subprocess.run(["nm", app], capture_output=True, text=True, check=False).stdout
    at = next((int(x.split()[0], 16) for x in symbol.splitlines() if x.endswith(" work_in_container")), 0)
    made = f"event cycles\ncomm {pid} app\nmap {pid} 400000 400000 0 {app}\nsample 0 {pid} {at:x} 1000 1\n"
    with open(path, "wb") as f:
        subprocess.run([sys.argv[3]], input=made.encode(), stdout=f, check=True)
    here, there = report(path), report(path, "unshare", "-m")
    t.check("app" in here and here == there and "not found" not in there, "a kernel thread is not the process of a recording", here + there)
else:
    t.skip("a kernel thread is not the process of a recording", "none to be seen here")
t.done()
