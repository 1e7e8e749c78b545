/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "os/dir.h"
#include "os/file.h"

enum { PATH_BYTES = 4096 };

static const char *join(struct arena *a, const char *dir, const char *name)
{
	size_t n = strlen(dir), m = strlen(name);
	char *s = arena_alloc(a, n + m + 2);

	if (s) {
		memcpy(s, dir, n);
		s[n] = '/';
		memcpy(s + n + 1, name, m + 1);
	}
	return s;
}

static const char *read_below(struct arena *a, const char *dir, const char *file)
{
	char path[PATH_BYTES];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return NULL;
	return os_read_line(path, a);
}

static bool exists_below(const char *dir, const char *file)
{
	char path[PATH_BYTES];

	return (size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) < sizeof(path) &&
	       os_exists(path);
}

static bool to_number(const char *s, uint64_t *ret)
{
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	*ret = strtoull(s, &end, 0);
	return !*end;
}

bool os_pmu_number(const struct os_pmu *pmu, const char *file, uint64_t *ret)
{
	struct arena a = {0};
	bool is_ok = to_number(read_below(&a, pmu->dir, file), ret);

	arena_done(&a);
	return is_ok;
}

static bool to_hex(const char *s, uint64_t *ret)
{
	if (s && !strncmp(s, "0x", 2))
		s += 2;
	if (!s || !*s || s[strspn(s, "0123456789abcdefABCDEF")])
		return false;
	*ret = strtoull(s, NULL, 16);
	return true;
}

bool os_pmu_hex(const struct os_pmu *pmu, const char *file, uint64_t *ret)
{
	struct arena a = {0};
	bool is_ok = to_hex(read_below(&a, pmu->dir, file), ret);

	arena_done(&a);
	return is_ok;
}

bool os_pmu_signed(const struct os_pmu *pmu, const char *file, int64_t *ret)
{
	struct arena a = {0};
	const char *text = read_below(&a, pmu->dir, file);
	bool is_negative = text && *text == '-';
	uint64_t v = 0;
	bool is_ok = text && to_number(text + is_negative, &v) && v <= INT64_MAX;

	if (is_ok)
		*ret = is_negative ? -(int64_t)v : (int64_t)v;
	arena_done(&a);
	return is_ok;
}

bool os_pmu_text(const struct os_pmu *pmu, const char *file, char *ret, size_t size)
{
	struct arena a = {0};
	const char *text = read_below(&a, pmu->dir, file);
	bool is_ok = text && strlen(text) < size;

	if (is_ok)
		memcpy(ret, text, strlen(text) + 1);
	arena_done(&a);
	return is_ok;
}

bool os_pmu_has(const struct os_pmu *pmu, const char *file)
{
	return exists_below(pmu->dir, file);
}

const struct os_pmu_format *os_pmu_format_find(const struct os_pmu *pmu, const char *name,
					       size_t name_len)
{
	vec_for_each (&pmu->formats, f) {
		if (strlen(f->name) == name_len && !memcmp(f->name, name, name_len))
			return f;
	}
	return NULL;
}

const char *os_pmus_cpu_line(struct os_pmus *pmus, const char *file)
{
	const char *dir = join(&pmus->memory, pmus->sysfs, "devices/system/cpu");

	return dir ? read_below(&pmus->memory, dir, file) : NULL;
}

bool os_pmus_cpu_hex(struct os_pmus *pmus, const char *file, uint64_t *ret)
{
	return to_hex(os_pmus_cpu_line(pmus, file), ret);
}

/* "0-7" or "32" */
static bool parse_range(const char **pos, uint64_t *mask)
{
	char *end;
	unsigned long from, to;

	if (**pos < '0' || **pos > '9')
		return false;
	from = to = strtoul(*pos, &end, 10);
	if (*end == '-')
		to = strtoul(end + 1, &end, 10);
	if (from > 63 || to > 63 || from > to)
		return false;
	*mask |= (to - from == 63 ? UINT64_MAX : (1ull << (to - from + 1)) - 1) << from;
	*pos = end;
	return true;
}

bool os_pmu_format_parse(const char *text, struct os_pmu_format *ret)
{
	uint64_t mask = 0;
	uint8_t config = 0;

	if (strncmp(text, "config", 6))
		return false;
	text += 6;
	if (*text >= '1' && *text <= '4')
		config = (uint8_t)(*text++ - '0');
	if (*text++ != ':')
		return false;
	do {
		if (!parse_range(&text, &mask))
			return false;
	} while (*text++ == ',');
	if (text[-1])
		return false;
	ret->config = config;
	ret->mask = mask;
	return true;
}

