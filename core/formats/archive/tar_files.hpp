// SPDX-License-Identifier: Apache-2.0
//
// The files of an untrusted tar archive by name. Every name is relative and stays inside the
// archive, so that it can be used as a path below a directory.
//
//     ./codegen/lib0.o  codegen//lib0.o   ->  codegen/lib0.o
//     /etc/passwd  ../x  a -> b (link)    ->  refused
#pragma once

#include "core/formats/archive/archive_members.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct TarLimits {
  std::uint64_t members = max_archive_members;
  std::uint64_t name_bytes = 1024;
};

class TarFiles {
 public:
  // Files by name, in bytewise order.
  using Files = std::map<std::string, ArchiveMember, std::less<>>;

  // bytes    [in]   the whole archive, uncompressed
  // returns  malformed    as read_tar_members(), with the offset of the member's header: an absolute
  //                       name, one with "..", without a file name or with a NUL, a name that occurs
  //                       twice, a link, a device or another special member, a name or a number of
  //                       members above its limit
  // lifetime the members' content views `bytes`
  // costs    O(members log members); the content is not read
  static Result<TarFiles> read(std::span<const std::uint8_t> bytes, const TarLimits& limits = {});

  // Returns true if the archive has a file of that name. Files after it are not read, and names that
  // read() refuses are passed over.
  //
  // costs    O(members) up to the file or the limit
  static bool contain(std::span<const std::uint8_t> bytes, std::string_view name,
                      const TarLimits& limits = {});

  const Files& all() const { return files_; }
  // Returns the file of that name, or NULL.
  const ArchiveMember* find(std::string_view name) const;
  // Returns the names that begin with `prefix`, in bytewise order.
  std::vector<std::string_view> names_below(std::string_view prefix) const;
  // True if names_below() is not empty.
  bool has_below(std::string_view prefix) const;

 private:
  Files files_;
};

}  // namespace gantry
