/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/cleanup.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"

/*
 * A profile of callgrind: cost by line, and calls with what they cost inclusive. Names are written
 * once, "(ID) NAME", and then as "(ID)"; ids of objects, files and functions count apart.
 * Spec: Valgrind manual, "Callgrind Format Specification".
 *
 * Readers compute the inclusive cost of a function: its own, and that of its calls. With recursion
 * a sample has a function several times; it counts once, by the innermost of its calls.
 */

/* Cost of a line, or of the calls from there to callee. */
struct line {
	uint32_t function, file, line;
	uint32_t callee;   /* EXPORT_NONE: the line's own cost */
	bool is_elsewhere; /* not in the function's own file, as macros are */
	uint64_t nr;       /* samples seen in it */
};

struct callgrind {
	struct intern keys; /* line without its number -> number + 1 */
	struct {
		VEC(struct line);
	} lines;
	struct {
		VEC(uint64_t);
	} costs; /* nr_columns of each line */
	size_t nr_columns;
	uint64_t *totals;
	uint32_t *stamps; /* by function: the last sample that it was counted in */
	size_t nr_stamps;
	uint32_t stamp;
	uint32_t *order;
	uint8_t *is_named[3]; /* by number of each kind of name: is it written? */
	uint32_t file;        /* that lines are of now */
};

enum { NAME_OBJECT, NAME_FILE, NAME_FUNCTION };

/* --- sums --- */

/* Each event has two columns: its period, and its samples. */
static size_t nr_columns(const struct export *x)
{
	return 2 * export_nr_events(x);
}

