#!/bin/sh
# codespell over what people read. Exit status 77 (skipped) without the tool. Run from the top folder.
command -v codespell > /dev/null || { echo "codespell is not installed"; exit 77; }
codespell -I tools/spelling.txt src include docs tests bench man tools README.md CHANGELOG.md
