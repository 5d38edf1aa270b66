// SPDX-License-Identifier: GPL-2.0-only
/*
 * obj_kunit.c - where objects are: locations, slot sets, spans
 *
 * Locations are tried over the layouts of many machines, geometry over the
 * tables of many page sizes; slot sets are held against plain arrays of bool.
 * Loops assert, so that what is broken is told once, not a thousand times.
 */
#include <kunit/test.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sizes.h>

#include "zsx_class.h"

/* === Locations =========================================================== */

struct layout_param {
	const char *machine;
	unsigned int phys_bits;
	unsigned int class_bits;
};

static const struct layout_param layout_params[] = {
	{ "32-bit: 32 bits", 32, 8 },
	{ "riscv32: 34 bits", 34, 8 },
	{ "i386 with PAE: 36 bits", 36, 8 },
	{ "arm with LPAE: 40 bits", 40, 8 },
	{ "x86-64, 4-level: 46 bits", 46, 8 },
	{ "arm64, 4 and 16 KiB pages: 48 bits", 48, 8 },
	{ "powerpc64, 64 KiB pages: 51 bits", 51, 8 },
	{ "x86-64, 5-level: 52 bits", 52, 8 },
	{ "arm64, 64 KiB pages or LPA2: 52 bits", 52, 8 },
	{ "riscv64: 56 bits, the most with a class", 56, 8 },
	{ "one bit too many for a class: 57 bits", 57, 0 },
	{ "unknown on 64-bit: 64 bits", 64, 0 },
};

