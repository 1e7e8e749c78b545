/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/ipt_encode.h"

#include "make/splitmix.h"

/* Packets of branches. What is not of one: ipt_encode_events.c, ipt_encode_time.c. */

enum { LONGEST_LONG_TNT = IPT_MAX_TNT };

static uint32_t below(struct ipt_encoder *e, uint32_t n)
{
	return splitmix_below(&e->random, n);
}

void ipt_enc_init(struct ipt_encoder *e, const struct ipt_encode_opts *opts, uint64_t seed)
{
	*e = (struct ipt_encoder){.opts = *opts,
				  .random = seed,
				  .most_tnt = IPT_MAX_SHORT_TNT,
				  .context.bits = 64,
				  .needs_psb = true,
				  .ticks = opts->timing.reference,
				  .cbr = opts->timing.max_ratio};
}

void ipt_enc_done(struct ipt_encoder *e)
{
	buf_done(&e->out);
	ipt_truth_done(&e->truth);
}

void ipt_enc_put(struct ipt_encoder *e, const struct ipt_packet *k)
{
	ipt_write(&e->out, k, &e->last_ip);
}

/** Any of those that hold @p ip, or the shortest. */
static enum ipt_ip_form form_of(struct ipt_encoder *e, uint64_t ip)
{
	static const uint8_t forms[] = {IPT_IP_16, IPT_IP_32, IPT_IP_SEXT48, IPT_IP_48, IPT_IP_64};
	static const uint8_t bits[] = {16, 32, 48, 48, 64};
	enum ipt_ip_form ret = ipt_ip_shortest(ip, e->last_ip);
	uint32_t i = below(e, 5);
	uint64_t payload = bits[i] < 64 ? ip & ((UINT64_C(1) << bits[i]) - 1) : ip;

	if (e->opts.has_any_form &&
	    ipt_ip_of((enum ipt_ip_form)forms[i], payload, e->last_ip) == ip)
		return (enum ipt_ip_form)forms[i];
	return ret;
}

void ipt_enc_put_address(struct ipt_encoder *e, enum ipt_kind kind, uint64_t ip, bool is_full)
{
	struct ipt_packet k = {.kind = (uint8_t)kind, .ip = ip};

	if (is_full || e->needs_full)
		k.ip_form = (uint64_t)((int64_t)(ip << 16) >> 16) == ip ? IPT_IP_SEXT48 : IPT_IP_64;
	else
		k.ip_form = (uint8_t)form_of(e, ip);
	e->needs_full = e->is_after_pip = false;
	ipt_enc_put(e, &k);
}

/* --- what is proven --- */

static void prove(struct ipt_encoder *e, uint64_t nr)
{
	e->nr_proven = nr;
	(void)vec_push(&e->truth.times, (struct ipt_time_at){nr, e->ticks});
}

void ipt_enc_prove(struct ipt_encoder *e)
{
	prove(e, e->truth.insns.nr);
}

static void put_tnt(struct ipt_encoder *e)
{
	struct ipt_packet k = {.kind = IPT_TNT, .nr_tnt = (uint8_t)e->nr_tnt, .tnt = e->tnt};

	e->is_after_pip = false;
	ipt_enc_put(e, &k);
}

void ipt_enc_flush(struct ipt_encoder *e)
{
	bool is_any = e->nr_tnt || e->nr_tips;

	if (is_any)
		ipt_enc_put_cyc(e);
	if (e->nr_tnt)
		put_tnt(e);
	for (unsigned int i = 0; i < e->nr_tips; i++)
		ipt_enc_put_address(e, IPT_TIP, e->tips[i], false);
	e->nr_tnt = e->nr_tips = 0;
	e->tnt = 0;
	e->most_tnt = e->opts.has_long_tnt && !below(e, 3) ? LONGEST_LONG_TNT : IPT_MAX_SHORT_TNT;
	if (is_any)
		prove(e, e->nr_answered);
}

static void add_bit(struct ipt_encoder *e, bool bit)
{
	e->tnt |= (uint64_t)bit << e->nr_tnt++;
	e->nr_answered = e->truth.insns.nr;
	if (e->nr_tnt == e->most_tnt)
		ipt_enc_flush(e);
}

/** With what stands before it. */
static void put_target(struct ipt_encoder *e, uint64_t to)
{
	ipt_enc_flush(e);
	ipt_enc_put_cyc(e);
	ipt_enc_put_address(e, IPT_TIP, to, false);
	ipt_enc_prove(e);
}

/* --- instructions --- */

void ipt_enc_insn(struct ipt_encoder *e, uint64_t ip, unsigned int bytes)
{
	(void)vec_push(&e->truth.insns, ipt_insn_of(ip, bytes));
	ipt_enc_pass(e, 1 + below(e, 3));
}

void ipt_enc_drop_insn(struct ipt_encoder *e)
{
	e->truth.insns.nr--;
}

void ipt_enc_cond(struct ipt_encoder *e, bool is_taken)
{
	add_bit(e, is_taken);
}

/** A full stack forgets the oldest. */
void ipt_enc_call(struct ipt_encoder *e, uint64_t back)
{
	e->stack_top = (e->stack_top + 1) % IPT_ENC_STACK;
	e->stack[e->stack_top] = back;
	e->nr_stack += e->nr_stack < IPT_ENC_STACK;
}

void ipt_enc_indirect(struct ipt_encoder *e, uint64_t to)
{
	if (!e->opts.defers || e->nr_tips == IPT_ENC_TIPS || !below(e, 8)) {
		put_target(e, to);
		return;
	}
	e->tips[e->nr_tips++] = to;
	e->nr_answered = e->truth.insns.nr;
}

/** An uncompressed one is not deferred: all that waits comes before it. */
void ipt_enc_return(struct ipt_encoder *e, uint64_t to)
{
	bool is_top = e->nr_stack && e->stack[e->stack_top] == to,
	     is_compressed = e->opts.has_returns && is_top;

	if (e->nr_stack && (is_compressed || !e->opts.keeps_returns)) {
		e->stack_top = (e->stack_top + IPT_ENC_STACK - 1) % IPT_ENC_STACK;
		e->nr_stack--;
	}
	if (is_compressed)
		add_bit(e, true);
	else
		put_target(e, to);
}
