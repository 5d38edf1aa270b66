/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mixes.h - how long the objects are that tests and measurements store
 *
 * A mix is a distribution of lengths; equal seeds give equal lengths on each machine.
 * What is in the unit of bytes is for pages of 4 KiB, and grows with them.
 */
#ifndef _ZSX_TESTS_MIXES_H_
#define _ZSX_TESTS_MIXES_H_

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/string.h>

#include "recorded.h"

/*
 * Quantiles, in 256ths, of a log-normal distribution with median 1250 and sigma
 * 0.50, clipped to 60..4095. Made from the project's density.py by
 *
 *   cum = list(itertools.accumulate(lognormal(1250, .5, 60, 4095, 4096)))
 *   [60] + [bisect.bisect_left(cum, i / 256) for i in range(1, 256)] + [4096]
 */
static const u16 mix_lognormal[257] = {
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
static inline u32 mix_below(struct rnd_state *rnd, u32 bound)
{
	return (u64)prandom_u32_state(rnd) * bound >> 32;
}

/* The density model's "lzo-rle": 8 % short ones, 8 % that don't compress, log-normal. */
static unsigned int mix_lzo_rle_len(struct rnd_state *rnd)
{
	u32 percent = mix_below(rnd, 100);
	u32 i;

	if (percent < 8)
		return 40 + mix_below(rnd, 161);
	if (percent < 16)
		return PAGE_SIZE;
	i = mix_below(rnd, 256);
	return (mix_lognormal[i] + mix_below(rnd, mix_lognormal[i + 1] - mix_lognormal[i])) *
	       (PAGE_SIZE / 4096);
}

static unsigned int mix_uniform_len(struct rnd_state *rnd)
{
	return 32 + mix_below(rnd, PAGE_SIZE - 31);
}

/* What zram stored of files: each entry of the table is as likely. */
static unsigned int mix_recorded_len(struct rnd_state *rnd)
{
	return mix_recorded[mix_below(rnd, ARRAY_SIZE(mix_recorded))] * (PAGE_SIZE / 4096);
}

/* What speed is measured with: most of what compresses. */
static unsigned int mix_mixed_len(struct rnd_state *rnd)
{
	return 100 + mix_below(rnd, 1901);
}

/* All in one size class. */
static unsigned int mix_one_len(struct rnd_state *rnd)
{
	return 1000;
}

/* As many objects as can be in the least memory, nearly. */
static unsigned int mix_tiny_len(struct rnd_state *rnd)
{
	return 16 + mix_below(rnd, 33);
}

static unsigned int mix_page_len(struct rnd_state *rnd)
{
	return PAGE_SIZE;
}

/**
 * struct mix - a distribution of lengths
 * @name: what commands call it
 * @len: a length of it
 */
struct mix {
	const char *name;
	unsigned int (*len)(struct rnd_state *rnd);
};

static const struct mix mixes[] = {
	{ "lzo-rle", mix_lzo_rle_len },
	{ "uniform", mix_uniform_len },
	{ "recorded", mix_recorded_len },
	{ "mixed", mix_mixed_len },
	{ "one", mix_one_len },
	{ "tiny", mix_tiny_len },
	{ "page", mix_page_len },
};

/* Return: NULL if there is none of that name. */
static inline const struct mix *mix_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mixes); i++)
		if (!strcmp(mixes[i].name, name))
			return &mixes[i];
	return NULL;
}

#endif /* _ZSX_TESTS_MIXES_H_ */
