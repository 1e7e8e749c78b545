/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_store.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "image/code_file.h"
#include "image/file_cache.h"
#include "make/cfi_build.h"
#include "make/elf_build.h"
#include "unit/tap.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/sframe_write.h"
#include "unwind/unw_image.h"

enum { BASE = 0x400000, TEXT_BYTES = 0x400 };

static char top[] = "/tmp/unw_store_test_XXXXXX";
static const uint8_t id_a[] = {0xab, 1, 2, 3, 4, 5, 6, 7}, id_b[] = {0xcd, 9};

static const char *in_top(const char *name)
{
	static char path[32][256];
	static unsigned int n;
	char *p = path[n++ & 31];

	snprintf(p, 256, "%s/%s", top, name);
	return p;
}

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		printf("# cannot write %s\n", path);
}

/** A section for functions at @p text: the first half has CFA r7 + @p off. */
static void frames(struct cfi_build *c, uint64_t text, unsigned int off, bool is_second_half)
{
	struct cfi_cie cie = {c->is_debug_frame ? "" : "zR", 3, false, EH_PE_PTR, 0, 1, -8, 16, 0};
	struct buf program = {0}, none = {0};

	cfi_u8(&program, 0x0c);
	cfi_u8(&program, 7);
	cfi_uleb(&program, off);
	cfi_u8(&program, 0x90);
	cfi_u8(&program, 1);
	cfi_cie_add(c, &cie, &program);
	cfi_fde_add(c, &cie, text + (is_second_half ? TEXT_BYTES / 2 : 0), TEXT_BYTES / 2, &none);
	buf_done(&program);
}

/** A binary with rows for the first half of .text; not finished yet. @return address of .text. */
static uint64_t start_elf(struct elf_build *b, const uint8_t *id, size_t id_bytes, unsigned int off)
{
	static const uint8_t code[TEXT_BYTES];
	struct cfi_build c = {0};
	uint64_t text;

	*b = (struct elf_build){.base = BASE};
	if (id_bytes)
		elf_build_id(b, id, id_bytes);
	text = elf_build_addr(b, elf_build_section(b, ".text", SHT_PROGBITS,
						   SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code)));
	frames(&c, text, off, false);
	elf_build_section(b, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, c.section.data, c.section.nr);
	cfi_done(&c);
	return text;
}

/** The same, finished. @return rel of .text. */
static uint64_t make_elf(struct elf_build *b, const uint8_t *id, size_t id_bytes, unsigned int off)
{
	uint64_t text = start_elf(b, id, id_bytes, off);

	elf_build_finish(b);
	return text - BASE;
}

/** Add .sframe of @p version, where the rule for all of [@p text, + TEXT_BYTES) has CFA r7 + 24. */
static void add_sframe(struct elf_build *b, uint8_t version, uint64_t text)
{
	const struct unw_rule rule = {
		.cfa = UNW_CFA_REG, .cfa_reg = 7, .cfa_off = 24, .ra = UNW_AT_CFA, .ra_off = -8};
	uint16_t here = elf_build_section(b, "here", SHT_PROGBITS, SHF_ALLOC, "", 0);
	struct sframe_write_opts opts = {.version = version,
					 .abi = SFRAME_ABI_AMD64_ENDIAN_LITTLE,
					 .addr = elf_build_addr(b, here)};
	struct sframe_writer *w = sframe_writer_new(&opts);
	struct sframe_written n;
	struct buf section = {0};

	sframe_writer_begin(w, text, TEXT_BYTES, 0);
	sframe_writer_row(w, 0, &rule);
	sframe_writer_finish(w, &section, &n);
	elf_build_section(b, ".sframe", SHT_PROGBITS, SHF_ALLOC, section.data, section.nr);
	sframe_writer_free(w);
	buf_done(&section);
}

static int32_t cfa_off(const struct unw_code *c, uint64_t rel)
{
	const struct unw_rule *r = c && c->table.head ? unw_table_find(&c->table, rel) : NULL;

	return r && r->cfa != UNW_CFA_NONE ? r->cfa_off : -1;
}

