/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_PACKET_H
#define PACKET_PT_IPT_PACKET_H

#include <clew/err.h>

#include "base/bytes.h"
#include "packet/pt/ipt_config.h"

/*
 * Intel PT bytes -> packets: syntax, and the two things that packets share: the last address, and
 * whether they are in a block of PEBS. No code is looked at and nothing binds: see flow/pt.
 * Spec: Intel SDM volume 3, "Intel Processor Trace"; docs/spec/intel-pt.md lists every header byte.
 */

enum ipt_kind {
	IPT_BAD,        /* reserved header or field: its first byte */
	IPT_INCOMPLETE, /* the input ended inside a packet (ipt_packets_finish) */
	IPT_NOT_SYNCED, /* bytes skipped while looking for a PSB */
	IPT_PAD,
	IPT_PSB,
	IPT_PSBEND,
	IPT_TNT, /* short or long */
	IPT_TIP,
	IPT_TIP_PGE,
	IPT_TIP_PGD,
	IPT_FUP,
	IPT_TSC,
	IPT_TMA,
	IPT_MTC,
	IPT_CYC,
	IPT_CBR,
	IPT_MODE, /* one of the two below */
	IPT_MODE_EXEC,
	IPT_MODE_TSX,
	IPT_PIP,
	IPT_VMCS,
	IPT_OVF,
	IPT_TRACESTOP,
	IPT_MNT,
	IPT_PTW,
	IPT_EXSTOP,
	IPT_MWAIT,
	IPT_PWRE,
	IPT_PWRX,
	IPT_CFE,
	IPT_EVD,
	IPT_BBP,
	IPT_BIP,
	IPT_BEP,
	IPT_TRIG,
	NR_IPT_KINDS
};

enum {
	IPT_MAX_TNT = 47,
	IPT_MAX_SHORT_TNT = 6,
};

/** The address of a VMCS where there is none: all its bits. */
#define IPT_NO_VMCS (UINT64_C(0xffffffffff) << 12)

/** IPBytes: how an address is compressed. */
enum ipt_ip_form {
	IPT_IP_NONE = 0,   /* suppressed: no address, and the last one stays */
	IPT_IP_16 = 1,     /* bits 15:0, the others of the last address */
	IPT_IP_32 = 2,     /* bits 31:0 */
	IPT_IP_SEXT48 = 3, /* bits 47:0, bit 47 extended */
	IPT_IP_48 = 4,     /* bits 47:0, 63:48 of the last address */
	IPT_IP_64 = 6,
};

struct ipt_packet {
	uint8_t kind;    /* enum ipt_kind */
	uint8_t ip_form; /* TIP*, FUP: enum ipt_ip_form */
	uint8_t nr_tnt;  /* TNT: 1 to IPT_MAX_TNT */
	bool has_fup;    /* PTW, EXSTOP, CFE, BEP, TRIG: a FUP that belongs to it follows */
	/** TIP*, FUP: compressed against an address from before an overflow */
	bool is_doubtful;
	uint64_t offset;      /* of the first byte, in the stream's bytes since the reset */
	uint64_t bytes;       /* all of the packet */
	union {               /* what the kind has */
		uint64_t ip;  /* TIP*, FUP, whole; IPT_IP_NONE: the last one */
		uint64_t tnt; /* bit 0: the oldest; 1: taken */
		uint64_t tsc; /* bits 55:0 */
		uint64_t cyc;
		uint64_t vmcs; /* its physical address; IPT_NO_VMCS: none */
		uint64_t mnt;
		uint64_t ptw;
		uint8_t mtc; /* 8 bits of the crystal clock */
		uint8_t cbr; /* core:bus ratio */
		struct {
			uint16_t ctc;      /* bits 15:0 of the crystal clock */
			uint16_t fast;     /* ticks of the TSC since then */
			bool has_reserved; /* bits that are 0 are not */
		} tma;
		struct {
			bool cs_l, cs_d, is_if; /* cs_l: 64 bit; else cs_d: 32, else 16 */
		} exec;
		struct {
			bool is_in, is_abort;
		} tsx;
		struct {
			uint64_t cr3; /* bits 51:5 */
			bool is_non_root;
		} pip;
		struct {
			uint32_t hints, extensions;
		} mwait;
		struct {
			uint8_t state, sub_state;
			bool is_hw;
		} pwre;
		struct {
			uint8_t last, deepest, reason;
		} pwrx;
		struct {
			uint8_t type, vector;
		} cfe;
		struct {
			uint64_t payload;
			uint8_t type;
		} evd;
		struct {
			uint8_t type, item_bytes; /* 4 or 8 */
		} bbp;
		struct {
			uint64_t value;
			uint8_t item;
		} bip;
		struct {
			uint8_t trbv;
			bool is_multiple, has_count;
			uint16_t count;
		} trig;
	};
};

/** State that packets share. The caller's; copying it copies the decoder. */
struct ipt_packets {
	const struct ipt_config *config;
	uint64_t last_ip;
	uint64_t offset; /* of the first byte that no packet has had */
	bool is_synced;
	bool is_after_overflow; /* no whole address since */
	uint8_t item_bytes;     /* 0: not in a block of PEBS */
	uint8_t nr_held;
	uint8_t held[16]; /* a packet that the input cut */
	/* Looking for a PSB. */
	uint64_t nr_skipped;
	uint64_t nr_run;  /* bytes of 02 82 02 82 ... */
	uint64_t nr_psbs; /* found, not returned */
};

void ipt_packets_init(struct ipt_packets *p, const struct ipt_config *config);

/** Wait for the next PSB. @p offset: of the next byte to be fed. */
void ipt_packets_reset(struct ipt_packets *p, uint64_t offset);

/**
 * The next packet. Bytes of a packet that the input cuts are kept inside: any chunking gives the
 * same packets. Of more than eight pairs 02 82 in a row the last eight are the PSB.
 * @return CLEW_END: more input is needed. IPT_BAD leaves the decoder unsynced. Never fails: every
 * byte string has a reading. Cost: some ns.
 */
enum clew_err ipt_packets_next(struct ipt_packets *p, struct bytes *in, struct ipt_packet *ret);

/** The input is over: what is left inside. A packet that the end cuts is no error in the trace.
 * @return CLEW_END: nothing. Reset before the next input. */
enum clew_err ipt_packets_finish(struct ipt_packets *p, struct ipt_packet *ret);

/** "TIP.PGE", "MODE.Exec": the specification's name. */
const char *ipt_kind_name(enum ipt_kind kind);

/** Is it one of those with an address: TIP, TIP.PGE, TIP.PGD, FUP? */
static inline bool ipt_has_ip_form(enum ipt_kind kind)
{
	return kind >= IPT_TIP && kind <= IPT_FUP;
}

/** An address of @p form with @p payload, after @p last. */
static inline uint64_t ipt_ip_of(enum ipt_ip_form form, uint64_t payload, uint64_t last)
{
	switch (form) {
	case IPT_IP_16:
		return (last & ~UINT64_C(0xffff)) | payload;
	case IPT_IP_32:
		return (last & ~UINT64_C(0xffffffff)) | payload;
	case IPT_IP_SEXT48:
		return payload >> 47 ? payload | UINT64_C(0xffff) << 48 : payload;
	case IPT_IP_48:
		return (last & UINT64_C(0xffff) << 48) | payload;
	case IPT_IP_64:
		return payload;
	case IPT_IP_NONE:
		break;
	}
	return last;
}

#endif
