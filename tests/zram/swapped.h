/* SPDX-License-Identifier: GPL-2.0-only */
/* swapped.h - what /proc says of memory */
#ifndef ZSX_SWAPPED_H
#define ZSX_SWAPPED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The KiB of a line "NAME: n kB" of /proc/meminfo; 0 if there is none. */
static inline uint64_t meminfo_kb(const char *name)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[256], format[64];
	unsigned long long kb = 0;

	if (!f)
		return 0;
	snprintf(format, sizeof(format), "%s: %%llu kB", name);
	while (fgets(line, sizeof(line), f) && sscanf(line, format, &kb) != 1)
		;
	fclose(f);
	return kb;
}

/*
 * How many KiB of the mappings within @start .. @start + @bytes are in swap, by smaps: it
 * counts the page table's entries, so that it is exact.
 */
static inline uint64_t swapped_kb(const void *start, size_t bytes)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from = (unsigned long)start, a, b;
	unsigned long long kb, sum = 0;
	char line[1024];
	int inside = 0;

	if (!f) {
		perror("/proc/self/smaps");
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &a, &b) == 2)
			inside = a >= from && b <= from + bytes;
		else if (inside && sscanf(line, "Swap: %llu kB", &kb) == 1)
			sum += kb;
	}
	fclose(f);
	return sum;
}

#endif /* ZSX_SWAPPED_H */
