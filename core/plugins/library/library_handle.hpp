// SPDX-License-Identifier: Apache-2.0
//
// A plugin's library, opened for the life of the process.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <string>

namespace gantry {

class LibraryHandle {
 public:
  // Opens with RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE through Boost.DLL. The library is never
  // closed, because threads, thread-local destructors and objects of a plugin may outlive every
  // user of it. A constructor of the library that throws terminates the process, because the linker
  // cannot be unwound.
  //
  // The linker opens the file through its directory in /proc/self/fd, so that links and directories
  // of the path cannot lead elsewhere in the meantime. The directory stays open, because it is
  // $ORIGIN of the library. Without /proc the path is opened.
  //
  // path      [in]  absolute
  // inspected [in]  the file that must be at `path`
  // returns  unavailable or unsupported with the linker's message and a reason: LIB_NEEDED_MISSING,
  //          SYMBOL_MISSING, VERSION_NEEDED, STATIC_TLS, EXEC_STACK, LINKER; exhausted, reason
  //          EXHAUSTED or LINKER; REPLACED_DURING_LOAD if another file is at `path`, before its code runs
  // thread   one at a time for each runtime
  static Result<LibraryHandle> open(const std::string& path, const MappedFile& inspected);

  // Returns NULL if there is no such symbol.
  void* symbol(const char* name) const;

  // Checks that the mapped library is the file that was inspected, see difference_of().
  //
  // returns  unavailable, reason STALE_MAPPED if this process had the library open before open(), as
  //          the linker opens no second file by the same path; otherwise REPLACED_DURING_LOAD
  Status confirm(const MappedFile& inspected) const;

 private:
  LibraryHandle(void* handle, std::string path, bool was_open)
      : handle_(handle), path_(std::move(path)), was_open_(was_open) {}

  void* handle_;
  std::string path_;
  bool was_open_;
};

// Returns an error with the linker's message and the reason that corresponds to it.
Failure linker_error(const std::string& path, std::string_view message);

}  // namespace gantry
