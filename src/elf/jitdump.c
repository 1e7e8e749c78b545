/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/jitdump.h"

#include "base/err.h"

enum { MAGIC = 0x4a695444, VERSION = 1, HEADER_BYTES = 40, PREFIX_BYTES = 16, ARCH_TIME = 1 };

static const char same_file[] = "\xff"; /* "as in the entry before" */

enum clew_err jitdump_open(struct jitdump *d, struct bytes text, struct clew_diag *diag)
{
	struct jitdump n = {0};
	uint32_t magic, version, size, pad;
	uint64_t flags;
	struct bytes b = text;

	if (!bytes_u32(&b, false, &magic) ||
	    (magic != MAGIC && magic != __builtin_bswap32((uint32_t)MAGIC)))
		return clew_fail(diag, CLEW_BAD_FILE, 0, "not a jitdump file");
	n.swap = magic != MAGIC;
	if (!bytes_u32(&b, n.swap, &version) || !bytes_u32(&b, n.swap, &size) ||
	    !bytes_u32(&b, n.swap, &n.machine) || !bytes_u32(&b, n.swap, &pad) ||
	    !bytes_u32(&b, n.swap, &n.pid) || !bytes_u64(&b, n.swap, &n.time) ||
	    !bytes_u64(&b, n.swap, &flags))
		return clew_fail(diag, CLEW_BAD_FILE, 0, "jitdump header is cut off");
	if (version != VERSION || size < HEADER_BYTES)
		return clew_fail(diag, CLEW_BAD_FILE, 4, "unknown jitdump version");
	n.is_arch_time = flags & ARCH_TIME;
	n.left = text;
	if (!bytes_skip(&n.left, size))
		return clew_fail(diag, CLEW_BAD_FILE, 8, "jitdump header is cut off");
	*d = n;
	return CLEW_OK;
}

/** A NUL-terminated text at the front of @p b. */
static bool take_text(struct bytes *b, const char **ret)
{
	const uint8_t *nul = bytes_left(b) ? memchr(b->pos, '\0', bytes_left(b)) : NULL;

	if (!nul)
		return false;
	*ret = (const char *)b->pos;
	b->pos = nul + 1;
	return true;
}

static bool parse_load(struct bytes b, bool swap, struct jitdump_record *r)
{
	uint64_t vma;

	return bytes_u32(&b, swap, &r->pid) && bytes_u32(&b, swap, &r->tid) &&
	       bytes_u64(&b, swap, &vma) && bytes_u64(&b, swap, &r->addr) &&
	       bytes_u64(&b, swap, &r->size) && bytes_u64(&b, swap, &r->index) &&
	       take_text(&b, &r->name) && bytes_take(&b, r->size, &r->code);
}

static bool parse_move(struct bytes b, bool swap, struct jitdump_record *r)
{
	uint64_t vma;

	return bytes_u32(&b, swap, &r->pid) && bytes_u32(&b, swap, &r->tid) &&
	       bytes_u64(&b, swap, &vma) && bytes_u64(&b, swap, &r->old_addr) &&
	       bytes_u64(&b, swap, &r->addr) && bytes_u64(&b, swap, &r->size) &&
	       bytes_u64(&b, swap, &r->index);
}

static bool parse_debug(struct bytes b, bool swap, struct jitdump_record *r)
{
	if (!bytes_u64(&b, swap, &r->addr) || !bytes_u64(&b, swap, &r->nr_lines))
		return false;
	r->lines = b;
	return true;
}

static bool parse(struct bytes body, bool swap, struct jitdump_record *r)
{
	switch (r->kind) {
	case JITDUMP_LOAD:
		return parse_load(body, swap, r);
	case JITDUMP_MOVE:
		return parse_move(body, swap, r);
	case JITDUMP_DEBUG_INFO:
		return parse_debug(body, swap, r);
	default:
		return true;
	}
}

enum clew_err jitdump_next(struct jitdump *d, struct jitdump_record *ret)
{
	struct jitdump_record r = {0};
	struct bytes b = d->left, body;
	uint32_t size;

	if (!bytes_left(&b))
		return CLEW_END;
	if (!bytes_u32(&b, d->swap, &r.kind) || !bytes_u32(&b, d->swap, &size) ||
	    !bytes_u64(&b, d->swap, &r.time))
		return CLEW_TRUNCATED;
	if (size < PREFIX_BYTES)
		return CLEW_BAD_PACKET;
	if (!bytes_take(&b, size - PREFIX_BYTES, &body))
		return CLEW_TRUNCATED;
	if (!parse(body, d->swap, &r))
		return CLEW_BAD_PACKET;
	d->left = b;
	*ret = r;
	return CLEW_OK;
}

bool jitdump_next_line(const struct jitdump *d, struct jitdump_record *r, struct jitdump_line *ret)
{
	struct jitdump_line n = *ret;
	uint32_t discriminator;

	if (!r->nr_lines || !bytes_u64(&r->lines, d->swap, &n.addr) ||
	    !bytes_u32(&r->lines, d->swap, &n.line) ||
	    !bytes_u32(&r->lines, d->swap, &discriminator) || !take_text(&r->lines, &n.file))
		return false;
	if (!strcmp(n.file, same_file))
		n.file = ret->file ? ret->file : "";
	r->nr_lines--;
	*ret = n;
	return true;
}
