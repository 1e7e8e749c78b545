/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A return address belongs to the call before it: frames of recorded chains, in user mode and in
 * the kernel, by made binaries of two machines. */
#include "analyze/ana_caller.h"

#include "base/buf.h"
#include "make/elf_build.h"
#include "make/perf_build.h"
#include "perfdata/perf_record.h"
#include "unit/analyze_made.h"
#include "unit/tap.h"
#include "unit/test_dir.h"
#include "unwind/unw_call_site.h"

enum {
	SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
	FUNCTION = 0x20, /* bytes of each */
	NR_FUNCTIONS = 8,
	CODE_BYTES = FUNCTION * NR_FUNCTIONS,
};
#define A         UINT64_C(0x10000) /* two mappings, one after the other, and one alone */
#define B         (A + CODE_BYTES)
#define C         UINT64_C(0x30000)
#define PROBES    (C + 0x1000)
#define KERNEL    UINT64_C(0xffffffff81000000)
#define U         PERF_CONTEXT_USER
#define K         PERF_CONTEXT_KERNEL
#define IN_KERNEL K, KERNEL + 0x7000

/* One function after the other. What ends in a call has it as its last instruction. */
enum { CALLER, INNOCENT, CONTEXT, TRAMPOLINE, EXITER, NEXT, OTHER, LAST };
static const char *const names[NR_FUNCTIONS] = {"caller", "innocent", "context",      "trampoline",
						"exiter", "next",     "__restore_rt", "last"};

struct machine {
	const char *name;
	uint16_t elf;
	uint8_t filler[4], call[5], sigreturn[9], syscall[4];
	size_t filler_bytes, call_bytes, sigreturn_bytes, syscall_bytes;
};

static const struct machine machines[] = {
	{"x86_64",
	 EM_X86_64,  {0x90},
	 {0xe8, 1, 2, 3, 0},
	 {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
	 {0x0f, 0x05},
	 1, 5,
	 9, 2},
	{"aarch64",
	 EM_AARCH64, {0x1f, 0x20, 0x03, 0xd5},
	 {0, 1, 0, 0x94},
	 {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4},
	 {0x01, 0, 0, 0xd4},
	 4, 4,
	 8, 4},
};

static void end_with(uint8_t *code, unsigned int function, const uint8_t *insn, size_t size)
{
	memcpy(code + (function + 1) * FUNCTION - size, insn, size);
}

static void make_code(const struct machine *m, uint8_t *code)
{
	for (size_t i = 0; i < CODE_BYTES; i++)
		code[i] = m->filler[i % m->filler_bytes];
	end_with(code, CALLER, m->call, m->call_bytes);
	end_with(code, CONTEXT, m->call, m->call_bytes);
	end_with(code, EXITER, m->syscall, m->syscall_bytes);
	end_with(code, NEXT, m->call, m->call_bytes);
	end_with(code, LAST, m->call, m->call_bytes);
	memcpy(code + TRAMPOLINE * FUNCTION, m->sigreturn, m->sigreturn_bytes);
}

/* @return the code's offset in the file. */
static uint64_t make_binary(const struct machine *m, const char *name, const char *prefix)
{
	struct elf_build_sym syms[NR_FUNCTIONS];
	struct elf_build b = {.machine = m->elf};
	char texts[NR_FUNCTIONS][32];
	uint8_t code[CODE_BYTES];
	uint64_t offset;
	uint16_t text;

	make_code(m, code);
	text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code,
				 sizeof(code));
	offset = elf_build_addr(&b, text);
	for (size_t i = 0; i < NR_FUNCTIONS; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s%s", prefix, names[i]);
		syms[i] = (struct elf_build_sym){
			texts[i], offset + i * FUNCTION, FUNCTION, STB_GLOBAL, STT_FUNC, text};
	}
	elf_build_syms(&b, SHT_SYMTAB, syms, NR_FUNCTIONS);
	elf_build_finish(&b);
	test_dir_write(name, b.file.data, b.file.nr);
	elf_build_done(&b);
	return offset;
}

static void put_map(struct perf_build *b, uint64_t start, uint64_t pgoff, const char *file)
{
	const struct perf_sample_id id = {
		.time = 1, .pid = 5, .tid = 5, .id = UINT64_MAX, .stream_id = UINT64_MAX};
	char path[128];
	union perf_view v = {
		.mmap = {.pid = 5,
			 .tid = 5,
			 .start = start,
			 .len = CODE_BYTES,
			 .pgoff = pgoff,
			 .filename = path,
			 .is_mmap2 = true,
			 .prot = 5}
        };

	if (*file == '[')
		snprintf(path, sizeof(path), "%s", file);
	else
		snprintf(path, sizeof(path), "%s/%s", test_dir, file);
	perf_build_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, &v, &id);
}

