/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Test Anything Protocol in a page. A test file has one main(): checks, then `return tap_done();`.
 * A check names what it shows, so that the output reads as a list of facts.
 */
static int tap_count, tap_failed;

#define CHECK(cond, ...)                                \
 do {                                                   \
  int ok_ = !!(cond);                                   \
  tap_count++;                                          \
  tap_failed += !ok_;                                   \
  printf("%s %d - ", ok_ ? "ok" : "not ok", tap_count); \
  printf(__VA_ARGS__);                                  \
  printf("\n");                                         \
  if (!ok_)                                             \
   printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);  \
  fflush(stdout);                                       \
 } while (0)

#define CHECK_EQ(got, want, ...)                                                  \
 do {                                                                             \
  long long got_ = (long long)(got), want_ = (long long)(want);                   \
  CHECK(got_ == want_, __VA_ARGS__);                                              \
  if (got_ != want_)                                                              \
   printf("# got %lld (0x%llx), want %lld (0x%llx)\n", got_, got_, want_, want_); \
 } while (0)

#define CHECK_STR(got, want, ...)                                                           \
 do {                                                                                       \
  const char *got_ = (got), *want_ = (want);                                                \
  int same_ = got_ && want_ ? !strcmp(got_, want_) : got_ == want_;                         \
  CHECK(same_, __VA_ARGS__);                                                                \
  if (!same_)                                                                               \
   printf("# got \"%s\", want \"%s\"\n", got_ ? got_ : "(null)", want_ ? want_ : "(null)"); \
 } while (0)

/** The whole file cannot run here: say why and stop. Only before the first check. */
#define SKIP_ALL(why)              \
 do {                              \
  printf("1..0 # SKIP %s\n", why); \
  exit(0);                         \
 } while (0)

#define SKIP(why) printf("ok %d # SKIP %s\n", ++tap_count, why)

static inline int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif
