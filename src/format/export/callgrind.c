/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/callgrind.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/u64.h"
#include "format/export/export_name.h"

/*
 * A profile of callgrind: cost by line, and calls with what they cost inclusive.
 * Spec: Valgrind manual, "Callgrind Format Specification".
 *
 * Readers compute the inclusive cost of a function: its own, and that of its calls. With recursion
 * a sample has a function several times; it counts once, by the innermost of its calls.
 */

/* --- sums --- */

/* Each event has two columns: its period, and its samples. */
static size_t nr_columns(const struct export *x)
{
	return 2 * export_nr_events(x);
}

/* From the last line to the first: each moves to where later ones were. */
static bool widen(struct callgrind *c, size_t nr)
{
	size_t old = c->nr_columns, bytes = old * sizeof(uint64_t);
	uint64_t *totals = mem_calloc(nr, sizeof(*totals));

	if (!totals || !vec_reserve(&c->costs, c->lines.nr * nr)) {
		mem_free(totals);
		return false;
	}
	c->costs.nr = c->lines.nr * nr;
	for (size_t n = c->lines.nr; n-- > 0;) {
		uint64_t *to = &c->costs.data[n * nr];

		memmove(to, &c->costs.data[n * old], bytes);
		memset(to + old, 0, nr * sizeof(*to) - bytes);
	}
	if (old)
		memcpy(totals, c->totals, bytes);
	mem_free(c->totals);
	c->totals = totals;
	c->nr_columns = nr;
	return true;
}

/* A pipe may name events after the first sums. */
static bool fit_columns(struct export *x)
{
	struct callgrind *c = export_state(x);

	return (c->totals && c->nr_columns == nr_columns(x)) || widen(c, nr_columns(x));
}

static bool grow_stamps(struct callgrind *c, size_t nr)
{
	uint32_t *next;

	if (nr <= c->nr_stamps)
		return true;
	next = mem_calloc(2 * nr, sizeof(*next));
	if (!next)
		return false;
	for (size_t i = 0; i < c->nr_stamps; i++)
		next[i] = c->stamps[i];
	mem_free(c->stamps);
	c->stamps = next;
	c->nr_stamps = 2 * nr;
	return true;
}

static void add_cost(uint64_t *to, const struct export_sample *s)
{
	to[2 * s->event] += s->period;
	to[2 * s->event + 1] += s->nr;
}

static uint32_t part_of(const struct export *x, uint32_t thread)
{
	uint32_t by = export_opts(x)->keys;

	return by & EXPORT_BY_TID ? thread
	     : by & EXPORT_BY_PID ? export_thread_at(x, thread)->pid
				  : 0;
}

