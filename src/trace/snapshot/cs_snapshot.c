/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/snapshot/cs_snapshot.h"

#include <string.h>

#include "analyze/analyze.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "os/file.h"
#include "os/path.h"
#include "trace/snapshot/cs_snapshot_impl.h"

#define INI "snapshot.ini"

enum { PIECE_BYTES = 64 << 10 };

static bool ends_with(const char *path, const char *name)
{
	size_t n = strlen(path), tail = strlen(name);

	return n >= tail && !strcmp(path + n - tail, name) &&
	       (n == tail || path[n - tail - 1] == '/');
}

bool cs_is_snapshot(const char *path)
{
	clew_auto(buf_done) struct buf list = {0};

	if (!os_is_directory(path))
		return ends_with(path, INI) && os_exists(path);
	buf_printf(&list, "%s/" INI, path);
	return os_exists(buf_cstr(&list));
}

const char *cs_snapshot_note(const struct trace_input *t, size_t i)
{
	const struct cs_snapshot *s = (const struct cs_snapshot *)t;

	return i < s->notes.nr ? s->notes.data[i] : NULL;
}

/* --- opening --- */

static bool open_devices(struct cs_snapshot *s, const struct cs_ini *ini)
{
	vec_for_each (ini, l) {
		if (cs_ini_is(l->section, "device_list") && !cs_snapshot_device(s, l->value))
			return false;
	}
	return !s->nr_inis_again ||
	       cs_snapshot_say(s, "%u devices share .ini files with others: read once",
			       s->nr_inis_again);
}

static enum clew_err out_of_memory(struct clew_diag *diag)
{
	return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
}

/** Each by name, where there is nothing else. @return false: out of memory. */
static bool note_others(struct cs_snapshot *s)
{
	vec_for_each (&s->units, u) {
		if (!cs_snapshot_say(s, "%s: %s", u->name, u->why.what))
			return false;
	}
	return true;
}

static enum clew_err check_units(struct cs_snapshot *s, struct clew_diag *diag)
{
	if (!s->buffers.nr)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "none of its trace buffers can be read");
	if (!s->units.nr)
		return clew_fail(diag, CLEW_BAD_FILE, 0,
				 "no trace source is named for its buffers");
	if (s->has_etm)
		return CLEW_OK;
	if (!note_others(s))
		return out_of_memory(diag);
	return clew_fail(diag, CLEW_UNSUPPORTED, 0, "no ETMv4 or ETE among its trace sources");
}

static enum clew_err open_parts(struct cs_snapshot *s, const struct cs_ini *ini,
				struct clew_diag *diag)
{
	const char *metadata = cs_ini_get(ini, "trace", "metadata");
	struct cs_ini trace = {0};
	struct clew_diag why = {0};
	enum clew_err err;
	bool ok;

	if (!metadata)
		return clew_fail(diag, CLEW_BAD_FILE, 0,
				 "snapshot.ini names no trace metadata ([trace] metadata=FILE)");
	err = cs_snapshot_read_ini(s, metadata, &trace, &why);
	if (err == CLEW_OS)
		return clew_fail_os(diag, why.os_errno,
				    "the trace metadata that snapshot.ini names");
	if (err == CLEW_UNSUPPORTED)
		return clew_fail(
			diag, CLEW_BAD_FILE, 0,
			"the trace metadata that snapshot.ini names is not a regular file");
	if (err)
		return clew_fail(diag, err, 0, why.what);
	ok = open_devices(s, ini) && cs_snapshot_number_cores(s) && cs_snapshot_buffers(s, &trace);
	vec_done(&trace);
	return ok ? check_units(s, diag) : out_of_memory(diag);
}

/** The directory itself, or the snapshot.ini in it. */
static const char *dir_of(struct arena *arena, const char *path)
{
	size_t n = strlen(path);

	if (ends_with(path, INI))
		n -= sizeof(INI) - 1;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return n ? arena_strndup(arena, path, n) : ".";
}

/* --- what callers ask --- */

static uint8_t level_of(uint32_t space)
{
	static const uint8_t levels[] = {ANA_USER, ANA_KERNEL, ANA_HYPERVISOR, ANA_UNKNOWN};

	return levels[space & 3];
}

static const struct ana_loc *locate_in(struct cs_snapshot *s, struct map_u64 *locs, uint32_t space,
				       uint64_t addr, bool is_return)
{
	uint64_t *known = map_u64_get(locs, addr);
	struct ana_loc *loc;

	if (known)
		return (const struct ana_loc *)(uintptr_t)*known;
	loc = arena_zalloc(&s->arena, sizeof(*loc));
	if (!loc)
		return NULL;
	*loc = (struct ana_loc){
		.ip = addr, .rel = addr, .level = level_of(space), .is_return = is_return};
	loc->id = s->nr_locs++;
	if (!cs_snapshot_resolve(s, space, loc) || !map_u64_put(locs, addr, (uintptr_t)loc))
		return NULL;
	return loc;
}

