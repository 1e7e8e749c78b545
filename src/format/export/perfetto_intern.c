/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/export_name.h"
#include "format/export/perfetto.h"

/* Is number @p n not written yet? Then it is from now on. */
static bool is_new(struct perfetto *p, struct perfetto_sequence *s, enum perfetto_kind kind,
		   uint32_t n)
{
	const uint64_t bit = (uint64_t)1 << n % 64;
	uint64_t *word;

	while (s->written[kind].nr <= n / 64) {
		if (!vec_push(&s->written[kind], 0)) {
			p->interned.is_failed = true;
			return false;
		}
	}
	word = &s->written[kind].data[n / 64];
	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}

static const uint32_t field_of[NR_KINDS] = {
	[KIND_FUNCTION] = INTERNED_FUNCTION_NAME,
	[KIND_FRAME] = INTERNED_FRAME,
	[KIND_STACK] = INTERNED_CALLSTACK,
	[KIND_BUILD_ID] = INTERNED_BUILD_ID,
	[KIND_PATH] = INTERNED_MAPPING_PATH,
	[KIND_SOURCE] = INTERNED_SOURCE_PATH,
	[KIND_MAPPING] = INTERNED_MAPPING,
	[KIND_TASK] = INTERNED_TASK_CONTEXT,
	[KIND_EXECUTION] = INTERNED_EXECUTION_CONTEXT,
	[KIND_COUNTER] = INTERNED_COUNTER,
};

/* @p b: its fields; then it is empty. */
static void put_new(struct perfetto *p, enum perfetto_kind kind, uint32_t n, struct buf *b)
{
	pb_num(b, IID, perfetto_iid(n));
	pb_move(&p->interned, field_of[kind], b);
}

static void put_text(struct perfetto *p, struct perfetto_sequence *s, enum perfetto_kind kind,
		     uint32_t n, const char *text)
{
	if (!is_new(p, s, kind, n))
		return;
	pb_text(&p->part, STRING_TEXT, text);
	put_new(p, kind, n, &p->part);
}

/* What a frame's kind does not say is in the name. */
static void put_function(struct export *x, struct perfetto_sequence *s, uint32_t function)
{
	const struct export_tables *t = export_tables(x);
	const struct export_function *f = &t->functions.data[function];
	struct perfetto *p = export_state(x);
	bool has_kind = f->level == ANA_USER || f->level == ANA_KERNEL;

	buf_clear(&p->word);
	if (has_kind && !p->is_old)
		buf_str(&p->word, export_text(t, f->name));
	else
		export_put_function(&p->word, x, function);
	p->interned.is_failed |= p->word.is_failed;
	put_text(p, s, KIND_FUNCTION, function, buf_cstr(&p->word));
}

