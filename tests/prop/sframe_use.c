/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/sframe_use.h"

#include <string.h>

#include "base/mem.h"
#include "format/sframe_json.h"
#include "format/sframe_text.h"
#include "unwind/sframe_check.h"
#include "unwind/sframe_reloc.h"
#include "unwind/unw_list.h"

enum { MAX_TEXT_ROWS = 4096, MAX_FUNCTIONS = 256 };

static void print(const struct sframe *s)
{
	uint64_t text_left = MAX_TEXT_ROWS, json_left = MAX_TEXT_ROWS;
	struct buf out = {0};

	sframe_text_head(&out, "f", s);
	sframe_json_head(&out, "f", s);
	for (uint32_t i = 0; i < s->nr_functions && i < MAX_FUNCTIONS; i++) {
		sframe_text_function(&out, s, i, &text_left, NULL);
		sframe_json_function(&out, s, i, &json_left, NULL);
	}
	buf_done(&out);
}

static bool is_inside(const struct unw_table *t, uint64_t rel)
{
	const struct unw_rule *r = unw_table_find(t, rel);

	return r >= t->rule && r < t->rule + t->head->nr_rules;
}

static bool look_up(const struct sframe *s, const struct unw_table *t)
{
	bool ok = true;

	for (uint32_t i = 0; i < s->nr_functions && i < MAX_FUNCTIONS; i++) {
		struct sframe_function f;
		uint64_t rel;

		sframe_function(s, i, &f, NULL);
		rel = f.start;
		ok &= is_inside(t, rel - 1) && is_inside(t, rel) && is_inside(t, rel + f.size) &&
		      is_inside(t, rel + f.size - 1);
	}
	return ok;
}

static bool compile(const struct sframe *s, const struct unw_image *image)
{
	struct unw_list *list = unw_list_new(), *other = unw_list_new();
	struct clew_diag diag = {0};
	struct sframe_verdicts verdicts;
	struct unw_table table;
	void *block = NULL;
	size_t size;
	bool ok = true;
	enum clew_err err = sframe_rows(image, list, &diag);

	if (err)
		ok = diag.what && diag.code == err && !unw_list_nr_rows(list);
	else
		sframe_check(list, other, s->version, NULL, NULL, &verdicts);
	if (!err && !unw_table_build(list, NULL, image->arch, &block, &size))
		ok = !unw_table_of_block(&table, block, size) && look_up(s, &table);
	mem_free(block);
	unw_list_free(list);
	unw_list_free(other);
	return ok;
}

bool sframe_use(const struct unw_section *section)
{
	struct unw_image image = {
		.sframe = *section,
		.segments = {{0, UINT64_MAX, 0}},
		.nr_segments = 1,
	};
	struct clew_diag diag = {0};
	struct sframe_counts counts;
	struct sframe s;
	enum clew_err err = sframe_open(&s, section, &diag);

	if (err)
		return diag.what && diag.code == err;
	sframe_count(&s, &counts);
	print(&s);
	image.arch = s.arch;
	image.is_swapped = s.is_swapped;
	return counts.nr_rows <= sframe_max_rows(&s) &&
	       (!counts.nr_bad || (counts.first_bad.what && counts.first_bad.offset)) &&
	       compile(&s, &image);
}

bool sframe_use_elf(uint8_t *bytes, size_t size)
{
	struct elf_file elf = {0};
	struct unw_image image;
	struct unw_section section;
	uint8_t *copy = NULL;
	struct sframe s;
	bool ok = true;

	if (elf_file_open(&elf, bytes, size, NULL) || unw_image_of_elf(&image, &elf) ||
	    sframe_open(&s, &image.sframe, NULL)) {
		elf_file_done(&elf);
		return true;
	}
	section = image.sframe;
	copy = mem_alloc(section.size);
	if (copy) {
		memcpy(copy, section.bytes, section.size);
		sframe_relocate(&elf, &s, copy, section.size);
		section.bytes = copy;
		ok = sframe_use(&section) && compile(&s, &image);
	}
	mem_free(copy);
	elf_file_done(&elf);
	return ok;
}
