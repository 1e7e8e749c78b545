/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "prop/cookie_model.h"

#include <string.h>

/* The model that is in its step: cookie_state.h has no room for a context. */
static struct model *now_running;

static unsigned choose(struct model *m, unsigned n)
{
	return m->choose(m->ctx, n);
}

static void blame(struct model *m, enum model_fault fault)
{
	if (!m->fault)
		m->fault = fault;
}

static struct model_cookie *cookie_of(struct model *m, uint64_t cookie)
{
	struct model_world *w = m->world;
	struct model_cookie *c;

	for (c = w->cookie; c < w->cookie + w->nr_cookies; c++)
		if (c->cookie == cookie)
			return c;
	if (w->nr_cookies == MODEL_COOKIES) {
		blame(m, FAULT_FULL);
		return w->cookie;
	}
	w->nr_cookies++;
	c->cookie = cookie;
	c->task = (uint8_t)m->task;
	c->life = w->task[m->task].life;
	return c;
}

static void check_match(struct model *m, const struct model_cookie *c)
{
	const struct model_task *t = &m->world->task[m->task];

	if (c->task != m->task || c->life != t->life)
		blame(m, FAULT_WRONG_STACK);
	if (c->sample_user && c->stack_user && c->sample_user != c->stack_user)
		blame(m, FAULT_WRONG_STACK);
}

static void note_sample(struct model *m, uint64_t cookie, bool is_early)
{
	struct model_task *t = &m->world->task[m->task];
	struct model_cookie *c;

	if (m->hooks)
		m->hooks->sample(m->hooks->ctx, m->task, cookie, t->user);
	if (!cookie) { /* counted, and the sample has the reason */
		if (!t->is_doubtful)
			blame(m, FAULT_UNANSWERED);
		return;
	}
	c = cookie_of(m, cookie);
	if (!is_early)
		c->excuse &= EXCUSE_RING;
	/* Two user states on one cookie are no fault as long as no stack comes. */
	c->sample_user = c->sample_user && c->sample_user != t->user ? MODEL_MIXED : t->user;
	check_match(m, c);
	if (!t->entry_cookie)
		t->entry_cookie = cookie;
	if (t->entry_cookie != cookie && !t->is_doubtful)
		blame(m, FAULT_TWO_COOKIES);
	else if (t->entry_cookie != cookie)
		m->nr_second_cookies++;
}

static void note_stack(struct model *m, uint64_t cookie)
{
	struct model_task *t = &m->world->task[m->task];
	struct model_cookie *c = cookie_of(m, cookie);

	if (c->stack_user)
		blame(m, FAULT_TWO_STACKS);
	c->stack_user = t->user;
	check_match(m, c);
	if (m->hooks)
		m->hooks->stack(m->hooks->ctx, m->task, cookie, t->user);
}

static void excuse(struct model *m, enum model_excuse why)
{
	struct model_world *w = m->world;

	for (unsigned i = 0; i < w->nr_cookies; i++) {
		struct model_cookie *c = &w->cookie[i];

		if (c->task != m->task || c->stack_user)
			continue;
		c->excuse |= (uint8_t)why;
		/* The stitcher ends what waits in a task that execs or exits: no later stack of
		 * this cookie is theirs. */
		if (why & (EXCUSE_EXEC | EXCUSE_EXIT))
			c->sample_user = 0;
	}
}

/* Nothing is queued, and user code continues: what is not answered now never will be. */
static void check_answered(struct model *m)
{
	const struct model_world *w = m->world;

	for (unsigned i = 0; i < w->nr_cookies; i++) {
		const struct model_cookie *c = &w->cookie[i];

		if (c->task == m->task && c->sample_user && !c->stack_user && !c->excuse)
			blame(m, FAULT_SILENT);
	}
}

static uint64_t fresh_cookie(struct model *m, unsigned cpu)
{
	struct model_world *w = m->world;
	uint64_t counter = w->counter[cpu] + 1, cookie;

	if (m->protocol->counts_unsafely)
		model_point();
	w->counter[cpu] = counter;
	cookie = m->protocol->make(cpu, counter);
	for (unsigned i = 0; i < w->nr_cookies; i++)
		if (w->cookie[i].cookie == cookie)
			blame(m, FAULT_NOT_UNIQUE);
	return cookie;
}

