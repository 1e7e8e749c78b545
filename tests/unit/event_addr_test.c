/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --filter of hardware trace: perf's spelling in, the kernel's out, with symbols of a program and
 * of a kernel made by the test. */
#include <elf.h>

#include "record/plan/event_list.h"
#include "unit/test_dir.h"

#define PMU "bus/event_source/devices/"

static void build_tree(void)
{
	test_dir_put(PMU "intel_pt/type", "8\n");
	test_dir_put(PMU "intel_pt/nr_addr_filters", "2\n");
	test_dir_put(PMU "cs_etm/type", "9\n");
	test_dir_put(PMU "cs_etm/nr_addr_filters", "8\n");
	test_dir_put(PMU "arm_spe_0/type", "10\n");
	test_dir_put("kallsyms", "ffffffff81000000 T _stext\n"
				 "ffffffff81000100 T vfs_read\n"
				 "ffffffff81000180 t dup\n"
				 "ffffffff810001c0 D a_variable\n"
				 "ffffffff81000200 T dup\n"
				 "ffffffff81000300 T last\n"
				 "ffffffff81001000 T _etext\n"
				 "ffffffffc0000000 t dup\t[module]\n"
				 "ffffffffc0000040 t after\t[module]\n");
	test_dir_put("hidden", "0000000000000000 T _stext\n0000000000000000 T vfs_read\n");
	test_dir_put("a text", "a blank in its name\n");
	test_dir_put("text", "no program\n");
}

/* --- A program: a read-only segment, and at the next page one of code --- */

enum { CODE = 0x1000, CODE_BYTES = 0x200, TABLE = 0x1200, BASE = 0x400000 };

static const struct {
	const char *name;
	uint64_t offset, size;
	uint8_t bind;
} symbols[] = {
	{"first",  0x1000, 0x20, STB_GLOBAL},
        {"two",    0x1020, 0x10, STB_LOCAL },
	{"two",    0x1030, 0x08, STB_LOCAL },
        {"dup",    0x1040, 0x10, STB_LOCAL },
	{"dup",    0x1050, 0x10, STB_GLOBAL},
        {"alias",  0x1050, 0x10, STB_WEAK  },
	{"nosize", 0x1100, 0,    STB_GLOBAL},
        {"main",   0x1139, 0x2b, STB_GLOBAL},
	{"last",   0x1180, 0x40, STB_GLOBAL},
        {"rodata", 0x800,  0x40, STB_GLOBAL},
};

enum { NR_SYMBOLS = sizeof(symbols) / sizeof(*symbols) };

struct program {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	char gap[TABLE - sizeof(Elf64_Ehdr) - 2 * sizeof(Elf64_Phdr)];
	Elf64_Sym symtab[NR_SYMBOLS + 1];
	Elf64_Shdr sections[5];
	char names[256], section_names[64];
};

static void build_symbols(struct program *p)
{
	size_t at = 1;

	for (size_t i = 0; i < NR_SYMBOLS; i++) {
		p->symtab[i + 1] = (Elf64_Sym){
			.st_name = (uint32_t)at,
			.st_info = (unsigned char)ELF64_ST_INFO(symbols[i].bind, STT_FUNC),
			.st_shndx = 1,
			.st_value = BASE + symbols[i].offset,
			.st_size = symbols[i].size,
		};
		at += (size_t)sprintf(p->names + at, "%s", symbols[i].name) + 1;
	}
}

