// SPDX-License-Identifier: Apache-2.0
//
// A temporary tree of directories with fake plugins.
#pragma once

#include "core/plugins/library/plugin.hpp"
#include "core/plugins/manifest/search_path.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/support/note_bytes.hpp"

#include <string>
#include <string_view>

namespace gantry::test {

inline std::filesystem::path fake_library(std::string_view variant) {
  return build_tree() / "tests/fake_plugins" / concat("libfake_", variant, ".so");
}

inline gantry_host_info core_info() { return {sizeof(gantry_host_info), 0, {1, 0, 0, 0}, "0.1.0"}; }

// The manifest that matches the fake plugins by default.
inline ManifestBuilder fake_manifest() {
  return ManifestBuilder().key("fake").device("fake_device");
}

// The texts of STALE_MAPPED.
inline std::string stale_text(std::string_view sentence) {
  return concat(sentence,
                "\n  restart the program; install a library as a new file (unlink and create, or "
                "rename), or each version in a directory of its own, never by overwriting");
}
inline std::string other_file_text(std::string_view library) {
  return stale_text(concat(library,
                           " is another file than the one that this process has opened by "
                           "this path and still uses"));
}
inline std::string overwritten_text(std::string_view library) {
  return stale_text(
      concat(library, " was overwritten after this process opened it: its code is undefined"));
}

class World {
 public:
  // Adds a directory <name> with <name>.yaml and a copy of libfake_<variant>.so as libfake.so. A
  // copy is necessary because the linker opens each file only once. A manifest without `probe` gets
  // `never`: no test starts gantry-probe by accident.
  std::string add(std::string_view name, std::string_view variant,
                  const ManifestBuilder& manifest = fake_manifest()) {
    const auto directory = dir_ / name;
    std::filesystem::create_directories(directory);
    if (!variant.empty()) {
      std::filesystem::copy_file(fake_library(variant), directory / "libfake.so");
    }
    ManifestBuilder written = manifest;
    if (written.text().find("\nprobe: ") == std::string::npos) written.line("probe: never");
    return written.write_to(directory / concat(name, ".yaml")).string();
  }
  // The same; the library's note has the manifest's id and version.
  std::string add_noted(std::string_view name, std::string_view variant,
                        const ManifestBuilder& builder = fake_manifest()) {
    std::string file = add(name, variant, builder);
    const Manifest read = manifest(name);
    if (!variant.empty()) set_note(library(name), read.id, read.version.text);
    return file;
  }
  Manifest manifest(std::string_view name) const {
    return open_manifest((dir_ / name / concat(name, ".yaml")).string()).value();
  }
  std::filesystem::path library(std::string_view name) const { return dir_ / name / "libfake.so"; }

  SearchResult search() const {
    PluginLocations locations;
    locations.directories = {dir_.path().string()};
    locations.exclusive = true;
    // ignores the plugins that are installed on this host
    locations.host.clear();
    return search_plugins(locations);
  }
  const std::filesystem::path& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

}  // namespace gantry::test
