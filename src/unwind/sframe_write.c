/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>

#include "base/vec.h"
#include "unwind/sframe_impl.h"
#include "unwind/sframe_words.h"

enum { V3_MAX_ROWS = UINT16_MAX };

struct out_row {
	uint32_t off;
	struct unw_rule rule;
};

struct out_function {
	uint64_t start;
	uint32_t size;
	uint8_t rep_size;
	size_t first, nr; /* its rows */
};

/* A function that is in the section. */
struct out_fde {
	const struct out_function *f;
	uint32_t rows_at;
	uint8_t info;
};

struct sframe_writer {
	struct sframe_write_opts opts;
	enum unw_arch arch;
	bool is_big, has_no_memory;
	struct {
		VEC(struct out_function);
	} functions;
	struct {
		VEC(struct out_row);
	} rows;
	struct {
		VEC(struct out_fde);
	} fdes;
	struct buf row_bytes;
};

enum sframe_abi sframe_abi_of(enum unw_arch arch, bool is_big_endian)
{
	if (arch == UNW_X86_64)
		return SFRAME_ABI_AMD64_ENDIAN_LITTLE;
	if (arch == UNW_S390X)
		return SFRAME_ABI_S390X_ENDIAN_BIG;
	return is_big_endian ? SFRAME_ABI_AARCH64_ENDIAN_BIG : SFRAME_ABI_AARCH64_ENDIAN_LITTLE;
}

const char *sframe_left_out_text(enum sframe_left_out why)
{
	static const char *const texts[] = {
		[SFRAME_LEFT_NO_RULE] = "there is no rule for a part of it",
		[SFRAME_LEFT_DEREF_ADD] = "the CFA is loaded and added to",
		[SFRAME_LEFT_CFA] = "the version cannot say where the CFA is",
		[SFRAME_LEFT_RA] = "the version cannot say where the return address is",
		[SFRAME_LEFT_FP] = "the version cannot say where the frame pointer is",
		[SFRAME_LEFT_OFFSET] = "the CFA is not a multiple of 8 from the stack pointer",
		[SFRAME_LEFT_SIGNAL] = "the version cannot mark signal frames",
		[SFRAME_LEFT_OUTERMOST] = "the version cannot mark the outermost frame",
		[SFRAME_LEFT_KEYS] = "it signs with both keys",
		[SFRAME_LEFT_SIZE] = "it is too large or too far away",
	};

	return why < NR_SFRAME_LEFT_OUT ? texts[why] : "";
}

struct sframe_writer *sframe_writer_new(const struct sframe_write_opts *opts)
{
	struct sframe_writer *w;

	if (opts->version < 1 || opts->version > 3 || opts->abi < SFRAME_ABI_AARCH64_ENDIAN_BIG ||
	    opts->abi > SFRAME_ABI_S390X_ENDIAN_BIG ||
	    (opts->version == 1 && opts->abi == SFRAME_ABI_S390X_ENDIAN_BIG))
		return NULL;
	w = mem_zalloc(sizeof(*w));
	if (!w)
		return NULL;
	w->opts = *opts;
	w->opts.no_pcrel |= opts->version == 1;
	w->arch = sframe_machines[opts->abi].arch;
	w->is_big = sframe_machines[opts->abi].is_big;
	return w;
}

void sframe_writer_free(struct sframe_writer *w)
{
	if (!w)
		return;
	vec_done(&w->functions);
	vec_done(&w->rows);
	vec_done(&w->fdes);
	buf_done(&w->row_bytes);
	mem_free(w);
}

void sframe_writer_begin(struct sframe_writer *w, uint64_t start, uint32_t size, uint8_t rep_size)
{
	const struct out_function f = {start, size, rep_size, w->rows.nr, 0};

	w->has_no_memory |= !vec_push(&w->functions, f);
}

void sframe_writer_row(struct sframe_writer *w, uint32_t off, const struct unw_rule *rule)
{
	const struct out_row r = {off, *rule};

	if (w->has_no_memory || !w->functions.nr)
		return;
	if (vec_push(&w->rows, r))
		w->functions.data[w->functions.nr - 1].nr++;
	else
		w->has_no_memory = true;
}

static void put(const struct sframe_writer *w, struct buf *b, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		unsigned int shift = 8 * (w->is_big ? bytes - 1 - i : i);

		buf_char(b, (char)(v >> shift & 0xff));
	}
}

static uint8_t bytes_code(uint32_t limit)
{
	return limit <= 0x100 ? 0 : limit <= 0x10000 ? 1 : 2;
}

/* What all rows share: the info byte and the form, or the reason that they do not agree. */
static bool style_of(const struct sframe_writer *w, const struct out_function *f,
		     struct sframe_style *style, uint8_t *info, enum sframe_left_out *why)
{
	const struct out_row *r = w->rows.data + f->first;
	size_t nr_signed = 0, nr_key_b = 0, nr_signal = 0;

	*style = (struct sframe_style){w->arch, w->opts.version, false};
	for (size_t i = 0; i < f->nr; i++) {
		bool is_signed = r[i].rule.flags & UNW_RA_SIGNED;

		nr_signed += is_signed;
		nr_key_b += is_signed && r[i].rule.flags & UNW_KEY_B;
		nr_signal += !!(r[i].rule.flags & UNW_SIGNAL);
		style->is_flex |= w->opts.version == 3 && !sframe_is_default(style, &r[i].rule);
	}
	*info = bytes_code(f->rep_size ? f->rep_size : f->nr ? r[f->nr - 1].off + 1 : 0);
	*info |= (uint8_t)((f->rep_size ? SFRAME_INFO_MASK : 0) |
			   (nr_key_b ? SFRAME_INFO_KEY_B : 0) |
			   (nr_signal ? SFRAME_INFO_SIGNAL : 0));
	*why = SFRAME_LEFT_KEYS;
	if (nr_key_b && nr_key_b != nr_signed)
		return false;
	*why = SFRAME_LEFT_SIGNAL;
	return !nr_signal || (nr_signal == f->nr && w->opts.version == 3);
}

