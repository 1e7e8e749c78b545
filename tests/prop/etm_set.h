/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_ETM_SET_H
#define TESTS_PROP_ETM_SET_H

#include "base/buf.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "packet/etm/etm_config.h"
#include "prop/etm_log.h"

/*
 * What a program executed, as an emulator saw it, and the trace of it. Kept as three files:
 *
 *   NAME.txt    lines "key value": registers, the ticks at which code changed, what comes of it
 *   NAME.code   the instructions that were executed: u64 address, u32 version, u32 number, words;
 *               little endian
 *   NAME.trace  the bytes of the trace unit
 */
enum { ETM_PAGE_WORDS = 1024, ETM_PAGE_BYTES = 4 * ETM_PAGE_WORDS };

struct etm_page {
	uint64_t number;
	uint32_t version;               /* the first that it is of */
	uint32_t words[ETM_PAGE_WORDS]; /* 0: not executed */
};

/** A64 code that changes: version v + 1 begins with the timestamp starts[v]. */
struct etm_versions {
	struct {
		VEC(struct etm_page *);
	} pages;               /* frozen: by number, then version */
	struct map_u64 newest; /* page by number */
	struct {
		VEC(uint64_t);
	} starts;
	struct code_source source; /* space = version; after etm_versions_freeze() */
};

void etm_versions_init(struct etm_versions *v);
void etm_versions_done(struct etm_versions *v);
/** The word of the newest version; 0: none. */
uint32_t etm_versions_word(struct etm_versions *v, uint64_t address);
/** The word of any version, of a frozen image. */
uint32_t etm_versions_word_of(struct etm_versions *v, uint32_t version, uint64_t address);
/** In the newest version; where @p is_change, older ones keep what they have. */
bool etm_versions_set(struct etm_versions *v, uint64_t address, uint32_t word, bool is_change);
void etm_versions_freeze(struct etm_versions *v);

/** A sum that is the same everywhere, for ever. */
uint64_t etm_set_digest(uint64_t digest, const struct etm_log_entry *e);
enum { ETM_SET_FIRST_DIGEST = 0 };

struct etm_set {
	struct etm_regs regs;
	struct etm_config config;
	struct etm_versions code;
	struct buf trace;
	uint64_t nr_insns, nr_entries, digest;
};

/** @p path: without the ending. @return false: missing, or not a set. */
bool etm_set_load(struct etm_set *s, const char *path);
bool etm_set_save(const struct etm_set *s, const char *path);
void etm_set_done(struct etm_set *s);

#endif
