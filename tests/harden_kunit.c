// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_harden: with hardened=1, whatever is no object's handle is refused
 *
 * Each case does the same to a bad handle: it is freed, singly and in bulk, read in each
 * way, written and mapped. Each call must refuse it with one report, write to nothing, and
 * leave the pool and its objects as they were.
 */
#include <linux/err.h>
#include <linux/kfence.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define NR_OBJS		40
#define MAX_NEW		600	/* objects until slab gives out the same memory again */
#define LEN		700

/*
 * @nr_reports, @wrong: how many handles were refused, and why the last one was
 * @word: memory of another cache, which is taken for a handle
 * @pinned_other: a pin was taken of what is no descriptor of these pools
 */
struct fixture {
	struct zsx_pool *pool;
	struct zsx_pool *other;
	struct obj objs[NR_OBJS];
	struct obj news[MAX_NEW];
	struct obj stranger;
	u32 *buf;
	unsigned int nr_reports;
	const char *wrong;
	u64 *word;
	bool was_hardened;
	bool pinned_other;
};

static void stub_report(struct zsx_pool *pool, unsigned long handle, const char *what)
{
	struct fixture *f = kunit_get_current_test()->priv;
	int class;

	f->nr_reports++;
	rcu_read_lock();
	f->wrong = zsx_what_is_wrong(pool, handle, &class);
	rcu_read_unlock();
}

/* A pin leaves no trace once it is dropped: it is seen while it is held. */
static void stub_point(enum zsx_point point, struct zsx_zspage *zspage)
{
	struct fixture *f = kunit_get_current_test()->priv;

	if (point == ZSX_POINT_READER_PINNED && !zsx_is_class_of(f->pool, zspage->class) &&
	    !zsx_is_class_of(f->other, zspage->class))
		f->pinned_other = true;
}

/* === Fixture ============================================================= */

static void end(void *data)
{
	struct fixture *f = data;
	unsigned int i;

	for (i = 0; i < NR_OBJS; i++)
		if (f->objs[i].handle)
			drop(f->pool, &f->objs[i]);
	for (i = 0; i < MAX_NEW; i++)
		if (f->news[i].handle)
			drop(f->pool, &f->news[i]);
	if (f->stranger.handle)
		drop(f->other, &f->stranger);
	zsx_destroy_pool(f->pool);
	zsx_destroy_pool(f->other);
	if (!f->was_hardened)
		static_branch_disable(&zsx_hardened);
}

static int harden_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	unsigned int i;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	f->word = kunit_kzalloc(test, 256, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, f->buf && f->word);
	f->pool = zsx_create_pool("zsx_harden");
	f->other = zsx_create_pool("zsx_harden_other");
	f->was_hardened = zsx_is_hardened();
	test->priv = f;
	static_branch_enable(&zsx_hardened);
	err = kunit_add_action_or_reset(test, end, f);
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_TRUE(test, f->pool && f->other);
	for (i = 0; i < NR_OBJS; i++)
		KUNIT_ASSERT_TRUE(test, store(f->pool, &f->objs[i], LEN, i + 1, f->buf));
	KUNIT_ASSERT_TRUE(test, store(f->other, &f->stranger, LEN, 77, f->buf));
	kunit_activate_static_stub(test, zsx_report, stub_report);
	kunit_activate_static_stub(test, zsx_at_race_point, stub_point);
	return 0;
}

/* === Refusal ============================================================= */

static void expect_report(struct kunit *test, unsigned int nr, const char *call)
{
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ_MSG(test, f->nr_reports, nr, "%s", call);
	f->nr_reports = 0;
}

static void expect_untouched(struct kunit *test, const struct zsx_pool_stats *before)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats after;
	unsigned int i;

	zsx_pool_stats(f->pool, &after);
	KUNIT_EXPECT_EQ(test, memcmp(before, &after, sizeof(after)), 0);
	expect_pool_right(test, f->pool);
	for (i = 0; i < NR_OBJS; i++)
		if (f->objs[i].handle)
			KUNIT_EXPECT_TRUE(test, is_intact(f->pool, &f->objs[i], f->buf));
	KUNIT_EXPECT_TRUE(test, is_intact(f->other, &f->stranger, f->buf));
}

