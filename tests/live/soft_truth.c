/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * soft_truth --exec CMD...: run it at the addresses that it always has.
 * soft_truth FILE CMD...: the same, one instruction after the other; their addresses into FILE. Of
 * a repeated string instruction, of which each turn is a step, one.
 */

static void run(char **argv)
{
	personality(ADDR_NO_RANDOMIZE);
	execvp(argv[0], argv);
	perror(argv[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	struct user_regs_struct r;
	unsigned long last = 0;
	int pid, status;
	FILE *f;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "--exec"))
		run(argv + 2);
	f = fopen(argv[1], "w");
	if (!f)
		return 2;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		run(argv + 2);
	}
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);

		if (!signal && !ptrace(PTRACE_GETREGS, pid, NULL, &r) && r.rip != last)
			fprintf(f, "%lx\n", last = r.rip);
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)signal))
			break;
	}
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