static void layout_desc(const struct layout_param *param, char *desc)
{
	strscpy(desc, param->machine, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(layout, layout_params, layout_desc);

static struct zsx_layout layout_of(struct kunit *test)
{
	const struct layout_param *param = test->param_value;

	return zsx_layout_for(param->phys_bits);
}

static u64 ones(unsigned int bits)
{
	return ~0ULL >> (64 - bits);
}

/* The class that a location is expected to tell: none where it is folded. */
static unsigned int told(struct zsx_layout layout, unsigned int class)
{
	return layout.class_bits ? class : 0;
}

static const u8 some_classes[] = { 0, 1, 0x55, 127, 128, 0xaa, 254, 255 };
static const u8 some_indices[] = { 0, 1, 0x2a, 63, 64, 126, 127 };

static void layout_fills_the_word(struct kunit *test)
{
	const struct layout_param *param = test->param_value;
	struct zsx_layout layout = zsx_layout_for(param->phys_bits);

	KUNIT_EXPECT_EQ(test, layout.class_bits, param->class_bits);
	KUNIT_EXPECT_EQ(test, layout.index_bits, 7);
	KUNIT_EXPECT_EQ(test, layout.frame_bits, 64 - 7 - param->class_bits);
}

static void layout_folds_class_only_without_room(struct kunit *test)
{
	unsigned int phys_bits;

	for (phys_bits = 8; phys_bits <= 64; phys_bits++) {
		struct zsx_layout layout = zsx_layout_for(phys_bits);
		unsigned int frame_bits = phys_bits - ZSX_FRAME_SHIFT;
		bool has_room = frame_bits + 8 + 7 <= 64;

		KUNIT_ASSERT_EQ_MSG(test, layout.class_bits, has_room ? 8 : 0,
				    "%u physical bits", phys_bits);
		KUNIT_ASSERT_GE_MSG(test, layout.frame_bits, frame_bits,
				    "%u physical bits", phys_bits);
	}
}

static void location_tells_what_was_put_in(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	const u64 frames[] = {
		1, 2, SZ_1M - 1, SZ_1M, SZ_1M + 1,
		(SZ_4G >> ZSX_FRAME_SHIFT) - 1, SZ_4G >> ZSX_FRAME_SHIFT,
		SZ_4G - 1, SZ_4G, SZ_4G + 1,
		ones(layout.frame_bits) / 3, ones(layout.frame_bits) / 3 * 2,
		ones(layout.frame_bits) - 1, ones(layout.frame_bits),
		1ULL << (layout.frame_bits - 1),
	};
	unsigned int f, c, i;

	for (f = 0; f < ARRAY_SIZE(frames); f++)
		for (c = 0; c < ARRAY_SIZE(some_classes); c++)
			for (i = 0; i < ARRAY_SIZE(some_indices); i++) {
				zsx_location_t loc =
					zsx_location(layout, frames[f] << ZSX_FRAME_SHIFT,
						     some_classes[c], some_indices[i]);

				KUNIT_ASSERT_EQ_MSG(test, zsx_location_frame(layout, loc),
						    frames[f], "word %016llx", loc.v);
				KUNIT_ASSERT_EQ_MSG(test, zsx_location_class(layout, loc),
						    told(layout, some_classes[c]),
						    "word %016llx", loc.v);
				KUNIT_ASSERT_EQ_MSG(test, zsx_location_index(layout, loc),
						    some_indices[i], "word %016llx", loc.v);
			}
}

/* Fields all ones or all zero, in every combination. */
static void location_fields_do_not_bleed(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	unsigned int set;

	for (set = 0; set < 8; set++) {
		u64 frame = set & 4 ? ones(layout.frame_bits) : 0;
		unsigned int class = set & 2 ? 255 : 0;
		unsigned int index = set & 1 ? 127 : 0;
		zsx_location_t loc = zsx_location(layout, frame << ZSX_FRAME_SHIFT,
						  class, index);

		KUNIT_EXPECT_EQ_MSG(test, zsx_location_frame(layout, loc), frame,
				    "word %016llx", loc.v);
		KUNIT_EXPECT_EQ_MSG(test, zsx_location_class(layout, loc),
				    told(layout, class), "word %016llx", loc.v);
		KUNIT_EXPECT_EQ_MSG(test, zsx_location_index(layout, loc), index,
				    "word %016llx", loc.v);
	}
}

struct word_param {
	u64 phys;
	u8 class;
	u8 index;
	u64 with_class;
	u64 folded;
};

static const struct word_param word_params[] = {
	{ 0x80, 0, 0, 0x8000, 0x80 },
	{ 0x80, 1, 2, 0x8082, 0x82 },
	{ 0x80, 255, 127, 0xffff, 0xff },
	/* the frames around 2^20 */
	{ 0x7ffff80, 0, 0, 0x7ffff8000, 0x7ffff80 },
	{ 0x8000000, 3, 4, 0x800000184, 0x8000004 },
	/* on either side of 4 GiB, and above */
	{ 0xffffff80, 216, 5, 0xffffffec05, 0xffffff85 },
	{ 0x100000000, 0, 0, 0x10000000000, 0x100000000 },
	{ 0x123456780, 0xab, 0x4d, 0x1234567d5cd, 0x1234567cd },
	{ 0x3fffffffff80, 0, 1, 0x3fffffffff8001, 0x3fffffffff81 },
	/* the highest of 56 bits */
	{ 0xffffffffffff80, 255, 127, 0xffffffffffffffff, 0xffffffffffffff },
};

static void word_desc(const struct word_param *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "frame at %#llx, class %u, index %u",
		 param->phys, param->class, param->index);
}

KUNIT_ARRAY_PARAM(word, word_params, word_desc);

static void location_is_frame_class_index(struct kunit *test)
{
	const struct word_param *param = test->param_value;

	KUNIT_EXPECT_EQ(test, param->with_class,
			zsx_location(zsx_layout_for(46), param->phys,
				     param->class, param->index).v);
	KUNIT_EXPECT_EQ(test, param->folded,
			zsx_location(zsx_layout_for(64), param->phys,
				     param->class, param->index).v);
}

static void location_ignores_class_where_folded(struct kunit *test)
{
	struct zsx_layout layout = zsx_layout_for(64);
	zsx_location_t without = zsx_location(layout, SZ_4G, 0, 100);
	unsigned int class;

	for (class = 1; class < ZSX_MAX_CLASSES; class++)
		KUNIT_ASSERT_EQ_MSG(test, zsx_location(layout, SZ_4G, class, 100).v,
				    without.v, "class %u", class);
}

static void location_of_a_valid_frame_is_not_0(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	u64 phys = 1ULL << ZSX_FRAME_SHIFT;
	unsigned int bit;

	for (bit = 0; bit < layout.frame_bits; bit++) {
		KUNIT_ASSERT_TRUE_MSG(test, zsx_frame_fits(layout, phys << bit),
				      "frame bit %u", bit);
		KUNIT_ASSERT_NE_MSG(test, zsx_location(layout, phys << bit, 0, 0).v, 0,
				    "frame bit %u", bit);
	}
}

static void frame_fits_up_to_the_largest(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	u64 largest = ones(layout.frame_bits) << ZSX_FRAME_SHIFT;

	KUNIT_EXPECT_TRUE(test, zsx_frame_fits(layout, 1U << ZSX_FRAME_SHIFT));
	KUNIT_EXPECT_TRUE(test, zsx_frame_fits(layout, SZ_4G));
	KUNIT_EXPECT_TRUE(test, zsx_frame_fits(layout, largest));
}

/* Of 64 bits none is too many where the class is folded. */
static void frame_with_too_many_bits_is_refused(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	unsigned int bit;

	for (bit = ZSX_FRAME_SHIFT; bit < 64; bit++) {
		bool fits = bit < layout.frame_bits + ZSX_FRAME_SHIFT;

		KUNIT_EXPECT_EQ_MSG(test, zsx_frame_fits(layout, 1ULL << bit), fits,
				    "address bit %u alone", bit);
		KUNIT_EXPECT_EQ_MSG(test, zsx_frame_fits(layout, 1ULL << bit | SZ_4G), fits,
				    "address bit %u and 4 GiB", bit);
	}
}

static void frame_0_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, zsx_frame_fits(layout_of(test), 0));
}

