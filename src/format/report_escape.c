/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report_escape.h"

size_t report_columns(const char *s, size_t size)
{
	size_t nr = 0;

	for (size_t i = 0; i < size; i++)
		nr += ((unsigned char)s[i] & 0xc0) != 0x80;
	return nr;
}
