/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FLOW_PT_IPT_FLOW_IMPL_H
#define FLOW_PT_IPT_FLOW_IMPL_H

#include "flow/flow_core.h"
#include "flow/pt/ipt_flow.h"
#include "packet/pt/ipt_clock.h"

enum {
	IPT_MAX_WAITING = 8, /* TNT packets that wait for an address; real ones: 1 */
	IPT_MAX_NOTES = 8,   /* packets that wait for their FUP */
	IPT_MAX_IDLES = 2,   /* that wait for an EXSTOP */
	IPT_MAX_EVDS = 64,   /* EVD packets that wait for their CFE; real ones: 3 */
	IPT_MAX_LATER = 16,  /* packets after a place that the next one decides on */
};

enum ipt_phase {
	IPT_WAIT_PSB,
	IPT_IN_PSB, /* between PSB and PSBEND */
	IPT_RUNNING,
};

/** Is anything traced? */
enum ipt_power {
	IPT_UNKNOWN, /* trace was lost */
	IPT_OFF,
	IPT_ON,
};

/** What changes with a TIP, or at a place. */
struct ipt_context {
	bool has_mode, has_pip, has_vmcs;
	bool has_half, is_kernel; /* of addresses */
	bool is_if;               /* with has_mode */
	bool is_guest;
	uint8_t bits; /* of the mode */
	uint64_t cr3, vmcs;
};

/** The FUP of a PSB+, or after an overflow: execution is there, unless the next packet says that
 * tracing begins only now. */
struct ipt_place {
	bool is_set, is_overflow;
	uint64_t ip;
	struct ipt_context context;
};

struct ipt_bits {
	uint64_t bits; /* the oldest lowest */
	uint8_t nr;
};

struct ipt_evd {
	uint64_t payload;
	uint8_t type;
};

struct ipt_flow {
	struct flow flow;
	struct ipt_flow_opts opts;
	const struct ipt_config *config;
	struct ipt_packets packets;
	struct ipt_clock clock;
	bool has_new_time; /* of a PSB+: holds from its end on */
	enum ipt_phase sync;
	enum ipt_power power;
	bool was_overflow;
	bool lost_bits; /* TNT came while it is unknown where execution is */
	bool is_in_transaction;
	bool was_in_transaction; /* as events said */

	struct ipt_bits waiting[IPT_MAX_WAITING]; /* the oldest first */
	unsigned int nr_waiting;

	struct ipt_context next; /* holds from the next TIP, TIP.PGE, or event on */
	struct ipt_place held;
	struct ipt_packet later[IPT_MAX_LATER]; /* what they mean depends on it */
	unsigned int nr_later;

	uint64_t
		nr_cycles; /* with opts.flow.has_cycles: since the last branch, of what is traced */
	bool has_cycles;   /* a packet had them */
	uint8_t detail;    /* enum flow_detail: of the options, or what the trace allows */
	bool has_point;    /* where execution was last, if code is not followed */
	uint64_t point;

	bool has_event; /* a FUP opened it */
	bool is_abort;  /* of a transaction */
	uint64_t event_ip;

	struct flow_event notes[IPT_MAX_NOTES]; /* for the next FUP */
	unsigned int nr_notes;
	struct flow_event idles[IPT_MAX_IDLES]; /* MWAIT, PWRE: for the EXSTOP that follows */
	unsigned int nr_idles;
	struct ipt_evd evds[IPT_MAX_EVDS]; /* for the next CFE */
	unsigned int nr_evds;
	struct flow_event cfe; /* of the event that the next FUP opens */
	bool has_cfe;
	bool is_mode_last;  /* MODE.Exec was the packet before */
	uint8_t pebs_block; /* type of the last BBP */
	bool has_psb;       /* at psb_offset, and not reported yet */
	bool has_cbr;       /* of a PSB+, not reported yet */
	uint64_t psb_offset, psb_ip;
	uint8_t cbr;
	bool is_if, has_if; /* EFLAGS.IF, as notes said */

	/* By header: how its address is coded (ipt_paths.c). */
	uint8_t tips[256], ends[256], begins[256];
};