static void test_bytes(void)
{
	struct unw_store *s = unw_store_new(NULL);
	struct elf_build b;
	uint64_t text = make_elf(&b, id_a, sizeof(id_a), 8);
	const struct unw_code *c = unw_store_get_bytes(s, b.file.data, b.file.nr);

	CHECK(cfa_off(c, text) == 8 && cfa_off(c, text + TEXT_BYTES / 2) == -1,
	      "from memory: the function, and nothing after it");
	CHECK(c->code == (const uint8_t *)b.file.data && c->code_start == 0 &&
		      c->code_bytes >= text + TEXT_BYTES,
	      "its code is at hand");
	CHECK(!c->was_cached && c->compile_ns > 0 && unw_store_bytes(s) == c->table.head->bytes,
	      "costs are reported");
	CHECK(unw_store_get_bytes(s, b.file.data, b.file.nr) != c,
	      "there is nothing to know it by");
	CHECK_STR(unw_store_get_bytes(s, "text", 4)->why_none, "not an ELF file",
		  "not a binary: why");
	unw_store_free(s);
	elf_build_done(&b);
}

static void test_file(void)
{
	struct unw_store *s = unw_store_new(NULL);
	const char *path = in_top("binary"), *other = in_top("other");
	const struct unw_code *c, *again;
	struct elf_build b;
	uint64_t text = make_elf(&b, id_a, sizeof(id_a), 8);

	write_file(path, b.file.data, b.file.nr);
	elf_build_done(&b);
	c = unw_store_get_file(s, path);
	CHECK_EQ(cfa_off(c, text), 8, "by path");
	CHECK(unw_store_get_file(s, path) == c, "known the second time");
	CHECK(!link(path, other) && unw_store_get_file(s, other) == c, "by another name too");
	text = make_elf(&b, id_a, sizeof(id_a), 24);
	write_file(in_top("new"), b.file.data, b.file.nr);
	elf_build_done(&b);
	CHECK(!rename(in_top("new"), path), "replaced");
	again = unw_store_get_file(s, path);
	CHECK(again != c && cfa_off(again, text) == 24, "a replaced file is another one");
	CHECK_EQ(cfa_off(c, text), 8, "the old one is still there");
	CHECK_STR(unw_store_get_file(s, in_top("none"))->why_none, "no such file", "no file: why");
	CHECK_STR(unw_store_get_file(s, top)->why_none, "no such file", "a directory is none");
	write_file(in_top("empty"), "", 0);
	CHECK_STR(unw_store_get_file(s, in_top("empty"))->why_none, "not an ELF file",
		  "an empty file: why");
	unw_store_free(s);
}

/** .eh_frame covers the first half with 8, .sframe all with 24. */
static void test_sframe_order(void)
{
	for (uint8_t version = 1; version <= 3; version++) {
		struct unw_store *s = unw_store_new(NULL);
		const struct unw_code *c;
		struct elf_build b;
		uint64_t text = start_elf(&b, NULL, 0, 8);

		add_sframe(&b, version, text);
		elf_build_finish(&b);
		c = unw_store_get_bytes(s, b.file.data, b.file.nr);
		CHECK_EQ(cfa_off(c, text - BASE), version == 1 ? 8 : 24,
			 "version %u: %s counts where both are", version,
			 version == 1 ? ".eh_frame" : ".sframe");
		CHECK_EQ(cfa_off(c, text - BASE + TEXT_BYTES / 2), 24, "and .sframe elsewhere");
		unw_store_free(s);
		elf_build_done(&b);
	}
}

/** The one file of the cache. */
static const char *cached_file(const char *dir)
{
	static char path[600];
	struct dirent *d;
	DIR *o = opendir(dir);

	path[0] = '\0';
	while (o && (d = readdir(o)))
		if (d->d_name[0] != '.')
			snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
	if (o)
		closedir(o);
	return path;
}

/** Load @p path with a fresh store. @return the table's answer at @p rel. */
static int32_t load(const char *dir, const char *path, uint64_t rel, bool *ret_was_cached)
{
	struct unw_store *s = unw_store_new(&(struct unw_store_opts){.cache_dir = dir});
	const struct unw_code *c = unw_store_get_file(s, path);
	int32_t off = cfa_off(c, rel);

	*ret_was_cached = c->was_cached;
	unw_store_free(s);
	return off;
}

