/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/trace_golden.h"

#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include "prop/etm_log.h"
#include "unit/tap.h"

enum section { HEAD, FACTS, CODE, PACKETS, FLOW, EDGES, NR_SECTIONS };
enum { BYTES_COLUMN = 58 };

static const char *title_of(const struct golden *g, enum section s)
{
	static const char *const titles[NR_SECTIONS] = {
		[CODE] = "[code]", [PACKETS] = "[packets]", [FLOW] = "[flow]", [EDGES] = "[edges]"};

	return s == FACTS ? g->unit->title : titles[s];
}

bool golden_wrong(struct golden *g, const char *what)
{
	g->wrong = what;
	return false;
}

/* --- code --- */

bool golden_find_code(void *ctx, uint32_t space, uint64_t address, struct code_region *ret)
{
	const struct golden *g = ctx;

	vec_for_each (&g->runs, r) {
		if ((r->space != space && r->space != GOLDEN_ANY_SPACE) || address < r->start ||
		    address - r->start >= r->bytes.nr)
			continue;
		*ret = (struct code_region){r->start, r->start + r->bytes.nr,
					    (const uint8_t *)r->bytes.data};
		return true;
	}
	return false;
}

bool golden_add_insn(struct golden *g, uint64_t address, const uint8_t *bytes, size_t nr)
{
	struct golden_run *last = g->runs.nr ? &g->runs.data[g->runs.nr - 1] : NULL;

	if (!last || last->space != g->space || address != last->start + last->bytes.nr) {
		if (!vec_push(&g->runs, (struct golden_run){.space = g->space, .start = address}))
			return golden_wrong(g, "out of memory");
		last = &g->runs.data[g->runs.nr - 1];
	}
	buf_add(&last->bytes, bytes, nr);
	return true;
}

/* --- packets --- */

static void cut_right(char *s)
{
	size_t n = strlen(s);

	while (n && strchr(" \t\n", s[n - 1]))
		s[--n] = '\0';
}

/** A packet without its bytes; adds them to the trace and to the line. */
static bool read_packet(struct golden *g, char *line)
{
	size_t from = g->trace.nr;
	char *bar = strchr(line, '|');
	char words[256];

	if (bar)
		*bar = '\0';
	cut_right(line);
	snprintf(words, sizeof(words), "%s", line);
	if (!g->unit->encode(g, words))
		return g->wrong ? false : golden_wrong(g, "not a packet");
	buf_field(&g->out, line, -BYTES_COLUMN);
	buf_char(&g->out, '|');
	for (size_t i = from; i < g->trace.nr; i++)
		buf_printf(&g->out, " %02x", (uint8_t)g->trace.data[i]);
	buf_char(&g->out, '\n');
	return true;
}

/* --- edges --- */

/** A run that ended before a waypoint has no branch: @p from and @p to are its ends. */
struct edge {
	uint64_t from, to, nr;
	char mark; /* 'N', or as the unit has it; '-': such a run */
	bool has_to;
};

struct edges {
	VEC(struct edge);
	char taken;
};

static struct edge edge_of(const struct flow_edge *e, char taken)
{
	uint64_t start = e->from->start, end = start + e->from->bytes;

	if (e->from->kind == INSN_PLAIN)
		return (struct edge){start, end, e->nr, '-', true};
	return (struct edge){end - e->from->last_bytes, e->to, e->nr, e->is_taken ? taken : 'N',
			     e->has_to};
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	struct edges *all = ctx;
	struct edge x = edge_of(e, all->taken);

	vec_for_each (all, old) {
		if (old->from == x.from && old->mark == x.mark && old->has_to == x.has_to &&
		    (!x.has_to || old->to == x.to)) {
			old->nr += x.nr;
			return true;
		}
	}
	return vec_push(all, x);
}

static int by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->mark != y->mark)
		return x->mark < y->mark ? -1 : 1;
	if (x->has_to != y->has_to)
		return x->has_to ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void put_edges(struct edges *all, struct buf *out)
{
	if (all->nr)
		qsort(all->data, all->nr, sizeof(*all->data), by_from);
	vec_for_each (all, e) {
		if (e->mark == '-')
			buf_printf(out, "%" PRIx64 "-%" PRIx64, e->from, e->to);
		else if (e->has_to)
			buf_printf(out, "%" PRIx64 " -> %" PRIx64 " %c", e->from, e->to, e->mark);
		else
			buf_printf(out, "%" PRIx64 " -> ? %c", e->from, e->mark);
		buf_printf(out, " %" PRIu64 "\n", e->nr);
	}
	vec_done(all);
}

/* --- decoding --- */

static const struct golden_way ways[] = {
	{"whole",                0, 1, false},
	{"in pieces of 1 byte",  1, 1, false},
	{"in pieces of 7 bytes", 7, 1, false},
	{"packet by packet",     0, 1, true },
	{"by two threads",       0, 2, false},
};

/** What comes of the trace: as a flow, or counted. @return false: it could not be decoded. */
static bool decode(struct golden *g, const struct golden_way *w, bool is_counted, struct buf *out)
{
	struct edges edges = {.taken = g->unit->taken};
	struct flow *f;
	bool ok;

	buf_clear(out);
	f = g->unit->flow(g, w, is_counted ? NULL : out);
	ok = f && !etm_log_decode(f, bytes_of(g->trace.data, g->trace.nr), w->piece);
	if (ok && is_counted)
		ok = flow_edges(f, add_edge, &edges);
	put_edges(&edges, out);
	flow_free(f);
	return ok;
}