/* @why: what the report must say; NULL: anything */
static void expect_refused(struct kunit *test, unsigned long handle, const char *why)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before;
	struct scatterlist sg[2];

	zsx_pool_stats(f->pool, &before);
	zsx_free(f->pool, handle);
	expect_report(test, 1, "free");
	if (why)
		KUNIT_EXPECT_STREQ(test, f->wrong, why);
	zsx_free_bulk(f->pool, &handle, 1);
	expect_report(test, 1, "free in bulk");
	KUNIT_EXPECT_EQ(test, zsx_obj_write(f->pool, handle, f->buf, LEN), -EINVAL);
	expect_report(test, 1, "write");
	KUNIT_EXPECT_NULL(test, zsx_obj_read_begin(f->pool, handle, LEN, f->buf));
	expect_report(test, 1, "read");
	KUNIT_EXPECT_NULL(test, zsx_map_object(f->pool, handle, ZSX_MAP_RW));
	expect_report(test, 1, "map");
	zsx_obj_read_sg_begin(f->pool, handle, sg, LEN);
	expect_report(test, 1, "read by sg");
	KUNIT_EXPECT_PTR_EQ(test, sg_page(sg), ZERO_PAGE(0));
	zsx_obj_read_sg_end(f->pool, handle);
	/* An end without a beginning. */
	zsx_obj_read_end(f->pool, handle, LEN, f->buf);
	expect_untouched(test, &before);
	KUNIT_EXPECT_FALSE_MSG(test, f->pinned_other, "something else was written to");
	f->pinned_other = false;
}

/* === Addresses that are none ============================================= */

static void wild_addresses_are_refused(struct kunit *test)
{
	const char *why = "it is no handle's address";
	struct fixture *f = test->priv;
	void *far = vmalloc(PAGE_SIZE);
	struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	u64 on_stack = 0;

	if (far && page) {
		expect_refused(test, 8, why);
		expect_refused(test, PAGE_SIZE, why);
		expect_refused(test, TASK_SIZE - 8, why);
		expect_refused(test, (unsigned long)-MAX_ERRNO - 9, why);
		expect_refused(test, f->objs[3].handle + 1, why);
		expect_refused(test, (unsigned long)&zsx_class_check & ~7UL, why);
		expect_refused(test, (unsigned long)far, why);
		expect_refused(test, (unsigned long)&on_stack, why);
		expect_refused(test, (unsigned long)page_address(page), why);
	}
	if (page)
		__free_page(page);
	vfree(far);
	KUNIT_ASSERT_TRUE(test, far && page);
}

static void expect_word_refused(struct kunit *test, u64 word, const char *why)
{
	struct fixture *f = test->priv;

	*f->word = word;
	expect_refused(test, (unsigned long)f->word, why);
	KUNIT_EXPECT_EQ(test, *f->word, word);
}

/* A word with @loc's class and index that names other memory. */
static u64 word_of(zsx_location_t loc, const void *desc)
{
	return zsx_location(ZSX_LAYOUT, __pa(desc), ZSX_LAYOUT.class_bits ?
			    zsx_location_class(ZSX_LAYOUT, loc) : 0,
			    zsx_location_index(ZSX_LAYOUT, loc)).v;
}

/* A descriptor whose class pointer is none: it only points among the pool's classes. */
static void classes_of_no_pool_are_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	zsx_location_t loc = location_of(&f->objs[5]);
	struct zsx_class *class = zspage_of(&f->objs[5])->class;
	struct zsx_zspage *zspage = zsx_zspage_alloc(class, GFP_KERNEL, NUMA_NO_NODE);
	unsigned int shift;

	KUNIT_ASSERT_NOT_NULL(test, zspage);
	for (shift = 8; shift < sizeof(*class); shift += 8) {
		WRITE_ONCE(zspage->class, (void *)class + shift);
		expect_word_refused(test, word_of(loc, zspage), "its object is not of this pool");
	}
	WRITE_ONCE(zspage->class, class);
	expect_word_refused(test, word_of(loc, zspage), "its slot holds no object");
	zsx_zspage_free(zspage);
}

/* Whatever stands in memory of slab's. */
static void words_of_others_are_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	zsx_location_t loc = location_of(&f->objs[5]);
	struct rnd_state rnd;
	u8 *no_desc, *same;
	unsigned int i;

	expect_word_refused(test, 0, "its object was freed");
	expect_word_refused(test, ~0ULL, "its memory holds no location");
	expect_word_refused(test, loc.v, "its slot holds another object");
	expect_word_refused(test, location_of(&f->stranger).v, "its object is not of this pool");

	/* Inside a descriptor. */
	expect_word_refused(test, word_of(loc, (void *)zspage_of(&f->objs[5]) +
					  (1 << ZSX_FRAME_SHIFT)), NULL);

	/* Slab memory, but no descriptor: it must stay as it is. */
	no_desc = kunit_kzalloc(test, 1024, GFP_KERNEL);
	same = kunit_kzalloc(test, 1024, GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, no_desc && same);
	KUNIT_ASSERT_TRUE(test, IS_ALIGNED((unsigned long)no_desc, 1 << ZSX_FRAME_SHIFT));
	expect_word_refused(test, word_of(loc, no_desc), NULL);
	memset(no_desc, 0xa5, 1024);
	memset(same, 0xa5, 1024);
	expect_word_refused(test, word_of(loc, no_desc), NULL);
	KUNIT_EXPECT_MEMEQ(test, no_desc, same, 1024);

	/* What is near a descriptor may be free memory, and KASAN would report the look. */
	prandom_seed_state(&rnd, 1);
	for (i = 0; i < 200 && !IS_ENABLED(CONFIG_KASAN); i++) {
		u64 word = (u64)prandom_u32_state(&rnd) << 32 | prandom_u32_state(&rnd);

		/* Most frames are above all memory, some not. */
		if (i % 2)
			word = (word & 0xffff) | (loc.v & ~0xffffULL);
		if (word != loc.v)
			expect_word_refused(test, word, NULL);
	}
}

