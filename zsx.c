// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx.c - malloc and free, of one object and of many; the module's beginning and end
 *
 * malloc takes a slot under class->lock. What it lacks for that, a page or a zspage, it gets
 * with the lock dropped, into a stock of its own. Calls for many objects sort them by class,
 * and do for each class what a single call does, once.
 *
 * A handle's word, the location, carries the class of the object. So free finds
 * the right class->lock without a lock of the pool, and readers
 * (zsx_access.c) need no lock at all. Where the word has no room for the class,
 * it is read from the descriptor, and believed only once the lock is held and
 * everything fits together.
 */
#include <linux/err.h>
#include <linux/module.h>
#include <linux/prefetch.h>
#include <linux/slab.h>

#include "zsx_internal.h"

static unsigned int chain_limit = ZSX_MAX_PAGES;
module_param(chain_limit, uint, 0444);
MODULE_PARM_DESC(chain_limit,
		 "the longest zspage, in pages: 1 to 16 (default 16). Less is less dense.");

struct zsx_class_table zsx_classes __ro_after_init;
EXPORT_SYMBOL_IF_KUNIT(zsx_classes);

static struct kmem_cache *handle_cache __ro_after_init;

bool zsx_is_ready __ro_after_init;

/* === Handles and classes ================================================= */

static struct zsx_class *class_for(struct zsx_pool *pool, size_t size)
{
	return &pool->classes[zsx_class_of_size(&zsx_classes, size)];
}

/* From this CPU's slab, wherever the page is: it is the caller who keeps it. */
static gfp_t handle_gfp(gfp_t gfp)
{
	return gfp & ~(__GFP_HIGHMEM | __GFP_MOVABLE | __GFP_ZERO | __GFP_THISNODE);
}

static void handle_free(unsigned long handle)
{
	kmem_cache_free(handle_cache, zsx_handle_of(handle));
}

/* === Points of races ===================================================== */

/* A KUnit case stubs it; nobody else calls it. */
void zsx_at_race_point(enum zsx_point point, struct zsx_zspage *zspage)
{
	KUNIT_STATIC_STUB_REDIRECT(zsx_at_race_point, point, zspage);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_at_race_point);

/* === Finding an object =================================================== */

/*
 * The class that a location read without class->lock speaks of, where the word has no
 * class: a guess, from a descriptor that may live another life already. NULL if it is
 * none of @pool's.
 */
static struct zsx_class *guess_class(struct zsx_pool *pool, zsx_location_t loc)
{
	struct zsx_zspage *zspage = zsx_zspage_of(loc);
	struct zsx_class *class;

	if (!zspage)
		return NULL;
	if (zsx_is_hardened())
		return zsx_class_in(pool, zspage);
	/* Before the word is read again. Pairs with zsx_zspage_alloc(). */
	class = smp_load_acquire(&zspage->class);
	return zsx_is_class_of(pool, class) ? class : NULL;
}

/*
 * The class of a zspage that may be another class's, and just being built: what
 * zsx_zspage_alloc() has set is seen with it. Not where the word has the class: there the
 * zspage of one of the pool's objects is of the class whose lock is held.
 */
static struct zsx_class *class_of(const struct zsx_zspage *zspage)
{
	if (ZSX_LAYOUT.class_bits)
		return READ_ONCE(zspage->class);
	return smp_load_acquire(&zspage->class); /* Pairs with zsx_zspage_alloc(). */
}

/*
 * The zspage of @handle's object, if the word is its location, of @class; else NULL.
 * Whatever the word is, nothing but descriptors is looked at: it was read under
 * class->lock, which is an RCU section (on PREEMPT_RT, too), or in RCU. The back pointer is
 * a cold line: it is looked at where the class was a guess, where handles are checked
 * (@check), and in debug kernels.
 */
static __always_inline struct zsx_zspage *
find_object(struct zsx_class *class, unsigned long handle, zsx_location_t loc, bool check)
	__must_hold(&class->lock)
{
	struct zsx_zspage *zspage = zsx_zspage_of(loc);
	unsigned int i = zsx_location_index(ZSX_LAYOUT, loc);

	lockdep_assert_held(&class->lock);

	if (check && !zsx_class_in(class->pool, zspage))
		return NULL;
	if (unlikely(!zspage || class_of(zspage) != class ||
		     zspage->group == ZSX_NOT_LINKED || !zsx_slots_test(&zspage->inuse, i)))
		return NULL;
	if ((ZSX_DEBUG || !ZSX_LAYOUT.class_bits || check) &&
	    zsx_zspage_handles(class->geo, zspage)[i] != handle)
		return NULL;
	return zspage;
}

