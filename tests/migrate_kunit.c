// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_migrate: pages move under their zspages
 *
 * zsx_movable_ops are called as the kernel's page migration calls them: in process
 * context, with a reference on the page and its lock. The test keeps the lock from
 * isolate to the end, so that the kernel's own migration lets go of the page: it
 * never waits for a page's lock before it has isolated it.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/migrate.h>
#include <linux/pagemap.h>
#include <linux/prandom.h>
#include <linux/sched.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define MAX_OBJS	1024

/*
 * @isolated: pages to be put back if a case fails half-way
 * @next_seed: of the object that is stored next
 * @zspage, @src, @dst: what a page is replaced in, and by what; @place: where
 * @preempt: the preempt count when the mover came
 * @other: a zspage that @src changes to
 * @ends: isolations end: nothing is touched outside RCU
 * @nr_loose: how many pages came loose
 * @destroyer: what ends the pool meanwhile
 */
struct fixture {
	struct points points;
	struct zsx_pool *pool;
	struct obj *objs;
	u32 *buf;
	u32 next_seed;
	struct page *isolated[8 * ZSX_MAX_PAGES];
	struct zsx_zspage *zspage;
	struct page *src;
	struct page *dst;
	unsigned int place;
	int preempt;
	struct zsx_zspage *other;
	bool ends;
	unsigned int nr_loose;
	struct destroyer *destroyer;
};

/* === Objects ============================================================= */

static void assert_store(struct kunit *test, unsigned int i, unsigned int len)
{
	struct fixture *f = test->priv;

	KUNIT_ASSERT_TRUE_MSG(test, store(f->pool, &f->objs[i], len, ++f->next_seed, f->buf),
			      "object %u of %u bytes", i, len);
}

static void expect_all_intact(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			KUNIT_EXPECT_TRUE_MSG(test, is_intact(f->pool, &f->objs[i], f->buf),
					      "object %u of %u bytes, seed %u, slot %u", i,
					      f->objs[i].len, f->objs[i].seed,
					      slot_of(&f->objs[i]));
}

static void drop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			drop(f->pool, &f->objs[i]);
}

/* @nr objects of a size in an empty pool. Returns the first one's zspage. */
static struct zsx_zspage *fill(struct kunit *test, unsigned int size, unsigned int nr)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < nr; i++)
		assert_store(test, i, size);
	return zspage_of(&f->objs[0]);
}

/* A whole zspage of objects of a size: object i in slot i. */
static struct zsx_zspage *fill_zspage(struct kunit *test, unsigned int size)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, size);

	return fill(test, size, zsx_classes.geo[c].nr_objects);
}

/* === The kernel's part =================================================== */

static struct page **place_of_isolated(struct kunit *test, const struct page *page)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(f->isolated); i++)
		if (f->isolated[i] == page)
			return &f->isolated[i];
	return NULL;
}

/* False: it was refused, and the page is as before. */
static bool isolate(struct kunit *test, struct page *page)
{
	struct page **place = place_of_isolated(test, NULL);

	KUNIT_ASSERT_NOT_NULL(test, place);
	if (!core_isolate(page))
		return false;
	*place = page;
	return true;
}

static void assert_isolate(struct kunit *test, struct page *page)
{
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_TRUE(test, isolate(test, page));
}

static void put_back(struct kunit *test, struct page *page)
{
	*place_of_isolated(test, page) = NULL;
	core_put_back(page);
}

static struct page *new_dst(struct kunit *test)
{
	struct page *dst = core_new_page();

	KUNIT_ASSERT_NOT_NULL(test, dst);
	return dst;
}

static int migrate_to(struct kunit *test, struct page *src, struct page *dst)
{
	int err = core_migrate(src, dst);

	if (!err)
		*place_of_isolated(test, src) = NULL;
	return err;
}

static int migrate(struct kunit *test, struct page *src)
{
	return migrate_to(test, src, new_dst(test));
}

/* Without objects nobody reads; a reader with a stale location pins all the same. */
static int migrate_in_vain(struct kunit *test, struct zsx_zspage *zspage,
			   struct page *src)
{
	int err;

	KUNIT_EXPECT_TRUE(test, zsx_try_pin(zspage));
	err = migrate(test, src);
	zsx_unpin(zspage);
	return err;
}

/* How an isolation ends. */
enum ending { BY_MIGRATION, BY_PUTBACK, BY_PUTBACK_AT_LAST, NR_ENDINGS };
static const char * const ending_names[] = {
	"migration", "putback", "failed migration and putback",
};

static void end_isolation(struct kunit *test, struct zsx_zspage *zspage,
			  struct page *page, enum ending ending)
{
	if (ending == BY_MIGRATION) {
		KUNIT_EXPECT_EQ(test, migrate(test, page), 0);
		return;
	}
	if (ending == BY_PUTBACK_AT_LAST)
		KUNIT_EXPECT_EQ(test, migrate_in_vain(test, zspage, page), -EBUSY);
	put_back(test, page);
}

/* A page that was migrated bears the mark, which needs an owner that is us. */
static void need_marks(struct kunit *test)
{
	if (!zsx_movable)
		kunit_skip(test, "pages can't be migrated here: see zsx's parameter movable");
}

/* === Fixture ============================================================= */

static struct zsx_pool_stats stats_of(struct fixture *f)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(f->pool, &stats);
	return stats;
}

static void end(void *data)
{
	struct kunit *test = data;
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(f->isolated); i++)
		if (f->isolated[i])
			put_back(test, f->isolated[i]);
	drop_all(f);
	/* Zspages that are left show a fault: the pool's end would wait for them for ever. */
	if (f->pool && !stats_of(f).zspages)
		zsx_destroy_pool(f->pool);
}

static int migrate_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->objs = kunit_kcalloc(test, MAX_OBJS, sizeof(*f->objs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->objs);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	f->pool = zsx_create_pool("zsx_migrate");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	test->priv = f;
	return kunit_add_action_or_reset(test, end, test);
}

static void expect_right(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_pool_right(test, f->pool);
}

