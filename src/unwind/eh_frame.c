/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/map_u64.h"
#include "base/vec.h"
#include "unwind/eh_frame_impl.h"
#include "unwind/unw_list.h"

struct compiler {
	const struct unw_image *image;
	const struct unw_section *section;
	bool is_debug_frame;
	struct eh_target t;
	struct {
		VEC(struct eh_cie);
	} cies;
	struct map_u64 cie_at; /* offset of a CIE in the section -> index */
	struct unw_list *list;
	struct eh_frame_counts *counts;
};

static void compiler_done(struct compiler *c)
{
	vec_done(&c->cies);
	map_u64_done(&c->cie_at);
}

/** A CIE or FDE: what follows its id. */
struct record {
	uint64_t offset; /* of its length, in the section */
	uint64_t cie;    /* of an FDE: offset of its CIE */
	bool is_cie, is_damaged;
	struct bytes rest;
};

/** The id before a record's body marks a CIE, or says where the FDE's is. */
static bool read_id(const struct compiler *c, bool is_64, struct record *r)
{
	uint64_t at = (uint64_t)(r->rest.pos - c->section->bytes), id;
	bool swap = c->image->is_swapped;
	uint32_t id32;

	if (is_64 && c->is_debug_frame) {
		if (!bytes_u64(&r->rest, swap, &id))
			return false;
	} else {
		if (!bytes_u32(&r->rest, swap, &id32))
			return false;
		id = id32 == UINT32_MAX && c->is_debug_frame ? UINT64_MAX : id32;
	}
	if (c->is_debug_frame) {
		r->is_cie = id == UINT64_MAX;
		r->cie = id;
	} else {
		r->is_cie = !id;
		r->cie = at - id; /* wrapped: no CIE is there */
	}
	return true;
}

/**
 * The next record; terminators are skipped, as those of other input files may be in the middle. A
 * length past the section's end ends the search.
 * @return false: the end.
 */
static bool next_record(const struct compiler *c, struct bytes *b, struct record *ret)
{
	uint32_t length = 0;
	uint64_t bytes;
	bool is_64, ok;

	*ret = (struct record){0};
	while (bytes_left(b) && !length && !ret->is_damaged) {
		ret->offset = (uint64_t)(b->pos - c->section->bytes);
		ret->is_damaged = !bytes_u32(b, c->image->is_swapped, &length);
	}
	if (!length && !ret->is_damaged)
		return false;
	is_64 = length == UINT32_MAX;
	bytes = length;
	ok = !ret->is_damaged && (!is_64 || bytes_u64(b, c->image->is_swapped, &bytes)) &&
	     bytes_take(b, bytes, &ret->rest);
	if (!ok)
		b->pos = b->end;
	ret->is_damaged = !ok || !read_id(c, is_64, ret);
	return true;
}

/** Step over a pointer that is not followed: what it is relative to does not matter. */
static bool skip_pointer(const struct compiler *c, struct bytes *b, uint8_t encoding)
{
	uint64_t ignored;

	if (encoding == EH_PE_OMIT)
		return true;
	if ((encoding & 0x70) != EH_PE_ALIGNED)
		encoding &= 0x0f;
	return eh_pointer(b, encoding & 0x7f, &c->t.bases, &ignored);
}

/** The letters after z. An unknown one hides those after it; the length still gives the end. */
static bool read_letters(const struct compiler *c, const char *letters, struct bytes data,
			 struct eh_cie *cie)
{
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			if (!bytes_u8(&data, &cie->encoding))
				return false;
			break;
		case 'P':
			if (!bytes_u8(&data, &encoding) || !skip_pointer(c, &data, encoding))
				return false;
			break;
		case 'L':
			if (!bytes_u8(&data, &encoding))
				return false;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			cie->is_key_b = true;
			break;
		case 'G':
			break;
		default:
			return true;
		}
	}
	return true;
}

