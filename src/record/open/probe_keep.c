/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/probe_keep.h"

#include <string.h>

#include "elf/elf_file.h"
#include "os/file.h"
#include "os/perf/perf_event.h"

/* Programs that can be loaded as a library, too, have no name as one. */
static bool is_library(const char *path)
{
	struct os_map map;
	struct elf_file f;
	bool has_name = false;

	if (os_map_file(path, &map, NULL) != CLEW_OK)
		return false;
	if (elf_file_open(&f, map.data, map.size, NULL) == CLEW_OK) {
		has_name = elf_file_has_soname(&f);
		elf_file_done(&f);
	}
	os_map_done(&map);
	return has_name;
}

static int open_for_all(const struct rec_counters *c, const struct rec_counter *e)
{
	struct perf_attr attr = {.type = PERF_TYPE_TRACEPOINT,
				 .size = e->attr.size,
				 .config = e->probe_id,
				 .flags = PERF_ATTR_DISABLED};
	uint8_t bytes[PERF_ATTR_SIZE_VER9];

	perf_attr_for_kernel(&attr, bytes);
	return os_perf_open(bytes, -1, c->target->cpus.data[0], -1, 0);
}

void rec_probes_keep(struct rec_counters *c, const struct rec_ui *ui)
{
	vec_for_each (&c->list, e) {
		int err = 0;

		if (!e->probe_id || !(e->attr.flags & PERF_ATTR_INHERIT) ||
		    c->target->is_system_wide || c->target->cpus.data[0] < 0)
			continue;
		if (is_library(e->event->probe_path)) {
			rec_say(ui, REC_NOTE,
				"'%s' is in a library: Linux may stop counting its hits in processes that the recorded "
				"ones start; -a counts them all",
				e->name);
			continue;
		}
		err = open_for_all(c, e);
		e->keep_fd = err < 0 ? -1 : err;
		if (err < 0)
			rec_say(ui, REC_WARNING,
				"'%s': hits in processes that the recorded ones start may be missing: %s",
				e->name, strerror(-err));
	}
}
