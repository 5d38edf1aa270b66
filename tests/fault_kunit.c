// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_fault: each allocation of a call fails in turn, by the kernel's own means
 *
 * Other suites make zsx's few places that get memory say no. Here the kernel does, in slab
 * and in the page allocator, wherever a call gets memory: also where nobody thought of
 * it. A call is made with its first allocation failing, then with its second, until none is
 * left to fail. What failed must have left nothing behind, and whatever was there before
 * must be as it was. For each kind of gfp that callers use.
 *
 * The kernel lets nothing fail unless it is told what may: scripts/jobs/faults.sh. Without
 * that all cases are skipped; without CONFIG_FAULT_INJECTION the suite isn't built.
 */
#include <linux/err.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define NR_OBJS		160
#define NR_BULK		70

/* More than any call allocates: to tell a call that never ends from one with much to do. */
#define MOST_ALLOCATIONS	1000

struct fixture {
	struct zsx_pool *pool;
	struct obj objs[NR_OBJS];
	size_t sizes[NR_BULK];
	unsigned long handles[NR_BULK];
	unsigned long handle;
	struct zsx_pool *other;
	u32 *buf;
};

/* As zram and zswap ask, and as others do. None prints when there is nothing. */
static const struct gfp_param {
	const char *name;
	gfp_t gfp;
} gfps[] = {
	{ "zram", GFP_NOIO | __GFP_NOWARN | __GFP_HIGHMEM | __GFP_MOVABLE },
	{ "zswap", GFP_NOWAIT | __GFP_NORETRY | __GFP_NOWARN | __GFP_HIGHMEM | __GFP_MOVABLE },
	{ "kernel", GFP_KERNEL | __GFP_NOWARN },
	{ "atomic", GFP_ATOMIC | __GFP_NOWARN },
	{ "nowait", GFP_NOWAIT | __GFP_NOWARN },
};

KUNIT_ARRAY_PARAM_DESC(gfps, gfps, name);

static gfp_t gfp_of(struct kunit *test)
{
	const struct gfp_param *param = test->param_value;

	return param ? param->gfp : GFP_KERNEL | __GFP_NOWARN;
}

/* The @nth allocation of this task from now on is to fail; 0: none. */
static void fail_nth(unsigned int nth)
{
	current->fail_nth = nth;
}

/* How many are left until one fails; 0: it has failed. */
static unsigned int nr_left(void)
{
	return current->fail_nth;
}

/* === Fixture ============================================================= */

static bool slab_can_fail(void)
{
	void *p;

	fail_nth(1);
	p = kmalloc(64, GFP_KERNEL | __GFP_NOWARN);
	fail_nth(0);
	kfree(p);
	return !p;
}

static bool pages_can_fail(void)
{
	struct page *page;

	fail_nth(1);
	page = alloc_page(GFP_KERNEL | __GFP_NOWARN | __GFP_HIGHMEM);
	fail_nth(0);
	if (page)
		__free_page(page);
	return !page;
}

static void end(void *data)
{
	struct fixture *f = data;
	unsigned int i;

	for (i = 0; i < NR_OBJS; i++)
		zsx_free(f->pool, f->objs[i].handle);
	zsx_destroy_pool(f->pool);
}

static int fault_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct rnd_state rnd;
	unsigned int i;

	if (!slab_can_fail() || !pages_can_fail()) {
		kunit_mark_skipped(test, "nothing fails here: see scripts/check, suite faults");
		return 0;
	}
	KUNIT_ASSERT_NOT_NULL(test, f);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	f->pool = zsx_create_pool("zsx_fault");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	test->priv = f;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, end, f), 0);

	/* Zspages of some classes, with holes; of others none. */
	for (i = 0; i < NR_OBJS; i++)
		KUNIT_ASSERT_TRUE(test, store(f->pool, &f->objs[i],
					      100 + 90 * (i % 20), i + 1, f->buf));
	for (i = 0; i < NR_OBJS; i += 3)
		drop(f->pool, &f->objs[i]);
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < NR_BULK; i++)
		f->sizes[i] = 8 + prandom_u32_state(&rnd) % (PAGE_SIZE - 7);
	return 0;
}

/* === Calls that fail ===================================================== */

/* What must not change when a call fails, and a call that is undone must bring back. */
static void expect_as_before(struct kunit *test, const struct zsx_pool_stats *before)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats now;
	unsigned int i;

	expect_pool_right(test, f->pool);
	zsx_pool_stats(f->pool, &now);
	KUNIT_EXPECT_EQ(test, now.objects, before->objects);
	KUNIT_EXPECT_EQ(test, now.pages, before->pages);
	KUNIT_EXPECT_EQ(test, now.zspages, before->zspages);
	KUNIT_EXPECT_EQ(test, now.bytes_in_classes, before->bytes_in_classes);
	KUNIT_EXPECT_EQ(test, now.mallocs - now.frees, before->mallocs - before->frees);
	KUNIT_EXPECT_EQ(test, zsx_get_total_pages(f->pool), before->pages);
	for (i = 0; i < NR_OBJS; i++)
		if (f->objs[i].handle)
			KUNIT_EXPECT_TRUE_MSG(test, is_intact(f->pool, &f->objs[i], f->buf),
					      "object %u", i);
}

/**
 * struct call - one that gets memory
 * @name: which one
 * @make: make it, and return 0 or -ENOMEM
 * @undo: undo it
 */
struct call {
	const char *name;
	int (*make)(struct kunit *test);
	void (*undo)(struct kunit *test);
};

/*
 * Make a call with each of its allocations failing. One that can do without goes on all
 * the same.
 *
 * Return: How many allocations it makes.
 */
