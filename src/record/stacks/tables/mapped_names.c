/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/tables/mapped_names.h"

#include "base/mem.h"

enum { NR_SLOTS = 8192, PROT_EXECUTE = 4 };

void mapped_names_record(struct mapped_names *m, const struct perf_record *r)
{
	struct mapped_name *s;
	struct perf_mmap map;

	if (perf_mmap_parse(r, &map) != CLEW_OK || !map.has_build_id || map.is_data ||
	    !(map.prot & PROT_EXECUTE) || map.filename[0] != '/')
		return;
	if (!m->slots)
		m->slots = mem_calloc(NR_SLOTS, sizeof(*m->slots));
	if (!m->slots)
		return;
	s = &m->slots[m->next++ % NR_SLOTS];
	mem_free(s->name);
	*s = (struct mapped_name){.pid = map.pid,
				  .start = map.start,
				  .name = mem_strdup(map.filename),
				  .nr_build_id = map.build_id_bytes};
	memcpy(s->build_id, map.build_id, sizeof(s->build_id));
}

const struct mapped_name *mapped_names_find(const struct mapped_names *m, uint32_t pid,
					    uint64_t start)
{
	for (uint32_t i = 1; m->slots && i <= NR_SLOTS; i++) { /* newest first */
		const struct mapped_name *s = &m->slots[(m->next - i) % NR_SLOTS];

		if (s->name && s->pid == pid && s->start == start)
			return s;
	}
	return NULL;
}

void mapped_names_done(struct mapped_names *m)
{
	for (uint32_t i = 0; m->slots && i < NR_SLOTS; i++)
		mem_free(m->slots[i].name);
	mem_free(m->slots);
	*m = (struct mapped_names){0};
}
