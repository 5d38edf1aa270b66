// SPDX-License-Identifier: GPL-2.0-only
/*
 * class_kunit.c - the table of size classes
 *
 * Most cases run over the tables of three page sizes and three chain limits.
 * Costs are fractions, and are compared by multiplying out. Loops assert, so
 * that what is broken is told once, not a thousand times.
 */
#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/align.h>
#include <linux/err.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "zsx_internal.h"

#include "class_table.h"

static void model_desc(const struct class_model *model, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u KiB pages, at most %u a zspage",
		 1U << (model->page_shift - 10), model->max_pages);
}

KUNIT_ARRAY_PARAM(model, class_models, model_desc);

static struct zsx_class_table *new_table(struct kunit *test, unsigned int page_shift,
					 unsigned int max_pages)
{
	struct zsx_class_table *table;

	table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_EQ(test, 0, zsx_class_table_fill(table, page_shift, max_pages));
	KUNIT_ASSERT_GT(test, table->nr_classes, 0);
	return table;
}

static const struct zsx_class_table *table_of(struct kunit *test)
{
	const struct class_model *model = test->param_value;

	return new_table(test, model->page_shift, model->max_pages);
}

static const struct zsx_geometry *geo_of_size(const struct zsx_class_table *table,
					      unsigned int size)
{
	return &table->geo[zsx_class_of_size(table, size)];
}

#define for_each_class(table, geo) \
	for (geo = (table)->geo; geo < (table)->geo + (table)->nr_classes; geo++)

#define for_each_size(table, size) \
	for (size = 1; size <= 1U << (table)->page_shift; size++)

/* What a zspage of @nr_pages pages costs in bytes, its descriptor included. */
static u64 bytes_of(const struct zsx_class_table *table, unsigned int nr_pages,
		    unsigned int desc_size)
{
	return ((u64)nr_pages << table->page_shift) + desc_size;
}

static u64 geo_bytes(const struct zsx_class_table *table,
		     const struct zsx_geometry *geo)
{
	return bytes_of(table, geo->nr_pages, geo->desc_size);
}

/* Whether an object costs less in @a than in @b. */
static bool cheaper(const struct zsx_class_table *table,
		    const struct zsx_geometry *a, const struct zsx_geometry *b)
{
	return geo_bytes(table, a) * b->nr_objects < geo_bytes(table, b) * a->nr_objects;
}

/* === Arguments =========================================================== */

static void bad_arguments_are_refused(struct kunit *test)
{
	struct zsx_class_table *table = new_table(test, 12, 16);

	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 0, 16));
	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 11, 16));
	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 17, 16));
	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 12, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 12, 17));
	KUNIT_EXPECT_EQ(test, -EINVAL, zsx_class_table_fill(table, 12, -1U));
}

static void good_arguments_give_what_locations_can_name(struct kunit *test)
{
	struct zsx_class_table *table = new_table(test, 12, 16);
	const struct zsx_geometry *geo;
	unsigned int shift, max;

	for (shift = 12; shift <= 16; shift++)
		for (max = 1; max <= 16; max++) {
			KUNIT_ASSERT_EQ_MSG(test, 0, zsx_class_table_fill(table, shift, max),
					    "page shift %u, limit %u", shift, max);
			KUNIT_ASSERT_LE_MSG(test, table->nr_classes, 256,
					    "page shift %u, limit %u", shift, max);
			for_each_class(table, geo) {
				KUNIT_ASSERT_LE_MSG(test, geo->nr_objects, 128,
						    "page shift %u, limit %u", shift, max);
				KUNIT_ASSERT_LE_MSG(test, geo->nr_pages, max,
						    "page shift %u, limit %u", shift, max);
			}
		}
}

static void table_depends_on_arguments_alone(struct kunit *test)
{
	struct zsx_class_table *fresh = new_table(test, 12, 16);
	struct zsx_class_table *reused = new_table(test, 16, 4);

	memset(reused, 0xa5, sizeof(*reused));
	KUNIT_ASSERT_EQ(test, 0, zsx_class_table_fill(reused, 12, 16));
	KUNIT_EXPECT_EQ(test, 0, memcmp(fresh, reused, sizeof(*fresh)));
}

/* === Which class a size gets ============================================= */

/* Where granules are longer than objects' alignment, lengths are rounded up. */
static unsigned int granule_end(const struct zsx_class_table *table,
				unsigned int size)
{
	return ALIGN(size, (1U << table->page_shift) / 512);
}

