// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit suite zsx_race: what readers, writers, frees and movers do to each other
 *
 * First in one thread: at a point between two steps of one actor the case does what
 * another one would do just then. Then in threads, for a second each: those find what
 * nobody thought of, if they are lucky. The points inside compaction and page migration
 * are in the suites zsx_compact and zsx_migrate.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/prandom.h>

#include <kunit/test.h>

#include "../zsx_internal.h"
#include "objects.h"

#define MAX_OBJS	1200
#define MAX_WORKERS	6

/*
 * @o: the object that is looked for, in @from, slot @slot
 * @to: has room for it
 * @other: gets the slot that @o leaves
 * @anew: @from, in another life
 * @needs_no_descriptor: who looks for @o has its class already
 */
struct fixture {
	struct points points;
	struct zsx_pool *pool;
	struct obj *objs;
	u32 *buf;
	u32 *buf_at_point;
	u32 next_seed;
	struct obj *o;
	struct obj *other;
	struct zsx_zspage *from;
	struct zsx_zspage *to;
	unsigned int slot;
	struct zsx_zspage *anew;
	bool needs_no_descriptor;
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

static struct zsx_pool_stats stats_of(struct fixture *f)
{
	struct zsx_pool_stats stats;

	zsx_pool_stats(f->pool, &stats);
	return stats;
}

static void expect_right(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_pool_right(test, f->pool);
}

/* === Fixture ============================================================= */

static void end(void *data)
{
	struct fixture *f = data;

	zsx_zspage_free(f->anew);
	drop_all(f);
	zsx_destroy_pool(f->pool);
}

static int race_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->objs = kunit_kcalloc(test, MAX_OBJS, sizeof(*f->objs), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->objs);
	f->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf);
	f->buf_at_point = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->buf_at_point);
	f->pool = zsx_create_pool("zsx_race");
	KUNIT_ASSERT_NOT_NULL(test, f->pool);
	test->priv = f;
	return kunit_add_action_or_reset(test, end, f);
}

/* === An object moves while it is looked for ============================== */

/* One whole zspage of the first, and one of the second that lacks one. */
static const struct size_param {
	const char *name;
	unsigned int size;
} sizes[] = {
	{ "of 32 bytes", 32 }, { "of 1008 bytes", 1008 }, { "of 1776 bytes", 1776 },
	{ "of 2424 bytes", 2424 },
};

KUNIT_ARRAY_PARAM_DESC(sizes, sizes, name);

/* @alone: no other object is in @f->from: it ends when the object leaves. */
static void arrange(struct kunit *test, bool alone)
{
	const struct size_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned int c = zsx_lookup_class_index(f->pool, param->size);
	unsigned int i, n = zsx_classes.geo[c].nr_objects;

	for (i = 0; i < 2 * n; i++)
		assert_store(test, i, param->size);
	f->o = &f->objs[n / 2];
	f->from = zspage_of(f->o);
	f->slot = slot_of(f->o);
	f->other = &f->objs[n + n / 3];
	f->to = zspage_of(f->other);
	KUNIT_ASSERT_PTR_NE(test, f->from, f->to);
	drop(f->pool, f->other);
	for (i = 0; i < n && alone; i++)
		if (i != n / 2)
			drop(f->pool, &f->objs[i]);
	use_points(test);
}

/* What compaction does, in short: the object is in @f->to afterwards. */
static void move_object(struct fixture *f)
{
	struct zsx_class *class = f->from->class;
	unsigned long handle = f->o->handle;
	struct zsx_loose loose;
	zsx_location_t loc;

	zsx_loose_init(&loose);
	fill_words(f->o, f->buf_at_point);
	spin_lock(&class->lock);
	loc = zsx_zspage_take(class, f->to, handle);
	poke(f->to, zsx_location_index(ZSX_LAYOUT, loc), f->buf_at_point);
	zsx_location_publish(class, zsx_handle_of(handle), loc);
	zsx_zspage_put(class, f->from, f->slot, &loose);
	spin_unlock(&class->lock);
	zsx_loose_free(&loose);
}

