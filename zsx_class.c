// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_class.c - geometry: one pure function fills the table of size classes
 *
 * A class stores objects up to its size, n of them in zspages of k pages. What
 * an object costs is its share of the pages and of the descriptor:
 *
 *	cost(k, n) = (k * PAGE_SIZE + descriptor(k, n)) / n
 *
 * For each length, from PAGE_SIZE downwards, the chain length k of the least
 * cost is taken. A class of its own is made only where it saves more than
 * 1/128 of the cost in the class above: each class holds some partly filled
 * zspages, and has to earn them. The rule, the constants and what they gain
 * were found with a model and nine distributions of lengths; design.rst,
 * "Geometry", has the figures.
 *
 * All of it is exact integer arithmetic: costs are fractions, and are compared
 * by multiplying out.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include <kunit/visibility.h>

#include "zsx_class.h"

/* A class of its own must save more than 1 / MERGE_SHARE of an object's cost. */
#define MERGE_SHARE	128

/* No class is smaller than this share of a page. */
#define MIN_SIZE_SHARE	128

/* The descriptor's fixed part; zsx_internal.h asserts that it is this large. */
#define DESC_HEAD	64
#define DESC_ENTRY	8
#define DESC_ALIGN	(1U << ZSX_FRAME_SHIFT)

/* A shape of a zspage, and what a whole one costs in bytes. */
struct shape {
	unsigned int nr_pages;
	unsigned int nr_objects;
	u64 bytes;
};

/*
 * Bytes of a descriptor: the head, an entry a page and an object, and, as the model
 * has it, a word for each 64 objects. There SLUB keeps its free pointer, which it
 * puts behind an object that has a constructor; one word would do. Where pointers
 * are short the size is the same, so that the classes are.
 */
static unsigned int desc_size(unsigned int nr_pages, unsigned int nr_objects)
{
	unsigned int words = (nr_objects + 63) / 64;
	unsigned int size = DESC_HEAD + DESC_ENTRY * (words + nr_pages + nr_objects);

	return (size + DESC_ALIGN - 1) & ~(DESC_ALIGN - 1);
}

static bool cheaper(const struct shape *a, const struct shape *b)
{
	return a->bytes * b->nr_objects < b->bytes * a->nr_objects;
}

static bool saves_enough(const struct shape *a, const struct shape *above)
{
	return above->bytes * a->nr_objects * MERGE_SHARE >
	       a->bytes * above->nr_objects * (MERGE_SHARE + 1);
}

/* The cheapest shape for objects of @size bytes; of equals, the shortest. */
static struct shape best_shape(unsigned int size, unsigned int page_shift,
			       unsigned int max_pages)
{
	struct shape best = {};
	unsigned int k;

	for (k = 1; k <= max_pages; k++) {
		unsigned int n = min((k << page_shift) / size,
				     (unsigned int)ZSX_MAX_OBJECTS);
		struct shape s = {
			.nr_pages = k,
			.nr_objects = n,
			.bytes = (k << page_shift) + desc_size(k, n),
		};

		if (!best.nr_objects || cheaper(&s, &best))
			best = s;
	}
	return best;
}

static u32 fixed_point_ratio(u64 num, unsigned int den)
{
	return (u32)num / den + !!((u32)num % den);
}

/* pages << page_shift << ZSX_STRIDE_SHIFT needs 44 bits: divide in two steps. */
static u64 fixed_point_stride(unsigned int bytes, unsigned int nr_objects)
{
	unsigned int whole = bytes / nr_objects;
	unsigned int rest = bytes % nr_objects;

	return ((u64)whole << ZSX_STRIDE_SHIFT) +
	       fixed_point_ratio(rest << ZSX_STRIDE_SHIFT, nr_objects);
}

