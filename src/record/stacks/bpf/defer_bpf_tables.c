/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "os/file.h"
#include "record/stacks/bpf/defer_bpf_impl.h"

_Static_assert(sizeof(struct cb_key) == sizeof(struct defer_file_key), "one is the other");

enum {
	CHUNK_BYTES = CB_CHUNK_WORDS * 4,
	TABLE_BYTES = 256 << 20,
	MAX_TABLES = CB_MAX_TABLES / 4, /* so that next_index() ends soon */
	NR_AT_ONCE = 1024,
	MAX_TRIES = 16,
	MAX_HELD = 64
};

static uint32_t nr_words(const struct unw_table_head *h)
{
	return h->nr_buckets + 1 + h->nr_rows;
}

static uint32_t word_chunks(const struct unw_table_head *h)
{
	return (nr_words(h) + CB_CHUNK_WORDS - 1) / CB_CHUNK_WORDS;
}

static uint32_t rule_chunks(const struct unw_table_head *h)
{
	return (h->nr_rules + CB_CHUNK_RULES - 1) / CB_CHUNK_RULES;
}

/* Chunk @p index as it stands in the map. */
static void make_chunk(uint8_t *to, const struct unw_table *t, uint32_t index)
{
	const struct unw_table_head *h = t->head;
	uint32_t first = index * CB_CHUNK_WORDS, n;

	memset(to, 0, CHUNK_BYTES);
	if (index < word_chunks(h)) {
		n = nr_words(h) - first;
		memcpy(to, t->bucket + first, 4 * (n < CB_CHUNK_WORDS ? n : CB_CHUNK_WORDS));
		return;
	}
	first = (index - word_chunks(h)) * CB_CHUNK_RULES;
	n = h->nr_rules - first;
	for (uint32_t i = 0; i < n && i < CB_CHUNK_RULES; i++)
		memcpy(to + i * 32, &t->rule[first + i], sizeof(*t->rule));
}

static int fill(int fd, const struct unw_table *t, uint32_t nr)
{
	clew_auto(mem_free_at) uint8_t *data = mem_calloc(NR_AT_ONCE, CHUNK_BYTES);
	clew_auto(mem_free_at) uint32_t *keys = mem_calloc(NR_AT_ONCE, sizeof(*keys));

	if (!data || !keys)
		return -ENOMEM;
	for (uint32_t at = 0; at < nr; at += NR_AT_ONCE) {
		uint32_t n = nr - at < NR_AT_ONCE ? nr - at : NR_AT_ONCE;
		int err;

		for (uint32_t i = 0; i < n; i++) {
			keys[i] = at + i;
			make_chunk(data + (size_t)i * CHUNK_BYTES, t, at + i);
		}
		err = bpf_map_update_batch(fd, keys, data, &n, NULL);
		if (err)
			return err;
	}
	return 0;
}

static void take_away(struct defer_bpf *d, struct defer_table *t)
{
	bpf_map_delete_elem(d->files_fd, &t->key);
	bpf_map_delete_elem(d->tables_fd, &t->index);
	d->table_bytes -= t->bytes;
	d->nr_tables--;
	t->index = 0;
}

/* Clock: what was used since the hand came by stays for one more round. */
static bool evict(struct defer_bpf *d)
{
	for (size_t i = 0; i < 2 * d->tables.nr; i++) {
		struct defer_table *t = &d->tables.data[d->hand++ % d->tables.nr];
		struct cb_file f;

		if (!t->index)
			continue;
		if (!bpf_map_lookup_elem(d->files_fd, &t->key, &f) && f.is_used) {
			f.is_used = 0;
			bpf_map_update_elem(d->files_fd, &t->key, &f, BPF_EXIST);
			continue;
		}
		take_away(d, t);
		d->nr_evicted++;
		return true;
	}
	return false;
}

/* Numbers are taken round and round; after a round the memo may still name old ones. */
static uint32_t next_index(struct defer_bpf *d)
{
	for (;;) {
		bool is_taken = false;

		d->last_index++;
		if (d->last_index == CB_MAX_TABLES) {
			uint64_t none = 0;

			d->last_index = 1;
			for (uint32_t i = 0; i < CB_MEMO_WORDS; i++)
				bpf_map_update_elem(d->memo_fd, &i, &none, BPF_ANY);
		}
		vec_for_each (&d->tables, t) {
			is_taken |= t->index == d->last_index;
		}
		if (!is_taken)
			return d->last_index;
	}
}

static enum clew_err upload(struct defer_bpf *d, const struct unw_table *t, struct defer_table *to,
			    int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	uint32_t nr = word_chunks(t->head) + rule_chunks(t->head);
	int fd, err;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "clew_table", 4, CHUNK_BYTES, nr, &opts);
	if (fd < 0)
		return CLEW_OS;
	err = fill(fd, t, nr);
	to->index = next_index(d);
	*ret_fd = fd;
	if (!err)
		return CLEW_OK;
	os_close(fd);
	return err == -ENOMEM ? CLEW_NO_MEMORY : CLEW_OS;
}