static void test_cache(void)
{
	char dir[64], shared[64], file[64];
	struct elf_build b;
	uint64_t text = make_elf(&b, id_b, sizeof(id_b), 16), no_id;
	struct stat st;
	bool was;

	snprintf(dir, sizeof(dir), "%s/a/cache", top);
	snprintf(file, sizeof(file), "%s/cached", top);
	write_file(file, b.file.data, b.file.nr);
	CHECK(load(dir, file, text, &was) == 16 && !was, "first: compiled");
	CHECK(load(dir, file, text, &was) == 16 && was, "then: from the cache");
	CHECK(!stat(dir, &st) && (st.st_mode & 0777) == 0700, "its directory is ours alone");
	CHECK(!stat(cached_file(dir), &st) && (st.st_mode & 0777) == 0600, "and so is the file");
	for (off_t cut = 0; cut < 3; cut++) {
		struct stat now;

		CHECK(!truncate(cached_file(dir), cut == 2 ? st.st_size - 1 : cut * 60),
		      "the cache file is cut");
		CHECK(load(dir, file, text, &was) == 16 && !was, "ignored, compiled");
		CHECK(!stat(cached_file(dir), &now) && now.st_size == st.st_size &&
			      load(dir, file, text, &was) == 16 && was,
		      "and written again");
	}
	elf_build_done(&b);
	text = make_elf(&b, id_b, sizeof(id_b), 24);
	write_file(in_top("liar"), b.file.data, b.file.nr);
	CHECK(load(dir, in_top("liar"), text, &was) == 24 && !was &&
		      load(dir, file, text, &was) == 16,
	      "the same build id and layout with other rows is another binary");
	elf_build_done(&b);
	text = make_elf(&b, id_b, sizeof(id_b), 16);
	((Elf64_Ehdr *)(void *)b.file.data)->e_shoff = 0;
	((Elf64_Ehdr *)(void *)b.file.data)->e_shnum = 0;
	write_file(in_top("stripped"), b.file.data, b.file.nr);
	CHECK(load(dir, in_top("stripped"), text, &was) == -1 && !was,
	      "the same build id with other sections is another binary");
	elf_build_done(&b);
	no_id = make_elf(&b, NULL, 0, 16);
	write_file(in_top("no-id"), b.file.data, b.file.nr);
	load(dir, in_top("no-id"), no_id, &was);
	CHECK(load(dir, in_top("no-id"), no_id, &was) == 16 && !was,
	      "without a build id it is not cached");
	snprintf(shared, sizeof(shared), "%s/shared", top);
	CHECK(!mkdir(shared, 0777) && !chmod(shared, 0777), "a directory for everybody");
	load(shared, file, text, &was);
	CHECK(load(shared, file, text, &was) == 16 && !was && !*cached_file(shared), "is not used");
	if (geteuid() == 0) {
		CHECK(!mkdir(in_top("theirs"), 0755) && !chown(in_top("theirs"), 65534, 65534),
		      "another user's directory");
		load(in_top("theirs/a/b"), file, text, &was);
		CHECK(access(in_top("theirs/a"), F_OK), "gets nothing from root");
	} else {
		SKIP("another user's directory: only root can make one");
	}
	CHECK(load("/proc/nowhere", file, text, &was) == 16, "nor is one that cannot be made");
	elf_build_done(&b);
}

static void test_room(void)
{
	struct file_cache *c = file_cache_new(in_top("room"), 10000);
	struct timespec pause = {0, 2000000};
	char block[1000] = {1}, name[16];
	size_t size = 0;
	void *p;

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		if (!file_cache_store(c, name, block, sizeof(block)))
			break;
		nanosleep(&pause, NULL); /* file times have the kernel's ticks */
	}
	CHECK_STR(name, "f39", "forty files of 1000 bytes are stored in 10000");
	CHECK(file_cache_bytes(c) <= 10000 && file_cache_bytes(c) >= 5000, "they stay below it");
	CHECK(!file_cache_load(c, "f0", &size), "the oldest is gone");
	p = file_cache_load(c, "f39", &size);
	CHECK(p && size == sizeof(block) && !memcmp(p, block, size), "the newest is there");
	mem_free(p);
	CHECK(!file_cache_store(c, "big", top, 6000), "half of it for one is too much");
	write_file(in_top("room/mine"), block, sizeof(block));
	file_cache_free(c);
	c = file_cache_new(in_top("room"), 3000);
	file_cache_store(c, "x", block, 100);
	CHECK(file_cache_bytes(c) <= 3000 && !access(in_top("room/mine"), F_OK),
	      "a smaller cache gives up files, its own only");
	file_cache_free(c);
}

/** At how many addresses differ the rules that come from call frame information? */
static size_t nr_unlike(const struct unw_code *a, const struct unw_code *b)
{
	size_t nr = 0;

	for (uint64_t rel = a->table.head->start; rel < a->table.head->end; rel++) {
		const struct unw_rule *x = unw_table_find(&a->table, rel);
		const struct unw_rule *y = unw_table_find(&b->table, rel);

		nr += (x->origin == UNW_EH_FRAME || y->origin == UNW_EH_FRAME) &&
		      memcmp(x, y, sizeof(*x)) != 0;
	}
	return nr;
}

