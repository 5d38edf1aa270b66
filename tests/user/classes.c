// SPDX-License-Identifier: GPL-2.0-only
/*
 * classes.c - print the table of size classes, as the module makes it
 *
 * The pure parts of zsx, compiled for user space with sanitizers. Each offset and
 * each span is computed on the way, so that these see them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "zsx_class.h"

static struct zsx_class_table table;

static int usage(void)
{
	fprintf(stderr,
		"usage: classes [PAGE_SIZE [CHAIN_LIMIT]]\n"
		"\n"
		"Print zsx's size classes for pages of 4096 (default) .. 65536 bytes and\n"
		"zspages of at most 1 .. 16 (default) pages: number, largest object, pages,\n"
		"objects, bytes of a descriptor, and objects that span two pages.\n");
	return 2;
}

static unsigned int nr_spanning(const struct zsx_geometry *geo)
{
	unsigned int i, nr = 0;

	for (i = 0; i < geo->nr_objects; i++)
		nr += !!zsx_span(geo, i, geo->size, table.page_shift).len[1];
	return nr;
}

int main(int argc, char **argv)
{
	unsigned int page_size = argc > 1 ? atoi(argv[1]) : 4096;
	unsigned int chain_limit = argc > 2 ? atoi(argv[2]) : ZSX_MAX_PAGES;
	unsigned int shift = page_size ? __builtin_ctz(page_size) : 0;
	unsigned int i;

	if (argc > 3 || page_size != 1U << shift ||
	    zsx_class_table_fill(&table, shift, chain_limit))
		return usage();
	for (i = 0; i < table.nr_classes; i++) {
		const struct zsx_geometry *geo = &table.geo[i];

		printf("%u %u %u %u %u %u\n", i, geo->size, geo->nr_pages,
		       geo->nr_objects, geo->desc_size, nr_spanning(geo));
	}
	return 0;
}
