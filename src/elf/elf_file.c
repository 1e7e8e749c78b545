/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_file.h"

#include <zlib.h>

#include "base/err.h"
#include "base/mem.h"

/** Up to the first header that is damaged. @return false when memory is short. */
static bool read_segments(struct elf_file *f)
{
	size_t nr;
	GElf_Phdr ph;

	if (elf_getphdrnum(f->elf, &nr) || !nr)
		return true;
	f->segments = mem_calloc(nr, sizeof(*f->segments));
	for (size_t i = 0; f->segments && i < nr && gelf_getphdr(f->elf, (int)i, &ph); i++)
		f->segments[f->nr_segments++] =
			(struct elf_segment){ph.p_vaddr,           ph.p_memsz,
					     ph.p_offset,          ph.p_filesz,
					     ph.p_type == PT_LOAD, (ph.p_flags & PF_X) != 0};
	return f->segments;
}

/* Of the whole process, so before it has threads. */
__attribute__((constructor)) static void init_libelf(void)
{
	elf_version(EV_CURRENT);
}

enum clew_err elf_file_open(struct elf_file *f, const void *data, size_t size,
			    struct clew_diag *diag)
{
	struct elf_file n = {.data = data, .size = size};
	GElf_Ehdr eh;

	if (size < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0)
		return clew_fail(diag, CLEW_BAD_FILE, 0, "not an ELF file");
	/* elf_memory() writes nothing into the image, it only lacks the const. */
	n.elf = elf_memory((char *)(uintptr_t)data, size);
	if (!n.elf || elf_kind(n.elf) != ELF_K_ELF || !gelf_getehdr(n.elf, &eh)) {
		elf_end(n.elf);
		return clew_fail(diag, CLEW_BAD_FILE, 0, "damaged ELF header");
	}
	n.type = eh.e_type;
	n.machine = eh.e_machine;
	n.is_64 = gelf_getclass(n.elf) == ELFCLASS64;
	if (!read_segments(&n)) {
		elf_end(n.elf);
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	*f = n;
	return CLEW_OK;
}

void elf_file_done(struct elf_file *f)
{
	elf_end(f->elf);
	mem_free(f->segments);
	budget_give(f->budget, f->charged);
	*f = (struct elf_file){0};
}

bool elf_file_section_at(const struct elf_file *f, size_t index, struct elf_section *ret)
{
	struct elf_section s = {.scn = index ? elf_getscn(f->elf, index) : NULL};

	if (!s.scn || !gelf_getshdr(s.scn, &s.h))
		return false;
	*ret = s;
	return true;
}

const char *elf_file_section_name(const struct elf_file *f, const GElf_Shdr *h)
{
	size_t strings;
	const char *name = NULL;

	if (!elf_getshdrstrndx(f->elf, &strings))
		name = elf_strptr(f->elf, strings, h->sh_name);
	return name ? name : "";
}

bool elf_file_section(const struct elf_file *f, const char *name, struct elf_section *ret)
{
	struct elf_section s = {0};

	while ((s.scn = elf_nextscn(f->elf, s.scn))) {
		if (!gelf_getshdr(s.scn, &s.h) || strcmp(elf_file_section_name(f, &s.h), name) != 0)
			continue;
		*ret = s;
		return true;
	}
	return false;
}

bool elf_file_has_soname(const struct elf_file *f)
{
	struct elf_section s;
	Elf_Data *data = elf_file_section(f, ".dynamic", &s) ? elf_getdata(s.scn, NULL) : NULL;
	GElf_Dyn d;

	for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++)
		if (d.d_tag == DT_SONAME)
			return true;
	return false;
}

bool elf_file_bytes(const struct elf_file *f, const struct elf_section *s, struct bytes *ret)
{
	if (s->h.sh_type == SHT_NOBITS || !range_fits(s->h.sh_offset, s->h.sh_size, f->size))
		return false;
	*ret = bytes_of(f->data + s->h.sh_offset, s->h.sh_size);
	return true;
}

bool elf_is_plausible(uint64_t unpacked_bytes, uint64_t packed_bytes)
{
	return unpacked_bytes / 4096 <= packed_bytes;
}

static bool charge(struct elf_file *f, uint64_t bytes, const char *what)
{
	if (!budget_take_for(f->budget, bytes, what, f->name))
		return false;
	f->charged += bytes;
	return true;
}

/** Of the older form: "ZLIB", then the size in 8 bytes, most significant first. */
static uint64_t old_unpacked_bytes(struct bytes b)
{
	uint64_t v = 0;

	if (bytes_left(&b) < 12 || memcmp(b.pos, "ZLIB", 4) != 0)
		return 0;
	for (int i = 4; i < 12; i++)
		v = v << 8 | b.pos[i];
	return v;
}

/** What libdw makes of the section; 0: it leaves it as it is. */
static uint64_t debug_bytes(const struct elf_file *f, const struct elf_section *s,
			    struct bytes *ret_packed)
{
	const char *name = elf_file_section_name(f, &s->h);
	GElf_Chdr ch;

	if (!elf_file_bytes(f, s, ret_packed))
		return 0;
	if (!strncmp(name, ".zdebug", 7))
		return old_unpacked_bytes(*ret_packed);
	if (!(s->h.sh_flags & SHF_COMPRESSED) || !strstr(name, "debug"))
		return 0;
	return gelf_getchdr(s->scn, &ch) ? ch.ch_size : UINT64_MAX;
}