/* Each class has the fewest pages and zspages for its objects. */
static void expect_compact(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c++) {
		struct zsx_class *class = &f->pool->classes[c];
		unsigned long fewest;

		spin_lock(&class->lock);
		fewest = zsx_class_fewest_pages(class);
		spin_unlock(&class->lock);
		KUNIT_EXPECT_EQ_MSG(test, zsx_class_pages(class), fewest, "class %u", c);
		KUNIT_EXPECT_EQ_MSG(test, zsx_class_zspages(class),
				    DIV_ROUND_UP(zsx_class_objects(class),
						 class->geo->nr_objects),
				    "class %u", c);
	}
}

static void expect_empty(struct kunit *test, const char *when)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats stats = stats_of(f);

	expect_right(test);
	KUNIT_EXPECT_EQ_MSG(test, stats.pages, 0, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, stats.zspages, 0, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, zsx_get_total_pages(f->pool), 0, "%s", when);
}

/* Classes of one page, of few and many, with and without spanning slots. */
static const struct size_param {
	const char *name;
	unsigned int size;
} sizes[] = {
	{ "of 32 bytes", 32 }, { "of 200 bytes", 200 }, { "of 1008 bytes", 1008 },
	{ "of 2424 bytes", 2424 }, { "of 3640 bytes", 3640 }, { "of a page", PAGE_SIZE },
};

KUNIT_ARRAY_PARAM_DESC(sizes, sizes, name);

static unsigned int nr_pages_of(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;

	return zsx_classes.geo[zsx_lookup_class_index(f->pool, param->size)].nr_pages;
}

static unsigned int nr_objects_of(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;

	return zsx_classes.geo[zsx_lookup_class_index(f->pool, param->size)].nr_objects;
}

/* === A page moves ======================================================== */

/* Every page of a zspage in turn. No object has another location after it. */
static void page_moves_under_its_objects(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int i, k, n = nr_objects_of(test);
	struct zsx_zspage *zspage;
	u64 *locations;

	need_marks(test);
	zspage = fill_zspage(test, param->size);
	locations = kunit_kcalloc(test, n, sizeof(*locations), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, locations);
	for (i = 0; i < n; i++)
		locations[i] = location_of(&f->objs[i]).v;
	for (k = 0; k < nr_pages_of(test); k++) {
		struct page *src = zsx_zspage_page(zspage, k), *dst = new_dst(test);

		assert_isolate(test, src);
		get_page(dst);
		KUNIT_EXPECT_EQ(test, migrate_to(test, src, dst), 0);
		KUNIT_EXPECT_PTR_EQ_MSG(test, zsx_zspage_page(zspage, k), dst, "page %u", k);
		put_page(dst);
		expect_all_intact(test);
		expect_right(test);
	}
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, location_of(&f->objs[i]).v, locations[i],
				    "object %u", i);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, k);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages_migrated, k);
	drop_all(f);
	expect_empty(test, "at the end");
}

/* The caller has one reference on each; so has zsx on the page that it holds. */
static void migration_leaves_references_right(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage;
	struct page *src, *dst;

	need_marks(test);
	zspage = fill_zspage(test, 2424);
	src = zsx_zspage_page(zspage, 1);
	dst = new_dst(test);
	get_page(src);
	get_page(dst);
	assert_isolate(test, src);
	KUNIT_EXPECT_EQ(test, page_count(src), 3);
	KUNIT_EXPECT_EQ(test, page_private(src), (unsigned long)zspage);
	KUNIT_EXPECT_EQ(test, migrate_to(test, src, dst), 0);
	KUNIT_EXPECT_EQ(test, page_count(src), 1);
	KUNIT_EXPECT_EQ(test, page_private(src), 0);
	KUNIT_EXPECT_EQ(test, page_count(dst), 2);
	KUNIT_EXPECT_EQ(test, page_private(dst), (unsigned long)zspage);
	put_page(src);
	drop_all(f);
	KUNIT_EXPECT_EQ(test, page_count(dst), 1);
	KUNIT_EXPECT_EQ(test, page_private(dst), 0);
	put_page(dst);
	expect_empty(test, "at the end");
}

static void putback_leaves_all_as_before(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	struct zsx_pool_stats before = stats_of(f), after;
	unsigned int k, group = zspage->group;

	for (k = 0; k < zspage->class->geo->nr_pages; k++) {
		struct page *page = zsx_zspage_page(zspage, k);

		assert_isolate(test, page);
		KUNIT_EXPECT_EQ(test, zspage->isolated, 1U << k);
		put_back(test, page);
		KUNIT_EXPECT_PTR_EQ(test, zsx_zspage_page(zspage, k), page);
		KUNIT_EXPECT_EQ(test, page_count(page), 1);
		KUNIT_EXPECT_EQ(test, page_private(page), (unsigned long)zspage);
	}
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0);
	KUNIT_EXPECT_EQ(test, zspage->group, group);
	after = stats_of(f);
	KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(before)), 0);
	expect_right(test);
	expect_all_intact(test);
}

/* === A page is refused =================================================== */

static struct page *new_sentinel_dst(struct kunit *test)
{
	struct page *dst = new_dst(test);

	mark_untouched(dst);
	return dst;
}

/* An object is read, on this page or another one: no page of the zspage moves. */
static void page_of_object_in_use_is_busy(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, param->size);
	struct obj *o = &f->objs[nr_objects_of(test) / 2];
	void *mem = zsx_obj_read_begin(f->pool, o->handle, o->len, f->buf);
	unsigned int k;

	for (k = 0; k < nr_pages_of(test); k++) {
		struct page *src = zsx_zspage_page(zspage, k);
		struct page *dst = new_sentinel_dst(test);

		assert_isolate(test, src);
		KUNIT_EXPECT_EQ_MSG(test,
				    zsx_movable_ops.migrate_page(dst, src, MIGRATE_SYNC),
				    -EBUSY, "page %u", k);
		KUNIT_EXPECT_TRUE_MSG(test, is_untouched(dst, 2), "page %u", k);
		KUNIT_EXPECT_EQ(test, zspage->isolated, 1U << k);
		KUNIT_EXPECT_PTR_EQ(test, zsx_zspage_page(zspage, k), src);
		KUNIT_EXPECT_EQ(test, page_count(src), 2);
		unlock_page(dst);
		put_page(dst);
		free_untouched(dst);
		put_back(test, src);
	}
	KUNIT_EXPECT_TRUE(test, has_words(o, mem));
	zsx_obj_read_end(f->pool, o->handle, o->len, mem);
	KUNIT_EXPECT_EQ(test, stats_of(f).migrations_refused, k);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages_migrated, 0);
	expect_all_intact(test);
}

