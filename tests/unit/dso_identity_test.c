/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files, and a running kernel, that are not the recorded ones: no names of them. */
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "image/dso.h"
#include "make/dwarf_build.h"
#include "os/file_time.h"
#include "os/proc.h"
#include "unit/test_dir.h"

static const uint8_t code[256] = {0xc3, 0x90}, id_a[20] = {0xab, 1}, id_b[20] = {0xab, 2};

enum { TEXT_OFFSET = 128 };

static uint32_t write_elf(const char *path, const char *name, const char *link, uint32_t crc,
			  const uint8_t *id)
{
	struct elf_build b = {0};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC, code, sizeof(code));
	struct elf_build_sym sym = {name, elf_build_addr(&b, text), 64, STB_GLOBAL, STT_FUNC, text};
	uint32_t ret;

	if (id)
		elf_build_id(&b, id, 20);
	if (link)
		elf_build_debuglink(&b, link, crc);
	if (name)
		elf_build_syms(&b, link ? SHT_DYNSYM : SHT_SYMTAB, &sym, 1);
	elf_build_finish(&b);
	test_dir_write(path, b.file.data, b.file.nr);
	ret = elf_debuglink_crc(b.file.data, b.file.nr);
	elf_build_done(&b);
	return ret;
}

static const char *name_at(struct dso *d, uint64_t rel)
{
	const struct dso_sym *s = dso_find_sym(d, rel);

	return s ? s->name : NULL;
}

static struct dso *user(struct dso_store *s, const char *path)
{
	return dso_store_get(s, &(struct dso_key){.kind = DSO_USER, .path = path});
}

static void check_links(void)
{
	char symfs[80], debug[] = "/debug";
	struct dso_store_opts opts = {.symfs = symfs, .debug_dir = debug};
	uint32_t right,
		wrong = write_elf("l/bin/.debug/f.debug", "of_another_build", NULL, 0, NULL);
	struct dso_store *s;
	struct dso *d;

	snprintf(symfs, sizeof(symfs), "%s/l", test_dir);
	right = write_elf("l/debug/bin/f.debug", "right", NULL, 0, NULL);
	write_elf("l/bin/f", "exported", "f.debug", right, NULL);
	write_elf("l/bin/g", "exported", "f.debug", right ^ wrong ^ 1, NULL);
	write_elf("l/bin/.debug/g", "of_that_name", NULL, 0, NULL);
	write_elf("l/debug/bin/g.debug", "of_that_name", NULL, 0, NULL);
	right = write_elf("l/bin/h.debug", "by_checksum", NULL, 0, NULL);
	write_elf("l/bin/h", "exported", "h.debug", right, id_a);
	write_elf("l/bin/i.debug", "of_another_id", NULL, 0, id_b);
	write_elf("l/bin/i", "exported", "i.debug", right, id_a);
	write_elf("l/bin/.debug/j.debug", "same_id", NULL, 0, id_a);
	write_elf("l/bin/j", "exported", "j.debug", 7, id_a);
	write_elf("l/bin/k", NULL, "f.debug", right ^ wrong ^ 1, NULL);
	s = dso_store_new(&opts);
	CHECK_STR(name_at(user(s, "/bin/f"), TEXT_OFFSET), "right",
		  "the first file of a debug link with its checksum");
	d = user(s, "/bin/g");
	CHECK_STR(name_at(d, TEXT_OFFSET), "exported", "none has it: none is used");
	CHECK_STR(dso_note(d),
		  "stripped: only exported functions have names, and the checksum of its debug "
		  "link differs",
		  "which is said");
	d = user(s, "/bin/k");
	CHECK(!name_at(d, TEXT_OFFSET), "where the file has no names at all there are none");
	CHECK_STR(dso_why_no_symbols(d),
		  "stripped: no symbol table, and the checksum of its debug link differs",
		  "and that is said, too");
	CHECK_STR(name_at(user(s, "/bin/h"), TEXT_OFFSET), "by_checksum",
		  "a debug file without a build id");
	CHECK_STR(name_at(user(s, "/bin/i"), TEXT_OFFSET), "exported", "one with another");
	CHECK_STR(name_at(user(s, "/bin/j"), TEXT_OFFSET), "same_id",
		  "a build id proves more than a checksum");
	dso_store_free(s);
}

