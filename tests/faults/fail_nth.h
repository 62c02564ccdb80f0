// SPDX-License-Identifier: Apache-2.0
/*
 * libfail_nth.so: counts the allocations of a program and makes one of them fail.
 *
 * If it is preloaded it counts from the first line of main() to its return, and reads
 *
 *     GANTRY_FAIL_ALLOCATION=N   the N-th malloc, calloc or realloc returns NULL, once
 *     GANTRY_FAIL_ONWARD=1       all later allocations fail, too
 *     GANTRY_FAIL_REPORT=FILE    writes "allocations 1234 live 5 fired 1" at the end
 *     GANTRY_FAIL_BACKTRACE=1    prints the stack of the failing allocation to stderr
 *
 * The first three and LD_PRELOAD are removed from the environment before main(), so that a compiler
 * that the program starts runs without faults. A program that is linked with the library uses the
 * functions below instead. Memory from mmap and brk is not counted: the sweep of system calls
 * covers it.
 */
#ifndef GANTRY_TESTS_FAIL_NTH_H
#define GANTRY_TESTS_FAIL_NTH_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts to count from zero. The `nth` allocation fails; 0: none. */
void fail_nth_arm(unsigned long nth);
/* Like fail_nth_arm(); all allocations after the `nth` fail, too. */
void fail_nth_arm_onward(unsigned long nth);
/* Stops to count; returns the number of allocations. */
unsigned long fail_nth_disarm(void);
int fail_nth_fired(void);
/* Number of blocks of the process that are allocated and not freed. */
long fail_nth_live(void);
/* A system call without effect that marks the begin (1) and the end (0) of faults for sweep.cpp. */
void fail_nth_mark(int begin);

/* The prctl() option of the mark; the kernel does not define it. */
#define FAIL_NTH_MARK 0x676e7472

#ifdef __cplusplus
}
#endif
#endif