/** Everything between the id and the initial instructions. */
static bool read_cie_head(const struct compiler *c, struct bytes *b, struct eh_cie *cie)
{
	uint8_t version, address_bytes, segment_bytes, ra8;
	const char *letters;
	const uint8_t *nul;
	struct bytes data;
	uint64_t n;

	if (!bytes_u8(b, &version) || (version != 1 && version != 3 && version != 4))
		return false;
	nul = bytes_left(b) ? memchr(b->pos, '\0', bytes_left(b)) : NULL;
	if (!nul)
		return false;
	letters = (const char *)b->pos;
	b->pos = nul + 1;
	if (version == 4 && (!bytes_u8(b, &address_bytes) || !bytes_u8(b, &segment_bytes) ||
			     address_bytes != 8 || segment_bytes))
		return false;
	if (!strncmp(letters, "eh", 2)) { /* gcc before 3: a pointer to a table */
		letters += 2;
		if (!bytes_skip(b, 8))
			return false;
	}
	if (!eh_uleb(b, &cie->code_align) || !eh_sleb(b, &cie->data_align))
		return false;
	if (version == 1) {
		if (!bytes_u8(b, &ra8))
			return false;
		cie->ra_reg = ra8;
	} else if (!eh_uleb(b, &cie->ra_reg)) {
		return false;
	}
	if (!*letters)
		return true;
	cie->has_data = *letters == 'z';
	if (!cie->has_data)
		return false;
	return eh_uleb(b, &n) && bytes_take(b, n, &data) && read_letters(c, letters + 1, data, cie);
}

static enum clew_err read_cie(struct compiler *c, struct record *r)
{
	struct eh_cie cie = {.encoding = EH_PE_PTR};

	if (!read_cie_head(c, &r->rest, &cie)) {
		c->counts->nr_bad++;
		return CLEW_OK;
	}
	eh_run_cie(&cie, &c->t, r->rest);
	if (!vec_push(&c->cies, cie) || !map_u64_put(&c->cie_at, r->offset, c->cies.nr - 1))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

enum found { FOUND, DROPPED, DAMAGED };

/** Where the function is. Linkers leave records of discarded code, at 0 or without bytes. */
static enum found read_extent(const struct compiler *c, const struct eh_cie *cie, struct bytes *b,
			      struct eh_extent *ret)
{
	uint64_t bytes, last;

	if (cie->encoding & EH_PE_INDIRECT ||
	    !eh_pointer(b, cie->encoding, &c->t.bases, &ret->start) ||
	    !eh_pointer(b, cie->encoding & 0x0f, &c->t.bases, &bytes))
		return DAMAGED;
	if (!bytes || !ret->start || !unw_image_rel(c->image, ret->start, &ret->rel))
		return DROPPED;
	if (__builtin_add_overflow(ret->start, bytes, &ret->end) ||
	    !unw_image_rel(c->image, ret->end - 1, &last) || last - ret->rel != bytes - 1)
		return DAMAGED;
	return FOUND;
}

static void read_fde(struct compiler *c, struct record *r)
{
	const uint64_t *index = map_u64_get(&c->cie_at, r->cie);
	const struct eh_cie *cie = index ? &c->cies.data[*index] : NULL;
	enum found found = DAMAGED;
	struct eh_extent extent;
	uint64_t n;

	if (cie)
		found = read_extent(c, cie, &r->rest, &extent);
	if (found == FOUND && cie->has_data && (!eh_uleb(&r->rest, &n) || !bytes_skip(&r->rest, n)))
		found = DAMAGED;
	c->counts->nr_bad += found == DAMAGED;
	c->counts->nr_dropped += found == DROPPED;
	if (found == FOUND)
		eh_run_fde(cie, &c->t, &extent, r->rest, c->list, c->counts);
}

static struct eh_target target_of(const struct unw_image *image, const struct unw_section *s,
				  bool is_debug_frame)
{
	struct eh_target t = {
		.image = image, .arch = image->arch, .pc = UINT64_MAX, .rbx = UINT64_MAX};

	switch (image->arch) {
	case UNW_X86_64:
		t.fp = 6, t.sp = 7, t.ra = t.pc = 16, t.rbx = UNW_RBX;
		break;
	case UNW_AARCH64:
		t.fp = 29, t.sp = 31, t.ra = 30;
		break;
	case UNW_S390X:
		t.fp = 11, t.sp = 15, t.ra = 14;
		break;
	}
	t.origin = is_debug_frame ? UNW_DEBUG_FRAME : UNW_EH_FRAME;
	t.bases = (struct eh_bases){s->addr, s->bytes, 0, image->is_swapped};
	return t;
}

static enum clew_err read_cies(struct compiler *c)
{
	struct bytes b = bytes_of(c->section->bytes, c->section->size);
	enum clew_err err = CLEW_OK;
	struct record r;

