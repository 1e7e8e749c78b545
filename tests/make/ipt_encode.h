/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_IPT_ENCODE_H
#define TESTS_MAKE_IPT_ENCODE_H

#include "make/ipt_truth.h"
#include "packet/pt/ipt_write.h"

/*
 * A trace unit: it is given what a processor executes, in order, writes the packets, and keeps the
 * truth that they prove. Instructions that no packet proves yet are lost by an overflow, and at the
 * end.
 * Spec: Intel SDM volume 3, "Intel Processor Trace"; docs/spec/intel-pt.md.
 */
enum { IPT_ENC_STACK = 64, IPT_ENC_TIPS = 24 };

struct ipt_encode_opts {
	bool has_returns;   /* return compression */
	bool keeps_returns; /* wrong, as libipt has it: only a compressed return takes an entry */
	bool defers;        /* TNT may come after TIPs of branches between its bits */
	bool has_long_tnt;
	bool has_any_form;   /* any form that holds the address, not only the shortest */
	bool zips_psb;       /* the FUP of a PSB+ is compressed against 0 */
	bool has_early_fups; /* an error of some processors: in a PSB+, though tracing is off */
	uint16_t errata;     /* enum ipt_erratum: others, SKD007, SKZ84, APL11, APL12 */
	bool has_tsc, has_mtc, has_cyc;
	bool has_pip;   /* in PSB+ */
	bool has_power; /* CBR changes, power events, MNT and PAD, now and then */
	bool has_notes; /* Event Trace and PEBS, as other tools do not read them */
	uint32_t cyc_threshold;
	uint32_t psb_bytes; /* between PSBs, 0: only at the start */
	struct ipt_timing timing;
};

struct ipt_encoder {
	struct ipt_encode_opts opts;
	struct buf out;
	struct ipt_truth truth;
	uint64_t random;
	uint64_t last_ip;

	/* Not written yet. */
	uint64_t tnt, tips[IPT_ENC_TIPS];
	unsigned int nr_tnt, most_tnt, nr_tips;
	uint64_t nr_answered; /* instructions, up to the last one with a bit or TIP */
	uint64_t nr_proven;

	uint64_t stack[IPT_ENC_STACK];
	unsigned int stack_top, nr_stack;

	struct code_x86_context context; /* as the trace says */
	uint8_t sent_bits;               /* of the last MODE.Exec; 0: it is to be sent again */
	bool is_on, is_in_transaction;
	bool is_after_overflow; /* no TRACE_ON since */
	bool needs_full, needs_psb, is_after_pip;
	size_t psb_at;

	uint64_t ticks, part; /* of the TSC; part: cycles * max_ratio that make no whole tick */
	uint64_t nr_cycles;   /* since the last CYC */
	uint64_t mtc;         /* of the last MTC or TMA, with all bits */
	uint8_t cbr;
};

/** Execution begins in 64-bit mode. */
void ipt_enc_init(struct ipt_encoder *e, const struct ipt_encode_opts *opts, uint64_t seed);
void ipt_enc_done(struct ipt_encoder *e);

/* --- instructions, each followed by what its branch did --- */

void ipt_enc_insn(struct ipt_encoder *e, uint64_t ip, unsigned int bytes);
void ipt_enc_drop_insn(struct ipt_encoder *e); /* it did not complete */
void ipt_enc_cond(struct ipt_encoder *e, bool is_taken);
void ipt_enc_call(struct ipt_encoder *e, uint64_t back);
void ipt_enc_indirect(struct ipt_encoder *e, uint64_t to);
void ipt_enc_return(struct ipt_encoder *e, uint64_t to);

/** What a change of context writes. */
struct ipt_enc_change {
	uint8_t bits;
	bool has_pip, has_vmcs;
	bool is_guest;
	uint64_t cr3, vmcs;
};
void ipt_enc_far(struct ipt_encoder *e, uint64_t to, const struct ipt_enc_change *c);
void ipt_enc_mov_cr3(struct ipt_encoder *e, uint64_t cr3);
void ipt_enc_vmptrld(struct ipt_encoder *e, uint64_t vmcs);
void ipt_enc_ptwrite(struct ipt_encoder *e, uint64_t ip, uint64_t value, bool is_wide, bool has_ip);

/* --- events between instructions --- */

void ipt_enc_async(struct ipt_encoder *e, uint64_t from, uint64_t to,
		   const struct ipt_enc_change *c);
/** A transaction begins or commits at @p ip. */
void ipt_enc_transaction(struct ipt_encoder *e, bool is_in, uint64_t ip);
void ipt_enc_abort(struct ipt_encoder *e, uint64_t from, uint64_t to);
/** Timing and PSB+ that are due, @p ip: of the next instruction; and what opts.has_power says. */
void ipt_enc_between(struct ipt_encoder *e, uint64_t ip);
void ipt_enc_psb(struct ipt_encoder *e, uint64_t ip);

/* --- on, off, lost --- */

void ipt_enc_start(struct ipt_encoder *e, uint64_t ip, uint8_t bits);
/** By an interrupt or by software, before the instruction at @p from; @p to: 0, or, where only a
 * filter of addresses ends it, where execution continues. */
void ipt_enc_stop_at(struct ipt_encoder *e, uint64_t from, uint64_t to, bool is_tracestop);
/** By the branch that came last; @p to: 0: the packet does not say. */
void ipt_enc_stop_by(struct ipt_encoder *e, uint64_t to);
enum ipt_enc_overflow {
	IPT_ENC_LOST_OFF,
	IPT_ENC_LOST_ON,
	IPT_ENC_LOST_PSB,
	IPT_ENC_LOST_IN_PSB,
	IPT_ENC_LOST_FUP
};
/** @p ip: where execution is, unless it ends with tracing off. LOST_FUP, an error of processors:
 * there an indirect branch goes, before which nothing is said. */
void ipt_enc_overflow(struct ipt_encoder *e, enum ipt_enc_overflow how, uint64_t ip);
/** Tracing ends before @p ip; the truth is what is proven. */
void ipt_enc_finish(struct ipt_encoder *e, uint64_t ip);

/* --- time --- */

/** While tracing is on, each MTC comes when it is due. */
void ipt_enc_pass(struct ipt_encoder *e, uint64_t nr_cycles);
/** TSC, and TMA if there is MTC. */
void ipt_enc_tsc(struct ipt_encoder *e);
/** The same, after all that waits. @return its ticks */
uint64_t ipt_enc_sync_time(struct ipt_encoder *e);

/* Of the encoder's own files. */
void ipt_enc_put(struct ipt_encoder *e, const struct ipt_packet *k);
void ipt_enc_put_cyc(struct ipt_encoder *e);
void ipt_enc_put_mtc(struct ipt_encoder *e);
void ipt_enc_put_cbr(struct ipt_encoder *e);
void ipt_enc_put_power(struct ipt_encoder *e, uint64_t ip);
void ipt_enc_put_address(struct ipt_encoder *e, enum ipt_kind kind, uint64_t ip, bool is_full);
void ipt_enc_flush(struct ipt_encoder *e);
void ipt_enc_prove(struct ipt_encoder *e);

#endif
