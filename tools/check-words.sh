#!/bin/sh
# Usage: check-words.sh: text has no word of tools/words.txt: README, CHANGELOG, CONTRIBUTING (but its glossary, which lists
# them), man pages, all of docs, and the messages, --help texts and comments of src and include. Run from the top folder.
exec python3 tools/check-words.py tools/words.txt README.md CHANGELOG.md man/*.scd CONTRIBUTING.md docs/*.md docs/*/*.md docs/examples/*.c \
	$(find src include -name '*.[ch]')
