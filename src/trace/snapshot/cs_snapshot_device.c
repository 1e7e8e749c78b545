/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <strings.h>

#include "trace/snapshot/cs_snapshot_impl.h"

enum { MAX_DUMPS = 4096, MAX_DUMPS_TOLD = 16 << 10, MAX_DEVICES = 1024, MAX_CODES = 64 };

static const struct reg_name {
	const char *name;
	enum cs_reg reg;
} reg_names[] = {
	{"TRCCONFIGR",  CS_TRCCONFIGR },
        {"TRCTRACEIDR", CS_TRCTRACEIDR},
        {"TRCIDR0",     CS_TRCIDR0    },
	{"TRCIDR1",     CS_TRCIDR1    },
        {"TRCIDR2",     CS_TRCIDR2    },
        {"TRCIDR8",     CS_TRCIDR8    },
	{"TRCDEVARCH",  CS_TRCDEVARCH },
        {"ETMTRACEIDR", CS_ETMTRACEIDR},
        {"STMTCSR",     CS_STMTCSR    },
	{"ITMTCR",      CS_ITMTCR     },
        {"ITM_CTRL",    CS_ITMTCR     },
};

/** @p name of @p n characters. NULL: not asked for. */
static const struct reg_name *reg_of(const char *name, size_t n)
{
	for (size_t i = 0; i < sizeof(reg_names) / sizeof(*reg_names); i++) {
		const struct reg_name *r = &reg_names[i];

		if (strlen(r->name) == n && !strncasecmp(name, r->name, n))
			return r;
	}
	return NULL;
}

bool cs_reg_is_known(const char *name)
{
	return reg_of(name, strlen(name));
}

static const struct space {
	const char *name;
	uint16_t seen_by;
} spaces[] = {
	{"ANY",  CODE_SEEN_BY_ALL   },
        {"EL1S", CODE_SEEN_EL1S     },
        {"EL1N", CODE_SEEN_EL1N     },
	{"EL1R", CODE_SEEN_EL1R     },
        {"EL2S", CODE_SEEN_EL2S     },
        {"EL2",  CODE_SEEN_EL2N     },
	{"EL2N", CODE_SEEN_EL2N     },
        {"EL2R", CODE_SEEN_EL2R     },
        {"EL3",  CODE_SEEN_EL3      },
	{"ROOT", CODE_SEEN_ROOT     },
        {"S",    CODE_SEEN_SECURE   },
        {"N",    CODE_SEEN_NONSECURE},
	{"R",    CODE_SEEN_REALM    },
        {"H",    CODE_SEEN_EL2N     }, /* the names of older files */
	{"P",    CODE_SEEN_EL1N     },
        {"NP",   CODE_SEEN_EL1N     },
        {"SP",   CODE_SEEN_EL1S     },
};

static bool is_section(const struct cs_ini_line *l, const char *name)
{
	return cs_ini_is(l->section, name);
}

static bool is_dump(const struct cs_ini_line *l)
{
	return !strncasecmp(l->section, "dump", 4);
}

/** "TRCIDR0(0x078)", "PC(size:64)": the name ends at the bracket. */
static void take_reg(struct cs_device *d, const struct cs_ini_line *l)
{
	const struct reg_name *r = reg_of(l->key, strcspn(l->key, "( \t"));
	uint64_t v;

	if (!r || !cs_ini_number(l->value, &v))
		return;
	/* A version of 0 is no unit's: it was not read. */
	if (!v && (r->reg == CS_TRCIDR1 || r->reg == CS_TRCDEVARCH))
		return;
	d->regs[r->reg] = (uint32_t)v;
	d->has |= 1u << r->reg;
}

static void take_line(struct cs_device *d, const struct cs_ini_line *l)
{
	if (is_section(l, "regs"))
		take_reg(d, l);
	else if (!is_section(l, "device"))
		return;
	else if (cs_ini_is(l->key, "name"))
		d->name = l->value;
	else if (cs_ini_is(l->key, "class"))
		d->class_name = l->value;
	else if (cs_ini_is(l->key, "type"))
		d->type = l->value;
}

/* --- memory --- */

struct dump_text {
	const char *section, *file, *address, *length, *offset, *space;
};

static void take_dump_line(struct dump_text *t, const struct cs_ini_line *l)
{
	const struct {
		const char *key, **to;
	} keys[] = {
		{"file",    &t->file   },
                {"address", &t->address},
                {"length",  &t->length },
		{"offset",  &t->offset },
                {"space",   &t->space  },
	};

	t->section = l->section;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (cs_ini_is(l->key, keys[i].key))
			*keys[i].to = l->value;
	}
}

static bool find_space(const char *name, uint16_t *ret)
{
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		if (cs_ini_is(name, spaces[i].name)) {
			*ret = spaces[i].seen_by;
			return true;
		}
	}
	return false;
}

static bool is_known(const struct cs_snapshot *s, const struct cs_dump *d)
{
	vec_for_each (&s->dumps, o) {
		if (o->device == d->device && o->file == d->file && o->address == d->address &&
		    o->offset == d->offset && o->size == d->size && o->seen_by == d->seen_by)
			return true;
	}
	return false;
}

/** What of the file there is: a dump may be longer, by the .ini, than its file. A length of 0 is
 * none. */
static void limit_size(const struct os_map *m, struct cs_dump *d)
{
	uint64_t left = d->offset < m->size ? m->size - d->offset : 0;

	if (!d->size || d->size > left)
		d->size = left;
}