/*
 * Find an object and take the lock of its class, by the class in the word: that can't
 * change, so one look behind the lock decides.
 */
static __always_inline struct zsx_zspage *
lock_by_word(struct zsx_pool *pool, unsigned long handle, zsx_location_t *loc, bool check)
{
	struct zsx_handle *h = zsx_handle_of(handle);
	unsigned int i = zsx_location_class(ZSX_LAYOUT, zsx_location_read(h));
	struct zsx_zspage *zspage;
	struct zsx_class *class;

	if (unlikely(i >= pool->nr_classes))
		return NULL;
	class = &pool->classes[i];
	zsx_race_point(ZSX_POINT_LOOKED, NULL);
	spin_lock(&class->lock);
	*loc = zsx_location_read(h);
	zspage = find_object(class, handle, *loc, check);
	if (unlikely(!zspage))
		spin_unlock(&class->lock);
	return zspage;
}

/*
 * The same by the class in the descriptor, where the word has none. Under the right
 * lock the location is stable. If something doesn't fit, word and descriptor are looked at
 * again: as long as one of them changes there is something to find. (The word alone isn't
 * enough: the object may be moved away and back, into a descriptor that was reused.) If
 * neither changes nor fits, the handle is no object's. RCU keeps the descriptor one.
 */
static __always_inline struct zsx_zspage *
lock_by_descriptor(struct zsx_pool *pool, unsigned long handle, zsx_location_t *loc, bool check)
{
	struct zsx_handle *h = zsx_handle_of(handle);
	struct zsx_zspage *zspage = NULL;
	struct zsx_class *class;
	zsx_location_t guess;

	rcu_read_lock();
	*loc = zsx_location_read(h);
	do {
		guess = *loc;
		class = guess_class(pool, guess);
		zsx_race_point(ZSX_POINT_LOOKED, NULL);
		if (class)
			spin_lock(&class->lock);
		*loc = zsx_location_read(h);
		if (class) {
			zspage = find_object(class, handle, *loc, check);
			if (!zspage)
				spin_unlock(&class->lock);
		}
	} while (!zspage && (loc->v != guess.v || guess_class(pool, *loc) != class));
	rcu_read_unlock();
	return zspage;
}

static __always_inline struct zsx_zspage *
lock_by(struct zsx_pool *pool, unsigned long handle, zsx_location_t *loc, bool check)
{
	return ZSX_LAYOUT.class_bits ? lock_by_word(pool, handle, loc, check) :
				       lock_by_descriptor(pool, handle, loc, check);
}

/* noinline: or its registers and stack would be the unchecked way's, too. */
static noinline struct zsx_zspage *lock_checked(struct zsx_pool *pool, unsigned long handle,
						zsx_location_t *loc)
{
	return zsx_may_be_handle(handle) ? lock_by(pool, handle, loc, true) : NULL;
}

/*
 * Return: The object's zspage, with the lock of its class held, and @loc; NULL, and no
 * lock, if @handle is not an object's of @pool.
 */
static struct zsx_zspage *lock_object(struct zsx_pool *pool, unsigned long handle,
				      zsx_location_t *loc)
{
	return zsx_is_hardened() ? lock_checked(pool, handle, loc) :
				   lock_by(pool, handle, loc, false);
}

/* === Taking and leaving a slot =========================================== */

static void take_slot(struct zsx_class *class, struct zsx_zspage *zspage,
		      unsigned long handle, size_t size)
	__must_hold(&class->lock)
{
	zsx_location_set(class, zsx_handle_of(handle), zsx_zspage_take(class, zspage, handle));
	class->mallocs++;
	class->bytes_asked += size;
}

/*
 * What a free lets go of has one owner at each moment. Under class->lock the
 * object's slot, the pages that nothing touches any more and a zspage without
 * objects come loose, together and once (zsx_settle()). From then on they are
 * this call's, which gives them back after the lock. Nobody finds them by a
 * list, a location or a page by then.
 */