static inline struct ipt_flow *ipt_flow_of(struct flow *f)
{
	return (struct ipt_flow *)f; /* its first member */
}

static inline bool ipt_is_ready(const struct ipt_flow *f)
{
	return !f->flow.needs_address && !f->flow.needs_context;
}

/** Is code not followed? Then flow.needs_address stays. */
static inline bool ipt_has_points(const struct ipt_flow *f)
{
	return f->detail != FLOW_ALL;
}

/** Of flow_rules.isas. */
enum ipt_mode { IPT_IN_64, IPT_IN_32, IPT_IN_16 };

static inline enum ipt_mode ipt_mode_of(const struct ipt_flow *f)
{
	uint8_t bits = f->flow.context.x86.bits;

	return bits == 16 ? IPT_IN_16 : bits == 32 ? IPT_IN_32 : IPT_IN_64;
}

/** Those of time, and padding: nothing waits for them. */
static inline bool ipt_is_time(enum ipt_kind kind)
{
	return kind == IPT_PAD || kind == IPT_MNT || kind == IPT_CBR ||
	       (kind >= IPT_TSC && kind <= IPT_CYC);
}

/** What waits for other packets. */
void ipt_drop_open(struct ipt_flow *f);
/** Threads change, and code, too. */
void ipt_put_time(struct ipt_flow *f);

/* --- ipt_notes.c: what is reported besides execution --- */

/** @p k, if it is of those, is taken. *ret as the functions below. @return false: it is not. */
bool ipt_take_note(struct ipt_flow *f, const struct ipt_packet *k, bool *ret);
/** What waits for an EXSTOP, as @p kind comes next: if that is none, it is here. */
bool ipt_settle_idles(struct ipt_flow *f, enum ipt_kind kind);
/** What waits for other packets, which do not come: where that was is unknown. */
void ipt_put_waiting(struct ipt_flow *f);
/** What waits for a FUP ran to, or at, @p ip. */
bool ipt_put_notes(struct ipt_flow *f, uint64_t ip);
/** An event is complete: with what CFE says of it. */
void ipt_put_cfe(struct ipt_flow *f, uint64_t ip);
/** A PSB+ that was not reported yet, at psb_ip. */
void ipt_put_psb(struct ipt_flow *f);
/** EFLAGS.IF, as MODE.Exec has it. @p ip: where it changed, if FLOW_IF_HERE. */
void ipt_put_if(struct ipt_flow *f, bool is_if, enum flow_note_if how, uint64_t ip);

/* --- ipt_points.c: places, where code is not followed --- */

/** What can be shown of a trace of @p config, if @p wanted is. */
enum flow_detail ipt_detail_of(const struct ipt_config *config, uint8_t wanted);
/** Execution is at @p ip; nothing if code is followed. */
void ipt_put_point(struct ipt_flow *f, uint64_t ip, enum flow_point how);
/** The event that is open has its target. */
void ipt_put_event_point(struct ipt_flow *f);
/** It ends tracing; @p has_target: the trace says where execution continues. */
void ipt_put_end_point(struct ipt_flow *f, bool has_target);
/** Trace is lost, after the last place. */
void ipt_put_lost_point(struct ipt_flow *f);
/** With FLOW_SYNCS: @p kind came after a PSB+, and the next one is all that matters. @return
 * whether it is so */
bool ipt_skips_to_psb(struct ipt_flow *f, enum ipt_kind kind);

/* --- ipt_fast.c --- */

void ipt_fast_init(struct ipt_flow *f);
/** Padding says nothing. */
void ipt_skip_pads(struct ipt_flow *f, struct bytes *in);
/** Take what can be taken as paths: none of @p in, some or all. */
void ipt_fast_decode(struct ipt_flow *f, struct bytes *in);

/* Functions that return bool: false: decoding has ended, or the code or the trace does not fit, and
 * flow_front.lose() was called. */

/* --- ipt_psb.c: PSB+ and context packets --- */

