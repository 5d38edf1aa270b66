/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zsx_class.h - the table of size classes
 *
 * Which class a length is stored in, and the shape of each class's zspages.
 * One read-only table serves all pools.
 */
#ifndef _ZSX_CLASS_H_
#define _ZSX_CLASS_H_

#include "zsx_obj.h"

/* Lengths are told apart in steps of 1 / ZSX_NR_GRANULES of a page. */
#define ZSX_GRANULE_BITS	9
#define ZSX_NR_GRANULES		(1U << ZSX_GRANULE_BITS)

/**
 * struct zsx_class_table - the size classes for one page size
 * @nr_classes: how many there are, smallest first
 * @page_shift: log2 of the page size they were made for
 * @granule_shift: log2 of a granule, in bytes
 * @huge_size: the shortest length that gets a whole page an object
 * @of_granule: the class of lengths g * granule + 1 .. (g + 1) * granule
 * @geo: their shapes
 */
struct zsx_class_table {
	unsigned int nr_classes;
	unsigned int page_shift;
	unsigned int granule_shift;
	unsigned int huge_size;
	u8 of_granule[ZSX_NR_GRANULES];
	struct zsx_geometry geo[ZSX_MAX_CLASSES];
};

int zsx_class_table_fill(struct zsx_class_table *table, unsigned int page_shift,
			 unsigned int max_pages);

/* The class of objects of @size bytes, 1 .. PAGE_SIZE. */
static __always_inline unsigned int
zsx_class_of_size(const struct zsx_class_table *table, unsigned int size)
{
	return table->of_granule[(size - 1) >> table->granule_shift];
}

#endif /* _ZSX_CLASS_H_ */
