// SPDX-License-Identifier: GPL-2.0-only
/*
 * latency.c - how long single operations take while objects or pages are moved: rows
 * "latency-<operation>/<mix>/<mover>"
 *
 * One thread reads objects, or frees and mallocs them, and looks at the clock each time.
 * Another one, on the other CPU, has objects of its own in the same zspages, and is the mover:
 *
 *   compact  has freed half of its objects at random, and calls zs_compact()
 *   migrate  has freed memory that lay above the objects', and has the kernel compact all
 *            memory: their pages move there
 *   nobody   does nothing
 *
 * An operation counts if it began while the mover was at work. Then all is freed, and it
 * begins anew, until the mover has been at work for long enough. Metrics are quantiles in
 * ns ("p99.9"), "max", the number of "samples", and what was "moved": pages that zs_compact()
 * freed or that the kernel migrated.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/list_sort.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <linux/vmstat.h>

#include "bench.h"

/* Half of what the kernel calls a block when it compacts memory. */
#define FILLER_ORDER	(pageblock_order - 1)

#define MIN_SAMPLES	1000
#define MAX_TURNS	500

/* === Histograms ========================================================== */

/* Of cycles. Each power of two is cut into 32: values are kept to 3 %. */
#define SUB_BITS	5
#define NR_BUCKETS	(60 << SUB_BITS)

struct histogram {
	u64 nr;
	u64 max;
	u32 buckets[NR_BUCKETS];
};

static unsigned int bucket_of(u64 value)
{
	unsigned int shift;

	if (value < 2 << SUB_BITS)
		return value;
	shift = ilog2(value) - SUB_BITS;
	return (shift << SUB_BITS) + (value >> shift);
}

/* The middle of a bucket. */
static u64 value_of(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < 2 << SUB_BITS)
		return bucket;
	shift = (bucket >> SUB_BITS) - 1;
	return ((u64)(bucket - (shift << SUB_BITS)) << shift) + (1ULL << shift >> 1);
}

static void note(struct histogram *h, u64 value)
{
	h->nr++;
	h->max = max(h->max, value);
	h->buckets[min_t(unsigned int, bucket_of(value), NR_BUCKETS - 1)]++;
}

/* The value that all but @above of a million don't exceed. */
static u64 quantile(const struct histogram *h, u64 above)
{
	u64 rest = div_u64(h->nr * above, 1000000);
	unsigned int i = NR_BUCKETS;

	while (i-- && h->buckets[i] <= rest)
		rest -= h->buckets[i];
	return min(value_of(i), h->max);
}

static const struct {
	const char *name;
	unsigned int above;
} quantiles[] = {
	{ "p50", 500000 }, { "p75", 250000 }, { "p90", 100000 }, { "p95", 50000 },
	{ "p99", 10000 }, { "p99.5", 5000 }, { "p99.9", 1000 }, { "p99.95", 500 },
	{ "p99.99", 100 }, { "p99.995", 50 }, { "p99.999", 10 },
};

/* === The course of it ==================================================== */

/**
 * struct course - one measurement
 * @op: what one thread does, and measures into @first and @second
 * @mover: what the other one does
 * @first: of reads, or of mallocs
 * @second: of frees
 * @at_work: the mover is at work
 * @bytes: of all objects
 * @rest: for how many ns it is still to be at work
 * @compact_memory: where the kernel's memory compaction is asked for
 * @filler: memory that keeps the objects from where they are to move to
 * @moved: pages that were freed or migrated
 * @cycles: what passed ...
 * @ns: ... in these
 */
struct course {
	void (*op)(struct worker *w, struct item *item);
	const struct mover *mover;
	struct histogram first;
	struct histogram second;
	bool at_work;
	u64 bytes;
	u64 rest;
	struct file *compact_memory;
	struct list_head filler;
	u64 moved;
	u64 cycles;
	u64 ns;
};

/**
 * struct mover - what moves
 * @name: what commands call it
 * @before: done before the objects are stored; may be NULL, like all but @move
 * @prepare: done after that
 * @move: done while the other thread measures
 * @after: done after that
 */
struct mover {
	const char *name;
	void (*before)(struct worker *w);
	void (*prepare)(struct worker *w);
	void (*move)(struct worker *w);
	void (*after)(struct worker *w);
};

/* --- the thread that measures --- */

