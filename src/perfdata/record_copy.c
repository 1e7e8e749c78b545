/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/record_copy.h"

#include <stddef.h>
#include <string.h>

#include "perfdata/perf_features_write.h"

enum { BATCH_BYTES = 256 * 1024 /* of records, to the writer at a time */ };

void record_copy_done(struct record_copy *c)
{
	perf_writer_free(c->writer);
	buf_done(&c->out);
	*c = (struct record_copy){0};
}

/* --- features --- */

/* Maps of processes (PERF_FEAT_CLEW_MAPS) hold for any copy with the same processes. */
static bool is_copied(unsigned int feature)
{
	return feature != PERF_FEAT_AUXTRACE && feature != PERF_FEAT_COMPRESSED &&
	       feature != PERF_FEAT_CLEW_STACKS && feature != PERF_FEAT_DIR_FORMAT;
}

enum clew_err record_copy_features(struct record_copy *c, const struct perf_features *f,
				   const struct perf_evlist *l)
{
	struct buf desc = {0};
	enum clew_err err = CLEW_OK;

	perf_put_event_desc(&desc, l);
	for (unsigned int i = 1; i < PERF_FEAT_BITS && err == CLEW_OK; i++) {
		struct bytes section = f->section[i];

		if (i == PERF_FEAT_EVENT_DESC && section.pos)
			section = bytes_of(desc.data, desc.nr);
		if (section.pos && is_copied(i))
			err = perf_writer_feature(c->writer, (enum perf_feature)i, section.pos,
						  bytes_left(&section));
	}
	err = err == CLEW_OK && desc.is_failed ? CLEW_NO_MEMORY : err;
	buf_done(&desc);
	return err;
}

/* --- records --- */

enum clew_err record_copy_flush(struct record_copy *c)
{
	enum clew_err err = c->out.is_failed
				  ? CLEW_NO_MEMORY
				  : perf_writer_records(c->writer, c->out.data, c->out.nr);

	c->round_bytes += c->out.nr;
	buf_clear(&c->out);
	return err;
}

enum clew_err record_copy_flush_much(struct record_copy *c)
{
	return c->out.nr >= BATCH_BYTES || c->out.is_failed ? record_copy_flush(c) : CLEW_OK;
}

enum clew_err record_copy_add(struct record_copy *c, const struct perf_record *r)
{
	size_t misc_at = c->out.nr + offsetof(struct perf_event_header, misc);
	size_t size_at = c->out.nr + offsetof(struct perf_event_header, size);

	buf_add(&c->out, r->data, r->size);
	if (!c->out.is_failed) {
		memcpy(c->out.data + misc_at, &r->misc, sizeof(r->misc));
		memcpy(c->out.data + size_at, &r->size, sizeof(r->size));
	}
	return record_copy_flush_much(c);
}

static enum clew_err end_round(struct record_copy *c)
{
	static const struct perf_event_header round = {.type = PERF_RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};
	enum clew_err err = record_copy_flush(c);

	c->round_bytes = 0;
	return err == CLEW_OK ? perf_writer_plain(c->writer, &round, sizeof(round)) : err;
}

enum clew_err record_copy_end_round(struct record_copy *c)
{
	bool is_due = !c->is_unordered && c->round_bytes + c->out.nr >= BATCH_BYTES;

	return is_due ? end_round(c) : CLEW_OK;
}

enum clew_err record_copy_keep_order(struct record_copy *c, uint32_t type, struct clew_perf_ns time)
{
	bool has_time = time.ns && clew_perf_ns_is_known(time);
	bool is_back = has_time && time.ns < c->newest.ns && !c->is_unordered;
	enum clew_err err = CLEW_OK;

	if (is_back || (!has_time && type == PERF_RECORD_SAMPLE && c->newest.ns)) {
		err = end_round(c);
		if (err == CLEW_OK)
			err = end_round(c);
		c->newest.ns = 0;
	}
	if (has_time && time.ns > c->newest.ns)
		c->newest = time;
	return err;
}