static void frame_misaligned_is_refused(struct kunit *test)
{
	struct zsx_layout layout = layout_of(test);
	unsigned int low;

	for (low = 1; low < 1U << ZSX_FRAME_SHIFT; low++) {
		KUNIT_ASSERT_FALSE_MSG(test, zsx_frame_fits(layout, low),
				       "address %#x", low);
		KUNIT_ASSERT_FALSE_MSG(test, zsx_frame_fits(layout, SZ_4G + low),
				       "address 4 GiB + %#x", low);
	}
}

/* === Slot sets =========================================================== */

/* What a slot set stands for. */
struct plain_set {
	bool has[ZSX_MAX_OBJECTS];
};

/* Sets whose members end and begin around the border of the two words. */
static const struct {
	unsigned int first, last, step;
} some_sets[] = {
	{ 1, 0, 1 },	/* empty */
	{ 0, 0, 1 }, { 62, 62, 1 }, { 63, 63, 1 }, { 64, 64, 1 }, { 65, 65, 1 },
	{ 126, 126, 1 }, { 127, 127, 1 }, { 0, 62, 1 }, { 0, 63, 1 }, { 0, 64, 1 },
	{ 0, 127, 1 }, { 1, 126, 1 }, { 62, 65, 1 }, { 63, 64, 1 }, { 63, 127, 1 },
	{ 64, 127, 1 }, { 65, 127, 1 }, { 0, 127, 2 }, { 1, 127, 2 }, { 0, 127, 3 },
	{ 2, 127, 5 }, { 31, 127, 32 }, { 0, 127, 63 }, { 0, 127, 127 },
};

static struct plain_set plain(unsigned int nr)
{
	struct plain_set set = {};
	unsigned int i;

	for (i = some_sets[nr].first; i <= some_sets[nr].last; i += some_sets[nr].step)
		set.has[i] = true;
	return set;
}

/* A slot set of the same members, made by none of the functions on trial. */
static struct zsx_slots packed(const struct plain_set *set)
{
	struct zsx_slots slots = {};
	u64 bit = 1;
	unsigned int i;

	for (i = 0; i < 64; i++, bit <<= 1) {
		slots.w[0] |= set->has[i] ? bit : 0;
		slots.w[1] |= set->has[i + 64] ? bit : 0;
	}
	return slots;
}

static void slots_range_is_first_to_last(struct kunit *test)
{
	unsigned int first, last, i;

	for (first = 0; first < ZSX_MAX_OBJECTS; first++) {
		struct plain_set set = {};

		for (last = first; last < ZSX_MAX_OBJECTS; last++) {
			struct zsx_slots want, got = zsx_slots_range(first, last);

			set.has[last] = true;
			want = packed(&set);
			for (i = 0; i < ARRAY_SIZE(want.w); i++)
				KUNIT_ASSERT_EQ_MSG(test, got.w[i], want.w[i],
						    "word %u of %u..%u", i, first, last);
		}
	}
}

static void slots_test_tells_members(struct kunit *test)
{
	unsigned int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(some_sets); nr++) {
		struct plain_set set = plain(nr);
		struct zsx_slots slots = packed(&set);

		for (i = 0; i < ZSX_MAX_OBJECTS; i++)
			KUNIT_ASSERT_EQ_MSG(test, zsx_slots_test(&slots, i), set.has[i],
					    "slot %u of set %u", i, nr);
	}
}

