#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: sets.sh DIR: makes the sets of tests/data/who again: CASE.SEED.data.zst, CASE.SEED.truth.zst. Short ones, so that all are small.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
for x in root-ctx:0 root-ctx-el1:1 root-switch:0 root-switch-lost:2 root-tp:0 partial-ctx:0 box-switch:0 box-mix:0 box-mix-lost:1 box-tp:1 \
	box-mix-tp:0 box-hostproc:3 task:0 task-box:1 task-noclock:0 thread:0 noclock:0 noclock-ctx:1 wrap:0 clockid:0 reuse:2 reuse-ctx:1 hotplug:0 \
	truncate:0 storm:0 late:0 leak:0 leak-noctx:0; do
	name=${x%:*}.${x#*:}
	"$here/who_make.py" "${x%:*}" "${x#*:}" "$name" ms=15 spe_step_us=110
	rm "$name.kallsyms"
	zstd -q -19 --rm -f "$name.data" "$name.truth"
done
