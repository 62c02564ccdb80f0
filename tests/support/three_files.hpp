// SPDX-License-Identifier: Apache-2.0
//
// The digits network of tests/golden/data as TVM before 0.7 exported models: a library without a
// container, a graph, and its parameters.
#pragma once

#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/files.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/param_names.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// Writes deploy.so, deploy.json and deploy.params.
inline void write_three_files(const std::filesystem::path& directory) {
  const auto file = MappedFile::open(golden("tvm-0.12/digits_mlp_llvm.so")).value();
  const Container container =
      read_container(ElfFile::parse(file).value(), PayloadLayouts::built_in()).value();

  // Its container has another name, under which no reader looks for one.
  std::vector<std::uint8_t> library(file->bytes().begin(), file->bytes().end());
  constexpr std::string_view symbol = "__tvm_dev_mblob";
  for (auto at = library.begin();
       (at = std::search(at, library.end(), symbol.begin(), symbol.end())) != library.end();)
    *at = 'x';
  write_file(directory / "deploy.so", library);

  const std::span<const std::uint8_t> payload = container.entries.front().payload;
  ByteReader in(payload);
  write_file(directory / "deploy.json", in.read_string("graph").value());
  // u64 count, then the names and the records of a .params file, then the name of the graph
  const std::uint64_t count = in.read_u64("count").value();
  const std::size_t names_at = in.offset();
  (void)in.read_u64("names");
  for (std::uint64_t i = 0; i < count; ++i) (void)in.read_string("name");
  const std::size_t records_at = in.offset();
  constexpr std::size_t module_name_bytes = 8 + std::string_view("default").size();

  std::string params;
  const auto add = [&](const void* data, std::size_t size) {
    params.append(static_cast<const char*>(data), size);
  };
  const std::uint64_t head[] = {params_magic, 0};
  add(head, sizeof head);
  add(payload.data() + names_at, records_at - names_at);
  add(&count, sizeof count);
  add(payload.data() + records_at, payload.size() - module_name_bytes - records_at);
  write_file(directory / "deploy.params", params);
}

}  // namespace gantry::test
