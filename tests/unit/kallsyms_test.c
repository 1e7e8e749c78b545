/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/kallsyms.h"

#include "unit/tap.h"

static const char *name_at(const struct sym_table *t, uint64_t addr)
{
	const struct sym *s = sym_table_find(t, addr);

	return s ? sym_name(t, s) : NULL;
}

static struct kallsyms_info load(const char *text, struct sym_table *t, struct intern *modules)
{
	struct kallsyms_info info = {0};

	sym_table_init(t, NULL, 0);
	kallsyms_collect(t, bytes_of(text, strlen(text)), modules, "_text", &info);
	sym_table_finish(t, SYM_FILL_KALLSYMS);
	return info;
}

static void test_kernel_and_module(void)
{
	struct sym_table t;
	struct intern modules = {0};
	struct kallsyms_info info = load("ffffffff81000000 T _text\n"
					 "ffffffff81000000 T _stext\n"
					 "ffffffff81001000 t do_it\n"
					 "ffffffff81002000 r __ksymtab\n"
					 "ffffffffc0001000 t ext4_read\t[ext4]\n"
					 "ffffffffc0001100 t ext4_write\t[ext4]\n",
					 &t, &modules);
	const struct sym *s;

	CHECK(info.nr == 5 && info.has_ref && info.ref_addr == 0xffffffff81000000u &&
		      !info.is_all_zero,
	      "code and data are taken, the reference symbol is found");
	CHECK_STR(name_at(&t, 0xffffffff81000010), "_stext",
		  "two names of one address: the longer");
	CHECK_STR(name_at(&t, 0xffffffff81001fff), "do_it",
		  "the last one of the kernel: to the page's end");
	CHECK_STR(name_at(&t, 0xffffffff81002001), NULL, "no symbol fills the gap to the modules");
	s = sym_table_find(&t, 0xffffffffc0001010);
	CHECK(s && s->module && !strcmp(intern_get(&modules, s->module), "[ext4]"),
	      "module symbols name their module");
	sym_table_done(&t);
	intern_done(&modules);
}

static void test_garbage(void)
{
	static const char *const rows[] = {
		"",
		"\n\n\n",
		"x",
		"ffffffff81000000",
		"ffffffff81000000 ",
		"ffffffff81000000 T",
		"ffffffff81000000 T ",
		"ffffffff8100000000 T too_many_digits",
		"ffffffff81000000  T two_blanks",
		"ffffffff81000000 T \t[mod]",
		"zzzz T name",
	};
	struct sym_table t;
	struct intern modules = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK_EQ(load(rows[i], &t, &modules).nr, 0, "garbage row %zu", i);
		sym_table_done(&t);
	}
	CHECK_EQ(load("0 T a\n0 t b", &t, &modules).nr, 2, "no newline at the end");
	sym_table_done(&t);
	CHECK(load("0000000000000000 T _text\n0000000000000000 T x\n", &t, &modules).is_all_zero,
	      "hidden addresses are noticed");
	sym_table_done(&t);
	CHECK_EQ(load("10 T a\t[\n20 T b\t\n", &t, &modules).nr, 2, "damaged module names");
	CHECK_EQ(sym_table_find(&t, 0x10)->module, 0, "count as the kernel");
	sym_table_done(&t);
	intern_done(&modules);
}

static void test_modules(void)
{
	static const char text[] = "ext4 1019904 2 - Live 0xffffffffc0a00000\n"
				   "ext 16384 1 ext4, Live 0xffffffffc0900000 (OE)\n"
				   "hidden 16384 0 - Live 0x0000000000000000\n"
				   "cut 16384";
	struct bytes b = bytes_of(text, strlen(text));
	uint64_t addr = 0;

	CHECK(modules_address(b, "ext4", 4, &addr) && addr == 0xffffffffc0a00000,
	      "a module's address");
	CHECK(modules_address(b, "ext", 3, &addr) && addr == 0xffffffffc0900000,
	      "a name that starts another's");
	CHECK(!modules_address(b, "hidden", 6, &addr) && !modules_address(b, "cut", 3, &addr) &&
		      !modules_address(b, "none", 4, &addr),
	      "hidden, damaged, missing");
}

int main(void)
{
	test_modules();
	test_kernel_and_module();
	test_garbage();
	return tap_done();
}
