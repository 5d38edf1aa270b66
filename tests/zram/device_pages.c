// SPDX-License-Identifier: GPL-2.0-only
/*
 * device_pages.c - write, check and discard pages of a block device
 *
 * See usage().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pattern.h"

static int usage(FILE *out)
{
	fputs("usage: device_pages write|check|both DEVICE PAGES [SEED [PERCENT [KEPT]]]\n"
	      "       device_pages discard DEVICE PAGES SEED PERCENT KEPT\n"
	      "       device_pages count DEVICE PAGES [SEED [PERCENT]]\n"
	      "\n"
	      "PAGES is a number of pages of 4 KiB, or FIRST+NUMBER.\n"
	      "\n"
	      "write    these pages, each made from SEED (1) and its number: some of\n"
	      "         one word, some that can't be compressed, most of PERCENT (33) random bytes\n"
	      "check    each byte of them\n"
	      "both     write and check, without closing the device between\n"
	      "discard  all but KEPT percent of them, chosen at random; check then expects zeroes\n"
	      "         there\n"
	      "count    touch nothing; print what zram should hold: \"pages N same N huge N random_bytes N\"\n"
	      "\n"
	      "Exit: 1 a byte was wrong; 3 an error from the device.\n", out);
	return 2;
}

#define CHUNK	16 /* pages a request */

static struct pattern pattern = { .seed = 1, .percent = 33, .mixed = 1 };
static unsigned int kept = 100;
static unsigned long first, nr_pages;
static const char *device;

static int is_kept(unsigned long i)
{
	return mix(mix(pattern.seed + 1) ^ i) % 100 < kept;
}

static int failed(const char *what, unsigned long i)
{
	fprintf(stderr, "device_pages: %s: %s of page %lu: %s\n", device, what, i,
		strerror(errno));
	return 3;
}

/* How many pages there are from @i on, for one request. */
static unsigned long chunk_at(unsigned long i)
{
	unsigned long n = first + nr_pages - i;

	return n < CHUNK ? n : CHUNK;
}

static int write_all(int fd, char *buffer)
{
	unsigned long i, j, n;
	ssize_t done;

	for (i = first; i < first + nr_pages; i += n) {
		n = chunk_at(i);
		for (j = 0; j < n; j++)
			fill_page(&pattern, i + j, buffer + j * PAGE);
		errno = ENOSPC; /* of a short write */
		done = pwrite(fd, buffer, n * PAGE, i * PAGE);
		if (done != (ssize_t)(n * PAGE))
			return failed("write", i);
	}
	return 0;
}

static int check_one(unsigned long i, const char *page)
{
	static const char zeroes[PAGE];

	if (is_kept(i))
		return check_page(&pattern, i, page);
	if (!memcmp(page, zeroes, PAGE))
		return 0;
	fprintf(stderr, "page %lu was discarded, and is not zero\n", i);
	return 1;
}

static int check_all(int fd, char *buffer)
{
	unsigned long i, j, n, bad = 0;
	ssize_t done;

	for (i = first; i < first + nr_pages; i += n) {
		n = chunk_at(i);
		errno = ENODATA; /* of a short read */
		done = pread(fd, buffer, n * PAGE, i * PAGE);
		if (done != (ssize_t)(n * PAGE))
			return failed("read", i);
		for (j = 0; j < n; j++)
			bad += check_one(i + j, buffer + j * PAGE);
	}
	if (bad)
		fprintf(stderr, "device_pages: %s: %lu of %lu pages are wrong\n", device, bad,
			nr_pages);
	return bad != 0;
}

static int discard_most(int fd)
{
	unsigned long i;

	for (i = first; i < first + nr_pages; i++) {
		uint64_t range[2] = { i * PAGE, PAGE };

		if (!is_kept(i) && ioctl(fd, BLKDISCARD, range))
			return failed("discard", i);
	}
	return 0;
}

static int count_all(void)
{
	unsigned long i, same = 0, huge = 0, random = 0;

	for (i = first; i < first + nr_pages; i++) {
		unsigned int bytes = random_bytes(&pattern, i);

		same += !bytes;
		huge += bytes == PAGE;
		random += bytes;
	}
	printf("pages %lu same %lu huge %lu random_bytes %lu\n", nr_pages, same, huge, random);
	return 0;
}

int main(int argc, char **argv)
{
	static char buffer[CHUNK * PAGE] __attribute__((aligned(PAGE)));
	int fd, err;

	if (argc == 2 && !strcmp(argv[1], "--help")) {
		usage(stdout);
		return 0;
	}
	if (argc < 4 || argc > 7)
		return usage(stderr);
	device = argv[2];
	if (sscanf(argv[3], "%lu+%lu", &first, &nr_pages) != 2) {
		first = 0;
		nr_pages = strtoul(argv[3], NULL, 10);
	}
	if (argc > 4)
		pattern.seed = strtoull(argv[4], NULL, 10);
	if (argc > 5)
		pattern.percent = atoi(argv[5]);
	if (argc > 6)
		kept = atoi(argv[6]);
	if (!nr_pages || pattern.percent > 100 || kept > 100)
		return usage(stderr);
	if (!strcmp(argv[1], "count"))
		return count_all();

	fd = open(device, O_RDWR | O_DIRECT);
	if (fd < 0)
		return failed("open", first);
	if (!strcmp(argv[1], "write"))
		err = write_all(fd, buffer);
	else if (!strcmp(argv[1], "check"))
		err = check_all(fd, buffer);
	else if (!strcmp(argv[1], "both"))
		err = write_all(fd, buffer) ?: check_all(fd, buffer);
	else if (!strcmp(argv[1], "discard"))
		err = discard_most(fd);
	else
		return usage(stderr);
	close(fd);
	return err;
}
