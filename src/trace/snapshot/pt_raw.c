/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/snapshot/pt_raw.h"

#include <string.h>

#include "analyze/analyze.h"
#include "base/err.h"
#include "base/map_u64.h"
#include "base/mem.h"
#include "base/vec.h"
#include "image/code_map.h"
#include "os/file.h"
#include "trace/pt_decoder.h"
#include "trace/snapshot/cs_snapshot_ini.h"

enum { PIECE_BYTES = 64 << 10, RELEASE_BYTES = 1 << 20, MAX_WORDS = 1024 };

struct pt_raw {
	struct trace_input trace; /* first: what callers hold */
	struct trace_unit unit;
	struct ipt_config config;
	struct os_map map;
	struct arena arena;
	struct {
		VEC(struct os_map);
	} files; /* of code */
	struct code_map *code;
	struct map_u64 locs; /* address -> struct ana_loc */
	uint32_t nr_locs;
};

/* --- the bytes --- */

struct steps {
	struct pt_raw *p;
	const struct trace_sink *sink;
	size_t at, released;
};

static bool is_wanted(const struct trace_sink *sink)
{
	return !sink->skips || !sink->skips[0];
}

static enum clew_err end_of(const struct steps *s)
{
	enum clew_err err = s->sink->end ? s->sink->end(s->sink->ctx, 0) : CLEW_OK;

	return err ? err : CLEW_END;
}

static enum clew_err step(struct steps *s)
{
	const struct os_map *map = &s->p->map;
	size_t most = s->sink->piece_bytes ? s->sink->piece_bytes : PIECE_BYTES;
	size_t left = map->size - s->at, nr = left < most ? left : most;
	enum clew_err err = CLEW_OK;

	if (!left || !is_wanted(s->sink))
		return end_of(s);
	if (!s->at && s->sink->mark)
		err = s->sink->mark(s->sink->ctx, 0, 0, 0);
	if (!err)
		err = s->sink->bytes(s->sink->ctx, 0, bytes_of(map->data + s->at, nr), s->at);
	s->at += nr;
	trace_input_gave(&s->p->trace, nr);
	if (s->at - s->released >= RELEASE_BYTES) {
		os_map_release(map, s->released, s->at);
		s->released = s->at;
	}
	return err;
}

static enum clew_err run(struct trace_input *t, const struct trace_sink *sink,
			 struct clew_diag *diag)
{
	struct steps s = {.p = (struct pt_raw *)t, .sink = sink};
	enum clew_err err;

	trace_input_begin(t, s.p->map.size);
	do
		err = step(&s);
	while (!err);
	if (err == CLEW_NO_MEMORY)
		return clew_fail(diag, err, 0, "out of memory");
	return err == CLEW_END ? CLEW_OK : err;
}

static struct trace_steps *steps_new(struct trace_input *t, const struct trace_sink *sink)
{
	struct steps *s = mem_zalloc(sizeof(*s));

	if (s)
		*s = (struct steps){.p = (struct pt_raw *)t, .sink = sink};
	trace_input_begin(t, ((struct pt_raw *)t)->map.size);
	return (struct trace_steps *)s;
}

static enum clew_err one_step(struct trace_steps *s, size_t stream)
{
	(void)stream;
	return step((struct steps *)s);
}

static void steps_free(struct trace_steps *s)
{
	mem_free(s);
}

/* --- what is asked --- */

/** Memory has no names. */
static const struct ana_loc *locate(struct trace_input *t, uint32_t space, uint64_t addr)
{
	struct pt_raw *p = (struct pt_raw *)t;
	uint64_t *known = map_u64_get(&p->locs, addr);
	struct ana_loc *loc;

	(void)space;
	if (known)
		return (const struct ana_loc *)(uintptr_t)*known;
	loc = arena_zalloc(&p->arena, sizeof(*loc));
	if (!loc || !map_u64_put(&p->locs, addr, (uintptr_t)loc))
		return NULL;
	*loc = (struct ana_loc){.ip = addr, .rel = addr, .level = ANA_UNKNOWN, .id = p->nr_locs++};
	return loc;
}

static void free_raw(struct trace_input *t)
{
	struct pt_raw *p = (struct pt_raw *)t;

	code_map_free(p->code);
	vec_for_each (&p->files, f)
		os_map_done(f);
	vec_done(&p->files);
	map_u64_done(&p->locs);
	arena_done(&p->arena);
	os_map_done(&p->map);
	mem_free(p);
}

