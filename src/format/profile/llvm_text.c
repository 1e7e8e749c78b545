/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/llvm_text.h"

#include "format/profile/text_chunks.h"

/** Nodes of one parent that are still to be written. */
struct level {
	size_t next, end;
};

static void put_name(struct text_chunks *t, const char *name)
{
	text_chunks_name(t, name, ' ');
}

static void put_offset(struct text_chunks *t, size_t depth, uint32_t offset, uint32_t discriminator)
{
	buf_fill(&t->text, ' ', depth);
	buf_printf(&t->text, discriminator ? "%u.%u: " : "%u: ", offset, discriminator);
}

static void put_place(struct text_chunks *t, const struct inline_profile *p, size_t depth,
		      const struct inline_place *at)
{
	size_t nr, first = inline_profile_targets(p, at, &nr);

	put_offset(t, depth, at->offset, at->discriminator);
	buf_dec(&t->text, at->nr, 0, ' ');
	for (size_t i = first; i < first + nr; i++) {
		buf_char(&t->text, ' ');
		put_name(t, p->targets.data[i].name);
		buf_char(&t->text, ':');
		buf_dec(&t->text, p->targets.data[i].from.nr, 0, ' ');
	}
	text_chunks_line(t);
}

static void put_head(struct text_chunks *t, size_t depth, const struct inline_node *n)
{
	if (depth)
		put_offset(t, depth, n->offset, n->discriminator);
	put_name(t, n->name);
	buf_printf(&t->text, ":%llu", (unsigned long long)n->total);
	if (!depth)
		buf_printf(&t->text, ":%llu", (unsigned long long)n->head);
	text_chunks_line(t);
}

static void put_node(struct text_chunks *t, const struct inline_profile *p, size_t depth,
		     uint32_t node)
{
	size_t nr, first = inline_profile_places(p, node, &nr);

	put_head(t, depth, &p->nodes.data[node]);
	for (size_t i = first; i < first + nr; i++)
		put_place(t, p, depth + 1, &p->places.data[i]);
}

static struct level level_of(const struct inline_profile *p, uint32_t parent)
{
	size_t nr, first = inline_profile_children(p, parent, &nr);

	return (struct level){first, first + nr};
}

enum clew_err llvm_text(const struct inline_profile *p, const struct clew_sink *sink)
{
	struct text_chunks t = {.sink = sink};
	struct level levels[INLINE_MAX_LEVELS + 1];
	size_t depth = 0;

	levels[0] = level_of(p, INLINE_TOP);
	for (;;) {
		struct level *l = &levels[depth];
		uint32_t node;

		if (l->next == l->end) {
			if (!depth--)
				break;
			continue;
		}
		node = p->order.data[l->next++];
		put_node(&t, p, depth, node);
		if (depth < INLINE_MAX_LEVELS)
			levels[++depth] = level_of(p, node);
	}
	return text_chunks_end(&t);
}
