/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "os/file.h"
#include "record/open/counters.h"

/* What a descriptor gives with TOTAL_TIME_ENABLED, TOTAL_TIME_RUNNING and ID. Spec:
 * perf_event_open(2), "Reading results". */
enum { SINGLE_WORDS = 4, GROUP_HEAD = 3 };

static void take_group(const struct rec_counters *c, size_t leader, size_t place,
		       const uint64_t *words, size_t nr_words, struct rec_count *ret)
{
	uint64_t nr = words[0];

	for (size_t i = leader; i < c->list.nr; i++) {
		const struct rec_counter *e = &c->list.data[i];

		for (size_t k = 0; e->leader == leader && e->fds[place] >= 0 && k < nr; k++) {
			size_t at = GROUP_HEAD + 2 * k;

			if (at + 2 <= nr_words && words[at + 1] == e->ids[place])
				ret[i * c->nr_places + place] =
					(struct rec_count){words[at], words[1], words[2]};
		}
	}
}

static void read_place(const struct rec_counters *c, size_t i, size_t place, uint64_t *words,
		       size_t room, struct rec_count *ret)
{
	const struct rec_counter *e = &c->list.data[i];
	bool is_group = e->attr.read_format & PERF_FORMAT_GROUP;
	long n;

	if (e->fds[place] < 0 || (is_group && e->leader != i))
		return;
	n = os_read(e->fds[place], words, room * sizeof(*words));
	if (is_group && n >= (long)(GROUP_HEAD * sizeof(*words)))
		take_group(c, i, place, words, (size_t)n / sizeof(*words), ret);
	else if (!is_group && n >= (long)(SINGLE_WORDS * sizeof(*words)))
		ret[i * c->nr_places + place] = (struct rec_count){words[0], words[1], words[2]};
}

enum clew_err rec_counters_read(const struct rec_counters *c, struct rec_count *ret)
{
	size_t room = GROUP_HEAD + 2 * c->list.nr + SINGLE_WORDS;
	uint64_t *words = mem_alloc(room * sizeof(*words));

	if (!words)
		return CLEW_NO_MEMORY;
	memset(ret, 0, c->list.nr * c->nr_places * sizeof(*ret));
	for (size_t i = 0; i < c->list.nr; i++)
		for (size_t place = 0; place < c->nr_places; place++)
			read_place(c, i, place, words, room, ret);
	mem_free(words);
	return CLEW_OK;
}
