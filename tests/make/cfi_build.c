/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/cfi_build.h"

#include <string.h>

#include "unwind/eh_frame_hdr.h"

void cfi_u8(struct buf *b, unsigned int v)
{
	buf_char(b, (char)(uint8_t)v);
}

void cfi_uleb(struct buf *b, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		cfi_u8(b, byte | (v ? 0x80u : 0u));
	} while (v);
}

void cfi_sleb(struct buf *b, int64_t v)
{
	bool is_more = true;

	while (is_more) {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		is_more = !((v == 0 && !(byte & 0x40)) || (v == -1 && byte & 0x40));
		cfi_u8(b, byte | (is_more ? 0x80u : 0u));
	}
}

void cfi_fixed(struct buf *b, uint64_t v, size_t bytes, bool swap)
{
	bool is_big = swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

	for (size_t i = 0; i < bytes; i++)
		cfi_u8(b, (unsigned int)(v >> 8 * (is_big ? bytes - 1 - i : i)) & 0xff);
}

void cfi_block(struct buf *b, struct buf *expr)
{
	cfi_uleb(b, expr->nr);
	buf_add(b, expr->data, expr->nr);
	buf_clear(expr);
}

void cfi_pointer(struct buf *b, uint8_t encoding, uint64_t addr, uint64_t value, bool swap)
{
	if ((encoding & 0x70) == EH_PE_PCREL)
		value -= addr;
	if ((encoding & 0x70) == EH_PE_ALIGNED)
		buf_fill(b, '\0', align_up(addr, 8) - addr);
	switch (encoding & 0x0f) {
	case EH_PE_ULEB128:
		cfi_uleb(b, value);
		break;
	case EH_PE_SLEB128:
		cfi_sleb(b, (int64_t)value);
		break;
	case EH_PE_UDATA2:
	case EH_PE_SDATA2:
		cfi_fixed(b, value, 2, swap);
		break;
	case EH_PE_UDATA4:
	case EH_PE_SDATA4:
		cfi_fixed(b, value, 4, swap);
		break;
	default:
		cfi_fixed(b, value, 8, swap);
		break;
	}
}

/** Bytes before a record's body: length and id. */
static size_t head_bytes(const struct cfi_build *c, bool is_64)
{
	return is_64 ? (c->is_debug_frame ? 20 : 16) : 8;
}

static void put_record(struct cfi_build *c, bool is_64, uint64_t id, const struct buf *body)
{
	size_t id_bytes = is_64 && c->is_debug_frame ? 8 : 4, pad = (8 - body->nr % 8) % 8;
	uint64_t length = id_bytes + body->nr + pad;

	cfi_fixed(&c->section, is_64 ? UINT32_MAX : length, 4, c->is_swapped);
	if (is_64)
		cfi_fixed(&c->section, length, 8, c->is_swapped);
	cfi_fixed(&c->section, id, id_bytes, c->is_swapped);
	buf_add(&c->section, body->data, body->nr);
	buf_fill(&c->section, '\0', pad); /* DW_CFA_nop */
}

/** Address of the next byte of a record that is being made. */
static uint64_t here(const struct cfi_build *c, bool is_64, const struct buf *body)
{
	return c->addr + c->section.nr + head_bytes(c, is_64) + body->nr;
}

static void put_letters(const struct cfi_build *c, const struct cfi_cie *cie, struct buf *body)
{
	struct buf data = {0};

	/* The length before the data is one byte: there is little of it. */
	for (const char *l = cie->letters + 1; *l; l++) {
		if (*l == 'R')
			cfi_u8(&data, cie->encoding);
		if (*l == 'L')
			cfi_u8(&data, EH_PE_PCREL | EH_PE_SDATA4);
		if (*l == 'P') {
			cfi_u8(&data, cie->personality);
			cfi_pointer(&data, cie->personality,
				    here(c, cie->is_64, body) + 1 + data.nr, 0x1234, c->is_swapped);
		}
	}
	cfi_uleb(body, data.nr);
	buf_add(body, data.data, data.nr);
	buf_done(&data);
}

void cfi_cie_add(struct cfi_build *c, struct cfi_cie *cie, const struct buf *program)
{
	struct buf body = {0};

	cie->offset = c->section.nr;
	cfi_u8(&body, cie->version);
	buf_add(&body, cie->letters, strlen(cie->letters) + 1);
	if (cie->version == 4) {
		cfi_u8(&body, 8);
		cfi_u8(&body, 0);
	}
	if (!strncmp(cie->letters, "eh", 2))
		cfi_fixed(&body, 0x5555, 8, c->is_swapped);
	cfi_uleb(&body, cie->code_align);
	cfi_sleb(&body, cie->data_align);
	if (cie->version == 1)
		cfi_u8(&body, (unsigned int)cie->ra_reg);
	else
		cfi_uleb(&body, cie->ra_reg);
	if (*cie->letters == 'z')
		put_letters(c, cie, &body);
	buf_add(&body, program->data, program->nr);
	put_record(c, cie->is_64, c->is_debug_frame ? UINT64_MAX : 0, &body);
	buf_done(&body);
}

void cfi_fde_add(struct cfi_build *c, const struct cfi_cie *cie, uint64_t start, uint64_t size,
		 const struct buf *program)
{
	uint64_t at = c->section.nr + (cie->is_64 ? 12 : 4);
	uint8_t encoding = strchr(cie->letters, 'R') ? cie->encoding : EH_PE_PTR;
	struct buf body = {0};

	cfi_pointer(&body, encoding, here(c, cie->is_64, &body), start, c->is_swapped);
	cfi_pointer(&body, encoding & 0x0f, here(c, cie->is_64, &body), size, c->is_swapped);
	if (*cie->letters == 'z') {
		bool has_lsda = strchr(cie->letters, 'L');

		cfi_uleb(&body, has_lsda ? 4 : 0);
		if (has_lsda)
			cfi_fixed(&body, 0x77, 4, c->is_swapped);
	}
	buf_add(&body, program->data, program->nr);
	put_record(c, cie->is_64, c->is_debug_frame ? cie->offset : at - cie->offset, &body);
	buf_done(&body);
}

void cfi_terminator(struct cfi_build *c)
{
	cfi_fixed(&c->section, 0, 4, c->is_swapped);
}

void cfi_image(const struct cfi_build *c, enum unw_arch arch, uint64_t vaddr, uint64_t size,
	       struct unw_image *ret)
{
	struct unw_section s = {(const uint8_t *)c->section.data, c->section.nr, c->addr};

	*ret = (struct unw_image){.arch = arch, .is_swapped = c->is_swapped, .nr_segments = 1};
	ret->segments[0] = (struct unw_segment){vaddr, size, 0};
	if (c->is_debug_frame)
		ret->debug_frame = s;
	else
		ret->eh_frame = s;
}

void cfi_done(struct cfi_build *c)
{
	buf_done(&c->section);
}
