/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_text_impl.h"

static void start_epoch(struct script_text *t, uint64_t epoch)
{
	if (t->has_epoch && t->epoch == epoch)
		return;
	for (int i = 0; i < SCRIPT_NR_TYPES; i++) {
		script_places_forget(&t->flat[i]);
		script_places_forget(&t->chain[i]);
	}
	script_steps_forget(&t->steps);
	t->epoch = epoch;
	t->has_epoch = true;
}

enum clew_err script_text_flush(struct script_text *t)
{
	enum clew_err err = CLEW_OK;

	if (t->out.is_failed)
		return CLEW_NO_MEMORY;
	if (t->out.nr)
		err = t->sink.write(t->sink.ctx, t->out.data, t->out.nr);
	buf_clear(&t->out);
	return err;
}

void script_text_separate(struct script_text *t)
{
	buf_str(&t->out, "--\n");
}

/* A pipe's events come among its records: check whether the list has grown. */
static enum clew_err prepare(struct script_text *t)
{
	return t->is_prepared && t->evsels.nr == script_text_events(t)->evsels.nr
		     ? CLEW_OK
		     : script_text_prepare(t);
}

enum clew_err script_text_batch(void *text, const struct ana_batch *b)
{
	struct script_text *t = text;
	enum clew_err err = prepare(t);

	start_epoch(t, b->epoch);
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		const struct ana_event *ev = &b->events[i];

		if (ev->repeat)
			script_add_repeat(t, ev);
		else if (ev->steps)
			err = script_add_steps(t, b, ev);
		else if (ev->sample)
			script_add_sample(t, ev);
		else
			script_add_record(t, ev);
		if (err == CLEW_OK && t->out.nr >= SCRIPT_FLUSH_BYTES)
			err = script_text_flush(t);
		if (err == CLEW_OK && t->opts.max_events && t->nr_events >= t->opts.max_events) {
			err = script_text_flush(t);
			err = err == CLEW_OK ? CLEW_STOPPED : err;
		}
	}
	return err;
}