/* A debug file that nothing proves: only where the file itself has no names, and with a word. */
static void check_unproven(void)
{
	char symfs[80];
	struct dso_store_opts opts = {.debug_dir = symfs, .no_proc_root = false};
	char path[112], debug[200];
	struct dso_store *s;
	struct dso *d;

	snprintf(symfs, sizeof(symfs), "%s/u", test_dir);
	snprintf(path, sizeof(path), "%s/u/own", test_dir);
	snprintf(debug, sizeof(debug), "u%s/u/own.debug", test_dir);
	write_elf("u/own", "own", NULL, 0, NULL);
	write_elf(debug, "separate", NULL, 0, NULL);
	s = dso_store_new(&opts);
	CHECK_STR(name_at(user(s, path), TEXT_OFFSET), "own", "a file's own names come first");
	dso_store_free(s);
	snprintf(path, sizeof(path), "%s/u/gone", test_dir);
	snprintf(debug, sizeof(debug), "u%s/u/gone.debug", test_dir);
	write_elf(debug, "separate", NULL, 0, NULL);
	s = dso_store_new(&opts);
	d = user(s, path);
	CHECK_STR(name_at(d, TEXT_OFFSET), "separate", "a debug file without a file");
	CHECK_STR(dso_unchecked(d), "its separate debug file has neither a build id nor a checksum",
		  "nothing proves it");
	dso_store_free(s);
}

struct row {
	const char *what;
	int64_t ino, generation; /* added to the right ones */
	bool has_no_inode, is_other_machine, is_other_device, is_of_host;
	int64_t ended; /* seconds from the file's change to the end of the recording */
	const char *name, *why, *unchecked;
};

static void check_row(const struct row *r, const char *path, const struct os_file_node *n)
{
	struct dso_store_opts opts = {.recorded_ns =
					      n->mtime_ns + (uint64_t)(r->ended * 1000000000),
				      .no_proc_root = r->is_other_machine,
				      .debug_dir = "/nonexistent"};
	struct dso_key key = {.kind = DSO_USER, .path = path};
	struct dso_store *s = dso_store_new(&opts);
	struct os_uname here;
	uint8_t byte;
	struct dso *d;

	os_uname(&here);
	if (!r->has_no_inode) {
		key.maj = n->maj + r->is_other_device;
		key.min = n->min;
		key.ino = n->ino + (uint64_t)r->ino;
		key.ino_generation = n->generation ? n->generation + (uint64_t)r->generation : 0;
	}
	if (r->is_of_host)
		dso_store_set_machine(s, NULL, here.node);
	d = dso_store_get(s, &key);
	CHECK_STR(name_at(d, TEXT_OFFSET), r->name, "%s", r->what);
	CHECK_STR(dso_why_no_symbols(d), r->why, "%s: why no names", r->what);
	CHECK_STR(dso_unchecked(d), r->unchecked, "%s: what is not checked", r->what);
	CHECK_EQ(dso_read(d, TEXT_OFFSET, &byte, 1), r->name ? 1 : 0, "%s: code", r->what);
	dso_store_free(s);
}

