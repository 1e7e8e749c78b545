/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_steps.h"
#include "format/script/script_text_impl.h"

/*
 * Lines of steps: first columns, which all steps of an event share, and the rest, which is made
 * once and copied from then on. The column of calls lies in the midst of the rest; its blanks
 * depend on the lines before.
 */

enum {
	MAX_START = 256,
	WIDE = 32, /* bytes that are copied at once: so many are free after each text */
	MAX_TEXT_BYTES = 64 << 20,
};

enum script_step_is {
	STEP_UNKNOWN,
	STEP_SHOWN,
	STEP_HIDDEN,
	STEP_LONG, /* too long to be kept */
};

/* No others: they differ between lines, or stand between the first columns. */
#define SHOWN                                                                                    \
 (SCRIPT_COMM | SCRIPT_TID | SCRIPT_PID | SCRIPT_TIME | SCRIPT_CPU | SCRIPT_TOD | SCRIPT_EVENT | \
  SCRIPT_IP | SCRIPT_SYM | SCRIPT_DSO | SCRIPT_SYMOFF | SCRIPT_DSOFF | SCRIPT_SRCLINE |          \
  SCRIPT_PERIOD | SCRIPT_FLAGS | SCRIPT_ADDR | SCRIPT_CALLINDENT | SCRIPT_IPC | SCRIPT_INSN |    \
  SCRIPT_INSNLEN | SCRIPT_DISASM | SCRIPT_MACHINE_PID | SCRIPT_VCPU | SCRIPT_NOTE)

bool script_text_takes_steps(const struct script_text_opts *o)
{
	return !(o->fields.by_type[SCRIPT_HW] & ~SHOWN) && !o->max_events && !o->is_reltime &&
	       !o->is_deltatime;
}

void script_steps_forget(struct script_steps *s)
{
	buf_clear(&s->text);
	if (s->all.nr)
		memset(s->all.data, 0, s->all.nr * sizeof(*s->all.data));
}

void script_steps_done(struct script_steps *s)
{
	buf_done(&s->text);
	vec_done(&s->all);
}

void script_steps_mark(struct script_text *t, size_t from, bool is_inner)
{
	struct script_steps *s = &t->steps;
	size_t at = from - s->from, bytes = t->out.nr - from;

	if (at + bytes > UINT16_MAX)
		return; /* and so is the line */
	s->made->has_column = true;
	s->made->name_at = (uint16_t)at;
	s->made->name_bytes = (uint16_t)bytes;
	s->made->level = is_inner;
}

/** What all lines of an event begin with, and room for what is copied with it. */
struct start {
	char text[MAX_START + WIDE];
	size_t bytes;
};

/** @return false: it is too long. */
static bool set_start(struct script_text *t, const struct script_evsel *e,
		      const struct ana_batch *b, const struct ana_event *ev, struct start *ret)
{
	size_t from = t->out.nr;
	struct ana_step_event first;

	ana_step_event(b, ev, 0, &first);
	script_add_start(t, e, &first.event, ev->pid, ev->tid, ev->cpu, ev->time);
	ret->bytes = t->out.nr - from;
	t->out.nr = from;
	if (t->out.is_failed || ret->bytes > MAX_START)
		return false;
	if (ret->bytes) /* else there may be no data at all */
		memcpy(ret->text, t->out.data + from, ret->bytes);
	return true;
}

/** In whole pieces: @p to and @p from have room after @p bytes. */
static inline void copy_wide(char *to, const char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += WIDE)
		memcpy(to + i, from + i, WIDE);
}

static inline void fill_wide(char *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += WIDE)
		memset(to + i, ' ', WIDE);
}

/** @p line of @p bytes: without the blanks of one level before its name. */
static void keep(struct script_steps *s, struct script_step *step, const char *line, size_t bytes)
{
	size_t at = step->name_at;

	step->is = STEP_LONG;
	if (bytes > UINT16_MAX || !buf_reserve(&s->text, bytes + WIDE))
		return;
	step->is = STEP_SHOWN;
	step->at = (uint32_t)s->text.nr;
	if (step->name_bytes) {
		step->has_name = true;
		step->name_bytes -= SCRIPT_INDENT;
		buf_add(&s->text, line, at);
		buf_add(&s->text, line + at + SCRIPT_INDENT, bytes - at - SCRIPT_INDENT);
	} else {
		buf_add(&s->text, line, bytes);
	}
	step->bytes = (uint16_t)(s->text.nr - step->at);
}

