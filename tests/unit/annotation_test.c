/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "annotate/annotation.h"

#include "isa/x86/x86_branch.h"
#include "make/elf_build.h"
#include "unit/test_dir.h"

/* A function "fn" of @p size bytes in a file of its own, with a sample at each of its bytes. */
struct file {
	const char *name;
	uint16_t machine;
	const uint8_t *code;
	size_t size;
	struct elf_build_sym marks[4]; /* value: from the function's start */
	size_t nr_marks;
};

enum { CODE_BYTES = 64 };

static struct insn_text *text;
static struct dso_store *store;

static uint64_t write_file(const struct file *f)
{
	struct elf_build b = {.base = 0x10000, .machine = f->machine};
	uint8_t code[CODE_BYTES] = {0};
	struct elf_build_sym syms[8];
	uint16_t section;

	memcpy(code, f->code, f->size);
	section = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code,
				    CODE_BYTES);
	syms[0] = (struct elf_build_sym){
		"fn", elf_build_addr(&b, section), f->size, STB_GLOBAL, STT_FUNC, section};
	syms[1] = (struct elf_build_sym){
		"other", elf_build_addr(&b, section) + 48, 16, STB_GLOBAL, STT_FUNC, section};
	for (size_t i = 0; i < f->nr_marks; i++) {
		syms[2 + i] = f->marks[i];
		syms[2 + i].value += elf_build_addr(&b, section);
		syms[2 + i].section = section;
	}
	elf_build_syms(&b, SHT_SYMTAB, syms, 2 + f->nr_marks);
	elf_build_finish(&b);
	test_dir_write(f->name, b.file.data, b.file.nr);
	section = (uint16_t)b.sections[section].sh_offset;
	elf_build_done(&b);
	return section;
}

/* Whatever allocation fails: it is said, or nothing is missing. */
static void out_of_memory(const struct file *f, const struct ann_counts *c,
			  const struct ann_symbol *s, const struct annotation_opts *opts)
{
	const uint32_t event = 0;
	uint64_t n = 0;
	bool is_right = true, has_failed;

	do {
		struct annotation a;
		enum clew_err err;

		mem_fail_after(n++);
		err = annotation_make(&a, c, s, &event, 1, opts);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		is_right &= err == CLEW_NO_MEMORY || a.columns.data[0].weight.nr == f->size;
		annotation_done(&a);
	} while (has_failed);
	CHECK(is_right && n > 4, "%s: each allocation may fail", f->name);
}

/* "0:je 0x... >3;": offset, text, target or callee of each instruction. */
static void annotate(const struct file *f, struct buf *out)
{
	static const struct perf_evsel evsel = {.name = "cycles"};
	const uint32_t event = 0;
	uint64_t rel = write_file(f);
	char path[96];
	struct ann_counts c = {0};
	struct ann_symbol s = {.nr_cells = f->size};
	struct annotation_opts opts = {.dsos = store, .text = text};
	struct annotation a;

	snprintf(path, sizeof(path), "%s/%s", test_dir, f->name);
	s.dso = dso_store_get(store, &(struct dso_key){.kind = DSO_USER, .path = path});
	s.sym = dso_find_sym(dso_store_at(store, dso_id(s.dso)), rel);
	vec_push(&c.events, (struct ann_event){.evsel = &evsel});
	for (size_t i = 0; i < f->size; i++)
		vec_push(&c.cells, (struct ann_cell){
					   .rel = rel + i, .weight = {1, 2}
                });
	CHECK(s.sym && annotation_make(&a, &c, &s, &event, 1, &opts) == CLEW_OK, "%s", f->name);
	CHECK_EQ(a.columns.data[0].weight.nr, f->size, "%s: every sample is counted", f->name);
	CHECK(a.is_linked && a.insns.data[0].address == rel + 0x10000, "%s: linked addresses",
	      f->name);
	buf_clear(out);
	for (size_t i = 0; i < a.insns.nr; i++) {
		const struct ann_insn *n = &a.insns.data[i];

		CHECK_EQ(annotation_weight(&a, i, 0)->nr, n->bytes, "a sample of each byte");
		buf_printf(out, "%u:%.*s", (unsigned int)(n->rel - rel), (int)n->text_bytes,
			   a.text.data + n->text);
		if (n->target != ANN_NONE)
			buf_printf(out, " >%u", n->target);
		if (n->callee)
			buf_printf(out, " <%s+%u>", n->callee, (unsigned int)n->callee_offset);
		buf_char(out, ';');
	}
	annotation_done(&a);
	out_of_memory(f, &c, &s, &opts);
	vec_done(&c.events);
	vec_done(&c.cells);
}

