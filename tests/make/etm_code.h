/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_ETM_CODE_H
#define TESTS_MAKE_ETM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/insn.h"
#include "make/splitmix.h"

/*
 * Random code with a known meaning, because it was made from the meaning: no decoder is asked.
 * Encodings: DDI 0487, the "Branches, Exception Generating and System instructions" of A64 and the
 * instruction sets A32 and T32. Of isa/insn.h only the names are used.
 */
struct etm_random {
	uint64_t state;
};

static inline uint64_t etm_random_u64(struct etm_random *r)
{
	return splitmix64(&r->state);
}

static inline uint32_t etm_random_below(struct etm_random *r, uint32_t n)
{
	return (uint32_t)((etm_random_u64(r) >> 32) * n >> 32);
}

static inline bool etm_random_one_in(struct etm_random *r, uint32_t n)
{
	return !etm_random_below(r, n);
}

enum { ETM_AREA_MAX_BYTES = 2048 };

/** Code of one instruction set at one place. */
struct etm_area {
	uint64_t start;
	uint32_t bytes;
	uint8_t isa;
	bool is_kernel;  /* has exception returns */
	bool is_hidden;  /* the decoder does not get it */
	uint32_t pieces; /* the decoder gets it in regions of so many bytes */
	uint8_t code[ETM_AREA_MAX_BYTES];
	/* By halfword; bytes = 0: no instruction starts there. Targets are addresses. */
	struct insn insns[ETM_AREA_MAX_BYTES / 2];
};

enum { ETM_IMAGE_AREAS = 5 };

/** All that one address space sees. */
struct etm_image {
	struct etm_area areas[ETM_IMAGE_AREAS];
	unsigned int nr;
};

struct etm_code_opts {
	bool has_wfx, has_transactions; /* WFI, WFE; TSTART occur */
	bool is_m_profile;              /* T32 of v8.1-M */
};

/** User space: two areas of A64, one of A32, one of T32; their places are the same in every image.
 */
void etm_image_make_user(struct etm_image *im, struct etm_random *r,
			 const struct etm_code_opts *opts);
/** Three areas of T32. */
void etm_image_make_m(struct etm_image *im, struct etm_random *r, const struct etm_code_opts *opts);
void etm_image_make_kernel(struct etm_image *im, struct etm_random *r,
			   const struct etm_code_opts *opts);

/** The area around an address, or NULL. */
struct etm_area *etm_image_area(struct etm_image *im, uint64_t address);
/** The instruction that starts there in this instruction set, or NULL. */
const struct insn *etm_image_insn(struct etm_image *im, uint64_t address, enum isa isa);
/** Where some instruction starts. */
uint64_t etm_area_any(const struct etm_area *a, struct etm_random *r);

#endif