static void slots_set_adds_that_slot_only(struct kunit *test)
{
	unsigned int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(some_sets); nr++)
		for (i = 0; i < ZSX_MAX_OBJECTS; i++) {
			struct plain_set set = plain(nr);
			struct zsx_slots want, slots = packed(&set);

			zsx_slots_set(&slots, i);
			set.has[i] = true;
			want = packed(&set);
			KUNIT_ASSERT_MEMEQ_MSG(test, &slots, &want, sizeof(want),
					       "slot %u of set %u", i, nr);
		}
}

static void slots_clear_removes_that_slot_only(struct kunit *test)
{
	unsigned int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(some_sets); nr++)
		for (i = 0; i < ZSX_MAX_OBJECTS; i++) {
			struct plain_set set = plain(nr);
			struct zsx_slots want, slots = packed(&set);

			zsx_slots_clear(&slots, i);
			set.has[i] = false;
			want = packed(&set);
			KUNIT_ASSERT_MEMEQ_MSG(test, &slots, &want, sizeof(want),
					       "slot %u of set %u", i, nr);
		}
}

static void slots_first_is_the_lowest(struct kunit *test)
{
	unsigned int nr;

	for (nr = 1; nr < ARRAY_SIZE(some_sets); nr++) {
		struct plain_set set = plain(nr);

		KUNIT_EXPECT_EQ_MSG(test, zsx_slots_first(packed(&set)),
				    some_sets[nr].first, "set %u", nr);
	}
}

static void slots_count_counts_members(struct kunit *test)
{
	unsigned int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(some_sets); nr++) {
		struct plain_set set = plain(nr);
		unsigned int want = 0;

		for (i = 0; i < ZSX_MAX_OBJECTS; i++)
			want += set.has[i];
		KUNIT_EXPECT_EQ_MSG(test, zsx_slots_count(packed(&set)), want,
				    "set %u", nr);
	}
}

static void slots_empty_has_no_member(struct kunit *test)
{
	unsigned int nr;

	for (nr = 0; nr < ARRAY_SIZE(some_sets); nr++) {
		struct plain_set set = plain(nr);

		KUNIT_EXPECT_EQ_MSG(test, zsx_slots_empty(packed(&set)), nr == 0,
				    "set %u", nr);
	}
}

static void slots_equal_has_the_same_members(struct kunit *test)
{
	unsigned int a, b;

	for (a = 0; a < ARRAY_SIZE(some_sets); a++)
		for (b = 0; b < ARRAY_SIZE(some_sets); b++) {
			struct plain_set set_a = plain(a), set_b = plain(b);

			/* No two of some_sets[] are the same. */
			KUNIT_ASSERT_EQ_MSG(test, zsx_slots_equal(packed(&set_a),
								  packed(&set_b)),
					    a == b, "sets %u and %u", a, b);
		}
}

static void slots_and_keeps_what_both_have(struct kunit *test)
{
	unsigned int a, b, i;

	for (a = 0; a < ARRAY_SIZE(some_sets); a++)
		for (b = 0; b < ARRAY_SIZE(some_sets); b++) {
			struct plain_set set_a = plain(a), set_b = plain(b);
			struct zsx_slots want;
			struct zsx_slots got = zsx_slots_and(packed(&set_a),
							     packed(&set_b));

			for (i = 0; i < ZSX_MAX_OBJECTS; i++)
				set_a.has[i] = set_a.has[i] && set_b.has[i];
			want = packed(&set_a);
			KUNIT_ASSERT_MEMEQ_MSG(test, &got, &want, sizeof(want),
					       "sets %u and %u", a, b);
		}
}

static void slots_without_keeps_what_only_the_first_has(struct kunit *test)
{
	unsigned int a, b, i;

	for (a = 0; a < ARRAY_SIZE(some_sets); a++)
		for (b = 0; b < ARRAY_SIZE(some_sets); b++) {
			struct plain_set set_a = plain(a), set_b = plain(b);
			struct zsx_slots want;
			struct zsx_slots got = zsx_slots_without(packed(&set_a),
								 packed(&set_b));

			for (i = 0; i < ZSX_MAX_OBJECTS; i++)
				set_a.has[i] = set_a.has[i] && !set_b.has[i];
			want = packed(&set_a);
			KUNIT_ASSERT_MEMEQ_MSG(test, &got, &want, sizeof(want),
					       "sets %u and %u", a, b);
		}
}

/* === Geometry and spans ================================================== */

