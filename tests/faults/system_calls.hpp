// SPDX-License-Identifier: Apache-2.0
//
// System calls that a sweep makes fail, and the error of each. Omitted, because a failure has no
// effect or cannot occur: munmap, close, madvise (the result is not used), exit, rt_sig*, futex
// (libc ends the process on an error that the kernel never returns), brk (malloc continues with
// mmap, and the sweep of allocations covers both), clocks, ids, execve and the calls of a child
// before it.
#pragma once

#include <cerrno>
#include <iterator>

#include <sys/syscall.h>

namespace gantry::test {

struct SystemCall {
  long number;
  const char* name;
  // errno of the failure
  int error;
  // index of the argument that is a path, from 1; 0: none
  int path_argument;
};

constexpr long kPrctl = SYS_prctl;

#if defined(__x86_64__)
constexpr SystemCall kSystemCalls[] = {
    {SYS_open, "open", EMFILE, 1},
    {SYS_openat, "openat", EMFILE, 2},
    {SYS_read, "read", EIO, 0},
    {SYS_pread64, "pread64", EIO, 0},
    {SYS_readv, "readv", EIO, 0},
    {SYS_write, "write", ENOSPC, 0},
    {SYS_pwrite64, "pwrite64", ENOSPC, 0},
    {SYS_writev, "writev", ENOSPC, 0},
    {SYS_lseek, "lseek", EIO, 0},
    {SYS_stat, "stat", EIO, 1},
    {SYS_lstat, "lstat", EIO, 1},
    {SYS_fstat, "fstat", EIO, 0},
    {SYS_newfstatat, "newfstatat", EIO, 2},
    {SYS_statx, "statx", EIO, 2},
    {SYS_access, "access", EACCES, 1},
    {SYS_faccessat, "faccessat", EACCES, 2},
    {SYS_faccessat2, "faccessat2", EACCES, 2},
    {SYS_readlink, "readlink", EACCES, 1},
    {SYS_readlinkat, "readlinkat", EACCES, 2},
    {SYS_getdents64, "getdents64", EIO, 0},
    {SYS_getcwd, "getcwd", ENOENT, 0},
    {SYS_mmap, "mmap", ENOMEM, 0},
    {SYS_mprotect, "mprotect", ENOMEM, 0},
    {SYS_mremap, "mremap", ENOMEM, 0},
    {SYS_fcntl, "fcntl", EMFILE, 0},
    {SYS_dup, "dup", EMFILE, 0},
    {SYS_dup2, "dup2", EMFILE, 0},
    {SYS_dup3, "dup3", EMFILE, 0},
    {SYS_ioctl, "ioctl", ENOTTY, 0},
    {SYS_pipe2, "pipe2", EMFILE, 0},
    {SYS_memfd_create, "memfd_create", EMFILE, 1},
    {SYS_ftruncate, "ftruncate", EIO, 0},
    {SYS_fallocate, "fallocate", ENOSPC, 0},
    {SYS_fsync, "fsync", EIO, 0},
    {SYS_fdatasync, "fdatasync", EIO, 0},
    {SYS_rename, "rename", EACCES, 1},
    {SYS_renameat, "renameat", EACCES, 2},
    {SYS_renameat2, "renameat2", EACCES, 2},
    {SYS_link, "link", EACCES, 1},
    {SYS_unlink, "unlink", EACCES, 1},
    {SYS_unlinkat, "unlinkat", EACCES, 2},
    {SYS_rmdir, "rmdir", EACCES, 1},
    {SYS_mkdir, "mkdir", ENOSPC, 1},
    {SYS_mkdirat, "mkdirat", ENOSPC, 2},
    {SYS_chmod, "chmod", EACCES, 1},
    {SYS_fchmod, "fchmod", EACCES, 0},
    {SYS_flock, "flock", EINTR, 0},
    {SYS_clone, "clone", EAGAIN, 0},
    {SYS_clone3, "clone3", EAGAIN, 0},
    {SYS_vfork, "vfork", EAGAIN, 0},
    {SYS_wait4, "wait4", EINTR, 0},
    {SYS_poll, "poll", EINTR, 0},
    {SYS_sched_getaffinity, "sched_getaffinity", EINVAL, 0},
    {SYS_sched_setaffinity, "sched_setaffinity", EINVAL, 0},
    {SYS_getrandom, "getrandom", ENOSYS, 0},
    {SYS_prlimit64, "prlimit64", EINVAL, 0},
    {SYS_sysinfo, "sysinfo", EINVAL, 0},
    {SYS_uname, "uname", EFAULT, 0},
    {SYS_membarrier, "membarrier", ENOSYS, 0},
};
#else
constexpr SystemCall kSystemCalls[] = {{SYS_openat, "openat", EMFILE, 2}};
#endif

constexpr const SystemCall* find_system_call(long number) {
  for (const SystemCall& call : kSystemCalls) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

}  // namespace gantry::test