static bool add_line(struct export *x, uint32_t frame, uint32_t callee,
		     const struct export_sample *s)
{
	const struct export_tables *t = export_tables(x);
	const struct export_frame *f = &t->frames.data[frame];
	const struct export_opts *o = export_opts(x);
	uint32_t part = part_of(x, export_key_at(x, s->key)->thread);
	uint32_t place = o->has_addresses ? f->place : 0;
	const uint32_t key[] = {part, f->function, f->file, f->line, place, callee};
	struct callgrind *c = export_state(x);
	struct callgrind_line line = {part, f->function, f->file, f->line, place, callee, false, 0};
	uint32_t n = intern_add(&c->keys, (const char *)key, sizeof(key));

	if (n == INTERN_FAILED)
		return false;
	n--; /* number 0 of an intern is "" */
	line.is_elsewhere = f->file != t->functions.data[f->function].file;
	if (n == c->lines.nr) {
		if (!vec_push(&c->lines, line))
			return false;
		for (size_t i = 0; i < c->nr_columns; i++) {
			if (!vec_push(&c->costs, 0))
				return false;
		}
	}
	c->lines.data[n].nr += s->nr;
	add_cost(&c->costs.data[n * c->nr_columns], s);
	return true;
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_tables *t = export_tables(x);
	struct callgrind *c = export_state(x);
	struct export_stack stack;
	bool is_ok = fit_columns(x) && grow_stamps(c, t->functions.nr) &&
		     export_stack(x, s->node, &stack) && add_line(x, stack.at[0], EXPORT_NONE, s);

	if (!is_ok)
		return CLEW_NO_MEMORY;
	add_cost(c->totals, s);
	c->stamp++;
	c->stamps[t->frames.data[stack.at[0]].function] = c->stamp;
	for (size_t i = 1; i < stack.nr; i++) {
		uint32_t caller = t->frames.data[stack.at[i]].function;

		if (c->stamps[caller] == c->stamp)
			continue;
		c->stamps[caller] = c->stamp;
		if (!add_line(x, stack.at[i], t->frames.data[stack.at[i - 1]].function, s))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/* "cpu-clock:u" is cpu_clock_u: readers take words. */
static void put_event(struct buf *out, const char *name, const char *end)
{
	size_t at = out->nr;

	buf_str(out, name);
	buf_str(out, end);
	for (; at < out->nr; at++) {
		char c = out->data[at];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
			out->data[at] = '_';
	}
}

/* --- the file --- */

static void put_costs(struct export *x, const uint64_t *costs)
{
	struct buf *out = export_out(x);

	for (size_t i = 0; i < export_nr_events(x); i++) {
		if (export_event_at(x, i)->is_omitted)
			continue;
		if (!export_opts(x)->by_samples) {
			buf_char(out, ' ');
			buf_dec(out, costs[2 * i], 0, ' ');
		}
		buf_char(out, ' ');
		buf_dec(out, costs[2 * i + 1], 0, ' ');
	}
	buf_char(out, '\n');
}

static void put_events(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct buf *out = export_out(x);

	buf_str(out, "events:");
	for (size_t i = 0; i < export_nr_events(x); i++) {
		const struct export_event *e = export_event_at(x, i);

		if (e->is_omitted)
			continue;
		if (!export_opts(x)->by_samples) {
			buf_char(out, ' ');
			put_event(out, export_text(t, e->name), "");
		}
		buf_char(out, ' ');
		put_event(out, export_text(t, e->name), "_samples");
	}
	buf_char(out, '\n');
}

static bool has_parts(const struct export *x)
{
	return export_opts(x)->keys & (EXPORT_BY_PID | EXPORT_BY_TID);
}

/* What each part begins with, if there are some. */
static void put_columns(struct export *x, const uint64_t *totals)
{
	struct buf *out = export_out(x);

	buf_printf(out, "positions: %sline\n", export_opts(x)->has_addresses ? "instr " : "");
	put_events(x);
	buf_str(out, "summary:");
	put_costs(x, totals);
}

static enum clew_err put_head(struct export *x)
{
	struct callgrind *c = export_state(x);
	struct buf *out = export_out(x);
	uint32_t command = export_command(x);

	if (command == EXPORT_NONE)
		return CLEW_NO_MEMORY;
	buf_str(out, "# callgrind format\nversion: 1\ncreator: clew\n");
	if (command)
		buf_printf(out, "cmd: %s\n", export_text(export_tables(x), command));
	buf_str(out, "desc: Trigger: samples; the number of calls is that of samples in them\n");
	if (export_of_run(x)->nr_lost)
		buf_printf(out, "desc: Lost records: %llu\n",
			   (unsigned long long)export_of_run(x)->nr_lost);
	if (export_of_run(x)->nr_bpf_filtered)
		buf_printf(out, "desc: Samples filtered by BPF: %llu\n",
			   (unsigned long long)export_of_run(x)->nr_bpf_filtered);
	if (!has_parts(x))
		put_columns(x, c->totals);
	return CLEW_OK;
}

/* A function's own cost, then its calls; first of its own file. */
static int in_order(const void *a, const void *b, void *lines)
{
	const struct callgrind_line *i =
		(const struct callgrind_line *)lines + *(const uint32_t *)a;
	const struct callgrind_line *j =
		(const struct callgrind_line *)lines + *(const uint32_t *)b;
	int order = u64_compare(i->part, j->part);

	if (!order)
		order = u64_compare(i->function, j->function);
	if (!order)
		order = (j->callee == EXPORT_NONE) - (i->callee == EXPORT_NONE);
	if (!order)
		order = i->is_elsewhere - j->is_elsewhere;
	if (!order)
		order = u64_compare(i->file, j->file);
	if (!order)
		order = u64_compare(i->line, j->line);
	if (!order)
		order = u64_compare(i->place, j->place);
	return order ? order : u64_compare(i->callee, j->callee);
}

static void put_calls(struct export *x, const struct callgrind_line *l)
{
	const struct export_tables *t = export_tables(x);
	const struct export_function *callee = &t->functions.data[l->callee];

	callgrind_put_object(x, "cob", l->callee);
	callgrind_put_file(x, "cfi", callee->file);
	callgrind_put_function(x, "cfn", l->callee);
	buf_printf(export_out(x), "calls=%llu %s0\n", (unsigned long long)l->nr,
		   export_opts(x)->has_addresses ? "0x0 " : "");
}

/* An instruction's address, as others find it in the file: of a caller that of its call. */
static uint64_t linked_address(const struct export *x, const struct export_place *p)
{
	uint64_t linked, start, call = 0;

	if (!p->dso || !dso_link_address(p->dso, p->address, &linked))
		return p->address;
	if (!p->is_caller || !export_opts(x)->call_start)
		return linked;
	if (!p->sym || !dso_link_address(p->dso, p->sym->start, &start))
		start = linked + 1;
	call = export_opts(x)->call_start(p->dso, start, linked + 1);
	return call ? call : linked;
}

void callgrind_put_address(struct export *x, const struct export_place *p)
{
	uint64_t address = linked_address(x, p);

	buf_printf(export_out(x), "0x%llx ", (unsigned long long)address);
}

void callgrind_use_file(struct export *x, uint32_t file, bool is_elsewhere)
{
	struct callgrind *c = export_state(x);

	if (c->file != file)
		callgrind_put_file(x, is_elsewhere ? "fi" : "fe", file);
	c->file = file;
}

static void put_line(struct export *x, uint32_t n)
{
	struct callgrind *c = export_state(x);
	const struct callgrind_line *l = &c->lines.data[n];

	callgrind_use_file(x, l->file, l->is_elsewhere);
	if (l->callee != EXPORT_NONE)
		put_calls(x, l);
	if (export_opts(x)->has_addresses)
		callgrind_put_address(x, &export_tables(x)->places.data[l->place]);
	buf_dec(export_out(x), l->line, 0, ' ');
	put_costs(x, &c->costs.data[n * c->nr_columns]);
}

void callgrind_begin_function(struct export *x, uint32_t function)
{
	struct callgrind *c = export_state(x);

	c->file = export_tables(x)->functions.data[function].file;
	buf_char(export_out(x), '\n');
	callgrind_put_object(x, "ob", function);
	callgrind_put_file(x, "fl", c->file);
	callgrind_put_function(x, "fn", function);
}

/* Lines [from, to) of the order. */
static enum clew_err put_lines(struct export *x, size_t from, size_t to)
{
	struct callgrind *c = export_state(x);
	uint32_t function = EXPORT_NONE;
	enum clew_err err = CLEW_OK;

	for (size_t i = from; i < to && err == CLEW_OK; i++) {
		const struct callgrind_line *l = &c->lines.data[c->order[i]];

		if (l->function != function)
			callgrind_begin_function(x, l->function);
		function = l->function;
		put_line(x, c->order[i]);
		err = export_flush(x);
	}
	return err;
}

/* --- parts: one per thread --- */

static size_t end_of_part(const struct callgrind *c, size_t from)
{
	uint32_t part = c->lines.data[c->order[from]].part;

	while (from < c->lines.nr && c->lines.data[c->order[from]].part == part)
		from++;
	return from;
}

/* A sample is in the own cost of one line. */
static void sum_up(const struct callgrind *c, size_t from, size_t to, uint64_t *ret)
{
	memset(ret, 0, c->nr_columns * sizeof(*ret));
	for (; from < to; from++) {
		uint32_t n = c->order[from];

		for (size_t i = 0; c->lines.data[n].callee == EXPORT_NONE && i < c->nr_columns; i++)
			ret[i] += c->costs.data[n * c->nr_columns + i];
	}
}

static void put_owner(struct export *x, uint32_t part)
{
	struct buf *out = export_out(x);
	bool is_thread = export_opts(x)->keys & EXPORT_BY_TID;
	const struct export_thread *t = export_thread_at(x, is_thread ? part : EXPORT_NONE);

	buf_str(out, "pid: ");
	export_put_id(out, is_thread ? t->pid : part);
	if (is_thread) {
		buf_str(out, "\nthread: ");
		export_put_id(out, t->tid);
		buf_printf(out, "\ndesc: Name: %s", export_text(export_tables(x), t->comm));
	}
	buf_char(out, '\n');
}

static enum clew_err put_part(struct export *x, uint32_t number, size_t from, size_t to,
			      uint64_t *totals)
{
	struct callgrind *c = export_state(x);
	struct buf *out = export_out(x);
	enum clew_err err;

	sum_up(c, from, to, totals);
	callgrind_forget_names(x);
	buf_printf(out, "\npart: %u\n", number);
	put_owner(x, c->lines.data[c->order[from]].part);
	put_columns(x, totals);
	err = put_lines(x, from, to);
	buf_str(out, "\ntotals:");
	put_costs(x, totals);
	return err;
}

static enum clew_err put_parts(struct export *x)
{
	struct callgrind *c = export_state(x);
	uint64_t *totals = mem_calloc(c->nr_columns + 1, sizeof(*totals));
	enum clew_err err = totals ? CLEW_OK : CLEW_NO_MEMORY;
	uint32_t number = 1;
	size_t to;

	for (size_t from = 0; from < c->lines.nr && err == CLEW_OK; from = to) {
		to = end_of_part(c, from);
		err = put_part(x, number++, from, to, totals);
	}
	mem_free(totals);
	return err;
}

static enum clew_err put_all(struct export *x)
{
	struct callgrind *c = export_state(x);
	enum clew_err err = put_lines(x, 0, c->lines.nr);

	if (err == CLEW_OK)
		err = callgrind_put_jumps(x);
	buf_str(export_out(x), "\ntotals:");
	put_costs(x, c->totals);
	return err;
}

static bool make_order(struct export *x)
{
	struct callgrind *c = export_state(x);

	for (size_t i = 0; i < CALLGRIND_NR_NAMES; i++) {
		c->is_named[i] = mem_calloc(callgrind_nr_names(x, i), 1);
		if (!c->is_named[i])
			return false;
	}
	c->order = mem_calloc(c->lines.nr + 1, sizeof(*c->order));
	if (!c->order)
		return false;
	for (uint32_t i = 0; i < c->lines.nr; i++)
		c->order[i] = i;
	if (c->lines.nr)
		qsort_r(c->order, c->lines.nr, sizeof(*c->order), in_order, c->lines.data);
	return true;
}

static enum clew_err end(struct export *x)
{
	enum clew_err err = fit_columns(x) ? put_head(x) : CLEW_NO_MEMORY;

	if (err == CLEW_OK && !has_parts(x) && !callgrind_place_jumps(x))
		err = CLEW_NO_MEMORY;
	if (err == CLEW_OK && !make_order(x))
		err = CLEW_NO_MEMORY;
	if (err != CLEW_OK)
		return err;
	return has_parts(x) ? put_parts(x) : put_all(x);
}

static void done(struct export *x)
{
	struct callgrind *c = export_state(x);

	intern_done(&c->keys);
	vec_done(&c->lines);
	vec_done(&c->costs);
	vec_done(&c->jumps);
	mem_free(c->totals);
	mem_free(c->stamps);
	mem_free(c->order);
	for (size_t i = 0; i < CALLGRIND_NR_NAMES; i++)
		mem_free(c->is_named[i]);
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.summary = "cost by line and call: callgrind_annotate, KCachegrind, speedscope",
	.has_sums = true,
	.wants_lines = true,
	.has_addresses = true,
	.more_keys = EXPORT_BY_PID | EXPORT_BY_TID,
	.state_bytes = sizeof(struct callgrind),
	.sample = put_sample,
	.end = end,
	.done = done,
};
