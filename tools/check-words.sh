#!/bin/sh
# Usage: check-words.sh: text for users has no word of tools/words.txt: README, man pages, ARCHITECTURE, and the messages and --help texts of
# src. docs/adr and docs/decisions are history, docs/spec names fields and members: they are not read. Run from the top folder.
exec python3 tools/check-words.py tools/words.txt README.md man/*.scd docs/ARCHITECTURE.md $(find src -name '*.[ch]' ! -name '*.bpf.c')
