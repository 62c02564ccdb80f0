// SPDX-License-Identifier: Apache-2.0
#include "missing.hpp"

#include <gantry/directory.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

namespace gantry::opencl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view vendor_directory = "/etc/OpenCL/vendors";

// Returns the value of an environment variable; empty if it is not set.
std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// source   PoCL 3.1, the environment variables of its manual
fs::path pocl_cache() {
  if (const auto own = variable("POCL_CACHE_DIR"); !own.empty()) return own;
  if (const auto user = variable("XDG_CACHE_HOME"); !user.empty()) return fs::path(user) / "pocl";
  const auto home = variable("HOME");
  return home.empty() ? fs::path("/tmp/pocl") : fs::path(home) / ".cache/pocl";
}

std::string pocl_hint() {
  const fs::path cache = pocl_cache();
  std::error_code error;
  // PoCL creates it, too. Permissions alone do not show whether a directory can be created.
  fs::create_directories(cache, error);
  if (!error && access(cache.c_str(), W_OK) == 0) return "";
  return concat("; PoCL cannot write its cache directory ", quoted(cache.native()),
                ": set POCL_CACHE_DIR to a directory that it can write");
}

}  // namespace

// Repeats the ICD loader's search for drivers, to list the files that it finds.
Error no_driver() {
  // A variable of the ICD loader.
  const std::string_view vendors = variable("OCL_ICD_VENDORS");
  const std::string directory(vendors.empty() ? vendor_directory : vendors);
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& name : names_in(directory, error))
    if (fs::path(name).extension() == ".icd") files.push_back(name);
  return unavailable("no OpenCL driver: libOpenCL.so.1 looks for files *.icd in ",
                     quoted(directory), vendors.empty() ? " " : ", where OCL_ICD_VENDORS points, ",
                     files.empty() ? "and finds none"
                                   : concat("and none of ", join(files, ", ", in_quotes),
                                            " names a driver that starts"),
                     "; Debian's pocl-opencl-icd has one for CPUs")
      .with_reason("DRIVER_MISSING");
}

Error no_device(std::span<const EmptyPlatform> platforms) {
  const auto text_of = [](const EmptyPlatform& platform) {
    return concat("driver ", quoted(platform.name), " reports ", platform.error);
  };
  const bool has_pocl = std::any_of(platforms.begin(), platforms.end(), [](const auto& platform) {
    return platform.name == "Portable Computing Language";
  });
  return unavailable("no OpenCL device: ", join(platforms, "; ", text_of),
                     has_pocl ? pocl_hint() : "")
      .with_reason("DRIVER_MISSING");
}

}  // namespace gantry::opencl
