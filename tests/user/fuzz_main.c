// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_main.c - fuzz.c without libFuzzer: bytes from a seed, or from files
 *
 * A run that ends in abort(), by fuzz.c or by a sanitizer, says its seed: the same seed gives
 * the same bytes.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST	4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned long long seed_now;

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1";
}

/* The program is at its end: what may not be called from a handler does no more harm. */
static void say_seed(int sig)
{
	if (seed_now)
		fprintf(stderr, "fuzz_main: --seed %llu --runs 1\n", seed_now);
	signal(sig, SIG_DFL);
}

static int usage(FILE *to)
{
	fprintf(to,
		"usage: fuzz_main [--seed S] [--runs N] [FILE...]\n"
		"\n"
		"Try zsx's pure parts with the bytes of each FILE, then with N runs (10000) of\n"
		"bytes made from S (1), S + 1, ... To keep a seed that failed: fuzz_main --seed S\n"
		"--write FILE writes its bytes.\n");
	return to == stderr ? 2 : 0;
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static size_t make(uint64_t seed, uint8_t *data)
{
	size_t i, size = next(&seed) % MOST;

	for (i = 0; i < size; i++)
		data[i] = next(&seed);
	return size;
}

static int run_file(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

static int write_file(const char *path, uint64_t seed)
{
	uint8_t data[MOST];
	size_t size = make(seed, data);
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long long seed = 1, runs = 10000, i;
	uint8_t data[MOST];

	signal(SIGABRT, say_seed);
	for (argv++; *argv; argv++) {
		if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
			return usage(stdout);
		if (!strncmp(*argv, "--", 2) && argv[1]) {
			char *end;

			if (!strcmp(*argv, "--write"))
				return write_file(argv[1], seed);
			i = strtoull(argv[1], &end, 0);
			if (*end || end == argv[1])
				return usage(stderr);
			if (!strcmp(*argv, "--seed"))
				seed = i;
			else if (!strcmp(*argv, "--runs"))
				runs = i;
			else
				return usage(stderr);
			argv++;
		} else if (**argv == '-') {
			return usage(stderr);
		} else if (run_file(*argv)) {
			return 1;
		}
	}
	for (i = 0; i < runs; i++) {
		size_t size = make(seed + i, data);

		seed_now = seed + i;
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%llu runs, from seed %llu on: nothing amiss\n", runs, seed);
	return 0;
}
