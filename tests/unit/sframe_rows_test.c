/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "unit/tap.h"
#include "unwind/sframe_write.h"

/* Sections compiled to tables: repeat blocks, gaps, damage and limits. */

enum { CODE = 0x400000, CODE_BYTES = 0x1000000, OFFSET = 0x3000, SECTION = 0x10000 };

struct bench {
	struct sframe_writer *w;
	struct buf section;
	struct unw_image image;
	struct clew_diag diag;
	struct unw_table table;
	void *block;
};

static void begin(struct bench *b, uint8_t version, enum sframe_abi abi)
{
	const struct sframe_write_opts opts = {.version = version, .abi = abi, .addr = SECTION};

	*b = (struct bench){.w = sframe_writer_new(&opts)};
	b->image = (struct unw_image){
		.arch = abi == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? UNW_X86_64 : UNW_AARCH64,
		.is_swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
		.segments = {{CODE, CODE_BYTES, OFFSET}},
		.nr_segments = 1,
	};
}

/* amd64: CFA = SP + off. */
static struct unw_rule sp(int32_t off)
{
	return (struct unw_rule){
		.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = off, .ra = UNW_AT_CFA, .ra_off = -8};
}

static void row(struct bench *b, uint32_t off, int32_t cfa_off)
{
	const struct unw_rule r = sp(cfa_off);

	sframe_writer_row(b->w, off, &r);
}

static void write_section(struct bench *b)
{
	struct sframe_written n;

	sframe_writer_finish(b->w, &b->section, &n);
	sframe_writer_free(b->w);
	b->image.sframe = (struct unw_section){(uint8_t *)b->section.data, b->section.nr, SECTION};
}

static enum clew_err compile(struct bench *b)
{
	struct unw_list *list = unw_list_new();
	enum clew_err err = sframe_rows(&b->image, list, &b->diag);
	size_t size;

	mem_free(b->block);
	b->block = NULL;
	if (!err)
		err = unw_table_build(list, NULL, b->image.arch, &b->block, &size);
	if (!err)
		err = unw_table_of_block(&b->table, b->block, size);
	unw_list_free(list);
	return err;
}

static void end(struct bench *b)
{
	mem_free(b->block);
	buf_done(&b->section);
}

static const struct unw_rule *at(const struct bench *b, uint64_t vaddr)
{
	return unw_table_find(&b->table, vaddr - CODE + OFFSET);
}

