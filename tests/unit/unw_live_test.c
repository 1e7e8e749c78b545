/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walker at every instruction of a real run: this program single-steps itself through variable
 * arrays, a realigned stack, callbacks, lazy PLT entries, calls that never return, signals on
 * another stack, system calls and the vdso. Each function notes itself in a list of its own; at
 * each instruction the walk has to reach the outermost frame and to name exactly those functions.
 * Built several times: with and without frame pointers and optimisation.
 */
#define _GNU_SOURCE 1
#include "unit/tap.h"

#ifdef __x86_64__
# include <dlfcn.h>
# include <elf.h>
# include <link.h>
# include <setjmp.h>
# include <signal.h>
# include <stdbool.h>
# include <stdint.h>
# include <sys/mman.h>
# include <time.h>
# include <ucontext.h>
# include <unistd.h>

# include "unwind/unw_walk.h"

enum { MAX_SHADOW = 64, MAX_FRAMES = 256, MAX_MAPS = 64, STACK_BYTES = 1 << 16 };

/* --- what the program says of itself --- */

static const void *volatile shadow[MAX_SHADOW];
static volatile int nr_shadow;

# define ENTER(f) (shadow[nr_shadow] = (const void *)(f), nr_shadow++)
# define LEAVE()  (nr_shadow--)

/* Not static, so that their sizes can be asked for. */
# ifdef __clang__ /* has no clones */
#  define PART __attribute__((noinline, visibility("default")))
# else
#  define PART __attribute__((noinline, noclone, visibility("default")))
# endif
void part_main(int n);
void part_vla(int n);
void part_aligned(int n);
void part_sort(int n);
int part_compare(const void *a, const void *b);
void part_noreturn(int n);
void part_jump(int n) __attribute__((noreturn));
void part_text(int n);
void part_signal(int n);
void part_handler(int sig);
void part_handled(int n);
void part_recurse(int n);

static const void *const parts[] = {
	(const void *)part_main,    (const void *)part_vla,     (const void *)part_aligned,
	(const void *)part_sort,    (const void *)part_compare, (const void *)part_noreturn,
	(const void *)part_jump,    (const void *)part_text,    (const void *)part_signal,
	(const void *)part_handler, (const void *)part_handled, (const void *)part_recurse,
};
enum { NR_PARTS = sizeof(parts) / sizeof(*parts) };
static size_t part_bytes[NR_PARTS];

/* In longjmp() the list is still the jumper's. */
static volatile bool is_jumping;
static volatile unsigned int sink;
static jmp_buf back;

static bool is_stepping;

