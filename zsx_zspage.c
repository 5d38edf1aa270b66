// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_zspage.c - one zspage: its pages, its slots, its place among the others
 *
 * A zspage is sparse: a page is held only while a live object touches it. Pages come
 * and go, and slots are taken and lost, by four functions under class->lock:
 *
 *   zsx_zspage_install()  a page comes in
 *   zsx_zspage_take()     a slot gets an object
 *   zsx_zspage_put()      a slot loses its object, and settles:
 *   zsx_settle()          pages that nothing touches come loose, and so does a
 *                         zspage without objects; what is isolated stays
 *
 * But for two: compaction clears the slots of what it moved, and settles once for a unit
 * (move_object()); page migration exchanges an isolated page (replace_page()).
 *
 * What came loose is collected in a struct zsx_loose by whoever holds the lock,
 * and given back by the same one after the lock: so each thing is freed exactly
 * once, and the page allocator's and slab's locks are never taken inside
 * class->lock.
 */
#include <linux/slab.h>

#include "zsx_internal.h"
#include "zsx_trace.h"

/* === Descriptors ========================================================= */

#define MAX_DESC_SIZE	2048

/* One cache a size that some class needs. Constant after module init. */
static struct kmem_cache *desc_caches[(MAX_DESC_SIZE >> ZSX_FRAME_SHIFT) + 1];

atomic_long_t zsx_highest_frame __read_mostly;
EXPORT_SYMBOL_IF_KUNIT(zsx_highest_frame);

/* A long holds it: zsx_zspage_alloc() refuses others, which only 32-bit machines could have. */
static void note_frame(long frame)
{
	long seen = atomic_long_read(&zsx_highest_frame);

	while (seen < frame &&
	       !atomic_long_try_cmpxchg(&zsx_highest_frame, &seen, frame))
		;
}

/*
 * A second look for a frame that seemed too high: it may be a descriptor's that another CPU
 * got meanwhile. The bound was raised before the location that was read was written: pairs
 * with note_frame() and the release of class->lock that follows it.
 */
bool zsx_frame_now_known(u64 frame)
{
	smp_rmb(); /* The location, then the highest. */
	return frame && frame <= atomic_long_read(&zsx_highest_frame);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_frame_now_known);

static struct kmem_cache **desc_cache(const struct zsx_geometry *geo)
{
	return &desc_caches[geo->desc_size >> ZSX_FRAME_SHIFT];
}

/*
 * Runs once for the life of a slab page, not of a descriptor: what readers with
 * stale locations touch stays what it is over reuse.
 */
static void desc_ctor(void *obj)
{
	struct zsx_zspage *zspage = obj;

	atomic_set(&zspage->pins, 0);
	zspage->group = ZSX_NOT_LINKED;
	zspage->class = NULL;
}

static struct kmem_cache *desc_cache_create(unsigned int desc_size)
{
	char name[sizeof("zsx_zspage_") + 10];

	snprintf(name, sizeof(name), "zsx_zspage_%u", desc_size);
	/*
	 * A word less than desc_size: SLUB puts its free pointer behind an
	 * object with a constructor, and fills the size up with it.
	 */
	return kmem_cache_create(name, desc_size - sizeof(void *),
				 1U << ZSX_FRAME_SHIFT, SLAB_TYPESAFE_BY_RCU,
				 desc_ctor);
}

