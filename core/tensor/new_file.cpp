// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/new_file.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

Error failed(const std::filesystem::path& path, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::unavailable;
  return fail(code, "cannot write ", quoted(path.native()), ": ",
              std::generic_category().message(number))
      .native("errno", number);
}

// The name is on the disk once the folder is. Some file systems cannot: the file itself is safe.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

Result<NewFile> NewFile::beside(const std::filesystem::path& path) {
  NewFile made(path);  // owns what is made below as soon as it is there
  int descriptor = -1;
  // open() and not mkstemp(): the file gets the permissions that umask leaves.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string last = concat(".", path.filename().native(), ".", getpid(), ".", attempt);
    made.beside_ = (folder_of(path) / last).native();
    do {
      descriptor = open(made.beside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  if (descriptor < 0) return failed(path, errno);
  made.stream_ = fdopen(descriptor, "w+b");
  if (made.stream_ == nullptr) {
    const int number = errno;
    close(descriptor);
    unlink(made.beside_.c_str());
    return failed(path, number);
  }
  return made;
}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      beside_(std::move(other.beside_)),
      stream_(std::exchange(other.stream_, nullptr)) {}

NewFile::~NewFile() {
  if (stream_ == nullptr) return;
  std::fclose(stream_);
  unlink(beside_.c_str());
}

Status NewFile::commit() {
  if (std::ferror(stream_) != 0) return failed(path_, EIO);
  if (std::fflush(stream_) != 0) return failed(path_, errno);
  if (fsync(fileno(stream_)) != 0) return failed(path_, errno);
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return failed(path_, errno);
  std::fclose(std::exchange(stream_, nullptr));
  sync_folder(folder_of(path_));
  return {};
}

}  // namespace gantry
