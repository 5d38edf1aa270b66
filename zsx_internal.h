/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zsx_internal.h - the words, the structures and their locks
 *
 * Words
 *
 *   object      what a caller stores: 1 .. PAGE_SIZE bytes
 *   handle      what the caller keeps: the address of a struct zsx_handle
 *   location    where the object is: descriptor, class and index in one word
 *   size class  all objects of like length of a pool, under one lock
 *   zspage      up to nr_pages pages that hold objects of one class
 *   descriptor  struct zsx_zspage: all that is known of a zspage. Its pages hold
 *               the callers' bytes and nothing else.
 *   slot        a place for one object in a zspage
 *   present     a page that the zspage holds now; a slot all of whose pages are
 *               present. A page is held only while a live object touches it.
 *   room        a free present slot
 *   pin         what keeps a zspage's objects where they are
 *
 * Locks, outermost first
 *
 *   class->lock     everything that changes in a class and its zspages. There
 *                   is no lock of the whole pool. No memory is got or given
 *                   back under it.
 *   zspage pin      not a lock: readers hold it shared, with or without
 *                   class->lock. Whoever wants to move an object takes it by
 *                   try only.
 *
 * RCU keeps two things. The memory's type: a location read without a lock may be
 * stale, but what it names is or was a descriptor, because descriptors come from
 * SLAB_TYPESAFE_BY_RCU caches. And the pool with its classes, for who found a zspage by its
 * page: zsx_destroy_pool() waits for a grace period.
 *
 * The states of a zspage, and who moves it
 *
 *                    zsx_zspage_alloc()
 *                           |
 *                           v
 *                       not linked  <-------------------+
 *                           |                           |
 *    malloc: first page,    |                           | free, compaction or the end of
 *    first object           v                           | an isolation: nothing is left
 *                  one of the live states --------------+
 *
 *    room (10 lists)   a free present slot
 *    growable          none, but pages are missing
 *    full              all slots are in use
 *
 * In which of the three a zspage is follows from its slots, after each malloc, free and
 * move of an object (regroup()). malloc takes room, and ends with growable or full when it was
 * the last; a page that it brings makes room in a growable zspage. free makes room, unless
 * the page that the slot is on goes with it.
 *
 * Invariants, whenever class->lock is free; zsx_class_check() checks them:
 *
 *   I1  a page is present only if a live object touches it or it is isolated
 *   I2  a slot in use is present. A zspage without objects and isolated pages is not
 *       linked, and has no page.
 *   I3  page->private is the descriptor exactly while the page is in pages[] (but
 *       while an isolated one is being replaced)
 *   I4  the set of present slots is what pages[] says
 *   I5  the handle of an object in a slot names that slot
 */
#ifndef _ZSX_INTERNAL_H_
#define _ZSX_INTERNAL_H_

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/spinlock.h>

#include <kunit/visibility.h>

#include "zsx.h"
#include "zsx_class.h"

/* Check what changed before each unlock. */
#define ZSX_DEBUG	IS_ENABLED(CONFIG_DEBUG_VM)

/* --- handles and locations ---------------------------------------------- */

/**
 * struct zsx_handle - the memory that a handle is the address of
 * @location: a zsx_location_t; 0 once the object is freed. Written under
 *	class->lock; read by anyone who holds the handle. atomic64_t: whole on
 *	32-bit machines too.
 */
struct zsx_handle {
	atomic64_t location;
};

static inline struct zsx_handle *zsx_handle_of(unsigned long handle)
{
	return (struct zsx_handle *)handle;
}

static inline zsx_location_t zsx_location_read(const struct zsx_handle *h)
{
	return (zsx_location_t) { atomic64_read(&h->location) };
}

/*
 * Pairs with zsx_location_publish(): what the object's new place holds is seen
 * by who sees the new location.
 */
static inline zsx_location_t zsx_location_read_acquire(const struct zsx_handle *h)
{
	return (zsx_location_t) { atomic64_read_acquire(&h->location) };
}

/* The layout of this machine's locations. */
#define ZSX_LAYOUT	zsx_layout_for(ZSX_PHYS_BITS)

/* --- zspages ------------------------------------------------------------- */

/*
 * The lists that a class's zspages are on. The first ZSX_NR_RATIOS hold those
 * with a free present slot, by tenths of their slots in use.
 */
enum zsx_group {
	ZSX_GROWABLE = ZSX_NR_RATIOS,	/* no free present slot, pages missing */
	ZSX_FULL,			/* every slot in use */
	ZSX_NR_GROUPS,
	ZSX_NOT_LINKED = ZSX_NR_GROUPS,	/* on no list: being built, or dead */
};

