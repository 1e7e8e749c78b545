/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "format/export/export_formats.h"
#include "format/export/export_name.h"
#include "format/export/pb_put.h"

/*
 * A profile of pprof. Samples are written when they are summed, the tables they name by number
 * in the end: a message's repeated fields may come in any order. Numbers of strings are those of
 * texts, all others begin at 1. Spec: google/pprof, proto/profile.proto.
 */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUM };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START_LINE };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES,
};

/* Of one binary: what is known of all its places. */
struct known {
	bool functions, files, lines;
};

struct pprof {
	struct buf message, part;
	uint32_t thread, pid, tid, pid_ns, pid_in_ns, cgroup, level, cpu, stack; /* texts: keys */
	struct known *known;                                                     /* by binary */
	uint32_t *mapping; /* its number, by binary */
};

static uint32_t text(struct export *x, const char *s)
{
	uint32_t n = export_text_add(export_tables_mut(x), s);

	export_out(x)->is_failed |= n == EXPORT_NONE;
	return n;
}

static enum clew_err begin(struct export *x)
{
	struct pprof *p = export_state(x);

	p->thread = text(x, "thread");
	p->pid = text(x, "pid");
	p->tid = text(x, "tid");
	p->pid_ns = text(x, "pidns");
	p->pid_in_ns = text(x, "pid_in_ns");
	p->cgroup = text(x, "cgroup");
	p->level = text(x, "level");
	p->cpu = text(x, "cpu");
	p->stack = text(x, "stack");
	return CLEW_OK;
}

/* --- samples --- */

static void put_label(struct pprof *p, uint32_t key, uint32_t field, uint64_t value)
{
	pb_num(&p->part, LABEL_KEY, key);
	pb_num0(&p->part, field, value);
	pb_move(&p->message, SAMPLE_LABEL, &p->part);
}

static void put_id(struct pprof *p, uint32_t key, uint32_t id)
{
	if (id != UINT32_MAX)
		put_label(p, key, LABEL_NUM, id);
}

static void put_labels(struct export *x, const struct export_key *k)
{
	const struct export_thread *t = export_thread_at(x, k->thread);
	struct pprof *p = export_state(x);

	if (k->comm)
		put_label(p, p->thread, LABEL_TEXT, k->comm);
	put_id(p, p->pid, t->pid);
	put_id(p, p->tid, t->tid);
	if (k->pid_ns)
		put_label(p, p->pid_ns, LABEL_NUM, k->pid_ns);
	if (t->inner_pid)
		put_label(p, p->pid_in_ns, LABEL_NUM, t->inner_pid);
	if (k->cgroup)
		put_label(p, p->cgroup, LABEL_TEXT, k->cgroup);
	put_label(p, p->level, LABEL_TEXT, text(x, export_level_name(k->level)));
	if (export_opts(x)->keys & EXPORT_BY_CPU)
		put_id(p, p->cpu, k->cpu);
	if (k->cut) {
		clew_auto(buf_done) struct buf why = {0};

		buf_printf(&why, "cut: %s", export_text(export_tables(x), k->cut));
		put_label(p, p->stack, LABEL_TEXT, text(x, buf_cstr(&why)));
	}
}

/* A place is one location, whatever was inlined there: that of its innermost frame. */
static void put_locations(struct export *x, const struct export_stack *s)
{
	const struct export_tables *t = export_tables(x);
	struct pprof *p = export_state(x);

	for (size_t i = 0; i < s->nr; i++) {
		const struct export_frame *f = &t->frames.data[s->at[i]];

		if (!f->depth)
			pb_varint(&p->part, (uint64_t)f->place + 1);
	}
	pb_move(&p->message, SAMPLE_LOCATIONS, &p->part);
}

static void put_values(struct export *x, const struct export_sample *s)
{
	struct pprof *p = export_state(x);

	for (size_t i = 0; i < export_nr_events(x); i++) {
		if (export_event_at(x, i)->is_omitted)
			continue;
		pb_varint(&p->part, i == s->event ? s->nr : 0);
		pb_varint(&p->part, i == s->event ? s->period : 0);
	}
	pb_move(&p->message, SAMPLE_VALUES, &p->part);
}

static enum clew_err put_sample(struct export *x, const struct export_sample *s)
{
	struct pprof *p = export_state(x);
	struct export_stack stack;

	if (!export_stack(x, s->node, &stack))
		return CLEW_NO_MEMORY;
	put_locations(x, &stack);
	put_values(x, s);
	put_labels(x, export_key_at(x, s->key));
	pb_move(export_out(x), PROFILE_SAMPLE, &p->message);
	return CLEW_OK;
}

/* --- tables --- */

