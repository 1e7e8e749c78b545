/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diff/ipt_peer.h"

#ifdef CLEW_HAS_LIBIPT
# include <intel-pt.h>
# include <stdio.h>

enum { PEER_MOST_INSNS = 1 << 21 }; /* it follows a loop for ever */

static bool wrong(struct ipt_peer *p, const char *what, uint64_t got, uint64_t want)
{
	if (!p->why[0])
		snprintf(p->why, sizeof(p->why), "after %llu instructions, %s: %llx, not %llx",
			 (unsigned long long)p->at, what, (unsigned long long)got,
			 (unsigned long long)want);
	return false;
}

static bool failed(struct ipt_peer *p, int status, uint64_t offset)
{
	return wrong(p, pt_errstr(pt_errcode(status)), offset, 0);
}

static int read_code(uint8_t *to, size_t size, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	struct ipt_peer *p = ctx;
	struct code_region r;
	size_t nr = 0, left;

	(void)asid;
	while (nr < size && p->code->find(p->code->ctx, (uint32_t)p->space, ip + nr, &r)) {
		left = (size_t)(r.end - (ip + nr));
		left = left < size - nr ? left : size - nr;
		memcpy(to + nr, r.bytes + (ip + nr - r.start), left);
		nr += left;
	}
	return nr ? (int)nr : -pte_nomap;
}

static void configure(const struct ipt_peer *p, struct pt_config *c)
{
	const struct ipt_timing *t = &p->config->timing;

	pt_config_init(c);
	c->begin = (uint8_t *)p->trace->data;
	c->end = c->begin + p->trace->nr;
	c->mtc_freq = t->mtc_shift;
	c->nom_freq = t->max_ratio;
	c->cpuid_0x15_ebx = t->numerator;
	c->cpuid_0x15_eax = t->denominator;
	if (p->family) {
		c->cpu = (struct pt_cpu){.vendor = pcv_intel,
					 .family = (uint16_t)p->family,
					 .model = (uint8_t)p->model};
		pt_cpu_errata(&c->errata, &c->cpu);
	}
	if (p->has_filter) {
		c->addr_filter.config.ctl.addr0_cfg = 1; /* as IA32_RTIT_CTL has it: trace inside */
		c->addr_filter.addr0_a = p->filter_from;
		c->addr_filter.addr0_b = p->filter_to - 1;
	}
}

/** @p nr instructions ran from @p ip on, the last one at @p end. */
static bool take(struct ipt_peer *p, uint64_t ip, uint64_t end, uint64_t nr)
{
	const struct ipt_truth *t = p->truth;

	if (nr > t->insns.nr - p->at)
		return wrong(p, "more than was executed", ip, end);
	if (ipt_insn_address(t->insns.data[p->at]) != ip)
		return wrong(p, "address", ip, ipt_insn_address(t->insns.data[p->at]));
	if (ipt_insn_address(t->insns.data[p->at + nr - 1]) != end)
		return wrong(p, "end", end, ipt_insn_address(t->insns.data[p->at + nr - 1]));
	p->at += nr;
	while (p->space < p->nr_starts && p->starts[p->space] <= p->at)
		p->space++;
	return true;
}

static bool ends(struct ipt_peer *p, int status, uint64_t offset)
{
	if (status != -pte_eos)
		return failed(p, status, offset);
	return p->at == p->truth->insns.nr ? true
					   : wrong(p, "instructions", p->at, p->truth->insns.nr);
}

/* --- instructions --- */

static bool run_insns(struct ipt_peer *p, struct pt_insn_decoder *d)
{
	int status = pt_insn_sync_forward(d);
	struct pt_event event;
	struct pt_insn insn;
	uint64_t offset = 0;

	while (status >= 0) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_insn_event(d, &event, sizeof(event));
		if (status >= 0 && status & pts_eos)
			status = -pte_eos;
		if (status >= 0)
			status = pt_insn_next(d, &insn, sizeof(insn));
		if (status >= 0 && !take(p, insn.ip, insn.ip, 1))
			return false;
	}
	pt_insn_get_offset(d, &offset);
	return ends(p, status, offset);
}

