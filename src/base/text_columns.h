/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_TEXT_COLUMNS_H
#define BASE_TEXT_COLUMNS_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Columns that text takes on a terminal: two of a wide character (East Asian, emoji), none of a
 * mark that combines with the one before it. In doubt more, so that no line turns out longer.
 * Text must be as escape_add() leaves it.
 * Spec: Unicode Standard Annex #11, "East Asian Width"; UnicodeData.txt, category Mn.
 */
size_t text_columns(const char *s, size_t size);

/** The most bytes, up to @p columns, that end with a whole character. @p ret_columns: what they
 * take. */
size_t text_cut(const char *s, size_t size, size_t columns, size_t *ret_columns);

/**
 * Break the lines of @p b, from byte @p from on, that take more than @p columns: at a blank where
 * there is one, else within a word. The rest follows indented, after '#' where the line begins
 * with one. Nothing is omitted. 0: no limit.
 */
void text_fold(struct buf *b, size_t from, size_t columns);

#endif
