// SPDX-License-Identifier: GPL-2.0-only
/*
 * zsx_density.c - how much memory a pool takes for what it stores
 *
 * Fills a pool with objects whose lengths follow a distribution, then replaces
 * and frees some at random. /sys/kernel/debug/zsx_density/:
 *
 *   do      w  fill COUNT MIX SEED   COUNT objects; into an empty pool
 *              churn COUNT SEED      COUNT times: free one, store a new one
 *              thin COUNT SEED       free COUNT
 *              compact               zsx_compact(); again, it must find nothing
 *              reset                 free all
 *   report  r  one "name value" a line
 *
 * Equal commands do the same on each machine. MIX, as in mixtures() of the
 * density model: lzo-rle, or uniform. An object bears its number at both ends,
 * which is looked at when it is freed.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "command.h"
#include "zsx.h"

/**
 * struct item - an object in the pool
 * @handle: its handle
 * @number: which one it is of all ever stored; its first and last 8 bytes
 * @len: its length
 */
struct item {
	unsigned long handle;
	u64 number;
	unsigned int len;
};

/* Serialises all calls; guards all below. */
static DEFINE_MUTEX(lock);
static struct zsx_pool *pool;
static struct item *items; /* nr_items of them are in the pool */
static unsigned long nr_items;
static u64 nr_ever;
static unsigned long nr_mismatches;
static unsigned int (*mix_len)(struct rnd_state *rnd);
static u8 buffer[PAGE_SIZE], copy[PAGE_SIZE];

static struct dentry *dir;

/* === Lengths ============================================================= */

/*
 * Quantiles, in 256ths, of a log-normal distribution with median 1250 and sigma
 * 0.50, clipped to 60..4095. Made from the project's density.py by
 *
 *   cum = list(itertools.accumulate(lognormal(1250, .5, 60, 4095, 4096)))
 *   [60] + [bisect.bisect_left(cum, i / 256) for i in range(1, 256)] + [4096]
 */
static const u16 lognormal[257] = {
	60, 330, 373, 402, 425, 445, 462, 477, 492, 505, 517, 529,
	540, 550, 560, 570, 579, 588, 597, 605, 614, 622, 630, 638,
	645, 653, 660, 667, 674, 681, 688, 695, 701, 708, 714, 721,
	727, 734, 740, 746, 752, 758, 764, 770, 776, 782, 788, 794,
	800, 805, 811, 817, 823, 828, 834, 839, 845, 851, 856, 862,
	867, 873, 878, 884, 889, 895, 900, 905, 911, 916, 922, 927,
	932, 938, 943, 948, 954, 959, 964, 970, 975, 981, 986, 991,
	997, 1002, 1007, 1013, 1018, 1023, 1029, 1034, 1040, 1045, 1050, 1056,
	1061, 1067, 1072, 1078, 1083, 1089, 1094, 1100, 1105, 1111, 1116, 1122,
	1127, 1133, 1139, 1144, 1150, 1155, 1161, 1167, 1173, 1178, 1184, 1190,
	1196, 1202, 1207, 1213, 1219, 1225, 1231, 1237, 1243, 1249, 1255, 1261,
	1267, 1274, 1280, 1286, 1292, 1299, 1305, 1311, 1318, 1324, 1331, 1337,
	1344, 1350, 1357, 1364, 1371, 1377, 1384, 1391, 1398, 1405, 1412, 1419,
	1426, 1433, 1441, 1448, 1455, 1463, 1470, 1478, 1485, 1493, 1501, 1509,
	1517, 1525, 1533, 1541, 1549, 1557, 1566, 1574, 1583, 1591, 1600, 1609,
	1618, 1627, 1636, 1645, 1654, 1664, 1673, 1683, 1693, 1703, 1713, 1723,
	1733, 1744, 1754, 1765, 1776, 1787, 1799, 1810, 1822, 1834, 1846, 1858,
	1870, 1883, 1896, 1909, 1922, 1936, 1950, 1964, 1979, 1993, 2009, 2024,
	2040, 2056, 2073, 2090, 2107, 2125, 2143, 2162, 2181, 2201, 2222, 2243,
	2265, 2288, 2311, 2336, 2361, 2387, 2414, 2443, 2473, 2504, 2536, 2571,
	2607, 2645, 2686, 2730, 2776, 2826, 2880, 2939, 3003, 3075, 3155, 3246,
	3351, 3475, 3627, 3823, 4096,
};

/* 0 .. bound - 1 */
static u32 below(struct rnd_state *rnd, u32 bound)
{
	return (u64)prandom_u32_state(rnd) * bound >> 32;
}

/* The model's "lzo-rle": 8 % short ones, 8 % that don't compress, log-normal. */
static unsigned int lzo_rle_len(struct rnd_state *rnd)
{
	u32 percent = below(rnd, 100);
	u32 i;

	if (percent < 8)
		return 40 + below(rnd, 161);
	if (percent < 16)
		return PAGE_SIZE;
	i = below(rnd, 256);
	return (lognormal[i] + below(rnd, lognormal[i + 1] - lognormal[i])) *
	       (PAGE_SIZE / 4096);
}

static unsigned int uniform_len(struct rnd_state *rnd)
{
	return 32 + below(rnd, PAGE_SIZE - 31);
}

static const struct mix {
	const char *name;
	unsigned int (*len)(struct rnd_state *rnd);
} mixes[] = {
	{ "lzo-rle", lzo_rle_len },
	{ "uniform", uniform_len },
};

/* === Objects ============================================================= */