static void read_one(struct worker *w, struct item *item)
{
	struct course *c = w->crew->data;
	bool counts = READ_ONCE(c->at_work);
	u64 start = compat_cycles();
	void *bytes = zs_obj_read_begin(pool_of(w, item), item->handle, item->len, w->copy);
	u64 stamp = get_unaligned((u64 *)bytes);

	zs_obj_read_end(pool_of(w, item), item->handle, item->len, bytes);
	if (counts)
		note(&c->first, compat_cycles() - start);
	if (stamp != id_stamp(item->id))
		worker_fail(w, -EIO);
}

static void free_and_malloc_one(struct worker *w, struct item *item)
{
	struct course *c = w->crew->data;
	bool counts = READ_ONCE(c->at_work);
	u64 start = compat_cycles();

	worker_free(w, item);
	if (counts)
		note(&c->second, compat_cycles() - start);
	counts = READ_ONCE(c->at_work);
	start = compat_cycles();
	worker_malloc(w, item);
	if (counts)
		note(&c->first, compat_cycles() - start);
}

static void measure(struct worker *w)
{
	struct course *c = w->crew->data;
	unsigned long i = 0;

	while (READ_ONCE(c->at_work)) {
		c->op(w, &w->walk[i]);
		i = i + 1 == w->nr_items ? 0 : i + 1;
		if (i % 1024 == 0)
			cond_resched();
	}
}

/* --- the thread that moves --- */

static void free_half(struct worker *w)
{
	unsigned long i;

	worker_shuffle(w);
	for (i = 0; i < w->nr_items / 2; i++)
		worker_free(w, &w->walk[i]);
}

static void compact_objects(struct worker *w)
{
	struct course *c = w->crew->data;

	c->moved += zs_compact(w->crew->pools[0]);
}

static int compare_places(void *unused, const struct list_head *a, const struct list_head *b)
{
	return page_to_pfn(list_entry(a, struct page, lru)) >
	       page_to_pfn(list_entry(b, struct page, lru));
}

static unsigned long free_block(struct page *page)
{
	unsigned int order = page_private(page);

	list_del(&page->lru);
	set_page_private(page, 0);
	__free_pages(page, order);
	return PAGE_SIZE << order;
}

/*
 * Take all memory, and give back the lowest of it, for the objects to lie there. In half
 * blocks, as far as there are any: the kernel moves pages to blocks that are in use in part,
 * but leaves free ones whole.
 */
static void get_filler(struct worker *w)
{
	struct course *c = w->crew->data;
	u64 given = 0;
	struct page *page;
	int order;

	for (order = FILLER_ORDER; order >= 0; order--) {
		while ((page = alloc_pages(__GFP_MOVABLE | __GFP_NOWARN, order))) {
			set_page_private(page, order);
			list_add(&page->lru, &c->filler);
		}
	}
	list_sort(NULL, &c->filler, compare_places);
	while (given < c->bytes + c->bytes / 2 && !list_empty(&c->filler))
		given += free_block(list_first_entry(&c->filler, struct page, lru));
}

/* One half of each block: there the objects' pages will go. */
static void free_halves(struct worker *w)
{
	struct course *c = w->crew->data;
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &c->filler, lru)
		if (page_private(page) == FILLER_ORDER &&
		    !(page_to_pfn(page) & (1UL << FILLER_ORDER)))
			free_block(page);
}

static void free_filler(struct worker *w)
{
	struct course *c = w->crew->data;
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &c->filler, lru)
		free_block(page);
}

static u64 pages_migrated(void)
{
	unsigned long *events = kcalloc(NR_VM_EVENT_ITEMS, sizeof(*events), GFP_KERNEL);
	u64 migrated = 0;

	if (events) {
		all_vm_events(events);
		migrated = events[PGMIGRATE_SUCCESS];
	}
	kfree(events);
	return migrated;
}

static void compact_memory(struct worker *w)
{
	struct course *c = w->crew->data;
	u64 before = pages_migrated(), migrated;
	loff_t pos = 0;

	if (kernel_write(c->compact_memory, "1", 1, &pos) != 1)
		worker_fail(w, -EIO);
	migrated = pages_migrated() - before;
	/* Fewer may be others' pages. */
	if (migrated > zs_get_total_pages(w->crew->pools[0]) / 4)
		c->moved += migrated;
}

static void wait_a_while(struct worker *w)
{
	schedule_timeout_uninterruptible(msecs_to_jiffies(100));
}

static const struct mover movers[] = {
	{ .name = "compact", .prepare = free_half, .move = compact_objects },
	{ .name = "migrate", .before = get_filler, .prepare = free_halves,
	  .move = compact_memory, .after = free_filler },
	{ .name = "nobody", .move = wait_a_while },
};

static const struct mover *mover_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(movers); i++)
		if (!strcmp(movers[i].name, name))
			return &movers[i];
	return NULL;
}

