// SPDX-License-Identifier: GPL-2.0-only
/*
 * crew.c - threads that measure together, and the objects that they store
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "../mixes.h"
#include "bench.h"

/* === Threads ============================================================= */

/*
 * Wait until all threads are here. It spins, so that they go on together; where there
 * are more threads than CPUs, it lets the others run.
 */
void crew_meet(struct crew *crew)
{
	int meeting = atomic_read(&crew->meetings);

	if (atomic_inc_return(&crew->here) == crew->nr_threads) {
		atomic_set(&crew->here, 0);
		atomic_set_release(&crew->meetings, meeting + 1);
		return;
	}
	while (atomic_read_acquire(&crew->meetings) == meeting) {
		cpu_relax();
		cond_resched();
	}
}

void worker_fail(struct worker *w, int err)
{
	if (!w->err)
		WRITE_ONCE(w->err, err);
}

/* Between two meetings, all threads see the same. */
bool crew_failed(struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->nr_threads; i++)
		if (READ_ONCE(crew->workers[i].err))
			return true;
	return false;
}

static int worker_thread_fn(void *data)
{
	struct worker *w = data;

	crew_meet(w->crew);
	w->crew->work(w);
	complete(&w->done);
	return 0;
}

static int start_worker(struct worker *w)
{
	unsigned int cpu = cpumask_nth(w->index % num_online_cpus(), cpu_online_mask);

	w->task = kthread_create(worker_thread_fn, w, "zsx_bench/%u", w->index);
	if (IS_ERR(w->task))
		return PTR_ERR(w->task);
	kthread_bind(w->task, cpu);
	init_completion(&w->done);
	/* Or it could be gone when kthread_stop() is called. */
	get_task_struct(w->task);
	return 0;
}

/* One that was never woken ends without a step. */
static int stop_worker(struct worker *w)
{
	kthread_stop_put(w->task);
	return w->err;
}

/* Have each thread do @work, and wait for all. */
int crew_run(struct crew *crew, void (*work)(struct worker *w), void *data)
{
	unsigned int nr_started = 0, i;
	int err = 0;

	crew->work = work;
	crew->data = data;
	while (nr_started < crew->nr_threads && !err) {
		err = start_worker(&crew->workers[nr_started]);
		nr_started += !err;
	}
	for (i = 0; i < nr_started && !err; i++)
		wake_up_process(crew->workers[i].task);
	for (i = 0; i < nr_started && !err; i++)
		wait_for_completion(&crew->workers[i].done);
	for (i = 0; i < nr_started; i++)
		err = stop_worker(&crew->workers[i]) ?: err;
	return err;
}

void crew_destroy(struct crew *crew)
{
	unsigned int i;

	for (i = 0; i < MAX_THREADS; i++) {
		kvfree(crew->workers[i].items);
		kvfree(crew->workers[i].walk);
		kfree(crew->workers[i].pattern);
		kfree(crew->workers[i].copy);
	}
	for (i = 0; i < crew->nr_pools && crew->pools[i]; i++)
		zs_destroy_pool(crew->pools[i]);
	kvfree(crew);
}

static bool init_worker(struct crew *crew, unsigned int index)
{
	struct worker *w = &crew->workers[index];
	unsigned int i;

	w->crew = crew;
	w->index = index;
	w->pattern = kmalloc(PAGE_SIZE, GFP_KERNEL);
	w->copy = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!w->pattern || !w->copy)
		return false;
	for (i = 0; i < PAGE_SIZE; i++)
		w->pattern[i] = i * 167 + (i >> 8) + index;
	return true;
}

struct crew *crew_create(unsigned int nr_threads, unsigned int nr_pools)
{
	struct crew *crew;
	unsigned int i;
	char name[16];

