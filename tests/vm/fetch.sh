#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Fetch what the tests here need from Debian, through a private apt directory: nothing of this machine's apt or packages changes, and what was fetched
# is kept. Usage: fetch.sh FOLDER WHAT ...
#   VERSION          a cloud kernel as in a package's name, 7.3.4+deb13-cloud-amd64: FOLDER/vmlinuz-VERSION
#   module:VERSION   that kernel with what its modules are built with: FOLDER/module-VERSION; VERSION may be 6.12, the newest of these with gcc 12
#   gcc              the compiler of kernels that gcc 12 does not build (trixie): FOLDER/gcc-root
#   qemu             of bookworm-backports: FOLDER/qemu, a command
#   perf             of bookworm-backports, for this machine's libraries: FOLDER/perf-6.12
#   busybox          static: FOLDER/busybox
#   programs         of trixie, with all their libraries, a root of its own: FOLDER/programs
# ARCH=arm64: all this for a machine of arm64, emulated on this one; names that have no VERSION get -arm64: FOLDER/qemu-arm64.
# Needs apt, dpkg-deb and /usr/share/keyrings/debian-archive-keyring.gpg.
set -eu
[ $# -ge 2 ] || { sed -n '/Usage:/,/Needs/s/^# //p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
own=$(dpkg --print-architecture)
arch=${ARCH:-$own}
of= # what the names of another architecture end in
[ "$arch" = "$own" ] || of=-$arch
apt=$folder/apt$of
key=/usr/share/keyrings/debian-archive-keyring.gpg

# Only what has to be fetched needs the lists, so that a full folder needs no network.
use_apt() {
	[ -z "${APT_CONFIG:-}" ] || return 0
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc" "$folder/x"
	touch "$apt/status"
	cat > "$apt/apt.conf" << END
Dir::State "$apt"; Dir::State::lists "$apt/lists"; Dir::State::status "$apt/status"; Dir::Cache "$apt/cache";
Dir::Etc::sourcelist "$apt/etc/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
APT::Architectures { "$own"; "$arch"; }; APT::Architecture "$own"; Acquire::Languages "none"; APT::Sandbox::User "$(id -un)";
END
	for suite in sid trixie trixie-backports bookworm bookworm-backports; do
		echo "deb [signed-by=$key] http://deb.debian.org/debian $suite main"
	done > "$apt/etc/sources.list"
	export APT_CONFIG="$apt/apt.conf"
	[ -n "$(ls "$apt/lists" | grep Packages || true)" ] || apt-get update -q
}

# Package ...: unpacked in FOLDER/$to, whole or not at all. $links: names that lead into its usr; $without: a pattern of files to leave out.
links=
without=
unpack() {
	use_apt
	rm -rf "$folder/x/$to.deb" "$folder/x/$to"
	mkdir -p "$folder/x/$to.deb" "$folder/x/$to"
	for dir in $links; do
		mkdir -p "$folder/x/$to/usr/$dir"
		ln -s "usr/$dir" "$folder/x/$to/$dir"
	done
	(cd "$folder/x/$to.deb" && apt-get download -q "$@")
	for deb in "$folder/x/$to.deb"/*.deb; do
		# --keep-directory-symlink: of /usr merged
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$folder/x/$to" -x --keep-directory-symlink ${without:+--exclude "$without"}
	done
	rm -rf "$folder/x/$to.deb"
	mv "$folder/x/$to" "$folder/$to"
	links=
	without=
}

image_of() { # newer packages keep the image in linux-binary-*, and linux-image-* is empty
	use_apt
	for name in "linux-binary-$1" "linux-image-$1"; do
		if apt-cache show "$name" > /dev/null 2>&1; then
			echo "$name"
			return
		fi
	done
	echo "fetch.sh: Debian has no kernel $1; of cloud kernels it has:" $(apt-cache search --names-only "^linux-headers-.*-cloud-$arch\$" | cut -d ' ' -f 1 | cut -d - -f 3-) >&2
	return 1
}

newest_of() {
	use_apt
	apt-cache search --names-only "^linux-headers-$1\..*deb12-cloud-$arch\$" | cut -d ' ' -f 1 | cut -d - -f 3- | sort -V | tail -n 1
}

fetch_kernel() {
	[ ! -f "$folder/vmlinuz-$1" ] || return 0
	image=$(image_of "$1")
	rm -rf "$folder/kernel-$1"
	to=kernel-$1 && unpack "$image"
	find "$folder/$to" -name 'vmlinuz*' -exec mv {} "$folder/vmlinuz-$1" \;
	rm -rf "${folder:?}/$to"
}

fetch_module() {
	version=$1
	if [ "${version#*-cloud}" = "$version" ]; then
		[ ! -e "$folder/module-$1$of/usr" ] || [ ! -e "$folder/vmlinuz-$1$of" ] || return 0
		version=$(newest_of "$1")
		[ -n "$version" ] || { echo "fetch.sh: no kernel of series $1" >&2; return 1; }
	fi
	if [ ! -d "$folder/module-$version" ]; then
		image=$(image_of "$version")
		base=${version%-cloud-*}
		to=module-$version && unpack "$image" "linux-headers-$version" "linux-headers-$base-common" "linux-kbuild-$base"
		sed -i "s,/usr/src/,$folder/$to/usr/src/," "$folder/$to/usr/src/linux-headers-$version/Makefile"
	fi
	[ -e "$folder/vmlinuz-$version" ] || ln -sfn "$(find "$folder/module-$version" -name vmlinuz -o -name "vmlinuz-$version" | head -n 1)" "$folder/vmlinuz-$version"
	[ "$version" != "$1" ] || return 0
	ln -sfn "module-$version" "$folder/module-$1$of"
	ln -sfn "vmlinuz-$version" "$folder/vmlinuz-$1$of"
}

fetch_gcc() {
	[ ! -e "$folder/gcc-root$of/usr/bin/awk" ] || return 0
	use_apt
	compiler=gcc-14
	[ "$arch" != arm64 ] || [ "$own" = arm64 ] || compiler=gcc-14-aarch64-linux-gnu
	printf 'Package: *\nPin: release n=trixie\nPin-Priority: 990\n\nPackage: *\nPin: release n=*\nPin-Priority: -1\n' > "$apt/etc/pins-gcc"
	packages=$(apt-get -s --no-install-recommends -o Dir::Etc::preferences="$apt/etc/pins-gcc" install $compiler make libelf1t64 dash bash coreutils sed grep mawk \
		findutils diffutils perl-base binutils libc-bin | awk '/^Inst/ { print $2 "/trixie" }')
	rm -rf "$folder/gcc-root$of"
	to=gcc-root$of links="bin sbin lib lib64"
	unpack $packages
	ln -sf mawk "$folder/$to/usr/bin/awk"
}

# qemu's name of the emulated machine, Debian's package of it, and further folders of firmware.
qemu_of() {
	case $arch in
	arm64) echo aarch64 qemu-system-arm ;;
	*) echo x86_64 qemu-system-x86 seabios ;;
	esac
}

fetch_qemu() {
	[ ! -x "$folder/qemu$of" ] || return 0
	use_apt
	# Of bookworm's libraries, so that they go with the loader of this machine.
	printf 'Package: *\nPin: release n=bookworm*\nPin-Priority: 990\n\nPackage: *\nPin: release n=trixie*\nPin-Priority: -1\n
Package: *\nPin: release n=sid\nPin-Priority: -1\n' > "$apt/etc/pins"
	set -- $(qemu_of)
	packages=$(apt-get -s --no-install-recommends -o Dir::Etc::preferences="$apt/etc/pins" -t bookworm-backports install "$2" |
		awk '/^Inst/ { print $2 "/" (/~bpo12/ ? "bookworm-backports" : "bookworm") }')
	rm -rf "$folder/qemu-root$of"
	to=qemu-root$of && unpack $packages
	cat > "$folder/qemu$of" << END
#!/bin/sh
root=$folder/qemu-root$of
export LD_LIBRARY_PATH=\$root/usr/lib/x86_64-linux-gnu:\$root/lib/x86_64-linux-gnu QEMU_MODULE_DIR=\$root/usr/lib/x86_64-linux-gnu/qemu
exec "\$root/usr/bin/qemu-system-$1" -L "\$root/usr/share/qemu" ${3:+-L "\$root/usr/share/$3" }"\$@"
END
	chmod +x "$folder/qemu$of"
	"$folder/qemu$of" --version
}

fetch_perf() {
	[ ! -x "$folder/perf-6.12/usr/bin/perf" ] || return 0
	rm -rf "$folder/perf-6.12"
	to=perf-6.12 && unpack linux-perf/bookworm-backports
}

# Another architecture's comes from Debian, this machine's own is taken as it is.
fetch_busybox() {
	[ ! -x "$folder/busybox$of" ] || return 0
	rm -rf "$folder/busybox-root$of"
	to=busybox-root$of && unpack "busybox-static:$arch/bookworm"
	ln -sfn "busybox-root$of/bin/busybox" "$folder/busybox$of"
}

# Compilers have signed return addresses in all of trixie's packages for arm64.
fetch_programs() {
	[ ! -d "$folder/programs$of" ] || return 0
	packages=
	for package in libc6 libgcc-s1 libtinfo6 zlib1g libzstd1 liblzma5 libexpat1 libreadline8t64 libstdc++6 bash perl-base libcrypt1 libpython3.13-minimal \
		python3.13-minimal xz-utils libssl3t64 openssl libsqlite3-0 sqlite3; do
		packages="$packages $package:$arch/trixie"
	done
	to=programs$of links="bin lib" without='./usr/share/*'
	unpack $packages
}

for what; do
	case $what in
	qemu) fetch_qemu ;;
	busybox) fetch_busybox ;;
	perf) fetch_perf ;;
	programs) fetch_programs ;;
	gcc) fetch_gcc ;;
	module:*) fetch_module "${what#module:}" ;;
	*) fetch_kernel "$what" ;;
	esac
done
