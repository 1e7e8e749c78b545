/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS))
		return -EACCES;
	return 0;
}

/* Spec: exec(3), "execvp": an empty part of the path is this directory; a file that may not be run
 * is the answer only where no other is found. */
int os_child_find(const char *name, const char *search_path, char *ret, size_t size)
{
	const char *at = search_path ? search_path : "/bin:/usr/bin", *end;
	int err = -ENOENT;

	if (!*name || strchr(name, '/'))
		return (size_t)snprintf(ret, size, "%s", name) < size ? check_file(ret)
								      : -ENAMETOOLONG;
	do {
		end = strchrnul(at, ':');
		if ((size_t)snprintf(ret, size, "%.*s%s%s", (int)(end - at), at,
				     end > at ? "/" : "", name) < size) {
			int one = check_file(ret);

			if (!one)
				return 0;
			err = one == -EACCES ? one : err;
		}
		at = end + 1;
	} while (*end);
	return err;
}

int os_child_check(const char *name, const char *search_path)
{
	char path[PATH_MAX];

	return os_child_find(name, search_path, path, sizeof(path));
}

static void __attribute__((noreturn)) end_child(int code)
{
	/* Not exit(): the parent's stdio buffers must not be written twice. */
	for (;;)
		syscall(SYS_exit_group, code);
}

static void __attribute__((noreturn)) run_child(char *const argv[], int go_fd, int error_fd)
{
	sigset_t none;
	char go;
	int error;

	prctl(PR_SET_NAME, "clew-exec");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	if (os_read(go_fd, &go, 1) != 1)
		end_child(127);
	execvp(argv[0], argv);
	error = errno;
	os_write_all(error_fd, &error, sizeof(error));
	end_child(error == ENOENT ? 127 : 126);
}

int os_child_fork(struct os_child *ret, char *const argv[])
{
	int go[2], error[2], pid, err;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(error, O_CLOEXEC)) {
		err = -errno;
		goto out_go;
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(error[0]);
		run_child(argv, go[0], error[1]);
	}
	if (pid < 0) {
		err = -errno;
		goto out_error;
	}
	close(go[0]);
	close(error[1]);
	*ret = (struct os_child){.pid = pid, .go_fd = go[1], .error_fd = error[0]};
	return 0;
out_error:
	close(error[0]);
	close(error[1]);
out_go:
	close(go[0]);
	close(go[1]);
	return err;
}

int os_child_go(struct os_child *c)
{
	int error = 0;
	long n;

	if (os_write_all(c->go_fd, "g", 1))
		return -ESRCH;
	os_close(c->go_fd);
	c->go_fd = -1;
	c->is_running = true;
	n = os_read(c->error_fd, &error, sizeof(error)); /* ends when exec closes the other side */
	os_close(c->error_fd);
	c->error_fd = -1;
	return n == sizeof(error) ? -error : 0;
}

static uint64_t time_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

bool os_child_reap(struct os_child *c, bool is_blocking)
{
	struct rusage used;
	int pid;

	if (c->is_ended || !c->pid)
		return c->is_ended;
	do {
		pid = wait4(c->pid, &c->status, is_blocking ? 0 : WNOHANG, &used);
	} while (pid < 0 && errno == EINTR);
	if (pid > 0) {
		c->user_ns = time_ns(&used.ru_utime);
		c->sys_ns = time_ns(&used.ru_stime);
	}
	c->is_ended = pid != 0; /* an error means: not our child any more */
	return c->is_ended;
}

void os_child_signal(struct os_child *c, int signal)
{
	if (c->pid && !c->is_ended)
		kill(c->pid, signal);
}

int os_child_exit_code(const struct os_child *c)
{
	if (WIFSIGNALED(c->status))
		return 128 + WTERMSIG(c->status);
	return WEXITSTATUS(c->status);
}

void os_child_done(struct os_child *c)
{
	if (!c->pid)
		return;
	os_close(c->go_fd);
	os_close(c->error_fd);
	if (!c->is_running) {
		kill(c->pid, SIGKILL);
		os_child_reap(c, true);
	}
	*c = (struct os_child){0};
}
