/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "image/dso_code_priv.h"

/*
 * Code of a kernel module, out of its .ko file: laid out and relocated here as the kernel's loader
 * does it. Only the running kernel knew the targets of branches to other modules and to the kernel;
 * the code ends before each such branch, so that nothing follows it to a wrong place.
 * Spec: Linux 7.3 kernel/module/main.c, layout_sections(); ELF for the Arm 64-bit Architecture
 * (AAELF64), "Relocation"; arch/arm64/kernel/module-plts.c.
 */
enum {
	MAX_SECTIONS = 4096,
	MAX_CODE_BYTES = 256 << 20,
	PLT_BYTES = 16, /* of one entry, at most */
};

void dso_code_image_free(struct dso_code_image *c)
{
	if (!c)
		return;
	vec_for_each (&c->sections, s)
		mem_free(s->bytes);
	vec_done(&c->sections);
	vec_done(&c->holes);
	mem_free(c);
}

static bool is_code(const struct elf_section *s, const char *name)
{
	return s->h.sh_flags & SHF_ALLOC && s->h.sh_flags & SHF_EXECINSTR &&
	       strncmp(name, ".init", 5) != 0;
}

static bool add_section(struct dso_code_image *c, const struct elf_file *f, uint16_t index,
			const struct elf_section *s, uint64_t start)
{
	struct dso_code_section n = {.start = start, .size = s->h.sh_size, .index = index};
	struct bytes b;

	if (elf_file_bytes(f, s, &b)) {
		n.bytes = mem_alloc((size_t)n.size + 1);
		if (!n.bytes)
			return false;
		memcpy(n.bytes, b.pos, (size_t)n.size);
	}
	if (vec_push(&c->sections, n))
		return true;
	mem_free(n.bytes);
	return false;
}

/**
 * The loader gives sections without bytes (.plt) the size that the module turns out to need, at
 * most @p plt_bytes. @return false: where code lies depends on that.
 */
static bool lay_out(struct dso_code_image *c, const struct elf_file *f, uint64_t plt_bytes)
{
	uint64_t least = 0, most = 0;
	struct elf_section s;

	for (uint16_t i = 1; i < MAX_SECTIONS && elf_file_section_at(f, i, &s); i++) {
		uint64_t align = s.h.sh_addralign ? s.h.sh_addralign : 1;

		if (!is_code(&s, elf_file_section_name(f, &s.h)))
			continue;
		if (align & (align - 1) || align > MAX_CODE_BYTES || s.h.sh_size > MAX_CODE_BYTES ||
		    most > MAX_CODE_BYTES)
			return false;
		least = align_up(least, align);
		most = align_up(most, align);
		if (s.h.sh_type != SHT_NOBITS && least != most)
			return false;
		if (!add_section(c, f, i, &s, least))
			return false;
		least += s.h.sh_size;
		most += s.h.sh_type == SHT_NOBITS ? plt_bytes : s.h.sh_size;
	}
	return c->sections.nr;
}

struct dso_code_section *dso_code_section(const struct dso_code_image *c, uint32_t index)
{
	vec_for_each (&c->sections, s) {
		if (s->index == index)
			return s;
	}
	return NULL;
}

/** Put @p to into the branch at @p at, both from the module's first byte. @return false: too far.
 */
static bool patch(struct dso_code_section *s, uint64_t at, uint64_t to, unsigned int bits,
		  unsigned int shift)
{
	int64_t words = (int64_t)(to - at) / 4;
	uint8_t *bytes = s->bytes + (at - s->start);
	uint32_t mask = (uint32_t)((1u << bits) - 1) << shift, insn;

	if (words < -((int64_t)1 << (bits - 1)) || words >= (int64_t)1 << (bits - 1))
		return false;
	insn = load_le32(bytes);
	store_le32(bytes, (insn & ~mask) | ((uint32_t)words << shift & mask));
	return true;
}

