#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetch Debian's cloud kernels for vm_test.py, through a private apt directory: nothing of this machine's apt or packages changes.
# Usage: fetch.sh FOLDER VERSION ...    VERSION as in a package's name: 7.3.4+deb13-cloud-amd64, 6.1.0-50-cloud-amd64
# The kernels are left as FOLDER/vmlinuz-VERSION. Needs apt, dpkg-deb and /usr/share/keyrings/debian-archive-keyring.gpg.
set -eu
[ $# -ge 2 ] || { sed -n 's/^# Usage: //p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc" "$folder/x"
touch "$apt/status"
cat > "$apt/apt.conf" << END
Dir::State "$apt"; Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
APT::Architectures "amd64"; APT::Architecture "amd64"; Acquire::Languages "none"; APT::Sandbox::User "root";
END
for suite in sid trixie trixie-backports bookworm; do
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
done > "$apt/etc/sources.list"
export APT_CONFIG="$apt/apt.conf"
[ -n "$(ls "$apt/lists" | grep Packages || true)" ] || apt-get update -q
cd "$folder/x"
for version; do
	# Newer packages keep the image in linux-binary-*, and linux-image-* is empty.
	apt-get download -q "linux-binary-$version" 2> /dev/null || apt-get download -q "linux-image-$version"
	for deb in linux-*-"$version"_*.deb; do
		dpkg-deb -x "$deb" "$version"
	done
	find "$version" -name 'vmlinuz*' -exec mv {} "$folder/vmlinuz-$version" \;
	rm -rf "$version" linux-*-"$version"_*.deb
	ls -l "$folder/vmlinuz-$version"
done