static void size_lands_in_a_class_that_holds_it(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int size;

	for_each_size(table, size) {
		KUNIT_ASSERT_LT_MSG(test, zsx_class_of_size(table, size),
				    table->nr_classes, "size %u", size);
		KUNIT_ASSERT_GE_MSG(test, geo_of_size(table, size)->size, size,
				    "size %u", size);
	}
}

static void size_lands_in_the_first_class_that_holds_its_granule(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int size, first = 0;

	for_each_size(table, size) {
		while (table->geo[first].size < granule_end(table, size))
			first++;
		KUNIT_ASSERT_EQ_MSG(test, zsx_class_of_size(table, size), first,
				    "size %u", size);
	}
}

static void size_lands_in_the_cheapest_class_that_holds_its_granule(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int size;

	for_each_size(table, size) {
		const struct zsx_geometry *used = geo_of_size(table, size);

		if (size != granule_end(table, size)) {
			KUNIT_ASSERT_PTR_EQ_MSG(test, used,
						geo_of_size(table, granule_end(table, size)),
						"size %u", size);
			continue;
		}
		for_each_class(table, geo)
			KUNIT_ASSERT_FALSE_MSG(test, geo->size >= size &&
					       cheaper(table, geo, used),
					       "size %u: class of %u instead of %u",
					       size, used->size, geo->size);
	}
}

/* The most that merging classes costs, against any zspage that could be. */
static void no_shape_is_cheaper_by_more_than_a_128th(struct kunit *test)
{
	const struct class_model *model = test->param_value;
	const struct zsx_class_table *table = table_of(test);
	unsigned int page_size = 1U << table->page_shift;
	unsigned int size, k;

	for (size = page_size / 128; size <= page_size; size += page_size / 512) {
		const struct zsx_geometry *used = geo_of_size(table, size);

		for (k = 1; k <= model->max_pages; k++) {
			unsigned int n = min(k * page_size / size, 128U);
			unsigned int desc = ALIGN(64 + 8 * (k + n + DIV_ROUND_UP(n, 64)), 128);

			KUNIT_ASSERT_LE_MSG(test,
					    geo_bytes(table, used) * n * 128,
					    bytes_of(table, k, desc) * used->nr_objects * 129,
					    "size %u: class of %u instead of %u in %u pages",
					    size, used->size, n, k);
		}
	}
}

/* A class that saves less than a 128th has not earned its partial zspages. */
static void class_saves_more_than_a_128th_of_the_next(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int i;

	for (i = 0; i + 1 < table->nr_classes; i++) {
		const struct zsx_geometry *geo = &table->geo[i], *next = geo + 1;

		KUNIT_ASSERT_GT_MSG(test, geo_bytes(table, next) * geo->nr_objects * 128,
				    geo_bytes(table, geo) * next->nr_objects * 129,
				    "class of %u below %u", geo->size, next->size);
	}
}

static void class_sizes_ascend(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int i;

	for (i = 1; i < table->nr_classes; i++)
		KUNIT_ASSERT_GT_MSG(test, table->geo[i].size, table->geo[i - 1].size,
				    "class %u", i);
	KUNIT_EXPECT_EQ(test, table->geo[table->nr_classes - 1].size,
			1U << table->page_shift);
}

static void every_class_is_used_by_a_size(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int size, next = 0;

	for_each_size(table, size)
		if (zsx_class_of_size(table, size) == next)
			next++;
	KUNIT_EXPECT_EQ(test, next, table->nr_classes);
}

static void huge_size_is_the_first_of_a_page_an_object(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int size;

	for_each_size(table, size) {
		const struct zsx_geometry *geo = geo_of_size(table, size);

		KUNIT_ASSERT_EQ_MSG(test, geo->nr_objects == geo->nr_pages,
				    size >= table->huge_size, "size %u", size);
	}
}

/* === What a class is ===================================================== */

static void objects_do_not_overlap(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int i;

	for_each_class(table, geo)
		for (i = 0; i + 1 < geo->nr_objects; i++)
			KUNIT_ASSERT_LE_MSG(test, zsx_offset(geo, i) + geo->size,
					    zsx_offset(geo, i + 1),
					    "object %u of %u bytes", i, geo->size);
}