static void put_kernel(struct perf_build *b)
{
	const struct perf_sample_id id = {
		.time = 1, .pid = UINT32_MAX, .tid = 0, .id = UINT64_MAX, .stream_id = UINT64_MAX};
	union perf_view v = {
		.mmap = {.pid = UINT32_MAX,
			 .start = KERNEL,
			 .len = 0x100000,
			 .pgoff = KERNEL,
			 .filename = "[kernel.kallsyms]_text"}
        };

	perf_build_view(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, &v, &id);
}

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81001000 T panicking\n"
			       "ffffffff81001020 T bystander\n"
			       "ffffffff81002000 T asm_exc_page_fault\n"
			       "ffffffff81003000 T ret_from_fork_asm\n"
			       "ffffffff81004000 T common_interrupt\n"
			       "ffffffff81005000 T asm_common_interrupt\n"
			       "ffffffff81006000 T el1h_64_irq\n"
			       "ffffffff81006800 T el1h_64_irq_handler\n"
			       "ffffffff81007000 T leaf\n"
			       "ffffffff81007ff0 T __pfx_padded\n"
			       "ffffffff81008000 T padded\n"
			       "ffffffff81100000 T _etext\n";

/* "name" of each frame, with "<" where it is a call's. */
static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct buf *out = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_chain *c = b->events[i].chain;

		for (uint32_t j = 0; c && j < c->nr; j++)
			buf_printf(out, "%s%s%s", j ? " " : "",
				   c->locs[j]->sym ? c->locs[j]->sym->name : "-",
				   c->locs[j]->is_return ? "<" : "");
		buf_char(out, '\n');
	}
	return CLEW_OK;
}

struct row {
	const char *what;
	uint64_t words[10]; /* up to the first 0, of which there is one frame where is_to_zero */
	const char *want, *as_perf; /* as_perf NULL: the same, without marks */
	bool is_to_zero, is_in_kernel;
};

#define F(base, function) ((base) + (function)*FUNCTION)

static const struct row rows[] = {
	{"a call that does not return ends its function",
	 {U, F(A, NEXT), F(A, INNOCENT)},
	 "next caller<",															  "next innocent",
	 false																															},
	{"sampled, and where a call returns to: one address, two places",
	 {U, F(A, INNOCENT), F(A, INNOCENT), F(A, INNOCENT) + 4},
	 "innocent caller< innocent<",													    "innocent innocent innocent",
	 false																															},
	{"in a function's middle",
	 {U, F(A, NEXT) + 4, F(A, CALLER) + 8},
	 "next caller<",															  NULL,
	 false																															},
	{"no call before it: a context that began there",
	 {U, F(A, NEXT), F(A, CONTEXT)},
	 "next context",															  NULL,
	 false																															},
	{"a signal's trampoline by its code, whatever stands before; its caller is a caller",
	 {U, F(A, NEXT), F(A, TRAMPOLINE), F(A, INNOCENT)},
	 "next trampoline caller<",													       "next trampoline innocent",
	 false																															},
	{"a signal's trampoline by its name",
	 {U, F(A, NEXT), F(A, OTHER)},
	 "next __restore_rt",														     NULL,
	 false																															},
	{"after a mark: interrupted",
	 {U, F(A, NEXT), U, F(A, INNOCENT)},
	 "next innocent",															 NULL,
	 false																															},
	{"the kernel was entered by a system call",
	 {IN_KERNEL, U, F(A, NEXT)},
	 "leaf exiter<",															  "leaf next",
	 false																															},
	{"the same without the kernel's frames",                                              {U, F(A, NEXT)}, "exiter<",                         "next",												false,         true},
	{"the kernel was entered by an interrupt",
	 {IN_KERNEL, U, F(A, INNOCENT)},
	 "leaf innocent",													  NULL,
	 false															       },
	{"in user mode: after a system call, and not in the kernel",
	 {U, F(A, NEXT)},
	 "next",															 NULL,
	 false															 },
	{"the first byte of a mapping, after another",
	 {U, F(A, NEXT), B},
	 "next last<",														      "next other_caller",
	 false												       },
	{"the end of a mapping, and none after it",
	 {U, F(A, NEXT), C + CODE_BYTES},
	 "next other_last<",													 "next -",
	 false															 },
	{"the first byte of a mapping, and none before",
	 {U, F(A, NEXT), A, C},
	 "next caller other_caller",														   NULL,
	 false													   },
	{"a uretprobe's trampoline",										   {U, F(A, NEXT), PROBES},									 "next -", NULL,                      false},
	{"address 0",										   {U, F(A, NEXT), 0},											"next -",                     NULL,                           true											    },
	{"no mapping at all",										   {U, F(A, NEXT), 0x500},										"next -<",         NULL,                      false},
	{"in the kernel",
	 {IN_KERNEL, KERNEL + 0x1020, KERNEL + 0x1030},
	 "leaf panicking< bystander<",											   "leaf bystander bystander",
	 false													   },
	{"what an exception interrupted, and its callers",
	 {IN_KERNEL, KERNEL + 0x2010, KERNEL + 0x1020, KERNEL + 0x1020},
	 "leaf asm_exc_page_fault< bystander panicking<",									  "leaf asm_exc_page_fault bystander bystander",
	 false										      },
	{"an exception within an exception",
	 {IN_KERNEL, KERNEL + 0x2010, KERNEL + 0x1020, KERNEL + 0x2010, KERNEL + 0x1020},
	 "leaf asm_exc_page_fault< bystander asm_exc_page_fault< bystander",							 NULL,
	 false															     },
	{"of arm64",
	 {IN_KERNEL, KERNEL + 0x6810, KERNEL + 0x6010, KERNEL + 0x1020},
	 "leaf el1h_64_irq_handler< el1h_64_irq< bystander",									  NULL,
	 false															    },
	{"a handler with the name that entries once had",
	 {IN_KERNEL, KERNEL + 0x4010, KERNEL + 0x5010, KERNEL + 0x1020},
	 "leaf common_interrupt< asm_common_interrupt< bystander",									  NULL,
	 false														      },
	{"and that entry",
	 {IN_KERNEL, KERNEL + 0x4010, KERNEL + 0x1020},
	 "leaf common_interrupt< bystander",											   NULL,
	 false															   },
	{"a function interrupted at its first instruction, after its padding",
	 {IN_KERNEL, KERNEL + 0x8000, KERNEL + 0x1020},
	 "leaf padded panicking<",											   "leaf padded bystander",
	 false														  },
	{"a new task",										   {IN_KERNEL, KERNEL + 0x3000},										       "leaf ret_from_fork_asm",          NULL, false},
};

