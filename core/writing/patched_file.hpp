// SPDX-License-Identifier: Apache-2.0
//
// A file some bytes of which are replaced when it is copied.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/writing/pieces.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gantry {

// Bytes that replace those of a file from offset `at`.
struct Patch {
  std::uint64_t at = 0;
  std::string bytes;

  std::uint64_t end() const { return at + bytes.size(); }
};

// The bytes of a plain value, as they are in memory.
template <class Record>
std::string bytes_of_record(const Record& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

class PatchedFile {
 public:
  // patches  in any order; where they overlap, the bytes are undefined
  PatchedFile(std::shared_ptr<const MappedFile> file, std::vector<Patch> patches);

  // Appends the bytes from `begin` to `end`, neither of which is inside a patch.
  void append_range(std::uint64_t begin, std::uint64_t end, Pieces& pieces) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<Patch> patches_;
};

}  // namespace gantry
