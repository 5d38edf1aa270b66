// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_compact: objects move together, and pages become free
 *
 * Pools are filled, thinned by a pattern, and compacted through zsx_compact() and
 * the shrinker. What a class must end with follows from its number of objects, by
 * arithmetic of the test's own; each object holds words that follow from a seed of
 * its own. Mallocs fill the slots of an empty class one after the other, so the
 * order of storing says which slot of which zspage an object is in at first.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define MAX_OBJS	2048

static unsigned int class_step = 1;
module_param(class_step, uint, 0444);
MODULE_PARM_DESC(class_step,
		 "zsx_compact's cases look at each n-th class: for emulated machines (default 1: all)");

/* A scan may free so many more than it was asked for: a zspage's, and those in hand. */
#define SCAN_SLACK	(ZSX_MAX_PAGES + 2)

/*
 * What the stub for pages does.
 * @allowed: how many there are to be had
 * @nested: how many pages a compaction freed that was begun while one ran
 */
struct shortage {
	unsigned int allowed;
	unsigned int nr_calls;
	bool nest;
	unsigned long nested;
	gfp_t gfp;
	bool was_locked;
};

/*
 * @next_seed: of the object that is stored next
 * @class: the one that is compacted; its lock must be free between units
 * @nr_copies, @most_copies: in this unit, and in any
 * @preempt: the preempt count when a mover came
 * @destination, @page, @dst: a page of the destination is to be migrated to @dst
 * @reader: of an object in the source
 * @moving, @nr_moving: numbers of the objects in the source
 */
struct fixture {
	struct points points;
	struct zsx_pool *pool;
	struct obj *objs;
	u32 *buf;
	u32 next_seed;
	struct shortage shortage;
	struct zsx_class *class;
	unsigned int nr_copies;
	unsigned int most_copies;
	int preempt;
	struct zsx_zspage *destination;
	struct page *page;
	struct page *dst;
	struct zsx_zspage *reader;
	unsigned int moving[ZSX_MAX_OBJECTS];
	unsigned int nr_moving;
};

/* === The geometry, once more ============================================= */

static unsigned int slot_first_page(const struct zsx_geometry *geo, unsigned int i)
{
	return (i * (geo->nr_pages * PAGE_SIZE) / geo->nr_objects & ~7U) / PAGE_SIZE;
}

static unsigned int slot_last_page(const struct zsx_geometry *geo, unsigned int i)
{
	return ((i * (geo->nr_pages * PAGE_SIZE) / geo->nr_objects & ~7U) +
		geo->size - 1) / PAGE_SIZE;
}

/* The fewest pages that @objects fit in. */
static unsigned long fewest_pages(const struct zsx_geometry *geo, unsigned long objects)
{
	unsigned long rest = objects % geo->nr_objects;
	unsigned long pages = objects / geo->nr_objects * geo->nr_pages;

	return rest ? pages + slot_last_page(geo, rest - 1) + 1 : pages;
}

/* === Objects ============================================================= */

static void assert_store(struct kunit *test, unsigned int i, unsigned int len)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_TRUE_MSG(test, store(f->pool, &f->objs[i], len, ++f->next_seed, f->buf),
			      "object %u of %u bytes", i, len);
}

static void expect_intact(struct kunit *test, unsigned int i)
{
	struct fixture *f = test->priv;
	struct obj *o = &f->objs[i];

	KUNIT_EXPECT_TRUE_MSG(test, is_intact(f->pool, o, f->buf),
			      "object %u of %u bytes, seed %u, now in slot %u",
			      i, o->len, o->seed, slot_of(o));
}

static void expect_all_intact(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			expect_intact(test, i);
}

static void drop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			drop(f->pool, &f->objs[i]);
}

/* === Fixture ============================================================= */

static void end(void *data)
{
	struct fixture *f = data;

	drop_all(f);
	zsx_destroy_pool(f->pool);
}

static int compact_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	class_step = max(class_step, 1U);
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->objs = kunit_kcalloc(test, MAX_OBJS, sizeof(*f->objs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->objs);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	f->pool = zsx_create_pool("zsx_compact");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

static struct zsx_pool_stats stats_of(struct fixture *f)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(f->pool, &stats);
	return stats;
}

/* === Thinning ============================================================ */

enum thinning { HALF, QUARTER, EIGHTH, EVERY_OTHER, ONE_A_PAGE, LONE_SPANNING };

static const struct thinning_param {
	const char *name;
	enum thinning how;
} thinnings[] = {
	{ "half of the objects at random", HALF },
	{ "three quarters at random", QUARTER },
	{ "seven eighths at random", EIGHTH },
	{ "every other one", EVERY_OTHER },
	{ "all but the first that begins on a page", ONE_A_PAGE },
	{ "all but a spanning one in two zspages", LONE_SPANNING },
};

KUNIT_ARRAY_PARAM_DESC(thinnings, thinnings, name);

/* Whether slot @i spans two pages, and no other slot is wholly on these. */
static bool slot_lets_none_in(const struct zsx_geometry *geo, unsigned int i)
{
	unsigned int first = slot_first_page(geo, i), last = slot_last_page(geo, i);

	return first != last && i && slot_first_page(geo, i - 1) < first &&
	       i + 1 < geo->nr_objects && slot_last_page(geo, i + 1) > last;
}

/* In zspage 0 the first such slot, in zspage 1 the last one. */
static bool is_lone_spanning(const struct zsx_geometry *geo, unsigned int zspage,
			     unsigned int slot)
{
	unsigned int i;

	if (zspage > 1 || !slot_lets_none_in(geo, slot))
		return false;
	for (i = 0; i < geo->nr_objects; i++)
		if (slot_lets_none_in(geo, i) && (zspage ? i > slot : i < slot))
			return false;
	return true;
}

/* Whether the object stays that was stored as number @i. */
static bool stays(const struct zsx_geometry *geo, enum thinning how, unsigned int i,
		  struct rnd_state *rnd)
{
	unsigned int slot = i % geo->nr_objects;

	switch (how) {
	case HALF:
		return prandom_u32_state(rnd) % 2;
	case QUARTER:
		return !(prandom_u32_state(rnd) % 4);
	case EIGHTH:
		return !(prandom_u32_state(rnd) % 8);
	case EVERY_OTHER:
		return i % 2;
	case ONE_A_PAGE:
		return !slot || slot_first_page(geo, slot - 1) != slot_first_page(geo, slot);
	default:
		return is_lone_spanning(geo, i / geo->nr_objects, slot);
	}
}

/*
 * Four zspages and a half of class @c alone, thinned; @bytes: the objects are
 * written. The class's number is the seed. Returns how many objects there are.
 */
static unsigned int fill_and_thin(struct kunit *test, unsigned int c, enum thinning how,
				  bool bytes)
{
	struct fixture *f = test->priv;
	const struct zsx_geometry *geo = f->pool->classes[c].geo;
	unsigned int i, nr = geo->nr_objects * 9 / 2, left = nr;
	unsigned int len = longest_of(&f->pool->classes[c]);
	struct rnd_state rnd;

	drop_all(f);
	for (i = 0; i < nr; i++) {
		struct obj *o = &f->objs[i];

		if (bytes) {
			assert_store(test, i, len);
			continue;
		}
		o->handle = zsx_malloc(f->pool, len, GFP_KERNEL, NUMA_NO_NODE);
		if (IS_ERR_VALUE(o->handle))
			o->handle = 0;
		KUNIT_ASSERT_NE_MSG(test, o->handle, 0, "class %u, object %u", c, i);
	}
	prandom_seed_state(&rnd, c);
	for (i = 0; i < nr; i++) {
		if (stays(geo, how, i, &rnd))
			continue;
		drop(f->pool, &f->objs[i]);
		left--;
	}
	return left;
}