/* The page stays isolated meanwhile, and can be tried again. */
static void refused_page_moves_later(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage;
	struct page *src;
	void *mem;

	need_marks(test);
	zspage = fill_zspage(test, 2424);
	src = zsx_zspage_page(zspage, 2);
	assert_isolate(test, src);
	mem = zsx_obj_read_begin(f->pool, f->objs[0].handle, 2424, f->buf);
	KUNIT_EXPECT_EQ(test, migrate(test, src), -EBUSY);
	zsx_obj_read_end(f->pool, f->objs[0].handle, 2424, mem);
	KUNIT_EXPECT_EQ(test, migrate(test, src), 0);
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0);
	expect_right(test);
	expect_all_intact(test);
}

/* Something else moves: that is soon over. */
static void page_of_zspage_being_moved_is_again(struct kunit *test)
{
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	struct page *src = zsx_zspage_page(zspage, 0), *dst = new_sentinel_dst(test);
	int err = 0;
	bool pinned;

	assert_isolate(test, src);
	pinned = zsx_try_write_pin(zspage);
	if (pinned) {
		err = zsx_movable_ops.migrate_page(dst, src, MIGRATE_SYNC);
		zsx_write_unpin(zspage);
	}
	KUNIT_EXPECT_TRUE(test, pinned);
	KUNIT_EXPECT_EQ(test, err, -EAGAIN);
	KUNIT_EXPECT_TRUE(test, is_untouched(dst, 2));
	KUNIT_EXPECT_EQ(test, zspage->isolated, 1);
	unlock_page(dst);
	put_page(dst);
	free_untouched(dst);
	put_back(test, src);
}

/* === Pages that can't be isolated ======================================== */

static void page_without_zspage_is_refused(struct kunit *test)
{
	struct page *page = zsx_page_alloc(GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_FALSE(test, isolate(test, page));
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	zsx_page_free(page);
}

/* A reference on the page keeps it; the zspage lost it all the same. */
static void page_that_was_given_back_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct page *page = zsx_zspage_page(fill_zspage(test, PAGE_SIZE), 3);

	get_page(page);
	drop(f->pool, &f->objs[3]);
	KUNIT_EXPECT_FALSE(test, isolate(test, page));
	drop_all(f);
	KUNIT_EXPECT_FALSE(test, isolate(test, page));
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	put_page(page);
}

/*
 * As if private had been read before the page left: it names a zspage, but the
 * zspage doesn't have it.
 */
static void page_that_names_a_zspage_without_it_is_refused(struct kunit *test)
{
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	struct page *page = zsx_page_alloc(GFP_KERNEL, NUMA_NO_NODE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	set_page_private(page, (unsigned long)zspage);
	KUNIT_EXPECT_FALSE(test, isolate(test, page));
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0);
	set_page_private(page, 0);
	zsx_page_free(page);
	expect_right(test);
}

/* The same with a zspage that is at its end: RCU keeps its memory a zspage's. */
static void page_that_names_a_dead_zspage_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill(test, PAGE_SIZE, 1);
	struct page *page = zsx_zspage_page(zspage, 0);
	bool isolated;

	get_page(page);
	lock_page(page);
	rcu_read_lock();
	drop(f->pool, &f->objs[0]);
	/* Even if it had the page still. */
	zspage->pages[0] = page;
	set_page_private(page, (unsigned long)zspage);
	isolated = zsx_movable_ops.isolate_page(page, ISOLATE_UNEVICTABLE);
	zspage->pages[0] = NULL;
	rcu_read_unlock();
	set_page_private(page, 0);
	unlock_page(page);
	put_page(page);
	KUNIT_EXPECT_FALSE(test, isolated);
	expect_empty(test, "at the end");
}

/*
 * The kernel isolates no page twice: it has a flag of its own for it, set under
 * the page's lock. Should it, it would still be one isolation, with one end.
 */
static void page_isolated_twice_is_isolated_once(struct kunit *test)
{
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	struct page *page = zsx_zspage_page(zspage, 1);

	assert_isolate(test, page);
	KUNIT_EXPECT_TRUE(test, zsx_movable_ops.isolate_page(page, ISOLATE_UNEVICTABLE));
	KUNIT_EXPECT_EQ(test, zspage->isolated, 2);
	put_back(test, page);
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0);
	expect_right(test);
	expect_all_intact(test);
}

/* === Objects go while their pages are isolated =========================== */

static const struct ending_param {
	const char *name;
	enum ending ending;
} endings[] = {
	{ "by migration", BY_MIGRATION },
	{ "by putback", BY_PUTBACK },
	{ "by a failed migration and putback", BY_PUTBACK_AT_LAST },
};

KUNIT_ARRAY_PARAM_DESC(endings, endings, name);

static const unsigned int some_sizes[] = { 32, 1008, 2424, 3640, PAGE_SIZE };

/* Whoever ends the isolation ends the zspage, without any further call. */
static void last_end_of_isolation_ends_the_zspage(struct kunit *test)
{
	const struct ending_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int s, k;

	if (param->ending == BY_MIGRATION)
		need_marks(test);
	for (s = 0; s < ARRAY_SIZE(some_sizes); s++) {
		unsigned int c = zsx_lookup_class_index(f->pool, some_sizes[s]);

		for (k = 0; k < zsx_classes.geo[c].nr_pages; k++) {
			struct zsx_zspage *zspage = fill_zspage(test, some_sizes[s]);
			struct page *page = zsx_zspage_page(zspage, k);

			get_page(page);
			assert_isolate(test, page);
			drop_all(f);
			KUNIT_EXPECT_EQ(test, stats_of(f).pages, 1);
			KUNIT_EXPECT_EQ(test, stats_of(f).zspages, 1);
			KUNIT_EXPECT_PTR_EQ(test, zsx_zspage_page(zspage, k), page);
			expect_right(test);
			end_isolation(test, zspage, page, param->ending);
			expect_empty(test, "after the end of isolation");
			KUNIT_EXPECT_EQ_MSG(test, page_count(page), 1, "page %u of %u bytes",
					    k, some_sizes[s]);
			put_page(page);
		}
	}
}

