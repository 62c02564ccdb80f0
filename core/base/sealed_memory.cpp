// SPDX-License-Identifier: Apache-2.0
#include "core/base/sealed_memory.hpp"

#include "core/base/system_limit.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace gantry {
namespace {

// The system rejects longer names.
constexpr std::size_t max_name = 200;

Failure memory_error(std::string_view what, int number) {
  return fail(code_of_errno(number), "a private copy cannot be ", what, ": ", text_of_errno(number))
      .native("errno", number);
}

}  // namespace

Result<Descriptor> sealed_memory(std::string_view name, std::span<const std::uint8_t> bytes,
                                 FileHole hole) {
  const std::string shown(name.substr(0, max_name));
  Descriptor copy(memfd_create(shown.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy) return memory_error("made", errno);
  const std::uint64_t behind = hole.at + hole.size;
  int failed = ftruncate(copy.get(), static_cast<off_t>(bytes.size())) == 0 ? 0 : errno;
  if (failed == 0) failed = write_all(copy.get(), bytes.first(hole.at));
  if (failed == 0 && lseek(copy.get(), static_cast<off_t>(behind), SEEK_SET) < 0) failed = errno;
  if (failed == 0) failed = write_all(copy.get(), bytes.subspan(behind));
  if (failed != 0) return memory_error("written", failed);
  constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (fcntl(copy.get(), F_ADD_SEALS, seals) != 0) return memory_error("sealed", errno);
  return copy;
}

}  // namespace gantry
