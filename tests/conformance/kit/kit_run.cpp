// SPDX-License-Identifier: Apache-2.0
#include "kit_run.hpp"

#include "core/base/process.hpp"
#include "tests/support/built_plugins.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gantry/note.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace gantry::test {

std::vector<int> KitRun::cases(std::string_view state) const {
  std::vector<int> numbers;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    int number = 0;
    const bool is_first = line.find(": as case ") == std::string::npos;
    if (words >> first >> number && first == state && is_first) numbers.push_back(number);
  }
  return numbers;
}

KitRun run_kit(const std::vector<std::string>& args) {
  std::vector<std::string> words{(build_tree() / "bin/gantry-conformance").string()};
  words.insert(words.end(), args.begin(), args.end());
  const auto end = run_program(words, build_tree(), 1 << 20);
  if (!end.ok()) return {-1, end.error().message.text()};
  return {end->signal != 0 ? 128 + end->signal : end->exit_status, end->output};
}

std::string built_manifest(std::string_view name) {
  const std::string directory = built_plugins(name);
  return (std::filesystem::path(directory) / (std::string(name) + ".yaml")).string();
}

namespace {

// Changes the sanitizer in the note to another one.
void change_sanitizer(std::vector<std::uint8_t>& library) {
  gantry_note note{};
  constexpr std::string_view id = "test.kit";
  // The note has the id at its offset and the version behind it; other texts have not.
  for (auto at = library.begin();; ++at) {
    at = std::search(at, library.end(), id.begin(), id.end());
    if (library.end() - at < static_cast<std::ptrdiff_t>(sizeof note)) std::abort();
    if (at - library.begin() < static_cast<std::ptrdiff_t>(offsetof(gantry_note, id))) continue;
    const auto start = at - static_cast<std::ptrdiff_t>(offsetof(gantry_note, id));
    std::memcpy(&note, &*start, sizeof note);
    if (note.struct_size != sizeof note || std::string_view(note.version) != "1.0.0") continue;
    note.sanitizer = note.sanitizer == GANTRY_SANITIZER_THREAD ? GANTRY_SANITIZER_ADDRESS
                                                               : GANTRY_SANITIZER_THREAD;
    std::memcpy(&*start, &note, sizeof note);
    return;
  }
}

// The bytes of a fake plugin of this build with a defect.
std::vector<std::uint8_t> library_with_defect(const std::string& name, std::string_view defect) {
  std::vector<std::uint8_t> library = read_file(build_tree() / "tests/fake_plugins" / name);
  constexpr std::string_view marker = "GANTRY_FAKE_DEFECT=none";
  auto at = std::search(library.begin(), library.end(), marker.begin(), marker.end());
  if (at == library.end() || defect.size() > 40) {
    std::fprintf(stderr, "%s has no marker for %.*s\n", name.c_str(),
                 static_cast<int>(defect.size()), defect.data());
    std::abort();
  }
  at += static_cast<std::ptrdiff_t>(marker.find('=') + 1);
  std::fill_n(at, 40, std::uint8_t{0});
  std::copy(defect.begin(), defect.end(), at);
  return library;
}

}  // namespace

std::string plugin_with_break(const std::filesystem::path& directory, std::string_view way) {
  const std::filesystem::path built = build_tree() / "tests/conformance";
  const std::filesystem::path into = directory / way;
  std::filesystem::create_directories(into);
  write_file(into / "libgantry_abacus.so", library_with_defect("libbroken.so", way));
  write_file(into / "abacus.yaml", read_file(built / "plugins.d/abacus/abacus.yaml"));
  return (into / "abacus.yaml").string();
}

std::string payloads_of_example(const std::filesystem::path& directory, const std::string& example,
                                const std::string& plugin) {
  const std::filesystem::path source = GANTRY_SOURCE_DIR;
  write_file(directory / "payloads.yaml", read_file(source / "sdk" / example / "payloads.yaml"));
  write_file(directory / "model.so",
             read_file(build_tree() / "tests/conformance" / (plugin + ".so")));
  return (directory / "payloads.yaml").string();
}

