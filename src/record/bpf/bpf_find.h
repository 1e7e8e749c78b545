/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_FIND_H
#define RECORD_BPF_BPF_FIND_H

#include "record/bpf/bpf_maps.h"
#include "record/bpf/bpf_regs.h"

/*
 * What a walk finds in a task: the words of its stack, its mappings, their rules. Three ways to
 * read the stack, known at compile time.
 */
enum walk_way {
	WALK_SLEEPING, /* in the task, pages may be faulted in; the frames' steps: WALK_NOW */
	WALK_NOW,      /* in the task, in any context */
	WALK_REMOTE    /* another task, from a sleepable iterator */
};

enum { NR_VMAS = 16 };
enum { RBX_LOST = 1 };  /* no address of a word */
enum { MAX_TRIES = 8 }; /* more than a step reads places */

enum walk_code { WALK_TABLE, WALK_NO_TABLE, WALK_NO_FILE /* a JIT's */, WALK_NO_TABLE_YET };

/* One executable mapping. */
struct walk_vma {
	uint64_t start, end;
	uint64_t bias;         /* rel = address + bias */
	uint64_t first, limit; /* rel: what the table covers */
	uint32_t code;         /* enum walk_code */
	uint32_t table, shift, nr_buckets, rule_chunk;
	struct cb_key key;
	uint64_t vma; /* the kernel's struct */
	bool has_key;
	bool is_stale; /* the mappings or tables changed: see_again() first */
};

struct vma_sight {
	struct cb_key key;
	uint64_t vma, start, end, bias;
	bool is_exec, has_key;
};

/* Memory to work in: a callback may sleep and be moved to another CPU, so this is of no CPU.
 */
struct walk {
	uint32_t is_busy;
	uint32_t vma;        /* the one that covers pc */
	uint32_t nr_vmas;    /* modulo NR_VMAS where the next one is put */
	uint32_t generation; /* of tables, when vmas was filled */
	uint64_t mm_id;      /* of these vmas; 0: none */
	uint64_t mm;
	uint64_t mm_seq; /* of its mappings */
	struct walk_vma vmas[NR_VMAS];
	uint64_t pc, r[CB_NR_REGS], known;
	uint64_t rbx_at; /* x86: where rbx as it is at pc was saved; 0: r[RBX] holds it */
	uint32_t max;
	uint64_t copy_limit;
	uint64_t code_bits; /* of a return address */
	uint8_t is_exact, stop, why, uniform;
	uint8_t origin;    /* enum unw_origin of the step that led to pc */
	bool is_sigreturn; /* the first frame called sigreturn: SP stands at the ucontext */
	bool is_busy_vma;  /* the mappings were locked: what covers pc is unknown */
	bool may_retry;    /* a step that lacks something is made again, when that is there */
	uint64_t lacking;  /* the last address that this step could not read; 0: none */
	uint32_t lacking_size;
	uint64_t unreadable;  /* not lacking: trying showed that nothing is there */
	uint64_t method_word; /* 4 bits a frame */
	uint64_t trampoline;  /* what probed calls return to; 0: none is pending */
	uint64_t pending;     /* the newest of them, a struct return_instance */
	uint64_t original;    /* return address of the one that was looked for last */
	struct clew_regs regs;
	struct vma_sight sight;
	uint64_t interrupted[NR_SIGNAL_REGS]; /* that a signal frame holds */
	uint64_t win_start;
	uint64_t win_words;
	uint64_t methods[CB_MAX_DEPTH / 16];
	struct cb_piece piece; /* .word is the window of the stack */
	struct cb_stack out;
	uint64_t ips[CB_MAX_DEPTH + CB_MAX_DEPTH / 16]; /* out.ips */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk);
} scratch SEC(".maps");

struct walk_ctx {
	struct walk *w;
	struct task_struct *task; /* of WALK_REMOTE */
};

/* --- memory --- */

/* Memory that is there. */
static __always_inline long read_present(struct walk *w, void *to, uint32_t size, uint64_t from)
{
	long err = bpf_probe_read_user(to, size, (const void *)from);

	if (err && from != w->unreadable) {
		w->lacking = from;
		w->lacking_size = size;
	}
	return err;
}