/**
 * struct zsx_zspage - the descriptor of a zspage
 * @pins: readers and writers of its objects; negative while objects or pages
 *	are being moved. Set by the slab constructor and never again: a reader
 *	with a stale location may hold a pin for a moment on a descriptor that
 *	is being reused.
 * @nr_inuse: objects in @inuse. class->lock.
 * @group: the list it is on. class->lock. Not ZSX_NOT_LINKED: it is live.
 * @isolated: bit i set: @pages[i] is being migrated, or about to be, and stays in
 *	its place. class->lock.
 * @class: its class. Written when it is built; read without a lock under RCU
 *	(then it may be the class of another life, in another pool).
 * @list: class->lock
 * @inuse: slots that hold an object. class->lock.
 * @present: slots whose pages are all there. class->lock.
 * @pages: nr_pages entries; NULL where no page is held. Pages come and go under
 *	class->lock; one that is isolated is replaced under the write pin. A pin
 *	keeps those of live objects.
 *
 * Behind @pages stand nr_objects handles, the objects' back pointers:
 * zsx_zspage_handles(). All before @pages is one cache line.
 */
struct zsx_zspage {
	atomic_t pins;
	u8 nr_inuse;
	u8 group;
	u16 isolated;
	struct zsx_class *class;
	struct list_head list;
	struct zsx_slots inuse;
	struct zsx_slots present;
	struct page *pages[];
};

static_assert(offsetof(struct zsx_zspage, pages) <= 64,
	      "the hot part is one cache line, and zsx_class.c counts on 64 bytes");
static_assert(ZSX_MAX_PAGES <= 16, "isolated is a u16");
static_assert(ZSX_NOT_LINKED <= 255 && ZSX_MAX_OBJECTS <= 255, "fields are u8");

/* --- classes and pools --------------------------------------------------- */

/**
 * struct zsx_class - one size class of a pool
 * @lock: guards all below and the class's zspages. Alone on its line: who waits
 *	for it must not slow down who holds it.
 * @nonempty: bit g set: @groups[g] has a zspage; for g < ZSX_NR_RATIOS. lock; malloc
 *	looks at it before.
 * @pool: constant
 * @geo: constant
 * @mallocs: objects ever stored. lock, like all that follow.
 * @frees: objects ever freed
 * @bytes_asked: the sum of the sizes that @mallocs asked for
 * @pages_brought: pages ever installed
 * @pages_given_back: pages ever taken out
 * @groups: the zspages. malloc looks whether there is a growable one without the lock.
 * @nr_zspages: how many are in each group
 * @capacity: present slots of all zspages
 */
struct zsx_class {
	spinlock_t lock ____cacheline_aligned;

	unsigned int nonempty ____cacheline_aligned;
	struct zsx_pool *pool;
	const struct zsx_geometry *geo;
	u64 mallocs;
	u64 frees;
	u64 pages_brought;
	u64 pages_given_back;
	u64 bytes_asked;

	struct list_head groups[ZSX_NR_GROUPS];
	unsigned int nr_zspages[ZSX_NR_GROUPS];
	unsigned long capacity;
};

static inline unsigned long zsx_class_objects(const struct zsx_class *class)
{
	return class->mallocs - class->frees;
}

static inline unsigned long zsx_class_pages(const struct zsx_class *class)
{
	return class->pages_brought - class->pages_given_back;
}

static inline unsigned long zsx_class_zspages(const struct zsx_class *class)
{
	unsigned long zspages = 0;
	unsigned int group;

	for (group = 0; group < ZSX_NR_GROUPS; group++)
		zspages += class->nr_zspages[group];
	return zspages;
}

/* What compaction has done. Added to after each class, pages after the last; atomic. */
enum zsx_compaction_counter {
	ZSX_PAGES_COMPACTED,		/* pages given back to the system, net */
	ZSX_OBJECTS_COPIED,
	ZSX_SOURCE_STEPS,		/* looks for an object to copy */
	ZSX_SOURCE_PAGES_EMPTIED,
	ZSX_ZSPAGES_FREED,
	ZSX_SKIPPED_BUSY,		/* zspages left as they were, being in use */
	ZSX_NR_COMPACTION_COUNTERS,
};

