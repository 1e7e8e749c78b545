/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/ipt_program.h"

#include <stdio.h>

#include "make/splitmix.h"

enum { ALL_ERRATA = 2 * IPT_APL12 - 1 };

static uint32_t below(struct ipt_program *p, uint32_t n)
{
	return splitmix_below(&p->random, n);
}

/** @p n 0: never. */
static bool one_in(struct ipt_program *p, uint32_t n)
{
	return n && !below(p, n);
}

/* --- places --- */

static const struct ipt_region *region_at(const struct ipt_program *p, uint64_t addr)
{
	for (unsigned int i = 0; i < p->nr_regions; i++)
		if (addr - p->regions[i].start < p->regions[i].code.nr)
			return &p->regions[i];
	return NULL;
}

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	(void)ctx;
	(void)key;
	return 0;
}

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct ipt_program *p = ctx;
	const struct ipt_region *r = region_at(p, addr);
	uint64_t from, left;

	(void)space;
	if (!r)
		return false;
	from = (addr - r->start) / p->region_bytes * p->region_bytes;
	left = r->code.nr - from;
	ret->start = r->start + from;
	ret->end = ret->start + (left < p->region_bytes ? left : p->region_bytes);
	ret->bytes = (const uint8_t *)r->code.data + from;
	return true;
}

static bool is_traced(void *ctx, uint32_t space, uint64_t addr)
{
	const struct ipt_region *r = region_at(ctx, addr);

	(void)space;
	return !r || !r->is_outside;
}

static uint64_t address_of(const struct ipt_program *p, struct ipt_place at)
{
	return ipt_code_address(&p->regions[at.region], at.insn);
}

static uint8_t bits_of(const struct ipt_program *p, struct ipt_place at)
{
	return p->regions[at.region].bits;
}

/** @p bits 0: of any mode. */
static struct ipt_place any_place(struct ipt_program *p, uint8_t bits, bool may_be_outside)
{
	const struct ipt_region *r;
	struct ipt_place ret;

	do {
		ret.region = below(p, p->nr_regions);
		r = &p->regions[ret.region];
	} while ((bits && r->bits != bits) || (r->is_outside && !may_be_outside));
	ret.insn = below(p, (uint32_t)r->insns.nr);
	return ret;
}

/* --- contexts --- */

static uint64_t any_page(struct ipt_program *p)
{
	return (uint64_t)(1 + below(p, 0xffff)) << 12;
}

static struct ipt_enc_change change_to(struct ipt_program *p, struct ipt_place to, bool has_pip)
{
	const struct code_x86_context *c = &p->encoder.context;

	return (struct ipt_enc_change){.bits = bits_of(p, to),
				       .has_pip = has_pip,
				       .is_guest = c->is_guest,
				       .cr3 = has_pip ? any_page(p) : 0};
}

/* --- on and off --- */

static void start_at(struct ipt_program *p, struct ipt_place at)
{
	ipt_enc_pass(&p->encoder, below(p, 5000));
	p->is_in_transaction = false;
	p->at = at;
	ipt_enc_start(&p->encoder, address_of(p, at), bits_of(p, at));
}

static void stop_by(struct ipt_program *p, uint64_t to)
{
	ipt_enc_stop_by(&p->encoder, to);
	start_at(p, any_place(p, 0, false));
}

static void stop_here(struct ipt_program *p)
{
	uint64_t to = p->has_filter && one_in(p, 2)
			    ? address_of(p, (struct ipt_place){0, 0}) /* outside */
			    : 0;

	ipt_enc_stop_at(&p->encoder, address_of(p, p->at), to, p->has_tracestop && one_in(p, 2));
	start_at(p, one_in(p, 2) ? p->at : any_place(p, 0, false));
}

static bool has_error(struct ipt_program *p, enum ipt_erratum e)
{
	return p->config.errata & e && one_in(p, 2);
}

static void overflow(struct ipt_program *p)
{
	enum ipt_enc_overflow how = (enum ipt_enc_overflow)below(p, 4);
	struct ipt_place to = any_place(p, how == IPT_ENC_LOST_OFF ? 0 : bits_of(p, p->at), false);

	if (p->opts.for_libipt && how == IPT_ENC_LOST_PSB)
		how = IPT_ENC_LOST_IN_PSB;
	if (how == IPT_ENC_LOST_ON && has_error(p, IPT_SKD010))
		how = IPT_ENC_LOST_FUP;
	p->is_in_transaction = false;
	p->nr_calls = 0;
	ipt_enc_overflow(&p->encoder, how, address_of(p, to));
	if (how == IPT_ENC_LOST_OFF)
		start_at(p, to);
	else
		p->at = to;
}

