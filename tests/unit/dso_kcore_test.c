/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "base/mem.h"
#include "image/dso_listing.h"
#include "unit/test_dir.h"

/*
 * The kernel's code as /proc/kcore has it, and as a copy beside the recording. Made files stand for
 * those of the running kernel: _text at NOW, 2 MiB of it, each byte the lowest of its address / 16;
 * a module at MODULE_NOW. The recording was made when both were MOVED lower.
 */
#define NOW        UINT64_C(0xffffffffa2000000)
#define MODULE_NOW UINT64_C(0xffffffffc0400000)
#define MOVED      UINT64_C(0x1000000)
enum { TEXT_BYTES = 2 << 20, MODULE_BYTES = 0x3000, HEAD_BYTES = 0x1000 };

static const uint8_t id[20] = {1, 2, 3}, other_id[20] = {9};

static uint8_t byte_at(uint64_t address)
{
	return (uint8_t)(address >> 4);
}

static void add_segment(Elf64_Phdr *p, uint64_t start, uint64_t offset, uint64_t size)
{
	*p = (Elf64_Phdr){.p_type = PT_LOAD,
			  .p_flags = PF_X | PF_R,
			  .p_vaddr = start,
			  .p_offset = offset,
			  .p_filesz = size,
			  .p_memsz = size};
}

/* @p huge: what a segment says that has no end. */
static void write_kcore(const char *name, uint64_t text, uint64_t module, uint64_t huge)
{
	static uint8_t file[HEAD_BYTES + TEXT_BYTES + MODULE_BYTES];
	Elf64_Ehdr h = {.e_type = ET_CORE,
			.e_machine = EM_X86_64,
			.e_version = 1,
			.e_phoff = sizeof(h),
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3};
	Elf64_Phdr p[3];

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = 1;
	add_segment(&p[0], 0xffff888000000000, HEAD_BYTES, huge);
	add_segment(&p[1], text, HEAD_BYTES, TEXT_BYTES);
	add_segment(&p[2], module, HEAD_BYTES + TEXT_BYTES, MODULE_BYTES);
	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), p, sizeof(p));
	for (size_t i = 0; i < TEXT_BYTES; i++)
		file[HEAD_BYTES + i] = byte_at(text + i);
	for (size_t i = 0; i < MODULE_BYTES; i++)
		file[HEAD_BYTES + TEXT_BYTES + i] = byte_at(module + i);
	test_dir_write(name, file, sizeof(file));
}

static void write_kallsyms(const char *name, uint64_t text, uint64_t module)
{
	char lines[256];

	snprintf(lines, sizeof(lines),
		 "%llx T _text\n%llx T do_work\n%llx T do_more\n%llx t mod_work\t[mod]\n",
		 (unsigned long long)text, (unsigned long long)text + 0x100,
		 (unsigned long long)text + 0x180, (unsigned long long)module + 0x40);
	test_dir_put(name, lines);
}

static void write_notes(const uint8_t build_id[20])
{
	uint8_t note[12 + 4 + 20] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};

	memcpy(note + 16, build_id, 20);
	test_dir_write("notes", note, sizeof(note));
}

static void write_modules(bool is_loaded)
{
	char line[128];

	snprintf(line, sizeof(line), "%s 12288 0 - Live 0x%llx\n", is_loaded ? "mod" : "mode",
		 (unsigned long long)MODULE_NOW);
	test_dir_put("modules", line);
}

static struct dso *kernel(struct dso_store *s, const uint8_t build_id[20], uint64_t ref)
{
	struct dso_build_id b = {.size = 20};
	const struct dso_key key = {.kind = DSO_KERNEL,
				    .path = "[kernel.kallsyms]",
				    .build_id = build_id ? &b : NULL,
				    .kernel_ref_name = ref ? "_text" : NULL,
				    .kernel_ref_addr = ref,
				    .load_start = NOW - MOVED};

	if (build_id)
		memcpy(b.bytes, build_id, 20);
	return dso_store_get(s, &key);
}

