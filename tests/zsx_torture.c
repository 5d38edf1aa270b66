// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_torture.c - objects that are checked at each read, while everything moves
 *
 * Each object begins with a record of what it is, as far as it has room, and bears
 * a CRC32C of all of it; what it must be is kept outside the pool. Threads store,
 * write, read in each way, free and compact; two more make, fill and destroy pools.
 * What moves pages beside them is scripts/jobs/torture.sh's. In
 * /sys/kernel/debug/zsx_torture/:
 *
 *   run     w  SECONDS THREADS SEED [CYCLES]: so long, and until so many pools have
 *              come and gone; then all objects are read once more. Fails with EIO
 *              if any was ever not what was stored. What is left stays for the next
 *              run.
 *   verify  w  1: read all objects; EIO as above
 *   drain   w  1: read all objects, and free them; EIO as above
 *   report  r  one "name value" a line; at any time
 *   where   r  how many of the pool's pages are in the movable zone, and among the
 *              frames of the parameter "frames": "name value"
 *
 * One seed makes each thread ask for the same things in the same order, but for
 * what memory and others' pages decide.
 */
#include <linux/atomic.h>
#include <linux/crc32c.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "command.h"
#include "zsx_internal.h"	/* for "where" alone */

static unsigned int nr_slots = 16384;
module_param_named(slots, nr_slots, uint, 0444);
MODULE_PARM_DESC(slots, "how many objects a thread can have (default 16384)");

static unsigned int reserve_mb = 64;
module_param_named(reserve, reserve_mb, uint, 0644);
MODULE_PARM_DESC(reserve,
		 "threads don't store while less memory is free, in MiB (default 64): the OOM killer is none of this test's");

static unsigned int nr_sizes;
module_param_named(sizes, nr_sizes, uint, 0444);
MODULE_PARM_DESC(sizes, "how many different sizes objects have (default 0: all)");

static unsigned int turns_to_compact = 2048;
module_param_named(compact, turns_to_compact, uint, 0444);
MODULE_PARM_DESC(compact,
		 "a thread compacts once in so many turns (default 2048)");

static bool lose;
module_param(lose, bool, 0444);
MODULE_PARM_DESC(lose, "lose some memory until the module goes, for kmemleak to find");

static unsigned long frames[2];
module_param_array(frames, ulong, NULL, 0644);
MODULE_PARM_DESC(frames,
		 "FIRST,NUMBER: pages to be looked for, such as those of a CMA area");

static unsigned int at_load[4];
module_param_array(at_load, uint, NULL, 0444);
MODULE_PARM_DESC(at_load,
		 "SECONDS,THREADS,SEED,CYCLES: run, read and free all while it is loaded, or booted");

#define MAX_THREADS	32
#define NR_CYCLERS	2	/* threads that make and destroy pools */
#define NR_OPEN		8	/* objects that a thread may have open at once */
#define MAX_BULK	40	/* objects in one call */
#define PHASE		4096	/* turns until a thread wants other things */
#define CYCLE_OBJECTS	256	/* in a pool that comes and goes */

/**
 * struct record - what each object begins with; a short one with a part of it
 * @crc: CRC32C of all that follows, of the whole record even in a short object
 * @size: length of the object
 * @generation: how often it has been written
 * @pattern: what the bytes behind the record are made from
 * @number: which one it is of all that its thread stored
 */
struct record {
	u32 crc;
	u32 size;
	u32 generation;
	u32 pattern;
	u64 number;
};

/* An object of a thread; handle 0: none. */
struct slot {
	unsigned long handle;
	struct record is;
};

enum op {
	OP_MALLOC,
	OP_MALLOC_BULK,
	OP_NO_MEMORY,
	OP_WRITE,
	OP_WRITE_MAP,
	OP_READ,
	OP_READ_HELD,
	OP_READ_SG,
	OP_READ_MAP,
	OP_FREE,
	OP_FREE_BULK,
	OP_COMPACT,
	NR_OPS,
};

