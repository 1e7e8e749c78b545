/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/eh_frame_use.h"

#include "base/mem.h"
#include "make/cfi_build.h"
#include "make/elf_build.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/unw_store.h"

enum { TEXT_BYTES = 0x10000, SECTION = 0x20000, HDR = 0x30000 };

/** Every look-up gives a rule of the table. */
static bool is_table_right(const struct unw_table *t)
{
	for (uint64_t rel = t->head->start; rel < t->head->end; rel += 1 + rel % 7) {
		const struct unw_rule *r = unw_table_find(t, rel);

		if (r < t->rule || r >= t->rule + t->head->nr_rules)
			return false;
		if (rel - t->head->start > 1 << 18)
			break;
	}
	return true;
}

static const char *use_elf(const uint8_t *data, size_t size)
{
	struct unw_store *s = unw_store_new(&(struct unw_store_opts){.debug_dir = "/nowhere"});
	const struct unw_code *c = s ? unw_store_get_bytes(s, data, size) : NULL;
	const char *wrong = NULL;

	if (!c)
		wrong = "out of memory";
	else if (!c->table.head && !c->why_none)
		wrong = "no table and no reason";
	else if (c->table.head && !is_table_right(&c->table))
		wrong = "a look-up leaves the table";
	else if (c->code && (c->code < data || c->code + c->code_bytes > data + size))
		wrong = "code outside of the file";
	unw_store_free(s);
	return wrong;
}

static const char *build(struct unw_list *l, enum unw_arch arch)
{
	void *block = NULL;
	struct unw_table t;
	size_t size;
	const char *wrong = NULL;
	enum clew_err err = unw_table_build(l, NULL, arch, &block, &size);

	if (!err && unw_table_of_block(&t, block, size))
		wrong = "a table of ours is not right";
	else if (!err && !is_table_right(&t))
		wrong = "a look-up leaves the table";
	else if (err && err != CLEW_NOT_FOUND)
		wrong = "cannot be built";
	mem_free(block);
	return wrong;
}

static const char *use_section(const struct unw_image *image, bool is_debug_frame, size_t size)
{
	struct unw_list *l = unw_list_new();
	struct eh_frame_counts n = {0};
	struct eh_frame_hdr_counts hdr;
	const char *wrong = NULL;

	eh_frame_rows(image, is_debug_frame, l, &n);
	if (n.nr_rows > size || n.nr_functions > size / 8 || unw_list_nr_rows(l) > n.nr_rows)
		wrong = "more rows than bytes";
	if (!wrong)
		wrong = build(l, image->arch);
	if (!eh_frame_hdr_check(image, &hdr) && hdr.nr_entries > image->eh_frame_hdr.size)
		wrong = "more entries than bytes";
	unw_list_free(l);
	return wrong;
}

const char *eh_frame_use(const uint8_t *data, size_t size)
{
	struct unw_image image = {.arch = UNW_X86_64, .nr_segments = 1};
	struct unw_section whole, half;
	uint8_t flags;

	if (!size)
		return NULL;
	flags = data[0];
	if (flags == 0x7f)
		return use_elf(data, size);
	image.arch = (enum unw_arch)(1 + (flags & 3) % 3);
	image.is_swapped = flags & EH_USE_SWAP;
	image.segments[0] = (struct unw_segment){EH_USE_TEXT, TEXT_BYTES, 0};
	whole = (struct unw_section){data + 1, size - 1, SECTION};
	half = (struct unw_section){whole.bytes + whole.size / 2, whole.size - whole.size / 2, HDR};
	if (flags & EH_USE_HDR) {
		image.eh_frame = whole;
		image.eh_frame.size = whole.size / 2;
		image.eh_frame_hdr = half;
		eh_frame_hdr_cut(&image);
	} else if (flags & EH_USE_DEBUG) {
		image.debug_frame = whole;
	} else {
		image.eh_frame = whole;
	}
	return use_section(&image, flags & EH_USE_DEBUG, size);
}

/* --- inputs --- */

static void add_functions(struct cfi_build *c, struct cfi_cie *cie)
{
	static const uint8_t simple[] = {0x41, 0x0e, 0x10, 0x86, 2,    0x43, 0x0d, 6,    2,
					 20,   0x0a, 0x0c, 7,    8,    0xc6, 0x41, 0x0b, 3,
					 1,    0,    0x2e, 8,    0x14, 6,    2,    0x09, 6,
					 3,    0x15, 7,    0,    0x04, 1,    0,    0,    0};
	static const uint8_t odd[] = {0x0f, 3,    0x76, 0x78, 6,    0x10, 6,    2,    0x76, 0,
				      0x44, 0x0f, 11,   0x77, 8,    0x80, 0,    0x3f, 0x1a, 0x3b,
				      0x2a, 0x33, 0x24, 0x22, 0x48, 0x16, 6,    2,    0x77, 0x20,
				      0x2d, 0x12, 7,    0x7f, 0x13, 0x7e, 0x07, 16};
	struct buf program = {0};

	buf_add(&program, simple, sizeof(simple));
	cfi_fde_add(c, cie, EH_USE_TEXT + 0x100, 0x200, &program);
	cfi_terminator(c);
	buf_clear(&program);
	buf_add(&program, odd, sizeof(odd));
	cfi_fde_add(c, cie, EH_USE_TEXT + 0x400, 0x100, &program);
	buf_done(&program);
}

