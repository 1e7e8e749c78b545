/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_stack_info.h"

#include <zstd.h>

#include "base/intern.h"
#include "base/mem.h"

enum {
	MAGIC_BYTES = 8,
	TOTALS_BYTES = 6 * 8,
	BLOCK_HEADER = 16, /* u32: bytes unpacked, bytes packed, samples, kinds */
	KIND_BYTES = 20,   /* u32 bytes of the kind, six bytes, u16 0, u32 nr, u32 after */
	BLOCK_SAMPLES = 64 * 1024,
	BLOCK_KINDS_BYTES = 1 << 20, /* a block ends where its kinds have grown so far */
	MAX_KINDS = UINT16_MAX,
	MAX_BLOCK_BYTES = 4 << 20,
	MAX_FRAMES = UINT16_MAX / 8,
};

static const uint8_t magic[MAGIC_BYTES] = {'C', 'L', 'E', 'W', 'S', 'T', 'K', 1};

/* --- writing --- */

struct perf_stack_infos {
	struct intern kinds; /* encoded, of this block; number 0: nothing is known */
	size_t kinds_bytes;
	struct buf kind, samples, raw, packed; /* samples: u16 each */
	uint32_t nr_samples;                   /* of this block */
	uint64_t nr_all, nr_left_out;
};

struct perf_stack_infos *perf_stack_infos_new(void)
{
	return mem_zalloc(sizeof(struct perf_stack_infos));
}

void perf_stack_infos_free(struct perf_stack_infos *w)
{
	if (!w)
		return;
	intern_done(&w->kinds);
	buf_done(&w->kind);
	buf_done(&w->samples);
	buf_done(&w->raw);
	buf_done(&w->packed);
	mem_free(w);
}

static enum clew_err pack(struct perf_stack_infos *w)
{
	size_t bound = ZSTD_compressBound(w->raw.nr), packed;

	buf_le32(&w->packed, (uint32_t)w->raw.nr);
	buf_le32(&w->packed, 0);
	buf_le32(&w->packed, w->nr_samples);
	buf_le32(&w->packed, w->kinds.strs.nr ? (uint32_t)w->kinds.strs.nr - 1 : 0);
	if (!buf_reserve(&w->packed, bound))
		return CLEW_NO_MEMORY;
	packed = ZSTD_compress(w->packed.data + w->packed.nr, bound, w->raw.data, w->raw.nr, 1);
	if (ZSTD_isError(packed))
		return CLEW_NO_MEMORY; /* nothing else can go wrong with room for all */
	store_le32((uint8_t *)w->packed.data + w->packed.nr - BLOCK_HEADER + 4, (uint32_t)packed);
	w->packed.nr += packed;
	return CLEW_OK;
}

static enum clew_err end_block(struct perf_stack_infos *w)
{
	enum clew_err err = CLEW_OK;

	if (!w->nr_samples)
		return CLEW_OK;
	buf_clear(&w->raw);
	for (uint32_t i = 1; i < w->kinds.strs.nr; i++)
		buf_add(&w->raw, w->kinds.strs.data[i].s, w->kinds.strs.data[i].len);
	buf_add(&w->raw, w->samples.data, w->samples.nr);
	if (w->raw.is_failed || w->samples.is_failed)
		return CLEW_NO_MEMORY;
	if (w->packed.nr < PERF_STACK_INFO_MAX)
		err = pack(w);
	else
		w->nr_left_out += w->nr_samples;
	intern_done(&w->kinds);
	w->kinds = (struct intern){0};
	buf_clear(&w->samples);
	w->kinds_bytes = w->nr_samples = 0;
	return err;
}

static void encode(struct buf *b, const struct perf_stack_info *i)
{
	uint32_t nr = i->nr < MAX_FRAMES ? i->nr : MAX_FRAMES;
	const uint8_t fields[8] = {i->state, i->reason, i->stop,
				   i->why,   i->method, i->methods != NULL};

	buf_clear(b);
	buf_le32(b, KIND_BYTES + (i->methods ? nr : 0));
	buf_add(b, fields, sizeof(fields));
	buf_le32(b, nr);
	buf_le32(b, i->after);
	if (i->methods)
		buf_add(b, i->methods, nr);
}

