/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_name.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "elf/demangle.h"
#include "elf/elf_main.h"
#include "elf/elf_sym.h"

/* --- the extent of a name --- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Of " int", " new[]" or " unsigned long": a type that is converted to, or what manages memory. */
static size_t type_bytes(const char *s)
{
	size_t n = 0, word;

	while (s[n] == ' ') {
		word = n + 1;
		while (is_word(s[word]) || (s[word] == ':' && s[word + 1] == ':') ||
		       (s[word] == ':' && s[word - 1] == ':'))
			word++;
		if (word == n + 1)
			break;
		n = word + strspn(s + word, "*&");
	}
	return !strncmp(s + n, "[]", 2) ? n + 2 : n;
}

/* Of what follows the word "operator": "()", "[]", "<<=", "->*". */
static size_t operator_bytes(const char *s)
{
	static const char *const all[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>",
					  "<=", ">=", "->",  "==",  "!=",  "&&",  "||", "++",
					  "--", "+=", "-=",  "*=",  "/=",  "%=",  "^=", "&=",
					  "|=", "<",  ">",   "+",   "-",   "*",   "/",  "%",
					  "^",  "&",  "|",   "~",   "!",   "=",   ","};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		size_t n = strlen(all[i]);

		if (!strncmp(s, all[i], n))
			return n;
	}
	return type_bytes(s);
}

/* Of the word at @p s, and of the operator that it names. */
static size_t word_bytes(const char *s)
{
	static const char word[] = "operator";
	size_t n = 0;

	while (is_word(s[n]))
		n++;
	return n == sizeof(word) - 1 && !memcmp(s, word, n) ? n + operator_bytes(s + n) : n;
}

/* " const" and the like after the parameters, which end no name. */
static size_t qualifier_bytes(const char *s)
{
	static const char *const all[] = {" const", " volatile", " &&", " &"};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		size_t n = strlen(all[i]);

		if (!strncmp(s, all[i], n) && !is_word(s[n]))
			return n;
	}
	return 0;
}

static bool opens(const char *s, const char *start)
{
	/* "{lambda()#1}" and "{{closure}}" follow a "::". */
	return strchr("(<[", *s) || (*s == '{' && s - start >= 2 && (s[-1] == ':' || s[-1] == '{'));
}

size_t sym_name_span(const char *s, const char *stops)
{
	const char *start = s;
	size_t depth = 0, n;

	while (*s) {
		n = word_bytes(s);
		if (!n && s > start && s[-1] == ')' && !depth)
			n = qualifier_bytes(s);
		if (!n && s[0] == ':' && s[1] == ':')
			n = 2;
		if (!n && !depth && strchr(stops, *s) && !opens(s, start))
			break;
		if (n) {
			s += n;
			continue;
		}
		if (opens(s, start))
			depth++;
		else if (depth && strchr(")>]}", *s) && (s == start || s[-1] != '-'))
			depth--;
		s++;
	}
	return (size_t)(s - start);
}

/* --- one symbol --- */

/** Equal but for blanks. */
static bool is_same(const char *name, const char *asked, size_t n)
{
	const char *end = asked + n;

	for (;;) {
		while (*name == ' ')
			name++;
		while (asked < end && *asked == ' ')
			asked++;
		if (!*name || asked == end)
			return !*name && asked == end;
		if (*name++ != *asked++)
			return false;
	}
}

/** May @p asked be @p shown with its parameters? Demangling is dear. */
static bool may_have_parameters(const char *shown, const char *asked, size_t n)
{
	return memchr(asked, '(', n) && memmem(asked, n, shown, strcspn(shown, "<( "));
}

bool sym_name_is(const char *shown, const char *link_name, const char *asked, size_t n)
{
	clew_auto(buf_done) struct buf full = {0};
	const char *without_type;

	if ((strlen(link_name) == n && !memcmp(link_name, asked, n)) || is_same(shown, asked, n))
		return true;
	if (!may_have_parameters(shown, asked, n) || !demangle_with_parameters(link_name, &full))
		return false;
	/* The name of a template's instance begins with the type of its result. */
	without_type = strstr(buf_cstr(&full), shown);
	return is_same(buf_cstr(&full), asked, n) ||
	       (without_type && is_same(without_type, asked, n));
}

/* --- in a file --- */

