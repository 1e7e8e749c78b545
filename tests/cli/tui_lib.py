# SPDX-License-Identifier: LGPL-2.1-or-later
"""A clew command on a terminal of tmux, to be looked at and typed into."""
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

HAS_TMUX = shutil.which("tmux") is not None
SECONDS = 60  # for what takes milliseconds, where the machine is not busy


class Screen:
    """@p command runs in a shell in a tmux server of its own; the shell waits when it has ended. @p work: a folder for its files."""

    number = 0

    def __init__(self, work, command, columns=80, lines=24, term=None, jobs=False, **env):
        Screen.number += 1
        self.work = Path(work)
        self.socket = self.work / f"tmux-{Screen.number}"
        self.files = {name: self.work / f"{name}-{Screen.number}" for name in ("before", "after", "new", "status")}
        f = self.files
        script = self.work / f"run-{Screen.number}.sh"
        script.write_text(("set -m\n" if jobs else "") + (f"TERM={term}\nexport TERM\n" if term is not None else "") +
                          f"stty -a > {f['before']}\n{command}\necho $? > {f['new']}\nstty -a > {f['after']}\nmv {f['new']} {f['status']}\nexec cat\n")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines), "-c", str(self.work), "sh", str(script),
                  env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(self.work), **env})

    def tmux(self, *args, env=None):
        return subprocess.run(["tmux", "-u", "-S", str(self.socket), *args], capture_output=True, text=True, check=False, env=env).stdout

    def lines(self, colors=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colors else [])).split("\n")[:-1]

    def text(self, colors=False):
        return "\n".join(self.lines(colors))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def wait(self, condition, colors=False):
        """Until @p condition, a text or a function of the lines, holds. @return whether it did; the lines are in self.seen."""
        is_text = isinstance(condition, str)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            self.seen = self.lines(colors)
            if condition in "\n".join(self.seen) if is_text else condition(self.seen):
                return True
            time.sleep(0.01)
        return False

    def wait_end(self):
        """@return the command's exit status; None: it does not end."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if self.files["status"].exists():
                return int(self.files["status"].read_text())
            time.sleep(0.01)
        return None

    def stty(self):
        """Before and after the command, but for the size."""
        return tuple(re.sub(r"(rows|columns) \d+; ", "", self.files[name].read_text()) for name in ("before", "after"))

    def child(self):
        """The process that the shell waits for."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def kill(self, number=signal.SIGTERM):
        os.kill(self.child(), number)

    def close(self):
        self.tmux("kill-server")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
