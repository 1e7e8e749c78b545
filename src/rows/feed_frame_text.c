/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

struct report_frame_text report_feed_frame(const struct report_feed *f, uint32_t frame)
{
	const struct feed_frame *x = &f->frames.all.data[frame];
	struct report_frame_text t = {.dso = feed_dso_name(x->dso),
				      .address = dso_address(x->dso, x->rel),
				      .level = feed_level_letter(x->level),
				      .is_inlined = x->function != NULL};

	t.sym = x->function ? x->function : x->sym ? x->sym->name : NULL;
	return t;
}

void report_feed_pair_function(const struct report_feed *f, uint32_t frame, struct buf *out)
{
	struct report_frame_text t = report_feed_frame(f, frame);

	if (t.sym)
		report_diff_function(out, t.sym);
	else
		buf_str(out, "[unresolved]");
}

const char *report_feed_pair_file(const struct report_feed *f, uint32_t frame,
				  struct report_diff_files *files)
{
	const struct dso *dso = f->frames.all.data[frame].dso;
	const struct dso_build_id *id = dso ? dso_build_id(dso) : NULL;

	return report_diff_file(files, id ? id->bytes : NULL, id ? id->size : 0,
				feed_dso_name(dso));
}

/* Is this the function that the frame is of? The last one is that of the symbol. */
static bool is_of_frame(const struct feed_frame *x, const struct dso_line *l, bool is_last)
{
	return x->function ? l->function && !strcmp(l->function, x->function) : is_last;
}

bool report_feed_frame_source(const struct report_feed *f, uint32_t frame, const char **ret_file,
			      uint32_t *ret_line)
{
	const struct feed_frame *x = &f->frames.all.data[frame];
	struct dso_line lines[DSO_MAX_LEVELS];
	uint64_t at = x->sym && !x->function ? x->sym->start : x->rel - x->is_return;
	size_t nr = 0;

	if (x->dso && (x->sym || x->function))
		nr = dso_find_lines((struct dso *)(uintptr_t)x->dso, at, lines, DSO_MAX_LEVELS);
	for (size_t i = 0; i < nr; i++) {
		const struct dso_line *l = &lines[i];

		if (!is_of_frame(x, l, i + 1 == nr) || (!l->decl_file && !l->file))
			continue;
		*ret_file = l->decl_file ? l->decl_file : l->file;
		*ret_line = l->decl_file ? l->decl_line : l->line;
		return true;
	}
	return false;
}

void report_feed_frame_name(const struct report_feed *f, uint32_t frame, struct buf *out)
{
	struct report_frame_text t = report_feed_frame(f, frame);
	const struct feed_frame *x = &f->frames.all.data[frame];

	if (t.sym)
		buf_str(out, t.sym);
	else
		buf_printf(out, "0x%llx", (unsigned long long)t.address);
	if (t.is_inlined)
		buf_str(out, " (inlined)");
	if (t.sym && f->opts.by_address && x->file)
		buf_printf(out, " %s:%u", x->file, x->line);
	else if (t.sym && f->opts.by_address && x->sym)
		buf_printf(out, "+0x%llx", (unsigned long long)(x->rel - x->sym->start));
}

static void sym_text(struct report_frame_text t, struct buf *out)
{
	buf_char(out, '[');
	buf_char(out, t.level);
	buf_str(out, "] ");
	if (t.sym)
		buf_str(out, t.sym);
	else
		buf_printf(out, "0x%016llx", (unsigned long long)t.address);
	if (t.is_inlined)
		buf_str(out, " (inlined)");
}

static void srcline_text(const struct feed_frame *x, struct report_frame_text t, bool is_file_only,
			 struct buf *out)
{
	if (x->file) {
		const char *slash = strrchr(x->file, '/');

		buf_str(out, slash ? slash + 1 : x->file);
		if (!is_file_only)
			buf_printf(out, ":%u", x->line);
	} else if (!is_file_only && x->sym) {
		buf_printf(out, "%s+0x%llx", x->sym->name,
			   (unsigned long long)(x->rel - x->sym->start));
	} else if (!is_file_only) {
		buf_printf(out, "%s[%llx]", t.dso, (unsigned long long)t.address);
	}
}

void feed_frame_text(const struct report_feed *f, uint32_t frame, enum report_key key,
		     struct buf *out)
{
	const struct feed_frame *x = &f->frames.all.data[frame];
	struct report_frame_text t = report_feed_frame(f, frame);

	if (key == REPORT_DSO)
		buf_str(out, t.dso);
	else if (key == REPORT_SYM)
		sym_text(t, out);
	else
		srcline_text(x, t, key == REPORT_SRCFILE, out);
}
