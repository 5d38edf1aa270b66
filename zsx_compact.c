// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_compact.c - objects move: between zspages of a class, and inside the last
 *
 * The m objects of a class fit in ceil(m / n) zspages and F(m) pages
 * (zsx_class_fewest_pages()). Compaction gets there in two ways. While two zspages
 * are not full, objects move from the emptier one to the fuller one; in the last
 * one that isn't full they move from the highest slots to the lowest.
 *
 * It ends without marks or cursors. Between zspages objects move to where as many are or
 * more, so the sum of the squares of the numbers of objects grows with each move; inside a
 * zspage the sum of the indices falls. But a zspage that is being read is no source: while
 * that is so, one with more objects may be emptied into it. max_units() ends that.
 *
 * The unit of work is one page of the source: the objects that touch it, at most
 * three pages of copying. The lock and the pins are held for one unit.
 *
 * Only a source has to be at rest. One that is busy, read or with an isolated page, is
 * passed over, not waited for: it goes to the front of its list, and sources are taken
 * from the end. So the next look sees others, and malloc, which takes the first, fills what
 * can't be emptied now. A destination may be busy; it is pinned as by a reader.
 */
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "zsx_internal.h"
#include "zsx_trace.h"

/*
 * How many zspages a unit looks at under the lock to find a destination, a source among
 * those with room, and one among the growable.
 */
#define LOOK_AT		16U

/*
 * So many pages that the source gave are kept for the destination to grow. At most
 * three objects of a class that needs it touch a page, and three pages hold them.
 */
#define HAND		3

/* More pages than there are, with room for sums. */
#define ALL_PAGES	(LONG_MAX / 2)

/**
 * struct compaction - a class being compacted
 * @class: the class
 * @hand: pages for a destination to grow: the source gave them, or they were got
 * @nr_hand: how many
 * @may_grow: in this unit, the destination
 * @needs_page: the last unit could do more with a page more in hand
 * @no_memory: there was none for @hand: only present slots are filled from here on
 * @again: the last unit couldn't pin its pair, or passed over busy zspages: try another
 * @passed: how many zspages were passed over in each group since a move changed its
 *	list: so many stand first in it, unless others changed it with the lock dropped
 * @nr_passes: how often one was passed over
 * @nr_copied: objects moved
 * @nr_emptied: pages that lost their last object
 * @nr_ended: zspages that did
 * @nr_steps: looks at the source to find them
 * @longest_hold: of the lock, in ns
 * @freed: pages given back to the system, less those got from it
 */
struct compaction {
	struct zsx_class *class;
	struct page *hand[HAND];
	unsigned int nr_hand;
	bool may_grow;
	bool needs_page;
	bool no_memory;
	bool again;
	unsigned int passed[ZSX_FULL];
	unsigned long nr_passes;
	unsigned long nr_copied;
	unsigned long nr_emptied;
	unsigned long nr_ended;
	unsigned long nr_steps;
	u64 longest_hold;
	long freed;
};

/* === Choosing ============================================================ */

/*
 * Within a group, sources are taken from high descriptors and destinations from low
 * ones, so that slab pages of descriptors become free too. The numbers of objects
 * differ by a tenth at most there: taking the emptiest saves 2 % of the copies, and
 * leaves 0.06 % more memory held (scripts/density).
 */
static bool lies_higher(const struct zsx_zspage *a, const struct zsx_zspage *b)
{
	return a > b;
}

static bool lies_lower(const struct zsx_zspage *a, const struct zsx_zspage *b)
{
	return a < b;
}

static bool has_fewer(const struct zsx_zspage *a, const struct zsx_zspage *b)
{
	return a->nr_inuse < b->nr_inuse;
}

static bool has_more(const struct zsx_zspage *a, const struct zsx_zspage *b)
{
	return a->nr_inuse > b->nr_inuse;
}

/* Somebody reads or writes in it, or has isolated a page, which can't be won then. */
static bool is_busy(const struct zsx_zspage *zspage)
{
	return zspage->isolated || atomic_read(&zspage->pins);
}

static void pass_over(struct compaction *c, struct zsx_zspage *zspage)
	__must_hold(&c->class->lock)
{
	list_move(&zspage->list, &c->class->groups[zspage->group]);
	c->passed[zspage->group]++;
	c->nr_passes++;
	c->again = true;
}