/* Where the object was there is another one now. */
static void use_slot_anew(struct kunit *test)
{
	struct fixture *f = test->priv;

	must_be(test, store_gfp(f->pool, f->other, f->o->len, ++f->next_seed,
				f->buf_at_point, GFP_ATOMIC), "memory for one object");
	must_be(test, zspage_of(f->other) == f->from && slot_of(f->other) == f->slot,
		"the only free slot is used");
}

static void move_and_use_slot_anew(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_READER_PINNED] = NULL;
	f->points.at[ZSX_POINT_LOOKED] = NULL;
	if (!f->needs_no_descriptor)
		must_be_in_rcu(test);
	if (zspage)
		must_be_pinned(test, zspage);
	move_object(f);
	use_slot_anew(test);
}

/* What a pin that came too late leaves, and who came where. */
static void expect_moved(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_nothing_wrong(test);
	KUNIT_EXPECT_EQ(test, stats_of(f).pins_retried, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->from->pins), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->to->pins), 0);
	KUNIT_EXPECT_PTR_EQ(test, zspage_of(f->o), f->to);
	expect_right(test);
	expect_all_intact(test);
}

static void reader_looks_again(struct kunit *test)
{
	struct fixture *f = test->priv;

	arrange(test, false);
	f->points.at[ZSX_POINT_READER_PINNED] = move_and_use_slot_anew;
	KUNIT_EXPECT_TRUE(test, is_intact(f->pool, f->o, f->buf));
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_READER_PINNED], 1);
	expect_moved(test);
}

static void writer_looks_again(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct obj written;

	arrange(test, false);
	f->points.at[ZSX_POINT_READER_PINNED] = move_and_use_slot_anew;
	written = *f->o;
	written.seed = ++f->next_seed;
	KUNIT_EXPECT_TRUE(test, rewrite(f->pool, &written, f->buf));
	f->o->seed = written.seed;
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_READER_PINNED], 1);
	expect_moved(test);
}

/* Of the cache's descriptors, @f->from again: for a class of the same cache. */
static void use_descriptor_anew(struct fixture *f)
{
	struct zsx_zspage *zspages[64];
	struct zsx_class *class = f->pool->classes;
	unsigned int i, nr = 0, desc_size = f->to->class->geo->desc_size;

	while (class == f->to->class || class->geo->desc_size != desc_size)
		class++;
	while (nr < ARRAY_SIZE(zspages) && !f->anew) {
		zspages[nr] = zsx_zspage_alloc(class, GFP_ATOMIC, NUMA_NO_NODE);
		if (zspages[nr] == f->from)
			f->anew = f->from;
		else if (!zspages[nr++])
			break;
	}
	for (i = 0; i < nr; i++)
		zsx_zspage_free(zspages[i]);
}

static void move_and_use_descriptor_anew(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_READER_PINNED] = NULL;
	move_object(f);
	must_be(test, f->from->group == ZSX_NOT_LINKED, "a zspage ends with its last object");
	use_descriptor_anew(f);
	must_be(test, atomic_read(&zspage->pins) == 1, "a late pin stays over a reuse");
}

/*
 * The zspage ends, and its descriptor is another's, while the reader has a pin on it
 * that came too late. With SLUB_RCU_DEBUG slab keeps it until the reader is gone.
 */
static void reader_of_a_descriptor_that_is_used_anew(struct kunit *test)
{
	struct fixture *f = test->priv;

	arrange(test, true);
	f->points.at[ZSX_POINT_READER_PINNED] = move_and_use_descriptor_anew;
	KUNIT_EXPECT_TRUE(test, is_intact(f->pool, f->o, f->buf));
	expect_nothing_wrong(test);
	if (!IS_ENABLED(CONFIG_SLUB_RCU_DEBUG)) {
		KUNIT_ASSERT_PTR_EQ(test, f->anew, f->from);
		KUNIT_EXPECT_EQ(test, atomic_read(&f->anew->pins), 0);
	}
	expect_right(test);
	expect_all_intact(test);
}

