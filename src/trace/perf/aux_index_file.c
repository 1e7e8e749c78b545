/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/mem.h"
#include "os/create.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/output.h"
#include "trace/perf/perf_trace_impl.h"

/*
 * An index as a file, FILE.clew-index. All is little-endian:
 *
 *	"clewidx1"  size, mtime_ns, head: u64 of the recording  nr_rings: u32
 *	each ring:   cpu, tid: u32  nr: u64
 *	             nr times: offset: u64 (ascending)  has << 56 | stamp: u64
 *	check: u64, a hash of all before
 *
 * What does not fit is made again; so it is only a matter of time, not of results. A place that is
 * used is compared with the trace first (aux_wanted.c).
 */

static const char magic[8] = {'c', 'l', 'e', 'w', 'i', 'd', 'x', '1'};

enum {
	PLACE_BYTES = 16,
	RING_BYTES = 16,
	HEAD_BYTES = 4096,        /* of the recording, hashed */
	PAYS_BYTES = 8 << 20,     /* of trace; to scan less is as fast as to read a file */
	MAX_FILE_BYTES = 1 << 30, /* of an index */
	MAX_PATH = 4096,
};

static uint64_t check_of(const void *data, size_t size)
{
	return hash_bytes(data, size);
}

void aux_index_write(const struct aux_index *x, const struct aux_index_key *key, struct buf *ret)
{
	size_t from = ret->nr;

	buf_add(ret, magic, sizeof(magic));
	buf_le64(ret, key->size);
	buf_le64(ret, key->mtime_ns);
	buf_le64(ret, key->head);
	buf_le32(ret, (uint32_t)x->nr);
	vec_for_each (x, ring) {
		buf_le32(ret, ring->cpu);
		buf_le32(ret, ring->tid);
		buf_le64(ret, ring->places.nr);
		vec_for_each (&ring->places, s) {
			buf_le64(ret, s->offset);
			buf_le64(ret, (uint64_t)s->has << AUX_SYNC_STAMP_BITS | s->stamp);
		}
	}
	if (!ret->is_failed)
		buf_le64(ret, check_of(ret->data + from, ret->nr - from));
}

/* --- reading --- */

static bool take_u64(struct bytes *in, uint64_t *ret)
{
	if (!bytes_u64(in, false, ret))
		return false;
	*ret = le64toh(*ret);
	return true;
}

static bool take_u32(struct bytes *in, uint32_t *ret)
{
	if (!bytes_u32(in, false, ret))
		return false;
	*ret = le32toh(*ret);
	return true;
}

/** The hash at the end is that of all before it, which is *@p in from then on. */
static bool take_check(struct bytes *in)
{
	struct bytes end;
	uint64_t check;

	if (bytes_left(in) < sizeof(check))
		return false;
	end = bytes_of(in->end - sizeof(check), sizeof(check));
	in->end = end.pos;
	return take_u64(&end, &check) && check == check_of(in->pos, bytes_left(in));
}

static bool take_key(struct bytes *in, const struct aux_index_key *key)
{
	struct aux_index_key k;
	struct bytes m;

	return bytes_take(in, sizeof(magic), &m) && !memcmp(m.pos, magic, sizeof(magic)) &&
	       take_u64(in, &k.size) && take_u64(in, &k.mtime_ns) && take_u64(in, &k.head) &&
	       k.size == key->size && k.mtime_ns == key->mtime_ns && k.head == key->head;
}

static enum clew_err take_places(struct bytes *in, struct aux_index_ring *ring, uint64_t nr)
{
	if (nr > bytes_left(in) / PLACE_BYTES)
		return CLEW_BAD_FILE;
	if (!vec_reserve(&ring->places, (size_t)nr))
		return CLEW_NO_MEMORY;
	for (uint64_t i = 0; i < nr; i++) {
		struct aux_sync s;
		uint64_t word;

		if (!take_u64(in, &s.offset) || !take_u64(in, &word))
			return CLEW_BAD_FILE;
		s.stamp = word & ((UINT64_C(1) << AUX_SYNC_STAMP_BITS) - 1);
		s.has = (uint8_t)(word >> AUX_SYNC_STAMP_BITS);
		if (s.has > AUX_SYNC_ALL || (i && s.offset <= ring->places.data[i - 1].offset))
			return CLEW_BAD_FILE;
		ring->places.data[ring->places.nr++] = s;
	}
	return CLEW_OK;
}

static enum clew_err take_rings(struct aux_index *x, struct bytes *in)
{
	uint32_t nr;

