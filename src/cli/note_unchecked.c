/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/note_unchecked.h"

#include "cli/common/message.h"

void cli_note_unchecked(const struct ana_summary *s)
{
	enum { MOST = 8 };

	for (size_t i = 0; i < s->nr_unchecked && i < MOST; i++)
		cli_note("not checked: the names of %s may be of another file: %s",
			 dso_symbol_file(s->unchecked[i]), dso_unchecked(s->unchecked[i]));
	if (s->nr_unchecked > MOST)
		cli_note("not checked: %zu more files", s->nr_unchecked - MOST);
}
