/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/bolt_samples.h"

#include <string.h>

#include "format/profile/text_chunks.h"
#include "profile/linked_functions.h"

/* A blank ends a name; a backslash says that it does not. */
static void put_name(struct text_chunks *t, const char *name)
{
	struct buf safe = {0};

	escape_str(&safe, name);
	for (size_t i = 0; i < safe.nr; i++) {
		if (safe.data[i] == ' ' || safe.data[i] == '\\')
			buf_char(&t->text, '\\');
		buf_char(&t->text, safe.data[i]);
	}
	t->text.is_failed |= safe.is_failed;
	buf_done(&safe);
}

static void put_sample(struct text_chunks *t, const struct linked_function *f,
		       const struct code_count *s)
{
	buf_str(&t->text, "1 ");
	put_name(t, f->name);
	if (f->number)
		buf_printf(&t->text, "/%u", f->number);
	buf_printf(&t->text, " %llx %llu", (unsigned long long)(s->a - f->start),
		   (unsigned long long)s->nr);
	text_chunks_line(t);
}

/* As "cpu-clock:u". */
static bool is_time(const char *event)
{
	static const char *const times[] = {"cpu-clock", "task-clock"};

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		if (!strncmp(event, times[i], strlen(times[i])))
			return true;
	}
	return !*event;
}

enum clew_err bolt_samples(const struct counted_binary *b, const char *event,
			   const struct clew_sink *sink, uint64_t *ret_nr_nowhere)
{
	struct text_chunks t = {.sink = sink};
	struct linked_functions functions = {0};

	*ret_nr_nowhere = 0;
	if (b->dso && !linked_functions_make(&functions, b->dso))
		t.err = CLEW_NO_MEMORY;
	buf_str(&t.text, "no_lbr ");
	put_name(&t, is_time(event) ? "cycles" : event);
	text_chunks_line(&t);
	vec_for_each (&b->counts.samples, s) {
		const struct linked_function *f = linked_functions_at(&functions, s->a);

		if (f)
			put_sample(&t, f, s);
		else
			*ret_nr_nowhere += s->nr;
	}
	linked_functions_done(&functions);
	return text_chunks_end(&t);
}
