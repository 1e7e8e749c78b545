/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/sframe_random.h"

#include "make/splitmix.h"

struct maker {
	uint64_t state;
	enum unw_arch arch;
	uint8_t version, flags; /* flags: of all rules of a function */
};

static uint64_t next(struct maker *m)
{
	return splitmix64(&m->state);
}

static uint32_t below(struct maker *m, uint32_t n)
{
	return (uint32_t)(next(m) % n);
}

/* Of all word sizes. */
static int32_t offset(struct maker *m)
{
	static const uint32_t limits[] = {1, 16, 128, 256, 32768, 65536, 1u << 31};
	int32_t v = (int32_t)below(m, limits[below(m, 7)]);

	return next(m) & 1 ? v : -v;
}

static int32_t cfa_offset(struct maker *m)
{
	return m->arch == UNW_S390X ? offset(m) / 16 * 8 : offset(m);
}

static uint8_t any_reg(struct maker *m)
{
	return (uint8_t)below(m, m->arch == UNW_X86_64 ? 17 : 32);
}

static bool is_s390x_v2(const struct maker *m)
{
	return m->arch == UNW_S390X && m->version == 2;
}

static void set_saved(struct maker *m, uint8_t *kind, uint8_t *reg, int32_t *off)
{
	*kind = UNW_AT_CFA;
	*off = offset(m);
	if (!is_s390x_v2(m))
		return;
	*off = *off / 2 * 2;
	if (next(m) & 1)
		return;
	*kind = UNW_IN_REG;
	*reg = any_reg(m);
	*off = 0;
}

static void make_default(struct maker *m, struct unw_rule *r)
{
	unsigned int form = below(m, 3);

	r->cfa = UNW_CFA_REG;
	r->cfa_reg = next(m) & 1 ? sframe_sp(m->arch) : sframe_fp(m->arch);
	r->cfa_off = cfa_offset(m);
	if (m->arch == UNW_X86_64) {
		r->ra = UNW_AT_CFA;
		r->ra_off = -8;
	} else if (form) {
		set_saved(m, &r->ra, &r->ra_reg, &r->ra_off);
		if (m->arch == UNW_S390X && r->ra == UNW_AT_CFA && !r->ra_off)
			r->ra_off = 8;
	}
	if (form == 2 || (m->arch == UNW_S390X && next(m) & 1))
		set_saved(m, &r->fp, &r->fp_reg, &r->fp_off);
}

static void set_flex(struct maker *m, uint8_t *kind, uint8_t *reg, int32_t *off)
{
	static const uint8_t kinds[] = {UNW_AT_CFA, UNW_AT_REG, UNW_IN_REG};

	*kind = kinds[below(m, 3)];
	*off = offset(m);
	if (*kind != UNW_AT_CFA)
		*reg = any_reg(m);
}

static void make_flex(struct maker *m, struct unw_rule *r)
{
	r->cfa = next(m) & 1 ? UNW_CFA_REG : UNW_CFA_DEREF;
	r->cfa_reg = any_reg(m);
	r->cfa_off = cfa_offset(m);
	if (next(m) & 1) {
		set_flex(m, &r->ra, &r->ra_reg, &r->ra_off);
	} else if (m->arch == UNW_X86_64) {
		r->ra = UNW_AT_CFA;
		r->ra_off = -8;
	}
	if (next(m) & 1)
		set_flex(m, &r->fp, &r->fp_reg, &r->fp_off);
}

static void make_rule(struct maker *m, bool is_flex, struct unw_rule *ret)
{
	struct unw_rule r = {.origin = UNW_SFRAME, .flags = m->flags & UNW_SIGNAL};

	if (m->version > 1 && !below(m, 12)) {
		r.cfa = UNW_CFA_REG;
		r.cfa_reg = sframe_sp(m->arch);
		r.ra = UNW_UNDEFINED;
		*ret = r;
		return;
	}
	if (m->arch == UNW_AARCH64 && next(m) & 1)
		r.flags |= UNW_RA_SIGNED | (m->flags & UNW_KEY_B);
	if (is_flex)
		make_flex(m, &r);
	else
		make_default(m, &r);
	*ret = r;
}

