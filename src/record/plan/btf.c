/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/btf.h"

enum { BTF_MAGIC = 0xeb9f };

/* clang-format off */
enum btf_kind {
	BTF_INT = 1, BTF_PTR, BTF_ARRAY, BTF_STRUCT, BTF_UNION, BTF_ENUM, BTF_FWD, BTF_TYPEDEF, BTF_VOLATILE,
	BTF_CONST, BTF_RESTRICT, BTF_FUNC, BTF_FUNC_PROTO, BTF_VAR, BTF_DATASEC, BTF_FLOAT, BTF_DECL_TAG,
	BTF_TYPE_TAG, BTF_ENUM64, NR_BTF_KINDS,
};

/* Bytes after a type's 12: so many, and so many for each of its vlen members. */
static const struct { uint8_t fixed, each; } tails[NR_BTF_KINDS] = {
	[BTF_INT]        = { 4, 0 },
	[BTF_ARRAY]      = { 12, 0 },
	[BTF_STRUCT]     = { 0, 12 },
	[BTF_UNION]      = { 0, 12 },
	[BTF_ENUM]       = { 0, 8 },
	[BTF_FUNC_PROTO] = { 0, 8 },
	[BTF_VAR]        = { 4, 0 },
	[BTF_DATASEC]    = { 0, 12 },
	[BTF_DECL_TAG]   = { 4, 0 },
	[BTF_ENUM64]     = { 0, 12 },
};
/* clang-format on */

struct btf {
	struct bytes types, strings;
	bool swap;
};

static bool section(struct bytes after_header, uint32_t offset, uint32_t size, struct bytes *ret)
{
	return bytes_skip(&after_header, offset) && bytes_take(&after_header, size, ret);
}

static bool parse_header(struct bytes b, struct btf *ret)
{
	struct bytes whole = b;
	uint16_t magic;
	uint32_t header_bytes, type_off, type_len, str_off, str_len;

	if (!bytes_u16(&b, false, &magic))
		return false;
	ret->swap = magic == __builtin_bswap16(BTF_MAGIC);
	if (magic != BTF_MAGIC && !ret->swap)
		return false;
	return bytes_skip(&b, 2) && bytes_u32(&b, ret->swap, &header_bytes) &&
	       bytes_u32(&b, ret->swap, &type_off) && bytes_u32(&b, ret->swap, &type_len) &&
	       bytes_u32(&b, ret->swap, &str_off) && bytes_u32(&b, ret->swap, &str_len) &&
	       bytes_skip(&whole, header_bytes) &&
	       section(whole, type_off, type_len, &ret->types) &&
	       section(whole, str_off, str_len, &ret->strings);
}

static bool is_named(const struct btf *btf, uint32_t offset, const char *name)
{
	struct bytes s = btf->strings;
	size_t n = strlen(name) + 1;

	return bytes_skip(&s, offset) && bytes_left(&s) >= n && !memcmp(s.pos, name, n);
}

/* One type; *types moves on. */
struct type {
	uint32_t kind, name;
};

static bool next_type(struct btf *btf, struct type *ret)
{
	uint32_t info, size_or_type;

	if (!bytes_u32(&btf->types, btf->swap, &ret->name) ||
	    !bytes_u32(&btf->types, btf->swap, &info) ||
	    !bytes_u32(&btf->types, btf->swap, &size_or_type))
		return false;
	ret->kind = info >> 24 & 0x1f;
	return ret->kind < NR_BTF_KINDS &&
	       bytes_skip(&btf->types,
			  tails[ret->kind].fixed + (size_t)tails[ret->kind].each * (info & 0xffff));
}

bool btf_has_function(struct bytes bytes, const char *name)
{
	struct btf btf;
	struct type t;

	if (!parse_header(bytes, &btf))
		return false;
	while (next_type(&btf, &t))
		if (t.kind == BTF_FUNC && is_named(&btf, t.name, name))
			return true;
	return false;
}

static const char *name_at(const struct btf *btf, uint32_t offset)
{
	struct bytes s = btf->strings;

	return bytes_skip(&s, offset) && bytes_left(&s) && memchr(s.pos, '\0', bytes_left(&s))
		     ? (const char *)s.pos
		     : NULL;
}

void btf_function_names(struct bytes bytes, const uint32_t *ids, size_t nr, const char **ret)
{
	struct btf btf;
	struct type t;

	for (size_t i = 0; i < nr; i++)
		ret[i] = NULL;
	if (!parse_header(bytes, &btf))
		return;
	/* Type 0 is void, which the section does not hold. */
	for (uint32_t id = 1; next_type(&btf, &t); id++)
		for (size_t i = 0; t.kind == BTF_FUNC && i < nr; i++)
			if (ids[i] == id)
				ret[i] = name_at(&btf, t.name);
}