/** This program, without its section headers: .eh_frame_hdr leads to the same rules. */
static void test_no_sections(void)
{
	struct unw_store *s = unw_store_new(NULL);
	struct code_file f;
	const struct unw_code *with, *without;
	uint8_t *copy;

	if (code_file_open(&f, "/proc/self/exe")) {
		SKIP("no /proc/self/exe");
		unw_store_free(s);
		return;
	}
	copy = mem_alloc(f.map.size);
	memcpy(copy, f.map.data, f.map.size);
	memset(copy + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
	memset(copy + offsetof(Elf64_Ehdr, e_shnum), 0, 2 * sizeof(Elf64_Half));
	with = unw_store_get_bytes(s, f.map.data, f.map.size);
	without = unw_store_get_bytes(s, copy, f.map.size);
	CHECK(with->table.head && with->table.head->nr_rows > 100, "this program has a table: %s",
	      with->why_none ? with->why_none : "");
	CHECK(without->table.head && !nr_unlike(with, without),
	      "without section headers the same rules");
	unw_store_free(s);
	mem_free(copy);
	code_file_done(&f);
}

/** A mapping of it would kill us; a file that only root may write is mapped anyway. */
static void test_cut_file(void)
{
	struct unw_store *s = unw_store_new(NULL);
	const char *path = in_top("cut");
	const struct unw_code *c;
	struct elf_build b;
	uint64_t text = make_elf(&b, id_a, sizeof(id_a), 8);
	unsigned int sum = 0;

	write_file(path, b.file.data, b.file.nr);
	elf_build_done(&b);
	CHECK(!chmod(path, 0666), "a file that anybody may write");
	c = unw_store_get_file(s, path);
	CHECK(!truncate(path, 0), "is cut");
	for (size_t i = 0; i < c->code_bytes; i++)
		sum += c->code[i];
	CHECK(sum > 0 && cfa_off(c, text) == 8, "its code and table are still there");
	CHECK_STR(unw_store_get_file(s, path)->why_none, "not an ELF file",
		  "and it is another now");
	unw_store_free(s);
}

static void test_vdso(void)
{
	struct unw_store *s = unw_store_new(NULL);
	const struct unw_code *c = unw_store_get_vdso(s);

	CHECK(c && (c->table.head || c->why_none), "the vdso has a table, or a reason: %s",
	      c->why_none ? c->why_none : "table");
	CHECK(unw_store_get_vdso(s) == c, "once");
	unw_store_free(s);
}

/** Add .debug_frame, packed by zlib, with a header that claims @p more bytes than there are. */
static void add_packed(struct elf_build *b, const struct cfi_build *c, size_t more)
{
	static uint8_t packed[4096];
	uLongf packed_bytes = sizeof(packed) - sizeof(Elf64_Chdr);
	Elf64_Chdr ch = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};

	ch.ch_size = c->section.nr + more;
	memcpy(packed, &ch, sizeof(ch));
	compress(packed + sizeof(ch), &packed_bytes, (const Bytef *)c->section.data, c->section.nr);
	elf_build_section(b, ".debug_frame", SHT_PROGBITS, SHF_COMPRESSED, packed,
			  packed_bytes + sizeof(ch));
}

/** In the binary itself, as Go's linker leaves it. */
static void test_packed(void)
{
	struct cfi_build c = {.is_debug_frame = true};
	const size_t more[] = {0, 8, UNW_MAX_SECTION_BYTES};
	struct elf_build b;

	for (size_t i = 0; i < 3; i++) {
		struct unw_store *s = unw_store_new(NULL);
		uint64_t text = start_elf(&b, id_a, sizeof(id_a), 8);
		const struct unw_code *code;

		if (!i)
			frames(&c, text, 32, true);
		add_packed(&b, &c, more[i]);
		elf_build_finish(&b);
		write_file(in_top("packed"), b.file.data, b.file.nr);
		code = unw_store_get_file(s, in_top("packed"));
		CHECK(cfa_off(code, text - BASE) == 8 &&
			      cfa_off(code, text - BASE + TEXT_BYTES / 2) == (i ? -1 : 32),
		      "packed .debug_frame of a binary, %zu bytes too many described", more[i]);
		unw_store_free(s);
		elf_build_done(&b);
	}
	cfi_done(&c);
}

