/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/ipt_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "isa/x86/x86_branch.h"

/* --- code --- */

static uint32_t space_of(void *ctx, const struct code_key *k)
{
	const struct ipt_versions *v = ctx;
	size_t low = 0, high = v->starts.nr;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (v->starts.data[mid] <= k->ticks.ticks)
			low = mid + 1;
		else
			high = mid;
	}
	return (uint32_t)low;
}

/** The newest of @p number that is no newer than @p version. */
static const struct ipt_page *page_of(const struct ipt_versions *v, uint32_t version,
				      uint64_t number)
{
	size_t low = 0, high = v->pages.nr;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct ipt_page *p = v->pages.data[mid];

		if (p->number < number || (p->number == number && p->version <= version))
			low = mid + 1;
		else
			high = mid;
	}
	return low && v->pages.data[low - 1]->number == number ? v->pages.data[low - 1] : NULL;
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct ipt_page *p = page_of(ctx, space, addr / IPT_PAGE_BYTES);

	if (!p)
		return false;
	ret->start = addr / IPT_PAGE_BYTES * IPT_PAGE_BYTES;
	ret->end = ret->start + IPT_PAGE_BYTES;
	ret->bytes = p->bytes;
	return true;
}

void ipt_versions_init(struct ipt_versions *v)
{
	*v = (struct ipt_versions){0};
	v->source = (struct code_source){.space = space_of, .find = find, .ctx = v};
}

void ipt_versions_done(struct ipt_versions *v)
{
	vec_for_each (&v->pages, p)
		mem_free(*p);
	vec_done(&v->pages);
	vec_done(&v->starts);
	map_u64_done(&v->newest);
}

static struct ipt_page *newest(struct ipt_versions *v, uint64_t number)
{
	uint64_t *p = map_u64_get(&v->newest, number);

	return p ? (struct ipt_page *)(uintptr_t)*p : NULL;
}

static struct ipt_page *add_page(struct ipt_versions *v, uint64_t number, uint32_t version,
				 const struct ipt_page *old)
{
	struct ipt_page *p = mem_zalloc(sizeof(*p));

	if (!p || !vec_push(&v->pages, p))
		return NULL;
	if (old)
		*p = *old;
	p->number = number;
	p->version = version;
	return map_u64_put(&v->newest, number, (uint64_t)(uintptr_t)p) ? p : NULL;
}

bool ipt_versions_differs(struct ipt_versions *v, uint64_t address, const uint8_t *bytes,
			  unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct ipt_page *p = newest(v, (address + i) / IPT_PAGE_BYTES);
		size_t at = (address + i) % IPT_PAGE_BYTES;

		if (p && p->is_known[at] && p->bytes[at] != bytes[i])
			return true;
	}
	return false;
}

bool ipt_versions_set(struct ipt_versions *v, uint64_t address, const uint8_t *bytes,
		      unsigned int nr)
{
	uint32_t version = (uint32_t)v->starts.nr;

	for (unsigned int i = 0; i < nr; i++) {
		struct ipt_page *p = newest(v, (address + i) / IPT_PAGE_BYTES);
		size_t at = (address + i) % IPT_PAGE_BYTES;

		if (p && p->is_known[at] && p->bytes[at] == bytes[i])
			continue;
		if (!p || (p->version != version && p->is_known[at]))
			p = add_page(v, (address + i) / IPT_PAGE_BYTES, p ? version : 0, p);
		if (!p)
			return false;
		p->bytes[at] = bytes[i];
		p->is_known[at] = true;
	}
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct ipt_page *x = *(struct ipt_page *const *)a, *y = *(struct ipt_page *const *)b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->version < y->version ? -1 : x->version > y->version;
}

void ipt_versions_freeze(struct ipt_versions *v)
{
	if (v->pages.nr)
		qsort(v->pages.data, v->pages.nr, sizeof(*v->pages.data), by_number);
}

/* --- sums --- */

uint64_t ipt_set_digest(uint64_t digest, uint64_t address)
{
	uint64_t h = digest ? digest : 0xcbf29ce484222325u; /* FNV-1a */

	for (unsigned int i = 0; i < 64; i += 8)
		h = (h ^ (address >> i & 0xff)) * 0x100000001b3u;
	return h;
}

static bool add_run(struct ipt_set_sum *s, uint32_t space, enum isa isa, uint64_t from, uint64_t to,
		    uint32_t nr)
{
	for (; nr && from < to; nr--) {
		struct code_region r, next;
		uint8_t bytes[X86_MAX_BYTES];
		size_t left;
		struct insn i;

		if (!s->code->find(s->code->ctx, space, from, &r))
			return false;
		left = r.end - from < X86_MAX_BYTES ? (size_t)(r.end - from) : X86_MAX_BYTES;
		memcpy(bytes, r.bytes + (from - r.start), left);
		if (left < X86_MAX_BYTES && s->code->find(s->code->ctx, space, r.end, &next)) {
			memcpy(bytes + left, next.bytes, X86_MAX_BYTES - left);
			left = X86_MAX_BYTES;
		}
		if (x86_decode(isa, bytes, left, from, &i))
			return false;
		s->digest = ipt_set_digest(s->digest, from);
		s->nr_insns++;
		from += i.bytes;
	}
	return !nr && from == to;
}

static bool add_event(struct ipt_set_sum *s, const struct flow_event *e)
{
	if (e->kind == FLOW_EV_NACC || e->kind == FLOW_EV_DROPPED ||
	    (e->kind == FLOW_EV_NO_SYNC && e->reason > FLOW_NO_SYNC_OVERFLOW))
		s->nr_lost++;
	if (e->kind != FLOW_EV_RANGE)
		return true;
	return add_run(s, e->space, (enum isa)e->isa, e->address, e->end, e->count);
}