static void make_function(struct maker *m, struct sframe_random_function *f)
{
	static const uint32_t sizes[] = {1, 16, 255, 256, 257, 4096, 65536, 65537, 1u << 20};
	static const uint8_t blocks[] = {16, 1, 7, 32, 255};
	bool is_flex = m->version == 3 && next(m) & 1;
	uint32_t at = 0, limit;

	f->size = sizes[below(m, 9)] + below(m, 40);
	f->rep_size = 0;
	if (!below(m, 6) && (m->version > 1 || m->arch == UNW_X86_64))
		f->rep_size = m->version == 1 ? 16 : blocks[below(m, 5)];
	if (f->rep_size) /* what a table expands is bounded: SFRAME_MAX_EXPANDED */
		f->size = 1 + below(m, 4096);
	limit = f->rep_size && f->rep_size < f->size ? f->rep_size : f->size;
	m->flags = (uint8_t)((m->version == 3 && !below(m, 8) ? UNW_SIGNAL : 0) |
			     (next(m) & 1 ? UNW_KEY_B : 0));
	for (f->nr = 0; f->nr < SFRAME_RANDOM_ROWS && at < limit && (!f->nr || below(m, 10));
	     f->nr++) {
		f->off[f->nr] = at;
		make_rule(m, is_flex, &f->rule[f->nr]);
		at += 1 + below(m, (limit - at) / 2 + 1);
	}
}

static void shuffle(struct maker *m, struct sframe_random *r)
{
	for (size_t i = r->nr; i > 1; i--) {
		size_t n = below(m, (uint32_t)i);
		struct sframe_random_function f = r->function[n];

		r->function[n] = r->function[i - 1];
		r->function[i - 1] = f;
	}
}

static enum unw_arch arch_of(enum sframe_abi abi)
{
	return abi == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? UNW_X86_64
	     : abi == SFRAME_ABI_S390X_ENDIAN_BIG    ? UNW_S390X
						     : UNW_AARCH64;
}

void sframe_random_fill(struct sframe_random *ret, const struct sframe_write_opts *opts,
			uint64_t seed)
{
	struct maker m = {.state = seed, .arch = arch_of(opts->abi), .version = opts->version};
	uint64_t at = 0x400000 + 16 * (uint64_t)below(&m, 1000);

	ret->opts = *opts;
	ret->opts.addr = next(&m) & 1 ? 0x10000 : 0x2000000;
	ret->code_start = 0x400000;
	ret->nr = below(&m, SFRAME_RANDOM_FUNCTIONS + 1);
	for (size_t i = 0; i < ret->nr; i++) {
		struct sframe_random_function *f = &ret->function[i];

		make_function(&m, f);
		f->start = at;
		at = align_up(at + f->size + below(&m, 40), 16);
	}
	ret->code_bytes = at + 64 - ret->code_start;
	if (opts->no_sort)
		shuffle(&m, ret);
}

bool sframe_random_write(const struct sframe_random *r, struct buf *ret)
{
	struct sframe_writer *w = sframe_writer_new(&r->opts);
	struct sframe_written n = {0};
	enum clew_err err = CLEW_NO_MEMORY;

	for (size_t i = 0; w && i < r->nr; i++) {
		const struct sframe_random_function *f = &r->function[i];

		sframe_writer_begin(w, f->start, f->size, f->rep_size);
		for (size_t k = 0; k < f->nr; k++)
			sframe_writer_row(w, f->off[k], &f->rule[k]);
	}
	if (w)
		err = sframe_writer_finish(w, ret, &n);
	sframe_writer_free(w);
	return !err && n.nr_functions == r->nr;
}