static uint64_t place_of(const struct model *m, const struct model_task *t)
{
	return m->eyes == EYES_SHARP ? 100U + t->user : 100;
}

static uint64_t rest_of(const struct model_task *t)
{
	return (uint64_t)t->user << 8 | t->switches;
}

static bool take(uint8_t *left)
{
	if (!*left)
		return false;
	--*left;
	return true;
}

/* Something that the budget allows, or not. */
static bool may_happen(struct model *m, uint8_t *left)
{
	return *left && choose(m, 2) && take(left);
}

/* The slot of the current task, as the BPF program finds it in its map. NULL: no room. */
static struct cookie_slot *find_slot(struct model *m, struct model_task *t)
{
	if (t->has_slot && t->slot_life != t->life && !m->protocol->ignores_start_time)
		t->has_slot = false;
	if (t->has_slot)
		return &t->slot;
	if (may_happen(m, &m->world->left.full_maps)) {
		t->is_doubtful = true;
		return NULL;
	}
	memset(&t->slot, 0, sizeof(t->slot));
	t->has_slot = true;
	t->slot_life = t->life;
	return &t->slot;
}

static enum cookie_taken schedule(struct model *m, struct model_task *t)
{
	if (t->item != ITEM_NONE)
		return COOKIE_QUEUED;
	if (may_happen(m, &m->world->left.refusals)) {
		t->is_doubtful = true;
		return COOKIE_REFUSED;
	}
	t->item = ITEM_SCHEDULED;
	t->item_cpu = t->cpu;
	return COOKIE_TAKEN;
}

static void request(struct model *m, const struct cookie_sight *sight)
{
	struct model_task *t = &m->world->task[m->task];
	struct cookie_slot *s = find_slot(m, t);
	bool was_inside = m->is_inside;
	uint64_t cookie, fresh;

	m->is_inside = false; /* no program runs inside another one */
	if (!s) {
		note_sample(m, 0, false);
	} else if (m->protocol->request(s, sight) == COOKIE_SAME) {
		note_sample(m, s->cookie, !sight->place);
	} else {
		fresh = fresh_cookie(m, t->cpu);
		cookie = m->protocol->asked(s, sight, schedule(m, t), fresh);
		note_sample(m, cookie, !sight->place);
	}
	m->is_inside = was_inside;
}

static void request_in_kernel(struct model *m)
{
	struct model_task *t = &m->world->task[m->task];
	struct cookie_sight sight = {.place = place_of(m, t), .rest = rest_of(t)};

	if (t->mode == MODEL_AFTER) {
		sight.is_returning = !may_happen(m, &m->world->left.unseen);
		t->is_doubtful |= !sight.is_returning;
	}
	request(m, &sight);
}

void model_point(void)
{
	struct model *m = now_running;

	if (m && m->is_inside && m->world->left.requests && choose(m, 2)) {
		m->world->left.requests--;
		request_in_kernel(m);
	}
}

uint64_t model_swap(uint64_t *at, uint64_t old, uint64_t new)
{
	uint64_t was;

	model_point();
	was = *at;
	if (was == old)
		*at = new;
	model_point();
	return was;
}

static void leave_cpu(struct model_task *t)
{
	t->cpu = MODEL_NO_CPU;
	t->switches++;
	if (t->mode == MODEL_AFTER || t->mode == MODEL_LEAVE)
		t->is_doubtful = true; /* cookie_sight.rest is another */
}

static void enter(struct model_task *t)
{
	t->mode = MODEL_KERNEL;
	t->entry_cookie = 0;
	t->is_doubtful = t->item != ITEM_NONE; /* of an entry before */
}

static void enter_with_sample(struct model *m, struct model_task *t, bool is_early)
{
	struct cookie_sight sight = {.rest = rest_of(t), .is_user = !is_early};

	enter(t);
	if (!is_early)
		sight.place = place_of(m, t);
	t->is_doubtful |= is_early;
	request(m, &sight);
}

static void new_user_state(struct model_world *w, struct model_task *t)
{
	t->user = ++w->next_user;
}

static void run_user_code(struct model *m, struct model_task *t)
{
	if (t->item == ITEM_NONE)
		check_answered(m);
	else
		excuse(m, EXCUSE_LATE);
	new_user_state(m->world, t);
}

