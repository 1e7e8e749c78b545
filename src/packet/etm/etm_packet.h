/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_ETM_ETM_PACKET_H
#define PACKET_ETM_ETM_PACKET_H

#include "base/bytes.h"
#include "packet/etm/etm_config.h"

/*
 * ETMv4 and ETE bytes -> packets: syntax, and the compression state that packets share (three
 * addresses, the timestamp, the cycle count threshold). No code is looked at and nothing is
 * resolved: see flow/etm.
 * Spec: IHI 0064 "Instruction trace packets"; DDI 0487 "ETE protocol"; docs/spec/coresight.md lists
 * every header byte.
 */

enum etm_kind {
	ETM_BAD,         /* reserved header, or a field that does not end: bytes of one header */
	ETM_INCOMPLETE,  /* the input ended inside a packet (etm_packets_finish) */
	ETM_NOT_SYNCED,  /* bytes skipped while looking for an async */
	ETM_UNSUPPORTED, /* conditional instruction or data sync marker */
	ETM_ASYNC,
	ETM_DISCARD,
	ETM_OVERFLOW,
	ETM_TRACE_INFO,
	ETM_TIMESTAMP, /* with or without a cycle count */
	ETM_TRACE_ON,
	ETM_FUNC_RET,
	ETM_EXCEPT,
	ETM_EXCEPT_RTN,
	ETM_PE_RESET,
	ETM_TRANS_FAIL,
	ETM_ITE,
	ETM_TRANS_ST,
	ETM_TRANS_COMMIT,
	ETM_CCNT_F1,
	ETM_CCNT_F2,
	ETM_CCNT_F3,
	ETM_COMMIT,
	ETM_CANCEL_F1,
	ETM_CANCEL_F1_MISPRED,
	ETM_MISPREDICT,
	ETM_CANCEL_F2,
	ETM_CANCEL_F3,
	ETM_IGNORE,
	ETM_EVENT,
	ETM_CTXT,
	ETM_ADDR_CTXT_L_32IS0,
	ETM_ADDR_CTXT_L_32IS1,
	ETM_ADDR_CTXT_L_64IS0,
	ETM_ADDR_CTXT_L_64IS1,
	ETM_TS_MARKER,
	ETM_ADDR_MATCH,
	ETM_ADDR_S_IS0,
	ETM_ADDR_S_IS1,
	ETM_ADDR_L_32IS0,
	ETM_ADDR_L_32IS1,
	ETM_ADDR_L_64IS0,
	ETM_ADDR_L_64IS1,
	ETM_Q,
	ETM_SRC_ADDR_MATCH,
	ETM_SRC_ADDR_S_IS0,
	ETM_SRC_ADDR_S_IS1,
	ETM_SRC_ADDR_L_32IS0,
	ETM_SRC_ADDR_L_32IS1,
	ETM_SRC_ADDR_L_64IS0,
	ETM_SRC_ADDR_L_64IS1,
	ETM_ATOM_F1,
	ETM_ATOM_F2,
	ETM_ATOM_F3,
	ETM_ATOM_F4,
	ETM_ATOM_F5,
	ETM_ATOM_F6,
	NR_ETM_KINDS
};

/** Oldest in bit 0; 1 = E. */
struct etm_atoms {
	uint32_t bits;
	uint8_t nr; /* 0 to 24 */
};

struct etm_context {
	bool has_payload; /* false: header 80, nothing changed */
	uint8_t el;
	bool sf, ns, nse;
	bool has_vmid, has_cid; /* traced; else as before */
	uint32_t vmid, cid;
};