struct finder {
	struct sym_named *found;
	const char *asked;
	size_t n;
	const char *part; /* that each mangled name of it holds; n 0: unknown */
	size_t part_bytes;
	uint64_t at[SYM_NAMED_MAX]; /* addresses of found->others */
	const char *link_name[SYM_NAMED_MAX];
	bool is_failed;
};

static bool is_new(const struct finder *f, uint64_t address)
{
	for (size_t i = 0; i < f->found->nr && i < SYM_NAMED_MAX; i++) {
		if (f->at[i] == address)
			return false;
	}
	return true;
}

/* Constructors of a complete object and of a base have one name: only the link name says which. */
static bool is_repeated(struct finder *f, const char *name)
{
	bool is_repeated = false;

	for (size_t i = 0; i < SYM_NAMED_MAX && f->found->others[i]; i++) {
		if (strcmp(f->found->others[i], name) != 0)
			continue;
		mem_free(f->found->others[i]);
		f->found->others[i] = mem_strdup(f->link_name[i]);
		f->is_failed = !f->found->others[i];
		is_repeated = true;
	}
	return is_repeated;
}

/* A name that finds it again: of a template's instance without the type of its result. */
static char *listed_name(struct finder *f, const struct elf_sym_entry *s, const char *shown)
{
	clew_auto(buf_done) struct buf full = {0};
	const char *name, *without_type;

	if (!demangle_with_parameters(s->name, &full))
		return mem_strdup(s->name);
	name = buf_cstr(&full);
	without_type = strstr(name, shown);
	if (without_type)
		name = without_type;
	if (full.is_failed)
		return NULL;
	return mem_strdup(is_repeated(f, name) ? s->name : name);
}

static bool add(struct finder *f, const struct elf_sym_entry *s, const char *shown)
{
	size_t nr = f->found->nr;

	if (!is_new(f, s->address))
		return true;
	if (!nr)
		f->found->address = s->address;
	if (nr < SYM_NAMED_MAX) {
		f->at[nr] = s->address;
		f->link_name[nr] = s->name;
		f->found->others[nr] = listed_name(f, s, shown);
		f->is_failed |= !f->found->others[nr];
	}
	f->found->nr++;
	return !f->is_failed;
}

/** Is @p part in @p name? A search for 200,000 names. */
static bool may_be(const struct finder *f, const char *name)
{
	return !f->part_bytes || memmem(name, strlen(name), f->part, f->part_bytes);
}

static bool take_shown(void *ctx, const struct elf_sym_entry *s)
{
	clew_auto(buf_done) struct buf shown = {0};
	struct finder *f = ctx;

	if (!s->is_function || !may_be(f, s->name) || !demangle(s->name, &shown))
		return true;
	if (shown.is_failed)
		return !(f->is_failed = true);
	return !sym_name_is(buf_cstr(&shown), s->name, f->asked, f->n) ||
	       add(f, s, buf_cstr(&shown));
}

/*
 * The last identifier before parameters and template arguments stands in a mangled name as it is,
 * but for constructors and destructors, operators, and what has other characters than ASCII's.
 */
static void find_part(struct finder *f)
{
	size_t end = strcspn(f->asked, "(<"), from = end;

	while (from && is_word(f->asked[from - 1]))
		from--;
	if (end - from < 3 || (from && f->asked[from - 1] == '~') || strstr(f->asked, "operator") ||
	    strchr(f->asked, '$') || f->asked[0] == '(' || f->asked[0] == '<')
		return;
	f->part = f->asked + from;
	f->part_bytes = end - from;
	/* a::a: only its class may stand for it */
	if (from >= 2 + f->part_bytes &&
	    !memcmp(f->part - 2 - f->part_bytes, f->part, f->part_bytes))
		f->part_bytes = 0;
}

bool sym_name_find(const struct elf_file *f, const char *name, struct sym_named *ret)
{
	struct finder x = {.found = ret, .asked = name, .n = strlen(name)};
	uint64_t address;

	*ret = (struct sym_named){0};
	if (elf_sym_address(f, name, &address) ||
	    (!strcmp(name, "main") && elf_main_address(f, &address))) {
		ret->nr = 1;
		ret->address = address;
		return true;
	}
	find_part(&x);
	elf_sym_walk_all(f, take_shown, &x);
	if (x.is_failed)
		sym_named_done(ret);
	return !x.is_failed;
}

void sym_named_done(struct sym_named *n)
{
	for (size_t i = 0; i < SYM_NAMED_MAX; i++)
		mem_free(n->others[i]);
	*n = (struct sym_named){0};
}
