// SPDX-License-Identifier: GPL-2.0-only
/*
 * line.c - what it takes to hand a cache line from one CPU to another: row "line/transfer"
 *
 * Two threads count up one number in turn. No allocator is in it: it is the machine's, for
 * the model in Documentation/scaling.rst.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "bench.h"

#define TRANSFERS	200000U

struct line {
	u64 ns;
	unsigned int turn ____cacheline_aligned;
};

static void bounce(struct worker *w)
{
	struct line *line = w->crew->data;
	unsigned int i;
	u64 start;

	crew_meet(w->crew);
	start = ktime_get_ns();
	for (i = w->index; i < TRANSFERS; i += 2) {
		/* Plain accesses: nothing but the line itself is handed on. */
		while (READ_ONCE(line->turn) != i)
			cpu_relax();
		WRITE_ONCE(line->turn, i + 1);
	}
	crew_meet(w->crew);
	if (w->index == 0)
		line->ns = ktime_get_ns() - start;
}

int line_transfer(void)
{
	struct crew *crew = crew_create(2, 1);
	struct line line = {};
	int err;

	if (IS_ERR(crew))
		return PTR_ERR(crew);
	err = crew_run(crew, bounce, &line);
	if (!err)
		bench_result("line/transfer", 2, "ns", div_u64(line.ns * 1000, TRANSFERS));
	crew_destroy(crew);
	return err;
}
