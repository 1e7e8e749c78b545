/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/page_http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/** Text in the request. */
struct part {
	const char *at;
	size_t size;
};

static bool is_text(struct part p, const char *text)
{
	return p.size == strlen(text) && !memcmp(p.at, text, p.size);
}

static bool is_name(struct part p, const char *name)
{
	return p.size == strlen(name) && !strncasecmp(p.at, name, p.size);
}

/* The next part of @p from up to @p end, which is skipped. @return false: no @p end. */
static bool take(struct part *from, const char *end, struct part *ret)
{
	const char *to = memmem(from->at, from->size, end, strlen(end));

	if (!to)
		return false;
	*ret = (struct part){from->at, (size_t)(to - from->at)};
	from->size -= ret->size + strlen(end);
	from->at = to + strlen(end);
	return true;
}

static struct part trimmed(struct part p)
{
	while (p.size && (*p.at == ' ' || *p.at == '\t')) {
		p.at++;
		p.size--;
	}
	while (p.size && (p.at[p.size - 1] == ' ' || p.at[p.size - 1] == '\t'))
		p.size--;
	return p;
}

/* A page of another site that its name server leads here has that site's name. */
static bool is_loopback(const struct page_http_site *site, struct part host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	char want[32];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(want, sizeof(want), "%s:%u", names[i], site->port);
		if (is_name(host, want) || (site->port == 80 && is_name(host, names[i])))
			return true;
	}
	return false;
}

/* Exactly one Host, and that of this machine. */
static bool has_our_host(const struct page_http_site *site, struct part headers)
{
	struct part line, name;
	unsigned int nr = 0, nr_ours = 0;

	while (take(&headers, "\r\n", &line)) {
		if (!take(&line, ":", &name) || !is_name(name, "Host"))
			continue;
		nr++;
		nr_ours += is_loopback(site, trimmed(line));
	}
	return nr == 1 && nr_ours == 1;
}

/* In the same time wherever they differ. */
static bool is_token(const struct page_http_site *site, const char *at)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < PAGE_HTTP_TOKEN; i++)
		differs |= (unsigned char)(site->token[i] ^ at[i]);
	return !differs;
}

static enum page_http_answer answer_of(const struct page_http_site *site, struct part method,
				       struct part path)
{
	struct part rest;

	if (path.size < PAGE_HTTP_TOKEN + 2 || path.at[0] != '/' ||
	    path.at[PAGE_HTTP_TOKEN + 1] != '/' || !is_token(site, path.at + 1))
		return PAGE_HTTP_NOT_FOUND;
	rest = (struct part){path.at + PAGE_HTTP_TOKEN + 2, path.size - PAGE_HTTP_TOKEN - 2};
	if (is_text(method, "GET") && !rest.size)
		return PAGE_HTTP_PAGE;
	if (is_text(method, "POST") && is_text(rest, "hello"))
		return PAGE_HTTP_HELLO;
	if (is_text(method, "POST") && is_text(rest, "goodbye"))
		return PAGE_HTTP_GOODBYE;
	return PAGE_HTTP_NOT_FOUND;
}

/* Spec: RFC 9112, "Request Line", "Field Syntax". A body is not waited for. */
enum page_http_answer page_http_judge(const struct page_http_site *site, const char *request,
				      size_t size)
{
	struct part all = {request, size}, headers, line, method, path;

	if (!memmem(request, size, "\r\n\r\n", 4))
		return size < PAGE_HTTP_MAX_REQUEST ? PAGE_HTTP_MORE : PAGE_HTTP_NOT_FOUND;
	if (!take(&all, "\r\n", &line) || !take(&line, " ", &method) || !take(&line, " ", &path) ||
	    line.size < 7 || memcmp(line.at, "HTTP/1.", 7) != 0)
		return PAGE_HTTP_NOT_FOUND;
	headers = (struct part){
		all.at, (size_t)((char *)memmem(request, size, "\r\n\r\n", 4) + 2 - all.at)};
	if (!has_our_host(site, headers))
		return PAGE_HTTP_OTHER_HOST;
	return answer_of(site, method, path);
}

static const char *status_of(enum page_http_answer answer)
{
	switch (answer) {
	case PAGE_HTTP_PAGE:
		return "200 OK";
	case PAGE_HTTP_HELLO:
	case PAGE_HTTP_GOODBYE:
		return "204 No Content";
	case PAGE_HTTP_OTHER_HOST:
		return "403 Forbidden";
	case PAGE_HTTP_MORE:
	case PAGE_HTTP_NOT_FOUND:
		break;
	}
	return "404 Not Found";
}

size_t page_http_headers(enum page_http_answer answer, size_t page_bytes, const char *policy,
			 char *ret, size_t room)
{
	bool is_page = answer == PAGE_HTTP_PAGE;
	bool has_length = answer != PAGE_HTTP_HELLO && answer != PAGE_HTTP_GOODBYE;
	char length[48] = "";
	int n;

	if (has_length) /* Spec: RFC 9110, "Content-Length": none with 204 */
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n",
			 is_page ? page_bytes : 0);
	n = snprintf(ret, room,
		     "HTTP/1.1 %s\r\n%sCache-Control: no-store\r\n"
		     "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
		     "%s%s%sConnection: close\r\n\r\n",
		     status_of(answer), length,
		     is_page ? "Content-Type: text/html; charset=utf-8\r\n"
			       "Content-Security-Policy: "
			     : "",
		     is_page ? policy : "", is_page ? "\r\n" : "");
	return n < 0 || (size_t)n >= room ? 0 : (size_t)n;
}
