// SPDX-License-Identifier: Apache-2.0
//
// Files in memory, for writers that take a mapped file and a stream.
#pragma once

#include "core/base/mapped_file.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <gantry/concat.hpp>
#include <gantry/descriptor.hpp>
#include <gantry/dmlc_stream.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry::fuzz {

class MemoryStream : public OutputStream {
 public:
  std::vector<std::uint8_t> bytes;

 protected:
  void put(std::span<const std::uint8_t> part) override {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
};

// A file in memory, which exists as long as it is mapped.
inline std::shared_ptr<const MappedFile> mapped(std::span<const std::uint8_t> bytes) {
  const Descriptor file(::memfd_create("library", MFD_CLOEXEC));
  expect(
      file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
      "a file in memory can be written");
  auto opened = MappedFile::open(concat("/proc/self/fd/", file.get()));
  expect(opened.ok(), "a file in memory can be mapped");
  return std::move(*opened);
}

}  // namespace gantry::fuzz
