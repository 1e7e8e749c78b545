/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/etm_decoder.h"
#include "trace/snapshot/cs_snapshot_impl.h"

enum { MAX_BUFFERS = 256, MAX_UNITS = 4096, NOT_KNOWN = UINT32_MAX, MAX_SOURCE = 0x6f };

static const struct {
	const char *name;
	enum cs_buffer_format format;
} formats[] = {
	{"coresight",         CS_BUF_FRAMES    },
        {"source_data",       CS_BUF_RAW       },
	{"raw",               CS_BUF_RAW       },
        {"dstream_coresight", CS_BUF_DSTREAM   },
	{"tpiu",              CS_BUF_TPIU      },
        {"tpiu_hsync",        CS_BUF_TPIU_HSYNC},
};

/** Trace units that are not decoded, and the register with the ID of each. */
static const struct other {
	const char *type, *why;
	enum cs_reg reg;
	unsigned int shift;
} others[] = {
	{"ETM3", "an ETMv3 is not decoded", CS_ETMTRACEIDR, 0 },
	{"PTM",  "a PTM is not decoded",    CS_ETMTRACEIDR, 0 },
	{"PFT",  "a PTM is not decoded",    CS_ETMTRACEIDR, 0 },
	{"STM",  "an STM is not decoded",   CS_STMTCSR,     16},
	{"ITM",  "an ITM is not decoded",   CS_ITMTCR,      16},
};

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncasecmp(s, prefix, strlen(prefix));
}

static bool is_etm4(const struct cs_device *d)
{
	return has_prefix(d->type, "ETM4") || has_prefix(d->type, "ETMv4");
}

static bool is_ete(const struct cs_device *d)
{
	return has_prefix(d->type, "ETE");
}

/* --- which unit traces which core --- */

static const char *core_of(const struct cs_ini *ini, const char *source)
{
	vec_for_each (ini, l) {
		if (cs_ini_is(l->section, "core_trace_sources") && !strcmp(l->value, source))
			return l->key;
	}
	return NULL;
}

/** A name that no device has may be the only core's: files are not always of one mind. */
static uint32_t find_core(const struct cs_snapshot *s, const char *name)
{
	uint32_t found = name ? cs_snapshot_find_device(s, name) : CS_NO_DEVICE, nr = 0;

	if (found != CS_NO_DEVICE)
		return found;
	vec_for_each (&s->devices, d) {
		if (!cs_device_is_core(d))
			continue;
		found = (uint32_t)(d - s->devices.data);
		nr++;
	}
	return nr == 1 ? found : CS_NO_DEVICE;
}

/** "cpu_3" -> 3. */
static uint32_t number_in(const char *name)
{
	size_t n = strlen(name), at = n;
	uint64_t v;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == n)
		return NOT_KNOWN;
	v = strtoull(name + at, NULL, 10);
	return v < NOT_KNOWN ? (uint32_t)v : NOT_KNOWN;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/** The numbers in the cores' names, or where two have the same ("Cortex-A53_0", "Cortex-A72_0"),
 * their places among the cores. */
bool cs_snapshot_number_cores(struct cs_snapshot *s)
{
	uint32_t *numbers = mem_calloc(s->devices.nr + 1, sizeof(*numbers)), nr = 0;
	bool is_unique = true;

	if (!numbers)
		return false;
	vec_for_each (&s->devices, d) {
		if (cs_device_is_core(d))
			numbers[nr++] = number_in(d->name);
	}
	qsort(numbers, nr, sizeof(*numbers), by_number);
	for (uint32_t i = 0; i < nr; i++)
		is_unique &= numbers[i] != NOT_KNOWN && (!i || numbers[i] != numbers[i - 1]);
	mem_free(numbers);
	nr = 0;
	vec_for_each (&s->devices, d) {
		if (cs_device_is_core(d))
			d->cpu = is_unique ? number_in(d->name) : nr++;
	}
	return true;
}

/** "Cortex-M33", "ARMv8-M": what a unit's packets mean is a little different there. */
static void set_profile(struct etm_config *c, const char *type)
{
	size_t n = strlen(type);

	c->is_m_profile = has_prefix(type, "Cortex-M") ||
			  (has_prefix(type, "ARM") && n > 2 && !strcasecmp(type + n - 2, "-M"));
}

/* --- one unit --- */

static void refuse(struct trace_unit *u, enum clew_err code, const char *why)
{
	u->is_decodable = false;
	u->why = (struct clew_diag){.code = code, .what = why};
}

static void configure_other(struct trace_unit *u, const struct cs_device *d)
{
	refuse(u, CLEW_UNSUPPORTED, "a trace source of an unknown kind");
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (!has_prefix(d->type, others[i].type))
			continue;
		u->id = d->regs[others[i].reg] >> others[i].shift & 0x7f;
		refuse(u, CLEW_UNSUPPORTED, others[i].why);
	}
}

