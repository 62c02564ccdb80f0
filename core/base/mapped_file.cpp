// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"

#include "core/base/sealed_memory.hpp"
#include "core/base/system_limit.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace gantry {
namespace {

namespace fs = std::filesystem;

const char* kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    default:
      return "of an unknown kind";
  }
}

Failure wrong_kind(const fs::path& path, mode_t mode) {
  return malformed(no_offset, path.native(), " is ", kind_of(mode), ", not a regular file")
      .with_reason("FILE_KIND");
}

// Reports the longest existing part of the path: usually one directory name is misspelled.
Failure missing(const fs::path& path, int number) {
  fs::path existing;
  for (const fs::path& part : path) {
    const fs::path next = existing / part;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) break;
    existing = next;
  }
  Failure error = not_found(path.native(), " does not exist");
  if (existing == path) {
    error = not_found(path.native(), " is a dangling symbolic link");
  } else if (!existing.empty() && existing != path.parent_path()) {
    error = not_found(path.native(), " does not exist: the path exists up to ", existing.native());
  }
  return std::move(error).with_reason("FILE_NOT_FOUND").native("errno", number);
}

Failure open_error(const fs::path& path, int number) {
  const std::string why = text_of_errno(number);
  switch (number) {
    case ENOENT:
    case ENOTDIR:
      return missing(path, number);
    // open() fails this way for sockets, and for devices without hardware
    case ENXIO: {
      struct stat info {};
      if (::stat(path.c_str(), &info) == 0) return wrong_kind(path, info.st_mode);
      break;
    }
    case ELOOP:
    case ENAMETOOLONG:
      return invalid(path.native(), " cannot be opened: ", why).native("errno", number);
    default:
      break;
  }
  return fail(code_of_errno(number), path.native(), " cannot be opened: ", why)
      .native("errno", number);
}

Failure map_error(const fs::path& path, int number) {
  return fail(code_of_errno(number), path.native(), " cannot be mapped: ", text_of_errno(number))
      .native("errno", number);
}

Failure empty_file(const fs::path& path) {
  return malformed(0, path.native(), " is empty").with_reason("FILE_EMPTY");
}

}  // namespace

FileIdentity identity_of(const struct stat& file) {
  return {static_cast<std::uint64_t>(file.st_dev), static_cast<std::uint64_t>(file.st_ino)};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  // The system would truncate the path at the NUL and open another file.
  if (path.native().find('\0') != std::string::npos) {
    return invalid("path of ", path.native().size(), " bytes contains a NUL");
  }
  int number = -1;
  do {
    // O_NONBLOCK: opening a FIFO without a writer would wait for one.
    number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  if (number < 0) return open_error(path, errno);
  return adopt(Descriptor(number), path);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::copy(const fs::path& name,
                                                           std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(Descriptor memory, sealed_memory(name.filename().native(), bytes));
  return adopt(std::move(memory), name, true);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::adopt(Descriptor file, const fs::path& path,
                                                            bool is_copy) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return open_error(path, errno);
  if (!S_ISREG(info.st_mode)) return wrong_kind(path, info.st_mode);
  if (info.st_size == 0) return empty_file(path);
  // Allocated before it owns the descriptor, so that a failed allocation leaks nothing.
  const std::shared_ptr<MappedFile> made(new MappedFile(path, identity_of(info)));
  made->descriptor_ = std::move(file);
  made->is_copy_ = is_copy;

  const auto size = static_cast<std::size_t>(info.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, made->descriptor(), 0);
  if (at == MAP_FAILED) return map_error(path, errno);
  made->bytes_ = {static_cast<const std::uint8_t*>(at), size};
  made->own(at, size);
  return std::shared_ptr<const MappedFile>(made);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::part_of(
    std::shared_ptr<const MappedFile> whole, const fs::path& path,
    std::span<const std::uint8_t> part) {
  if (part.empty()) return empty_file(path);
  const std::shared_ptr<MappedFile> made(new MappedFile(path, {}));
  made->bytes_ = part;
  made->whole_ = std::move(whole);
  return std::shared_ptr<const MappedFile>(made);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::joined(const fs::path& path,
                                                             std::span<const std::uint8_t> before,
                                                             const MappedFile& file,
                                                             std::span<const std::uint8_t> part,
                                                             std::span<const std::uint8_t> after) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto at = static_cast<std::uint64_t>(part.data() - file.bytes().data());
  // The file's bytes have the same offset in their pages as in the file.
  const std::uint64_t start = (at % page + page - before.size() % page) % page;
  const std::uint64_t size = before.size() + part.size() + after.size();

  const std::shared_ptr<MappedFile> made(new MappedFile(path, {}));
  constexpr int reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const all = ::mmap(nullptr, start + size, PROT_READ | PROT_WRITE, reserved, -1, 0);
  if (all == MAP_FAILED) return map_error(path, errno);
  made->own(all, start + size);
  auto* const bytes = static_cast<std::uint8_t*>(all) + start;
  made->bytes_ = {bytes, size};

  // Whole pages: the first and the last one also have other bytes.
  const std::uint64_t first = std::min((at + page - 1) / page * page - at, part.size());
  const std::uint64_t last_page = (at + part.size()) / page * page;
  const std::uint64_t end = last_page > at + first ? last_page - at : first;
  if (end > first) {
    void* const pages =
        ::mmap(bytes + before.size() + first, end - first, PROT_READ, MAP_PRIVATE | MAP_FIXED,
               file.descriptor(), static_cast<off_t>(at + first));
    if (pages == MAP_FAILED) return map_error(path, errno);
  }
  std::ranges::copy(before, bytes);
  std::ranges::copy(part.first(first), bytes + before.size());
  std::ranges::copy(part.subspan(end), bytes + before.size() + end);
  std::ranges::copy(after, bytes + before.size() + part.size());
  ::mprotect(all, start + size, PROT_READ);
  return std::shared_ptr<const MappedFile>(made);
}

void MappedFile::own(void* mapping, std::size_t size) {
  mapping_ = mapping;
  mapping_bytes_ = size;
  range_.emplace(RangeKind::file, std::span(static_cast<const std::byte*>(mapping), size),
                 path_.native());
}

MappedFile::~MappedFile() {
  range_.reset();
  if (mapping_ != nullptr) ::munmap(mapping_, mapping_bytes_);
}

}  // namespace gantry
