#!/bin/sh
# Builds libraries of small rooms, one of which calls upwards, and expects check-calls.py to name the call. TAP.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 1
mkdir tools
printf 'base:\nos: base\npacket/etm: base\n' > tools/layers.txt

# room NAME CODE: libclew-NAME.a
room() {
	echo "$2" | ${CC:-cc} -x c -c -o "$1.o" - && ar rc "libclew-$1.a" "$1.o"
}

room base 'int base_one(void) { return 1; }'
room os 'int base_one(void); int os_table[2]; int os_call(void) { return base_one() + os_table[1]; }'

count=0
failed=0
# expect WHY MESSAGE ("" = right) ROOM ...
expect() {
	count=$((count + 1))
	why=$1 wanted=$2
	shift 2
	got=$("$here/check-calls.py" "$@")
	status=$?
	if { [ -z "$wanted" ] && [ "$status" = 0 ] && [ -z "$got" ]; } || { [ -n "$wanted" ] && [ "$status" = 1 ] && [ "$got" = "$wanted" ]; }; then
		echo "ok $count - $why"
	else
		echo "not ok $count - $why"
		echo "# exit $status: $got"
		failed=1
	fi
}

echo 1..5
room packet-etm 'int base_one(void); int etm_one(void) { return base_one(); }'
expect 'calls downwards' '' libclew-base.a libclew-os.a libclew-packet-etm.a
room packet-etm 'int os_call(void); int etm_one(void) { return os_call(); }'
expect 'a call sideways' 'packet/etm packet-etm.o: os_call belongs to os' libclew-base.a libclew-os.a libclew-packet-etm.a
room packet-etm 'extern int os_table[2]; int etm_one(void) { return os_table[0]; }'
expect "another room's table" 'packet/etm packet-etm.o: os_table belongs to os' libclew-base.a libclew-os.a libclew-packet-etm.a
room packet-etm 'int printf(const char *f, ...); int etm_one(void) { return printf("x"); }'
expect "the C library is no room" '' libclew-base.a libclew-packet-etm.a
room late 'int late_one(void) { return 1; }'
expect 'a library without a line' 'libclew-late.a: no line of tools/layers.txt' libclew-base.a libclew-late.a
exit $failed
