// SPDX-License-Identifier: Apache-2.0
#include "tests/layers/layers.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace gantry::layers {
namespace {

namespace fs = std::filesystem;

const std::string spdx = "// SPDX-License-Identifier: Apache-2.0";

// README.md quotes this program byte for byte, without a licence line.
const std::string printed_program = "tests/install/embed/digits.cpp";

// The only file of the core that may read the environment.
const std::string environment_file = "core/engine/runtime/environment.cpp";

// Headers of a library, and the only directories of core, tools and sdk whose files may include
// them.
struct Restricted {
  std::string_view prefix;
  std::string_view directory;
  std::string_view other_directory = {};

  bool allows(std::string_view path) const {
    return path.starts_with(directory) ||
           (!other_directory.empty() && path.starts_with(other_directory));
  }
  std::string directories() const {
    const std::string first(directory);
    return other_directory.empty() ? first : first + " or " + std::string(other_directory);
  }
};
const Restricted restricted[] = {
    {"yaml-cpp/", "core/base/yaml/"},
    {"boost/dll", "core/plugins/library/"},
    {"CLI/", "tools/"},
    {"gtest/", "tests/"},
    {"gmock/", "tests/"},
    {"zlib.h", "core/formats/arrays/"},
    {"sodium.h", "core/base/digest/", "core/plugins/trust/"},
};

// Readers of what executors run. The engine and the choice of plugins know models by gantry/model.h
// only.
constexpr std::string_view model_readers[] = {
    "core/formats/annotation.hpp",    "core/formats/array_list.hpp",
    "core/formats/graph_json.hpp",    "core/formats/model_signature.hpp",
    "core/formats/relax_code.hpp",    "core/formats/relay_code.hpp",
    "core/formats/relax_program.hpp", "core/formats/relay_program.hpp",
    "core/formats/vm_details.hpp",
};
bool knows_no_executor(std::string_view path) {
  return path.starts_with("core/engine/") || path.starts_with("core/plugins/");
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool is_header(const fs::path& path) {
  return path.extension() == ".h" || path.extension() == ".hpp";
}
bool is_source(const fs::path& path) {
  return is_header(path) || path.extension() == ".c" || path.extension() == ".cpp";
}

// Replaces comments by blanks, so that line numbers do not change; keeps strings.
std::string without_comments(std::string_view source) {
  std::string out(source);
  for (std::size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] == '"') {
      for (++i; i < out.size() && out[i] != '"' && out[i] != '\n'; ++i) {
        if (out[i] == '\\') ++i;
      }
    } else if (out[i] == '/' && out[i + 1] == '/') {
      for (; i < out.size() && out[i] != '\n'; ++i) out[i] = ' ';
    } else if (out[i] == '/' && out[i + 1] == '*') {
      const std::size_t end = std::min(out.find("*/", i + 2), out.size() - 2) + 2;
      for (; i < end; ++i) {
        if (out[i] != '\n') out[i] = ' ';
      }
      --i;
    }
  }
  return out;
}

std::string first_parts(const std::string& path, std::size_t count) {
  std::size_t at = 0;
  while (count-- > 0) {
    at = path.find('/', at);
    if (at == std::string::npos) return path;
    ++at;
  }
  return path.substr(0, at);
}

class Checker {
 public:
  explicit Checker(const fs::path& root) : root_(root) {
    parts_ = read_parts(read_text(root / "core/CMakeLists.txt"));
  }