/** By itself. */
static void add_whole(struct script_text *t, const struct ana_batch *b, const struct ana_event *ev,
		      size_t i)
{
	struct ana_step_event x;

	ana_step_event(b, ev, i, &x);
	script_add_sample(t, &x.event);
}

/** The line of the @p i-th of @p ev's steps. */
static void make(struct script_text *t, const struct ana_batch *b, const struct ana_event *ev,
		 size_t i, const struct start *start, struct script_step *step)
{
	struct script_steps *s = &t->steps;
	size_t from = t->out.nr, bytes;

	*step = (struct script_step){.is = STEP_HIDDEN};
	s->made = step;
	s->from = from + start->bytes;
	add_whole(t, b, ev, i);
	s->made = NULL;
	bytes = t->out.nr - from;
	t->out.nr = from;
	if (bytes && !t->out.is_failed)
		keep(s, step, t->out.data + s->from, bytes - start->bytes);
}

/** The line up to its name, blanks before it, the name, blanks after it, and the rest. */
static inline void put_column(struct script_text *t, const struct script_step *step, uint32_t depth)
{
	const char *from = t->steps.text.data + step->at;
	size_t blanks = step->has_name ? ((size_t)depth + step->level) * SCRIPT_INDENT : 0;
	size_t nr = blanks + step->name_bytes, width = script_indent_width(t, nr);
	size_t rest = step->name_at + step->name_bytes;
	struct buf *b = &t->out;
	char *to;

	width = width > nr ? width : nr;
	if (!buf_reserve(b, step->bytes + width + 2 * WIDE))
		return;
	to = b->data + b->nr;
	copy_wide(to, from, step->name_at);
	to += step->name_at;
	fill_wide(to, width);
	copy_wide(to + blanks, from + step->name_at, step->name_bytes);
	if (width > nr)
		fill_wide(to + nr, width - nr);
	copy_wide(to + width, from + rest, step->bytes - rest);
	b->nr += step->name_at + width + step->bytes - rest;
}

static inline void put(struct script_text *t, const struct start *start,
		       const struct script_step *step, uint32_t depth)
{
	struct buf *b = &t->out;

	if (!buf_reserve(b, start->bytes + step->bytes + 2 * WIDE))
		return;
	copy_wide(b->data + b->nr, start->text, start->bytes);
	b->nr += start->bytes;
	if (step->has_column) {
		put_column(t, step, depth);
		return;
	}
	copy_wide(b->data + b->nr, t->steps.text.data + step->at, step->bytes);
	b->nr += step->bytes;
}

static void add(struct script_text *t, const struct ana_batch *b, const struct ana_event *ev,
		size_t i, const struct start *start)
{
	struct script_step *step = &t->steps.all.data[ev->steps->ids[i]];

	if (step->is == STEP_UNKNOWN)
		make(t, b, ev, i, start, step);
	if (step->is == STEP_SHOWN)
		put(t, start, step, ev->steps->depths[i]);
	else if (step->is == STEP_LONG)
		add_whole(t, b, ev, i);
}

enum clew_err script_add_steps(struct script_text *t, const struct ana_batch *b,
			       const struct ana_event *ev)
{
	const struct script_evsel *e = &t->evsels.data[ev->evsel->index];
	struct script_steps *s = &t->steps;
	enum clew_err err = CLEW_OK;
	struct start start;
	bool is_kept;

	if (!e->fields)
		return CLEW_OK;
	if (s->text.nr > MAX_TEXT_BYTES)
		script_steps_forget(s);
	is_kept = set_start(t, e, b, ev, &start) && vec_reach(&s->all, b->nr_steps);
	for (size_t i = 0; i < ev->steps->nr && err == CLEW_OK; i++) {
		if (is_kept)
			add(t, b, ev, i, &start);
		else
			add_whole(t, b, ev, i);
		if (t->out.nr >= SCRIPT_FLUSH_BYTES)
			err = script_text_flush(t);
	}
	return err;
}
