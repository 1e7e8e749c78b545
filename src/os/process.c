/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "os/proc.h"
#include "os/ptrace.h"

/* A process of our own that traces others (os/ptrace.h), and what it has to know of them. */

enum { AGAIN_US = 5000 };

static volatile sig_atomic_t must_end;

/* A signal just before a blocking wait would be missed: so it comes again and again. */
static void on_signal(int number)
{
	const struct itimerval again = {.it_interval = {.tv_usec = AGAIN_US},
					.it_value = {.tv_usec = AGAIN_US}};

	if (number == SIGTERM && !must_end) {
		must_end = 1;
		setitimer(ITIMER_REAL, &again, NULL);
	}
}

static void set_signals(void)
{
	const struct sigaction act = {.sa_handler = on_signal}; /* no SA_RESTART: it ends a wait */
	static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2, SIGPIPE};
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int os_process_start(int (*run)(void *ctx), void *ctx)
{
	pid_t parent = getpid(), pid = fork();
	int code;

	if (pid)
		return pid < 0 ? -errno : pid;
	prctl(PR_SET_NAME, "clew-trace");
	set_signals();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* it died meanwhile */
		raise(SIGTERM);
	code = run(ctx);
	for (;;) /* not exit(): the parent's stdio buffers must not be written twice */
		syscall(SYS_exit_group, code);
}

bool os_process_must_end(void)
{
	return must_end;
}

void os_process_end(int pid)
{
	if (pid > 0)
		kill(pid, SIGTERM);
}

int os_process_join(int pid)
{
	int status, n;

	do {
		n = waitpid(pid, &status, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int os_pipe(int *ret_read, int *ret_write)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	*ret_read = fds[0];
	*ret_write = fds[1];
	return 0;
}

int os_task_cpus(int tid, struct os_cpu_set *ret)
{
	memset(ret, 0, sizeof(*ret));
	return syscall(SYS_sched_getaffinity, tid, sizeof(ret->bits), ret->bits) < 0 ? -errno : 0;
}

int os_task_set_cpus(int tid, const struct os_cpu_set *set)
{
	return syscall(SYS_sched_setaffinity, tid, sizeof(set->bits), set->bits) < 0 ? -errno : 0;
}

void os_cpu_set_one(struct os_cpu_set *ret, unsigned int cpu)
{
	memset(ret, 0, sizeof(*ret));
	ret->bits[cpu / 64 % 16] = UINT64_C(1) << cpu % 64;
}

unsigned int os_this_cpu(void)
{
	int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (unsigned int)cpu;
}

/* A line "NAME:\tVALUE" of /proc/PID/status. */
static uint64_t status_number(int tid, const char *name, int base)
{
	struct buf text = {0};
	uint64_t v = 0;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (os_read_into(path, 65536, &text) > 0) {
		at = strstr(buf_cstr(&text), name);
		v = at ? strtoull(at + strlen(name), NULL, base) : 0;
	}
	buf_done(&text);
	return v;
}

uint64_t os_task_handled(int pid)
{
	return status_number(pid, "\nSigCgt:", 16);
}

uint64_t os_task_pending(int tid)
{
	return status_number(tid, "\nSigPnd:", 16);
}

int os_task_process(int tid)
{
	return (int)status_number(tid, "\nTgid:", 10);
}