	while (!err && next_record(c, &b, &r)) {
		if (r.is_damaged)
			c->counts->nr_bad++;
		else if (r.is_cie)
			err = read_cie(c, &r);
	}
	return err;
}

enum clew_err eh_frame_rows(const struct unw_image *image, bool is_debug_frame,
			    struct unw_list *ret, struct eh_frame_counts *counts)
{
	const struct unw_section *s = is_debug_frame ? &image->debug_frame : &image->eh_frame;
	struct eh_frame_counts own = {0};
	clew_auto(compiler_done) struct compiler c = {image, s, is_debug_frame,
						      target_of(image, s, is_debug_frame)};
	struct bytes b = bytes_of(s->bytes, s->size);
	enum clew_err err;
	struct record r;

	if (!s->bytes)
		return CLEW_NOT_FOUND;
	c.list = ret;
	c.counts = counts ? counts : &own;
	err = read_cies(&c);
	/* Functions on a second way through: a CIE may follow them. */
	while (!err && next_record(&c, &b, &r)) {
		if (!r.is_damaged && !r.is_cie)
			read_fde(&c, &r);
	}
	return err;
}

/** Is there a record of a function that starts at @p start? */
static bool is_record_of(struct compiler *c, uint64_t record, uint64_t start)
{
	const struct unw_section *s = c->section;
	const struct eh_cie *cie;
	const uint64_t *index;
	struct eh_extent extent;
	struct bytes b;
	struct record r;

	if (record < s->addr || record - s->addr >= s->size)
		return false;
	b = bytes_of(s->bytes + (record - s->addr), s->size - (record - s->addr));
	if (!next_record(c, &b, &r) || r.is_damaged || r.is_cie || r.offset != record - s->addr)
		return false;
	index = map_u64_get(&c->cie_at, r.cie);
	cie = index ? &c->cies.data[*index] : NULL;
	return cie && read_extent(c, cie, &r.rest, &extent) != DAMAGED && extent.start == start;
}

enum clew_err eh_frame_hdr_check(const struct unw_image *image, struct eh_frame_hdr_counts *ret)
{
	const struct unw_section *s = &image->eh_frame;
	struct eh_frame_counts own = {0};
	clew_auto(compiler_done) struct compiler c = {image, s, false, target_of(image, s, false)};
	uint64_t start, record, last = 0;
	struct eh_frame_hdr h;
	enum clew_err err;

	*ret = (struct eh_frame_hdr_counts){0};
	if (!s->bytes || !eh_frame_hdr_open(image, &h) || !h.has_table)
		return CLEW_NOT_FOUND;
	c.counts = &own;
	err = read_cies(&c);
	while (!err && eh_frame_hdr_next(&h, &start, &record)) {
		ret->nr_unordered += ret->nr_entries && start <= last;
		ret->nr_foreign += !is_record_of(&c, record, start);
		ret->nr_entries++;
		last = start;
	}
	return err;
}
