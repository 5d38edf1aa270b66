// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_bulk: many objects in one call
 *
 * What a call of zsx_malloc_bulk() or zsx_free_bulk() leaves must be what as many single
 * calls would: so each case is done for numbers around the size of a batch, for one class
 * and for many, and looks at the counters, the invariants and each byte. Memory is made
 * short at each allocation in turn.
 */
#include <linux/err.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "memory.h"
#include "objects.h"

#define MAX_OBJS	256
#define MAX_SEEN	512

/*
 * @fail_at: which call for memory fails, counted from 0; and all after it
 * @page: what it gave, with a reference of the test's
 */
struct shortage {
	unsigned int nr_calls;
	unsigned int fail_at;
	struct page *pages[MAX_SEEN];
	unsigned int nr_pages;
};

struct fixture {
	struct memory memory;
	struct zsx_pool *pool;
	struct obj objs[MAX_OBJS];
	size_t sizes[MAX_OBJS];
	unsigned long handles[MAX_OBJS];
	u32 *buf;
	u32 next_seed;
	struct shortage shortage;
};

/* === Objects ============================================================= */

static void fill_objects(struct fixture *f, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		f->objs[i] = (struct obj) {
			.handle = f->handles[i],
			.len = f->sizes[i],
			.seed = ++f->next_seed,
		};
		rewrite(f->pool, &f->objs[i], f->buf);
	}
}

/* Store @nr objects, by f->sizes. */
static int store_bulk(struct fixture *f, unsigned int nr)
{
	int err = zsx_malloc_bulk(f->pool, f->sizes, nr, GFP_KERNEL | __GFP_MOVABLE,
				  NUMA_NO_NODE, f->handles);

	if (!err)
		fill_objects(f, nr);
	return err;
}

/* Free each object from @first on, @step apart. */
static void drop_bulk(struct fixture *f, unsigned int first, unsigned int step)
{
	unsigned int i, nr = 0;

	for (i = first; i < MAX_OBJS; i += step) {
		if (f->objs[i].handle)
			f->handles[nr++] = f->objs[i].handle;
		f->objs[i].handle = 0;
	}
	zsx_free_bulk(f->pool, f->handles, nr);
}

static void expect_all_intact(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < MAX_OBJS; i++)
		if (f->objs[i].handle)
			KUNIT_EXPECT_TRUE_MSG(test, is_intact(f->pool, &f->objs[i], f->buf),
					      "object %u of %u bytes", i, f->objs[i].len);
}

static struct zsx_pool_stats stats_of(struct fixture *f)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(f->pool, &stats);
	return stats;
}

static void expect_right(struct kunit *test, unsigned long nr_objects)
{
	struct fixture *f = test->priv;
	unsigned int c;

	expect_pool_right(test, f->pool);
	for (c = 0; c < f->pool->nr_classes; c++) {
		struct zsx_class *class = &f->pool->classes[c];

		spin_lock(&class->lock);
		KUNIT_EXPECT_GE(test, zsx_class_pages(class), zsx_class_fewest_pages(class));
		spin_unlock(&class->lock);
	}
	KUNIT_EXPECT_EQ(test, stats_of(f).objects, nr_objects);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, zsx_get_total_pages(f->pool));
}

static void expect_empty(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_right(test, 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).zspages, 0);
}

/* === Memory ============================================================== */

/* Keep an eye on a page, by a reference. */
static void see_page(struct kunit *test, struct page *page)
{
	struct fixture *f = test->priv;
	struct shortage *s = &f->shortage;

	if (s->nr_pages == MAX_SEEN)
		return;
	get_page(page);
	s->pages[s->nr_pages++] = page;
}

static bool is_short(struct kunit *test)
{
	struct fixture *f = test->priv;

	return f->shortage.nr_calls++ >= f->shortage.fail_at;
}

/* === Fixture ============================================================= */

static void end(void *data)
{
	struct fixture *f = data;

	drop_bulk(f, 0, 1);
	zsx_destroy_pool(f->pool);
}

static int bulk_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	f->pool = zsx_create_pool("zsx_bulk");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	/* Three pages at once, so that there is much to be asked for again. */
	f->memory = (struct memory) { .refuses = is_short, .got = see_page, .most = 3 };
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

/* === As many single calls ================================================ */

