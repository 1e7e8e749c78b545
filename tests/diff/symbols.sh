#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Usage: symbols.sh SYMBOL_DIFF: record programs with perf, compare every symbol with perf's. TAP.
set -u
diff=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

perf record -q -B -N -e cpu-clock -o "$work/try" -- true > /dev/null 2>&1 || {
	echo "1..0 # SKIP perf cannot record here"
	exit 0
}

# Overlaps, repetitions, sizes of 0, kinds and bindings, in an order that is not the addresses'.
cat > "$work/over.s" << 'S'
	.text
	.globl main
	.type main,@function
main:	mov $300000,%ecx
1:	call sled
	dec %ecx
	jnz 1b
	xor %eax,%eax
	ret
	.size main,.-main
	.p2align 12
sled:	.fill 16384,1,0x90
	ret
	.macro name n,at,size,bind,type
	.set \n,sled+\at
	.type \n,@\type
	.size \n,\size
	\bind \n
	.endm
	name outer,8192,4096,.globl,function
	name inner,9000,500,.globl,function
	name inner_too,11000,100,.local,function
	name __weak_one,1000,0,.weak,function
	name a_label,1000,400,.local,notype
	name an_object,1000,300,.globl,object
	name tail,14000,0,.local,function
	name first,0,64,.local,function
	name wide,100,16000,.weak,function
	name camlFoo__bar_12,3000,200,.globl,function
	name _ZN2ns3fooEv,3500,0,.globl,function
	.section .note.GNU-stack,"",@progbits
S

nr=0 input=/dev/null
compare() { # NAME PROGRAM...
	name=$1
	shift
	nr=$((nr + 1))
	# perf does not survive what Linux writes beside a recorder that wants build ids (record_beside_test.py): once more then.
	for _ in $(seq 100); do
		perf record -q -B -N -e cpu-clock -F 4000 -g -o "$work/data" -- "$@" < "$input" > /dev/null 2>&1
		perf script -i "$work/data" -F ip,sym,symoff,dso 2> /dev/null > "$work/text" && [ -s "$work/text" ] && break
		sleep 1
	done
	if result=$("$diff" "$HOME/.debug" < "$work/text" 2> /dev/null); then
		echo "ok $nr - $name: $result"
	else
		echo "not ok $nr - $name"
		echo "$result" | tail -n 8 | sed 's/^/# /'
	fi
}

case $(uname -m)-$(command -v cc) in
x86_64-/*)
	cc -o "$work/over" "$work/over.s" && compare "overlapping symbols" "$work/over"
	;;
esac
compare "ls" ls -R /usr/share/doc
cp "$work/text" "$work/copy"
input=$work/copy
compare "this program" "$diff"
input=/dev/null
compare "a shell" sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
echo "1..$nr"
