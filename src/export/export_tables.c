/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "export/export_tables.h"

#include "analyze/ana_level.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/hash.h"

enum {
	DEFAULT_FRAMES = 1 << 20,
	DEFAULT_TEXT_BYTES = 256 << 20,
	FIRST_SLOTS = 1 << 10,
	TEXT_BYTES = 48, /* beside the text itself: its entry, and slots of a table that doubles */
};

static const char unknown[] = "[unknown]";

/* --- texts --- */

/* Append @p size bytes, at most all of @p s; what is no printable character becomes U+FFFD. */
static void repair(struct buf *out, const char *s, size_t size)
{
	while (size) {
		size_t plain = escape_plain_bytes(s, size), len;

		buf_add(out, s, plain);
		s += plain;
		size -= plain;
		if (!size)
			return;
		len = escape_printable((const uint8_t *)s, size);
		if (len) {
			buf_add(out, s, len);
		} else {
			buf_str(out, "\xef\xbf\xbd");
			len = escape_utf8((const uint8_t *)s, size);
			len = len ? len : 1;
		}
		s += len;
		size -= len;
	}
}

static bool has_text_room(const struct export_tables *t, size_t size)
{
	uint64_t used = t->texts.text.used_bytes + t->texts.strs.nr * (uint64_t)TEXT_BYTES;

	return used + size + TEXT_BYTES <= t->max_text_bytes;
}

uint32_t export_text_add(struct export_tables *t, const char *s)
{
	size_t size = strlen(s);
	uint32_t known;

	if (!escape_is_clean(s, size)) {
		buf_clear(&t->repaired);
		repair(&t->repaired, s, size);
		if (t->repaired.is_failed)
			return EXPORT_NONE;
		s = t->repaired.data;
		size = t->repaired.nr;
	}
	known = intern_find(&t->texts, s, size);
	if (known != INTERN_FAILED)
		return known;
	if (!has_text_room(t, size))
		return intern_str(&t->texts, unknown);
	return intern_add(&t->texts, s, size);
}

uint32_t export_text_of(struct export_tables *t, const char *s)
{
	uint64_t *known = s ? map_u64_get(&t->text_of, (uintptr_t)s) : NULL;
	uint32_t text;

	if (!s || known)
		return s ? (uint32_t)*known : 0;
	text = export_text_add(t, s);
	return text != EXPORT_NONE && map_u64_put(&t->text_of, (uintptr_t)s, text) ? text
										   : EXPORT_NONE;
}

/* --- binaries --- */

/* *ret is EXPORT_NONE where @p dso is NULL. @return false: no memory. */
static bool number_dso(struct export_tables *t, const struct dso *dso, uint32_t *ret)
{
	struct export_binary b = {.dso = dso};
	size_t nr = 0;

	*ret = EXPORT_NONE;
	if (!dso)
		return true;
	if (!map_u64_number(&t->by_dso, (uintptr_t)dso, t->binaries.nr, EXPORT_NONE, &nr))
		return false;
	*ret = (uint32_t)nr;
	if (nr < t->binaries.nr)
		return true;
	b.path = export_text_add(t, dso_path(dso));
	return b.path != EXPORT_NONE && vec_push(&t->binaries, b);
}

/* --- functions --- */

static bool add_function(struct export_tables *t, const struct export_function *f, uint32_t *ret)
{
	const uint32_t key[] = {f->name, f->binary, f->level | (uint32_t)f->is_cut << 8};
	uint32_t n = intern_add(&t->function_keys, (const char *)key, sizeof(key));

	if (n == INTERN_FAILED)
		return false;
	*ret = n - 1; /* number 0 of an intern is "" */
	return *ret < t->functions.nr || vec_push(&t->functions, *f);
}

/* "[libc.so.6+0x1234]"; brackets of the name itself are dropped. */
static void put_nameless(struct buf *out, const struct dso *dso, uint64_t rel)
{
	const char *name = dso_short_name(dso);
	size_t size = strlen(name);

	if (size > 1 && *name == '[' && name[size - 1] == ']') {
		name++;
		size -= 2;
	}
	buf_char(out, '[');
	buf_add(out, name, size);
	buf_printf(out, "+0x%llx]", (unsigned long long)rel);
}