static struct dso *module(struct dso_store *s)
{
	const struct dso_key key = {
		.kind = DSO_MODULE, .path = "[mod]", .load_start = MODULE_NOW - MOVED};

	return dso_store_get(s, &key);
}

/* Are the bytes at @p rel, recorded, those of today's @p now? */
static const char *look(struct dso *d, uint64_t rel, uint64_t now, uint64_t least_after)
{
	struct code_region r;
	uint16_t machine = 7;
	const char *why = dso_find_listing(d, rel, &r, &machine);
	bool is_right = true;

	if (why)
		return why;
	if (rel < r.start || rel >= r.end || r.end - rel < least_after)
		return "too few bytes";
	for (uint64_t at = r.start; at < r.end; at++)
		is_right &= r.bytes[at - r.start] == byte_at(now + (at - rel));
	return is_right ? NULL : "wrong bytes";
}

static void running(const struct dso_store_opts *opts)
{
	struct dso_store *s = dso_store_new(opts);
	struct dso *d = kernel(s, id, NOW - MOVED), *m = module(s);

	CHECK_STR(look(d, NOW - MOVED + 0x100, NOW + 0x100, 0x10000), NULL,
		  "a function of a kernel that was booted again, elsewhere");
	CHECK_STR(look(d, NOW - MOVED + 0xffff0, NOW + 0xffff0, 0x10000), NULL,
		  "one that the first piece ends in");
	CHECK_STR(look(d, NOW - MOVED + TEXT_BYTES - 1, NOW + TEXT_BYTES - 1, 1), NULL,
		  "the last byte");
	CHECK_STR(look(d, NOW - MOVED + TEXT_BYTES, 0, 1), "not in /proc/kcore", "and no more");
	CHECK_STR(look(m, MODULE_NOW - MOVED + 0x40, MODULE_NOW + 0x40, 0x100), NULL,
		  "a module, where it is loaded now");
	CHECK_STR(dso_find_sym(d, NOW - MOVED + 0x104)->name, "do_work", "names as before");
	dso_store_free(s);
}

/* Whatever does not prove that it is the kernel that was recorded: no code, and the reason. */
static void refused(const struct dso_store_opts *opts)
{
	struct dso_store *s = dso_store_new(opts);
	const uint64_t at = NOW - MOVED + 0x100;
	struct dso_store_opts no_host = *opts;

	CHECK(strstr(look(kernel(s, other_id, NOW - MOVED), at, 0, 1), "another build"),
	      "another build");
	CHECK(strstr(look(kernel(s, NULL, NOW - MOVED), at, 0, 1), "without a build id"),
	      "a recording without a build id");
	CHECK(strstr(look(kernel(s, id, 0), at, 0, 1), "does not say where"),
	      "or without an address of its kernel");
	dso_store_free(s);
	no_host.no_host_kernel = true;
	s = dso_store_new(&no_host);
	CHECK_STR(look(kernel(s, id, NOW - MOVED), at, 0, 1),
		  "no image of this kernel: -k names one", "not asked for");
	dso_store_free(s);
	write_modules(false);
	s = dso_store_new(opts);
	kernel(s, id, NOW - MOVED);
	CHECK(strstr(look(module(s), MODULE_NOW - MOVED + 0x40, 0, 1), "not loaded"),
	      "a module that is not loaded now");
	dso_store_free(s);
	write_modules(true);
}

static void cut_file(const char *name, off_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	CHECK_EQ(truncate(path, size), 0, "cut a file");
}

