/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/callgrind.h"
#include "format/export/export_name.h"

/* Names are written once, "(ID) NAME", and then as "(ID)". */

/* "KEY=(ID) NAME" at first. A name that begins as an id does gets a blank in front. */
static void begin_name(struct export *x, const char *key, uint32_t id)
{
	buf_str(export_out(x), key);
	buf_printf(export_out(x), "=(%u)", id + 1);
}

size_t callgrind_nr_names(const struct export *x, size_t kind)
{
	const struct export_tables *t = export_tables(x);

	return kind == CALLGRIND_NAME_OBJECT ? t->binaries.nr + 1
	     : kind == CALLGRIND_NAME_FILE   ? t->texts.strs.nr + 1
					     : t->functions.nr + 1;
}

/* Each part is read apart. */
void callgrind_forget_names(struct export *x)
{
	struct callgrind *c = export_state(x);

	for (size_t i = 0; i < CALLGRIND_NR_NAMES; i++)
		memset(c->is_named[i], 0, callgrind_nr_names(x, i));
}

/* Has it to be written? Once. */
static bool is_new(struct callgrind *c, unsigned int kind, uint32_t id)
{
	bool is_first = !c->is_named[kind][id];

	c->is_named[kind][id] = 1;
	return is_first;
}

static void put_text(struct export *x, const char *text)
{
	buf_str(export_out(x), *text == '(' ? "  " : " ");
	buf_str(export_out(x), *text ? text : "???");
}

void callgrind_put_object(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	uint32_t binary = t->functions.data[function].binary;
	uint32_t id = binary == EXPORT_NONE ? (uint32_t)t->binaries.nr : binary;

	begin_name(x, key, id);
	if (is_new(export_state(x), CALLGRIND_NAME_OBJECT, id))
		put_text(x, binary == EXPORT_NONE ? ""
						  : export_text(t, t->binaries.data[binary].path));
	buf_char(export_out(x), '\n');
}

void callgrind_put_file(struct export *x, const char *key, uint32_t file)
{
	begin_name(x, key, file);
	if (is_new(export_state(x), CALLGRIND_NAME_FILE, file))
		put_text(x, export_text(export_tables(x), file));
	buf_char(export_out(x), '\n');
}

void callgrind_put_function(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	struct buf *out = export_out(x);

	begin_name(x, key, function);
	if (is_new(export_state(x), CALLGRIND_NAME_FUNCTION, function)) {
		const char *name = export_text(t, t->functions.data[function].name);

		buf_str(out, *name == '(' ? "  " : " ");
		export_put_function(out, x, function);
	}
	buf_char(out, '\n');
}