bool elf_file_charge_debug(struct elf_file *f)
{
	struct elf_section s = {0};
	uint64_t all = 0;

	while ((s.scn = elf_nextscn(f->elf, s.scn))) {
		struct bytes packed;
		uint64_t n;

		if (!gelf_getshdr(s.scn, &s.h))
			continue;
		n = debug_bytes(f, &s, &packed);
		if (n && (!elf_is_plausible(n, bytes_left(&packed)) ||
			  __builtin_add_overflow(all, n, &all)))
			return false;
	}
	return charge(f, all, "the packed debug sections of");
}

bool elf_file_unpack(struct elf_file *f, const struct elf_section *s, struct bytes *ret)
{
	struct bytes packed;
	GElf_Chdr ch;
	Elf_Data *data;

	if (!elf_file_bytes(f, s, &packed))
		return false;
	if (!(s->h.sh_flags & SHF_COMPRESSED)) {
		*ret = packed;
		return true;
	}
	if (!gelf_getchdr(s->scn, &ch) || ch.ch_size > ELF_UNPACK_MAX_BYTES ||
	    !elf_is_plausible(ch.ch_size, bytes_left(&packed)) ||
	    !charge(f, ch.ch_size, "a packed section of") || elf_compress(s->scn, 0, 0) < 0)
		return false;
	data = elf_rawdata(s->scn, NULL);
	if (!data || !data->d_buf)
		return false;
	*ret = bytes_of(data->d_buf, data->d_size);
	return true;
}

size_t elf_notes_build_id(struct bytes notes, bool swap, uint8_t ret[ELF_BUILD_ID_MAX])
{
	uint32_t name_bytes, desc_bytes, type;
	struct bytes name, desc;

	while (bytes_u32(&notes, swap, &name_bytes) && bytes_u32(&notes, swap, &desc_bytes) &&
	       bytes_u32(&notes, swap, &type)) {
		if (!bytes_take(&notes, align_up(name_bytes, 4), &name) ||
		    !bytes_take(&notes, desc_bytes, &desc))
			return 0;
		if (type == NT_GNU_BUILD_ID && name_bytes == 4 && !memcmp(name.pos, "GNU", 4)) {
			size_t n = desc_bytes < ELF_BUILD_ID_MAX ? desc_bytes : ELF_BUILD_ID_MAX;

			memcpy(ret, desc.pos, n);
			return n;
		}
		if (!bytes_skip(&notes, align_up(desc_bytes, 4) - desc_bytes))
			return 0;
	}
	return 0;
}

static bool is_swapped(const struct elf_file *f)
{
	return (f->data[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/** Notes at @p offset, unless more bytes were looked at than the file has: sections may overlap. */
static size_t build_id_at(const struct elf_file *f, uint64_t offset, uint64_t size, uint64_t *left,
			  uint8_t ret[ELF_BUILD_ID_MAX])
{
	if (!range_fits(offset, size, f->size) || size > *left)
		return 0;
	*left -= size;
	return elf_notes_build_id(bytes_of(f->data + offset, size), is_swapped(f), ret);
}

size_t elf_file_build_id(const struct elf_file *f, uint8_t ret[ELF_BUILD_ID_MAX])
{
	struct elf_section s = {0};
	uint64_t left = f->size;
	size_t n = 0, nr_phdrs;
	GElf_Phdr ph;

	while (!n && (s.scn = elf_nextscn(f->elf, s.scn))) {
		if (gelf_getshdr(s.scn, &s.h) && s.h.sh_type == SHT_NOTE)
			n = build_id_at(f, s.h.sh_offset, s.h.sh_size, &left, ret);
	}
	if (n || elf_getphdrnum(f->elf, &nr_phdrs))
		return n;
	left = f->size;
	for (size_t i = 0; !n && i < nr_phdrs && gelf_getphdr(f->elf, (int)i, &ph); i++) {
		if (ph.p_type == PT_NOTE)
			n = build_id_at(f, ph.p_offset, ph.p_filesz, &left, ret);
	}
	return n;
}

static bool link_section(const struct elf_file *f, const char *section, const char **ret_name,
			 struct bytes *ret_rest)
{
	struct elf_section s;
	struct bytes b, name;
	const uint8_t *nul;

	if (!elf_file_section(f, section, &s) || !elf_file_bytes(f, &s, &b))
		return false;
	nul = bytes_left(&b) ? memchr(b.pos, '\0', bytes_left(&b)) : NULL;
	if (!nul || nul == b.pos || !bytes_take(&b, (size_t)(nul - b.pos) + 1, &name))
		return false;
	*ret_name = (const char *)name.pos;
	*ret_rest = b;
	return true;
}

bool elf_file_debuglink(const struct elf_file *f, const char **ret_name, uint32_t *ret_crc)
{
	const char *name;
	struct bytes rest;
	size_t pad;

	if (!link_section(f, ".gnu_debuglink", &name, &rest))
		return false;
	pad = (4 - (strlen(name) + 1) % 4) % 4;
	if (!bytes_skip(&rest, pad) || !bytes_u32(&rest, is_swapped(f), ret_crc))
		return false;
	*ret_name = name;
	return true;
}

uint32_t elf_debuglink_crc(const void *data, size_t size)
{
	return (uint32_t)crc32_z(0, data, size);
}

bool elf_file_debugaltlink(const struct elf_file *f, const char **ret_name, struct bytes *ret_id)
{
	return link_section(f, ".gnu_debugaltlink", ret_name, ret_id);
}

bool elf_file_offset(const struct elf_file *f, uint64_t vaddr, uint64_t *ret)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->mem_bytes) {
			*ret = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

bool elf_file_vaddr(const struct elf_file *f, uint64_t offset, uint64_t *ret)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->is_load && offset >= s->offset && offset - s->offset < s->file_bytes) {
			*ret = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}
