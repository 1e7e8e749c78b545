/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_code.h"

#include <string.h>

#include "base/buf.h"
#include "isa/x86/x86_branch.h"
#include "os/file.h"
#include "os/proc_map.h"
#include "os/ptrace.h"

enum {
	MAX_INSNS = 512, /* of a block: then SOFT_STOP_PLAIN */
	MAX_JUMPS = 64,
	MAX_BLOCKS = 1 << 20,
	INT3 = 0xcc,
	INT_N = 0xcd,
	SYSTEM_CALL = 0x80,
};

static bool add_map(struct soft_code *c, const struct proc_map *m)
{
	bool is_file = m->ino || (m->name_bytes && *m->name == '/');
	struct soft_map n = {.start = m->start,
			     .end = m->end,
			     .offset = m->offset,
			     .prot = m->prot,
			     .is_file =
				     is_file || (m->name_bytes && !strncmp(m->name, "[vdso]", 6)),
			     .path = mem_strndup(m->name, m->name_bytes)};

	if (n.path && vec_push(&c->maps, n))
		return true;
	mem_free(n.path);
	return false;
}

static void forget_maps(struct soft_code *c)
{
	vec_for_each (&c->maps, m)
		mem_free(m->path);
	c->maps.nr = 0;
	c->has_maps = false;
}

void soft_code_read_maps(struct soft_code *c)
{
	struct buf text = {0};
	struct proc_map m;
	const char *at;

	if (c->has_maps)
		return;
	c->has_maps = true;
	if (proc_maps_read((uint32_t)c->pid, &text)) {
		at = buf_cstr(&text);
		while (proc_map_next(&at, &m))
			if (!add_map(c, &m))
				break;
	}
	buf_done(&text);
}

const struct soft_map *soft_code_map(struct soft_code *c, uint64_t address)
{
	soft_code_read_maps(c);
	vec_for_each (&c->maps, m)
		if (address >= m->start && address < m->end)
			return m;
	return NULL;
}

void soft_code_forget(struct soft_code *c)
{
	forget_maps(c);
	vec_for_each (&c->pages, p)
		mem_free(*p);
	c->pages.nr = c->blocks.nr = 0;
	map_u64_done(&c->page_of);
	map_u64_done(&c->block_of);
	c->page_of = c->block_of = (struct map_u64){0};
}

void soft_code_done(struct soft_code *c)
{
	soft_code_forget(c);
	vec_done(&c->maps);
	vec_done(&c->pages);
	vec_done(&c->blocks);
}

/* The kernel's probes (uprobe) put INT3 over an instruction: the file has it. */
static void mend(struct soft_code *c, struct soft_page *p, const struct soft_map *m)
{
	char path[PROC_MAP_FILE_BYTES];
	uint8_t code[SOFT_PAGE];
	int fd;

	if (!memchr(p->code, INT3, sizeof(p->code)) || *m->path != '/')
		return;
	proc_map_file(path, (uint32_t)c->pid, m->start, m->end);
	fd = os_open_read(path);
	if (fd < 0)
		return;
	if (os_read_at(fd, code, sizeof(code), p->address - m->start + m->offset) ==
	    (long)sizeof(code))
		for (size_t i = 0; i < sizeof(code); i++)
			if (p->code[i] == INT3)
				p->code[i] = code[i];
	os_close(fd);
}

static bool read_page(struct soft_code *c, struct soft_page *p)
{
	const struct soft_map *m = soft_code_map(c, p->address);

	if (os_task_read(c->pid, p->address, p->code, SOFT_PAGE) != SOFT_PAGE)
		return false;
	p->is_fixed = m && m->is_file && !(m->prot & PROC_MAP_W);
	if (p->is_fixed)
		mend(c, p, m);
	return true;
}

/* @return NULL: it cannot be read. */
static struct soft_page *page_at(struct soft_code *c, uint64_t address)
{
	uint64_t *found = map_u64_get(&c->page_of, address);
	struct soft_page *p = found ? c->pages.data[*found] : mem_alloc(sizeof(*p));

	if (!p || (found && p->is_fixed))
		return p;
	p->address = address;
	if (!read_page(c, p)) {
		if (!found)
			mem_free(p);
		return NULL;
	}
	if (found)
		return p;
	if (vec_push(&c->pages, p) && map_u64_put(&c->page_of, address, c->pages.nr - 1))
		return p;
	mem_free(p);
	return NULL;
}

/* Where decoding is: bytes of one or two pages. */
struct view {
	struct soft_code *c;
	struct soft_page *page;
	bool is_changing;
	uint8_t crossing[X86_MAX_BYTES];
};