static const char *missing_reg(const struct cs_device *d, bool is_raw)
{
	if (!(d->has & 1u << CS_TRCCONFIGR))
		return "its register TRCCONFIGR is not given";
	if (!(d->has & 1u << CS_TRCTRACEIDR) && !is_raw)
		return "its register TRCTRACEIDR is not given";
	if (!(d->has & 1u << CS_TRCIDR0))
		return "its register TRCIDR0 is not given";
	if (!(d->has & 1u << CS_TRCIDR2))
		return "its register TRCIDR2 is not given";
	return NULL;
}

static struct etm_regs regs_of(const struct cs_device *d)
{
	return (struct etm_regs){
		.configr = d->regs[CS_TRCCONFIGR],
		.traceidr = d->regs[CS_TRCTRACEIDR],
		.idr0 = d->regs[CS_TRCIDR0],
		.idr1 = d->has & 1u << CS_TRCIDR1 ? d->regs[CS_TRCIDR1] : 0x4100f403,
		.idr2 = d->regs[CS_TRCIDR2],
		.idr8 = d->regs[CS_TRCIDR8],
		.devarch = d->has & 1u << CS_TRCDEVARCH ? d->regs[CS_TRCDEVARCH] : 0x47705a13,
		.is_ete = is_ete(d),
	};
}

/** Trace that is not in frames needs no ID, and units without one leave theirs 0. */
static void configure(struct trace_unit *u, struct etm_config *config, const struct cs_device *d,
		      bool is_raw)
{
	const char *missing = missing_reg(d, is_raw);
	struct etm_regs regs = regs_of(d), any_id = regs;
	enum clew_err err;

	u->id = regs.traceidr & 0x7f;
	if (missing) {
		refuse(u, CLEW_BAD_FILE, missing);
		return;
	}
	if (is_raw && (!u->id || u->id > MAX_SOURCE))
		any_id.traceidr = 1;
	err = etm_config_init(config, &any_id, &u->why);
	u->is_decodable = !err;
	config->regs = regs;
	config->id = u->id;
	u->has_timestamps = config->has_timestamps;
	u->has_cycles = config->has_cycle_counts;
}

static bool add_unit(struct cs_snapshot *s, const struct cs_ini *ini, uint32_t source,
		     size_t buffer)
{
	const struct cs_device *d = &s->devices.data[source];
	const struct cs_buffer *b = &s->buffers.data[buffer];
	uint32_t core = find_core(s, core_of(ini, d->name));
	struct trace_unit u = {
		.cpu = core == CS_NO_DEVICE ? NOT_KNOWN : s->devices.data[core].cpu,
		.tid = NOT_KNOWN,
		.session = (uint32_t)buffer,
		.name = d->name,
		.file = s->files.data[b->file].name,
	};
	struct etm_config *config;

	if (s->units.nr == MAX_UNITS)
		return true;
	config = arena_zalloc(&s->arena, sizeof(*config));
	if (!config)
		return false;
	u.decoder = &etm_decoder;
	u.config = config;
	if (is_etm4(d) || is_ete(d)) {
		configure(&u, config, d, b->format == CS_BUF_RAW);
		s->has_etm = true;
	} else {
		configure_other(&u, d);
	}
	if (core != CS_NO_DEVICE)
		set_profile(config, s->devices.data[core].type);
	u.code = cs_snapshot_code(s, core);
	return u.code && vec_push(&s->units, u);
}