static bool branch_field(uint32_t type, unsigned int *ret_bits, unsigned int *ret_shift)
{
	switch (type) {
	case R_AARCH64_CALL26:
	case R_AARCH64_JUMP26:
		*ret_bits = 26;
		*ret_shift = 0;
		return true;
	case R_AARCH64_CONDBR19:
		*ret_bits = 19;
		*ret_shift = 5;
		return true;
	case R_AARCH64_TSTBR14:
		*ret_bits = 14;
		*ret_shift = 5;
		return true;
	default:
		return false;
	}
}

static bool relocate(struct dso_code_image *c, struct dso_code_section *s, const GElf_Rela *r,
		     Elf_Data *symbols)
{
	struct dso_code_section *to;
	unsigned int bits, shift;
	GElf_Sym sym;
	uint64_t at = s->start + r->r_offset;

	if (!branch_field((uint32_t)GELF_R_TYPE(r->r_info), &bits, &shift))
		return true; /* no branch: the walk does not look at it */
	if (!s->bytes || !range_fits(r->r_offset, 4, s->size) || r->r_offset & 3)
		return true;
	to = gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &sym)
		   ? dso_code_section(c, sym.st_shndx)
		   : NULL;
	if (to && patch(s, at, to->start + sym.st_value + (uint64_t)r->r_addend, bits, shift))
		return true;
	return vec_push(&c->holes, at);
}

static Elf_Data *data_of(const struct elf_file *f, size_t index)
{
	struct elf_section s;

	return elf_file_section_at(f, index, &s) ? elf_getdata(s.scn, NULL) : NULL;
}

static bool relocate_all(struct dso_code_image *c, const struct elf_file *f)
{
	struct elf_section s;

	for (size_t i = 1; i < MAX_SECTIONS && elf_file_section_at(f, i, &s); i++) {
		struct dso_code_section *of = dso_code_section(c, s.h.sh_info);
		Elf_Data *data, *symbols;
		GElf_Rela r;

		if (s.h.sh_type != SHT_RELA || !of)
			continue;
		data = elf_getdata(s.scn, NULL);
		symbols = data_of(f, s.h.sh_link);
		if (!data || !symbols)
			return false;
		for (int n = 0; gelf_getrela(data, n, &r); n++) {
			if (!relocate(c, of, &r, symbols))
				return false;
		}
	}
	return true;
}

/** As many entries as there are branches, at most. */
static uint64_t most_plt_bytes(const struct elf_file *f)
{
	uint64_t nr = 2;
	struct elf_section s;

	for (size_t i = 1; i < MAX_SECTIONS && elf_file_section_at(f, i, &s); i++)
		nr += s.h.sh_type == SHT_RELA ? s.h.sh_size / sizeof(Elf64_Rela) : 0;
	return nr < MAX_CODE_BYTES / PLT_BYTES ? nr * PLT_BYTES : MAX_CODE_BYTES;
}