static void objects_span_two_pages_at_most(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int i;

	for_each_class(table, geo)
		for (i = 0; i < geo->nr_objects; i++)
			KUNIT_ASSERT_LE_MSG(test, zsx_last_page(geo, i, table->page_shift),
					    (zsx_offset(geo, i) >> table->page_shift) + 1,
					    "object %u of %u bytes", i, geo->size);
}

static void last_object_ends_inside_the_last_page(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;

	for_each_class(table, geo) {
		unsigned int end = zsx_offset(geo, geo->nr_objects - 1) + geo->size;

		KUNIT_ASSERT_LE_MSG(test, end, geo->nr_pages << table->page_shift,
				    "class of %u bytes", geo->size);
		KUNIT_ASSERT_GT_MSG(test, end, (geo->nr_pages - 1U) << table->page_shift,
				    "class of %u bytes", geo->size);
	}
}

static void no_page_is_without_an_object(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;

	for_each_class(table, geo) {
		unsigned long touched = 0;
		unsigned int i;

		for (i = 0; i < geo->nr_objects; i++) {
			__set_bit(zsx_offset(geo, i) >> table->page_shift, &touched);
			__set_bit(zsx_last_page(geo, i, table->page_shift), &touched);
		}
		KUNIT_ASSERT_EQ_MSG(test, touched, (1UL << geo->nr_pages) - 1,
				    "class of %u bytes", geo->size);
		KUNIT_ASSERT_GE_MSG(test, geo->nr_objects, geo->nr_pages,
				    "class of %u bytes", geo->size);
	}
}

/*
 * What malloc counts on when it grows a zspage: with pages 0 .. page - 1
 * present, page @page missing and those above present or not, there is a slot
 * that touches @page and none above it. It becomes present by that page alone.
 */
static void lowest_missing_page_always_brings_a_slot(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int page, above;

	for_each_class(table, geo)
		for (page = 0; page < geo->nr_pages; page++) {
			struct zsx_slots gained = zsx_slots_on_page(geo, page);

			for (above = page + 1; above < geo->nr_pages; above++)
				gained = zsx_slots_without(gained,
							   zsx_slots_on_page(geo, above));
			KUNIT_ASSERT_FALSE_MSG(test, zsx_slots_empty(gained),
					       "page %u of class of %u bytes",
					       page, geo->size);
		}
}

static void descriptor_has_room_for_its_entries(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;

	for_each_class(table, geo) {
		/* 64 for what precedes them, 8 behind them for SLUB's pointer. */
		unsigned int needed = 64 + 8 * geo->nr_pages + 8 * geo->nr_objects + 8;

		KUNIT_ASSERT_GE_MSG(test, geo->desc_size, needed,
				    "class of %u bytes", geo->size);
		KUNIT_ASSERT_LE_MSG(test, geo->desc_size, 2048,
				    "class of %u bytes", geo->size);
		KUNIT_ASSERT_EQ_MSG(test, geo->desc_size % 128, 0,
				    "class of %u bytes", geo->size);
	}
}

/* === The model =========================================================== */

/* FNV-1a by words. class_table.h has the same in Python. */
static u32 hash(u32 so_far, u32 word)
{
	return (so_far ^ word) * 0x01000193;
}

static void table_is_the_models(struct kunit *test)
{
	const struct class_model *model = test->param_value;
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	u32 h = 0x811c9dc5;

	for_each_class(table, geo) {
		h = hash(h, geo->size);
		h = hash(h, geo->nr_pages);
		h = hash(h, geo->nr_objects);
		h = hash(h, geo->desc_size);
	}
	KUNIT_EXPECT_EQ(test, table->nr_classes, model->nr_classes);
	KUNIT_EXPECT_EQ(test, h, model->hash);
}

static void class_of_4k_pages_is_the_models(struct kunit *test)
{
	const struct zsx_class_table *table = new_table(test, 12, 16);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, table->nr_classes, ARRAY_SIZE(class_rows_4k));
	for (i = 0; i < ARRAY_SIZE(class_rows_4k); i++) {
		const struct zsx_geometry *geo = &table->geo[i];
		const struct class_row *row = &class_rows_4k[i];

		KUNIT_EXPECT_EQ_MSG(test, geo->size, row->size, "class %u", i);
		KUNIT_EXPECT_EQ_MSG(test, geo->nr_pages, row->nr_pages, "class %u", i);
		KUNIT_EXPECT_EQ_MSG(test, geo->nr_objects, row->nr_objects, "class %u", i);
		KUNIT_EXPECT_EQ_MSG(test, geo->desc_size, row->desc_size, "class %u", i);
	}
}

