/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/vec.h"
#include "flow/etm/etm_flow.h"
#include "golden/etm_words.h"
#include "prop/etm_log.h"
#include "unit/tap.h"

/*
 * Usage: etm_trace_golden DIR
 *
 * Each DIR/NAME.trace (format: etm/README.md) is rewritten from its registers, code and packets,
 * with the bytes and the flow that the encoder and the decoder say. It has to be what was read.
 * With UPDATE=1 the files are replaced instead.
 */
enum section { HEAD, REGISTERS, CODE, PACKETS, FLOW, EDGES, NR_SECTIONS };
static const char *const titles[NR_SECTIONS] = {"",          "[registers]", "[code]",
						"[packets]", "[flow]",      "[edges]"};
enum { ANY_SPACE = 0, BYTES_COLUMN = 58 };

/** Instructions without a gap, seen in one address space, or, of ANY_SPACE, in all. */
struct run {
	uint32_t space;
	uint64_t start;
	struct buf bytes;
};

struct golden {
	struct etm_regs regs;
	struct etm_config config;
	bool has_config, is_m_profile;
	uint32_t space; /* of the instructions that follow */
	struct {
		VEC(struct run);
	} runs;
	struct buf trace, title, out;
	bool has_spec;
	const char *wrong; /* of the line that could not be read */
	unsigned int line;
};

static bool wrong(struct golden *g, const char *what)
{
	g->wrong = what;
	return false;
}

/* --- code --- */

static uint32_t space_of(void *ctx, const struct code_key *key)
{
	const struct golden *g = ctx;

	vec_for_each (&g->runs, r) {
		if (r->space != ANY_SPACE && key->context.arm.has_cid &&
		    r->space == key->context.arm.cid)
			return r->space;
	}
	return ANY_SPACE;
}

static bool find_code(void *ctx, uint32_t space, uint64_t address, struct code_region *ret)
{
	const struct golden *g = ctx;

	vec_for_each (&g->runs, r) {
		if ((r->space != space && r->space != ANY_SPACE) || address < r->start ||
		    address - r->start >= r->bytes.nr)
			continue;
		*ret = (struct code_region){r->start, r->start + r->bytes.nr,
					    (const uint8_t *)r->bytes.data};
		return true;
	}
	return false;
}

static bool add_insn(struct golden *g, uint64_t address, const uint8_t *bytes, size_t nr)
{
	struct run *last = g->runs.nr ? &g->runs.data[g->runs.nr - 1] : NULL;

	if (!last || last->space != g->space || address != last->start + last->bytes.nr) {
		if (!vec_push(&g->runs, (struct run){.space = g->space, .start = address}))
			return wrong(g, "out of memory");
		last = &g->runs.data[g->runs.nr - 1];
	}
	buf_add(&last->bytes, bytes, nr);
	return true;
}

/** "10000 a64 d503201f nop", or "cid 5": what follows is seen there only. */
static bool read_code(struct golden *g, const char *line)
{
	unsigned long long address;
	unsigned int cid;
	char isa[4], hex[9];
	uint8_t b[4];
	uint32_t word;

	if (sscanf(line, "cid %x", &cid) == 1) {
		g->space = cid;
		return true;
	}
	if (sscanf(line, "%llx %3s %8[0-9a-f]", &address, isa, hex) != 3)
		return wrong(g, "not \"address set encoding assembly\"");
	word = (uint32_t)strtoul(hex, NULL, 16);
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(word >> 8 * i);
	if (strcmp(isa, "t32") != 0)
		return add_insn(g, address, b, 4);
	if (strlen(hex) == 4)
		return add_insn(g, address, b, 2);
	return add_insn(g, address, (uint8_t[]){b[2], b[3], b[0], b[1]}, 4);
}

/* --- registers and packets --- */

static bool read_register(struct golden *g, const char *line)
{
	struct {
		const char *name;
		uint32_t *to;
	} regs[] = {
		{"TRCIDR0",     &g->regs.idr0    },
                {"TRCIDR1",     &g->regs.idr1    },
		{"TRCIDR2",     &g->regs.idr2    },
                {"TRCIDR8",     &g->regs.idr8    },
		{"TRCDEVARCH",  &g->regs.devarch },
                {"TRCCONFIGR",  &g->regs.configr },
		{"TRCTRACEIDR", &g->regs.traceidr},
	};
	char name[32];
	unsigned int v;
	int nr = sscanf(line, "%31s %x", name, &v);

	if (nr == 1 && strcmp(name, "ete") == 0)
		g->regs.is_ete = true;
	else if (nr == 1 && strcmp(name, "m-profile") == 0)
		g->is_m_profile = true;
	else if (nr == 1 && strcmp(name, "etmv4") != 0)
		return wrong(g, "an unknown word");
	for (size_t i = 0; nr == 2 && i < sizeof(regs) / sizeof(regs[0]); i++) {
		if (strcmp(regs[i].name, name) == 0) {
			*regs[i].to = v;
			return true;
		}
	}
	return nr == 1 || wrong(g, "an unknown register");
}

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
	if (!g->has_config) {
		if (etm_config_init(&g->config, &g->regs, NULL) != CLEW_OK)
			return wrong(g, "a trace unit that is not decoded");
		g->config.is_m_profile = g->is_m_profile;
		g->has_config = true;
	}
	snprintf(words, sizeof(words), "%s", line);
	if (!etm_words_encode(&g->trace, &g->config, words))
		return wrong(g, "not a packet");
	buf_field(&g->out, line, -BYTES_COLUMN);
	buf_char(&g->out, '|');
	for (size_t i = from; i < g->trace.nr; i++)
		buf_printf(&g->out, " %02x", (uint8_t)g->trace.data[i]);
	buf_char(&g->out, '\n');
	return true;
}

