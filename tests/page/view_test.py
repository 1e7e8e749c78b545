#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: view_test.py CLEW: `clew view`: who is answered, and what; when it ends; what it prints. With Chromium, also the page that comes from it. TAP."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from page import browser, page_data

CLEW = os.path.abspath(sys.argv[1])
WORK = tempfile.mkdtemp()
ENV = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION")}
ENV.update(LC_ALL="C", HOME=WORK, XDG_CACHE_HOME=WORK)


class View:
    def __init__(self, recording, *options, **env):
        self.proc = subprocess.Popen([CLEW, "view", "-i", recording, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True, env={**ENV, **env})
        self.address = self.proc.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.address)
        self.port, self.token = (int(found[1]), found[2]) if found else (0, "")

    def ask(self, what, host=None, to="127.0.0.1", method="GET"):
        """@return status, headers, body; what is no request is sent as it is."""
        lines = f"{method} {what} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n\r\n" if isinstance(what, str) else what
        with socket.create_connection((to, self.port), timeout=60) as s:
            s.sendall(lines.encode() if isinstance(lines, str) else lines)
            got = b""
            while part := s.recv(65536):
                got += part
        head, _, body = got.partition(b"\r\n\r\n")
        first, *fields = head.decode("ascii").split("\r\n")
        return int(first.split()[1]) if first else 0, {k.lower(): v for k, v in (f.split(": ", 1) for f in fields)}, body

    def end(self, by=signal.SIGINT):
        if by:
            self.proc.send_signal(by)
        _, err = self.proc.communicate(timeout=120)
        return self.proc.returncode, err


