#!/bin/sh
# Every C file stands as clang-format-14 writes it. Exit status 77 (skipped) without the tool. Run from the top folder.
command -v clang-format-14 > /dev/null || { echo "clang-format-14 is not installed"; exit 77; }
find src include tests bench -name '*.[ch]' -exec clang-format-14 --dry-run --Werror {} +