/* === The end of a compaction ============================================= */

static bool is_compact(struct zsx_class *class)
{
	unsigned long objects = zsx_class_objects(class);

	return zsx_class_pages(class) == fewest_pages(class->geo, objects) &&
	       zsx_class_zspages(class) == DIV_ROUND_UP(objects, class->geo->nr_objects);
}

static void expect_right(struct kunit *test, unsigned int c)
{
	struct fixture *f = test->priv;
	const char *wrong = zsx_class_check(&f->pool->classes[c]);

	KUNIT_EXPECT_NULL_MSG(test, wrong, "class %u: %s", c, wrong);
}

static void expect_compact(struct kunit *test, unsigned int c)
{
	struct fixture *f = test->priv;
	struct zsx_class *class = &f->pool->classes[c];
	unsigned long objects = zsx_class_objects(class);

	expect_right(test, c);
	KUNIT_EXPECT_EQ_MSG(test, zsx_class_pages(class), fewest_pages(class->geo, objects),
			    "class %u, seed %u, %lu objects", c, c, objects);
	KUNIT_EXPECT_EQ_MSG(test, zsx_class_zspages(class),
			    DIV_ROUND_UP(objects, class->geo->nr_objects),
			    "class %u, seed %u, %lu objects", c, c, objects);
}

static void expect_pool_compact(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c++)
		expect_compact(test, c);
}

static void class_ends_with_fewest_pages(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		fill_and_thin(test, c, param->how, false);
		zsx_compact(f->pool);
		expect_compact(test, c);
	}
}

static void fewest_pages_are_the_core_s(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		struct zsx_class *class = &f->pool->classes[c];
		unsigned int i;

		drop_all(f);
		for (i = 0; i < 2 * class->geo->nr_objects; i++) {
			unsigned long pages;

			spin_lock(&class->lock);
			pages = zsx_class_fewest_pages(class);
			spin_unlock(&class->lock);
			KUNIT_EXPECT_EQ_MSG(test, pages, fewest_pages(class->geo, i),
					    "class %u, %u objects", c, i);
			KUNIT_EXPECT_TRUE_MSG(test, is_compact(class),
					      "class %u, %u objects", c, i);
			f->objs[i].handle = zsx_malloc(f->pool, longest_of(class),
						       GFP_KERNEL, NUMA_NO_NODE);
			if (IS_ERR_VALUE(f->objs[i].handle))
				f->objs[i].handle = 0;
			KUNIT_ASSERT_NE(test, f->objs[i].handle, 0);
		}
	}
}

static void objects_keep_their_bytes(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		fill_and_thin(test, c, param->how, true);
		zsx_compact(f->pool);
		expect_all_intact(test);
	}
}

static void counters_tell_what_was_done(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		unsigned int nr = fill_and_thin(test, c, param->how, false);
		unsigned long pages = zsx_get_total_pages(f->pool);
		struct zsx_pool_stats before = stats_of(f), after;
		unsigned long freed = zsx_compact(f->pool);

		after = stats_of(f);
		pages -= zsx_get_total_pages(f->pool);
		KUNIT_EXPECT_EQ_MSG(test, freed, pages, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.pages_compacted - before.pages_compacted,
				    pages, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.source_steps - before.source_steps,
				    after.objects_copied - before.objects_copied,
				    "class %u", c);
		/* No object moves often: of many zspages that are thin each once or twice. */
		KUNIT_EXPECT_LE_MSG(test, after.objects_copied - before.objects_copied,
				    2 * nr, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.source_pages_emptied -
				    before.source_pages_emptied,
				    after.pages_given_back - before.pages_given_back,
				    "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.zspages_freed - before.zspages_freed,
				    before.zspages - after.zspages, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.skipped_busy, 0, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.objects, nr, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, after.frees, before.frees, "class %u", c);
	}
}

static void second_compaction_does_nothing(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		struct zsx_pool_stats before, after;

		fill_and_thin(test, c, param->how, false);
		zsx_compact(f->pool);
		before = stats_of(f);
		KUNIT_EXPECT_EQ_MSG(test, zsx_compact(f->pool), 0, "class %u", c);
		after = stats_of(f);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(&before, &after, sizeof(before)), 0,
				    "class %u: copied %llu", c,
				    after.objects_copied - before.objects_copied);
	}
}

/* Store @nr objects of all lengths; then free all but a part of them. */
static void fill_all_classes(struct kunit *test, unsigned int nr, u32 seed)
{
	struct fixture *f = test->priv;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, seed);
	for (i = 0; i < nr; i++)
		assert_store(test, i, 4 + (prandom_u32_state(&rnd) % PAGE_SIZE & ~3U));
	for (i = 0; i < nr; i++)
		if (prandom_u32_state(&rnd) % 3)
			drop(f->pool, &f->objs[i]);
}

static void all_classes_at_once(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long freed, pages;
	u32 seed;

	for (seed = 1; seed <= 5; seed++) {
		drop_all(f);
		fill_all_classes(test, MAX_OBJS, seed);
		pages = zsx_get_total_pages(f->pool);
		freed = zsx_compact(f->pool);
		KUNIT_EXPECT_GT_MSG(test, freed, 0, "seed %u", seed);
		KUNIT_EXPECT_EQ_MSG(test, zsx_get_total_pages(f->pool), pages - freed,
				    "seed %u", seed);
		expect_pool_compact(test);
		expect_all_intact(test);
	}
}

/* After a compaction a pool works as before: it fills up, and all can be freed. */
static void pool_is_used_after_compaction(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	fill_all_classes(test, MAX_OBJS, 9);
	zsx_compact(f->pool);
	for (i = 0; i < MAX_OBJS; i++)
		if (!f->objs[i].handle)
			assert_store(test, i, 4 + 4 * (i % (PAGE_SIZE / 4)));
	expect_all_intact(test);
	drop_all(f);
	KUNIT_EXPECT_EQ(test, zsx_get_total_pages(f->pool), 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).zspages, 0);
}

/* === Every way to copy =================================================== */

/* What is a class of so many bytes where a page has 4096. */
#define PART(part)	{ "of " #part " 4096ths", (part) * PAGE_SIZE / 4096 }

static const struct size_param {
	const char *name;
	unsigned int len;
} pair_sizes[] = {
	PART(744), PART(1776), PART(1936), PART(2424), PART(3000), PART(3640), PART(4096),
};

KUNIT_ARRAY_PARAM_DESC(pair_sizes, pair_sizes, name);

static void expect_intact_around(struct kunit *test, unsigned int i, unsigned int nr)
{
	if (i)
		expect_intact(test, i - 1);
	expect_intact(test, i);
	if (i + 1 < nr)
		expect_intact(test, i + 1);
}

/*
 * Zspage A has one object, in slot @from; B lacks one, in slot @to. So there is one
 * way to compact them. Object i is in slot i of B, the objects from n on are A's.
 */
static void move_from_to(struct kunit *test, unsigned int len, unsigned int n,
			 unsigned int from, unsigned int to)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *b = zspage_of(&f->objs[!to]);
	unsigned int i;

	for (i = n; i < 2 * n; i++)
		assert_store(test, i, len);
	KUNIT_ASSERT_EQ(test, slot_of(&f->objs[n + from]), from);
	for (i = n; i < 2 * n; i++)
		if (i != n + from)
			drop(f->pool, &f->objs[i]);
	drop(f->pool, &f->objs[to]);

	zsx_compact(f->pool);
	swap(f->objs[to], f->objs[n + from]);
	KUNIT_ASSERT_PTR_EQ_MSG(test, zspage_of(&f->objs[to]), b, "slots %u, %u", from, to);
	KUNIT_ASSERT_EQ_MSG(test, slot_of(&f->objs[to]), to, "from slot %u", from);
	expect_intact_around(test, to, n);
}

