// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/link_cache.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/new_file.hpp"
#include "core/base/noexec.hpp"
#include "core/base/signal_cleanup.hpp"
#include "core/base/temp_directory.hpp"
#include "core/base/text.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/formats/container_symbols.hpp"
#include "core/formats/elf/elf_file.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace gantry {

// The text of generated_code.h; the build writes it.
extern const std::string_view generated_code;

namespace {

namespace fs = std::filesystem;

// The headers that TVM's C code generators include.
//
// source   apache/tvm src/target/source/codegen_c_host.cc, v0.2 to v0.26
constexpr std::string_view header_names[] = {"dlpack/dlpack.h",
                                             "tvm/ffi/c_api.h",
                                             "tvm/ffi/extra/c_env_api.h",
                                             "tvm/runtime/base.h",
                                             "tvm/runtime/c_runtime_api.h",
                                             "tvm/runtime/c_backend_api.h"};

constexpr std::string_view c_suffixes[] = {".c", ".C", ".cc", ".cpp", ".cxx"};
constexpr std::string_view c_suffix = ".c";
// Beginnings of the names that only the C++ library defines.
constexpr std::string_view cpp_names[] = {"_Z", "__cxa_", "__gxx_"};
// Part of each digest; changes with the form of a link.
constexpr std::string_view form = "linked library 4";
// of the directories in which libraries are linked: ".link.XXXXXX"
constexpr std::string_view scratch_name = "link";

bool is_source(std::string_view name) {
  return std::ranges::any_of(c_suffixes,
                             [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// True if the C++ library must be linked. An installation with a C compiler alone has none.
bool is_cpp(const LinkInput& file) {
  if (!has_elf_magic(file.bytes)) return !file.name.ends_with(c_suffix);
  const auto object = ElfFile::parse(file.bytes);
  return object.ok() && std::ranges::any_of(object->symbols(), [](const ElfSymbol& symbol) {
           return !symbol.defined() &&
                  std::ranges::any_of(cpp_names, [&](std::string_view beginning) {
                    return symbol.name.starts_with(beginning);
                  });
         });
}

// Names of members may be any bytes, and two may be equal.
std::string file_name(std::size_t index, const LinkInput& file) {
  std::string name = concat(index, "_");
  const std::string_view last = std::string_view(file.name).substr(file.name.find_last_of('/') + 1);
  for (const char c : last.substr(last.size() - std::min<std::size_t>(last.size(), 100))) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.';
    name += plain ? c : '_';
  }
  // Without it the linker interprets an object as text.
  if (has_elf_magic(file.bytes) && !name.ends_with(".o")) name += ".o";
  return name;
}

Status check_machine(const LinkInput& file, ElfMachine machine) {
  if (!has_elf_magic(file.bytes)) return {};
  auto object = ElfFile::parse(file.bytes);
  if (!object.ok()) return std::move(object).failure().at("in object ", quoted(file.name));
  if (object->machine() == machine) return {};
  return unavailable("object ", quoted(file.name), " is ", name_of(object->machine()),
                     ", this host is ", name_of(machine))
      .with_reason("BLOB_ARCH");
}

// Defines the functions with which objects register their symbols, hidden and without effect.
std::string registration_source() {
  std::string text;
  for (const std::string_view name : register_functions) {
    const std::string declaration = concat("int ", name, "(const char* name, void* symbol)");
    text += concat("__attribute__((visibility(\"hidden\"))) ", declaration, ";\n", declaration,
                   " { return 0; }\n");
  }
  return text;
}

// Collects what decides the content of a library.
class LinkKey {
 public:
  void add(std::string_view part) {
    const auto size = static_cast<std::uint64_t>(part.size());
    text_.append(reinterpret_cast<const char*>(&size), sizeof size);
    text_ += part;
  }
  void add_digest(std::span<const std::uint8_t> bytes) { add(as_text(sha256(bytes))); }
  Sha256 digest() const { return sha256(as_bytes(text_)); }

 private:
  std::string text_;
};

// The compiler that is installed: an upgrade changes its file.
std::string identity_of_compiler(const fs::path& program) {
  struct stat info {};
  if (::stat(program.c_str(), &info) != 0) return program.native();
  return concat(program.native(), " ", info.st_dev, " ", info.st_ino, " ", info.st_size, " ",
                info.st_mtim.tv_sec, " ", info.st_mtim.tv_nsec);
}

// Writes the headers and the inputs below a directory, and returns the names of the sources.
Result<std::vector<std::string>> write_inputs(const fs::path& directory,
                                              std::span<const LinkInput> files) {
  for (const std::string_view name : header_names) {
    const fs::path header = directory / "include" / name;
    std::error_code failed;
    // write_new_file() reports a failure.
    fs::create_directories(header.parent_path(), failed);
    GANTRY_CHECK(write_new_file(header, as_bytes(generated_code)));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    names.push_back(file_name(i, files[i]));
    GANTRY_CHECK(write_new_file(directory / names.back(), files[i].bytes));
  }
  names.emplace_back("registration.c");
  GANTRY_CHECK(write_new_file(directory / names.back(), as_bytes(registration_source())));
  return names;
}

// Writes the inputs to `scratch` and links them there.
Status link_in(const fs::path& scratch, std::span<const LinkInput> files, const fs::path& output,
               const LinkCacheOptions& options, const fs::path& compiler) {
  LinkJob job;
  job.compiler = options.compiler;
  job.compiler.front() = compiler.native();
  job.directory = scratch;
  job.scratch = scratch;
  job.output = output;
  job.search = options.search;
  // TVM v0.2 and v0.3 write the bytes of a container, up to 0xff, as an array of char.
  job.flags = {"-isystem", "include", "-Wl,-z,lazy", "-Wno-narrowing"};
  // Only what the code imports is needed.
  job.libraries = {"-Wl,--as-needed", "-lm"};
  if (std::ranges::any_of(files, is_cpp)) job.libraries.emplace_back("-lstdc++");
  GANTRY_TRY(job.sources, write_inputs(scratch, files));
  return link_library(job);
}

// Creates the directory in which a library is linked: in the cache, where one that a killed process
// leaves is removed later, or in another one.
Result<TempDirectory> scratch_directory(const DiskCache& cache, const fs::path& other) {
  if (!cache.create()) return TempDirectory::in(other, scratch_name);
  auto made = TempDirectory::beside(fs::path(cache.directory()) / scratch_name);
  return made.ok() ? std::move(made) : TempDirectory::in(other, scratch_name);
}

// Returns a library in the cache; NULL if it is not there or cannot be used.
std::shared_ptr<const MappedFile> cached_library(const DiskCache& cache, std::string_view key) {
  Descriptor file = cache.open(key);
  if (!file) return nullptr;
  auto mapped = MappedFile::adopt(std::move(file), cache.path_of(key));
  return mapped.ok() ? *std::move(mapped) : nullptr;
}

// Returns a library from which the linker can map code: itself, or a copy in memory of one on a
// file system that is mounted noexec.
Result<std::shared_ptr<const MappedFile>> mappable(std::shared_ptr<const MappedFile> library) {
  if (!is_on_noexec(library->descriptor())) return library;
  return MappedFile::copy(library->path(), library->bytes());
}

}  // namespace

bool is_link_input(const LinkInput& file) {
  if (!has_elf_magic(file.bytes)) return is_source(file.name);
  const auto object = ElfFile::parse(file.bytes);
  return object.ok() && object->type() == ElfType::relocatable;
}

DiskCache::Options linked_libraries(const LinkCacheOptions& options) {
  return {
      .directory = options.directory.empty() ? std::string() : concat(options.directory, "/linked"),
      .max_file_bytes = options.max_bytes,
      .max_bytes = options.max_bytes,
      .suffix = ".so",
      .leftover = concat(".", scratch_name, "."),
      .guard =
          [](const std::string& path) {
            return std::make_shared<CleanUpOnSignal>([path] { ::unlink(path.c_str()); });
          },
      .log = options.log};
}

Result<fs::path> LinkCache::find_compiler(const fs::path& name,
                                          std::span<const LinkInput> files) const {
  const std::string file = name.filename().native();
  const bool is_member = files.size() != 1 || files.front().name != file;
  const std::string elsewhere =
      concat("link it where there is one, cc -shared -o model.so ",
             is_member ? std::string("<its members>") : file, ", and load the library");
  if (options_.elevated) {
    return unavailable(quoted(file),
                       " must be linked, and this secure process starts no compiler; ", elsewhere)
        .with_reason("SECURE");
  }
  auto program = find_program(options_.compiler.front(), options_.search);
  struct stat info {};
  if (program.ok() && ::stat(program->c_str(), &info) == 0) return program;
  if (!program.ok() && program.error().native_code != ENOENT) return program;
  return unavailable(quoted(file), " must be linked, and there is no compiler ",
                     quoted(options_.compiler.front()), " in ", quoted(options_.search.path),
                     " (PATH); install one (apt install gcc), name one in the variable CC, or ",
                     elsewhere)
      .with_reason("COMPILER_MISSING");
}

Result<std::shared_ptr<const MappedFile>> LinkCache::link(const fs::path& name,
                                                          std::span<const LinkInput> files) const {
  for (const LinkInput& file : files) GANTRY_CHECK(check_machine(file, options_.machine));
  GANTRY_TRY(const fs::path compiler, find_compiler(name, files));

  LinkKey key;
  key.add(form);
  key.add(name_of(options_.machine));
  key.add(generated_code);
  key.add(identity_of_compiler(compiler));
  for (const std::string& word : options_.compiler) key.add(word);
  for (std::size_t i = 0; i < files.size(); ++i) {
    key.add(file_name(i, files[i]));
    key.add_digest(files[i].bytes);
  }
  const Sha256 digest = key.digest();
  const std::string_view cache_key = as_text(digest);
  DiskCache cache(linked_libraries(options_));
  if (auto cached = cached_library(cache, cache_key)) return mappable(std::move(cached));

  GANTRY_TRY(const TempDirectory scratch, scratch_directory(cache, options_.temporary));
  const fs::path output = scratch / "library.so";
  GANTRY_CHECK(link_in(scratch.path(), files, output, options_, compiler));

  Descriptor file = CacheDirectory::open_file(output.native());
  if (!file) return unavailable("compiler ", quoted(compiler.native()), " writes no library");
  GANTRY_TRY(auto linked, MappedFile::adopt(std::move(file), name));
  auto cached =
      cache.store(cache_key, linked->bytes()) ? cached_library(cache, cache_key) : nullptr;
  return mappable(cached ? std::move(cached) : std::move(linked));
}

}  // namespace gantry