/**
 * struct zsx_pool - what zsx_create_pool() returns
 * @name: constant
 * @debugfs: its directory, or an error: none. Constant.
 * @nr_classes: constant; apart from what is written, as each access reads it
 * @nr_pages: pages of all classes. Changed under each class's lock; read by
 *	zsx_get_total_pages(), which zram calls at every store.
 * @pins_retried: accesses that had to look again
 * @pages_migrated: pages replaced by page migration
 * @migrations_refused: because objects on them were in use
 * @compacting: 1 while a compaction runs: there is one at a time
 * @compaction: by enum zsx_compaction_counter
 * @longest_hold: of a class->lock by a compaction, in ns. Written by the one that runs.
 * @shrinker: compacts when memory is short. Constant.
 * @classes: the size classes
 */
struct zsx_pool {
	const char *name;
	struct dentry *debugfs;
	unsigned int nr_classes;
	atomic_long_t nr_pages ____cacheline_aligned;
	atomic_long_t pins_retried;
	atomic_long_t pages_migrated;
	atomic_long_t migrations_refused;
	atomic_t compacting;
	atomic_long_t compaction[ZSX_NR_COMPACTION_COUNTERS];
	atomic_long_t longest_hold;
	struct compat_shrinker *shrinker;
	struct zsx_class classes[] ____cacheline_aligned;
};

/*
 * In the section of the lock that takes the slot or gives it up (I5). Without order: who
 * is given the handle is given it later, and what the object holds is not there yet.
 */
static inline void zsx_location_set(struct zsx_class *class, struct zsx_handle *h,
				    zsx_location_t loc)
	__must_hold(&class->lock)
{
	lockdep_assert_held(&class->lock);
	atomic64_set(&h->location, loc.v);
}

/* The same for an object that was moved. Pairs with zsx_location_read_acquire(). */
static inline void zsx_location_publish(struct zsx_class *class, struct zsx_handle *h,
					zsx_location_t loc)
	__must_hold(&class->lock)
{
	lockdep_assert_held(&class->lock);
	atomic64_set_release(&h->location, loc.v);
}

/* Whether @class, read without a lock, is one of @pool's. */
static inline bool zsx_is_class_of(const struct zsx_pool *pool,
				   const struct zsx_class *class)
{
	return class >= pool->classes && class < pool->classes + pool->nr_classes;
}

/* Whether zsx_init() got all that it needs: callers that are built in come even if not. */
extern bool zsx_is_ready;

/* The size classes of all pools; constant after module init. */
extern struct zsx_class_table zsx_classes;

/*
 * The page at place @i. Under class->lock it may be replaced by another just now:
 * pairs with replace_page(). Whether there is one is stable.
 */
static inline struct page *zsx_zspage_page(const struct zsx_zspage *zspage,
					   unsigned int i)
{
	return READ_ONCE(zspage->pages[i]);
}

static inline unsigned long *zsx_zspage_handles(const struct zsx_geometry *geo,
						struct zsx_zspage *zspage)
{
	return (unsigned long *)&zspage->pages[geo->nr_pages];
}

/* The highest frame of all descriptors ever: a bound for words read unlocked. */
extern atomic_long_t zsx_highest_frame;

bool zsx_frame_now_known(u64 frame);

/*
 * The descriptor that a location names. NULL if there can't be one: the object
 * was freed, or the word is no location (SLUB keeps its free pointer in a freed
 * handle; as a location, an address in the upper half of 64 bits lies far above all
 * memory. On UML and 32-bit machines it may not, and is believed.)
 */
static inline struct zsx_zspage *zsx_zspage_of(zsx_location_t loc)
{
	u64 frame = zsx_location_frame(ZSX_LAYOUT, loc);

	if (unlikely(!frame || frame > atomic_long_read(&zsx_highest_frame)) &&
	    !zsx_frame_now_known(frame))
		return NULL;
	return __va(frame << ZSX_FRAME_SHIFT);
}

/* --- points of races ----------------------------------------------------- */

/**
 * enum zsx_point - moments between two steps of a protocol
 * @ZSX_POINT_LOOKED: who looks without class->lock has seen something, and takes the
 *	lock next
 * @ZSX_POINT_READER_PINNED: a reader has a pin, and looks again next
 * @ZSX_POINT_READER_RETRIES: a reader met a mover, or the object had moved
 * @ZSX_POINT_MOVER_COMES: a write pin is tried next
 * @ZSX_POINT_COPIED: bytes are in their new place, and nobody is told yet
 * @ZSX_POINT_MOVER_GONE: a write pin was dropped
 *
 * Another thread may be at work at each of them. KUnit does there what that thread
 * would do, in the same thread: so each order of steps is tried, not waited for.
 */