/* Three pages at the least: objects are split at many places. */
static void bytes_are_kept_from_each_slot_to_each(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, param->len);
	const struct zsx_geometry *geo = f->pool->classes[c].geo;
	unsigned int len = longest_of(&f->pool->classes[c]);
	unsigned int i, from, to, n = geo->nr_objects;

	KUNIT_ASSERT_GE(test, geo->nr_pages, 3);
	for (i = 0; i < n; i++)
		assert_store(test, i, len);
	for (from = 0; from < n; from++)
		for (to = 0; to < n; to++)
			move_from_to(test, len, n, from, to);
	for (i = 0; i < n; i++)
		expect_intact(test, i);
	expect_compact(test, c);
}

/* The slots below @to and slot @from are in use. */
static void move_down_from(struct kunit *test, unsigned int c, unsigned int from,
			   unsigned int to)
{
	struct fixture *f = test->priv;
	const struct zsx_geometry *geo = f->pool->classes[c].geo;
	unsigned int len = longest_of(&f->pool->classes[c]);
	unsigned int i;
	bool is_moved;

	for (i = 0; i < geo->nr_objects; i++)
		if (!f->objs[i].handle)
			assert_store(test, i, len);
	for (i = to; i < geo->nr_objects; i++)
		if (i != from)
			drop(f->pool, &f->objs[i]);
	is_moved = zsx_get_total_pages(f->pool) > fewest_pages(geo, to + 1);
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ_MSG(test, slot_of(&f->objs[from]) < from, is_moved,
			    "slots %u, %u", from, to);
	expect_compact(test, c);
	if (to)
		expect_intact(test, to - 1);
	expect_intact(test, from);
	drop_all(f);
}

static void bytes_are_kept_inside_a_zspage(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, param->len);
	unsigned int from, to;

	for (from = 1; from < f->pool->classes[c].geo->nr_objects; from++)
		for (to = 0; to < from; to++)
			move_down_from(test, c, from, to);
}

/* === Objects in use ====================================================== */

/* Of class @c an object in the middle is being read. */
struct reader {
	struct obj *o;
	u64 location;
	u32 *copy;
	void *mem;
};

/* False: there is no object. */
static bool begin_to_read(struct fixture *f, struct reader *r, unsigned int from)
{
	unsigned int i = from;

	while (i < MAX_OBJS && !f->objs[i].handle)
		i++;
	if (i == MAX_OBJS)
		return false;
	r->o = &f->objs[i];
	r->location = location_of(r->o).v;
	r->mem = zsx_obj_read_begin(f->pool, r->o->handle, r->o->len, r->copy);
	return r->mem;
}

static void end_to_read(struct fixture *f, struct reader *r)
{
	zsx_obj_read_end(f->pool, r->o->handle, r->o->len, r->mem);
}

static void object_in_use_stays_where_it_is(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct reader r = { .copy = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL) };
	unsigned int c;

	KUNIT_ASSERT_NOT_NULL(test, r.copy);
	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		if (!fill_and_thin(test, c, param->how, true))
			continue;
		KUNIT_ASSERT_TRUE(test, begin_to_read(f, &r, 0));
		zsx_compact(f->pool);
		KUNIT_EXPECT_EQ_MSG(test, location_of(r.o).v, r.location, "class %u", c);
		KUNIT_EXPECT_TRUE_MSG(test, has_words(r.o, r.mem), "class %u", c);
		expect_all_intact(test);
		end_to_read(f, &r);
	}
}

/*
 * Another one's pages may be won; never more are held than before. What is not
 * won is counted, and won when the reader is gone.
 */
static void object_in_use_costs_no_page(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct reader r = { .copy = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL) };
	unsigned int c, nr_busy = 0;

	KUNIT_ASSERT_NOT_NULL(test, r.copy);
	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		struct zsx_class *class = &f->pool->classes[c];
		struct zsx_pool_stats before, after;
		unsigned long freed;

		if (!fill_and_thin(test, c, param->how, true))
			continue;
		KUNIT_ASSERT_TRUE(test, begin_to_read(f, &r, class->geo->nr_objects));
		before = stats_of(f);
		freed = zsx_compact(f->pool);
		after = stats_of(f);
		end_to_read(f, &r);

		expect_right(test, c);
		KUNIT_EXPECT_LE_MSG(test, after.pages, before.pages, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, freed, before.pages - after.pages, "class %u", c);
		if (!is_compact(class)) {
			KUNIT_EXPECT_GT_MSG(test, after.skipped_busy, before.skipped_busy,
					    "class %u", c);
			nr_busy++;
		}
		zsx_compact(f->pool);
		expect_compact(test, c);
	}
	/* Elsewhere the one that is read may be filled up. */
	if (param->how == HALF || param->how == QUARTER || param->how == EIGHTH)
		KUNIT_EXPECT_GT(test, nr_busy, 0);
}

/* With a reader in each zspage nothing can be done, and nothing is waited for. */
static void readers_everywhere_leave_all_as_it_is(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 1776);
	struct zsx_pool_stats before, after;
	struct scatterlist sg[2];
	unsigned int i, nr = 0;

	fill_and_thin(test, c, QUARTER, true);
	for (i = 0; i < MAX_OBJS; i++) {
		if (!f->objs[i].handle)
			continue;
		zsx_obj_read_sg_begin(f->pool, f->objs[i].handle, sg, f->objs[i].len);
		nr++;
	}
	before = stats_of(f);
	KUNIT_EXPECT_EQ(test, zsx_compact(f->pool), 0);
	after = stats_of(f);
	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			zsx_obj_read_sg_end(f->pool, f->objs[i].handle);

	KUNIT_EXPECT_GT(test, nr, 4);
	KUNIT_EXPECT_EQ(test, after.objects_copied, before.objects_copied);
	KUNIT_EXPECT_EQ(test, after.pages, before.pages);
	KUNIT_EXPECT_EQ(test, after.pages_brought, before.pages_brought);
	KUNIT_EXPECT_GT(test, after.skipped_busy, before.skipped_busy);
	zsx_compact(f->pool);
	expect_compact(test, c);
}

/* One has an object and one has room for it; in @locked a page is being migrated. */
static void expect_passed_over(struct kunit *test, unsigned int locked)
{
	struct fixture *f = test->priv;
	unsigned int i, n, c = zsx_lookup_class_index(f->pool, 2424);
	struct zsx_zspage *zspage;
	struct zsx_slots before;
	u64 busy;

	n = f->pool->classes[c].geo->nr_objects;
	drop_all(f);
	for (i = 0; i < 2 * n; i++)
		assert_store(test, i, 2424);
	zspage = zspage_of(&f->objs[locked * n]);
	for (i = 1; i < n; i++)
		drop(f->pool, &f->objs[i]);
	drop(f->pool, &f->objs[n]);

	before = zspage->inuse;
	busy = stats_of(f).skipped_busy;
	/* As zsx_try_write_pin(), but compaction here is preemptible. */
	atomic_sub(ZSX_PIN_BIAS, &zspage->pins);
	zsx_compact(f->pool);
	atomic_add(ZSX_PIN_BIAS, &zspage->pins);
	KUNIT_EXPECT_TRUE_MSG(test, zsx_slots_equal(zspage->inuse, before),
			      "zspage %u", locked);
	KUNIT_EXPECT_GT_MSG(test, stats_of(f).skipped_busy, busy, "zspage %u", locked);
	zsx_compact(f->pool);
	expect_compact(test, c);
	expect_all_intact(test);
}

