/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etm_make.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_BLOCKS = 24,
	MAX_PLAIN = 8,
	MAX_DEPTH = 1024, /* functions call later ones only */
	SYNC_BYTES = 8 << 10,
	NOP = 0x1f,
};

enum end { END_COND, END_CALL, END_CALL_POINTER, END_RETURN };

struct block {
	uint32_t start;              /* index of the first instruction */
	uint8_t nr_insns, end, odds; /* of 256, to be taken */
	uint16_t to;                 /* block of this function, or function */
};

struct function {
	struct block blocks[MAX_BLOCKS];
	unsigned int nr;
};

struct maker {
	struct etm_made *out;
	struct function *functions;
	unsigned int nr_functions;
	uint64_t random, limit;
	size_t room, synced_at;
	uint64_t last; /* address sent */
	uint32_t atoms;
	unsigned int nr_atoms;
	bool failed;
};

static uint32_t below(struct maker *m, uint32_t n)
{
	uint64_t z = m->random += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

/* --- the program --- */

static void plan_block(struct maker *m, unsigned int function, unsigned int at)
{
	struct function *f = &m->functions[function];
	struct block *b = &f->blocks[at];
	static const uint8_t odds[] = {1, 2, 3, 6, 12, 40, 128, 235, 250, 253};
	unsigned int left = m->nr_functions - function - 1;

	b->nr_insns = (uint8_t)(1 + below(m, MAX_PLAIN));
	b->odds = odds[below(m, sizeof(odds))];
	b->end = END_COND;
	b->to = (uint16_t)(at + 1 + below(m, f->nr - at > 1 ? f->nr - at - 1 : 1));
	if (at && b->odds < 128 && !below(m, 4)) {
		b->to = (uint16_t)below(m, at); /* a loop, seldom gone round */
		b->odds = 90;
	}
	if (left && !below(m, 5)) {
		b->end = below(m, 6) ? END_CALL : END_CALL_POINTER;
		b->to = (uint16_t)(function + 1 + below(m, left < 60 ? left : 60));
	}
	if (at + 1 == f->nr)
		b->end = END_RETURN;
}

static uint32_t word_of(const struct maker *m, const struct function *f, const struct block *b)
{
	uint32_t at = b->start + b->nr_insns - 1u;
	uint32_t to =
		b->end == END_COND ? f->blocks[b->to].start : m->functions[b->to].blocks[0].start;

	switch ((enum end)b->end) {
	case END_COND:
		return 0x54000000 | ((to - at) & 0x7ffff) << 5;
	case END_CALL:
		return 0x94000000 | ((to - at) & 0x3ffffff);
	case END_CALL_POINTER:
		return 0xd63f0000;
	case END_RETURN:
		break;
	}
	return 0xd65f03c0;
}

static void put_word(uint8_t *p, uint32_t word)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(word >> 8 * i);
}

static bool make_program(struct maker *m)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < m->nr_functions; i++) {
		struct function *f = &m->functions[i];

		f->nr = 3 + below(m, MAX_BLOCKS - 3);
		for (unsigned int k = 0; k < f->nr; k++) {
			plan_block(m, i, k);
			f->blocks[k].start = at;
			at += f->blocks[k].nr_insns;
		}
	}
	m->out->code_bytes = 4 * (size_t)at;
	m->out->code = malloc(m->out->code_bytes);
	for (uint32_t i = 0; m->out->code && i < at; i++)
		put_word(m->out->code + 4 * (size_t)i, 0xd5032000 | NOP);
	for (unsigned int i = 0; m->out->code && i < m->nr_functions; i++) {
		const struct function *f = &m->functions[i];

		for (unsigned int k = 0; k < f->nr; k++)
			put_word(m->out->code + 4 * (size_t)(f->blocks[k].start +
							     f->blocks[k].nr_insns - 1u),
				 word_of(m, f, &f->blocks[k]));
	}
	return m->out->code;
}

/* --- the trace unit --- */

static void put(struct maker *m, uint8_t byte)
{
	if (m->out->trace_bytes == m->room) {
		size_t room = m->room ? 2 * m->room : 1 << 20;
		uint8_t *p = realloc(m->out->trace, room);

		if (!p) {
			m->failed = true;
			m->out->trace_bytes = 0;
			return;
		}
		m->out->trace = p;
		m->room = room;
	}
	m->out->trace[m->out->trace_bytes++] = byte;
}