static void build_program(const char *name, uint16_t machine)
{
	static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	struct program p = {
		.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_EXEC,
			 .e_machine = machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct program, segments),
			 .e_shoff = offsetof(struct program, sections),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 5,
			 .e_shstrndx = 4},
		.segments = {{.p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_vaddr = BASE,
			      .p_filesz = 0x900,
			      .p_memsz = 0x900},
                         {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = CODE,
			      .p_vaddr = BASE + CODE,
			      .p_filesz = CODE_BYTES,
			      .p_memsz = CODE_BYTES}},
		.sections = {{0},
                         {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = BASE + CODE,
			      .sh_offset = CODE,
			      .sh_size = CODE_BYTES},
                         {.sh_name = 7,
			      .sh_type = SHT_SYMTAB,
			      .sh_offset = offsetof(struct program, symtab),
			      .sh_size = sizeof(p.symtab),
			      .sh_link = 3,
			      .sh_entsize = sizeof(Elf64_Sym)},
                         {.sh_name = 15,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct program, names),
			      .sh_size = sizeof(p.names)},
                         {.sh_name = 23,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct program, section_names),
			      .sh_size = sizeof(section_names)}                      }
        };

	memcpy(p.section_names, section_names, sizeof(section_names));
	build_symbols(&p);
	test_dir_write(name, &p, sizeof(p));
}

/* --- What the kernel gets: @ is the directory --- */

/* clang-format off */
static const struct {
	const char *event, *filter, *kernels;
} goods[] = {
	{"intel_pt//u", "filter main @ @/x", "filter 0x1139/0x2b@@/x" },
	{"intel_pt//", "filter 0x1139/43@@/x", "filter 0x1139/0x2b@@/x" },
	{"intel_pt//", "filter main / last @ @/x", "filter 0x1139/0x87@@/x" },
	{"intel_pt//", "filter main / 16 @@/x", "filter 0x1139/0x10@@/x" },
	{"intel_pt//", "filter 0x1120 / last @@/x", "filter 0x1120/0xa0@@/x" },
	{"intel_pt//", "filter two #2 @@/x", "filter 0x1030/0x8@@/x" },
	{"intel_pt//", "filter two #1 / two #2 @@/x", "filter 0x1020/0x18@@/x" },
	{"intel_pt//", "filter dup #g @@/x", "filter 0x1050/0x10@@/x" },
	{"intel_pt//", "filter dup #0 @@/x", "filter 0x1050/0x10@@/x" },
	{"intel_pt//", "filter alias @@/x", "filter 0x1050/0x10@@/x" },
	{"intel_pt//", "filter nosize @@/x", "filter 0x1100/0x39@@/x" },
	{"intel_pt//", "tracestop last @@/x", "stop 0x1180/0x40@@/x" },
	{"intel_pt//", "filter main @@/x,tracestop last @@/x",
 "filter 0x1139/0x2b@@/x,stop 0x1180/0x40@@/x" },
	{"intel_pt//", "filter main @@/x filter last @@/x",
 "filter 0x1139/0x2b@@/x,filter 0x1180/0x40@@/x" },
	{"intel_pt//", "filter vfs_read", "filter 0xffffffff81000100/0x80" },
	{"intel_pt//", "filter dup #1", "filter 0xffffffff81000180/0x80" },
	{"intel_pt//", "filter dup #3", "filter 0xffffffffc0000000/0x40" },
	{"intel_pt//", "filter dup #G", "filter 0xffffffff81000200/0x100" },
	{"intel_pt//", "filter vfs_read / last", "filter 0xffffffff81000100/0xf00" },
	{"intel_pt//", "filter *", "filter 0xffffffff81000000/0x1000" },
	{"intel_pt//", "filter 0xffffffff81000000/0x10", "filter 0xffffffff81000000/0x10" },
	{"cs_etm//", "start main @@/x stop last @@/x", "start 0x1139@@/x,stop 0x1180@@/x" },
	{"cs_etm//", "start vfs_read,stop last", "start 0xffffffff81000100,stop 0xffffffff81000300" },
	/* The first byte of a segment that follows another one: one byte, or one instruction. */
	{"intel_pt//", "filter first @@/x", "filter 0x1001/0x1f@@/x" },
	{"cs_etm//", "filter first @@/arm", "filter 0x1004/0x1c@@/arm" },
	{"intel_pt//", "filter * @@/x", "filter 0x1001/0x1bf@@/x" },
	{"cs_etm//", "start first @@/x", "start 0x1000@@/x" },
};