/* --- flow and edges --- */

static bool add_entry(void *ctx, const struct etm_log_entry *e)
{
	buf_printf(ctx, "%s\n", etm_log_text(e));
	return true;
}

/** A run that ended before a waypoint has no branch: @p from and @p to are its ends. */
struct edge {
	uint64_t from, to, nr;
	char mark; /* 'E', 'N', '-': such a run */
	bool has_to;
};

struct edges {
	VEC(struct edge);
};

static struct edge edge_of(const struct flow_edge *e)
{
	uint64_t start = e->from->start, end = start + e->from->bytes;

	if (e->from->kind == INSN_PLAIN)
		return (struct edge){start, end, e->nr, '-', true};
	return (struct edge){end - e->from->last_bytes, e->to, e->nr, e->is_taken ? 'E' : 'N',
			     e->has_to};
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	struct edges *all = ctx;
	struct edge x = edge_of(e);

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

/** How the trace is decoded: that must not change what comes of it. */
struct way {
	const char *name;
	size_t piece;
	unsigned int nr_threads;
	bool goes_plain;
};

static const struct way ways[] = {
	{"whole",                0, 1, false},
	{"in pieces of 1 byte",  1, 1, false},
	{"in pieces of 7 bytes", 7, 1, false},
	{"packet by packet",     0, 1, true },
	{"by two threads",       0, 2, false},
};

/** What comes of the trace: as a flow, or counted. @return false: it could not be decoded. */
static bool decode(struct golden *g, const struct way *w, bool is_counted, struct buf *out)
{
	struct code_source code = {.space = space_of, .find = find_code, .ctx = g};
	struct etm_log log = {.code = &code, .entry = add_entry, .ctx = out, .by_block = true};
	struct etm_flow_opts o = {.config = &g->config,
				  .flow.code = &code,
				  .flow.batch = is_counted ? NULL : etm_log_batch,
				  .flow.ctx = &log,
				  .flow.nr_threads = w->nr_threads,
				  .goes_plain = w->goes_plain,
				  .flow.part_bytes = 16};
	struct flow *f = etm_flow_new(&o);
	struct edges edges = {0};
	bool ok;

	buf_clear(out);
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
	case REGISTERS:
		return is_empty || read_register(g, line);
	case CODE:
		return is_empty || read_code(g, line);
	case PACKETS:
	case FLOW:
	case EDGES:
	case NR_SECTIONS:
		break;
	}
	return true;
}

static bool is_title(const char *line, enum section *s)
{
	for (unsigned int i = REGISTERS; i < NR_SECTIONS; i++) {
		if (strcmp(line, titles[i]) == 0) {
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
		if (is_title(line, &s)) {
			if (s < FLOW)
				buf_printf(&g->out, "%s\n", line);
		} else if (!read_line(g, s, line)) {
			return false;
		}
	}
	if (!g->title.nr || !g->has_spec)
		return wrong(g, "no title, or no \"# Spec: \" line");
	return g->has_config || wrong(g, "no packets");
}

static bool put_part(struct golden *g, enum section s)
{
	struct buf text = {0};
	const char *differs = decode_all_ways(g, s == EDGES, &text);

	buf_printf(&g->out, "%s\n%s", titles[s], buf_cstr(&text));
	buf_str(&g->out, s == FLOW ? "\n" : "");
	buf_done(&text);
	if (differs)
		printf("# %s %s: not as whole\n", titles[s], differs);
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

static void golden_done(struct golden *g)
{
	vec_for_each (&g->runs, r)
		buf_done(&r->bytes);
	vec_done(&g->runs);
	buf_done(&g->trace);
	buf_done(&g->title);
	buf_done(&g->out);
}

static void check_file(const char *dir, const char *name)
{
	struct golden g = {0};
	char path[4096];
	FILE *in;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "r");
	ok = in && read_file(&g, in);
	if (in)
		fclose(in);
	if (!ok)
		printf("# %s:%u: %s\n", path, g.line, g.wrong ? g.wrong : "cannot be read");
	ok = ok && put_part(&g, FLOW) && put_part(&g, EDGES);
	if (ok && getenv("UPDATE"))
		ok = write_file(path, &g.out);
	else if (ok)
		ok = is_same(&g, path);
	CHECK(ok, "%s: %s", name, buf_cstr(&g.title));
	golden_done(&g);
}

static int is_trace(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && strcmp(dot, ".trace") == 0;
}

int main(int argc, char **argv)
{
	struct dirent **e;
	int nr = argc == 2 ? scandir(argv[1], &e, is_trace, alphasort) : -1;

	for (int i = 0; i < nr; i++) {
		check_file(argv[1], e[i]->d_name);
		free(e[i]);
	}
	if (nr >= 0)
		free(e);
	CHECK(nr > 0, "there are situations to decode");
	return tap_done();
}
