// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/scene.hpp"

#include "tests/support/built_plugins.hpp"
#include "tests/support/tar_bytes.hpp"

#include <gantry/result.hpp>

#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;

// `pack` replaces only ELF files.
constexpr std::string_view kBefore =
    "\x7f"
    "ELF that was there before";

// float32[1, 64] of zeros, as numpy writes it.
std::string zeros() {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 64), }";
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' + header +
         std::string(256, '\0');
}

// Replaces the C compiler: copies the file that the real one writes in the first run. Hundreds of
// compilations would take minutes.
constexpr std::string_view kCompiler = R"(#!/bin/sh
kept="${0%/*}/linked.so"
[ -e "$kept" ] || cc "$@" || exit
while [ "$1" != -o ]; do shift; done
[ -e "$kept" ] || exec cp "$2" "$kept"
exec cp "$kept" "$2"
)";

// Replaces glslangValidator in the same way: each kernel is compiled once.
constexpr std::string_view kGlslang = R"(#!/bin/sh
kept="$0.$5"
[ -e "$kept" ] || { glslangValidator "$@" && cp "$9" "$kept"; }
exec cp "$kept" "$9"
)";

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  return fs::exists(file) ? read_file(file) : std::vector<std::uint8_t>();
}

void must_end_well(const Job& job) {
  const Ending run = run_with(job, {});
  if (run.status == 0) return;
  std::fprintf(stderr, "%s ends with %d: %s\n", job.words[0].c_str(), run.status, run.err.c_str());
  std::abort();
}

}  // namespace

Scene::Scene() : before_(kBefore) {
  fs::create_directory(dir_ / "out");
  write_file(input(), zeros());
  const fs::path demo = GANTRY_DEMO_DIR;
  fs::copy(demo, dir_ / "demo", fs::copy_options::recursive);
  must_end_well(pack_for_real());
  packed_ = read_file(output());
  write_file(dir_ / "cc", kCompiler);
  write_file(dir_ / "glslang", kGlslang);
  for (const char* program : {"cc", "glslang"}) {
    fs::permissions(dir_ / program, fs::perms::owner_all);
  }
  must_end_well(pack());
  must_end_well(pack_object());
  object_ = read_file(output());
  must_end_well(repack());
  repacked_ = read_file(output());
  must_end_well(run());
  array_ = read_file(output());
  reset();
}

Job Scene::gantry(std::vector<std::string> words) const {
  words.insert(words.begin(), (build_tree() / "bin/gantry").string());
  return {std::move(words),
          {"PATH=/usr/bin:/bin", "LC_ALL=C",
           "GANTRY_PLUGIN_FILES=", "XDG_CACHE_HOME=" + (dir_ / "cache").string()},
          dir_.path(),
          {},
          {}};
}

Job Scene::run() const {
  return gantry({"run", golden("tvm-0.12/digits_mlp_llvm.so").string(), "--plugins",
                 built_plugins(), "--threads", "2", "--input", "x=" + input().string(), "--output",
                 output().string()});
}

Job Scene::run_json() const {
  Job job = run();
  job.words.insert(job.words.begin() + 2, "--json");
  return job;
}

Job Scene::inspect() const {
  return gantry({"inspect", "--json", golden("tvm-0.12/digits_mlp_llvm.so").string()});
}

Job Scene::list() const {
  return gantry({"plugins", "list", "--json", "--plugins", built_plugins()});
}

Job Scene::pack_for_real() const {
  return gantry({"pack", (dir_ / "demo/digits.yaml").string(), "-o", output().string()});
}

Job Scene::pack() const {
  Job job = pack_for_real();
  job.environment.push_back("CC=" + (dir_ / "cc").string());
  job.environment.push_back("GLSLANG=" + (dir_ / "glslang").string());
  return job;
}

Job Scene::pack_object() const {
  Job job = pack();
  job.words.insert(job.words.end(), {"--form", "object"});
  return job;
}

Job Scene::mlf_export() const {
  return gantry(
      {"mlf", "export", golden("tvm-0.12/digits_mlp_llvm.so").string(), "-o", output().string()});
}

void Scene::replace_archive() {
  before_ = tar_file("metadata.json", "{}");
  reset();
  must_end_well(mlf_export());
  archive_ = read_file(output());
  reset();
}

Job Scene::repack() const {
  return gantry({"repack", golden("tvm-0.12/digits_mlp_llvm.so").string(), "--align", "--plugins",
                 built_plugins(), "-o", output().string()});
}

Job Scene::embedding() const {
  return {{(build_tree() / "tests/faults/faults_embed").string(), "once",
           golden("tvm-0.12/digits_mlp_llvm.so").string(),
           golden("tvm-0.12/digits_mlp.input.npz").string(), built_plugins()},
          {"PATH=/usr/bin:/bin", "LC_ALL=C", "XDG_CACHE_HOME=" + (dir_ / "cache").string()},
          dir_.path(),
          {},
          {}};
}

Job Scene::embedding_again_and_again(unsigned long step) const {
  Job job = embedding();
  job.words[1] = "every";
  job.words.push_back(std::to_string(step));
  return job;
}

bool Scene::is_untouched() const {
  const auto bytes = bytes_of(output());
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == before_;
}

bool Scene::is_whole() const {
  const auto bytes = bytes_of(output());
  return bytes == packed_ || bytes == object_ || bytes == repacked_ || bytes == array_ ||
         (!archive_.empty() && bytes == archive_);
}

bool Scene::has_nothing_else() const {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(dir_ / "out")) {
    (void)entry;
    ++count;
  }
  return count == 1;
}

std::string Scene::listing() const {
  std::string text = "out holds";
  for (const auto& entry : fs::recursive_directory_iterator(dir_ / "out"))
    text += " " + entry.path().filename().string();
  return text + "\n";
}

void Scene::reset() {
  fs::remove_all(dir_ / "out");
  fs::create_directory(dir_ / "out");
  write_file(output(), before_);
}

bool is_one_error(const std::string& err) {
  if (err.find("terminate called") != std::string::npos) return false;
  if (const auto at = err.find("gantry: "); at != std::string::npos) return err.size() > at + 9;
  for (int code = GANTRY_MALFORMED; code < GANTRY_BUG; ++code) {
    const std::string begin = concat(name_of(static_cast<Code>(code)), ": ");
    if (err.starts_with(begin) && err.size() > begin.size() + 1) return true;
  }
  return false;
}

std::string generic(const std::string& path) {
  std::string text = path.substr(path.find_last_of('/') + 1);
  for (char& c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) c = '#';
  }
  return text;
}

}  // namespace gantry::test
