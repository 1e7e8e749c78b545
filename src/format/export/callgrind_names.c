/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/callgrind.h"
#include "format/export/export_name.h"

size_t callgrind_nr_names(const struct export *x, size_t kind)
{
	const struct export_tables *t = export_tables(x);

	return kind == CALLGRIND_NAME_OBJECT ? t->binaries.nr + 1
	     : kind == CALLGRIND_NAME_FILE   ? t->texts.strs.nr + 1
					     : t->functions.nr + 1;
}

void callgrind_forget_names(struct export *x)
{
	struct callgrind *c = export_state(x);

	for (size_t i = 0; i < CALLGRIND_NR_NAMES; i++)
		memset(c->is_named[i], 0, callgrind_nr_names(x, i));
}

/* Names are written once, "KEY=(ID) NAME", and then as "KEY=(ID)". @return has the name to follow?
 */
static bool put_id(struct export *x, const char *key, unsigned int kind, uint32_t id)
{
	struct callgrind *c = export_state(x);
	bool is_first = !c->is_named[kind][id];

	buf_printf(export_out(x), "%s=(%u)", key, id + 1);
	c->is_named[kind][id] = 1;
	return is_first;
}

/* One more before a name that begins as an id does. */
static void put_blank(struct export *x, const char *name)
{
	buf_str(export_out(x), *name == '(' ? "  " : " ");
}

static void put_text(struct export *x, const char *text)
{
	put_blank(x, text);
	buf_str(export_out(x), *text ? text : "???");
}

void callgrind_put_object(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	uint32_t binary = t->functions.data[function].binary;
	uint32_t id = binary == EXPORT_NONE ? (uint32_t)t->binaries.nr : binary;

	if (put_id(x, key, CALLGRIND_NAME_OBJECT, id))
		put_text(x, binary == EXPORT_NONE ? ""
						  : export_text(t, t->binaries.data[binary].path));
	buf_char(export_out(x), '\n');
}

void callgrind_put_file(struct export *x, const char *key, uint32_t file)
{
	if (put_id(x, key, CALLGRIND_NAME_FILE, file))
		put_text(x, export_text(export_tables(x), file));
	buf_char(export_out(x), '\n');
}

void callgrind_put_function(struct export *x, const char *key, uint32_t function)
{
	const struct export_tables *t = export_tables(x);

	if (put_id(x, key, CALLGRIND_NAME_FUNCTION, function)) {
		put_blank(x, export_text(t, t->functions.data[function].name));
		export_put_function(export_out(x), x, function);
	}
	buf_char(export_out(x), '\n');
}
