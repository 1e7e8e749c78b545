#!/bin/sh
# Usage: deb.sh [OUT]: Debian packages of the files that git tracks, or of all files where there is no git; into OUT (build-deb).
# The same files give the same bytes, wherever and whenever they are built.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build-deb}

for tool in dpkg-buildpackage dh; do
	command -v $tool > /dev/null || { echo "deb: $tool is missing: apt-get install debhelper dpkg-dev" >&2; exit 1; }
done
rm -rf "$out"
mkdir -p "$out/clew"
if git ls-files > "$out/files" 2> /dev/null && [ -s "$out/files" ]; then
	tar -c -T "$out/files" | tar -x -C "$out/clew"
else
	tar -c --exclude='./build*' . | tar -x -C "$out/clew"
fi
echo "deb: building, which takes a minute; the log is $out/log"
cd "$out/clew"
umask 022
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -S Timestamp) DEB_BUILD_OPTIONS="parallel=${JOBS:-$(nproc)}" LC_ALL=C.UTF-8 \
	dpkg-buildpackage --build=binary --no-sign > ../log 2>&1 || { tail -n 20 ../log >&2; exit 1; }
cd ..
rm -rf clew files
ls ./*.deb