/* The callback's own code, with interruptions before, after and (model_point) inside. */
static void callback_begin(struct model *m, struct model_task *t)
{
	uint64_t fresh;
	bool must_walk = false;

	t->item = ITEM_RUNNING;
	m->is_inside = true;
	if (t->has_slot) { /* the kernel passes the value; the start time is not checked */
		fresh = fresh_cookie(m, t->cpu);
		model_point();
		must_walk = m->protocol->begin(&t->slot, place_of(m, t), fresh);
		model_point();
	}
	m->is_inside = false;
	t->mode = must_walk ? MODEL_WALK : MODEL_LEAVE;
}

static void callback_walk(struct model *m, struct model_task *t)
{
	if (may_happen(m, &m->world->left.full_rings))
		cookie_of(m, t->slot.cookie)->excuse |= EXCUSE_RING;
	else
		note_stack(m, t->slot.cookie);
	t->mode = MODEL_END;
}

static void callback_end(struct model *m, struct model_task *t)
{
	m->is_inside = true;
	m->protocol->end(&t->slot, rest_of(t));
	m->is_inside = false;
	t->mode = MODEL_LEAVE;
}

static void exec_program(struct model *m, struct model_task *t)
{
	if (m->hooks)
		m->hooks->exec(m->hooks->ctx, m->task);
	excuse(m, EXCUSE_EXEC);
	new_user_state(m->world, t);
	t->is_doubtful = true;
}

static void exit_task(struct model *m, struct model_task *t)
{
	excuse(m, EXCUSE_EXIT);
	if (m->hooks)
		m->hooks->exit(m->hooks->ctx, m->task);
	if (!may_happen(m, &m->world->left.missed_exits))
		t->has_slot = false;
	t->item = ITEM_NONE; /* with the slot, or because the task takes no more work */
	t->mode = MODEL_DEAD;
	t->cpu = MODEL_NO_CPU;
}

static void reuse_tid(struct model *m, struct model_task *t)
{
	t->life++;
	t->switches = 0;
	enter(t);
	new_user_state(m->world, t);
}

/* A CPU that switches tasks has its interrupts on for a moment: what was due there has come. */
static bool may_get_cpu(const struct model_world *w, unsigned task, unsigned cpu)
{
	const struct model_task *t = &w->task[task];

	return w->task[!task].cpu != cpu && !(t->item == ITEM_SCHEDULED && t->item_cpu == cpu);
}

static void get_cpu(struct model *m, struct model_task *t)
{
	unsigned cpu = !may_get_cpu(m->world, m->task, 0);

	if (!cpu && may_get_cpu(m->world, m->task, 1))
		cpu = choose(m, MODEL_CPUS);
	t->cpu = (uint8_t)cpu;
}

/* Where it asked, the interrupt that makes the task work is an entry itself; another CPU's only
 * sets a flag, which user code does not notice. */
static void arm(struct model_task *t)
{
	t->item = ITEM_ARMED;
	if (t->mode == MODEL_USER && t->cpu == t->item_cpu)
		enter(t);
}

/* The stack of one cookie is settled, and nothing can bring another sample to it. */
static bool is_over(const struct model_world *w, const struct model_cookie *c)
{
	const struct model_task *t = &w->task[c->task];

	if (t->has_slot && t->slot.cookie == c->cookie)
		return false;
	return c->stack_user || c->excuse || !c->sample_user;
}

static void forget_cookies(struct model_world *w)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < w->nr_cookies; i++)
		if (!is_over(w, &w->cookie[i]))
			w->cookie[nr++] = w->cookie[i];
	memset(w->cookie + nr, 0, (w->nr_cookies - nr) * sizeof(w->cookie[0]));
	w->nr_cookies = (uint8_t)nr;
}

