#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: make-frame.py PAGE.html STYLE.css LICENSES BUNDLE.js SCRIPT.js... OUT.c

Puts a page's style and scripts into its frame, with the policy that lets these alone run (their
SHA-256), and writes what stands before and after the data as C.
"""
import base64
import hashlib
import sys
from pathlib import Path

page, style, licenses, bundle, *parts = (Path(p).read_text(encoding="utf-8") for p in sys.argv[1:-1])


def no_comments(script):
    """Lines that are nothing but a comment: the page is read by browsers."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def sha256(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


scripts = [bundle.strip().replace("</script", "<\\/script"), "'use strict';\n" + no_comments("\n".join(parts))]
style = "\n".join(line.strip() for line in style.splitlines() if line.strip())
assert "</script" not in scripts[1] and "</style" not in style and "-->" not in licenses
policy = ("default-src 'none'; script-src %s; style-src %s; img-src 'none'; base-uri 'none'; form-action 'none'"
          % (" ".join(map(sha256, scripts)), sha256(style)))
page = page.replace("@STYLE@", style).replace("@LICENSES@", licenses.replace("--", "- -"))
before, between = page.split("@POLICY@")
between, after = between.split("@DATA@\n")
after = after.replace("@SCRIPTS@", "".join("<script>%s</script>\n" % s for s in scripts))


def c_bytes(name, text):
    data = text.encode()
    lines = (",".join(map(str, data[i:i + 32])) for i in range(0, len(data), 32))
    return "static const char %s[] = {\n%s};\n" % (name, ",\n".join(lines))


# Bytes above 127 would not fit a signed char.
assert licenses.isascii() and page.isascii() and all(s.isascii() for s in scripts)
Path(sys.argv[-1]).write_text(
    '#include "cli/report_page.h"\n' + c_bytes("before", before) + c_bytes("between", between) + c_bytes("after", after) + c_bytes("licenses", licenses) +
    'const struct page_frame report_page_frame = {before, "%s", between, after, sizeof(before), sizeof(between), sizeof(after)};\n' % policy +
    'const struct clew_text report_page_licenses = {licenses, sizeof(licenses)};\n')
