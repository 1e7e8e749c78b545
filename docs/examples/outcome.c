// SPDX-License-Identifier: LGPL-2.1-or-later
/* The outcome of a recording: its events, threads and binaries, and what was lost.
 * Usage: outcome RECORDING */
#include <stdio.h>

#include <clew/clew.h>

static enum clew_err pass_over(void *ctx, const struct clew_sample *sample)
{
	(void)ctx, (void)sample;
	return CLEW_OK;
}

static void print_lists(struct clew_session *s)
{
	const struct clew_thread *thread;
	const struct clew_binary *binary;
	const struct clew_event *event;

	for (size_t i = 0; (event = clew_session_event(s, i)); i++)
		printf("event %s, %s %llu\n", event->name,
		       event->has_frequency ? "frequency" : "period",
		       (unsigned long long)event->sample_period);
	for (size_t i = 0; (thread = clew_session_thread(s, i)); i++)
		printf("thread %u/%u %s: %llu samples\n", thread->pid, thread->tid, thread->comm,
		       (unsigned long long)thread->nr_samples);
	for (size_t i = 0; (binary = clew_session_binary(s, i)); i++)
		printf("binary %s\n", clew_binary_path(binary));
}

static void print_summary(const struct clew_summary *sum)
{
	printf("samples %llu, lost records %llu, unreadable samples %llu, late samples %llu\n",
	       (unsigned long long)sum->nr_samples, (unsigned long long)sum->nr_lost,
	       (unsigned long long)sum->nr_bad, (unsigned long long)sum->nr_late);
	printf("user stacks: complete %llu, partial %llu, unproven %llu, lost %llu, none expected "
	       "%llu\n",
	       (unsigned long long)sum->nr_user_complete, (unsigned long long)sum->nr_user_partial,
	       (unsigned long long)sum->nr_user_unproven, (unsigned long long)sum->nr_user_lost,
	       (unsigned long long)sum->nr_user_none_expected);
	if (sum->end != CLEW_OK)
		printf("the file was cut at byte %llu\n", (unsigned long long)sum->end_offset);
	if (sum->left_out->nr)
		printf("no room for %llu things, first for %s %s\n",
		       (unsigned long long)sum->left_out->nr, sum->left_out->first_what,
		       sum->left_out->first_input);
}

int main(int argc, char **argv)
{
	struct clew_session *session;
	struct clew_diag diag;
	enum clew_err err;
	char text[512];

	if (argc != 2)
		return 2;
	err = clew_session_open(&session, argv[1], NULL, &diag);
	if (err == CLEW_OK)
		err = clew_session_each(session, pass_over, NULL, &diag);
	if (err != CLEW_OK && err != CLEW_TRUNCATED) {
		clew_diag_text(text, sizeof(text), argv[1], &diag);
		fprintf(stderr, "%s\n", text);
		return 1;
	}
	print_lists(session);
	print_summary(clew_session_summary(session));
	clew_session_free(session);
	return 0;
}
