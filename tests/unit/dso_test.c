/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso.h"

#include <unistd.h>

#include "base/budget.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "image/dso_jit.h"
#include "image/dso_listing.h"
#include "make/dwarf_build.h"
#include "unit/test_dir.h"

static const uint8_t id_a[20] = {0xab, 0xcd, 1}, id_b[20] = {0xab, 0xce, 2},
		     id_c[20] = {0xab, 0xcf, 3}, id_d[20] = {0xab, 0xd0, 4};
#define ZEROS "0000000000000000000000000000000000"
static const uint8_t code[256] = {0xc3, 0x90};

struct shape {
	const char *path, *name; /* name NULL: stripped */
	const uint8_t *id;       /* NULL: none */
	const char *link;        /* debug link, NULL: none */
	bool is_dynamic;         /* .dynsym with dyn_NAME */
	bool is_debug_only;      /* .text is a placeholder */
	uint64_t base;
	size_t id_bytes; /* 0: 20 */
};

static uint32_t last_crc; /* of what was written last: a link to it comes next */

static void write_elf(const struct shape *s)
{
	struct elf_build b = {.base = s->base};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC,
					  s->is_debug_only ? NULL : code, sizeof(code));
	struct elf_build_sym sym = {s->name, elf_build_addr(&b, text), 64, STB_GLOBAL, STT_FUNC,
				    text};
	struct elf_build_sym dyn = sym;

	dyn.name = "dynamic";
	if (s->id)
		elf_build_id(&b, s->id, s->id_bytes ? s->id_bytes : 20);
	if (s->link)
		elf_build_debuglink(&b, s->link, last_crc);
	if (s->name)
		elf_build_syms(&b, SHT_SYMTAB, &sym, 1);
	if (s->is_dynamic)
		elf_build_syms(&b, SHT_DYNSYM, &dyn, 1);
	elf_build_finish(&b);
	test_dir_write(s->path, b.file.data, b.file.nr);
	last_crc = elf_debuglink_crc(b.file.data, b.file.nr);
	elf_build_done(&b);
}

/** Offset of .text in what write_elf() writes: after the headers. */
enum { TEXT_OFFSET = 128 };

static struct dso *get(struct dso_store *s, enum dso_kind kind, const char *path, const uint8_t *id)
{
	struct dso_build_id build_id = {.size = id ? 20 : 0};
	struct dso_key key = {.kind = kind, .path = path, .build_id = &build_id};

	if (id)
		memcpy(build_id.bytes, id, 20);
	return dso_store_get(s, &key);
}

static const char *name_at(struct dso *d, uint64_t rel)
{
	const struct dso_sym *s = dso_find_sym(d, rel);

	return s ? s->name : NULL;
}

static void test_keys(void)
{
	struct dso_store *s = dso_store_new(NULL);
	struct dso *a = get(s, DSO_USER, "/bin/x", id_a), *b = get(s, DSO_USER, "/bin/x", id_b);

	CHECK(a && b && a != b && get(s, DSO_USER, "/bin/x", id_a) == a,
	      "one dso for each path and build id");
	CHECK(dso_id(a) == 0 && dso_id(b) == 1 && dso_store_at(s, 1) == b && !dso_store_at(s, 2),
	      "numbered from 0");
	CHECK_STR(dso_short_name(a), "x", "short name of a file");
	CHECK_STR(dso_short_name(get(s, DSO_MODULE, "/lib/modules/6.1/fs/snd-hda.ko.xz", NULL)),
		  "[snd_hda]", "short name of a module's file");
	CHECK_STR(dso_short_name(get(s, DSO_VDSO, "[vdso]", NULL)), "[vdso]",
		  "short name of the vDSO");
	CHECK_STR(dso_short_name(get(s, DSO_NO_CODE, "[heap]", NULL)), "[heap]", "and of no file");
	CHECK(!dso_find_sym(get(s, DSO_NO_CODE, "[heap]", NULL), 1), "[heap] has no symbols");
	dso_store_free(s);
	dso_store_free(NULL);
}

static void test_user_files(void)
{
	/* clang-format off */
	static const struct shape shapes[] = {
		{.path = "/bin/plain", .name = "main", .id = id_a, .base = 0x400000},
		{.path = "/bin/.debug/l.debug", .name = "from_link", .is_debug_only = true},
		{.path = "/bin/linked", .link = "l.debug", .is_dynamic = true},
		{.path = "/bin/by_id", .id = id_c, .is_dynamic = true},
		{.path = "/usr/lib/debug/.build-id/ab/cf03" ZEROS ".debug", .name = "from_build_id", .id = id_c,
		 .is_debug_only = true},
		{.path = "/bin/short_id", .name = "short_id", .id = id_d, .id_bytes = 3},
		{.path = "/bin/stripped"},
		{.path = "/bin/dynamic", .is_dynamic = true},
		{.path = "/bin/replaced", .name = "new", .id = id_b},
		{.path = "/cache/.build-id/ab/cd01" ZEROS "/elf", .name = "old", .id = id_a},
	};
	static const struct {
		const char *path, *want, *why;
		const uint8_t *id;
	} rows[] = {
		{"/bin/plain", "main", NULL, NULL},
		{"/bin/linked", "from_link", NULL, NULL},
		{"/bin/by_id", "from_build_id", NULL, NULL},
		{"/bin/by_id", "from_build_id", NULL, id_c},
		{"/bin/dynamic", "dynamic", NULL, NULL},
		{"/bin/stripped", NULL, "stripped: no symbol table", NULL},
		{"/bin/short_id", "short_id", NULL, id_d}, /* the recording's is filled up with zeros */
		{"/bin/short_id", NULL, "build id differs from the recording's", id_b},
		{"/bin/none", NULL, "file not found, or not an ELF file", NULL},
		{"/bin/plain", NULL, "build id differs from the recording's", id_b},
		{"relative", NULL, "not a file", NULL},
	};
	/* clang-format on */
	char cache[80];
	struct dso_store_opts opts = {.symfs = test_dir},
			      cached = {.symfs = test_dir, .buildid_dir = cache};
	struct dso_store *s = dso_store_new(&opts);
	uint8_t byte[2];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		write_elf(&shapes[i]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct dso *d = get(s, DSO_USER, rows[i].path, rows[i].id);

		CHECK_STR(name_at(d, TEXT_OFFSET + 4), rows[i].want, "symbol of %s", rows[i].path);
		CHECK_STR(dso_why_no_symbols(d), rows[i].why, "and why not");
	}
	CHECK(dso_read(get(s, DSO_USER, "/bin/plain", NULL), TEXT_OFFSET, byte, 2) == 2 &&
		      byte[0] == 0xc3,
	      "code bytes by file offset");
	CHECK_EQ(dso_read(get(s, DSO_USER, "/bin/none", NULL), 0, byte, 2), 0, "no file, no bytes");
	CHECK_STR(dso_note(get(s, DSO_USER, "/bin/dynamic", NULL)),
		  "stripped: only exported functions have names", "a doubt is reported");
	dso_store_free(s);

	snprintf(cache, sizeof(cache), "%s/cache", test_dir);
	s = dso_store_new(&cached);
	CHECK_STR(name_at(get(s, DSO_USER, "/bin/replaced", id_a), TEXT_OFFSET), "old",
		  "the file was replaced: its copy in the build-id directory");
	dso_store_free(s);
}

static void test_lines(void)
{
	struct elf_build b = {.base = 0x400000};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, sizeof(code));
	uint64_t at = elf_build_addr(&b, text);
	struct elf_build_sym sym = {"outer", at, sizeof(code), STB_GLOBAL, STT_FUNC, text};
	struct dso_store_opts opts = {.symfs = test_dir};
	struct dso_store *s;
	struct dso_line lines[4];
	struct dso *d;

	elf_build_syms(&b, SHT_SYMTAB, &sym, 1);
	dwarf_build(&b, &(struct dwarf_shape){.low = at, .size = sizeof(code), .depth = 1});
	elf_build_finish(&b);
	test_dir_write("bin/lines", b.file.data, b.file.nr);
	elf_build_done(&b);
	s = dso_store_new(&opts);
	d = get(s, DSO_USER, "/bin/lines", NULL);
	CHECK_EQ(dso_find_lines(d, TEXT_OFFSET + 20, lines, 4), 2, "lines of a file offset");
	CHECK_STR(lines[0].function, "ns::callee", "an inlined function, demangled");
	CHECK_STR(lines[0].link_name, "_ZN2ns6calleeEi", "and as it is linked");
	CHECK(lines[0].line == 2 && !strcmp(lines[0].file, "/src/a.c"), "the line of the address");
	CHECK(!lines[1].function && lines[1].line == 101 && !strcmp(lines[1].link_name, "outer"),
	      "the function around it is the symbol's, its line that of the call");
	CHECK_EQ(dso_find_lines(get(s, DSO_USER, "/bin/plain", NULL), TEXT_OFFSET, lines, 4), 0,
		 "no lines without DWARF");
	CHECK_EQ(dso_find_lines(get(s, DSO_NO_CODE, "[heap]", NULL), 0, lines, 4), 0,
		 "nor for no file");
	dso_store_free(s);
}

static void test_fifo(void)
{
	struct dso_store_opts opts = {.symfs = test_dir};
	struct dso_store *s = dso_store_new(&opts);
	char path[96];

	snprintf(path, sizeof(path), "%s/bin/fifo", test_dir);
	if (!mkfifo(path, 0600))
		CHECK(!name_at(get(s, DSO_USER, "/bin/fifo", NULL), 0), "a FIFO is not waited for");
	dso_store_free(s);
}

static void test_kernel(void)
{
	static const char kallsyms[] = "ffffffff81000000 T _text\n"
				       "ffffffff81001000 T vfs_read\n"
				       "ffffffff81003000 T _etext\n"
				       "ffffffffc0001000 t ext4_read\t[ext4]\n"
				       "ffffffffc0009000 t nf_hook\t[nf]\n";
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T a\n";
	char path[80];
	struct dso_store_opts opts = {.kallsyms = path};
	struct dso_key key = {
		.kind = DSO_KERNEL, .path = "[kernel.kallsyms]", .kernel_ref_name = "_text"};
	struct dso_store *s;
	struct dso *d;

	snprintf(path, sizeof(path), "%s/kallsyms", test_dir);
	test_dir_write("kallsyms", kallsyms, strlen(kallsyms));
	s = dso_store_new(&opts);
	key.kernel_ref_addr = 0xffffffff91000000;
	d = dso_store_get(s, &key);
	CHECK_STR(name_at(d, 0xffffffff91001010), "vfs_read",
		  "recorded at another address: moved by _text");
	CHECK_EQ(dso_find_sym(d, 0xffffffff91001010)->start, 0xffffffff91001000,
		 "and reported in the recording's");
	CHECK_STR(name_at(d, 0xffffffffd0001010), NULL, "a module's symbol is not the kernel's");
	d = get(s, DSO_MODULE, "[ext4]", NULL);
	CHECK_STR(name_at(d, 0xffffffffc0001010), "ext4_read", "but the module's");
	CHECK_STR(name_at(d, 0xffffffffc0009010), NULL, "and only its own");
	d = get(s, DSO_MODULE, "[gone]", NULL);
	CHECK(!name_at(d, 0xffffffffc0001010) && dso_why_no_symbols(d), "a missing module");
	dso_store_free(s);

	test_dir_write("kallsyms", hidden, strlen(hidden));
	s = dso_store_new(&opts);
	d = get(s, DSO_KERNEL, "[kernel.kallsyms]", NULL);
	CHECK(!name_at(d, 0) &&
		      !strcmp(dso_why_no_symbols(d), "kptr_restrict hides kernel addresses"),
	      "hidden addresses are said to be");
	dso_store_free(s);
}

