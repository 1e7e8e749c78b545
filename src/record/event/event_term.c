/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "record/event/event_spell.h"

/* What a term is given and where its value goes: one function a term, so that an error names it. */
struct term_call {
	struct event_parse *p;
	struct event_word name, value; /* value.s NULL: none given */
	uint64_t number;               /* the value, where the term takes a number */
};

enum takes { NOTHING, NUMBER, SIZE, TEXT, NUMBER_OR_NOTHING };

struct term {
	const char *name;
	enum takes takes;
	bool is_config; /* of no sense where the kind of event fixes config */
	enum clew_err (*apply)(const struct term_call *c, struct rec_event *e);
};

static enum clew_err too_large(const struct term_call *c, uint64_t max)
{
	return event_fail(c->p, c->value.s, CLEW_INVALID, "%.*s is at most %llu", (int)c->name.n,
			  c->name.s, (unsigned long long)max);
}

static enum clew_err config(const struct term_call *c, struct rec_event *e)
{
	e->attr.config = c->number;
	e->per_cpu_config = 0;
	return CLEW_OK;
}

static enum clew_err config1(const struct term_call *c, struct rec_event *e)
{
	e->attr.config1 = c->number;
	return CLEW_OK;
}

static enum clew_err config2(const struct term_call *c, struct rec_event *e)
{
	e->attr.config2 = c->number;
	return CLEW_OK;
}

static enum clew_err config3(const struct term_call *c, struct rec_event *e)
{
	e->attr.config3 = c->number;
	return CLEW_OK;
}

static enum clew_err config4(const struct term_call *c, struct rec_event *e)
{
	e->attr.config4 = c->number;
	return CLEW_OK;
}

static enum clew_err name(const struct term_call *c, struct rec_event *e)
{
	if (!c->value.n)
		return event_fail(c->p, c->value.s, CLEW_INVALID, "name= is empty");
	e->name = event_copy(c->p, c->value.s, c->value.n);
	return e->name ? CLEW_OK : event_no_memory(c->p);
}

static enum clew_err period(const struct term_call *c, struct rec_event *e)
{
	if (!c->number)
		return event_fail(c->p, c->value.s, CLEW_INVALID, "period= is at least 1");
	e->attr.sample_period = c->number;
	e->attr.flags &= ~PERF_ATTR_FREQ;
	e->has_period = true;
	e->has_freq = false;
	return CLEW_OK;
}

static enum clew_err freq(const struct term_call *c, struct rec_event *e)
{
	if (!c->number)
		return event_fail(c->p, c->value.s, CLEW_INVALID, "freq= is at least 1");
	e->attr.sample_period = c->number;
	e->attr.flags |= PERF_ATTR_FREQ;
	e->has_freq = true;
	e->has_period = false;
	return CLEW_OK;
}

static enum clew_err time_stamps(const struct term_call *c, struct rec_event *e)
{
	if (c->number > 1)
		return too_large(c, 1);
	e->has_time_term = true;
	e->wants_time = c->number;
	return CLEW_OK;
}

static enum clew_err call_graph(const struct term_call *c, struct rec_event *e)
{
	static const struct {
		const char *word;
		enum rec_stacks kind;
	} kinds[] = {
		{"no",    REC_STACKS_NONE},
		{"fp",    REC_STACKS_FP  },
		{"dwarf", REC_STACKS_COPY},
		{"lbr",   REC_STACKS_LBR },
	};

	e->has_stacks = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (event_word_is(c->value, kinds[i].word)) {
			e->stacks = kinds[i].kind;
			return CLEW_OK;
		}
	}
	return event_fail(c->p, c->value.s, CLEW_INVALID, "call-graph= is fp, dwarf, lbr or no");
}

static enum clew_err stack_size(const struct term_call *c, struct rec_event *e)
{
	/* The kernel's limit: a record's size field has 16 bits, and the rest of the sample must
	 * fit too. */
	if (c->number > 65528)
		return too_large(c, 65528);
	e->stack_bytes = (uint32_t)((c->number + 7) / 8 * 8);
	return CLEW_OK;
}

static enum clew_err max_stack(const struct term_call *c, struct rec_event *e)
{
	if (c->number > UINT16_MAX)
		return too_large(c, UINT16_MAX);
	e->attr.sample_max_stack = (uint16_t)c->number;
	if (!e->has_stacks) {
		e->has_stacks = true;
		e->stacks = REC_STACKS_AUTO;
	}
	return CLEW_OK;
}

static enum clew_err inherit(const struct term_call *c, struct rec_event *e)
{
	e->has_inherit = true;
	e->wants_inherit = c->number;
	return CLEW_OK;
}

static enum clew_err no_inherit(const struct term_call *c, struct rec_event *e)
{
	e->has_inherit = true;
	e->wants_inherit = !c->number;
	return CLEW_OK;
}

static enum clew_err overwrite(const struct term_call *c, struct rec_event *e)
{
	e->has_overwrite = true;
	e->wants_overwrite = c->number;
	return CLEW_OK;
}

