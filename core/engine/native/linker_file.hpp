// SPDX-License-Identifier: Apache-2.0
//
// A file by a path that the system's linker opens as this very file: "/proc/self/fd/7". Whatever
// happens to the file's own path meanwhile, the linker opens the file that was read; it expands
// nothing in this path, and $LIB in the file's own path remains a name.
//
// The linker identifies libraries by the path with which they were opened and by device and inode.
// A library that was never unloaded keeps the number of its descriptor, so a number that the linker
// knows is avoided.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/base/sealed_memory.hpp"

#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

class LinkerFile {
 public:
  LinkerFile() = default;
  // Returns the file itself, or a copy of its bytes if it is a part of another file, or if the
  // linker already has it open, so that each opened library has its own variables.
  //
  // unread   [in]   returns the bytes that a copy does not need; called for a copy only
  static Result<LinkerFile> of(
      const MappedFile& file, const std::function<FileHole()>& unread = [] { return FileHole{}; });
  // Returns a copy, as sealed_memory().
  static Result<LinkerFile> copy(std::string_view name, std::span<const std::uint8_t> bytes,
                                 FileHole unread = {});

  bool is_copy() const { return is_copy_; }
  // Valid as long as this object, which must outlive the opened library.
  std::string path() const;

 private:
  LinkerFile(Descriptor descriptor, bool is_copy)
      : descriptor_(std::move(descriptor)), is_copy_(is_copy) {}
  // Changes the number of the descriptor until the linker has no library with the path.
  //
  // file     [in]   NULL: one that the linker cannot have open
  // returns  false if the linker has this file open
  Result<bool> avoid_known_paths(const MappedFile* file);

  Descriptor descriptor_{-1};
  bool is_copy_ = false;
};

}  // namespace gantry
