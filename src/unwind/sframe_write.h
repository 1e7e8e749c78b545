/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_WRITE_H
#define UNWIND_SFRAME_WRITE_H

#include "base/buf.h"
#include "unwind/sframe.h"

/*
 * From functions and their rules to the bytes of an SFrame section. A function is written whole or
 * omitted whole, as the assembler does it.
 */

enum sframe_left_out {
	SFRAME_LEFT_NO_RULE,   /* a row without a rule, or of a kind that SFrame does not have */
	SFRAME_LEFT_DEREF_ADD, /* CFA = *(reg + off) + off2 */
	SFRAME_LEFT_CFA,    /* a CFA that the version cannot say: from another register, loaded */
	SFRAME_LEFT_RA,     /* the same for RA */
	SFRAME_LEFT_FP,     /* the same for FP, or its value is lost */
	SFRAME_LEFT_OFFSET, /* s390x: a CFA that is no multiple of 8 from SP at entry */
	SFRAME_LEFT_SIGNAL, /* signal frames before version 3, or in part of a function */
	SFRAME_LEFT_OUTERMOST, /* RA undefined, in version 1 */
	SFRAME_LEFT_KEYS,      /* aarch64: signed with both keys */
	SFRAME_LEFT_SIZE,      /* more than 65535 rows, or 2 GiB from the section */
	NR_SFRAME_LEFT_OUT
};

/** "RA lies where version cannot say", ...: what follows "because"; never NULL. */
const char *sframe_left_out_text(enum sframe_left_out why);

struct sframe_write_opts {
	uint8_t version; /* 1, 2, 3 */
	enum sframe_abi abi;
	bool no_pcrel; /* starts count from the section, not from their field; version 1 always */
	bool no_sort;  /* functions in the order they are given */
	uint64_t addr; /* where the section is linked to */
};

struct sframe_written {
	uint64_t nr_functions, nr_rows;
	uint64_t code_bytes; /* of these functions */
	uint64_t nr_left_out[NR_SFRAME_LEFT_OUT];
	uint64_t left_out_bytes;
};

struct sframe_writer;

/** NULL: no memory, or options that contradict each other (s390x in version 1). */
struct sframe_writer *sframe_writer_new(const struct sframe_write_opts *opts);
void sframe_writer_free(struct sframe_writer *w);

/** @p start: link-time address. @p rep_size: the rows repeat after so many bytes; 0: they do not.
 * Memory that runs short is remembered. */
void sframe_writer_begin(struct sframe_writer *w, uint64_t start, uint32_t size, uint8_t rep_size);
/** Rows in order of @p off, which counts from the function's start. */
void sframe_writer_row(struct sframe_writer *w, uint32_t off, const struct unw_rule *rule);

/** Append the section to @p ret. @return CLEW_NO_MEMORY; CLEW_LIMIT: above 4 GiB. */
enum clew_err sframe_writer_finish(struct sframe_writer *w, struct buf *ret,
				   struct sframe_written *counts);

/** All of @p list; its addresses are those of @p image. */
enum clew_err sframe_make(const struct unw_image *image, const struct unw_list *list,
			  const struct sframe_write_opts *opts, struct buf *ret,
			  struct sframe_written *counts);

/** What sections of this image have in their header. */
enum sframe_abi sframe_abi_of(enum unw_arch arch, bool is_big_endian);

#endif