static bool look(struct view *v, uint64_t ip)
{
	uint64_t address = ip & ~(uint64_t)(SOFT_PAGE - 1);

	if (v->page && v->page->address == address)
		return true;
	v->page = page_at(v->c, address);
	if (v->page)
		v->is_changing |= !v->page->is_fixed;
	return v->page;
}

/* @return how many bytes there are at @p ip. */
static size_t bytes_at(struct view *v, uint64_t ip, const uint8_t **ret)
{
	size_t at = ip & (SOFT_PAGE - 1), n = SOFT_PAGE - at;

	if (!look(v, ip))
		return 0;
	*ret = v->page->code + at;
	if (n >= X86_MAX_BYTES)
		return X86_MAX_BYTES;
	memcpy(v->crossing, *ret, n);
	*ret = v->crossing;
	if (!look(v, ip + n))
		return n;
	memcpy(v->crossing + n, v->page->code, X86_MAX_BYTES - n);
	return X86_MAX_BYTES;
}

static enum soft_stop kind_of(const struct insn *i, const uint8_t *code, bool is_64,
			      struct soft_block *b)
{
	switch (i->kind) {
	case INSN_COND:
	case INSN_INDIRECT:
		b->is_conditional = i->kind == INSN_COND;
		b->is_link = (i->flags & INSN_LINK) != 0;
		b->target = i->target;
		return x86_outcome_of(is_64 ? ISA_X86_64 : ISA_X86_32, code, i->bytes, b->stop,
				      &b->outcome)
			     ? SOFT_STOP_BRANCH
			     : SOFT_STOP_STEP;
	case INSN_FAR:
		return i->detail == X86_SYSCALL ? SOFT_STOP_CALL : SOFT_STOP_STEP;
	case INSN_SPECIAL:
		if (i->detail != X86_INT)
			return SOFT_STOP_PLAIN;
		return code[0] == INT_N && code[1] == SYSTEM_CALL ? SOFT_STOP_CALL : SOFT_STOP_TRAP;
	case INSN_TSTART:
		return SOFT_STOP_STEP;
	default:
		return SOFT_STOP_PLAIN;
	}
}

static void scan(struct soft_code *c, bool is_64, struct soft_block *b)
{
	struct view v = {.c = c};
	const uint8_t *code = NULL;
	unsigned int nr_jumps = 0;
	struct insn i;

	for (unsigned int nr = 0; nr < MAX_INSNS; nr++) {
		size_t n = bytes_at(&v, b->stop, &code);

		b->kind = SOFT_STOP_NONE;
		b->is_changing = v.is_changing;
		if (!n || x86_decode(is_64 ? ISA_X86_64 : ISA_X86_32, code, n, b->stop, &i))
			return;
		b->bytes = i.bytes;
		if (i.kind == INSN_BRANCH) {
			if (++nr_jumps > MAX_JUMPS)
				return;
			b->stop = i.target;
			continue;
		}
		b->kind = (uint8_t)kind_of(&i, code, is_64, b);
		if (b->kind != SOFT_STOP_PLAIN)
			return;
		b->stop += i.bytes;
	}
	b->kind = SOFT_STOP_PLAIN;
}

uint64_t soft_code_after(struct soft_code *c, uint64_t ip, bool is_64)
{
	struct view v = {.c = c};
	const uint8_t *code = NULL;
	size_t n = bytes_at(&v, ip, &code);
	struct insn i;

	if (!n || x86_decode(is_64 ? ISA_X86_64 : ISA_X86_32, code, n, ip, &i) ||
	    i.kind != INSN_PLAIN)
		return 0;
	return ip + i.bytes;
}

const struct soft_block *soft_code_block(struct soft_code *c, uint64_t ip, bool is_64)
{
	uint64_t key = ip ^ (uint64_t)is_64 << 63;
	uint64_t *found = map_u64_get(&c->block_of, key);
	struct soft_block b = {.start = ip, .stop = ip};

	if (found)
		return &c->blocks.data[*found];
	if (c->blocks.nr >= MAX_BLOCKS)
		soft_code_forget(c);
	scan(c, is_64, &b);
	if (b.is_changing || b.kind == SOFT_STOP_NONE) {
		c->changing = b;
		return &c->changing;
	}
	if (!vec_push(&c->blocks, b) || !map_u64_put(&c->block_of, key, c->blocks.nr - 1))
		return NULL;
	return &c->blocks.data[c->blocks.nr - 1];
}
