/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_clock.h"

enum { TSC_BITS = 56, MTC_VALUES = 256, CTC_BITS = 16 };

void ipt_clock_init(struct ipt_clock *c, const struct ipt_config *config)
{
	*c = (struct ipt_clock){.config = config};
}

void ipt_clock_forget(struct ipt_clock *c)
{
	c->has_tma = c->has_tsc = c->is_after_cyc = false;
}

uint64_t ipt_clock_whole_tsc(uint64_t low, uint64_t around)
{
	uint64_t period = UINT64_C(1) << TSC_BITS, ret = (around & ~(period - 1)) | low;

	if (ret > around && ret - around > period / 2 && ret >= period)
		return ret - period;
	if (ret < around && around - ret > period / 2 && ret < UINT64_MAX - period)
		return ret + period;
	return ret;
}

static bool set(struct ipt_clock *c, uint64_t ticks)
{
	if (ticks <= c->ticks)
		return false;
	c->ticks = ticks;
	return true;
}

/** Count cycles from now on. */
static void count_from(struct ipt_clock *c, uint64_t ticks)
{
	c->since = ticks;
	c->nr_cycles = 0;
}

static uint64_t ticks_of_ctc(const struct ipt_clock *c, uint64_t ctc)
{
	const struct ipt_timing *t = &c->config->timing;

	return (uint64_t)((unsigned __int128)ctc * t->numerator / t->denominator);
}

static bool take_tsc(struct ipt_clock *c, const struct ipt_packet *k)
{
	uint64_t ticks =
		ipt_clock_whole_tsc(k->tsc, c->ticks ? c->ticks : c->config->timing.reference);

	if (c->is_after_cyc || c->is_in_psb || !c->ticks)
		count_from(c, ticks);
	c->base = ticks;
	c->has_tma = false;
	c->has_tsc = true;
	if (!c->is_in_psb)
		return set(c, ticks);
	c->ticks = ticks;
	return true;
}

static void take_tma(struct ipt_clock *c, const struct ipt_packet *k)
{
	const struct ipt_timing *t = &c->config->timing;
	uint64_t back;

	if (!c->has_tsc || !t->denominator || k->tma.has_reserved)
		return;
	back = k->tma.fast + ticks_of_ctc(c, k->tma.ctc & ((1u << t->mtc_shift) - 1));
	c->base -= back < c->base ? back : c->base;
	c->nr_ctc = 0;
	c->last_mtc = (uint8_t)(k->tma.ctc >> t->mtc_shift);
	c->is_partial = t->mtc_shift > CTC_BITS - 8;
	c->has_tma = true;
}

/** TMA has only the low bits of what an MTC shows: the others are those of the first MTC. */
static void complete(struct ipt_clock *c, uint8_t mtc)
{
	unsigned int part = 1u << (CTC_BITS - c->config->timing.mtc_shift);

	c->last_mtc = (uint8_t)(c->last_mtc | (mtc & ~(part - 1)));
	if (c->last_mtc >= mtc)
		c->last_mtc = (uint8_t)(c->last_mtc - part);
	c->is_partial = false;
}

static bool take_mtc(struct ipt_clock *c, const struct ipt_packet *k)
{
	unsigned int nr;
	uint64_t ticks;

	if (!c->has_tma)
		return false;
	if (c->is_partial)
		complete(c, k->mtc);
	nr = (uint8_t)(k->mtc - c->last_mtc);
	c->nr_ctc += (uint64_t)(nr ? nr : MTC_VALUES) << c->config->timing.mtc_shift;
	c->last_mtc = k->mtc;
	ticks = c->base + ticks_of_ctc(c, c->nr_ctc);
	if (c->is_after_cyc)
		count_from(c, ticks);
	return set(c, ticks);
}

static bool take_cyc(struct ipt_clock *c, const struct ipt_packet *k)
{
	uint64_t most = UINT64_MAX / 256;

	c->nr_cycles += k->cyc < most - c->nr_cycles ? k->cyc : most - c->nr_cycles;
	if (!c->ticks || !c->cbr)
		return false;
	return set(c, c->since + c->nr_cycles * c->config->timing.max_ratio / c->cbr);
}

static void take_cbr(struct ipt_clock *c, const struct ipt_packet *k)
{
	if (c->cbr != k->cbr)
		count_from(c, c->ticks);
	c->cbr = k->cbr;
}

bool ipt_clock_take(struct ipt_clock *c, const struct ipt_packet *k)
{
	bool ret = false;

	switch (k->kind) {
	case IPT_TSC:
		ret = take_tsc(c, k);
		break;
	case IPT_TMA:
		take_tma(c, k);
		break;
	case IPT_MTC:
		ret = take_mtc(c, k);
		break;
	case IPT_CYC:
		ret = take_cyc(c, k);
		break;
	case IPT_CBR:
		take_cbr(c, k);
		break;
	case IPT_PSB:
		c->is_in_psb = true;
		break;
	case IPT_PSBEND:
		c->has_tsc = c->is_in_psb = false;
		break;
	default:
		break;
	}
	c->is_after_cyc = k->kind == IPT_CYC;
	return ret;
}
