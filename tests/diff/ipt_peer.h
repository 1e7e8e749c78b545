/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_DIFF_IPT_PEER_H
#define TESTS_DIFF_IPT_PEER_H

#include "base/buf.h"
#include "base/vec.h"
#include "make/ipt_truth.h"
#include "packet/pt/ipt_config.h"

/*
 * Another decoder's turn: libipt's of instructions and its of blocks, on the same bytes and code.
 */
struct ipt_peer {
	/* Set by the caller. */
	const struct ipt_truth *truth;
	const struct ipt_config *config;
	const struct code_source *code;
	const struct buf *trace;
	/** Space i + 1 of the code is that from instruction starts[i] on. */
	const uint64_t *starts;
	size_t nr_starts;
	unsigned int family, model; /* of the processor, for its errors; 0: unknown */
	uint64_t filter_from, filter_to;
	bool has_filter;

	uint64_t at; /* instructions so far */
	size_t space;
	char why[300];
};

/** Built with libipt? */
bool ipt_peer_can(void);
struct ipt_addresses {
	VEC(uint64_t);
};

/** What its decoder of instructions gives, without a truth; after an error it continues at the next
 * PSB. @return false: no memory. */
bool ipt_peer_insns(struct ipt_peer *p, struct ipt_addresses *ret);
/** @return whether both decoders give the truth's instructions; else p->why. */
bool ipt_peer_agrees(struct ipt_peer *p);

#endif