static void step(void)
{
	if (!is_stepping)
		return;
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

static void stop_stepping(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

PART void part_handled(int n)
{
	ENTER(part_handled);
	sink += (unsigned int)n;
	LEAVE();
}

PART void part_handler(int sig)
{
	step();
	ENTER(part_handler);
	part_handled(sig);
	part_text(sig);
	LEAVE();
}

PART void part_signal(int n)
{
	ENTER(part_signal);
	sink += (unsigned int)n;
	raise(n % 2 ? SIGUSR1 : SIGUSR2); /* the one on its own stack, the other not */
	LEAVE();
}

PART void part_text(int n)
{
	char text[64];
	struct timespec t;

	ENTER(part_text);
	snprintf(text, sizeof(text), "%d %s %g", n, "abc", n * 1.5);
	sink += (unsigned int)strtol(text, NULL, 10) + (unsigned int)strlen(text) +
		(unsigned int)getppid();
	clock_gettime(CLOCK_MONOTONIC, &t);
	sink += (unsigned int)t.tv_nsec;
	LEAVE();
}

PART void part_jump(int n)
{
	ENTER(part_jump);
	sink += (unsigned int)n;
	is_jumping = true;
	longjmp(back, n);
}

PART void part_noreturn(int n)
{
	ENTER(part_noreturn);
	sink += (unsigned int)n;
	part_jump(n + 1); /* the last instruction of this function is a call */
}

PART int part_compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b, ret;

	ENTER(part_compare);
	ret = x < y ? -1 : x > y;
	LEAVE();
	return ret;
}

PART void part_sort(int n)
{
	int v[9], depth = nr_shadow;

	ENTER(part_sort);
	for (int i = 0; i < 9; i++)
		v[i] = i * 7919 % 11 + n;
	qsort(v, 9, sizeof(v[0]), part_compare);
	sink += (unsigned int)v[3];
	if (!setjmp(back))
		part_noreturn(n);
	nr_shadow = depth + 1;
	is_jumping = false;
	part_text(n);
	LEAVE();
}

PART void part_aligned(int n)
{
	_Alignas(64) volatile char aligned[64];
	volatile char more[n + 1];

	ENTER(part_aligned);
	aligned[n] = more[n] = (char)n;
	part_sort(n);
	sink += (unsigned int)(aligned[n] + more[n]);
	LEAVE();
}

PART void part_vla(int n)
{
	volatile int array[n + 3];

	ENTER(part_vla);
	array[n] = n;
	part_aligned(n);
	sink += (unsigned int)array[n];
	LEAVE();
}

PART void part_recurse(int n)
{
	ENTER(part_recurse);
	if (n)
		part_recurse(n - 1);
	else
		part_vla(5);
	sink++;
	LEAVE();
}

PART void part_main(int n)
{
	ENTER(part_main);
	part_recurse(4);
	part_signal(n);
	part_signal(n + 1);
	if (is_stepping)
		sink += (unsigned int)
			getpgrp(); /* bound now: through the whole of a lazy PLT entry */
	LEAVE();
}

/* --- the space --- */

struct mapping {
	uint64_t start, end, bias;
	const struct unw_code *code;
};
static struct mapping maps[MAX_MAPS];
static size_t nr_maps;
static uint64_t stack_start, stack_end;
static uint8_t trap_stack[STACK_BYTES], user_stack[STACK_BYTES];

static bool find(void *ctx, uint64_t pc, struct unw_map *ret)
{
	(void)ctx;
	for (size_t i = 0; i < nr_maps; i++) {
		if (pc >= maps[i].start && pc < maps[i].end) {
			*ret = (struct unw_map){.start = maps[i].start,
						.end = maps[i].end,
						.bias = maps[i].bias,
						.code = maps[i].code};
			return true;
		}
	}
	return false;
}

static bool is_in(uint64_t address, uint64_t start, uint64_t end)
{
	return address >= start && address <= end - 8;
}

static bool read_word(void *ctx, uint64_t address, uint64_t *ret)
{
	uint64_t other = (uintptr_t)user_stack, trap = (uintptr_t)trap_stack;

	(void)ctx;
	if (!is_in(address, stack_start, stack_end) &&
	    !is_in(address, other, other + STACK_BYTES) &&
	    !is_in(address, trap, trap + STACK_BYTES))
		return false;
	memcpy(ret, (const void *)(uintptr_t)address, 8);
	return true;
}

static void take_map(struct unw_store *store, const char *line)
{
	unsigned long long start, end, offset;
	char prot[8], path[256] = "";
	const struct unw_code *code = NULL;

	if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, prot, &offset, path) < 4)
		return;
	if (!strcmp(path, "[stack]")) {
		stack_start = start;
		stack_end = end;
	}
	if (prot[2] != 'x' || nr_maps == MAX_MAPS)
		return;
	if (*path == '/')
		code = unw_store_get_file(store, path);
	else if (!strcmp(path, "[vdso]"))
		code = unw_store_get_vdso(store);
	maps[nr_maps++] = (struct mapping){start, end, offset - start, code};
}

static void read_maps(struct unw_store *store)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		take_map(store, line);
	if (f)
		fclose(f);
}

/* --- at each instruction --- */

static struct unw_memo *memo;
static unsigned long nr_steps, nr_short, nr_wrong, nr_fp, nr_signals;
static uint64_t short_pc[16], wrong_pc[16];
static int short_stop[16];

static const void *part_of(uint64_t pc)
{
	for (size_t i = 0; i < NR_PARTS; i++) {
		if (pc - (uintptr_t)parts[i] < part_bytes[i])
			return parts[i];
	}
	return NULL;
}

/* The functions of the walk, innermost first, against the list. One may be on it before its first
 * or after its last instruction of the frame: the innermost may be missing on either side. */
static bool is_right(const struct unw_frames *f)
{
	const void *got[MAX_FRAMES];
	int nr = 0, want = nr_shadow, extra;

	for (uint32_t i = 0; i < f->nr; i++) {
		const void *part = part_of(f->pc[i] - !f->exact[i]);

		if (part && nr < MAX_FRAMES)
			got[nr++] = part;
	}
	/* ENTER and LEAVE change the list in two instructions, and stand inside of the function. */
	extra = nr - want;
	if (extra < -1 || extra > 1)
		return false;
	for (int i = 0; i < want - (extra < 0); i++) {
		if (got[nr - 1 - i] != shadow[i])
			return false;
	}
	return true;
}

