/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_PAGE_SERVER_H
#define CLI_PAGE_SERVER_H

#include "cli/page_http.h"
#include "os/listen.h"

/** A page served to browsers of this machine, until all of them left it or Ctrl-C. */
struct page_server {
	struct page_http_site site;
	struct os_listen listen;
	int signals;               /* they arrive here from page_server_open() on */
	const char *page, *policy; /* borrowed */
	size_t page_bytes;
};

/** Listen, with a new token. No other thread may run any more. @return 0 or -errno. */
int page_server_open(struct page_server *s, uint16_t port);
void page_server_done(struct page_server *s);

/** Answer requests. @return 0: it was left, or a signal ended it; -errno. */
int page_server_run(struct page_server *s);

#endif
