/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_hdr.h"

/** The low 64 bits of a LEB128 number, without its sign. *ret_bits: how many its bytes have; 64 and
 * above: all. */
static bool read_leb(struct bytes *b, uint64_t *ret, unsigned int *ret_bits)
{
	uint64_t v = 0;
	unsigned int bits = 0;
	uint8_t byte;

	do {
		if (!bytes_u8(b, &byte))
			return false;
		if (bits < 64) {
			v |= (uint64_t)(byte & 0x7f) << bits;
			bits += 7;
		}
	} while (byte & 0x80);
	*ret = v;
	*ret_bits = bits;
	return true;
}

bool eh_uleb(struct bytes *b, uint64_t *ret)
{
	unsigned int bits;

	return read_leb(b, ret, &bits);
}

bool eh_sleb(struct bytes *b, int64_t *ret)
{
	unsigned int bits;
	uint64_t v;

	if (!read_leb(b, &v, &bits))
		return false;
	if (bits < 64 && v >> (bits - 1) & 1)
		v |= UINT64_MAX << bits;
	*ret = (int64_t)v;
	return true;
}

static bool read_format(struct bytes *b, uint8_t format, bool swap, uint64_t *ret)
{
	uint16_t v16;
	uint32_t v32;
	bool ok;

	switch (format) {
	case EH_PE_ULEB128:
		return eh_uleb(b, ret);
	case EH_PE_SLEB128: {
		int64_t v = 0;

		ok = eh_sleb(b, &v);
		*ret = (uint64_t)v;
		return ok;
	}
	case EH_PE_UDATA2:
	case EH_PE_SDATA2:
		ok = bytes_u16(b, swap, &v16);
		if (ok)
			*ret = format == EH_PE_SDATA2 ? (uint64_t)(int16_t)v16 : v16;
		return ok;
	case EH_PE_UDATA4:
	case EH_PE_SDATA4:
		ok = bytes_u32(b, swap, &v32);
		if (ok)
			*ret = format == EH_PE_SDATA4 ? (uint64_t)(int32_t)v32 : v32;
		return ok;
	case EH_PE_PTR:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		return bytes_u64(b, swap, ret);
	default:
		return false;
	}
}

bool eh_pointer(struct bytes *b, uint8_t encoding, const struct eh_bases *bases, uint64_t *ret)
{
	uint64_t at = bases->addr + (uint64_t)(b->pos - bases->section_start), v;
	uint64_t base = 0;

	if (encoding == EH_PE_OMIT)
		return false;
	switch (encoding & 0x70) {
	case 0:
		break;
	case EH_PE_PCREL:
		base = at;
		break;
	case EH_PE_DATAREL:
		if (!bases->data)
			return false;
		base = bases->data;
		break;
	case EH_PE_ALIGNED:
		if (!bytes_skip(b, align_up(at, 8) - at))
			return false;
		break;
	default:
		return false;
	}
	if (!read_format(b, encoding & 0x0f, bases->is_swapped, &v))
		return false;
	*ret = base + v;
	return true;
}

bool eh_frame_hdr_open(const struct unw_image *i, struct eh_frame_hdr *ret)
{
	const struct unw_section *s = &i->eh_frame_hdr;
	struct bytes b = bytes_of(s->bytes, s->bytes ? s->size : 0);
	struct bytes head;

	ret->bases = (struct eh_bases){s->addr, s->bytes, s->addr, i->is_swapped};
	if (!bytes_take(&b, 4, &head) || head.pos[0] != 1 || head.pos[1] & EH_PE_INDIRECT ||
	    !eh_pointer(&b, head.pos[1], &ret->bases, &ret->eh_frame))
		return false;
	ret->table_encoding = head.pos[3];
	ret->has_table = !(head.pos[2] & EH_PE_INDIRECT) &&
			 eh_pointer(&b, head.pos[2], &ret->bases, &ret->nr) &&
			 !(ret->table_encoding & EH_PE_INDIRECT);
	ret->rest = b;
	return true;
}

bool eh_frame_hdr_next(struct eh_frame_hdr *h, uint64_t *ret_start, uint64_t *ret_record)
{
	if (!h->has_table || !h->nr)
		return false;
	h->nr--;
	return eh_pointer(&h->rest, h->table_encoding, &h->bases, ret_start) &&
	       eh_pointer(&h->rest, h->table_encoding, &h->bases, ret_record);
}

bool eh_frame_hdr_pointer(const struct unw_image *i, uint64_t *ret)
{
	struct eh_frame_hdr h;

	if (!eh_frame_hdr_open(i, &h))
		return false;
	*ret = h.eh_frame;
	return true;
}

/** Bytes of the record at @p at of @p s, its length included; 0: a terminator, or damaged. */
static uint64_t record_bytes(const struct unw_section *s, bool swap, uint64_t at)
{
	struct bytes b = bytes_of(s->bytes, s->size);
	uint32_t length;
	uint64_t length64;

	if (at >= s->size || !bytes_skip(&b, at) || !bytes_u32(&b, swap, &length) || !length)
		return 0;
	length64 = length;
	if (length == UINT32_MAX && !bytes_u64(&b, swap, &length64))
		return 0;
	if (length64 > bytes_left(&b))
		return 0;
	return (uint64_t)(b.pos - s->bytes) - at + length64;
}

void eh_frame_hdr_cut(struct unw_image *i)
{
	struct unw_section *s = &i->eh_frame;
	uint64_t start, record, last = 0, bytes, end = 0;
	struct eh_frame_hdr h;

	if (!s->bytes || !eh_frame_hdr_open(i, &h))
		return;
	while (eh_frame_hdr_next(&h, &start, &record)) {
		if (record >= s->addr && record - s->addr < s->size && record - s->addr > last)
			last = record - s->addr;
	}
	bytes = last ? record_bytes(s, i->is_swapped, last) : 0;
	if (bytes) {
		s->size = last + bytes;
		return;
	}
	while ((bytes = record_bytes(s, i->is_swapped, end)))
		end += bytes;
	s->size = end;
	if (!end)
		s->bytes = NULL;
}