static void check_files(void)
{
	/* clang-format off */
	static const struct row rows[] = {
		{.what = "the recorded file", .ended = 1, .name = "f"},
		{.what = "another inode",
		 .ino = 1,
		 .ended = 1,
		 .why = "another file than the recorded one: its inode differs"},
		{.what = "the inode on another device, of an unknown machine",
		 .is_other_device = true,
		 .ended = 1,
		 .name = "f",
		 .unchecked = "no build id was recorded, its inode is on another device, and the "
			      "recording does not name its machine"},
		{.what = "the inode on another device",
		 .is_other_device = true,
		 .is_of_host = true,
		 .ended = 1,
		 .why = "another file than the recorded one: its inode differs"},
		{.what = "changed since then",
		 .ended = -1,
		 .why = "the file was changed after it was recorded"},
		{.what = "changed since then, without an inode",
		 .has_no_inode = true,
		 .ended = -1,
		 .why = "the file was changed after it was recorded"},
		{.what = "without an inode",
		 .has_no_inode = true,
		 .ended = 1,
		 .name = "f",
		 .unchecked = "neither a build id nor an inode was recorded"},
		{.what = "of another machine",
		 .is_other_machine = true,
		 .ino = 7,
		 .ended = 1,
		 .name = "f",
		 .unchecked = "no build id was recorded, and the inode is of another machine"},
	};
	/* clang-format on */
	static const struct row reused = {
		.what = "the inode's number was given to another file",
		.generation = 1,
		.ended = 1,
		.why = "another file than the recorded one: its inode was used again"};
	struct os_file_node n;
	char path[96];

	write_elf("f", "f", NULL, 0, NULL);
	snprintf(path, sizeof(path), "%s/f", test_dir);
	CHECK_EQ(os_file_node(path, &n), 0, "its inode");
	if (n.has_other_dev) {
		SKIP("identity of files: /tmp is on overlayfs or btrfs");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_row(&rows[i], path, &n);
	if (n.has_generation && n.generation)
		check_row(&reused, path, &n);
	else
		SKIP("generations of inodes: the file system has none");
}

/* Two files of one path in one recording: the one that is there now does not name the other. */
static void check_both(void)
{
	struct dso_store *s = dso_store_new(NULL);
	struct os_file_node n;
	struct dso_key key = {.kind = DSO_USER};
	char path[96];
	struct dso *now;

	snprintf(path, sizeof(path), "%s/f", test_dir);
	os_file_node(path, &n);
	if (n.has_other_dev) {
		dso_store_free(s);
		return;
	}
	key = (struct dso_key){
		.kind = DSO_USER, .path = path, .maj = n.maj, .min = n.min, .ino = n.ino};
	now = dso_store_get(s, &key);
	CHECK_STR(name_at(now, TEXT_OFFSET), "f", "the file that is there now");
	key.ino++;
	CHECK_STR(name_at(dso_store_get(s, &key), TEXT_OFFSET), NULL, "and the one before");
	dso_store_free(s);
}

/* --- the running kernel --- */

#define TEXT   0xffffffff81000000u
#define MODULE 0xffffffffc0000000u

static void write_running(void)
{
	static const uint8_t note[16 + 20] = {4, 0, 0, 0,   20,  0,   0, 0,    3,
					      0, 0, 0, 'G', 'N', 'U', 0, 0xab, 1};

	test_dir_put("kallsyms", "ffffffff81000000 T _text\nffffffff81000100 T do_work\n"
				 "ffffffff81000200 T do_more\nffffffffc0000040 t mod_work\t[mod]\n"
				 "ffffffffc0000080 t mod_more\t[mod]\n");
	test_dir_put("modules", "mod 12288 0 - Live 0xffffffffc0000000\n");
	test_dir_write("notes", note, sizeof(note));
	test_dir_write("module/mod/notes/.note.gnu.build-id", note, sizeof(note));
}

struct kernel_row {
	const char *what;
	const uint8_t *id, *module_id;
	const char *release, *host; /* "": those here */
	uint64_t ref;
	bool is_live, has_no_kernel;
	const char *name, *in_module;
};

static void check_kernel(const struct kernel_row *r)
{
	struct dso_store_opts opts = {.running_dir = test_dir,
				      .buildid_dir = "/nonexistent",
				      .debug_dir = "/nonexistent",
				      .is_live = r->is_live};
	struct dso_build_id id = {.size = r->id ? 20 : 0},
			    module_id = {.size = r->module_id ? 20 : 0};
	struct dso_key key = {.kind = DSO_KERNEL,
			      .path = "[kernel.kallsyms]",
			      .build_id = &id,
			      .kernel_ref_name = r->ref ? "_text" : NULL,
			      .kernel_ref_addr = r->ref};
	const struct dso_key module = {
		.kind = DSO_MODULE, .path = "[mod]", .load_start = MODULE, .build_id = &module_id};
	struct dso_store *s = dso_store_new(&opts);
	struct os_uname here;
	struct dso *k = NULL, *m;

	os_uname(&here);
	if (r->id)
		memcpy(id.bytes, r->id, 20);
	if (r->module_id)
		memcpy(module_id.bytes, r->module_id, 20);
	dso_store_set_machine(s, r->release && !*r->release ? here.release : r->release,
			      r->host && !*r->host ? here.node : r->host);
	if (!r->has_no_kernel)
		k = dso_store_get(s, &key);
	m = dso_store_get(s, &module);
	CHECK_STR(name_at(m, MODULE + 0x44), r->in_module, "%s: a module, asked first", r->what);
	CHECK(r->in_module || dso_why_no_symbols(m), "%s: why not: %s", r->what,
	      dso_why_no_symbols(m) ? dso_why_no_symbols(m) : "-");
	if (k) {
		CHECK_STR(name_at(k, (r->ref ? r->ref : TEXT) + 0x104), r->name, "%s: the kernel",
			  r->what);
		CHECK(r->name || dso_why_no_symbols(k), "%s: why not: %s", r->what,
		      dso_why_no_symbols(k) ? dso_why_no_symbols(k) : "-");
		CHECK(!r->name || r->id || r->is_live || dso_note(k), "%s: a doubt", r->what);
	}
	dso_store_free(s);
}

static void check_kernels(void)
{
	/* clang-format off */
	static const struct kernel_row rows[] = {
		{"its build id", id_a, NULL, NULL, NULL, TEXT, false, false, "do_work", "mod_work"},
		{"its build id, started again", id_a, NULL, NULL, NULL, TEXT + 0x1000000, false, false,
		 "do_work", "mod_work"},
		{"another build id", id_b, NULL, "", "", TEXT, false, false, NULL, NULL},
		{"a module of another build", id_a, id_b, NULL, NULL, TEXT, false, false, "do_work",
		 NULL},
		{"a module of its build id", id_a, id_a, NULL, NULL, TEXT, false, false, "do_work",
		 "mod_work"},
		{"release and address", NULL, NULL, "", "", TEXT, false, false, "do_work", "mod_work"},
		{"release and address, no host", NULL, NULL, "", NULL, TEXT, false, false, "do_work",
		 "mod_work"},
		{"another release", NULL, NULL, "3.4.0", "", TEXT, false, false, NULL, NULL},
		{"another host", NULL, NULL, "", "elsewhere", TEXT, false, false, NULL, NULL},
		{"another address", NULL, NULL, "", "", TEXT + 0x200000, false, false, NULL, NULL},
		{"no address", NULL, NULL, "", "", 0, false, false, NULL, NULL},
		{"no release", NULL, NULL, NULL, NULL, TEXT, false, false, NULL, NULL},
		{"nothing", NULL, NULL, NULL, NULL, 0, false, true, NULL, NULL},
		{"release alone, no kernel in the recording", NULL, NULL, "", "", 0, false, true, NULL,
		 NULL},
		{"recorded now", NULL, NULL, NULL, NULL, TEXT, true, false, "do_work", "mod_work"},
	};
	/* clang-format on */

	write_running();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_kernel(&rows[i]);
}

static void check_vdso(const char *release, bool has_name)
{
	struct dso_store *s = dso_store_new(NULL);
	const struct dso_key key = {.kind = DSO_VDSO, .path = "[vdso]"};
	struct dso *d;
	const void *own;
	size_t size;
	bool has_any = false;

	dso_store_set_machine(s, release, NULL);
	d = dso_store_get(s, &key);
	for (uint64_t at = 0; at < 0x4000 && !has_any; at += 16)
		has_any = name_at(d, at) != NULL;
	if (os_own_vdso(&own, &size))
		CHECK(has_any == has_name, "vDSO of release %s: %s",
		      release ? release : "(unknown)",
		      dso_why_no_symbols(d) ? dso_why_no_symbols(d) : "names");
	dso_store_free(s);
}

int main(void)
{
	struct os_uname here;

	test_dir_make("dso_identity");
	check_links();
	check_unproven();
	check_files();
	check_both();
	check_kernels();
	os_uname(&here);
	check_vdso(here.release, true);
	check_vdso("3.4.0", false);
	check_vdso(NULL, false);
	test_dir_remove();
	return tap_done();
}
