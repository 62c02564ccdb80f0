// SPDX-License-Identifier: Apache-2.0
//
// Builds manifests for tests. The defaults are valid, except that they have neither a key nor a
// device.
//
//     ManifestBuilder().id("test.fake").library("libfake.so").key("fake").line("priority:
//     3").text()
#pragma once

#include "tests/support/files.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::test {

class ManifestBuilder {
 public:
  ManifestBuilder& schema(std::string_view text) { return set("schema", quoted(text)); }
  ManifestBuilder& id(std::string_view text) { return set("id", text); }
  ManifestBuilder& version(std::string_view text) { return set("version", quoted(text)); }
  ManifestBuilder& library(std::string_view path) { return set("library", path); }
  ManifestBuilder& abi(std::string_view flow_map) { return set("abi", flow_map); }
  ManifestBuilder& key(std::string_view name) {
    return add("keys", "{key: " + std::string(name) + "}");
  }
  ManifestBuilder& device(std::string_view name) {
    return add("devices", "{name: " + std::string(name) + "}");
  }
  // Sets any key to a value as written, replacing a previous value.
  ManifestBuilder& set(std::string_view name, std::string_view value) {
    for (auto& [key, old] : fields_) {
      if (key == name) {
        old = value;
        return *this;
      }
    }
    fields_.emplace_back(name, value);
    return *this;
  }
  ManifestBuilder& without(std::string_view name) {
    std::erase_if(fields_, [&](const auto& field) { return field.first == name; });
    return *this;
  }
  // Appends a line after the keys.
  ManifestBuilder& line(std::string_view text) {
    rest_ += std::string(text) + "\n";
    return *this;
  }

  std::string text() const {
    std::string all;
    for (const auto& [key, value] : fields_) all += key + ": " + value + "\n";
    return all + rest_;
  }
  // Writes the text to a file and creates its parent directories.
  std::filesystem::path write_to(const std::filesystem::path& path) const {
    std::filesystem::create_directories(path.parent_path());
    write_file(path, text());
    return path;
  }

 private:
  static std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }
  // Appends to a list in flow style: [{...}, {...}].
  ManifestBuilder& add(std::string_view list, std::string_view item) {
    for (auto& [key, old] : fields_) {
      if (key == list) {
        old = old.substr(0, old.size() - 1) + ", " + std::string(item) + "]";
        return *this;
      }
    }
    fields_.emplace_back(list, "[" + std::string(item) + "]");
    return *this;
  }

  std::vector<std::pair<std::string, std::string>> fields_ = {
      {"schema", "\"1.0\""},
      {"id", "test.fake"},
      {"version", "\"1.0.0\""},
      {"library", "libfake.so"},
      {"abi", "{major: 1, min_minor: 0, max_minor: 0}"}};
  std::string rest_;
};

}  // namespace gantry::test