/* The mover that the reader met is done. */
static void end_move(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_READER_RETRIES] = NULL;
	must_be(test, zspage == f->from, "the reader looks where the object is");
	must_be(test, atomic_read(&zspage->pins) == -ZSX_PIN_BIAS,
		"a reader that was refused leaves no pin");
	move_object(f);
	zsx_write_unpin(f->from);
	use_slot_anew(test);
}

static void reader_waits_for_a_mover(struct kunit *test)
{
	struct fixture *f = test->priv;
	bool pinned, ok = false;

	arrange(test, false);
	f->points.at[ZSX_POINT_READER_RETRIES] = end_move;
	pinned = zsx_try_write_pin(f->from);
	if (pinned)
		ok = is_intact(f->pool, f->o, f->buf);
	KUNIT_ASSERT_TRUE(test, pinned);
	KUNIT_EXPECT_TRUE(test, ok);
	KUNIT_EXPECT_EQ(test, f->points.nr[ZSX_POINT_READER_RETRIES], 1);
	expect_moved(test);
}

static void move_and_end_zspage(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_LOOKED] = NULL;
	move_object(f);
	must_be(test, f->from->group == ZSX_NOT_LINKED, "a zspage ends with its last object");
}

static void drop_in_bulk(struct zsx_pool *pool, struct obj *o)
{
	zsx_free_bulk(pool, &o->handle, 1);
	o->handle = 0;
}

/* @needs_no_descriptor: before it takes the lock; where the word has the class, nobody does */
static const struct free_param {
	const char *name;
	void (*drop)(struct zsx_pool *pool, struct obj *o);
	bool needs_no_descriptor;
} free_ways[] = { { "alone", drop, false }, { "in bulk", drop_in_bulk, true } };

#define for_each_free(way) \
	for ((way) = free_ways; (way) < free_ways + ARRAY_SIZE(free_ways); (way)++)

/* The object is freed where it is, and nothing where it was. */
static void try_free_looks_again(struct kunit *test, const struct free_param *way)
{
	struct fixture *f = test->priv;
	bool alone;

	for (alone = false; ; alone = true) {
		u64 frees;

		drop_all(f);
		arrange(test, alone);
		frees = stats_of(f).frees;
		f->points.at[ZSX_POINT_LOOKED] = alone ? move_and_end_zspage :
							 move_and_use_slot_anew;
		f->points.nr[ZSX_POINT_LOOKED] = 0;
		f->needs_no_descriptor = way->needs_no_descriptor || ZSX_LAYOUT.class_bits;
		way->drop(f->pool, f->o);
		KUNIT_EXPECT_EQ_MSG(test, f->points.nr[ZSX_POINT_LOOKED], 1, "%s", way->name);
		expect_nothing_wrong(test);
		KUNIT_EXPECT_EQ_MSG(test, stats_of(f).frees, frees + 1, "%s", way->name);
		KUNIT_EXPECT_EQ(test, f->to->nr_inuse, f->to->class->geo->nr_objects - 1);
		expect_right(test);
		expect_all_intact(test);
		if (alone)
			break;
	}
}

static void free_looks_again(struct kunit *test)
{
	const struct free_param *way;

	for_each_free(way)
		try_free_looks_again(test, way);
}

static void object_comes_back(struct kunit *test, struct zsx_zspage *zspage)
{
	struct fixture *f = test->priv;

	f->points.at[ZSX_POINT_LOOKED] = NULL;
	WRITE_ONCE(f->from->class, f->to->class);
}

/*
 * The object was away: when free looks, the descriptor is of a class of no pool of ours;
 * then the object is back where it was, and the word is what it was.
 */