static uint32_t nr_words(const struct row *r)
{
	uint32_t n = 0;

	while (n < 10 && r->words[n])
		n++;
	return n + r->is_to_zero;
}

static void put_sample(struct perf_build *b, const struct row *r, uint64_t time)
{
	perf_build_sample(b, 0,
			  &(struct perf_sample){
				  .misc = r->words[0] == K || r->is_in_kernel
						? PERF_RECORD_MISC_KERNEL
						: PERF_RECORD_MISC_USER,
				  .ip = r->words[1],
				  .time = time,
				  .pid = 5,
				  .tid = 5,
				  .callchain = {(const uint8_t *)r->words, nr_words(r), false}
        });
}

static struct bytes build(struct perf_build *b, const struct machine *m)
{
	const struct perf_attr attr = {
		.sample_type = SAMPLE, .sample_period = 1, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	uint64_t offset = make_binary(m, "program", ""), other = make_binary(m, "other", "other_");

	perf_build_event(b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_event_desc(b);
	perf_build_feature_string(b, PERF_FEAT_ARCH, m->name);
	put_kernel(b);
	put_map(b, A, offset, "program");
	put_map(b, B, other, "other");
	put_map(b, C, other, "other");
	put_map(b, PROBES, 0, "[uprobes]");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_sample(b, &rows[i], 10 + i);
	return perf_build_finish(b);
}

static void put_want(struct buf *out, const struct row *r, bool is_as_perf)
{
	const char *want = is_as_perf && r->as_perf ? r->as_perf : r->want;

	for (; *want; want++) {
		if (!is_as_perf || *want != '<')
			buf_char(out, *want);
	}
	buf_char(out, '\n');
}

static void check_lines(const char *got, const struct row *r, bool is_as_perf, const char *machine)
{
	struct buf want = {0};
	size_t size = strcspn(got, "\n") + 1;

	put_want(&want, r, is_as_perf);
	CHECK(want.nr == size && !memcmp(want.data, got, size), "%s: %s%s (%.*s)", machine, r->what,
	      is_as_perf ? ", as perf has it" : "", (int)size - 1, got);
	buf_done(&want);
}

static void test_machine(const struct machine *m, bool is_as_perf)
{
	struct perf_build b = {0};
	struct bytes file = build(&b, m);
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct ana_opts opts = {.is_single_threaded = true, .is_as_perf = is_as_perf};
	struct ana_summary sum;
	struct buf out = {0};
	char path[80];
	const char *line;

	snprintf(path, sizeof(path), "%s/kallsyms", test_dir);
	opts.symbols.kallsyms = path;
	CHECK_EQ(analyze_made(&in, &opts, (struct ana_consumer){take_batch, &out}, &sum), CLEW_OK,
		 "read");
	line = buf_cstr(&out);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && *line; i++) {
		check_lines(line, &rows[i], is_as_perf, m->name);
		line += strcspn(line, "\n") + 1;
	}
	CHECK(!*line, "no other lines");
	buf_done(&out);
	perf_build_done(&b);
}

/* --- what the code shows --- */

struct code_row {
	const char *what;
	uint16_t machine;
	uint8_t code[16];
	uint64_t at;
	enum unw_call_site want;
};

static const struct code_row codes[] = {
	{"call rel32",            EM_X86_64,  {0x90, 0xe8, 1, 2, 3, 4, 0xc3},          6, UNW_SITE_AFTER_CALL   },
	{"call *%rax",            EM_X86_64,  {0x90, 0x90, 0x90, 0xff, 0xd0},          5, UNW_SITE_AFTER_CALL   },
	{"jmp",		   EM_X86_64,  {0x90, 0xe9, 1, 2, 3, 4},                6, UNW_SITE_NO_CALL      },
	{"ret",		   EM_X86_64,  {0x90, 0x90, 0x90, 0x90, 0xc3},          5, UNW_SITE_NO_CALL      },
	{"syscall",               EM_X86_64,  {0x90, 0x90, 0x90, 0x0f, 0x05},          5, UNW_SITE_AFTER_SYSCALL},
	{"int $0x80",             EM_386,     {0x90, 0x90, 0x90, 0xcd, 0x80},          5, UNW_SITE_AFTER_SYSCALL},
	{"rt_sigreturn",          EM_386,     {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},       0, UNW_SITE_SIGRETURN    },
	{"sigreturn",             EM_386,     {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, 0, UNW_SITE_SIGRETURN    },
	{"a call of 32-bit code", EM_386,     {0xe8, 1, 2, 3, 4},                      5, UNW_SITE_AFTER_CALL   },
	{"blr x1",                EM_AARCH64, {0x20, 0, 0x3f, 0xd6},                   4, UNW_SITE_AFTER_CALL   },
	{"b",		     EM_AARCH64, {0, 1, 0, 0x14},                         4, UNW_SITE_NO_CALL      },
	{"svc #0",                EM_AARCH64, {1, 0, 0, 0xd4},                         4, UNW_SITE_AFTER_SYSCALL},
	{"brasl",                 EM_S390,    {0xc0, 0xe5, 0, 0, 0, 1},                6, UNW_SITE_AFTER_CALL   },
	{"br %r14",               EM_S390,    {0x07, 0x07, 0x07, 0xfe},                4, UNW_SITE_NO_CALL      },
	{"another machine",       EM_RISCV,   {0xef, 0, 0, 0},                         4, UNW_SITE_UNKNOWN      },
};

static void test_codes(void)
{
	uint8_t file[sizeof(Elf64_Ehdr) + 16];

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		const struct code_row *r = &codes[i];
		Elf64_Ehdr h = {.e_machine = r->machine};

		memcpy(h.e_ident, ELFMAG, SELFMAG);
		h.e_ident[EI_DATA] = r->machine == EM_S390 ? ELFDATA2MSB : ELFDATA2LSB;
		if (r->machine == EM_S390)
			h.e_machine = __builtin_bswap16(h.e_machine);
		memcpy(file, &h, sizeof(h));
		memcpy(file + sizeof(h), r->code, 16);
		CHECK_EQ(unw_call_site_of(file, sizeof(file), sizeof(h) + r->at), r->want, "%s",
			 r->what);
	}
	CHECK_EQ(unw_call_site_of(file, sizeof(file), UINT64_MAX), UNW_SITE_UNKNOWN,
		 "an offset outside of the file");
	CHECK_EQ(unw_call_site_of(file, 17, 4), UNW_SITE_UNKNOWN, "a file that is cut");
	CHECK_EQ(unw_call_site_of((const uint8_t *)"#!/bin/sh", 9, 4), UNW_SITE_UNKNOWN,
		 "no ELF file");
}

int main(void)
{
	test_dir_make("ana_caller_test");
	test_dir_put("kallsyms", kallsyms);
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		test_machine(&machines[i], false);
		test_machine(&machines[i], true);
	}
	test_codes();
	test_dir_remove();
	return tap_done();
}
