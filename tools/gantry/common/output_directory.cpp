// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/output_directory.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gantry::cli {
namespace {

// to find an unused temporary name
constexpr int max_tries = 100;

Error cannot(std::string_view verb, const std::filesystem::path& path, int number) {
  const Code code = number == ENOENT ? Code::not_found : Code::unavailable;
  return fail(code, "cannot ", verb, " ", quoted(path.string()), ": ", std::strerror(number))
      .native("errno", number);
}

Status write_all(int descriptor, std::span<const std::uint8_t> bytes,
                 const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0) return cannot("write", path, errno);
  return {};
}

}  // namespace

Result<OutputDirectory> OutputDirectory::create(const std::filesystem::path& path,
                                                const InputFiles& inputs) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    return cannot("create the directory", path, errno);
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor >= 0) return OutputDirectory(path, inputs, descriptor);

  const int number = errno;
  struct stat found {};
  if (::lstat(path.c_str(), &found) == 0 && S_ISLNK(found.st_mode)) {
    return invalid(quoted(path.string()), " is a symbolic link, expected a directory");
  }
  if (number == ENOTDIR) return invalid(quoted(path.string()), " is not a directory");
  return cannot("open the directory", path, number);
}

OutputDirectory::~OutputDirectory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status OutputDirectory::write(std::string_view name, std::span<const std::uint8_t> bytes) const {
  const std::string target(name);
  const std::filesystem::path path = path_ / target;
  struct stat found {};
  if (::fstatat(descriptor_, target.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(found.st_mode)) {
      return invalid(quoted(path.string()), " exists and is not a regular file");
    }
    GANTRY_CHECK(inputs_.check_output(path, identity_of(found)));
  }

  std::string temporary;
  int file = -1;
  for (int i = 0; i < max_tries && file < 0; ++i) {
    temporary = concat(".", target, ".", ::getpid(), "-", i);
    file = ::openat(descriptor_, temporary.c_str(),
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) return cannot("create", path, errno);

  Status status = write_all(file, bytes, path);
  if (::close(file) != 0 && status.ok()) status = cannot("write", path, errno);
  if (status.ok() && ::renameat(descriptor_, temporary.c_str(), descriptor_, target.c_str()) != 0) {
    status = cannot("write", path, errno);
  }
  if (!status.ok()) ::unlinkat(descriptor_, temporary.c_str(), 0);
  return status;
}

}  // namespace gantry::cli
