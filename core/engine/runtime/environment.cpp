// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/environment.hpp"

#include "core/base/text.hpp"
#include "core/engine/runtime/config.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>

namespace gantry {
namespace {

constexpr std::string_view kConfigPrefix = "GANTRY_CONFIG_";

// Variables that decide which code is loaded.
struct Guarded {
  const char* name;
  std::optional<std::string> Environment::*to;
};
constexpr Guarded guarded_variables[] = {
    {"GANTRY_PLUGIN_FILES", &Environment::plugin_files},
    {"GANTRY_ADD_PLUGIN_FILES", &Environment::add_plugin_files},
    {"GANTRY_DISABLE", &Environment::disable},
    {"GANTRY_SELECT", &Environment::select}};

bool is_elevated() {
  if (getauxval(AT_SECURE) != 0) return true;
  const char* asked = std::getenv("GANTRY_SECURE");
  return asked != nullptr && std::string_view(asked) == "1";
}

}  // namespace

void Environment::forbid() {
  forbidden = true;
  for (const Guarded& guarded : guarded_variables) {
    if (!(this->*guarded.to)) continue;
    ignored.emplace_back(guarded.name);
    (this->*guarded.to).reset();
  }
  for (const auto& [name, value] : plugin_config) ignored.push_back(concat(kConfigPrefix, name));
  plugin_config.clear();
}

std::optional<std::string> Environment::variable(const std::string& name) const {
  const char* value = forbidden ? nullptr : std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

bool Environment::ignores(const std::string& name) const {
  return forbidden && std::getenv(name.c_str()) != nullptr;
}

Environment read_environment() {
  Environment read;
  read.elevated = is_elevated();

  for (const Guarded& guarded : guarded_variables) {
    if (const char* value = std::getenv(guarded.name)) read.*guarded.to = value;
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !text.starts_with(kConfigPrefix)) continue;
    const std::string_view name = text.substr(0, equals);
    read.plugin_config.emplace_back(name.substr(kConfigPrefix.size()), text.substr(equals + 1));
  }
  if (read.elevated) read.forbid();

  if (const char* now = std::getenv("LD_BIND_NOW"); now != nullptr) read.binds_early = *now != 0;
  if (const char* path = std::getenv("PATH"); path != nullptr) read.program_path = path;
  if (!read.elevated) {
    const auto absolute = [](const char* path) { return path != nullptr && *path == '/'; };
    const auto of_user = [&](const char* variable, const char* in_home) -> std::string {
      if (const char* named = std::getenv(variable); absolute(named))
        return std::string(named) + "/gantry";
      const char* home = std::getenv("HOME");
      return absolute(home) ? concat(home, in_home) : std::string();
    };
    read.cache_directory = of_user("XDG_CACHE_HOME", "/.cache/gantry");
    read.data_directory = of_user("XDG_DATA_HOME", "/.local/share/gantry");
    read.names_data_directory = absolute(std::getenv("XDG_DATA_HOME"));
    if (const char* temporary = std::getenv("TMPDIR"); absolute(temporary)) {
      read.temporary_directory = temporary;
    }
    for (const char* const name : {"TVM_NUM_THREADS", "OMP_NUM_THREADS"}) {
      const char* const threads = std::getenv(name);
      if (threads != nullptr && *threads != 0 && !read.threads) read.threads = {name, threads};
    }
    if (const char* compiler = std::getenv("CC"); compiler != nullptr) read.compiler = compiler;
    if (const char* glslang = std::getenv("GLSLANG"); glslang != nullptr) read.glslang = glslang;
  }
  return read;
}

Result<int> stated_threads(const Environment& environment) {
  if (!environment.threads) return 0;
  const auto& [name, value] = *environment.threads;
  // OpenMP has a list: the first number is that of the outermost level.
  const auto threads = parse_number<int>(std::string_view(value).substr(0, value.find(',')));
  if (threads && *threads > 0 && *threads <= kMaxThreads) return *threads;
  return invalid(name, " is ", quoted(value), ", expected 1 to ", kMaxThreads);
}

ProbeEnvironment probe_environment(const std::string& options,
                                   const std::vector<std::string>& allowed) {
  constexpr std::string_view passed[] = {
      "GANTRY_SECURE",  "HOME", "LANG", "LC_ALL",         "LOGNAME",         "PATH",
      "TMPDIR",         "TZ",   "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
      "XDG_RUNTIME_DIR"};
  const auto is_in = [](const auto& names, std::string_view name) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  // The child has no mark of its own: file capabilities end with this program.
  if (is_elevated()) return {{"GANTRY_SECURE=1"}, {}};
  ProbeEnvironment found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool decides =
        name == "LD_LIBRARY_PATH" || is_in(allowed, name) || name.starts_with(options);
    if (decides) found.decisive.emplace_back(text);
    if (decides || is_in(passed, name)) found.all.emplace_back(text);
  }
  // The order of the variables in a process means nothing.
  std::sort(found.decisive.begin(), found.decisive.end());
  return found;
}

std::string_view directory_in_prefix(std::string_view directory) {
  for (const std::string_view packages : {"/site-packages", "/dist-packages"}) {
    const std::size_t end = (std::string(directory) + '/').find(std::string(packages) + '/');
    if (end == std::string_view::npos || end == 0) continue;
    // without python3.11
    const std::size_t library_end = directory.rfind('/', end - 1);
    if (library_end != std::string_view::npos && library_end != 0)
      return directory.substr(0, library_end);
  }
  return directory;
}

namespace {

std::string library_file() {
  static const char anchor = 0;
  Dl_info info{};
  if (dladdr(&anchor, &info) == 0 || info.dli_fname == nullptr) return {};
  char path[PATH_MAX];
  // For the main program the name is argv[0], which need not be a path.
  const char* name = info.dli_fname;
  if (realpath(name, path) == nullptr || name[0] != '/') {
    if (realpath("/proc/self/exe", path) != nullptr) return path;
    // Without /proc: the path that the kernel was given, which the caller of a secure process chooses.
    const auto* const executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (is_elevated() || executed == nullptr || realpath(executed, path) == nullptr) return {};
  }
  return path;
}

}  // namespace

std::string library_directory() {
  std::string file = library_file();
  file.resize(std::min(file.rfind('/'), file.size()));
  return file;
}

std::string core_directory() {
  constexpr std::string_view of_package = "/lib/libgantry-runtime.so";
  const std::string file = library_file();
  if (file.ends_with(of_package)) {
    std::string package = file.substr(0, file.size() - of_package.size());
    if (::access((package + "/../share/gantry/plugins.d").c_str(), F_OK) == 0) return package;
  }
  return std::string(directory_in_prefix(library_directory()));
}

}  // namespace gantry