static void free_looks_again_at_the_descriptor(struct kunit *test)
{
	struct fixture *f = test->priv;
	const struct free_param *way;

	for_each_free(way) {
		u64 frees;

		drop_all(f);
		arrange(test, false);
		frees = stats_of(f).frees;
		f->points.nr[ZSX_POINT_LOOKED] = 0;
		f->points.at[ZSX_POINT_LOOKED] = object_comes_back;
		WRITE_ONCE(f->from->class, NULL);
		way->drop(f->pool, f->o);
		KUNIT_EXPECT_EQ_MSG(test, f->points.nr[ZSX_POINT_LOOKED], 1, "%s", way->name);
		KUNIT_EXPECT_PTR_EQ(test, f->from->class, f->to->class);
		KUNIT_EXPECT_EQ_MSG(test, stats_of(f).frees, frees + 1, "%s", way->name);
		expect_right(test);
		expect_all_intact(test);
	}
}

/* === Threads ============================================================= */

/*
 * A thread of a case.
 * @objs, @nr_objs: its own part of the fixture's objects
 * @nr_done: what it did, by its kind: accesses, pages migrated, pages compacted
 * @wrong: what failed first, at @step
 */
struct worker {
	struct race *race;
	struct task_struct *task;
	void (*once)(struct worker *w, struct rnd_state *rnd);
	u32 *buf;
	struct obj *objs;
	unsigned int nr_objs;
	u32 seed;
	unsigned int step;
	unsigned long nr_done;
	const char *wrong;
	struct completion done;
};

static const struct race_param {
	const char *name;
	unsigned int nr_churning;
	unsigned int nr_migrating;
	unsigned int nr_compacting;
	unsigned int size;	/* of the objects; 0: any */
} races[] = {
	{ "2 of 1100 bytes, 1 compacts", 2, 0, 1, 1100 },
	{ "2 of a page, 1 compacts", 2, 0, 1, PAGE_SIZE },
	{ "4 of 2424 bytes, 1 compacts", 4, 0, 1, 2424 },
	{ "3 of 200 bytes, 2 compact", 3, 0, 2, 200 },
	{ "4 of any length, 1 compacts", 4, 0, 1, 0 },
	{ "3 of 200 bytes, 2 migrate, 1 compacts", 3, 2, 1, 200 },
	{ "3 of 1776 bytes, 2 migrate, 1 compacts", 3, 2, 1, 1776 },
	{ "3 of 2424 bytes, 2 migrate, 1 compacts", 3, 2, 1, 2424 },
	{ "3 of a page, 2 migrate, 1 compacts", 3, 2, 1, PAGE_SIZE },
	{ "3 of any length, 2 migrate, 1 compacts", 3, 2, 1, 0 },
};

KUNIT_ARRAY_PARAM_DESC(races, races, name);

/* @deadline: in jiffies; all work so long */
struct race {
	const struct race_param *param;
	struct zsx_pool *pool;
	unsigned long deadline;
	unsigned int nr;
	struct worker workers[MAX_WORKERS];
};

/* Store, verify, hold open for a while, write anew and free, at random. */
static void churn(struct worker *w, struct rnd_state *rnd)
{
	struct zsx_pool *pool = w->race->pool;
	struct obj *o = &w->objs[prandom_u32_state(rnd) % w->nr_objs];
	unsigned int len = w->race->param->size ?:
			   4 + (prandom_u32_state(rnd) % PAGE_SIZE & ~3U);
	void *mem;

	w->nr_done++;
	if (!o->handle) {
		if (!store(pool, o, len, prandom_u32_state(rnd), w->buf))
			w->wrong = "an object could not be stored";
		return;
	}
	mem = zsx_obj_read_begin(pool, o->handle, o->len, w->buf);
	if (!mem) {
		w->wrong = "an object could not be read";
		return;
	}
	if (prandom_u32_state(rnd) % 1024 == 0)
		schedule_timeout_uninterruptible(1);
	if (!has_words(o, mem))
		w->wrong = "an object is not intact";
	zsx_obj_read_end(pool, o->handle, o->len, mem);

	switch (prandom_u32_state(rnd) % 8) {
	case 0 ... 2:
		drop(pool, o);
		break;
	case 3:
		o->seed = prandom_u32_state(rnd);
		if (!rewrite(pool, o, w->buf))
			w->wrong = "an object could not be written anew";
	}
}