int zsx_zspage_init(void)
{
	unsigned int i;

	for (i = 0; i < zsx_classes.nr_classes; i++) {
		const struct zsx_geometry *geo = &zsx_classes.geo[i];
		struct kmem_cache **cache = desc_cache(geo);

		if (!*cache)
			*cache = desc_cache_create(geo->desc_size);
		if (!*cache) {
			zsx_zspage_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void zsx_zspage_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(desc_caches); i++) {
		kmem_cache_destroy(desc_caches[i]);
		desc_caches[i] = NULL;
	}
}

static bool is_nameable(u64 phys)
{
	return zsx_frame_fits(ZSX_LAYOUT, phys) && phys >> ZSX_FRAME_SHIFT <= LONG_MAX;
}

/**
 * zsx_zspage_alloc() - make a zspage without pages
 * @class: its class
 * @gfp: how memory may be got; flags that slab can't use are taken off
 * @nid: where, or NUMA_NO_NODE
 *
 * A descriptor that a location can't name is refused, not truncated.
 *
 * Return: The zspage, not linked; NULL if memory is short.
 */
struct zsx_zspage *zsx_zspage_alloc(struct zsx_class *class, gfp_t gfp, int nid)
{
	const struct zsx_geometry *geo = class->geo;
	struct kmem_cache *cache = *desc_cache(geo);
	struct zsx_zspage *zspage;

	KUNIT_STATIC_STUB_REDIRECT(zsx_zspage_alloc, class, gfp, nid);

	gfp &= ~(__GFP_HIGHMEM | __GFP_MOVABLE | __GFP_ZERO);
	zspage = kmem_cache_alloc_node(cache, gfp, nid);
	if (!zspage)
		return NULL;
	if (unlikely(!is_nameable(__pa(zspage)))) {
		pr_warn_once("zsx: a descriptor's address has too many bits\n");
		kmem_cache_free(cache, zspage);
		return NULL;
	}
	note_frame(__pa(zspage) >> ZSX_FRAME_SHIFT);
	/* The address that locations give, without slab's KASAN tag: the only one. */
	zspage = __va(__pa(zspage));

	/* Not pins: a reader may hold one just now. Not group: ZSX_NOT_LINKED still. */
	zspage->nr_inuse = 0;
	zspage->isolated = 0;
	zspage->inuse = (struct zsx_slots) {};
	zspage->present = (struct zsx_slots) {};
	memset(zspage->pages, 0, geo->nr_pages * sizeof(zspage->pages[0]));
	/* Last: pairs with guess_class(), class_of() and isolate_page(). */
	smp_store_release(&zspage->class, class);
	trace_zsx_zspage_build(zspage);
	return zspage;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_alloc);

/* @zspage: NULL, or one without pages that is not linked. */
void zsx_zspage_free(struct zsx_zspage *zspage)
{
	if (!zspage)
		return;
	trace_zsx_zspage_free(zspage);
	kmem_cache_free(*desc_cache(zspage->class->geo), zspage);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_free);

/* === Pages =============================================================== */

/* So many pages are got or given back in one call of the page allocator. */
#define PAGES_AT_ONCE	16U

static gfp_t page_gfp(gfp_t gfp)
{
	gfp &= ~__GFP_ZERO;
	return zsx_movable ? gfp : gfp & ~__GFP_MOVABLE;
}

/* Return: @page, ready for a zspage; NULL if it was NULL, or can't be, and was freed. */
static struct page *prepare_page(struct page *page)
{
	if (!page)
		return NULL;
	/* page->private is 0: who finds the mark finds no zspage yet. */
	if (!zsx_page_mark_movable(page)) {
		__free_page(page);
		return NULL;
	}
	return page;
}

/* A page is in the zone's counter from here to zsx_page_free(), or zsx_loose_free(). */
struct page *zsx_page_alloc(gfp_t gfp, int nid)
{
	struct page *page;

	KUNIT_STATIC_STUB_REDIRECT(zsx_page_alloc, gfp, nid);

	page = prepare_page(alloc_pages_node(nid, page_gfp(gfp), 0));
	if (page)
		compat_count_zspage_pages(page_zone(page), 1);
	return page;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_page_alloc);

/**
 * zsx_page_alloc_bulk() - get pages, where that can be had cheaply
 * @gfp: how
 * @nid: where, or NUMA_NO_NODE
 * @nr: how many would be good
 * @loose: they are added to it; fewer than @nr, or none, if the page allocator hasn't
 *	got so many at hand
 */
void zsx_page_alloc_bulk(gfp_t gfp, int nid, unsigned int nr, struct zsx_loose *loose)
{
	unsigned int i, got;

	KUNIT_STATIC_STUB_REDIRECT(zsx_page_alloc_bulk, gfp, nid, nr, loose);

	do {
		struct page *pages[PAGES_AT_ONCE] = {};
		unsigned int wanted = min(nr, PAGES_AT_ONCE);

		got = compat_alloc_pages_bulk(page_gfp(gfp), nid, wanted, pages);
		for (i = 0; i < got; i++) {
			struct page *page = prepare_page(pages[i]);

			if (!page)
				continue;
			compat_count_zspage_pages(page_zone(page), 1);
			zsx_loose_add_page(loose, page);
		}
		nr -= wanted;
	} while (nr && got);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_page_alloc_bulk);

/* @page: NULL, or a page that is in no zspage. */
void zsx_page_free(struct page *page)
{
	if (!page)
		return;
	compat_count_zspage_pages(page_zone(page), -1);
	__free_page(page);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_page_free);

/* @pages are all of one zone. */
static void free_pages_of_zone(struct page **pages, unsigned int nr)
{
	compat_count_zspage_pages(page_zone(pages[0]), -(long)nr);
	release_pages(pages, nr);
}

static void free_page_list(struct list_head *list)
{
	struct page *pages[PAGES_AT_ONCE] __uninitialized;
	struct page *page, *next;
	unsigned int nr = 0;

	list_for_each_entry_safe(page, next, list, lru) {
		if (nr == PAGES_AT_ONCE || (nr && page_zone(page) != page_zone(pages[0]))) {
			free_pages_of_zone(pages, nr);
			nr = 0;
		}
		pages[nr++] = page;
	}
	if (nr)
		free_pages_of_zone(pages, nr);
}

/* The slots whose pages are all present, as pages[] says (I4). */
static struct zsx_slots present_slots(const struct zsx_geometry *geo,
				      const struct zsx_zspage *zspage)
{
	struct zsx_slots present = zsx_slots_range(0, geo->nr_objects - 1);
	unsigned int page;

	for (page = 0; page < geo->nr_pages; page++)
		if (!zsx_zspage_page(zspage, page))
			present = zsx_slots_without(present,
						    zsx_slots_on_page(geo, page));
	return present;
}

/*
 * The slots that page @i decides about: those on it that lack no other page. No object
 * touches more than two, so none but the next pages on either side matter.
 */
static struct zsx_slots slots_by_page(const struct zsx_geometry *geo,
				      const struct zsx_zspage *zspage, unsigned int i)
{
	struct zsx_slots slots = zsx_slots_on_page(geo, i);

	if (i && !zsx_zspage_page(zspage, i - 1))
		slots = zsx_slots_without(slots, zsx_slots_on_page(geo, i - 1));
	if (i + 1 < geo->nr_pages && !zsx_zspage_page(zspage, i + 1))
		slots = zsx_slots_without(slots, zsx_slots_on_page(geo, i + 1));
	return slots;
}

/* The lowest place without a page; nr_pages if there is none. */
unsigned int zsx_zspage_lowest_absent(const struct zsx_geometry *geo,
				      const struct zsx_zspage *zspage)
{
	unsigned int i = 0;

	while (i < geo->nr_pages && zsx_zspage_page(zspage, i))
		i++;
	return i;
}

/**
 * zsx_zspage_install() - put a page at the lowest missing place of a zspage
 * @class: its class
 * @zspage: not full; without a free present slot
 * @page: from zsx_page_alloc()
 *
 * A slot is free and present afterwards: for the lowest missing page there is
 * always a slot that lacks only that page (design.rst, "Growing"). The caller
 * takes one before it drops the lock (I1).
 */
void zsx_zspage_install(struct zsx_class *class, struct zsx_zspage *zspage,
			struct page *page)
{
	unsigned int i = zsx_zspage_lowest_absent(class->geo, zspage);
	struct zsx_slots came = slots_by_page(class->geo, zspage, i);

	lockdep_assert_held(&class->lock);

	/*
	 * Release: zspage->class is seen by who finds it by the page. Pair with
	 * zspage_of_page() and index_of().
	 */
	smp_store_release(&page->private, (unsigned long)zspage);
	WRITE_ONCE(zspage->pages[i], page);
	class->pages_brought++;
	atomic_long_inc(&class->pool->nr_pages);
	zspage->present = zsx_slots_or(zspage->present, came);
	class->capacity += zsx_slots_count(came);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_install);

static struct page *take_out(struct zsx_class *class, struct zsx_zspage *zspage,
			     unsigned int i)
	__must_hold(&class->lock)
{
	struct zsx_slots gone = slots_by_page(class->geo, zspage, i);
	struct page *page = zspage->pages[i];

	/*
	 * Together, under the lock: once it is out, nobody finds us by it (I3). Pair
	 * with zspage_of_page() and index_of().
	 */
	WRITE_ONCE(page->private, 0);
	WRITE_ONCE(zspage->pages[i], NULL);
	class->pages_given_back++;
	atomic_long_dec(&class->pool->nr_pages);
	zspage->present = zsx_slots_without(zspage->present, gone);
	class->capacity -= zsx_slots_count(gone);
	return page;
}

/* === Groups ============================================================== */

static unsigned int group_of(const struct zsx_geometry *geo,
			     const struct zsx_zspage *zspage)
{
	if (zspage->nr_inuse == geo->nr_objects)
		return ZSX_FULL;
	if (zsx_slots_empty(zsx_slots_without(zspage->present, zspage->inuse)))
		return ZSX_GROWABLE;
	return zsx_inuse_ratio(geo, zspage->nr_inuse);
}

/* nonempty: pairs with may_have_room(). */
static void unlink_zspage(struct zsx_class *class, struct zsx_zspage *zspage)
	__must_hold(&class->lock)
{
	unsigned int group = zspage->group;

	if (group == ZSX_NOT_LINKED)
		return;
	__list_del_entry(&zspage->list);
	class->nr_zspages[group]--;
	if (group < ZSX_NR_RATIOS && !class->nr_zspages[group])
		WRITE_ONCE(class->nonempty, class->nonempty & ~(1U << group));
	zspage->group = ZSX_NOT_LINKED;
}

static void link_zspage(struct zsx_class *class, struct zsx_zspage *zspage,
			unsigned int group, bool at_tail)
	__must_hold(&class->lock)
{
	if (at_tail)
		list_add_tail(&zspage->list, &class->groups[group]);
	else
		list_add(&zspage->list, &class->groups[group]);
	class->nr_zspages[group]++;
	zspage->group = group;
}

/*
 * Put a zspage where it belongs now. One that became growable because it lost a
 * page goes last, so that it may drain; one that filled up goes first.
 */
static void regroup(struct zsx_class *class, struct zsx_zspage *zspage,
		    bool lost_page)
	__must_hold(&class->lock)
{
	unsigned int group = group_of(class->geo, zspage);

	if (group == zspage->group)
		return;
	/* Before unlink_zspage() clears the old bit: may_have_room() must not see 0 in between. */
	if (group < ZSX_NR_RATIOS)
		WRITE_ONCE(class->nonempty, class->nonempty | 1U << group);
	unlink_zspage(class, zspage);
	link_zspage(class, zspage, group, group == ZSX_GROWABLE && lost_page);
}

/* === Slots =============================================================== */

static void debug_check(const struct zsx_class *class, struct zsx_zspage *zspage)
{
	const char *broken;

	lockdep_assert_held(&class->lock);

	if (!ZSX_DEBUG)
		return;
	broken = zsx_zspage_check(class, zspage);
	WARN_ONCE(broken, "zsx: class of %u bytes: %s\n", class->geo->size,
		  broken);
}

static zsx_location_t location(const struct zsx_geometry *geo,
			       const struct zsx_zspage *zspage, unsigned int i)
{
	return zsx_location(ZSX_LAYOUT, __pa(zspage), geo - zsx_classes.geo, i);
}

/**
 * zsx_zspage_take() - give the lowest free present slot to an object
 * @class: its class
 * @zspage: one with a free present slot
 * @handle: the object's, to be found by when the object is to be moved
 *
 * Return: The object's location.
 */
zsx_location_t zsx_zspage_take(struct zsx_class *class,
			       struct zsx_zspage *zspage, unsigned long handle)
{
	const struct zsx_geometry *geo = class->geo;
	unsigned int i;

	lockdep_assert_held(&class->lock);

	i = zsx_slots_first(zsx_slots_without(zspage->present, zspage->inuse));
	zsx_slots_set(&zspage->inuse, i);
	zspage->nr_inuse++;
	zsx_zspage_handles(geo, zspage)[i] = handle;
	regroup(class, zspage, false);
	debug_check(class, zspage);
	return location(geo, zspage, i);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_take);

/* It reads the descriptor's first line alone, unlike a look at pages[]: ask it first. */
static bool is_touched(const struct zsx_geometry *geo, const struct zsx_zspage *zspage,
		       unsigned int page)
{
	return !zsx_slots_empty(zsx_slots_and(zspage->inuse, zsx_slots_on_page(geo, page)));
}

/**
 * zsx_settle() - let go of what no object touches
 * @class: the zspage's class
 * @zspage: the zspage, linked
 * @first_page: the first page that may have become unused
 * @last_page: the last one
 * @loose: what came loose is added to it, and zsx_loose_free() gives it back
 *
 * Nothing else takes pages out or ends a zspage.
 */
void zsx_settle(struct zsx_class *class, struct zsx_zspage *zspage,
		unsigned int first_page, unsigned int last_page,
		struct zsx_loose *loose)
{
	const struct zsx_geometry *geo = class->geo;
	bool lost_page = false;
	unsigned int i;

	lockdep_assert_held(&class->lock);

	for (i = first_page; i <= last_page; i++) {
		if (is_touched(geo, zspage, i) || !zsx_zspage_page(zspage, i) ||
		    zspage->isolated >> i & 1)
			continue;
		zsx_loose_add_page(loose, take_out(class, zspage, i));
		lost_page = true;
	}
	/* Not nr_inuse: read together with @isolated, it would wait for the byte just stored. */
	if (!zsx_slots_empty(zspage->inuse) || zspage->isolated) {
		regroup(class, zspage, lost_page);
	} else {
		unlink_zspage(class, zspage);
		list_add(&zspage->list, &loose->zspages);
	}
	debug_check(class, zspage);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_settle);

/**
 * zsx_zspage_put() - a slot's object is gone
 * @class: the zspage's class
 * @zspage: the zspage
 * @index: the slot, in use
 * @loose: what came loose by it is added to it
 */
void zsx_zspage_put(struct zsx_class *class, struct zsx_zspage *zspage,
		    unsigned int index, struct zsx_loose *loose)
{
	const struct zsx_geometry *geo = class->geo;
	unsigned int first_page = zsx_offset(geo, index) >> PAGE_SHIFT;
	unsigned int last_page = zsx_last_page(geo, index, PAGE_SHIFT);

	lockdep_assert_held(&class->lock);

	zsx_slots_clear(&zspage->inuse, index);
	zspage->nr_inuse--;
	/* No other page has lost an object. */
	if (likely(is_touched(geo, zspage, first_page) &&
		   (last_page == first_page || is_touched(geo, zspage, last_page)))) {
		regroup(class, zspage, false);
		debug_check(class, zspage);
	} else {
		zsx_settle(class, zspage, first_page, last_page, loose);
	}
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_put);

/* Outside class->lock. */
void zsx_loose_free(struct zsx_loose *loose)
{
	struct zsx_zspage *zspage, *next;

	KUNIT_STATIC_STUB_REDIRECT(zsx_loose_free, loose);

	if (loose->nr_pages == 1)
		zsx_page_free(zsx_loose_take_page(loose));
	else
		free_page_list(&loose->pages);
	list_for_each_entry_safe(zspage, next, &loose->zspages, list)
		zsx_zspage_free(zspage);
}
EXPORT_SYMBOL_IF_KUNIT(zsx_loose_free);

/* === The invariants' checker ============================================= */

/**
 * zsx_zspage_check() - recount all that can be derived from pages[] and @inuse
 * @class: the zspage's class; its lock is held, or nobody else uses it
 * @zspage: the zspage
 *
 * Return: NULL, or which invariant is broken.
 */
const char *zsx_zspage_check(const struct zsx_class *class,
			     struct zsx_zspage *zspage)
{
	const struct zsx_geometry *geo = class->geo;
	bool live = zspage->group != ZSX_NOT_LINKED;
	unsigned int i;

	if (zspage->class != class)
		return "a zspage of another class";
	for (i = 0; i < geo->nr_pages; i++) {
		struct page *page = zsx_zspage_page(zspage, i);

		if (!page && zspage->isolated >> i & 1)
			return "an isolated page that is not there";
		if (!page || zspage->isolated >> i & 1)
			continue;
		if (zsx_slots_empty(zsx_slots_and(zspage->inuse,
						  zsx_slots_on_page(geo, i))))
			return "I1: a page that no object touches";
		if (page_private(page) != (unsigned long)zspage)
			return "I3: a page that names another zspage";
	}
	if (!zsx_slots_empty(zsx_slots_without(zspage->inuse, zspage->present)))
		return "I2: an object without its pages";
	if (zspage->nr_inuse != zsx_slots_count(zspage->inuse))
		return "I2: a wrong number of objects";
	if (live != (zspage->nr_inuse || zspage->isolated))
		return "I2: a zspage with nothing in it that is linked, or the reverse";
	if (!zsx_slots_equal(zspage->present, present_slots(geo, zspage)))
		return "I4: present slots that pages[] doesn't have";
	if (live && zspage->group != group_of(geo, zspage))
		return "a zspage in the wrong group";
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_zspage_check);

static const char *check_handles(const struct zsx_geometry *geo,
				 struct zsx_zspage *zspage)
{
	unsigned int i;

	for (i = 0; i < geo->nr_objects; i++) {
		unsigned long handle = zsx_zspage_handles(geo, zspage)[i];

		if (zsx_slots_test(&zspage->inuse, i) &&
		    zsx_location_read(zsx_handle_of(handle)).v !=
		    location(geo, zspage, i).v)
			return "I5: an object whose handle names another place";
	}
	return NULL;
}

/**
 * zsx_class_check() - check every zspage of a class, its handles, and the class's sums
 * @class: the class
 *
 * Walks all zspages under class->lock: for tests.
 *
 * Return: NULL, or what is wrong.
 */
const char *zsx_class_check(struct zsx_class *class)
{
	unsigned long objects = 0, pages = 0, capacity = 0;
	const char *broken = NULL;
	unsigned int group, i;

	spin_lock(&class->lock);
	for (group = 0; group < ZSX_NR_GROUPS && !broken; group++) {
		unsigned int nr = 0;
		struct zsx_zspage *zspage;

		list_for_each_entry(zspage, &class->groups[group], list) {
			if (!broken)
				broken = zsx_zspage_check(class, zspage) ?:
					 check_handles(class->geo, zspage);
			if (zspage->group != group)
				broken = "a zspage on another group's list";
			nr++;
			objects += zspage->nr_inuse;
			capacity += zsx_slots_count(zspage->present);
			for (i = 0; i < class->geo->nr_pages; i++)
				pages += !!zsx_zspage_page(zspage, i);
		}
		if (nr != class->nr_zspages[group])
			broken = "a wrong number of zspages in a group";
		if (group < ZSX_NR_RATIOS && !nr != !(class->nonempty >> group & 1))
			broken = "the mask of groups that have zspages";
	}
	if (!broken && objects != zsx_class_objects(class))
		broken = "a wrong number of objects in the class";
	if (!broken && pages != zsx_class_pages(class))
		broken = "a wrong number of pages in the class";
	if (!broken && capacity != class->capacity)
		broken = "a wrong capacity of the class";
	spin_unlock(&class->lock);
	return broken;
}
EXPORT_SYMBOL_IF_KUNIT(zsx_class_check);