/*
 * The best of the last zspages of a group, and @best; those that were passed over apart.
 * @looks: how many may still be looked at
 */
static struct zsx_zspage *
best_source(struct compaction *c, unsigned int group, unsigned int *looks,
	    bool (*better)(const struct zsx_zspage *a, const struct zsx_zspage *b),
	    struct zsx_zspage *best, const struct zsx_zspage *except)
	__must_hold(&c->class->lock)
{
	struct list_head *at = c->class->groups[group].prev;
	unsigned int unseen;

	unseen = c->class->nr_zspages[group] - min(c->class->nr_zspages[group],
						   c->passed[group]);
	for (; unseen && *looks; unseen--, --*looks) {
		struct zsx_zspage *zspage = list_entry(at, struct zsx_zspage, list);

		at = at->prev;
		if (zspage == except)
			continue;
		if (is_busy(zspage))
			pass_over(c, zspage);
		else if (!best || better(zspage, best))
			best = zspage;
	}
	return best;
}

/*
 * The best of the first zspages of a group. Not one that is being moved just now; nor
 * one without objects: it has isolated pages alone, and is about to end.
 */
static struct zsx_zspage *
best_destination(const struct compaction *c, unsigned int group, unsigned int *looks,
		 bool (*better)(const struct zsx_zspage *a, const struct zsx_zspage *b))
	__must_hold(&c->class->lock)
{
	struct zsx_zspage *zspage, *best = NULL;

	list_for_each_entry(zspage, &c->class->groups[group], list) {
		if (!*looks)
			break;
		--*looks;
		if (zspage->nr_inuse && atomic_read(&zspage->pins) >= 0 &&
		    (!best || better(zspage, best)))
			best = zspage;
	}
	return best;
}

/* Of the fullest group that has one; a growable one if no other has room. */
static struct zsx_zspage *find_destination(const struct compaction *c)
	__must_hold(&c->class->lock)
{
	struct zsx_zspage *zspage = NULL;
	unsigned int group, looks = LOOK_AT;

	for (group = ZSX_NR_RATIOS; group-- && !zspage; )
		zspage = best_destination(c, group, &looks, lies_lower);
	return zspage ?: best_destination(c, ZSX_GROWABLE, &looks, has_more);
}

/*
 * Of the lowest group that has one; or of the growable ones, which may have any
 * number of objects, one with fewer. One with more than the destination would become
 * the destination, and needs a page to be that: then only if there is no other.
 */
static struct zsx_zspage *find_source(struct compaction *c,
				      const struct zsx_zspage *destination)
	__must_hold(&c->class->lock)
{
	struct zsx_zspage *roomy = NULL, *best;
	unsigned int group, looks = LOOK_AT;

	for (group = 0; group < ZSX_NR_RATIOS && !roomy; group++)
		roomy = best_source(c, group, &looks, lies_higher, NULL, destination);
	looks = LOOK_AT;
	best = best_source(c, ZSX_GROWABLE, &looks, has_fewer, roomy, destination);
	if (roomy && best->nr_inuse > destination->nr_inuse)
		return roomy;
	return best;
}

/* The page of @zspage that the fewest objects touch. */
static unsigned int cheapest_page(const struct zsx_geometry *geo,
				  const struct zsx_zspage *zspage)
{
	unsigned int i, best = 0, fewest = ZSX_MAX_OBJECTS + 1;

	for (i = 0; i < geo->nr_pages; i++) {
		struct zsx_slots users = zsx_slots_and(zspage->inuse,
						       zsx_slots_on_page(geo, i));
		unsigned int nr = zsx_slots_count(users);

		if (nr && nr < fewest) {
			fewest = nr;
			best = i;
		}
	}
	return best;
}

/* The highest page that an object touches. */
static unsigned int highest_page(const struct zsx_geometry *geo,
				 const struct zsx_zspage *zspage)
{
	return zsx_last_page(geo, zsx_slots_last(zspage->inuse), PAGE_SHIFT);
}

/* === Moving ============================================================== */

