/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/etm_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t space_of(void *ctx, const struct code_key *k)
{
	const struct etm_versions *v = ctx;
	size_t low = 0, high = v->starts.nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (v->starts.data[mid] <= k->ticks.ticks)
			low = mid + 1;
		else
			high = mid;
	}
	return (uint32_t)low;
}

/** The newest page that is not newer than @p version. */
static struct etm_page *page_of(const struct etm_versions *v, uint32_t version, uint64_t number)
{
	size_t low = 0, high = v->pages.nr;
	struct etm_page *p;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		p = v->pages.data[mid];
		if (p->number < number || (p->number == number && p->version <= version))
			low = mid + 1;
		else
			high = mid;
	}
	p = low ? v->pages.data[low - 1] : NULL;
	return p && p->number == number ? p : NULL;
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct etm_page *p = page_of(ctx, space, addr / ETM_PAGE_BYTES);

	if (!p)
		return false;
	ret->start = addr / ETM_PAGE_BYTES * ETM_PAGE_BYTES;
	ret->end = ret->start + ETM_PAGE_BYTES;
	ret->bytes = (const uint8_t *)p->words;
	return true;
}

void etm_versions_init(struct etm_versions *v)
{
	*v = (struct etm_versions){
		.source = {space_of, find, v}
        };
}

void etm_versions_done(struct etm_versions *v)
{
	vec_for_each (&v->pages, p)
		mem_free(*p);
	vec_done(&v->pages);
	vec_done(&v->starts);
	map_u64_done(&v->newest);
}

static struct etm_page *newest(struct etm_versions *v, uint64_t number)
{
	uint64_t *p = map_u64_get(&v->newest, number);

	return p ? (struct etm_page *)(uintptr_t)*p : NULL;
}

uint32_t etm_versions_word(struct etm_versions *v, uint64_t address)
{
	const struct etm_page *p = newest(v, address / ETM_PAGE_BYTES);

	return p ? p->words[address / 4 % ETM_PAGE_WORDS] : 0;
}

uint32_t etm_versions_word_of(struct etm_versions *v, uint32_t version, uint64_t address)
{
	const struct etm_page *p = page_of(v, version, address / ETM_PAGE_BYTES);

	return p ? p->words[address / 4 % ETM_PAGE_WORDS] : 0;
}

bool etm_versions_set(struct etm_versions *v, uint64_t address, uint32_t word, bool is_change)
{
	uint64_t number = address / ETM_PAGE_BYTES;
	uint32_t version = (uint32_t)v->starts.nr;
	struct etm_page *old = newest(v, number), *p = old;

	if (!p || (is_change && p->version != version)) {
		p = mem_zalloc(sizeof(*p));
		if (!p)
			return false;
		if (old)
			*p = *old;
		p->number = number;
		p->version = old ? version : 0;
		if (!vec_push(&v->pages, p) ||
		    !map_u64_put(&v->newest, number, (uint64_t)(uintptr_t)p))
			return false;
	}
	p->words[address / 4 % ETM_PAGE_WORDS] = word;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct etm_page *x = *(struct etm_page *const *)a, *y = *(struct etm_page *const *)b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->version < y->version ? -1 : x->version > y->version;
}

void etm_versions_freeze(struct etm_versions *v)
{
	if (v->pages.nr)
		qsort(v->pages.data, v->pages.nr, sizeof(*v->pages.data), by_number);
}

static uint64_t add_byte(uint64_t h, unsigned int byte)
{
	return (h ^ byte) * 0x100000001b3u; /* FNV-1a */
}

