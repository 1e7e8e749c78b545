/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_kept.h"

#include <string.h>

/* Records that one entry has to stand for, or to keep it costs more than to read them again. */
enum { LEAST_ALIKE = 4 };

void spe_kept_done(struct spe_kept *k)
{
	vec_done(&k->parts);
	vec_done(&k->entries);
}

void spe_kept_clear(struct spe_kept *k)
{
	k->parts.nr = k->entries.nr = 0;
}

static bool append(struct spe_kept *k, const struct spe_kept *from)
{
	size_t nr_parts = k->parts.nr, nr_entries = k->entries.nr;

	if (!vec_reserve(&k->parts, nr_parts + from->parts.nr) ||
	    !vec_reserve(&k->entries, nr_entries + from->entries.nr))
		return false;
	memcpy(k->entries.data + nr_entries, from->entries.data,
	       from->entries.nr * sizeof(*from->entries.data));
	k->entries.nr += from->entries.nr;
	vec_for_each (&from->parts, p) {
		k->parts.data[k->parts.nr] = *p;
		k->parts.data[k->parts.nr++].first += nr_entries;
	}
	return true;
}

bool spe_kept_take(struct spe_kept *k, struct spe_kept *from, struct budget *b)
{
	uint64_t bytes = from->parts.nr * sizeof(*from->parts.data) +
			 from->entries.nr * sizeof(*from->entries.data);
	bool has_room = !from->parts.nr || (budget_take(b, bytes) && append(k, from));

	spe_kept_clear(from);
	return has_room;
}

const struct spe_part *spe_counted_next(struct spe_counted *c, uint64_t range, uint64_t offset)
{
	for (; c->kept && c->next < c->kept->parts.nr; c->next++) {
		const struct spe_part *p = &c->kept->parts.data[c->next];

		if (p->range > range)
			return NULL;
		if (c->is_in_part || (p->range == range && p->begin.offset >= offset))
			return p;
	}
	return NULL;
}

void spe_keeper_begin(struct spe_keeper *k, const struct spe_reader *r, uint64_t range,
		      uint64_t nr_records)
{
	k->part.range = range;
	k->part.nr_records = nr_records;
	k->part.padding_bytes = r->counts.padding_bytes;
	k->is_known = spe_reader_place(r, &k->part.begin);
}

static void keep(struct spe_keeper *k, const struct spe_part *part, const struct spe_fold *f)
{
	struct spe_kept *to = &k->kept;

	if (!vec_reserve(&to->entries, to->entries.nr + f->nr) || !vec_push(&to->parts, *part))
		return;
	memcpy(to->entries.data + to->entries.nr, f->all, f->nr * sizeof(*f->all));
	to->entries.nr += f->nr;
}

void spe_keeper_end(struct spe_keeper *k, const struct spe_reader *r, const struct spe_fold *f,
		    uint64_t nr_records)
{
	struct spe_part part = k->part;

	part.nr_records = nr_records - part.nr_records;
	part.padding_bytes = r->counts.padding_bytes - part.padding_bytes;
	part.first = k->kept.entries.nr;
	part.nr_entries = f->nr;
	if (!f->nr || !k->is_known || !spe_reader_place(r, &part.end))
		return;
	if (part.nr_records < (uint64_t)LEAST_ALIKE * f->nr)
		k->is_useless = true;
	else
		keep(k, &part, f);
}