  std::vector<std::string> run() {
    for (const std::string directory : {"core", "plugins", "sdk", "tools", "tests"}) {
      if (!fs::exists(root_ / directory)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root_ / directory)) {
        if (entry.is_regular_file() && is_source(entry.path())) check(entry.path());
      }
    }
    std::sort(breaches_.begin(), breaches_.end());
    return std::move(breaches_);
  }

 private:
  void check(const fs::path& file) {
    path_ = fs::relative(file, root_).generic_string();
    const std::string text = read_text(file);
    if (!text.starts_with(spdx + "\n") && path_ != printed_program)
      report(1, "does not begin with the SPDX line");
    const std::string code = without_comments(text);
    if (!path_.starts_with("tests/golden/data/")) check_comments(text, code);
    if (path_.starts_with("tests/")) return;

    if (is_header(file)) check_guard(code);
    if (path_.starts_with("core/") && path_ != environment_file) check_environment(code);
    if (!path_.starts_with("tools/")) check_directories(code);
    if (knows_no_executor(path_)) check_executors(code);
    for (const Include& include : read_includes(text)) check_include(include);
  }

  void report(int line, const std::string& what) {
    std::ostringstream out;
    out << path_ << ':' << line << ": " << what;
    breaches_.push_back(out.str());
  }
  void refuse(const Include& include, const std::string& why) {
    report(include.line, "includes " + include.path + ", " + why);
  }

  // A comment is above the code that it describes. Only the end of a namespace and directives may
  // have a trailing comment.
  void check_comments(const std::string& text, const std::string& code) {
    static const std::regex allowed(R"(^\s*#|// (namespace|extern|NOLINT))");
    std::istringstream lines(text), codes(code);
    std::string line, code_line;
    for (int number = 1; std::getline(lines, line) && std::getline(codes, code_line); ++number) {
      const std::size_t code_end = code_line.find_last_not_of(' ');
      if (code_end == std::string::npos ||
          line.substr(code_end + 1).find(" // ") == std::string::npos)
        continue;
      if (!std::regex_search(line, allowed)) report(number, "has a trailing comment");
    }
  }

  void check_guard(const std::string& code) {
    static const std::regex guard(R"(#ifndef (\w+)\s*\n#define (\w+)\s*\n)");
    std::smatch found;
    if (code.find("#pragma once\n") != std::string::npos) return;
    if (std::regex_search(code, found, guard) && found[1] == found[2]) return;
    report(1, "has neither #pragma once nor an include guard");
  }

  // Reports each line in which `word` is: `verb`, what was found, `why`.
  void check_words(const std::string& code, const std::regex& word, const std::string& verb,
                   const std::string& why) {
    std::istringstream lines(code);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      std::smatch found;
      if (std::regex_search(line, found, word))
        report(number, verb + " " + found[1].str() + ", " + why);
    }
  }

  void check_environment(const std::string& code) {
    static const std::regex word(R"(\b(getenv|secure_getenv|setenv|putenv)\b)");
    check_words(code, word, "uses", std::string("which only ") + environment_file + " may");
  }

  // An exhausted memory must be an error of the caller's.
  void check_directories(const std::string& code) {
    static const std::regex word(R"(\b((recursive_)?directory_iterator)\b)");
    check_words(code, word, "uses",
                "which ends the process if memory is exhausted: gantry/directory.hpp");
  }

  void check_executors(const std::string& code) {
    static const std::regex word(
        R"(\b(graph_factory_key|old_graph_factory_key|aot_factory_key|aot_metadata_key|)"
        R"(relay_executable_key|is_virtual_machine|GraphExecutorFactory|GraphRuntimeFactory|)"
        R"(AotExecutorFactory|VMExecutable)\b)");
    check_words(code, word, "names an executor,", "which only its plugin may");
  }

  void check_include(const Include& include) {
    const std::string& what = include.path;
    if (knows_no_executor(path_) &&
        std::ranges::find(model_readers, what) != std::end(model_readers))
      return refuse(include, "which only plugins of executors may");
    for (const Restricted& rule : restricted) {
      if (what.starts_with(rule.prefix) && !rule.allows(path_) && !path_.starts_with("plugins/")) {
        return refuse(include, "which only " + rule.directories() + " may");
      }
    }
    if (what.find("..") != std::string::npos) return refuse(include, "which contains ..");
    if (what.starts_with("tests/")) return refuse(include, "but only tests may include tests");
    if (path_.starts_with("core/")) return check_core(include);
    if (path_.starts_with("plugins/")) return check_plugin(include);
    if (path_.starts_with("tools/")) return check_tools(include);
    check_sdk(include);
  }

  bool is_sdk_header(const std::string& what) const {
    return what.starts_with("gantry/") &&
           (fs::exists(root_ / "sdk/include" / what) || fs::exists(root_ / "sdk/cxx" / what));
  }

  // The part of a path below core/: the longest one of the table; empty if there is none.
  std::string part_of(std::string_view path) const {
    std::string_view directory = path.substr(5, path.rfind('/') - 5);
    for (;;) {
      if (parts_.contains(std::string(directory))) return std::string(directory);
      const std::size_t end = directory.rfind('/');
      if (end == directory.npos) return {};
      directory = directory.substr(0, end);
    }
  }

  // A part may include itself, the SDK, base itself, and the parts of its line in the table.
  void check_core(const Include& include) {
    const std::string& what = include.path;
    const std::string part = part_of(path_);
    const auto line = parts_.find(part);
    if (what.starts_with("gantry/") && !is_sdk_header(what))
      return refuse(include, "which is not a header of the SDK");
    if (what.starts_with("gantry/") && include.is_quoted)
      return refuse(include, "which must be written <gantry/...>");
    if (!include.is_quoted) {
      if (what.starts_with("core/")) refuse(include, "which must be written \"core/...\"");
      return;
    }
    if (!what.starts_with("core/")) return refuse(include, "which is not a path from the root");
    if (line == parts_.end())
      return refuse(include, "from a directory that core/CMakeLists.txt does not list");
    const std::string other = part_of(what);
    if (other == part || other == "base" || line->second.contains(other)) return;
    refuse(include, "but " + part + " may not include " + (other.empty() ? what : other));
  }

  // Plugins may include core/formats and core/base in addition to what a vendor's plugin may include.
  void check_plugin(const Include& include) {
    for (const std::string_view component : {"core/formats/", "core/base/"}) {
      if (include.is_quoted && include.path.starts_with(component)) return;
    }
    check_own_directory(include, first_parts(path_, 2), ", core/formats, core/base");
  }

  // Templates and examples may include the SDK, libraries, and their own files by name or by path
  // from the root.
  //
  // others   [in]   what else the directory may include, for messages
  void check_own_directory(const Include& include, const std::string& directory,
                           const std::string& others = "") {
    const std::string& what = include.path;
    const std::string why =
        "but " + directory + " may include only itself, the SDK" + others + " and libraries";
    if (what.starts_with("gantry/")) {
      if (!is_sdk_header(what)) refuse(include, "which is not a header of the SDK");
      return;
    }
    if (!include.is_quoted) {
      for (const std::string_view ours : {"core/", "tools/", "sdk/", "plugins/"}) {
        if (what.starts_with(ours)) return refuse(include, why);
      }
      return;
    }
    const std::string beside = (fs::path(path_).parent_path() / what).generic_string();
    if (fs::exists(root_ / beside) && beside.starts_with(directory)) return;
    if (what.starts_with(directory) && fs::exists(root_ / what)) return;
    refuse(include, why);
  }

  void check_tools(const Include& include) {
    const std::string& what = include.path;
    if (what.starts_with("plugins/")) return refuse(include, "but tools may not include plugins");
    // The demos are programs that embed gantry.
    if (path_.starts_with("tools/demo/")) check_own_directory(include, "tools/demo/");
  }

  void check_sdk(const Include& include) {
    const std::string& what = include.path;
    if (path_.starts_with("sdk/include/")) {
      if (include.is_quoted && fs::exists((root_ / path_).parent_path() / what)) return;
      if (what == "stdint.h" || what == "stddef.h") return;
      return refuse(include, "but the ABI may include only <stdint.h> and <stddef.h>");
    }
    if (path_.starts_with("sdk/cxx/")) {
      if (is_sdk_header(what)) return;
      if (what.starts_with("dmlc/") && path_ == "sdk/cxx/gantry/dmlc_stream.hpp") return;
      // Headers of the system have no directory, or sys/.
      if (!include.is_quoted && (what.find('/') == std::string::npos || what.starts_with("sys/")))
        return;
      return refuse(include, "but sdk/cxx may include only the ABI and the standard library");
    }
    check_own_directory(include, first_parts(path_, 2));
  }

  fs::path root_;
  PartTable parts_;
  // of the file being checked, from the root
  std::string path_;
  std::vector<std::string> breaches_;
};

}  // namespace

PartTable read_parts(std::string_view cmake) {
  static const std::regex comment("#[^\n]*");
  static const std::regex call(R"(\bgantry_part\s*\(([^)]*)\))");
  const std::string text = std::regex_replace(std::string(cmake), comment, "");
  PartTable parts;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), call); it != std::sregex_iterator();
       ++it) {
    std::istringstream words((*it)[1].str());
    std::string name, word;
    words >> name;
    std::set<std::string>& others = parts[name];
    bool in_parts = false;
    while (words >> word) {
      const bool is_keyword = word == "PARTS" || word == "LIBRARIES";
      if (is_keyword) {
        in_parts = word == "PARTS";
      } else if (in_parts) {
        others.insert(word);
      }
    }
  }
  return parts;
}

std::vector<Include> read_includes(std::string_view source) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> all;
  std::istringstream lines(without_comments(source));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch found;
    if (std::regex_search(line, found, pattern)) {
      all.push_back({number, found[1].str() == "\"", found[2].str()});
    }
  }
  return all;
}

std::vector<std::string> breaches(const fs::path& root) { return Checker(root).run(); }

}  // namespace gantry::layers