/* --- events --- */

static void call(struct ipt_program *p, struct ipt_place back)
{
	if (p->nr_calls == IPT_MAX_CALLS)
		p->nr_calls = 0;
	p->calls[p->nr_calls++] = back;
}

static void interrupt(struct ipt_program *p)
{
	bool is_exit = p->code.has_vm && one_in(p, 2);
	struct ipt_place to = any_place(p, p->code.has_far ? 0 : bits_of(p, p->at), false);
	struct ipt_enc_change c = change_to(p, to, is_exit || (p->code.has_os && one_in(p, 4)));

	if (is_exit) {
		c.is_guest = !c.is_guest;
		c.has_vmcs = p->encoder.context.has_vmcs && one_in(p, 2);
		c.vmcs = any_page(p);
	}
	ipt_enc_async(&p->encoder, address_of(p, p->at), address_of(p, to), &c);
	if (bits_of(p, to) == bits_of(p, p->at))
		call(p, p->at); /* a plain return goes back: no call matches */
	p->at = to;
}

static bool always_aborts(enum ipt_class class)
{
	return (class >= IPT_CLASS_FAR && class <= IPT_CLASS_VMPTRLD) || class == IPT_CLASS_XABORT;
}

static void leave_transaction(struct ipt_program *p)
{
	p->is_in_transaction = false;
	ipt_enc_abort(&p->encoder, address_of(p, p->at), address_of(p, p->fallback));
	p->at = p->fallback;
}

/* --- instructions --- */

static void branch(struct ipt_program *p, const struct ipt_code_insn *i, uint64_t target)
{
	bool is_out = i->to == (uint32_t)IPT_OUTSIDE,
	     is_taken = i->class != IPT_CLASS_COND || below(p, 3);

	if (i->class == IPT_CLASS_COND && !(is_out && is_taken))
		ipt_enc_cond(&p->encoder, is_taken);
	if (!is_taken)
		p->at.insn++;
	else if (is_out)
		stop_by(p, i->class == IPT_CLASS_COND || has_error(p, IPT_SKL014) ? 0 : target);
	else
		p->at.insn = i->to;
}

static uint64_t target_of(const struct ipt_program *p, const struct ipt_region *r,
			  const struct ipt_code_insn *i)
{
	uint64_t next = r->start + i->offset + i->bytes;
	int32_t rel;

	if (i->to != (uint32_t)IPT_OUTSIDE)
		return ipt_code_address(r, i->to);
	memcpy(&rel, r->code.data + i->offset + i->bytes - 4, 4);
	(void)p;
	return next + (uint64_t)(int64_t)rel;
}

/** May a near return go there? Not from the kernel to user space, or back. */
static bool is_near(const struct ipt_program *p, struct ipt_place to)
{
	return bits_of(p, to) == bits_of(p, p->at) &&
	       address_of(p, to) >> 63 == address_of(p, p->at) >> 63;
}

static struct ipt_place return_place(struct ipt_program *p)
{
	struct ipt_place ret;

	if (p->nr_calls && !one_in(p, p->stray_every) && is_near(p, p->calls[p->nr_calls - 1]))
		return p->calls[--p->nr_calls];
	p->nr_calls -= p->nr_calls && one_in(p, 30);
	do {
		ret = any_place(p, 0, p->has_filter);
	} while (!is_near(p, ret));
	return ret;
}

/** Nowhere, or where a branch is that the trace reports: from there nothing leads to the abort. */
static uint64_t wrong_target(struct ipt_program *p, struct ipt_place right)
{
	enum { OTHER_PAGE = 0x100000 };
	uint64_t to = address_of(p, right);
	struct ipt_place wrong = any_place(p, bits_of(p, right), false);
	const struct ipt_region *r = &p->regions[wrong.region];

	if (r->insns.data[wrong.insn].class == IPT_CLASS_COND && address_of(p, wrong) != to &&
	    address_of(p, wrong) >> 63 == to >> 63)
		return address_of(p, wrong);
	return bits_of(p, right) == 16 ? to : to ^ OTHER_PAGE;
}

/** A transaction is aborted where a branch went, and of that branch the trace has a wrong target.
 */
static void abort_at(struct ipt_program *p, struct ipt_place to)
{
	ipt_enc_indirect(&p->encoder, wrong_target(p, to));
	p->at = to;
	leave_transaction(p);
}

