/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/sframe.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/near_name.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/options.h"
#include "format/sframe_json.h"
#include "format/sframe_text.h"
#include "unwind/sframe_reloc.h"

/* Output is written in pieces: the text may be a hundred times the section's size. */
enum { FLUSH = 1 << 16 };

static bool is_bare_section(const struct os_map *m)
{
	uint16_t magic;

	if (m->size < sizeof(magic))
		return false;
	magic = load_u16(m->data, false);
	return magic == SFRAME_MAGIC || magic == __builtin_bswap16(SFRAME_MAGIC);
}

static int open_file(struct sframe_command *c)
{
	struct clew_diag diag = {0};

	/* libelf may unpack into the image. */
	if (os_map_file_private(c->path, &c->map, &diag))
		return cli_fail(c->path, &diag);
	if (c->section_path && os_map_file_private(c->section_path, &c->section_map, &diag))
		return cli_fail(c->section_path, &diag);
	c->is_raw |= is_bare_section(&c->map);
	if (c->is_raw) {
		c->image.sframe = (struct unw_section){c->map.data, c->map.size, c->address};
		return CLI_OK;
	}
	if (elf_file_open(&c->elf, c->map.data, c->map.size, &diag))
		return cli_fail(c->path, &diag);
	if (unw_image_of_elf(&c->image, &c->elf)) {
		cli_error("%s: not of x86-64, aarch64 or s390x", c->path);
		return CLI_FAILED;
	}
	if (c->section_path)
		c->image.sframe =
			(struct unw_section){c->section_map.data, c->section_map.size, c->address};
	return CLI_OK;
}

static void close_file(struct sframe_command *c)
{
	elf_file_done(&c->elf);
	os_map_done(&c->map);
	os_map_done(&c->section_map);
}

static void flush(struct buf *out)
{
	if (out->nr)
		fwrite(out->data, 1, out->nr, stdout);
	buf_clear(out);
}

static int print_section(const struct sframe_command *c, const struct sframe *s)
{
	enum clew_err (*put)(struct buf *, const struct sframe *, uint32_t, uint64_t *,
			     struct clew_diag *) =
		c->is_json ? sframe_json_function : sframe_text_function;
	uint64_t left = sframe_max_rows(s);
	struct clew_diag diag = {0};
	struct buf out = {0};
	enum clew_err err = CLEW_OK;
	int status = CLI_OK;

	(c->is_json ? sframe_json_head : sframe_text_head)(&out, c->path, s);
	for (uint32_t i = 0; i < s->nr_functions && !out.is_failed && !ferror(stdout); i++) {
		err = put(&out, s, i, &left, &diag);
		if (out.nr >= FLUSH || err)
			flush(&out);
		if (!err)
			continue;
		status = cli_fail(c->path, &diag);
		if (err == CLEW_LIMIT)
			break;
	}
	flush(&out);
	if (out.is_failed)
		status = cli_fail(c->path, &(struct clew_diag){.code = CLEW_NO_MEMORY});
	buf_done(&out);
	return status;
}

/* In a relocatable file the starts come from relocations, if they are meaningful. */
static uint8_t *relocated(const struct sframe_command *c, struct sframe *s)
{
	size_t size = c->image.sframe.size;
	uint8_t *copy;

	if (!c->image.is_relocatable || !(s->flags & SFRAME_F_FDE_FUNC_START_PCREL))
		return NULL;
	copy = mem_alloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, s->bytes, size);
	sframe_relocate(&c->elf, s, copy, size);
	s->bytes = copy;
	return copy;
}

static int dump(struct sframe_command *c)
{
	struct clew_diag diag = {0};
	struct sframe s;
	uint8_t *copy;
	int status;

	if (!c->is_raw && !c->image.sframe.bytes) {
		cli_error("%s: no section .sframe", c->path);
		cli_hint("'clew sframe make' writes one from .eh_frame");
		return CLI_FAILED;
	}
	if (sframe_open(&s, &c->image.sframe, &diag))
		return cli_fail(c->path, &diag);
	copy = relocated(c, &s);
	status = print_section(c, &s);
	mem_free(copy);
	return status;
}