/** Follow the trace with @p run, given @p ctx. */
static bool with_insn_decoder(struct ipt_peer *p, bool (*run)(struct pt_insn_decoder *d, void *ctx),
			      void *ctx)
{
	struct pt_image *image = pt_image_alloc("code");
	struct pt_insn_decoder *d;
	struct pt_config c;
	bool ok;

	configure(p, &c);
	d = pt_insn_alloc_decoder(&c);
	pt_image_set_callback(image, read_code, p);
	pt_insn_set_image(d, image);
	ok = run(d, ctx);
	pt_insn_free_decoder(d);
	pt_image_free(image);
	return ok;
}

static bool compare_insns(struct pt_insn_decoder *d, void *ctx)
{
	return run_insns(ctx, d);
}

static bool agrees_in_insns(struct ipt_peer *p)
{
	return with_insn_decoder(p, compare_insns, p);
}

static bool add_insns(struct pt_insn_decoder *d, void *ctx)
{
	struct ipt_addresses *ret = ctx;
	int status = pt_insn_sync_forward(d);
	struct pt_event event;
	struct pt_insn insn;

	while (status >= 0 && ret->nr < PEER_MOST_INSNS) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_insn_event(d, &event, sizeof(event));
		if (status >= 0 && status & pts_eos)
			status = -pte_eos;
		if (status >= 0)
			status = pt_insn_next(d, &insn, sizeof(insn));
		if (status >= 0 && !vec_push(ret, insn.ip))
			return false;
		if (status < 0 && status != -pte_eos)
			status = pt_insn_sync_forward(d);
	}
	return true;
}

bool ipt_peer_insns(struct ipt_peer *p, struct ipt_addresses *ret)
{
	p->space = 0;
	return with_insn_decoder(p, add_insns, ret);
}

/* --- blocks --- */

static bool run_blocks(struct ipt_peer *p, struct pt_block_decoder *d)
{
	int status = pt_blk_sync_forward(d);
	struct pt_event event;
	struct pt_block b;
	uint64_t offset = 0;

	while (status >= 0) {
		while (status >= 0 && status & pts_event_pending)
			status = pt_blk_event(d, &event, sizeof(event));
		if (status >= 0 && status & pts_eos)
			status = -pte_eos;
		b.ninsn = 0;
		if (status >= 0)
			status = pt_blk_next(d, &b, sizeof(b));
		if (status >= 0 && b.ninsn && !take(p, b.ip, b.end_ip, b.ninsn))
			return false;
	}
	pt_blk_get_offset(d, &offset);
	return ends(p, status, offset);
}

static bool agrees_in_blocks(struct ipt_peer *p)
{
	struct pt_image *image = pt_image_alloc("code");
	struct pt_block_decoder *d;
	struct pt_config c;
	bool ok;

	configure(p, &c);
	d = pt_blk_alloc_decoder(&c);
	pt_image_set_callback(image, read_code, p);
	pt_blk_set_image(d, image);
	ok = run_blocks(p, d);
	pt_blk_free_decoder(d);
	pt_image_free(image);
	return ok;
}

bool ipt_peer_can(void)
{
	return true;
}

bool ipt_peer_agrees(struct ipt_peer *p)
{
	p->at = p->space = 0;
	p->why[0] = '\0';
	if (!agrees_in_insns(p))
		return false;
	p->at = p->space = 0;
	return agrees_in_blocks(p);
}
#else
bool ipt_peer_can(void)
{
	return false;
}

bool ipt_peer_agrees(struct ipt_peer *p)
{
	(void)p;
	return false;
}

bool ipt_peer_insns(struct ipt_peer *p, struct ipt_addresses *ret)
{
	(void)p;
	(void)ret;
	return false;
}
#endif
