// SPDX-License-Identifier: GPL-2.0-only
/*
 * density.c - a pool in several states, for its memory to be counted (scripts/jobs/bench.sh)
 *
 * The pool stays between commands. What slabs hold is in /proc/slabinfo, and only the job
 * knows whose they are; here are "objects", "stored" (bytes), and "pages". What an empty
 * pool takes is seen in the memory that 64 of them take away.
 */
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "../mixes.h"
#include "bench.h"

static struct crew *store; /* of one, which has no thread; NULL: nothing is stored */
static const struct mix *mix;
static u32 next_id;

static int store_item(struct worker *w, struct item *item)
{
	worker_malloc(w, item);
	if (w->err)
		return w->err;
	worker_write(w, item);
	cond_resched();
	return 0;
}

/* It was intact until now, or w->err tells. */
static void free_item(struct worker *w, struct item *item)
{
	worker_verify(w, item);
	worker_free(w, item);
	cond_resched();
}

int density_reset(void)
{
	struct worker *w;
	int err;

	if (!store)
		return 0;
	w = &store->workers[0];
	while (w->nr_items)
		free_item(w, &w->items[--w->nr_items]);
	err = w->err ?: crew_pools_are_empty(store) ? 0 : -EIO;
	crew_destroy(store);
	store = NULL;
	return err;
}

int density_fill(const char *mix_name, u64 bytes, unsigned int nr_pools, u32 seed)
{
	unsigned long i, nr_items;
	struct worker *w;
	int err;

	if (store)
		return -EBUSY;
	mix = mix_of(mix_name);
	store = crew_create(1, nr_pools);
	if (IS_ERR(store)) {
		err = PTR_ERR(store);
		store = NULL;
		return err;
	}
	err = crew_add_items(store, mix_name, bytes, seed);
	w = &store->workers[0];
	nr_items = err ? 0 : w->nr_items;
	next_id = nr_items;
	w->nr_items = 0;
	for (i = 0; i < nr_items && !err; i++) {
		err = store_item(w, &w->items[i]);
		w->nr_items += !err;
	}
	return err;
}

/* Free @percent of the objects at random; the last one takes each one's place. */
static int thin(unsigned int percent, struct rnd_state *rnd, bool replace)
{
	struct worker *w = store ? &store->workers[0] : NULL;
	unsigned long nr = w ? w->nr_items * percent / 100 : 0;
	int err = 0;

	if (!nr || percent > 100)
		return -EINVAL;
	while (nr-- && !err) {
		struct item *last = &w->items[w->nr_items - 1];
		struct item *item = &w->items[mix_below(rnd, w->nr_items)];

		free_item(w, item);
		*item = *last;
		if (replace) {
			*last = (struct item) { .id = next_id++, .len = mix->len(rnd) };
			err = store_item(w, last);
		}
		w->nr_items -= err || !replace;
	}
	return err ?: w->err;
}

int density_churn(unsigned int percent, u32 seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	return thin(percent, &rnd, true);
}

int density_thin(unsigned int percent, u32 seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, seed);
	return thin(percent, &rnd, false);
}

int density_compact(void)
{
	unsigned int i;

	for (i = 0; store && i < store->nr_pools; i++)
		zs_compact(store->pools[i]);
	return store ? 0 : -EINVAL;
}

int density_state(void)
{
	struct worker *w = store ? &store->workers[0] : NULL;
	u64 stored = 0, pages = 0;
	unsigned long i;

	if (!w)
		return -EINVAL;
	for (i = 0; i < w->nr_items; i++)
		stored += w->items[i].len;
	for (i = 0; i < store->nr_pools; i++)
		pages += zs_get_total_pages(store->pools[i]);
	/* Slabs may wait for a grace period. */
	rcu_barrier();
	bench_result("state", 1, "objects", (u64)w->nr_items * 1000);
	bench_result("state", 1, "stored", stored * 1000);
	bench_result("state", 1, "pages", pages * 1000);
	return 0;
}

static unsigned long free_pages_now(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram;
}

int density_empty_pools(void)
{
	unsigned long before;
	struct crew *crew;
	long taken;

	/* The first one may make what all share. */
	crew = crew_create(1, 1);
	if (IS_ERR(crew))
		return PTR_ERR(crew);
	before = free_pages_now();
	crew_destroy(crew);
	crew = crew_create(1, MAX_POOLS);
	if (IS_ERR(crew))
		return PTR_ERR(crew);
	taken = before - free_pages_now();
	crew_destroy(crew);
	/* One of them stood when counting began. */
	taken = max(taken, 0L) * PAGE_SIZE / (MAX_POOLS - 1);
	bench_result("empty-pool", 1, "bytes", (u64)taken * 1000);
	return 0;
}