static void leave_slot(struct zsx_class *class, struct zsx_zspage *zspage,
		       unsigned long handle, zsx_location_t loc, struct zsx_loose *loose)
	__must_hold(&class->lock)
{
	/* So that a second free of it is recognised, if the slab leaves it be. */
	zsx_location_set(class, zsx_handle_of(handle), (zsx_location_t) {});
	zsx_zspage_put(class, zspage, zsx_location_index(ZSX_LAYOUT, loc), loose);
	class->frees++;
}

/* === Making room ========================================================= */

/**
 * struct stock - what malloc got with the lock dropped, and hasn't used yet
 * @loose: pages, for any class; zspages, each for its own. The last ones that were got are
 *	in front, and stocked_zspage() looks at the first alone.
 * @gfp: how to get more
 * @nid: where; with __GFP_THISNODE a node, so that all of a call mean the same
 */
struct stock {
	struct zsx_loose loose;
	gfp_t gfp;
	int nid;
};

static void stock_init(struct stock *stock, gfp_t gfp, int nid)
{
	zsx_loose_init(&stock->loose);
	stock->gfp = gfp;
	stock->nid = nid;
	if (unlikely(gfp & __GFP_THISNODE) && nid == NUMA_NO_NODE)
		stock->nid = numa_mem_id();
}

/* Whether a zspage won't do that is on another node. */
static bool is_bound(const struct stock *stock)
{
	return unlikely(stock->gfp & __GFP_THISNODE);
}

static struct zsx_zspage *stocked_zspage(struct stock *stock,
					 const struct zsx_class *class)
{
	struct zsx_zspage *zspage = zsx_loose_first_zspage(&stock->loose);

	return zspage && zspage->class == class ? zspage : NULL;
}

/*
 * So many zspages of each list are looked at for one on a node: a bound for the lock. Those
 * that were changed last are in front, so that one which just began here is found.
 */
#define NODE_LOOKS	4

static bool is_on_node(const struct zsx_geometry *geo, const struct zsx_zspage *zspage, int nid)
{
	unsigned int i;

	for (i = 0; i < geo->nr_pages; i++) {
		struct page *page = zsx_zspage_page(zspage, i);

		if (page && page_to_nid(page) != nid)
			return false;
	}
	return true;
}

/* Return: One of @group with all its pages on @nid; NULL if there is none nearby. */
static struct zsx_zspage *first_on_node(struct zsx_class *class, unsigned int group, int nid)
	__must_hold(&class->lock)
{
	struct zsx_zspage *zspage;
	unsigned int looks = 0;

	lockdep_assert_held(&class->lock);

	list_for_each_entry(zspage, &class->groups[group], list) {
		if (is_on_node(class->geo, zspage, nid))
			return zspage;
		if (++looks == NODE_LOOKS)
			break;
	}
	return NULL;
}

static struct zsx_zspage *find_room(struct zsx_class *class, const struct stock *stock)
	__must_hold(&class->lock)
{
	struct zsx_zspage *zspage = NULL;
	unsigned int group;

	if (!is_bound(stock))
		return zsx_class_first_with_room(class);
	for (group = ZSX_NR_RATIOS; group-- && !zspage; )
		zspage = first_on_node(class, group, stock->nid);
	return zspage;
}

static struct zsx_zspage *find_growable(struct zsx_class *class, const struct stock *stock)
	__must_hold(&class->lock)
{
	return is_bound(stock) ? first_on_node(class, ZSX_GROWABLE, stock->nid) :
				 zsx_class_first_growable(class);
}

/*
 * A zspage with a free present slot: the fullest there is, or one that a page of
 * the stock makes so. Installing a page and taking a slot of it is one lock
 * section of the caller's, so that no page is held without an object.
 */
static struct zsx_zspage *make_room(struct zsx_class *class, struct stock *stock)
	__must_hold(&class->lock)
{
	struct zsx_zspage *zspage = find_room(class, stock);

	if (zspage || !stock->loose.nr_pages)
		return zspage;
	zspage = find_growable(class, stock);
	if (!zspage) {
		zspage = stocked_zspage(stock, class);
		if (zspage)
			list_del(&zspage->list);
	}
	if (zspage)
		zsx_zspage_install(class, zspage, zsx_loose_take_page(&stock->loose));
	return zspage;
}