static void zspage_with_a_page_being_migrated_is_passed_over(struct kunit *test)
{
	expect_passed_over(test, 0);
	expect_passed_over(test, 1);
}

/* === Many zspages in use ================================================== */

#define NR_MANY	80

static bool is_early(unsigned int i)
{
	return i < NR_MANY / 2;
}

static bool is_late(unsigned int i)
{
	return !is_early(i);
}

static bool is_odd(unsigned int i)
{
	return i % 2;
}

static bool is_any(unsigned int i)
{
	return true;
}

static const struct many_param {
	const char *name;
	bool isolated;
	bool (*busy)(unsigned int i);
} manies[] = {
	{ "40 read, at the end of the list", false, is_early },
	{ "40 read, at its front", false, is_late },
	{ "40 read, every other one", false, is_odd },
	{ "40 with an isolated page, at the end of the list", true, is_early },
	{ "40 with an isolated page, every other one", true, is_odd },
	{ "all read", false, is_any },
	{ "all with an isolated page", true, is_any },
};

KUNIT_ARRAY_PARAM_DESC(manies, manies, name);

struct many {
	struct zsx_zspage *zspages[NR_MANY];
	struct page *pages[NR_MANY];
};

static void make_busy(struct kunit *test, struct many *many, unsigned int i)
{
	const struct many_param *param = test->param_value;

	if (!param->isolated) {
		KUNIT_EXPECT_TRUE(test, zsx_try_pin(many->zspages[i]));
		return;
	}
	many->pages[i] = zsx_zspage_page(many->zspages[i], 1);
	KUNIT_EXPECT_TRUE(test, core_isolate(many->pages[i]));
}

static void make_idle(struct kunit *test, struct many *many, unsigned int i)
{
	const struct many_param *param = test->param_value;

	if (param->isolated)
		core_put_back(many->pages[i]);
	else
		zsx_unpin(many->zspages[i]);
}

/* NR_MANY zspages with a third of their objects, in one group. */
static struct many *many_zspages(struct kunit *test, unsigned int n)
{
	struct many *many = kunit_kzalloc(test, sizeof(*many), GFP_KERNEL);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, many);
	KUNIT_ASSERT_LE(test, NR_MANY * n, MAX_OBJS);
	for (i = 0; i < NR_MANY * n; i++)
		assert_store(test, i, 1776);
	for (i = 0; i < NR_MANY; i++)
		many->zspages[i] = zspage_of(&f->objs[i * n]);
	for (i = 0; i < NR_MANY * n; i++)
		if (i % n % 3)
			drop(f->pool, &f->objs[i]);
	return many;
}

/*
 * Of the zspages that aren't busy one is left that isn't full, at most: none is hidden
 * by others. The busy ones that could not be emptied are counted, each once.
 */
static void busy_zspages_hide_no_others(struct kunit *test)
{
	const struct many_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 1776);
	struct zsx_class *class = &f->pool->classes[c];
	unsigned int i, g, n = class->geo->nr_objects, nr_left = 0, nr_busy = 0;
	struct many *many = many_zspages(test, n);
	struct zsx_zspage *zspage;
	u64 skipped;

	for (i = 0; i < NR_MANY; i++)
		if (param->busy(i))
			make_busy(test, many, i);
	zsx_compact(f->pool);
	skipped = stats_of(f).skipped_busy;

	spin_lock(&class->lock);
	for (g = 0; g < ZSX_FULL; g++) {
		list_for_each_entry(zspage, &class->groups[g], list) {
			if (zspage->isolated || atomic_read(&zspage->pins))
				nr_busy++;
			else
				nr_left++;
		}
	}
	spin_unlock(&class->lock);
	KUNIT_EXPECT_LE(test, nr_left, 1);
	KUNIT_EXPECT_GT(test, nr_busy, 16);
	KUNIT_EXPECT_EQ(test, skipped, nr_busy);
	expect_right(test, c);

	for (i = 0; i < NR_MANY; i++)
		if (param->busy(i))
			make_idle(test, many, i);
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, stats_of(f).skipped_busy, skipped);
	expect_compact(test, c);
	expect_all_intact(test);
}

/* Of the zspage of objects @first and on, @nr objects stay, spread out. */
static void thin_evenly(struct fixture *f, unsigned int first, unsigned int n,
			unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (i * nr / n == (i + 1) * nr / n)
			drop(f->pool, &f->objs[first + i]);
}

/*
 * Two zspages alike: the one that lies lower is the destination, and has fewer objects,
 * so it would be emptied. But it is read: it is filled up.
 */
static void busy_zspage_is_filled_if_it_can_t_be_emptied(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 1776);
	unsigned int i, low, n = zsx_classes.geo[c].nr_objects, fewer = 10;
	struct zsx_zspage *zspage;

	KUNIT_ASSERT_EQ(test, fewer * 10 / n, (fewer + 1) * 10 / n);
	for (i = 0; i < 2 * n; i++)
		assert_store(test, i, 1776);
	low = zspage_of(&f->objs[0]) < zspage_of(&f->objs[n]) ? 0 : n;
	zspage = zspage_of(&f->objs[low]);
	thin_evenly(f, low, n, fewer);
	thin_evenly(f, n - low, n, fewer + 1);

	KUNIT_ASSERT_TRUE(test, zsx_try_pin(zspage));
	zsx_compact(f->pool);
	zsx_unpin(zspage);
	KUNIT_EXPECT_EQ(test, stats_of(f).zspages, 1);
	KUNIT_EXPECT_EQ(test, zspage->nr_inuse, 2 * fewer + 1);
	expect_right(test, c);
	expect_all_intact(test);
}

/* === Between two steps ==================================================== */

static struct obj *obj_of(struct fixture *f, unsigned long handle)
{
	unsigned int i = 0;

	while (i < MAX_OBJS && f->objs[i].handle != handle)
		i++;
	return i < MAX_OBJS ? &f->objs[i] : NULL;
}

/*
 * The object that was just copied to @to: the only one in a slot that its handle
 * doesn't name.
 */
static struct obj *find_copied(struct fixture *f, struct zsx_zspage *to,
			       unsigned int *slot)
{
	struct obj *o, *copied = NULL;
	unsigned int i;

	for (i = 0; i < to->class->geo->nr_objects; i++) {
		if (!zsx_slots_test(&to->inuse, i))
			continue;
		o = obj_of(f, zsx_zspage_handles(to->class->geo, to)[i]);
		if (!o || (zspage_of(o) == to && slot_of(o) == i))
			continue;
		if (copied)
			return NULL;
		copied = o;
		*slot = i;
	}
	return copied;
}

static void note_preempt_count(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;

	f->preempt = preempt_count();
}

static void copy_is_whole_and_not_told(struct kunit *test, struct zsx_zspage *to)
{
	struct fixture *f = test->priv;
	unsigned int slot;
	struct obj *o = find_copied(f, to, &slot);
	bool locked = !spin_trylock(&to->class->lock);

	if (!locked)
		spin_unlock(&to->class->lock);
	must_be(test, locked, "objects move under class->lock");
	must_be(test, o, "an object's new place is told after the copy, one at a time");
	if (!o)
		return;
	peek(to, slot, f->buf);
	must_be(test, has_words(o, f->buf), "an object is whole before its place is told");
	must_be_closed(test, zspage_of(o));
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		must_be(test, preempt_count() > f->preempt,
			"a mover isn't preempted: a reader on its CPU would spin");
	if (zspage_of(o) == to)
		return;
	must_be(test, atomic_read(&to->pins) > 0, "a destination is pinned as by a reader");
	must_be_pinned(test, to);
}

/*
 * At each copy: the bytes are there and the new place isn't told; readers and writers
 * are kept out of the source, and page migration of both.
 */
