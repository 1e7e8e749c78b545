/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_IPT_SET_H
#define TESTS_PROP_IPT_SET_H

#include "base/buf.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "flow/flow.h"
#include "packet/pt/ipt_config.h"

/*
 * What an x86 program executed, as an emulator saw it, and the Intel PT of it. Kept as three files:
 *
 *   NAME.txt    lines "key value": clocks, the ticks at which code changed, what comes of it
 *   NAME.code   the instructions that were executed: u64 address, u32 version, u32 number, bytes;
 *               little endian
 *   NAME.trace  the bytes of the trace
 */
enum { IPT_PAGE_BYTES = 4096 };

struct ipt_page {
	uint64_t number;
	uint32_t version; /* the first that it is of */
	uint8_t bytes[IPT_PAGE_BYTES];
	bool is_known[IPT_PAGE_BYTES]; /* executed */
};

/** Code that changes: version v + 1 begins at tick starts[v]. */
struct ipt_versions {
	struct {
		VEC(struct ipt_page *);
	} pages;               /* frozen: by number, then version */
	struct map_u64 newest; /* page by number */
	struct {
		VEC(uint64_t);
	} starts;
	struct code_source source; /* space = version; after ipt_versions_freeze() */
};

void ipt_versions_init(struct ipt_versions *v);
void ipt_versions_done(struct ipt_versions *v);
/** Do [@p bytes, @p bytes + @p nr) differ from what was executed at @p address last? */
bool ipt_versions_differs(struct ipt_versions *v, uint64_t address, const uint8_t *bytes,
			  unsigned int nr);
/** In the newest version; older ones keep what they have. @return false: no memory. */
bool ipt_versions_set(struct ipt_versions *v, uint64_t address, const uint8_t *bytes,
		      unsigned int nr);
void ipt_versions_freeze(struct ipt_versions *v);

struct ipt_set {
	struct ipt_config config;
	struct ipt_versions code;
	struct buf trace;
	uint64_t nr_insns, digest;
};

/** A sum of addresses that is the same everywhere, for ever; it begins with 0. */
uint64_t ipt_set_digest(uint64_t digest, uint64_t address);

/** What a flow says of a set. */
struct ipt_set_sum {
	const struct code_source *code;
	uint64_t nr_insns, digest, nr_lost;
};
/** For flow_opts.batch; ctx is a struct ipt_set_sum. */
enum clew_err ipt_set_batch(void *ctx, const struct flow_batch *b);

/** @p path: without the ending. @return false: missing, or not a set. */
bool ipt_set_load(struct ipt_set *s, const char *path);
bool ipt_set_save(const struct ipt_set *s, const char *path);
void ipt_set_done(struct ipt_set *s);

#endif