static void test_plt(void)
{
	struct bench b;

	begin(&b, 2, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	sframe_writer_begin(b.w, CODE, 64, 16);
	row(&b, 0, 8);
	row(&b, 11, 16);
	sframe_writer_begin(b.w, CODE + 64, 64, 16);
	row(&b, 0, 8);
	sframe_writer_begin(b.w, CODE + 129, 32, 16);
	row(&b, 0, 8);
	row(&b, 9, 16);
	write_section(&b);
	CHECK_EQ(compile(&b), CLEW_OK, "a PLT compiles");
	CHECK(at(&b, CODE)->cfa == UNW_CFA_PLT && at(&b, CODE + 63)->cfa_off == 11,
	      "two rows of 16 bytes: one rule with its threshold");
	CHECK(at(&b, CODE + 64)->cfa == UNW_CFA_REG && at(&b, CODE + 127) == at(&b, CODE + 64),
	      "one row: no repetition");
	CHECK(at(&b, CODE + 129)->cfa_off == 8 && at(&b, CODE + 138)->cfa_off == 16 &&
		      at(&b, CODE + 145)->cfa_off == 8 && at(&b, CODE + 160)->cfa_off == 16,
	      "not aligned: written out");
	CHECK_EQ(at(&b, CODE + 161)->cfa, UNW_CFA_NONE, "a gap after");
	CHECK_EQ(at(&b, CODE)->origin, UNW_SFRAME, "origin");
	end(&b);
}

static void test_limits(void)
{
	struct bench b;

	begin(&b, 3, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	sframe_writer_begin(b.w, CODE, SFRAME_MAX_EXPANDED / 2, 1);
	row(&b, 0, 8);
	sframe_writer_begin(b.w, CODE + 0x100000, SFRAME_MAX_EXPANDED / 3 * 2 - 64, 2);
	row(&b, 0, 8);
	row(&b, 1, 32);
	sframe_writer_begin(b.w, CODE + 0x200000, 128, 2);
	row(&b, 0, 8);
	row(&b, 1, 32);
	sframe_writer_begin(b.w, CODE + 0x300000, 64, 2);
	row(&b, 0, 8);
	row(&b, 1, 32);
	write_section(&b);
	CHECK_EQ(compile(&b), CLEW_OK, "large blocks");
	CHECK_EQ(at(&b, CODE + 3)->cfa_off, 8, "one row costs nothing");
	CHECK_EQ(at(&b, CODE + 0x100003)->cfa_off, 32, "many rows are written out");
	CHECK(at(&b, CODE + 0x200001)->cfa == UNW_CFA_NONE &&
		      at(&b, CODE + 0x200001)->why == UNW_WHY_OVERFLOW,
	      "more are refused with a reason");
	CHECK_EQ(at(&b, CODE + 0x300003)->cfa_off, 32, "what is left goes to the next");
	end(&b);
}

/* Found by fuzzing: blocks without rows cost time, too. */
static void test_empty_blocks(void)
{
	struct bench b;

	begin(&b, 3, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	b.image.segments[0].size = 1ull << 33;
	sframe_writer_begin(b.w, CODE, 0xf0000000, 1);
	sframe_writer_begin(b.w, CODE + 0xf0000000, 4096, 1);
	row(&b, 0, 8);
	write_section(&b);
	CHECK_EQ(compile(&b), CLEW_OK, "3.75 GiB of blocks without rows");
	CHECK_EQ(at(&b, CODE + 0xf0000000)->cfa_off, 8, "and the function after them");
	end(&b);
}

/* Functions that share their rows are legal; that they keep a reader busy for hours is not. */
static void test_shared_rows(void)
{
	enum { FUNCTIONS = 4096, ROWS = 60000 };
	struct bench b;
	struct sframe_counts n;
	struct sframe s;

	begin(&b, 2, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		sframe_writer_begin(b.w, CODE + (uint64_t)i * 1000, 1000, 0);
		if (!i)
			row(&b, 0, 8);
	}
	for (uint32_t i = 0; i < ROWS; i++)
		row(&b, i, i & 1 ? 16 : 8);
	write_section(&b);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint8_t *fde = (uint8_t *)b.section.data + SFRAME_HEADER_BYTES + i * 20;
		uint32_t size = ROWS, nr = ROWS, first = 3;

		memcpy(fde + 4, &size, 4);
		memcpy(fde + 8, &first, 4);
		memcpy(fde + 12, &nr, 4);
		fde[16] = 1;
	}
	CHECK_EQ(compile(&b), CLEW_OK, "shared rows compile");
	CHECK_EQ(at(&b, CODE + 1)->cfa_off, 16, "up to a limit");
	CHECK_EQ(at(&b, CODE + FUNCTIONS * 1000 - 1)->why, UNW_WHY_OVERFLOW,
		 "after which is a reason");
	sframe_open(&s, &b.image.sframe, NULL);
	sframe_count(&s, &n);
	CHECK(n.nr_rows <= sframe_max_rows(&s) && n.first_bad.code == CLEW_LIMIT, "counted too");
	end(&b);
}

static void test_damage(void)
{
	struct bench b;
	uint8_t *bytes;

	begin(&b, 3, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	sframe_writer_begin(b.w, CODE, 32, 0);
	row(&b, 4, 8);
	sframe_writer_begin(b.w, CODE + 32, 32, 0);
	row(&b, 0, 8);
	row(&b, 2, 16);
	sframe_writer_begin(b.w, CODE + 64, 32, 0);
	sframe_writer_begin(b.w, CODE + 96, 0, 0);
	row(&b, 0, 8);
	write_section(&b);
	bytes = (uint8_t *)b.section.data;
	CHECK_EQ(compile(&b), CLEW_OK, "compiles");
	CHECK(at(&b, CODE + 3)->cfa == UNW_CFA_NONE && at(&b, CODE + 4)->cfa_off == 8,
	      "before the first row nothing is known");
	CHECK_EQ(at(&b, CODE + 64)->why, UNW_WHY_GAP, "no rows: a gap");
	bytes[SFRAME_HEADER_BYTES + 4 * 16 + 8 + 5 + 3] = 200; /* second row of the second */
	CHECK_EQ(compile(&b), CLEW_OK, "a damaged function");
	CHECK_EQ(at(&b, CODE + 4)->cfa_off, 8, "leaves the others");
	CHECK(at(&b, CODE + 32)->cfa == UNW_CFA_NONE && at(&b, CODE + 32)->why == UNW_WHY_BAD,
	      "and has no row at all");
	bytes[SFRAME_HEADER_BYTES + 3] = 0x7f;
	CHECK(compile(&b) == CLEW_BAD_FILE &&
		      !strcmp(b.diag.what, "a function outside of the file's code"),
	      "a function anywhere: the section is refused");
	bytes[6] = 0xf0;
	CHECK(compile(&b) == CLEW_BAD_FILE &&
		      !strcmp(b.diag.what, "a return address that is not right below the CFA"),
	      "another fixed RA");
	b.image.arch = UNW_AARCH64;
	CHECK(compile(&b) == CLEW_BAD_FILE &&
		      !strcmp(b.diag.what, "not of the file's architecture"),
	      "another architecture");
	b.image.arch = UNW_X86_64;
	b.image.is_swapped ^= true;
	CHECK(compile(&b) == CLEW_BAD_FILE && !strcmp(b.diag.what, "not of the file's byte order"),
	      "another byte order");
	b.image.sframe = (struct unw_section){0};
	CHECK_EQ(compile(&b), CLEW_BAD_FILE, "no section");
	end(&b);
}

static void test_edges(void)
{
	struct bench b;

	begin(&b, 3, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
	b.image.segments[1] = (struct unw_segment){CODE + CODE_BYTES, 64, 0x8000000};
	b.image.nr_segments = 2;
	sframe_writer_begin(b.w, CODE + CODE_BYTES - 16, 16, 0);
	row(&b, 0, 8);
	write_section(&b);
	CHECK_EQ(compile(&b), CLEW_OK, "up to a segment's last byte");
	b.section.data[SFRAME_HEADER_BYTES + 8] = 17;
	CHECK_EQ(compile(&b), CLEW_BAD_FILE, "not across two segments");
	end(&b);
}

static void test_memory(void)
{
	struct bench b;
	struct sframe_written n;
	unsigned int nr_failed = 0;

	for (uint64_t i = 0; i < 12; i++) {
		enum clew_err err = CLEW_NO_MEMORY;

		mem_fail_after(i);
		begin(&b, 3, SFRAME_ABI_AMD64_ENDIAN_LITTLE);
		if (b.w) {
			sframe_writer_begin(b.w, CODE, 16, 0);
			row(&b, 0, 8);
			err = sframe_writer_finish(b.w, &b.section, &n);
		}
		nr_failed += mem_has_failed() && err == CLEW_NO_MEMORY;
		nr_failed += mem_has_failed() && err != CLEW_NO_MEMORY ? 100 : 0;
		mem_fail_after(UINT64_MAX);
		sframe_writer_free(b.w);
		end(&b);
	}
	CHECK(nr_failed > 3 && nr_failed < 12, "the writer without memory says so");
}

int main(void)
{
	test_plt();
	test_limits();
	test_empty_blocks();
	test_shared_rows();
	test_damage();
	test_edges();
	test_memory();
	return tap_done();
}
