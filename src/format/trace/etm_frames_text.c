/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_frames_text.h"

static void put_count(struct buf *out, uint64_t nr, const char *what)
{
	buf_printf(out, "  %llu %s%s ", (unsigned long long)nr, what, nr == 1 ? "" : "s");
}

static void put_bytes(struct buf *out, uint64_t nr, const char *owner)
{
	if (!nr)
		return;
	put_count(out, nr, "byte");
	buf_str(out, owner);
	buf_char(out, '\n');
}

static void put_unclaimed(struct buf *out, const struct cs_leftover *f)
{
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		if (!f->nr_unclaimed[id])
			continue;
		put_count(out, f->nr_unclaimed[id], "byte");
		buf_printf(out, "of trace ID %x, which no trace unit has\n", id);
	}
}

void etm_frames_text(struct buf *out, const struct cs_leftover *f)
{
	const struct cs_counts *c = &f->counts;
	struct buf lines = {0};

	put_unclaimed(&lines, f);
	put_bytes(&lines, c->nr_reserved_bytes, "of reserved trace IDs (70-7f)");
	put_bytes(&lines, c->nr_unowned_bytes, "before the first trace ID");
	put_bytes(&lines, c->nr_skipped_bytes, "in no whole frame, skipped");
	if (c->nr_lost) {
		put_count(&lines, c->nr_lost, "time");
		buf_str(&lines, "a frame was broken, and the next one was searched\n");
	}
	if (lines.nr) {
		buf_char(out, '\n');
		buf_printf(out,
			   "In %llu frames, and of no trace unit (%llu bytes of padding apart):\n",
			   (unsigned long long)c->nr_frames, (unsigned long long)c->nr_id0_bytes);
		buf_add(out, lines.data, lines.nr);
	}
	out->is_failed |= lines.is_failed;
	buf_done(&lines);
}

static void json_unclaimed(struct json_put *j, const struct cs_leftover *f)
{
	json_key(j, "unclaimed");
	json_open(j, '[');
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		if (!f->nr_unclaimed[id])
			continue;
		json_open(j, '{');
		json_put_u64(j, "id", id);
		json_put_u64(j, "size", f->nr_unclaimed[id]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void etm_frames_json(struct buf *out, const struct cs_leftover *f)
{
	const struct cs_counts *c = &f->counts;
	struct json_put j = {.out = out};

	if (!c->nr_frames && !c->nr_skipped_bytes && !c->nr_barriers)
		return;
	json_open(&j, '{');
	json_put_u64(&j, "frames", c->nr_frames);
	json_put_u64(&j, "barriers", c->nr_barriers);
	json_put_u64(&j, "resyncs", c->nr_lost);
	json_put_u64(&j, "padding_bytes", c->nr_id0_bytes);
	json_put_u64(&j, "reserved_bytes", c->nr_reserved_bytes);
	json_put_u64(&j, "before_id_bytes", c->nr_unowned_bytes);
	json_put_u64(&j, "skipped_bytes", c->nr_skipped_bytes);
	json_unclaimed(&j, f);
	json_close(&j, '}');
	buf_char(out, '\n');
}