/* Zspages for @nr_objects; one is enough to go on. */
static bool stock_zspages(struct stock *stock, struct zsx_class *class,
			  unsigned int nr_objects)
{
	unsigned int nr = DIV_ROUND_UP(nr_objects, class->geo->nr_objects);

	if (stocked_zspage(stock, class))
		return true;
	while (nr--) {
		struct zsx_zspage *zspage = zsx_zspage_alloc(class, stock->gfp, stock->nid);

		if (!zspage)
			break;
		list_add(&zspage->list, &stock->loose.zspages);
	}
	return stocked_zspage(stock, class);
}

static unsigned int pages_for(const struct zsx_class *class, unsigned int nr_objects)
{
	return DIV_ROUND_UP(nr_objects * class->geo->size, PAGE_SIZE);
}

/* Pages for @nr_objects of @class; one is enough to go on. */
static bool stock_pages(struct stock *stock, const struct zsx_class *class,
			unsigned int nr_objects)
{
	unsigned int nr = pages_for(class, nr_objects);
	struct page *page;

	if (stock->loose.nr_pages)
		return true;
	if (nr > 1)
		zsx_page_alloc_bulk(stock->gfp, stock->nid, nr, &stock->loose);
	if (stock->loose.nr_pages)
		return true;
	page = zsx_page_alloc(stock->gfp, stock->nid);
	if (page)
		zsx_loose_add_page(&stock->loose, page);
	return page;
}

/* Get what is missing in the stock: a page first, a zspage if none can grow. */
static bool fill_stock(struct stock *stock, struct zsx_class *class,
		       unsigned int nr_objects, bool want_zspage)
{
	return stock_pages(stock, class, nr_objects) &&
	       (!want_zspage || stock_zspages(stock, class, nr_objects));
}

/* Without the lock: a hint. Pairs with regroup() and unlink_zspage(). */
static bool may_have_room(const struct zsx_class *class)
{
	return READ_ONCE(class->nonempty);
}

/*
 * Take the lock and find or make room for one object; of @nr_objects that will follow
 * each other, so that what is got is got for all of them. That is done with the lock
 * dropped, and others may be faster meanwhile: but the stock only grows, and a
 * page with a zspage is always enough, so there are at most two rounds of allocations and
 * three lock sections. Where there seems to be no room, they are done first: that
 * saves a section.
 *
 * Return: A zspage with a free present slot; NULL if memory is short and no slot
 * came free meanwhile. class->lock is held either way.
 */
static struct zsx_zspage *lock_room(struct zsx_class *class, struct stock *stock,
				    unsigned int nr_objects)
	__acquires(&class->lock)
{
	struct zsx_zspage *zspage;
	bool has_memory = true;

	if (!may_have_room(class))
		has_memory = fill_stock(stock, class, nr_objects,
					list_empty(&class->groups[ZSX_GROWABLE]));
	spin_lock(&class->lock);
	while (!(zspage = make_room(class, stock)) && has_memory) {
		bool want_zspage = !find_growable(class, stock);

		spin_unlock(&class->lock);
		has_memory = fill_stock(stock, class, nr_objects, want_zspage);
		spin_lock(&class->lock);
	}
	return zspage;
}

/* === One object ========================================================== */

/* Return: 0, or why no object can be of @size. */
static int check_size(size_t size)
{
	if (unlikely(!size))
		return -EINVAL;
	return unlikely(size > PAGE_SIZE) ? -ENOSPC : 0;
}

/*
 * The usual way: there is a free present slot, and any will do. Return: whether there was
 * one.
 */
static bool store_in_room(struct zsx_class *class, unsigned long handle, size_t size, gfp_t gfp)
{
	struct zsx_zspage *zspage;

	if (!may_have_room(class) || unlikely(gfp & __GFP_THISNODE))
		return false;
	spin_lock(&class->lock);
	zspage = zsx_class_first_with_room(class);
	if (likely(zspage))
		take_slot(class, zspage, handle, size);
	spin_unlock(&class->lock);
	return zspage;
}

