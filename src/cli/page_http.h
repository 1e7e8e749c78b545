/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_PAGE_HTTP_H
#define CLI_PAGE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What `clew view` answers: pure functions of the bytes of a request, for the server
 * (page_server.h). One page at one path, /TOKEN/, for requests that name this machine as their
 * host; whoever does not know the token gets nothing.
 */
enum {
	PAGE_HTTP_TOKEN = 32, /* hex digits: 128 bits */
	PAGE_HTTP_MAX_REQUEST = 16 << 10
};

enum page_http_answer {
	PAGE_HTTP_MORE,       /* the request is not complete yet */
	PAGE_HTTP_PAGE,       /* 200 */
	PAGE_HTTP_HELLO,      /* 204: a page was opened */
	PAGE_HTTP_GOODBYE,    /* 204: a page was closed or left */
	PAGE_HTTP_OTHER_HOST, /* 403 */
	PAGE_HTTP_NOT_FOUND   /* 404: all else, also what is no HTTP */
};

struct page_http_site {
	char token[PAGE_HTTP_TOKEN + 1];
	uint16_t port;
};

/** @p request: what has arrived, PAGE_HTTP_MAX_REQUEST at most. O(size). */
enum page_http_answer page_http_judge(const struct page_http_site *site, const char *request,
				      size_t size);

/**
 * Status line and headers, with the empty line; @p page_bytes and @p policy are of
 * PAGE_HTTP_PAGE. @return their length, below @p room.
 */
size_t page_http_headers(enum page_http_answer answer, size_t page_bytes, const char *policy,
			 char *ret, size_t room);

#endif
