/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/kallsyms.h"

#include <elf.h>

#include "elf/text_line.h"

enum { MODULES_MAX = UINT16_MAX };

/** "[ext4]" after a tab. */
static void split_module(struct kallsyms_line *l)
{
	const char *tab = memchr(l->name, '\t', l->name_bytes);
	size_t rest;

	l->module_bytes = 0;
	if (!tab)
		return;
	rest = l->name_bytes - (size_t)(tab - l->name);
	l->name_bytes = (size_t)(tab - l->name);
	if (rest < 4 || tab[1] != '[' || tab[rest - 1] != ']')
		return;
	l->module = tab + 1;
	l->module_bytes = rest - 1;
}

static bool parse_line(struct bytes line, struct kallsyms_line *ret)
{
	struct kallsyms_line l = {0};

	if (!text_take_hex(&line, &l.addr) || bytes_left(&line) < 4 || line.pos[0] != ' ' ||
	    line.pos[2] != ' ')
		return false;
	l.type = (char)line.pos[1];
	l.name = (const char *)line.pos + 3;
	l.name_bytes = bytes_left(&line) - 3;
	split_module(&l);
	*ret = l;
	return l.name_bytes > 0 && !memchr(l.name, '\0', l.name_bytes);
}

bool kallsyms_next(struct bytes *text, struct kallsyms_line *ret)
{
	while (bytes_left(text)) {
		if (parse_line(text_take_line(text), ret))
			return true;
	}
	return false;
}

bool kallsyms_is_wanted(const struct kallsyms_line *l)
{
	char lower = l->type | 0x20;

	return (lower == 't' || lower == 'w' || lower == 'd' || lower == 'b') && l->name[0] != '$';
}

static uint8_t binding_of(char type)
{
	if (type == 'W')
		return STB_WEAK;
	return type >= 'A' && type <= 'Z' ? STB_GLOBAL : STB_LOCAL;
}

static bool add_line(struct sym_table *t, const struct kallsyms_line *l, struct intern *modules)
{
	struct sym s = {.start = l->addr, .end = l->addr, .is_own = 1};

	s.type = strchr("TtWw", l->type) ? STT_FUNC : STT_OBJECT;
	s.name = sym_table_own_name(t, l->name, l->name_bytes);
	if (s.name == SYM_NO_NAME)
		return false;
	if (l->module_bytes) {
		uint32_t module = intern_add(modules, l->module, l->module_bytes);

		if (module == INTERN_FAILED)
			return false;
		if (module > MODULES_MAX)
			return true;
		s.module = (uint16_t)module;
	}
	return sym_table_add(t, &s, binding_of(l->type));
}

void kallsyms_note(struct kallsyms_info *info, const struct kallsyms_line *l, const char *ref_name,
		   size_t ref_bytes)
{
	info->is_all_zero &= l->addr == 0;
	if (info->has_ref || !ref_name || l->name_bytes != ref_bytes ||
	    memcmp(l->name, ref_name, ref_bytes) != 0)
		return;
	info->has_ref = true;
	info->ref_addr = l->addr;
}

enum clew_err kallsyms_collect(struct sym_table *t, struct bytes text, struct intern *modules,
			       const char *ref_name, struct kallsyms_info *ret)
{
	size_t ref_bytes = ref_name ? strlen(ref_name) : 0;
	struct kallsyms_info info = {.is_all_zero = true};
	struct kallsyms_line l;

	while (kallsyms_next(&text, &l)) {
		kallsyms_note(&info, &l, ref_name, ref_bytes);
		if (!kallsyms_is_wanted(&l))
			continue;
		info.nr_own += !l.module_bytes;
		if (!add_line(t, &l, modules))
			return CLEW_NO_MEMORY;
	}
	info.nr = t->added.nr;
	*ret = info;
	return CLEW_OK;
}

bool modules_address(struct bytes text, const char *name, size_t name_bytes, uint64_t *ret)
{
	while (bytes_left(&text)) {
		struct bytes line = text_take_line(&text);
		const uint8_t *at;
		uint64_t addr;

		if (bytes_left(&line) <= name_bytes || memcmp(line.pos, name, name_bytes) != 0 ||
		    line.pos[name_bytes] != ' ')
			continue;
		at = memmem(line.pos, bytes_left(&line), " 0x", 3);
		if (!at)
			return false;
		line.pos = at + 3;
		if (!text_take_hex(&line, &addr) || !addr)
			return false;
		*ret = addr;
		return true;
	}
	return false;
}
