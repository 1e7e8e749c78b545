/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_pick.h"

#include <string.h>

#include "rows/report_feed_impl.h"

struct report_pick {
	struct report_feed *f; /* for the numbers of frames and keys: it counts nothing */
	struct {
		VEC(struct report_want);
	} wants;
	struct map_u64 known; /* key << 32 | frame -> enum verdict */
	struct buf text;
	bool has_failed;
};

enum verdict { REFUSED = 1, TAKEN };

struct report_pick *report_pick_new(const struct report_feed_opts *opts,
				    const struct report_want *wants, size_t nr)
{
	struct report_pick *p = mem_zalloc(sizeof(*p));
	struct report_feed_opts own = *opts;
	bool is_ok;

	own.no_chains = true; /* callers need no numbers */
	is_ok = p && report_feed_new(&p->f, &own, NULL) == CLEW_OK;
	for (size_t i = 0; is_ok && i < nr; i++)
		is_ok = vec_push(&p->wants, wants[i]);
	if (is_ok)
		return p;
	report_pick_free(p);
	return NULL;
}

void report_pick_free(struct report_pick *p)
{
	if (!p)
		return;
	report_feed_free(p->f);
	vec_done(&p->wants);
	map_u64_done(&p->known);
	buf_done(&p->text);
	mem_free(p);
}

static void put_text(struct report_pick *p, uint32_t key, uint32_t frame, enum report_key k)
{
	if (report_key_is_frame(k))
		feed_frame_text(p->f, frame, k, &p->text);
	else
		feed_key_text(p->f, key, k, &p->text);
}

/* As a browser of rows filters them. */
static void put_name(struct report_pick *p, uint32_t key, uint32_t frame)
{
	const struct report_sort *s = report_sort_name(&p->f->opts.sort);

	for (size_t i = 0; i < s->nr; i++) {
		buf_str(&p->text, i ? "  " : "");
		put_text(p, key, frame, s->keys[i]);
	}
}

static bool holds(struct report_pick *p, const struct report_want *w, uint32_t key, uint32_t frame)
{
	buf_clear(&p->text);
	switch (w->kind) {
	case REPORT_WANT_KEY:
		put_text(p, key, frame, w->key);
		break;
	case REPORT_WANT_DSO:
		buf_str(&p->text, report_feed_frame(p->f, frame).dso);
		break;
	case REPORT_WANT_LEVEL:
		return report_feed_frame(p->f, frame).level == *w->text;
	case REPORT_WANT_PART:
		put_name(p, key, frame);
		return strstr(buf_cstr(&p->text), w->text);
	}
	return !strcmp(buf_cstr(&p->text), w->text);
}

static enum verdict judge(struct report_pick *p, uint32_t key, uint32_t frame)
{
	uint64_t id = (uint64_t)key << 32 | frame, *known = map_u64_get(&p->known, id);
	enum verdict v = TAKEN;

	if (known)
		return (enum verdict) * known;
	if (feed_is_hidden(&p->f->frames.all.data[frame], &p->f->opts))
		v = REFUSED;
	vec_for_each (&p->wants, w)
		v = v == TAKEN && !holds(p, w, key, frame) ? REFUSED : v;
	p->has_failed |= p->text.is_failed || !map_u64_put(&p->known, id, v);
	return v;
}

/* The innermost frame of the sampled address: an inlined one, if rows have these. */
static bool frame_of(struct report_pick *p, const struct ana_event *e, uint32_t *ret)
{
	uint32_t node;

	if (feed_path(p->f, e, &node) != CLEW_OK)
		return false;
	*ret = p->f->tree.nodes.data[node].frame;
	return true;
}

bool report_pick_takes(void *pick, const struct ana_batch *b, const struct ana_event *e)
{
	struct report_pick *p = pick;
	uint32_t key, frame;

	if (p->has_failed)
		return false;
	feed_begin_batch(p->f, b);
	if (!e->sample) {
		p->has_failed |= e->record.type == PERF_RECORD_NAMESPACES &&
				 feed_take_namespaces(p->f, e) != CLEW_OK;
		return false;
	}
	if (!feed_shows(p->f, e))
		return false;
	key = feed_key(p->f, e, NULL);
	if (key == REPORT_NONE || !frame_of(p, e, &frame)) {
		p->has_failed = true;
		return false;
	}
	return judge(p, key, frame) == TAKEN;
}

bool report_pick_has_failed(const struct report_pick *p)
{
	return p->has_failed;
}
