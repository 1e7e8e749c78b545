#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# isa_llvm.sh ISA_LLVM: instructions of A64, A32, T32 and of M-profile's T32, as we and LLVM 19 decode them. TAP.
if ! command -v llvm-objdump-19 llvm-objcopy-19 > /dev/null; then
	echo "1..0 # SKIP no llvm-objdump-19 here"
	exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
nr=0
# NAME ELF-FORMAT TRIPLE FEATURES
while read -r mode format triple features; do
	nr=$((nr + 1))
	"$1" words "$mode" "$work/words"
	llvm-objcopy-19 -I binary -O "$format" --rename-section .data=.text,alloc,readonly,code "$work/words" "$work/words.o"
	llvm-objdump-19 -d --triple="$triple" --mattr="$features" "$work/words.o" 2> /dev/null > "$work/text"
	"$1" compare "$mode" "$work/words" < "$work/text" > "$work/ours" || status=1
	sed "s/ 1 - / $nr - $mode: /; /^1\.\.1/d" "$work/ours"
done << END
a64 elf64-littleaarch64 aarch64 +all
a32 elf32-littlearm armv9a +sb
t32 elf32-littlearm thumbv9a +sb
m elf32-littlearm thumbv8.1m.main +mve.fp,+lob,+8msecext,+pacbti
END
echo "1..$nr"
exit $status
