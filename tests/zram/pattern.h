/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pattern.h - pages whose every byte follows from a number, and which compress as told
 *
 * The first bytes of a page are random, the rest repeats one word: an algorithm that looks
 * for repetitions makes of it a little more than the random bytes. Of each of these 6
 * bits are random, so that zstd makes a quarter less.
 */
#ifndef ZSX_PATTERN_H
#define ZSX_PATTERN_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PAGE	4096
#define WORDS	(PAGE / sizeof(uint64_t))

/*
 * A set of pages.
 * @seed: what all of them follow from
 * @percent: of a page, how much is random: in the mean; each has between half and
 *	one and a half of that
 * @mixed: one page of 16 is one word repeated, which zram keeps without zsmalloc, and
 *	one of 16 is all random
 */
struct pattern {
	uint64_t seed;
	unsigned int percent;
	int mixed;
};

static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static inline uint64_t page_seed(const struct pattern *p, uint64_t number)
{
	return mix(p->seed ^ mix(number));
}

/* How many bytes of a page are random: whole words. */
static inline unsigned int random_bytes(const struct pattern *p, uint64_t number)
{
	uint64_t seed = page_seed(p, number);
	unsigned int mean = PAGE * p->percent / 100, bytes;

	if (p->mixed && seed % 16 == 0)
		return 0;
	if (p->mixed && seed % 16 == 1)
		return PAGE;
	bytes = mean / 2 + (seed >> 8) % (mean + 1);
	if (bytes < 8)
		bytes = 8; /* one word repeated is something else */
	return bytes > PAGE ? PAGE : bytes & ~7U;
}

static inline void fill_page(const struct pattern *p, uint64_t number, void *page)
{
	unsigned int nr_random = random_bytes(p, number) / sizeof(uint64_t), i;
	uint64_t *words = page, state = page_seed(p, number), rest = mix(state);
	uint64_t mask = nr_random == WORDS ? ~0ULL : 0x3f3f3f3f3f3f3f3f;

	for (i = 0; i < nr_random; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		words[i] = state & mask;
	}
	for (; i < WORDS; i++)
		words[i] = rest;
}

/* Each byte. Says what is wrong, of the first few; returns 0 if nothing is. */
static inline int check_page(const struct pattern *p, uint64_t number, const void *page)
{
	static unsigned int told;
	const unsigned char *is = page;
	unsigned char should[PAGE];
	unsigned int i;

	fill_page(p, number, should);
	if (!memcmp(page, should, PAGE))
		return 0;
	if (told++ >= 5)
		return 1;
	for (i = 0; is[i] == should[i]; i++)
		;
	fprintf(stderr, "page %llu, of %u random bytes: byte %u is %02x, not %02x\n",
		(unsigned long long)number, random_bytes(p, number), i, is[i], should[i]);
	return 1;
}

#endif /* ZSX_PATTERN_H */
