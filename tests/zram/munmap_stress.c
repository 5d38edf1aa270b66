// SPDX-License-Identifier: GPL-2.0-only
/*
 * munmap_stress.c - processes give back their swapped memory at the same time
 *
 * What the time of munmap() goes to here, is freeing zram's objects one by one. See
 * usage().
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>
#include <time.h>

#include "crew.h"
#include "pattern.h"
#include "swapped.h"

static int usage(FILE *out)
{
	fputs("usage: munmap_stress [OPTION]...\n"
	      "\n"
	      "N processes each map memory, fill it with data that compresses to a stated size,\n"
	      "send it to swap by MADV_PAGEOUT and wait until all of them have all of it there (by\n"
	      "/proc/self/smaps). Then all call munmap() at once. With zram as swap, and the seeds'\n"
	      "algorithm, lzo-rle, the time goes to freeing compressed objects. Nothing is read back.\n"
	      "\n"
	      "  --processes N,N...  how many, one run after the other (1,2,4,8,16)\n"
	      "  --mb N              memory of each process, in MiB (256)\n"
	      "  --percent N         of its original size, what a page compresses to, in the mean;\n"
	      "                      it is spread evenly from half to one and a half of that (33)\n"
	      "  --chunk N           pages go to swap as soon as N MiB are written (16)\n"
	      "  --rounds N          do it all so often (1)\n"
	      "  --seed N            of the data (1)\n"
	      "\n"
	      "For each run, a line for machines and one for people:\n"
	      "  munmap_stress: processes=N mb=N percent=N seed=N round=N pages=N wall_ns=N\n"
	      "    min_ns=N median_ns=N max_ns=N each_ns=N,N...\n"
	      "pages: how many were in swap, in all. wall: from the first munmap's start to the last\n"
	      "one's end. The others: of each process's own munmap. It's refused (exit 2) if memory\n"
	      "or swap don't suffice; exit 1 if something else goes wrong.\n", out);
	return 2;
}

static struct pattern pattern = { .seed = 1, .percent = 33 };
static size_t mb = 256, chunk_mb = 16;
static int rounds = 1;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Pages may be passed over while others hold or isolate them: they are asked for again. */
static void page_out_all(char *memory, size_t bytes)
{
	int tries;

	for (tries = 0; swapped_kb(memory, bytes) < bytes >> 10; tries++) {
		if (tries == 100) {
			fprintf(stderr, "munmap_stress: %llu of %zu KiB are in swap, and no more will go\n",
				(unsigned long long)swapped_kb(memory, bytes), bytes >> 10);
			exit(1);
		}
		if (tries)
			usleep(10000);
		madvise(memory, bytes, MADV_PAGEOUT);
	}
}

/*
 * The processes share the CPUs evenly. And the last pages touched on a CPU wait there in a
 * list, out of reach of a MADV_PAGEOUT on another one.
 */
static void stay_on_cpu(int i)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(i % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
}

static int work(struct crew *crew, int i)
{
	struct member *me = &crew->members[i];
	size_t bytes = mb << 20, chunk = chunk_mb << 20, at;
	uint64_t first = (uint64_t)i << 32;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	stay_on_cpu(i);
	/* Huge pages would be split or not, as memory happens to be. */
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (at = 0; at < bytes; at += PAGE) {
		fill_page(&pattern, first + at / PAGE, memory + at);
		if ((at + PAGE) % chunk == 0)
			madvise(memory + at + PAGE - chunk, chunk, MADV_PAGEOUT);
	}
	page_out_all(memory, bytes);
	me->swapped = swapped_kb(memory, bytes) * 1024 / PAGE;

	crew_wait(crew);
	me->start_ns = now_ns();
	munmap(memory, bytes);
	me->end_ns = now_ns();
	return 0;
}

