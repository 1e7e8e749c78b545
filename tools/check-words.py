#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: check-words.py WORDS FILE ...: looks for the words of the list WORDS: in whole documents, and in the string literals and comments
of C files. Prints FILE:LINE: WORD: what to write instead, and exits 1, for each. Run from the top folder."""
import re
import sys

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
    | ^[^\S\n]*\#[^\S\n]*include[^\n]*
    | '(?:[^'\\\n]|\\.)+'
    | "(?P<literal>(?:[^"\\\n]|\\.)*)"
    """, re.S | re.M | re.X)


def read_words(path):
    """@return [(compiled expression, what to write instead)]"""
    words = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"([^#\s](?:.*?\S)?)(?:\t+|  +)(\S.*)", line)
            if not m and line.strip() and not line.startswith("#"):
                sys.exit(f"{path}: two spaces or a tab have to be between an expression and what to write instead: {line.strip()}")
            if m:
                words.append((re.compile(rf"\b(?:{m.group(1)})\b", re.I), m.group(2).strip()))
    return words


def line_ends(text):
    """What is left of @p text that is not prose: its line ends, so that prose keeps its line."""
    return "\n" * text.count("\n") or " "


def blank(match):
    return line_ends(match.group())


def comment_prose(text):
    """@p text without stars, with its line ends. What stands before and after it is another sentence."""
    return "; " + re.sub(r"^[ \t]*\*", "", text[2:].removesuffix("*/"), flags=re.M) + " ;"


def prose(path, text):
    """@p text without what is not prose: of C its literals and comments stay, of documents all but code and the glossary, which lists the words."""
    if not path.endswith((".c", ".h")):
        text = re.sub(r"^## Glossary\n.*?(?=^## |\Z)", blank, text, flags=re.S | re.M)
        return re.sub(r"`[^`\n]*`", blank, text)
    kept, end = [], 0
    for m in TOKEN.finditer(text):
        kept.append(line_ends(text[end:m.start()]))
        end = m.end()
        if m["literal"] is not None:
            kept.append(m["literal"].replace("\\n", " "))
        elif m["comment"]:
            kept.append(comment_prose(m["comment"]))
        else:
            kept.append(line_ends(m.group()))
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