static void test_linked(void)
{
	static const struct shape user = {
		.path = "/linked", .name = "f", .id = id_a, .base = 0x400000};
	static const struct shape kernel = {
		.path = "/linked-vmlinux", .name = "_stext", .base = 0xffffffff81000000};
	char symfs[80], vmlinux[80];
	struct dso_store_opts opts = {.symfs = symfs, .vmlinux = vmlinux};
	struct dso_key key = {.kind = DSO_KERNEL,
			      .path = "[kernel.kallsyms]",
			      .kernel_ref_name = "_stext",
			      .kernel_ref_addr = 0xffffffffa2000000};
	uint64_t address = 7;
	struct dso_store *s;
	struct dso *d;

	snprintf(symfs, sizeof(symfs), "%s", test_dir);
	snprintf(vmlinux, sizeof(vmlinux), "%s/linked-vmlinux", test_dir);
	write_elf(&user);
	write_elf(&kernel);
	s = dso_store_new(&opts);
	d = get(s, DSO_USER, "/linked", NULL);
	CHECK(dso_link_address(d, TEXT_OFFSET + 4, &address) &&
		      address == 0x400000 + TEXT_OFFSET + 4,
	      "a file offset, as linked");
	CHECK_EQ(dso_link_base(d), 0x400000, "and where the file begins");
	CHECK(!dso_link_address(d, 1 << 30, &address) && address == 0x400000 + TEXT_OFFSET + 4,
	      "not beyond its end");
	CHECK(dso_file_id(d).size == 20 && !memcmp(dso_file_id(d).bytes, id_a, 20),
	      "the file's build id, where the recording has none");
	d = dso_store_get(s, &key);
	CHECK(dso_link_address(d, 0xffffffffa2000010, &address) &&
		      address == 0xffffffff81000000 + TEXT_OFFSET + 0x10,
	      "of a kernel that was moved");
	CHECK_EQ(dso_link_base(d), 0xffffffff81000000, "and its base");
	d = get(s, DSO_USER, "/linked-not", NULL);
	CHECK(!dso_has_linked(d) && !dso_link_address(d, 1, &address) && !dso_link_base(d),
	      "no file, no address");
	d = get(s, DSO_JIT, "//anon", NULL);
	CHECK(!dso_has_linked(d) && !dso_file_id(d).size, "code that no file has");
	dso_store_free(s);
}

static void test_vmlinux(void)
{
	static const struct shape shape = {
		.path = "/vmlinux", .name = "_stext", .id = id_a, .base = 0xffffffff81000000};
	char path[80];
	struct dso_store_opts opts = {.vmlinux = path};
	struct dso_key key = {.kind = DSO_KERNEL,
			      .path = "[kernel.kallsyms]",
			      .kernel_ref_name = "_stext",
			      .kernel_ref_addr = 0xffffffffa2000000};
	struct dso_store *s;

	snprintf(path, sizeof(path), "%s/vmlinux", test_dir);
	write_elf(&shape);
	s = dso_store_new(&opts);
	CHECK_STR(name_at(dso_store_get(s, &key), 0xffffffffa2000010), "_stext",
		  "a relocated vmlinux");
	CHECK(!dso_note(dso_store_get(s, &key)), "no build id was recorded: no doubt");
	key.build_id = &(struct dso_build_id){
		.size = 20, .bytes = {0xab, 0xce, 2}
        };
	CHECK_STR(name_at(dso_store_get(s, &key), 0xffffffffa2000010), "_stext",
		  "one of another build, as it was asked for");
	CHECK(dso_note(dso_store_get(s, &key)), "with a word: %s",
	      dso_note(dso_store_get(s, &key)));
	dso_store_free(s);
	opts = (struct dso_store_opts){.no_host_kernel = true};
	s = dso_store_new(&opts);
	CHECK(!name_at(get(s, DSO_KERNEL, "[kernel.kallsyms]", NULL), 0xffffffff81000000),
	      "the running kernel is left alone when asked to");
	dso_store_free(s);
}

static void test_vdso(void)
{
	struct dso_store *s = dso_store_new(NULL);
	struct dso *d = get(s, DSO_VDSO, "[vdso]", NULL), *other = get(s, DSO_VDSO, "[vdso]", id_a);
	int nr = 0;

	for (uint64_t rel = 0; rel < 8192; rel += 16)
		nr += dso_find_sym(d, rel) != NULL;
	CHECK(nr > 0 || dso_why_no_symbols(d), "our own vDSO has symbols");
	CHECK(!dso_find_sym(other, 0x800) && dso_why_no_symbols(other),
	      "one of another kernel is not ours");
	dso_store_free(s);
}

static void test_perf_map(void)
{
	char path[40];
	struct dso_key key = {.kind = DSO_JIT, .path = path, .pid = (uint32_t)getpid()};
	struct dso_store *s = dso_store_new(NULL);
	struct dso *d;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", key.pid);
	f = fopen(path, "w");
	fputs("7f0000000000 40 JS:~fib /a b.js:1\n0x7f0000000100 0x10 _ZN3fooEv\nnonsense\n7f0000000200 40 ab\n"
	      "7f0000000300\n\n7f0000000400 40 no newline?",
	      f);
	fclose(f);
	d = dso_store_get(s, &key);
	CHECK_STR(name_at(d, 0x7f000000003f), "JS:~fib /a b.js:1", "a name with blanks");
	CHECK_STR(name_at(d, 0x7f0000000040), NULL, "after its end");
	CHECK_STR(name_at(d, 0x7f0000000108), "_ZN3fooEv", "0x, and names as they are written");
	CHECK_STR(name_at(d, 0x7f0000000210), "ab", "a short name");
	CHECK_STR(name_at(d, 0x7f0000000410), "no newline?", "the last line, without its end");
	dso_store_free(s);
	unlink(path);
	s = dso_store_new(NULL);
	d = dso_store_get(s, &key);
	CHECK(!name_at(d, 0x7f0000000000) && dso_why_no_symbols(d), "no map");
	dso_store_free(s);
}