/* When an object is stored while two pages are isolated, and when it goes. */
enum malloc_when {
	NO_MALLOC,
	MALLOC_FIRST,		/* before the first isolation ends; goes last */
	MALLOC_BETWEEN,		/* between the ends; goes last */
	MALLOC_AND_FREE,	/* both between the ends */
	NR_MALLOC_WHEN
};

struct two_isolated {
	enum ending ending[2];
	bool second_first;
	enum malloc_when when;
};

static void end_two_isolations(struct kunit *test, const struct two_isolated *two)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, 1776);
	struct page *pages[2] = {
		zsx_zspage_page(zspage, 3), zsx_zspage_page(zspage, 7),
	};
	char when[100];

	snprintf(when, sizeof(when), "%s, then %s, %s first, malloc %u",
		 ending_names[two->ending[0]], ending_names[two->ending[1]],
		 two->second_first ? "second" : "first", two->when);
	if (two->second_first)
		swap(pages[0], pages[1]);
	get_page(pages[0]);
	get_page(pages[1]);
	assert_isolate(test, pages[0]);
	assert_isolate(test, pages[1]);
	drop_all(f);
	KUNIT_EXPECT_EQ_MSG(test, stats_of(f).pages, 2, "%s", when);

	if (two->when == MALLOC_FIRST)
		assert_store(test, 0, 1776);
	end_isolation(test, zspage, pages[0], two->ending[0]);
	expect_right(test);
	KUNIT_EXPECT_EQ_MSG(test, stats_of(f).zspages, 1, "%s", when);
	if (two->when == MALLOC_BETWEEN || two->when == MALLOC_AND_FREE)
		assert_store(test, 0, 1776);
	if (two->when != NO_MALLOC) {
		KUNIT_EXPECT_PTR_EQ_MSG(test, zspage_of(&f->objs[0]), zspage, "%s", when);
		expect_all_intact(test);
	}
	if (two->when == MALLOC_AND_FREE)
		drop_all(f);
	expect_right(test);
	end_isolation(test, zspage, pages[1], two->ending[1]);
	expect_right(test);
	expect_all_intact(test);
	drop_all(f);
	expect_empty(test, when);
	KUNIT_EXPECT_EQ_MSG(test, page_count(pages[0]), 1, "%s", when);
	KUNIT_EXPECT_EQ_MSG(test, page_count(pages[1]), 1, "%s", when);
	put_page(pages[0]);
	put_page(pages[1]);
}

static void two_isolations_end_in_every_order(struct kunit *test)
{
	struct two_isolated two;
	unsigned int i;

	need_marks(test);
	for (i = 0; i < 2 * NR_ENDINGS * NR_ENDINGS * NR_MALLOC_WHEN; i++) {
		two = (struct two_isolated) {
			.second_first = i % 2,
			.ending[0] = i / 2 % NR_ENDINGS,
			.ending[1] = i / 2 / NR_ENDINGS % NR_ENDINGS,
			.when = i / 2 / NR_ENDINGS / NR_ENDINGS,
		};
		end_two_isolations(test, &two);
	}
}

/* A page that two slots touch, neither wholly on it; 0: there is none. */
static unsigned int page_without_whole_slot(const struct zsx_geometry *geo)
{
	unsigned int k;

	for (k = 1; k + 1 < geo->nr_pages; k++)
		if (geo->first[k] == geo->last[k - 1] && geo->last[k] == geo->first[k + 1] &&
		    geo->last[k] == geo->first[k] + 1)
			return k;
	return 0;
}

static void use_without_any_slot_again(struct kunit *test, const struct zsx_geometry *geo,
				       unsigned int k)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, geo->size);
	struct page *page = zsx_zspage_page(zspage, k);
	unsigned int i;

	get_page(page);
	for (i = 0; i < geo->nr_objects; i++)
		if (i != geo->first[k])
			drop(f->pool, &f->objs[i]);
	KUNIT_ASSERT_EQ(test, stats_of(f).pages, 2);
	assert_isolate(test, page);
	drop(f->pool, &f->objs[geo->first[k]]);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, 1);
	KUNIT_EXPECT_TRUE(test, zsx_slots_empty(zspage->present));
	KUNIT_EXPECT_EQ(test, zspage->group, ZSX_GROWABLE);
	expect_right(test);

	assert_store(test, 0, geo->size);
	KUNIT_EXPECT_PTR_EQ(test, zspage_of(&f->objs[0]), zspage);
	KUNIT_EXPECT_EQ(test, slot_of(&f->objs[0]), 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, 2);
	expect_right(test);
	drop(f->pool, &f->objs[0]);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, 1);
	expect_right(test);
	put_back(test, page);
	expect_empty(test, "after putback");
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	put_page(page);
}

/*
 * What is left of a zspage is one page, isolated, that no slot is wholly on: it has
 * a capacity of 0. The next object makes it grow.
 */
static void zspage_without_any_slot_is_used_again(struct kunit *test)
{
	unsigned int c, k, nr = 0;

	for (c = 0; c < zsx_classes.nr_classes; c++) {
		k = page_without_whole_slot(&zsx_classes.geo[c]);
		if (!k)
			continue;
		use_without_any_slot_again(test, &zsx_classes.geo[c], k);
		nr++;
	}
	KUNIT_EXPECT_GT(test, nr, 0);
}

/* === The longest zspage ================================================== */

/* All pages of a zspage at a time, whose objects are freed or not meanwhile. */
static void isolate_all(struct kunit *test, struct zsx_zspage *zspage, struct page **pages)
{
	unsigned int k;

	for (k = 0; k < ZSX_MAX_PAGES; k++) {
		pages[k] = zsx_zspage_page(zspage, k);
		assert_isolate(test, pages[k]);
	}
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0xffff);
}

static unsigned int longest_size(struct kunit *test)
{
	unsigned int c;

	for (c = 0; c < zsx_classes.nr_classes; c++)
		if (zsx_classes.geo[c].nr_pages == ZSX_MAX_PAGES)
			return zsx_classes.geo[c].size;
	kunit_skip(test, "the module's chain_limit is less than %u", ZSX_MAX_PAGES);
	return 0;
}

