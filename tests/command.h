/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * command.h - debugfs files of the test modules that are written commands
 */
#ifndef ZSX_COMMAND_H
#define ZSX_COMMAND_H

#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/types.h>
#include <linux/uaccess.h>

/**
 * take_command() - the .write of such a file
 * @from: what the user wrote
 * @count: how much of it
 * @lock: held while the command runs
 * @run: does it; the command has no white space at its ends
 *
 * Return: @count, or what @run returned if that isn't 0, -EINVAL or -EFAULT
 */
static inline ssize_t take_command(const char __user *from, size_t count,
				   struct mutex *lock,
				   int (*run)(const char *command))
{
	char buf[64];
	int err;

	if (count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, from, count))
		return -EFAULT;
	buf[count] = '\0';

	mutex_lock(lock);
	err = run(strim(buf));
	mutex_unlock(lock);
	return err ?: count;
}

#endif