/* Return: whether there was memory. noinline: the usual way needs none of its stack. */
static noinline bool store_with_stock(struct zsx_class *class, unsigned long handle,
				      size_t size, gfp_t gfp, int nid)
{
	struct stock stock __uninitialized;
	struct zsx_zspage *zspage;

	stock_init(&stock, gfp, nid);
	zspage = lock_room(class, &stock, 1);
	if (zspage)
		take_slot(class, zspage, handle, size);
	spin_unlock(&class->lock);

	/* What others made needless goes back: it was never in a zspage. */
	if (unlikely(!zsx_loose_is_empty(&stock.loose)))
		zsx_loose_free(&stock.loose);
	return zspage;
}

unsigned long zsx_malloc(struct zsx_pool *pool, size_t size, gfp_t gfp, int nid)
{
	struct zsx_class *class;
	unsigned long handle;
	int err;

	err = check_size(size);
	if (unlikely(err))
		return (unsigned long)err;
	handle = (unsigned long)kmem_cache_alloc(handle_cache, handle_gfp(gfp));
	if (!handle)
		return (unsigned long)-ENOMEM;

	class = class_for(pool, size);
	if (store_in_room(class, handle, size, gfp) ||
	    store_with_stock(class, handle, size, gfp, nid))
		return handle;
	handle_free(handle);
	return (unsigned long)-ENOMEM;
}
EXPORT_SYMBOL_GPL(zsx_malloc);

static noinline void refuse_free(struct zsx_pool *pool, unsigned long handle)
{
	if (zsx_is_hardened())
		zsx_report(pool, handle, "free");
	else
		WARN_ONCE(1, "zsx: pool %s: free of an object that was freed or is another pool's\n",
			  pool->name);
}

void zsx_free(struct zsx_pool *pool, unsigned long handle)
{
	struct zsx_loose loose __uninitialized;
	struct zsx_zspage *zspage;
	struct zsx_class *class;
	zsx_location_t loc;

	if (IS_ERR_OR_NULL((void *)handle))
		return;
	zspage = lock_object(pool, handle, &loc);
	if (unlikely(!zspage)) {
		refuse_free(pool, handle);
		return;
	}
	class = zspage->class;
	zsx_loose_init(&loose);
	leave_slot(class, zspage, handle, loc, &loose);
	spin_unlock(&class->lock);

	if (!zsx_loose_is_empty(&loose))
		zsx_loose_free(&loose);
	if (zsx_is_hardened())
		zsx_remember_free(handle);
	handle_free(handle);
}
EXPORT_SYMBOL_GPL(zsx_free);

/* === Many objects ======================================================== */

/* So many are looked at together: a bound for the stack, and for the time of a lock. */
#define BATCH	32U

/**
 * struct runs - the objects of a batch, put together by class
 * @class: of each object
 * @first: the first object of each class, counted from 1; 0: none is of it
 * @next: the one after each object in its class, in the same way
 *
 * A run is all objects of one class: its lock is taken once for them.
 */
struct runs {
	u8 class[BATCH];
	u8 next[BATCH];
	u8 first[ZSX_MAX_CLASSES];
};

/* Objects are added last first: so each run is in the order of the batch. */
static void add_to_run(struct runs *runs, unsigned int class, unsigned int i)
{
	runs->class[i] = class;
	runs->next[i] = runs->first[class];
	runs->first[class] = i + 1;
}

static bool begins_run(const struct runs *runs, unsigned int i)
{
	return runs->first[runs->class[i]] == i + 1;
}

/* How many objects a run has from @i on. */
static unsigned int run_length(const struct runs *runs, unsigned int i)
{
	unsigned int nr = 1;

	while (runs->next[i]) {
		i = runs->next[i] - 1;
		nr++;
	}
	return nr;
}

/* Pages for all runs whose classes have no room, as far as can be seen without locks. */
static void stock_batch(struct stock *stock, struct zsx_pool *pool,
			const struct runs *runs, unsigned int nr)
{
	unsigned int i, pages = 0;

	for (i = 0; i < nr; i++) {
		const struct zsx_class *class = &pool->classes[runs->class[i]];

		if (begins_run(runs, i) && !may_have_room(class))
			pages += pages_for(class, run_length(runs, i));
	}
	if (pages > stock->loose.nr_pages + 1)
		zsx_page_alloc_bulk(stock->gfp, stock->nid, pages - stock->loose.nr_pages,
				    &stock->loose);
}