/* The function that holds the place, or @p line's, which is inlined there. */
static bool function_at(struct export_tables *t, const struct ana_loc *loc,
			const struct export_place *p, const struct dso_line *inlined, uint32_t *ret)
{
	struct export_function f = {.binary = p->binary, .level = p->level};
	const char *name = inlined ? inlined->function : loc->sym ? loc->sym->name : NULL;
	const char *link = inlined ? inlined->link_name : loc->sym ? loc->sym->link_name : NULL;
	clew_auto(buf_done) struct buf made = {0};

	f.has_symbol = name != NULL;
	if (name) {
		f.name = export_text_of(t, name);
		f.link_name = link ? export_text_of(t, link) : f.name;
	} else {
		if (loc->dso && !inlined)
			put_nameless(&made, loc->dso, loc->rel);
		else
			buf_str(&made, unknown);
		f.name = f.link_name = export_text_add(t, buf_cstr(&made));
	}
	return !made.is_failed && f.name != EXPORT_NONE && f.link_name != EXPORT_NONE &&
	       add_function(t, &f, ret);
}

/* --- places --- */

/* @p file: of a line in it. */
static bool set_declaration(struct export_tables *t, struct export_function *f,
			    const struct dso_line *line, uint32_t file)
{
	if (f->file || !file)
		return true;
	f->file = line->decl_file ? export_text_of(t, line->decl_file) : file;
	f->line = line->decl_file ? line->decl_line : 0;
	return f->file != EXPORT_NONE;
}

static bool add_frame(struct export_tables *t, const struct ana_loc *loc,
		      const struct export_place *p, uint32_t depth)
{
	bool is_inlined = depth + 1 < p->nr_frames;
	/* Without inlined functions, the line is that of the function itself: where their call is.
	 */
	uint32_t at = is_inlined ? depth : loc->nr_lines - 1;
	const struct dso_line *line = loc->nr_lines ? &loc->lines[at] : NULL;
	struct export_frame f = {.place = (uint32_t)t->places.nr, .depth = depth};

	if (line) {
		f.line = line->line;
		f.file = export_text_of(t, line->file);
	}
	return f.file != EXPORT_NONE &&
	       function_at(t, loc, p, is_inlined ? line : NULL, &f.function) &&
	       set_declaration(t, &t->functions.data[f.function], line, f.file) &&
	       vec_push(&t->frames, f);
}

static bool add_place(struct export_tables *t, const struct ana_loc *loc, struct export_place *p)
{
	p->first_frame = (uint32_t)t->frames.nr;
	for (uint32_t i = 0; i < p->nr_frames; i++) {
		if (!add_frame(t, loc, p, i))
			return false;
	}
	return vec_push(&t->places, *p);
}

static uint64_t hash_of(const struct export_place *p)
{
	uint64_t names = hash_two((uintptr_t)p->dso, (uintptr_t)p->sym);

	return hash_two(names, p->address ^ (uint64_t)p->level << 56);
}

static bool is_same(const struct export_place *a, const struct export_place *b)
{
	return a->address == b->address && a->sym == b->sym && a->dso == b->dso &&
	       a->level == b->level;
}

/* Every address of every process is looked up here: the slots have half of the hash. */
static uint64_t *slot_of(const struct export_tables *t, const struct export_place *p, uint64_t hash)
{
	size_t i = hash & (t->cap_places - 1);

	for (; t->place_slots[i]; i = (i + 1) & (t->cap_places - 1)) {
		if (t->place_slots[i] >> 32 == hash >> 32 &&
		    is_same(&t->places.data[(uint32_t)t->place_slots[i] - 1], p))
			break;
	}
	return &t->place_slots[i];
}

static bool grow_slots(struct export_tables *t)
{
	struct export_tables next = *t;

	next.cap_places = t->cap_places ? 2 * t->cap_places : FIRST_SLOTS;
	next.place_slots = mem_calloc(next.cap_places, sizeof(*next.place_slots));
	if (!next.place_slots)
		return false;
	for (uint32_t i = 0; i < t->places.nr; i++) {
		const struct export_place *p = &t->places.data[i];
		uint64_t hash = hash_of(p);

		if (!p->is_made_up)
			*slot_of(&next, p, hash) = hash >> 32 << 32 | (i + 1);
	}
	mem_free(t->place_slots);
	t->place_slots = next.place_slots;
	t->cap_places = next.cap_places;
	return true;
}