static void move(struct worker *w)
{
	struct course *c = w->crew->data;
	u64 start = ktime_get_ns(), cycles = compat_cycles(), took;

	c->mover->move(w);
	took = ktime_get_ns() - start;
	c->cycles += compat_cycles() - cycles;
	c->ns += took;
	c->rest -= min(c->rest, took);
	WRITE_ONCE(c->at_work, false);
}

/* --- both --- */

static void store_all(struct worker *w)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++) {
		worker_malloc(w, &w->items[i]);
		if (w->items[i].handle)
			worker_write(w, &w->items[i]);
	}
	worker_shuffle(w);
}

static void free_all(struct worker *w, bool verify)
{
	unsigned long i;

	for (i = 0; i < w->nr_items; i++) {
		if (verify && w->walk[i].handle)
			worker_verify(w, &w->walk[i]);
		worker_free(w, &w->walk[i]);
	}
}

static void one_turn(struct worker *w)
{
	struct course *c = w->crew->data;
	bool moves = w->index == 1;

	if (moves && c->mover->before)
		c->mover->before(w);
	crew_meet(w->crew);
	store_all(w);
	crew_meet(w->crew);
	if (moves && c->mover->prepare)
		c->mover->prepare(w);
	c->at_work = true;
	crew_meet(w->crew);
	if (crew_failed(w->crew))
		goto out;
	if (moves)
		move(w);
	else
		measure(w);
out:
	crew_meet(w->crew);
	if (moves && c->mover->after)
		c->mover->after(w);
	/* Of what was freed and malloc'ed by turns nothing was written. */
	free_all(w, moves || c->op == read_one);
	crew_meet(w->crew);
}

/* A mover that moved nothing shows nothing; on a busy host a turn can be without samples. */
static bool is_enough(const struct course *c)
{
	return !c->rest && c->first.nr >= MIN_SAMPLES && (c->moved || !c->mover->prepare);
}

static void work(struct worker *w)
{
	struct course *c = w->crew->data;
	unsigned int turn;

	for (turn = 0; turn < MAX_TURNS && !is_enough(c) && !crew_failed(w->crew); turn++)
		one_turn(w);
}

/* === What it says ======================================================== */

static void report_one(const struct course *c, const struct histogram *h, const char *op,
		       const char *mix, const char *mover)
{
	/* In millionths of a ns. */
	u64 cycle = div64_u64(c->ns * 1000, div64_u64(c->cycles, 1000));
	unsigned int i;
	char row[64];

	snprintf(row, sizeof(row), "latency-%s/%s/%s", op, mix, mover);
	for (i = 0; i < ARRAY_SIZE(quantiles); i++)
		bench_result(row, 2, quantiles[i].name,
			     div_u64(quantile(h, quantiles[i].above) * cycle, 1000));
	bench_result(row, 2, "max", div_u64(h->max * cycle, 1000));
	bench_result(row, 2, "samples", h->nr * 1000);
	bench_result(row, 2, "moved", c->moved * 1000);
}

static int run(struct course *c, const char *mix, u32 seed)
{
	struct crew *crew = crew_create(2, 1);
	int err;

	if (IS_ERR(crew))
		return PTR_ERR(crew);
	err = crew_add_items(crew, mix, c->bytes, seed) ?: crew_run(crew, work, c);
	if (!err && !crew_pools_are_empty(crew))
		err = -EIO;
	crew_destroy(crew);
	if (!err && !is_enough(c))
		err = -ENODATA;
	return err;
}

int latency(const char *op, const char *mix, const char *mover, u64 bytes, unsigned int ms,
	    u32 seed)
{
	bool reads = !strcmp(op, "read");
	struct course *c;
	int err;

	if (num_online_cpus() < 2 || !ms || (!reads && strcmp(op, "malloc")) || !mover_of(mover))
		return -EINVAL;
	c = kvzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->op = reads ? read_one : free_and_malloc_one;
	c->mover = mover_of(mover);
	INIT_LIST_HEAD(&c->filler);
	c->bytes = bytes;
	c->rest = (u64)ms * NSEC_PER_MSEC;
	c->compact_memory = filp_open("/proc/sys/vm/compact_memory", O_WRONLY, 0);
	err = PTR_ERR_OR_ZERO(c->compact_memory);
	if (!err) {
		err = run(c, mix, seed);
		filp_close(c->compact_memory, NULL);
	}
	if (!err) {
		report_one(c, &c->first, op, mix, mover);
		if (!reads)
			report_one(c, &c->second, "free", mix, mover);
	}
	kvfree(c);
	return err;
}