static void compact(struct worker *w, struct rnd_state *rnd)
{
	w->nr_done += zsx_compact(w->race->pool);
}

/*
 * A page of one of @class's zspages, with a reference. One that is isolated is left
 * alone: it may be replaced and freed at any time, as it is not the lock that keeps
 * it.
 */
static struct page *some_page(struct zsx_class *class, struct rnd_state *rnd)
{
	unsigned int g, k, from = prandom_u32_state(rnd) % ZSX_NR_GROUPS;
	unsigned int skip = prandom_u32_state(rnd) % 8;
	struct zsx_zspage *zspage;
	struct page *page = NULL;

	spin_lock(&class->lock);
	for (g = from; g < from + ZSX_NR_GROUPS && !page; g++) {
		list_for_each_entry(zspage, &class->groups[g % ZSX_NR_GROUPS], list) {
			k = prandom_u32_state(rnd) % class->geo->nr_pages;
			if (!zsx_zspage_page(zspage, k) || zspage->isolated >> k & 1)
				continue;
			page = zsx_zspage_page(zspage, k);
			if (!skip--)
				break;
		}
	}
	if (page)
		get_page(page);
	spin_unlock(&class->lock);
	return page;
}

/* Migrate some page of the pool, or put it back; as the kernel does. */
static void migrate(struct worker *w, struct rnd_state *rnd)
{
	struct zsx_pool *pool = w->race->pool;
	unsigned int size = w->race->param->size;
	unsigned int c = size ? zsx_lookup_class_index(pool, size) :
				prandom_u32_state(rnd) % pool->nr_classes;
	struct page *dst = NULL, *page = some_page(&pool->classes[c], rnd);

	if (!page)
		return;
	if (core_isolate(page)) {
		if (prandom_u32_state(rnd) % 4)
			dst = core_new_page();
		else
			schedule();
		if (dst && !core_migrate(page, dst))
			w->nr_done++;
		else
			core_put_back(page);
	}
	put_page(page);
}

/* On a busy machine a second may be too short for anything to happen. */
static bool goes_on(const struct race *race)
{
	const struct zsx_pool *pool = race->pool;
	bool done = atomic_long_read(&pool->compaction[ZSX_OBJECTS_COPIED]) &&
		    (!race->param->nr_migrating || atomic_long_read(&pool->pages_migrated));

	return time_before(jiffies, race->deadline) ||
	       (!done && time_before(jiffies, race->deadline + 20 * HZ));
}

static int run_worker(void *data)
{
	struct worker *w = data;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, w->seed);
	for (w->step = 0; !w->wrong && goes_on(w->race); w->step++) {
		w->once(w, &rnd);
		cond_resched();
	}
	complete(&w->done);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static struct race *new_race(struct kunit *test)
{
	const struct race_param *param = test->param_value;
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race->param = param;
	race->pool = f->pool;
	race->nr = param->nr_churning + param->nr_migrating + param->nr_compacting;
	for (i = 0; i < race->nr; i++) {
		struct worker *w = &race->workers[i];

		w->race = race;
		w->once = i < param->nr_churning ? churn :
			  i < param->nr_churning + param->nr_migrating ? migrate : compact;
		w->seed = i + 1;
		w->nr_objs = MAX_OBJS / MAX_WORKERS;
		w->objs = f->objs + i * w->nr_objs;
		w->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, w->buf);
		init_completion(&w->done);
	}
	return race;
}