static void test_map_of_another_user(void)
{
	struct dso_key key = {.kind = DSO_JIT, .path = "/tmp/perf-4000003.map", .pid = 4000003};
	struct dso_store_opts opts = {.force = true};
	struct dso_store *s = dso_store_new(NULL);
	FILE *f = fopen(key.path, "w");

	if (!f || fputs("1000 40 name\n", f) < 0 || fclose(f) || chown(key.path, 65534, 65534)) {
		SKIP("only root can give files away");
	} else {
		CHECK(!name_at(dso_store_get(s, &key), 0x1010),
		      "a perf map of another user is not read");
		dso_store_free(s);
		s = dso_store_new(&opts);
		CHECK_STR(name_at(dso_store_get(s, &key), 0x1010), "name", "but when asked to");
	}
	unlink(key.path);
	dso_store_free(s);
}

static void test_large_map(void)
{
	struct dso_key key = {.kind = DSO_JIT, .path = "/tmp/perf-4000002.map", .pid = 4000002};
	struct dso_store *s = dso_store_new(NULL);
	struct dso *d = dso_store_get(s, &key);
	FILE *f = fopen(key.path, "w");

	if (f && !ftruncate(fileno(f), (off_t)1 << 30))
		CHECK(!name_at(d, 0) &&
			      !strcmp(dso_why_no_symbols(d), "perf-PID.map is larger than 256 MiB"),
		      "a perf map of 1 GiB");
	if (f)
		fclose(f);
	unlink(key.path);
	dso_store_free(s);
}

static void test_map_over_budget(void)
{
	struct dso_key key = {.kind = DSO_JIT, .path = "/tmp/perf-4000004.map", .pid = 4000004};
	struct budget budget = {.limit = 64 * 1024};
	struct dso_store_opts opts = {.budget = &budget};
	struct dso_store *s = dso_store_new(&opts);
	FILE *f = fopen(key.path, "w");
	bool ok = f && fprintf(f, "1000 40 name\n%70000s\n", "x") > 0 && !fclose(f);

	CHECK(ok && !name_at(dso_store_get(s, &key), 0x1010) && budget.nr_refused == 1 &&
		      !strcmp(budget.first_input, key.path),
	      "a perf map that the memory budget has no room for");
	dso_store_free(s);
	budget = (struct budget){.limit = 256 * 1024};
	s = dso_store_new(&opts);
	CHECK_STR(name_at(dso_store_get(s, &key), 0x1010), "name", "and one that it has");
	CHECK(budget.peak > 70000 && budget.used < 70000, "its text is given back: %llu of %llu",
	      (unsigned long long)budget.used, (unsigned long long)budget.peak);
	dso_store_free(s);
	CHECK(!budget.used && !budget.nr_refused, "and all of it in the end");
	unlink(key.path);
}

