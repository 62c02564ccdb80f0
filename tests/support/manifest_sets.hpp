// SPDX-License-Identifier: Apache-2.0
//
// Plugin directories made by chance, in all tiers: names, ids and keys that meet, every way to spell a key, drop-ins, masks,
// broken manifests. What is chosen from them is a question with many answers.
#pragma once

#include "core/manifest/search_path.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"

#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

class ManifestSet {
 public:
  // Ids and names are parts of each other; keys can hold what YAML spells in several ways.
  static inline const std::vector<std::string> ids = {"a.b", "a.bc", "a.b-c", "other.one", "x.y"};
  static inline const std::vector<std::string> keys = {"cuda",  "cu",  "acme's npu", "two words",
                                                       "naïve", "x.y", "a\\b"};
  static inline const std::vector<std::string> devices = {"dev", "dev0", "dev_1", "cuda"};

  explicit ManifestSet(unsigned seed) : random_(seed) {
    write_file(dir_ / "lib.so", std::string_view("library"));
    locations_.directories = {directory("high"), directory("low")};
    locations_.config_directories = {directory("config")};
    locations_.admin_directory = directory("admin");
    directory("root/share/gantry/plugins.d");
    locations_.core_directory = (dir_ / "root/lib").string();
    const std::vector<std::string> directories = {"high", "low", "config", "admin",
                                                  "root/share/gantry/plugins.d"};
    for (const std::string& in : directories) {
      const int count = below(5);
      for (int i = 0; i < count; ++i) add(dir_ / in / (pick(names()) + ".yaml"));
      if (below(3) == 0) add_drop_in(dir_ / in / (pick(names()) + ".yaml.d"));
    }
    if (below(3) == 0) {
      add(dir_ / "named/plugin.yaml");
      locations_.add_plugin_files = (dir_ / "named/plugin.yaml").string() + ":relative.yaml";
    }
  }

  const PluginLocations& locations() const { return locations_; }
  // Everything that can be asked for, and a few things that nobody offers.
  static std::vector<std::string> words() {
    std::vector<std::string> all = ids;
    all.insert(all.end(), keys.begin(), keys.end());
    all.insert(all.end(), devices.begin(), devices.end());
    all.insert(all.end(), {"required", "vulkan", "'", " "});
    return all;
  }

 private:
  static std::vector<std::string> names() { return {"a", "b", "ab", "c"}; }
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::string pick(const std::vector<std::string>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  std::string directory(std::string_view name) {
    std::filesystem::create_directories(dir_ / name);
    return (dir_ / name).string();
  }

  // The text as a scalar, in one of the ways in which YAML writes it.
  std::string spelled(std::string_view text) {
    std::string out;
    switch (below(4)) {
      // plain, where nothing in it means something
      case 0:
        if (text.find_first_of("'\"") == std::string_view::npos) return std::string(text);
        [[fallthrough]];
      // blanks may be line ends
      case 1:
        for (const char c : text)
          out += c == '\'' ? "''" : c == ' ' ? "\n     " : std::string(1, c);
        return "'" + out + "'";
      case 2:
        for (const char c : text) out += c == '\\' ? "\\\\" : std::string(1, c);
        return "\"" + out + "\"";
      default:
        for (const char c : text) {
          char escape[8] = {c};
          if (static_cast<unsigned char>(c) < 0x80)
            std::snprintf(escape, sizeof escape, "\\x%02x", c);
          out += escape;
        }
        return "\"" + out + "\"";
    }
  }

  // Each of the list with a chance of one in `in`, none twice.
  std::vector<std::string> some(std::vector<std::string>& left, int in) {
    std::vector<std::string> taken;
    std::erase_if(left, [&](const std::string& one) {
      if (below(in) != 0) return false;
      taken.push_back(one);
      return true;
    });
    return taken;
  }

  void add(const std::filesystem::path& path) {
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::remove(path, ignored);
    if (below(12) == 0) return write_file(path, std::string_view());
    if (below(12) == 0) return std::filesystem::create_symlink("/dev/null", path);
    ManifestBuilder manifest;
    manifest.set("id", spelled(pick(ids)));
    manifest.version(std::to_string(below(3)) + ".0.0");
    if (below(3) == 0) manifest.library((dir_ / "lib.so").string());
    std::vector<std::string> left = keys;
    std::string list;
    for (const std::string& key : some(left, 4)) {
      list += "\n  - key: " + spelled(key);
      std::string aliases;
      for (const std::string& alias : some(left, 5)) {
        aliases += (aliases.empty() ? "" : ", ") + spelled(alias);
      }
      if (!aliases.empty()) list += "\n    aliases: [" + aliases + "]";
      if (below(2) == 0) list += "\n    payload: [" + pick({"u8", "u16", "u32"}) + "]";
    }
    if (!list.empty()) manifest.set("keys", list);
    for (const std::string& device : devices) {
      if (below(4) == 0) manifest.device(device);
    }
    const std::vector<std::string> lines = {"priority: 1",
                                            "priority: 2",
                                            "enabled: false",
                                            "required: true",
                                            "targets: {arch: [sparc]}",
                                            "unknown: 1",
                                            "display_name: cuda",
                                            "keys: []",
                                            "[",
                                            "# cuda is served by a.b"};
    if (below(2) == 0) manifest.line(pick(lines));
    if (below(8) == 0) manifest.schema("1.1").line("schema_min: \"1.0\"\nnew_thing: 1");
    manifest.write_to(path);
  }

  void add_drop_in(const std::filesystem::path& into) {
    std::filesystem::create_directories(into);
    const std::vector<std::string> texts = {"priority: 5\n",   "enabled: false\n",
                                            "enabled: true\n", "required: true\n",
                                            "library: x.so\n", "re\n"};
    write_file(into / (pick(names()) + ".yaml"), pick(texts));
  }

  std::mt19937 random_;
  TempDir dir_;
  PluginLocations locations_;
};

}  // namespace gantry::test