static void section_seed(uint8_t flags, const char *letters, bool is_64, struct buf *ret)
{
	static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1};
	struct cfi_build c = {.addr = SECTION,
			      .is_swapped = flags & EH_USE_SWAP,
			      .is_debug_frame = flags & EH_USE_DEBUG};
	struct cfi_cie cie = {letters, 3, is_64, EH_PE_PCREL | EH_PE_SDATA4, 0x9b, 1, -8, 16, 0};
	struct buf program = {0}, hdr = {0};

	buf_add(&program, initial, sizeof(initial));
	cfi_cie_add(&c, &cie, &program);
	add_functions(&c, &cie);
	cfi_u8(ret, flags);
	buf_add(ret, c.section.data, c.section.nr);
	if (flags & EH_USE_HDR) {
		cfi_fixed(&hdr, 0x3b030001 | EH_PE_SDATA4 << 8, 4, c.is_swapped);
		cfi_fixed(&hdr, SECTION, 4, c.is_swapped);
		cfi_fixed(&hdr, 2, 4, c.is_swapped);
		for (uint64_t i = 0; i < 2; i++) {
			cfi_fixed(&hdr, EH_USE_TEXT + 0x100 + 0x300 * i - HDR, 4, c.is_swapped);
			cfi_fixed(&hdr, SECTION + 0x20 + 0x30 * i - HDR, 4, c.is_swapped);
		}
		buf_fill(&hdr, '\0', c.section.nr - hdr.nr);
		buf_add(ret, hdr.data, hdr.nr);
	}
	buf_done(&program);
	buf_done(&hdr);
	cfi_done(&c);
}

/** Functions with code to inspect: one enters an exception handler, one pops its frame pointer.
 */
static void add_functions_with_code(struct cfi_build *c, struct cfi_cie *cie, uint64_t text)
{
	static const uint8_t handler[] = {0x41, 0x0e, 0x10, 0x86, 2,    0x43, 0x0d,
					  6,    0x41, 0x80, 3,    0x81, 4,    0x6b,
					  0x0c, 2,    8,    0x42, 0x0c, 7,    8};
	static const uint8_t realigned[] = {0x10, 6, 2,    0x76, 0, 0x50, 0x0c, 10,
					    0,    0, 0x45, 0x0c, 7, 8,    0x41};
	struct buf program = {0};

	buf_add(&program, handler, sizeof(handler));
	cfi_fde_add(c, cie, text + 0x100, 0x40, &program);
	buf_clear(&program);
	buf_add(&program, realigned, sizeof(realigned));
	cfi_fde_add(c, cie, text + 0x200, 0x40, &program);
	buf_done(&program);
}

static void elf_seed(struct buf *ret)
{
	static uint8_t code[0x600];
	static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1};
	struct cfi_build c = {0};
	struct cfi_cie cie = {"zR", 1, false, EH_PE_UDATA4, 0, 1, -8, 16, 0};
	struct elf_build b = {.base = EH_USE_TEXT};
	struct buf program = {0};
	uint64_t text;

	memcpy(code + 0x108, "\x4c\x8d\xa5\xe0\xfd\xff\xff", 7); /* lea -0x220(%rbp), %r12 */
	memcpy(code + 0x11d, "\x4c\x89\xe7\xe8", 4);             /* mov %r12, %rdi; call next */
	memcpy(code + 0x126, "\xe8\xd5\xff\xff\xff", 5);         /* call text + 0x100 */
	memcpy(code + 0x100, "\xf3\x0f\x1e\xfa\xc3", 5);         /* endbr64; ret */
	memcpy(code + 0x210, "\x5d\x49\x8d\x62\xf8\xc3", 6); /* pop %rbp; lea -8(%r10), %rsp; ret */
	elf_build_id(&b, code, 20);
	text = elf_build_addr(&b, elf_build_section(&b, ".text", SHT_PROGBITS,
						    SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code)));
	buf_add(&program, initial, sizeof(initial));
	cfi_cie_add(&c, &cie, &program);
	add_functions(&c, &cie);
	add_functions_with_code(&c, &cie, text);
	elf_build_section(&b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, c.section.data, c.section.nr);
	elf_build_section(&b, ".debug_frame", SHT_PROGBITS, 0, c.section.data, c.section.nr);
	elf_build_finish(&b);
	buf_add(ret, b.file.data, b.file.nr);
	buf_done(&program);
	elf_build_done(&b);
	cfi_done(&c);
}

bool eh_frame_seed(unsigned int number, struct buf *ret)
{
	static const uint8_t flags[] = {0,
					1 | EH_USE_SWAP,
					2,
					2 | EH_USE_SWAP,
					EH_USE_DEBUG,
					EH_USE_DEBUG | EH_USE_SWAP,
					EH_USE_HDR,
					EH_USE_HDR | EH_USE_SWAP};
	static const char *const letters[] = {"zR", "zPLR", "zRS", "zRBG", "", "", "zR", "zR"};

	if (number < sizeof(flags))
		section_seed(flags[number], letters[number], number & 1, ret);
	else if (number == sizeof(flags))
		elf_seed(ret);
	return number <= sizeof(flags);
}
