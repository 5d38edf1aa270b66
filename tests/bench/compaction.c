// SPDX-License-Identifier: GPL-2.0-only
/*
 * compaction.c - what zs_compact() takes and what it gains: rows "compaction/<mix>/<state>"
 *
 * A pool is filled, and thinned at random to half or a quarter of its objects; then it is
 * compacted once, with nobody else about. Metrics: "ms", "pages-freed", "pages-left",
 * "pages-per-ms", "objects-moved" and "objects-per-page": how many were moved for each page
 * freed. That is told from outside: an object was moved if it lies elsewhere than before,
 * so one that moved twice counts once.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "bench.h"

struct outcome {
	unsigned int keep;
	u64 ns;
	unsigned long before;
	unsigned long after;
	unsigned long moved;
};

static u64 place_of(struct worker *w, const struct item *item)
{
	struct scatterlist sg[2];
	u64 place;

	zs_obj_read_sg_begin(pool_of(w, item), item->handle, sg, item->len);
	place = sg_phys(sg);
	zs_obj_read_sg_end(pool_of(w, item), item->handle);
	return place;
}

/* Leaves w->nr_items in w->walk. */
static void thin_out(struct worker *w, unsigned int percent)
{
	unsigned long nr_kept = w->nr_items * percent / 100;

	worker_shuffle(w);
	while (w->nr_items > nr_kept)
		worker_free(w, &w->walk[--w->nr_items]);
}

static void compact_and_look(struct worker *w, u64 *places)
{
	struct outcome *o = w->crew->data;
	struct zs_pool *pool = w->crew->pools[0];
	unsigned long i;
	u64 start;

	for (i = 0; i < w->nr_items; i++)
		places[i] = place_of(w, &w->walk[i]);
	o->before = zs_get_total_pages(pool);
	start = ktime_get_ns();
	zs_compact(pool);
	o->ns = ktime_get_ns() - start;
	o->after = zs_get_total_pages(pool);
	for (i = 0; i < w->nr_items; i++) {
		o->moved += places[i] != place_of(w, &w->walk[i]);
		worker_verify(w, &w->walk[i]);
	}
}

static void work(struct worker *w)
{
	struct outcome *o = w->crew->data;
	unsigned long i;
	u64 *places = kvmalloc_array(w->nr_items, sizeof(*places), GFP_KERNEL);

	if (!places)
		worker_fail(w, -ENOMEM);
	for (i = 0; i < w->nr_items && !w->err; i++) {
		worker_malloc(w, &w->items[i]);
		if (w->items[i].handle)
			worker_write(w, &w->items[i]);
	}
	thin_out(w, o->keep);
	if (!w->err)
		compact_and_look(w, places);
	for (i = 0; i < w->nr_items; i++)
		worker_free(w, &w->walk[i]);
	kvfree(places);
}

static void report(const struct outcome *o, const char *mix)
{
	unsigned long freed = o->before - o->after;
	char row[48];

	snprintf(row, sizeof(row), "compaction/%s/%s", mix,
		 o->keep == 50 ? "half" : o->keep == 25 ? "quarter" : "other");
	bench_result(row, 1, "ms", div_u64(o->ns, 1000));
	bench_result(row, 1, "pages-freed", freed * 1000);
	bench_result(row, 1, "pages-left", o->after * 1000);
	bench_result(row, 1, "objects-moved", o->moved * 1000);
	bench_result(row, 1, "pages-per-ms", div64_u64(freed * NSEC_PER_SEC, o->ns));
	bench_result(row, 1, "objects-per-page", div64_u64(o->moved * 1000, freed));
}

int compaction(const char *mix, u64 bytes, unsigned int keep, u32 seed)
{
	struct outcome o = { .keep = keep };
	struct crew *crew;
	int err;

	if (!keep || keep >= 100)
		return -EINVAL;
	crew = crew_create(1, 1);
	if (IS_ERR(crew))
		return PTR_ERR(crew);
	err = crew_add_items(crew, mix, bytes, seed) ?: crew_run(crew, work, &o);
	if (!err && !crew_pools_are_empty(crew))
		err = -EIO;
	crew_destroy(crew);
	/* Half of what is there at random leaves something to be freed. */
	if (!err && o.before <= o.after)
		err = -ENODATA;
	if (!err)
		report(&o, mix);
	return err;
}