	if (!take_u32(in, &nr) || nr > bytes_left(in) / RING_BYTES)
		return CLEW_BAD_FILE;
	for (uint32_t i = 0; i < nr; i++) {
		struct aux_index_ring ring = {0};
		enum clew_err err;
		uint64_t places;

		if (!take_u32(in, &ring.cpu) || !take_u32(in, &ring.tid) || !take_u64(in, &places))
			return CLEW_BAD_FILE;
		if (!vec_push(x, ring))
			return CLEW_NO_MEMORY;
		err = take_places(in, &x->data[i], places);
		if (err)
			return err;
	}
	return bytes_left(in) ? CLEW_BAD_FILE : CLEW_OK;
}

enum clew_err aux_index_read(struct aux_index *x, const struct aux_index_key *key, struct bytes in)
{
	enum clew_err err;

	if (!take_check(&in) || !take_key(&in, key))
		return CLEW_BAD_FILE;
	err = take_rings(x, &in);
	if (err)
		aux_index_done(x);
	return err;
}

/* --- beside the recording --- */

static bool path_of(const struct perf_trace *p, const char *tail, char ret[MAX_PATH])
{
	int nr = snprintf(ret, MAX_PATH, "%s.clew-index%s", p->wishes.index_path, tail);

	return nr > 0 && nr < MAX_PATH;
}

/** @return false: nothing can be kept beside it. */
static bool key_of(const struct perf_trace *p, struct aux_index_key *ret)
{
	const struct perf_input *in = &p->input;
	struct os_file_identity id;

	if (!p->wishes.index_path || !in->is_mapped ||
	    os_file_identity(p->wishes.index_path, &id) || id.size != in->size)
		return false;
	*ret = (struct aux_index_key){id.size, id.mtime_ns,
				      hash_bytes(in->data,
						 in->size < HEAD_BYTES ? in->size : HEAD_BYTES)};
	return true;
}

static bool is_of(const struct aux_index *x, const struct perf_trace *p)
{
	if (x->nr != p->chunks.rings.nr)
		return false;
	for (size_t i = 0; i < x->nr; i++) {
		const struct aux_ring *r = &p->chunks.rings.data[i];

		if (x->data[i].cpu != r->cpu || x->data[i].tid != r->tid)
			return false;
	}
	return true;
}

/** @return CLEW_BAD_FILE: there is none that fits. */
static enum clew_err load(struct aux_index *x, const struct perf_trace *p)
{
	clew_auto(mem_free_at) char *data = NULL;
	struct aux_index_key key;
	enum clew_err err;
	char path[MAX_PATH];
	size_t size;
	int fd;

	if (!key_of(p, &key) || !path_of(p, "", path) || (fd = os_open_regular(path)) < 0)
		return CLEW_BAD_FILE;
	err = os_read_fd(fd, MAX_FILE_BYTES, &data, &size, NULL);
	os_close(fd);
	if (err)
		return err == CLEW_NO_MEMORY ? err : CLEW_BAD_FILE;
	err = aux_index_read(x, &key, bytes_of(data, size));
	if (!err && !is_of(x, p)) {
		aux_index_done(x);
		err = CLEW_BAD_FILE;
	}
	return err;
}

static bool pays(const struct perf_trace *p)
{
	uint64_t bytes = 0;

	vec_for_each (&p->chunks.buffers, b)
		bytes += b->bytes;
	return p->wishes.keeps_index || bytes >= PAYS_BYTES;
}

/** Whole or not at all. Another process may do the same: the last one stays, and what it damages
 * fails its check. */
static void put_file(const char *path, const char *part, const struct buf *b)
{
	int fd = os_create_new(part), err;

	if (fd == -EEXIST && !os_unlink(part))
		fd = os_create_new(part);
	if (fd < 0)
		return;
	err = os_write_all(fd, b->data, b->nr);
	os_close(fd);
	if (err || os_rename(part, path))
		os_unlink(part);
}

/** Where that is not possible, it is made again the next time. */
static void keep(const struct aux_index *x, const struct perf_trace *p)
{
	clew_auto(buf_done) struct buf b = {0};
	char path[MAX_PATH], part[MAX_PATH];
	struct aux_index_key key;

	if (!pays(p) || !key_of(p, &key) || !path_of(p, "", path) || !path_of(p, ".part", part))
		return;
	aux_index_write(x, &key, &b);
	if (!b.is_failed)
		put_file(path, part, &b);
}

enum clew_err aux_index_renew(struct aux_index *x, const struct perf_trace *p)
{
	enum clew_err err;

	aux_index_done(x);
	err = aux_index_scan(x, p);
	if (!err)
		keep(x, p);
	return err;
}

enum clew_err aux_index_load(struct aux_index *x, const struct perf_trace *p)
{
	enum clew_err err = load(x, p);

	return err == CLEW_BAD_FILE ? aux_index_renew(x, p) : err;
}
