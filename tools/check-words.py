#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: check-words.py WORDS FILE ...: looks for the words of the list WORDS in text for users: whole documents, and the string literals
of C files. Prints FILE:LINE: WORD: what to write instead, and exits 1, for each. Run from the top folder."""
import re
import sys

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CODE = re.compile(r"/\*.*?\*/|//[^\n]*|^\s*#\s*include[^\n]*", re.S | re.M)


def read_words(path):
    """@return [(compiled expression, what to write instead)]"""
    words = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"([^#\s](?:.*?\S)?)(?:\t+|  +)(\S.*)", line)
            if m:
                words.append((re.compile(rf"\b(?:{m.group(1)})\b", re.I), m.group(2).strip()))
    return words


def line_ends(text):
    """What is left of @p text that is not prose: its line ends, so that prose keeps its line."""
    return "\n" * text.count("\n") or " "


def blank(match):
    return line_ends(match.group())


def prose(path, text):
    """@p text without what is not prose: of C its literals stay, of documents all but code."""
    if not path.endswith((".c", ".h")):
        return re.sub(r"`[^`\n]*`", blank, text)
    text = CODE.sub(blank, text)
    kept, end = [], 0
    for m in LITERAL.finditer(text):
        kept.append(line_ends(text[end:m.start(1)]) + m.group(1).replace("\\n", " "))
        end = m.end(1)
    return "".join(kept)


def main():
    words = read_words(sys.argv[1])
    failed = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            text = prose(path, f.read())
        for expression, instead in words:
            pattern = re.compile(expression.pattern.replace(" ", r"\s+"), re.I)
            for m in pattern.finditer(text):
                line = text.count("\n", 0, m.start()) + 1
                print(f"{path}:{line}: {' '.join(m.group().split())}: {instead}")
                failed = 1
    return failed or not words


sys.exit(main())
