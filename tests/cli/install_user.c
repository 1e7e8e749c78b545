// SPDX-License-Identifier: LGPL-2.1-or-later
/* A program outside of the tree: count the samples of a recording by level. Usage: install_user
 * FILE */
#include <stdio.h>

#include <clew/clew.h>

/* Names of the library's own functions, which are not of the program's concern. */
int arena_alloc(void);
int arena_alloc(void)
{
	return 7;
}

struct counts {
	unsigned long samples, kernel;
};

static enum clew_err take(void *ctx, const struct clew_sample *sample)
{
	struct counts *c = ctx;

	c->samples++;
	c->kernel += sample->leaf && sample->leaf->level == CLEW_LEVEL_KERNEL;
	return CLEW_OK;
}

int main(int argc, char **argv)
{
	struct clew_session *session;
	struct counts c = {0};
	struct clew_diag diag = {0};
	enum clew_err err = clew_session_open(&session, argc > 1 ? argv[1] : "", NULL, &diag);

	if (err == CLEW_OK) {
		err = clew_session_each(session, take, &c, &diag);
		clew_session_free(session);
	}
	if (err != CLEW_OK) {
		char text[256];

		clew_diag_text(text, sizeof(text), argv[1], &diag);
		printf("%s\n", text);
		return 1;
	}
	if (arena_alloc() != 7 || clew_version_number() != CLEW_VERSION_NUMBER)
		return 1;
	printf("%lu samples, %lu in the kernel\n", c.samples, c.kernel);
	return 0;
}