static int store_item(struct item *item, struct rnd_state *rnd)
{
	u64 number = nr_ever++;
	int err;

	item->number = number;
	item->len = mix_len(rnd);
	item->handle = zsx_malloc(pool, item->len, GFP_KERNEL | __GFP_HIGHMEM,
				  NUMA_NO_NODE);
	if (IS_ERR_VALUE(item->handle))
		return (long)item->handle;
	memset(buffer, 0, item->len);
	memcpy(buffer, &number, sizeof(number));
	memcpy(buffer + item->len - sizeof(number), &number, sizeof(number));
	err = zsx_obj_write(pool, item->handle, buffer, item->len);
	if (err)
		zsx_free(pool, item->handle);
	return err;
}

static void free_item(const struct item *item)
{
	u8 *bytes = zsx_obj_read_begin(pool, item->handle, item->len, copy);

	if (!bytes || memcmp(bytes, &item->number, sizeof(item->number)) ||
	    memcmp(bytes + item->len - sizeof(item->number), &item->number,
		   sizeof(item->number)))
		nr_mismatches++;
	zsx_obj_read_end(pool, item->handle, item->len, bytes);
	zsx_free(pool, item->handle);
}

/* === Commands ============================================================ */

static void reset(void)
{
	while (nr_items)
		free_item(&items[--nr_items]);
	vfree(items);
	items = NULL;
}

static int fill(unsigned long count, const char *name, u32 seed)
{
	struct rnd_state rnd;
	unsigned int i;
	int err;

	if (items)
		return -EBUSY;
	for (i = 0; i < ARRAY_SIZE(mixes) && strcmp(mixes[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(mixes))
		return -EINVAL;
	mix_len = mixes[i].len;

	items = vmalloc_array(count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	prandom_seed_state(&rnd, seed);
	while (nr_items < count) {
		err = store_item(&items[nr_items], &rnd);
		if (err)
			return err;
		nr_items++;
		cond_resched();
	}
	return 0;
}

/* Free a random one; the last one takes its place in the array. */
static void free_random(struct rnd_state *rnd)
{
	unsigned long i = below(rnd, nr_items);

	free_item(&items[i]);
	items[i] = items[--nr_items];
}

static int churn(unsigned long count, u32 seed)
{
	struct rnd_state rnd;
	int err;

	if (!nr_items)
		return -EINVAL;
	prandom_seed_state(&rnd, seed);
	while (count--) {
		free_random(&rnd);
		err = store_item(&items[nr_items], &rnd);
		if (err)
			return err;
		nr_items++;
		cond_resched();
	}
	return 0;
}

static int thin(unsigned long count, u32 seed)
{
	struct rnd_state rnd;

	if (count > nr_items)
		return -EINVAL;
	prandom_seed_state(&rnd, seed);
	while (count--) {
		free_random(&rnd);
		cond_resched();
	}
	return 0;
}

/* -EIO if it left something for a second call. */
static int compact(void)
{
	struct zsx_pool_stats before, after;

	zsx_compact(pool);
	zsx_pool_stats(pool, &before);
	if (zsx_compact(pool))
		return -EIO;
	zsx_pool_stats(pool, &after);
	return before.objects_copied == after.objects_copied ? 0 : -EIO;
}

static int run(const char *command)
{
	unsigned long count;
	char name[16];
	u32 seed;

	if (sscanf(command, "fill %lu %15s %u", &count, name, &seed) == 3)
		return fill(count, name, seed);
	if (sscanf(command, "churn %lu %u", &count, &seed) == 2)
		return churn(count, seed);
	if (sscanf(command, "thin %lu %u", &count, &seed) == 2)
		return thin(count, seed);
	if (!strcmp(command, "compact"))
		return compact();
	if (strcmp(command, "reset"))
		return -EINVAL;
	reset();
	return 0;
}

static ssize_t do_write(struct file *file, const char __user *from,
			size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, run);
}

static const struct file_operations do_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = do_write,
};

static int report_show(struct seq_file *s, void *unused)
{
	struct zsx_pool_stats stats;
	u64 stored = 0, held;
	unsigned long i;

	mutex_lock(&lock);
	for (i = 0; i < nr_items; i++)
		stored += items[i].len;
	zsx_pool_stats(pool, &stats);
	held = (u64)stats.pages * PAGE_SIZE + stats.handle_bytes +
	       stats.descriptor_bytes + stats.pool_bytes;

	seq_printf(s, "objects %lu\n", nr_items);
	seq_printf(s, "bytes_stored %llu\n", stored);
	seq_printf(s, "pages %lu\n", stats.pages);
	seq_printf(s, "zspages %lu\n", stats.zspages);
	seq_printf(s, "handle_bytes %llu\n", stats.handle_bytes);
	seq_printf(s, "descriptor_bytes %llu\n", stats.descriptor_bytes);
	seq_printf(s, "pool_bytes %llu\n", stats.pool_bytes);
	seq_printf(s, "bytes_held %llu\n", held);
	seq_printf(s, "held_per_10000_stored %llu\n",
		   stored ? div64_u64(held * 10000, stored) : 0);
	seq_printf(s, "mismatches %lu\n", nr_mismatches);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(report);

/* === The module's beginning and end ====================================== */

static int __init density_init(void)
{
	pool = zsx_create_pool("zsx_density");
	if (!pool)
		return -ENOMEM;
	dir = debugfs_create_dir("zsx_density", NULL);
	debugfs_create_file("do", 0200, dir, NULL, &do_fops);
	debugfs_create_file("report", 0444, dir, NULL, &report_fops);
	return 0;
}

static void __exit density_exit(void)
{
	debugfs_remove(dir);
	reset();
	zsx_destroy_pool(pool);
}

module_init(density_init);
module_exit(density_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Measures how densely zsx stores");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