static enum clew_err no_overwrite(const struct term_call *c, struct rec_event *e)
{
	e->has_overwrite = true;
	e->wants_overwrite = !c->number;
	return CLEW_OK;
}

static enum clew_err max_events(const struct term_call *c, struct rec_event *e)
{
	e->max_events = c->number;
	return CLEW_OK;
}

static enum clew_err aux_output(const struct term_call *c, struct rec_event *e)
{
	if (c->number)
		e->attr.flags |= PERF_ATTR_AUX_OUTPUT;
	return CLEW_OK;
}

static enum clew_err aux_sample_size(const struct term_call *c, struct rec_event *e)
{
	if (c->number > UINT16_MAX)
		return too_large(c, UINT16_MAX);
	e->attr.aux_sample_size = (uint32_t)c->number;
	return CLEW_OK;
}

static enum clew_err aux_action(const struct term_call *c, struct rec_event *e)
{
	if (event_word_is(c->value, "start-paused"))
		e->attr.aux_action = PERF_AUX_START_PAUSED;
	else if (event_word_is(c->value, "pause"))
		e->attr.aux_action = PERF_AUX_PAUSE;
	else if (event_word_is(c->value, "resume"))
		e->attr.aux_action = PERF_AUX_RESUME;
	else
		return event_fail(c->p, c->value.s, CLEW_INVALID,
				  "aux-action= is start-paused, pause or resume");
	return CLEW_OK;
}

static enum clew_err nothing(const struct term_call *c, struct rec_event *e)
{
	(void)c;
	(void)e;
	return CLEW_OK;
}

