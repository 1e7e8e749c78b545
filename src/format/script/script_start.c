/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <time.h>

#include "format/script/script_text_impl.h"

/* The first columns of a line: thread, CPU, time. */

enum { COMM_WIDTH = 16, LATENCY_WIDTH = 8, NS_PER_SECOND = 1000000000 };

/** @p nr digits, with zeros before. @p nr is even. */
static void put_digits(char *to, uint32_t v, unsigned int nr)
{
	for (; nr; nr -= 2, v /= 100)
		dec_pair(to + nr - 2, v % 100);
}

/** "   12.": the seconds of a time. @return its size. */
static uint32_t put_seconds(char *to, uint64_t seconds)
{
	enum { WIDTH = 5 };
	char text[DEC_DIGITS];
	unsigned int nr = dec_digits(text, seconds), pad = nr < WIDTH ? WIDTH - nr : 0;

	memset(to, ' ', pad);
	memcpy(to + pad, text + DEC_DIGITS - nr, nr);
	to[pad + nr] = '.';
	return pad + nr + 1;
}

/** "000123: ", or nine digits. @return its size. */
static uint32_t put_fraction(char *to, uint32_t ns, bool is_ns)
{
	unsigned int nr = 6;

	put_digits(to, ns / 1000, nr);
	if (is_ns) {
		to[nr++] = (char)('0' + ns / 100 % 10);
		dec_pair(to + nr, ns % 100);
		nr += 2;
	}
	to[nr] = ':';
	to[nr + 1] = ' ';
	return nr + 2;
}

/* --reltime: since the first line; --deltatime: since the line before. */
static uint64_t shown_time(struct script_text *t, uint64_t time)
{
	uint64_t before = t->time_before;

	if (!t->opts.is_reltime && !t->opts.is_deltatime)
		return time;
	if (!before || t->opts.is_deltatime)
		t->time_before = time;
	return before && time > before ? time - before : 0;
}

static void add_tasks(struct buf *b, uint64_t fields, uint32_t pid, uint32_t tid)
{
	if (fields & SCRIPT_PID && fields & SCRIPT_TID) {
		buf_printf(b, "%5d/%-5d ", (int)pid, (int)tid);
	} else if (fields & (SCRIPT_PID | SCRIPT_TID)) {
		uint32_t id = fields & SCRIPT_PID ? pid : tid;

		if (id <= INT32_MAX) {
			buf_dec(b, id, 5, ' ');
			buf_char(b, ' ');
		} else {
			buf_printf(b, "%5d ", (int)id);
		}
	}
}

static void add_cpu(struct script_text *t, uint32_t cpu)
{
	if (t->opts.is_latency) {
		buf_printf(&t->out, "%3d ", (int)cpu);
	} else if (cpu <= INT32_MAX) {
		buf_char(&t->out, '[');
		buf_dec(&t->out, cpu, 3, '0');
		buf_str(&t->out, "] ");
	} else {
		buf_printf(&t->out, "[%03d] ", (int)cpu);
	}
}

/* The wall clock's, by the one instant of both clocks that the recording holds. */
static void add_time_of_day(struct script_text *t, struct clew_perf_ns time)
{
	uint64_t wall = t->clocks.wall_clock_ns + (time.ns - t->clocks.clockid_ns);
	time_t seconds = (time_t)(wall / 1000000000);
	struct tm tm;
	char text[32];

	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return;
	buf_str(&t->out, text);
	buf_char(&t->out, '.');
	if (t->opts.is_ns)
		buf_dec(&t->out, wall % 1000000000, 9, '0');
	else
		buf_dec(&t->out, wall % 1000000000 / 1000, 6, '0');
	buf_char(&t->out, ' ');
}