static void flush(struct maker *m)
{
	while (m->nr_atoms) {
		unsigned int n = m->nr_atoms > 2 ? 3 : m->nr_atoms, run = 0;
		uint32_t a = m->atoms;

		while (run < m->nr_atoms && a >> run & 1)
			run++;
		if (run >= 3 && run < m->nr_atoms) { /* E.. then N */
			put(m, (uint8_t)(0xe0 + run - 3));
			n = run + 1;
		} else if (run >= 4) {
			put(m, (uint8_t)(0xc0 + run - 4));
			n = run;
		} else {
			put(m, (uint8_t)(n == 3   ? 0xf8 | (a & 7)
					 : n == 2 ? 0xd8 | (a & 3)
						  : 0xf6 | (a & 1)));
		}
		m->atoms >>= n;
		m->nr_atoms -= n;
	}
}

static void atom(struct maker *m, bool is_e)
{
	m->atoms |= (uint32_t)is_e << m->nr_atoms++;
	if (m->nr_atoms == 24)
		flush(m);
}

static void put_address(struct maker *m, uint64_t a)
{
	flush(m);
	if (a >> 9 == m->last >> 9) {
		put(m, 0x95);
		put(m, a >> 2 & 0x7f);
	} else if (a >> 17 == m->last >> 17) {
		put(m, 0x95);
		put(m, (uint8_t)(a >> 2 | 0x80));
		put(m, (uint8_t)(a >> 9));
	} else {
		put(m, 0x9a);
		put(m, a >> 2 & 0x7f);
		put(m, a >> 9 & 0x7f);
		put(m, (uint8_t)(a >> 16));
		put(m, (uint8_t)(a >> 24));
	}
	m->last = a;
}

/** Async, trace info, and the address where it continues, in EL0. */
static void sync(struct maker *m, uint64_t a, bool is_first)
{
	flush(m);
	for (int i = 0; i < 11; i++)
		put(m, 0);
	put(m, 0x80);
	put(m, 0x01);
	put(m, 0x01);
	put(m, 0x00);
	if (is_first)
		put(m, 0x04);
	put(m, 0x85);
	put(m, a >> 2 & 0x7f);
	put(m, a >> 9 & 0x7f);
	for (int i = 2; i < 8; i++)
		put(m, (uint8_t)(a >> 8 * i));
	put(m, 0x30);
	m->last = a;
	m->synced_at = m->out->trace_bytes;
}

/* --- the PE --- */

static uint64_t address_of(const struct block *b)
{
	return ETM_MADE_BASE + 4 * (uint64_t)b->start;
}

static void run(struct maker *m)
{
	struct {
		uint16_t function, block;
	} stack[MAX_DEPTH];
	unsigned int depth = 0, in = 0, at = 0;

	sync(m, address_of(&m->functions[0].blocks[0]), true);
	while (m->out->nr_insns < m->limit && !m->failed) {
		const struct function *f = &m->functions[in];
		const struct block *b = &f->blocks[at];
		bool is_call = b->end == END_CALL || b->end == END_CALL_POINTER, is_taken = true;

		m->out->nr_insns += b->nr_insns;
		if (b->end == END_COND) {
			is_taken = below(m, 256) < b->odds;
			at = is_taken ? b->to : at + 1;
		} else if (is_call) {
			unsigned int other = b->to + below(m, 4);

			stack[depth].function = (uint16_t)in;
			stack[depth++].block = (uint16_t)(at + 1);
			in = b->end == END_CALL ? b->to : other < m->nr_functions ? other : b->to;
			at = 0;
		} else if (depth) {
			in = stack[--depth].function;
			at = stack[depth].block;
		} else {
			in = below(m, 40);
			at = 0;
		}
		atom(m, is_taken);
		if (depth == MAX_DEPTH)
			return;
		if (b->end == END_RETURN || b->end == END_CALL_POINTER)
			put_address(m, address_of(&m->functions[in].blocks[at]));
		if (m->out->trace_bytes - m->synced_at > SYNC_BYTES)
			sync(m, address_of(&m->functions[in].blocks[at]), false);
	}
	flush(m);
}

bool etm_make(struct etm_made *ret, unsigned int nr_functions, uint64_t nr_insns)
{
	struct maker m = {.out = ret, .nr_functions = nr_functions, .random = 1, .limit = nr_insns};
	bool ok;

	*ret = (struct etm_made){0};
	m.functions = calloc(nr_functions, sizeof(*m.functions));
	ok = m.functions && make_program(&m);
	if (ok)
		run(&m);
	free(m.functions);
	return ok && !m.failed;
}