static void all_pages_of_the_longest_zspage(struct kunit *test)
{
	const struct ending_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int k, size = longest_size(test);
	struct page *pages[ZSX_MAX_PAGES];
	struct zsx_zspage *zspage;
	bool empty;

	if (param->ending == BY_MIGRATION)
		need_marks(test);
	for (empty = false; ; empty = true) {
		zspage = fill_zspage(test, size);
		isolate_all(test, zspage, pages);
		if (empty)
			drop_all(f);
		KUNIT_EXPECT_EQ(test, stats_of(f).pages, ZSX_MAX_PAGES);
		/* In an order that is neither theirs nor the reverse. */
		for (k = 0; k < ZSX_MAX_PAGES; k++) {
			end_isolation(test, zspage, pages[k * 7 % ZSX_MAX_PAGES], param->ending);
			expect_right(test);
			KUNIT_EXPECT_EQ(test, stats_of(f).pages,
					empty ? ZSX_MAX_PAGES - 1 - k : ZSX_MAX_PAGES);
			expect_all_intact(test);
		}
		if (empty)
			break;
		drop_all(f);
	}
	expect_empty(test, "at the end");
}

/* === Between two steps of a migration ===================================== */

/* Zspage of objects of a size, of which page @place is isolated. */
static void isolate_one(struct kunit *test, unsigned int size, unsigned int place)
{
	struct fixture *f = test->priv;

	f->zspage = fill_zspage(test, size);
	f->place = place;
	f->src = zsx_zspage_page(f->zspage, place);
	f->dst = new_dst(test);
	get_page(f->src);
	get_page(f->dst);
	assert_isolate(test, f->src);
	use_points(test);
}

/* Nobody has these pages any more but the test. */
static void put_both(struct kunit *test, unsigned int dst_refs)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, page_count(f->src), 1);
	KUNIT_EXPECT_EQ(test, page_count(f->dst), dst_refs);
	KUNIT_EXPECT_EQ(test, page_private(f->src), 0);
	put_page(f->src);
	put_page(f->dst);
}

static void write_all(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++) {
		if (!f->objs[i].handle)
			continue;
		must_be(test, is_intact(f->pool, &f->objs[i], f->buf),
			"what was written before a mover came is there after it");
		f->objs[i].seed = ++f->next_seed;
		must_be(test, rewrite(f->pool, &f->objs[i], f->buf),
			"objects are written around a migration");
	}
}

/* Nothing is copied before the mover has its pin, or after it dropped it. */
static void writes_around_a_migration_are_kept(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int k;

	need_marks(test);
	f->points.at[ZSX_POINT_MOVER_COMES] = write_all;
	f->points.at[ZSX_POINT_MOVER_GONE] = write_all;
	for (k = 0; k < nr_pages_of(test); k++) {
		isolate_one(test, param->size, k);
		KUNIT_EXPECT_EQ(test, migrate_to(test, f->src, f->dst), 0);
		KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_COMES], k + 1);
		KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_GONE], k + 1);
		expect_nothing_wrong(test);
		expect_all_intact(test);
		put_both(test, 2);
		drop_all(f);
	}
}

static bool class_is_locked(const struct zsx_zspage *zspage)
{
	bool locked = !spin_trylock(&zspage->class->lock);

	if (!locked)
		spin_unlock(&zspage->class->lock);
	return locked;
}

static void page_is_still_the_old_one(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	must_be(test, !class_is_locked(zspage), "class->lock is free when a mover comes");
	must_be(test, zsx_zspage_page(zspage, f->place) == f->src &&
		page_private(f->src) == (unsigned long)zspage,
		"the old page is there before a mover has its pin");
	f->preempt = preempt_count();
}

static void page_is_being_replaced(struct kunit *test, struct zsx_zspage *zspage)
{
	must_be(test, zspage == ((struct fixture *)test->priv)->zspage,
		"the page's zspage is pinned");
	must_be_closed(test, zspage);
	must_be(test, !class_is_locked(zspage), "a page is copied outside class->lock");
	if (IS_ENABLED(CONFIG_PREEMPT_COUNT))
		must_be(test, preempt_count() > ((struct fixture *)test->priv)->preempt,
			"a mover isn't preempted: a reader on its CPU would spin");
}

static void page_is_the_new_one(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	must_be(test, zsx_zspage_page(zspage, f->place) == f->dst &&
		page_private(f->dst) == (unsigned long)zspage,
		"the new page is there when a mover drops its pin");
	must_be(test, !page_private(f->src), "the old page doesn't name the zspage then");
	must_be(test, zspage->isolated == 1U << f->place, "the isolation goes on");
}

/* Readers are kept out while a page is copied and replaced, and nobody waits for it. */
static void page_is_replaced_when_nobody_can_see_it(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;

	need_marks(test);
	isolate_one(test, param->size, nr_pages_of(test) / 2);
	f->points.at[ZSX_POINT_MOVER_COMES] = page_is_still_the_old_one;
	f->points.at[ZSX_POINT_COPIED] = page_is_being_replaced;
	f->points.at[ZSX_POINT_MOVER_GONE] = page_is_the_new_one;
	KUNIT_EXPECT_EQ(test, migrate_to(test, f->src, f->dst), 0);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_COMES], 1);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_COPIED], 1);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_MOVER_GONE], 1);
	expect_nothing_wrong(test);
	put_both(test, 2);
	expect_all_intact(test);
}

static const struct moment_param {
	const char *name;
	enum zsx_point point;
} moments[] = {
	{ "before the pin", ZSX_POINT_MOVER_COMES },
	{ "when the page is copied", ZSX_POINT_COPIED },
	{ "after the pin", ZSX_POINT_MOVER_GONE },
};

KUNIT_ARRAY_PARAM_DESC(moments, moments, name);

static void free_all(struct kunit *test, struct zsx_zspage *zspage)
{
	drop_all(test->priv);
}

/* The migration ends the zspage; the new page goes back, and the core has the old one. */
static void objects_are_freed_during_a_migration(struct kunit *test)
{
	const struct moment_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int s;

	need_marks(test);
	f->points.at[param->point] = free_all;
	for (s = 0; s < ARRAY_SIZE(some_sizes); s++) {
		isolate_one(test, some_sizes[s], 0);
		KUNIT_EXPECT_EQ(test, migrate_to(test, f->src, f->dst), 0);
		KUNIT_EXPECT_EQ(test, f->points.nr[param->point], s + 1);
		KUNIT_EXPECT_EQ(test, page_private(f->dst), 0);
		put_both(test, 1);
		expect_empty(test, "after the migration");
	}
}

