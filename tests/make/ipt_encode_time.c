/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/ipt_encode.h"
#include "make/splitmix.h"

/*
 * Clocks: the core runs cbr / max_ratio times as fast as the TSC, the crystal ticks denominator /
 * numerator times as fast.
 */
enum { MOST_MTC = 200 }; /* at once: eight bits of it are in the packet */

/** At that tick of the TSC. */
static uint64_t ctc_of(const struct ipt_encoder *e)
{
	const struct ipt_timing *t = &e->opts.timing;

	return (uint64_t)((unsigned __int128)e->ticks * t->denominator / t->numerator);
}

/** The first tick of the TSC at which the crystal shows @p ctc. */
static uint64_t ticks_of(const struct ipt_encoder *e, uint64_t ctc)
{
	const struct ipt_timing *t = &e->opts.timing;
	unsigned __int128 v = (unsigned __int128)ctc * t->numerator;

	return (uint64_t)((v + t->denominator - 1) / t->denominator);
}

static void advance(struct ipt_encoder *e, uint64_t nr_cycles)
{
	e->nr_cycles += nr_cycles;
	e->part += nr_cycles * e->opts.timing.max_ratio;
	e->ticks += e->part / e->cbr;
	e->part %= e->cbr;
}

/** Cycles until the next MTC is due. */
static uint64_t cycles_to_mtc(const struct ipt_encoder *e)
{
	uint64_t due = ticks_of(e, (e->mtc + 1) << e->opts.timing.mtc_shift);
	uint64_t ratio = e->opts.timing.max_ratio;

	if (due <= e->ticks)
		return 0;
	return ((due - e->ticks) * e->cbr - e->part + ratio - 1) / ratio;
}

void ipt_enc_pass(struct ipt_encoder *e, uint64_t nr_cycles)
{
	uint64_t nr;

	while (e->is_on && e->opts.has_mtc && (nr = cycles_to_mtc(e)) <= nr_cycles) {
		advance(e, nr);
		nr_cycles -= nr;
		ipt_enc_put_mtc(e);
	}
	advance(e, nr_cycles);
}

void ipt_enc_put_cyc(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_CYC, .cyc = e->nr_cycles};

	if (!e->opts.has_cyc || !e->nr_cycles || e->nr_cycles < e->opts.cyc_threshold)
		return;
	e->nr_cycles = 0;
	ipt_enc_put(e, &k);
}

static void put_tma(struct ipt_encoder *e)
{
	uint64_t ctc = ctc_of(e);
	struct ipt_packet k = {.kind = IPT_TMA,
			       .tma.ctc = (uint16_t)ctc,
			       .tma.fast = (uint16_t)((e->ticks - ticks_of(e, ctc)) & 0x1ff)};

	e->mtc = ctc >> e->opts.timing.mtc_shift;
	k.tma.has_reserved =
		e->opts.errata & IPT_SKZ84 && e->context.is_guest && splitmix_below(&e->random, 2);
	ipt_enc_put(e, &k);
	if (k.tma.has_reserved) /* it says nothing, and a byte follows */
		buf_char(&e->out, (char)splitmix_below(&e->random, 256));
}

void ipt_enc_tsc(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_TSC, .tsc = e->ticks & ((UINT64_C(1) << 56) - 1)};

	if (!e->opts.has_tsc)
		return;
	ipt_enc_put_cyc(e);
	ipt_enc_put(e, &k);
	if (e->opts.has_mtc)
		put_tma(e);
}

uint64_t ipt_enc_sync_time(struct ipt_encoder *e)
{
	ipt_enc_flush(e);
	ipt_enc_tsc(e);
	return e->ticks;
}

void ipt_enc_put_mtc(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_MTC};
	uint64_t now;

	if (!e->opts.has_mtc || !e->opts.has_tsc)
		return;
	now = ctc_of(e) >> e->opts.timing.mtc_shift;
	if (now - e->mtc > MOST_MTC)
		ipt_enc_tsc(e);
	while (e->mtc < now) {
		k.mtc = (uint8_t)++e->mtc;
		ipt_enc_put_cyc(e);
		ipt_enc_put(e, &k);
	}
}

void ipt_enc_put_cbr(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_CBR, .cbr = e->cbr};

	ipt_enc_put_cyc(e);
	ipt_enc_put(e, &k);
}