static const char *const op_names[NR_OPS] = {
	[OP_MALLOC] = "mallocs",
	[OP_MALLOC_BULK] = "mallocs_in_bulk",
	[OP_NO_MEMORY] = "no_memory",
	[OP_WRITE] = "writes",
	[OP_WRITE_MAP] = "writes_by_map",
	[OP_READ] = "reads",
	[OP_READ_HELD] = "reads_held",
	[OP_READ_SG] = "reads_by_sg",
	[OP_READ_MAP] = "reads_by_map",
	[OP_FREE] = "frees",
	[OP_FREE_BULK] = "frees_in_bulk",
	[OP_COMPACT] = "compactions",
};

/**
 * struct worker - a thread and its objects; they outlive the thread
 * @pool: where it stores
 * @task: the thread, while it runs
 * @id: its number; in the upper bits of its objects' numbers
 * @rnd: what it wants next
 * @slots: its objects, nr_slots of them
 * @nr_live: how many there are
 * @nr_ever: how many there were
 * @goal: how many it wants, for now
 * @mix: which sizes, for now
 * @mix_size: the size if all are alike
 * @buffer: for one object
 * @copies: for those that it has open
 * @ops: what it did, by enum op
 */
struct worker {
	struct zsx_pool *pool;
	struct task_struct *task;
	unsigned int id;
	struct rnd_state rnd;
	struct slot *slots;
	unsigned int nr_live;
	u64 nr_ever;
	unsigned int goal;
	unsigned int mix;
	unsigned int mix_size;
	u8 *buffer;
	u8 *copies;
	unsigned long ops[NR_OPS];
};

/* Serialises run, verify and drain. */
static DEFINE_MUTEX(lock);
static struct zsx_pool *pool;
/* Filled from the front, under the lock; emptied when the module goes. */
static struct worker *workers[MAX_THREADS + NR_CYCLERS];
static atomic_long_t nr_mismatches;
static atomic_long_t nr_pages_freed;
static atomic_long_t nr_cycles;

/*
 * Complements of addresses, which are no pointers. Many, as slab remembers the last
 * hundred or so that it gave away, and that hides them from kmemleak.
 */
static unsigned long lost[512];

static struct dentry *dir;

/* === What an object holds ================================================ */

/* 0 .. bound - 1 */
static u32 below(struct rnd_state *rnd, u32 bound)
{
	return (u64)prandom_u32_state(rnd) * bound >> 32;
}

static void fill_bytes(u8 *to, size_t len, u32 pattern)
{
	size_t i;

	for (i = 0; i < len; i += sizeof(pattern)) {
		/* xorshift; never 0, as it didn't begin so */
		pattern ^= pattern << 13;
		pattern ^= pattern >> 17;
		pattern ^= pattern << 5;
		memcpy(to + i, &pattern, min(sizeof(pattern), len - i));
	}
}

static u32 crc_of(const struct record *is, const u8 *rest)
{
	u32 crc = crc32c(~0, (const u8 *)is + sizeof(is->crc),
			 sizeof(*is) - sizeof(is->crc));

	if (is->size > sizeof(*is))
		crc = crc32c(crc, rest, is->size - sizeof(*is));
	return crc;
}

/* Make the next generation of an object, all of it, in @w's buffer. */
static void next_generation(struct worker *w, struct slot *slot)
{
	struct record *is = &slot->is;
	u8 *rest = w->buffer + sizeof(*is);

	is->generation++;
	is->pattern = prandom_u32_state(&w->rnd) | 1;
	if (is->size > sizeof(*is))
		fill_bytes(rest, is->size - sizeof(*is), is->pattern);
	is->crc = crc_of(is, rest);
	memcpy(w->buffer, is, sizeof(*is));
}

static void report_mismatch(const struct slot *slot, const u8 *bytes,
			    const char *how)
{
	struct record found = {};

	atomic_long_inc(&nr_mismatches);
	if (bytes)
		memcpy(&found, bytes, min_t(size_t, slot->is.size, sizeof(found)));
	pr_err_ratelimited("zsx_torture: %s: object %llx of %u bytes, generation %u, pattern %x, crc %x: found %llx, %u, %u, %x, %x\n",
			   how, slot->is.number, slot->is.size,
			   slot->is.generation, slot->is.pattern, slot->is.crc,
			   found.number, found.size, found.generation,
			   found.pattern, found.crc);
}