static void put_functions(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct pprof *p = export_state(x);

	for (uint32_t i = 0; i < t->functions.nr; i++) {
		const struct export_function *f = &t->functions.data[i];

		pb_num(&p->message, FUNCTION_ID, (uint64_t)i + 1);
		pb_num(&p->message, FUNCTION_NAME, f->name);
		pb_num(&p->message, FUNCTION_SYSTEM_NAME, f->link_name);
		pb_num(&p->message, FUNCTION_FILE, f->file);
		pb_num(&p->message, FUNCTION_START_LINE, f->line);
		pb_move(export_out(x), PROFILE_FUNCTION, &p->message);
	}
}

static void put_line(struct pprof *p, const struct export_frame *f)
{
	pb_num(&p->part, LINE_FUNCTION, (uint64_t)f->function + 1);
	pb_num(&p->part, LINE_NUMBER, f->line);
	pb_move(&p->message, LOCATION_LINE, &p->part);
}

/* One address space for all processes: equal code is one location. */
static uint64_t address_of(const struct export_tables *t, const struct export_place *place)
{
	const struct export_binary *b =
		place->binary != EXPORT_NONE ? &t->binaries.data[place->binary] : NULL;

	return b && b->has_range ? place->address - b->range.offset + b->range.start
				 : place->address;
}

static enum clew_err put_places(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct pprof *p = export_state(x);
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < t->places.nr && err == CLEW_OK; i++) {
		const struct export_place *place = &t->places.data[i];

		pb_num(&p->message, LOCATION_ID, (uint64_t)i + 1);
		if (place->binary != EXPORT_NONE)
			pb_num(&p->message, LOCATION_MAPPING, p->mapping[place->binary]);
		pb_num(&p->message, LOCATION_ADDRESS, address_of(t, place));
		for (uint32_t f = 0; f < place->nr_frames; f++)
			put_line(p, &t->frames.data[place->first_frame + f]);
		pb_move(export_out(x), PROFILE_LOCATION, &p->message);
		err = export_flush(x);
	}
	return err;
}

/* What is true of all frames of each binary. */
static void find_known(const struct export_tables *t, struct known *known)
{
	for (size_t i = 0; i < t->binaries.nr; i++)
		known[i] = (struct known){true, true, true};
	vec_for_each (&t->frames, f) {
		uint32_t b = t->places.data[f->place].binary;

		if (b == EXPORT_NONE)
			continue;
		known[b].functions &= t->functions.data[f->function].has_symbol;
		known[b].files &= f->file != 0;
		known[b].lines &= f->line != 0;
	}
}

static uint32_t build_id_of(struct export *x, const struct dso *dso)
{
	clew_auto(buf_done) struct buf hex = {0};

	export_put_build_id(&hex, dso);
	export_out(x)->is_failed |= hex.is_failed;
	return text(x, buf_cstr(&hex));
}

static void put_mapping(struct export *x, uint32_t binary)
{
	const struct export_binary *b = &export_tables(x)->binaries.data[binary];
	struct pprof *p = export_state(x);
	const struct known *k = &p->known[binary];

	pb_num(&p->message, MAPPING_ID, p->mapping[binary]);
	pb_num(&p->message, MAPPING_START, b->range.start);
	pb_num(&p->message, MAPPING_LIMIT, b->range.end);
	pb_num(&p->message, MAPPING_OFFSET, b->range.offset);
	pb_num(&p->message, MAPPING_FILE, text(x, export_path_of(x, binary)));
	pb_num(&p->message, MAPPING_BUILD_ID, build_id_of(x, b->dso));
	pb_num(&p->message, MAPPING_HAS_FUNCTIONS, k->functions);
	pb_num(&p->message, MAPPING_HAS_FILES, k->files);
	pb_num(&p->message, MAPPING_HAS_LINES, k->lines);
	pb_num(&p->message, MAPPING_HAS_INLINES, k->lines && !export_opts(x)->no_inline);
	pb_move(export_out(x), PROFILE_MAPPING, &p->message);
}

/* The first one names the profile: it is the program's. */
static bool put_mappings(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	struct pprof *p = export_state(x);
	uint32_t main = export_main_binary(t), next = 2;

	p->known = mem_calloc(t->binaries.nr + 1, sizeof(*p->known));
	p->mapping = mem_calloc(t->binaries.nr + 1, sizeof(*p->mapping));
	if (!p->known || !p->mapping)
		return false;
	find_known(t, p->known);
	if (main != EXPORT_NONE) {
		p->mapping[main] = 1;
		put_mapping(x, main);
	}
	for (uint32_t i = 0; i < t->binaries.nr; i++) {
		if (i == main)
			continue;
		p->mapping[i] = next++;
		put_mapping(x, i);
	}
	return true;
}

/* --- about the whole --- */

static void put_type(struct export *x, uint32_t field, uint32_t name, const char *unit)
{
	struct pprof *p = export_state(x);

	pb_num(&p->message, TYPE_NAME, name);
	pb_num(&p->message, TYPE_UNIT, text(x, unit));
	pb_move(export_out(x), field, &p->message);
}

static const char *unit_of(const struct export_event *e)
{
	return export_unit_of(e->evsel) == EXPORT_NANOSECONDS ? "nanoseconds" : "count";
}

