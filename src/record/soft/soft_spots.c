/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/sym_name.h"
#include "os/file.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "record/soft/soft_thread.h"

/* Where the places that are asked for lie in a process: in files, as far as they are mapped. */

/* Offset in the file of map @p m where @p symbol begins. */
static bool symbol_offset(const struct soft_space *s, const struct soft_map *m, const char *symbol,
			  uint64_t *ret)
{
	char path[PROC_MAP_FILE_BYTES];
	struct os_map map = {0};
	struct elf_file f = {0};
	struct sym_named found = {0};
	bool is_found = false;

	proc_map_file(path, (uint32_t)s->code.pid, m->start, m->end);
	if (os_map_file(path, &map, NULL) && os_map_file(m->path, &map, NULL))
		return false;
	if (!elf_file_open(&f, map.data, map.size, NULL))
		is_found = sym_name_find(&f, symbol, &found) && found.nr == 1 &&
			   elf_file_offset(&f, found.address, ret);
	sym_named_done(&found);
	elf_file_done(&f);
	os_map_done(&map);
	return is_found;
}

static bool is_first_of_file(const struct soft_space *s, const struct soft_map *m)
{
	return m == s->code.maps.data || strcmp(m[-1].path, m->path) != 0;
}

/* Where byte @p offset of the file of @p of is executed. */
static uint64_t address_of(const struct soft_space *s, const char *path, uint64_t offset)
{
	vec_for_each (&s->code.maps, m)
		if (m->prot & PROC_MAP_X && !strcmp(m->path, path) && offset >= m->offset &&
		    offset - m->offset < m->end - m->start)
			return m->start + offset - m->offset;
	return 0;
}

/* Is @p name "libm.so.6.1" for "libm.so.6", as programs and ldd(1) call it? */
static bool is_version_of(const char *name, const char *dso)
{
	size_t n = strlen(dso);

	return strstr(dso, ".so") && !strncmp(name, dso, n) && name[n] == '.';
}

static bool is_named(const struct soft_map *m, const char *dso)
{
	const char *name = strrchr(m->path, '/');

	if (*m->path != '/' || !name)
		return false;
	return !dso || !strcmp(name + 1, dso) || !strcmp(m->path, dso) ||
	       is_version_of(name + 1, dso);
}

/* The first mapping is the program's: it comes before its libraries. */
static uint64_t find_symbol(const struct soft_space *s, const char *symbol, const char *dso)
{
	uint64_t offset, found;

	vec_for_each (&s->code.maps, m) {
		if (!is_named(m, dso) || !is_first_of_file(s, m) ||
		    !symbol_offset(s, m, symbol, &offset))
			continue;
		found = address_of(s, m->path, offset);
		if (found)
			return found;
	}
	return 0;
}

static uint64_t find_in_file(const struct soft_space *s, const struct soft_trigger *g)
{
	struct os_file_id wanted, have;
	char path[PROC_MAP_FILE_BYTES];

	if (os_file_id(g->path, &wanted))
		return 0;
	vec_for_each (&s->code.maps, m) {
		if (!(m->prot & PROC_MAP_X) || *m->path != '/' || g->number < m->offset ||
		    g->number - m->offset >= m->end - m->start)
			continue;
		proc_map_file(path, (uint32_t)s->code.pid, m->start, m->end);
		if ((!os_file_id(path, &have) || !os_file_id(m->path, &have)) &&
		    have.dev == wanted.dev && have.ino == wanted.ino)
			return m->start + g->number - m->offset;
	}
	return 0;
}

/* The dynamic linker calls this when what is mapped has changed, for debuggers. */
static uint64_t find_watch(struct soft_space *s)
{
	vec_for_each (&s->code.maps, m) {
		const char *name = strrchr(m->path, '/');
		uint64_t offset;

		if (!name || !is_first_of_file(s, m) ||
		    (strncmp(name, "/ld-", 4) && strncmp(name, "/ld.so", 6)))
			continue;
		if (symbol_offset(s, m, "_dl_debug_state", &offset))
			return address_of(s, m->path, offset);
	}
	return 0;
}

static bool has_spot(const struct soft_space *s, uint32_t what)
{
	for (uint32_t i = 0; i < s->nr_spots; i++)
		if (s->spots[i].what == what)
			return true;
	return false;
}

/* @return it was found, now or before. */
static bool add(struct soft_space *s, uint32_t what, uint64_t address)
{
	if (!address || s->nr_spots == OS_NR_BREAKPOINTS)
		return false;
	s->spots[s->nr_spots++] = (struct soft_spot){address, what};
	s->epoch++;
	return true;
}

static bool find_trigger(struct soft_space *s, const struct soft_plan *plan, uint32_t i)
{
	const struct soft_trigger *g = &plan->triggers.data[i];

	if (has_spot(s, i))
		return true;
	if (g->place == SOFT_AT_ADDRESS)
		return add(s, i, g->number);
	if (g->place == SOFT_AT_FILE)
		return add(s, i, find_in_file(s, g));
	return true;
}

void soft_spots_find(struct soft_tracer *x, struct soft_space *s)
{
	const struct soft_plan *plan = x->plan;
	bool is_complete = true;

	if (s->is_complete)
		return;
	soft_code_forget(&s->code);
	soft_code_read_maps(&s->code);
	for (uint32_t i = 0; i < plan->triggers.nr; i++)
		is_complete &= find_trigger(s, plan, i);
	if (plan->function && !has_spot(s, SOFT_FUNCTION))
		is_complete &= add(s, SOFT_FUNCTION, find_symbol(s, plan->function, plan->dso));
	s->is_complete = is_complete;
	if (is_complete && s->watch) {
		s->watch = 0;
		s->epoch++;
	}
	if (!is_complete && !s->watch) {
		s->watch = find_watch(s);
		s->epoch += s->watch != 0;
	}
}