static void go_to(struct ipt_program *p, bool is_return)
{
	struct ipt_place to =
		is_return ? return_place(p) : any_place(p, bits_of(p, p->at), p->has_filter);

	if (p->regions[to.region].is_outside) {
		stop_by(p, address_of(p, to));
		return;
	}
	if (!is_return && p->is_in_transaction && has_error(p, IPT_BDM64) && one_in(p, 4)) {
		abort_at(p, to);
		return;
	}
	if (is_return)
		ipt_enc_return(&p->encoder, address_of(p, to));
	else
		ipt_enc_indirect(&p->encoder, address_of(p, to));
	p->at = to;
}

/** The packet before is the PIP of a MOV to CR3. */
static bool is_after_pip(const struct ipt_program *p)
{
	return p->encoder.is_after_pip && !p->encoder.nr_tnt && !p->encoder.nr_tips;
}

static void far(struct ipt_program *p, enum ipt_class class)
{
	bool has_pip = class == IPT_CLASS_VM_ENTRY ||
		       (class == IPT_CLASS_FAR && p->code.has_os && one_in(p, 5));
	struct ipt_place to = any_place(p, 0, false), next = p->at;
	struct ipt_enc_change c;

	next.insn++;
	if (class == IPT_CLASS_VM_ENTRY && has_error(p, IPT_SKD022)) {
		ipt_enc_stop_at(&p->encoder, address_of(p, p->at), 0, false);
		start_at(p, to);
		return;
	}
	if (!has_pip && one_in(p, 3) && !(p->opts.for_libipt && is_after_pip(p))) {
		ipt_enc_stop_by(&p->encoder, 0);
		start_at(p, class == IPT_CLASS_SYSCALL && one_in(p, 2) ? next : to);
		return;
	}
	c = change_to(p, to, has_pip);
	if (class == IPT_CLASS_VM_ENTRY)
		c.is_guest = true;
	ipt_enc_far(&p->encoder, address_of(p, to), &c);
	p->at = to;
}

/** INT, or VMCALL, which is a fault where no hypervisor is: it is not shown. */
static void trap(struct ipt_program *p, enum ipt_class class)
{
	struct ipt_place to = any_place(p, 0, false);
	bool is_exit = class == IPT_CLASS_VM_CALL && p->encoder.context.is_guest;
	struct ipt_enc_change c = change_to(p, to, is_exit);

	c.is_guest &= !is_exit;
	if (!is_exit && one_in(p, 3)) {
		ipt_enc_stop_at(&p->encoder, address_of(p, p->at), 0, false);
		start_at(p, to);
		return;
	}
	ipt_enc_async(&p->encoder, address_of(p, p->at), address_of(p, to), &c);
	p->at = to;
}

/** The packet says that it began at XBEGIN itself, or at the instruction after it. */
static void begin_transaction(struct ipt_program *p, const struct ipt_code_insn *i)
{
	uint64_t at = address_of(p, p->at), next = at + i->bytes;
	bool is_early = one_in(p, 2), begins = !p->is_in_transaction;

	if (begins) {
		p->is_in_transaction = true;
		p->fallback = (struct ipt_place){p->at.region, i->to};
	}
	if (begins && is_early)
		ipt_enc_transaction(&p->encoder, true, at);
	ipt_enc_insn(&p->encoder, at, i->bytes);
	if (begins && !is_early)
		ipt_enc_transaction(&p->encoder, true, next);
	p->at.insn++;
}

static void commit(struct ipt_program *p, const struct ipt_code_insn *i)
{
	uint64_t at = address_of(p, p->at), next = at + i->bytes;
	bool is_early = one_in(p, 2), ends = p->is_in_transaction;

	p->is_in_transaction = false;
	if (ends && is_early)
		ipt_enc_transaction(&p->encoder, false, at);
	ipt_enc_insn(&p->encoder, at, i->bytes);
	if (ends && !is_early)
		ipt_enc_transaction(&p->encoder, false, next);
	p->at.insn++;
}

/** To CR3 that the trace is of, or not. */
static void mov_cr3(struct ipt_program *p)
{
	if (one_in(p, 10) && !(p->opts.for_libipt && is_after_pip(p))) {
		stop_by(p, 0);
		return;
	}
	ipt_enc_mov_cr3(&p->encoder, any_page(p));
	p->at.insn++;
}

