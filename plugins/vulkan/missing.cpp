// SPDX-License-Identifier: Apache-2.0
#include "missing.hpp"

#include <gantry/directory.hpp>
#include <gantry/join.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace gantry::vulkan {
namespace {

namespace fs = std::filesystem;

// Larger than any manifest of a driver.
constexpr std::size_t max_manifest_bytes = 64 * 1024;
// in one error
constexpr std::size_t max_problems = 8;

constexpr const char* default_directories[] = {"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d",
                                               "/usr/share/vulkan/icd.d"};

// Returns the value of a variable of the loader; empty if it is not set or the process is secure.
std::string_view variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

// Returns the manifests in a directory, sorted.
std::vector<std::string> manifests_in(const fs::path& directory, std::error_code& error) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(directory, error)) {
    const fs::path path = directory / name;
    if (path.extension() == ".json") found.push_back(path.native());
  }
  return found;
}

// Returns the files of a list of manifests and directories, separated by colons.
std::vector<std::string> manifests_of(std::string_view list) {
  std::vector<std::string> found;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    const std::string one(list.substr(0, colon));
    list.remove_prefix(std::min(colon + 1, list.size()));
    std::error_code error;
    if (!fs::is_directory(one, error)) {
      if (!one.empty()) found.push_back(one);
      continue;
    }
    for (std::string& file : manifests_in(one, error)) found.push_back(std::move(file));
  }
  return found;
}

std::string linker_text() {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "the linker reports no reason";
}

// Returns why the library of a manifest cannot be opened; empty: it can.
std::string problem_of_library(const fs::path& manifest, std::string_view library) {
  // The loader resolves a relative path from the manifest, and searches a name as the linker does.
  const bool is_name = library.find('/') == std::string_view::npos;
  const std::string path = is_name ? std::string(library)
                                   : (manifest.parent_path() / library).lexically_normal().native();
  const std::string subject = concat(quoted(manifest.native()), " names ", quoted(path));
  std::error_code ignored;
  if (!is_name && !fs::exists(path, ignored)) return subject + ", which does not exist";
  void* const opened = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (opened == nullptr) return concat(subject, ", which cannot be opened: ", linker_text());
  ::dlclose(opened);
  return {};
}

// source   Khronos Vulkan-Loader, docs/LoaderDriverInterface.md, "Driver Manifest File Format"
std::string problem_of(const std::string& manifest) {
  std::error_code ignored;
  if (!fs::exists(manifest, ignored)) return quoted(manifest) + " does not exist";
  std::ifstream in(manifest, std::ios::binary);
  std::string text(max_manifest_bytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (text.empty()) return quoted(manifest) + " cannot be read";
  const auto tree = JsonTree::parse(text, {.name = "manifest"});
  if (!tree.ok()) return concat(quoted(manifest), ": ", tree.error().message);
  const auto icd = tree->root().find("ICD");
  const auto library = icd ? icd->find("library_path") : std::nullopt;
  if (!library || !library->is(JsonKind::text) || library->text().empty())
    return quoted(manifest) + " has no ICD.library_path";
  return problem_of_library(manifest, library->text());
}

}  // namespace

// Repeats the loader's search for drivers.
//
// source   Khronos Vulkan-Loader, docs/LoaderDriverInterface.md, "Driver Discovery"
Error no_driver() {
  std::vector<std::string> manifests;
  std::string where;
  for (const char* const name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    where = concat(name, " is ", quoted(value), ", which replaces the default directories");
    manifests = manifests_of(value);
    break;
  }
  if (where.empty()) {
    where = "the loader looks for the manifests of drivers in ";
    for (const char* const directory : default_directories) {
      std::error_code error;
      const std::vector<std::string> files = manifests_in(directory, error);
      const auto name_of = [](const std::string& file) {
        return fs::path(file).filename().native();
      };
      if (directory != default_directories[0]) where += ", ";
      where += concat(directory, " (",
                      !files.empty() ? join(files, ", ", name_of)
                      : error        ? "missing"
                                     : "empty",
                      ')');
      manifests.insert(manifests.end(), files.begin(), files.end());
    }
    if (const std::string_view added = variable("VK_ADD_DRIVER_FILES"); !added.empty()) {
      where += concat("; VK_ADD_DRIVER_FILES is ", quoted(added));
      for (std::string& file : manifests_of(added)) manifests.push_back(std::move(file));
    } else {
      where += ", or where VK_DRIVER_FILES and VK_ICD_FILENAMES point";
    }
  }
  for (const char* const name : {"VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"}) {
    if (const std::string_view value = variable(name); !value.empty())
      where += concat("; ", name, " is ", quoted(value));
  }
  std::vector<std::string> problems;
  for (const std::string& manifest : manifests) {
    if (problems.size() == max_problems) break;
    if (std::string problem = problem_of(manifest); !problem.empty())
      problems.push_back(std::move(problem));
  }
  return unavailable("no Vulkan driver starts; ", where, problems.empty() ? "" : "; ",
                     join(problems, "; "))
      .with_reason("DRIVER_MISSING");
}

}  // namespace gantry::vulkan
