/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "base/path_name.h"
#include "format/export/export_name.h"
#include "format/export/firefox.h"

/* The tables of a profile: column by column, each a list. */

struct column {
	const char *key;
	void (*put)(struct export *x, uint32_t row);
};

static struct json_put *json(struct export *x)
{
	struct firefox *p = export_state(x);

	return &p->json;
}

static enum clew_err put_table(struct export *x, const char *key, const struct column *columns,
			       uint32_t nr)
{
	enum clew_err err = CLEW_OK;

	json_key(json(x), key);
	json_open(json(x), '{');
	for (; columns->key && err == CLEW_OK; columns++) {
		json_key(json(x), columns->key);
		json_open(json(x), '[');
		for (uint32_t i = 0; i < nr && err == CLEW_OK; i++) {
			columns->put(x, i);
			err = export_flush(x);
		}
		json_close(json(x), ']');
	}
	json_put_u64(json(x), "length", nr);
	json_close(json(x), '}');
	return err;
}

/* --- cells that are equal in all rows --- */

static void put_null(struct export *x, uint32_t row)
{
	(void)row;
	json_string(json(x), NULL);
}

static void put_0(struct export *x, uint32_t row)
{
	(void)row;
	json_u64(json(x), 0);
}

static void put_1(struct export *x, uint32_t row)
{
	(void)row;
	json_u64(json(x), 1);
}

static void put_false(struct export *x, uint32_t row)
{
	(void)row;
	json_bool(json(x), false);
}

/* --- stacks --- */

static void put_stack_frame(struct export *x, uint32_t row)
{
	json_u64(json(x), export_innermost_frame(x, row + 1));
}

static void put_stack_prefix(struct export *x, uint32_t row)
{
	uint32_t callers = export_callers(x, row + 1);

	if (callers)
		json_u64(json(x), callers - 1);
	else
		json_string(json(x), NULL);
}

static const struct column stack_columns[] = {
	{"frame",  put_stack_frame },
	{"prefix", put_stack_prefix},
	{NULL,     NULL            }
};

/* --- frames --- */

static const struct export_frame *frame_at(const struct export *x, uint32_t row)
{
	return &export_tables(x)->frames.data[row];
}

static const struct export_place *place_of(const struct export *x, uint32_t row)
{
	return &export_tables(x)->places.data[frame_at(x, row)->place];
}

static void put_frame_address(struct export *x, uint32_t row)
{
	const struct export_place *place = place_of(x, row);

	if (place->binary == EXPORT_NONE)
		json_i64(json(x), -1);
	else
		json_u64(json(x), place->address);
}

static void put_frame_depth(struct export *x, uint32_t row)
{
	json_u64(json(x), place_of(x, row)->nr_frames - 1 - frame_at(x, row)->depth);
}

static uint32_t category_of(const struct export_function *f)
{
	static const uint8_t categories[] = {
		[ANA_USER] = FIREFOX_USER,
		[ANA_KERNEL] = FIREFOX_KERNEL,
		[ANA_HYPERVISOR] = FIREFOX_HYPERVISOR,
		[ANA_GUEST_USER] = FIREFOX_GUEST_USER,
		[ANA_GUEST_KERNEL] = FIREFOX_GUEST_KERNEL,
	};

	if (f->is_cut)
		return FIREFOX_CUT;
	return f->level < sizeof(categories) ? categories[f->level] : FIREFOX_OTHER;
}

static void put_frame_category(struct export *x, uint32_t row)
{
	const struct export_tables *t = export_tables(x);

	json_u64(json(x), category_of(&t->functions.data[frame_at(x, row)->function]));
}

static void put_frame_function(struct export *x, uint32_t row)
{
	json_u64(json(x), frame_at(x, row)->function);
}

static void put_frame_line(struct export *x, uint32_t row)
{
	if (frame_at(x, row)->line)
		json_u64(json(x), frame_at(x, row)->line);
	else
		json_string(json(x), NULL);
}

static const struct column frame_columns[] = {
	{"address",       put_frame_address },
	{"inlineDepth",   put_frame_depth   },
	{"category",      put_frame_category},
	{"subcategory",   put_0             },
	{"func",          put_frame_function},
	{"nativeSymbol",  put_null          },
	{"innerWindowID", put_0             },
	{"line",          put_frame_line    },
	{"column",        put_null          },
	{NULL,            NULL              }
};

/* --- functions --- */

static const struct export_function *function_at(const struct export *x, uint32_t row)
{
	return &export_tables(x)->functions.data[row];
}

static void put_function_name(struct export *x, uint32_t row)
{
	json_u64(json(x), function_at(x, row)->name);
}

static void put_function_resource(struct export *x, uint32_t row)
{
	uint32_t binary = function_at(x, row)->binary;

	json_i64(json(x), binary == EXPORT_NONE ? -1 : (int64_t)binary);
}

static void put_function_source(struct export *x, uint32_t row)
{
	const struct firefox *p = export_state(x);
	uint32_t source = p->source_of[function_at(x, row)->file];

	if (source)
		json_u64(json(x), source - 1);
	else
		json_string(json(x), NULL);
}