static void object_moves_when_nobody_can_see_it(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	f->points.at[ZSX_POINT_MOVER_COMES] = note_preempt_count;
	f->points.at[ZSX_POINT_COPIED] = copy_is_whole_and_not_told;
	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		fill_and_thin(test, c, param->how, true);
		use_points(test);
		zsx_compact(f->pool);
		kunit_deactivate_static_stub(test, zsx_at_race_point);
		expect_nothing_wrong(test);
		expect_all_intact(test);
	}
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_COPIED], stats_of(f).objects_copied);
	KUNIT_EXPECT_GT(test, f->points.nr[ZSX_POINT_COPIED], 0);
}

/* All objects of the source get other bytes. */
static void write_before_mover(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;
	unsigned int i;

	f->nr_moving = 0;
	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle && zspage_of(&f->objs[i]) == from)
			f->moving[f->nr_moving++] = i;
	for (i = 0; i < f->nr_moving; i++) {
		f->objs[f->moving[i]].seed = ++f->next_seed;
		must_be(test, rewrite(f->pool, &f->objs[f->moving[i]], f->buf),
			"an object is written before a mover comes");
	}
}

/* The same objects, wherever they are now: as they were written, and anew. */
static void write_after_mover(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < f->nr_moving; i++) {
		struct obj *o = &f->objs[f->moving[i]];

		must_be(test, is_intact(f->pool, o, f->buf),
			"what was written before a mover came is there after it");
		o->seed = ++f->next_seed;
		must_be(test, rewrite(f->pool, o, f->buf),
			"an object is written after a mover has gone");
	}
}

/* Nothing is copied before a mover has its pin, or after it dropped it. */
static void writes_around_a_mover_are_kept(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c;

	f->points.at[ZSX_POINT_MOVER_COMES] = write_before_mover;
	f->points.at[ZSX_POINT_MOVER_GONE] = write_after_mover;
	for (c = 0; c < f->pool->nr_classes; c += max(class_step, 4U)) {
		fill_and_thin(test, c, param->how, true);
		use_points(test);
		zsx_compact(f->pool);
		kunit_deactivate_static_stub(test, zsx_at_race_point);
		expect_nothing_wrong(test);
		expect_compact(test, c);
		expect_all_intact(test);
	}
	KUNIT_EXPECT_GT(test, f->points.nr[ZSX_POINT_MOVER_COMES], 0);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_GONE],
			f->points.nr[ZSX_POINT_MOVER_COMES]);
}

/*
 * @nr zspages with an object each, and one that lacks as many: it is the destination.
 * It is made of objects n to 2n - 1.
 */
static void fill_lone_ones(struct kunit *test, unsigned int nr)
{
	struct fixture *f = test->priv;
	unsigned int i, n = zsx_classes.geo[zsx_lookup_class_index(f->pool, 2424)].nr_objects;

	for (i = 0; i < (nr + 1) * n; i++)
		assert_store(test, i, 2424);
	f->destination = zspage_of(&f->objs[n]);
	for (i = 0; i < (nr + 1) * n; i++)
		if (i < n + nr ? i && i != n + nr : i >= 2 * n && i % n)
			drop(f->pool, &f->objs[i]);
	use_points(test);
}

/* The core would take another page for what the migration was for, or try again. */
static void migrate_destination(struct kunit *test, struct zsx_zspage *to)
{
	struct fixture *f = test->priv;

	must_be(test, to == f->destination, "the fuller zspage is the destination");
	must_be_pinned(test, to);
	if (f->points.wrong)
		return; /* it would wait for the lock that is held here */
	must_be(test, zsx_movable_ops.migrate_page(f->dst, f->page, MIGRATE_SYNC) == -EAGAIN,
		"a destination's page isn't migrated");
	must_be(test, is_untouched(f->dst, 2), "a refused migration leaves the new page");
}

/*
 * A page of the destination is isolated and migrated while an object is copied to it:
 * refused then, done later.
 */
static void destination_is_being_migrated(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *to;
	int err = 0;

	fill_lone_ones(test, 1);
	to = f->destination;
	f->dst = core_new_page();
	KUNIT_ASSERT_NOT_NULL(test, f->dst);
	mark_untouched(f->dst);
	f->page = zsx_zspage_page(to, 0); /* the object comes to its slot 0 */
	KUNIT_EXPECT_TRUE(test, core_isolate(f->page));
	f->points.at[ZSX_POINT_COPIED] = migrate_destination;
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_COPIED], 1);
	expect_nothing_wrong(test);
	KUNIT_EXPECT_PTR_EQ(test, zspage_of(&f->objs[0]), to);
	KUNIT_EXPECT_EQ(test, slot_of(&f->objs[0]), 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).migrations_refused, 1);

	free_untouched(f->dst);
	if (zsx_movable)
		err = core_migrate(f->page, f->dst);
	else
		core_put_back(f->page);
	KUNIT_EXPECT_EQ(test, err, 0);
	expect_right(test, zsx_lookup_class_index(f->pool, 2424));
	expect_all_intact(test);
}

/* As by zsx_try_write_pin(), of which this thread has one already. */
static void begin_migration(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_MOVER_COMES] = NULL;
	must_be(test, from != f->destination, "the emptier zspage is the source");
	atomic_sub(ZSX_PIN_BIAS, &f->destination->pins);
}

static void end_migration(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_MOVER_GONE] = NULL;
	atomic_add(ZSX_PIN_BIAS, &f->destination->pins);
}

static void destination_is_at_rest(struct kunit *test, struct zsx_zspage *to)
{
	must_be(test, atomic_read(&to->pins) > 0, "nothing goes to where a page is copied");
}

/*
 * A migration is faster to pin the chosen destination: it is given up, and all is done
 * in another unit.
 */
static void destination_is_lost_to_a_migration(struct kunit *test)
{
	struct fixture *f = test->priv;

	fill_lone_ones(test, 1);
	f->points.at[ZSX_POINT_MOVER_COMES] = begin_migration;
	f->points.at[ZSX_POINT_MOVER_GONE] = end_migration;
	f->points.at[ZSX_POINT_COPIED] = destination_is_at_rest;
	zsx_compact(f->pool);
	expect_nothing_wrong(test);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_COMES], 1);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_GONE], 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->destination->pins), 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).skipped_busy, 0);
	expect_compact(test, zsx_lookup_class_index(f->pool, 2424));
	expect_all_intact(test);
}

static void begin_reading(struct kunit *test, struct zsx_zspage *from)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_MOVER_COMES] = NULL;
	must_be(test, zsx_try_pin(from), "a reader comes before a mover has its pin");
	f->reader = from;
}

/* A reader is faster than the mover: another source is taken. */
static void source_is_lost_to_a_reader(struct kunit *test)
{
	struct fixture *f = test->priv;

	fill_lone_ones(test, 2);
	f->points.at[ZSX_POINT_MOVER_COMES] = begin_reading;
	zsx_compact(f->pool);
	expect_nothing_wrong(test);
	KUNIT_ASSERT_NOT_NULL(test, f->reader);
	KUNIT_EXPECT_EQ(test, f->reader->nr_inuse, 1);
	KUNIT_EXPECT_EQ(test, stats_of(f).objects_copied, 1);
	KUNIT_EXPECT_EQ(test, stats_of(f).zspages_freed, 1);
	KUNIT_EXPECT_EQ(test, stats_of(f).skipped_busy, 1);
	zsx_unpin(f->reader);
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, stats_of(f).skipped_busy, 1);
	expect_compact(test, zsx_lookup_class_index(f->pool, 2424));
	expect_all_intact(test);
}

/* === How long the lock is held ============================================ */