enum clew_err ipt_set_batch(void *ctx, const struct flow_batch *b)
{
	struct ipt_set_sum *s = ctx;
	bool ok = true;

	for (size_t i = 0; ok && i < b->nr; i++) {
		uint32_t item = b->items[i];
		const struct flow_block *k = &b->blocks[item >> 1];

		ok = item & FLOW_ITEM_EVENT
			   ? add_event(s, &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT])
			   : add_run(s, k->space, (enum isa)k->isa, k->start, k->start + k->bytes,
				     k->nr_insns);
	}
	return ok ? CLEW_OK : CLEW_INVALID;
}

/* --- files --- */

static FILE *open_one(const char *path, const char *ending, const char *mode)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s.%s", path, ending);
	return fopen(name, mode);
}

static void put_le(FILE *f, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		fputc((int)(v >> 8 * i & 0xff), f);
}

static bool get_le(FILE *f, unsigned int bytes, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int i = 0; i < bytes; i++) {
		int c = fgetc(f);

		if (c < 0)
			return false;
		*ret |= (uint64_t)(unsigned int)c << 8 * i;
	}
	return true;
}

static void save_page(FILE *f, const struct ipt_page *p)
{
	for (uint32_t i = 0, nr; i < IPT_PAGE_BYTES; i += nr ? nr : 1) {
		for (nr = 0; i + nr < IPT_PAGE_BYTES && p->is_known[i + nr];)
			nr++;
		if (!nr)
			continue;
		put_le(f, p->number * IPT_PAGE_BYTES + i, 8);
		put_le(f, p->version, 4);
		put_le(f, nr, 4);
		fwrite(p->bytes + i, 1, nr, f);
	}
}

static bool load_code(struct ipt_versions *v, FILE *f)
{
	uint64_t address, version, nr;

	while (get_le(f, 8, &address)) {
		struct ipt_page *p = newest(v, address / IPT_PAGE_BYTES);
		size_t at = address % IPT_PAGE_BYTES;

		if (!get_le(f, 4, &version) || !get_le(f, 4, &nr) || nr > IPT_PAGE_BYTES - at)
			return false;
		if (!p || p->version != version)
			p = add_page(v, address / IPT_PAGE_BYTES, (uint32_t)version, NULL);
		if (!p || fread(p->bytes + at, 1, (size_t)nr, f) != nr)
			return false;
		memset(p->is_known + at, 1, (size_t)nr);
	}
	ipt_versions_freeze(v);
	return true;
}

static bool take_line(struct ipt_set *s, const char *key, uint64_t v)
{
	struct ipt_timing *t = &s->config.timing;

	if (!strcmp(key, "numerator"))
		t->numerator = (uint32_t)v;
	else if (!strcmp(key, "denominator"))
		t->denominator = (uint32_t)v;
	else if (!strcmp(key, "mtc_shift"))
		t->mtc_shift = (uint8_t)v;
	else if (!strcmp(key, "max_ratio"))
		t->max_ratio = (uint8_t)v;
	else if (!strcmp(key, "reference"))
		t->reference = v;
	else if (!strcmp(key, "version_at"))
		return vec_push(&s->code.starts, v);
	else if (!strcmp(key, "instructions"))
		s->nr_insns = v;
	else if (!strcmp(key, "digest"))
		s->digest = v;
	else
		return false;
	return true;
}

static bool load_text(struct ipt_set *s, FILE *f)
{
	char key[32];
	uint64_t v;

	while (fscanf(f, "%31s %" SCNx64, key, &v) == 2) {
		if (!take_line(s, key, v))
			return false;
	}
	return true;
}

static bool load_trace(struct ipt_set *s, FILE *f)
{
	char part[4096];
	size_t nr;

	while ((nr = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&s->trace, part, nr);
	return !s->trace.is_failed;
}

bool ipt_set_load(struct ipt_set *s, const char *path)
{
	FILE *text = open_one(path, "txt", "r"), *code = open_one(path, "code", "rb"),
	     *trace = open_one(path, "trace", "rb");
	bool ok;

	memset(s, 0, sizeof(*s));
	ipt_versions_init(&s->code);
	ok = text && code && trace && load_text(s, text) && load_code(&s->code, code) &&
	     load_trace(s, trace);
	if (text)
		fclose(text);
	if (code)
		fclose(code);
	if (trace)
		fclose(trace);
	return ok;
}

static void save_text(const struct ipt_set *s, FILE *f)
{
	const struct ipt_timing *t = &s->config.timing;

	fprintf(f, "numerator %x\ndenominator %x\nmtc_shift %x\nmax_ratio %x\n", t->numerator,
		t->denominator, t->mtc_shift, t->max_ratio);
	fprintf(f, "reference %" PRIx64 "\n", t->reference);
	vec_for_each (&s->code.starts, v)
		fprintf(f, "version_at %" PRIx64 "\n", *v);
	fprintf(f, "instructions %" PRIx64 "\ndigest %" PRIx64 "\n", s->nr_insns, s->digest);
}

bool ipt_set_save(const struct ipt_set *s, const char *path)
{
	FILE *text = open_one(path, "txt", "w"), *code = open_one(path, "code", "wb"),
	     *trace = open_one(path, "trace", "wb");

	if (!text || !code || !trace)
		return false;
	save_text(s, text);
	vec_for_each (&s->code.pages, p)
		save_page(code, *p);
	fwrite(s->trace.data, 1, s->trace.nr, trace);
	return !fclose(text) & !fclose(code) & !fclose(trace);
}

void ipt_set_done(struct ipt_set *s)
{
	ipt_versions_done(&s->code);
	buf_done(&s->trace);
}
