/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_debugdata.h"

#include <lzma.h>

#include "elf/elf_sym.h"
#include "make/elf_build.h"
#include "unit/tap.h"

static const uint8_t code[256];

static void pack(const void *data, size_t size, struct buf *ret)
{
	size_t bound = lzma_stream_buffer_bound(size);

	if (buf_reserve(ret, bound))
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, (uint8_t *)ret->data,
					&ret->nr, bound);
}

/** A stripped file that exports one function and carries @p packed. */
static void build(struct elf_build *b, const struct buf *packed)
{
	uint16_t text = elf_build_section(b, ".text", SHT_PROGBITS, SHF_ALLOC, code, sizeof(code));
	struct elf_build_sym sym = {"exported", elf_build_addr(b, text), 16, STB_GLOBAL, STT_FUNC,
				    text};

	elf_build_syms(b, SHT_DYNSYM, &sym, 1);
	elf_build_section(b, ".gnu_debugdata", SHT_PROGBITS, 0, packed->data, packed->nr);
	elf_build_finish(b);
}

static enum clew_err unpack(const struct buf *packed, struct buf *ret)
{
	struct elf_build b = {0};
	struct elf_file f = {0};
	enum clew_err err;

	build(&b, packed);
	err = elf_file_open(&f, b.file.data, b.file.nr, NULL);
	if (!err)
		err = elf_debugdata_unpack(&f, ret, NULL);
	elf_file_done(&f);
	elf_build_done(&b);
	return err;
}

static void test_names(void)
{
	struct elf_build inner = {0}, outer = {0};
	struct elf_file fi = {0}, fo = {0};
	struct buf packed = {0}, back = {0};
	struct sym_table t;
	const struct sym *s;
	uint16_t text;

	text = elf_build_section(&inner, ".text", SHT_PROGBITS, SHF_ALLOC, NULL, sizeof(code));
	elf_build_syms(&inner, SHT_SYMTAB,
		       &(struct elf_build_sym){"local", 128 + 32, 16, STB_LOCAL, STT_FUNC, text},
		       1);
	elf_build_finish(&inner);
	pack(inner.file.data, inner.file.nr, &packed);
	build(&outer, &packed);
	CHECK(!elf_file_open(&fo, outer.file.data, outer.file.nr, NULL) &&
		      !elf_debugdata_unpack(&fo, &back, NULL) && back.nr == inner.file.nr,
	      "the packed file comes out whole");
	CHECK(!elf_file_open(&fi, back.data, back.nr, NULL), "and is an ELF file");
	sym_table_init(&t, NULL, 0);
	CHECK_EQ(elf_sym_collect(&t, &fi, &fo, ELF_SYM_OFFSETS_BOTH, NULL), CLEW_OK, "both tables");
	sym_table_finish(&t, SYM_FILL_ELF);
	s = sym_table_find(&t, 128);
	CHECK_STR(s ? sym_name(&t, s) : NULL, "exported", "a name of .dynsym");
	s = sym_table_find(&t, 128 + 32);
	CHECK_STR(s ? sym_name(&t, s) : NULL, "local", "a name that only the packed file has");
	sym_table_done(&t);
	elf_file_done(&fi);
	elf_file_done(&fo);
	elf_build_done(&inner);
	elf_build_done(&outer);
	buf_done(&packed);
	buf_done(&back);
}

static void test_damaged(void)
{
	struct buf packed = {0}, back = {0}, zeros = {0};

	buf_fill(&packed, 'x', 100);
	CHECK_EQ(unpack(&packed, &back), CLEW_BAD_FILE, "no xz stream");
	buf_clear(&packed);
	buf_clear(&back);
	pack(code, sizeof(code), &packed);
	packed.nr /= 2;
	CHECK_EQ(unpack(&packed, &back), CLEW_BAD_FILE, "half of one");
	buf_clear(&packed);
	buf_clear(&back);
	buf_fill(&zeros, '\0', (size_t)ELF_DEBUGDATA_MAX_BYTES + 4096);
	pack(zeros.data, zeros.nr, &packed);
	CHECK_EQ(unpack(&packed, &back), CLEW_LIMIT, "64 MiB and more out of a few kilobytes");
	buf_done(&packed);
	buf_done(&back);
	buf_done(&zeros);
}

static void test_notes(void)
{
	static const uint8_t big_endian[] = {0, 0, 0,   4,   0,   0, 0,    2,    0, 0,
					     0, 3, 'G', 'N', 'U', 0, 0xaa, 0xbb, 0, 0};
	static const uint8_t absurd[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					 0xff, 0xff, 3,    0,    0,    0};
	uint8_t id[ELF_BUILD_ID_MAX];

	CHECK(elf_notes_build_id(bytes_of(big_endian, sizeof(big_endian)), true, id) == 2 &&
		      id[0] == 0xaa && id[1] == 0xbb,
	      "a build id of the other byte order");
	CHECK_EQ(elf_notes_build_id(bytes_of(big_endian, sizeof(big_endian) - 4), true, id), 0,
		 "cut off");
	CHECK_EQ(elf_notes_build_id(bytes_of(absurd, sizeof(absurd)), false, id), 0,
		 "absurd sizes");
}

static void test_cut_notes(void)
{
	const uint32_t notes[] = {4, 4, 1, 0x00554e47, 99, /* another note of GNU's */
				  4, 8, 3, 0x00554e47, 0x01020304, 0x05060708};
	uint8_t id[20];
	bool ok = true;

	CHECK_EQ(elf_notes_build_id(bytes_of(notes, sizeof(notes)), false, id), 8,
		 "the build id among notes");
	for (size_t size = 0; size < sizeof(notes); size++)
		ok &= elf_notes_build_id(bytes_of(notes, size), false, id) == 0;
	CHECK(ok, "notes cut anywhere: none");
}

int main(void)
{
	test_names();
	test_damaged();
	test_notes();
	test_cut_notes();
	return tap_done();
}