/* Slots are taken, and handles given out, while their page moves; written later. */
static void store_others(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < zspage->class->geo->nr_objects; i += 2) {
		struct obj *o = &f->objs[i];
		unsigned long handle;

		drop(f->pool, o);
		handle = zsx_malloc(f->pool, o->len, GFP_ATOMIC, NUMA_NO_NODE);
		must_be(test, !IS_ERR_VALUE(handle), "memory for one object");
		if (IS_ERR_VALUE(handle))
			return;
		o->handle = handle;
		o->seed = ++f->next_seed;
	}
}

static void objects_are_stored_during_a_migration(struct kunit *test)
{
	const struct moment_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int s, i;

	need_marks(test);
	f->points.at[param->point] = store_others;
	for (s = 0; s < ARRAY_SIZE(some_sizes); s++) {
		isolate_one(test, some_sizes[s], 0);
		KUNIT_EXPECT_EQ(test, migrate_to(test, f->src, f->dst), 0);
		expect_nothing_wrong(test);
		expect_right(test);
		for (i = 0; i < f->zspage->class->geo->nr_objects; i += 2)
			KUNIT_EXPECT_TRUE(test, rewrite(f->pool, &f->objs[i], f->buf));
		expect_all_intact(test);
		put_both(test, 2);
		drop_all(f);
		expect_empty(test, "at the end");
	}
}

/* === Between two steps of an isolation ==================================== */

static void free_all_while_looked_at(struct kunit *test, struct zsx_zspage *zspage)
{
	must_be_in_rcu(test);
	drop_all(test->priv);
}

/* The page leaves; the zspage may end, and others do with its descriptor what they like. */
static void page_that_leaves_while_looked_at_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct page *page;
	unsigned int s;

	use_points(test);
	f->points.at[ZSX_POINT_LOOKED] = free_all_while_looked_at;
	for (s = 0; s < ARRAY_SIZE(some_sizes); s++) {
		page = zsx_zspage_page(fill_zspage(test, some_sizes[s]), 0);
		get_page(page);
		KUNIT_EXPECT_FALSE(test, isolate(test, page));
		KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_LOOKED], s + 1);
		KUNIT_EXPECT_EQ(test, page_count(page), 1);
		expect_empty(test, "after the isolation");
		put_page(page);
	}
	expect_nothing_wrong(test);
}

/* As compaction does by the pages in hand: @f->src goes from one to another. */
static void page_changes_its_zspage(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;
	struct zsx_class *class = zspage->class;
	unsigned long handle = f->objs[f->place].handle;
	struct zsx_loose loose;
	zsx_location_t loc;

	zsx_loose_init(&loose);
	f->points.at[ZSX_POINT_LOOKED] = NULL;
	spin_lock(&class->lock);
	zsx_zspage_put(class, zspage, f->place, &loose);
	must_be(test, loose.nr_pages == 1 && zsx_loose_take_page(&loose) == f->src, "the page comes loose");
	zsx_zspage_install(class, f->other, f->src);
	loc = zsx_zspage_take(class, f->other, handle);
	zsx_location_publish(class, zsx_handle_of(handle), loc);
	spin_unlock(&class->lock);
}

/* It is in use again when the lock is taken, but not where it was seen. */
static void page_that_changes_its_zspage_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int n = zsx_classes.geo[zsx_lookup_class_index(f->pool, PAGE_SIZE)].nr_objects;

	f->zspage = fill(test, PAGE_SIZE, n + 2);
	f->other = zspage_of(&f->objs[n]);
	f->place = 3;
	f->src = zsx_zspage_page(f->zspage, f->place);
	use_points(test);
	f->points.at[ZSX_POINT_LOOKED] = page_changes_its_zspage;
	KUNIT_EXPECT_FALSE(test, isolate(test, f->src));
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_LOOKED], 1);
	expect_nothing_wrong(test);
	KUNIT_EXPECT_EQ(test, f->zspage->isolated, 0);
	KUNIT_EXPECT_EQ(test, f->other->isolated, 0);
	expect_right(test);
	expect_all_intact(test);
	/* Then it is found where it is. */
	assert_isolate(test, f->src);
	KUNIT_EXPECT_EQ(test, f->other->isolated, 1U << 2);
	put_back(test, f->src);
}

static void zspage_changes_its_class(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_LOOKED] = NULL;
	WRITE_ONCE(zspage->class, &f->pool->classes[0]);
}

/* As if its descriptor were used anew, and the page too: it is another lock's to judge. */
static void page_of_a_zspage_of_another_class_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	struct zsx_class *class = zspage->class;

	use_points(test);
	f->points.at[ZSX_POINT_LOOKED] = zspage_changes_its_class;
	KUNIT_EXPECT_FALSE(test, isolate(test, zsx_zspage_page(zspage, 1)));
	WRITE_ONCE(zspage->class, class);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_LOOKED], 1);
	KUNIT_EXPECT_EQ(test, zspage->isolated, 0);
	expect_right(test);
}

/* === What is let go ======================================================= */

/* After the lock and before the pages go back: others may look at them by now. */
static void stub_loose_free(struct zsx_loose *loose)
{
	struct kunit *test = kunit_get_current_test();
	struct zsx_zspage *dead = zsx_loose_first_zspage(loose);
	struct fixture *f = test->priv;
	struct page *page;

	must_be(test, !class_is_locked(f->zspage), "pages go back outside class->lock");
	if (f->ends)
		must_be(test, rcu_read_lock_held(), "an isolation's end is inside RCU");
	if (dead)
		must_be(test, dead->group == ZSX_NOT_LINKED && !atomic_read(&dead->pins),
			"a zspage that ends is on no list, and not pinned");
	f->nr_loose += loose->nr_pages;
	list_for_each_entry(page, &loose->pages, lru) {
		must_be(test, !page_private(page), "a page names no zspage once it is out");
		must_be(test, !zsx_movable_ops.isolate_page(page, ISOLATE_UNEVICTABLE),
			"a page that is out can't be isolated");
	}
	give_back(loose);
}

