#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: build.sh FOLDER VERSION: softaux.ko for a kernel that ../fetch.sh FOLDER module:VERSION has fetched, as FOLDER/softaux-VERSION/softaux.ko; again
# only if its source has changed. A kernel that gcc 12 does not build takes the compiler of `fetch.sh FOLDER gcc`, in a chroot of a mount namespace.
set -eu
here=$(dirname "$(realpath "$0")")
folder=$(realpath "$1")
module=$(realpath "$folder/module-$2")
version=${module##*/module-}
out=$folder/softaux-$version
headers=$module/usr/src/linux-headers-$version
same=true
for file in Kbuild softaux.h softaux_main.c softaux_pt.c; do
	cmp -s "$here/$file" "$out/$file" || same=false
done
[ $same = false ] || [ ! -s "$out/softaux.ko" ] || exit 0
rm -rf "$out"
mkdir -p "$out"
cp "$here/Kbuild" "$here"/*.[ch] "$out"
of= # what the compiler's folder ends in
cross=
case $version in
*-arm64) [ "$(uname -m)" = aarch64 ] || { of=-arm64 cross=aarch64-linux-gnu-; } ;;
esac
make="make -s ${cross:+ARCH=arm64 CROSS_COMPILE=$cross} -C $headers M=$out CONFIG_DEBUG_INFO_BTF_MODULES= modules"
if grep -q '^CONFIG_GCC_VERSION=12' "$headers/.config"; then
	$make
else
	ARCH=${version##*-} "$here/../fetch.sh" "$folder" gcc
	root=$folder/gcc-root$of
	mkdir -p "$root$module" "$root$out" "$root/proc" "$root/dev" "$root/tmp"
	: > "$root/dev/null"
	user=
	[ "$(id -u)" = 0 ] || user=-r
	unshare $user -mpf sh -euc "
		mount -t proc proc '$root/proc'
		mount --bind /dev/null '$root/dev/null'
		mount --bind '$module' '$root$module'
		mount --bind '$out' '$root$out'
		exec chroot '$root' /bin/sh -c '$make'"
fi
${cross}strip --strip-debug "$out/softaux.ko"