/* The CRC tells of the bytes, the record of whose they are. */
static void check_bytes(const struct slot *slot, const u8 *bytes, const char *how)
{
	const struct record *is = &slot->is;

	if (!bytes || memcmp(bytes, is, min_t(size_t, is->size, sizeof(*is))) ||
	    crc_of(is, bytes + sizeof(*is)) != is->crc)
		report_mismatch(slot, bytes, how);
}

/* === Operations ========================================================== */

static void did(struct worker *w, enum op op)
{
	WRITE_ONCE(w->ops[op], w->ops[op] + 1);
}

static unsigned int pick_size(struct worker *w)
{
	/* Far from each other. */
	if (nr_sizes)
		return 97 + below(&w->rnd, nr_sizes) * 1237 % (PAGE_SIZE - 97);
	switch (w->mix) {
	case 0: /* each, in turn */
		return w->nr_ever % PAGE_SIZE + 1;
	case 1: /* short ones: many in a zspage, and some without a whole record */
		return 1 + below(&w->rnd, 128);
	case 2: /* of one class: much to be moved together */
		return w->mix_size;
	case 3: /* that nearly all span two pages */
		return PAGE_SIZE / 2 + below(&w->rnd, PAGE_SIZE / 2 - 256);
	default:
		return 1 + below(&w->rnd, PAGE_SIZE);
	}
}

static bool memory_is_short(void)
{
	struct sysinfo info;

	si_meminfo(&info);
	return info.freeram < (unsigned long)reserve_mb << (20 - PAGE_SHIFT);
}

static void write_slot(struct worker *w, struct slot *slot)
{
	next_generation(w, slot);
	if (zsx_obj_write(w->pool, slot->handle, w->buffer, slot->is.size))
		report_mismatch(slot, NULL, "write");
	did(w, OP_WRITE);
}

static void write_slot_by_map(struct worker *w, struct slot *slot)
{
	void *bytes;

	next_generation(w, slot);
	bytes = zsx_map_object(w->pool, slot->handle, ZSX_MAP_WO);
	if (bytes) {
		memcpy(bytes, w->buffer, slot->is.size);
		zsx_unmap_object(w->pool, slot->handle);
	} else {
		report_mismatch(slot, NULL, "map to write");
	}
	did(w, OP_WRITE_MAP);
}

static gfp_t pick_gfp(struct worker *w)
{
	gfp_t gfp = __GFP_HIGHMEM | __GFP_MOVABLE | __GFP_NOWARN;

	return gfp | (below(&w->rnd, 4) ? GFP_KERNEL | __GFP_NORETRY : GFP_NOWAIT);
}

static void fill_slot(struct worker *w, struct slot *slot, unsigned long handle,
		      unsigned int size)
{
	slot->handle = handle;
	slot->is = (struct record) {
		.number = (u64)w->id << 40 | w->nr_ever++,
		.size = size,
	};
	w->nr_live++;
	write_slot(w, slot);
}

static void malloc_slot(struct worker *w, struct slot *slot)
{
	unsigned int size = pick_size(w);
	gfp_t gfp = pick_gfp(w);
	unsigned long handle = -ENOMEM;

	if (!memory_is_short())
		handle = zsx_malloc(w->pool, size, gfp, NUMA_NO_NODE);
	if (IS_ERR_VALUE(handle)) {
		did(w, OP_NO_MEMORY);
		return;
	}
	fill_slot(w, slot, handle, size);
	did(w, OP_MALLOC);
}

/* Store in all slots from @first to @end that are free. */
static void malloc_slots(struct worker *w, struct slot *first, struct slot *end)
{
	unsigned long handles[MAX_BULK];
	size_t sizes[MAX_BULK];
	gfp_t gfp = pick_gfp(w);
	unsigned int nr = 0;
	struct slot *slot;

	for (slot = first; slot < end; slot++)
		if (!slot->handle)
			sizes[nr++] = pick_size(w);
	if (memory_is_short() ||
	    zsx_malloc_bulk(w->pool, sizes, nr, gfp, NUMA_NO_NODE, handles)) {
		did(w, OP_NO_MEMORY);
		return;
	}
	nr = 0;
	for (slot = first; slot < end; slot++) {
		if (slot->handle)
			continue;
		fill_slot(w, slot, handles[nr], sizes[nr]);
		nr++;
		did(w, OP_MALLOC_BULK);
	}
}

