/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_EH_FRAME_HDR_H
#define UNWIND_EH_FRAME_HDR_H

#include "unwind/unw_image.h"

/*
 * .eh_frame_hdr (PT_GNU_EH_FRAME): where .eh_frame is, and a sorted table of function starts. Only
 * used to find .eh_frame, as a check, and to look at some functions: no rule comes from it.
 * Spec: LSB "Exception Frame Header".
 */

/** Pointer encodings, DW_EH_PE_. Spec: LSB "DWARF Exception Header Encoding". */
enum {
	EH_PE_PTR = 0x00,
	EH_PE_ULEB128 = 0x01,
	EH_PE_UDATA2 = 0x02,
	EH_PE_UDATA4 = 0x03,
	EH_PE_UDATA8 = 0x04,
	EH_PE_SLEB128 = 0x09,
	EH_PE_SDATA2 = 0x0a,
	EH_PE_SDATA4 = 0x0b,
	EH_PE_SDATA8 = 0x0c,
	EH_PE_PCREL = 0x10,
	EH_PE_TEXTREL = 0x20,
	EH_PE_DATAREL = 0x30,
	EH_PE_FUNCREL = 0x40,
	EH_PE_ALIGNED = 0x50,
	EH_PE_INDIRECT = 0x80,
	EH_PE_OMIT = 0xff,
};

/** What pointers are relative to. */
struct eh_bases {
	uint64_t addr; /* of section_start */
	const uint8_t *section_start;
	uint64_t data; /* EH_PE_DATAREL; 0: unknown */
	bool is_swapped;
};

bool eh_uleb(struct bytes *b, uint64_t *ret);
bool eh_sleb(struct bytes *b, int64_t *ret);

/**
 * Read a pointer of @p encoding. An indirect one is stepped over with its slot's address as value.
 * @return false: cut off, omitted, or an encoding that none of ours is; @p b is then anywhere.
 */
bool eh_pointer(struct bytes *b, uint8_t encoding, const struct eh_bases *bases, uint64_t *ret);

/** Address of .eh_frame as the header has it. */
bool eh_frame_hdr_pointer(const struct unw_image *i, uint64_t *ret);

/** Cut i->eh_frame after the record that the header's table shows to be the last. Without a table
 * the section ends at its first terminator. */
void eh_frame_hdr_cut(struct unw_image *i);

/** The table's entries in turn, as they stand: not checked against anything. */
struct eh_frame_hdr {
	struct eh_bases bases;
	struct bytes rest; /* the table */
	uint64_t eh_frame, nr;
	uint8_t table_encoding;
	bool has_table;
};

/** @return false: no such section, another version, or its pointers cannot be followed. */
bool eh_frame_hdr_open(const struct unw_image *i, struct eh_frame_hdr *ret);
/** @return false: the end. *ret_record: address of the function's FDE. */
bool eh_frame_hdr_next(struct eh_frame_hdr *h, uint64_t *ret_start, uint64_t *ret_record);

#endif