/* A file that ends early: asking again takes no more room. */
static void unreadable(const struct dso_store_opts *opts)
{
	struct budget budget = {.limit = 16 << 20};
	struct dso_store_opts o = *opts;
	struct dso_store *s;
	struct dso *d;
	uint64_t used, at = NOW - MOVED + 0x100;
	bool is_refused = true, is_found = true;

	o.budget = &budget;
	write_kcore("kcore", NOW, MODULE_NOW, 0x1000);
	cut_file("kcore", HEAD_BYTES + 0x1000);
	s = dso_store_new(&o);
	d = kernel(s, id, NOW - MOVED);
	CHECK_STR(look(d, at, NOW + 0x100, 0xf00), NULL, "code before the end of a cut file");
	used = budget.used;
	for (int i = 0; i < 100; i++)
		is_refused &= look(d, NOW - MOVED + 0x20000, 0, 1) != NULL;
	for (int i = 0; i < 100; i++)
		is_found &= !look(d, at, NOW + 0x100, 0xf00);
	CHECK(is_refused, "and none after it, however often it is asked");
	CHECK(is_found, "what can be read is found again");
	CHECK_EQ(budget.used, used, "neither takes room");
	dso_store_free(s);
	CHECK_EQ(budget.used, 0, "all is given back");
	write_kcore("kcore", NOW, MODULE_NOW, 0x1000);
}

static void damaged(const struct dso_store_opts *opts)
{
	const uint64_t at = NOW - MOVED + 0x100;
	struct budget budget = {.limit = 100000};
	struct dso_store_opts small = *opts;
	struct dso_store *s = dso_store_new(opts);

	write_kcore("kcore", NOW, MODULE_NOW, UINT64_MAX);
	CHECK_STR(look(kernel(s, id, NOW - MOVED), at, NOW + 0x100, 0x100), NULL,
		  "a segment without end does no harm");
	dso_store_free(s);
	small.budget = &budget;
	s = dso_store_new(&small);
	CHECK(look(kernel(s, id, NOW - MOVED), at, 0, 1), "a limit of memory");
	dso_store_free(s);
	CHECK_EQ(budget.used, 0, "all is given back");
	test_dir_put("kcore", "\x7f"
			      "ELF, but no more");
	s = dso_store_new(opts);
	CHECK(strstr(look(kernel(s, id, NOW - MOVED), at, 0, 1), "cannot be read"), "cut off");
	dso_store_free(s);
	test_dir_drop("kcore");
	s = dso_store_new(opts);
	CHECK_STR(look(kernel(s, id, NOW - MOVED), at, 0, 1),
		  "no image of this kernel: -k names one", "none at all");
	dso_store_free(s);
}

/* What 'perf record --kcore' copies is of the recorded kernel, whatever runs now. */
static void copied(const struct dso_store_opts *opts)
{
	const uint64_t text = NOW - MOVED, mod = MODULE_NOW - MOVED;
	struct dso_store_opts o = *opts;
	char dir[80];
	struct dso_store *s;
	struct dso *d;

	snprintf(dir, sizeof(dir), "%s/kcore_dir", test_dir);
	o.kcore_dir = dir;
	write_kcore("kcore_dir/kcore", text, mod, 0x1000);
	write_kallsyms("kcore_dir/kallsyms", text, mod);
	write_notes(other_id);
	s = dso_store_new(&o);
	d = kernel(s, id, text);
	CHECK_STR(look(d, text + 0x100, text + 0x100, 0x10000), NULL, "the copy's code");
	CHECK_STR(dso_find_sym(d, text + 0x104)->name, "do_work", "and its names");
	d = module(s);
	CHECK_STR(look(d, mod + 0x40, mod + 0x40, 0x100), NULL, "a module's code");
	CHECK_STR(dso_find_sym(d, mod + 0x44)->name, "mod_work", "and names");
	dso_store_free(s);
}

int main(void)
{
	struct dso_store_opts opts = {.buildid_dir = "/nonexistent", .debug_dir = "/nonexistent"};

	test_dir_make("kcore");
	opts.running_dir = test_dir;
	write_kcore("kcore", NOW, MODULE_NOW, 0x1000);
	write_kallsyms("kallsyms", NOW, MODULE_NOW);
	write_modules(true);
	write_notes(id);
	running(&opts);
	refused(&opts);
	unreadable(&opts);
	damaged(&opts);
	copied(&opts);
	test_dir_remove();
	return tap_done();
}