def addresses(pid):
    """Where the process listens, by its sockets in /proc."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}")))
        except OSError:
            pass
    found = []
    for table in ("tcp", "tcp6"):
        if not os.path.exists(f"/proc/{pid}/net/{table}"):
            continue
        with open(f"/proc/{pid}/net/{table}", encoding="ascii") as f:
            found += [line.split()[1].split(":")[0] for line in f.readlines()[1:] if line.split()[9] in inodes and line.split()[3] == "0A"]
    return found


def answers(v, page):
    status, headers, body = v.ask(f"/{v.token}/")
    tap.check(status == 200 and headers["content-type"] == "text/html; charset=utf-8" and int(headers["content-length"]) == len(body), "its path: the page", (status, headers))
    with open(page, "rb") as f:
        want = f.read()
    tap.check(body == want.replace(b"form-action 'none'\"", b"form-action 'none'; connect-src 'self'\""), "the page of report --html, and the right to say goodbye")
    policy = re.search(r'Security-Policy" content="([^"]*)"', body.decode("ascii"))[1]
    tap.check(headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
              and headers["content-security-policy"] == policy and not any(k.startswith("access-control") for k in headers), "headers", headers)
    wrong = "0" * 32 if v.token[0] != "0" else "1" * 32
    for name, path in (("another token", f"/{wrong}/"), ("no token", "/"), ("the path without its end", f"/{v.token}"), ("a path below it", f"/{v.token}/x"),
                       ("a query", f"/{v.token}/?a=b"), ("a way out", f"/{v.token}/../../etc/passwd"), ("an icon", "/favicon.ico")):
        status, headers, body = v.ask(path)
        tap.check(status == 404 and not body, name + ": 404", (status, headers))
    for method in ("POST", "HEAD", "OPTIONS", "DELETE", "get"):
        tap.check(v.ask(f"/{v.token}/", method=method)[0] == 404, method + ": 404")
    for host in ("example.org", f"example.org:{v.port}", "127.0.0.1", f"127.0.0.1:{v.port + 1}", f"127.0.0.1:{v.port}.example.org", f"0.0.0.0:{v.port}"):
        tap.check(v.ask(f"/{v.token}/", host=host)[0] == 403, f"Host {host}: 403".replace(str(v.port), "PORT").replace(str(v.port + 1), "OTHER"))
    for host in (f"localhost:{v.port}", f"[::1]:{v.port}", f"LOCALHOST:{v.port} "):
        tap.check(v.ask(f"/{v.token}/", host=host)[0] == 200, f"Host {host}: the page".replace(str(v.port), "PORT"))


def hostile(v):
    right = f"127.0.0.1:{v.port}"
    path = f"GET /{v.token}/ HTTP/1.1\r\n"
    for name, sent, want in (("no Host", path + "\r\n", 403), ("two Hosts", path + f"Host: {right}\r\nHost: example.org\r\n\r\n", 403), ("no HTTP", "\r\n\r\n", 404),
                             ("another version", f"GET /{v.token}/ HTTP/2\r\nHost: {right}\r\n\r\n", 404), ("a path of other bytes", b"GET /\xff\x00/ HTTP/1.1\r\nHost: " + right.encode() + b"\r\n\r\n", 404),
                             ("a request without an end", b"A" * (16 << 10), 404)):
        status, _, body = v.ask(sent.encode() if isinstance(sent, str) else sent)
        tap.check(status == want and not body, f"{name}: {want}", status)
    idle = [socket.create_connection(("127.0.0.1", v.port)) for _ in range(40)]
    slow = socket.create_connection(("127.0.0.1", v.port))
    slow.sendall(b"GET ")
    tap.check(v.ask(f"/{v.token}/")[0] == 200, "forty connections that say nothing keep nobody out")
    for s in (*idle, slow):
        s.close()


def ends(recording):
    v = View(recording, "--no-open")
    status, err = v.end(signal.SIGTERM)
    tap.check(status == 0 and "Ctrl-C" in err, "SIGTERM ends it", (status, err))
    v = View(recording, "--no-open")
    said = [v.ask(f"/{v.token}/{w}", method="POST")[0] for w in ("hello", "hello", "goodbye")]
    tap.check(said == [204] * 3 and v.proc.poll() is None, "one of two pages is left", said)
    tap.check(v.ask(f"/{v.token}/goodbye", method="POST")[0] == 204 and v.ask(f"/{v.token}/")[0] == 200, "the other is, and asked for again: a reload")
    v.ask(f"/{v.token}/hello", method="POST")
    v.ask(f"/{v.token}/goodbye", method="POST")
    return v


def reloads(recording, page_bytes):
    """A browser says goodbye when the page comes again, and hello when all of it is there."""
    v = View(recording, "--no-open")
    v.ask(f"/{v.token}/hello", method="POST")
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)  # so that the kernel holds little of the page
    s.connect(("127.0.0.1", v.port))
    s.sendall(f"GET /{v.token}/ HTTP/1.1\r\nHost: 127.0.0.1:{v.port}\r\n\r\n".encode())
    got = s.recv(1024)
    v.ask(f"/{v.token}/goodbye", method="POST")
    for _ in range(12):
        time.sleep(1)
        got += s.recv(1024)
    while part := s.recv(65536):
        got += part
    s.close()
    tap.check(len(got.partition(b"\r\n\r\n")[2]) == page_bytes, "a reload that takes more than ten seconds", (len(got), page_bytes))
    v.ask(f"/{v.token}/hello", method="POST")
    tap.check(v.end()[0] == 0, "and the page is there again")


def prints(recording):
    v = View(recording, SSH_CONNECTION="10.1.2.3 50000 10.9.8.7 22", DISPLAY=":1")
    _, err = v.end()
    tap.check(f"ssh -L {v.port}:127.0.0.1:{v.port} 10.9.8.7" in err, "over ssh: the tunnel", err)
    tools = os.path.join(WORK, "bin")
    os.makedirs(tools)
    with open(os.path.join(tools, "xdg-open"), "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\necho \"$1\" > {WORK}/fifo\n")
    os.chmod(f.name, 0o755)
    os.mkfifo(f"{WORK}/fifo")
    v = View(recording, DISPLAY=":1", PATH=tools + ":" + os.environ["PATH"])
    with open(f"{WORK}/fifo", encoding="ascii") as f:
        opened = f.read().strip()
    v.end()
    tap.check(opened == v.address, "with a display: xdg-open opens it", (opened, v.address))
    v = View(recording, "--no-open", DISPLAY=":1", PATH=tools + ":" + os.environ["PATH"])
    again = View(recording, "--no-open", "--port", str(v.port))
    status, err = again.end(None)
    tap.check(status == 1 and f"port {v.port}" in err and not again.address, "a port in use", (status, err))
    v.end()
    later = View(recording, "--no-open", "--port", str(v.port))
    tap.check(later.port == v.port and later.token != v.token, "--port, and another token each time", (later.address, v.address))
    later.end()
    for options, want in ((("--port", "0"), 2), (("--port", "x"), 2), (("word",), 2), (("-i", WORK + "/none"), 1)):
        run = subprocess.run([CLEW, "view", "--no-open", "-i", recording, *options], capture_output=True, text=True, env=ENV, check=False)
        tap.check(run.returncode == want and run.stderr.startswith("clew: error:") and not run.stdout, f"refused: {' '.join(options)}".replace(WORK, "DIR"), run)


def in_browser(recording):
    if browser.why_not():
        tap.skip("the page in a browser", browser.why_not())
        return
    v, b = View(recording, "--no-open"), browser.Browser()
    try:
        b.do("POST", "/url", {"url": v.address})
        tap.check(b.wait("return !!window.clewPage") and not b.console(), "the page works from there, without a message", b.console())
        text = b.js("return document.getElementById('status').textContent")
        tap.check(text.startswith("4,000 samples, "), "its status", text)
        b.do("POST", "/url", {"url": "about:blank"})
        status, err = v.end(None)
        tap.check(status == 0, "it ends after the page was left", (status, err))
    finally:
        b.close()


def main():
    recording, page = page_data.sampled(WORK), os.path.join(WORK, "page.html")
    subprocess.run([CLEW, "report", "-q", "-i", recording, "--html", page], env=ENV, check=True)
    v = View(recording, "--no-open")
    tap.check(v.port > 0, "the address", v.address)
    where = addresses(v.proc.pid)
    tap.check(1 <= len(where) <= 2 and set(where) <= {"0100007F", "00000000000000000000000001000000"}, "it listens on loopback addresses only", where)
    answers(v, page)
    hostile(v)
    tap.check(v.end()[0] == 0, "Ctrl-C ends it")
    left = ends(recording)
    reloads(recording, os.path.getsize(page) + len("; connect-src 'self'"))
    prints(recording)
    in_browser(recording)
    status, err = left.end(None)
    tap.check(status == 0, "ten seconds after it was left it ends", (status, err))
    tap.done()


main()
