/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "base/err.h"
#include "trace/snapshot/cs_snapshot_impl.h"

enum { MAX_REGS = 64, MAX_MEMORY = 1024 };

static bool add(struct cs_ini *ini, const char *section, const char *key, const char *value,
		uint32_t section_nr)
{
	return vec_push(ini, (struct cs_ini_line){section, key, value, section_nr});
}

/** "NAME=VALUE" -> both; as "FILE@ADDRESS". @return false: there is no @p mark in it. */
static bool split(char *word, char mark, const char **ret)
{
	char *at = strrchr(word, mark);

	if (!at || at == word || !at[1])
		return false;
	*at = 0;
	*ret = at + 1;
	return true;
}

static enum clew_err take_regs(struct cs_snapshot *s, const char *list, struct cs_ini *ini,
			       struct clew_diag *diag)
{
	unsigned int nr = 0;
	const char *value;
	uint64_t number;
	char *word;

	while (list && nr++ < MAX_REGS && (word = cs_ini_word(&list, &s->arena))) {
		if (!split(word, '=', &value) || !cs_ini_number(value, &number))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "registers are NAME=NUMBER, in a comma list");
		if (!cs_reg_is_known(word))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "an unknown register, or one that is not used here");
		if (!add(ini, "regs", word, value, 2))
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	return CLEW_OK;
}

static enum clew_err take_memory(struct cs_snapshot *s, const char *list, struct cs_ini *ini,
				 struct clew_diag *diag)
{
	const char *address;
	uint32_t nr = 0;
	uint64_t number;
	char *word;

	while (list && nr++ < MAX_MEMORY && (word = cs_ini_word(&list, &s->arena))) {
		if (!split(word, '@', &address) || !cs_ini_number(address, &number))
			return clew_fail(diag, CLEW_INVALID, 0,
					 "memory is FILE@ADDRESS, in a comma list");
		if (!add(ini, "dump", "file", word, 2 + nr) ||
		    !add(ini, "dump", "address", address, 2 + nr))
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	return CLEW_OK;
}

enum clew_err cs_raw_inis(struct cs_snapshot *s, const struct cs_raw *raw, struct cs_ini *device,
			  struct cs_ini *trace, struct clew_diag *diag)
{
	bool ok = add(device, "device", "name", "raw", 1) &&
		  add(device, "device", "class", "trace_source", 1) &&
		  add(device, "device", "type", raw->type, 1) &&
		  add(trace, "trace_buffers", "buffers", "raw", 1) &&
		  add(trace, "raw", "name", "raw", 2) && add(trace, "raw", "file", raw->file, 2) &&
		  add(trace, "raw", "format", raw->format ? raw->format : "coresight", 2);
	enum clew_err err = ok ? CLEW_OK : clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");

	if (!err && raw->format && !cs_format_is_known(raw->format))
		err = cs_snapshot_say(s, "unknown format '%s'", raw->format)
			    ? clew_fail(diag, CLEW_BAD_FILE, 0, "it cannot be read")
			    : clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	if (!err)
		err = take_regs(s, raw->regs, device, diag);
	return err ? err : take_memory(s, raw->memory, device, diag);
}