/* Source and destination span two pages at different places: up to three pieces. */
static void copy_slot(const struct zsx_geometry *geo, struct zsx_zspage *to,
		      unsigned int to_index, struct zsx_zspage *from,
		      unsigned int from_index)
{
	unsigned int t = zsx_offset(geo, to_index);
	unsigned int f = zsx_offset(geo, from_index);
	unsigned int left, len;

	for (left = geo->size; left; left -= len, t += len, f += len) {
		len = min3(left, (unsigned int)(PAGE_SIZE - offset_in_page(t)),
			   (unsigned int)(PAGE_SIZE - offset_in_page(f)));
		memcpy_page(to->pages[t >> PAGE_SHIFT], offset_in_page(t),
			    from->pages[f >> PAGE_SHIFT], offset_in_page(f), len);
	}
}

/*
 * Move the object in slot @i of @from to the lowest free present slot of @to. The
 * caller holds the write pin of @from, and settles it; and has a shared pin on @to,
 * if it is another.
 */
static void move_object(struct compaction *c, struct zsx_zspage *from,
			unsigned int i, struct zsx_zspage *to)
	__must_hold(&c->class->lock)
{
	const struct zsx_geometry *geo = c->class->geo;
	unsigned long handle = zsx_zspage_handles(geo, from)[i];
	zsx_location_t loc = zsx_zspage_take(c->class, to, handle);

	copy_slot(geo, to, zsx_location_index(ZSX_LAYOUT, loc), from, i);
	zsx_race_point(ZSX_POINT_COPIED, to);
	/* After the copy: pairs with the reader's second look. */
	zsx_location_publish(c->class, zsx_handle_of(handle), loc);
	zsx_slots_clear(&from->inuse, i);
	from->nr_inuse--;
	c->nr_copied++;
}

static struct zsx_slots free_slots(const struct zsx_zspage *zspage)
{
	return zsx_slots_without(zspage->present, zspage->inuse);
}

/*
 * Grow @zspage from the hand, below page @limit. The caller takes a slot in the same
 * lock section.
 */
static bool grow(struct compaction *c, struct zsx_zspage *zspage, unsigned int limit)
	__must_hold(&c->class->lock)
{
	if (!c->may_grow ||
	    zsx_zspage_lowest_absent(c->class->geo, zspage) >= limit)
		return false;
	if (!c->nr_hand) {
		c->needs_page = !c->no_memory;
		return false;
	}
	zsx_zspage_install(c->class, zspage, c->hand[--c->nr_hand]);
	return true;
}

/*
 * How many of @slots would be free and present in @zspage, had it the pages in hand
 * too, at its lowest missing places.
 */
static unsigned int count_room(const struct compaction *c,
			       const struct zsx_zspage *zspage,
			       struct zsx_slots slots)
{
	const struct zsx_geometry *geo = c->class->geo;
	unsigned int i, nr_hand = c->nr_hand;

	for (i = 0; i < geo->nr_pages; i++) {
		if (zsx_zspage_page(zspage, i))
			continue;
		if (nr_hand)
			nr_hand--;
		else
			slots = zsx_slots_without(slots, zsx_slots_on_page(geo, i));
	}
	return zsx_slots_count(zsx_slots_without(slots, zspage->inuse));
}

/*
 * Plan a unit that moves @nr objects of @from to free slots of @slots in @to: say whether
 * @to may grow in it, and return whether it may begin. Growing pays only if the pages in hand
 * make room for @nr objects, or for as many as @to can take: else there would be a page more
 * than before, should memory be short. If one more page could help, @needs_page says so, and
 * nothing begins; if there is no memory for it, present slots are filled without.
 */
static bool plan_unit(struct compaction *c, const struct zsx_zspage *from,
		      unsigned int nr, const struct zsx_zspage *to,
		      struct zsx_slots slots)
{
	unsigned int nr_free = zsx_slots_count(zsx_slots_without(slots, to->inuse));

	/* Inside one zspage a page is won as a whole, or not. */
	if (from == to && nr > nr_free)
		return false;
	nr = min(nr, nr_free);
	c->may_grow = c->nr_hand == HAND || count_room(c, to, slots) >= nr;
	c->needs_page = !c->may_grow && !c->no_memory;
	return !c->needs_page;
}