void model_step(struct model *m, struct model_world *w, unsigned task, enum model_step_kind step)
{
	struct model_task *t = &w->task[task];
	struct model_budget *left = &w->left;

	m->world = w;
	m->task = task;
	m->fault = FAULT_NONE;
	m->is_inside = false;
	now_running = m;
	switch (step) {
	case STEP_RUN:
		left->runs--;
		run_user_code(m, t);
		break;
	case STEP_ENTER:
		enter(t);
		break;
	case STEP_ENTER_EARLY:
		left->earlies--;
		left->requests--;
		enter_with_sample(m, t, true);
		break;
	case STEP_ENTER_SAMPLE:
		left->requests--;
		enter_with_sample(m, t, false);
		break;
	case STEP_REQUEST:
		left->requests--;
		request_in_kernel(m);
		break;
	case STEP_SWITCH:
		left->requests--;
		left->switches--;
		request_in_kernel(m);
		if (m->never_late && t->item == ITEM_SCHEDULED)
			t->item = ITEM_ARMED;
		leave_cpu(t);
		break;
	case STEP_PREEMPT:
		left->switches--;
		leave_cpu(t);
		break;
	case STEP_ONTO:
		get_cpu(m, t);
		break;
	case STEP_ARM:
		arm(t);
		break;
	case STEP_BEGIN:
		callback_begin(m, t);
		break;
	case STEP_WALK:
		callback_walk(m, t);
		break;
	case STEP_END:
		callback_end(m, t);
		break;
	case STEP_LEAVE:
		t->item = ITEM_NONE;
		t->mode = MODEL_AFTER;
		break;
	case STEP_RETURN:
		if (t->item == ITEM_NONE)
			check_answered(m);
		t->mode = MODEL_USER;
		break;
	case STEP_EXEC:
		left->execs--;
		exec_program(m, t);
		break;
	case STEP_EXIT:
		left->exits--;
		exit_task(m, t);
		break;
	case STEP_REUSE:
		reuse_tid(m, t);
		break;
	case NR_MODEL_STEPS:
		break;
	}
	now_running = NULL;
	forget_cookies(w);
}

static bool can_leave_cpu(const struct model *m, const struct model_task *t, const uint8_t *left,
			  enum model_step_kind step)
{
	if (!*left || t->mode == MODEL_USER)
		return false;
	/* Interrupts are on before a preemption, so what was asked has been armed; but off at
	 * sched_switch: then another CPU may be quicker than this one's interrupt. */
	return step == STEP_SWITCH && !m->never_late ? true : t->item != ITEM_SCHEDULED;
}

bool model_can(const struct model *m, const struct model_world *w, unsigned task,
	       enum model_step_kind step)
{
	const struct model_task *t = &w->task[task];
	const struct model_budget *left = &w->left;
	bool is_on = t->cpu != MODEL_NO_CPU;

	switch (step) {
	case STEP_RUN:
		/* User mode has interrupts on: one that is due on this CPU comes first. */
		return is_on && t->mode == MODEL_USER && left->runs &&
		       !(t->item == ITEM_SCHEDULED && t->item_cpu == t->cpu);
	case STEP_ENTER:
		return is_on && t->mode == MODEL_USER;
	case STEP_ENTER_EARLY:
		return is_on && t->mode == MODEL_USER && left->requests && left->earlies;
	case STEP_ENTER_SAMPLE:
		return is_on && t->mode == MODEL_USER && left->requests;
	case STEP_REQUEST:
		return is_on && t->mode != MODEL_USER && left->requests;
	case STEP_SWITCH:
		return is_on && left->requests && can_leave_cpu(m, t, &left->switches, step);
	case STEP_PREEMPT:
		return is_on && can_leave_cpu(m, t, &left->switches, step);
	case STEP_ONTO:
		return !is_on && t->mode != MODEL_DEAD &&
		       (may_get_cpu(w, task, 0) || may_get_cpu(w, task, 1));
	case STEP_ARM:
		return t->item == ITEM_SCHEDULED;
	case STEP_BEGIN:
		return is_on && t->item == ITEM_ARMED &&
		       (t->mode == MODEL_KERNEL || t->mode == MODEL_AFTER);
	case STEP_WALK:
		return is_on && t->mode == MODEL_WALK;
	case STEP_END:
		return is_on && t->mode == MODEL_END;
	case STEP_LEAVE:
		return is_on && t->mode == MODEL_LEAVE;
	case STEP_RETURN:
		return is_on && t->item != ITEM_ARMED &&
		       (t->mode == MODEL_KERNEL || t->mode == MODEL_AFTER);
	case STEP_EXEC:
		return is_on && t->mode == MODEL_KERNEL && left->execs;
	case STEP_EXIT:
		return is_on && t->mode == MODEL_KERNEL && left->exits;
	case STEP_REUSE:
		return t->mode == MODEL_DEAD;
	case NR_MODEL_STEPS:
		break;
	}
	return false;
}

