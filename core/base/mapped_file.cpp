// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.hpp"

#include "core/base/sealed_memory.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

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
  const std::string why = std::generic_category().message(number);
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
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return exhausted(path.native(), " cannot be opened: ", why).native("errno", number);
    case ELOOP:
    case ENAMETOOLONG:
      return invalid(path.native(), " cannot be opened: ", why).native("errno", number);
    default:
      break;
  }
  return unavailable(path.native(), " cannot be opened: ", why).native("errno", number);
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
  return adopt(std::move(memory), name);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::adopt(Descriptor file, const fs::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return open_error(path, errno);
  if (!S_ISREG(info.st_mode)) return wrong_kind(path, info.st_mode);
  if (info.st_size == 0) return malformed(0, path.native(), " is empty").with_reason("FILE_EMPTY");
  // Allocated before it owns the descriptor, so that a failed allocation leaks nothing.
  const std::shared_ptr<MappedFile> made(new MappedFile(path, identity_of(info)));
  made->descriptor_ = std::move(file);

  const auto size = static_cast<std::size_t>(info.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, made->descriptor(), 0);
  if (at == MAP_FAILED) {
    const int why = errno;
    const Code code = why == ENOMEM ? Code::exhausted : Code::unavailable;
    return fail(code, path.native(), " cannot be mapped: ", std::generic_category().message(why))
        .native("errno", why);
  }
  made->bytes_ = {static_cast<const std::uint8_t*>(at), size};
  return std::shared_ptr<const MappedFile>(made);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace gantry