/** @return NULL: the same every way; else the way that differs, or that fails. */
static const char *decode_all_ways(struct golden *g, bool is_counted, struct buf *ret)
{
	struct buf other = {0};
	const char *differs = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !differs; i++) {
		if (!decode(g, &ways[i], is_counted, i ? &other : ret))
			differs = ways[i].name;
		else if (i && (other.nr != ret->nr ||
			       memcmp(buf_cstr(&other), buf_cstr(ret), ret->nr) != 0))
			differs = ways[i].name;
	}
	if (differs && other.nr)
		printf("# %s it is:\n%s", differs, buf_cstr(&other));
	buf_done(&other);
	return differs;
}

/* --- files --- */

static void read_head(struct golden *g, const char *line)
{
	if (!g->title.nr && strncmp(line, "# ", 2) == 0)
		buf_str(&g->title, line + 2);
	g->has_spec |= strncmp(line, "# Spec: ", 8) == 0;
}

static bool read_line(struct golden *g, enum section s, char *line)
{
	bool is_empty = !*line || *line == '#';
	char *comment;

	if (s >= FLOW)
		return true;
	if (s == PACKETS && !is_empty)
		return read_packet(g, line);
	buf_printf(&g->out, "%s\n", line);
	comment = strchr(line, ';');
	if (comment)
		*comment = '\0';
	switch (s) {
	case HEAD:
		read_head(g, line);
		return true;
	case FACTS:
		return is_empty || g->unit->read_fact(g, line);
	case CODE:
		return is_empty || g->unit->read_code(g, line);
	case PACKETS:
	case FLOW:
	case EDGES:
	case NR_SECTIONS:
		break;
	}
	return true;
}

static bool is_title(const struct golden *g, const char *line, enum section *s)
{
	for (unsigned int i = FACTS; i < NR_SECTIONS; i++) {
		if (strcmp(line, title_of(g, (enum section)i)) == 0) {
			*s = (enum section)i;
			return true;
		}
	}
	return false;
}

static bool read_file(struct golden *g, FILE *in)
{
	enum section s = HEAD;
	char line[512];

	while (fgets(line, sizeof(line), in)) {
		g->line++;
		cut_right(line);
		if (is_title(g, line, &s)) {
			if (s < FLOW)
				buf_printf(&g->out, "%s\n", line);
		} else if (!read_line(g, s, line)) {
			return false;
		}
	}
	if (!g->title.nr || !g->has_spec)
		return golden_wrong(g, "no title, or no \"# Spec: \" line");
	return g->trace.nr || golden_wrong(g, "no packets");
}

static bool put_part(struct golden *g, enum section s)
{
	struct buf text = {0};
	const char *differs = decode_all_ways(g, s == EDGES, &text);

	buf_printf(&g->out, "%s\n%s", title_of(g, s), buf_cstr(&text));
	buf_str(&g->out, s == FLOW ? "\n" : "");
	buf_done(&text);
	if (differs)
		printf("# %s %s: not as whole\n", title_of(g, s), differs);
	return !differs;
}

static bool write_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "w");
	bool ok = f && fwrite(b->data, 1, b->nr, f) == b->nr;

	return f && fclose(f) == 0 && ok;
}

/** Is @p g's text that of the file? If not, print how they differ. */
static bool is_same(struct golden *g, const char *path)
{
	char new[] = "/tmp/etm_trace_golden.XXXXXX", command[4400], line[512];
	int fd = mkstemp(new);
	bool ok = fd >= 0 && write_file(new, &g->out);
	FILE *diff;

	snprintf(command, sizeof(command), "diff -u '%s' '%s'", path, new);
	diff = ok ? popen(command, "r") : NULL;
	while (diff && fgets(line, sizeof(line), diff))
		printf("# %s", line);
	ok = diff && pclose(diff) == 0;
	if (fd >= 0) {
		close(fd);
		unlink(new);
	}
	return ok;
}

void golden_done(struct golden *g)
{
	vec_for_each (&g->runs, r)
		buf_done(&r->bytes);
	vec_done(&g->runs);
	buf_done(&g->trace);
	buf_done(&g->title);
	buf_done(&g->out);
	if (g->unit->done)
		g->unit->done(g);
}

bool golden_read(struct golden *g, const char *path)
{
	FILE *in = fopen(path, "r");
	bool ok = in && read_file(g, in);

	if (in)
		fclose(in);
	if (!ok)
		printf("# %s:%u: %s\n", path, g->line, g->wrong ? g->wrong : "cannot be read");
	return ok;
}

static void check_file(void *ctx, const char *dir, const char *name)
{
	const struct golden_unit *unit = ctx;
	struct golden *g = calloc(1, unit->bytes);
	char path[4096];
	bool ok;

	if (!g)
		abort();
	g->unit = unit;
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	ok = golden_read(g, path) && put_part(g, FLOW) && put_part(g, EDGES);
	if (ok && getenv("UPDATE"))
		ok = write_file(path, &g->out);
	else if (ok)
		ok = is_same(g, path);
	CHECK(ok, "%s: %s", name, buf_cstr(&g->title));
	golden_done(g);
	free(g);
}

static int is_trace(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && strcmp(dot, ".trace") == 0;
}

int golden_for_each(const char *dir, void (*visit)(void *ctx, const char *dir, const char *name),
		    void *ctx)
{
	struct dirent **e;
	int nr = scandir(dir, &e, is_trace, alphasort);

	for (int i = 0; i < nr; i++) {
		visit(ctx, dir, e[i]->d_name);
		free(e[i]);
	}
	if (nr >= 0)
		free(e);
	return nr;
}

int golden_check_all(const struct golden_unit *unit, const char *dir)
{
	int nr = golden_for_each(dir, check_file, (void *)(uintptr_t)unit);

	CHECK(nr > 0, "there are situations to decode");
	return tap_done();
}