/* @size: of each object; 0: mixed */
static const struct mix_param {
	const char *name;
	unsigned int size;
} mixes[] = {
	{ "of 32 bytes", 32 }, { "of 1100 bytes", 1100 }, { "of 2424 bytes", 2424 },
	{ "of a page", PAGE_SIZE }, { "mixed", 0 },
};

KUNIT_ARRAY_PARAM_DESC(mixes, mixes, name);

static void choose_sizes(struct kunit *test, unsigned int nr)
{
	const struct mix_param *mix = test->param_value;
	struct fixture *f = test->priv;
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < nr; i++)
		f->sizes[i] = mix->size ?: 8 + prandom_u32_state(&rnd) % (PAGE_SIZE - 7);
}

static unsigned long fewest_pages_of(struct fixture *f)
{
	unsigned long pages = 0;
	unsigned int c;

	for (c = 0; c < f->pool->nr_classes; c++) {
		spin_lock(&f->pool->classes[c].lock);
		pages += zsx_class_fewest_pages(&f->pool->classes[c]);
		spin_unlock(&f->pool->classes[c].lock);
	}
	return pages;
}

static const unsigned int numbers[] = { 0, 1, 2, 31, 32, 33, 64, 65, MAX_OBJS };

/* Each handle stands where its size does, and no page is held that isn't needed. */
static void stores_and_frees(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int k, i;

	for (k = 0; k < ARRAY_SIZE(numbers); k++) {
		unsigned int nr = numbers[k];

		choose_sizes(test, nr);
		KUNIT_ASSERT_EQ(test, store_bulk(f, nr), 0);
		expect_right(test, nr);
		KUNIT_EXPECT_EQ(test, stats_of(f).pages, fewest_pages_of(f));
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, zspage_of(&f->objs[i])->class - f->pool->classes,
					    zsx_lookup_class_index(f->pool, f->sizes[i]),
					    "object %u of %u", i, nr);
		expect_all_intact(test);
		drop_bulk(f, 1, 3);
		expect_right(test, nr - (nr + 1) / 3);
		expect_all_intact(test);
		drop_bulk(f, 0, 1);
		expect_empty(test);
	}
}

/* A batch comes to zspages that have room, and others took and left slots of. */
static void stores_among_others(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	choose_sizes(test, MAX_OBJS);
	KUNIT_ASSERT_EQ(test, store_bulk(f, MAX_OBJS), 0);
	for (i = 0; i < MAX_OBJS; i += 2)
		drop(f->pool, &f->objs[i]);
	for (i = 0; i < MAX_OBJS / 2; i++)
		f->sizes[i] = f->objs[2 * i].len;
	KUNIT_ASSERT_EQ(test, zsx_malloc_bulk(f->pool, f->sizes, MAX_OBJS / 2, GFP_KERNEL,
					      NUMA_NO_NODE, f->handles), 0);
	for (i = 0; i < MAX_OBJS / 2; i++) {
		f->objs[2 * i].handle = f->handles[i];
		KUNIT_EXPECT_TRUE(test, rewrite(f->pool, &f->objs[2 * i], f->buf));
	}
	expect_right(test, MAX_OBJS);
	expect_all_intact(test);
	drop_bulk(f, 0, 1);
	expect_empty(test);
}

/* === Memory is short ===================================================== */

/* How many of the pages that were got are held by somebody; then they are forgotten. */
static unsigned int forget_pages(struct shortage *s)
{
	unsigned int i, nr_held = 0;

	for (i = 0; i < s->nr_pages; i++) {
		nr_held += page_count(s->pages[i]) > 1;
		put_page(s->pages[i]);
	}
	s->nr_pages = 0;
	return nr_held;
}

/* All or none: each call for memory fails in turn, and none of those before is kept. */
static void short_memory_stores_none(struct kunit *test)
{
	struct fixture *f = test->priv;
	const unsigned int nr = 70;
	unsigned int at;
	int err;

	choose_sizes(test, nr);
	for (at = 0; at < MAX_SEEN; at++) {
		f->shortage.nr_calls = 0;
		f->shortage.fail_at = at;
		use_memory(test);
		err = zsx_malloc_bulk(f->pool, f->sizes, nr, GFP_KERNEL, NUMA_NO_NODE,
				      f->handles);
		drop_memory(test);
		if (!err)
			break;
		KUNIT_EXPECT_EQ(test, err, -ENOMEM);
		KUNIT_EXPECT_EQ_MSG(test, forget_pages(&f->shortage), 0, "call %u fails", at);
		expect_empty(test);
	}
	KUNIT_ASSERT_EQ(test, err, 0);
	fill_objects(f, nr);
	/* What was got in vain, at the end of a run, was given back. */
	KUNIT_EXPECT_EQ(test, forget_pages(&f->shortage), stats_of(f).pages);
	KUNIT_EXPECT_GT(test, at, 1);
	expect_right(test, nr);
	expect_all_intact(test);
	drop_bulk(f, 0, 1);
	expect_empty(test);
}

