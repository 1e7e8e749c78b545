#!/bin/sh
# Usage: check-words.sh: text has no word of tools/words.txt: README, man pages, ARCHITECTURE, and the messages, --help texts and comments of
# src and include; but for the comments of tools/words-later.txt. docs/adr and docs/decisions are history, docs/spec names fields and members:
# they are not read. Run from the top folder.
exec python3 tools/check-words.py --later tools/words-later.txt tools/words.txt README.md man/*.scd docs/ARCHITECTURE.md \
	$(find src include -name '*.[ch]')