static void read_slot(struct worker *w, struct slot *slot)
{
	u8 *bytes = zsx_obj_read_begin(w->pool, slot->handle, slot->is.size,
				       w->copies);

	check_bytes(slot, bytes, "read");
	zsx_obj_read_end(w->pool, slot->handle, slot->is.size, bytes);
	did(w, OP_READ);
}

static void read_slot_by_sg(struct worker *w, struct slot *slot, bool hold)
{
	struct scatterlist sg[2];
	size_t len;

	zsx_obj_read_sg_begin(w->pool, slot->handle, sg, slot->is.size);
	if (hold)
		usleep_range(100, 2000);
	len = sg_copy_to_buffer(sg, sg_nents(sg), w->copies, slot->is.size);
	zsx_obj_read_sg_end(w->pool, slot->handle);
	check_bytes(slot, len == slot->is.size ? w->copies : NULL, "read by sg");
	did(w, OP_READ_SG);
}

static void read_slot_by_map(struct worker *w, struct slot *slot)
{
	void *bytes = zsx_map_object(w->pool, slot->handle, ZSX_MAP_RO);

	check_bytes(slot, bytes, "read by map");
	if (bytes)
		zsx_unmap_object(w->pool, slot->handle);
	did(w, OP_READ_MAP);
}

static struct slot *random_slot(struct worker *w)
{
	return &w->slots[below(&w->rnd, nr_slots)];
}

/* Several open at once, over a sleep of 0 to 10 ms, and checked before and after. */
static void read_held(struct worker *w)
{
	unsigned int i, nr = 0, want = 1 + below(&w->rnd, NR_OPEN);
	struct slot *open[NR_OPEN];
	u8 *bytes[NR_OPEN];

	for (i = 0; i < 4 * NR_OPEN && nr < want; i++) {
		struct slot *slot = random_slot(w);

		if (!slot->handle)
			continue;
		open[nr] = slot;
		bytes[nr] = zsx_obj_read_begin(w->pool, slot->handle,
					       slot->is.size,
					       w->copies + nr * PAGE_SIZE);
		check_bytes(slot, bytes[nr], "read, to be held");
		nr++;
	}
	if (below(&w->rnd, 2))
		usleep_range(0, 1 + below(&w->rnd, 5000));
	else
		msleep(below(&w->rnd, 11));
	while (nr--) {
		check_bytes(open[nr], bytes[nr], "held");
		zsx_obj_read_end(w->pool, open[nr]->handle, open[nr]->is.size,
				 bytes[nr]);
		did(w, OP_READ_HELD);
	}
}

static void free_slot(struct worker *w, struct slot *slot)
{
	zsx_free(w->pool, slot->handle);
	slot->handle = 0;
	w->nr_live--;
	did(w, OP_FREE);
}

/* Free all from @first to @end; what holds none is among them. */
static void free_slots(struct worker *w, struct slot *first, struct slot *end)
{
	unsigned long handles[MAX_BULK];
	struct slot *slot;

	for (slot = first; slot < end; slot++) {
		handles[slot - first] = slot->handle;
		if (!slot->handle)
			continue;
		read_slot(w, slot);
		slot->handle = 0;
		w->nr_live--;
		did(w, OP_FREE_BULK);
	}
	zsx_free_bulk(w->pool, handles, end - first);
}

static void use_many(struct worker *w)
{
	unsigned int nr = min(1 + below(&w->rnd, MAX_BULK), nr_slots);
	struct slot *first = &w->slots[below(&w->rnd, nr_slots - nr + 1)];

	if (w->nr_live < w->goal)
		malloc_slots(w, first, first + nr);
	else
		free_slots(w, first, first + nr);
}

static void compact(struct worker *w)
{
	atomic_long_add(zsx_compact(w->pool), &nr_pages_freed);
	did(w, OP_COMPACT);
}

static void use_slot(struct worker *w, struct slot *slot)
{
	switch (below(&w->rnd, 16)) {
	case 0 ... 2:
		write_slot(w, slot);
		break;
	case 3:
		write_slot_by_map(w, slot);
		break;
	case 4 ... 6:
		read_slot_by_sg(w, slot, !below(&w->rnd, 256));
		break;
	case 7 ... 9:
		read_slot_by_map(w, slot);
		break;
	case 10 ... 11:
		read_slot(w, slot);
		free_slot(w, slot);
		break;
	default:
		read_slot(w, slot);
		break;
	}
}