static void execute(struct ipt_program *p, const struct ipt_region *r,
		    const struct ipt_code_insn *i)
{
	uint64_t ip = r->start + i->offset, next = ip + i->bytes;
	struct ipt_encoder *e = &p->encoder;
	enum ipt_class class = (enum ipt_class)i->class;

	if (class == IPT_CLASS_INT || class == IPT_CLASS_VM_CALL) {
		trap(p, class);
		return;
	}
	if (class == IPT_CLASS_XBEGIN) {
		begin_transaction(p, i);
		return;
	}
	if (class == IPT_CLASS_XEND) {
		commit(p, i);
		return;
	}
	ipt_enc_insn(e, ip, i->bytes);
	switch (class) {
	case IPT_CLASS_CALL:
		if (i->to != p->at.insn + 1)
			ipt_enc_call(e, next);
		call(p, (struct ipt_place){p->at.region, p->at.insn + 1});
		branch(p, i, target_of(p, r, i));
		break;
	case IPT_CLASS_COND:
	case IPT_CLASS_JUMP:
		branch(p, i, target_of(p, r, i));
		break;
	case IPT_CLASS_CALL_TO:
		ipt_enc_call(e, next);
		call(p, (struct ipt_place){p->at.region, p->at.insn + 1});
		go_to(p, false);
		break;
	case IPT_CLASS_JUMP_TO:
	case IPT_CLASS_RETURN:
		go_to(p, class == IPT_CLASS_RETURN);
		break;
	case IPT_CLASS_FAR:
	case IPT_CLASS_SYSCALL:
	case IPT_CLASS_SYSRET:
	case IPT_CLASS_VM_ENTRY:
		far(p, class);
		break;
	case IPT_CLASS_MOV_CR3:
		mov_cr3(p);
		break;
	case IPT_CLASS_VMPTRLD:
		ipt_enc_vmptrld(e, any_page(p));
		p->at.insn++;
		break;
	case IPT_CLASS_PTWRITE:
		ipt_enc_ptwrite(e, ip, splitmix64(&p->random), one_in(p, 2), one_in(p, 2));
		p->at.insn++;
		break;
	case IPT_CLASS_OTHER:
	case IPT_CLASS_XABORT:
	case IPT_CLASS_INT:
	case IPT_CLASS_VM_CALL:
	case IPT_CLASS_XBEGIN:
	case IPT_CLASS_XEND:
		p->at.insn++;
	}
}

static void step(struct ipt_program *p)
{
	const struct ipt_region *r = &p->regions[p->at.region];
	const struct ipt_code_insn *i = &r->insns.data[p->at.insn];

	ipt_enc_between(&p->encoder, r->start + i->offset);
	if (one_in(p, p->lose_every))
		overflow(p);
	else if (p->is_in_transaction && (one_in(p, 60) || always_aborts((enum ipt_class)i->class)))
		leave_transaction(p);
	else if (!p->is_in_transaction && one_in(p, p->interrupt_every))
		interrupt(p);
	else if (!p->is_in_transaction && one_in(p, p->stop_every) &&
		 !(p->config.errata & IPT_SKD022 && i->class == IPT_CLASS_VM_ENTRY))
		stop_here(p);
	else
		execute(p, r, i);
}

/* --- what it is --- */

static void choose_trace(struct ipt_program *p, struct ipt_encode_opts *o)
{
	static const uint32_t periods[] = {0, 1024, 2048, 4096, 65536};
	bool is_peer = p->opts.for_libipt, is_plain = p->opts.is_plain;

	*o = (struct ipt_encode_opts){
		.has_returns = !is_plain && below(p, 4),
		.defers = one_in(p, 2),
		.has_long_tnt = one_in(p, 2),
		.has_any_form = one_in(p, 2),
		.zips_psb = one_in(p, 2),
		.has_tsc = !is_plain && below(p, 4),
		.has_power = one_in(p, 2),
		.has_notes = one_in(p, 2) && !is_peer,
		.psb_bytes = periods[below(p, 5)],
	};
	o->keeps_returns = is_peer;
	o->has_early_fups = one_in(p, 3) && !is_peer;
	o->has_pip = p->code.has_os;
	o->has_mtc = o->has_tsc && below(p, 3);
	o->has_cyc = o->has_tsc && below(p, 3);
	o->cyc_threshold = o->has_cyc && one_in(p, 4) ? 1u << below(p, 8) : 0;
}

static void choose_timing(struct ipt_program *p, struct ipt_timing *t)
{
	static const uint16_t numerators[] = {84, 100, 176, 250, 42};

	*t = (struct ipt_timing){.numerator = numerators[below(p, 5)],
				 .denominator = 1 + below(p, 2),
				 .mtc_shift = (uint8_t)below(p, 13),
				 .max_ratio = (uint8_t)(8 + below(p, 40)),
				 .reference = UINT64_C(1000000000) << below(p, 20)};
}