struct etm_packet {
	uint8_t kind; /* enum etm_kind */
	uint8_t header;
	uint64_t offset; /* of the header, in the stream's bytes since the reset */
	uint64_t bytes;  /* all of the packet */
	/* What the kind has; the rest is 0. */
	uint64_t address; /* ADDR, SRC_ADDR, Q with an address */
	uint8_t is;       /* 0: A64 or A32; 1: T32 */
	uint8_t match;    /* ADDR_MATCH, SRC_ADDR_MATCH, Q: entry 0-2 */
	struct etm_context context;
	struct etm_atoms atoms;        /* ATOM_*, MISPREDICT, CANCEL_F2, F3: those in front */
	uint32_t commit;               /* COMMIT, CCNT_*: P0 elements; CANCEL_*: cancelled */
	bool is_mispredict;            /* CANCEL_*, MISPREDICT */
	uint64_t timestamp;            /* whole; 0: the unit has no time source */
	uint8_t timestamp_bits;        /* how many were sent */
	bool has_count;                /* TIMESTAMP, CCNT_*; false: unknown */
	uint32_t count;                /* cycles, threshold added */
	uint16_t exception;            /* EXCEPT: TYPE */
	uint8_t exception_e;           /* E1:E0 */
	bool is_fault_pending;         /* M profile */
	bool has_address, has_q_count; /* Q */
	uint32_t q_count;              /* Q: instructions */
	uint8_t events;                /* EVENT: bits 3:0 */
	uint8_t ite_el;                /* ITE */
	uint64_t ite_value;
	struct {
		uint32_t info, key, spec, cyct;
		uint8_t sections; /* bit 0 INFO, 1 KEY, 2 SPEC, 3 CYCT, 4 WNDW */
	} trace_info;
};

/** TYPE of an exception packet, A and R profile; numbers between are reserved.
 * Spec: IHI 0064 and DDI 0487, exception packet. */
enum etm_exception {
	ETM_EXC_RESET = 0,
	ETM_EXC_DEBUG_HALT = 1,
	ETM_EXC_CALL = 2,
	ETM_EXC_TRAP = 3,
	ETM_EXC_SYSTEM_ERROR = 4,
	ETM_EXC_INSN_DEBUG = 6,
	ETM_EXC_DATA_DEBUG = 7,
	ETM_EXC_ALIGNMENT = 10,
	ETM_EXC_INSN_FAULT = 11,
	ETM_EXC_DATA_FAULT = 12,
	ETM_EXC_IRQ = 14,
	ETM_EXC_FIQ = 15,
};

/** State that packets share. The caller's; copying it copies the decoder. */
struct etm_packets {
	const struct etm_config *config;
	struct {
		uint64_t address;
		uint8_t is;
	} history[3];
	uint64_t timestamp;
	uint32_t threshold;
	bool is_synced, is_aarch64;
	uint64_t offset;  /* of the next byte */
	uint8_t held[32]; /* a packet that the input cut */
	uint8_t nr_held, nr_zeros;
	uint64_t nr_skipped;
};

void etm_packets_init(struct etm_packets *p, const struct etm_config *config);

/** Push onto the history of addresses that short packets refer to. */
static inline void etm_packets_remember(struct etm_packets *p, uint64_t address, uint8_t is)
{
	p->history[2] = p->history[1];
	p->history[1] = p->history[0];
	p->history[0].address = address;
	p->history[0].is = is;
}

/** Wait for the next async. @p offset: of the next byte to be fed. */
void etm_packets_reset(struct etm_packets *p, uint64_t offset);

/**
 * The next packet. Bytes of a packet that the input cuts are kept inside: any chunking gives the
 * same packets.
 * @return CLEW_END: more input is needed. ETM_BAD and ETM_UNSUPPORTED leave the decoder unsynced.
 * Never fails: every byte string has a reading. Cost: some ns.
 */
enum clew_err etm_packets_next(struct etm_packets *p, struct bytes *in, struct etm_packet *ret);

/** The input is over: @return CLEW_OK with ETM_INCOMPLETE or ETM_NOT_SYNCED for what is left
 * inside; CLEW_END: nothing. */
enum clew_err etm_packets_finish(struct etm_packets *p, struct etm_packet *ret);

/** "I_ATOM_F3", ...: the specification's name. */
const char *etm_kind_name(enum etm_kind kind);

#endif