/* === Threads that store ================================================== */

static void next_phase(struct worker *w)
{
	static const u8 percents[] = { 90, 5, 75, 25, 50, 1 };

	w->goal = (u64)nr_slots * percents[below(&w->rnd, ARRAY_SIZE(percents))] / 100;
	w->mix = below(&w->rnd, 6);
	w->mix_size = 1 + below(&w->rnd, PAGE_SIZE);
}

static void turn(struct worker *w)
{
	struct slot *slot = random_slot(w);

	if (!slot->handle) {
		if (w->nr_live < w->goal)
			malloc_slot(w, slot);
	} else if (w->nr_live > w->goal && below(&w->rnd, 2)) {
		read_slot(w, slot);
		free_slot(w, slot);
	} else {
		use_slot(w, slot);
	}
	if (!below(&w->rnd, 128))
		read_held(w);
	if (!below(&w->rnd, 32))
		use_many(w);
	if (!below(&w->rnd, turns_to_compact))
		compact(w);
}

static void verify_slots(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < nr_slots; i++) {
		if (w->slots[i].handle)
			read_slot(w, &w->slots[i]);
		cond_resched();
	}
}

static void drain_slots(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < nr_slots; i++) {
		if (w->slots[i].handle) {
			read_slot(w, &w->slots[i]);
			free_slot(w, &w->slots[i]);
		}
		cond_resched();
	}
}

static int store_thread(void *data)
{
	struct worker *w = data;
	unsigned long turns = 0;

	while (!kthread_should_stop()) {
		if (turns++ % (PHASE * 4) == 0)
			next_phase(w);
		turn(w);
		cond_resched();
	}
	verify_slots(w);
	return 0;
}

/* === Threads that make and destroy pools ================================= */

static void cycle(struct worker *w)
{
	unsigned int i, nr = 1 + below(&w->rnd, CYCLE_OBJECTS);

	if (memory_is_short()) {
		usleep_range(1000, 2000);
		return;
	}
	w->pool = zsx_create_pool("zsx_torture_cycle");
	if (!w->pool)
		return;
	w->mix = below(&w->rnd, 6);
	w->mix_size = 1 + below(&w->rnd, PAGE_SIZE);
	for (i = 0; i < nr; i++)
		malloc_slot(w, &w->slots[i]);
	/* A hole in each zspage, for what compacts. */
	for (i = 0; i < nr; i++)
		if (w->slots[i].handle && below(&w->rnd, 2))
			free_slot(w, &w->slots[i]);
	if (!below(&w->rnd, 4))
		compact(w);
	if (!below(&w->rnd, 4))
		usleep_range(100, 5000);
	for (i = 0; i < nr; i++) {
		if (!w->slots[i].handle)
			continue;
		read_slot(w, &w->slots[i]);
		free_slot(w, &w->slots[i]);
	}
	zsx_destroy_pool(w->pool);
	atomic_long_inc(&nr_cycles);
}

static int cycle_thread(void *data)
{
	while (!kthread_should_stop()) {
		cycle(data);
		cond_resched();
	}
	return 0;
}

/* === A run =============================================================== */

static void free_worker(struct worker *w)
{
	if (!w)
		return;
	vfree(w->slots);
	kvfree(w->buffer);
	kvfree(w->copies);
	kfree(w);
}

/* Return: the worker, made if it isn't there yet; NULL if memory is short. */
static struct worker *get_worker(unsigned int id)
{
	struct worker *w = workers[id];

	if (w)
		return w;
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return NULL;
	w->id = id;
	w->slots = vzalloc(array_size(nr_slots, sizeof(*w->slots)));
	w->buffer = kvmalloc(PAGE_SIZE + sizeof(struct record), GFP_KERNEL);
	w->copies = kvmalloc_array(NR_OPEN, PAGE_SIZE, GFP_KERNEL);
	if (!w->slots || !w->buffer || !w->copies) {
		free_worker(w);
		return NULL;
	}
	smp_store_release(&workers[id], w); /* Pairs with report_show(). */
	return w;
}

