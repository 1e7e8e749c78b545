#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: fetch_perf.sh DIR: Debian's newest perf (trixie-backports, 46 MB with its libraries) unpacked in DIR, beside the
# system's. For deferred_perf.py: CLEW_PERF_NEW=DIR/perf
set -e
dir=$(realpath -m "$1")
mkdir -p "$dir/apt/etc/apt.conf.d" "$dir/apt/etc/preferences.d" "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/root"
: > "$dir/apt/status"
key=/usr/share/keyrings/debian-archive-keyring.gpg
for suite in trixie trixie-backports; do
	echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main"
done > "$dir/apt/etc/sources.list"
cat > "$dir/apt/apt.conf" << END
Dir::State "$dir/apt";
Dir::State::status "$dir/apt/status";
Dir::State::lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache";
Dir::Etc "$dir/apt/etc";
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
Acquire::Languages "none";
APT::Sandbox::User "root";
END
export APT_CONFIG="$dir/apt/apt.conf"
apt-get -q update
apt-get -q install -y --download-only --no-install-recommends -t trixie-backports linux-perf
for deb in "$dir"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$dir/root"
done
rm -rf "$dir/apt"
cat > "$dir/perf" << END
#!/bin/sh
lib=$dir/root/usr/lib/x86_64-linux-gnu
exec "\$lib/ld-linux-x86-64.so.2" --library-path "\$lib:$dir/root/usr/lib" "$dir/root/usr/bin/perf" "\$@"
END
chmod +x "$dir/perf"
"$dir/perf" --version