static void nothing_leads_to_pages_that_are_let_go(struct kunit *test)
{
	struct fixture *f = test->priv;
	enum ending ending;
	unsigned int i, s;

	need_marks(test);
	for (s = 0; s < ARRAY_SIZE(some_sizes); s++) {
		const struct zsx_geometry *geo;

		/* By free, */
		f->zspage = fill_zspage(test, some_sizes[s]);
		geo = f->zspage->class->geo;
		kunit_activate_static_stub(test, zsx_loose_free, stub_loose_free);
		f->nr_loose = 0;
		for (i = 1; i < geo->nr_objects; i++)
			drop(f->pool, &f->objs[i]);
		KUNIT_EXPECT_EQ(test, f->nr_loose, geo->nr_pages - 1);
		drop_all(f);
		/* and by each end of an isolation. */
		for (ending = 0; ending < NR_ENDINGS; ending++) {
			f->zspage = fill_zspage(test, some_sizes[s]);
			f->src = zsx_zspage_page(f->zspage, 0);
			assert_isolate(test, f->src);
			drop_all(f);
			f->ends = true;
			f->nr_loose = 0;
			end_isolation(test, f->zspage, f->src, ending);
			f->ends = false;
			KUNIT_EXPECT_EQ(test, f->nr_loose, 1);
			expect_empty(test, ending_names[ending]);
		}
		kunit_deactivate_static_stub(test, zsx_loose_free);
	}
	expect_nothing_wrong(test);
}

/* === The pool's end ====================================================== */

/* @is_begun: the page is about to be put back */
struct late_putback {
	struct task_struct *task;
	struct page *page;
	bool is_begun;
	struct completion done;
};

static int put_back_late(void *data)
{
	struct late_putback *late = data;

	msleep(100);
	WRITE_ONCE(late->is_begun, true);
	zsx_movable_ops.putback_page(late->page);
	unlock_page(late->page);
	put_page(late->page);
	complete(&late->done);
	return 0;
}

static void destroy_waits_for_isolated_pages(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct late_putback late = { .page = zsx_zspage_page(fill(test, 2424, 5), 1) };
	struct task_struct *task;
	bool was_begun;

	init_completion(&late.done);
	assert_isolate(test, late.page);
	drop_all(f);
	task = kthread_create(put_back_late, &late, "zsx_migrate/putback");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	*place_of_isolated(test, late.page) = NULL;
	wake_up_process(task);
	zsx_destroy_pool(f->pool);
	was_begun = READ_ONCE(late.is_begun);
	f->pool = NULL;
	wait_for_completion(&late.done);
	KUNIT_EXPECT_TRUE_MSG(test, was_begun, "the pool ended under an isolated page");
}

/* @is_done: the pool is gone */
struct destroyer {
	struct zsx_pool *pool;
	struct completion begin;
	struct completion done;
	bool is_done;
};

static int destroy(void *data)
{
	struct destroyer *d = data;

	wait_for_completion(&d->begin);
	zsx_destroy_pool(d->pool);
	WRITE_ONCE(d->is_done, true);
	complete(&d->done);
	return 0;
}

/*
 * The end of the last isolation is just done with the lock: the pool is empty, and
 * whoever destroys it finds that. But the class is still looked at.
 */
static void stub_loose_free_slowly(struct zsx_loose *loose)
{
	struct kunit *test = kunit_get_current_test();
	struct fixture *f = test->priv;
	unsigned int ms;

	complete(&f->destroyer->begin);
	for (ms = 0; ms < 100 && !READ_ONCE(f->destroyer->is_done); ms++)
		mdelay(1);
	must_be(test, !READ_ONCE(f->destroyer->is_done),
		"a pool ends after the end of its last isolation");
	/* Where the pool is gone, so is the class that this would look at. */
	if (!f->points.wrong)
		give_back(loose);
}

static void destroy_waits_for_the_end_of_an_isolation(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct destroyer d = { .pool = f->pool };
	struct task_struct *task;
	struct page *page;

	if (num_online_cpus() < 2)
		kunit_skip(test, "two threads must run at the same time");
	page = zsx_zspage_page(fill(test, 2424, 5), 1);
	init_completion(&d.begin);
	init_completion(&d.done);
	assert_isolate(test, page);
	drop_all(f);
	task = kthread_create(destroy, &d, "zsx_migrate/destroy");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	wake_up_process(task);
	f->destroyer = &d;
	f->pool = NULL;
	kunit_activate_static_stub(test, zsx_loose_free, stub_loose_free_slowly);
	put_back(test, page);
	kunit_deactivate_static_stub(test, zsx_loose_free);
	wait_for_completion(&d.done);
	expect_nothing_wrong(test);
}

/* === Priorities ========================================================== */

/* @is_wrong: what was read was not what was stored */
struct reader {
	struct zsx_pool *pool;
	struct obj *obj;
	u32 *buf;
	unsigned int nr_reads;
	bool is_wrong;
};

static int read_urgently(void *data)
{
	struct reader *r = data;

	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		if (!is_intact(r->pool, r->obj, r->buf))
			r->is_wrong = true;
		r->nr_reads++;
		usleep_range(20, 60);
	}
	return 0;
}

/*
 * A reader that wakes up on the mover's CPU, and goes first there, never meets a move: it
 * would look again for ever, as the mover has nowhere to go on.
 */
static void urgent_reader_never_meets_a_mover(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_zspage *zspage = fill_zspage(test, 2424);
	unsigned int i, cpu = raw_smp_processor_id();
	struct reader r = {
		.pool = f->pool,
		.obj = &f->objs[1],
		.buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL),
	};
	struct task_struct *task;

	need_marks(test);
	KUNIT_ASSERT_NOT_NULL(test, r.buf);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(cpu)), 0);
	task = kthread_create_on_cpu(read_urgently, &r, cpu, "zsx_migrate/read");
	if (!IS_ERR(task)) {
		wake_up_process(task);
		for (i = 0; i < 5000; i++) {
			struct page *page = zspage->pages[i % zspage->class->geo->nr_pages];

			if (isolate(test, page))
				KUNIT_EXPECT_EQ(test, migrate(test, page), 0);
		}
		kthread_stop(task);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_FALSE(test, r.is_wrong);
	KUNIT_EXPECT_GT(test, r.nr_reads, 20);
	KUNIT_EXPECT_EQ(test, stats_of(f).pins_retried, 0);
	KUNIT_EXPECT_GT(test, stats_of(f).pages_migrated, 4000);
}