static __always_inline long read_user(struct walk *w, const enum walk_way way, void *to,
				      uint32_t size, uint64_t from, struct task_struct *task)
{
	switch (way) {
	case WALK_SLEEPING:
		return bpf_copy_from_user(to, size, (const void *)from);
	case WALK_NOW:
		return read_present(w, to, size, from);
	case WALK_REMOTE:
		return bpf_copy_from_user_task(to, size, (const void *)from, task, 0);
	}
	return -1;
}

/* Fill the window from @p start on, up to the end of its page: beyond may be nothing. */
static __always_inline bool fill_window(struct walk *w, uint64_t start, const enum walk_way way,
					struct task_struct *task)
{
	uint64_t size = 4096 - (start & 4095);

	if (size > sizeof(w->piece.word))
		size = sizeof(w->piece.word);
	w->win_words = 0;
	if (read_user(w, way, w->piece.word, (uint32_t)size, start, task))
		return false;
	w->win_start = start;
	w->win_words = size >> 3;
	return true;
}

/* The word at @p addr. Frames lie near each other: nearly always in the window. */
static __always_inline bool get_word(struct walk *w, uint64_t addr, uint64_t *ret,
				     const enum walk_way way, struct task_struct *task)
{
	uint64_t i = (addr - w->win_start) >> 3;

	if (addr & 7)
		return !read_user(w, way, ret, 8, addr, task);
	if (addr < w->win_start || i >= w->win_words) {
		/* A little below too: FP lies below RA. */
		uint64_t start = addr & 4095 ? addr - 64 : addr;

		if ((start ^ addr) & ~4095ul)
			start = addr & ~4095ul;
		if (!fill_window(w, start, way, task))
			return false;
		i = (addr - start) >> 3;
	}
	*ret = w->piece.word[i & (CB_WINDOW_WORDS - 1)];
	return true;
}

/* --- mappings --- */

/* Read where it is kept: programs have little stack. */
#define READ_TO(to, from) bpf_core_read(&(to), sizeof(to), &(from))

static __always_inline uint64_t mtime_of(struct inode *i)
{
	struct inode___6_10 *later = (void *)i;
	struct inode___6_6 *first = (void *)i;

	if (bpf_core_field_exists(i->i_mtime_sec))
		return (uint64_t)BPF_CORE_READ(i, i_mtime_sec) * 1000000000 +
		       BPF_CORE_READ(i, i_mtime_nsec);
	if (bpf_core_field_exists(later->__i_mtime))
		return (uint64_t)BPF_CORE_READ(later, __i_mtime.tv_sec) * 1000000000 +
		       (uint64_t)BPF_CORE_READ(later, __i_mtime.tv_nsec);
	return (uint64_t)BPF_CORE_READ(first, i_mtime.tv_sec) * 1000000000 +
	       (uint64_t)BPF_CORE_READ(first, i_mtime.tv_nsec);
}

static __always_inline void key_of_file(struct cb_key *k, struct file *f)
{
	struct inode *i = BPF_CORE_READ(f, f_inode);

	k->word[0] = (uint64_t)BPF_CORE_READ(i, i_generation) << 32 | BPF_CORE_READ(i, i_sb, s_dev);
	READ_TO(k->word[1], i->i_ino);
	READ_TO(k->word[2], i->i_size);
	k->word[3] = mtime_of(i);
}

/* @p vma may be one that is gone. */
static __always_inline void see_vma(struct vma_sight *s, struct vm_area_struct *vma)
{
	struct file *f = BPF_CORE_READ(vma, vm_file);

	s->vma = (uint64_t)vma;
	READ_TO(s->start, vma->vm_start);
	READ_TO(s->end, vma->vm_end);
	READ_TO(s->bias, vma->vm_pgoff);
	s->bias = (s->bias << config.page_shift) - s->start;
	s->is_exec = BPF_CORE_READ(vma, vm_flags) & VM_EXEC;
	s->has_key = true;
	if (f) {
		key_of_file(&s->key, f);
		return;
	}
	s->key.word[0] = s->key.word[1] = s->key.word[3] = 0;
	s->key.word[2] = CB_KEY_VDSO;
	s->has_key = (uint64_t)BPF_CORE_READ(vma, vm_mm, context.vdso) == s->start;
	s->bias = -s->start;
}