/* The slots that lie wholly below page @limit. */
static struct zsx_slots slots_below(const struct zsx_geometry *geo, unsigned int limit)
{
	struct zsx_slots all = zsx_slots_range(0, geo->nr_objects - 1);

	if (limit == geo->nr_pages)
		return all;
	return zsx_slots_without(all, zsx_slots_range(geo->first[limit],
						      ZSX_MAX_OBJECTS - 1));
}

/*
 * The next object to be moved: the one in the highest slot of @objects. One look at
 * the source, however few objects there are: no slot is tried.
 */
static unsigned int highest_object(struct compaction *c, struct zsx_slots objects)
{
	c->nr_steps++;
	return zsx_slots_last(objects);
}

/*
 * The unit of work: move the objects that touch one page of @from to @to, or to lower
 * pages if both are the same, as far as they find room.
 */
static void move_objects(struct compaction *c, struct zsx_zspage *from,
			 struct zsx_zspage *to)
	__must_hold(&c->class->lock)
{
	const struct zsx_geometry *geo = c->class->geo;
	unsigned int page = from == to ? highest_page(geo, from) : cheapest_page(geo, from);
	unsigned int limit = from == to ? page : geo->nr_pages;
	struct zsx_slots slots = slots_below(geo, limit);
	struct zsx_slots objects = zsx_slots_and(from->inuse,
						 zsx_slots_on_page(geo, page));

	if (!plan_unit(c, from, zsx_slots_count(objects), to, slots))
		return;
	while (!zsx_slots_empty(objects)) {
		unsigned int i;

		if (zsx_slots_empty(zsx_slots_and(free_slots(to), slots)) &&
		    !grow(c, to, limit))
			return;
		i = highest_object(c, objects);
		move_object(c, from, i, to);
		zsx_slots_clear(&objects, i);
	}
}

/* === Units =============================================================== */

static bool is_compact(const struct zsx_class *class)
	__must_hold(&class->lock)
{
	unsigned long zspages = zsx_class_zspages(class);
	unsigned long fewest = DIV_ROUND_UP(zsx_class_objects(class),
					    class->geo->nr_objects);

	return zsx_class_pages(class) <= zsx_class_fewest_pages(class) &&
	       zspages <= fewest;
}

/*
 * Whether nobody is about to isolate @page, which is in no zspage. Who does has a reference,
 * from before he looked at page->private. Were the page used again meanwhile, he would find it
 * in that zspage, having looked at another's class.
 */
static bool is_ours_alone(const struct page *page)
{
	/* private is 0, then the count: who isn't in it yet will find no zspage by the page. */
	smp_mb();
	return page_ref_count(page) == 1;
}

/*
 * Keep what came loose in hand as far as there is room, give the rest back. So is memory that
 * went bad, to be put aside, and what somebody else still looks at.
 */
static void keep_or_free(struct compaction *c, struct zsx_loose *loose)
{
	struct page *page, *next;

	c->nr_emptied += loose->nr_pages;
	c->nr_ended += !list_empty(&loose->zspages);
	list_for_each_entry_safe(page, next, &loose->pages, lru) {
		if (c->nr_hand == HAND || PageHWPoison(page) || !is_ours_alone(page))
			continue;
		zsx_loose_remove_page(loose, page);
		c->hand[c->nr_hand++] = page;
	}
	c->freed += loose->nr_pages;
	zsx_loose_free(loose);
}

static bool all_passed(const struct compaction *c, unsigned int group)
	__must_hold(&c->class->lock)
{
	return c->passed[group] >= c->class->nr_zspages[group];
}

/*
 * Keep readers off the source, and page migration off both: it copies pages without
 * class->lock. By try alone: the end of a migration wants the lock that is held here.
 */
static bool pin_pair(struct compaction *c, struct zsx_zspage *from,
		     struct zsx_zspage *to)
	__must_hold(&c->class->lock)
{
	if (from->isolated || !zsx_try_write_pin(from)) {
		/* If it is both, no other can be the source; it may have been passed over. */
		if (from != to || !all_passed(c, from->group))
			pass_over(c, from);
		c->again = from != to;
		return false;
	}
	if (from == to || zsx_try_pin(to))
		return true;
	zsx_write_unpin(from);
	c->again = true;
	return false;
}

