/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/sframe_json.h"

#include "base/cleanup.h"
#include "format/json_put.h"
#include "format/sframe_text.h"

void sframe_json_head(struct buf *out, const char *file, const struct sframe *s)
{
	struct json_put j = {.out = out};

	json_open(&j, '{');
	json_put_string(&j, "file", file);
	json_put_string(&j, "abi", sframe_text_abi(s));
	json_put_u64(&j, "version", s->version);
	json_put_u64(&j, "flags", s->flags);
	json_put_i64(&j, "fixed_fp", s->fixed_fp);
	json_put_i64(&j, "fixed_ra", s->fixed_ra);
	json_put_u64(&j, "functions", s->nr_functions);
	json_put_u64(&j, "rows", s->nr_rows);
	json_close(&j, '}');
	buf_char(out, '\n');
}

static void put_row(struct json_put *j, const struct sframe *s, const struct sframe_function *f,
		    const struct sframe_row *r)
{
	static const char *const names[] = {"cfa", "fp", "ra"};
	clew_auto(buf_done) struct buf place = {0};

	json_open(j, '{');
	json_put_hex(j, "start", f->is_mask ? r->start : f->start + r->start);
	for (int part = SFRAME_CFA; part <= SFRAME_RA && !r->is_outermost; part++) {
		buf_clear(&place);
		sframe_text_part(&place, s, f, r, (enum sframe_part)part);
		json_put_string(j, names[part], buf_cstr(&place));
		j->out->is_failed |= place.is_failed;
	}
	json_put_bool(j, "is_outermost", r->is_outermost);
	json_close(j, '}');
}

static enum clew_err put_rows(struct json_put *j, const struct sframe *s,
			      const struct sframe_function *f, uint64_t *left,
			      struct clew_diag *diag)
{
	struct sframe_cursor c = sframe_first_row(f);
	struct sframe_row row;
	enum clew_err err;

	while (!(err = sframe_take_row(s, f, &c, &row, left, diag)))
		put_row(j, s, f, &row);
	return err == CLEW_END ? CLEW_OK : err;
}

enum clew_err sframe_json_function(struct buf *out, const struct sframe *s, uint32_t i,
				   uint64_t *left, struct clew_diag *diag)
{
	struct json_put j = {.out = out};
	struct sframe_function f;
	enum clew_err err = sframe_function(s, i, &f, diag);

	json_open(&j, '{');
	json_put_u64(&j, "index", i);
	json_put_hex(&j, "start", f.start);
	json_put_u64(&j, "size", f.size);
	json_put_bool(&j, "is_signal_frame", f.is_signal);
	if (f.is_mask)
		json_put_u64(&j, "block_bytes", f.rep_size);
	json_key(&j, "rows");
	json_open(&j, '[');
	if (!err)
		err = put_rows(&j, s, &f, left, diag);
	json_close(&j, ']');
	if (err)
		json_put_string(&j, "error", diag ? diag->what : clew_err_name(err));
	json_close(&j, '}');
	buf_char(out, '\n');
	return err;
}
