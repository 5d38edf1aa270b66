/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * objects.h - what the KUnit suites of what moves have in common
 *
 * Objects in a pool: each is filled with words that follow from its seed, so that it
 * can be told from any other, wherever it is. What the kernel does around a page
 * migration. And the points of races, at which a case does what another thread would.
 */
#ifndef _ZSX_TESTS_OBJECTS_H_
#define _ZSX_TESTS_OBJECTS_H_

#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/migrate.h>
#include <linux/numa.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>

#include <kunit/static_stub.h>
#include <kunit/test.h>

#include "zsx_internal.h"

/* --- objects ------------------------------------------------------------- */

/* @handle is 0: there is none. */
struct obj {
	unsigned long handle;
	unsigned int len;
	u32 seed;
};

static inline zsx_location_t location_of(const struct obj *o)
{
	return zsx_location_read(zsx_handle_of(o->handle));
}

static inline struct zsx_zspage *zspage_of(const struct obj *o)
{
	return zsx_zspage_of(location_of(o));
}

static inline unsigned int slot_of(const struct obj *o)
{
	return zsx_location_index(ZSX_LAYOUT, location_of(o));
}

static inline u32 word(const struct obj *o, unsigned int i)
{
	return (o->seed ^ i * 0x9e3779b1) * 0x85ebca6b;
}

static inline bool has_words(const struct obj *o, const u32 *words)
{
	unsigned int i;

	for (i = 0; i < o->len / sizeof(*words); i++)
		if (words[i] != word(o, i))
			return false;
	return true;
}

/*
 * The longest object that is stored in @class: of its size; with pages above 4 KiB maybe
 * less, as the next length may be told from it no better than by the class above.
 */
static inline unsigned int longest_of(const struct zsx_class *class)
{
	unsigned int len = class->geo->size;

	while (zsx_lookup_class_index(class->pool, len) != class - class->pool->classes)
		len--;
	return len;
}

static inline bool is_intact(struct zsx_pool *pool, const struct obj *o, u32 *buf)
{
	void *mem = zsx_obj_read_begin(pool, o->handle, o->len, buf);
	bool ok = mem && has_words(o, mem);

	zsx_obj_read_end(pool, o->handle, o->len, mem);
	return ok;
}

static inline void fill_words(const struct obj *o, u32 *buf)
{
	unsigned int i;

	for (i = 0; i < o->len / sizeof(*buf); i++)
		buf[i] = word(o, i);
}

static inline bool rewrite(struct zsx_pool *pool, const struct obj *o, u32 *buf)
{
	fill_words(o, buf);
	return !zsx_obj_write(pool, o->handle, buf, o->len);
}

/* Store an object; false: zsx_malloc() or zsx_obj_write() failed. */
static inline bool store_gfp(struct zsx_pool *pool, struct obj *o, unsigned int len,
			     u32 seed, u32 *buf, gfp_t gfp)
{
	unsigned long handle = zsx_malloc(pool, len, gfp, NUMA_NO_NODE);

	if (IS_ERR_VALUE(handle))
		return false;
	*o = (struct obj) { .handle = handle, .len = len, .seed = seed };
	return rewrite(pool, o, buf);
}

static inline bool store(struct zsx_pool *pool, struct obj *o, unsigned int len, u32 seed,
			 u32 *buf)
{
	return store_gfp(pool, o, len, seed, buf, GFP_KERNEL | __GFP_MOVABLE);
}

static inline void drop(struct zsx_pool *pool, struct obj *o)
{
	zsx_free(pool, o->handle);
	o->handle = 0;
}

/* Slot @i's bytes, by no way of the pool's: whoever has a pin. */
static inline void copy_slot(const struct zsx_zspage *zspage, unsigned int i, u32 *buf,
			     bool write)
{
	const struct zsx_geometry *geo = zspage->class->geo;
	unsigned int at = i * (geo->nr_pages * PAGE_SIZE) / geo->nr_objects & ~7U;
	unsigned int to = 0, len;

	for (; to < geo->size; at += len, to += len) {
		struct page *page = zspage->pages[at >> PAGE_SHIFT];

		len = min_t(unsigned int, geo->size - to, PAGE_SIZE - offset_in_page(at));
		if (write)
			memcpy_to_page(page, offset_in_page(at), (void *)buf + to, len);
		else
			memcpy_from_page((void *)buf + to, page, offset_in_page(at), len);
	}
}

static inline void peek(const struct zsx_zspage *zspage, unsigned int i, u32 *buf)
{
	copy_slot(zspage, i, buf, false);
}

static inline void poke(const struct zsx_zspage *zspage, unsigned int i, u32 *buf)
{
	copy_slot(zspage, i, buf, true);
}

/* The invariants, in each class. */
static inline void expect_pool_right(struct kunit *test, struct zsx_pool *pool)
{
	unsigned int c;

	for (c = 0; c < pool->nr_classes; c++) {
		const char *wrong = zsx_class_check(&pool->classes[c]);

		KUNIT_EXPECT_NULL_MSG(test, wrong, "class %u: %s", c, wrong);
	}
}

