/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_H
#define UNWIND_SFRAME_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/*
 * SFrame sections, versions 1, 2 and 3, for amd64, aarch64 (both byte orders) and s390x.
 * The reader below gives what is in the bytes (for dump and check); sframe_rows() compiles them.
 * Nothing here allocates. Offsets in diagnoses count from the start of the section.
 * Spec: "The SFrame Format" of GNU binutils, versions 1, 2 errata 1 and 3; docs/spec/sframe.md.
 */

enum { SFRAME_MAGIC = 0xdee2, SFRAME_HEADER_BYTES = 28, SFRAME_ATTR_BYTES = 5 };

enum sframe_abi {
	SFRAME_ABI_AARCH64_ENDIAN_BIG = 1,
	SFRAME_ABI_AARCH64_ENDIAN_LITTLE,
	SFRAME_ABI_AMD64_ENDIAN_LITTLE,
	SFRAME_ABI_S390X_ENDIAN_BIG,
};

enum {
	SFRAME_F_FDE_SORTED = 0x1,
	SFRAME_F_FRAME_POINTER = 0x2,        /* versions 1 and 2 */
	SFRAME_F_FDE_FUNC_START_PCREL = 0x4, /* from version 2, errata 1 */
};

/** A section with a checked header. */
struct sframe {
	const uint8_t *bytes; /* borrowed with the section */
	uint64_t addr;        /* of bytes[0] */
	bool is_swapped;
	enum unw_arch arch;
	enum sframe_abi abi;
	uint8_t version, flags, aux_bytes;
	int8_t fixed_fp, fixed_ra; /* 0: not fixed */
	uint32_t nr_functions, nr_rows;
	uint32_t row_bytes; /* of the rows' part */
	size_t functions_at, rows_at;
};

/** One function: FDE and, of version 3, its attributes. */
struct sframe_function {
	uint64_t start; /* link-time address; may wrap in a damaged section */
	uint32_t size;  /* bytes of code; 0 matches nothing */
	uint32_t nr_rows;
	uint32_t rows_at;    /* of the first row, from sframe.rows_at */
	uint8_t start_bytes; /* of a row's start: 1, 2, 4 */
	uint8_t rep_size;    /* MASK: bytes after which the rows repeat, never 0 */
	bool is_mask, is_flex, is_signal, is_key_b;
};

/** Where a row says that something is. */
enum sframe_where {
	SFRAME_UNTRACKED, /* no word: RA or FP are in their register */
	SFRAME_FIXED,     /* no word: at the header's offset from the CFA */
	SFRAME_PADDING,   /* a word of 0 that stands for one of the above */
	SFRAME_AT_CFA,    /* *(CFA + off) */
	SFRAME_AT_REG,    /* *(reg + off) */
	SFRAME_IN_REG,    /* reg + off */
};

struct sframe_loc {
	enum sframe_where where;
	uint8_t reg; /* DWARF number */
	int32_t off;
};

struct sframe_row {
	uint32_t start; /* from the function's start, or in its block where is_mask */
	struct sframe_loc cfa, ra, fp;
	bool is_outermost; /* no words at all: RA undefined. The three above mean nothing */
	bool is_signed;    /* RA carries a pointer authentication code */
	bool is_again;     /* starts where the row before did, which therefore counts for nothing */
};

/** Iterates over the rows of one function. */
struct sframe_cursor {
	uint32_t at, left; /* at: from sframe.rows_at */
	uint32_t next;     /* lowest start that is still in order */
};

/**
 * Check a section's header and the extents it claims.
 * @return CLEW_BAD_FILE; CLEW_UNSUPPORTED: a version above 3.
 */
enum clew_err sframe_open(struct sframe *ret, const struct unw_section *section,
			  struct clew_diag *diag);

/** Function @p i < nr_functions. @return CLEW_BAD_FILE; *ret holds start and size even then. */
enum clew_err sframe_function(const struct sframe *s, uint32_t i, struct sframe_function *ret,
			      struct clew_diag *diag);

struct sframe_cursor sframe_first_row(const struct sframe_function *f);

/** The next row. @return CLEW_END after the last; CLEW_BAD_FILE. */
enum clew_err sframe_next_row(const struct sframe *s, const struct sframe_function *f,
			      struct sframe_cursor *c, struct sframe_row *ret,
			      struct clew_diag *diag);

/**
 * The same for a reader of all functions: functions may share rows, so that a small section could
 * keep it busy for hours. @p left: how many rows it takes in all, at first sframe_max_rows();
 * counted down. @return also CLEW_LIMIT: there are more.
 */
enum clew_err sframe_take_row(const struct sframe *s, const struct sframe_function *f,
			      struct sframe_cursor *c, struct sframe_row *ret, uint64_t *left,
			      struct clew_diag *diag);

/** What is legal, or harmless, but strange in a whole section. */
struct sframe_counts {
	uint64_t nr_functions, nr_rows;
	uint64_t nr_bad;   /* functions that cannot be read */
	uint64_t nr_equal; /* rows that start where the row before does */
	uint64_t
		nr_out_of_order; /* functions that start before the one before, though FDE_SORTED */
	uint64_t nr_overlaps;    /* functions that start inside the one before */
	struct clew_diag first_bad;
};

/** Read everything once. */
void sframe_count(const struct sframe *s, struct sframe_counts *ret);

/** Rows of repeat blocks that are written out at most, in all. */
enum { SFRAME_MAX_EXPANDED = 1 << 20 };

/** How many rows a reader of the whole section should be ready for. */
uint64_t sframe_max_rows(const struct sframe *s);

/** Compile the section of @p image to rows. Validates everything before the first row; a damaged
 * function is a row of UNW_WHY_BAD where its extent is known, else the section is refused.
 * @return CLEW_BAD_FILE with diag.what naming what is wrong. */
enum clew_err sframe_rows(const struct unw_image *image, struct unw_list *ret,
			  struct clew_diag *diag);

/** A rule's form of one row. */
void sframe_rule(const struct sframe *s, const struct sframe_function *f,
		 const struct sframe_row *row, struct unw_rule *ret);

/** DWARF numbers of SP and FP. */
uint8_t sframe_sp(enum unw_arch arch);
uint8_t sframe_fp(enum unw_arch arch);

#endif
