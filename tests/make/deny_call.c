/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: deny_call CALL ERRNO COMMAND...: runs the command as on a kernel that refuses one system
 * call. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned int number;
} calls[] = {
	{"openat2",       SYS_openat2      },
	{"epoll_create1", SYS_epoll_create1},
};

static int deny(unsigned int number, unsigned int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 3 && i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(argv[1], calls[i].name) != 0)
			continue;
		if (deny(calls[i].number, (unsigned int)atoi(argv[2]))) {
			perror("seccomp");
			return 125;
		}
		execvp(argv[3], argv + 3);
		perror(argv[3]);
		return 127;
	}
	fprintf(stderr, "usage: deny_call openat2|epoll_create1 ERRNO COMMAND...\n");
	return 125;
}