static int by_place(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/** @return why it cannot be used, NULL: it can. */
static const char *load(struct dso_code_image *c, const struct elf_file *f)
{
	if (f->machine != EM_AARCH64 || f->type != ET_REL)
		return "the module's file is not one for a 64-bit Arm machine";
	if (!lay_out(c, f, most_plt_bytes(f)))
		return "the load address of the module's code cannot be derived from its file";
	if (!relocate_all(c, f))
		return "the module's file is damaged";
	if (c->holes.nr)
		qsort(c->holes.data, c->holes.nr, sizeof(*c->holes.data), by_place);
	c->is_usable = true;
	return NULL;
}

static bool open_at(struct dso *d, const char *path)
{
	struct dso_file f = {0};
	struct dso_build_id id;

	if (dso_file_open(&f, path))
		return false;
	id = dso_file_build_id(&f);
	d->unchecked = NULL;
	if (d->build_id.size ? !dso_same_build_id(&id, &d->build_id)
			     : dso_identify(d, path, &d->unchecked) == DSO_IS_OTHER) {
		d->why_no_code = "the module's file is of another build";
		dso_file_done(&f);
		return false;
	}
	/* Its code is copied, to be relocated. */
	if (!dso_file_charge(d->store, &f) ||
	    !dso_store_charge(d->store, f.map.size, "the code of", path)) {
		d->why_no_code = dso_over_budget;
		dso_file_done(&f);
		return false;
	}
	d->code = f;
	return true;
}

/** Under --symfs also by its name alone, where the build id proves that it is the one. */
static bool open_file(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	const char *symfs = d->store->opts.symfs, *name = strrchr(d->path, '/');

	if (dso_place_path(d, DSO_AT_ITSELF, "", &d->build_id, &path) &&
	    open_at(d, buf_cstr(&path)))
		return true;
	buf_clear(&path);
	if (dso_place_path(d, DSO_AT_CACHE, "", &d->build_id, &path) && open_at(d, buf_cstr(&path)))
		return true;
	buf_clear(&path);
	if (!symfs || !name || !d->build_id.size)
		return false;
	buf_printf(&path, "%s%s", symfs, name);
	return open_at(d, buf_cstr(&path));
}

/** What is left of [start, end) around @p at between two branches of unknown target. */
static void cut_at_holes(const struct dso_code_image *c, uint64_t at, uint64_t *start,
			 uint64_t *end)
{
	size_t next = search_first(c->holes.nr, i, c->holes.data[i] + 4 > at);

	if (next && c->holes.data[next - 1] + 4 > *start)
		*start = c->holes.data[next - 1] + 4;
	if (next < c->holes.nr && c->holes.data[next] < *end)
		*end = c->holes.data[next];
}

/** Of a module as it was loaded: in a copy of kcore, or in the running kernel. */
static void use_kcore(struct dso *d)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_code_image *c = d->code_image;
	struct dso_file f = {0};

	if (!dso_kcore_copy(d, &path)) {
		c->is_running = true;
		return;
	}
	if (dso_file_open(&f, buf_cstr(&path)) || !dso_file_charge(d->store, &f)) {
		dso_file_done(&f);
		return;
	}
	dso_file_done(&d->code);
	d->code = f;
	c->is_kcore = true;
}

static void open_code(struct dso *d)
{
	d->why_no_code = "no file of this module";
	if (open_file(d))
		d->why_no_code = load(d->code_image, &d->code.elf);
	if (!d->code_image->is_usable)
		use_kcore(d);
}

/** Where neither is it: what is wrong with the module's file says more. */
static bool find_running(struct dso *d, uint64_t rel, struct code_region *ret)
{
	const char *why = d->why_no_code;

	if (dso_find_running_code(d, rel, ret))
		return true;
	d->why_no_code = d->code.elf.elf ? why : d->why_no_code;
	return false;
}

bool dso_find_module_code(struct dso *d, uint64_t rel, struct code_region *ret)
{
	struct dso_code_image *c = d->code_image;
	uint64_t at = rel - d->load_start;

	if (!d->has_asked_code) {
		d->has_asked_code = true;
		open_code(d);
	}
	if (c->is_kcore)
		return dso_find_segment_code(d, rel, ret);
	if (c->is_running)
		return find_running(d, rel, ret);
	if (!c->is_usable)
		return false;
	vec_for_each (&c->sections, s) {
		uint64_t start = s->start, end = s->start + s->size;

		if (!s->bytes || at < start || at >= end)
			continue;
		cut_at_holes(c, at, &start, &end);
		d->why_no_code = "a branch out of the module to a target that only the kernel knew";
		*ret = (struct code_region){d->load_start + start, d->load_start + end,
					    s->bytes + (start - s->start)};
		return at >= start && at < end;
	}
	d->why_no_code = "not in the module's file";
	return false;
}