static unsigned int fail_each(struct kunit *test, const struct call *call)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before;
	unsigned int nth, left;
	int err;

	zsx_pool_stats(f->pool, &before);
	for (nth = 1; nth < MOST_ALLOCATIONS; nth++) {
		fail_nth(nth);
		err = call->make(test);
		left = nr_left();
		fail_nth(0);
		KUNIT_EXPECT_TRUE_MSG(test, !err || (!left && err == -ENOMEM),
				      "%s, allocation %u fails: %d", call->name, nth, err);
		if (!err)
			call->undo(test);
		expect_as_before(test, &before);
		if (left)
			break;
	}
	KUNIT_EXPECT_LT_MSG(test, nth, MOST_ALLOCATIONS, "%s has no end", call->name);
	kunit_info(test, "%s: %u allocations failed\n", call->name, nth - 1);
	return nth - 1;
}

static int make_pool(struct kunit *test)
{
	struct fixture *f = test->priv;

	f->other = zsx_create_pool("zsx_fault_other");
	return f->other ? 0 : -ENOMEM;
}

static void undo_pool(struct kunit *test)
{
	struct fixture *f = test->priv;

	zsx_destroy_pool(f->other);
}

static int make_object(struct kunit *test, size_t size)
{
	struct fixture *f = test->priv;

	f->handle = zsx_malloc(f->pool, size, gfp_of(test), NUMA_NO_NODE);
	return IS_ERR_VALUE(f->handle) ? (int)f->handle : 0;
}

static void undo_object(struct kunit *test)
{
	struct fixture *f = test->priv;

	zsx_free(f->pool, f->handle);
}

static int make_small(struct kunit *test)
{
	return make_object(test, 24);
}

static int make_medium(struct kunit *test)
{
	return make_object(test, 2424);
}

static int make_whole(struct kunit *test)
{
	return make_object(test, PAGE_SIZE);
}

static int make_many(struct kunit *test)
{
	struct fixture *f = test->priv;

	return zsx_malloc_bulk(f->pool, f->sizes, NR_BULK, gfp_of(test), NUMA_NO_NODE,
			       f->handles);
}

static void undo_many(struct kunit *test)
{
	struct fixture *f = test->priv;

	zsx_free_bulk(f->pool, f->handles, NR_BULK);
}

static void pools_are_made_or_not(struct kunit *test)
{
	static const struct call call = { "zsx_create_pool()", make_pool, undo_pool };

	/* The pool, its name, its shrinker, its directory and files. */
	KUNIT_EXPECT_GE(test, fail_each(test, &call), 4);
}

static void objects_are_stored_or_not(struct kunit *test)
{
	static const struct call calls[] = {
		{ "zsx_malloc(24)", make_small, undo_object },
		{ "zsx_malloc(2424)", make_medium, undo_object },
		{ "zsx_malloc(PAGE_SIZE)", make_whole, undo_object },
	};
	unsigned int i;

	/* A handle, a page, a descriptor; each is in a class that has no object yet. */
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		KUNIT_EXPECT_GE(test, fail_each(test, &calls[i]), 3);
}

static void batches_are_stored_or_not(struct kunit *test)
{
	static const struct call call = { "zsx_malloc_bulk()", make_many, undo_many };

	KUNIT_EXPECT_GT(test, fail_each(test, &call), NR_BULK / 2);
}

/* === Calls that don't need memory ======================================== */

static void expect_nothing_asked(struct kunit *test, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(test, nr_left(), 1, "%s gets memory", what);
	fail_nth(0);
}

/* Who frees, compacts or moves does it because there is none. */
static void others_need_no_memory(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct page *src, *dst = core_new_page();
	struct scatterlist sg[2];
	void *mem;

	KUNIT_ASSERT_NOT_NULL(test, dst);
	KUNIT_ASSERT_EQ(test, make_many(test), 0);
	src = zspage_of(&f->objs[1])->pages[0];

	fail_nth(1);
	mem = zsx_obj_read_begin(f->pool, f->objs[1].handle, f->objs[1].len, f->buf);
	zsx_obj_read_end(f->pool, f->objs[1].handle, f->objs[1].len, mem);
	zsx_obj_read_sg_begin(f->pool, f->objs[1].handle, sg, f->objs[1].len);
	zsx_obj_read_sg_end(f->pool, f->objs[1].handle);
	mem = zsx_map_object(f->pool, f->objs[1].handle, ZSX_MAP_RW);
	zsx_unmap_object(f->pool, f->objs[1].handle);
	rewrite(f->pool, &f->objs[1], f->buf);
	expect_nothing_asked(test, "reading and writing");

	if (src && core_isolate(src)) {
		fail_nth(1);
		KUNIT_EXPECT_EQ(test, core_migrate(src, dst), 0);
		expect_nothing_asked(test, "page migration");
	} else {
		unlock_page(dst);
		put_page(dst);
	}

	fail_nth(1);
	zsx_free_bulk(f->pool, f->handles, NR_BULK);
	drop(f->pool, &f->objs[1]);
	expect_nothing_asked(test, "freeing");

	fail_nth(1);
	zsx_compact(f->pool);
	expect_nothing_asked(test, "compaction");
	expect_pool_right(test, f->pool);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(pools_are_made_or_not),
	KUNIT_CASE_PARAM(objects_are_stored_or_not, gfps_gen_params),
	KUNIT_CASE_PARAM(batches_are_stored_or_not, gfps_gen_params),
	KUNIT_CASE(others_need_no_memory),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "zsx_fault",
	.init = fault_init,
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
