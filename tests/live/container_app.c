/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a hostile container runs: does what each letter on standard input says, and answers with a
 * dot. w works; s TARGET: puts a symbolic link to TARGET in place of the directory of its own file;
 *   u unlinks its own file; x FILE: executes FILE in its place. Arguments stand in the arguments,
 * one after the other. ON_THE_HOST makes the file of the same name that the host has, with other
 * functions.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { ROUNDS = 60000000 };

static volatile unsigned long x;

#ifdef ON_THE_HOST
__attribute__((noinline)) void SECRET_OF_THE_HOST(void)
#else
__attribute__((noinline)) void work_in_container(void)
#endif
{
	for (unsigned long i = 0; i < ROUNDS; i++)
		x += i;
}

#ifdef ON_THE_HOST
__attribute__((noinline)) static void SECRET_CALLER(void)
#else
__attribute__((noinline)) static void call_in_container(void)
#endif
{
#ifdef ON_THE_HOST
	SECRET_OF_THE_HOST();
#else
	work_in_container();
#endif
	x++;
}

static int swap_directory(const char *self, const char *target)
{
	char dir[4096], away[4100];

	snprintf(dir, sizeof(dir), "%s", self);
	*strrchr(dir, '/') = '\0';
	snprintf(away, sizeof(away), "%s.2", dir);
	return rename(dir, away) || symlink(target, dir);
}

int main(int argc, char **argv)
{
	int next = 1;
	char what;

	umount2("/old", MNT_DETACH);
	while (read(0, &what, 1) == 1) {
		int failed = 0;

#ifdef ON_THE_HOST
		if (what == 'w')
			SECRET_CALLER();
#else
		if (what == 'w')
			call_in_container();
#endif
		else if (what == 's')
			failed = next >= argc || swap_directory(argv[0], argv[next++]);
		else if (what == 'u')
			failed = unlink(argv[0]);
		else if (what == 'x' && next < argc)
			failed = execv(argv[next], argv + next);
		if (failed)
			perror(argv[0]);
		if (write(1, failed ? "!" : ".", 1) != 1)
			return 1;
	}
	return 0;
}