static void unpin_pair(struct zsx_zspage *from, struct zsx_zspage *to)
{
	if (from != to)
		zsx_unpin(to);
	zsx_write_unpin(from);
}

/*
 * Choose two zspages; twice the same if all others were looked at and none can be a
 * source. The fuller one is the destination, unless it can't be: a busy one is no
 * source. So a reader that comes and goes may have objects move to and fro: what ends
 * that is max_units().
 */
static bool choose_pair(struct compaction *c, struct zsx_zspage **from,
			struct zsx_zspage **to)
	__must_hold(&c->class->lock)
{
	if (is_compact(c->class))
		return false;
	*to = find_destination(c);
	if (!*to)
		return false;
	*from = find_source(c, *to);
	if (!*from) {
		*from = *to;
		return !c->again;
	}
	if ((*from)->nr_inuse > (*to)->nr_inuse && !is_busy(*to))
		swap(*from, *to);
	return true;
}

/* A zspage left a list and joined another. Who was passed over in them isn't known now. */
static void note_move(struct compaction *c, unsigned int old, unsigned int new)
{
	if (old == new)
		return;
	if (old < ARRAY_SIZE(c->passed))
		c->passed[old] = 0;
	if (new < ARRAY_SIZE(c->passed))
		c->passed[new] = 0;
}

/*
 * One unit, in one section of the lock.
 *
 * Return: false if nothing was moved. @c->needs_page says if a page would help, and
 * @c->again if another unit may do more all the same.
 */
static bool compact_unit(struct compaction *c)
{
	struct zsx_class *class = c->class;
	struct zsx_zspage *from, *to;
	unsigned long before = c->nr_copied;
	struct zsx_loose loose;
	bool moved;
	u64 since;

	zsx_loose_init(&loose);
	c->needs_page = false;
	c->again = false;
	spin_lock(&class->lock);
	since = ktime_get_ns();
	if (choose_pair(c, &from, &to) && pin_pair(c, from, to)) {
		unsigned int from_group = from->group, to_group = to->group;

		move_objects(c, from, to);
		unpin_pair(from, to);
		if (c->nr_copied != before)
			zsx_settle(class, from, 0, class->geo->nr_pages - 1, &loose);
		note_move(c, from_group, from->group);
		note_move(c, to_group, to->group);
	}
	moved = c->nr_copied != before;
	c->longest_hold = max(c->longest_hold, ktime_get_ns() - since);
	spin_unlock(&class->lock);
	keep_or_free(c, &loose);
	return moved;
}

/*
 * A page for a destination to grow when the source hasn't given one yet. Nothing
 * is reclaimed for it, and no reserve is touched: compaction may be reclaim.
 */
static void take_in_hand(struct compaction *c)
{
	struct page *page;

	if (c->nr_hand == HAND)
		return;
	page = zsx_page_alloc(GFP_NOWAIT | __GFP_NOMEMALLOC | __GFP_NOWARN |
			      __GFP_HIGHMEM | __GFP_MOVABLE, NUMA_NO_NODE);
	if (!page) {
		c->no_memory = true;
		return;
	}
	c->hand[c->nr_hand++] = page;
	c->freed--;
}

static void empty_hand(struct compaction *c)
{
	c->freed += c->nr_hand;
	while (c->nr_hand)
		zsx_page_free(c->hand[--c->nr_hand]);
}

/* What was done in a class: added to the pool's counters, and told. */
static void report(const struct compaction *c)
{
	long hold = min_t(u64, c->longest_hold, LONG_MAX);
	struct zsx_pool *pool = c->class->pool;
	atomic_long_t *counters = pool->compaction;
	unsigned long skipped = 0;
	unsigned int group;

	for (group = 0; group < ARRAY_SIZE(c->passed); group++)
		skipped += c->passed[group];
	if (hold > atomic_long_read(&pool->longest_hold))
		atomic_long_set(&pool->longest_hold, hold);
	atomic_long_add(c->nr_copied, &counters[ZSX_OBJECTS_COPIED]);
	atomic_long_add(c->nr_steps, &counters[ZSX_SOURCE_STEPS]);
	atomic_long_add(c->nr_emptied, &counters[ZSX_SOURCE_PAGES_EMPTIED]);
	atomic_long_add(c->nr_ended, &counters[ZSX_ZSPAGES_FREED]);
	atomic_long_add(skipped, &counters[ZSX_SKIPPED_BUSY]);
	trace_zsx_compact_class(c->class, c->freed, c->nr_copied, skipped, c->longest_hold);
}