/* === Compaction ========================================================== */

/* Objects move as far as there is something to win; isolated pages stay. */
static void compaction_leaves_isolated_pages(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int n = nr_objects_of(test), i, k, nr = 0;
	struct zsx_zspage *zspages[4];
	struct page *pages[8];
	struct rnd_state rnd;

	fill(test, param->size, 4 * n);
	for (i = 0; i < ARRAY_SIZE(zspages); i++)
		zspages[i] = zspage_of(&f->objs[i * n]);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		k = i % 2 ? nr_pages_of(test) - 1 : 0;
		if (i % 2 && !k)
			continue;
		pages[nr] = zsx_zspage_page(zspages[i / 2], k);
		assert_isolate(test, pages[nr++]);
	}
	prandom_seed_state(&rnd, 5);
	for (i = 0; i < 4 * n; i++)
		if (prandom_u32_state(&rnd) % 4)
			drop(f->pool, &f->objs[i]);

	zsx_compact(f->pool);
	expect_right(test);
	expect_all_intact(test);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_NE_MSG(test, page_private(pages[i]), 0, "page %u", i);
	for (i = 0; i < ARRAY_SIZE(zspages); i++)
		KUNIT_EXPECT_NE_MSG(test, zspages[i]->isolated, 0, "zspage %u", i);
	for (i = 0; i < nr; i++)
		put_back(test, pages[i]);
	zsx_compact(f->pool);
	expect_right(test);
	expect_compact(test);
	expect_all_intact(test);
}

/* A zspage of which nothing is left but an isolated page is in nobody's way. */
static void compaction_passes_over_what_is_only_isolated(struct kunit *test)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, param->size);
	struct zsx_class *class = &f->pool->classes[c];
	unsigned int n = nr_objects_of(test), i;
	unsigned long fewest;
	struct page *page;

	page = zsx_zspage_page(fill(test, param->size, 3 * n), nr_pages_of(test) - 1);
	assert_isolate(test, page);
	for (i = 0; i < 3 * n; i++)
		if (i < n || i % 4)
			drop(f->pool, &f->objs[i]);
	zsx_compact(f->pool);
	expect_right(test);
	expect_all_intact(test);
	spin_lock(&class->lock);
	fewest = zsx_class_fewest_pages(class);
	spin_unlock(&class->lock);
	KUNIT_EXPECT_EQ(test, zsx_class_pages(class), fewest + 1);
	KUNIT_EXPECT_EQ(test, zsx_class_zspages(class), 2);
	put_back(test, page);
	expect_compact(test);
}

/* No page can be won: none is, and none is got for it. */
static void compaction_of_isolated_pages_alone_ends(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, 1776), k, i, nr = 0;
	const struct zsx_geometry *geo = &zsx_classes.geo[c];
	struct page *pages[4 * ZSX_MAX_PAGES];

	fill(test, 1776, 4 * geo->nr_objects);
	for (i = 0; i < 4; i++) {
		for (k = 0; k < geo->nr_pages; k++) {
			struct obj *o = &f->objs[i * geo->nr_objects];

			pages[nr] = zsx_zspage_page(zspage_of(o), k);
			assert_isolate(test, pages[nr++]);
		}
	}
	for (i = 0; i < 4 * geo->nr_objects; i++)
		if (i % 3)
			drop(f->pool, &f->objs[i]);
	KUNIT_EXPECT_EQ(test, zsx_compact(f->pool), 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, nr);
	expect_right(test);
	expect_all_intact(test);
	for (i = 0; i < nr; i++)
		put_back(test, pages[i]);
	zsx_compact(f->pool);
	expect_right(test);
	expect_compact(test);
	expect_all_intact(test);
}

static struct kunit_case migrate_cases[] = {
	KUNIT_CASE_PARAM(page_moves_under_its_objects, sizes_gen_params),
	KUNIT_CASE(migration_leaves_references_right),
	KUNIT_CASE(putback_leaves_all_as_before),
	KUNIT_CASE_PARAM(page_of_object_in_use_is_busy, sizes_gen_params),
	KUNIT_CASE(refused_page_moves_later),
	KUNIT_CASE(page_of_zspage_being_moved_is_again),
	KUNIT_CASE(page_without_zspage_is_refused),
	KUNIT_CASE(page_that_was_given_back_is_refused),
	KUNIT_CASE(page_that_names_a_zspage_without_it_is_refused),
	KUNIT_CASE(page_that_names_a_dead_zspage_is_refused),
	KUNIT_CASE(page_isolated_twice_is_isolated_once),
	KUNIT_CASE_PARAM(last_end_of_isolation_ends_the_zspage, endings_gen_params),
	KUNIT_CASE(two_isolations_end_in_every_order),
	KUNIT_CASE(zspage_without_any_slot_is_used_again),
	KUNIT_CASE_PARAM(all_pages_of_the_longest_zspage, endings_gen_params),
	KUNIT_CASE_PARAM(writes_around_a_migration_are_kept, sizes_gen_params),
	KUNIT_CASE_PARAM(page_is_replaced_when_nobody_can_see_it, sizes_gen_params),
	KUNIT_CASE_PARAM(objects_are_freed_during_a_migration, moments_gen_params),
	KUNIT_CASE_PARAM(objects_are_stored_during_a_migration, moments_gen_params),
	KUNIT_CASE(page_that_leaves_while_looked_at_is_refused),
	KUNIT_CASE(page_that_changes_its_zspage_is_refused),
	KUNIT_CASE(page_of_a_zspage_of_another_class_is_refused),
	KUNIT_CASE(nothing_leads_to_pages_that_are_let_go),
	KUNIT_CASE(destroy_waits_for_isolated_pages),
	KUNIT_CASE(urgent_reader_never_meets_a_mover),
	KUNIT_CASE(destroy_waits_for_the_end_of_an_isolation),
	KUNIT_CASE_PARAM(compaction_leaves_isolated_pages, sizes_gen_params),
	KUNIT_CASE_PARAM(compaction_passes_over_what_is_only_isolated, sizes_gen_params),
	KUNIT_CASE(compaction_of_isolated_pages_alone_ends),
	{}
};

static struct kunit_suite migrate_suite = {
	.name = "zsx_migrate",
	.init = migrate_init,
	.test_cases = migrate_cases,
};

kunit_test_suite(migrate_suite);
