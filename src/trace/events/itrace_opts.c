/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/events/itrace_opts.h"

#include <string.h>

#include "base/number.h"

/* Letters of other traces' events (transactions, power, memory, ...): accepted, none is made. */
static const char others[] = "xwpoIdfmMtaAyqGL";

enum { MOST_QUICK = 2 };

struct parser {
	struct itrace_opts o;
	const char *at, *what;
	bool has_unit, has_period;
};

static bool refuse(struct parser *p, const char *at, const char *what)
{
	p->at = at;
	p->what = what;
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " ,");
}

static bool number(struct parser *p, uint64_t *ret)
{
	const char *from = p->at;

	return number_take(&p->at, p->at + strlen(p->at), 10, ret) ||
	       refuse(p, from, "this number is too large");
}

static bool in_ns(struct parser *p, uint64_t factor, const char *unit)
{
	if (strncmp(p->at, unit, strlen(unit)) != 0)
		return refuse(p, p->at, "a period's unit is i, t, ms, us or ns");
	p->at += strlen(unit);
	p->o.unit = ITRACE_NS;
	p->has_unit = true;
	return !__builtin_mul_overflow(p->o.period, factor, &p->o.period) ||
	       refuse(p, p->at, "this period is too long");
}

static bool period_unit(struct parser *p)
{
	skip_blanks(p);
	switch (*p->at) {
	case 'i':
	case 't':
		p->o.unit = *p->at == 'i' ? ITRACE_INSNS : ITRACE_TICKS;
		p->has_unit = true;
		p->at++;
		return true;
	case 'm':
		return in_ns(p, 1000000, "ms");
	case 'u':
		return in_ns(p, 1000, "us");
	case 'n':
		return in_ns(p, 1, "ns");
	case '\0':
		return true;
	default:
		return refuse(p, p->at, "a period's unit is i, t, ms, us or ns");
	}
}

/* A period, kept where the letter is not one of another trace. */
static bool period(struct parser *p, bool is_kept)
{
	struct itrace_opts old = p->o;
	bool had_unit = p->has_unit;

	skip_blanks(p);
	if (!is_digit(*p->at))
		return true;
	if (!number(p, &p->o.period) || !period_unit(p))
		return false;
	p->has_period |= is_kept;
	if (!is_kept) {
		p->o.period = old.period;
		p->o.unit = old.unit;
		p->has_unit = had_unit;
	}
	return true;
}

static bool depth(struct parser *p, uint32_t missing, uint32_t *ret)
{
	uint64_t v = missing;
	const char *at;

	skip_blanks(p);
	at = p->at;
	if (is_digit(*p->at) && !number(p, &v))
		return false;
	if (!v || v > ITRACE_MAX_DEPTH)
		return refuse(p, at, "a depth is a number from 1 to 1024");
	*ret = (uint32_t)v;
	return true;
}

/* "+o-l": single letters after signs. */
static bool flags(struct parser *p, uint32_t *plus, uint32_t *minus)
{
	for (;;) {
		const char *sign = p->at + strspn(p->at, " ");
		const char *letter;

		if (*sign != '+' && *sign != '-')
			return true;
		letter = sign + 1 + strspn(sign + 1, " ");
		if (*letter < 'a' || *letter > 'z')
			return refuse(p, letter, "a flag's letter has to follow + and -");
		*(*sign == '+' ? plus : minus) |= 1u << (*letter - 'a');
		p->at = letter + 1;
	}
}

static void note_idle(struct itrace_opts *o, char letter)
{
	size_t nr = strlen(o->ignored);

	if (!strchr(o->ignored, letter) && nr + 1 < sizeof(o->ignored)) {
		o->ignored[nr] = letter;
		o->ignored[nr + 1] = '\0';
	}
}

static bool other(struct parser *p, char letter)
{
	uint32_t unused = 0;

	note_idle(&p->o, letter);
	switch (letter) {
	case 'x':
		return p->o.transactions = true;
	case 'w':
		return p->o.ptwrites = true;
	case 'p':
		return p->o.power = true;
	case 'I':
		return p->o.interrupts = true;
	case 'M':
		return p->o.memory = true;
	case 'a':
		return p->o.remote = true;
	case 'o':
		return p->o.aux_outputs = true;
	case 'A':
		return p->o.is_rough = true;
	case 'q': /* more of them mean no more */
		p->o.detail = p->o.detail ? MOST_QUICK : 1;
		return true;
	case 'f':
		return p->o.l1 = true;
	case 'm':
		return p->o.last_level = true;
	case 't':
		return p->o.tlb = true;
	case 'y':
		return period(p, false);
	case 'G':
	case 'L':
		return depth(p, ITRACE_DEFAULT_CHAIN, &unused);
	case 'd':
		return flags(p, &unused, &unused);
	default:
		return true;
	}
}

static bool skipped(struct parser *p)
{
	if (!is_digit(*p->at))
		return refuse(p, p->at, "s needs the number of events to skip");
	return number(p, &p->o.nr_skipped);
}

static bool letter(struct parser *p)
{
	char c = *p->at++;

	switch (c) {
	case ' ':
	case ',':
		return true;
	case 'i':
		p->o.insns = true;
		return period(p, true);
	case 'b':
		p->o.branches = true;
		return true;
	case 'c':
		p->o.calls = true;
		return true;
	case 'r':
		p->o.returns = true;
		return true;
	case 'e':
		p->o.errors = true;
		return flags(p, &p->o.errors_plus, &p->o.errors_minus);
	case 'g':
		p->o.chains = true;
		return depth(p, ITRACE_DEFAULT_CHAIN, &p->o.max_chain);
	case 'l':
		p->o.last_branches = true;
		return depth(p, ITRACE_DEFAULT_BRANCHES, &p->o.max_branches);
	case 's':
		return skipped(p);
	case 'Z':
		p->o.is_timeless = true;
		return true;
	case 'T':
		p->o.is_kernel_time = true;
		return true;
	default:
		if (strchr(others, c))
			return other(p, c);
		return refuse(p, p->at - 1, "there is no such letter");
	}
}

void itrace_opts_default(struct itrace_opts *o, bool is_sampled)
{
	*o = (struct itrace_opts){
		.branches = true,
		.errors = true,
		.insns = is_sampled,
		.transactions = true,
		.ptwrites = true,
		.power = true,
		.interrupts = true,
		.aux_outputs = true,
		.memory = true,
		.remote = !is_sampled,
		.l1 = !is_sampled,
		.last_level = !is_sampled,
		.tlb = !is_sampled,
		.is_default = true,
		.unit = ITRACE_NS,
		.period = ITRACE_DEFAULT_NS,
		.max_chain = ITRACE_DEFAULT_CHAIN,
		.max_branches = ITRACE_DEFAULT_BRANCHES,
	};
}

enum clew_err itrace_opts_parse(struct itrace_opts *ret, const char *text, const char **ret_at,
				const char **ret_what)
{
	struct parser p = {.at = text};

	p.o.max_chain = ITRACE_DEFAULT_CHAIN;
	p.o.max_branches = ITRACE_DEFAULT_BRANCHES;
	while (*p.at) {
		if (letter(&p))
			continue;
		*ret_at = p.at;
		*ret_what = p.what;
		return CLEW_INVALID;
	}
	if (!p.has_period)
		p.o.period = ITRACE_DEFAULT_NS;
	if (!p.has_unit)
		p.o.unit = ITRACE_NS;
	if (!p.o.period) { /* every instruction */
		p.o.period = 1;
		p.o.unit = ITRACE_INSNS;
	}
	*ret = p.o;
	return CLEW_OK;
}
