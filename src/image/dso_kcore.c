/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "image/dso_kcore.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "os/file.h"

enum {
	MAX_SEGMENTS = 4096,
	MAX_PIECES = 64,
	PIECE_BYTES = 1 << 20,
	PIECE_ALIGN = 1 << 16, /* before what is asked for */
	LEAST_AFTER = 1 << 16, /* a function may follow */
};

struct piece {
	uint64_t start, end;
	bool is_last; /* nothing can be read after it: the segment, or the file, ends */
	uint8_t *bytes;
};

struct dso_kcore {
	int fd;
	const char *why; /* it cannot be read */
	struct {
		VEC(Elf64_Phdr);
	} segments;
	struct {
		VEC(struct piece);
	} pieces;
};

void dso_kcore_free(struct dso_kcore *k)
{
	if (!k)
		return;
	vec_for_each (&k->pieces, p)
		mem_free(p->bytes);
	vec_done(&k->pieces);
	vec_done(&k->segments);
	if (k->fd >= 0)
		os_close(k->fd);
	mem_free(k);
}

/** Of this machine, so in its byte order. */
static bool is_core(const Elf64_Ehdr *h)
{
	return !memcmp(h->e_ident, ELFMAG, SELFMAG) && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_type == ET_CORE && h->e_phentsize == sizeof(Elf64_Phdr) &&
	       h->e_phnum <= MAX_SEGMENTS;
}

static bool read_segments(struct dso_kcore *k)
{
	Elf64_Ehdr h;

	if (os_read_all_at(k->fd, &h, sizeof(h), 0) || !is_core(&h))
		return false;
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		uint64_t at;
		Elf64_Phdr p;

		if (__builtin_add_overflow(h.e_phoff, i * sizeof(p), &at) ||
		    os_read_all_at(k->fd, &p, sizeof(p), at))
			return false;
		if (p.p_type == PT_LOAD && p.p_filesz <= UINT64_MAX - p.p_vaddr &&
		    !vec_push(&k->segments, p))
			return false;
	}
	return true;
}

static struct dso_kcore *kcore_of(struct dso_store *s)
{
	clew_auto(buf_done) struct buf path = {0};
	struct dso_kcore *k = s->kcore;

	if (k)
		return k;
	k = mem_zalloc(sizeof(*k));
	if (!k)
		return NULL;
	dso_running_path(s, DSO_RUNNING_KCORE, &path);
	k->fd = os_open_read(buf_cstr(&path));
	if (k->fd == -EACCES || k->fd == -EPERM)
		k->why = "no image of this kernel: -k names one; root may read /proc/kcore";
	else if (k->fd < 0)
		k->why = "no image of this kernel: -k names one";
	else if (!read_segments(k))
		k->why = "no image of this kernel: -k names one; /proc/kcore cannot be read";
	s->kcore = k;
	return k;
}

static const Elf64_Phdr *segment_of(const struct dso_kcore *k, uint64_t address)
{
	vec_for_each (&k->segments, p) {
		if (address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/** @return false: unreadable from @p p->start on. */
static bool fill(const struct dso_kcore *k, const Elf64_Phdr *of, struct piece *p)
{
	size_t size = (size_t)(p->end - p->start), nr = 0;
	uint64_t at;
	long got = 1;

	if (__builtin_add_overflow(of->p_offset, p->start - of->p_vaddr, &at) || at > INT64_MAX)
		return false;
	while (nr < size && got > 0) {
		got = os_read_at(k->fd, p->bytes + nr, size - nr, at + nr);
		nr += got > 0 ? (size_t)got : 0;
	}
	p->end = p->start + nr;
	p->is_last = nr < size || p->end == of->p_vaddr + of->p_filesz;
	return nr;
}

/** With @p least bytes from @p address on, or all there are. */
static struct piece *known(const struct dso_kcore *k, uint64_t address, uint64_t least)
{
	vec_for_each (&k->pieces, p) {
		if (address >= p->start && address < p->end &&
		    (p->end - address >= least || p->is_last))
			return p;
	}
	return NULL;
}

/** NULL: no room, or nothing is readable there. */
static struct piece *read_piece(struct dso_store *s, const Elf64_Phdr *of, uint64_t address)
{
	struct dso_kcore *k = s->kcore;
	uint64_t before = address & (PIECE_ALIGN - 1), end = of->p_vaddr + of->p_filesz;
	struct piece p = {.start = address};
	uint64_t size;

	p.start -= before < address - of->p_vaddr ? before : address - of->p_vaddr;
	p.end = end - p.start < PIECE_BYTES ? end : p.start + PIECE_BYTES;
	size = p.end - p.start;
	if (k->pieces.nr >= MAX_PIECES || !dso_store_charge(s, size, "the code of", "/proc/kcore"))
		return NULL;
	p.bytes = mem_alloc((size_t)size);
	if (p.bytes && fill(k, of, &p) && address < p.end && vec_push(&k->pieces, p))
		return &k->pieces.data[k->pieces.nr - 1];
	mem_free(p.bytes);
	dso_store_uncharge(s, size);
	return NULL;
}

const char *dso_kcore_find(struct dso_store *s, uint64_t address, struct code_region *ret)
{
	struct dso_kcore *k = kcore_of(s);
	const Elf64_Phdr *of;
	struct piece *p;

	if (!k)
		return "out of memory";
	if (k->why)
		return k->why;
	of = segment_of(k, address);
	if (!of)
		return "not in /proc/kcore";
	p = known(k, address, LEAST_AFTER);
	p = p ? p : read_piece(s, of, address);
	p = p ? p : known(k, address, 1);
	if (!p)
		return "it cannot be read from /proc/kcore";
	*ret = (struct code_region){p->start, p->end, p->bytes};
	return NULL;
}
