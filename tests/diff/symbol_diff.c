/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compare our symbols with perf's: reads what `perf script -F ip,sym,symoff,dso` prints for
 * recordings with call chains (user addresses are file offsets there) and looks each line up.
 *
 *   perf script -i X -F ip,sym,symoff,dso | symbol_diff [BUILDID_DIR [dwarf]]
 *
 * With "dwarf", for a recording with --call-graph dwarf, every line's inlined functions are
 * compared.
 *
 * Exit status 1 where a line differs. Prints the differing lines and a count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/dso.h"

struct line {
	uint64_t rel;
	char *sym, *dso;
};

/** "   a1b2 name with blanks+0x12 (/path)" in place. */
static int split(char *text, struct line *ret)
{
	char *end, *open;
	size_t len = strlen(text);

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		text[--len] = '\0';
	if (!len || text[len - 1] != ')')
		return 0;
	text[len - 1] = '\0';
	ret->rel = strtoull(text, &end, 16);
	open = strstr(text, " (/");
	if (!open)
		open = strstr(text, " ([");
	if (end == text || *end != ' ' || !open)
		return 0;
	*open = '\0';
	ret->sym = end + 1;
	ret->dso = open + 2;
	return 1;
}

static enum dso_kind kind_of(const char *dso)
{
	if (!strcmp(dso, "[vdso]"))
		return DSO_VDSO;
	if (!strncmp(dso, "/tmp/perf-", 10))
		return DSO_JIT;
	if (!strncmp(dso, "[kernel", 7) || !strncmp(dso, "[guest.kernel", 13))
		return DSO_KERNEL;
	return dso[0] == '[' ? DSO_MODULE : DSO_USER;
}

static void text_of(const struct dso_sym *s, uint64_t rel, char *ret, size_t size)
{
	if (s)
		snprintf(ret, size, "%s+0x%llx", s->name, (unsigned long long)(rel - s->start));
	else
		snprintf(ret, size, "[unknown]");
}

enum { MAX_INLINED = 64 };

/** "(inlined)" lines wait for the line of the function that contains them. */
struct inlined {
	uint64_t rel;
	size_t nr;
	char *names[MAX_INLINED];
};

static void forget(struct inlined *p)
{
	while (p->nr)
		free(p->names[--p->nr]);
}

/** "   a1b2 name with blanks+0x12 (inlined)" */
static int take_inlined(struct inlined *p, char *text)
{
	char *end = strstr(text, " (inlined)"), *name, *plus;
	uint64_t rel = strtoull(text, &name, 16);

	if (!end || *name != ' ')
		return 0;
	*end = '\0';
	plus = strrchr(name, '+');
	if (plus)
		*plus = '\0';
	if (p->nr && p->rel != rel)
		forget(p);
	p->rel = rel;
	if (p->nr < MAX_INLINED)
		p->names[p->nr++] = strdup(name + 1);
	return 1;
}

static int same_inlined(const struct inlined *p, struct dso *d)
{
	struct dso_line lines[MAX_INLINED + 1];
	size_t nr = dso_find_lines(d, p->rel, lines, MAX_INLINED + 1);

	for (size_t i = 0; i < p->nr; i++) {
		const char *ours = i < nr ? lines[i].function : NULL;

		if (ours && !strcmp(ours, p->names[i]))
			continue;
		printf("%s %llx level %zu of %zu: perf \"%s\", ours \"%s\"\n", dso_path(d),
		       (unsigned long long)p->rel, i, p->nr, p->names[i], ours ? ours : "none");
		return 0;
	}
	if (nr > p->nr + 1)
		printf("%s %llx: perf has %zu inlined, we %zu\n", dso_path(d),
		       (unsigned long long)p->rel, p->nr, nr - 1);
	return nr <= p->nr + 1;
}

int main(int argc, char **argv)
{
	/* What perf recorded a moment ago is of the running kernel. */
	struct dso_store_opts opts = {.buildid_dir = argc > 1 ? argv[1] : NULL, .is_live = true};
	struct dso_store *store = dso_store_new(&opts);
	size_t nr = 0, nr_inlined = 0, nr_wrong = 0, cap = 0;
	char *text = NULL, ours[65536];
	struct inlined inlined = {0};
	int is_dwarf = argc > 2;
	struct line l;

	while (getline(&text, &cap, stdin) > 0) {
		struct dso_key key = {0};
		struct dso *d;

		if (take_inlined(&inlined, text))
			continue;
		if (!split(text, &l) || !strcmp(l.dso, "[unknown]"))
			continue;
		key.path = l.dso;
		key.kind = kind_of(l.dso);
		d = dso_store_get(store, &key);
		text_of(dso_find_sym(d, l.rel), l.rel, ours, sizeof(ours));
		nr++;
		if (strcmp(ours, l.sym) != 0) {
			nr_wrong++;
			printf("%s %llx: perf \"%s\", ours \"%s\"\n", l.dso,
			       (unsigned long long)l.rel, l.sym, ours);
		}
		if (is_dwarf || (inlined.nr && inlined.rel == l.rel)) {
			inlined.rel = l.rel;
			nr_inlined += inlined.nr;
			nr_wrong += !same_inlined(&inlined, d);
		}
		forget(&inlined);
	}
	for (size_t i = 0; dso_store_at(store, i); i++) {
		struct dso *d = dso_store_at(store, i);
		const char *why = dso_why_no_symbols(d), *file = dso_symbol_file(d);

		fprintf(stderr, "%s: %s\n", dso_path(d), why ? why : file ? file : "no symbols");
	}
	printf("%zu lines, %zu inlined, %zu differ\n", nr, nr_inlined, nr_wrong);
	forget(&inlined);
	free(text);
	dso_store_free(store);
	return nr_wrong != 0;
}
