/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which addresses are code, as mappings come, go and are inherited: asked through the walk. Its
 * first step fails in another way where nothing is mapped. */
#include "record/stacks/tables/live_space.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "os/proc_map.h"
#include "unit/tap.h"

enum { NOBODY = 0x7fffff00 }; /* no process has these numbers */

static struct live_space *live;

static void feed(uint32_t type, uint16_t misc, struct buf *body)
{
	struct perf_event_header h = {.type = type, .misc = misc, .size = (uint16_t)(8 + body->nr)};
	struct buf b = {0};
	struct perf_record r = {.type = type, .misc = misc, .size = h.size};

	buf_add(&b, &h, sizeof(h));
	buf_add(&b, body->data, body->nr);
	r.data = (const uint8_t *)b.data;
	if (!b.is_failed && !body->is_failed)
		live_space_record(live, &r);
	buf_done(&b);
	buf_done(body);
}

static void put32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, 4);
}

static void put64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, 8);
}

static void put_map(uint32_t pid, uint64_t start, uint64_t len, const char *name)
{
	char text[64] = {0};
	struct buf b = {0};

	put32(&b, pid);
	put32(&b, pid);
	put64(&b, start);
	put64(&b, len);
	put64(&b, 0); /* pgoff */
	put64(&b, 0); /* device */
	put64(&b, 42);
	put64(&b, 0);
	put32(&b, PROC_MAP_R | PROC_MAP_X);
	put32(&b, PROC_MAP_PRIVATE);
	snprintf(text, sizeof(text), "%s", name);
	buf_add(&b, text, sizeof(text));
	feed(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &b);
}

static void put_exec(uint32_t pid)
{
	struct buf b = {0};

	put32(&b, pid);
	put32(&b, pid);
	buf_add(&b, "program\0\0\0\0\0\0\0\0", 16);
	feed(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &b);
}

static void put_task(uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
	struct buf b = {0};

	put32(&b, pid);
	put32(&b, ppid);
	put32(&b, tid);
	put32(&b, ppid);
	put64(&b, 1);
	feed(type, 0, &b);
}

static bool is_code(uint32_t pid, uint64_t pc)
{
	const struct live_stack none = {0};
	const struct unw_regs regs = {.pc = pc};
	uint64_t pcs[4];
	struct unw_frames f = {.pc = pcs, .max = 4};

	live_space_walk(live, pid, &regs, &none, &f);
	return f.nr == 1 && f.stop != UNW_STOP_NO_MAPPING;
}

static void test_maps(void)
{
	const uint32_t p = NOBODY;

	put_exec(p);
	put_map(p, 0x1000, 0x3000, "/nowhere/a");
	CHECK(is_code(p, 0x1000) && is_code(p, 0x3fff),
	      "a mapping from its first to its last byte");
	CHECK(!is_code(p, 0xfff) && !is_code(p, 0x4000), "and not around it");
	put_map(p, 0x8000, 0x1000, "/nowhere/b");
	put_map(p, 0x6000, 0x1000, "/nowhere/b");
	CHECK(is_code(p, 0x6000) && is_code(p, 0x8000) && !is_code(p, 0x7000), "in any order");
	put_map(p, 0x2000, 0x1000, "/nowhere/c");
	CHECK(is_code(p, 0x1fff) && is_code(p, 0x2000) && is_code(p, 0x3000), "one inside another");
	put_map(p, 0x0, 0x10000, "/nowhere/d");
	CHECK(is_code(p, 0x7000) && is_code(p, 0xffff), "one over all");
	put_map(p, UINT64_MAX - 0xfff, 0x2000, "/nowhere/e");
	CHECK(is_code(p, 0x1000), "one that wraps is ignored");
	put_exec(p);
	CHECK(!is_code(p, 0x7000), "an exec takes all away");
}

