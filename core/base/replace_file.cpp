// SPDX-License-Identifier: Apache-2.0
#include "core/base/replace_file.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace gantry {
namespace {

// Makes the rename durable. Errors are ignored: some file systems cannot sync a directory, and the
// file itself is already on the disk.
void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

Status sync_file(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_write(file, errno);
  Status status;
  if (fsync(descriptor) != 0) status = cannot_write(file, errno);
  close(descriptor);
  return status;
}

}  // namespace

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::string temporary_name(const std::filesystem::path& path) {
  return concat(".", path.filename().native().substr(0, 200), ".");
}

Failure cannot_write(const std::filesystem::path& path, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::unavailable;
  return fail(code, "cannot write ", quoted(path.native()), ": ",
              std::generic_category().message(number))
      .native("errno", number);
}

Status check_replaceable(const std::filesystem::path& target, const InputFiles& inputs) {
  if (!target.has_filename()) return invalid(quoted(target.native()), " is not a file name");
  struct stat there {};
  if (lstat(target.c_str(), &there) != 0) return {};
  if (S_ISREG(there.st_mode)) return inputs.check_output(target, identity_of(there));
  return invalid("cannot write ", quoted(target.native()), ": it exists and is not a regular file");
}

Status move_into_place(const std::filesystem::path& file, const std::filesystem::path& target,
                       const InputFiles& inputs) {
  GANTRY_CHECK(check_replaceable(target, inputs));
  GANTRY_CHECK(sync_file(file));
  if (std::rename(file.c_str(), target.c_str()) != 0) return cannot_write(target, errno);
  sync_directory(directory_of(target));
  return {};
}

}  // namespace gantry