static const struct {
	const char *event, *filter, *says;
} bads[] = {
	{"intel_pt//", "", "empty" },
	{"intel_pt//", " , ", "empty" },
	{"intel_pt//", "filtr main @@/x", "begins with filter, start, stop or tracestop, not with 'filtr'; did you mean 'filter'?"},
	{"intel_pt//", "prev_pid > 5", "not with 'prev_pid'" },
	{"intel_pt//", "filter", "an address or a symbol is missing" },
	{"intel_pt//", "filter main/", "a symbol ends with a blank: 'main /' instead of 'main/'" },
	{"intel_pt//", "filter main@@/x", "a symbol ends with a blank: 'main @' instead of 'main@'" },
	{"intel_pt//", "filter 0x1000@@/x", "an address needs a size" },
	{"intel_pt//", "filter 0x1000/0@@/x", "size 0" },
	{"intel_pt//", "filter 0x10zz/1@@/x", "'0x10zz' is not a number" },
	{"intel_pt//", "filter main @", "a file's name is missing after @" },
	{"intel_pt//", "filter main @ @/none", "/none': No such file" },
	{"intel_pt//", "filter main @@/bus", "is not a program or library" },
	{"intel_pt//", "filter main @@/text", "is not an ELF file" },
	{"intel_pt//", "filter mian @@/x", "has no symbol 'mian'; did you mean 'main'?" },
	{"intel_pt//", "filter rodata @@/x", "has no symbol 'rodata'" },
	{"intel_pt//", "filter two @@/x", "has 2 symbols 'two': #1 0x1020, #2 0x1030; choose one as 'two #1'" },
	{"intel_pt//", "filter two #g @@/x", "no global symbol 'two'" },
	{"intel_pt//", "filter two #3 @@/x", "has 2 symbols 'two': there is no #3" },
	{"intel_pt//", "filter two #x @@/x", "after # comes the number" },
	{"intel_pt//", "filter last / main @@/x", "the range ends at 0x1164, before it begins at 0x1180" },
	{"intel_pt//", "filter * / 5 @@/x", "* is all of it" },
	{"intel_pt//", "filter 0xffffffffffffffff/0x10", "beyond the last address" },
	{"intel_pt//", "start main @@/x", "intel_pt traces ranges of addresses only" },
	{"intel_pt//", "start * @@/x", "start needs one address" },
	{"intel_pt//", "stop main @@/x", "or 'tracestop' where it ends, instead of 'stop'" },
	{"intel_pt//", "filter main @@/x filter last @@/x filter two #1 @@/x", "intel_pt has 2 address filters, these are 3" },
	{"cs_etm//", "tracestop main @@/x", "cs_etm cannot end a trace by a range" },
	{"cs_etm//", "start main / last @@/x", "cs_etm starts and stops at an address: 'start' without a size" },
	{"cs_etm//", "filter main @@/x,stop last @@/x", "either ranges (filter) or start and stop, not both" },
	{"arm_spe_0//", "filter main @@/x", "arm_spe_0 has no address filters" },
	{"intel_pt//", "filter no_such", "the kernel has no function 'no_such'; one of a program needs its file" },
	{"intel_pt//", "filter a_variable", "the kernel has no function" },
	{"intel_pt//", "filter dup", "the kernel has 3 symbols 'dup': #1 0xffffffff81000180, #2 0xffffffff81000200 (global)" },
	{"cs", "filter main @@/x", "'cs' is neither" },
};

/* clang-format on */

/* @ before a slash, or after another: the test's directory. */
static void expand(const char *text, char *ret, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++) {
		if (text[0] == '@' && text[1] == '/')
			n += (size_t)snprintf(ret + n, size - n, "%s", test_dir);
		else
			ret[n++] = *text;
	}
	ret[n < size ? n : size - 1] = '\0';
}

static struct rec_event_list list_of(const char *event, const char *kallsyms)
{
	struct rec_event_list l = {.sysfs = test_dir, .kallsyms = kallsyms};
	struct rec_error error;

	if (rec_events_parse(&l, event, &error))
		CHECK(false, "%s: %s", event, error.text);
	return l;
}

static char kallsyms[128], hidden[128];