static enum clew_err kind_of(struct perf_stack_infos *w, const struct perf_stack_info *info,
			     uint32_t *ret)
{
	size_t before = w->kinds.strs.nr;

	encode(&w->kind, info);
	if (w->kind.is_failed)
		return CLEW_NO_MEMORY;
	*ret = intern_add(&w->kinds, w->kind.data, w->kind.nr);
	if (*ret == INTERN_FAILED)
		return CLEW_NO_MEMORY;
	if (w->kinds.strs.nr != before)
		w->kinds_bytes += w->kind.nr;
	return CLEW_OK;
}

enum clew_err perf_stack_infos_add(struct perf_stack_infos *w, const struct perf_stack_info *info)
{
	uint32_t kind = 0;
	enum clew_err err = info ? kind_of(w, info, &kind) : CLEW_OK;
	uint8_t index[2];

	if (err != CLEW_OK)
		return err;
	index[0] = (uint8_t)kind;
	index[1] = (uint8_t)(kind >> 8);
	buf_add(&w->samples, index, sizeof(index));
	if (w->samples.is_failed)
		return CLEW_NO_MEMORY;
	w->nr_samples++;
	w->nr_all++;
	if (w->nr_samples < BLOCK_SAMPLES && w->kinds_bytes < BLOCK_KINDS_BYTES &&
	    w->kinds.strs.nr < MAX_KINDS)
		return CLEW_OK;
	return end_block(w);
}

uint64_t perf_stack_infos_left_out(const struct perf_stack_infos *w)
{
	return w->nr_left_out;
}

void perf_stack_infos_finish(struct perf_stack_infos *w, const struct perf_stack_totals *t,
			     struct buf *out)
{
	out->is_failed |= end_block(w) != CLEW_OK;
	buf_add(out, magic, sizeof(magic));
	buf_le32(out, TOTALS_BYTES);
	buf_le64(out, w->nr_all);
	buf_le64(out, t->nr_stacks);
	buf_le64(out, t->nr_unclaimed);
	buf_le64(out, t->nr_duplicates);
	buf_le64(out, t->nr_differing);
	buf_le64(out, t->nr_late);
	buf_add(out, w->packed.data, w->packed.nr);
	out->is_failed |= w->packed.is_failed;
}

/* --- reading --- */

struct perf_stack_reader {
	struct bytes rest; /* blocks not looked at yet */
	struct perf_stack_totals totals;
	struct buf raw;    /* of this block */
	const uint8_t *at; /* the next sample of it */
	uint32_t nr_left;  /* samples of it */
	struct {
		VEC(uint32_t); /* where its kinds stand in raw */
	} kinds;
	uint64_t nr_asked, nr_unknown;
	bool is_broken;  /* no block can be read any more */
	bool is_damaged; /* what it says of a sample makes no sense */
};

static enum clew_err read_head(struct perf_stack_reader *r, struct bytes b)
{
	struct bytes totals;
	uint64_t *const fields[] = {&r->totals.nr_samples,   &r->totals.nr_stacks,
				    &r->totals.nr_unclaimed, &r->totals.nr_duplicates,
				    &r->totals.nr_differing, &r->totals.nr_late};

	if (bytes_left(&b) < MAGIC_BYTES + 4 || memcmp(b.pos, magic, MAGIC_BYTES - 1) != 0)
		return CLEW_BAD_FILE;
	if (b.pos[MAGIC_BYTES - 1] != magic[MAGIC_BYTES - 1])
		return CLEW_UNSUPPORTED;
	b.pos += MAGIC_BYTES + 4;
	if (!bytes_take(&b, load_le32(b.pos - 4), &totals) || bytes_left(&totals) < TOTALS_BYTES)
		return CLEW_BAD_FILE;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		*fields[i] = load_le64(totals.pos + 8 * i);
	r->rest = b;
	return CLEW_OK;
}

enum clew_err perf_stack_reader_new(struct perf_stack_reader **ret, struct bytes section)
{
	struct perf_stack_reader *r = mem_zalloc(sizeof(*r));
	enum clew_err err = r ? read_head(r, section) : CLEW_NO_MEMORY;

