/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/cgroup_root.h"

#include "unit/tap.h"

int main(void)
{
	char root[64];

	CHECK(os_cgroup_root_of("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
				"cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"
				"cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
				"cgroup /mnt/pe cgroup rw,relatime,perf_event 0 0\n",
				root, sizeof(root)),
	      "both versions");
	CHECK_STR(root, "/mnt/pe", "version 1 with the controller wins");
	CHECK(os_cgroup_root_of("cgroup /a cgroup rw,perf_event_not 0 0\n"
				"cgroup2 /b cgroup2 rw 0 0\ncgroup2 /c cgroup2 rw 0 0",
				root, sizeof(root)),
	      "version 2");
	CHECK_STR(root, "/b", "the first of them");
	CHECK(!os_cgroup_root_of("proc /proc proc rw 0 0\n", root, sizeof(root)), "none");
	CHECK(!os_cgroup_root_of("", root, sizeof(root)), "no mounts");
	return tap_done();
}
