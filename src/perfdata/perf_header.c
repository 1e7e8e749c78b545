/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "base/err.h"
#include "perfdata/perf_file_impl.h"

enum { MIN_HEADER_SIZE = 72, MAX_IDS = 16 << 20 };

/* The 104 bytes at the start of a file. */
struct file_header {
	uint64_t size, attr_size;
	struct perf_file_section attrs, data;
};

static struct perf_file_section section_at(const uint8_t *p, bool swap)
{
	return (struct perf_file_section){load_u64(p, swap), load_u64(p + 8, swap)};
}

static struct bytes bytes_of_section(const struct perf_file *f, struct perf_file_section s)
{
	return range_fits(s.offset, s.size, f->in.size) ? bytes_of(f->in.data + s.offset, s.size)
							: (struct bytes){0};
}

static enum clew_err read_attr(struct perf_file *f, const uint8_t *entry, uint64_t size,
			       uint64_t *nr_ids)
{
	uint64_t attr_bytes = size - sizeof(struct perf_file_section);
	struct perf_file_section ids = section_at(entry + attr_bytes, f->swap);
	struct perf_attr attr;

	if (perf_attr_parse(bytes_of(entry, attr_bytes), f->swap, &attr) != CLEW_OK)
		return CLEW_BAD_FILE;
	if (!range_fits(ids.offset, ids.size, f->in.size))
		return CLEW_TRUNCATED;
	*nr_ids += ids.size / 8;
	if (*nr_ids > MAX_IDS || f->evlist->evsels.nr >= PERF_EVSELS_MAX)
		return CLEW_LIMIT;
	if (!perf_evlist_add(f->evlist, &attr, NULL, f->in.data + ids.offset,
			     (uint32_t)(ids.size / 8), f->swap))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

static enum clew_err read_attrs(struct perf_file *f, const struct file_header *h,
				struct clew_diag *diag)
{
	uint64_t min = PERF_ATTR_SIZE_VER0 + sizeof(struct perf_file_section), nr_ids = 0;
	enum clew_err err;

	if (h->attr_size < min)
		return clew_fail(diag, CLEW_BAD_FILE, 16, "attr entries are too small");
	if (!range_fits(h->attrs.offset, h->attrs.size, f->in.size))
		return clew_fail(diag, CLEW_TRUNCATED, f->in.size,
				 "the file ends before its event descriptions");
	for (uint64_t at = 0; h->attrs.size - at >= h->attr_size; at += h->attr_size) {
		err = read_attr(f, f->in.data + h->attrs.offset + at, h->attr_size, &nr_ids);
		if (err != CLEW_OK)
			return clew_fail(diag, err, h->attrs.offset + at,
					 "unusable event description");
	}
	if (!f->evlist->evsels.nr)
		return clew_fail(diag, CLEW_BAD_FILE, 24, "the file describes no event");
	return CLEW_OK;
}

/* The 64-bit words of another byte order may have been two of 32 bits, of a 32-bit machine. perf
 * has recorded its host's name since 3.2, with the first features but build ids. Spec: Linux 6.12
 * tools/perf/util/header.c, perf_file_header__read(). */
static void read_feature_bits(struct perf_file *f, const uint8_t *p)
{
	uint64_t *bits = f->features.bits;
	bool has_any = false;

	for (int i = 0; i < PERF_FEAT_BITS / 64; i++) {
		bits[i] = load_u64(p + 8 * i, f->swap);
		has_any |= bits[i];
	}
	if (!f->is_version1 || !f->swap || !has_any || bits[0] >> PERF_FEAT_HOSTNAME & 1)
		return;
	for (int i = 0; i < PERF_FEAT_BITS / 64; i++)
		bits[i] = bits[i] << 32 | bits[i] >> 32;
	if (bits[0] >> PERF_FEAT_HOSTNAME & 1)
		return;
	memset(bits, 0, sizeof(f->features.bits));
	bits[0] = 1 << PERF_FEAT_BUILD_ID;
}

/* Sections that lie outside the file (it was cut) count as missing. */
static void read_features(struct perf_file *f)
{
	uint64_t at = f->data.offset + f->data.size;

	for (unsigned int i = 0; i < PERF_FEAT_BITS; i++) {
		if (!(f->features.bits[i / 64] >> i % 64 & 1))
			continue;
		if (!range_fits(at, sizeof(struct perf_file_section), f->in.size))
			return;
		f->features.section[i] = bytes_of_section(f, section_at(f->in.data + at, f->swap));
		at += sizeof(struct perf_file_section);
	}
}

/*
 * Is the table of feature sections at @p at? It is in a complete file without records; a file after
 * a killed writer has a record there. The table begins with the offset of the first
 * section, which follows the table; read as a record's header it would have a size of 0.
 */
static bool has_sections_at(const struct perf_file *f, uint64_t at)
{
	uint64_t nr = 0;

	for (int i = 0; i < PERF_FEAT_BITS / 64; i++)
		nr += (uint64_t)__builtin_popcountll(f->features.bits[i]);
	return nr && range_fits(at, nr * sizeof(struct perf_file_section), f->in.size) &&
	       section_at(f->in.data + at, f->swap).offset ==
		       at + nr * sizeof(struct perf_file_section);
}

void perf_header_seek_first(struct perf_file *f)
{
	uint64_t end = f->limit < f->in.size ? f->limit : f->in.size;

	f->main = (struct perf_window){f->in.data + f->data.offset, f->in.data + end,
				       f->data.offset, NULL, true};
}

static enum clew_err check_data(struct perf_file *f, struct clew_diag *diag)
{
	uint64_t end;

	if (f->data.offset > f->in.size)
		return clew_fail(diag, CLEW_TRUNCATED, f->in.size, "the file ends before its data");
	f->is_unfinished = f->data.size == 0 && f->data.offset < f->in.size &&
			   !has_sections_at(f, f->data.offset);
	if (__builtin_add_overflow(f->data.offset, f->data.size, &end))
		return clew_fail(diag, CLEW_BAD_FILE, 48, "the data section wraps around");
	f->limit = f->is_unfinished ? f->in.size : end;
	perf_header_seek_first(f);
	return CLEW_OK;
}

bool perf_header_find_order(struct perf_file *f)
{
	enum { MAX_ENTRY = 0xffff };
	const uint8_t *p = f->main.pos;
	uint64_t size = load_u64(p + 8, false);

	if (size == PERF_PIPE_HEADER_SIZE || size == __builtin_bswap64(PERF_PIPE_HEADER_SIZE)) {
		f->swap = size != PERF_PIPE_HEADER_SIZE;
		return true;
	}
	if (perf_file_need(f, PERF_FILE_HEADER_SIZE, NULL))
		return false;
	size = load_u64(f->main.pos + 16, false);
	f->swap = size > MAX_ENTRY;
	return size <= MAX_ENTRY || __builtin_bswap64(size) <= MAX_ENTRY;
}

enum clew_err perf_header_read(struct perf_file *f, struct clew_diag *diag)
{
	const uint8_t *p = f->in.data;
	struct file_header h = {
		.size = load_u64(p + 8, f->swap),
		.attr_size = load_u64(p + 16, f->swap),
		.attrs = section_at(p + 24, f->swap),
		.data = section_at(p + 40, f->swap),
	};
	enum clew_err err;

	if (h.size < MIN_HEADER_SIZE)
		return clew_fail(diag, CLEW_BAD_FILE, 8, "the header claims an impossible size");
	if (h.size >= PERF_FILE_HEADER_SIZE)
		read_feature_bits(f, p + MIN_HEADER_SIZE);
	f->data = h.data;
	err = check_data(f, diag);
	if (err == CLEW_OK)
		err = read_attrs(f, &h, diag);
	if (err != CLEW_OK)
		return err;
	if (!f->is_unfinished)
		read_features(f);
	perf_header_name_events(f);
	return CLEW_OK;
}

/* EVENT_DESC: u32 nr, u32 attr bytes; each: attr, u32 nr of ids, name, ids. In the order of the
 * attrs. */
static void read_event_desc(struct perf_file *f)
{
	struct bytes b = f->features.section[PERF_FEAT_EVENT_DESC], skip;
	uint32_t nr, attr_bytes, nr_ids;
	const char *name;

	if (!bytes_u32(&b, f->swap, &nr) || !bytes_u32(&b, f->swap, &attr_bytes))
		return;
	for (uint32_t i = 0; i < nr && i < f->evlist->evsels.nr; i++) {
		struct perf_evsel *e = f->evlist->evsels.data[i];

		if (!bytes_skip(&b, attr_bytes) || !bytes_u32(&b, f->swap, &nr_ids) ||
		    !perf_features_read_string(&b, f->swap, &name) || nr_ids > bytes_left(&b) / 8 ||
		    !bytes_take(&b, (size_t)nr_ids * 8, &skip))
			return;
		name = arena_strndup(&f->evlist->memory, name, strlen(name));
		if (name && *name)
			e->name = name;
	}
}

/* GROUP_DESC: u32 nr; each: name, u32 leader's index, u32 members. Groups follow each other, so no
 * event is looked at twice. */
static void read_group_desc(struct perf_file *f)
{
	struct bytes b = f->features.section[PERF_FEAT_GROUP_DESC];
	uint32_t nr, leader, members, next = 0;
	const char *name;

	if (!bytes_u32(&b, f->swap, &nr))
		return;
	while (nr-- && perf_features_read_string(&b, f->swap, &name) &&
	       bytes_u32(&b, f->swap, &leader) && bytes_u32(&b, f->swap, &members)) {
		if (leader < next || leader >= f->evlist->evsels.nr ||
		    members > f->evlist->evsels.nr - leader)
			return;
		next = leader + members;
		f->evlist->evsels.data[leader]->nr_group = members;
		f->evlist->evsels.data[leader]->group_name = name;
		for (uint32_t i = leader; i < leader + members; i++)
			f->evlist->evsels.data[i]->leader = leader;
	}
}

void perf_header_name_events(struct perf_file *f)
{
	if (perf_features_has(&f->features, PERF_FEAT_EVENT_DESC))
		read_event_desc(f);
	if (perf_features_has(&f->features, PERF_FEAT_GROUP_DESC))
		read_group_desc(f);
}

/* HEADER_ATTR: an attr of its own size, then the ids. */
static enum clew_err take_attr(struct perf_file *f, const struct perf_record *r)
{
	struct bytes body = perf_record_body(r);
	struct perf_attr attr;

	if (f->evlist->evsels.nr >= PERF_EVSELS_MAX ||
	    perf_attr_parse(body, f->swap, &attr) != CLEW_OK)
		return CLEW_BAD_FILE;
	body.pos += attr.size;
	if (!perf_evlist_add(f->evlist, &attr, NULL, body.pos, (uint32_t)(bytes_left(&body) / 8),
			     f->swap))
		return CLEW_NO_MEMORY;
	return CLEW_OK;
}

static enum clew_err keep_section(struct perf_file *f, uint64_t feature, struct bytes data)
{
	char *copy;

	if (feature == 0 || feature >= PERF_FEAT_MAX)
		return CLEW_OK;
	if (!budget_account_take(&f->evlist->account, bytes_left(&data), "the header of"))
		return CLEW_OK;
	copy = arena_strndup(&f->memory, (const char *)data.pos, bytes_left(&data));
	if (!copy)
		return CLEW_NO_MEMORY;
	f->features.section[feature] = bytes_of(copy, bytes_left(&data));
	f->features.bits[feature / 64] |= (uint64_t)1 << feature % 64;
	return CLEW_OK;
}

static enum clew_err take_feature(struct perf_file *f, const struct perf_record *r)
{
	struct perf_header_feature feature;
	enum clew_err err;

	if (perf_header_feature_parse(r, &feature) != CLEW_OK)
		return CLEW_BAD_FILE;
	/* No content is perf's mark after the last feature; its number is the writer's count of
	 * features, so to a newer reader it looks like one. */
	if (!bytes_left(&feature.data))
		return CLEW_OK;
	/* Each comes once. Naming all events again for each of many costs what the input lacks.
	 */
	if (feature.feature < PERF_FEAT_MAX &&
	    perf_features_has(&f->features, (enum perf_feature)feature.feature))
		return CLEW_OK;
	err = keep_section(f, feature.feature, feature.data);
	if (err == CLEW_OK &&
	    (feature.feature == PERF_FEAT_EVENT_DESC || feature.feature == PERF_FEAT_GROUP_DESC))
		perf_header_name_events(f);
	return err;
}

enum { UPDATE_UNIT = 0, UPDATE_NAME = 2 };

static enum clew_err take_update(struct perf_file *f, const struct perf_record *r)
{
	struct perf_event_update u;
	struct perf_evsel *e;
	const char *text;

	if (perf_event_update_parse(r, &u) != CLEW_OK)
		return CLEW_BAD_FILE;
	e = perf_evlist_by_id(f->evlist, u.id);
	if (!e || (u.type != UPDATE_UNIT && u.type != UPDATE_NAME))
		return CLEW_OK;
	if (!budget_account_take(&f->evlist->account, bytes_left(&u.data), "names of events of"))
		return CLEW_OK;
	text = arena_strndup(&f->evlist->memory, (const char *)u.data.pos,
			     strnlen((const char *)u.data.pos, bytes_left(&u.data)));
	if (!text)
		return CLEW_NO_MEMORY;
	if (u.type == UPDATE_NAME)
		e->name = text;
	else
		e->unit = text;
	return CLEW_OK;
}

enum clew_err perf_header_take_record(struct perf_file *f, const struct perf_record *r)
{
	switch (r->type) {
	case PERF_RECORD_HEADER_ATTR:
		return take_attr(f, r);
	case PERF_RECORD_HEADER_FEATURE:
		return take_feature(f, r);
	case PERF_RECORD_EVENT_UPDATE:
		return take_update(f, r);
	case PERF_RECORD_HEADER_TRACING_DATA:
		return keep_section(f, PERF_FEAT_TRACING_DATA, r->payload);
	default:
		return CLEW_OK;
	}
}