static void set_shape(struct zsx_geometry *geo, const struct shape *shape,
		      unsigned int size, unsigned int page_shift)
{
	unsigned int bytes = shape->nr_pages << page_shift;
	unsigned int n = shape->nr_objects;

	*geo = (struct zsx_geometry) {
		.stride = fixed_point_stride(bytes, n),
		/* What else fits in a slot is welcome there. */
		.size = max(size, bytes / n & ~(ZSX_ALIGN - 1)),
		.ratio = fixed_point_ratio(ZSX_NR_RATIOS << ZSX_RATIO_SHIFT, n),
		.desc_size = desc_size(shape->nr_pages, n),
		.nr_pages = shape->nr_pages,
		.nr_objects = n,
	};
}

/* Find for each page the first and the last slot that touch it. */
static void set_touching_slots(struct zsx_geometry *geo, unsigned int page_shift)
{
	unsigned int i, page;

	for (i = geo->nr_objects; i--; ) {
		geo->first[zsx_last_page(geo, i, page_shift)] = i;
		geo->first[zsx_offset(geo, i) >> page_shift] = i;
	}
	for (i = 0; i < geo->nr_objects; i++)
		for (page = zsx_offset(geo, i) >> page_shift;
		     page <= zsx_last_page(geo, i, page_shift); page++)
			geo->last[page] = i;
}

/*
 * Walk the lengths downwards and make a class where it pays. Classes come out
 * largest first.
 */
static int make_classes(struct zsx_class_table *t, unsigned int max_pages)
{
	unsigned int min_size = (1U << t->page_shift) / MIN_SIZE_SHARE;
	struct shape above = {};
	unsigned int g;

	for (g = ZSX_NR_GRANULES; g--; ) {
		unsigned int size = max((g + 1) << t->granule_shift, min_size);
		struct shape best = best_shape(size, t->page_shift, max_pages);

		if (!above.nr_objects || saves_enough(&best, &above)) {
			if (t->nr_classes == ZSX_MAX_CLASSES)
				return -E2BIG;
			set_shape(&t->geo[t->nr_classes], &best, size, t->page_shift);
			set_touching_slots(&t->geo[t->nr_classes], t->page_shift);
			t->nr_classes++;
			above = best;
		}
		t->of_granule[g] = t->nr_classes - 1;
	}
	return 0;
}

/* Put the smallest first. */
static void reverse_classes(struct zsx_class_table *t)
{
	unsigned int i, j, g;

	for (i = 0, j = t->nr_classes - 1; i < j; i++, j--)
		swap(t->geo[i], t->geo[j]);
	for (g = 0; g < ZSX_NR_GRANULES; g++)
		t->of_granule[g] = t->nr_classes - 1 - t->of_granule[g];
}

static unsigned int first_huge_size(const struct zsx_class_table *t)
{
	unsigned int g = 0;

	while (t->geo[t->of_granule[g]].nr_objects > t->geo[t->of_granule[g]].nr_pages)
		g++;
	return (g << t->granule_shift) + 1;
}

/**
 * zsx_class_table_fill() - decide the size classes for a page size
 * @table: filled in
 * @page_shift: log2 of the page size, 12 .. 16
 * @max_pages: the longest zspage, in pages, 1 .. ZSX_MAX_PAGES
 *
 * A function of its arguments alone.
 *
 * Return: 0; -EINVAL for arguments out of range; -E2BIG if the rule made more
 * classes than a location can name (it does for no argument allowed here).
 */
int zsx_class_table_fill(struct zsx_class_table *table, unsigned int page_shift,
			 unsigned int max_pages)
{
	int err;

	if (page_shift < 12 || page_shift > 16 ||
	    !max_pages || max_pages > ZSX_MAX_PAGES)
		return -EINVAL;

	memset(table, 0, sizeof(*table));
	table->page_shift = page_shift;
	table->granule_shift = page_shift - ZSX_GRANULE_BITS;
	err = make_classes(table, max_pages);
	if (err)
		return err;
	reverse_classes(table);
	table->huge_size = first_huge_size(table);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_class_table_fill);