static const struct ana_loc *locate(struct trace_input *t, uint32_t space, uint64_t addr)
{
	struct cs_snapshot *s = (struct cs_snapshot *)t;

	return locate_in(s, &s->locs[space % CS_NR_SPACES], space, addr, false);
}

static const struct ana_loc *locate_caller(struct trace_input *t, uint32_t space, uint64_t addr)
{
	struct cs_snapshot *s = (struct cs_snapshot *)t;

	return locate_in(s, &s->callers[space % CS_NR_SPACES], space, addr, addr > 0);
}

static void free_snapshot(struct trace_input *t)
{
	struct cs_snapshot *s = (struct cs_snapshot *)t;

	if (!s)
		return;
	vec_for_each (&s->codes, c)
		code_map_free(c->map);
	vec_for_each (&s->files, f) {
		if (!f->is_known)
			os_map_done(&f->map);
	}
	map_u64_done(&s->inis);
	map_u64_done(&s->maps);
	budget_give(s->budget, s->charged);
	vec_done(&s->codes);
	vec_done(&s->files);
	vec_done(&s->devices);
	vec_done(&s->dumps);
	vec_done(&s->buffers);
	vec_done(&s->units);
	vec_done(&s->notes);
	for (unsigned int i = 0; i < CS_NR_SPACES; i++) {
		map_u64_done(&s->locs[i]);
		map_u64_done(&s->callers[i]);
	}
	dso_store_free(s->binaries);
	arena_done(&s->arena);
	mem_free(s);
}

static const struct trace_input_ops ops = {
	.run = cs_snapshot_run,
	.steps_new = cs_snapshot_steps_new,
	.step = cs_snapshot_step,
	.steps_free = cs_snapshot_steps_free,
	.thread = trace_no_thread,
	.time = trace_no_time,
	.locate = locate,
	.locate_caller = locate_caller,
	.free = free_snapshot,
};

/** On an error: give the notes to @p note, and free. */
static enum clew_err finish(struct cs_snapshot *s, enum clew_err err,
			    void (*note)(void *ctx, const char *text), void *ctx,
			    struct trace_input **ret)
{
	if (err) {
		for (size_t i = 0; note && i < s->notes.nr; i++)
			note(ctx, s->notes.data[i]);
		free_snapshot(&s->trace);
		return err;
	}
	s->trace =
		(struct trace_input){.units = s->units.data, .nr_units = s->units.nr, .ops = &ops};
	vec_for_each (&s->buffers, b)
		s->trace.nr_bytes += s->files.data[b->file].map.size;
	*ret = &s->trace;
	return CLEW_OK;
}

enum clew_err cs_snapshot_open_with_notes(struct trace_input **ret, const char *path,
					  struct budget *budget,
					  void (*note)(void *ctx, const char *text), void *ctx,
					  struct clew_diag *diag)
{
	struct cs_snapshot *s = mem_zalloc(sizeof(*s));
	struct cs_ini ini = {0};
	struct clew_diag why = {0};
	enum clew_err err;

	if (!s)
		return out_of_memory(diag);
	s->piece_bytes = PIECE_BYTES;
	s->budget = budget;
	s->dir = dir_of(&s->arena, path);
	err = s->dir ? cs_snapshot_read_ini(s, INI, &ini, &why) : out_of_memory(&why);
	if (err == CLEW_OS)
		clew_fail_os(diag, why.os_errno, INI);
	else if (err == CLEW_UNSUPPORTED)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "snapshot.ini is not a regular file");
	else if (err)
		clew_fail(diag, err, 0, why.what);
	else
		err = open_parts(s, &ini, diag);
	vec_done(&ini);
	return finish(s, err, note, ctx, ret);
}

enum clew_err cs_snapshot_open_raw(struct trace_input **ret, const struct cs_raw *raw,
				   struct budget *budget, void (*note)(void *ctx, const char *text),
				   void *ctx, struct clew_diag *diag)
{
	struct cs_snapshot *s = mem_zalloc(sizeof(*s));
	struct cs_ini device = {0}, trace = {0};
	enum clew_err err;

	if (!s)
		return out_of_memory(diag);
	s->piece_bytes = PIECE_BYTES;
	s->budget = budget;
	s->dir = "";
	err = cs_raw_inis(s, raw, &device, &trace, diag);
	if (!err && !(cs_snapshot_device_of(s, "--memory", &device) &&
		      cs_snapshot_number_cores(s) && cs_snapshot_buffers(s, &trace)))
		err = out_of_memory(diag);
	if (!err)
		err = check_units(s, diag);
	vec_done(&device);
	vec_done(&trace);
	return finish(s, err, note, ctx, ret);
}

enum clew_err cs_snapshot_open(struct trace_input **ret, const char *path, struct clew_diag *diag)
{
	return cs_snapshot_open_with_notes(ret, path, NULL, NULL, NULL, diag);
}

void cs_snapshot_set_piece(struct trace_input *t, size_t bytes)
{
	((struct cs_snapshot *)t)->piece_bytes = bytes ? bytes : PIECE_BYTES;
}