static int start_worker(unsigned int id, int (*thread)(void *data), u32 seed)
{
	struct worker *w = get_worker(id);
	struct task_struct *task;

	if (!w)
		return -ENOMEM;
	if (thread == store_thread)
		w->pool = pool;
	prandom_seed_state(&w->rnd, (u64)seed << 8 | id);
	task = kthread_run(thread, w, "zsx_torture/%u", id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	w->task = task;
	return 0;
}

static void stop_workers(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		if (!workers[i] || !workers[i]->task)
			continue;
		kthread_stop(workers[i]->task);
		workers[i]->task = NULL;
	}
}

/* The threads that store have the numbers from NR_CYCLERS on. */
static int start_workers(unsigned int threads, u32 seed)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < NR_CYCLERS + threads && !err; i++)
		err = start_worker(i, i < NR_CYCLERS ? cycle_thread : store_thread,
				   seed);
	return err;
}

static int run(unsigned int seconds, unsigned int threads, u32 seed,
	       unsigned long cycles)
{
	unsigned long end = jiffies + (unsigned long)seconds * HZ;
	long enough = atomic_long_read(&nr_cycles) + cycles;
	int err;

	if (!threads || threads > MAX_THREADS)
		return -EINVAL;
	pr_info("zsx_torture: %u s, %u threads, seed %u, %lu pools\n", seconds,
		threads, seed, cycles);
	err = start_workers(threads, seed);
	while (!err && (time_before(jiffies, end) ||
			atomic_long_read(&nr_cycles) < enough)) {
		msleep_interruptible(100);
		if (signal_pending(current))
			err = -EINTR;
	}
	stop_workers();
	return err;
}

static int for_each_worker(void (*what)(struct worker *w))
{
	unsigned int i;

	for (i = NR_CYCLERS; i < ARRAY_SIZE(workers) && workers[i]; i++)
		what(workers[i]);
	return 0;
}

/* === debugfs ============================================================= */

static int verdict(int err)
{
	return err ?: atomic_long_read(&nr_mismatches) ? -EIO : 0;
}

static int run_command(const char *command)
{
	unsigned int seconds, threads;
	unsigned long cycles = 0;
	u32 seed;

	if (sscanf(command, "%u %u %u %lu", &seconds, &threads, &seed, &cycles) < 3)
		return -EINVAL;
	return verdict(run(seconds, threads, seed, cycles));
}