	if (err == CLEW_OK)
		*ret = r;
	else
		mem_free(r);
	return err;
}

void perf_stack_reader_free(struct perf_stack_reader *r)
{
	if (!r)
		return;
	buf_done(&r->raw);
	vec_done(&r->kinds);
	mem_free(r);
}

const struct perf_stack_totals *perf_stack_reader_totals(const struct perf_stack_reader *r)
{
	return &r->totals;
}

/* Each kind says how long it is, so that a later version can add to it. */
static bool read_kinds(struct perf_stack_reader *r, uint32_t nr, uint32_t nr_samples)
{
	const uint8_t *raw = (const uint8_t *)r->raw.data;
	size_t at = 0, left = r->raw.nr;

	r->kinds.nr = 0;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t bytes = left < KIND_BYTES ? 0 : load_le32(raw + at);

		if (bytes < KIND_BYTES || bytes > left || !vec_push(&r->kinds, (uint32_t)at))
			return false;
		at += bytes;
		left -= bytes;
	}
	if (left != 2 * (size_t)nr_samples)
		return false;
	r->at = raw + at;
	r->nr_left = nr_samples;
	return true;
}

static bool next_block(struct perf_stack_reader *r)
{
	struct bytes packed;
	uint32_t raw, nr_samples, nr_kinds;
	const uint8_t *h = r->rest.pos;
	size_t got;

	if (bytes_left(&r->rest) < BLOCK_HEADER)
		return false;
	raw = load_le32(h);
	nr_samples = load_le32(h + 8);
	nr_kinds = load_le32(h + 12);
	r->rest.pos += BLOCK_HEADER;
	if (!bytes_take(&r->rest, load_le32(h + 4), &packed) || raw > MAX_BLOCK_BYTES ||
	    !nr_samples || nr_kinds > MAX_KINDS)
		return false;
	buf_clear(&r->raw);
	if (!buf_reserve(&r->raw, raw))
		return false;
	got = ZSTD_decompress(r->raw.data, raw, packed.pos, bytes_left(&packed));
	if (ZSTD_isError(got) || got != raw)
		return false;
	r->raw.nr = raw;
	return read_kinds(r, nr_kinds, nr_samples);
}

static void decode(const uint8_t *kind, struct perf_stack_info *ret)
{
	uint32_t bytes = load_le32(kind), nr = load_le32(kind + 12);
	bool has_methods = kind[9];

	*ret = (struct perf_stack_info){
		.state = kind[4],
		.reason = kind[5],
		.stop = kind[6],
		.why = kind[7],
		.method = kind[8],
		.nr = nr,
		.after = load_le32(kind + 16),
		.methods = has_methods && nr <= bytes - KIND_BYTES ? kind + KIND_BYTES : NULL,
	};
}

/* Is there a next sample to read of? */
static bool reach_sample(struct perf_stack_reader *r)
{
	if (r->nr_left)
		return true;
	if (!r->is_broken && bytes_left(&r->rest))
		r->is_broken = !next_block(r);
	return r->nr_left;
}

bool perf_stack_reader_next(struct perf_stack_reader *r, struct perf_stack_info *ret)
{
	uint32_t kind;

	r->nr_asked++;
	if (!reach_sample(r)) {
		r->nr_unknown += r->is_broken || r->nr_asked <= r->totals.nr_samples;
		return false;
	}
	kind = r->at[0] | (uint32_t)r->at[1] << 8;
	r->at += 2;
	r->nr_left--;
	if (kind > r->kinds.nr)
		perf_stack_reader_doubt(r);
	if (!kind || kind > r->kinds.nr)
		return false;
	decode((const uint8_t *)r->raw.data + r->kinds.data[kind - 1], ret);
	return true;
}

void perf_stack_reader_doubt(struct perf_stack_reader *r)
{
	r->is_damaged = true;
	r->nr_unknown++;
}

bool perf_stack_reader_is_broken(const struct perf_stack_reader *r)
{
	return r->is_broken || r->is_damaged;
}

uint64_t perf_stack_reader_nr_unknown(const struct perf_stack_reader *r)
{
	return r->nr_unknown;
}