struct pages_param {
	unsigned int page_shift;
	unsigned int max_pages;
};

static const struct pages_param pages_params[] = {
	{ 12, 1 }, { 12, 4 }, { 12, 8 }, { 12, 16 },
	{ 13, 1 }, { 13, 4 }, { 13, 8 }, { 13, 16 },
	{ 14, 1 }, { 14, 4 }, { 14, 8 }, { 14, 16 },
	{ 15, 1 }, { 15, 4 }, { 15, 8 }, { 15, 16 },
	{ 16, 1 }, { 16, 4 }, { 16, 8 }, { 16, 16 },
};

static void pages_desc(const struct pages_param *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u KiB pages, at most %u a zspage",
		 1U << (param->page_shift - 10), param->max_pages);
}

KUNIT_ARRAY_PARAM(pages, pages_params, pages_desc);

static const struct zsx_class_table *table_of(struct kunit *test)
{
	const struct pages_param *param = test->param_value;
	struct zsx_class_table *table;

	table = kunit_kzalloc(test, sizeof(*table), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, table);
	KUNIT_ASSERT_EQ(test, 0, zsx_class_table_fill(table, param->page_shift,
						      param->max_pages));
	KUNIT_ASSERT_GT(test, table->nr_classes, 0);
	return table;
}

#define for_each_class(table, geo) \
	for (geo = (table)->geo; geo < (table)->geo + (table)->nr_classes; geo++)

/* Where object @i starts, by the definition that the stride stands for. */
static unsigned int exact_offset(const struct zsx_geometry *geo, unsigned int i,
				 unsigned int page_shift)
{
	unsigned int bytes = geo->nr_pages << page_shift;

	return i * bytes / geo->nr_objects & ~7U;
}

static void offset_is_the_exact_quotient(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int i;

	for_each_class(table, geo)
		for (i = 0; i < geo->nr_objects; i++)
			KUNIT_ASSERT_EQ_MSG(test, zsx_offset(geo, i),
					    exact_offset(geo, i, table->page_shift),
					    "object %u of %u bytes", i, geo->size);
}

/* The first slot of a page, the last, all between them, and no other. */
static void slots_on_page_are_those_that_touch_it(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int page, i;

	for_each_class(table, geo)
		for (page = 0; page < geo->nr_pages; page++) {
			struct zsx_slots slots = zsx_slots_on_page(geo, page);
			unsigned int begin = page << table->page_shift;
			unsigned int end = begin + (1U << table->page_shift);

			for (i = 0; i < ZSX_MAX_OBJECTS; i++) {
				unsigned int off = exact_offset(geo, i, table->page_shift);
				bool touches = i < geo->nr_objects && off < end &&
					       off + geo->size > begin;

				KUNIT_ASSERT_EQ_MSG(test, zsx_slots_test(&slots, i), touches,
						    "page %u, object %u of %u bytes",
						    page, i, geo->size);
			}
		}
}

/* These leave one span only: the object's first @len bytes, in order. */
static void expect_span(struct kunit *test, const struct zsx_geometry *geo,
			unsigned int i, unsigned int len, unsigned int page_shift)
{
	struct zsx_span span = zsx_span(geo, i, len, page_shift);
	unsigned int start = exact_offset(geo, i, page_shift);
	unsigned int page_size = 1U << page_shift;

	KUNIT_ASSERT_EQ_MSG(test, (span.page << page_shift) + span.offset, start,
			    "%u bytes of object %u of %u", len, i, geo->size);
	KUNIT_ASSERT_LT_MSG(test, span.offset, page_size,
			    "%u bytes of object %u of %u", len, i, geo->size);
	KUNIT_ASSERT_EQ_MSG(test, span.len[0] + span.len[1], len,
			    "%u bytes of object %u of %u", len, i, geo->size);
	KUNIT_ASSERT_EQ_MSG(test, span.len[0], min(len, page_size - span.offset),
			    "%u bytes of object %u of %u", len, i, geo->size);
}

static void span_is_the_first_bytes_in_order(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	unsigned int page_shift = table->page_shift;
	const struct zsx_geometry *geo;
	unsigned int i, len;

	for_each_class(table, geo)
		for (i = 0; i < geo->nr_objects; i++) {
			unsigned int start = exact_offset(geo, i, page_shift);
			unsigned int to_border = (1U << page_shift) -
						 start % (1U << page_shift);

			expect_span(test, geo, i, 1, page_shift);
			expect_span(test, geo, i, geo->size, page_shift);
			for (len = to_border - 1; len <= to_border + 1; len++)
				if (len && len <= geo->size)
					expect_span(test, geo, i, len, page_shift);
		}
}