static ssize_t run_write(struct file *file, const char __user *from,
			 size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, run_command);
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int verify_set(void *unused, u64 val)
{
	int err;

	if (val != 1)
		return -EINVAL;
	mutex_lock(&lock);
	err = verdict(for_each_worker(verify_slots));
	mutex_unlock(&lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(verify_fops, NULL, verify_set, "%llu\n");

static int drain_set(void *unused, u64 val)
{
	int err;

	if (val != 1)
		return -EINVAL;
	mutex_lock(&lock);
	err = verdict(for_each_worker(drain_slots));
	mutex_unlock(&lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(drain_fops, NULL, drain_set, "%llu\n");

static unsigned long sum_of_ops(enum op op)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(workers); i++) {
		/* Pairs with get_worker(). */
		struct worker *w = smp_load_acquire(&workers[i]);

		if (w)
			sum += READ_ONCE(w->ops[op]);
	}
	return sum;
}

static int report_show(struct seq_file *s, void *unused)
{
	struct zsx_pool_stats stats;
	enum op op;

	for (op = 0; op < NR_OPS; op++)
		seq_printf(s, "%s %lu\n", op_names[op], sum_of_ops(op));
	seq_printf(s, "pages_freed %ld\n", atomic_long_read(&nr_pages_freed));
	seq_printf(s, "pool_cycles %ld\n", atomic_long_read(&nr_cycles));
	seq_printf(s, "mismatches %ld\n", atomic_long_read(&nr_mismatches));

	zsx_pool_stats(pool, &stats);
	seq_printf(s, "objects %lu\n", stats.objects);
	seq_printf(s, "pages %lu\n", stats.pages);
	seq_printf(s, "zspages %lu\n", stats.zspages);
	seq_printf(s, "pages_compacted %llu\n", stats.pages_compacted);
	seq_printf(s, "objects_copied %llu\n", stats.objects_copied);
	seq_printf(s, "source_steps %llu\n", stats.source_steps);
	seq_printf(s, "pages_migrated %llu\n", stats.pages_migrated);
	seq_printf(s, "migrations_refused %llu\n", stats.migrations_refused);
	seq_printf(s, "pins_retried %llu\n", stats.pins_retried);
	seq_printf(s, "skipped_busy %llu\n", stats.skipped_busy);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

/**
 * struct where - the pages of the pool
 * @all: how many there are
 * @movable_zone: how many of them are in the movable zone
 * @frames: how many of them are among the frames that were asked for
 */
struct where {
	unsigned long all;
	unsigned long movable_zone;
	unsigned long frames;
};

static void count_pages(const struct zsx_class *class, struct zsx_zspage *zspage,
			struct where *where)
{
	unsigned int i;

	for (i = 0; i < class->geo->nr_pages; i++) {
		struct page *page = zsx_zspage_page(zspage, i);

		if (!page)
			continue;
		where->all++;
		where->movable_zone += page_zonenum(page) == ZONE_MOVABLE;
		where->frames += page_to_pfn(page) - frames[0] < frames[1];
	}
}

static int where_show(struct seq_file *s, void *unused)
{
	struct where where = {};
	unsigned int i, group;

	for (i = 0; i < pool->nr_classes; i++) {
		struct zsx_class *class = &pool->classes[i];
		struct zsx_zspage *zspage;

		spin_lock(&class->lock);
		for (group = 0; group < ZSX_NR_GROUPS; group++)
			list_for_each_entry(zspage, &class->groups[group], list)
				count_pages(class, zspage, &where);
		spin_unlock(&class->lock);
		cond_resched();
	}
	seq_printf(s, "pages %lu\n", where.all);
	seq_printf(s, "in_movable_zone %lu\n", where.movable_zone);
	seq_printf(s, "in_frames %lu\n", where.frames);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(where);

/* === Leaks =============================================================== */

/* Not inlined, as the name of what is in the init section is soon forgotten. */
static noinline void lose_some(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++)
		lost[i] = ~(unsigned long)kmalloc(64, GFP_KERNEL);
}

static void find_again(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++)
		kfree((void *)~lost[i]);
}

/* === Without a user ====================================================== */

/* For kernels that run nothing else: the result is a line, or a warning. */
static void run_at_load(void)
{
	unsigned long nr_ops = 0;
	enum op op;
	int err;

	err = run(at_load[0], at_load[1], at_load[2], at_load[3]);
	for_each_worker(drain_slots);
	err = verdict(err);
	for (op = 0; op < NR_OPS; op++)
		nr_ops += sum_of_ops(op);
	WARN(err || zsx_get_total_pages(pool), "zsx_torture: failed: %d, %lu pages are left\n",
	     err, zsx_get_total_pages(pool));
	pr_info("zsx_torture: %lu operations, %ld pool cycles, %ld mismatches\n", nr_ops,
		atomic_long_read(&nr_cycles), atomic_long_read(&nr_mismatches));
}

/* === The module's beginning and end ====================================== */

static int __init torture_init(void)
{
	/* A thread that makes pools fills them from the first slot on. */
	if (nr_slots < CYCLE_OBJECTS || !turns_to_compact)
		return -EINVAL;
	pool = zsx_create_pool("zsx_torture");
	if (!pool)
		return -ENOMEM;
	if (lose)
		lose_some();
	dir = debugfs_create_dir("zsx_torture", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file_unsafe("verify", 0200, dir, NULL, &verify_fops);
	debugfs_create_file_unsafe("drain", 0200, dir, NULL, &drain_fops);
	debugfs_create_file("report", 0444, dir, NULL, &report_fops);
	debugfs_create_file("where", 0444, dir, NULL, &where_fops);
	if (at_load[0])
		run_at_load();
	return 0;
}

static void __exit torture_exit(void)
{
	unsigned int i;

	debugfs_remove(dir);
	for_each_worker(drain_slots);
	zsx_destroy_pool(pool);
	if (lose)
		find_again();
	for (i = 0; i < ARRAY_SIZE(workers); i++)
		free_worker(workers[i]);
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tortures zsx and checks each object at each read");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