bool ipt_begin_psb(struct ipt_flow *f);
/** @return false: it is not one of PSB+. */
bool ipt_take_psb_packet(struct ipt_flow *f, const struct ipt_packet *k);
/** Of the place that is held, as packet @p kind comes next. */
bool ipt_settle(struct ipt_flow *f, enum ipt_kind kind);
void ipt_take_mode(struct ipt_context *c, const struct ipt_packet *k);
/** PIP, VMCS: with the instruction that they are of, if the trace says nothing at it. */
bool ipt_bind_context(struct ipt_flow *f, const struct ipt_packet *k);

/* --- ipt_places.c: packets that say where execution is --- */

/** Execution is at @p ip, and traced from there on. */
void ipt_begin_at(struct ipt_flow *f, uint64_t ip);
/** Where tracing begins, or at a PSB: in a transaction, or not. */
void ipt_put_transaction(struct ipt_flow *f);
/** Execution went to @p to, or FLOW_NO_ADDRESS, where it is not traced. */
void ipt_end_tracing(struct ipt_flow *f, enum flow_cause cause, uint64_t to);
bool ipt_take_fup(struct ipt_flow *f, const struct ipt_packet *k);
bool ipt_take_tip(struct ipt_flow *f, const struct ipt_packet *k);
bool ipt_take_pgd(struct ipt_flow *f, const struct ipt_packet *k);
bool ipt_take_pge(struct ipt_flow *f, const struct ipt_packet *k);
/** What ran since the last answer is unknown; the next FUP or TIP.PGE says where execution is. */
bool ipt_take_overflow(struct ipt_flow *f);

/* --- ipt_walk.c: branches and places --- */

/** Say that the trace cannot be right. @return false */
bool ipt_bad_trace(struct ipt_flow *f, const char *what);
bool ipt_bad_image(struct ipt_flow *f, const char *what);

/** Cycles up to the branch that came last, if they were counted. @p is_exact: the packet that
 * counted them is that of this branch. */
void ipt_put_cycles(struct ipt_flow *f, bool is_exact);
/** More TNT bits, and what they lead to. */
bool ipt_add_bits(struct ipt_flow *f, uint64_t bits, unsigned int nr);
/** As far as bits lead; what is left waits for the address of an indirect branch. */
bool ipt_run_bits(struct ipt_flow *f);
/** Execution comes to @p ip on a way without branches that the trace reports. */
bool ipt_run_to(struct ipt_flow *f, uint64_t ip);
/** The same, and the instruction there of @p detail runs. */
bool ipt_run_through(struct ipt_flow *f, uint64_t ip, uint8_t detail);
/** To the first instruction of INSN_SPECIAL with @p detail, and through it, if none that the trace
 * reports comes first. *ret: its address, or FLOW_NO_ADDRESS. */
bool ipt_run_special(struct ipt_flow *f, uint8_t detail, uint64_t *ret);
/** The branch that left what is traced, where the trace says no more than that; @p to: its target,
 * or FLOW_NO_ADDRESS. */
bool ipt_leave(struct ipt_flow *f, uint64_t to);
/** Can execution come to @p ip on a way without branches that the trace reports? */
bool ipt_may_reach(struct ipt_flow *f, uint64_t ip);
/** The branch that came last went to @p ip, and not where the trace says. */
void ipt_correct_target(struct ipt_flow *f, uint64_t ip);
/** Is execution at a VMLAUNCH or VMRESUME? */
bool ipt_is_at_vm_entry(struct ipt_flow *f);
/** Execution continues at @p ip, in the next context. */
void ipt_go_to(struct ipt_flow *f, uint64_t ip);
/** Has @p c something that the context has not? */
bool ipt_differs(const struct ipt_flow *f, const struct ipt_context *c);
/** What the next context has that differs. */
void ipt_change_context(struct ipt_flow *f, const struct ipt_context *c);

static inline enum isa ipt_isa(const struct ipt_flow *f)
{
	uint8_t bits = f->flow.context.x86.bits;

	return bits == 16 ? ISA_X86_16 : bits == 32 ? ISA_X86_32 : ISA_X86_64;
}

#endif
