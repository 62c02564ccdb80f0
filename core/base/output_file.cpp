// SPDX-License-Identifier: Apache-2.0
#include "core/base/output_file.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/replace_file.hpp"

#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace gantry {
namespace {

// True for what a rename would replace although a program reads from it.
bool is_written_in_place(const std::filesystem::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISCHR(found.st_mode));
}

// True for "-" and for a link to the file of standard output, such as /dev/stdout.
bool names_standard_output(const std::filesystem::path& path, const struct stat& standard) {
  if (path == "-") return true;
  struct stat link {};
  struct stat found {};
  return ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
         ::stat(path.c_str(), &found) == 0 && identity_of(found) == identity_of(standard);
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::filesystem::path& path, const InputFiles& inputs) {
  // All zero, the identity of no file, if standard output is closed.
  struct stat standard {};
  (void)::fstat(STDOUT_FILENO, &standard);
  if (names_standard_output(path, standard)) {
    if (S_ISREG(standard.st_mode)) GANTRY_CHECK(inputs.check_output(path, identity_of(standard)));
    return of_descriptor(path, ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  }
  if (is_written_in_place(path)) {
    return of_descriptor(path, ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  }
  GANTRY_CHECK(check_replaceable(path, inputs));
  return OutputFile(path, inputs);
}

Status OutputFile::start() {
  if (const auto* inputs = std::get_if<InputFiles>(&file_)) {
    GANTRY_TRY(AtomicFile file, AtomicFile::beside(path_, *inputs));
    file_.emplace<AtomicFile>(std::move(file));
  }
  return {};
}

Result<OutputFile> OutputFile::of_descriptor(const std::filesystem::path& path, int descriptor) {
  if (descriptor < 0) return cannot_write(path, errno);
  Stream stream(::fdopen(descriptor, "wb"));
  if (stream != nullptr) return OutputFile(path, std::move(stream));
  const int number = errno;
  ::close(descriptor);
  return cannot_write(path, number);
}

bool OutputFile::is_terminal() const { return is_stream() && ::isatty(::fileno(stream())) != 0; }

Status OutputFile::check_replaces(std::string_view kind,
                                  bool (*accepts)(std::span<const std::uint8_t> bytes)) const {
  if (is_terminal()) {
    return invalid("cannot write ", quoted(path_.native()),
                   ": it is a terminal; redirect it, or name a file");
  }
  if (is_stream()) return {};
  const auto old = MappedFile::open(path_);
  if (!old.ok() || accepts((*old)->bytes())) return {};
  return invalid("cannot write ", quoted(path_.native()), ": it exists and is not ", kind,
                 "; remove it or choose another output");
}

bool OutputFile::is_standard_output() const {
  if (!is_stream()) return false;
  struct stat here {};
  struct stat standard {};
  return ::fstat(::fileno(stream()), &here) == 0 && ::fstat(STDOUT_FILENO, &standard) == 0 &&
         identity_of(here) == identity_of(standard);
}

std::FILE* OutputFile::stream() const {
  if (const auto* file = std::get_if<AtomicFile>(&file_)) return file->stream();
  return std::get<Stream>(file_).get();
}

Status OutputFile::finish(std::string_view text) {
  GANTRY_CHECK(start());
  if (std::fwrite(text.data(), 1, text.size(), stream()) != text.size()) {
    return cannot_write(path_, errno);
  }
  return commit();
}

Status OutputFile::commit() {
  if (auto* file = std::get_if<AtomicFile>(&file_)) return file->commit();
  if (std::ferror(stream()) != 0) return cannot_write(path_, EIO);
  if (std::fflush(stream()) != 0) return cannot_write(path_, errno);
  return {};
}

}  // namespace gantry
