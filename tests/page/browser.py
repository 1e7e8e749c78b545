# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chromium without a window, driven by Debian's chromium-driver: WebDriver (W3C) as HTTP, with Python's own library."""
import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

KEYS = {"Escape": "\ue00c", "Enter": "\ue007", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Home": "\ue011", "Tab": "\ue004"}


def why_not():
    """What is missing; None: nothing."""
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        return "no chromium and chromium-driver"
    try:
        socket.getaddrinfo("localhost", 80)
    except OSError:
        return "no address of localhost, which chromedriver asks for: /etc/hosts"
    return None


class Browser:
    def __init__(self, width=1280, height=800, more_args=()):
        self.proc = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.proc.stdout:
            if "started successfully on port" in line:
                self.base = "http://127.0.0.1:" + line.split("port ")[1].split()[0].rstrip(".")
                break
        options = {"binary": shutil.which("chromium"), "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-device-scale-factor=1", *more_args]}
        caps = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}, "goog:chromeOptions": options}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": caps}})
        self.session = "/session/" + made["sessionId"]
        self.size(width, height)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(urllib.request.Request(self.base + path, method=method, data=data), timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{method} {path}: {e}: {e.read()[:300]}") from e

    def do(self, method, path, body=None):
        return self.call(method, self.session + path, body)

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def cdp(self, cmd, params=None):
        return self.do("POST", "/goog/cdp/execute", {"cmd": cmd, "params": params or {}})

    def js(self, code):
        return self.do("POST", "/execute/sync", {"script": code, "args": []})

    def open(self, path, fragment=""):
        """@return whether the page was ready in time."""
        self.do("POST", "/url", {"url": "about:blank"})
        self.logs("performance")
        self.logs("browser")
        self.do("POST", "/url", {"url": "file://" + os.path.abspath(path) + fragment})
        return self.wait("return !!window.clewPage")

    def wait(self, code, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.js(code):
                return True
            time.sleep(0.05)
        return False

    def logs(self, kind):
        return self.do("POST", "/se/log", {"type": kind})

    def console(self):
        return [m["message"] for m in self.logs("browser")]

    def requests(self):
        events = (json.loads(m["message"])["message"] for m in self.logs("performance"))
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def keys(self, *keys):
        """Without an element: to what has the focus."""
        acts = [{"type": t, "value": KEYS.get(k, k)} for k in keys for t in ("keyDown", "keyUp")]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": acts}]})

    def drag(self, x0, x1, y):
        def at(x, ms):
            return {"type": "pointerMove", "duration": ms, "x": int(x), "y": int(y)}
        acts = [at(x0, 0), {"type": "pointerDown", "button": 0}, at((x0 + x1) / 2, 20), at(x1, 20), {"type": "pointerUp", "button": 0}]
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "parameters": {"pointerType": "mouse"}, "actions": acts}]})

    def click(self, x, y):
        acts = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self.do("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "parameters": {"pointerType": "mouse"}, "actions": acts}]})

    def box(self, css):
        return self.js("const r = document.querySelector(%s).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]" % json.dumps(css))

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.do("GET", "/screenshot")))

    def close(self):
        try:
            self.do("DELETE", "")
        finally:
            self.proc.terminate()
            self.proc.wait()
