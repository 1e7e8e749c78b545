/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is recorded in the machine of aux_vm.py, and what disturbs a recording there. Linked
 * statically. Usage: load spin MS [PROCESSES] | fork N | pairs N [US] | marks N [US] | kick PID N
 * MS | ask FIFO ACKS N MS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The same over --control; waits for each answer. */
static void ask(const char *fifo, const char *acks, int n, int ms)
{
	FILE *out = fopen(fifo, "w"), *in = fopen(acks, "r");
	char line[64];

	if (!out || !in)
		exit(1);
	setlinebuf(out);
	for (; n-- && fputs("snapshot\n", out) >= 0 && fgets(line, sizeof(line), in); nap(ms))
		;
	fputs("stop\n", out);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n[6] = {0};

	for (int i = 2; i < argc && i < 6; i++)
		n[i] = atoi(argv[i]);
	if (strcmp(what, "kick") && strcmp(what, "ask") && strcmp(what, "as"))
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
		ask(argv[2], argv[3], n[4], n[5]);
	else
		return 2;
	return 0;
}