static bool malloc_run(struct zsx_class *class, struct stock *stock, const struct runs *runs,
		       unsigned int i, const size_t *sizes, const unsigned long *handles)
{
	struct zsx_zspage *zspage = lock_room(class, stock, run_length(runs, i));

	while (zspage) {
		take_slot(class, zspage, handles[i], sizes[i]);
		if (!runs->next[i])
			break;
		i = runs->next[i] - 1;
		zspage = make_room(class, stock);
		if (!zspage) {
			spin_unlock(&class->lock);
			zspage = lock_room(class, stock, run_length(runs, i));
		}
	}
	spin_unlock(&class->lock);
	return zspage;
}

/* Those that got no place have no location. */
static void undo_batch(struct zsx_pool *pool, const unsigned long *handles, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (zsx_location_read(zsx_handle_of(handles[i])).v)
			zsx_free(pool, handles[i]);
		else
			handle_free(handles[i]);
	}
}

/* Return: whether there was memory for all; else none is stored. */
static bool malloc_batch(struct zsx_pool *pool, struct stock *stock, const size_t *sizes,
			 unsigned int nr, unsigned long *handles)
{
	struct runs runs = {};
	unsigned int i;

	if (!kmem_cache_alloc_bulk(handle_cache, handle_gfp(stock->gfp), nr,
				   (void **)handles))
		return false;
	for (i = nr; i--; ) {
		/* Nobody else has it yet. */
		atomic64_set(&zsx_handle_of(handles[i])->location, 0);
		add_to_run(&runs, zsx_class_of_size(&zsx_classes, sizes[i]), i);
	}
	stock_batch(stock, pool, &runs, nr);
	for (i = 0; i < nr; i++) {
		if (begins_run(&runs, i) &&
		    !malloc_run(&pool->classes[runs.class[i]], stock, &runs, i, sizes, handles)) {
			undo_batch(pool, handles, nr);
			return false;
		}
	}
	return true;
}

int zsx_malloc_bulk(struct zsx_pool *pool, const size_t *sizes, unsigned int nr, gfp_t gfp,
		    int nid, unsigned long *handles)
{
	unsigned int i, done = 0;
	struct stock stock;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		err = check_size(sizes[i]);
	if (err)
		return err;

	stock_init(&stock, gfp, nid);
	while (done < nr && !err) {
		unsigned int batch = min(nr - done, BATCH);

		if (malloc_batch(pool, &stock, sizes + done, batch, handles + done))
			done += batch;
		else
			err = -ENOMEM;
	}
	zsx_loose_free(&stock.loose);
	if (err)
		zsx_free_bulk(pool, handles, done);
	return err;
}
EXPORT_SYMBOL_GPL(zsx_malloc_bulk);

/*
 * The class to look for an object in: the object's, if it is one. Else any: it is not
 * found there.
 */
static unsigned int class_to_try(struct zsx_pool *pool, const struct zsx_handle *h)
{
	struct zsx_class *class;
	unsigned int i = 0;

	if (ZSX_LAYOUT.class_bits) {
		i = zsx_location_class(ZSX_LAYOUT, zsx_location_read(h));
		return likely(i < pool->nr_classes) ? i : 0;
	}
	rcu_read_lock();
	class = guess_class(pool, zsx_location_read(h));
	if (class)
		i = class - pool->classes;
	rcu_read_unlock();
	return i;
}

/*
 * Free the objects of one run.
 *
 * Return: Those that were not found, a bit each.
 */
static u32 free_run(struct zsx_class *class, const struct runs *runs, unsigned int i,
		    const unsigned long *handles, struct zsx_loose *loose)
{
	u32 not_found = 0;

	zsx_race_point(ZSX_POINT_LOOKED, NULL);
	spin_lock(&class->lock);
	for (;;) {
		zsx_location_t loc = zsx_location_read(zsx_handle_of(handles[i]));
		struct zsx_zspage *zspage = find_object(class, handles[i], loc, zsx_is_hardened());

		if (likely(zspage))
			leave_slot(class, zspage, handles[i], loc, loose);
		else
			not_found |= 1U << i;
		if (!runs->next[i])
			break;
		i = runs->next[i] - 1;
	}
	spin_unlock(&class->lock);
	return not_found;
}

