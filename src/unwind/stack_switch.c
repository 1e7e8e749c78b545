/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/stack_switch.h"

#include <elf.h>
#include <string.h>

/* Spec: Go 1.19 and later, runtime/asm_amd64.s; sys_linux_amd64.s: its vDSO calls run on g0's
 * stack. ".abi0" follows where there are two forms. */
static const char *const names[] = {"systemstack", "mcall",     "morestack",
				    "asmcgocall",  "nanotime1", "walltime"};

/* The string at @p at without @p prefix; NULL: it does not begin so, or is not terminated. */
static const char *name_after(const struct unw_section *strings, uint32_t at, const char *prefix)
{
	size_t size = strlen(prefix);
	const char *s;

	if (at >= strings->size || strings->size - at <= size)
		return NULL;
	s = (const char *)strings->bytes + at;
	if (memcmp(s, prefix, size) != 0 || !memchr(s, '\0', strings->size - at))
		return NULL;
	return s + size;
}

static bool is_switch(const struct unw_section *strings, uint32_t at)
{
	const char *name = name_after(strings, at, "runtime.");

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++) {
		size_t size = strlen(names[i]);

		if (!strncmp(name, names[i], size) &&
		    (!name[size] || !strcmp(name + size, ".abi0")))
			return true;
	}
	return false;
}

/* mov %reg, %rsp or mov mem, %rsp: where it is, of @p nr bytes; nr: nowhere. */
static size_t find_switch(const uint8_t *p, size_t nr)
{
	for (size_t i = 0; i + 2 < nr; i++) {
		bool is_store = p[i + 1] == 0x89 && (p[i + 2] & 0xc7) == 0xc4;
		bool is_load = p[i + 1] == 0x8b && (p[i + 2] & 0x38) == 0x20 && p[i + 2] < 0xc0;

		/* REX.W; of the other register any */
		if ((is_store && (p[i] & 0xfb) == 0x48) || (is_load && (p[i] & 0xfe) == 0x48))
			return i;
	}
	return nr;
}

static bool add_rows(const struct unw_image *image, uint64_t start, uint64_t size,
		     struct unw_list *ret)
{
	enum { MAX_BYTES = 4096 };
	const struct unw_rule none = {
		.cfa = UNW_CFA_NONE, .why = UNW_WHY_NEW_STACK, .origin = UNW_DEBUG_FRAME};
	const uint8_t *p = size <= MAX_BYTES ? unw_image_code(image, start, size) : NULL;
	size_t at = p ? find_switch(p, size) : 0;
	uint64_t rel;

	if (!p || at == size || !unw_image_rel(image, start, &rel))
		return false;
	unw_list_begin(ret, rel + at, rel + size);
	unw_list_row(ret, rel + at, &none);
	return true;
}

enum clew_err stack_switch_rows(const struct unw_image *image, struct unw_list *ret)
{
	const uint8_t *sym = image->symbols.bytes;
	bool is_swapped = image->is_swapped, is_found = false;

	if (!sym || !image->strings.bytes || image->arch != UNW_X86_64)
		return CLEW_NOT_FOUND;
	for (size_t n = image->symbols.size / sizeof(Elf64_Sym); n; n--, sym += sizeof(Elf64_Sym)) {
		uint32_t name = load_u32(sym + offsetof(Elf64_Sym, st_name), is_swapped);

		if (ELF64_ST_TYPE(sym[offsetof(Elf64_Sym, st_info)]) == STT_FUNC &&
		    is_switch(&image->strings, name))
			is_found |= add_rows(
				image, load_u64(sym + offsetof(Elf64_Sym, st_value), is_swapped),
				load_u64(sym + offsetof(Elf64_Sym, st_size), is_swapped), ret);
	}
	return is_found ? CLEW_OK : CLEW_NOT_FOUND;
}
