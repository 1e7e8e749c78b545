/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MAKE_CFI_BUILD_H
#define MAKE_CFI_BUILD_H

#include "base/buf.h"
#include "unwind/unw_image.h"

/** .eh_frame or .debug_frame, record after record. Zeroed but for addr = empty. */
struct cfi_build {
	uint64_t addr; /* of the section */
	bool is_swapped, is_debug_frame;
	struct buf section;
};

struct cfi_cie {
	const char *letters; /* augmentation; P and L get encodings and pointers of their own */
	uint8_t version;
	bool is_64;          /* 64-bit lengths */
	uint8_t encoding;    /* R: of addresses; 0x50: aligned */
	uint8_t personality; /* P: encoding */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_reg;
	uint64_t offset; /* set by cfi_cie_add() */
};

/* Instructions, and pieces of them, go into a buf of their own. */
void cfi_u8(struct buf *b, unsigned int v);
void cfi_uleb(struct buf *b, uint64_t v);
void cfi_sleb(struct buf *b, int64_t v);
/** @p bytes of @p v, swapped where @p swap. */
void cfi_fixed(struct buf *b, uint64_t v, size_t bytes, bool swap);
/** Length and bytes of @p expr, which is empty then. */
void cfi_block(struct buf *b, struct buf *expr);

void cfi_cie_add(struct cfi_build *c, struct cfi_cie *cie, const struct buf *program);
void cfi_fde_add(struct cfi_build *c, const struct cfi_cie *cie, uint64_t start, uint64_t size,
		 const struct buf *program);
void cfi_terminator(struct cfi_build *c);

/** A pointer of @p cie's encoding that will stand at @p addr. @return its bytes in *b. */
void cfi_pointer(struct buf *b, uint8_t encoding, uint64_t addr, uint64_t value, bool swap);

/** The image of one executable segment [0, size) that starts at @p vaddr, with this section. */
void cfi_image(const struct cfi_build *c, enum unw_arch arch, uint64_t vaddr, uint64_t size,
	       struct unw_image *ret);

void cfi_done(struct cfi_build *c);

#endif