static void count_copy(struct kunit *test, struct zsx_zspage *to)
{
	struct fixture *f = test->priv;

	f->most_copies = max(f->most_copies, ++f->nr_copies);
}

/* After each unit: the lock is free, and who waits for it gets it. */
static void stub_loose_free(struct zsx_loose *loose)
{
	struct kunit *test = kunit_get_current_test();
	struct fixture *f = test->priv;
	bool locked = !spin_trylock(&f->class->lock);
	struct zsx_zspage *dead = zsx_loose_first_zspage(loose);

	if (!locked)
		spin_unlock(&f->class->lock);
	must_be(test, !locked, "pages go back outside class->lock");
	must_be(test, !dead || !atomic_read(&dead->pins),
		"a zspage that ends isn't pinned");
	f->nr_copies = 0;
	give_back(loose);
}

/* How many slots touch one page, at most. */
static unsigned int most_on_a_page(const struct zsx_geometry *geo)
{
	unsigned int i, page, nr, most = 0;

	for (page = 0; page < geo->nr_pages; page++) {
		for (i = 0, nr = 0; i < geo->nr_objects; i++)
			nr += slot_first_page(geo, i) <= page && slot_last_page(geo, i) >= page;
		most = max(most, nr);
	}
	return most;
}

/* In one section of the lock no more is copied than what touches one page. */
static void lock_is_held_for_one_page_s_objects(struct kunit *test)
{
	const struct thinning_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c, most = 0;

	f->points.at[ZSX_POINT_COPIED] = count_copy;
	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		f->class = &f->pool->classes[c];
		fill_and_thin(test, c, param->how, false);
		f->most_copies = 0;
		f->nr_copies = 0;
		use_points(test);
		kunit_activate_static_stub(test, zsx_loose_free, stub_loose_free);
		zsx_compact(f->pool);
		kunit_deactivate_static_stub(test, zsx_loose_free);
		kunit_deactivate_static_stub(test, zsx_at_race_point);
		KUNIT_EXPECT_EQ_MSG(test, f->nr_copies, 0, "class %u", c);
		KUNIT_EXPECT_LE_MSG(test, f->most_copies, most_on_a_page(f->class->geo),
				    "class %u", c);
		KUNIT_EXPECT_LE_MSG(test, f->most_copies * f->class->geo->size, 3 * PAGE_SIZE,
				    "class %u", c);
		expect_nothing_wrong(test);
		most = max(most, f->most_copies);
	}
	KUNIT_EXPECT_GT(test, most, 0);
}

/* Told once there was a compaction, and no longer than all of that took. */
static void longest_hold_is_a_unit_s(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 1776);
	u64 longest, since;

	fill_and_thin(test, c, HALF, false);
	KUNIT_EXPECT_EQ(test, stats_of(f).longest_hold_ns, 0);
	since = ktime_get_ns();
	zsx_compact(f->pool);
	since = ktime_get_ns() - since;
	longest = stats_of(f).longest_hold_ns;
	KUNIT_EXPECT_GT(test, longest, 0);
	KUNIT_EXPECT_LT(test, longest, since);
	/* There is nothing to do: it stays. */
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, stats_of(f).longest_hold_ns, longest);
	/* A longer one stays, too. */
	atomic_long_set(&f->pool->longest_hold, LONG_MAX);
	fill_and_thin(test, c, HALF, false);
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, stats_of(f).longest_hold_ns, LONG_MAX);
}

/* === Memory is short ===================================================== */

static struct page *stub_page_alloc(gfp_t gfp, int nid)
{
	struct kunit *test = kunit_get_current_test();
	struct fixture *f = test->priv;
	struct shortage *s = &f->shortage;
	struct page *page;
	unsigned int c;

	s->gfp |= gfp;
	for (c = 0; c < f->pool->nr_classes; c++) {
		if (spin_trylock(&f->pool->classes[c].lock))
			spin_unlock(&f->pool->classes[c].lock);
		else
			s->was_locked = true;
	}
	if (s->nest)
		s->nested += zsx_compact(f->pool);
	if (s->nr_calls++ >= s->allowed)
		return NULL;
	kunit_deactivate_static_stub(test, zsx_page_alloc);
	page = zsx_page_alloc(gfp, nid);
	kunit_activate_static_stub(test, zsx_page_alloc, stub_page_alloc);
	return page;
}

/* Compact with @allowed pages to be had. */
static unsigned long compact_short(struct kunit *test, unsigned int allowed)
{
	struct fixture *f = test->priv;
	unsigned long freed;

	f->shortage.allowed = allowed;
	f->shortage.nr_calls = 0;
	kunit_activate_static_stub(test, zsx_page_alloc, stub_page_alloc);
	freed = zsx_compact(f->pool);
	kunit_deactivate_static_stub(test, zsx_page_alloc);
	return freed;
}

static const struct shortage_param {
	const char *name;
	enum thinning how;
	unsigned int allowed;
} shortages[] = {
	{ "no page, half stay", HALF, 0 },
	{ "no page, an eighth stays", EIGHTH, 0 },
	{ "no page, lone spanning ones", LONE_SPANNING, 0 },
	{ "one page, half stay", HALF, 1 },
	{ "one page, a quarter stays", QUARTER, 1 },
	{ "one page, an eighth stays", EIGHTH, 1 },
	{ "one page, every other one stays", EVERY_OTHER, 1 },
	{ "one page, lone spanning ones", LONE_SPANNING, 1 },
	{ "two pages, half stay", HALF, 2 },
	{ "two pages, an eighth stays", EIGHTH, 2 },
};

KUNIT_ARRAY_PARAM_DESC(shortages, shortages, name);

static void short_memory_costs_no_page(struct kunit *test)
{
	const struct shortage_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c, nr_calls = 0;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		unsigned long freed, before, after;

		fill_and_thin(test, c, param->how, true);
		before = zsx_get_total_pages(f->pool);
		freed = compact_short(test, param->allowed);
		after = zsx_get_total_pages(f->pool);
		nr_calls += f->shortage.nr_calls;
		expect_right(test, c);
		KUNIT_EXPECT_LE_MSG(test, after, before, "class %u, seed %u", c, c);
		KUNIT_EXPECT_EQ_MSG(test, freed, before - after, "class %u, seed %u", c, c);
		expect_all_intact(test);
		zsx_compact(f->pool);
		expect_compact(test, c);
		expect_all_intact(test);
	}
	KUNIT_EXPECT_GT_MSG(test, nr_calls, 0, "no page was asked for");
}

/* How many slots are wholly on the first @pages pages. */
static unsigned int slots_on_first_pages(const struct zsx_geometry *geo, unsigned int pages)
{
	unsigned int i = 0;

	while (i < geo->nr_objects && slot_last_page(geo, i) < pages)
		i++;
	return i;
}

/* Two zspages of @class, the first @a and @b slots in use. */
static void fill_two(struct kunit *test, struct zsx_class *class, unsigned int a,
		     unsigned int b)
{
	struct fixture *f = test->priv;
	unsigned int i, n = class->geo->nr_objects;

	for (i = 0; i < 2 * n; i++) {
		if (f->objs[i].handle)
			continue;
		f->objs[i].handle = zsx_malloc(f->pool, longest_of(class), GFP_KERNEL,
					       NUMA_NO_NODE);
		KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(f->objs[i].handle));
	}
	for (i = 0; i < 2 * n; i++)
		if (i < n ? i >= a : i - n >= b)
			drop(f->pool, &f->objs[i]);
}

static const unsigned int pages_to_be_had[] = { 0, 1, 2, 3 };

static void pages_desc(const unsigned int *nr, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "after %u", *nr);
}

KUNIT_ARRAY_PARAM(pages_to_be_had, pages_to_be_had, pages_desc);