static const struct column function_columns[] = {
	{"name",          put_function_name    },
        {"isJS",          put_false            },
	{"relevantForJS", put_false            },
        {"resource",      put_function_resource},
	{"source",        put_function_source  },
        {"lineNumber",    put_null             },
	{"columnNumber",  put_null             },
        {NULL,            NULL                 }
};

/* --- binaries: a resource each --- */

static void put_resource_name(struct export *x, uint32_t row)
{
	const struct firefox *p = export_state(x);

	json_u64(json(x), p->base_names.data[row]);
}

static void put_resource_lib(struct export *x, uint32_t row)
{
	json_u64(json(x), row);
}

static const struct column resource_columns[] = {
	{"name", put_resource_name},
	{"lib",  put_resource_lib },
	{"host", put_null         },
	{"type", put_1            }, /* a library */
	{NULL,   NULL             }
};

/* No rows: where functions begin is not in our tables. */
static const struct column symbol_columns[] = {
	{"libIndex",     put_null},
	{"address",      put_null},
	{"name",         put_null},
	{"functionSize", put_null},
	{NULL,           NULL    }
};

static void put_source_name(struct export *x, uint32_t row)
{
	const struct firefox *p = export_state(x);

	json_u64(json(x), p->sources.data[row]);
}

static const struct column source_columns[] = {
	{"id",           put_null       },
        {"filename",     put_source_name},
        {"startLine",    put_1          },
	{"startColumn",  put_1          },
        {"sourceMapURL", put_null       },
        {NULL,           NULL           }
};

/* --- all of them --- */

static enum clew_err number_sources(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct firefox *p = export_state(x);

	p->source_of = mem_calloc(t->texts.strs.nr + 1, sizeof(*p->source_of));
	if (!p->source_of)
		return CLEW_NO_MEMORY;
	vec_for_each (&t->functions, f) {
		if (!f->file || p->source_of[f->file])
			continue;
		if (!vec_push(&p->sources, f->file))
			return CLEW_NO_MEMORY;
		p->source_of[f->file] = (uint32_t)p->sources.nr;
	}
	return CLEW_OK;
}

static enum clew_err name_binaries(struct export *x)
{
	struct firefox *p = export_state(x);

	for (uint32_t i = 0; i < export_tables(x)->binaries.nr; i++) {
		uint32_t n = export_text_add(export_tables_mut(x), path_name(export_path_of(x, i)));

		if (n == EXPORT_NONE || !vec_push(&p->base_names, n))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static enum clew_err put_texts(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	enum clew_err err = CLEW_OK;

	json_key(json(x), "stringArray");
	json_open(json(x), '[');
	for (uint32_t i = 0; i < t->texts.strs.nr && err == CLEW_OK; i++) {
		json_string(json(x), export_text(t, i));
		err = export_flush(x);
	}
	json_close(json(x), ']');
	return err;
}

static enum clew_err put_tables(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	const struct firefox *p = export_state(x);
	const struct {
		const char *key;
		const struct column *columns;
		size_t nr;
	} all[] = {
		{"stackTable",    stack_columns,    export_nr_nodes(x)},
		{"frameTable",    frame_columns,    t->frames.nr      },
		{"funcTable",     function_columns, t->functions.nr   },
		{"resourceTable", resource_columns, t->binaries.nr    },
		{"nativeSymbols", symbol_columns,   0                 },
		{"sources",       source_columns,   p->sources.nr     },
	};
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && err == CLEW_OK; i++)
		err = put_table(x, all[i].key, all[i].columns, (uint32_t)all[i].nr);
	return err;
}

enum clew_err firefox_put_shared(struct export *x)
{
	enum clew_err err = name_binaries(x);

	if (err == CLEW_OK)
		err = number_sources(x);
	if (err != CLEW_OK)
		return err;
	json_key(json(x), "shared");
	json_open(json(x), '{');
	err = put_tables(x);
	if (err == CLEW_OK)
		err = put_texts(x);
	json_close(json(x), '}');
	return err;
}

static void put_build_id(struct json_put *j, const struct dso *dso)
{
	clew_auto(buf_done) struct buf hex = {0};

	export_put_build_id(&hex, dso);
	json_put_string(j, "codeId", hex.nr ? buf_cstr(&hex) : NULL);
	j->out->is_failed |= hex.is_failed;
}

enum clew_err firefox_put_libs(struct export *x)
{
	enum clew_err err = CLEW_OK;
	struct json_put *j = json(x);

	json_key(j, "libs");
	json_open(j, '[');
	for (uint32_t i = 0; i < export_tables(x)->binaries.nr && err == CLEW_OK; i++) {
		const char *path = export_path_of(x, i), *name = path_name(path);

		json_open(j, '{');
		json_put_string(j, "arch", "");
		json_put_string(j, "name", name);
		json_put_string(j, "path", path);
		json_put_string(j, "debugName", name);
		json_put_string(j, "debugPath", path);
		json_put_string(j, "breakpadId", "");
		put_build_id(j, export_tables(x)->binaries.data[i].dso);
		json_close(j, '}');
		err = export_flush(x);
	}
	json_close(j, ']');
	return err;
}
