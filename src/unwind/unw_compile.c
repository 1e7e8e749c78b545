/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_compile.h"

#include "unwind/a64_stubs.h"
#include "unwind/eh_frame.h"
#include "unwind/fp_rows.h"
#include "unwind/sframe.h"
#include "unwind/sigreturn_rows.h"
#include "unwind/stack_switch.h"
#include "unwind/unw_list.h"

struct sources {
	struct unw_list *lists[UNW_MAX_SOURCES];
	size_t nr;
};

/** A list for one more source. @return NULL when memory is short. */
static struct unw_list *add_list(struct sources *s)
{
	struct unw_list *l = unw_list_new();

	if (l)
		s->lists[s->nr++] = l;
	return l;
}

static enum clew_err add_dwarf(struct sources *s, const struct unw_image *image,
			       bool is_debug_frame)
{
	struct unw_list *l = add_list(s);
	enum clew_err err = l ? eh_frame_rows(image, is_debug_frame, l, NULL) : CLEW_NO_MEMORY;

	return err == CLEW_NOT_FOUND ? CLEW_OK : err;
}

/** Than .eh_frame. Version 1 cannot mark outermost frames and signals, and GNU ld 2.40, which
 * writes it, has wrong rows for some PLTs. */
static bool is_sframe_better(const struct unw_image *image)
{
	struct sframe s;

	return !sframe_open(&s, &image->sframe, NULL) && s.version > 1;
}

/** A section that is refused counts as absent. */
static enum clew_err add_sframe(struct sources *s, const struct unw_image *image)
{
	struct unw_list *l;
	enum clew_err err;

	if (!image->sframe.bytes)
		return CLEW_OK;
	l = add_list(s);
	err = l ? sframe_rows(image, l, NULL) : CLEW_NO_MEMORY;
	if (err && err != CLEW_NO_MEMORY)
		unw_list_free(s->lists[--s->nr]);
	return err == CLEW_NO_MEMORY ? err : CLEW_OK;
}

/** What sources have wrong goes before them. */
static enum clew_err add_corrections(struct sources *s, const struct unw_image *image)
{
	struct unw_list *l = add_list(s);
	enum clew_err err = l ? stack_switch_rows(image, l) : CLEW_NO_MEMORY, more = err;

	if (err == CLEW_OK || err == CLEW_NOT_FOUND)
		more = sigreturn_rows(image, l);
	if (err == CLEW_NOT_FOUND && more == CLEW_NOT_FOUND)
		unw_list_free(s->lists[--s->nr]);
	return more == CLEW_NOT_FOUND ? CLEW_OK : more;
}

/** The same, where a few instructions are the whole function. */
static enum clew_err add_stubs(struct sources *s, const struct unw_image *image)
{
	size_t nr = s->nr;
	struct unw_list *l = image->arch == UNW_AARCH64 ? add_list(s) : NULL;

	if (image->arch != UNW_AARCH64)
		return CLEW_OK;
	return l ? a64_stub_rows(image, s->lists, nr, l) : CLEW_NO_MEMORY;
}

/** What no source covers, by its instructions. */
static enum clew_err add_code(struct sources *s, const struct unw_image *image)
{
	size_t nr = s->nr;
	struct unw_list *l = add_list(s);
	enum clew_err err = l ? fp_rows(image, s->lists, nr, l) : CLEW_NO_MEMORY;

	return err == CLEW_NOT_FOUND ? CLEW_OK : err;
}

/*
 * The code at the entry point has no caller. A program's call frame information marks it as
 * outermost; the dynamic linker has none there.
 */
static enum clew_err add_entry(struct sources *s, const struct unw_image *image)
{
	enum { ENTRY_BYTES = 96 }; /* the longest of the three machines has 80 */
	const struct unw_rule outermost = {.cfa = UNW_CFA_REG,
					   .cfa_reg = sframe_sp(image->arch),
					   .ra = UNW_UNDEFINED,
					   .fp = UNW_UNDEFINED};
	struct unw_list *l;
	size_t nr_rows = 0;
	uint64_t rel;

	for (size_t i = 0; i < s->nr; i++)
		nr_rows += unw_list_nr_rows(s->lists[i]);
	if (!nr_rows || !image->entry || !unw_image_rel(image, image->entry, &rel))
		return CLEW_OK;
	l = add_list(s);
	if (!l)
		return CLEW_NO_MEMORY;
	unw_list_begin(l, rel, rel + ENTRY_BYTES);
	unw_list_row(l, rel, &outermost);
	return CLEW_OK;
}

enum clew_err unw_compile(const struct unw_image *image, void **ret_block, size_t *ret_size)
{
	bool is_first = is_sframe_better(image);
	struct sources s = {.nr = 0};
	enum clew_err err = add_corrections(&s, image);

	if (!err && is_first)
		err = add_sframe(&s, image);
	if (!err)
		err = add_dwarf(&s, image, false);
	if (!err && !is_first)
		err = add_sframe(&s, image);
	if (!err)
		err = add_dwarf(&s, image, true);
	if (!err && !image->is_relocatable)
		err = add_stubs(&s, image);
	if (!err && !image->is_relocatable)
		err = add_code(&s, image);
	if (!err)
		err = add_entry(&s, image);
	if (!err)
		err = unw_table_build_of(s.lists, s.nr, image->arch, ret_block, ret_size);
	for (size_t i = 0; i < s.nr; i++)
		unw_list_free(s.lists[i]);
	return err;
}