/* The parts of a path, into the mapping. */
static void put_path(struct export *x, struct perfetto_sequence *s, uint32_t binary)
{
	struct perfetto *p = export_state(x);
	char *rest, *part;

	buf_clear(&p->word);
	buf_str(&p->word, binary == EXPORT_NONE ? "[unknown]" : export_path_of(x, binary));
	buf_char(&p->word, '\0');
	if (p->word.is_failed) {
		p->interned.is_failed = true;
		return;
	}
	for (part = strtok_r(p->word.data, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		uint32_t n = export_text_add(export_tables_mut(x), part);

		p->interned.is_failed |= n == EXPORT_NONE;
		if (n == EXPORT_NONE)
			return;
		put_text(p, s, KIND_PATH, n, export_text(export_tables(x), n));
		pb_num(&p->message, MAPPING_PATH, perfetto_iid(n));
	}
}

static void put_build_id(struct perfetto *p, uint32_t n, const struct dso *dso)
{
	const struct dso_build_id *id = dso_build_id(dso);

	if (!id || !id->size)
		return;
	pb_data(&p->part, STRING_TEXT, id->bytes, id->size);
	put_new(p, KIND_BUILD_ID, n, &p->part);
	pb_num(&p->message, MAPPING_BUILD_ID, perfetto_iid(n));
}

/* EXPORT_NONE: 0. */
static uint32_t mapping_of(uint32_t binary)
{
	return binary + 1;
}

static void put_mapping(struct export *x, struct perfetto_sequence *s, uint32_t binary)
{
	const struct export_tables *t = export_tables(x);
	struct perfetto *p = export_state(x);

	if (!is_new(p, s, KIND_MAPPING, mapping_of(binary)))
		return;
	if (binary != EXPORT_NONE)
		put_build_id(p, mapping_of(binary), t->binaries.data[binary].dso);
	put_path(x, s, binary);
	put_new(p, KIND_MAPPING, mapping_of(binary), &p->message);
}

static void put_frame(struct export *x, struct perfetto_sequence *s, uint32_t frame)
{
	const struct export_tables *t = export_tables(x);
	struct perfetto *p = export_state(x);
	const struct export_frame f = t->frames.data[frame];
	const struct export_place place = t->places.data[f.place];
	/* Without one, old readers drop the whole stack. */
	bool has_mapping = p->is_old || place.binary != EXPORT_NONE;
	bool is_kernel = place.level == ANA_KERNEL || place.level == ANA_GUEST_KERNEL;

	if (!is_new(p, s, KIND_FRAME, frame))
		return;
	put_function(x, s, f.function);
	if (has_mapping)
		put_mapping(x, s, place.binary);
	if (f.file)
		put_text(p, s, KIND_SOURCE, f.file, export_text(t, f.file));
	pb_num(&p->message, FRAME_FUNCTION_NAME, perfetto_iid(f.function));
	if (has_mapping) {
		pb_num(&p->message, FRAME_MAPPING, perfetto_iid(mapping_of(place.binary)));
		pb_num0(&p->message, FRAME_REL_PC, place.address);
	}
	if (f.file) {
		pb_num(&p->message, FRAME_SOURCE_PATH, perfetto_iid(f.file));
		pb_num(&p->message, FRAME_LINE, f.line);
	}
	pb_num(&p->message, FRAME_KIND, is_kernel ? FRAME_KERNEL : FRAME_NATIVE);
	put_new(p, KIND_FRAME, frame, &p->message);
}

void perfetto_put_stack(struct export *x, struct perfetto_sequence *s, uint32_t node)
{
	struct perfetto *p = export_state(x);
	struct export_stack stack;

	if (!is_new(p, s, KIND_STACK, node))
		return;
	if (!export_stack(x, node, &stack)) {
		p->interned.is_failed = true;
		return;
	}
	for (size_t i = stack.nr; i-- > 0;)
		put_frame(x, s, stack.at[i]);
	for (size_t i = stack.nr; i-- > 0;)
		pb_num(&p->message, CALLSTACK_FRAME, perfetto_iid(stack.at[i]));
	put_new(p, KIND_STACK, node, &p->message);
}

void perfetto_put_task(struct export *x, struct perfetto_sequence *s, uint32_t thread)
{
	const struct export_thread *t = export_thread_at(x, thread);
	struct perfetto *p = export_state(x);

	if (!is_new(p, s, KIND_TASK, thread))
		return;
	perfetto_put_id(&p->message, TASK_PID, t->pid);
	perfetto_put_id(&p->message, TASK_TID, t->tid);
	put_new(p, KIND_TASK, thread, &p->message);
}

static uint32_t mode_of(uint8_t level)
{
	static const uint8_t modes[] = {
		[ANA_USER] = MODE_USER,
		[ANA_KERNEL] = MODE_KERNEL,
		[ANA_HYPERVISOR] = MODE_HYPERVISOR,
		[ANA_GUEST_USER] = MODE_GUEST_USER,
		[ANA_GUEST_KERNEL] = MODE_GUEST_KERNEL,
	};

	return level < sizeof(modes) ? modes[level] : MODE_UNKNOWN;
}

uint32_t perfetto_put_execution(struct perfetto *p, struct perfetto_sequence *s,
				const struct export_key *k)
{
	size_t n;

	if (!map_u64_number(&p->executions, (uint64_t)k->cpu << 8 | k->level, p->executions.nr,
			    UINT32_MAX, &n)) {
		p->interned.is_failed = true;
		return 0;
	}
	if (!is_new(p, s, KIND_EXECUTION, (uint32_t)n))
		return (uint32_t)n;
	perfetto_put_id(&p->message, EXECUTION_CPU, k->cpu);
	pb_num0(&p->message, EXECUTION_MODE, mode_of(k->level));
	put_new(p, KIND_EXECUTION, (uint32_t)n, &p->message);
	return (uint32_t)n;
}

void perfetto_put_counter(struct export *x, struct perfetto_sequence *s, uint32_t event)
{
	const struct export_event *e = export_event_at(x, event);
	const char *name = export_text(export_tables(x), e->name);
	struct perfetto *p = export_state(x);

	if (!is_new(p, s, KIND_COUNTER, event))
		return;
	pb_text(&p->message, COUNTER_NAME, name);
	if (export_opts(x)->by_samples)
		pb_text(&p->message, COUNTER_UNIT_TEXT, "samples");
	else if (export_unit_of(e->evsel) == EXPORT_NANOSECONDS)
		pb_num(&p->message, COUNTER_UNIT, UNIT_NANOSECONDS);
	else
		pb_text(&p->message, COUNTER_UNIT_TEXT, name);
	put_new(p, KIND_COUNTER, event, &p->message);
}