/*
 * Three walks over the batch, so that the lines that each of them waits for come
 * together: the handles' words, the descriptors, the rest. @handles is used up.
 */
static void free_batch(struct zsx_pool *pool, unsigned long *handles, unsigned int nr)
{
	struct zsx_loose loose __uninitialized;
	unsigned int i, nr_freed = 0;
	struct runs runs = {};
	u32 not_found = 0;

	for (i = 0; i < nr; i++)
		prefetchw(zsx_handle_of(handles[i]));
	for (i = 0; i < nr; i++)
		prefetchw(zsx_zspage_of(zsx_location_read(zsx_handle_of(handles[i]))));
	for (i = nr; i--; )
		add_to_run(&runs, class_to_try(pool, zsx_handle_of(handles[i])), i);

	zsx_loose_init(&loose);
	for (i = 0; i < nr; i++)
		if (begins_run(&runs, i))
			not_found |= free_run(&pool->classes[runs.class[i]], &runs, i, handles,
					      &loose);
	zsx_loose_free(&loose);

	for (i = 0; i < nr; i++) {
		if (unlikely(not_found >> i & 1)) {
			zsx_free(pool, handles[i]);
			continue;
		}
		if (zsx_is_hardened())
			zsx_remember_free(handles[i]);
		handles[nr_freed++] = handles[i];
	}
	if (nr_freed)
		kmem_cache_free_bulk(handle_cache, nr_freed, (void **)handles);
}

void zsx_free_bulk(struct zsx_pool *pool, const unsigned long *handles, unsigned int nr)
{
	unsigned long batch[BATCH] __uninitialized;
	unsigned int i, nr_batch = 0;

	for (i = 0; i < nr; i++) {
		if (IS_ERR_OR_NULL((void *)handles[i]))
			continue;
		/* A batch reads each word first. */
		if (zsx_is_hardened() && !zsx_may_be_handle(handles[i])) {
			zsx_free(pool, handles[i]);
			continue;
		}
		batch[nr_batch++] = handles[i];
		if (nr_batch == BATCH) {
			free_batch(pool, batch, nr_batch);
			nr_batch = 0;
		}
	}
	free_batch(pool, batch, nr_batch);
}
EXPORT_SYMBOL_GPL(zsx_free_bulk);

/* === The module's beginning and end ====================================== */

static int __init zsx_init(void)
{
	int err;

	err = zsx_class_table_fill(&zsx_classes, PAGE_SHIFT, chain_limit);
	if (err) {
		pr_err("zsx: no size classes: chain_limit=%u must be 1 to %u, and pages of %lu bytes at most 65536\n",
		       chain_limit, ZSX_MAX_PAGES, PAGE_SIZE);
		return err;
	}

	/* Apart from others' objects of 8 bytes: what a freed handle holds is known. */
	handle_cache = kmem_cache_create("zsx_handle", sizeof(struct zsx_handle),
					 sizeof(struct zsx_handle), SLAB_NO_MERGE,
					 NULL);
	if (!handle_cache)
		return -ENOMEM;
	err = zsx_harden_init();
	if (err)
		goto destroy_handles;
	err = zsx_zspage_init();
	if (err)
		goto stop_hardening;
	err = zsx_access_init();
	if (err)
		goto destroy_zspages;
	zsx_migrate_init();
	zsx_debugfs_init();
	zsx_is_ready = true;
	return 0;

destroy_zspages:
	zsx_zspage_exit();
stop_hardening:
	zsx_harden_exit();
destroy_handles:
	kmem_cache_destroy(handle_cache);
	return err;
}

/* No pool is left: each holds a reference on the module. */
static void __exit zsx_exit(void)
{
	zsx_debugfs_exit();
	zsx_migrate_exit();
	zsx_access_exit();
	zsx_zspage_exit();
	zsx_harden_exit();
	kmem_cache_destroy(handle_cache);
}

module_init(zsx_init);
module_exit(zsx_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Dense allocator for compressed pages");
MODULE_AUTHOR("The zsx authors");
MODULE_VERSION(ZSX_VERSION);