/*
 * How many units a class may take, and how often a zspage may be passed over for
 * nothing in return: others malloc, free and read meanwhile.
 */
static unsigned long max_units(struct zsx_class *class, unsigned long *passes)
{
	unsigned long units = 0;

	spin_lock(&class->lock);
	*passes = 2 * zsx_class_zspages(class);
	if (!is_compact(class))
		units = 2 * zsx_class_pages(class) + zsx_class_zspages(class) + 2 * HAND;
	spin_unlock(&class->lock);
	return units;
}

/* Return: pages freed; stops when @wanted are. */
static long compact_class(struct zsx_class *class, long wanted)
{
	struct compaction c = { .class = class };
	unsigned long passes, units = max_units(class, &passes);

	if (!units)
		return 0;
	while (units && c.freed < wanted) {
		unsigned long before = c.nr_passes;
		bool moved = compact_unit(&c);

		if (c.needs_page)
			take_in_hand(&c);
		else if (!moved && !c.again)
			break;
		/* To have passed over some costs no unit, as long as that isn't all there is. */
		if (moved || c.nr_passes == before || c.nr_passes > passes)
			units--;
		cond_resched();
	}
	empty_hand(&c);
	report(&c);
	return c.freed;
}

/* === The pool ============================================================ */

/*
 * Compact class after class until @wanted pages are free. A class that others change
 * meanwhile may end with a page more than it had; the sum is none at least.
 */
static unsigned long compact_pool(struct zsx_pool *pool, long wanted)
{
	long freed = 0;
	unsigned int i;

	if (atomic_cmpxchg_acquire(&pool->compacting, 0, 1))
		return 0;
	for (i = pool->nr_classes; i-- && freed < wanted; )
		freed += compact_class(&pool->classes[i], wanted - freed);
	freed = max(freed, 0L);
	atomic_long_add(freed, &pool->compaction[ZSX_PAGES_COMPACTED]);
	atomic_set_release(&pool->compacting, 0);
	trace_zsx_compact(pool, wanted < ALL_PAGES ? wanted : 0, freed);
	return freed;
}

unsigned long zsx_compact(struct zsx_pool *pool)
{
	return compact_pool(pool, ALL_PAGES);
}
EXPORT_SYMBOL_GPL(zsx_compact);

/* === The shrinker ======================================================== */

static unsigned long class_freeable(struct zsx_class *class)
{
	unsigned long freeable;

	spin_lock(&class->lock);
	freeable = zsx_class_pages(class) - zsx_class_fewest_pages(class);
	spin_unlock(&class->lock);
	return freeable;
}

static unsigned long shrinker_count(struct shrinker *shrinker,
				    struct shrink_control *sc)
{
	struct zsx_pool *pool = compat_shrinker_private(shrinker);
	unsigned long freeable = 0;
	unsigned int i;

	for (i = 0; i < pool->nr_classes; i++)
		freeable += class_freeable(&pool->classes[i]);
	return freeable ?: SHRINK_EMPTY;
}

static unsigned long shrinker_scan(struct shrinker *shrinker,
				   struct shrink_control *sc)
{
	struct zsx_pool *pool = compat_shrinker_private(shrinker);

	long wanted = min_t(unsigned long, sc->nr_to_scan, ALL_PAGES);

	return compact_pool(pool, wanted) ?: SHRINK_STOP;
}

/* A pool works without one. */
void zsx_shrinker_add(struct zsx_pool *pool)
{
	pool->shrinker = compat_shrinker_register(shrinker_count, shrinker_scan,
						  pool, "zsx", pool->name);
	if (!pool->shrinker)
		pr_warn("zsx: pool %s has no shrinker\n", pool->name);
}

void zsx_shrinker_remove(struct zsx_pool *pool)
{
	compat_shrinker_unregister(pool->shrinker);
}
