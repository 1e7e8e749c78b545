#!/bin/sh
# Plants one use of another room's name at a time in a small tree and expects check-types.py to name it. TAP.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
cd "$tree" || exit 1
mkdir -p tools include/clew src/base src/os src/packet/etm src/cli src/bpf
cat > tools/layers.txt <<'END'
base:
os: base
packet/etm: base
cli: base os
bpf:
<clew/session.h> = cli
END
cat > src/os/ring.h <<'END'
/* struct in_comment { */
struct base_steps {
	int n;
};
struct os_ring {
	struct os_head {
		int at;
	} head;
};
enum os_kind { OS_ONE = 1 << 0, OS_TWO /* , OS_THREE */ };
enum { OS_MAX = 8 };
#define OS_PAGE 4096
#define OS_ALIGN(x) (x)
typedef int os_visit(void *ctx);
static inline int os_ring_size(const struct os_ring *r)
{
	return r->head.at;
}
END
printf 'enum etm_kind {\n\tETM_ATOM,\n};\n' > src/packet/etm/etm.h
printf 'typedef int s32;\nenum { OS_MAX = 8 };\n' > src/bpf/vmlinux.h
echo 'struct clew_session { int x; };' > include/clew/session.h

count=0
failed=0
# expect WHY FILE LINE-TO-ADD MESSAGE ("" = the tree must pass)
expect() {
	count=$((count + 1))
	echo "$3" > "$2"
	got=$("$here/check-types.py")
	status=$?
	rm "$2"
	if { [ -z "$4" ] && [ "$status" = 0 ] && [ -z "$got" ]; } ||
	   { [ -n "$4" ] && [ "$status" = 1 ] && [ "$got" = "$2:1: $4" ]; }; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		echo "# exit $status: $got"
		failed=1
	fi
}

echo 1..20
up=src/base/up.c
expect 'downward' src/cli/main.c 'struct os_ring r; enum os_kind k = OS_TWO; int n = OS_ALIGN(OS_PAGE);' ''
expect 'a static function of that name' src/packet/etm/own.c 'static int os_ring_size(int x) { return x; }' ''
expect 'an opaque struct that a room above defines' src/base/opaque.h 'struct base_steps; int f(struct base_steps *s);' ''
expect 'a struct upwards' $up 'int f(struct os_ring *r);' 'os_ring belongs to os'
expect 'a struct inside another' $up 'int f(struct os_head *r);' 'os_head belongs to os'
expect 'a pointer that is only passed on' src/base/up.h 'struct os_ring;' 'os_ring belongs to os'
expect 'an enum sideways' src/os/side.c 'enum etm_kind k;' 'etm_kind belongs to packet/etm'
expect 'a constant' $up 'int n = OS_ONE;' 'OS_ONE belongs to os'
expect 'the last constant' $up 'int n = OS_TWO;' 'OS_TWO belongs to os'
expect 'a constant of an enum without name' $up 'int n[OS_MAX];' 'OS_MAX belongs to os'
expect 'a macro' $up 'int n = OS_PAGE;' 'OS_PAGE belongs to os'
expect 'a macro with arguments' $up 'int n = OS_ALIGN(1);' 'OS_ALIGN belongs to os'
expect 'a typedef' $up 'int f(os_visit *v);' 'os_visit belongs to os'
expect 'an inline function' $up 'int f(void) { return os_ring_size(0); }' 'os_ring_size belongs to os'
expect "a public header's struct" $up 'struct clew_session *s;' 'clew_session belongs to cli'
expect 'a comment, a string and a member' $up '/* struct os_ring */ const char *s = "OS_PAGE"; int n = s->OS_ONE + s.OS_TWO;' ''
expect "a file's own enum" $up 'enum { OS_MAX = 2 }; int n = OS_MAX;' ''
expect "the kernel's names in a BPF program" src/bpf/one.bpf.c 's32 n = OS_MAX;' ''
expect "the kernel's names elsewhere" $up 's32 n;' ''
expect "a tag is no constant" $up 'int etm_kind, os_kind;' ''
exit $failed
