/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Merging a recording in its place: an interrupt, the line on the terminal. */
#include "cli/merge_file.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "make/defer_make.h"
#include "os/file.h"
#include "unit/tap.h"
#include "unit/terminal.h"

enum { NR_SAMPLES = 12000 }; /* the merge checks each MiB whether to continue */

static const char path[] = "made.data", beside[] = "made.data.merging";

static int held_by = -1; /* what os_rename() waits for the end of; -1: nothing */

int __real_os_rename(const char *from, const char *to);
int __wrap_os_rename(const char *from, const char *to);

int __wrap_os_rename(const char *from, const char *to)
{
	char c;

	if (held_by >= 0)
		os_read(held_by, &c, 1);
	return __real_os_rename(from, to);
}

/* @return its bytes. */
static size_t make_recording(void)
{
	static const uint64_t ips[] = {0x400010, 0x400101, 0x400201, 0x400301};
	struct perf_build b = {0};
	struct bytes file;
	size_t size;
	FILE *f = fopen(path, "wb");

	defer_make_events(&b);
	defer_make_process(&b, 1, 1000, "x");
	for (uint64_t i = 0; i < NR_SAMPLES; i++) {
		uint64_t cookie = (i + 1) << 16 | 1, time = 1000000000 + i * 1000;

		defer_make_sample(&b,
				  &(struct defer_sample){.tid = 1, .time = time, .cookie = cookie});
		defer_make_stack(&b, &(struct defer_stack){.tid = 1,
							   .time = time + 1,
							   .cookie = cookie,
							   .ips = ips,
							   .nr = 4,
							   .has_trailer = true});
	}
	file = perf_build_finish(&b);
	size = bytes_left(&file);
	if (!f || fwrite(file.pos, 1, size, f) != size || fclose(f))
		size = 0;
	perf_build_done(&b);
	return size;
}

static bool is_deferred(void)
{
	struct os_map map = {0};
	bool is;

	if (os_map_file(path, &map, NULL) != CLEW_OK)
		return false;
	is = stack_merge_is_deferred(&(struct perf_input){.data = map.data, .size = map.size});
	os_map_done(&map);
	return is;
}

static bool is_there(const char *name)
{
	struct stat s;

	return !stat(name, &s);
}

static bool is_blocked(int number)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, number);
}

/* The signal waits from before the pass on: it is seen at the first question. */
static void test_interrupt(int number)
{
	size_t bytes = make_recording();
	struct merge_file m;
	sigset_t set;
	struct stat s = {0};

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(number);
	CHECK(!merge_file_in_place(path, &m), "signal %d: not merged", number);
	stat(path, &s);
	CHECK(m.signal == number && is_deferred() && (size_t)s.st_size == bytes,
	      "signal %d: the recording is as it was", number);
	CHECK(!is_there(beside), "signal %d: nothing is beside it", number);
	CHECK(!is_blocked(number), "signal %d: the next one counts again", number);
}

static void test_leftover(void)
{
	struct merge_file m;
	FILE *f;

	make_recording();
	f = fopen(beside, "w");
	fputs("of a recorder that was killed", f);
	fclose(f);
	CHECK(merge_file_in_place(path, &m) && m.counts.nr_merged == NR_SAMPLES && !m.signal,
	      "what a killed pass left is no obstacle");
	CHECK(!is_deferred() && !is_there(beside), "the merged file has the name");
	CHECK(!merge_file_in_place(path, &m), "and is not merged again");
}

/* Beside a terminal, as record does it. */
static pid_t merge_in_child(bool is_quiet, int not_its_own)
{
	struct merge_file m;
	pid_t pid = fork();

	if (pid)
		return pid;
	close(not_its_own);
	if (is_quiet)
		cli_set_quiet();
	_exit(!merge_file_in_place(path, &m));
}

static bool has_succeeded(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The child waits where the pass is over and the file not renamed yet. */
static void test_line(void)
{
	int gate[2];
	pid_t pid;

	make_recording();
	if (pipe(gate)) {
		CHECK(false, "a pipe");
		return;
	}
	forget();
	held_by = gate[0];
	pid = merge_in_child(false, gate[1]);
	held_by = -1;
	CHECK(wait_for("clew: merging stacks: ") && wait_for(" %"),
	      "what takes over a second has a line");
	close(gate[1]);
	close(gate[0]);
	CHECK(has_succeeded(pid) && !is_deferred(), "its stacks are merged");
	cli_note("%s", "over");
	wait_for("clew: over");
	CHECK(strstr(seen, "\r\033[Kclew: over") != NULL, "the line is gone");
}

static void test_quiet(void)
{
	make_recording();
	forget();
	CHECK(has_succeeded(merge_in_child(true, -1)), "quiet: merged");
	cli_note("%s", "over");
	wait_for("clew: over");
	CHECK(!strstr(seen, "merging"), "quiet: no line");
}

static void test_quiet_failure(void)
{
	sigset_t set;
	pid_t pid;

	make_recording();
	forget();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	pid = fork();
	if (!pid) {
		struct merge_file m;

		cli_set_quiet();
		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(SIGINT);
		_exit(merge_file_in_place(path, &m));
	}
	CHECK(has_succeeded(pid) && is_deferred(), "quiet: interrupted");
	cli_note("%s", "over");
	wait_for("clew: over");
	CHECK(!strstr(seen, "hint"), "quiet: no hint without the warning that it belongs to");
}

int main(void)
{
	char folder[] = "/tmp/clew-merge-XXXXXX";

	if (!open_terminal())
		SKIP_ALL("no pseudo terminal here");
	set_columns(80);
	if (!mkdtemp(folder) || chdir(folder))
		SKIP_ALL("no folder in /tmp");
	test_interrupt(SIGINT);
	test_interrupt(SIGTERM);
	test_leftover();
	test_line();
	test_quiet();
	test_quiet_failure();
	unlink(path);
	rmdir(folder);
	return tap_done();
}
