#!/bin/sh
# Usage: check-words.sh: text has no word of tools/words.txt: README, CHANGELOG, man pages, ARCHITECTURE, docs/spec, and the messages, --help
# texts and comments of src and include. docs/adr and docs/decisions are history: they are not read. Run from the top folder.
exec python3 tools/check-words.py tools/words.txt README.md CHANGELOG.md man/*.scd docs/ARCHITECTURE.md docs/spec/*.md \
	$(find src include -name '*.[ch]')
