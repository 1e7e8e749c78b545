/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "os/file.h"
#include "os/perf/perf_event.h"
#include "os/perf/ring.h"
#include "os/proc.h"
#include "perfdata/perf_attr.h"
#include "record/event/event_spell.h"

/* No file of sysfs says which PMUs write a trace: of those that we do not know by name it is
 * learned by mapping an area. */

static int open_on(const struct perf_attr *attr, int pid, int cpu)
{
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	perf_attr_for_kernel(attr, bytes);
	return os_perf_open(bytes, pid, cpu, -1, 0);
}

/* Of ourselves, with little: what is asked for later may be refused, with a reason. */
static int open_any(const struct rec_event *e)
{
	struct perf_attr attr = {.size = sizeof(attr),
				 .type = e->attr.type,
				 .config = e->attr.config,
				 .config1 = e->attr.config1,
				 .config2 = e->attr.config2,
				 .sample_period = 1,
				 .flags = PERF_ATTR_DISABLED | PERF_ATTR_EXCLUDE_KERNEL |
					  PERF_ATTR_EXCLUDE_HV};
	int fd = open_on(&attr, 0, -1);

	if (fd >= 0 || fd == -EBUSY)
		return fd;
	attr.flags &= ~(PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_HV);
	fd = open_on(&attr, 0, -1);
	return fd >= 0 || fd == -EBUSY ? fd : open_on(&attr, -1, 0);
}

static bool has_area(const struct rec_event *e)
{
	size_t page = os_page_bytes();
	struct os_ring ring;
	int fd = open_any(e), err;

	if (fd < 0)
		return fd == -EBUSY; /* in exclusive use, as only traces are */
	err = os_ring_map(fd, page, false, &ring);
	if (!err) {
		err = os_ring_map_aux(&ring, fd, 2 * page, false);
		os_ring_unmap(&ring);
	}
	os_close(fd);
	return err != -EOPNOTSUPP && err != -EINVAL; /* memory may be short for one that has it */
}

void event_learn_aux(const struct event_parse *p, const struct os_pmu *pmu, struct rec_event *e)
{
	if (e->aux || p->list->sysfs || pmu->is_core || pmu->type < PERF_TYPE_MAX_STATIC ||
	    !strcmp(pmu->name, "uprobe") || !strcmp(pmu->name, "kprobe") || !has_area(e))
		return;
	e->aux = &aux_pmu_other;
	if (!e->has_period && !e->has_freq)
		e->attr.sample_period = 1;
}
