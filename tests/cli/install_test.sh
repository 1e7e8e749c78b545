#!/bin/sh
# Usage: install_test.sh BUILD FILE: what `meson install` puts into a folder is enough to build programs on libclew, shared and
# static, that read the recording FILE. TAP. Run from the top folder.
build=$1 file=$2
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT
count=0
failed=0
check() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}

DESTDIR=$dest meson install -C "$build" --no-rebuild > "$dest/log" 2>&1
check $? "installs with DESTDIR"
pc=$(find "$dest" -name clew.pc)
prefix=$(sed -n 's/^prefix=//p' "$pc")
lib=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_SYSROOT_DIR="$dest" PKG_CONFIG_PATH="$lib/pkgconfig"
for path in bin/clew include/clew/clew.h share/man/man1/clew-record.1 share/bash-completion/completions/clew; do
	[ -s "$dest$prefix/$path" ]
	check $? "installs $path"
done

cflags=$(pkg-config --cflags clew | sed 's/ *$//')
[ "$cflags" = "-I$dest$prefix/include" ]
check $? "programs compile without the headers of others: $cflags"
! grep -q '^Requires' "$pc"
check $? "programs need no other .pc file"
# shellcheck disable=SC2046,SC2086 # lists of words
{
	cc -Wall -Werror -o "$dest/shared" tests/cli/install_user.c $(pkg-config --cflags --libs clew) 2>&1
	check $? "builds with the shared library"
	cc -Wall -Werror -o "$dest/static" tests/cli/install_user.c $cflags "$lib/libclew.a" \
		$(pkg-config --static --libs-only-l clew | sed 's/-lclew //') -pthread 2>&1
	check $? "builds with the static library"
}
for kind in shared static; do
	got=$(LD_LIBRARY_PATH=$lib "$dest/$kind" "$dest/no-such-file")
	[ "$got" = "$dest/no-such-file: open: No such file or directory" ]
	check $? "$kind: a missing file is refused: $got"
	if [ -e "$file" ]; then
		got=$(LD_LIBRARY_PATH=$lib "$dest/$kind" "$file")
		case "$got" in [1-9]*" samples, "*) true ;; *) false ;; esac
		check $? "$kind: reads a recording: $got"
	else
		count=$((count + 1))
		echo "ok $count # SKIP $file is not here"
	fi
done
echo "1..$count"
exit $failed