	if (!nr_threads || nr_threads > MAX_THREADS || nr_pools > MAX_POOLS ||
	    !is_power_of_2(nr_pools))
		return ERR_PTR(-EINVAL);
	crew = kvzalloc(sizeof(*crew), GFP_KERNEL);
	if (!crew)
		return ERR_PTR(-ENOMEM);
	crew->nr_threads = nr_threads;
	crew->nr_pools = nr_pools;
	for (i = 0; i < nr_threads; i++)
		if (!init_worker(crew, i))
			goto no_memory;
	for (i = 0; i < nr_pools; i++) {
		snprintf(name, sizeof(name), "zsx_bench.%u", i);
		crew->pools[i] = zs_create_pool(name);
		if (!crew->pools[i])
			goto no_memory;
	}
	return crew;
no_memory:
	crew_destroy(crew);
	return ERR_PTR(-ENOMEM);
}

/* Pages that are looked at by page migration just now go back a moment later. */
bool crew_pools_are_empty(struct crew *crew)
{
	unsigned int i, tries;

	for (i = 0; i < crew->nr_pools; i++) {
		for (tries = 0; zs_get_total_pages(crew->pools[i]); tries++) {
			if (tries == 100)
				return false;
			msleep(10);
		}
	}
	return true;
}

/* === Objects ============================================================= */

static int add_items(struct worker *w, const struct mix *mix, u64 bytes, u32 seed)
{
	struct rnd_state rnd;
	unsigned long i;
	u64 sum = 0;

	prandom_seed_state(&rnd, seed + w->index);
	for (w->nr_items = 0; sum < bytes; w->nr_items++)
		sum += mix->len(&rnd);
	/* A thread's number and an item's make its id. */
	if (!w->nr_items || w->nr_items > 1 << 26)
		return -EINVAL;
	w->items = kvmalloc_array(w->nr_items, sizeof(*w->items), GFP_KERNEL);
	w->walk = kvmalloc_array(w->nr_items, sizeof(*w->walk), GFP_KERNEL);
	if (!w->items || !w->walk)
		return -ENOMEM;

	prandom_seed_state(&rnd, seed + w->index);
	for (i = 0; i < w->nr_items; i++)
		w->items[i] = (struct item) {
			.id = w->index << 26 | i,
			.len = mix->len(&rnd),
		};
	w->rnd = rnd;
	return 0;
}

/* Give each thread its items, of @bytes altogether; nothing is stored yet. */
int crew_add_items(struct crew *crew, const char *mix_name, u64 bytes, u32 seed)
{
	const struct mix *mix = mix_of(mix_name);
	unsigned int i;
	int err = 0;

	if (!mix)
		return -EINVAL;
	for (i = 0; i < crew->nr_threads && !err; i++)
		err = add_items(&crew->workers[i], mix, div_u64(bytes, crew->nr_threads), seed);
	return err;
}

/* Make w->walk of w->items, in random order. */
void worker_shuffle(struct worker *w)
{
	unsigned long i, j;

	for (i = 0; i < w->nr_items; i++) {
		j = mix_below(&w->rnd, i + 1);
		w->walk[i] = w->walk[j];
		w->walk[j] = w->items[i];
	}
}

void worker_malloc(struct worker *w, struct item *item)
{
	item->handle = zs_malloc(pool_of(w, item), item->len, BENCH_GFP, NUMA_NO_NODE);
	if (IS_ERR_VALUE(item->handle)) {
		worker_fail(w, (long)item->handle);
		item->handle = 0;
	}
}

void worker_free(struct worker *w, struct item *item)
{
	zs_free(pool_of(w, item), item->handle);
	item->handle = 0;
}

void worker_write(struct worker *w, const struct item *item)
{
	*(u64 *)w->pattern = id_stamp(item->id);
	zs_obj_write(pool_of(w, item), item->handle, w->pattern, item->len);
}

/* Each byte of it. */
void worker_verify(struct worker *w, const struct item *item)
{
	u8 *bytes = zs_obj_read_begin(pool_of(w, item), item->handle, item->len, w->copy);
	bool intact = get_unaligned((u64 *)bytes) == id_stamp(item->id) &&
		      !memcmp(bytes + sizeof(u64), w->pattern + sizeof(u64),
			      item->len - sizeof(u64));

	zs_obj_read_end(pool_of(w, item), item->handle, item->len, bytes);
	if (!intact) {
		pr_err("zsx_bench: object %u of %u bytes is not intact\n", item->id, item->len);
		worker_fail(w, -EIO);
	}
}