static void last_page_is_where_the_span_ends(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int i;

	for_each_class(table, geo)
		for (i = 0; i < geo->nr_objects; i++) {
			struct zsx_span span = zsx_span(geo, i, geo->size,
							table->page_shift);

			KUNIT_ASSERT_EQ_MSG(test, zsx_last_page(geo, i, table->page_shift),
					    span.page + !!span.len[1],
					    "object %u of %u bytes", i, geo->size);
		}
}

/* Tables that need not exist: whatever the number of objects. */
static void inuse_ratio_is_the_exact_quotient(struct kunit *test)
{
	unsigned int n, inuse;

	for (n = 1; n <= ZSX_MAX_OBJECTS; n++) {
		const struct zsx_geometry geo = {
			.ratio = DIV_ROUND_UP(10U << 16, n),
			.nr_objects = n,
		};

		for (inuse = 0; inuse <= n; inuse++)
			KUNIT_ASSERT_EQ_MSG(test, zsx_inuse_ratio(&geo, inuse),
					    inuse * 10 / n, "%u of %u", inuse, n);
	}
}

static void inuse_ratio_is_exact_in_the_table(struct kunit *test)
{
	const struct zsx_class_table *table = table_of(test);
	const struct zsx_geometry *geo;
	unsigned int inuse;

	for_each_class(table, geo)
		for (inuse = 0; inuse <= geo->nr_objects; inuse++)
			KUNIT_ASSERT_EQ_MSG(test, zsx_inuse_ratio(geo, inuse),
					    inuse * 10 / geo->nr_objects,
					    "%u of %u objects of %u bytes", inuse,
					    geo->nr_objects, geo->size);
}

static struct kunit_case obj_cases[] = {
	KUNIT_CASE_PARAM(layout_fills_the_word, layout_gen_params),
	KUNIT_CASE(layout_folds_class_only_without_room),
	KUNIT_CASE_PARAM(location_tells_what_was_put_in, layout_gen_params),
	KUNIT_CASE_PARAM(location_fields_do_not_bleed, layout_gen_params),
	KUNIT_CASE_PARAM(location_is_frame_class_index, word_gen_params),
	KUNIT_CASE(location_ignores_class_where_folded),
	KUNIT_CASE_PARAM(location_of_a_valid_frame_is_not_0, layout_gen_params),
	KUNIT_CASE_PARAM(frame_fits_up_to_the_largest, layout_gen_params),
	KUNIT_CASE_PARAM(frame_with_too_many_bits_is_refused, layout_gen_params),
	KUNIT_CASE_PARAM(frame_0_is_refused, layout_gen_params),
	KUNIT_CASE_PARAM(frame_misaligned_is_refused, layout_gen_params),
	KUNIT_CASE(slots_range_is_first_to_last),
	KUNIT_CASE(slots_test_tells_members),
	KUNIT_CASE(slots_set_adds_that_slot_only),
	KUNIT_CASE(slots_clear_removes_that_slot_only),
	KUNIT_CASE(slots_first_is_the_lowest),
	KUNIT_CASE(slots_count_counts_members),
	KUNIT_CASE(slots_empty_has_no_member),
	KUNIT_CASE(slots_equal_has_the_same_members),
	KUNIT_CASE(slots_and_keeps_what_both_have),
	KUNIT_CASE(slots_without_keeps_what_only_the_first_has),
	KUNIT_CASE_PARAM(offset_is_the_exact_quotient, pages_gen_params),
	KUNIT_CASE_PARAM(slots_on_page_are_those_that_touch_it, pages_gen_params),
	KUNIT_CASE_PARAM(span_is_the_first_bytes_in_order, pages_gen_params),
	KUNIT_CASE_PARAM(last_page_is_where_the_span_ends, pages_gen_params),
	KUNIT_CASE(inuse_ratio_is_the_exact_quotient),
	KUNIT_CASE_PARAM(inuse_ratio_is_exact_in_the_table, pages_gen_params),
	{}
};

static struct kunit_suite obj_suite = {
	.name = "zsx_obj",
	.test_cases = obj_cases,
};

kunit_test_suite(obj_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of zsx");
COMPAT_IMPORT_KUNIT_NS();