/* === Handles that were one =============================================== */

static void freed_handles_are_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long handle = f->objs[7].handle;

	if (IS_ENABLED(CONFIG_KASAN))
		kunit_skip(test, "KASAN would report it");
	if (is_kfence_address((void *)handle))
		kunit_skip(test, "KFENCE would report it");
	drop(f->pool, &f->objs[7]);
	expect_refused(test, handle, NULL);
}

/* What it can't tell: the memory is a handle again, and it is the new object's. */
static void reused_handles_are_the_new_objects(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long handle = f->objs[7].handle;
	struct zsx_pool_stats stats;
	unsigned int nr = 0, i;

	drop(f->pool, &f->objs[7]);
	do {
		KUNIT_ASSERT_TRUE(test, store(f->pool, &f->news[nr], 3 * LEN, nr, f->buf));
	} while (f->news[nr++].handle != handle && nr < MAX_NEW);
	if (f->news[nr - 1].handle != handle)
		kunit_skip(test, "slab gave it to nobody");
	zsx_free(f->pool, handle);
	f->news[nr - 1].handle = 0;
	expect_report(test, 0, "free of a handle that is another's now");
	for (i = 0; i < nr - 1; i++)
		KUNIT_EXPECT_TRUE(test, is_intact(f->pool, &f->news[i], f->buf));
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, NR_OBJS - 1 + nr - 1);
	expect_untouched(test, &stats);
}

static void handles_of_another_pool_are_refused(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_refused(test, f->stranger.handle, "its object is not of this pool");
}

static void twice_in_a_batch_is_refused(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned long handles[] = { f->objs[1].handle, f->objs[2].handle, f->objs[1].handle };
	struct zsx_pool_stats stats;

	f->objs[1].handle = 0;
	f->objs[2].handle = 0;
	zsx_free_bulk(f->pool, handles, ARRAY_SIZE(handles));
	expect_report(test, 1, "free in bulk");
	KUNIT_EXPECT_STREQ(test, f->wrong, "its object was freed");
	zsx_pool_stats(f->pool, &stats);
	KUNIT_EXPECT_EQ(test, stats.objects, NR_OBJS - 2);
	expect_untouched(test, &stats);
}

/* === Good handles ======================================================== */

/* Stored, read, written, moved and freed as ever, and nothing is said. */
static void good_handles_are_believed(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i, round;

	for (round = 0; round < 50; round++) {
		for (i = round % 3; i < NR_OBJS; i += 3)
			drop(f->pool, &f->objs[i]);
		zsx_compact(f->pool);
		for (i = 0; i < NR_OBJS; i++) {
			if (f->objs[i].handle)
				KUNIT_EXPECT_TRUE(test, is_intact(f->pool, &f->objs[i], f->buf));
			else
				KUNIT_ASSERT_TRUE(test, store(f->pool, &f->objs[i],
							      1 + (round * 97 + i * 31) % PAGE_SIZE,
							      i, f->buf));
		}
	}
	expect_report(test, 0, "nothing amiss");
}

static struct kunit_case harden_cases[] = {
	KUNIT_CASE(wild_addresses_are_refused),
	KUNIT_CASE(classes_of_no_pool_are_refused),
	KUNIT_CASE(words_of_others_are_refused),
	KUNIT_CASE(freed_handles_are_refused),
	KUNIT_CASE(reused_handles_are_the_new_objects),
	KUNIT_CASE(handles_of_another_pool_are_refused),
	KUNIT_CASE(twice_in_a_batch_is_refused),
	KUNIT_CASE(good_handles_are_believed),
	{}
};

static struct kunit_suite harden_suite = {
	.name = "zsx_harden",
	.init = harden_init,
	.test_cases = harden_cases,
};

kunit_test_suite(harden_suite);
