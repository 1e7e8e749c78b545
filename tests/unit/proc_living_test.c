/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What /proc shows of a process whose first thread has ended. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/path.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "os/ptrace.h"
#include "unit/tap.h"

static const char here[] = "some bytes of this process";

static void *wait_forever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

/* @return its pid. */
static pid_t start_process(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	if (pthread_create(&thread, NULL, wait_forever, NULL))
		_exit(1);
	pthread_exit(NULL);
}

static bool is_zombie(pid_t pid)
{
	char path[64], line[512];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	at = os_read_first_line(path, line, sizeof(line)) ? strrchr(line, ')') : NULL;
	return at && at[2] == 'Z';
}

static void check_maps(uint32_t pid)
{
	struct buf text = {0}, own = {0};
	char path[PROC_MAP_FILE_BYTES];
	struct proc_map m;
	struct os_file_id id, exe;
	const char *at;
	bool is_found = false;

	CHECK(proc_maps_read(pid, &text), "its mappings");
	CHECK(proc_maps_read((uint32_t)getpid(), &own) && own.nr, "and ours");
	os_file_id("/proc/self/exe", &exe);
	for (at = buf_cstr(&text); proc_map_next(&at, &m);) {
		if (!(m.prot & PROC_MAP_X) || m.ino != exe.ino)
			continue;
		proc_map_file(path, pid, m.start, m.end);
		is_found = !os_file_id(path, &id) && id.ino == exe.ino && id.dev == exe.dev;
	}
	if (geteuid())
		SKIP("map_files needs rights");
	else
		CHECK(is_found, "the file that is mapped: %s", path);
	buf_done(&text);
	buf_done(&own);
}

static void check_files(uint32_t pid)
{
	char path[96], here_too[sizeof(here)] = "";
	struct stat st, own;
	int fd;

	CHECK(os_mnt_ns(pid) && os_mnt_ns(pid) == os_mnt_ns(0), "its mount namespace");
	CHECK(os_is_own_root(pid), "its root");
	snprintf(path, sizeof(path), "/proc/%u/root/proc", pid);
	if (!os_has_openat2()) {
		SKIP("no openat2 here");
	} else {
		fd = os_path_open(path, O_PATH);
		CHECK(fd >= 0, "a file below its root is opened");
		os_close(fd);
		CHECK(!os_path_stat(path, &st) && !stat("/proc", &own) && st.st_ino == own.st_ino,
		      "and described");
	}
	if (!os_ptrace_is_possible())
		SKIP("memory of others is not read on this machine");
	else
		CHECK(os_task_read((int)pid, (uintptr_t)here, here_too, sizeof(here)) ==
				      sizeof(here) &&
			      !strcmp(here, here_too),
		      "its memory");
}

int main(void)
{
	pid_t pid = start_process();
	uint32_t living;

	if (pid < 0)
		SKIP_ALL("no process can be made");
	while (!is_zombie(pid) && !waitpid(pid, NULL, WNOHANG))
		usleep(1000);
	living = os_proc_living((uint32_t)pid);
	CHECK(living != (uint32_t)pid, "another thread lives: %u", living);
	CHECK(os_task_process((int)living) == (int)pid, "it is of the same process");
	CHECK(os_proc_living(living) == living, "a thread that lives stands for itself");
	CHECK(os_proc_living((uint32_t)getpid()) == (uint32_t)getpid(), "and so does a process");
	CHECK(os_proc_living(2) == 2, "and a kernel thread, or what we may not see");
	check_maps((uint32_t)pid);
	check_files((uint32_t)pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(os_proc_living((uint32_t)pid) == (uint32_t)pid, "and one that is gone");
	return tap_done();
}
