#!/bin/sh
# Usage: setup.sh GROUP ...: see that the packages of these groups of tools/packages.txt are there.
# root: installs what is missing with apt-get. Others: prints the one command to run, and fails.
set -eu
cd "$(dirname "$0")/.."

if ! command -v dpkg-query > /dev/null; then
	echo "setup: not a Debian system, so nothing is installed for you; tools/packages.txt names what clew needs" >&2
	exit 0
fi

own=$(dpkg --print-architecture)
packages_of() {
	awk -v group="$1" -v own="$own" '
		{ sub(/#.*/, "") }
		$1 != group || $2 ~ /^npm:/ { next }
		$2 ~ /aarch64|arm64|^qemu-user/ && own != "amd64" { next } # the cross check runs on amd64 only
		{ print $2 }' tools/packages.txt
}

# npm:PACKAGE@VERSION: a command or a library, from npm's registry.
npm_missing=
npm_root=$(npm root -g 2> /dev/null || :)
for group; do
	for package in $(awk -v group="$group" '{ sub(/ #.*/, "") } $1 == group && sub(/^npm:/, "", $2) { print $2 }' tools/packages.txt); do
		[ -d "$npm_root/${package%@*}" ] || npm_missing="$npm_missing $package"
	done
done
if [ -n "$npm_missing" ] && ! command -v npm > /dev/null; then
	echo "setup: npm is not installed, so these are skipped:$npm_missing" >&2
elif [ -n "$npm_missing" ] && [ "$(id -u)" != 0 ]; then
	echo "setup: as root: npm install -g$npm_missing" >&2
elif [ -n "$npm_missing" ]; then
	echo "setup: installing$npm_missing"
	npm install -g --silent $npm_missing || echo "setup: npm could not install:$npm_missing" >&2
fi

missing=
for group; do
	for package in $(packages_of "$group"); do
		status=$(dpkg-query -W -f '${db:Status-Status} ' "$package" 2> /dev/null || :)
		case " $status" in
		*" installed "*) ;;
		*) missing="$missing $package" ;;
		esac
	done
done
[ -n "$missing" ] || exit 0

add_arch=
case "$missing" in
*:arm64*) dpkg --print-foreign-architectures | grep -qx arm64 || add_arch="dpkg --add-architecture arm64" ;;
esac
install="apt-get install -y --no-install-recommends$missing"

if [ "$(id -u)" != 0 ]; then
	echo "setup: packages are missing. Run this as root, then try again:" >&2
	echo "${add_arch:+$add_arch && }apt-get update && $install" >&2
	exit 1
fi

echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$add_arch
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A list that does not load (some other repository is down) need not stop us: the installation decides.
apt-get update -q > "$log" 2>&1 || { echo "setup: apt-get update had problems:"; tail -n 5 "$log"; }
if ! $install -q -o DPkg::Lock::Timeout=300 > "$log" 2>&1; then
	tail -n 30 "$log" >&2
	echo "setup: apt-get could not install:$missing" >&2
	exit 1
fi