static void add(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

static void jit_record(struct buf *out, uint32_t id, const struct buf *body)
{
	add(out, id, 4);
	add(out, 16 + body->nr, 4);
	add(out, 1000, 8);
	buf_add(out, body->data, body->nr);
}

static void jit_load(struct buf *out, uint64_t addr, uint64_t index, const char *name)
{
	struct buf b = {0};

	add(&b, 1, 4);
	add(&b, 1, 4);
	add(&b, addr, 8);
	add(&b, addr, 8);
	add(&b, 16, 8);
	add(&b, index, 8);
	buf_add(&b, name, strlen(name) + 1);
	buf_add(&b, code, 16);
	jit_record(out, 0, &b);
	buf_done(&b);
}

static void jit_lines(struct buf *out, uint64_t addr)
{
	struct buf b = {0};

	add(&b, addr, 8);
	add(&b, 2, 8);
	add(&b, addr, 8);
	add(&b, 7, 8);
	buf_add(&b, "a.js", 5);
	add(&b, addr + 8, 8);
	add(&b, 9, 8);
	buf_add(&b, "\xff", 2);
	jit_record(out, 2, &b);
	buf_done(&b);
}

static void jit_move(struct buf *out, uint64_t from, uint64_t to, uint64_t index)
{
	struct buf b = {0};

	add(&b, 1, 4);
	add(&b, 1, 4);
	add(&b, to, 8);
	add(&b, from, 8);
	add(&b, to, 8);
	add(&b, 16, 8);
	add(&b, index, 8);
	jit_record(out, 1, &b);
	buf_done(&b);
}

static void test_jitdump(void)
{
	static const uint32_t head[10] = {0x4a695444, 1, 40, EM_X86_64, 0, 1};
	struct buf b = {0};
	char path[96];
	struct dso_key dump = {.kind = DSO_USER, .path = path, .pid = 4000001};
	struct dso_key jit = {.kind = DSO_JIT, .path = "/tmp/perf-4000001.map", .pid = 4000001};
	struct dso_store *s = dso_store_new(NULL);
	struct dso_line line = {0};
	struct code_region region;
	uint16_t machine;
	struct dso *d;

	buf_add(&b, head, sizeof(head));
	jit_load(&b, 0x1000, 1, "first");
	jit_lines(&b, 0x2000);
	jit_load(&b, 0x2000, 2, "with_lines");
	jit_load(&b, 0x1000, 3, "second");
	jit_move(&b, 0x2000, 0x3000, 2);
	jit_record(&b, 77, &(struct buf){0});
	add(&b, 0, 4); /* cut off */
	test_dir_write("jit-4000001.dump", b.data, b.nr);
	buf_done(&b);
	snprintf(path, sizeof(path), "%s/jit-4000001.dump", test_dir);
	d = dso_store_get(s, &jit);
	CHECK(dso_jit_add_dump(d, dso_store_get(s, &dump), &(struct dso_mapped){0}),
	      "a jitdump file that it mapped");
	CHECK_STR(name_at(d, 0x1008), "second", "the later code at an address");
	CHECK_STR(name_at(d, 0x2008), "with_lines", "the address before the move");
	CHECK_STR(name_at(d, 0x3008), "with_lines", "and after it");
	CHECK(dso_find_lines(d, 0x2009, &line, 1) == 1 && line.line == 9 &&
		      !strcmp(line.file, "a.js"),
	      "lines, with the file of the entry before");
	CHECK_STR(dso_why_no_symbols(d), NULL, "nothing is missing");
	CHECK(!dso_find_listing(d, 0x3004, &region, &machine) && region.start == 0x3000 &&
		      region.end == 0x3010 && machine == EM_X86_64 &&
		      !memcmp(region.bytes, code, 16),
	      "code, also where it was moved to");
	CHECK_STR(dso_find_listing(d, 0x4000, &region, &machine), "not in the jitdump file",
		  "none elsewhere");
	dso_store_free(s);
}

/* Quadratic cost would take minutes here. */
static void test_many_keys(void)
{
	struct dso_store *s = dso_store_new(NULL);
	struct dso_key key = {.kind = DSO_USER, .path = "/bin/x", .ino = 1};
	uint64_t nr = 100000;

	for (uint64_t i = 0; i < nr; i++) {
		key.maj = i << 16;
		dso_store_get(s, &key);
	}
	CHECK(dso_store_at(s, nr - 1) && !dso_store_at(s, nr), "dsos that differ by device alone");
	dso_store_free(s);
}

/* Each process looks at its own dumps alone; at all of them, this would take a minute. */
static void test_many_jitdumps(void)
{
	const struct dso_store_opts opts = {.symfs = test_dir};
	struct dso_store *s = dso_store_new(&opts);
	char path[64];
	int nr_found = 0;

	for (uint32_t pid = 1; pid <= 40000; pid++) {
		struct dso_key dump = {.kind = DSO_USER, .path = path, .pid = pid};
		struct dso_key jit = {.kind = DSO_JIT, .path = "/tmp/perf-0.map", .pid = pid};

		snprintf(path, sizeof(path), "/no/such/jit-%u.dump", pid);
		dso_jit_add_dump(dso_store_get(s, &jit), dso_store_get(s, &dump),
				 &(struct dso_mapped){0});
		nr_found += dso_find_sym(dso_store_get(s, &jit), 1) != NULL;
	}
	CHECK(!nr_found && dso_store_at(s, 79999), "processes with a dump each");
	dso_store_free(s);
}

static void test_no_memory(void)
{
	struct dso_store_opts opts = {.symfs = test_dir};
	bool has_failed = true;
	int nr = 0;

	for (uint64_t n = 0; has_failed; n++, nr++) {
		struct dso_store *s;
		struct dso *d;
		struct dso_line line;

		mem_fail_after(n);
		s = dso_store_new(&opts);
		d = s ? get(s, DSO_USER, "/bin/plain", NULL) : NULL;
		if (d) {
			name_at(d, TEXT_OFFSET);
			dso_find_lines(d, TEXT_OFFSET, &line, 1);
		}
		dso_store_free(s);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
	}
	CHECK(nr > 10, "every allocation may fail");
}

/* Least recently touched first, and no more than is needed. */
static void test_trim(void)
{
	static const uint8_t ids[3][20] = {
		{0xac, 1},
                {0xac, 2},
                {0xac, 3}
        };
	/* clang-format off */
	static const struct shape shapes[] = {
		{.path = "/bin/trim_a", .name = "in_a", .id = ids[0]},
		{.path = "/bin/trim_b", .name = "in_b", .id = ids[1]},
		{.path = "/bin/trim_c", .name = "in_c", .id = ids[2]},
	};
	/* clang-format on */
	struct budget budget = {.limit = 1 << 20};
	struct dso_store_opts opts = {.symfs = test_dir, .budget = &budget};
	struct dso_store *s = dso_store_new(&opts);
	struct dso *d[3];
	uint64_t all, named;

	for (int i = 0; i < 3; i++) {
		write_elf(&shapes[i]);
		d[i] = get(s, DSO_USER, shapes[i].path, shapes[i].id);
	}
	named = budget.used;
	for (int i = 0; i < 3; i++)
		CHECK_STR(name_at(d[i], TEXT_OFFSET), shapes[i].name, "read");
	all = budget.used;
	dso_touch(d[1]);
	dso_touch(d[2]);
	dso_touch(d[0]);
	CHECK(dso_store_trim(s, all) == 0 && dso_symbol_file(d[1]),
	      "all are kept while there is room");
	CHECK(dso_store_trim(s, all - 1) == 1 && !dso_symbol_file(d[1]) && dso_symbol_file(d[2]) &&
		      dso_symbol_file(d[0]) && budget.used < all,
	      "what was touched longest ago goes first");
	CHECK_STR(name_at(d[1], TEXT_OFFSET), "in_b", "and is read again");
	CHECK(budget.used == all, "at the same cost: %llu", (unsigned long long)budget.used);
	CHECK(dso_store_trim(s, 0) == 3 && budget.used == named, "or all of them");
	CHECK_STR(name_at(d[2], TEXT_OFFSET), "in_c", "which come back, too");
	CHECK(dso_store_kept_bytes(s) > 0, "what stays is counted");
	dso_store_free(s);
	CHECK(!budget.used, "nothing is left in the end");
}

static void put_map(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f), "a perf map");
}

