/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * Functions that begin with an instruction which is more than plain, for windows of record/soft;
 * and a program that steps itself. The output is the same whether it is traced or not.
 *
 * soft_begins windows [threads | alarms]: calls each function of names[] NR_ROUNDS times, and
 * win_end after each.  soft_begins NAME: that one alone.  soft_begins traps.
 */
enum { NR_ROUNDS = 3, TF = 0x100 };

/* clang-format off */
__asm__(".text\n"
	".macro window name\n.globl \\name\n.type \\name, @function\n.p2align 4\n\\name:\n.endm\n"
	".macro done name\n.size \\name, . - \\name\n.endm\n"
	"window win_helper\n nop\n ret\ndone win_helper\n"
	"window win_end\n nop\n ret\ndone win_end\n"
	"window win_plain\n nop\n ret\ndone win_plain\n"
	"window win_ret\n ret\ndone win_ret\n"
	"window win_jcc\n jz 1f\n nop\n1: ret\ndone win_jcc\n"
	"window win_jmp\n jmp win_helper\ndone win_jmp\n"
	"window win_call\n call win_helper\n ret\ndone win_call\n"
	"window win_indirect\n jmp *%rdi\ndone win_indirect\n"
	"window win_call_indirect\n call *%rdi\n ret\ndone win_call_indirect\n"
	"window win_memory\n jmp *(%rsi)\ndone win_memory\n"
	"window win_loop\n loop win_loop\n ret\ndone win_loop\n"
	"window win_rep\n rep stosb\n ret\ndone win_rep\n"
	"window win_syscall\n syscall\n ret\ndone win_syscall\n"
	"window win_recurse\n jrcxz 1f\n dec %rcx\n call win_recurse\n1: ret\ndone win_recurse\n"
	"window win_trap\n int3\n ret\ndone win_trap\n"
	"window win_fault\n jmp *(%rdx)\ndone win_fault\n"
	"window run_stepped\n"
	" pushf\n orq $0x100, (%rsp)\n popf\n"
	" nop\n nop\n call win_helper\n mov $39, %eax\n syscall\n nop\n"
	" mov $3, %ecx\n1: loop 1b\n"
	" sub $32, %rsp\n mov %rsp, %rdi\n mov $5, %ecx\n xor %eax, %eax\n rep stosb\n add $32, %rsp\n"
	" lea win_helper(%rip), %rdi\n call *%rdi\n"
	" pushf\n andq $~0x100, (%rsp)\n popf\n nop\n ret\n"
	"done run_stepped\n"
	"window fork_stepped\n" /* its child has TF, too */
	" pushf\n orq $0x100, (%rsp)\n popf\n"
	" mov $57, %eax\n syscall\n nop\n nop\n"
	" pushf\n andq $~0x100, (%rsp)\n popf\n ret\n"
	"done fork_stepped\n");
/* clang-format on */

void win_helper(void);
void win_end(void);
void run_stepped(void);
long fork_stepped(void);

/* clang-format off */
#define WINDOWS(X) \
	X(win_plain) X(win_ret) X(win_jcc) X(win_jmp) X(win_call) X(win_indirect) \
	X(win_call_indirect) X(win_memory) X(win_loop) X(win_rep) X(win_syscall) \
	X(win_recurse) X(win_trap) X(win_fault)
/* clang-format on */
#define X(name) void name(void);
WINDOWS(X)
#undef X

static const struct window {
	const char *name;
	void (*f)(void);
} windows[] = {
#define X(name) {#name, name},
	WINDOWS(X)
#undef X
};

enum { NR_WINDOWS = sizeof(windows) / sizeof(windows[0]) };

static __thread volatile int nr_faults, nr_int3s;
static void (*const helper)(void) = win_helper;

/* Out of win_fault, as if it had returned. */
static void leave_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	greg_t *r = c->uc_mcontext.gregs;

	(void)number, (void)info;
	nr_faults++;
	memcpy(&r[REG_RIP], (void *)r[REG_RSP], sizeof(r[0]));
	r[REG_RSP] += 8;
}

static void count_int3(int number)
{
	(void)number;
	nr_int3s++;
}

static void nothing(int number)
{
	(void)number;
}

static void call(void (*f)(void))
{
	char bytes[8];
	const void *nowhere = (const void *)16;
	register void *di __asm__("rdi") = f == windows[9].f ? (void *)bytes : (void *)win_helper;
	register const void *si __asm__("rsi") = &helper;
	register const void *dx __asm__("rdx") = nowhere;
	register long cx __asm__("rcx") = 5, ax __asm__("rax") = SYS_getpid;

	__asm__ volatile("sub $128, %%rsp\n call *%5\n add $128, %%rsp"
			 : "+r"(di), "+r"(si), "+r"(dx), "+r"(cx), "+r"(ax)
			 : "r"(f)
			 : "memory", "cc", "r11");
}

