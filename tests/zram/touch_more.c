// SPDX-License-Identifier: GPL-2.0-only
/*
 * touch_more.c - processes that touch more memory than there is
 *
 * See usage().
 */
#include <fcntl.h>
#include <getopt.h>

#include "crew.h"
#include "pattern.h"
#include "swapped.h"

static int usage(FILE *out)
{
	fputs("usage: touch_more --mb N [OPTION]...\n"
	      "\n"
	      "Processes together map N MiB, more than is free, and fill it with pages that each\n"
	      "follow from a number: some of one word, some that can't be compressed, most between.\n"
	      "Then every byte is checked: in order, and by an order that jumps about; and of each\n"
	      "third page a new one is written meanwhile. With swap, that means that pages go out\n"
	      "and come back all the time.\n"
	      "\n"
	      "  --mb N          in all, in MiB\n"
	      "  --processes N   (2)\n"
	      "  --rounds N      fill and check so often (2)\n"
	      "  --percent N     of its original size, what a page compresses to, in the mean (33)\n"
	      "  --seed N        of the data (1)\n"
	      "  --hold FILE     at the end, make FILE, rest until it is removed, and check again\n"
	      "\n"
	      "The last line counts; exit 1 if a byte was wrong.\n", out);
	return 2;
}

static struct pattern pattern = { .seed = 1, .percent = 33, .mixed = 1 };
static size_t nr_pages; /* of each process */
static int rounds = 2, is_held;

/* The number that page @i follows from, in its @version. */
static uint64_t page_number(int process, size_t i, unsigned int version)
{
	return (uint64_t)process << 56 | (uint64_t)version << 40 | i;
}

/* A number with no divisor in common with @n, so that its multiples meet all below @n. */
static size_t stride(size_t n)
{
	size_t s = n * 5 / 13, a, b, t;

	for (;; s++) {
		for (a = n, b = s; b; t = a % b, a = b, b = t)
			;
		if (a == 1)
			return s;
	}
}

/* What is there at the end of a round: of each third page, the second version. */
static uint64_t check_all(const char *memory, int me, unsigned int version)
{
	uint64_t bad = 0;
	size_t i;

	for (i = 0; i < nr_pages; i++)
		bad += check_page(&pattern, page_number(me, i, version + (i % 3 == 0)),
				  memory + i * PAGE);
	return bad;
}

static int work(struct crew *crew, int me)
{
	struct member *told = &crew->members[me];
	size_t bytes = nr_pages * PAGE, step = stride(nr_pages), i, n;
	unsigned int version = 0;
	uint64_t swapped;
	int round;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	for (round = 0; round < rounds; round++) {
		version = 2 * round;
		for (i = 0; i < nr_pages; i++)
			fill_page(&pattern, page_number(me, i, version), memory + i * PAGE);
		for (n = 0, i = 0; n < nr_pages; n++, i = (i + step) % nr_pages) {
			char *page = memory + i * PAGE;

			told->mismatches += check_page(&pattern, page_number(me, i, version), page);
			if (i % 3 == 0)
				fill_page(&pattern, page_number(me, i, version + 1), page);
		}
		told->mismatches += check_all(memory, me, version);
		told->pages += 2 * nr_pages;
		swapped = swapped_kb(memory, bytes) * 1024 / PAGE;
		if (swapped > told->swapped)
			told->swapped = swapped;
	}
	crew_wait(crew);
	if (is_held) {
		told->mismatches += check_all(memory, me, version);
		told->pages += nr_pages;
	}
	return told->mismatches != 0;
}

static void hold(const char *file)
{
	int fd = open(file, O_CREAT | O_WRONLY, 0600);

	if (fd < 0)
		die(file);
	close(fd);
	while (!access(file, F_OK))
		usleep(100000);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "mb", required_argument, NULL, 'm' },
		{ "processes", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "percent", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "hold", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	uint64_t pages = 0, swapped = 0, mismatches = 0;
	const char *held = NULL;
	struct crew crew;
	int processes = 2, mb = 0, ready, failed, i, c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm': mb = atoi(optarg); break;
		case 'p': processes = atoi(optarg); break;
		case 'r': rounds = atoi(optarg); break;
		case 'c': pattern.percent = atoi(optarg); break;
		case 's': pattern.seed = strtoull(optarg, NULL, 10); break;
		case 'o': held = optarg; is_held = 1; break;
		case 'h': usage(stdout); return 0;
		default: return usage(stderr);
		}
	}
	if (optind != argc || mb < 1 || processes < 1 || processes > MAX_CREW ||
	    mb / processes < 1 || rounds < 1 || rounds > 10000 || pattern.percent < 1 ||
	    pattern.percent > 100)
		return usage(stderr);
	nr_pages = ((size_t)mb << 20) / PAGE / processes;

	crew_start(&crew, processes, work);
	ready = crew_ready(&crew);
	if (held && ready == processes)
		hold(held);
	crew_go(&crew);
	failed = crew_end(&crew);
	for (i = 0; i < processes; i++) {
		pages += crew.members[i].pages;
		swapped += crew.members[i].swapped;
		mismatches += crew.members[i].mismatches;
	}
	printf("touch_more: %d processes, %d MiB, %d rounds: %llu pages checked, %llu in swap at the ends of rounds, %llu mismatches\n",
	       processes, mb, rounds, (unsigned long long)pages,
	       (unsigned long long)swapped, (unsigned long long)mismatches);
	if (failed)
		fprintf(stderr, "touch_more: %d of %d processes failed\n", failed, processes);
	return failed || ready != processes || mismatches;
}