/* --- the units of a buffer --- */

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	while (*list) {
		list += strspn(list, " \t,");
		if (!strncmp(list, name, n) && !list[n + strspn(list + n, " \t")])
			return true;
		if (!strncmp(list, name, n) && list[n + strspn(list + n, " \t")] == ',')
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

static bool is_in(const struct cs_snapshot *s, size_t buffer, const char *source)
{
	for (size_t i = s->buffers.data[buffer].first_unit; i < s->units.nr; i++) {
		if (!strcmp(s->units.data[i].name, source))
			return true;
	}
	return false;
}

static bool add_listed(struct cs_snapshot *s, const struct cs_ini *ini, size_t buffer,
		       const struct cs_ini_line *l)
{
	uint32_t source = cs_snapshot_find_device(s, l->key);
	const char *name = s->buffers.data[buffer].name;

	if (!is_listed(l->value, name) || is_in(s, buffer, l->key))
		return true;
	if (source == CS_NO_DEVICE)
		return cs_snapshot_say(s,
				       "%s: a source of buffer %s without a device file: its "
				       "trace is skipped",
				       l->key, name);
	return add_unit(s, ini, source, buffer);
}

static bool add_all(struct cs_snapshot *s, const struct cs_ini *ini, size_t buffer)
{
	for (uint32_t i = 0; i < s->devices.nr; i++) {
		const struct cs_device *d = &s->devices.data[i];

		if ((is_etm4(d) || is_ete(d)) && !add_unit(s, ini, i, buffer))
			return false;
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct trace_unit *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/** A raw buffer is one unit's: the first by name. So is an ID. What can be decoded goes first. */
static void give_ids(struct cs_snapshot *s, struct cs_buffer *b, bool decodable)
{
	bool is_raw = b->format == CS_BUF_RAW;

	for (size_t i = 0; i < b->nr_units; i++) {
		struct trace_unit *u = &s->units.data[b->first_unit + i];
		unsigned int at = is_raw ? 0 : u->id;

		if (u->is_decodable != decodable || (!is_raw && !u->id))
			continue;
		if (!b->unit_of_id[at])
			b->unit_of_id[at] = (uint16_t)(i + 1);
		else if (decodable)
			refuse(u, CLEW_INVALID,
			       is_raw ? "another source has this buffer"
				      : "another source of this buffer has its trace ID");
	}
}

static bool add_units(struct cs_snapshot *s, const struct cs_ini *ini, size_t buffer)
{
	struct cs_buffer *b = &s->buffers.data[buffer];
	bool has_list = false;

	b->first_unit = s->units.nr;
	vec_for_each (ini, l) {
		if (!cs_ini_is(l->section, "source_buffers"))
			continue;
		has_list = true;
		if (!add_listed(s, ini, buffer, l))
			return false;
	}
	if (!has_list && !add_all(s, ini, buffer))
		return false;
	b = &s->buffers.data[buffer];
	b->nr_units = s->units.nr - b->first_unit;
	if (!b->nr_units &&
	    !cs_snapshot_say(s, "trace buffer %s: no source is named for it: skipped", b->name))
		return false;
	if (b->nr_units > 1)
		qsort(s->units.data + b->first_unit, b->nr_units, sizeof(*s->units.data), by_name);
	give_ids(s, b, true);
	give_ids(s, b, false);
	return true;
}

/* --- buffers --- */

static bool find_format(const char *name, uint8_t *ret)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (cs_ini_is(name, formats[i].name)) {
			*ret = (uint8_t)formats[i].format;
			return true;
		}
	}
	return false;
}

bool cs_format_is_known(const char *name)
{
	uint8_t ignored;

	return find_format(name, &ignored);
}

static bool add_buffer(struct cs_snapshot *s, const struct cs_ini *ini, const char *section)
{
	const char *name = cs_ini_get(ini, section, "name");
	const char *file = cs_ini_get(ini, section, "file");
	const char *format = cs_ini_get(ini, section, "format");
	struct cs_buffer b = {.name = name ? name : section, .section = section};

	if (s->buffers.nr == MAX_BUFFERS)
		return true;
	if (!file)
		return cs_snapshot_say(s, "trace buffer %s has no file: skipped", section);
	if (format && *format && !find_format(format, &b.format) &&
	    !cs_snapshot_say(s,
			     "trace buffer %s is of format '%s', which is unknown: assumed to be "
			     "16-byte frames",
			     section, format))
		return false;
	if (!cs_snapshot_file(s, file, "trace", &b.file))
		return false;
	if (b.file == UINT32_MAX)
		return true;
	return vec_push(&s->buffers, b) && add_units(s, ini, s->buffers.nr - 1);
}

/** Has its section been met? Two of one name are one. */
static bool is_known(const struct cs_snapshot *s, const char *section)
{
	vec_for_each (&s->buffers, b) {
		if (cs_ini_is(b->section, section))
			return true;
	}
	return false;
}

static bool note_missing(struct cs_snapshot *s, const struct cs_ini *ini, const char *list)
{
	const char *section;

	while ((section = cs_ini_word(&list, &s->arena))) {
		bool is_there = false;

		vec_for_each (ini, l)
			is_there |= !strcmp(l->section, section);
		if (!is_there && !cs_snapshot_say(s, "trace buffer %s has no section", section))
			return false;
	}
	return true;
}

/** Sessions follow each other as their sections do, whatever the list's order: docs/decisions. */
bool cs_snapshot_buffers(struct cs_snapshot *s, const struct cs_ini *ini)
{
	const char *list = cs_ini_get(ini, "trace_buffers", "buffers");

	if (!list)
		return cs_snapshot_say(s, "the trace metadata lists no buffers");
	for (size_t i = 0; i < ini->nr; i++) {
		const char *section = ini->data[i].section;

		bool is_heading = !i || ini->data[i - 1].section_nr != ini->data[i].section_nr;

		if (is_heading && is_listed(list, section) && !is_known(s, section) &&
		    !add_buffer(s, ini, section))
			return false;
	}
	return note_missing(s, ini, list);
}