static void test_trim_map(void)
{
	struct dso_key key = {.kind = DSO_JIT, .path = "/tmp/perf-4000005.map", .pid = 4000005};
	struct dso_store *s = dso_store_new(NULL);
	struct dso *d = dso_store_get(s, &key);

	put_map(key.path, "1000 40 first\n");
	CHECK_STR(name_at(d, 0x1010), "first", "its function");
	CHECK(dso_store_trim(s, UINT64_MAX) == 0, "nothing was missing");
	put_map(key.path, "1000 40 first\n2000 40 second\n");
	CHECK(!name_at(d, 0x2010), "one that was made since is missing");
	CHECK(dso_store_trim(s, UINT64_MAX) == 1, "so the map is read again");
	CHECK_STR(name_at(d, 0x2010), "second", "and has it");
	dso_store_free(s);
	unlink(key.path);
}

int main(void)
{
	test_dir_make("dso-test");
	test_keys();
	test_many_keys();
	test_user_files();
	test_lines();
	test_fifo();
	test_kernel();
	test_linked();
	test_vmlinux();
	test_vdso();
	test_perf_map();
	test_large_map();
	test_map_over_budget();
	test_trim();
	test_trim_map();
	test_map_of_another_user();
	test_jitdump();
	test_many_jitdumps();
	test_no_memory();
	test_dir_remove();
	return tap_done();
}
