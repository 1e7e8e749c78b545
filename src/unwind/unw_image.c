/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_image.h"

#include <string.h>

#include "unwind/eh_frame_hdr.h"

enum { PT_GNU_SFRAME_ = 0x6474e554 };

static bool find_arch(uint16_t machine, enum unw_arch *ret)
{
	switch (machine) {
	case EM_X86_64:
		*ret = UNW_X86_64;
		return true;
	case EM_AARCH64:
		*ret = UNW_AARCH64;
		return true;
	case EM_S390:
		*ret = UNW_S390X;
		return true;
	default:
		return false;
	}
}

static struct unw_section section_of(const struct elf_file *f, const char *name)
{
	struct elf_section s;
	struct bytes b;

	if (!elf_file_section(f, name, &s) || s.h.sh_flags & SHF_COMPRESSED ||
	    !elf_file_bytes(f, &s, &b) || !bytes_left(&b) || bytes_left(&b) > UNW_MAX_SECTION_BYTES)
		return (struct unw_section){0};
	return (struct unw_section){b.pos, bytes_left(&b), s.h.sh_addr};
}

static struct unw_section segment_of(const struct elf_file *f, const GElf_Phdr *ph)
{
	if (!ph->p_filesz || !range_fits(ph->p_offset, ph->p_filesz, f->size))
		return (struct unw_section){0};
	return (struct unw_section){f->data + ph->p_offset, ph->p_filesz, ph->p_vaddr};
}

static void add_segment(struct unw_image *i, const struct elf_file *f, const GElf_Phdr *ph)
{
	uint64_t end;

	if (!(ph->p_flags & PF_X) || i->nr_segments == UNW_MAX_SEGMENTS ||
	    __builtin_add_overflow(ph->p_vaddr, ph->p_filesz, &end) ||
	    __builtin_add_overflow(ph->p_offset, ph->p_filesz, &end))
		return;
	i->segments[i->nr_segments++] = (struct unw_segment){ph->p_vaddr, ph->p_filesz,
							     ph->p_offset, segment_of(f, ph).bytes};
}

/** Bytes of the file from link-time address @p addr to the end of its segment. */
static struct unw_section rest_of_segment(const struct elf_file *f, uint64_t addr)
{
	size_t nr;
	GElf_Phdr ph;

	if (elf_getphdrnum(f->elf, &nr))
		return (struct unw_section){0};
	for (size_t i = 0; i < nr && gelf_getphdr(f->elf, (int)i, &ph); i++) {
		struct unw_section s = segment_of(f, &ph);

		if (ph.p_type == PT_LOAD && s.bytes && addr >= s.addr && addr - s.addr < s.size)
			return (struct unw_section){s.bytes + (addr - s.addr),
						    s.size - (addr - s.addr), addr};
	}
	return (struct unw_section){0};
}

static void read_segments(struct unw_image *i, const struct elf_file *f)
{
	size_t nr;
	GElf_Phdr ph;

	if (elf_getphdrnum(f->elf, &nr))
		return;
	for (size_t n = 0; n < nr && gelf_getphdr(f->elf, (int)n, &ph); n++) {
		if (ph.p_type == PT_LOAD)
			add_segment(i, f, &ph);
		else if (ph.p_type == PT_GNU_EH_FRAME && !i->eh_frame_hdr.bytes)
			i->eh_frame_hdr = segment_of(f, &ph);
		else if (ph.p_type == PT_GNU_SFRAME_ && !i->sframe.bytes &&
			 ph.p_filesz <= UNW_MAX_SECTION_BYTES)
			i->sframe = segment_of(f, &ph);
	}
}

/** Where there are no section headers .eh_frame_hdr points at .eh_frame, and gives its last entry.
 */
static void find_eh_frame(struct unw_image *i, const struct elf_file *f)
{
	uint64_t addr;

	if (!eh_frame_hdr_pointer(i, &addr))
		return;
	i->eh_frame = rest_of_segment(f, addr);
	if (i->eh_frame.size > UNW_MAX_SECTION_BYTES)
		i->eh_frame.size = UNW_MAX_SECTION_BYTES;
	eh_frame_hdr_cut(i);
}

enum clew_err unw_image_of_elf(struct unw_image *ret, const struct elf_file *f)
{
	struct unw_image i = {0};
	GElf_Ehdr h;

	if (!f->is_64 || !find_arch(f->machine, &i.arch))
		return CLEW_UNSUPPORTED;
	i.is_swapped =
		(f->data[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	i.is_relocatable = f->type == ET_REL;
	i.entry = gelf_getehdr(f->elf, &h) && !i.is_relocatable ? h.e_entry : 0;
	i.sframe = section_of(f, ".sframe");
	i.eh_frame = section_of(f, ".eh_frame");
	i.eh_frame_hdr = section_of(f, ".eh_frame_hdr");
	i.debug_frame = section_of(f, ".debug_frame");
	i.symbols = section_of(f, ".symtab");
	i.strings = section_of(f, ".strtab");
	if (!i.symbols.bytes) {
		i.symbols = section_of(f, ".dynsym");
		i.strings = section_of(f, ".dynstr");
	}
	read_segments(&i, f);
	if (!i.eh_frame.bytes)
		find_eh_frame(&i, f);
	*ret = i;
	return CLEW_OK;
}

bool unw_image_rel(const struct unw_image *i, uint64_t vaddr, uint64_t *ret)
{
	for (size_t n = 0; n < i->nr_segments; n++) {
		const struct unw_segment *s = &i->segments[n];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->size) {
			*ret = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

bool unw_image_vaddr(const struct unw_image *i, uint64_t rel, uint64_t *ret)
{
	for (size_t n = 0; n < i->nr_segments; n++) {
		const struct unw_segment *s = &i->segments[n];

		if (rel >= s->offset && rel - s->offset < s->size) {
			*ret = rel - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

const uint8_t *unw_image_code(const struct unw_image *i, uint64_t vaddr, uint64_t size)
{
	for (size_t n = 0; n < i->nr_segments; n++) {
		const struct unw_segment *s = &i->segments[n];

		if (s->bytes && vaddr >= s->vaddr && range_fits(vaddr - s->vaddr, size, s->size))
			return s->bytes + (vaddr - s->vaddr);
	}
	return NULL;
}