static const struct verb {
	const char *name;
	int (*run)(struct sframe_command *c);
	bool can_be_raw; /* and relocatable */
} verbs[] = {
	{"dump",  dump,                 true },
	{"check", sframe_command_check, false},
	{"make",  sframe_command_make,  false},
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}

static int refuse(const char *what, const char *word)
{
	cli_error("sframe: %s%s%s%s", what, word ? " '" : "", word ? word : "", word ? "'" : "");
	cli_hint("see 'clew sframe --help'");
	return CLI_USAGE;
}

static int refuse_verb(const char *word)
{
	struct near_name near;

	near_name_start(&near, word, strlen(word));
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		near_name_try(&near, verbs[i].name);
	if (!*near.best)
		return refuse("say dump, check or make, not", word);
	cli_error("sframe: there is no '%s'", word);
	cli_hint("did you mean 'clew sframe %s'?", near.best);
	return CLI_USAGE;
}

static int run(struct sframe_command *c, int nr, char **words)
{
	const struct verb *verb = nr ? find_verb(words[0]) : NULL;
	int status;

	if (!nr)
		return refuse("say what to do: dump, check or make", NULL);
	if (!verb)
		return refuse_verb(words[0]);
	if (nr != 2)
		return refuse(nr < 2 ? "name a file" : "one file only, not",
			      nr < 2 ? NULL : words[2]);
	if (c->address_text && !cli_parse_uint(c->address_text, &c->address))
		return refuse("not an address:", c->address_text);
	c->path = words[1];
	status = open_file(c);
	if (status == CLI_OK && c->is_raw && !verb->can_be_raw) {
		cli_error("%s: a bare section, not the file it is for", c->path);
		cli_hint("clew sframe check --section=%s FILE", c->path);
		status = CLI_FAILED;
	}
	if (status == CLI_OK && c->image.is_relocatable && !verb->can_be_raw) {
		cli_error("%s: a relocatable file has no addresses yet", c->path);
		cli_hint("use the file it is linked into");
		status = CLI_FAILED;
	}
	if (status == CLI_OK)
		status = verb->run(c);
	close_file(c);
	return status;
}

int cmd_sframe(int argc, char **argv)
{
	struct sframe_command c = {0};
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "address", "ADDR", "where a bare section is linked to (default: 0)",
		 CLI_STRING, &c.address_text},
		{0, "json", NULL, "print JSON objects, one per line", CLI_FLAG, &c.is_json},
		{0, "dump", NULL, NULL, CLI_SECTION},
		{0, "raw", NULL, "FILE is a bare section, not an ELF file (detected by its first bytes)",
		 CLI_FLAG, &c.is_raw},
		{0, "check", NULL, NULL, CLI_SECTION},
		{'s', "section", "FILE", "compare this bare section instead of the file's own",
		 CLI_STRING, &c.section_path},
		{'q', "quiet", NULL, "print the totals only", CLI_FLAG, &c.is_quiet},
		{0, "make", NULL, NULL, CLI_SECTION},
		{'o', "output", "FILE", "write the section there", CLI_STRING, &c.out_path},
		{0, "v2", NULL, "version 2, for older readers (default: 3)",
		 CLI_FLAG, &c.is_v2},
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "sframe",
		.usage = "dump [--raw] [--address=ADDR] [--json] FILE\n"
			 "check [-q] [-s FILE] [--json] FILE\n"
			 "make -o FILE [--v2] [--json] FILE",
		.summary = "Print, verify or make SFrame unwind tables.",
		.options = options,
		.examples = "  clew sframe dump /bin/app\n"
			    "  clew sframe check -q /bin/app\n"
			    "  clew sframe make -o app.sframe /bin/app\n",
	};
	int first = cli_parse(&command, argc, argv);

	if (first < 0)
		return -1 - first;
	return run(&c, argc - first, argv + first);
}