static bool fix_columns(struct export *x)
{
	struct callgrind *c = export_state(x);

	if (c->totals)
		return true;
	c->nr_columns = nr_columns(x);
	c->totals = mem_calloc(c->nr_columns, sizeof(*c->totals));
	return c->totals;
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

static void add_cost(struct callgrind *c, uint64_t *to, const struct export_sample *s)
{
	if (2 * (size_t)s->event + 1 >= c->nr_columns)
		return;
	to[2 * s->event] += s->period;
	to[2 * s->event + 1] += s->nr;
}

static bool add_line(struct export *x, uint32_t frame, uint32_t callee,
		     const struct export_sample *s)
{
	const struct export_tables *t = export_tables(x);
	const struct export_frame *f = &t->frames.data[frame];
	const uint32_t key[] = {f->function, f->file, f->line, callee};
	struct callgrind *c = export_state(x);
	struct line line = {f->function, f->file, f->line, callee, false, 0};
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
	add_cost(c, &c->costs.data[n * c->nr_columns], s);
	return true;
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	const struct export_tables *t = export_tables(x);
	struct callgrind *c = export_state(x);
	struct export_stack stack;
	bool is_ok = fix_columns(x) && grow_stamps(c, t->functions.nr) &&
		     export_stack(x, s->node, &stack) && add_line(x, stack.at[0], EXPORT_NONE, s);

	if (!is_ok)
		return CLEW_NO_MEMORY;
	add_cost(c, c->totals, s);
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

/* --- names --- */

/* "KEY=(ID) NAME" at first. A name that begins as an id does gets a blank in front. */
static void begin_name(struct export *x, const char *key, uint32_t id)
{
	buf_str(export_out(x), key);
	buf_printf(export_out(x), "=(%u)", id + 1);
}

/* Has it to be written? Once. */
static bool is_new(struct callgrind *c, unsigned int kind, uint32_t id)
{
	bool is_first = !c->is_named[kind][id];

	c->is_named[kind][id] = 1;
	return is_first;
}

static void put_text(struct export *x, const char *text)
{
	buf_str(export_out(x), *text == '(' ? "  " : " ");
	buf_str(export_out(x), *text ? text : "???");
}

static void put_object(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	uint32_t binary = t->functions.data[function].binary;
	uint32_t id = binary == EXPORT_NONE ? (uint32_t)t->binaries.nr : binary;

	begin_name(x, key, id);
	if (is_new(export_state(x), NAME_OBJECT, id))
		put_text(x, binary == EXPORT_NONE ? ""
						  : export_text(t, t->binaries.data[binary].path));
	buf_char(export_out(x), '\n');
}

static void put_file(struct export *x, const char *key, uint32_t file)
{
	begin_name(x, key, file);
	if (is_new(export_state(x), NAME_FILE, file))
		put_text(x, export_text(export_tables(x), file));
	buf_char(export_out(x), '\n');
}

static void put_function(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	struct buf *out = export_out(x);

	begin_name(x, key, function);
	if (is_new(export_state(x), NAME_FUNCTION, function)) {
		const char *name = export_text(t, t->functions.data[function].name);

		buf_str(out, *name == '(' ? "  " : " ");
		export_put_function(out, x, function);
	}
	buf_char(out, '\n');
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
	if (export_summary(x)->nr_lost)
		buf_printf(out, "desc: Lost records: %llu\n",
			   (unsigned long long)export_summary(x)->nr_lost);
	buf_str(out, "positions: line\n");
	put_events(x);
	buf_str(out, "summary:");
	put_costs(x, c->totals);
	return CLEW_OK;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* A function's own cost, then its calls; first of its own file. */
static int in_order(const void *a, const void *b, void *lines)
{
	const struct line *i = (const struct line *)lines + *(const uint32_t *)a;
	const struct line *j = (const struct line *)lines + *(const uint32_t *)b;
	int order = compare(i->function, j->function);

	if (!order)
		order = (j->callee == EXPORT_NONE) - (i->callee == EXPORT_NONE);
	if (!order)
		order = i->is_elsewhere - j->is_elsewhere;
	if (!order)
		order = compare(i->file, j->file);
	if (!order)
		order = compare(i->line, j->line);
	return order ? order : compare(i->callee, j->callee);
}

static void put_calls(struct export *x, const struct line *l)
{
	const struct export_tables *t = export_tables(x);
	const struct export_function *callee = &t->functions.data[l->callee];

	put_object(x, "cob", l->callee);
	put_file(x, "cfi", callee->file);
	put_function(x, "cfn", l->callee);
	buf_printf(export_out(x), "calls=%llu 0\n", (unsigned long long)l->nr);
}

static void put_line(struct export *x, uint32_t n)
{
	struct callgrind *c = export_state(x);
	const struct line *l = &c->lines.data[n];

	if (c->file != l->file)
		put_file(x, l->is_elsewhere ? "fi" : "fe", l->file);
	c->file = l->file;
	if (l->callee != EXPORT_NONE)
		put_calls(x, l);
	buf_dec(export_out(x), l->line, 0, ' ');
	put_costs(x, &c->costs.data[n * c->nr_columns]);
}

static enum clew_err put_lines(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct callgrind *c = export_state(x);
	uint32_t function = EXPORT_NONE;
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < c->lines.nr && err == CLEW_OK; i++) {
		const struct line *l = &c->lines.data[c->order[i]];

		if (l->function != function) {
			function = l->function;
			c->file = t->functions.data[function].file;
			buf_char(export_out(x), '\n');
			put_object(x, "ob", function);
			put_file(x, "fl", c->file);
			put_function(x, "fn", function);
		}
		put_line(x, c->order[i]);
		err = export_flush(x);
	}
	return err;
}

static bool make_order(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct callgrind *c = export_state(x);
	const size_t nr[] = {t->binaries.nr + 1, t->texts.strs.nr + 1, t->functions.nr};

	for (size_t i = 0; i < sizeof(nr) / sizeof(*nr); i++) {
		c->is_named[i] = mem_calloc(nr[i], 1);
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
	struct callgrind *c = export_state(x);
	enum clew_err err = fix_columns(x) ? put_head(x) : CLEW_NO_MEMORY;

	if (err == CLEW_OK)
		err = make_order(x) ? put_lines(x) : CLEW_NO_MEMORY;
	if (err != CLEW_OK)
		return err;
	buf_str(export_out(x), "\ntotals:");
	put_costs(x, c->totals);
	return CLEW_OK;
}

static void done(struct export *x)
{
	struct callgrind *c = export_state(x);

	intern_done(&c->keys);
	vec_done(&c->lines);
	vec_done(&c->costs);
	mem_free(c->totals);
	mem_free(c->stamps);
	mem_free(c->order);
	for (size_t i = 0; i < sizeof(c->is_named) / sizeof(*c->is_named); i++)
		mem_free(c->is_named[i]);
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.summary = "cost by line and call: callgrind_annotate, KCachegrind, speedscope",
	.has_sums = true,
	.wants_lines = true,
	.state_bytes = sizeof(struct callgrind),
	.sample = put_sample,
	.end = end,
	.done = done,
};
