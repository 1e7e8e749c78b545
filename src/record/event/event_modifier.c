/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "record/event/event_spell.h"

/*
 * The letters after the last ':'. Their meaning has two twists, kept because perf.data files and
 * habits depend on them: the first of u, k, h clears a way for itself (":u" excludes kernel and
 * hypervisor), the first of G, H likewise; and an event with any letter samples guests too unless
 * u, p or H says otherwise, while one without excludes them.
 * Spec: perf-list(1), "EVENT MODIFIERS".
 */

static const char letters[] = "ukhIGHpPSDWebR";

struct modifiers {
	bool user, kernel, hv, idle, guest, host; /* exclude them */
	bool has_level, has_world;                /* a letter of u k h; of G H */
	unsigned int precise;
	bool is_precise_max, is_read, is_pinned, is_exclusive, is_weak;
};

bool event_is_modifiers(struct event_word w)
{
	for (size_t i = 0; i < w.n; i++) {
		if (!w.s[i] || !strchr(letters, w.s[i]))
			return false;
	}
	return w.n > 0;
}

static void pick_level(struct modifiers *m, bool *level)
{
	if (!m->has_level)
		m->user = m->kernel = m->hv = m->has_level = true;
	*level = false;
}

static void pick_world(struct modifiers *m, bool *world)
{
	if (!m->has_world)
		m->guest = m->host = m->has_world = true;
	*world = false;
}

static void letter(struct modifiers *m, char c)
{
	switch (c) {
	case 'u':
		pick_level(m, &m->user);
		if (!m->has_world)
			m->guest = true;
		break;
	case 'k':
		pick_level(m, &m->kernel);
		break;
	case 'h':
		pick_level(m, &m->hv);
		break;
	case 'I':
		m->idle = true;
		break;
	case 'G':
		pick_world(m, &m->guest);
		break;
	case 'H':
		pick_world(m, &m->host);
		break;
	case 'p':
		m->precise++;
		/* Guests cannot be sampled precisely. */
		if (!m->has_world)
			m->guest = true;
		break;
	case 'P':
		m->is_precise_max = true;
		break;
	case 'S':
		m->is_read = true;
		break;
	case 'D':
		m->is_pinned = true;
		break;
	case 'e':
		m->is_exclusive = true;
		break;
	case 'W':
		m->is_weak = true;
		break;
	default: /* b, R: perf stat's, of no effect on a recording */
		break;
	}
}

static struct modifiers of_event(const struct rec_event *e)
{
	uint64_t f = e->attr.flags;

	return (struct modifiers){
		.user = f & PERF_ATTR_EXCLUDE_USER,
		.kernel = f & PERF_ATTR_EXCLUDE_KERNEL,
		.hv = f & PERF_ATTR_EXCLUDE_HV,
		.idle = f & PERF_ATTR_EXCLUDE_IDLE,
		.guest = f & PERF_ATTR_EXCLUDE_GUEST,
		.host = f & PERF_ATTR_EXCLUDE_HOST,
		.has_level = f & (PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_KERNEL |
				  PERF_ATTR_EXCLUDE_HV),
		.has_world = e->has_world,
		.precise = (unsigned int)(f >> PERF_ATTR_PRECISE_IP_SHIFT) & 3,
		.is_precise_max = e->is_precise_max,
		.is_read = e->wants_read,
		.is_pinned = f & PERF_ATTR_PINNED,
		.is_exclusive = f & PERF_ATTR_EXCLUSIVE,
		.is_weak = e->is_weak,
	};
}

static void set_flag(uint64_t *flags, uint64_t bit, bool on)
{
	*flags = on ? *flags | bit : *flags & ~bit;
}

static void apply(struct rec_event *e, const struct modifiers *m)
{
	uint64_t *f = &e->attr.flags;

	set_flag(f, PERF_ATTR_EXCLUDE_USER, m->user);
	set_flag(f, PERF_ATTR_EXCLUDE_KERNEL, m->kernel);
	set_flag(f, PERF_ATTR_EXCLUDE_HV, m->hv);
	set_flag(f, PERF_ATTR_EXCLUDE_IDLE, m->idle);
	set_flag(f, PERF_ATTR_EXCLUDE_GUEST, m->guest);
	set_flag(f, PERF_ATTR_EXCLUDE_HOST, m->host);
	set_flag(f, PERF_ATTR_PINNED, m->is_pinned);
	set_flag(f, PERF_ATTR_EXCLUSIVE, m->is_exclusive);
	*f &= ~(3ull << PERF_ATTR_PRECISE_IP_SHIFT);
	*f |= (uint64_t)(m->is_precise_max ? 3 : m->precise) << PERF_ATTR_PRECISE_IP_SHIFT;
	e->is_precise_max = m->is_precise_max;
	e->wants_read = m->is_read;
	e->is_weak = m->is_weak;
	e->has_world = m->has_world;
}

static enum clew_err check(struct event_parse *p, struct event_word w)
{
	unsigned int nr_precise = 0;

	for (size_t i = 0; i < w.n; i++) {
		char c = w.s[i];

		if (!strchr(letters, c))
			return event_fail(p, w.s + i, CLEW_INVALID,
					  "no modifier '%c'; modifiers are u k h I G H p P S D W e",
					  c);
		if (c == 'p' && ++nr_precise > 3)
			return event_fail(p, w.s + i, CLEW_INVALID,
					  "more than three p; ppp is the most precise");
		if (c != 'p' && memchr(w.s, c, i))
			return event_fail(p, w.s + i, CLEW_INVALID, "modifier '%c' given twice", c);
	}
	return CLEW_OK;
}

enum clew_err event_parse_modifiers(struct event_parse *p, size_t from, size_t to, bool is_group)
{
	struct event_word w = event_take_until(p, ":,{}/");
	enum clew_err err = check(p, w);

	for (size_t i = from; !err && w.n && i < to; i++) {
		struct rec_event *e = &p->list->events.data[i];
		struct modifiers m = is_group ? of_event(e) : (struct modifiers){0};

		for (size_t k = 0; k < w.n; k++)
			letter(&m, w.s[k]);
		if (m.precise > 3)
			return event_fail(p, w.s, CLEW_INVALID,
					  "the group's p and the event's own are more than ppp");
		apply(e, &m);
	}
	return err;
}