enum zsx_point {
	ZSX_POINT_LOOKED,
	ZSX_POINT_READER_PINNED,
	ZSX_POINT_READER_RETRIES,
	ZSX_POINT_MOVER_COMES,
	ZSX_POINT_COPIED,
	ZSX_POINT_MOVER_GONE,
	/* private: */
	ZSX_NR_POINTS,
};

void zsx_at_race_point(enum zsx_point point, struct zsx_zspage *zspage);

/*
 * @zspage: the one that is pinned, or copied to; NULL where it isn't known. Nothing in
 * kernels without KUnit; elsewhere a branch not taken, but while a test runs.
 */
static __always_inline void zsx_race_point(enum zsx_point point,
					   struct zsx_zspage *zspage)
{
	if (compat_kunit_running())
		zsx_at_race_point(point, zspage);
}

/* --- pins ---------------------------------------------------------------- */

/*
 * Take a shared pin if nothing is being moved in @zspage. Acquire: what was
 * written before the mover let go is seen. Pairs with the mover's release.
 */
static inline bool zsx_try_pin(struct zsx_zspage *zspage)
{
	if (likely(atomic_fetch_inc_acquire(&zspage->pins) >= 0))
		return true;
	atomic_dec(&zspage->pins);
	return false;
}

/*
 * Release: what was read and written through the pin is done before a mover can
 * begin. Pairs with the mover's acquire.
 */
static inline void zsx_unpin(struct zsx_zspage *zspage)
{
	if (WARN_ONCE(atomic_fetch_dec_release(&zspage->pins) <= 0,
		      "zsx: end of an access that never began\n"))
		atomic_inc(&zspage->pins);
}

/* As many pins as no number of readers takes. */
#define ZSX_PIN_BIAS	(1 << 30)

/*
 * Take the write pin if no reader has one: nothing in @zspage is read or written
 * until it is dropped. Preemption is off meanwhile, or a real-time reader on this
 * CPU would spin for ever: no lock is taken and nothing but a few pages is copied
 * under it. Acquire: what readers wrote is seen. Pairs with zsx_unpin().
 */
static inline bool zsx_try_write_pin(struct zsx_zspage *zspage)
{
	int none = 0;

	zsx_race_point(ZSX_POINT_MOVER_COMES, zspage);
	preempt_disable();
	if (atomic_try_cmpxchg_acquire(&zspage->pins, &none, -ZSX_PIN_BIAS))
		return true;
	preempt_enable();
	return false;
}

/* Adds, as readers on their way out are in the count. Pairs with zsx_try_pin(). */
static inline void zsx_write_unpin(struct zsx_zspage *zspage)
{
	atomic_fetch_add_release(ZSX_PIN_BIAS, &zspage->pins);
	preempt_enable();
	zsx_race_point(ZSX_POINT_MOVER_GONE, zspage);
}

/* --- zsx_zspage.c -------------------------------------------------------- */

/**
 * struct zsx_loose - pages and zspages that are in no class, and one call's alone
 * @nr_pages: how many @pages there are
 * @pages: pages that no object touches; by page->lru, which is nobody else's while
 *	the page is not isolated
 * @zspages: zspages that are not linked and have no page; by their list
 *
 * What came loose in zsx_settle(), or was got for malloc. Lists, as there is no bound
 * to them. Who filled it in gives back what is left, by zsx_loose_free(), once, without
 * class->lock.
 */
struct zsx_loose {
	unsigned int nr_pages;
	struct list_head pages;
	struct list_head zspages;
};

static inline void zsx_loose_init(struct zsx_loose *loose)
{
	loose->nr_pages = 0;
	INIT_LIST_HEAD(&loose->pages);
	INIT_LIST_HEAD(&loose->zspages);
}

static inline bool zsx_loose_is_empty(const struct zsx_loose *loose)
{
	return !loose->nr_pages && list_empty(&loose->zspages);
}

/* Return: NULL if there is none. */
static inline struct zsx_zspage *zsx_loose_first_zspage(struct zsx_loose *loose)
{
	return list_first_entry_or_null(&loose->zspages, struct zsx_zspage, list);
}

static inline void zsx_loose_add_page(struct zsx_loose *loose, struct page *page)
{
	list_add_tail(&page->lru, &loose->pages);
	loose->nr_pages++;
}

static inline void zsx_loose_remove_page(struct zsx_loose *loose, struct page *page)
{
	list_del(&page->lru);
	loose->nr_pages--;
}