static void *run_windows(void *name)
{
	for (int round = 0; round < NR_ROUNDS; round++)
		for (int i = 0; i < NR_WINDOWS; i++) {
			if (name && strcmp(name, windows[i].name))
				continue;
			call(windows[i].f);
			win_end();
		}
	return (void *)(intptr_t)(nr_faults + 100 * nr_int3s);
}

static void run_in_threads(void)
{
	pthread_t t[3];
	void *sum;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, run_windows, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &sum);
		printf("thread: %ld\n", (long)(intptr_t)sum);
	}
}

static void set_alarms(int us)
{
	const struct itimerval t = {
		{0, us},
                {0, us}
        };
	struct sigaction act = {.sa_handler = nothing, .sa_flags = SA_RESTART};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

/* --- traps of its own --- */

static volatile sig_atomic_t nr_traps, left;
static volatile long codes;
static volatile uint64_t places;

static void note_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;
	greg_t *flags = &c->uc_mcontext.gregs[REG_EFL];

	(void)number;
	nr_traps++;
	codes = codes * 3 + info->si_code;
	places = places * 31 + (uint64_t)c->uc_mcontext.gregs[REG_RIP] -
		 (uint64_t)(uintptr_t)win_helper;
	if (left && !--left)
		*flags &= ~TF;
}

static void set_trap_flag(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number, (void)info;
	c->uc_mcontext.gregs[REG_EFL] |= TF;
	left = 7;
}

static void say(const char *what, bool has_places)
{
	printf("%s: %d traps, codes %lx, places %llx\n", what, (int)nr_traps, codes,
	       has_places ? (unsigned long long)places : 0);
	nr_traps = 0;
	codes = 0;
	places = 0;
}

static void *kill_process(void *ctx)
{
	for (int i = 0; i < 5; i++) {
		int before = nr_traps;

		kill(getpid(), SIGTRAP);
		while (nr_traps == before)
			usleep(100);
	}
	return ctx;
}

static void be_sent_traps(void)
{
	pthread_t t;

	raise(SIGTRAP);
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 5});
	say("sent", false);
	pthread_create(&t, NULL, kill_process, NULL);
	while (nr_traps < 5)
		win_helper();
	pthread_join(t, NULL);
	say("killed", false);
}

/* By an event of its own; without the right to it there is none. */
static void be_watched(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_PAGE_FAULTS,
				       .size = sizeof(attr),
				       .sample_period = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	volatile char *m =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd;

	attr.remove_on_exec = 1;
	attr.sigtrap = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	for (int i = 0; i < 4 && fd >= 0; i++)
		m[i * 4096] = 1;
	close(fd);
	say("watched", false);
}

static void traps(void)
{
	struct sigaction act = {.sa_sigaction = note_trap, .sa_flags = SA_SIGINFO},
			 set = {.sa_sigaction = set_trap_flag, .sa_flags = SA_SIGINFO};
	int status;
	long pid;

	sigaction(SIGTRAP, &act, NULL);
	sigaction(SIGUSR1, &set, NULL);
	run_stepped();
	say("steps", true);
	win_end();
	run_stepped();
	say("steps after a window", true);
	__asm__ volatile("int3\n int3");
	say("int3", false);
	raise(SIGUSR1);
	for (int i = 0; i < 20; i++)
		win_helper();
	say("set by a handler", false);
	be_sent_traps();
	be_watched();
	fflush(stdout);
	pid = fork_stepped();
	if (!pid) {
		say("child", true);
		run_stepped();
		say("child's own", true);
		fflush(stdout);
		_exit(nr_traps);
	}
	waitpid((pid_t)pid, &status, 0);
	say("parent", true);
	fflush(stdout);
	if (!fork()) {
		__asm__ volatile("pushf\n orq $0x100, (%%rsp)\n popf" ::: "memory", "cc");
		execl("/bin/echo", "echo", "stepped into exec", (char *)NULL);
		_exit(1);
	}
	wait(&status);
	printf("exec: %d\n", status);
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = leave_fault, .sa_flags = SA_SIGINFO};
	const char *what = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "";

	if (!strcmp(what, "traps")) {
		traps();
		return 0;
	}
	sigaction(SIGSEGV, &act, NULL);
	signal(SIGTRAP, count_int3);
	if (!strcmp(more, "alarms"))
		set_alarms(1000);
	if (!strcmp(more, "threads"))
		run_in_threads();
	else
		printf("%ld\n",
		       (long)(intptr_t)run_windows(strcmp(what, "windows") ? argv[1] : NULL));
	return 0;
}
