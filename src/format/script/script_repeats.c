/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "format/script/script_text_impl.h"

enum { NR_REPEATS = 256, MAX_BYTES = 8192, MAX_TIMES = 16 };

struct script_repeat {
	uint64_t id; /* 0: unused */
	uint32_t nr_times, time_bytes;
	uint32_t times[MAX_TIMES]; /* where in the text */
	struct buf text;
};

/* All others differ between operations that are alike, or between lines. */
#define SHOWN                                                                                   \
 (SCRIPT_COMM | SCRIPT_TID | SCRIPT_PID | SCRIPT_TIME | SCRIPT_CPU | SCRIPT_EVENT | SCRIPT_IP | \
  SCRIPT_SYM | SCRIPT_DSO | SCRIPT_SYMOFF | SCRIPT_SRCLINE | SCRIPT_PERIOD | SCRIPT_MISC |      \
  SCRIPT_FLAGS | SCRIPT_DSOFF | SCRIPT_NOTE | SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM |    \
  SCRIPT_WHO | SCRIPT_MACHINE_PID | SCRIPT_VCPU | SCRIPT_TRACE | SCRIPT_BPF_OUTPUT)

bool script_text_takes_repeats(const struct script_text_opts *o)
{
	return !(o->fields.by_type[SCRIPT_HW] & ~SHOWN) && !o->max_events && !o->is_reltime &&
	       !o->is_deltatime;
}

static struct script_repeat *slot(struct script_repeats *r, uint64_t id)
{
	if (!r->all)
		r->all = mem_calloc(NR_REPEATS, sizeof(*r->all));
	return r->all ? &r->all[id % NR_REPEATS] : NULL;
}

void script_repeats_done(struct script_repeats *r)
{
	for (size_t i = 0; r->all && i < NR_REPEATS; i++)
		buf_done(&r->all[i].text);
	mem_free(r->all);
}

void script_repeats_mark(struct script_repeats *r, size_t at)
{
	struct script_repeat *x = r->made;

	if (!x)
		return;
	if (x->nr_times < MAX_TIMES)
		x->times[x->nr_times] = (uint32_t)(at - r->from);
	x->nr_times++;
}

static void add_all(struct script_text *t, const struct ana_event *ev)
{
	for (size_t i = 0; i < ev->repeat->nr; i++) {
		struct ana_event x = ev->repeat->events[i];

		x.time = ev->time;
		script_add_sample(t, &x);
	}
}

static void make(struct script_text *t, const struct ana_event *ev, struct script_repeat *x)
{
	struct script_repeats *r = &t->repeats;
	size_t bytes;

	r->from = t->out.nr;
	r->made = x;
	x->id = 0;
	x->nr_times = 0;
	add_all(t, ev);
	r->made = NULL;
	bytes = t->out.nr - r->from;
	buf_clear(&x->text);
	if (t->out.is_failed || bytes > MAX_BYTES || x->nr_times > MAX_TIMES)
		return;
	buf_add(&x->text, t->out.data + r->from, bytes);
	x->time_bytes = t->start.time_bytes;
	x->id = x->text.is_failed ? 0 : ev->repeat->id;
}

/** memcpy() of what has mostly 14 bytes. */
static inline void copy_time(char *to, const char *from, size_t bytes)
{
	if (bytes < 8 || bytes > 16) {
		memcpy(to, from, bytes);
		return;
	}
	memcpy(to, from, 8);
	memcpy(to + bytes - 8, from + bytes - 8, 8);
}

/** @return false: its times have another width. */
static bool copy(struct script_text *t, const struct ana_event *ev, const struct script_repeat *x)
{
	const struct script_start *s = script_set_time(t, ev->time);
	struct buf *b = &t->out;
	char *to;

	if (s->time_bytes != x->time_bytes)
		return false;
	if (!x->text.nr || !buf_reserve(b, x->text.nr))
		return true;
	to = b->data + b->nr;
	memcpy(to, x->text.data, x->text.nr);
	for (uint32_t i = 0; i < x->nr_times; i++)
		copy_time(to + x->times[i], s->seconds, s->time_bytes);
	b->nr += x->text.nr;
	return true;
}

void script_add_repeat(struct script_text *t, const struct ana_event *ev)
{
	struct script_repeat *x = slot(&t->repeats, ev->repeat->id);

	if (!x)
		add_all(t, ev);
	else if (x->id != ev->repeat->id || !copy(t, ev, x))
		make(t, ev, x);
}
