/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdbool.h>

#include "os/memory.h"
#include "unit/test_dir.h"

#define GIB ((uint64_t)1 << 30)

static void put(const char *name, const char *text)
{
	test_dir_write(name, text, strlen(text));
}

static void test_no_group(void)
{
	CHECK_EQ(os_memory_bytes_in("/nowhere", 8 * GIB), 8 * GIB, "no groups: the machine's");
	CHECK_EQ(os_memory_bytes_in("/nowhere", 0), 0, "a machine that does not say: unknown");
	CHECK(os_memory_bytes() > 1 << 20, "this process can have some");
}

static void test_version_2(void)
{
	put("proc/self/cgroup", "0::/a/b\n");
	put("sys/fs/cgroup/a/b/memory.max", "max\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), 8 * GIB, "'max' is no limit");
	put("sys/fs/cgroup/a/memory.max", "1073741824\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), GIB, "the limit of a group above counts");
	put("sys/fs/cgroup/a/b/memory.max", "536870912\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), GIB / 2, "the least one does");
	CHECK_EQ(os_memory_bytes_in(test_dir, GIB / 4), GIB / 4, "and the machine's, if less");
	put("proc/self/cgroup", "0::/\n");
	put("sys/fs/cgroup/memory.max", "2147483648\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), 2 * GIB,
		 "in a namespace of its own, the mount's file is the group's");
}

static void test_version_1(void)
{
	put("proc/self/cgroup", "12:cpuset:/x\n5:memory:/docker/1\n1:name=systemd:/y\n");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), 8 * GIB, "version 1: no limit");
	put("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "268435456\n");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), GIB / 4, "version 1: the group's limit");
}

static void test_damaged(void)
{
	put("proc/self/cgroup", "0\n\n::\n:memory\nx:memory:");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "not a number\n");
	put("sys/fs/cgroup/memory.max", "");
	CHECK_EQ(os_memory_bytes_in(test_dir, 8 * GIB), 8 * GIB, "lines that say nothing");
}

int main(void)
{
	test_dir_make("memory_limit");
	test_no_group();
	test_version_2();
	test_version_1();
	test_damaged();
	test_dir_remove();
	return tap_done();
}
