/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is recorded in the machine of aux_vm.py, and what disturbs a recording there. Linked
 * statically. Usage: load spin MS [PROCESSES] | doze MS [US] | fork N | forked N | pairs N [US] |
 * marks N [US] | kick PID N MS | ask FIFO ACKS N MS | burst FIFO ACKS N | starts FIFO ACKS N | as
 * ID COMMAND | hold PMU | tsc
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP     __asm__ volatile("") /* the call is not optimized away */

volatile int mark_word;

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void spin_us(uint64_t us)
{
	uint64_t end = now_us() + us;

	while (now_us() < end)
		for (int i = 0; i < 200; i++)
			KEEP;
}

/* Of one CPU's time: on a busy machine @ms are long. */
static void spin(int ms, int processes)
{
	while (--processes > 0)
		if (!fork())
			break;
	spin_us((uint64_t)ms * 1000);
}

/* Each child works and dies; the parent dies first, so that the last ones are orphans. */
static void forks(int n)
{
	while (n--) {
		if (fork()) {
			spin_us(500);
			continue;
		}
		spin_us(2000);
		_exit(0);
	}
}

/* Switched to often, and for short. */
static void doze(int ms, int us)
{
	for (uint64_t end = now_us() + (uint64_t)ms * 1000; now_us() < end; usleep((useconds_t)us))
		spin_us(500);
}

/* Resumed, and with a child on its CPU that never is; then paused. */
static void forked(int n)
{
	struct utsname name;

	while (n--) {
		pid_t child;

		uname(&name);
		child = fork();
		if (!child) {
			spin_us(1000);
			_exit(0);
		}
		while (!waitpid(child, NULL, WNOHANG))
			sched_yield();
		syscall(SYS_getppid);
	}
}

static void pairs(int n, uint64_t us)
{
	struct utsname name;

	while (n--) {
		spin_us(us);
		uname(&name);
		spin_us(us);
		syscall(SYS_getppid);
	}
}

NOINLINE void mark_on(void)
{
	KEEP;
}

NOINLINE void mark_off(void)
{
	KEEP;
}

static void marks(int n, uint64_t us)
{
	while (n--) {
		spin_us(us);
		mark_on();
		mark_word = n;
		spin_us(us);
		mark_off();
	}
}

static void nap(int most_ms)
{
	usleep((useconds_t)(rand() % (most_ms * 1000 + 1)));
}

/* SIGUSR2 at random times. */
static void kick(pid_t pid, int n, int ms)
{
	while (n-- && !kill(pid, SIGUSR2))
		nap(ms);
}

/* Of --control. */
struct control {
	FILE *out, *in;
};

static struct control control_open(const char *fifo, const char *acks)
{
	struct control c = {fopen(fifo, "w"), fopen(acks, "r")};

	if (!c.out || !c.in)
		exit(1);
	setlinebuf(c.out);
	return c;
}

static int is_done(struct control *c, const char *command)
{
	char line[64];

	return fputs(command, c->out) >= 0 && fgets(line, sizeof(line), c->in);
}

/* Snapshots at random times, each when the one before has been acknowledged. */
static void ask(struct control c, int n, int ms)
{
	for (; n-- && is_done(&c, "snapshot\n"); nap(ms))
		;
	fputs("stop\n", c.out);
}

/* As many as a pipe takes, in one write. */
static void burst(struct control c, int n)
{
	char text[4096] = "", line[64];

	for (int i = 0; i < n && strlen(text) < sizeof(text) - 16; i++)
		strcat(text, "snapshot\n");
	fputs(text, c.out);
	while (n-- && fgets(line, sizeof(line), c.in))
		;
	fputs("stop\n", c.out);
}

/* Recorded itself: each time it is, it resumes and pauses the trace once. */
static void starts(struct control c, int n)
{
	struct utsname name;

	while (n-- && is_done(&c, "enable\n")) {
		uname(&name);
		spin_us(200);
		syscall(SYS_getppid);
		if (!is_done(&c, "disable\n"))
			exit(1);
	}
}

/* Closes an event of a task, and keeps its area mapped: it holds its place. */
static int hold(const char *pmu)
{
	enum { PAGE = 4096, AUX_OFFSET = 1072, AUX_SIZE = 1080 };
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1, .sample_period = 1};
	uint64_t offset = 2 * PAGE, size = PAGE;
	char path[256];
	uint8_t *page;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || page == MAP_FAILED)
		return 1;
	memcpy(page + AUX_OFFSET, &offset, sizeof(offset));
	memcpy(page + AUX_SIZE, &size, sizeof(size));
	if (mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset) == MAP_FAILED)
		return 1;
	close(fd);
	close(creat("holding", 0644));
	return pause();
}

/* kHz of this machine's counter, which the emulated one has, too. */
static int tsc(void)
{
#ifdef __x86_64__
	uint64_t us = now_us(), ticks = __builtin_ia32_rdtsc();

	usleep(50000);
	ticks = __builtin_ia32_rdtsc() - ticks;
	printf("%llu\n", (unsigned long long)(ticks * 1000 / (now_us() - us)));
#endif
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n[6] = {0};

	for (int i = 2; i < argc && i < 6; i++)
		n[i] = atoi(argv[i]);
	if (!strcmp(what, "tsc"))
		return tsc();
	if (strcmp(what, "kick") && strcmp(what, "ask") && strcmp(what, "burst") &&
	    strcmp(what, "as"))
		close(creat("running",
			    0644)); /* for scripts that wait for the recording to begin */
	if (!strcmp(what, "spin"))
		spin(n[2], n[3]);
	else if (!strcmp(what, "fork"))
		forks(n[2]);
	else if (!strcmp(what, "pairs"))
		pairs(n[2], n[3] ? (uint64_t)n[3] : 500);
	else if (!strcmp(what, "marks"))
		marks(n[2], n[3] ? (uint64_t)n[3] : 500);
	else if (!strcmp(what, "kick"))
		kick(n[2], n[3], n[4]);
	else if (!strcmp(what, "as") && argc > 3)
		return setgid((gid_t)n[2]) || setuid((uid_t)n[2]) || execvp(argv[3], argv + 3);
	else if (!strcmp(what, "ask") && argc > 5)
		ask(control_open(argv[2], argv[3]), n[4], n[5]);
	else if (!strcmp(what, "burst") && argc > 4)
		burst(control_open(argv[2], argv[3]), n[4]);
	else if (!strcmp(what, "starts") && argc > 4)
		starts(control_open(argv[2], argv[3]), n[4]);
	else if (!strcmp(what, "hold"))
		return hold(argv[2]);
	else if (!strcmp(what, "doze"))
		doze(n[2], n[3] ? n[3] : 10000);
	else if (!strcmp(what, "forked"))
		forked(n[2]);
	else
		return 2;
	return 0;
}