static void x86(struct buf *out)
{
	/* je +2; 06, which is none; call other; nop; a jump into the middle of the call; cut off */
	static const uint8_t code[] = {0x74, 0x02, 0x06, 0x90, 0xe8, 0x27, 0x00,
				       0x00, 0x00, 0x90, 0xeb, 0xf9, 0xe9, 0x01};
	const struct file f = {"x86", EM_X86_64, code, sizeof(code), {{0}}, 0};

	if (!x86_can_decode()) {
		SKIP("no Zydis");
		return;
	}
	annotate(&f, out);
	CHECK(strstr(buf_cstr(out), " >3;2:.byte 0x06;3:nop;4:call "), "a jump, unknown bytes: %s",
	      buf_cstr(out));
	CHECK(strstr(buf_cstr(out), " <other+0>;9:nop;10:jmp "), "a call by name");
	CHECK(strstr(buf_cstr(out), ";12:.byte 0xe9;13:.byte 0x01;"),
	      "what the function's end cuts off");
}

static void a64(struct buf *out)
{
	/* cbz x0, +12; udf #0; data; ret */
	static const uint8_t code[] = {0x60, 0x00, 0x00, 0xb4, 0xff, 0xff, 0xff, 0xff,
				       0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};
	const struct file f = {
		"a64",
		EM_AARCH64,
		code,
		sizeof(code),
		{{"$x", 0, 0, STB_LOCAL, STT_NOTYPE, 0},
			{"$d", 8, 0, STB_LOCAL, STT_NOTYPE, 0},
			{"$x.1", 12, 0, STB_LOCAL, STT_NOTYPE, 0}},
		3
        };

	annotate(&f, out);
	CHECK(strstr(buf_cstr(out), " >3;4:.byte 0xff, 0xff, 0xff, 0xff;8:.byte 0x1f, 0x20, 0x03, "
				    "0xd5;12:ret;"),
	      "a jump, unknown bytes, data that looks like a nop: %s", buf_cstr(out));
}

static void arm(struct buf *out)
{
	/* A32 bx lr, T32: beq +0, nop.w, nop; data */
	static const uint8_t code[] = {0x1e, 0xff, 0x2f, 0xe1, 0x01, 0xd0, 0xaf, 0xf3,
				       0x00, 0x80, 0x00, 0xbf, 0x01, 0x02, 0x03, 0x04};
	const struct file f = {
		"arm",
		EM_ARM,
		code,
		sizeof(code),
		{{"$a", 0, 0, STB_LOCAL, STT_NOTYPE, 0},
			{"$t", 4, 0, STB_LOCAL, STT_NOTYPE, 0},
			{"$d", 12, 0, STB_LOCAL, STT_NOTYPE, 0}},
		3
        };

	annotate(&f, out);
	CHECK(strstr(buf_cstr(out), "0:bx lr;4:beq "), "A32, then T32: %s", buf_cstr(out));
	CHECK(strstr(buf_cstr(out), " >3;6:nop.w;10:nop;12:.byte 0x01, 0x02, 0x03, 0x04;"),
	      "two and four bytes, a jump, data");
}

/* Without a file: addresses alone, and nothing is lost. */
static void missing(void)
{
	static const struct perf_evsel evsel = {.name = "cycles"};
	static const struct dso_sym sym = {0x100, 0x200, "gone", "gone"};
	const uint32_t event = 0;
	struct ann_counts c = {0};
	struct ann_symbol s = {.sym = &sym, .nr_cells = 2};
	struct annotation_opts opts = {.dsos = store, .text = text};
	struct annotation a;

	s.dso = dso_store_get(store,
			      &(struct dso_key){.kind = DSO_USER, .path = "/nonexistent/gone"});
	vec_push(&c.events, (struct ann_event){.evsel = &evsel});
	vec_push(&c.cells, (struct ann_cell){
				   .rel = 0x104, .weight = {3, 3}
        });
	vec_push(&c.cells, (struct ann_cell){
				   .rel = 0x108, .weight = {1, 1}
        });
	CHECK_EQ(annotation_make(&a, &c, &s, &event, 1, &opts), CLEW_OK, "no file");
	CHECK_STR(a.why, "file not found, or another build of it", "the reason");
	CHECK(a.insns.nr == 2 && a.insns.data[1].address == 0x108 && !a.insns.data[1].bytes,
	      "the sampled addresses");
	CHECK_EQ(annotation_weight(&a, 0, 0)->nr, 3, "and their weights");
	annotation_done(&a);
	vec_done(&c.events);
	vec_done(&c.cells);
}

int main(void)
{
	struct buf out = {0};

	text = insn_text_new();
	if (!text)
		SKIP_ALL("no capstone");
	test_dir_make("annotation");
	store = dso_store_new(NULL);
	x86(&out);
	a64(&out);
	arm(&out);
	missing();
	dso_store_free(store);
	insn_text_free(text);
	test_dir_remove();
	buf_done(&out);
	return tap_done();
}