static void test_tasks(void)
{
	const uint32_t p = NOBODY + 1, child = NOBODY + 2;

	put_exec(p);
	put_map(p, 0x1000, 0x1000, "/nowhere/a");
	put_task(PERF_RECORD_FORK, p, p, p + 50); /* a thread */
	put_task(PERF_RECORD_FORK, child, p, child);
	CHECK(is_code(child, 0x1000), "a child has its parent's mappings");
	put_map(child, 0x5000, 0x1000, "/nowhere/b");
	CHECK(is_code(child, 0x5000) && !is_code(p, 0x5000), "and its own from then on");
	put_task(PERF_RECORD_EXIT, p, p, p + 50);
	CHECK(is_code(p, 0x1000), "a thread's end changes nothing");
	put_task(PERF_RECORD_EXIT, p, p, p);
	CHECK(!is_code(p, 0x1000), "the process's end does");
	CHECK(is_code(child, 0x1000), "not for its child");
	put_task(PERF_RECORD_FORK, child, NOBODY + 9, child);
	CHECK(!is_code(child, 0x5000), "a new process of an old number, its parent unknown");
}

static void *sleeper(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)pause();
}

static bool has_maps(pid_t pid)
{
	char path[64];
	int fd;
	char c;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY);
	ok = fd >= 0 && read(fd, &c, 1) == 1;
	close(fd);
	return ok;
}

/* By qemu-user, which shows programs another /proc/self, but not another /proc/thread-self. */
static bool is_emulated(void)
{
	char self[PATH_MAX] = "", thread[PATH_MAX] = "";

	return readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	       readlink("/proc/thread-self/exe", thread, sizeof(thread) - 1) < 0 ||
	       strcmp(self, thread) != 0;
}

/* /proc/PID/maps is empty then, while the process continues. */
static void test_first_thread_ended(void)
{
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		if (!pthread_create(&thread, NULL, sleeper, NULL))
			pthread_exit(NULL);
		_exit(1);
	}
	for (int i = 0; i < 60000 && has_maps(pid); i++)
		usleep(1000);
	CHECK(!has_maps(pid), "a process after its first thread ended");
	if (is_emulated())
		SKIP("an emulated program's code is not executable to the kernel");
	else
		CHECK(is_code((uint32_t)pid, (uint64_t)(uintptr_t)test_first_thread_ended),
		      "its code is known by its other threads");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_many(void)
{
	bool ok = true;

	for (uint32_t i = 0; i < 1000; i++) { /* the same number again and again */
		put_exec(NOBODY + 20);
		for (uint64_t at = 0; at < 20; at++)
			put_map(NOBODY + 20, (at * 7919 % 100) << 12, 0x3000, "/nowhere/x");
		ok &= is_code(NOBODY + 20, 0);
	}
	CHECK(ok && live_space_nr_files(live) < 10, "a thousand execs, one file");
}

static void test_memory(void)
{
	bool ok = true;

	for (uint64_t n = 0; n < 60; n++) {
		mem_fail_after(n);
		put_exec(NOBODY + 30);
		put_map(NOBODY + 30, 0x1000, 0x1000, "/nowhere/m");
		put_task(PERF_RECORD_FORK, NOBODY + 31, NOBODY + 30, NOBODY + 31);
		is_code(NOBODY + 31, 0x1000);
		mem_fail_after(UINT64_MAX);
		put_task(PERF_RECORD_EXIT, NOBODY + 31, NOBODY + 30, NOBODY + 31);
		ok &= live_space_nr_processes(live) < 100;
	}
	CHECK(ok, "memory that fails at each place");
}

int main(void)
{
	const struct unw_store_opts opts = {0};
	struct unw_store *store = unw_store_new(&opts);

	live = live_space_new(store);
	CHECK(live, "a view of processes");
	test_maps();
	test_tasks();
	test_many();
	test_memory();
	test_first_thread_ended();
	live_space_free(live);
	unw_store_free(store);
	return tap_done();
}