/*
 * Two zspages, of @a and @b pages without a free slot on them: nothing moves without
 * a page. One page may have room for fewer objects than there are on one.
 */
static void expect_no_page_more(struct kunit *test, struct zsx_class *class,
				unsigned int a, unsigned int b, unsigned int allowed)
{
	struct fixture *f = test->priv;
	unsigned long before;

	drop_all(f);
	fill_two(test, class, slots_on_first_pages(class->geo, a),
		 slots_on_first_pages(class->geo, b));
	before = zsx_get_total_pages(f->pool);
	compact_short(test, allowed);
	KUNIT_EXPECT_LE_MSG(test, zsx_get_total_pages(f->pool), before,
			    "class of %u bytes, zspages of %u and %u pages",
			    class->geo->size, a, b);
}

/*
 * One zspage has one free slot on the page that it has, and the other two objects: with
 * no page to be had, one of them moves.
 */
static void short_memory_fills_present_slots(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c, nr = 0;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		struct zsx_class *class = &f->pool->classes[c];
		unsigned int on_first = slots_on_first_pages(class->geo, 1);
		u64 copied = stats_of(f).objects_copied;

		if (class->geo->nr_pages == 1 || on_first < 4)
			continue;
		nr++;
		drop_all(f);
		fill_two(test, class, on_first - 1, 2);
		compact_short(test, 0);
		KUNIT_EXPECT_EQ_MSG(test, stats_of(f).objects_copied, copied + 1,
				    "class of %u bytes", class->geo->size);
	}
	KUNIT_EXPECT_GT(test, nr, 0);
}

/*
 * A class whose zspages of @pages pages are in the same tenth with an object more and
 * with one less.
 */
static struct zsx_class *class_with_tenth_around(struct fixture *f, unsigned int *pages)
{
	unsigned int c, g;

	for (c = 0; c < f->pool->nr_classes; c++) {
		const struct zsx_geometry *geo = f->pool->classes[c].geo;
		unsigned int n = geo->nr_objects;

		for (*pages = 1; *pages < geo->nr_pages; ++*pages) {
			g = slots_on_first_pages(geo, *pages);
			if (g > geo->nr_pages && (g - 1) * 10 / n == (g + 1) * 10 / n)
				return &f->pool->classes[c];
		}
	}
	return NULL;
}

/*
 * One zspage can't take an object without a page, and two can; all have as many
 * objects but for one or two. The two are chosen, and objects move with no page to be
 * had.
 */
static void room_is_used_before_a_page_is_asked_for(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i, g, n, pages, order[3] = { 0, 1, 2 };
	struct zsx_class *class = class_with_tenth_around(f, &pages);

	KUNIT_ASSERT_NOT_NULL(test, class);
	n = class->geo->nr_objects;
	g = slots_on_first_pages(class->geo, pages);
	for (i = 0; i < 3 * n; i++)
		assert_store(test, i, longest_of(class));
	/* The one that lies lowest is the destination: it gets the fewest objects. */
	for (i = 1; i < 3; i++)
		if (zspage_of(&f->objs[order[i] * n]) < zspage_of(&f->objs[order[0] * n]))
			swap(order[0], order[i]);
	thin_evenly(f, order[0] * n, n, g - 1);
	thin_evenly(f, order[1] * n, n, g + 1);
	for (i = g; i < n; i++)
		drop(f->pool, &f->objs[order[2] * n + i]);
	KUNIT_ASSERT_EQ(test, zspage_of(&f->objs[order[2] * n])->group, ZSX_GROWABLE);

	compact_short(test, 0);
	KUNIT_EXPECT_GT_MSG(test, stats_of(f).objects_copied, 0, "class of %u bytes, %u pages",
			    class->geo->size, pages);
	expect_all_intact(test);
	zsx_compact(f->pool);
	expect_compact(test, class - f->pool->classes);
}

static void memory_that_ends_costs_no_page(struct kunit *test)
{
	const unsigned int *allowed = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c, a;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		struct zsx_class *class = &f->pool->classes[c];

		for (a = 1; a < class->geo->nr_pages; a++) {
			expect_no_page_more(test, class, a, a, *allowed);
			expect_no_page_more(test, class, a, 1 + a / 2, *allowed);
		}
	}
}

#define MAX_HELD	4096

/* Take a reference on each page of the pool; MAX_HELD at most. Return: how many. */
static unsigned int hold_all_pages(struct fixture *f, struct page **held)
{
	unsigned int c, group, i, nr = 0;

	for (c = 0; c < f->pool->nr_classes; c++) {
		struct zsx_class *class = &f->pool->classes[c];
		struct zsx_zspage *zspage;

		for (group = 0; group < ZSX_NR_GROUPS; group++)
			list_for_each_entry(zspage, &class->groups[group], list)
				for (i = 0; i < class->geo->nr_pages; i++)
					if (zspage->pages[i] && nr < MAX_HELD) {
						held[nr] = zspage->pages[i];
						get_page(held[nr++]);
					}
	}
	return nr;
}

/*
 * Who isolates a page has a reference on it, and may have looked at its old zspage already:
 * so it isn't put into another. Without other memory nothing comes in then; and something does
 * if nobody holds them, or this would show nothing.
 */
static void held_page_is_not_used_again(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct page **held = kunit_kcalloc(test, MAX_HELD, sizeof(*held), GFP_KERNEL);
	unsigned int i, nr;
	u64 brought;

	KUNIT_ASSERT_NOT_NULL(test, held);
	fill_all_classes(test, MAX_OBJS, 1);
	brought = stats_of(f).pages_brought;
	compact_short(test, 0);
	KUNIT_EXPECT_GT(test, stats_of(f).pages_brought, brought);

	drop_all(f);
	fill_all_classes(test, MAX_OBJS, 1);
	nr = hold_all_pages(f, held);
	KUNIT_EXPECT_EQ(test, nr, zsx_get_total_pages(f->pool));
	brought = stats_of(f).pages_brought;
	compact_short(test, 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages_brought, brought);
	for (i = 0; i < nr; i++)
		put_page(held[i]);
	expect_all_intact(test);
	zsx_compact(f->pool);
	expect_pool_compact(test);
}

/* Compaction may run for reclaim: it asks for pages as who must not reclaim. */
static void pages_are_asked_for_without_reclaim(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c += class_step) {
		fill_and_thin(test, c, LONE_SPANNING, false);
		compact_short(test, UINT_MAX);
	}
	KUNIT_EXPECT_NE(test, f->shortage.gfp, 0);
	KUNIT_EXPECT_EQ(test, f->shortage.gfp & (__GFP_DIRECT_RECLAIM | __GFP_NOFAIL), 0);
	KUNIT_EXPECT_EQ(test, f->shortage.gfp & (__GFP_NOMEMALLOC | __GFP_NOWARN),
			__GFP_NOMEMALLOC | __GFP_NOWARN);
	KUNIT_EXPECT_FALSE_MSG(test, f->shortage.was_locked,
			       "a page was asked for under a class->lock");
}

/* === One at a time ======================================================= */

static void compaction_while_one_runs_does_nothing(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 3640);
	unsigned long freed, before;

	fill_and_thin(test, c, LONE_SPANNING, true);
	before = zsx_get_total_pages(f->pool);
	f->shortage.nest = true;
	freed = compact_short(test, UINT_MAX);
	KUNIT_EXPECT_GT_MSG(test, f->shortage.nr_calls, 0, "nothing ran within");
	KUNIT_EXPECT_EQ(test, f->shortage.nested, 0);
	KUNIT_EXPECT_EQ(test, freed, before - zsx_get_total_pages(f->pool));
	expect_compact(test, c);
	expect_all_intact(test);
}