static bool put_rows(struct sframe_writer *w, const struct out_function *f,
		     const struct sframe_style *style, uint8_t info, enum sframe_left_out *why)
{
	const struct out_row *r = w->rows.data + f->first;
	struct buf *b = &w->row_bytes;
	struct sframe_words words;

	if (w->opts.version == 3) {
		put(w, b, f->nr, 2);
		put(w, b, info, 1);
		put(w, b, style->is_flex ? SFRAME_TYPE_FLEX : 0, 1);
		put(w, b, f->rep_size, 1);
	}
	for (size_t i = 0; i < f->nr; i++) {
		if (!sframe_words_of(style, &r[i].rule, &words, why))
			return false;
		put(w, b, r[i].off, 1u << (info & 3));
		put(w, b, words.info, 1);
		for (unsigned int n = 0; n < words.nr; n++)
			put(w, b, (uint64_t)words.word[n], words.bytes);
	}
	return true;
}

/* Far enough inside of 2 GiB that no field's own place in the section matters. */
static bool is_near(const struct sframe_writer *w, const struct out_function *f)
{
	int64_t d = (int64_t)(f->start - w->opts.addr);

	return w->opts.version == 3 || (d >= -(1ll << 31) + (1ll << 29) && d < 1ll << 31);
}

static bool put_function(struct sframe_writer *w, const struct out_function *f,
			 enum sframe_left_out *why)
{
	struct out_fde fde = {f, (uint32_t)w->row_bytes.nr, 0};
	size_t before = w->row_bytes.nr;
	struct sframe_style style;

	*why = SFRAME_LEFT_SIZE;
	if (!is_near(w, f) || (w->opts.version == 3 && f->nr > V3_MAX_ROWS) ||
	    before > UINT32_MAX / 2)
		return false;
	if (style_of(w, f, &style, &fde.info, why) && put_rows(w, f, &style, fde.info, why)) {
		w->has_no_memory |= !vec_push(&w->fdes, fde);
		return true;
	}
	w->row_bytes.nr = before;
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct out_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void put_header(const struct sframe_writer *w, struct buf *b, uint64_t nr_rows,
		       uint64_t fde_bytes)
{
	uint8_t flags = (uint8_t)((w->opts.no_sort ? 0 : SFRAME_F_FDE_SORTED) |
				  (w->opts.no_pcrel ? 0 : SFRAME_F_FDE_FUNC_START_PCREL));

	put(w, b, SFRAME_MAGIC, 2);
	put(w, b, w->opts.version, 1);
	put(w, b, flags, 1);
	put(w, b, w->opts.abi, 1);
	put(w, b, 0, 1);
	put(w, b, w->arch == UNW_X86_64 ? (uint8_t)SFRAME_AMD64_RA : 0, 1);
	put(w, b, 0, 1);
	put(w, b, w->fdes.nr, 4);
	put(w, b, nr_rows, 4);
	put(w, b, w->row_bytes.nr, 4);
	put(w, b, 0, 4);
	put(w, b, fde_bytes, 4);
}

static void put_fde(const struct sframe_writer *w, struct buf *b, size_t at,
		    const struct out_fde *fde)
{
	const struct out_function *f = fde->f;
	uint64_t start = f->start - w->opts.addr - (w->opts.no_pcrel ? 0 : at);

	put(w, b, start, w->opts.version == 3 ? 8 : 4);
	put(w, b, f->size, 4);
	put(w, b, fde->rows_at, 4);
	if (w->opts.version == 3)
		return;
	put(w, b, f->nr, 4);
	put(w, b, fde->info, 1);
	if (w->opts.version == 2) {
		put(w, b, f->rep_size, 1);
		put(w, b, 0, 2);
	}
}

static enum clew_err put_section(struct sframe_writer *w, struct buf *b, uint64_t nr_rows)
{
	uint64_t fde_bytes = (uint64_t)w->fdes.nr * sframe_versions[w->opts.version].fde_bytes;
	size_t before = b->nr;

	if (fde_bytes + w->row_bytes.nr > UINT32_MAX / 2 || nr_rows > UINT32_MAX)
		return CLEW_LIMIT;
	put_header(w, b, nr_rows, fde_bytes);
	vec_for_each (&w->fdes, fde)
		put_fde(w, b, b->nr - before, fde);
	buf_add(b, w->row_bytes.data, w->row_bytes.nr);
	return b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

enum clew_err sframe_writer_finish(struct sframe_writer *w, struct buf *ret,
				   struct sframe_written *counts)
{
	struct sframe_written n = {0};
	enum clew_err err;

	if (!w->opts.no_sort && w->functions.nr > 1)
		qsort(w->functions.data, w->functions.nr, sizeof(*w->functions.data), by_start);
	vec_for_each (&w->functions, f) {
		enum sframe_left_out why;

		if (w->has_no_memory || w->row_bytes.is_failed)
			break;
		if (put_function(w, f, &why)) {
			n.nr_functions++;
			n.nr_rows += f->nr;
			n.code_bytes += f->size;
		} else {
			n.nr_left_out[why]++;
			n.left_out_bytes += f->size;
		}
	}
	if (w->has_no_memory || w->row_bytes.is_failed)
		return CLEW_NO_MEMORY;
	err = put_section(w, ret, n.nr_rows);
	if (!err)
		*counts = n;
	return err;
}
