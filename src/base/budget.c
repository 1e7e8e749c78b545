/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/budget.h"

#include <string.h>

static uint64_t load(const uint64_t *v)
{
	return __atomic_load_n(v, __ATOMIC_RELAXED);
}

static void note_peak(struct budget *b, uint64_t now)
{
	uint64_t peak = load(&b->peak);

	while (now > peak && !__atomic_compare_exchange_n(&b->peak, &peak, now, true,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

bool budget_take(struct budget *b, uint64_t bytes)
{
	uint64_t used, want;

	if (!b)
		return true;
	used = load(&b->used);
	do {
		if (__builtin_add_overflow(used, bytes, &want) || (b->limit && want > b->limit))
			return false;
	} while (!__atomic_compare_exchange_n(&b->used, &used, want, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	note_peak(b, want);
	return true;
}

void budget_give(struct budget *b, uint64_t bytes)
{
	if (b && bytes)
		__atomic_sub_fetch(&b->used, bytes, __ATOMIC_RELAXED);
}

void budget_hold(struct budget *b, uint64_t bytes)
{
	if (!b)
		return;
	__atomic_add_fetch(&b->held, bytes, __ATOMIC_RELAXED);
	note_peak(b, __atomic_add_fetch(&b->used, bytes, __ATOMIC_RELAXED));
}

void budget_let_go(struct budget *b, uint64_t bytes)
{
	if (!b)
		return;
	__atomic_sub_fetch(&b->held, bytes, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&b->used, bytes, __ATOMIC_RELAXED);
}

bool budget_holds_much(const struct budget *b)
{
	return b && b->limit && load(&b->held) > b->limit / 4;
}

uint64_t budget_left(const struct budget *b)
{
	uint64_t used;

	if (!b || !b->limit)
		return UINT64_MAX;
	used = load(&b->used);
	return used < b->limit ? b->limit - used : 0;
}

void budget_refuse(struct budget *b, uint64_t bytes, const char *what, const char *input)
{
	size_t len = input ? strlen(input) : 0;

	if (!b)
		return;
	__atomic_add_fetch(&b->refused_bytes, bytes, __ATOMIC_RELAXED);
	if (__atomic_fetch_add(&b->nr_refused, 1, __ATOMIC_RELAXED))
		return;
	/* The first one alone: read when all threads have ended. */
	if (len >= sizeof(b->first_input))
		len = sizeof(b->first_input) - 1;
	if (len)
		memcpy(b->first_input, input, len);
	b->first_input[len] = '\0';
	b->first_bytes = bytes;
	b->first_what = what;
}

static void refuse_once(struct budget_account *a, const char *what)
{
	for (size_t i = 0; i < sizeof(a->refused) / sizeof(*a->refused); i++) {
		if (a->refused[i] == what)
			return;
		if (a->refused[i])
			continue;
		a->refused[i] = what;
		budget_refuse(a->budget, 0, what, "");
		return;
	}
}

bool budget_account_take(struct budget_account *a, uint64_t bytes, const char *what)
{
	if (!budget_take(a->budget, bytes)) {
		refuse_once(a, what);
		return false;
	}
	a->charged += bytes;
	return true;
}

void budget_account_give(struct budget_account *a, uint64_t bytes)
{
	budget_give(a->budget, bytes);
	a->charged -= bytes;
}

void budget_account_done(struct budget_account *a)
{
	budget_account_give(a, a->charged);
}

bool budget_take_for(struct budget *b, uint64_t bytes, const char *what, const char *input)
{
	if (budget_take(b, bytes))
		return true;
	budget_refuse(b, bytes, what, input);
	return false;
}