/* What the compressed pages take, and those that are just being written. */
static void refuse_if_short(int processes)
{
	uint64_t need_swap = processes * mb << 10;
	uint64_t need = need_swap * pattern.percent / 100 * 5 / 4 +
			processes * (chunk_mb << 10) + (32 << 10);
	uint64_t has = meminfo_kb("MemAvailable"), has_swap = meminfo_kb("SwapFree");

	if (has >= need && has_swap >= need_swap)
		return;
	fprintf(stderr,
		"munmap_stress: %d processes of %zu MiB need %llu MiB of memory and %llu MiB of swap; there are %llu and %llu\n",
		processes, mb, (unsigned long long)need >> 10,
		(unsigned long long)need_swap >> 10, (unsigned long long)has >> 10,
		(unsigned long long)has_swap >> 10);
	exit(2);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(const struct crew *crew, int round)
{
	uint64_t first = UINT64_MAX, last = 0, pages = 0, each[MAX_CREW];
	int i, nr = crew->nr;

	for (i = 0; i < nr; i++) {
		const struct member *m = &crew->members[i];

		first = m->start_ns < first ? m->start_ns : first;
		last = m->end_ns > last ? m->end_ns : last;
		pages += m->swapped;
		each[i] = m->end_ns - m->start_ns;
	}
	qsort(each, nr, sizeof(*each), by_size);
	printf("munmap_stress: processes=%d mb=%zu percent=%u seed=%llu round=%d pages=%llu wall_ns=%llu min_ns=%llu median_ns=%llu max_ns=%llu each_ns=",
	       nr, mb, pattern.percent, (unsigned long long)pattern.seed, round,
	       (unsigned long long)pages, (unsigned long long)(last - first),
	       (unsigned long long)each[0], (unsigned long long)each[nr / 2],
	       (unsigned long long)each[nr - 1]);
	for (i = 0; i < nr; i++)
		printf("%llu%s", (unsigned long long)(crew->members[i].end_ns - crew->members[i].start_ns),
		       i + 1 < nr ? "," : "\n");
	printf("  %2d x %zu MiB: all unmapped after %.1f ms, each in %.1f to %.1f ms; %.0f ns a page\n",
	       nr, mb, (last - first) / 1e6, each[0] / 1e6, each[nr - 1] / 1e6,
	       (double)(last - first) / pages);
	fflush(stdout);
}

static int run(int processes, int round)
{
	struct crew crew;
	int ready, failed;

	refuse_if_short(processes);
	crew_start(&crew, processes, work);
	ready = crew_ready(&crew);
	crew_go(&crew);
	failed = crew_end(&crew);
	if (ready != processes || failed) {
		fprintf(stderr, "munmap_stress: %d of %d processes failed\n",
			failed, processes);
		return 1;
	}
	report(&crew, round);
	crew_free(&crew);
	return 0;
}

/* A number of @min .. @max, or a word about it. */
static unsigned long number(const char *what, const char *text, unsigned long min,
			    unsigned long max)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < min || n > max) {
		fprintf(stderr, "munmap_stress: --%s: %lu to %lu, not %s\n", what, min, max, text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "processes", required_argument, NULL, 'p' },
		{ "mb", required_argument, NULL, 'm' },
		{ "percent", required_argument, NULL, 'c' },
		{ "chunk", required_argument, NULL, 'k' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	char processes[256] = "1,2,4,8,16", *rest, *word;
	int numbers[MAX_CREW], nr = 0, round, i, c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'p': snprintf(processes, sizeof(processes), "%s", optarg); break;
		case 'm': mb = number("mb", optarg, 1, 65536); break;
		case 'c': pattern.percent = number("percent", optarg, 1, 100); break;
		case 'k': chunk_mb = number("chunk", optarg, 1, 65536); break;
		case 'r': rounds = number("rounds", optarg, 1, 1000); break;
		case 's': pattern.seed = number("seed", optarg, 0, 1000000000); break;
		case 'h': usage(stdout); return 0;
		default: return usage(stderr);
		}
	}
	if (optind != argc)
		return usage(stderr);
	for (word = strtok_r(processes, ",", &rest); word && nr < MAX_CREW;
	     word = strtok_r(NULL, ",", &rest))
		numbers[nr++] = number("processes", word, 1, MAX_CREW);
	if (chunk_mb > mb)
		chunk_mb = mb;

	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < nr; i++) {
			if (run(numbers[i], round))
				return 1;
		}
	}
	return 0;
}
