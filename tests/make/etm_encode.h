/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_ENCODE_H
#define TESTS_MAKE_ETM_ENCODE_H

#include "base/buf.h"
#include "packet/etm/etm_config.h"

/*
 * Every instruction trace packet of ETMv4 and ETE, field by field: one function a packet, no state,
 * nothing shared with the decoder. What is no field is 0. Values wider than their field are cut.
 * etm_tracer.h writes whole legal streams with these.
 * Spec: IHI 0064 "Instruction trace packets"; DDI 0487 "ETE packets".
 */

/** A field of 7 bits a byte, the lowest first. @p nr_bytes 0: as few as hold it; more: padded. */
void enc_field(struct buf *b, uint64_t v, unsigned int nr_bytes);
unsigned int enc_field_bytes(uint64_t v);

/* Synchronisation, and what stands alone. */
void enc_async(struct buf *b);
void enc_discard(struct buf *b);
void enc_overflow(struct buf *b);
void enc_ignore(struct buf *b);
void enc_trace_on(struct buf *b);
void enc_func_ret(struct buf *b);
void enc_except_rtn(struct buf *b);
void enc_trans_start(struct buf *b);
void enc_trans_commit(struct buf *b);
void enc_ts_marker(struct buf *b);
/** @p events: bits 3:0, not 0. */
void enc_event(struct buf *b, unsigned int events);
void enc_instrumentation(struct buf *b, unsigned int el, uint64_t value);

enum { ENC_INFO = 1, ENC_KEY = 2, ENC_SPEC = 4, ENC_CYCT = 8, ENC_WNDW = 16 };
enum { ENC_INFO_CC = 1 << 0, ENC_INFO_TRANS = 1 << 6 };
struct enc_trace_info {
	unsigned int sections; /* ENC_INFO ... ENC_WNDW: those that are sent */
	uint32_t info, key, spec, cyct, wndw;
	unsigned int more_plctl;  /* further PLCTL bytes, all 0 */
	unsigned int field_bytes; /* of each section; 0: as few as hold it */
};
void enc_trace_info(struct buf *b, const struct enc_trace_info *t);

/** @p nr_bytes 1 to 9: the low 7 * nr_bytes bits (9: all 64). */
void enc_timestamp(struct buf *b, uint64_t v, unsigned int nr_bytes);
/** And @p count in a field of @p count_bytes (0: as few as hold it). */
void enc_timestamp_count(struct buf *b, uint64_t v, unsigned int nr_bytes, uint32_t count,
			 unsigned int count_bytes);
/** The bytes a timestamp needs after @p last. */
unsigned int enc_timestamp_bytes(uint64_t last, uint64_t v);

/* Exceptions. An address packet has to follow all but the last two. */
enum { ENC_E_RETURN = 1, ENC_E_TARGET = 2 }; /* E1:E0 */
/** @p nr_bytes 1 or 2 after the header; 0: as few as hold it. */
void enc_exception(struct buf *b, unsigned int type, unsigned int e, bool is_fault_pending,
		   unsigned int nr_bytes);
void enc_pe_reset(struct buf *b);
void enc_trans_fail(struct buf *b);

/** How an address is sent. S1, S2: short, with one or two bytes. */
enum enc_form {
	ENC_MATCH_0,
	ENC_MATCH_1,
	ENC_MATCH_2,
	ENC_S1_IS0,
	ENC_S2_IS0,
	ENC_S1_IS1,
	ENC_S2_IS1,
	ENC_32_IS0,
	ENC_32_IS1,
	ENC_64_IS0,
	ENC_64_IS1,
	NR_ENC_FORMS
};
void enc_address(struct buf *b, enum enc_form form, uint64_t a);
void enc_source_address(struct buf *b, enum enc_form form, uint64_t a);
/** Not ENC_64. @p count_bytes 0: as few as hold it. */
void enc_q_address(struct buf *b, enum enc_form form, uint64_t a, uint32_t count,
		   unsigned int count_bytes);
/** The address comes in a packet of its own. */
void enc_q_count(struct buf *b, uint32_t count, unsigned int count_bytes);
void enc_q(struct buf *b);

struct enc_context {
	uint8_t el;
	bool sf, ns, nse;
	bool has_vmid, has_cid; /* V, C: sent */
	uint32_t vmid, cid;
};
/** Header 80. */
void enc_context_same(struct buf *b);
/** VMID and CID of the sizes that @p c has. */
void enc_context(struct buf *b, const struct etm_config *c, const struct enc_context *x);
/** @p form: ENC_32 or ENC_64. */
void enc_address_context(struct buf *b, const struct etm_config *c, enum enc_form form, uint64_t a,
			 const struct enc_context *x);

/* Cycle counts. @p count is what is sent: the threshold is not in it. Commits are sent with
 * COMMOPT = 0 only: @p c has it. */
void enc_count_f1(struct buf *b, const struct etm_config *c, uint32_t commit, uint32_t count);
void enc_count_f1_unknown(struct buf *b, const struct etm_config *c, uint32_t commit);
/** @p commit 1 to 16, or, with @p f, max_spec - 15 to max_spec; @p count 0 to 15. */
void enc_count_f2(struct buf *b, const struct etm_config *c, bool f, uint32_t commit,
		  uint32_t count);
/** @p commit 1 to 4; @p count 0 to 3. */
void enc_count_f3(struct buf *b, const struct etm_config *c, uint32_t commit, uint32_t count);

/* Speculation. */
void enc_commit(struct buf *b, uint32_t nr);
void enc_cancel_f1(struct buf *b, uint32_t nr, bool is_mispredict);
/** Atoms in front of a mispredict. */
enum enc_few { ENC_FEW_NONE, ENC_FEW_E, ENC_FEW_EE, ENC_FEW_N };
void enc_mispredict(struct buf *b, enum enc_few atoms);
/** Cancels one. */
void enc_cancel_f2(struct buf *b, enum enc_few atoms);
/** @p nr 2 to 5. */
void enc_cancel_f3(struct buf *b, bool has_e, uint32_t nr);

/* Atoms: bit 0 is the oldest, 1 = E. */
void enc_atom_f1(struct buf *b, unsigned int bits);
void enc_atom_f2(struct buf *b, unsigned int bits);
void enc_atom_f3(struct buf *b, unsigned int bits);
/** Four: N E E E, N N N N, N E N E, E N E N. @return false: others, nothing is written. */
bool enc_atom_f4(struct buf *b, unsigned int bits);
/** Five: N E E E E, N N N N N, N E N E N, E N E N E. */
bool enc_atom_f5(struct buf *b, unsigned int bits);
/** @p nr_e times E (4 to 24), or with @p has_n (3 to 23) and then N. */
bool enc_atom_f6(struct buf *b, unsigned int nr_e, bool has_n);
/** One packet for the first atoms of @p nr, as many as fit into format @p f (1 to 6).
 * @return how many; 0: they have no such packet. */
unsigned int enc_atoms_as(struct buf *b, unsigned int f, uint64_t bits, unsigned int nr);
/** All @p nr (to 64), in few packets. */
void enc_atoms(struct buf *b, uint64_t bits, unsigned int nr);

#endif
