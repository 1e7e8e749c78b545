/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_PERF_HOLDER_H
#define OS_PERF_PERF_HOLDER_H

#include <stdbool.h>
#include <stddef.h>

/** Another process that holds events of perf. */
struct os_perf_holder {
	int pid; /* 0: none that we may see */
	char name[64];
};

/** Looks through /proc, of which only a privileged user sees all. @return whether there is one. */
bool os_perf_holder_find(struct os_perf_holder *ret);

#endif
