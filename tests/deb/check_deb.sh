#!/bin/sh
# Usage: check_deb.sh: `make check-deb`. Debian packages: built twice, in two places, with the same bytes; lintian finds no error; and in a fresh
# root, made by debootstrap, they install, record, report and compile a program. Root, and a mirror of Debian. TAP on standard output.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
root=$work/root
trap 'umount "$root/proc" 2> /dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
nr=0 failed=0

result() { # STATUS NAME
	nr=$((nr + 1))
	if [ "$1" = 0 ]; then echo "ok $nr - $2"; else echo "not ok $nr - $2"; failed=1; fi
}

skip() {
	nr=$((nr + 1))
	echo "ok $nr - $1 # SKIP $2"
}

check_build() {
	tools/deb.sh build-deb > "$work/names"
	result $? "the packages are built"
	mkdir -p "$work/a-longer-name-of-a-folder"
	tools/deb.sh "$work/a-longer-name-of-a-folder/again" > "$work/names-again"
	status=$?
	for deb in build-deb/*.deb; do
		cmp "$deb" "$work/a-longer-name-of-a-folder/again/${deb##*/}" || status=1
	done
	result $status "a second build, elsewhere, has the same bytes"
}

check_lintian() {
	if ! command -v lintian > /dev/null; then
		skip "lintian finds no error" "lintian is not installed"
		return
	fi
	lintian --allow-root --fail-on error build-deb/*.changes > "$work/lintian" 2>&1
	status=$?
	sed 's/^/# /' "$work/lintian"
	result $status "lintian finds no error"
}

# The main archive, as this machine has it.
mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2> /dev/null |
		awk '$1 == "deb" || $1 == "URIs:" { for (i = 2; i <= NF; i++) if ($i ~ /^https?:.*\/debian\/?$/) { print $i; exit } }'
}

in_root() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

make_root() {
	debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$(mirror)" > "$work/root.log" 2>&1 || return
	mount -t proc proc "$root/proc"
	cp /etc/resolv.conf "$root/etc/" 2> /dev/null
	cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
	mkdir "$root/debs"
	cp build-deb/*.deb "$root/debs/"
}

check_root() {
	if [ "$(id -u)" != 0 ] || ! command -v debootstrap > /dev/null; then
		skip "the packages install in a fresh root" "needs root, and debootstrap"
		return
	fi
	make_root
	status=$?
	[ $status = 0 ] || tail -n 5 "$work/root.log" | sed 's/^/# /'
	result $status "debootstrap makes a root"
	[ $status = 0 ] || return
	in_root sh -c 'apt-get update && apt-get install -y --no-install-recommends /debs/clew_*.deb' > "$work/install.log" 2>&1
	result $? "clew installs, with what it depends on"
	[ "$(in_root clew --version)" = "clew $(dpkg-parsechangelog -S Version)" ]
	result $? "clew --version"
	in_root sh -c 'clew record -g -o /tmp/perf.data -- sh -c "i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done"' > "$work/record.log" 2>&1
	result $? "it records"
	in_root clew report --stdio -i /tmp/perf.data 2> /dev/null | grep -q '%.*sh'
	result $? "and reports"
	in_root sh -c 'apt-get install -y /debs/libclew0_*.deb /debs/libclew-dev_*.deb gcc libc6-dev pkg-config' >> "$work/install.log" 2>&1
	result $? "libclew-dev installs"
	cat > "$root/tmp/version.c" <<- 'END'
		#include <clew/clew.h>
		#include <stdio.h>
		int main(void) { return puts(clew_version()) < 0; }
	END
	in_root sh -c 'cd /tmp && gcc version.c $(pkg-config --cflags --libs clew) -o shared && ./shared &&
		gcc version.c -Wl,-Bstatic -lclew -Wl,-Bdynamic $(pkg-config --static --libs clew) -o static && ./static' > "$work/program.log" 2>&1
	status=$?
	[ $status = 0 ] || sed 's/^/# /' "$work/program.log"
	result $status "a program compiles with the shared library, and with the static one"
	in_root sh -c 'apt-get purge -y clew libclew0 libclew-dev && ! command -v clew' >> "$work/install.log" 2>&1
	result $? "all can be removed"
}

check_build
check_lintian
check_root
echo "1..$nr"
exit $failed