/* clang-format off */
static const struct { const char *name; uint64_t bit; } branch_kinds[] = {
	{ "any",       PERF_SAMPLE_BRANCH_ANY },        { "any_call",  PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret",   PERF_SAMPLE_BRANCH_ANY_RETURN }, { "ind_call",  PERF_SAMPLE_BRANCH_IND_CALL },
	{ "ind_jmp",   PERF_SAMPLE_BRANCH_IND_JUMP },   { "call",      PERF_SAMPLE_BRANCH_CALL },
	{ "cond",      PERF_SAMPLE_BRANCH_COND },       { "stack",     PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "abort_tx",  PERF_SAMPLE_BRANCH_ABORT_TX },   { "in_tx",     PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx",     PERF_SAMPLE_BRANCH_NO_TX },      { "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ "no_flags",  PERF_SAMPLE_BRANCH_NO_FLAGS },   { "no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
	{ "hw_index",  PERF_SAMPLE_BRANCH_HW_INDEX },   { "priv",      PERF_SAMPLE_BRANCH_PRIV_SAVE },
	{ "counter",   PERF_SAMPLE_BRANCH_COUNTERS },   { "u",         PERF_SAMPLE_BRANCH_USER },
	{ "k",         PERF_SAMPLE_BRANCH_KERNEL },     { "hv",        PERF_SAMPLE_BRANCH_HV },
};
/* clang-format on */

static uint64_t branch_bit(struct event_word w)
{
	for (size_t i = 0; i < sizeof(branch_kinds) / sizeof(*branch_kinds); i++) {
		if (event_word_is(w, branch_kinds[i].name))
			return branch_kinds[i].bit;
	}
	return 0;
}

/* Kinds joined with '|': a comma would end the term. */
static enum clew_err branch_type(const struct term_call *c, struct rec_event *e)
{
	const uint64_t levels =
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	struct event_word rest = c->value;
	uint64_t bits = 0;

	while (rest.n) {
		const char *bar = memchr(rest.s, '|', rest.n);
		struct event_word one = {rest.s, bar ? (size_t)(bar - rest.s) : rest.n};
		uint64_t bit = branch_bit(one);

		if (!bit)
			return event_fail(
				c->p, one.s, CLEW_INVALID,
				"no branch type '%.*s'; types are any, any_call, any_ret, "
				"ind_call, ind_jmp, call, cond, stack, abort_tx, in_tx, "
				"no_tx, save_type, no_flags, no_cycles, u, k, hv",
				(int)one.n, one.s);
		bits |= bit;
		rest.s += one.n + (bar ? 1 : 0);
		rest.n -= one.n + (bar ? 1 : 0);
	}
	/* Only levels, or only ways to save them: of all branches. */
	if (!(bits & ~levels))
		bits |= PERF_SAMPLE_BRANCH_ANY;
	e->attr.branch_sample_type = bits;
	return CLEW_OK;
}

/* clang-format off */
static const struct term terms[] = {
	{ "config",          NUMBER,            true,  config },
	{ "config1",         NUMBER,            true,  config1 },
	{ "config2",         NUMBER,            true,  config2 },
	{ "config3",         NUMBER,            true,  config3 },
	{ "config4",         NUMBER,            true,  config4 },
	{ "name",            TEXT,              false, name },
	{ "period",          NUMBER,            false, period },
	{ "freq",            NUMBER,            false, freq },
	{ "branch_type",     TEXT,              false, branch_type },
	{ "time",            NUMBER_OR_NOTHING, false, time_stamps },
	{ "call-graph",      TEXT,              false, call_graph },
	{ "stack-size",      SIZE,              false, stack_size },
	{ "max-stack",       NUMBER,            false, max_stack },
	{ "inherit",         NUMBER_OR_NOTHING, false, inherit },
	{ "no-inherit",      NUMBER_OR_NOTHING, false, no_inherit },
	{ "overwrite",       NUMBER_OR_NOTHING, false, overwrite },
	{ "no-overwrite",    NUMBER_OR_NOTHING, false, no_overwrite },
	{ "nr",              NUMBER,            false, max_events },
	{ "percore",         NUMBER_OR_NOTHING, false, nothing }, /* perf stat's */
	{ "aux-output",      NUMBER_OR_NOTHING, false, aux_output },
	{ "aux-action",      TEXT,              false, aux_action },
	{ "aux-sample-size", SIZE,              false, aux_sample_size },
	{ "metric-id",       TEXT,              false, nothing }, /* perf stat's */
};
/* clang-format on */

enum { NR_TERMS = sizeof(terms) / sizeof(*terms) };

const char *event_term_names(bool takes_config)
{
	static const char all[] =
		"config, config1, config2, config3, config4, name, period, freq, branch_type, "
		"time, call-graph, stack-size, max-stack, inherit, no-inherit, overwrite, "
		"no-overwrite, nr, percore, aux-output, aux-action, aux-sample-size";

	return takes_config ? all : strstr(all, "name");
}

static enum clew_err read_value(const struct term *t, struct term_call *c)
{
	bool is_ok = true;

	c->number = 1;
	switch (t->takes) {
	case NOTHING:
		is_ok = !c->value.s;
		break;
	case NUMBER_OR_NOTHING:
		is_ok = !c->value.s || event_word_number(c->value, &c->number);
		break;
	case NUMBER:
		is_ok = c->value.s && event_word_number(c->value, &c->number);
		break;
	case SIZE:
		is_ok = c->value.s && event_word_size(c->value, &c->number);
		break;
	case TEXT:
		is_ok = c->value.s;
		break;
	}
	if (is_ok)
		return CLEW_OK;
	return event_fail(c->p, c->value.s ? c->value.s : c->name.s, CLEW_INVALID,
			  "%s= needs %s, such as %s=%s", t->name,
			  t->takes == TEXT ? "a word" : "a number", t->name,
			  t->takes == TEXT ? "fp" : "1000");
}

enum clew_err event_apply_term(struct event_parse *p, struct event_word term_name,
			       struct event_word value, bool takes_config)
{
	for (size_t i = 0; i < NR_TERMS; i++) {
		const struct term *t = &terms[i];
		struct term_call c = {.p = p, .name = term_name, .value = value};
		enum clew_err err;

		if (!event_word_is(term_name, t->name) || (t->is_config && !takes_config))
			continue;
		err = read_value(t, &c);
		for (size_t k = p->first_here; !err && k < p->list->events.nr; k++)
			err = t->apply(&c, &p->list->events.data[k]);
		return err;
	}
	return CLEW_NOT_FOUND;
}

static enum clew_err unknown(struct event_parse *p, struct event_word w, bool takes_config)
{
	struct event_guess g;
	char text[160];

	event_guess_start(&g, w);
	for (size_t i = 0; i < NR_TERMS; i++) {
		if (takes_config || !terms[i].is_config)
			event_guess_try(&g, terms[i].name);
	}
	return event_fail(p, w.s, CLEW_INVALID, "no term '%.*s'%s Terms are %s", (int)w.n, w.s,
			  *event_guess_text(&g, text, sizeof(text)) ? text : ".",
			  event_term_names(takes_config));
}

enum clew_err event_next_term(struct event_parse *p, struct event_word *term_name,
			      struct event_word *value)
{
	*term_name = event_take_until(p, "=,/");
	*value = (struct event_word){0};
	if (*p->pos == '=') {
		p->pos++;
		*value = event_take_until(p, ",/");
	}
	if (*p->pos == ',')
		p->pos++;
	else if (*p->pos != '/')
		return event_fail(p, p->pos, CLEW_INVALID, "no '/' after the terms");
	if (!term_name->n && (value->s || *p->pos != '/'))
		return event_fail(p, term_name->s, CLEW_INVALID, "an empty term");
	return CLEW_OK;
}

enum clew_err event_parse_terms(struct event_parse *p, bool takes_config)
{
	while (*p->pos != '/') {
		struct event_word term_name, value;
		enum clew_err err = event_next_term(p, &term_name, &value);

		if (!err)
			err = event_apply_term(p, term_name, value, takes_config);
		if (err == CLEW_NOT_FOUND)
			err = unknown(p, term_name, takes_config);
		if (err)
			return err;
	}
	p->pos++;
	return CLEW_OK;
}
