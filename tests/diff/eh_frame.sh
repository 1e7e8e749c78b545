#!/bin/sh
# eh_frame.sh EH_FRAME_DIFF [usr]: rules of .eh_frame against libdw's on the binaries that this machine has of a fixed list, x86-64 and
# aarch64. `usr`: every ELF file below /usr is compiled and its rows are counted by kind; as far as a minute of CPU time goes. TAP.
if [ "$2" = usr ]; then
	find /usr -xdev -type f \( -perm -u+x -o -name '*.so*' -o -name '*.debug' \) -size +1k 2>/dev/null |
		LC_ALL=C sort | "$1" --classes
	exit
fi
for name in bash perl python3 git openssl gdb node gcc ld sort xz sqlite3 ssh curl vim busybox clang-14 perf cmake systemctl; do
	[ -e "/usr/bin/$name" ] && set -- "$@" "$(readlink -f "/usr/bin/$name")"
done
for dir in /lib64 /usr/lib/x86_64-linux-gnu /usr/lib/gcc/x86_64-linux-gnu/* /usr/aarch64-linux-gnu/lib /usr/s390x-linux-gnu/lib \
	/usr/lib/aarch64-linux-gnu; do
	for name in ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld64.so.1 libc.so.6 libm.so.6 libcrypto.so.3 libssl.so.3 libstdc++.so.6 \
		libgcc_s.so.1 libgcrypt.so.20 libitm.so.1 libpython3.11.so.1.0 libsqlite3.so.0 libz.so.1 liblzma.so.5 libzstd.so.1 libgmp.so.10 \
		libperl.so.5.36 libglib-2.0.so.0 libcurl.so.4 libdw.so.1 libelf.so.1 libncursesw.so.6 libavcodec.so.59 libasan.so.8 libgomp.so.1 \
		libgnutls.so.30 libsystemd.so.0 libjson-c.so.5 libxml2.so.2 libicuuc.so.72 libLLVM-14.so.1 cc1 lto1 collect2; do
		[ -e "$dir/$name" ] && set -- "$@" "$(readlink -f "$dir/$name")"
	done
done
"$@"