static void add_comm(struct script_text *t, const struct script_evsel *e, const char *comm)
{
	const struct escaped *name = escape_memo_get(&t->names, comm);

	if (t->opts.is_latency)
		script_add_right(&t->out, name->text,
				 escape_cut(name->text, name->bytes, LATENCY_WIDTH), LATENCY_WIDTH);
	else
		script_add_right(&t->out, name->text, name->bytes, e->has_chain ? 0 : COMM_WIDTH);
	buf_char(&t->out, ' ');
}

/** Keep what @p b has from @p from on, where it fits. @return its size. */
static uint32_t keep(const struct buf *b, size_t from, char *to, size_t room)
{
	size_t bytes = b->is_failed ? 0 : b->nr - from;

	if (!bytes || bytes > room)
		return 0;
	memcpy(to, b->data + from, bytes);
	return (uint32_t)bytes;
}

static void add_task(struct script_text *t, const struct script_evsel *e, const char *comm,
		     uint32_t pid, uint32_t tid, uint32_t cpu)
{
	struct script_start *s = &t->start;
	size_t from = t->out.nr;

	if (s->task_bytes && s->fields == e->fields && s->comm == comm && s->pid == pid &&
	    s->tid == tid && s->cpu == cpu && s->has_chain == e->has_chain) {
		buf_add(&t->out, s->task, s->task_bytes);
		return;
	}
	if (e->fields & SCRIPT_COMM)
		add_comm(t, e, comm ? comm : ":-1");
	add_tasks(&t->out, e->fields, pid, tid);
	if (e->fields & SCRIPT_CPU)
		add_cpu(t, cpu);
	s->fields = e->fields;
	s->comm = comm;
	s->pid = pid;
	s->tid = tid;
	s->cpu = cpu;
	s->has_chain = e->has_chain;
	s->task_bytes = keep(&t->out, from, s->task, sizeof(s->task));
}

const struct script_start *script_set_time(struct script_text *t, struct clew_perf_ns time)
{
	struct script_start *s = &t->start;

	if (s->time_bytes && s->time.ns == time.ns)
		return s;
	if (!s->time_bytes || time.ns - s->second_ns >= NS_PER_SECOND) {
		s->second_ns = time.ns / NS_PER_SECOND * NS_PER_SECOND;
		s->second_bytes = put_seconds(s->seconds, time.ns / NS_PER_SECOND);
	}
	s->time = time;
	s->time_bytes =
		s->second_bytes + put_fraction(s->seconds + s->second_bytes,
					       (uint32_t)(time.ns - s->second_ns), t->opts.is_ns);
	return s;
}

static void add_time(struct script_text *t, struct clew_perf_ns time)
{
	const struct script_start *s = script_set_time(t, time);

	script_repeats_mark(&t->repeats, t->out.nr);
	buf_add(&t->out, s->seconds, s->time_bytes);
}

/* As perf prints them, and of guests alone. */
static void add_machine(struct buf *b, uint64_t fields, const struct ana_event *ev)
{
	if (fields & SCRIPT_MACHINE_PID)
		buf_printf(b, "VM:%5d ", (int)ev->machine);
	if (fields & SCRIPT_VCPU)
		buf_printf(b, "VCPU:%03d ", (int)ev->vcpu);
}

void script_add_start(struct script_text *t, const struct script_evsel *e,
		      const struct ana_event *ev, uint32_t pid, uint32_t tid, uint32_t cpu,
		      struct clew_perf_ns time)
{
	struct buf *b = &t->out;

	if (ev->machine)
		add_machine(b, e->fields, ev);
	add_task(t, e, ev->comm, pid, tid, cpu);
	if (e->fields & SCRIPT_MISC)
		script_add_misc(b, ev->record.type, ev->record.misc);
	if (e->fields & SCRIPT_TOD)
		add_time_of_day(t, time);
	if (e->fields & SCRIPT_TIME && !clew_perf_ns_is_known(time) && ev->synth)
		buf_str(b, t->opts.is_ns ? "              -: " : "           -: ");
	else if (e->fields & SCRIPT_TIME)
		add_time(t, (struct clew_perf_ns){shown_time(t, time.ns)});
}
