/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_CHILD_H
#define OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A command that is forked, held before its exec, and released when everything is set up. */
struct os_child {
	int pid;             /* 0: none */
	int go_fd, error_fd; /* write end that lets it go; read end that reports a failed exec */
	bool is_running, is_ended; /* released; waited for */
	int status;                /* as wait(2) gives it, once is_ended */
	uint64_t user_ns, sys_ns;  /* that it and its children ran, the same */
};

/**
 * Would execvp() find a program @p name, and may it be run? @p search_path: as in $PATH; NULL: the
 * system's. @return 0, or the -errno that exec would fail with: -ENOENT, -EACCES, ... A program
 * that is there may still fail to start.
 */
int os_child_check(const char *name, const char *search_path);

/** The same; and the file, as it was found. @return also -ENAMETOOLONG. */
int os_child_find(const char *name, const char *search_path, char *ret, size_t size);

/** Fork. The child waits. @p argv borrowed until os_child_go() returns. @return 0 or -errno. */
int os_child_fork(struct os_child *ret, char *const argv[]);

/** Let it exec, and wait until it has. @return 0, or -errno of the exec (the child is then gone).
 */
int os_child_go(struct os_child *c);

/** Take its exit status when it has ended. @p is_blocking: wait for that. @return is_ended. */
bool os_child_reap(struct os_child *c, bool is_blocking);

/** Send @p signal unless it has ended. */
void os_child_signal(struct os_child *c, int signal);

/** Exit status as a shell reports it: 128 + number for a signal. */
int os_child_exit_code(const struct os_child *c);

/** A child that was never released ends here. */
void os_child_done(struct os_child *c);

#endif
