/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Print what dso_find_lines() says, in the form of `addr2line -i -f -e FILE`, for file offsets read
 * from standard input:
 *
 *   line_diff FILE < OFFSETS
 */
#include <stdio.h>
#include <stdlib.h>

#include "image/dso.h"

int main(int argc, char **argv)
{
	struct dso_store *store = dso_store_new(NULL);
	struct dso_key key = {.kind = DSO_USER, .path = argc > 1 ? argv[1] : ""};
	struct dso *d = dso_store_get(store, &key);
	struct dso_line lines[64];
	char text[64];

	while (fgets(text, sizeof(text), stdin)) {
		uint64_t rel = strtoull(text, NULL, 16);
		size_t nr = dso_find_lines(d, rel, lines, 64);

		printf("0x%016llx\n", (unsigned long long)rel);
		for (size_t i = 0; i < nr; i++)
			printf("%s\n%s:%u\n", lines[i].link_name ? lines[i].link_name : "??",
			       lines[i].file ? lines[i].file : "??", lines[i].line);
		if (!nr)
			printf("??\n??:0\n");
	}
	dso_store_free(store);
	return 0;
}