static enum clew_err set_file(struct defer_bpf *d, const struct defer_file_key *key,
			      const struct cb_file *f)
{
	if (bpf_map_update_elem(d->files_fd, key, f, BPF_ANY))
		return CLEW_OS;
	defer_set(d, CB_GENERATION, ++d->generation);
	return CLEW_OK;
}

static struct defer_table *table_slot(struct defer_bpf *d, const struct defer_file_key *key)
{
	struct defer_table *ret = NULL;

	vec_for_each (&d->tables, t) {
		if (!memcmp(&t->key, key, sizeof(*key)))
			return t;
		if (!t->index)
			ret = t;
	}
	if (!ret && vec_push(&d->tables, (struct defer_table){.key = *key}))
		ret = &d->tables.data[d->tables.nr - 1];
	return ret;
}

static struct defer_table *table_of(struct defer_bpf *d, const struct defer_held *h)
{
	vec_for_each (&d->tables, t) {
		if (t->index && t->index == h->file.table)
			return t;
	}
	return NULL; /* evicted meanwhile */
}

/* Each change of a map of maps waits until no walk is running; those of a batch wait once. */
static enum clew_err put_held(struct defer_bpf *d)
{
	uint32_t index[MAX_HELD], nr = 0, done;
	int fd[MAX_HELD], err = 0;

	vec_for_each (&d->held, h) {
		if (!table_of(d, h))
			continue;
		index[nr] = h->file.table;
		fd[nr++] = h->fd;
	}
	done = nr;
	if (nr > 1 && bpf_map_update_batch(d->tables_fd, index, fd, &done, NULL))
		done = 0; /* a kernel without batches of them */
	for (uint32_t i = nr > 1 ? done : 0; i < nr && !err; i++)
		err = bpf_map_update_elem(d->tables_fd, &index[i], &fd[i], BPF_ANY);
	vec_for_each (&d->held, h) {
		struct defer_table *t = table_of(d, h);

		os_close(h->fd);
		if (t && (err || set_file(d, &h->key, &h->file))) {
			take_away(d, t);
			err = err ? err : -EIO;
		}
	}
	d->held.nr = 0;
	return err ? CLEW_OS : CLEW_OK;
}

enum clew_err defer_bpf_put_table(struct defer_bpf *d, const struct defer_file_key *key,
				  const struct unw_code *code)
{
	const struct unw_table_head *h = code->table.head;
	size_t limit = d->opts.table_bytes ? d->opts.table_bytes : TABLE_BYTES;
	struct defer_table *t, next = {.key = *key};
	struct defer_held held = {.key = *key};
	enum clew_err err;

	if (!h || !h->nr_rules || h->arch != UNW_OWN_ARCH)
		return defer_bpf_put_none(d, key);
	next.bytes = (uint64_t)(word_chunks(h) + rule_chunks(h)) * CHUNK_BYTES;
	while (next.bytes + d->table_bytes > limit || d->nr_tables >= MAX_TABLES) {
		if (next.bytes > limit || !evict(d))
			return CLEW_LIMIT;
	}
	t = table_slot(d, key);
	if (!t)
		return CLEW_NO_MEMORY;
	if (t->index)
		take_away(d, t);
	if (!vec_reserve(&d->held, d->held.nr + 1))
		return CLEW_NO_MEMORY;
	err = upload(d, &code->table, &next, &held.fd);
	if (err)
		return err;
	*t = next;
	d->table_bytes += t->bytes;
	d->nr_tables++;
	held.file = (struct cb_file){.start = h->start,
				     .end = h->end,
				     .state = CB_FILE_READY,
				     .table = t->index,
				     .shift = h->shift,
				     .nr_buckets = h->nr_buckets,
				     .rule_chunk = word_chunks(h),
				     .is_used = 1};
	d->held.data[d->held.nr++] = held;
	return d->is_holding && d->held.nr < MAX_HELD ? CLEW_OK : put_held(d);
}

void defer_bpf_hold_tables(struct defer_bpf *d)
{
	d->is_holding = true;
}

enum clew_err defer_bpf_release_tables(struct defer_bpf *d)
{
	d->is_holding = false;
	return put_held(d);
}

enum clew_err defer_bpf_put_none(struct defer_bpf *d, const struct defer_file_key *key)
{
	struct cb_file f = {.state = CB_FILE_NONE};

	return set_file(d, key, &f);
}

enum clew_err defer_bpf_put_later(struct defer_bpf *d, const struct defer_file_key *key)
{
	uint64_t hash = hash_bytes(key, sizeof(*key));
	uint64_t *tries = map_u64_get(&d->tries, hash);

	if (tries && ++*tries >= MAX_TRIES)
		return defer_bpf_put_none(d, key);
	if (!tries && !map_u64_put(&d->tries, hash, 1))
		return CLEW_NO_MEMORY;
	bpf_map_delete_elem(d->files_fd, key);
	return CLEW_OK;
}

void defer_tables_done(struct defer_bpf *d)
{
	vec_for_each (&d->held, h) {
		os_close(h->fd);
	}
	vec_done(&d->held);
	vec_done(&d->tables);
	map_u64_done(&d->tries);
}