static void compaction_after_one_runs(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 2424);
	struct zsx_pool_stats before, after;

	fill_and_thin(test, c, HALF, true);
	before = stats_of(f);
	atomic_set(&f->pool->compacting, 1);
	KUNIT_EXPECT_EQ(test, zsx_compact(f->pool), 0);
	atomic_set(&f->pool->compacting, 0);
	after = stats_of(f);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
	KUNIT_EXPECT_GT(test, zsx_compact(f->pool), 0);
	expect_compact(test, c);
}

/* === The shrinker ======================================================== */

static struct shrinker *shrinker_of(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, f->pool->shrinker);
	return f->pool->shrinker->shrinker;
}

static unsigned long count(struct kunit *test)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL };

	return shrinker_of(test)->count_objects(shrinker_of(test), &sc);
}

static unsigned long scan(struct kunit *test, unsigned long nr)
{
	struct shrink_control sc = {
		.gfp_mask = GFP_KERNEL, .nr_to_scan = nr, .nr_scanned = nr,
	};

	return shrinker_of(test)->scan_objects(shrinker_of(test), &sc);
}

/* What compaction can win in all classes. */
static unsigned long winnable(struct zsx_pool *pool)
{
	unsigned long pages = 0;
	unsigned int c;

	for (c = 0; c < pool->nr_classes; c++)
		pages += zsx_class_pages(&pool->classes[c]) -
			 fewest_pages(pool->classes[c].geo,
				      zsx_class_objects(&pool->classes[c]));
	return pages;
}

static void shrinker_counts_what_can_be_won(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long counted;
	u32 seed;

	for (seed = 1; seed <= 5; seed++) {
		drop_all(f);
		fill_all_classes(test, MAX_OBJS, seed);
		counted = count(test);
		KUNIT_EXPECT_EQ_MSG(test, counted, winnable(f->pool), "seed %u", seed);
		KUNIT_EXPECT_EQ_MSG(test, zsx_compact(f->pool), counted, "seed %u", seed);
	}
}

static void shrinker_counts_nothing_as_empty(struct kunit *test)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, count(test), SHRINK_EMPTY);
	fill_all_classes(test, MAX_OBJS, 1);
	KUNIT_EXPECT_NE(test, count(test), SHRINK_EMPTY);
	zsx_compact(f->pool);
	KUNIT_EXPECT_EQ(test, count(test), SHRINK_EMPTY);
}

static const unsigned long scan_sizes[] = {
	1, 2, 7, 30, 100,
	1UL + LONG_MAX,	/* negative, were it a long */
};

static void scan_desc(const unsigned long *nr, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "of %lu pages", *nr);
}

KUNIT_ARRAY_PARAM(scan_sizes, scan_sizes, scan_desc);

/* As many as it is asked for, or a zspage's more; and in the end just all. */
static void scans_free_what_they_are_asked_for(struct kunit *test)
{
	const unsigned long *nr = test->param_value;
	struct fixture *f = test->priv;
	unsigned long freed, left, before, sum = 0, counted;
	struct zsx_pool_stats stats;

	fill_all_classes(test, MAX_OBJS, *nr);
	counted = count(test);
	for (;;) {
		left = winnable(f->pool);
		before = zsx_get_total_pages(f->pool);
		freed = scan(test, *nr);
		if (freed == SHRINK_STOP)
			break;
		sum += freed;
		KUNIT_ASSERT_LE_MSG(test, sum, counted, "pages out of nothing");
		KUNIT_ASSERT_GT(test, freed, 0);
		KUNIT_EXPECT_EQ(test, zsx_get_total_pages(f->pool), before - freed);
		KUNIT_EXPECT_GE_MSG(test, freed, min(*nr, left), "%lu freed before", sum);
		KUNIT_EXPECT_LE_MSG(test, freed, *nr + SCAN_SLACK, "%lu freed before", sum);
	}
	stats = stats_of(f);
	KUNIT_EXPECT_EQ(test, sum, counted);
	KUNIT_EXPECT_EQ(test, stats.pages_compacted, sum);
	expect_pool_compact(test);
	expect_all_intact(test);
}

static void scan_while_a_compaction_runs_stops(struct kunit *test)
{
	struct fixture *f = test->priv;

	fill_all_classes(test, MAX_OBJS, 1);
	atomic_set(&f->pool->compacting, 1);
	KUNIT_EXPECT_EQ(test, scan(test, 10), SHRINK_STOP);
	atomic_set(&f->pool->compacting, 0);
	KUNIT_EXPECT_NE(test, scan(test, 10), SHRINK_STOP);
}

static struct kunit_case compact_cases[] = {
	KUNIT_CASE_PARAM(class_ends_with_fewest_pages, thinnings_gen_params),
	KUNIT_CASE(fewest_pages_are_the_core_s),
	KUNIT_CASE_PARAM(objects_keep_their_bytes, thinnings_gen_params),
	KUNIT_CASE_PARAM(counters_tell_what_was_done, thinnings_gen_params),
	KUNIT_CASE_PARAM(second_compaction_does_nothing, thinnings_gen_params),
	KUNIT_CASE(all_classes_at_once),
	KUNIT_CASE(pool_is_used_after_compaction),
	KUNIT_CASE_PARAM(bytes_are_kept_from_each_slot_to_each, pair_sizes_gen_params),
	KUNIT_CASE_PARAM(bytes_are_kept_inside_a_zspage, pair_sizes_gen_params),
	KUNIT_CASE_PARAM(object_in_use_stays_where_it_is, thinnings_gen_params),
	KUNIT_CASE_PARAM(object_in_use_costs_no_page, thinnings_gen_params),
	KUNIT_CASE(readers_everywhere_leave_all_as_it_is),
	KUNIT_CASE(zspage_with_a_page_being_migrated_is_passed_over),
	KUNIT_CASE_PARAM(busy_zspages_hide_no_others, manies_gen_params),
	KUNIT_CASE(busy_zspage_is_filled_if_it_can_t_be_emptied),
	KUNIT_CASE_PARAM(object_moves_when_nobody_can_see_it, thinnings_gen_params),
	KUNIT_CASE_PARAM(writes_around_a_mover_are_kept, thinnings_gen_params),
	KUNIT_CASE(destination_is_being_migrated),
	KUNIT_CASE(destination_is_lost_to_a_migration),
	KUNIT_CASE(source_is_lost_to_a_reader),
	KUNIT_CASE_PARAM(lock_is_held_for_one_page_s_objects, thinnings_gen_params),
	KUNIT_CASE(longest_hold_is_a_unit_s),
	KUNIT_CASE_PARAM(short_memory_costs_no_page, shortages_gen_params),
	KUNIT_CASE(short_memory_fills_present_slots),
	KUNIT_CASE(room_is_used_before_a_page_is_asked_for),
	KUNIT_CASE_PARAM(memory_that_ends_costs_no_page, pages_to_be_had_gen_params),
	KUNIT_CASE(held_page_is_not_used_again),
	KUNIT_CASE(pages_are_asked_for_without_reclaim),
	KUNIT_CASE(compaction_while_one_runs_does_nothing),
	KUNIT_CASE(compaction_after_one_runs),
	KUNIT_CASE(shrinker_counts_what_can_be_won),
	KUNIT_CASE(shrinker_counts_nothing_as_empty),
	KUNIT_CASE_PARAM(scans_free_what_they_are_asked_for, scan_sizes_gen_params),
	KUNIT_CASE(scan_while_a_compaction_runs_stops),
	{}
};

static struct kunit_suite compact_suite = {
	.name = "zsx_compact",
	.init = compact_init,
	.test_cases = compact_cases,
};

kunit_test_suite(compact_suite);