/* --- the kernel's page migration ------------------------------------------ */

/*
 * The core holds a reference on a page and its lock from before it isolates it. False:
 * it was refused, and the page is as before.
 */
static inline bool core_isolate(struct page *page)
{
	get_page(page);
	lock_page(page);
	if (zsx_movable_ops.isolate_page(page, ISOLATE_UNEVICTABLE))
		return true;
	unlock_page(page);
	put_page(page);
	return false;
}

static inline void core_put_back(struct page *page)
{
	zsx_movable_ops.putback_page(page);
	unlock_page(page);
	put_page(page);
}

/* A page as the core brings it: locked, with one reference; NULL if memory is short. */
static inline struct page *core_new_page(void)
{
	struct page *dst = alloc_page(GFP_KERNEL);

	if (dst)
		lock_page(dst);
	return dst;
}

/* Locks and references are then as at first; but @src's, if it is to be tried again. */
static inline int core_migrate(struct page *src, struct page *dst)
{
	int err = zsx_movable_ops.migrate_page(dst, src, MIGRATE_SYNC);

	unlock_page(dst);
	put_page(dst);
	if (err)
		return err;
	unlock_page(src);
	put_page(src);
	return 0;
}

#define SENTINEL	0xdeadbef0UL

/* Mark a page that the core brought, with a reference of the test's. */
static inline void mark_untouched(struct page *dst)
{
	u8 *mem = kmap_local_page(dst);

	memset(mem, 0x5a, PAGE_SIZE);
	kunmap_local(mem);
	set_page_private(dst, SENTINEL);
	get_page(dst);
}

/* A migration that is refused must leave it as it was: the core may use it elsewhere. */
static inline bool is_untouched(struct page *dst, unsigned int refs)
{
	u8 *mem = kmap_local_page(dst);
	bool same = !memchr_inv(mem, 0x5a, PAGE_SIZE);

	kunmap_local(mem);
	return same && page_private(dst) == SENTINEL && page_count(dst) == refs;
}

static inline void free_untouched(struct page *dst)
{
	set_page_private(dst, 0);
	put_page(dst);
}

/* --- points of races ------------------------------------------------------ */

/**
 * struct points - what a case does at the points; the first member of a fixture
 * @at: what to do at each point; NULL: nothing
 * @nr: how often that was done
 * @inside: it is just being done: points that are passed by that are left out
 * @wrong: what was seen first that must not be. Locks may be held at a point: a case
 *	says it afterwards.
 */
struct points {
	void (*at[ZSX_NR_POINTS])(struct kunit *test, struct zsx_zspage *zspage);
	unsigned int nr[ZSX_NR_POINTS];
	bool inside;
	const char *wrong;
};

static inline void stub_race_point(enum zsx_point point, struct zsx_zspage *zspage)
{
	struct kunit *test = kunit_get_current_test();
	struct points *p = test->priv;

	if (p->inside || !p->at[point])
		return;
	p->inside = true;
	p->nr[point]++;
	p->at[point](test, zspage);
	p->inside = false;
}

static inline void use_points(struct kunit *test)
{
	kunit_activate_static_stub(test, zsx_at_race_point, stub_race_point);
}

/* For what is done at a point. */
static inline void must_be(struct kunit *test, bool is, const char *what)
{
	struct points *p = test->priv;

	if (!is && !p->wrong)
		p->wrong = what;
}

static inline void expect_nothing_wrong(struct kunit *test)
{
	struct points *p = test->priv;

	KUNIT_EXPECT_NULL_MSG(test, p->wrong, "broken: %s", p->wrong);
}

/* What a stale word or page names is a descriptor only inside RCU. Lockdep tells. */
static inline void must_be_in_rcu(struct kunit *test)
{
	must_be(test, rcu_read_lock_held(), "who looks without class->lock does so in RCU");
}

/* Nobody reads or writes in @zspage, and nobody could begin now. */
static inline void must_be_closed(struct kunit *test, struct zsx_zspage *zspage)
{
	bool pinned = zsx_try_pin(zspage);

	must_be(test, !pinned, "a source is closed to readers and writers");
	if (pinned)
		zsx_unpin(zspage);
}

/* No mover could begin in @zspage now. */
static inline void must_be_pinned(struct kunit *test, struct zsx_zspage *zspage)
{
	bool pinned = zsx_try_write_pin(zspage);

	must_be(test, !pinned, "a mover is kept out");
	if (pinned)
		zsx_write_unpin(zspage);
}

/* --- what came loose ------------------------------------------------------ */

/* As zsx_loose_free(), for its stubs. */
static inline void give_back(struct zsx_loose *loose)
{
	struct zsx_zspage *zspage, *next;

	while (loose->nr_pages)
		zsx_page_free(zsx_loose_take_page(loose));
	list_for_each_entry_safe(zspage, next, &loose->zspages, list)
		zsx_zspage_free(zspage);
}

#endif /* _ZSX_TESTS_OBJECTS_H_ */