enum clew_err export_place_of(struct export_tables *t, const struct ana_loc *loc, uint32_t *ret)
{
	struct export_place p = {.address = ana_loc_address(loc) - loc->is_return,
				 .level = loc->level,
				 .is_caller = loc->is_return,
				 .dso = loc->dso,
				 .sym = loc->sym};
	uint64_t hash = hash_of(&p), *slot;

	*ret = EXPORT_UNKNOWN;
	if (t->places.nr * 2 >= t->cap_places && !grow_slots(t))
		return CLEW_NO_MEMORY;
	slot = slot_of(t, &p, hash);
	if (*slot) {
		*ret = (uint32_t)*slot - 1;
		return CLEW_OK;
	}
	p.nr_frames = t->no_inline || loc->nr_lines < 2 ? 1 : loc->nr_lines;
	if (t->frames.nr + p.nr_frames > t->max_frames)
		return CLEW_LIMIT;
	*ret = (uint32_t)t->places.nr;
	if (!number_dso(t, loc->dso, &p.binary) || !add_place(t, loc, &p))
		return CLEW_NO_MEMORY;
	*slot = hash >> 32 << 32 | t->places.nr;
	return CLEW_OK;
}

/* A place and a frame for @p f, which is no code. */
static bool add_made_up(struct export_tables *t, struct export_function f, uint32_t *ret)
{
	struct export_frame frame = {.place = (uint32_t)t->places.nr};
	struct export_place p = {.binary = EXPORT_NONE, .first_frame = (uint32_t)t->frames.nr};

	f.link_name = f.name;
	f.binary = EXPORT_NONE;
	p.nr_frames = 1;
	p.is_made_up = true;
	*ret = p.first_frame;
	return f.name != EXPORT_NONE && add_function(t, &f, &frame.function) &&
	       vec_push(&t->frames, frame) && vec_push(&t->places, p);
}

enum clew_err export_cut_frame(struct export_tables *t, const char *why, uint32_t *ret)
{
	struct export_function f = {.is_cut = true};
	clew_auto(buf_done) struct buf name = {0};
	const uint64_t *known;

	buf_printf(&name, "[cut: %s]", why);
	f.name = export_text_add(t, buf_cstr(&name));
	known = map_u64_get(&t->cut_of, f.name);
	if (known) {
		*ret = (uint32_t)*known;
		return CLEW_OK;
	}
	return !name.is_failed && add_made_up(t, f, ret) && map_u64_put(&t->cut_of, f.name, *ret)
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

bool export_tables_init(struct export_tables *t, uint32_t max_frames, uint64_t max_text_bytes,
			bool no_inline)
{
	struct export_function f = {0};
	uint32_t frame;

	*t = (struct export_tables){.no_inline = no_inline};
	t->max_frames = max_frames ? max_frames : DEFAULT_FRAMES;
	t->max_text_bytes = max_text_bytes ? max_text_bytes : DEFAULT_TEXT_BYTES;
	/* Numbers of keys are those of the tables, as place 0 is made up and function 0 is its own.
	 */
	f.name = intern_str(&t->texts, unknown);
	return f.name != INTERN_FAILED && add_made_up(t, f, &frame);
}

void export_tables_done(struct export_tables *t)
{
	intern_done(&t->texts);
	intern_done(&t->function_keys);
	mem_free(t->place_slots);
	map_u64_done(&t->cut_of);
	map_u64_done(&t->text_of);
	map_u64_done(&t->by_dso);
	map_u64_done(&t->range_of);
	vec_done(&t->binaries);
	vec_done(&t->functions);
	vec_done(&t->frames);
	vec_done(&t->places);
	vec_done(&t->ranges);
	buf_done(&t->repaired);
}

/* --- levels --- */

const char *export_level_name(uint8_t level)
{
	const char *name = ana_level_name(level);

	return name ? name : "unknown";
}

const char *export_level_suffix(uint8_t level)
{
	static const char *const suffixes[] = {
		[ANA_KERNEL] = "_[k]",
		[ANA_HYPERVISOR] = "_[h]",
		[ANA_GUEST_USER] = "_[gu]",
		[ANA_GUEST_KERNEL] = "_[gk]",
	};
	const char *s = level < sizeof(suffixes) / sizeof(*suffixes) ? suffixes[level] : NULL;

	return s ? s : "";
}
