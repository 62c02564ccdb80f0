// SPDX-License-Identifier: Apache-2.0
#include "core/engine/embed/load_reader.hpp"

#include "core/engine/embed/arguments.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry {
namespace {

// Memory for the content until it is in sealed memory; wiped afterwards.
class Scratch {
 public:
  // name     [in]   for messages
  // returns  exhausted
  static Result<Scratch> create(std::uint64_t size, std::string_view name) {
    Scratch made;
    if (size == 0) return made;
    void* const bytes = size <= PTRDIFF_MAX ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                            : MAP_FAILED;
    if (bytes == MAP_FAILED) {
      return exhausted("no memory for ", ByteCount(size), " of a reader")
          .at("while loading ", name);
    }
    made.bytes_ = {static_cast<std::uint8_t*>(bytes), size};
    return made;
  }
  Scratch(Scratch&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    if (bytes_.empty()) return;
    ::explicit_bzero(bytes_.data(), bytes_.size());
    ::munmap(bytes_.data(), bytes_.size());
  }

  std::span<std::uint8_t> bytes() const { return bytes_; }

 private:
  Scratch() = default;
  std::span<std::uint8_t> bytes_;
};

// The size that gantry_reader::read states.
constexpr std::size_t max_read = std::size_t{1} << 20;

Status read_all(const gantry_reader& reader, std::span<std::uint8_t> to) {
  for (std::size_t offset = 0; offset < to.size();) {
    const std::size_t size = std::min(to.size() - offset, max_read);
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* reported) {
      return reader.read(reader.self, offset, to.data() + offset, size, reported);
    });
    if (code != GANTRY_OK) {
      return status.error(code, "the reader")
          .at("while reading ", size, " bytes at offset ", offset);
    }
    offset += size;
  }
  return {};
}

}  // namespace

Result<LoadPermissions> load_options(const gantry_load_options* given) {
  GANTRY_TRY(const gantry_load_options known,
             read_options(given, GANTRY_LOAD_ALLOW_MISSING | GANTRY_LOAD_ALLOW_EXECUTABLE_STACK,
                          "gantry_load_options"));
  const auto allows = [&](std::uint32_t flag) { return (known.flags & flag) != 0; };
  return LoadPermissions{.allow_missing = allows(GANTRY_LOAD_ALLOW_MISSING),
                         .allow_executable_stack = allows(GANTRY_LOAD_ALLOW_EXECUTABLE_STACK)};
}

Result<Ref<ModuleNode>> load_read(RuntimeState& runtime, const gantry_reader& reader,
                                  const std::string& name, const LoadPermissions& allowed) {
  const std::string title = memory_title(name);
  GANTRY_TRY(const Scratch scratch, Scratch::create(reader.size, title));
  Status read = read_all(reader, scratch.bytes());
  if (!read.ok()) return std::move(read).failure().at("while loading ", title);
  return load_memory(runtime, scratch.bytes(), title, allowed);
}

}  // namespace gantry
