// SPDX-License-Identifier: Apache-2.0
//
// Writes a container as an object file, for tests that link it into a library.
#pragma once

#include "core/writing/elf_object.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::test {

// Of generations G2 and G3.
constexpr std::string_view container_symbol = "__tvm_dev_mblob";

// Aborts the program on failure, like write_file().
inline void write_object(const std::filesystem::path& file, const ElfObject& object,
                         Pieces content) {
  const Result<Pieces> written = write_elf_object(object, std::move(content));
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  DescriptorStream out(descriptor, file.native());
  if (!written.ok() || !written->write_to(out).ok() || !out.status().ok()) {
    std::fprintf(stderr, "cannot write %s\n", file.c_str());
    std::abort();
  }
  ::close(descriptor);
}

// symbol   [in]   of the container
inline void write_container_object(const std::filesystem::path& file, Pieces container,
                                   std::string_view symbol = container_symbol) {
  ElfObject object;
  object.symbol = symbol;
  write_object(file, object, std::move(container));
}
inline void write_container_object(const std::filesystem::path& file,
                                   std::span<const std::uint8_t> container,
                                   std::string_view symbol = container_symbol) {
  Pieces pieces;
  pieces.Write(container.data(), container.size());
  write_container_object(file, std::move(pieces), symbol);
}

}  // namespace gantry::test