/** Go's runtime goes over to another stack; its call frame information does not say so. */
static void test_stack_switch(void)
{
	static const struct {
		const char *name;
		uint8_t code[4];
		bool is_switch;
	} t[] = {
		{"runtime.systemstack.abi0", {0x48, 0x89, 0xdc},       true }, /* mov %rbx, %rsp */
		{"runtime.mcall",            {0x49, 0x8b, 0x66, 0x38}, true }, /* mov 56(%r14), %rsp */
		{"runtime.mcall",            {0x48, 0x89, 0xe3},       false}, /* mov %rsp, %rbx */
		{"runtime.mcallx",           {0x48, 0x89, 0xdc},       false},
		{"mcall",                    {0x48, 0x89, 0xdc},       false},
	};
	enum { AT = 16 };

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct unw_store *s = unw_store_new(NULL);
		struct elf_build b;
		uint64_t text = start_elf(&b, id_a, sizeof(id_a), 8);
		struct elf_build_sym sym = {.name = t[i].name,
					    .value = text,
					    .size = TEXT_BYTES / 2,
					    .type = STT_FUNC,
					    .section = 2};
		const struct unw_code *c;

		elf_build_syms(&b, SHT_SYMTAB, &sym, 1);
		elf_build_finish(&b);
		memcpy(b.file.data + (text - BASE) + AT, t[i].code, sizeof(t[i].code));
		c = unw_store_get_bytes(s, b.file.data, b.file.nr);
		CHECK_EQ(cfa_off(c, text - BASE + AT - 1), 8, "%s: its own rule", t[i].name);
		CHECK_EQ(cfa_off(c, text - BASE + AT), t[i].is_switch ? -1 : 8,
			 "from the instruction on that changes stacks: %s",
			 t[i].is_switch ? "none" : "there is none such");
		unw_store_free(s);
		elf_build_done(&b);
	}
}

/** .debug_frame in a separate file, packed by zlib: fills what .eh_frame leaves open. */
static void test_debug_file(void)
{
	struct cfi_build c = {.is_debug_frame = true};
	struct elf_build b, debug = {.base = 0};
	uint64_t text = make_elf(&b, id_a, sizeof(id_a), 8);
	const char *binary = in_top("with-debug");
	struct unw_store_opts opts = {.debug_dir = in_top("debug")};
	struct unw_store *s = unw_store_new(&opts);
	const struct unw_code *code;

	frames(&c, BASE + text, 48, false);
	frames(&c, BASE + text, 32, true);
	add_packed(&debug, &c, 0);
	elf_build_finish(&debug);
	write_file(binary, b.file.data, b.file.nr);
	mkdir(in_top("debug"), 0700);
	mkdir(in_top("debug/.build-id"), 0700);
	mkdir(in_top("debug/.build-id/ab"), 0700);
	write_file(in_top("debug/.build-id/ab/01020304050607.debug"), debug.file.data,
		   debug.file.nr);
	code = unw_store_get_file(s, binary);
	CHECK(cfa_off(code, text) == 8, ".eh_frame goes first");
	CHECK(cfa_off(code, text + TEXT_BYTES / 2) == 32, "the debug file fills the gap");
	CHECK(code->table.head && unw_table_find(&code->table, text + TEXT_BYTES / 2)->origin ==
					  UNW_DEBUG_FRAME,
	      "and is named");
	unw_store_free(s);
	elf_build_done(&b);
	elf_build_done(&debug);
	cfi_done(&c);
}

static void test_oom(void)
{
	struct elf_build b;
	uint64_t text = make_elf(&b, id_a, sizeof(id_a), 8), n;
	const char *dir = in_top("oom"), *path = in_top("oom-binary");
	bool has_failed = true, is_right = true;

	write_file(path, b.file.data, b.file.nr);
	for (n = 0; has_failed && n < 500; n++) {
		struct unw_store *s;
		const struct unw_code *c = NULL, *d = NULL;

		mem_fail_after(n);
		s = unw_store_new(&(struct unw_store_opts){.cache_dir = dir});
		if (s) {
			c = unw_store_get_file(s, path);
			d = unw_store_get_bytes(s, b.file.data, b.file.nr);
		}
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		for (int i = 0; i < 2; i++) {
			const struct unw_code *x = i ? d : c;

			is_right = is_right && (!x || x->why_none || cfa_off(x, text) == 8);
		}
		if (!has_failed)
			is_right = is_right && cfa_off(c, text) == 8 && cfa_off(d, text) == 8;
		unw_store_free(s);
	}
	CHECK(!has_failed && is_right, "every allocation failed once: a right table or none (%u)",
	      (unsigned int)n);
	elf_build_done(&b);
}

int main(void)
{
	char command[64];

	if (!mkdtemp(top))
		SKIP_ALL("no temporary directory");
	test_bytes();
	test_sframe_order();
	test_file();
	test_cache();
	test_room();
	test_no_sections();
	test_cut_file();
	test_vdso();
	test_packed();
	test_debug_file();
	test_stack_switch();
	test_oom();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	if (system(command))
		printf("# %s stays\n", top);
	return tap_done();
}