static bool add_dump(struct cs_snapshot *s, const char *ini, const struct dump_text *t)
{
	struct cs_dump d = {.device = (uint32_t)s->devices.nr, .seen_by = CODE_SEEN_BY_ALL};

	if (!t->file || !t->address || !cs_ini_number(t->address, &d.address))
		return cs_snapshot_say(s, "%s: [%s] has no file or no address: skipped", ini,
				       t->section);
	if ((t->offset && !cs_ini_number(t->offset, &d.offset)) ||
	    (t->length && !cs_ini_number(t->length, &d.size)))
		return cs_snapshot_say(s,
				       "%s: [%s] has an offset or length that is not a number: "
				       "skipped",
				       ini, t->section);
	if (t->space && !find_space(t->space, &d.seen_by) &&
	    !cs_snapshot_say(s, "%s: [%s] is in space '%s', which is unknown: assumed to be in all",
			     ini, t->section, t->space))
		return false;
	if (s->dumps.nr == MAX_DUMPS || s->nr_dumps_listed > MAX_DUMPS_TOLD)
		return true;
	/* Each name that is new is looked for among all others. */
	if (++s->nr_dumps_listed > MAX_DUMPS_TOLD)
		return cs_snapshot_say(s, "more than %u [dump] sections: the others are skipped",
				       MAX_DUMPS_TOLD);
	if (!cs_snapshot_file(s, t->file, "memory", &d.file))
		return false;
	if (d.file == UINT32_MAX)
		return true;
	limit_size(&s->files.data[d.file].map, &d);
	if (!d.size || is_known(s, &d))
		return true;
	if (s->dumps.nr + 1 == MAX_DUMPS &&
	    !cs_snapshot_say(s, "more than %u memory dumps: the others are skipped", MAX_DUMPS))
		return false;
	return vec_push(&s->dumps, d);
}

static bool take_dumps(struct cs_snapshot *s, const char *file, const struct cs_ini *ini)
{
	for (size_t i = 0; i < ini->nr;) {
		const struct cs_ini_line *first = &ini->data[i];
		struct dump_text t = {0};

		for (; i < ini->nr && ini->data[i].section_nr == first->section_nr; i++)
			take_dump_line(&t, &ini->data[i]);
		if (is_dump(first) && !add_dump(s, file, &t))
			return false;
	}
	return true;
}

bool cs_device_is_core(const struct cs_device *d)
{
	return cs_ini_is(d->class_name, "core") || cs_ini_is(d->type, "core");
}

uint32_t cs_snapshot_find_device(const struct cs_snapshot *s, const char *name)
{
	vec_for_each (&s->devices, d) {
		if (!strcmp(d->name, name))
			return (uint32_t)(d - s->devices.data);
	}
	return CS_NO_DEVICE;
}

bool cs_snapshot_device_of(struct cs_snapshot *s, const char *file, const struct cs_ini *ini)
{
	struct cs_device d = {.name = "", .class_name = "", .type = ""};

	vec_for_each (ini, l)
		take_line(&d, l);
	return take_dumps(s, file, ini) && vec_push(&s->devices, d);
}

bool cs_snapshot_device(struct cs_snapshot *s, const char *file)
{
	struct cs_ini ini = {0};
	bool is_there, ok;

	if (s->devices.nr == MAX_DEVICES)
		return true;
	if (cs_snapshot_ini_is_known(s, file)) {
		s->nr_inis_again++;
		return true;
	}
	if (!cs_snapshot_ini_file(s, file, &ini, &is_there))
		return false;
	if (!is_there)
		return true;
	ok = cs_snapshot_device_of(s, file, &ini);
	vec_done(&ini);
	return ok;
}

static bool is_same_place(const struct cs_dump *a, const struct cs_dump *b)
{
	return a->file == b->file && a->address == b->address && a->offset == b->offset;
}

static bool overlap(const struct cs_dump *a, const struct cs_dump *b)
{
	return (a->address <= b->address ? b->address - a->address < a->size
					 : a->address - b->address < b->size) &&
	       a->seen_by & b->seen_by;
}

/** Does it matter which core's dumps are asked first? Mostly all cores have the same. */
static bool has_conflict(const struct cs_snapshot *s)
{
	vec_for_each (&s->dumps, a) {
		for (const struct cs_dump *b = s->dumps.data; b < a; b++) {
			if (a->device != b->device && overlap(a, b) && !is_same_place(a, b))
				return true;
		}
	}
	return false;
}

static bool add_dumps(const struct cs_snapshot *s, struct code_map *map, uint32_t core, bool own)
{
	vec_for_each (&s->dumps, d) {
		const uint8_t *bytes = s->files.data[d->file].map.data + d->offset;

		if ((d->device == core) == own &&
		    !code_map_add(map, d->address, bytes, d->size, d->seen_by))
			return false;
	}
	return true;
}

const struct code_source *cs_snapshot_code(struct cs_snapshot *s, uint32_t core)
{
	struct cs_code *c;

	if (!s->codes.nr)
		s->has_one_code = !has_conflict(s);
	if (s->has_one_code || s->codes.nr >= MAX_CODES)
		core = CS_NO_DEVICE;
	vec_for_each (&s->codes, known) {
		if (known->device == core)
			return known->source;
	}
	if (!vec_push(&s->codes, (struct cs_code){.device = core}))
		return NULL;
	c = &s->codes.data[s->codes.nr - 1];
	c->map = code_map_new();
	if (c->map && add_dumps(s, c->map, core, true) && add_dumps(s, c->map, core, false))
		c->source = code_map_source(c->map);
	return c->source;
}