static uint8_t canonical_user(const struct model_task *t, uint8_t user)
{
	return !user ? 0 : user == t->user ? 1 : user == MODEL_MIXED ? 2 : 3;
}

/*
 * User states, places and switches never come back, so all that matters of an old value is that it
 * is not the present one; cookies are opaque, so a number in the table stands for each.
 */
void model_canonical(const struct model *m, const struct model_world *w, struct model_world *ret)
{
	memcpy(ret, w, sizeof(*ret));
	memset(ret->counter, 0, sizeof(ret->counter));
	ret->next_user = 0;
	for (unsigned i = 0; i < MODEL_TASKS; i++) {
		struct model_task *t = &ret->task[i];

		t->user = t->switches = 0;
		t->slot_life = t->slot_life != t->life;
		t->life = 0;
		if (t->item == ITEM_NONE)
			t->item_cpu = 0;
		if (!t->has_slot)
			memset(&t->slot, 0, sizeof(t->slot));
		t->slot.cookie = 0;
		if (t->slot.place)
			t->slot.place = t->slot.place == place_of(m, &w->task[i]) ? 1 : 2;
		t->slot.rest = t->slot.state == COOKIE_DONE && t->slot.rest == rest_of(&w->task[i]);
		if (t->entry_cookie)
			t->entry_cookie = 1;
	}
	for (unsigned i = 0; i < w->nr_cookies; i++) {
		struct model_cookie *c = &ret->cookie[i];
		const struct model_task *t = &w->task[c->task];

		c->sample_user = canonical_user(t, c->sample_user);
		c->stack_user = canonical_user(t, c->stack_user);
		c->life = c->life != t->life;
		c->cookie = (t->has_slot && t->slot.cookie == c->cookie) |
			    (uint64_t)(t->entry_cookie == c->cookie) << 1;
	}
}

void model_start(struct model_world *w, const struct model_budget *b)
{
	memset(w, 0, sizeof(*w));
	w->left = *b;
	for (unsigned i = 0; i < MODEL_TASKS; i++) {
		w->task[i].cpu = (uint8_t)i;
		w->task[i].user = ++w->next_user;
	}
}

/* clang-format off */
const char *model_step_name(enum model_step_kind step)
{
	static const char *const names[NR_MODEL_STEPS] = {
		[STEP_RUN]          = "user code runs",
		[STEP_ENTER]        = "enters the kernel",
		[STEP_ENTER_SAMPLE] = "sample in user mode",
		[STEP_ENTER_EARLY]  = "sample in the entry code",
		[STEP_REQUEST]      = "sample in kernel mode",
		[STEP_SWITCH]       = "sample at sched_switch",
		[STEP_PREEMPT]      = "preempted",
		[STEP_ONTO]         = "gets a CPU",
		[STEP_ARM]          = "work armed",
		[STEP_BEGIN]        = "callback begins",
		[STEP_WALK]         = "callback walks",
		[STEP_END]          = "callback ends",
		[STEP_LEAVE]        = "callback returns",
		[STEP_RETURN]       = "returns to user mode",
		[STEP_EXEC]         = "exec",
		[STEP_EXIT]         = "exit",
		[STEP_REUSE]        = "tid reused",
	};
	return step < NR_MODEL_STEPS ? names[step] : "";
}

const char *model_fault_name(enum model_fault fault)
{
	static const char *const names[] = {
		[FAULT_NONE]        = "nothing",
		[FAULT_WRONG_STACK] = "a sample got another entry's stack",
		[FAULT_TWO_STACKS]  = "a cookie was answered twice",
		[FAULT_UNANSWERED]  = "a request was turned away without need",
		[FAULT_SILENT]      = "a request was lost silently",
		[FAULT_TWO_COOKIES] = "an entry got two cookies",
		[FAULT_NOT_UNIQUE]  = "a cookie was given twice",
		[FAULT_FULL]        = "the model's table is full",
	};
	return names[fault];
}
/* clang-format on */