static void add_region(struct ipt_program *p, uint64_t start, uint8_t bits, unsigned int nr_blocks)
{
	struct ipt_region *r = &p->regions[p->nr_regions++];

	*r = (struct ipt_region){.start = start, .bits = bits};
	r->is_outside = p->has_filter && p->nr_regions == 1;
	p->code.outside = p->has_filter && bits == 64 && start < UINT32_MAX && !r->is_outside
				? &p->regions[0]
				: NULL;
	ipt_code_make(r, nr_blocks, &p->code);
}

static void make_code(struct ipt_program *p)
{
	unsigned int nr = 40 + below(p, 600);

	if (p->has_filter)
		add_region(p, 0x601000, 64, 40);
	add_region(p, 0x401000, 64, nr);
	add_region(p, 0x7f1234560000, 64, nr);
	if (p->code.has_os)
		add_region(p, 0xffffffff81000000, 64, nr);
	if (one_in(p, 2))
		add_region(p, 0x8048000, 32, nr);
	if (one_in(p, 3))
		add_region(p, 0x7c00, 16, nr / 6 + 2);
}

static void choose(struct ipt_program *p)
{
	static const uint32_t losses[] = {0, 0, 500, 5000, 50000};
	bool is_peer = p->opts.for_libipt;

	p->has_filter = one_in(p, 6) && !is_peer;
	p->code = (struct ipt_code_opts){.random = &p->random, .has_far = one_in(p, 2)};
	p->code.has_os = p->code.has_far && !p->has_filter && one_in(p, 2);
	p->code.has_vm = p->code.has_os && one_in(p, 2);
	p->code.has_transactions = one_in(p, 2);
	p->code.has_ptwrite = one_in(p, 2);
	p->has_tracestop = one_in(p, 3);
	p->lose_every = losses[below(p, 5)];
	p->interrupt_every = one_in(p, 4) ? 0 : 100 + below(p, 2000);
	p->stop_every = one_in(p, 4) ? 0 : 500 + below(p, 8000);
	p->stray_every = one_in(p, 4) ? 0 : 12;
	p->region_bytes = 64u << below(p, 8);
}

bool ipt_program_make(struct ipt_program *p, const struct ipt_program_opts *o)
{
	struct ipt_encode_opts trace;

	*p = (struct ipt_program){.opts = *o, .random = o->seed};
	choose(p);
	p->config.errata = one_in(p, 3) && !o->for_libipt ? (uint16_t)below(p, ALL_ERRATA + 1) : 0;
	choose_trace(p, &trace);
	trace.errata = p->config.errata;
	choose_timing(p, &trace.timing);
	p->config.timing = trace.timing;
	p->source = (struct code_source){.space = space_of, .find = find, .ctx = p};
	p->source.is_traced = p->has_filter ? is_traced : NULL;
	make_code(p);
	ipt_enc_init(&p->encoder, &trace, splitmix64(&p->random));
	start_at(p, any_place(p, 64, false));
	while (p->encoder.truth.insns.nr < o->nr_insns)
		step(p);
	ipt_enc_finish(&p->encoder, address_of(p, p->at));
	return !p->encoder.out.is_failed;
}

void ipt_program_done(struct ipt_program *p)
{
	for (unsigned int i = 0; i < p->nr_regions; i++)
		ipt_code_done(&p->regions[i]);
	ipt_enc_done(&p->encoder);
}

const char *ipt_program_text(const struct ipt_program *p)
{
	const struct ipt_encode_opts *o = &p->encoder.opts;
	static char ret[400];

	snprintf(ret, sizeof(ret),
		 "seed %llu:%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s, PSB every %u, shift %u, lost 1 in %u",
		 (unsigned long long)p->opts.seed, o->has_returns ? " returns" : "",
		 o->keeps_returns ? " keeps" : "", o->defers ? " defers" : "",
		 o->has_long_tnt ? " long" : "", o->has_any_form ? " forms" : "",
		 o->zips_psb ? " zips" : "", o->has_tsc ? " tsc" : "", o->has_mtc ? " mtc" : "",
		 o->has_cyc ? " cyc" : "", o->has_power ? " power" : "",
		 o->has_notes ? " notes" : "", p->has_filter ? " filter" : "",
		 p->code.has_far ? " far" : "", p->code.has_os ? " os" : "",
		 p->code.has_vm ? " vm" : "", p->code.has_transactions ? " tsx" : "", o->psb_bytes,
		 o->timing.mtc_shift, p->lose_every);
	return ret;
}