static const struct trace_input_ops ops = {
	.run = run,
	.steps_new = steps_new,
	.step = one_step,
	.steps_free = steps_free,
	.thread = trace_no_thread,
	.time = trace_no_time,
	.locate = locate,
	.locate_caller = locate,
	.free = free_raw,
};

/* --- opening --- */

/** "NAME=NUMBER", "FILE@NUMBER" */
static bool split(char *word, char mark, uint64_t *ret)
{
	char *at = strrchr(word, mark);

	if (!at || at == word || !cs_ini_number(at + 1, ret))
		return false;
	*at = '\0';
	return true;
}

struct registers {
	uint64_t family, model, ctl, denominator, numerator, ratio;
};

static bool take_register(const char *name, uint64_t value, struct registers *r)
{
	const struct {
		const char *name;
		uint64_t *to;
	} all[] = {
		{"FAMILY",        &r->family     },
                {"MODEL",         &r->model      },
		{"IA32_RTIT_CTL", &r->ctl        },
                {"CPUID_15_EAX",  &r->denominator},
		{"CPUID_15_EBX",  &r->numerator  },
                {"NOM_RATIO",     &r->ratio      },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!cs_ini_is(all[i].name, name))
			continue;
		*all[i].to = value;
		return true;
	}
	return false;
}

/** Spec: Intel SDM, volume 3, "IA32_RTIT_CTL MSR": BranchEn 13, MTCFreq 17:14, EventEn 31,
 * DisTNT 55. */
static struct ipt_config config_of(const struct registers *r)
{
	return (struct ipt_config){
		.errata = ipt_errata_of((unsigned int)r->family, (unsigned int)r->model),
		.has_event_trace = r->ctl >> 31 & 1,
		.has_no_tnt = r->ctl >> 55 & 1,
		.has_no_branches = r->ctl && !(r->ctl >> 13 & 1),
		.timing = {.numerator = (uint32_t)r->numerator,
			   .denominator = (uint32_t)r->denominator,
			   .mtc_shift = r->ctl >> 14 & 15,
			   .max_ratio = (uint8_t)r->ratio},
	};
}

static enum clew_err take_registers(struct pt_raw *p, const char *list, struct clew_diag *diag)
{
	struct registers r = {0};
	unsigned int nr = 0;
	uint64_t value;
	char *word;

	while (list && nr++ < MAX_WORDS && (word = cs_ini_word(&list, &p->arena))) {
		if (!split(word, '=', &value))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "registers are NAME=NUMBER, in a comma list");
		if (!take_register(word, value, &r))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "an unknown register, or one that is not used here");
	}
	p->config = config_of(&r);
	return CLEW_OK;
}

static enum clew_err take_memory(struct pt_raw *p, const char *list, struct clew_diag *diag)
{
	unsigned int nr = 0;
	uint64_t address;
	char *word;

	while (list && nr++ < MAX_WORDS && (word = cs_ini_word(&list, &p->arena))) {
		struct os_map map;
		enum clew_err err;

		if (!split(word, '@', &address))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "memory is FILE@ADDRESS, in a comma list");
		err = os_map_file(word, &map, diag);
		if (err)
			return err;
		if (!vec_push(&p->files, map)) {
			os_map_done(&map);
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
		}
		if (!code_map_add(p->code, address, map.data, map.size, CODE_SEEN_BY_ALL))
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	return CLEW_OK;
}

static enum clew_err open_all(struct pt_raw *p, const struct pt_raw_opts *opts,
			      struct clew_diag *diag)
{
	enum clew_err err = os_map_file(opts->file, &p->map, diag);

	p->code = code_map_new();
	if (!p->code)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (!err)
		err = take_registers(p, opts->registers, diag);
	if (!err)
		err = take_memory(p, opts->memory, diag);
	if (err)
		return err;
	p->unit = (struct trace_unit){.cpu = UINT32_MAX,
				      .tid = UINT32_MAX,
				      .name = opts->file,
				      .is_decodable = true,
				      .decoder = &pt_decoder,
				      .config = &p->config,
				      .code = code_map_source(p->code)};
	return p->unit.code ? CLEW_OK : clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
}

enum clew_err pt_raw_open(struct trace_input **ret, const struct pt_raw_opts *opts,
			  struct clew_diag *diag)
{
	struct pt_raw *p = mem_zalloc(sizeof(*p));
	enum clew_err err =
		p ? open_all(p, opts, diag) : clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");

	if (err) {
		if (p)
			free_raw(&p->trace);
		return err;
	}
	p->trace = (struct trace_input){
		.units = &p->unit, .nr_units = 1, .ops = &ops, .nr_bytes = p->map.size};
	*ret = &p->trace;
	return CLEW_OK;
}