std::string plugin_with_defect(const std::filesystem::path& directory, std::string_view defect) {
  std::vector<std::uint8_t> library = library_with_defect("libkit.so", defect);
  const std::filesystem::path into = directory / defect;
  std::filesystem::create_directories(into);
  if (defect == "wrong_sanitizer") change_sanitizer(library);
  write_file(into / "libkit.so", library);
  ManifestBuilder manifest;
  // A payload is a number of 8 bytes and so many bytes.
  const std::string_view layout = defect == "wrong_layout" ? "u64" : "bytes";
  manifest.id("test.kit")
      .library("libkit.so")
      .set("keys", concat("[{key: test.kit, payload: [", layout, "]}]"));
  manifest.device("kit_device");
  manifest.set("self_contained", "true");
  // The core does not open a plugin without its device nodes.
  const bool has_nodes = defect != "requires_dev";
  manifest.set("requires", std::string("{libraries: [{soname: libBrokenLocale.so.1}]") +
                               (has_nodes ? ", device_nodes: [/dev/full]}" : "}"));
  if (defect == "has_no_option")
    manifest.set("config", "{level: 3}");
  else
    manifest.set("config_schema",
                 "{level: {type: int, default: 3, min: 0, max: 9}, "
                 "token: {type: string, secret: true}}");
  manifest.set("target_kinds",
               "[{name: kit, type_key: test.kit, languages: [kit], "
               "options: {mode: {type: string, doc: \"plain\"}}}]");
  if (defect != "has_no_support") manifest.set("support", "https://support.example.invalid/kit");
  if (defect == "has_an_unknown_key")
    manifest.set("schema", "\"1.1\"").set("schema_min", "\"1.0\"").set("surprise", "1");
  return manifest.write_to(into / "kit.yaml").string();
}

std::string payloads_of_kit_plugin(const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "payloads.yaml";
  write_file(file, R"(schema: "1.0"
payloads:
  - key: test.kit
    hex: "0500000000000000 68656c6c6f"
    calls:
      - {function: size, result: {int: 5}}
      - {function: size, arguments: [{int: 1}], result: {int: 5}}
      - function: add
        arguments:
          - {tensor: {dtype: float32, shape: [3], values: [1, 2, 3]}}
          - {tensor: {dtype: float32, shape: [3], values: [10, 20, 30]}}
          - {tensor: {dtype: float32, shape: [3], values: [0, 0, 0], after: [11, 22, 33]}}
        result: {none: true}
      - function: sum
        arguments:
          - {tensor: {dtype: float32, shape: [3], values: [1, 2, 3]}}
          - {tensor: {dtype: float32, shape: [3], values: [10, 20, 30]}}
        result: {tensor: {dtype: float32, shape: [3], values: [11, 22, 33]}}
      - function: sum4
        arguments: [{tensor: {dtype: int4, shape: [5], values: [1, -2, 3, 4, -5]}}]
        result: {int: 1}
    loses: {function: lose}
    runs:
      - function: sum
        inputs:
          y: {tensor: {dtype: float32, shape: [3], values: [10, 20, 30]}}
          x: {tensor: {dtype: float32, shape: [3], values: [1, 2, 3]}}
        outputs: [{tensor: {dtype: float32, shape: [3], values: [11, 22, 33]}}]
      - inputs:
          x: {tensor: {dtype: float32, shape: [3], values: [4, 5, 6]}}
          y: {tensor: {dtype: float32, shape: [3], values: [1, 1, 1]}}
        outputs: [{tensor: {dtype: float32, shape: [3], values: [5, 6, 7]}}]
  - key: test.kit
    hex: "0500000000000002 68656c6c6f"
    refused: [architecture 2, architecture 0]
builds:
  - target: kit -mode=plain
    source: hello
    broken: "!hello"
    refused_targets: [kit -mode=fancy]
    calls:
      - {function: size, result: {int: 5}}
)");
  return file.string();
}

}  // namespace gantry::test