/* === A pool's classes ==================================================== */

KUNIT_DEFINE_ACTION_WRAPPER(destroy_pool, zsx_destroy_pool, struct zsx_pool *);

static struct zsx_pool *new_pool(struct kunit *test)
{
	struct zsx_pool *pool = zsx_create_pool("zsx_class_kunit");

	KUNIT_ASSERT_NOT_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, destroy_pool, pool));
	return pool;
}

static void lookup_tells_the_class_an_object_lands_in(struct kunit *test)
{
	struct zsx_pool *pool = new_pool(test);
	unsigned int size;

	for (size = 1; size <= PAGE_SIZE; size++) {
		unsigned int want = zsx_lookup_class_index(pool, size);
		const struct zsx_class *class;
		unsigned long handle;
		zsx_location_t loc;

		handle = zsx_malloc(pool, size, GFP_KERNEL, NUMA_NO_NODE);
		KUNIT_ASSERT_FALSE_MSG(test, IS_ERR_VALUE(handle), "size %u", size);
		loc = zsx_location_read(zsx_handle_of(handle));
		KUNIT_ASSERT_NOT_NULL_MSG(test, zsx_zspage_of(loc), "size %u", size);
		class = zsx_zspage_of(loc)->class;

		KUNIT_ASSERT_PTR_EQ_MSG(test, class, &pool->classes[want],
					"size %u", size);
		KUNIT_ASSERT_PTR_EQ_MSG(test, class->geo, &zsx_classes.geo[want],
					"size %u", size);
		/* Else the word has no room for the class. */
		if (ZSX_LAYOUT.class_bits)
			KUNIT_ASSERT_EQ_MSG(test, zsx_location_class(ZSX_LAYOUT, loc),
					    want, "size %u", size);
		zsx_free(pool, handle);
	}
}

static void lookup_clamps_the_size(struct kunit *test)
{
	struct zsx_pool *pool = new_pool(test);

	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(pool, 0),
			zsx_lookup_class_index(pool, 1));
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(pool, PAGE_SIZE + 1),
			zsx_lookup_class_index(pool, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, zsx_lookup_class_index(pool, -1U),
			zsx_lookup_class_index(pool, PAGE_SIZE));
}

static struct kunit_case class_cases[] = {
	KUNIT_CASE(bad_arguments_are_refused),
	KUNIT_CASE(good_arguments_give_what_locations_can_name),
	KUNIT_CASE(table_depends_on_arguments_alone),
	KUNIT_CASE_PARAM(size_lands_in_a_class_that_holds_it, model_gen_params),
	KUNIT_CASE_PARAM(size_lands_in_the_first_class_that_holds_its_granule,
			 model_gen_params),
	KUNIT_CASE_PARAM(size_lands_in_the_cheapest_class_that_holds_its_granule,
			 model_gen_params),
	KUNIT_CASE_PARAM(no_shape_is_cheaper_by_more_than_a_128th, model_gen_params),
	KUNIT_CASE_PARAM(class_saves_more_than_a_128th_of_the_next, model_gen_params),
	KUNIT_CASE_PARAM(class_sizes_ascend, model_gen_params),
	KUNIT_CASE_PARAM(every_class_is_used_by_a_size, model_gen_params),
	KUNIT_CASE_PARAM(huge_size_is_the_first_of_a_page_an_object, model_gen_params),
	KUNIT_CASE_PARAM(objects_do_not_overlap, model_gen_params),
	KUNIT_CASE_PARAM(objects_span_two_pages_at_most, model_gen_params),
	KUNIT_CASE_PARAM(last_object_ends_inside_the_last_page, model_gen_params),
	KUNIT_CASE_PARAM(no_page_is_without_an_object, model_gen_params),
	KUNIT_CASE_PARAM(lowest_missing_page_always_brings_a_slot, model_gen_params),
	KUNIT_CASE_PARAM(descriptor_has_room_for_its_entries, model_gen_params),
	KUNIT_CASE_PARAM(table_is_the_models, model_gen_params),
	KUNIT_CASE(class_of_4k_pages_is_the_models),
	KUNIT_CASE(lookup_tells_the_class_an_object_lands_in),
	KUNIT_CASE(lookup_clamps_the_size),
	{}
};

static struct kunit_suite class_suite = {
	.name = "zsx_class",
	.test_cases = class_cases,
};

kunit_test_suite(class_suite);
