/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Known stacks for a perf that asks the kernel to put user stacks off: every function has a frame
 * pointer, nothing is linked in, and long reads below a known chain give one stack to several
 * samples. Build: see vm_test.py (FREESTANDING).
 */
#define NOINLINE   __attribute__((noinline, noclone))
#define KEEP_FRAME __asm__ volatile("") /* no call is the last thing done */

static char zeros[1 << 20];
static long zero_file;

static long call(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

NOINLINE static void reads(int n)
{
	while (n--)
		call(0, zero_file, (long)zeros, sizeof(zeros));
	KEEP_FRAME;
}

NOINLINE static void spins(int n)
{
	while (n--)
		KEEP_FRAME;
}

NOINLINE static void works(int what, int n)
{
	if (what)
		spins(n);
	else
		reads(n);
	KEEP_FRAME;
}

NOINLINE static void calls_reads(void)
{
	works(0, 12);
	KEEP_FRAME;
}

NOINLINE static void calls_spins(void)
{
	works(1, 4000000);
	KEEP_FRAME;
}

NOINLINE static int deep(int n)
{
	int ret = n ? deep(n - 1) + 1 : (reads(6), 0);

	__asm__ volatile("" : "+r"(ret));
	return ret;
}

__attribute__((used)) NOINLINE static void run(void)
{
	zero_file = call(2, (long)"/dev/zero", 0, 0);
	for (int i = 0; i < 12; i++) {
		calls_reads();
		calls_spins();
		deep(30);
	}
	call(231, 0, 0, 0);
}

/* No frame further out. */
__asm__(".globl _start\n_start: xor %ebp, %ebp\n call run\n hlt\n");