static void run_race(struct kunit *test, struct race *race)
{
	unsigned int i, nr;

	race->deadline = jiffies + HZ;
	for (nr = 0; nr < race->nr; nr++) {
		struct worker *w = &race->workers[nr];

		w->task = kthread_run(run_worker, w, "zsx_race/%u", nr);
		if (IS_ERR(w->task))
			break;
	}
	for (i = 0; i < nr; i++) {
		struct worker *w = &race->workers[i];

		wait_for_completion(&w->done);
		kthread_stop(w->task);
		KUNIT_EXPECT_NULL_MSG(test, w->wrong, "%s: thread %u, seed %u, step %u",
				      w->wrong, i, w->seed, w->step);
	}
	KUNIT_ASSERT_EQ(test, nr, race->nr);
}

static void expect_compact(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct zsx_pool_stats before, after;

	zsx_compact(f->pool);
	before = stats_of(f);
	KUNIT_EXPECT_EQ(test, zsx_compact(f->pool), 0);
	after = stats_of(f);
	KUNIT_EXPECT_EQ(test, after.objects_copied, before.objects_copied);
	KUNIT_EXPECT_EQ(test, after.skipped_busy, before.skipped_busy);
}

static void threads_keep_their_objects(struct kunit *test)
{
	const struct race_param *param = test->param_value;
	struct fixture *f = test->priv;
	unsigned long freed = 0, migrated = 0;
	struct zsx_pool_stats stats;
	struct race *race;
	unsigned int i;

	if (param->nr_migrating && !zsx_movable)
		kunit_skip(test, "pages can't be migrated here: see zsx's parameter movable");
	race = new_race(test);
	run_race(test, race);
	for (i = 0; i < race->nr; i++) {
		struct worker *w = &race->workers[i];

		freed += w->once == compact ? w->nr_done : 0;
		migrated += w->once == migrate ? w->nr_done : 0;
	}
	expect_right(test);
	expect_all_intact(test);
	stats = stats_of(f);
	kunit_info(test, "%llu mallocs, %llu migrated, %llu refused, %llu copies, %lu compacted, %llu retries, %llu busy",
		   stats.mallocs, stats.pages_migrated, stats.migrations_refused,
		   stats.objects_copied, freed, stats.pins_retried, stats.skipped_busy);
	KUNIT_EXPECT_EQ(test, stats.pages_compacted, freed);
	KUNIT_EXPECT_EQ(test, stats.source_steps, stats.objects_copied);
	KUNIT_EXPECT_GT_MSG(test, stats.objects_copied, 0, "nothing was compacted");
	KUNIT_EXPECT_EQ(test, stats.pages_migrated, migrated);
	KUNIT_EXPECT_EQ_MSG(test, migrated > 0, param->nr_migrating > 0,
			    "pages were migrated or not");

	expect_compact(test);
	expect_right(test);
	expect_all_intact(test);
	drop_all(f);
	KUNIT_EXPECT_EQ(test, stats_of(f).pages, 0);
	KUNIT_EXPECT_EQ(test, stats_of(f).zspages, 0);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE_PARAM(reader_looks_again, sizes_gen_params),
	KUNIT_CASE_PARAM(writer_looks_again, sizes_gen_params),
	KUNIT_CASE_PARAM(reader_of_a_descriptor_that_is_used_anew, sizes_gen_params),
	KUNIT_CASE_PARAM(reader_waits_for_a_mover, sizes_gen_params),
	KUNIT_CASE_PARAM(free_looks_again, sizes_gen_params),
	KUNIT_CASE_PARAM(free_looks_again_at_the_descriptor, sizes_gen_params),
	KUNIT_CASE_PARAM_ATTR(threads_keep_their_objects, races_gen_params,
			      { .speed = KUNIT_SPEED_SLOW }),
	{}
};

static struct kunit_suite race_suite = {
	.name = "zsx_race",
	.init = race_init,
	.test_cases = race_cases,
};

kunit_test_suite(race_suite);