/* Return: NULL if there is none. */
static inline struct page *zsx_loose_take_page(struct zsx_loose *loose)
{
	struct page *page = list_first_entry_or_null(&loose->pages, struct page, lru);

	if (page)
		zsx_loose_remove_page(loose, page);
	return page;
}

int zsx_zspage_init(void);
void zsx_zspage_exit(void);

struct page *zsx_page_alloc(gfp_t gfp, int nid);
void zsx_page_alloc_bulk(gfp_t gfp, int nid, unsigned int nr, struct zsx_loose *loose);
void zsx_page_free(struct page *page);
struct zsx_zspage *zsx_zspage_alloc(struct zsx_class *class, gfp_t gfp, int nid);
void zsx_zspage_free(struct zsx_zspage *zspage);

/* Of the zspages with a free present slot, one with most slots in use. */
static inline struct zsx_zspage *zsx_class_first_with_room(struct zsx_class *class)
	__must_hold(&class->lock)
{
	lockdep_assert_held(&class->lock);

	if (!class->nonempty)
		return NULL;
	return list_first_entry(&class->groups[__fls(class->nonempty)],
				struct zsx_zspage, list);
}

static inline struct zsx_zspage *zsx_class_first_growable(struct zsx_class *class)
	__must_hold(&class->lock)
{
	lockdep_assert_held(&class->lock);

	return list_first_entry_or_null(&class->groups[ZSX_GROWABLE],
					struct zsx_zspage, list);
}

unsigned int zsx_zspage_lowest_absent(const struct zsx_geometry *geo,
				      const struct zsx_zspage *zspage);
void zsx_zspage_install(struct zsx_class *class, struct zsx_zspage *zspage,
			struct page *page) __must_hold(&class->lock);
zsx_location_t zsx_zspage_take(struct zsx_class *class,
			       struct zsx_zspage *zspage, unsigned long handle)
	__must_hold(&class->lock);
void zsx_zspage_put(struct zsx_class *class, struct zsx_zspage *zspage,
		    unsigned int index, struct zsx_loose *loose)
	__must_hold(&class->lock);
void zsx_settle(struct zsx_class *class, struct zsx_zspage *zspage,
		unsigned int first_page, unsigned int last_page,
		struct zsx_loose *loose) __must_hold(&class->lock);
void zsx_loose_free(struct zsx_loose *loose);

const char *zsx_zspage_check(const struct zsx_class *class,
			     struct zsx_zspage *zspage);
const char *zsx_class_check(struct zsx_class *class);

/* --- zsx_pool.c ---------------------------------------------------------- */

unsigned long zsx_class_fewest_pages(const struct zsx_class *class);

/* --- zsx_compact.c ------------------------------------------------------- */

void zsx_shrinker_add(struct zsx_pool *pool);
void zsx_shrinker_remove(struct zsx_pool *pool);

/* --- zsx_migrate.c ------------------------------------------------------- */

extern const struct movable_operations zsx_movable_ops;
extern bool zsx_movable;	/* pages can be migrated; constant after module init */

bool zsx_page_mark_movable(struct page *page);
void zsx_migrate_init(void);
void zsx_migrate_exit(void);

/* --- zsx_access.c -------------------------------------------------------- */

int zsx_access_init(void);
void zsx_access_exit(void);

/* --- zsx_harden.c -------------------------------------------------------- */

DECLARE_STATIC_KEY_FALSE(zsx_hardened);

/* Handles are checked before they are believed. Else they are the caller's business. */
static __always_inline bool zsx_is_hardened(void)
{
	return static_branch_unlikely(&zsx_hardened);
}

bool zsx_may_be_handle(unsigned long handle);
struct zsx_class *zsx_class_in(struct zsx_pool *pool, const struct zsx_zspage *zspage);
bool zsx_check_before_pin(struct zsx_pool *pool, const struct zsx_handle *h, zsx_location_t *loc);
bool zsx_holds_object(struct zsx_zspage *zspage, unsigned int i, unsigned long handle);
void zsx_remember_free(unsigned long handle);
const char *zsx_what_is_wrong(struct zsx_pool *pool, unsigned long handle, int *nr);
void zsx_report(struct zsx_pool *pool, unsigned long handle, const char *what);
int zsx_harden_init(void);
void zsx_harden_exit(void);

/* --- zsx_debugfs.c ------------------------------------------------------- */

void zsx_debugfs_init(void);
void zsx_debugfs_exit(void);
void zsx_debugfs_add(struct zsx_pool *pool);
void zsx_debugfs_remove(struct zsx_pool *pool);

#endif /* _ZSX_INTERNAL_H_ */