static void check_goods(void)
{
	for (size_t i = 0; i < sizeof(goods) / sizeof(*goods); i++) {
		struct rec_event_list l = list_of(goods[i].event, kallsyms);
		struct rec_error error = {0};
		char filter[1024], kernels[1024];
		enum clew_err err;

		expand(goods[i].filter, filter, sizeof(filter));
		expand(goods[i].kernels, kernels, sizeof(kernels));
		err = rec_events_filter(&l, filter, &error);
		CHECK_EQ(err, CLEW_OK, "--filter '%s' on %s", goods[i].filter, goods[i].event);
		if (err)
			printf("# said: %s\n", error.text);
		else
			CHECK_STR(l.events.data[0].filter, kernels, "what the kernel gets");
		rec_events_done(&l);
	}
}

static void check_bads(void)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(*bads); i++) {
		struct rec_event_list l = list_of(bads[i].event, kallsyms);
		struct rec_error error = {0};
		char filter[1024];
		bool says;

		expand(bads[i].filter, filter, sizeof(filter));
		CHECK(rec_events_filter(&l, filter, &error), "--filter '%s' on %s is refused",
		      bads[i].filter, bads[i].event);
		says = strstr(error.text, bads[i].says);
		CHECK(says, "%s", bads[i].says);
		if (!says)
			printf("# said: %s\n", error.text);
		CHECK(!l.events.data[0].filter, "... and the event has none");
		rec_events_done(&l);
	}
}

/* Each --filter adds to those before; the sides they are on are known. */
static void check_several(void)
{
	struct rec_event_list l = list_of("intel_pt//", kallsyms);
	const struct rec_event *e = l.events.data;
	struct rec_error error = {0};
	char one[256], both[256];

	expand("filter first @@/x", one, sizeof(one));
	expand("filter 0x1001/0x1f@@/x,filter 0xffffffff81000300/0xd00", both, sizeof(both));
	CHECK_EQ(rec_events_filter(&l, one, &error), CLEW_OK, "a filter of a program");
	CHECK(e->filters_user && !e->filters_kernel, "is known as such");
	CHECK(e->filter_note && strstr(e->filter_note, "begins at 0x1001, 1 byte later"),
	      "the segment's first byte is avoided, with a message");
	CHECK_EQ(rec_events_filter(&l, "filter last", &error), CLEW_OK, "one of the kernel");
	CHECK(e->filters_user && e->filters_kernel, "is known, too");
	CHECK_STR(e->filter, both, "both are set");
	CHECK(rec_events_filter(&l, "filter vfs_read", &error), "a third is too many");
	CHECK(strstr(error.text, "2 address filters, these are 3"), "with a message");
	CHECK_STR(e->filter, both, "and changes nothing");
	rec_events_done(&l);
	l = list_of("intel_pt//", hidden);
	CHECK(rec_events_filter(&l, "filter vfs_read", &error), "hidden addresses");
	CHECK(strstr(error.text, "the kernel hides its addresses"), "with a message");
	rec_events_done(&l);
}

/* A blank in the path: the kernel would take its first word. */
static void check_path(void)
{
	struct rec_event_list l = list_of("intel_pt//", kallsyms);
	struct rec_error error = {0};
	char path[128], link[128], filter[256];

	snprintf(path, sizeof(path), "%s/a text", test_dir);
	snprintf(link, sizeof(link), "%s/link", test_dir);
	CHECK_EQ(symlink(path, link), 0, "a link");
	snprintf(filter, sizeof(filter), "filter 0x10/0x10 @%s", link);
	CHECK(rec_events_filter(&l, filter, &error), "a path with a blank is refused");
	CHECK(strstr(error.text, "the kernel takes no path with a blank or comma"),
	      "with a message");
	rec_events_done(&l);
}

int main(void)
{
	test_dir_make("event-addr");
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", test_dir);
	snprintf(hidden, sizeof(hidden), "%s/hidden", test_dir);
	build_tree();
	build_program("x", EM_X86_64);
	build_program("arm", EM_AARCH64);
	check_goods();
	check_bads();
	check_several();
	check_path();
	test_dir_remove();
	return tap_done();
}