static void regs_of(const ucontext_t *uc, struct unw_regs *r)
{
	static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				    REG_R12, REG_R13, REG_R14, REG_R15};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		r->r[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	r->pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	r->known = 0xffff;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	static uint64_t pc[MAX_FRAMES];
	static uint8_t exact[MAX_FRAMES];
	static uint32_t id = 1;
	const struct unw_space space = {
		.find = find, .read = read_word, .id = id, .arch = UNW_X86_64};
	struct unw_frames f = {.pc = pc, .exact = exact, .max = MAX_FRAMES};
	struct unw_regs regs;

	(void)sig;
	(void)info;
	regs_of(context, &regs);
	unw_walk(&space, memo, &regs, &f);
	nr_steps++;
	nr_fp += f.has_fp;
	nr_signals += f.nr_signals;
	if (f.stop != UNW_STOP_OUTERMOST) {
		if (nr_short < 16) {
			short_pc[nr_short] = pc[f.nr - 1];
			short_stop[nr_short] = (int)f.stop;
		}
		nr_short++;
	} else if (!is_jumping && !is_right(&f)) {
		if (nr_wrong < 16)
			wrong_pc[nr_wrong] = pc[0];
		nr_wrong++;
	}
}

static void print_place(const char *what, uint64_t pc, const char *why)
{
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)pc, &info))
		info = (Dl_info){0};
	printf("# %s %s at %s%+lld of %s\n", what, why, info.dli_sname ? info.dli_sname : "?",
	       info.dli_saddr ? (long long)(pc - (uintptr_t)info.dli_saddr)
			      : (long long)(pc - (uintptr_t)info.dli_fbase),
	       info.dli_fname ? info.dli_fname : "?");
}

static void measure_parts(void)
{
	Dl_info info;
	const ElfW(Sym) * sym;

	for (size_t i = 0; i < NR_PARTS; i++) {
		if (dladdr1(parts[i], &info, (void **)&sym, RTLD_DL_SYMENT) && sym)
			part_bytes[i] = sym->st_size;
	}
}

static void handle_signals(void)
{
	struct sigaction a = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t ss = {.ss_sp = user_stack, .ss_size = STACK_BYTES};

	/* One alternate stack a thread: the program's. on_step() runs on it too, below. */
	sigaltstack(&ss, NULL);
	sigaction(SIGTRAP, &a, NULL);
	a = (struct sigaction){.sa_handler = part_handler, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = 0;
	sigaction(SIGUSR2, &a, NULL);
}

int main(void)
{
	struct unw_store *store = unw_store_new(&(struct unw_store_opts){0});

	memo = unw_memo_new();
	if (!store || !memo)
		return 1;
	measure_parts();
	for (size_t i = 0; i < NR_PARTS; i++)
		CHECK(part_bytes[i], "size of part %zu is known", i);
	read_maps(store);
	handle_signals();
	part_main(1); /* binds what is bound lazily */
	is_stepping = true;
	step();
	part_main(1);
	stop_stepping();
	for (unsigned long i = 0; i < nr_short && i < 16; i++)
		print_place("stopped:", short_pc[i], unw_stop_name((enum unw_stop)short_stop[i]));
	for (unsigned long i = 0; i < nr_wrong && i < 16; i++)
		print_place("wrong", wrong_pc[i], "");
	CHECK(nr_steps > 5000, "%lu instructions stepped", nr_steps);
	CHECK(nr_signals > 100, "%lu walks through a signal frame", nr_signals);
	/* longjmp()'s last instructions run on the new stack with the old one's rules. */
	CHECK(nr_short <= nr_steps / 1000 + 4, "%lu walks end early", nr_short);
	CHECK(nr_wrong <= 4, "%lu walks name other functions than run", nr_wrong);
	CHECK_EQ(nr_fp, 0, "no frame by frame pointer alone");
	unw_memo_free(memo);
	unw_store_free(store);
	return tap_done();
}
#else
int main(void)
{
	SKIP_ALL("single steps are set up for x86-64 only");
}
#endif
