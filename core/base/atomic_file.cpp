// SPDX-License-Identifier: Apache-2.0
#include "core/base/atomic_file.hpp"

#include "core/base/replace_file.hpp"
#include "core/base/signals_blocked.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gantry {
Result<AtomicFile> AtomicFile::beside(const std::filesystem::path& path, const InputFiles& inputs) {
  GANTRY_CHECK(check_replaceable(path, inputs));
  const SignalsBlocked blocked;
  AtomicFile made(path, inputs);
  int descriptor = -1;
  // open() instead of mkstemp(): the permissions of the file follow the umask.
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::string last = concat(temporary_name(path), getpid(), ".", attempt);
    made.beside_ = (directory_of(path) / last).native();
    do {
      descriptor = open(made.beside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  // Standard output and error that a plugin has closed: what is printed would go into the file.
  if (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO) {
    const int low = std::exchange(descriptor, fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
    const int number = errno;
    close(low);
    errno = number;
  } else if (descriptor < 0) {
    return cannot_write(path, errno);
  }
  made.stream_ = descriptor < 0 ? nullptr : fdopen(descriptor, "w+b");
  if (made.stream_ == nullptr) {
    const int number = errno;
    if (descriptor >= 0) close(descriptor);
    unlink(made.beside_.c_str());
    return cannot_write(path, number);
  }
  made.cleanup_ =
      std::make_unique<CleanUpOnSignal>([name = made.beside_] { unlink(name.c_str()); });
  return made;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      inputs_(std::move(other.inputs_)),
      beside_(std::move(other.beside_)),
      stream_(std::exchange(other.stream_, nullptr)),
      cleanup_(std::move(other.cleanup_)) {}

AtomicFile::~AtomicFile() {
  if (stream_ == nullptr) return;
  cleanup_.reset();
  std::fclose(stream_);
  unlink(beside_.c_str());
}

Status AtomicFile::commit() {
  if (std::ferror(stream_) != 0) return cannot_write(path_, EIO);
  if (std::fflush(stream_) != 0) return cannot_write(path_, errno);
  GANTRY_CHECK(move_into_place(beside_, path_, inputs_));
  cleanup_.reset();
  std::fclose(std::exchange(stream_, nullptr));
  return {};
}

}  // namespace gantry
