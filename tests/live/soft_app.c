/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/*
 * What a program can do to one that steps it (record/soft). Its output is the same whether it is
 * traced or not, and how fast it runs.
 *
 * soft_app calls: a small tree of calls.  soft_app spin: two threads, until they are killed.
 */

static sigjmp_buf back;
static volatile sig_atomic_t nr_alarms, nr_traps, nr_ills;

static void jump_back(int number)
{
	siglongjmp(back, number);
}

static void count_alarm(int number)
{
	(void)number;
	nr_alarms++;
}

static void count_trap(int number)
{
	(void)number;
	nr_traps++;
}

/* Past the two bytes of UD2. */
static void skip_ud2(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number, (void)info;
	c->uc_mcontext.gregs[REG_RIP] += 2;
	nr_ills++;
}

static void faults(void)
{
	struct sigaction act = {.sa_handler = jump_back, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	void (*volatile nowhere)(void) = (void (*)(void))16;
	volatile int zero = 0, one = 1;
	int number;

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGFPE, &act, NULL);
	for (volatile int i = 0; i < 3; i++) {
		number = sigsetjmp(back, 1);
		if (!number)
			*(volatile int *)(uintptr_t)(8 + i) = 1;
		printf("write: %d\n", number);
	}
	number = sigsetjmp(back, 1);
	if (!number)
		one /= zero;
	printf("divide: %d\n", number);
	number = sigsetjmp(back, 1);
	if (!number)
		nowhere();
	printf("jump: %d\n", number);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGFPE, SIG_DFL);
	free(stack.ss_sp);
}

static void traps(void)
{
	struct sigaction act = {.sa_sigaction = skip_ud2, .sa_flags = SA_SIGINFO};
	sigset_t all, old;

	signal(SIGTRAP, count_trap);
	__asm__ volatile("int3");
	__asm__ volatile("int3");
	raise(SIGTRAP);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (volatile int i = 0; i < 10; i++)
		;
	sigprocmask(SIG_SETMASK, NULL, &old);
	printf("blocks SIGTRAP: %d\n", sigismember(&old, SIGTRAP));
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	__asm__ volatile("int3");
	sigaction(SIGILL, &act, NULL);
	__asm__ volatile("ud2");
	printf("traps: %d, %d\n", nr_traps, nr_ills);
}

static void set_timer(int us)
{
	const struct itimerval t = {
		{0, us},
                {0, us}
        };

	setitimer(ITIMER_REAL, &t, NULL);
}

/* System calls that a signal interrupts, and that begin anew. */
static void interrupted(void)
{
	struct sigaction act = {.sa_handler = count_alarm, .sa_flags = SA_RESTART};
	int fds[2], n;
	char c = 0;

	sigaction(SIGALRM, &act, NULL);
	if (pipe(fds))
		return;
	fflush(stdout);
	if (!fork()) {
		usleep(100000);
		n = (int)write(fds[1], "x", 1);
		_exit(n != 1);
	}
	set_timer(20000);
	n = (int)read(fds[0], &c, 1);
	printf("read: %d %c\n", n, c);
	act.sa_flags = 0;
	sigaction(SIGALRM, &act, NULL);
	errno = 0;
	n = usleep(10000000);
	printf("usleep: %d %s\n", n, strerror(errno));
	nr_alarms = 0;
	while (nr_alarms < 5)
		;
	set_timer(0);
	wait(NULL);
}

static void children(void)
{
	cpu_set_t cpus;
	int status;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (!p) {
		kill(getpid(), SIGSTOP);
		_exit(4);
	}
	waitpid(p, &status, WUNTRACED);
	printf("stopped: %d\n", WIFSTOPPED(status));
	kill(p, SIGCONT);
	waitpid(p, &status, 0);
	printf("continued: %d\n", WEXITSTATUS(status));
	p = fork();
	if (!p) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile int *)(uintptr_t)8 = 0;
	}
	waitpid(p, &status, 0);
	printf("crashed: %d\n", WTERMSIG(status));
	fflush(stdout);
	p = vfork();
	if (!p) {
		execl("/bin/echo", "echo", "vfork", (char *)NULL);
		_exit(1);
	}
	waitpid(p, &status, 0);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("vfork: %d, CPUs: %d\n", WEXITSTATUS(status), CPU_COUNT(&cpus));
}

static void changing_code(void)
{
	unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $0,%eax; ret */
	unsigned char *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;

	for (unsigned char i = 0; m != MAP_FAILED && i < 20; i++) {
		code[1] = i;
		memcpy(m, code, sizeof(code));
		sum += ((int (*)(void))(uintptr_t)m)();
	}
	printf("code: %d\n", sum);
}

static long shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *add(void *ctx)
{
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&lock);
		shared += i;
		pthread_mutex_unlock(&lock);
	}
	return ctx;
}

static void *exec_from_thread(void *ctx)
{
	fflush(stdout);
	execl("/bin/echo", "echo", "exec of a thread", (char *)NULL);
	return ctx;
}

static void threads(void)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, add, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("threads: %ld\n", shared);
	pthread_create(&t[0], NULL, exec_from_thread, NULL);
	for (;;)
		pause();
}

__attribute__((noinline)) static int leaf(int x)
{
	__asm__ volatile("");
	return x * 3 + 1;
}

__attribute__((noinline)) static int middle(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++)
		sum += leaf(i);
	__asm__ volatile("");
	return sum;
}

__attribute__((noinline)) static int recurse(int x)
{
	return x ? recurse(x - 1) + leaf(x) : middle(1);
}

__attribute__((noinline)) static int top(int x)
{
	return middle(x) + recurse(2);
}

static void *spin(void *ctx)
{
	volatile long n = 0;

	for (;; usleep(1000))
		for (int i = 0; i < 1000; i++)
			n += i % 3;
	return ctx;
}

int main(int argc, char **argv)
{
	int sum = 0;
	pthread_t t;

	if (argc > 1 && !strcmp(argv[1], "calls")) {
		for (int i = 0; i < 5; i++)
			sum += top(2);
		printf("calls: %d\n", sum);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "spin")) {
		pthread_create(&t, NULL, spin, NULL);
		spin(NULL);
	}
	faults();
	traps();
	interrupted();
	children();
	changing_code();
	threads();
	return 1;
}
