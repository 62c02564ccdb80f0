// SPDX-License-Identifier: Apache-2.0
//
// One row of the table of situations: what it writes, and what it passes to the search and the set of
// plugins. situations/README.md describes the format.
#pragma once

#include "core/base/digest/digest.hpp"
#include "core/base/replace_text.hpp"
#include "core/base/yaml/yaml_text.hpp"
#include "core/plugins/manifest/filter.hpp"
#include "tests/unit/library/world.hpp"

#include <gantry/join.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::situations {

namespace fs = std::filesystem;

// The value as a manifest contains it: {arch: [sparc]}.
inline std::string flow(const YamlValue& value) {
  const auto entry_text = [](const YamlEntry& entry) {
    return concat(entry.key, ": ", flow(entry.value));
  };
  switch (value.kind) {
    case YamlKind::list:
      return concat("[", join(value.items, ", ", flow), "]");
    case YamlKind::map:
      return concat("{", join(value.entries, ", ", entry_text), "}");
    case YamlKind::scalar:
      return value.quoted ? concat("\"", value.text, "\"") : value.text;
    default:
      return "";
  }
}

inline std::vector<std::string> texts_of(const YamlValue& value) {
  if (value.kind == YamlKind::scalar) return {value.text};
  std::vector<std::string> texts;
  for (const YamlValue& item : value.items) texts.push_back(item.text);
  return texts;
}

// "usr/fake/" -> "usr/fake/fake.yaml"
inline std::string manifest_path(const std::string& path) {
  if (!path.ends_with('/')) return path;
  const std::string directory = path.substr(0, path.size() - 1);
  return concat(path, directory.substr(directory.rfind('/') + 1), ".yaml");
}

class Situation {
 public:
  // Reads what the row describes and leaves its expectations.
  void change(const YamlValue& row) {
    for (const YamlEntry& entry : row.entries) {
      const YamlValue& value = entry.value;
      if (entry.key == "remove") {
        for (const std::string& path : texts_of(value)) fs::remove(dir_ / manifest_path(path));
      } else if (entry.key == "files") {
        for (const YamlEntry& file : value.entries) write(file.key, file.value);
      } else if (entry.key == "modes") {
        for (const YamlEntry& file : value.entries) {
          const auto mode = static_cast<mode_t>(std::stoul(file.value.text, nullptr, 8));
          EXPECT_EQ(::chmod((dir_ / file.key).c_str(), mode), 0) << file.key;
        }
      } else if (entry.key == "program") {
        program = texts_of(value);
      } else if (entry.key == "plugin_files") {
        plugin_files = path(value.text);
      } else if (entry.key == "opened") {
        for (const std::string& manifest : texts_of(value))
          opened.push_back(path(manifest_path(manifest)));
      } else if (entry.key == "filters") {
        filters.clear();
        for (const YamlEntry& source : value.entries) add_filters(source.key, source.value.text);
      } else if (entry.key == "fallback") {
        fallback = value.text == "true";
      } else if (entry.key == "user") {
        excludes_user = value.text == "false";
      } else if (entry.key == "overrides") {
        overrides.clear();
        for (const YamlEntry& one : value.entries) overrides.emplace_back(one.key, one.value.text);
      }
    }
  }
  static bool is_change(std::string_view key) {
    constexpr std::string_view keys[] = {"files",        "modes",  "remove",  "program",
                                         "plugin_files", "opened", "filters", "overrides",
                                         "fallback",     "user"};
    return std::ranges::find(keys, key) != std::end(keys);
  }

  std::string path(std::string_view name) const { return (dir_ / name).string(); }
  const fs::path& root() const { return dir_.path(); }

  // directories that the program passes
  std::vector<std::string> program = {"program"};
  std::string plugin_files;
  // manifests of plugins that the process has opened before
  std::vector<std::string> opened;
  std::vector<PluginFilter> filters;
  std::vector<std::pair<std::string, std::string>> overrides;
  bool fallback = true;
  bool excludes_user = false;

 private:
  void add_filters(const std::string& source, std::string_view globs) {
    const bool select = source == "GANTRY_SELECT" || source == "plugins.select";
    for (PluginFilter& filter : parse_filters(globs, select, source))
      filters.push_back(std::move(filter));
  }

  void write(const std::string& name, const YamlValue& value) const {
    const fs::path file = dir_ / name;
    fs::create_directories(file.parent_path());
    if (value.kind == YamlKind::map) return write_plugin(name, value);
    if (value.quoted) return test::write_file(file, std::string_view(with_digests(value.text)));
    const std::string word = value.text.substr(0, value.text.find(' '));
    const std::string rest = value.text.substr(std::min(word.size() + 1, value.text.size()));
    fs::remove(file);
    if (word == "link") {
      fs::create_symlink(rest.starts_with('/') ? rest : path(rest), file);
    } else if (word == "hardlink") {
      fs::create_hard_link(dir_ / rest, file);
    } else if (word == "directory") {
      fs::create_directories(file);
    } else if (word == "copy") {
      fs::copy_file(dir_ / rest, file);
    } else {
      ADD_FAILURE() << name << ": " << value.text;
    }
  }

  // {sha256 usr/x.yaml} stands for the digest of that file.
  std::string with_digests(std::string text) const {
    constexpr std::string_view mark = "{sha256 ";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos;) {
      const std::size_t name_at = at + mark.size(), end = text.find('}', at);
      const auto bytes = test::read_file(dir_ / text.substr(name_at, end - name_at));
      text.replace(at, end + 1 - at, hex_text(sha256(bytes)));
    }
    return text;
  }

  // A directory with a manifest and a library, or a manifest alone.
  void write_plugin(const std::string& name, const YamlValue& fields) const {
    const fs::path file = dir_ / manifest_path(name);
    const fs::path library = file.parent_path() / "libfake.so";
    fs::create_directories(file.parent_path());
    const auto text_of = [&](std::string_view key, std::string_view otherwise) {
      const YamlValue* const value = fields.find(key);
      return value == nullptr ? std::string(otherwise) : value->text;
    };
    const std::string variant = text_of("from", name.ends_with('/') ? "good" : "none");
    if (variant != "none") {
      fs::remove(library);
      fs::copy_file(test::fake_library(variant), library);
      if (variant != "no_note")
        test::set_note(library, text_of("id", "test.fake"), text_of("version", "1.0.0"));
    }
    test::ManifestBuilder manifest = test::fake_manifest();
    for (const YamlEntry& field : fields.entries) {
      if (field.key == "from") continue;
      if (field.value.text == "none" && !field.value.quoted) {
        manifest.without(field.key);
      } else if (field.value.text == "right") {
        manifest.set(field.key, concat("\"", hex_text(sha256(test::read_file(library))), "\""));
      } else {
        manifest.set(field.key, replace_text(value_of(field), "{root}", root().string()));
      }
    }
    manifest.write_to(file);
  }

  // keys: [fake] stands for keys: [{key: fake}], and devices likewise.
  static std::string value_of(const YamlEntry& field) {
    const bool is_keys = field.key == "keys";
    if (!is_keys && field.key != "devices") return flow(field.value);
    const auto record = [&](const YamlValue& item) {
      return item.kind == YamlKind::map ? flow(item)
                                        : concat(is_keys ? "{key: " : "{name: ", flow(item), "}");
    };
    return concat("[", join(field.value.items, ", ", record), "]");
  }

  test::TempDir dir_;
};

}  // namespace gantry::situations