uint64_t etm_set_digest(uint64_t digest, const struct etm_log_entry *e)
{
	uint64_t h = digest ? digest : 0xcbf29ce484222325u;

	h = add_byte(h, e->kind == ETM_LOG_INSN ? 0xff : e->kind);
	h = add_byte(h, e->isa);
	h = add_byte(h, e->el);
	h = add_byte(h, e->mark);
	for (unsigned int i = 0; i < 32; i += 8)
		h = add_byte(h, e->number >> i & 0xff);
	for (unsigned int i = 0; i < 64; i += 8)
		h = add_byte(h, e->address >> i & 0xff);
	for (unsigned int i = 0; i < 64; i += 8)
		h = add_byte(h, e->value >> i & 0xff);
	return h;
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

static void save_page(FILE *f, const struct etm_page *p)
{
	for (uint32_t i = 0, nr; i < ETM_PAGE_WORDS; i += nr ? nr : 1) {
		for (nr = 0; i + nr < ETM_PAGE_WORDS && p->words[i + nr];)
			nr++;
		if (!nr)
			continue;
		put_le(f, p->number * ETM_PAGE_BYTES + 4 * (uint64_t)i, 8);
		put_le(f, p->version, 4);
		put_le(f, nr, 4);
		for (uint32_t k = 0; k < nr; k++)
			put_le(f, p->words[i + k], 4);
	}
}

static bool load_code(struct etm_versions *v, FILE *f)
{
	uint64_t address, version, nr, word;

	while (get_le(f, 8, &address)) {
		struct etm_page *p = newest(v, address / ETM_PAGE_BYTES);

		if (!get_le(f, 4, &version) || !get_le(f, 4, &nr) || nr > ETM_PAGE_WORDS)
			return false;
		if (!p || p->version != version) {
			p = mem_zalloc(sizeof(*p));
			if (!p || !vec_push(&v->pages, p))
				return false;
			p->number = address / ETM_PAGE_BYTES;
			p->version = (uint32_t)version;
			if (!map_u64_put(&v->newest, p->number, (uint64_t)(uintptr_t)p))
				return false;
		}
		for (uint64_t i = 0; i < nr; i++) {
			if (!get_le(f, 4, &word))
				return false;
			p->words[(address / 4 + i) % ETM_PAGE_WORDS] = (uint32_t)word;
		}
	}
	etm_versions_freeze(v);
	return true;
}

static bool take_line(struct etm_set *s, const char *key, uint64_t v)
{
	struct {
		const char *key;
		uint32_t *to;
	} regs[] = {
		{"TRCCONFIGR",  &s->regs.configr },
                {"TRCTRACEIDR", &s->regs.traceidr},
		{"TRCIDR0",     &s->regs.idr0    },
                {"TRCIDR1",     &s->regs.idr1    },
		{"TRCIDR2",     &s->regs.idr2    },
                {"TRCIDR8",     &s->regs.idr8    },
		{"TRCDEVARCH",  &s->regs.devarch }
        };

	for (size_t i = 0; i < sizeof(regs) / sizeof(regs[0]); i++) {
		if (!strcmp(key, regs[i].key)) {
			*regs[i].to = (uint32_t)v;
			return true;
		}
	}
	if (!strcmp(key, "ete"))
		s->regs.is_ete = v;
	else if (!strcmp(key, "version_at"))
		return vec_push(&s->code.starts, v);
	else if (!strcmp(key, "instructions"))
		s->nr_insns = v;
	else if (!strcmp(key, "entries"))
		s->nr_entries = v;
	else if (!strcmp(key, "digest"))
		s->digest = v;
	else
		return false;
	return true;
}

static bool load_text(struct etm_set *s, FILE *f)
{
	char key[32];
	uint64_t v;

	while (fscanf(f, "%31s %" SCNx64, key, &v) == 2) {
		if (!take_line(s, key, v))
			return false;
	}
	return !etm_config_init(&s->config, &s->regs, NULL);
}

static bool load_trace(struct etm_set *s, FILE *f)
{
	char part[4096];
	size_t nr;

	while ((nr = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&s->trace, part, nr);
	return !s->trace.is_failed;
}

bool etm_set_load(struct etm_set *s, const char *path)
{
	FILE *text = open_one(path, "txt", "r"), *code = open_one(path, "code", "rb"),
	     *trace = open_one(path, "trace", "rb");
	bool ok;

	memset(s, 0, sizeof(*s));
	etm_versions_init(&s->code);
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

static void save_text(const struct etm_set *s, FILE *f)
{
	const struct etm_regs *r = &s->regs;

	fprintf(f, "TRCCONFIGR %x\nTRCTRACEIDR %x\nTRCIDR0 %x\nTRCIDR1 %x\nTRCIDR2 %x\n",
		r->configr, r->traceidr, r->idr0, r->idr1, r->idr2);
	fprintf(f, "TRCIDR8 %x\nTRCDEVARCH %x\nete %x\n", r->idr8, r->devarch, r->is_ete);
	vec_for_each (&s->code.starts, v)
		fprintf(f, "version_at %" PRIx64 "\n", *v);
	fprintf(f, "instructions %" PRIx64 "\nentries %" PRIx64 "\ndigest %" PRIx64 "\n",
		s->nr_insns, s->nr_entries, s->digest);
}

bool etm_set_save(const struct etm_set *s, const char *path)
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

void etm_set_done(struct etm_set *s)
{
	etm_versions_done(&s->code);
	buf_done(&s->trace);
}
