// SPDX-License-Identifier: Apache-2.0
#include "core/formats/weight_directory.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/text_file.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace gantry {
namespace {

namespace fs = std::filesystem;

Failure no_index(const fs::path& directory) {
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  const std::string_view why = !fs::exists(status)         ? "does not exist"
                               : !fs::is_directory(status) ? "is not a directory"
                                                           : "has no index of weights";
  return not_found(quoted(directory.native()), " ", why, ", expected a directory with ",
                   join(WeightDirectory::index_names, " or "))
      .with_reason("WEIGHT_INDEX");
}

// Maps an open file again, writable: functions of a model may write to their parameters. Pages that
// nobody writes are shared with the page cache, so no memory is reserved for them.
Result<MappedShard> map_private(const MappedFile& file) {
  const std::size_t size = file.bytes().size();
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                          file.descriptor(), 0);
  if (at == MAP_FAILED) {
    const int number = errno;
    return fail(number == ENOMEM ? Code::exhausted : Code::unavailable, file.path().native(),
                " cannot be mapped: ", std::generic_category().message(number))
        .native("errno", number);
  }
  return MappedShard({static_cast<std::uint8_t*>(at), size});
}

}  // namespace

MappedShard::~MappedShard() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<WeightDirectory> WeightDirectory::open(const fs::path& path) {
  for (const std::string_view name : index_names) {
    const fs::path file = path / name;
    const auto text = read_text_file(file.native(), max_weight_index_bytes);
    if (!text.ok() && text.error().code == Code::not_found) continue;
    if (!text.ok()) return text.error();
    auto index = parse_weight_index(*text);
    if (!index.ok()) return std::move(index).failure().at("in ", file.native());
    return WeightDirectory{path, name, std::move(*index)};
  }
  return no_index(path);
}

Result<MappedShard> WeightDirectory::map(const WeightShard& shard) const {
  Status checked = check_shard(shard);
  if (!checked.ok()) {
    return std::move(checked).failure().at("in shard ", quoted(shard.path), " of ",
                                           (path / index_name).native());
  }
  const fs::path file = path / shard.path;
  auto opened = MappedFile::open(file);
  // An empty file cannot be mapped.
  const bool is_empty = !opened.ok() && opened.error().reason == "FILE_EMPTY";
  if (!opened.ok() && !is_empty) return std::move(opened).failure();
  const std::uint64_t size = is_empty ? 0 : (*opened)->bytes().size();
  if (size != shard.bytes) {
    return malformed(no_offset, file.native(), " has ", ByteCount(size), ", its index states ",
                     shard.bytes, ": copy or download it again")
        .with_reason("WEIGHT_SHARD");
  }
  if (is_empty) return MappedShard({});
  return map_private(**opened);
}

}  // namespace gantry