/* A core PMU is "cpu", or names the CPUs it is part of (Arm, and cpu_core, cpu_atom of hybrids). */
static bool is_core(const char *name, const char *dir)
{
	return !strcmp(name, "cpu") || (exists_below(dir, "cpus") && exists_below(dir, "events"));
}

static enum clew_err add_pmu(struct os_pmus *pmus, const char *devices, const char *name)
{
	struct arena *a = &pmus->memory;
	struct os_pmu pmu = {.name = name, .dir = join(a, devices, name)};
	uint64_t type;

	if (!pmu.dir)
		return CLEW_NO_MEMORY;
	if (!to_number(read_below(a, pmu.dir, "type"), &type) || type > UINT32_MAX)
		return CLEW_OK;
	pmu.type = (uint32_t)type;
	pmu.is_core = is_core(name, pmu.dir);
	pmu.cpus = read_below(a, pmu.dir, "cpumask");
	if (!pmu.cpus)
		pmu.cpus = read_below(a, pmu.dir, "cpus");
	return vec_push(&pmus->pmus, pmu) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err add_pmus(struct os_pmus *pmus, struct clew_diag *diag)
{
	const char *devices = join(&pmus->memory, pmus->sysfs, "bus/event_source/devices");
	struct os_names names = {0};
	enum clew_err err;

	if (!devices)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	err = os_dir_names(devices, &pmus->memory, &names, diag);
	for (size_t i = 0; !err && i < names.nr; i++)
		err = add_pmu(pmus, devices, names.data[i]);
	vec_done(&names);
	return err;
}

enum clew_err os_pmus_read(const char *sysfs, struct os_pmus *ret, struct clew_diag *diag)
{
	enum clew_err err = CLEW_NO_MEMORY;

	*ret = (struct os_pmus){0};
	if (!sysfs)
		sysfs = "/sys";
	ret->sysfs = arena_strndup(&ret->memory, sysfs, strlen(sysfs));
	if (ret->sysfs)
		err = add_pmus(ret, diag);
	if (err)
		os_pmus_done(ret);
	return err;
}

static enum clew_err load_formats(struct os_pmus *pmus, struct os_pmu *pmu, const char *dir,
				  const struct os_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		struct os_pmu_format f = {.name = names->data[i]};
		const char *text = read_below(&pmus->memory, dir, f.name);

		if (text && os_pmu_format_parse(text, &f) && !vec_push(&pmu->formats, f))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/* NAME.unit, NAME.scale, NAME.snapshot and NAME.per-pkg describe an event, they are none. */
static bool is_attribute(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".unit") || !strcmp(dot, ".scale") ||
		       !strcmp(dot, ".snapshot") || !strcmp(dot, ".per-pkg"));
}

static enum clew_err load_events(struct os_pmus *pmus, struct os_pmu *pmu, const char *dir,
				 const struct os_names *names)
{
	for (size_t i = 0; i < names->nr; i++) {
		struct os_pmu_event e = {.name = names->data[i]};

		if (is_attribute(e.name))
			continue;
		e.terms = read_below(&pmus->memory, dir, e.name);
		if (e.terms && !vec_push(&pmu->events, e))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

enum clew_err os_pmu_load(struct os_pmus *pmus, struct os_pmu *pmu)
{
	const char *formats = join(&pmus->memory, pmu->dir, "format");
	const char *events = join(&pmus->memory, pmu->dir, "events");
	struct os_names format_names = {0}, event_names = {0};
	enum clew_err err = CLEW_NO_MEMORY;

	if (pmu->is_loaded)
		return CLEW_OK;
	if (formats && events) {
		os_dir_names(formats, &pmus->memory, &format_names, NULL);
		os_dir_names(events, &pmus->memory, &event_names, NULL);
		err = load_formats(pmus, pmu, formats, &format_names);
		if (!err)
			err = load_events(pmus, pmu, events, &event_names);
	}
	vec_done(&format_names);
	vec_done(&event_names);
	pmu->is_loaded = !err;
	return err;
}

struct os_pmu *os_pmus_find(struct os_pmus *pmus, const char *name, size_t name_len)
{
	vec_for_each (&pmus->pmus, p) {
		if (strlen(p->name) == name_len && !memcmp(p->name, name, name_len))
			return p;
	}
	return NULL;
}

void os_pmus_done(struct os_pmus *pmus)
{
	vec_for_each (&pmus->pmus, p) {
		vec_done(&p->formats);
		vec_done(&p->events);
	}
	vec_done(&pmus->pmus);
	arena_done(&pmus->memory);
}
