/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ENC_UNIT_H
#define TESTS_MAKE_ENC_UNIT_H

#include "make/etm_code.h"
#include "make/etm_encode.h"

/*
 * The part of a trace unit that compresses: groups atoms into packets, chooses an address's form,
 * keeps the return stack and the number of uncommitted P0 elements. It is given what the PE did and
 * knows nothing of code. With a random generator it chooses any legal packet, else the shortest.
 * Spec: IHI 0064, "Trace unit"; written from the specification, not from the decoder.
 */
enum { ENC_UNIT_STACK = 16 };

struct enc_unit {
	const struct etm_config *config;
	struct etm_random *random; /* NULL: always the shortest */
	struct buf out;
	struct {
		uint64_t address;
		uint8_t is;
		bool is_known;
	} history[3];
	uint64_t timestamp;
	uint32_t threshold;
	bool is_64;                 /* as the packets say */
	struct enc_context context; /* last sent, on the right path */
	bool has_context;
	uint64_t atoms; /* not sent yet, oldest lowest */
	unsigned int nr_atoms;
	uint32_t depth; /* uncommitted P0 elements, unsent atoms included */
	struct enc_unit_stack {
		struct {
			uint64_t address;
			uint8_t isa;
		} entries[ENC_UNIT_STACK];
		unsigned int nr, depth; /* depth 0: none */
		bool no_push;
	} stack;
};

void enc_unit_flush(struct enc_unit *u);

/** Async and trace info: nothing that was sent before is needed to read on. */
void enc_unit_sync(struct enc_unit *u, bool has_cycles, bool in_transaction);
void enc_unit_async_only(struct enc_unit *u);
void enc_unit_info_only(struct enc_unit *u, bool has_cycles, bool in_transaction);

void enc_unit_atom(struct enc_unit *u, bool is_e);
/** One more P0 element. */
void enc_unit_p0(struct enc_unit *u);

/** The next address, as a packet of its own. */
void enc_unit_address(struct enc_unit *u, uint64_t a, bool is_t32);
/** Address and context in one or two packets. */
void enc_unit_address_context(struct enc_unit *u, uint64_t a, bool is_t32,
			      const struct enc_context *c, bool is_full);
/** Context alone. @p is_full: CONTEXTIDR and VMID are sent, changed or not. */
void enc_unit_context(struct enc_unit *u, const struct enc_context *c, bool is_full);
void enc_unit_source(struct enc_unit *u, uint64_t a, bool is_t32);
void enc_unit_q(struct enc_unit *u, uint64_t a, bool is_t32, uint32_t count, bool has_count);
/** Without its address. */
void enc_unit_exception(struct enc_unit *u, unsigned int type, unsigned int e);
/** No address is certain after this one (PE reset, a failed transaction). */
void enc_unit_forget_history(struct enc_unit *u);

void enc_unit_timestamp(struct enc_unit *u, uint64_t v);
void enc_unit_timestamp_count(struct enc_unit *u, uint64_t v, uint32_t count);
/** @p count >= threshold; @p commit: with COMMOPT = 0, 1 to depth. */
void enc_unit_cycles(struct enc_unit *u, uint32_t commit, uint32_t count, bool is_known);
void enc_unit_commit(struct enc_unit *u, uint32_t nr);
/** Take the newest @p nr back, then, with @p is_mispredict, turn the newest atom round. */
void enc_unit_cancel(struct enc_unit *u, uint32_t nr, bool is_mispredict);

void enc_unit_push(struct enc_unit *u, uint64_t a, enum isa isa);
/** Is this what a decoder expects anyway? Then it is taken from the stack. */
bool enc_unit_pop(struct enc_unit *u, uint64_t a, enum isa isa);

#endif