/* === Bad input =========================================================== */

static void sizes_out_of_range_store_none(struct kunit *test)
{
	static const struct { size_t size; int err; } bad[] = {
		{ 0, -EINVAL }, { PAGE_SIZE + 1, -ENOSPC }, { SIZE_MAX, -ENOSPC },
		{ SIZE_MAX - 7, -ENOSPC },
	};
	static const unsigned int places[] = { 0, 31, 32, 99 };
	struct fixture *f = test->priv;
	unsigned int k, p, i;

	for (k = 0; k < ARRAY_SIZE(bad); k++) {
		for (p = 0; p < ARRAY_SIZE(places); p++) {
			for (i = 0; i < 100; i++)
				f->sizes[i] = 700;
			f->sizes[places[p]] = bad[k].size;
			KUNIT_EXPECT_EQ_MSG(test, store_bulk(f, 100), bad[k].err,
					    "size %zu at %u", bad[k].size, places[p]);
			KUNIT_EXPECT_EQ(test, stats_of(f).mallocs, 0);
			expect_empty(test);
		}
	}
}

static void what_is_no_handle_is_passed_over(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long *among = f->handles;
	unsigned int i;

	for (i = 0; i < 100; i++)
		f->sizes[i] = 700;
	KUNIT_ASSERT_EQ(test, store_bulk(f, 100), 0);
	for (i = 0; i < 200; i++)
		among[i] = i % 2 ? f->objs[i / 2].handle :
			   i % 4 ? 0 : (unsigned long)-ENOMEM;
	for (i = 0; i < 100; i++)
		f->objs[i].handle = 0;
	zsx_free_bulk(f->pool, among, 200);
	expect_empty(test);

	for (i = 0; i < 40; i++)
		among[i] = 0;
	zsx_free_bulk(f->pool, among, 40);
	expect_empty(test);
}

static void destroy_pool(void *pool)
{
	zsx_destroy_pool(pool);
}

/* One that is another pool's, and one that is there twice: all others are freed. */
static void bad_handles_are_refused(struct kunit *test)
{
	struct zsx_pool *other = zsx_create_pool("zsx_bulk_other");
	struct fixture *f = test->priv;
	struct zsx_pool_stats stats;
	unsigned long stranger;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, other);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, destroy_pool, other), 0);
	stranger = zsx_malloc(other, 1100, GFP_KERNEL, NUMA_NO_NODE);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(stranger));

	for (i = 0; i < 30; i++)
		f->sizes[i] = 1100;
	KUNIT_ASSERT_EQ(test, store_bulk(f, 30), 0);
	f->handles[30] = f->handles[17];
	f->handles[31] = f->handles[3];
	f->handles[3] = stranger;
	for (i = 0; i < 30; i++)
		f->objs[i].handle = 0;
	kunit_warning_suppress(test)
		zsx_free_bulk(f->pool, f->handles, 32);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, stats_of(f).frees, 30);
	zsx_pool_stats(other, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, 1);
	zsx_free(other, stranger);
}

static struct kunit_case bulk_cases[] = {
	KUNIT_CASE_PARAM(stores_and_frees, mixes_gen_params),
	KUNIT_CASE_PARAM(stores_among_others, mixes_gen_params),
	KUNIT_CASE_PARAM(short_memory_stores_none, mixes_gen_params),
	KUNIT_CASE(sizes_out_of_range_store_none),
	KUNIT_CASE(what_is_no_handle_is_passed_over),
	KUNIT_CASE(bad_handles_are_refused),
	{}
};

static struct kunit_suite bulk_suite = {
	.name = "zsx_bulk",
	.init = bulk_init,
	.test_cases = bulk_cases,
};

kunit_test_suite(bulk_suite);