static long on_vma(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	see_vma(&((struct walk_ctx *)ctx)->w->sight, vma);
	return 0;
}

static __always_inline void want(const struct vma_sight *s, const struct cb_key *key, uint32_t pid)
{
	struct cb_file f = {.state = CB_FILE_WANTED};
	struct cb_want *r;

	if (bpf_map_update_elem(&files, key, &f, BPF_NOEXIST))
		return;
	r = bpf_ringbuf_reserve(&stacks, sizeof(*r), 0);
	if (!r) {
		count(CB_RING_FULL);
		bpf_map_delete_elem(&files, key);
		return;
	}
	r->kind = CB_WANT;
	r->pid = pid;
	r->key = *key;
	r->start = s->start;
	r->end = s->end;
	bpf_ringbuf_submit(r, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void vma_of_sight(struct walk_vma *v, const struct vma_sight *s,
					 uint32_t pid)
{
	/* On the stack: for Linux 6.1 a global function's memory is no key. */
	struct cb_key key = s->key;
	struct cb_file *f;

	v->vma = s->vma;
	v->key = s->key;
	v->has_key = s->has_key;
	v->is_stale = false;
	v->start = s->start;
	v->end = s->end;
	v->bias = s->bias;
	v->code = s->has_key ? WALK_NO_TABLE : WALK_NO_FILE;
	if (!s->has_key)
		return;
	f = bpf_map_lookup_elem(&files, &key);
	if (!f) {
		want(s, &key, pid);
		v->code = WALK_NO_TABLE_YET;
		return;
	}
	if (f->state == CB_FILE_READY) {
		v->code = WALK_TABLE;
		v->first = f->start;
		v->limit = f->end;
		v->table = f->table;
		v->shift = f->shift;
		v->nr_buckets = f->nr_buckets;
		v->rule_chunk = f->rule_chunk;
		f->is_used = 1;
	} else if (f->state == CB_FILE_WANTED) {
		v->code = WALK_NO_TABLE_YET;
	}
}

/* Global, as are those below, for the sake of the stack, too. */
__weak __noinline int take_sight(struct walk *w, uint32_t i)
{
	if (!w)
		return 0;
	vma_of_sight(&w->vmas[i & (NR_VMAS - 1)], &w->sight, w->out.pid);
	return 0;
}

/* The mappings change with every write lock of the address space: odd while it is held. */
static __always_inline uint64_t mm_seq_of(struct mm_struct *mm)
{
	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return BPF_CORE_READ(mm, mm_lock_seq.sequence);
	return 1;
}

/* Can be asked of a mapping without the lock of all: what is none any more says so. */
static __always_inline bool can_see_again(void)
{
	return bpf_core_field_exists(struct vm_area_struct, vm_refcnt);
}

static __always_inline bool is_as_before(const struct walk_vma *v, const struct vma_sight *s)
{
	return s->start == v->start && s->end == v->end && s->bias == v->bias && s->is_exec &&
	       s->has_key == v->has_key && s->key.word[0] == v->key.word[0] &&
	       s->key.word[1] == v->key.word[1] && s->key.word[2] == v->key.word[2] &&
	       s->key.word[3] == v->key.word[3];
}

/* bpf_find_vma() finds one mapping an interrupt: it leaves the lock by another interrupt, and until
 * then all are busy. So one seen before is looked at again where it lay: the memory may be another
 * one's by now, but then it is not as before. @return whether it is, then in w->sight. */
__weak __noinline int see_again(struct walk *w, uint32_t i)
{
	struct vm_area_struct *vma;
	struct walk_vma *v;
	uint32_t nr_users = 0;

	if (!w || !can_see_again()) /* verified by kernels without that field, too */
		return false;
	v = &w->vmas[i & (NR_VMAS - 1)];
	vma = (struct vm_area_struct *)v->vma;
	see_vma(&w->sight, vma);
	bpf_core_read(&nr_users, sizeof(nr_users), &vma->vm_refcnt);
	if (nr_users && (uint64_t)BPF_CORE_READ(vma, vm_mm) == w->mm && is_as_before(v, &w->sight))
		return true;
	v->start = v->end = 0;
	return false;
}

enum vma_found { VMA_FOUND, VMA_NONE, VMA_BUSY };

/* Reading as a debugger does waits for the lock of the mappings. What is read does not matter. */
static __always_inline void wait_for_mappings(struct walk *w, struct task_struct *task)
{
	uint64_t word;

	bpf_copy_from_user_task(&word, sizeof(word), (const void *)w->r[REG_SP], task, 0);
}

static __always_inline int load_vma(struct walk *w, uint64_t pc, struct task_struct *task,
				    uint32_t tries)
{
	struct walk_ctx c = {.w = w};
	long err = -EBUSY;
	uint32_t i;

	for (i = 0; i < 8 && i < tries && err == -EBUSY; i++)
		err = bpf_find_vma(task, pc, on_vma, &c, 0);
	if (err == -EBUSY)
		return VMA_BUSY;
	if (err || !w->sight.is_exec)
		return VMA_NONE;
	i = w->nr_vmas++ & (NR_VMAS - 1);
	take_sight(w, i);
	w->vma = i;
	return VMA_FOUND;
}

/* Global functions are verified once and not at each call, which keeps the start short, and with
 * Linux 7.3 possible. Weak: their callers may then not rely on what they are seen to return. */
__weak __noinline int load_vma_now(struct walk *w, uint64_t pc, uint32_t tries)
{
	return w ? load_vma(w, pc, bpf_get_current_task_btf(), tries) : VMA_NONE;
}

/* A global function's argument that is known to be a task: since Linux 6.8. on_pending_task() wants
 * 6.18. */
#define TRUSTED __attribute__((btf_decl_tag("arg:trusted")))

__weak __noinline int load_vma_remote(struct walk *w, uint64_t pc, struct task_struct *task TRUSTED)
{
	return w ? load_vma(w, pc, task, 1) : VMA_NONE;
}

static __always_inline int load_vma_of(struct walk *w, uint64_t pc, const enum walk_way way,
				       struct task_struct *task)
{
	if (way == WALK_REMOTE)
		return load_vma_remote(w, pc, task);
	return load_vma_now(w, pc, way == WALK_NOW && !w->may_retry ? 8 : 1);
}

/* Make w->vma the executable mapping of @p pc. */
static __always_inline int find_vma(struct walk *w, uint64_t pc, const enum walk_way way,
				    struct task_struct *task)
{
	uint32_t i = w->vma & (NR_VMAS - 1);
	int found;

	if (!w->vmas[i].is_stale && pc - w->vmas[i].start < w->vmas[i].end - w->vmas[i].start)
		return VMA_FOUND;
	for (i = 0; i < NR_VMAS; i++) {
		struct walk_vma *v = &w->vmas[i];

		if (pc - v->start >= v->end - v->start || (v->is_stale && !see_again(w, i)))
			continue;
		if (v->is_stale)
			take_sight(w, i);
		w->vma = i;
		return VMA_FOUND;
	}
	found = load_vma_of(w, pc, way, task);
	if (way == WALK_NOW)
		return found;
	for (i = 0; i < 7 && found == VMA_BUSY; i++) {
		wait_for_mappings(w, task);
		found = load_vma_of(w, pc, way, task);
	}
	return found;
}

/* Of no other address space, before or after. arm64 counts none. */
static __always_inline uint64_t mm_id_of(struct task_struct *t)
{
	struct mm_struct *mm = t->mm;

	if (!mm)
		return 0;
	if (bpf_core_field_exists(mm->context.ctx_id))
		return mm->context.ctx_id;
	/* Read, as a pointer cannot be calculated with. */
	return mix(mix((uint64_t)BPF_CORE_READ(t, mm), t->group_leader->start_time),
		   t->self_exec_id) |
	       1;
}

/* Mappings seen by an earlier walk hold if nothing has changed since; else they are seen again. */
static __always_inline void begin_vmas(struct walk *w, struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	uint64_t id = 0, seq = 1;
	uint32_t generation = (uint32_t)control(CB_GENERATION);
	bool is_same_mm, is_same;
	uint32_t i;

	if (mm) {
		id = mm_id_of(task);
		seq = mm_seq_of(mm);
	}
	is_same_mm = id && id == w->mm_id;
	is_same = is_same_mm && seq == w->mm_seq && !(seq & 1) && generation == w->generation;
	for (i = 0; i < NR_VMAS; i++) {
		struct walk_vma *v = &w->vmas[i];

		if (is_same && v->code != WALK_NO_TABLE_YET)
			continue;
		if (is_same_mm && can_see_again())
			v->is_stale = true;
		else
			v->start = v->end = 0;
	}
	if (is_same)
		return;
	w->mm_id = id;
	w->mm = (uint64_t)mm;
	w->mm_seq = seq;
	w->generation = generation;
	if (is_same_mm)
		return;
	w->vma = 0;
	w->nr_vmas = 0;
}

/* --- tables --- */

static __always_inline uint32_t *table_word(void *table, uint64_t word)
{
	uint32_t chunk = (uint32_t)(word / CB_CHUNK_WORDS);
	struct cb_chunk *c = bpf_map_lookup_elem(table, &chunk);

	return c ? &c->word[word & (CB_CHUNK_WORDS - 1)] : NULL;
}

/* The row at @p off from the table's start: where it starts << 16 | index of its rule; 0, a rule
 * that says nothing, where the table is not what it should be. */
__weak __noinline uint32_t search(struct walk_vma *v, uint64_t off)
{
	uint32_t key, low, *p;
	uint64_t rows, lo, hi;
	void *table;
	int i;

	if (!v)
		return 0;
	key = v->table;
	rows = (uint64_t)v->nr_buckets + 1;
	table = bpf_map_lookup_elem(&tables, &key);
	if (!table)
		return 0;
	low = (uint32_t)(v->first + off) << 16 | 0xffff;
	p = table_word(table, off >> (v->shift & 31));
	if (!p)
		return 0;
	lo = *p;
	p = table_word(table, (off >> (v->shift & 31)) + 1);
	if (!p)
		return 0;
	hi = *p;
	for (i = 0; i < 18 && lo < hi; i++) {
		uint64_t mid = lo + ((hi - lo) >> 1);

		p = table_word(table, rows + mid);
		if (!p)
			return 0;
		if (*p <= low)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return 0;
	p = table_word(table, rows + lo - 1);
	return p ? *p : 0;
}

/* Where the row that holds @p rel starts, or after that: unw_table_row_start(). */
static __always_inline uint64_t row_start(struct walk_vma *v, uint64_t rel)
{
	uint64_t start;

	if (rel < v->first || rel >= v->limit)
		return rel < v->first ? 0 : v->limit;
	start = (rel & ~0xfffful) | search(v, rel - v->first) >> 16;
	return start > rel ? start - 0x10000 : start;
}

/* The rule at @p pc. @return false: the table has been taken away meanwhile. */
static __always_inline bool rule_at(struct walk_vma *v, uint64_t pc, struct unw_rule *ret)
{
	uint64_t rel = pc + v->bias, off = rel - v->first, tag, word, *m;
	uint32_t slot, index, key = v->table, chunk;
	struct cb_chunk *c;
	void *table;

	__builtin_memset(ret, 0, sizeof(*ret));
	if (rel < v->first || rel >= v->limit)
		return true;
	tag = (uint64_t)v->table << 32 | (uint32_t)off;
	slot = (uint32_t)((tag * 0x9e3779b97f4a7c15ul) >> 40) & (CB_MEMO_WORDS - 1);
	m = bpf_map_lookup_elem(&memo, &slot);
	if (!m)
		return false;
	word = *(volatile uint64_t *)m;
	if (word >> 16 == tag) {
		index = word & 0xffff;
	} else {
		index = search(v, off) & 0xffff;
		*(volatile uint64_t *)m = tag << 16 | index;
	}
	table = bpf_map_lookup_elem(&tables, &key);
	if (!table)
		return false;
	chunk = v->rule_chunk + index / CB_CHUNK_RULES;
	c = bpf_map_lookup_elem(table, &chunk);
	if (c)
		__builtin_memcpy(ret, &c->word[(index & (CB_CHUNK_RULES - 1)) * 8], sizeof(*ret));
	return true;
}

#endif
