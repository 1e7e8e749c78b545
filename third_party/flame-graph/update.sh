#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Makes flame-graph.js and LICENSES anew, of the packages that package-lock.json pins, by npm and Debian's esbuild.
# --check: in a directory of its own, and says whether the result is what is here. 77: a tool or the registry is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for tool in npm esbuild; do
	command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$here/bundle.js" "$dir"
cd "$dir"
npm ci --ignore-scripts --no-audit --no-fund > npm.log 2>&1 || { tail -3 npm.log; echo "skipped: npm could not fetch the packages"; exit 77; }
esbuild bundle.js --bundle --minify --format=iife --target=es2020 --legal-comments=none --loader:.css=empty \
	--log-level=error --charset=ascii --metafile=meta.json --outfile=flame-graph.js
python3 - > LICENSES <<'EOF'
import json, re
from pathlib import Path

inputs = json.load(open("meta.json"))["outputs"]["flame-graph.js"]["inputs"]
used = sorted({m.group(1) for i, v in inputs.items() if v["bytesInOutput"] and (m := re.match("node_modules/([^/]+)/", i))})
texts = {}
for name in used:
    of = json.load(open("node_modules/%s/package.json" % name))
    text = Path("node_modules/%s/LICENSE" % name).read_text(encoding="utf-8").strip()
    texts.setdefault(text, []).append("%s %s (%s)" % (name, of["version"], of["license"]))
print("This page draws with these packages, each under the licence below its name.")
for text, names in texts.items():
    print("\n" + "\n".join(names) + "\n\n" + text)
EOF
if [ "${1-}" = --check ]; then
	cmp flame-graph.js "$here/flame-graph.js" && cmp LICENSES "$here/LICENSES" && echo "flame-graph.js is what its packages make"
else
	cp flame-graph.js LICENSES "$here"
fi
