// SPDX-License-Identifier: Apache-2.0
//
// A plugin's library in the process, for good.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/result.hpp>

#include <string>

namespace gantry {

class LibraryHandle {
 public:
  // Opens with RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE through Boost.DLL and never closes: threads, thread-local
  // destructors and objects of a plugin may outlive every user of it.
  //
  // path     absolute
  // returns  unavailable or unsupported with the linker's own words and a reason: LIB_NEEDED_MISSING, SYMBOL_MISSING,
  //          VERSION_NEEDED, STATIC_TLS, EXEC_STACK, LINKER; exhausted, reason LINKER. A constructor that throws ends
  //          the process: the linker cannot be unwound
  // thread   one at a time for each runtime
  static Result<LibraryHandle> open(const std::string& path);

  // NULL: no such symbol.
  void* symbol(const char* name) const;

  // Is the mapped library the file that was inspected? Compared by what the kernel says about both mappings, so that
  // file systems which report other device numbers to stat do not matter.
  //
  // returns  unavailable, reason REPLACED_DURING_LOAD
  Status confirm(const MappedFile& inspected) const;

 private:
  explicit LibraryHandle(void* handle, std::string path)
      : handle_(handle), path_(std::move(path)) {}

  void* handle_;
  std::string path_;
};

// The linker's words with the reason that they mean.
Failure linker_error(const std::string& path, std::string_view said);

}  // namespace gantry
