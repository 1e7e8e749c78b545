/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/page_http.h"

#include "make/splitmix.h"
#include "tap.h"

static const struct page_http_site site = {"0123456789abcdef0123456789abcdef", 8123};
static const char good[] = "GET /0123456789abcdef0123456789abcdef/ HTTP/1.1\r\n"
			   "Accept: */*\r\nHost: 127.0.0.1:8123\r\n\r\n";

/* In a block of its own size, so that a sanitizer sees a read past it. */
static enum page_http_answer judge(const char *request, size_t size)
{
	char *copy = malloc(size ? size : 1);
	enum page_http_answer a;

	memcpy(copy, request, size);
	a = page_http_judge(&site, copy, size);
	free(copy);
	return a;
}

static void cuts(void)
{
	size_t size = sizeof(good) - 1, nr = 0;

	for (size_t n = 0; n < size; n++)
		nr += judge(good, n) == PAGE_HTTP_MORE;
	CHECK(nr == size, "a request that is cut waits for more");
	CHECK(judge(good, size) == PAGE_HTTP_PAGE, "the whole one is the page");
}

static void mutations(void)
{
	uint64_t state = 1;
	size_t size = sizeof(good) - 1, nr_pages = 0, token = strlen("GET /");
	char *other = malloc(size);

	for (int i = 0; i < 200000; i++) {
		size_t at = splitmix_below(&state, (uint32_t)size);
		bool in_token = at >= token && at < token + PAGE_HTTP_TOKEN;
		enum page_http_answer a;

		memcpy(other, good, size);
		other[at] = (char)(other[at] ^ (1 << splitmix_below(&state, 8)));
		a = judge(other, size);
		nr_pages += in_token && a == PAGE_HTTP_PAGE;
	}
	free(other);
	CHECK(nr_pages == 0, "no bit of the token may differ");
}

static void noise(void)
{
	uint64_t state = 2;
	static const char parts[][16] = {"GET ",           "/", "\r\n", "Host:", " HTTP/1.1",
					 "127.0.0.1:8123", ":", " "};
	char request[PAGE_HTTP_MAX_REQUEST];
	size_t nr_wrong = 0;

	for (int i = 0; i < 20000; i++) {
		size_t n = 0;

		while (n < sizeof(request) - 32 && splitmix_below(&state, 40)) {
			const char *part = parts[splitmix_below(&state, 8)];

			memcpy(request + n, part, strlen(part));
			n += strlen(part);
		}
		nr_wrong += judge(request, n) == PAGE_HTTP_PAGE;
	}
	CHECK(nr_wrong == 0, "parts of requests in any order are no request for the page");
	memset(request, 'a', sizeof(request));
	CHECK(judge(request, sizeof(request)) == PAGE_HTTP_NOT_FOUND,
	      "a request without an end has one");
	CHECK(judge(request, sizeof(request) - 1) == PAGE_HTTP_MORE, "at 16 KiB");
}

static void headers(void)
{
	char text[512], small[16];
	size_t n =
		page_http_headers(PAGE_HTTP_PAGE, 1234, "default-src 'none'", text, sizeof(text));

	CHECK(n && !strncmp(text, "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n", 39),
	      "status and length");
	CHECK(strstr(text, "\r\nContent-Security-Policy: default-src 'none'\r\n"), "the policy");
	CHECK(!strcmp(text + n - 4, "\r\n\r\n"), "the empty line");
	n = page_http_headers(PAGE_HTTP_HELLO, 0, "", text, sizeof(text));
	CHECK(n && !strstr(text, "Content-Length"), "204 has no length");
	CHECK(page_http_headers(PAGE_HTTP_PAGE, 1, "", small, sizeof(small)) == 0,
	      "nothing without room");
}

int main(void)
{
	cuts();
	mutations();
	noise();
	headers();
	return tap_done();
}
