/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_sym.h"

#include <limits.h>
#include <stdio.h>

#include "base/err.h"
#include "elf/elf_mapping.h"
#include "elf/elf_plt.h"
#include "elf/sigreturn_code.h"

/** A symbol table and its strings. */
struct source {
	const struct elf_file *f;
	Elf_Data *data;
	size_t nr;
	const char *text; /* ends with a NUL */
	size_t text_bytes;
};

static bool find_table(const struct elf_file *f, const char *name, uint32_t type,
		       struct elf_section *ret)
{
	struct elf_section s;

	if (!f->elf || !elf_file_section(f, name, &s) || s.h.sh_type != type)
		return false;
	*ret = s;
	return true;
}

bool elf_has_symtab(const struct elf_file *f)
{
	struct elf_section s;

	return find_table(f, ".symtab", SHT_SYMTAB, &s);
}

bool elf_has_dynsym(const struct elf_file *f)
{
	struct elf_section s;

	return find_table(f, ".dynsym", SHT_DYNSYM, &s);
}

static bool open_source(const struct elf_file *f, const struct elf_section *table,
			struct source *ret)
{
	struct source s = {.f = f, .data = elf_getdata(table->scn, NULL)};
	size_t entry = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	struct elf_section strings;
	struct bytes b;

	if (!s.data || !entry || !elf_file_section_at(f, table->h.sh_link, &strings) ||
	    !elf_file_bytes(f, &strings, &b) || !bytes_left(&b))
		return false;
	/* The last name may lack its NUL in a damaged file: leave it out. */
	while (b.end > b.pos && b.end[-1])
		b.end--;
	s.nr = table->h.sh_size / entry;
	s.text = (const char *)b.pos;
	s.text_bytes = bytes_left(&b);
	*ret = s;
	return true;
}

static bool is_function_or_object(const GElf_Sym *s)
{
	unsigned int type = GELF_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT) && s->st_name &&
	       s->st_shndx != SHN_UNDEF;
}

static bool is_label(const GElf_Sym *s)
{
	unsigned int visibility = GELF_ST_VISIBILITY(s->st_other);

	return GELF_ST_TYPE(s->st_info) == STT_NOTYPE && s->st_name && s->st_shndx != SHN_UNDEF &&
	       s->st_shndx != SHN_ABS && visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

/** $a, $d, $t, $x mark code and data inside Arm functions: they name nothing. */
static bool is_arm_mapping_symbol(const struct elf_file *f, const char *name)
{
	return (f->machine == EM_ARM || f->machine == EM_AARCH64) && elf_mapping_kind(name);
}

static bool is_code_or_data(const char *section)
{
	return strstr(section, "text") || strstr(section, "data");
}

/** Everything one symbol is checked and moved by. */
struct collect {
	struct sym_table *t;
	struct source src;
	const struct elf_file *runtime;
	enum elf_sym_space space;
	bool copies_names;          /* of a second table */
	struct elf_section section; /* of the symbol before: mostly the same again */
	size_t section_index;
	bool is_section_runtime;
};

/** The section of @p s, from the run-time file where the debug file only has a placeholder. */
static bool section_of(struct collect *c, const GElf_Sym *s)
{
	if (c->section_index == s->st_shndx)
		return true;
	c->section_index = 0;
	c->is_section_runtime = false;
	if (!elf_file_section_at(c->src.f, s->st_shndx, &c->section))
		return false;
	if (c->section.h.sh_type == SHT_NOBITS) {
		if (!elf_file_section_at(c->runtime, s->st_shndx, &c->section))
			return false;
		c->is_section_runtime = true;
	}
	c->section_index = s->st_shndx;
	return true;
}

static uint64_t place_of(const struct collect *c, uint64_t value)
{
	uint64_t offset;

	if (c->space == ELF_SYM_ADDRESSES)
		return value;
	if (elf_file_offset(c->runtime, value, &offset))
		return offset;
	return value - c->section.h.sh_addr + c->section.h.sh_offset;
}

/** @return false when memory is short. */
static bool collect_one(struct collect *c, GElf_Sym *s)
{
	bool label = is_label(s);
	const char *name;
	struct sym n;

	if ((!label && !is_function_or_object(s)) || s->st_name >= c->src.text_bytes)
		return true;
	name = c->src.text + s->st_name;
	if (is_arm_mapping_symbol(c->src.f, name) || s->st_shndx == SHN_ABS || !section_of(c, s) ||
	    !(c->section.h.sh_flags & SHF_ALLOC))
		return true;
	if (label && !is_code_or_data(elf_file_section_name(
			     c->is_section_runtime ? c->runtime : c->src.f, &c->section.h)))
		return true;
	if (c->src.f->machine == EM_ARM && GELF_ST_TYPE(s->st_info) == STT_FUNC)
		s->st_value &= ~(uint64_t)1; /* the Thumb bit */
	n = (struct sym){.start = place_of(c, s->st_value),
			 .name = s->st_name,
			 .type = GELF_ST_TYPE(s->st_info)};
	n.end = n.start + s->st_size;
	if (c->copies_names) {
		n.is_own = 1;
		n.name = sym_table_own_name(c->t, name, strlen(name));
		if (n.name == SYM_NO_NAME)
			return false;
	}
	return sym_table_add(c->t, &n, GELF_ST_BIND(s->st_info));
}

static bool collect_all(struct collect *c)
{
	GElf_Sym s;

	for (size_t i = 0; i < c->src.nr && gelf_getsym(c->src.data, (int)i, &s); i++) {
		if (!collect_one(c, &s))
			return false;
	}
	return true;
}

static bool collect_dynsym_too(struct collect *c)
{
	struct collect more = {
		.t = c->t, .runtime = c->runtime, .space = c->space, .copies_names = true};
	struct elf_section table;

	if (!find_table(c->runtime, ".dynsym", SHT_DYNSYM, &table) ||
	    !open_source(c->runtime, &table, &more.src))
		return true;
	return collect_all(&more);
}

/* A signal's trampoline without a symbol is no part of the function before it, as that seems to be
 * where functions have no sizes: no call leads to it. */
static uint64_t code_end(const void *ctx, uint64_t start, uint64_t end)
{
	enum { MAX_GAP = 1 << 20 };
	const struct elf_file *f = ctx;
	uint64_t last = end < f->size ? end : f->size;
	size_t at = 1;

	if (start >= last || last - start > MAX_GAP ||
	    !sigreturn_code_next(f->machine, f->data + start, (size_t)(last - start), &at))
		return end;
	return start + at;
}

enum clew_err elf_sym_collect(struct sym_table *t, const struct elf_file *syms,
			      const struct elf_file *runtime, enum elf_sym_space space,
			      struct clew_diag *diag)
{
	struct collect c = {.t = t, .runtime = runtime, .space = space};
	struct elf_section table;
	bool ok;

	if (!find_table(syms, ".symtab", SHT_SYMTAB, &table) &&
	    !find_table(syms, ".dynsym", SHT_DYNSYM, &table))
		return clew_fail(diag, CLEW_NOT_FOUND, 0, "no symbol table");
	if (!open_source(syms, &table, &c.src))
		return clew_fail(diag, CLEW_BAD_FILE, table.h.sh_offset, "damaged symbol table");
	if (space != ELF_SYM_ADDRESSES) { /* places are offsets in the file */
		t->code_end = code_end;
		t->code_ctx = runtime;
	}
	t->text = c.src.text;
	t->text_bytes = c.src.text_bytes;
	ok = collect_all(&c);
	if (ok && space == ELF_SYM_OFFSETS_BOTH)
		ok = collect_dynsym_too(&c);
	sym_table_mark_late(t);
	if (ok && t->added.nr && space != ELF_SYM_ADDRESSES)
		ok = elf_plt_collect(t, runtime);
	return ok ? CLEW_OK : clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
}

static bool address_in(const struct elf_file *f, const char *section, uint32_t type,
		       const char *name, uint64_t *ret)
{
	struct elf_section table;
	struct source src;
	GElf_Sym s;

	if (!find_table(f, section, type, &table) || !open_source(f, &table, &src))
		return false;
	for (size_t i = 0; i < src.nr && gelf_getsym(src.data, (int)i, &s); i++) {
		if (s.st_shndx != SHN_UNDEF && s.st_name < src.text_bytes &&
		    !strcmp(src.text + s.st_name, name)) {
			*ret = s.st_value;
			return true;
		}
	}
	return false;
}

bool elf_sym_address(const struct elf_file *f, const char *name, uint64_t *ret)
{
	return address_in(f, ".symtab", SHT_SYMTAB, name, ret) ||
	       address_in(f, ".dynsym", SHT_DYNSYM, name, ret);
}

static bool is_allocated(const struct elf_file *f, const GElf_Sym *s)
{
	struct elf_section of;

	return s->st_shndx != SHN_UNDEF && s->st_shndx < SHN_LORESERVE &&
	       elf_file_section_at(f, s->st_shndx, &of) && of.h.sh_flags & SHF_ALLOC &&
	       !(of.h.sh_flags & SHF_TLS);
}

static bool walk(const struct elf_file *f, const char *section, uint32_t kind,
		 bool (*take)(void *ctx, const struct elf_sym_entry *s), void *ctx)
{
	struct elf_section table;
	struct source src;
	GElf_Sym s;

	if (!find_table(f, section, kind, &table) || !open_source(f, &table, &src))
		return true;
	for (size_t i = 1; i < src.nr && i <= INT_MAX; i++) {
		struct elf_sym_entry e = {0};
		unsigned int type;

		if (!gelf_getsym(src.data, (int)i, &s) || s.st_name >= src.text_bytes)
			continue;
		type = GELF_ST_TYPE(s.st_info);
		e.name = src.text + s.st_name;
		e.address = s.st_value;
		e.bytes = s.st_size;
		e.is_local = GELF_ST_BIND(s.st_info) == STB_LOCAL;
		e.is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
		if (*e.name && (type <= STT_FUNC || e.is_function) && is_allocated(f, &s) &&
		    !take(ctx, &e))
			return false;
	}
	return true;
}

bool elf_sym_walk(const struct elf_file *f, bool (*take)(void *ctx, const struct elf_sym_entry *s),
		  void *ctx)
{
	return walk(f, ".symtab", SHT_SYMTAB, take, ctx);
}

bool elf_sym_walk_all(const struct elf_file *f,
		      bool (*take)(void *ctx, const struct elf_sym_entry *s), void *ctx)
{
	return walk(f, ".symtab", SHT_SYMTAB, take, ctx) &&
	       walk(f, ".dynsym", SHT_DYNSYM, take, ctx);
}