static void put_types(struct export *x, bool is_single)
{
	clew_auto(buf_done) struct buf name = {0};

	for (size_t i = 0; i < export_nr_events(x); i++) {
		const struct export_event *e = export_event_at(x, i);

		if (e->is_omitted)
			continue;
		buf_clear(&name);
		if (!is_single)
			buf_printf(&name, "%s.", export_text(export_tables(x), e->name));
		buf_str(&name, "samples");
		put_type(x, PROFILE_SAMPLE_TYPE, text(x, buf_cstr(&name)), "count");
		put_type(x, PROFILE_SAMPLE_TYPE, e->name, unit_of(e));
	}
}

static void put_first_event(struct export *x, const struct export_event *e)
{
	const struct perf_attr *a = &e->evsel->attr;

	put_type(x, PROFILE_PERIOD_TYPE, e->name, unit_of(e));
	if (!perf_attr_has(a, PERF_ATTR_FREQ))
		pb_num(export_out(x), PROFILE_PERIOD, a->sample_period);
	pb_num(export_out(x), PROFILE_DEFAULT_TYPE, e->name);
}

static void put_events(struct export *x)
{
	const struct export_event *first = export_first_event(x);
	size_t nr = 0;

	for (size_t i = 0; i < export_nr_events(x); i++)
		nr += !export_event_at(x, i)->is_omitted;
	put_types(x, nr == 1);
	if (first)
		put_first_event(x, first);
}

static void put_time(struct export *x)
{
	uint64_t from = export_first_time(x).ns, to = export_last_time(x).ns;
	struct perf_file *file = export_opts(x)->file;
	struct perf_clock_data clock;

	if (!export_summary(x)->nr_samples || from == UINT64_MAX || to == UINT64_MAX)
		return;
	if (file && perf_features_clock_data(perf_file_features(file), &clock))
		pb_num(export_out(x), PROFILE_TIME_NANOS,
		       clock.wall_clock_ns + from - clock.clockid_ns);
	pb_num(export_out(x), PROFILE_DURATION_NANOS, to - from);
}

static void put_comment(struct export *x, const char *what, uint64_t nr)
{
	clew_auto(buf_done) struct buf b = {0};

	if (!nr)
		return;
	buf_printf(&b, "%s: %llu", what, (unsigned long long)nr);
	pb_num(export_out(x), PROFILE_COMMENT, text(x, buf_cstr(&b)));
}

static void put_comments(struct export *x)
{
	uint32_t command = export_command(x);

	export_out(x)->is_failed |= command == EXPORT_NONE;
	if (command && command != EXPORT_NONE) {
		clew_auto(buf_done) struct buf b = {0};

		buf_printf(&b, "recorded by: %s", export_text(export_tables(x), command));
		pb_num(export_out(x), PROFILE_COMMENT, text(x, buf_cstr(&b)));
	}
	put_comment(x, "samples of other events, omitted", export_summary(x)->nr_omitted);
	put_comment(x, "samples omitted by filters", export_of_run(x)->nr_filtered);
	put_comment(x, "lost records", export_of_run(x)->nr_lost);
	put_comment(x, "samples filtered by BPF", export_of_run(x)->nr_bpf_filtered);
	put_comment(x, "times without recording", export_summary(x)->nr_pauses);
	put_comment(x, "nanoseconds of these", export_summary(x)->pause_ns);
}

static enum clew_err put_strings(struct export *x)
{
	const struct export_tables *t = export_tables(x);
	enum clew_err err = CLEW_OK;

	for (uint32_t i = 0; i < t->texts.strs.nr && err == CLEW_OK; i++) {
		pb_text(export_out(x), PROFILE_STRING, export_text(t, i));
		err = export_flush(x);
	}
	return err;
}

static enum clew_err end(struct export *x)
{
	enum clew_err err;

	put_events(x);
	put_time(x);
	put_comments(x);
	if (!put_mappings(x))
		return CLEW_NO_MEMORY;
	put_functions(x);
	err = put_places(x);
	return err ? err : put_strings(x);
}

static void done(struct export *x)
{
	struct pprof *p = export_state(x);

	buf_done(&p->message);
	buf_done(&p->part);
	mem_free(p->known);
	mem_free(p->mapping);
}

const struct export_format export_pprof = {
	.name = "pprof",
	.summary = "profile.proto, gzip: go tool pprof, speedscope, many services",
	.is_binary = true,
	.is_packed = true,
	.has_sums = true,
	.wants_lines = true,
	.keys = EXPORT_BY_COMM | EXPORT_BY_PID | EXPORT_BY_TID | EXPORT_BY_CGROUP |
		EXPORT_BY_LEVEL | EXPORT_BY_CUT,
	.more_keys = EXPORT_BY_CPU,
	.state_bytes = sizeof(struct pprof),
	.begin = begin,
	.sample = put_sample,
	.end = end,
	.done = done,
};
