#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetch Debian's cloud kernels for vm_test.py, through a private apt directory: nothing of this machine's apt or packages changes.
# Usage: fetch.sh FOLDER VERSION|qemu ...    VERSION as in a package's name: 7.3.4+deb13-cloud-amd64, 6.1.0-50-cloud-amd64
# The kernels are left as FOLDER/vmlinuz-VERSION; qemu (bookworm-backports) as FOLDER/qemu, a command. Needs apt, dpkg-deb and /usr/share/keyrings/debian-archive-keyring.gpg.
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
for suite in sid trixie trixie-backports bookworm bookworm-backports; do
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
done > "$apt/etc/sources.list"
export APT_CONFIG="$apt/apt.conf"
[ -n "$(ls "$apt/lists" | grep Packages || true)" ] || apt-get update -q
cd "$folder/x"

fetch_qemu() {
	rm -rf "$apt/cache/archives"
	mkdir -p "$apt/cache/archives/partial"
	# Of bookworm's libraries, so that they go with the loader of this machine.
	printf 'Package: *\nPin: release n=bookworm*\nPin-Priority: 990\n\nPackage: *\nPin: release n=trixie*\nPin-Priority: -1\n
Package: *\nPin: release n=sid\nPin-Priority: -1\n' > "$apt/etc/pins"
	apt-get install -q -y --download-only --no-install-recommends -o Dir::Etc::preferences="$apt/etc/pins" -t bookworm-backports qemu-system-x86
	for deb in "$apt"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$folder/qemu-root"
	done
	cat > "$folder/qemu" << END
#!/bin/sh
root=$folder/qemu-root
export LD_LIBRARY_PATH=\$root/usr/lib/x86_64-linux-gnu:\$root/lib/x86_64-linux-gnu
exec "\$root/usr/bin/qemu-system-x86_64" -L "\$root/usr/share/qemu" -L "\$root/usr/share/seabios" "\$@"
END
	chmod +x "$folder/qemu"
	"$folder/qemu" --version
}

for version; do
	[ "$version" != qemu ] || { fetch_qemu; continue; }
	# Newer packages keep the image in linux-binary-*, and linux-image-* is empty.
	apt-get download -q "linux-binary-$version" 2> /dev/null || apt-get download -q "linux-image-$version"
	for deb in linux-*-"$version"_*.deb; do
		dpkg-deb -x "$deb" "$version"
	done
	find "$version" -name 'vmlinuz*' -exec mv {} "$folder/vmlinuz-$version" \;
	rm -rf "$version" linux-*-"$version"_*.deb
	ls -l "$folder/vmlinuz-$version"
done
