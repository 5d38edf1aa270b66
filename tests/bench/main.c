// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c - the benchmark's client: its commands and its results
 *
 * /sys/kernel/debug/zsx_bench/:
 *
 *   do       w  one command; returns when it is done, with an error if a result is not
 *               to be believed: memory was short, or an object not intact
 *   results  r  what the last command measured, "row threads metric value" a line
 *
 *   micro SET MIX BYTES PASSES REPEAT THREADS POOLS SEED    micro.c
 *   latency OP MIX MOVER BYTES MS SEED                      latency.c
 *   compaction MIX BYTES KEEP_PERCENT SEED                  compaction.c
 *   line                                                    line.c
 *   fill MIX BYTES POOLS SEED                               density.c, like all that follow
 *   churn PERCENT SEED       free that many objects, and store as many new ones
 *   thin PERCENT SEED        free that many
 *   compact
 *   state                    of what is stored
 *   reset                    free all
 *   empty-pools              how much one takes
 *
 * MIX is one of ../mixes.h. Equal commands do the same, in the same order, on each
 * allocator. For machines without highmem.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "../command.h"
#include "bench.h"

/* Serialises all commands; guards the results. */
static DEFINE_MUTEX(lock);
static char results[64 << 10];
static size_t results_len;
static struct dentry *dir;

void bench_result(const char *row, unsigned int threads, const char *metric, u64 thousandths)
{
	u32 rest;
	u64 whole = div_u64_rem(thousandths, 1000, &rest);

	results_len += scnprintf(results + results_len, sizeof(results) - results_len,
				 "%s %u %s %llu.%03u\n", row, threads, metric, whole, rest);
}

static int run(const char *command)
{
	unsigned int a, b, threads, pools;
	char set[16], mix[16], mover[16];
	u64 bytes;
	u32 seed;

	if (sscanf(command, "micro %15s %15s %llu %u %u %u %u %u", set, mix, &bytes, &a, &b,
		   &threads, &pools, &seed) == 8)
		return micro(set, mix, bytes, a, b, threads, pools, seed);
	if (sscanf(command, "latency %15s %15s %15s %llu %u %u", set, mix, mover, &bytes, &a,
		   &seed) == 6)
		return latency(set, mix, mover, bytes, a, seed);
	if (sscanf(command, "compaction %15s %llu %u %u", mix, &bytes, &a, &seed) == 4)
		return compaction(mix, bytes, a, seed);
	if (sscanf(command, "fill %15s %llu %u %u", mix, &bytes, &pools, &seed) == 4)
		return density_fill(mix, bytes, pools, seed);
	if (sscanf(command, "churn %u %u", &a, &seed) == 2)
		return density_churn(a, seed);
	if (sscanf(command, "thin %u %u", &a, &seed) == 2)
		return density_thin(a, seed);
	if (!strcmp(command, "line"))
		return line_transfer();
	if (!strcmp(command, "compact"))
		return density_compact();
	if (!strcmp(command, "state"))
		return density_state();
	if (!strcmp(command, "reset"))
		return density_reset();
	if (!strcmp(command, "empty-pools"))
		return density_empty_pools();
	return -EINVAL;
}

static int run_and_tell(const char *command)
{
	int err;

	results_len = 0;
	err = run(command);
	if (err)
		pr_err("zsx_bench: %s: error %d\n", command, err);
	return err;
}

static ssize_t do_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	return take_command(from, count, &lock, run_and_tell);
}

static const struct file_operations do_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = do_write,
};

static int results_show(struct seq_file *s, void *unused)
{
	mutex_lock(&lock);
	seq_write(s, results, results_len);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int __init bench_init(void)
{
	dir = debugfs_create_dir("zsx_bench", NULL);
	debugfs_create_file("do", 0200, dir, NULL, &do_fops);
	debugfs_create_file("results", 0444, dir, NULL, &results_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove(dir);
	density_reset();
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Measures an allocator through the zsmalloc interface");
MODULE_AUTHOR("The zsx authors");
MODULE_INFO(test, "Y");
