// SPDX-License-Identifier: Apache-2.0
//
// Builds Model Library Format archives for tests, from the golden ones.
#pragma once

#include "core/base/text.hpp"
#include "core/formats/archive/tar_files.hpp"
#include "core/formats/mlf/model_library.hpp"
#include "tests/support/files.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gantry::test {

// Contents by name.
using ArchiveText = std::map<std::string, std::string>;

inline ArchiveText golden_archive(const std::string& name) {
  const auto bytes = read_file(golden("tvm-0.12/" + name));
  const auto files = TarFiles::read(bytes);
  ArchiveText text;
  for (const auto& [member, content] : files->all()) text[member] = as_text(content.content);
  return text;
}

inline std::vector<std::uint8_t> tar_of(const ArchiveText& archive) {
  std::string text;
  for (const auto& [name, content] : archive) text += tar_file(name, content);
  return bytes_of_text(text);
}

// Replaces the only occurrence of `from`.
inline void replace(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  ASSERT_EQ(text.find(from, at + 1), std::string::npos) << from << " occurs twice";
  text.replace(at, from.size(), to);
}
inline void replace_metadata(ArchiveText& archive, std::string_view from, std::string_view to) {
  replace(archive["metadata.json"], from, to);
}

// Adds a copy of the model "digits" before it: its metadata, and its members under the other name.
inline void add_model(ArchiveText& archive, const std::string& name) {
  std::string& text = archive["metadata.json"];
  const std::size_t first = text.find("\"digits\": {"), last = text.rfind("\n  },");
  std::string model = text.substr(first, last - first);
  for (std::size_t at = 0; (at = model.find("\"digits\"", at)) != std::string::npos;)
    model.replace(at, 8, '"' + name + '"');
  text.insert(first, model + ",");
  for (const auto& [member, content] : ArchiveText(archive)) {
    const std::size_t at = member.find("/digits");
    if (at != std::string::npos) archive[std::string(member).replace(at + 1, 6, name)] = content;
  }
}

inline std::string text_of(const Findings& findings) {
  std::string text;
  for (const Finding& one : findings.kept()) {
    text += concat(name_of(one.level), " ", one.path, " ", one.text.text(), "\n");
  }
  return text;
}

// Reads and validates; returns the findings, or the error.
inline std::string findings_of(const ArchiveText& archive) {
  const auto bytes = tar_of(archive);
  Findings findings;
  const auto library = read_model_library(bytes, findings);
  if (!library.ok()) return library.error().message.text();
  validate(*library, findings);
  return text_of(findings);
}

}  // namespace gantry::test
