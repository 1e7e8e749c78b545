/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/dwarf_build.h"

#include <dwarf.h>

enum { UNIT = 1, OUTER, ABSTRACT, INLINED, INLINED_LEAF, ORIGIN_OF_ITSELF };
enum { LINE_BASE = -3, LINE_RANGE = 12, OPCODE_BASE = 10, BYTES_A_ROW = 16 };

static void u8(struct buf *b, unsigned int v)
{
	buf_char(b, (char)v);
}

static void fixed(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

static void text(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s) + 1);
}

static void uleb(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		u8(b, (v & 0x7f) | 0x80);
	u8(b, (unsigned int)v);
}

static void abbrev(struct buf *b, uint64_t code, uint64_t tag, bool has_children,
		   const uint16_t *attrs)
{
	uleb(b, code);
	uleb(b, tag);
	u8(b, has_children);
	for (; *attrs; attrs += 2) {
		uleb(b, attrs[0]);
		uleb(b, attrs[1]);
	}
	u8(b, 0);
	u8(b, 0);
}

static void add_abbrevs(struct elf_build *e)
{
	static const uint16_t unit[] = {DW_AT_name,
					DW_FORM_string,
					DW_AT_comp_dir,
					DW_FORM_string,
					DW_AT_low_pc,
					DW_FORM_addr,
					DW_AT_high_pc,
					DW_FORM_data8,
					DW_AT_stmt_list,
					DW_FORM_sec_offset,
					0};
	static const uint16_t outer[] = {DW_AT_name,
					 DW_FORM_string,
					 DW_AT_low_pc,
					 DW_FORM_addr,
					 DW_AT_high_pc,
					 DW_FORM_data8,
					 0};
	static const uint16_t abstract[] = {DW_AT_name,
					    DW_FORM_string,
					    DW_AT_linkage_name,
					    DW_FORM_string,
					    DW_AT_inline,
					    DW_FORM_data1,
					    0};
	static const uint16_t inlined[] = {DW_AT_abstract_origin,
					   DW_FORM_ref4,
					   DW_AT_low_pc,
					   DW_FORM_addr,
					   DW_AT_high_pc,
					   DW_FORM_data8,
					   DW_AT_call_file,
					   DW_FORM_data1,
					   DW_AT_call_line,
					   DW_FORM_data4,
					   0};
	static const uint16_t itself[] = {DW_AT_abstract_origin, DW_FORM_ref4, 0};
	struct buf b = {0};

	abbrev(&b, UNIT, DW_TAG_compile_unit, true, unit);
	abbrev(&b, OUTER, DW_TAG_subprogram, true, outer);
	abbrev(&b, ABSTRACT, DW_TAG_subprogram, false, abstract);
	abbrev(&b, INLINED, DW_TAG_inlined_subroutine, true, inlined);
	abbrev(&b, INLINED_LEAF, DW_TAG_inlined_subroutine, false, inlined);
	abbrev(&b, ORIGIN_OF_ITSELF, DW_TAG_subprogram, false, itself);
	u8(&b, 0);
	elf_build_section(e, ".debug_abbrev", SHT_PROGBITS, 0, b.data, b.nr);
	buf_done(&b);
}

/** @return where it begins. */
static size_t begin_unit(struct buf *b, uint64_t low, uint64_t size)
{
	size_t at = b->nr;

	fixed(b, 0, 4);
	fixed(b, 4, 2);
	fixed(b, 0, 4);
	u8(b, 8);
	uleb(b, UNIT);
	text(b, "a.c");
	text(b, "/src");
	fixed(b, low, 8);
	fixed(b, size, 8);
	fixed(b, 0, 4);
	return at;
}

/** @p nr_open: lists of children that end with it. */
static void end_unit(struct buf *b, size_t at, size_t nr_open)
{
	uint32_t length;

	buf_fill(b, '\0', nr_open);
	length = (uint32_t)(b->nr - at) - 4;
	memcpy(b->data + at, &length, 4);
}

static void add_info(struct elf_build *e, const struct dwarf_shape *s)
{
	struct buf b = {0};
	size_t unit = begin_unit(&b, s->low, s->size - s->shared);
	uint64_t origin = b.nr;

	if (s->is_cyclic) {
		uleb(&b, ORIGIN_OF_ITSELF);
		fixed(&b, origin, 4);
	} else {
		uleb(&b, ABSTRACT);
		text(&b, "callee");
		text(&b, "_ZN2ns6calleeEi");
		u8(&b, DW_INL_inlined);
	}
	uleb(&b, OUTER);
	text(&b, "outer");
	fixed(&b, s->low, 8);
	fixed(&b, s->size, 8);
	for (uint32_t i = 1; i <= s->depth; i++) {
		uleb(&b, i < s->depth ? INLINED : INLINED_LEAF);
		fixed(&b, origin, 4);
		fixed(&b, s->low, 8);
		fixed(&b, s->size > i ? s->size - i : 1, 8);
		u8(&b, 1);
		fixed(&b, 100 + i, 4);
	}
	end_unit(&b, unit, s->depth ? s->depth + 1 : 2);
	if (s->shared) {
		unit = begin_unit(&b, s->low + s->size - s->shared, s->shared);
		end_unit(&b, unit, 1);
	}
	elf_build_section(e, ".debug_info", SHT_PROGBITS, 0, b.data, b.nr);
	buf_done(&b);
}

static void add_lines(struct elf_build *e, const struct dwarf_shape *s)
{
	static const uint8_t lengths[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
	struct buf b = {0}, head = {0};
	uint32_t length;

	u8(&head, 1); /* minimum instruction length */
	u8(&head, 1);
	u8(&head, 1);
	u8(&head, (uint8_t)LINE_BASE);
	u8(&head, LINE_RANGE);
	u8(&head, OPCODE_BASE);
	buf_add(&head, lengths, sizeof(lengths));
	u8(&head, 0); /* no directories but the unit's */
	text(&head, "a.c");
	fixed(&head, 0, 3);
	u8(&head, 0);
	fixed(&b, 0, 4);
	fixed(&b, 4, 2);
	fixed(&b, head.nr, 4);
	buf_add(&b, head.data, head.nr);
	u8(&b, 0);
	uleb(&b, 9);
	u8(&b, DW_LNE_set_address);
	fixed(&b, s->low, 8);
	u8(&b, DW_LNS_copy);
	for (uint64_t at = BYTES_A_ROW; at < s->size; at += BYTES_A_ROW) {
		u8(&b, DW_LNS_advance_pc);
		uleb(&b, BYTES_A_ROW);
		u8(&b, DW_LNS_advance_line);
		u8(&b, 1);
		u8(&b, DW_LNS_copy);
	}
	u8(&b, DW_LNS_advance_pc);
	uleb(&b, BYTES_A_ROW);
	u8(&b, 0);
	uleb(&b, 1);
	u8(&b, DW_LNE_end_sequence);
	length = (uint32_t)b.nr - 4;
	memcpy(b.data, &length, 4);
	elf_build_section(e, ".debug_line", SHT_PROGBITS, 0, b.data, b.nr);
	buf_done(&head);
	buf_done(&b);
}

void dwarf_build(struct elf_build *b, const struct dwarf_shape *shape)
{
	add_abbrevs(b);
	add_info(b, shape);
	add_lines(b, shape);
}
