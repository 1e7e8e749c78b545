#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""output_files_test.py CLEW DENY_CALL: files that clew makes, where others may put things in its way; the limit of a file's size; what is
started for the output, and what a quiet command prints."""
import os
import pty
import resource
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap

CLEW, DENY = (os.path.abspath(a) for a in sys.argv[1:3])
NOBODY = 65534
IS_ROOT = os.geteuid() == 0
BINARY = shutil.which("true")
WORK = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"  # long enough for samples on any machine
top = tempfile.mkdtemp(prefix="clew-output-")
os.chmod(top, 0o755)


def run(args, **more):
    p = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, check=False, **more)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def as_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def nobody_may_run(program):
    try:
        return run([program, "--version"], preexec_fn=as_nobody)[0] == 0
    except PermissionError:  # the tree lies in a closed directory
        return False


def make_dir(name, mode=0o755, owner=None):
    path = os.path.join(top, name)
    os.mkdir(path)
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def link(target, path, owner=None):
    os.symlink(target, path)
    if owner is not None:
        os.lchown(path, owner, owner)


def is_file(path):
    return os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode) and os.path.getsize(path) > 0


def sframe(path, **more):
    return run([CLEW, "sframe", "make", BINARY, "-o", path], **more)


def record(path, command=("sh", "-c", WORK), options=(), **more):
    # Not a clock: a short command may end before the first tick.
    return run([CLEW, "record", "-e", "page-faults:u", "-c", "1", *options, "-o", path, "--", *command], **more)


has_events = "captured" in record(os.path.join(top, "probe.data"))[2]
writers = [("sframe make", sframe)] + ([("record", record)] if has_events else [])
if not has_events:
    tap.skip("record", "no events to be had here")

# What stands there is moved away.
for name, write in writers:
    d = make_dir(name + " again")
    path = os.path.join(d, "out")
    write(path)
    first = os.stat(path).st_ino
    status, _, err = write(path)
    tap.check(status == 0 and os.stat(path + ".old").st_ino == first and is_file(path), f"{name}: a file becomes .old", err)
    tap.check(stat.S_IMODE(os.stat(path).st_mode) == 0o600, f"{name}: mode 0600", oct(os.stat(path).st_mode))

# Symbolic links: dangling, to a file; of another user or one's own.
for name, write in writers:
    for kind, owner in [("own", None)] + ([("another user's", NOBODY)] if IS_ROOT else []):
        d = make_dir(f"{name} {kind}", owner=owner)
        path, victim, made = (os.path.join(d, n) for n in ("out", "victim", "made"))
        link(made, path, owner)
        status, _, err = write(path)
        tap.check(status == 0 and not os.path.lexists(made) and is_file(path) and os.readlink(path + ".old") == made,
                  f"{name}: {kind} dangling link is moved away, not followed", f"{status} {err} {os.listdir(d)}")
        os.unlink(path)
        with open(victim, "w", encoding="ascii") as f:
            f.write("precious")
        link(victim, path, owner)
        status, _, err = write(path)
        tap.check(status == 0 and open(victim, encoding="ascii").read() == "precious" and is_file(path),
                  f"{name}: {kind} link to a file is moved away, not followed", f"{status} {err} {os.listdir(d)}")

# Directories open to all.
if IS_ROOT:
    d = make_dir("sticky", 0o1777)
    path = os.path.join(d, "out")
    link(os.path.join(top, "made-for-root"), path, NOBODY)
    status, _, err = sframe(path)
    tap.check(status == 0 and is_file(path) and not os.path.lexists(os.path.join(top, "made-for-root")),
              "sticky directory, root: another user's link is moved away", err)
    link(os.path.join(top, "victim"), path + "2", 0)
    if nobody_may_run(CLEW):
        status, _, err = sframe(path + "2", preexec_fn=as_nobody)
        tap.check(status == 1 and "Operation not permitted" in err and os.path.islink(path + "2") and
                  not os.path.lexists(path + "2.old"), "sticky directory, a user: another's link is refused", f"{status} {err}")
    else:
        tap.skip("sticky directory, a user", "the user nobody may not run the command here")
    os.mkfifo(os.path.join(d, "fifo"))
    os.chown(os.path.join(d, "fifo"), NOBODY, NOBODY)
    status, _, err = sframe(os.path.join(d, "fifo"))
    tap.check(status == 1 and "Permission denied" in err, "sticky directory: another user's fifo is refused", f"{status} {err}")
    d = make_dir("device", owner=NOBODY)
    link("/dev/null", os.path.join(d, "out"), NOBODY)
    status, _, err = sframe(os.path.join(d, "out"))
    tap.check(status == 0 and is_file(os.path.join(d, "out")), "another user's link to a device is moved away", err)
else:
    tap.skip("other users' links and fifos", "needs root to make them")

# What is no plain file is written to as it is.
d = make_dir("special")
status, _, err = sframe("/dev/null")
tap.check(status == 0 and stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null", err)
link("/dev/null", os.path.join(d, "null"))
status, _, err = sframe(os.path.join(d, "null"))
tap.check(status == 0 and os.path.islink(os.path.join(d, "null")), "an own link to /dev/null", err)
sframe(os.path.join(d, "plain"))
wanted = open(os.path.join(d, "plain"), "rb").read()
link("/dev/stdout", os.path.join(d, "stdout"))
status, out, err = sframe(os.path.join(d, "stdout"))
tap.check(status == 0 and out.startswith(wanted) and os.path.islink(os.path.join(d, "stdout")), "/dev/stdout, a pipe", err)
with open(os.path.join(d, "redirected"), "wb") as f:
    p = subprocess.run([CLEW, "sframe", "make", BINARY, "-o", os.path.join(d, "stdout")], stdout=f, stderr=subprocess.PIPE, check=False)
tap.check(p.returncode == 0 and os.path.islink(os.path.join(d, "stdout")) and os.path.getsize(os.path.join(d, "redirected")) > 0,
          "/dev/stdout, a file", p.stderr)
if has_events:
    for name, options, limit in [("", ["-g"], None), (", that fails", ["-g"], 16), (", switched", ["--switch-output=24K"], None)]:
        with open(os.path.join(d, "recorded"), "wb") as f:
            p = subprocess.run([CLEW, "record", "-q", "-e", "page-faults:u", "-c", "1", *options, "-o", os.path.join(d, "stdout"), "--", "true"], stdout=f,
                               stderr=subprocess.PIPE, check=False,
                               preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))))
        tap.check((p.returncode == 0) == (not limit) and os.path.islink(os.path.join(d, "stdout")) and
                  not [n for n in os.listdir(d) if n.startswith("stdout.")], f"record -o /dev/stdout, a file{name}: the link stays",
                  f"{p.returncode} {p.stderr} {os.listdir(d)}")
    tap.check(run([CLEW, "script", "-i", os.path.join(d, "recorded")])[0] == 0, "record -o /dev/stdout, a file: it reads", "")
os.mkfifo(os.path.join(d, "fifo"))
with subprocess.Popen(["cat", os.path.join(d, "fifo")], stdout=subprocess.PIPE) as reader:
    status, _, err = sframe(os.path.join(d, "fifo"))
    tap.check(status == 0 and reader.communicate()[0] == wanted, "an own fifo", err)
status, _, err = sframe(d)
tap.check(status == 1 and "Is a directory" in err, "a directory is refused", err)
status, _, err = sframe(os.path.join(d, "missing", "out"))
tap.check(status == 1 and "No such file" in err, "a missing directory: said", err)

# The limit of a file's size. Each page touched is one sample of some 40 bytes.
LIMIT = 200 * 1024
FAULTS = ["python3", "-S", "-c", "import mmap\nm = mmap.mmap(-1, 64 << 20)\n"
          "try: m.madvise(mmap.MADV_NOHUGEPAGE)\nexcept OSError: pass\nfor i in range(0, 64 << 20, 4096): m[i] = 1\n"]


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


small = os.path.join(d, "small")
with open(small, "w", encoding="ascii") as f:
    f.write("precious")
status, _, err = run([CLEW, "sframe", "make", "-o", small, BINARY],
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
tap.check(status == 1 and "File too large" in err, "sframe make, size limit: said, status 1", f"{status} {err}")
tap.check(open(small, encoding="ascii").read() == "precious" and not os.path.exists(small + ".old"),
          "sframe make, size limit: what stood there stands there again", os.listdir(d))
if has_events:
    plain = os.path.join(d, "plain.data")
    record(plain)
    first = os.stat(plain).st_ino
    status, _, err = record(plain, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16)))
    tap.check(status == 1 and "File too large" in err and os.stat(plain).st_ino == first and not os.path.exists(plain + ".old"),
              "record that cannot begin its file: what stood there stands there again", f"{status} {err} {os.listdir(d)}")
    status, _, err = run([CLEW, "inject", "--merge-stacks", "-i", plain, "-o", plain])
    tap.check(status == 1 and "nothing was written" in err and os.stat(plain).st_ino == first and not os.path.exists(plain + ".old"),
              "inject --merge-stacks onto its input, nothing to merge: the input stays", f"{status} {err} {os.listdir(d)}")
if has_events and "captured" in run([CLEW, "record", "-e", "page-faults:u", "-o", "/dev/null", "--", "true"])[2]:
    for name, options in [("plain", []), ("compressed", ["-z"])]:
        path = os.path.join(top, name + ".data")
        status, _, err = run([CLEW, "record", "-e", "page-faults:u", "-c", "1", "-d", *options, "-o", path, "--", *FAULTS], preexec_fn=limited)
        nr = run([CLEW, "script", "-F", "event", "-i", path])[1].count(b"page-faults")
        if name == "plain":
            tap.check(status == 1 and "File too large" in err and os.path.getsize(path) <= LIMIT, "record, size limit: said, status 1",
                      f"{status} {err}")
        tap.check(nr > 0, f"record, size limit, {name}: the file reads", f"{status} {err} {os.path.getsize(path)}")
    status, _, err = run(["sh", "-c", f"exec '{CLEW}' script --ns -F comm,tid,time,ip,sym,dso,addr -i '{top}/plain.data' > '{top}/text'"],
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    tap.check(status == 1 and "File too large" in err, "script, size limit of standard output: said, status 1", f"{status} {err}")
else:
    tap.skip("record, size limit", "no page faults to be recorded here")
if has_events:
    status, out, err = record(os.path.join(top, "signals.data"), ["sh", "-c", WORK + "; exec grep -h SigIgn /proc/self/status"])
    ignored = int(out.split()[1], 16) if status == 0 else -1
    tap.check(status == 0 and not ignored & (1 << 24 | 1 << 12), "the recorded command has the default of SIGXFSZ and SIGPIPE", out)


# The pager.
def on_terminal(args, env):
    """What the terminal shows."""
    main, other = pty.openpty()
    with subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env={**os.environ, "TERM": "dumb", **env}) as p:
        os.close(other)
        shown = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    os.close(main)
    return p.returncode, shown.decode(errors="replace")


if has_events:
    data = os.path.join(top, "pager.data")
    record(data)
    show = [CLEW, "script", "-F", "comm,event", "-i", data]
    status, plain = on_terminal(show, {"PAGER": "cat"})
    tap.check(status == 0 and "page-faults" in plain, "no pager", plain)
    status, shown = on_terminal(show, {"PAGER": "sed  -e s/page-faults/PAGED/g"})
    tap.check(status == 0 and "PAGED" in shown and "page-faults" not in shown, "$PAGER with arguments", shown)
    mark = os.path.join(top, "by-shell")
    status, shown = on_terminal(show, {"PAGER": f"touch {mark}; cat"})
    if IS_ROOT:
        tap.check(status == 0 and not os.path.exists(mark) and "page-faults" in shown and "warning: $PAGER" in shown,
                  "$PAGER of root is not run through a shell; the text comes, with a warning", shown)
        status, shown = on_terminal(show, {"PAGER": "/nonexistent/pager"})
        tap.check(status == 0 and "page-faults" in shown, "$PAGER of root that is not there: the text comes", shown)
    else:
        tap.check(status == 0 and os.path.exists(mark) and "page-faults" in shown, "$PAGER of a user is run through a shell", shown)

# Quiet is quiet, and libbpf speaks through us.
if has_events:
    status, out, err = run([CLEW, "record", "-q", "-g", "-o", os.path.join(top, "quiet.data"), "--", "true"])
    tap.check(not out and (not err or status), "record -q -g: nothing is printed", err)
    way = [CLEW, "record", "-q", "--call-graph", "sframe", "-o", os.path.join(top, "bpf.data"), "--", "true"]
    status, _, err = run(way)
    if status:
        tap.skip("libbpf's own lines", "no BPF stacks here: " + err.splitlines()[0])
    else:
        status, _, err = run([DENY, "epoll_create1", "12", *way])
        tap.check(status != 0 and err.startswith("clew: error: ") and "epoll instance" in err and "\nlibbpf" not in err,
                  "libbpf's own lines stand in our message", f"{status} {err}")
shutil.rmtree(top)
tap.done()
