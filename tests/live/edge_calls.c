/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Code that unwind information does not cover, for tests/cli/edges_test.py: assembly without a
 * frame, assembly with a frame pointer, and an interpreter, which returns to addresses that it
 * pushed. All loops are counted. Prints where the interpreter's loop stands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void bare_leaf(void);
void framed(void);

/* No .cfi: only their instructions describe these. */
__asm__(".text\n"
	".globl bare_leaf\n.type bare_leaf, @function\n"
	"bare_leaf:\n"
	"	mov $100000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	ret\n"
	".size bare_leaf, . - bare_leaf\n"
	".globl framed\n.type framed, @function\n"
	"framed:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $32, %rsp\n"
	"	call bare_leaf\n"
	"	mov $100000, %ecx\n"
	"2:	dec %ecx\n"
	"	jnz 2b\n"
	"	leave\n"
	"	ret\n"
	".size framed, . - framed\n");

/* In memory of no file. The first function pushes where its bytecode continues and jumps to the
 * second, which loops at LOOP. */
static const unsigned char interpreter[] = {
	0x55, 0x48, 0x89, 0xe5,          /*  0: push %rbp; mov %rsp, %rbp */
	0x48, 0x8d, 0x05, 5,    0, 0, 0, /*  4: lea 5(%rip), %rax */
	0x50,                            /* 11: push %rax */
	0xeb, 0x04,                      /* 12: jmp 18 */
	0x90, 0x90,                      /* 14 */
	0x5d, 0xc3,                      /* 16: pop %rbp; ret */
	0x55, 0x48, 0x89, 0xe5,          /* 18: push %rbp; mov %rsp, %rbp */
	0xb9, 0xa0, 0x86, 0x01, 0,       /* 22: mov $100000, %ecx */
	0xff, 0xc9,                      /* 27: dec %ecx */
	0x75, 0xfc,                      /* 29: jnz 27 */
	0x5d, 0xc3,                      /* 31: pop %rbp; ret */
};
enum { LOOP = 27, LOOP_END = 31 };

__attribute__((noinline)) static void call_leaf(void)
{
	bare_leaf();
	__asm__ volatile("");
}

__attribute__((noinline)) static void call_framed(void)
{
	framed();
	__asm__ volatile("");
}

__attribute__((noinline)) static void interpret(void (*code)(void))
{
	code();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1000;
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, interpreter, sizeof(interpreter));
	printf("%lu %lu\n", (unsigned long)at + LOOP, (unsigned long)at + LOOP_END);
	for (int i = 0; i < nr; i++) {
		call_leaf();
		call_framed();
		interpret((void (*)(void))at);
	}
	return 0;
}
