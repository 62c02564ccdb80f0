// SPDX-License-Identifier: Apache-2.0
#include "core/toolchain/link_cache.hpp"

#include "core/base/temp_directory.hpp"
#include "core/elf/elf_file.hpp"
#include "core/toolchain/link.hpp"
#include "core/trust/digest.hpp"

#include <gantry/cache_directory.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <tuple>

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

constexpr std::string_view registration_source =
    "#define HIDDEN __attribute__((visibility(\"hidden\")))\n"
    "HIDDEN int TVMBackendRegisterSystemLibSymbol(const char* name, void* symbol);\n"
    "HIDDEN int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol);\n"
    "HIDDEN int TVMFFIEnvRegisterSystemLibSymbol(const char* name, void* symbol);\n"
    "int TVMBackendRegisterSystemLibSymbol(const char* name, void* symbol) { return 0; }\n"
    "int TVMFFIEnvModRegisterSystemLibSymbol(const char* name, void* symbol) { return 0; }\n"
    "int TVMFFIEnvRegisterSystemLibSymbol(const char* name, void* symbol) { return 0; }\n";

constexpr std::string_view c_suffixes[] = {".c", ".C", ".cc", ".cpp", ".cxx"};
constexpr std::string_view c_suffix = ".c";
// Beginnings of the names that only the C++ library defines.
constexpr std::string_view cpp_names[] = {"_Z", "__cxa_", "__gxx_"};
constexpr std::string_view library_suffix = ".so";
// the beginning of the names of directories in which files of the cache are written
constexpr std::string_view scratch_name = "link";
// Part of each digest; changes with the form of a link.
constexpr std::string_view form = "linked library 2";

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
  // The linker would take an object for a text without it.
  if (has_elf_magic(file.bytes) && !name.ends_with(".o")) name += ".o";
  return name;
}

Status check_machine(const LinkInput& file) {
  if (!has_elf_magic(file.bytes)) return {};
  auto object = ElfFile::parse(file.bytes);
  if (!object.ok()) return std::move(object).failure().at("in object ", quoted(file.name));
  if (object->machine() == host_machine()) return {};
  return unavailable("object ", quoted(file.name), " is ", name_of(object->machine()),
                     ", this host is ", name_of(host_machine()))
      .with_reason("BLOB_ARCH");
}

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out) throw std::system_error(errno, std::generic_category(), path.filename().native());
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Collects what decides the content of a library.
class LinkKey {
 public:
  void add(std::string_view part) {
    const auto size = static_cast<std::uint64_t>(part.size());
    text_.append(reinterpret_cast<const char*>(&size), sizeof size);
    text_ += part;
  }
  void add_digest(std::span<const std::uint8_t> bytes) {
    const Sha256 digest = sha256(bytes);
    add(text_of(digest));
  }
  Sha256 digest() const {
    return sha256({reinterpret_cast<const std::uint8_t*>(text_.data()), text_.size()});
  }

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

// Returns why the content of a file must not be used; empty: it may.
using ContentCheck = std::function<std::string_view(std::span<const std::uint8_t>)>;

// Returns the library if it is in the cache and can be used.
std::shared_ptr<const MappedFile> find_cached(const CacheDirectory& cache, const std::string& path,
                                              const ContentCheck& check,
                                              const LinkCacheOptions& options) {
  if (cache.path().empty()) return nullptr;
  const auto ignore = [&](const Message& why) {
    if (options.log) options.log({"cache file ", path, " is ignored: ", why});
    return nullptr;
  };
  Descriptor file = CacheDirectory::open_file(path);
  if (!file) {
    return errno == ENOENT || errno == ENOTDIR ? nullptr : ignore(std::strerror(errno));
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ignore(std::strerror(errno));
  if (const std::string_view why = CacheDirectory::refusal(info); !why.empty()) return ignore(why);
  auto mapped = MappedFile::adopt(std::move(file), path);
  if (!mapped.ok()) return ignore(mapped.error().message);
  const auto library = ElfFile::parse((*mapped)->bytes());
  if (!library.ok()) return ignore(library.error().message);
  if (const Status complete = library->check_complete(); !complete.ok())
    return ignore(complete.error().message);
  if (const std::string_view why = check((*mapped)->bytes()); !why.empty()) return ignore(why);
  return *mapped;
}

void log_unwritten(const std::string& path, const Message& why, const LinkCacheOptions& options) {
  if (options.log) options.log({"cache file ", path, " cannot be written: ", why});
}

// Creates a directory in the cache: its files can be renamed to `path`.
Result<TempDirectory> scratch_in(const CacheDirectory& cache) {
  if (const int failed = cache.create(); failed != 0) return unavailable(std::strerror(failed));
  return TempDirectory::beside(fs::path(cache.path()) / scratch_name);
}

// Returns 0 or an errno.
int write_bytes(const Descriptor& file, std::span<const std::uint8_t> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t written = ::write(file.get(), bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
  return 0;
}

// Renames a finished file of scratch_in() to `path`.
//
// returns  0 or an errno
int publish(const CacheDirectory& cache, const Descriptor& file, const fs::path& from,
            const std::string& path, const LinkCacheOptions& options) {
  // Compilers follow the umask.
  const bool is_done = ::fchmod(file.get(), S_IRUSR | S_IWUSR | S_IXUSR) == 0 &&
                       ::fsync(file.get()) == 0 && ::rename(from.c_str(), path.c_str()) == 0;
  const int failed = is_done ? 0 : errno;
  cache.make_room(options.max_bytes, concat(".", scratch_name, "."));
  return failed;
}

// Writes a library to the cache. Returns false if it cannot be written; the log has the reason.
bool store(const CacheDirectory& cache, const std::string& path,
           std::span<const std::uint8_t> library, const LinkCacheOptions& options) {
  const auto scratch = scratch_in(cache);
  if (!scratch.ok()) {
    log_unwritten(path, scratch.error().message, options);
    return false;
  }
  const fs::path name = *scratch / "library.so";
  const Descriptor file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR));
  int failed = file ? write_bytes(file, library) : errno;
  if (failed == 0) failed = publish(cache, file, name, path, options);
  if (failed != 0) log_unwritten(path, std::strerror(failed), options);
  return failed == 0;
}

// Behind a linked library in the cache are its key and the digest of all before. The system's loader
// reads neither.
constexpr std::size_t digest_bytes = std::tuple_size_v<Sha256>;

int seal(const Descriptor& file, const fs::path& path, const Sha256& key) {
  if (const int failed = write_bytes(file, key); failed != 0) return failed;
  const auto before = MappedFile::open(path);
  if (!before.ok()) return EIO;
  return write_bytes(file, sha256((*before)->bytes()));
}

std::string_view refusal_of_linked(std::span<const std::uint8_t> bytes, const Sha256& key) {
  if (bytes.size() < 2 * digest_bytes) return "it has no digest";
  const auto before = bytes.first(bytes.size() - digest_bytes);
  if (!std::ranges::equal(bytes.last(digest_bytes), sha256(before)))
    return "its digest does not match";
  return std::ranges::equal(before.last(digest_bytes), key) ? "" : "it has another key";
}

bool is_digest(std::string_view text) {
  return text.size() == 2 * std::tuple_size_v<Sha256> && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
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
  job.flags = {"-isystem", "include", "-Wl,-z,lazy"};
  // Only what the code imports is needed.
  job.libraries = {"-Wl,--as-needed", "-lm"};
  if (std::ranges::any_of(files, is_cpp)) job.libraries.emplace_back("-lstdc++");
  try {
    for (const std::string_view name : header_names) {
      const fs::path header = scratch / "include" / name;
      fs::create_directories(header.parent_path());
      write_file(header, generated_code);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      job.sources.push_back(file_name(i, files[i]));
      write_file(scratch / job.sources.back(), text_of(files[i].bytes));
    }
    job.sources.emplace_back("registration.c");
    write_file(scratch / job.sources.back(), registration_source);
  } catch (const std::system_error& error) {
    return unavailable("cannot write to ", quoted(scratch.native()), ": ", error.code().message())
        .native("errno", error.code().value());
  }
  return link_library(job);
}

}  // namespace

bool is_link_input(const LinkInput& file) {
  if (!has_elf_magic(file.bytes)) return is_source(file.name);
  const auto object = ElfFile::parse(file.bytes);
  return object.ok() && object->type() == ElfType::relocatable;
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
  for (const LinkInput& file : files) GANTRY_CHECK(check_machine(file));
  GANTRY_TRY(const fs::path compiler, find_compiler(name, files));

  LinkKey key;
  key.add(form);
  key.add(generated_code);
  key.add(identity_of_compiler(compiler));
  for (const std::string& word : options_.compiler) key.add(word);
  for (std::size_t i = 0; i < files.size(); ++i) {
    key.add(file_name(i, files[i]));
    key.add_digest(files[i].bytes);
  }
  const CacheDirectory cache(
      options_.directory.empty() ? std::string() : concat(options_.directory, "/linked"),
      library_suffix);
  const Sha256 digest = key.digest();
  const std::string path = cache.path_of(hex_text(digest));
  const auto check = [&](std::span<const std::uint8_t> bytes) {
    return refusal_of_linked(bytes, digest);
  };
  if (auto cached = find_cached(cache, path, check, options_)) return cached;

  std::optional<TempDirectory> scratch;
  bool is_cached = !cache.path().empty();
  if (is_cached) {
    auto made = scratch_in(cache);
    is_cached = made.ok();
    if (made.ok()) scratch.emplace(std::move(*made));
  }
  if (!is_cached) {
    GANTRY_TRY(TempDirectory made, TempDirectory::beside(options_.temporary / scratch_name));
    scratch.emplace(std::move(made));
  }
  const fs::path output = *scratch / "library.so";
  GANTRY_CHECK(link_in(scratch->path(), files, output, options_, compiler));

  Descriptor linked = CacheDirectory::open_file(output.native());
  if (!linked) return unavailable("compiler ", quoted(compiler.native()), " writes no library");
  if (!is_cached) return MappedFile::adopt(std::move(linked), name);
  const Descriptor end(::open(output.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  int failed = end ? seal(end, output, digest) : errno;
  if (failed == 0) failed = publish(cache, end, output, path, options_);
  if (failed != 0) log_unwritten(path, std::strerror(failed), options_);
  return MappedFile::adopt(std::move(linked), failed == 0 ? fs::path(path) : name);
}

Result<std::shared_ptr<const MappedFile>> LinkCache::keep(
    const fs::path& name, std::string_view digest, std::span<const std::uint8_t> library) const {
  const CacheDirectory cache(
      options_.directory.empty() ? std::string() : concat(options_.directory, "/linked"),
      library_suffix);
  const std::string path = is_digest(digest) ? cache.path_of(digest) : std::string();
  // The stated digest alone would select a library that is not in the archive.
  const auto check = [&](std::span<const std::uint8_t> bytes) -> std::string_view {
    return std::ranges::equal(bytes, library) ? "" : "it is not the library of the archive";
  };
  if (!path.empty()) {
    if (auto cached = find_cached(cache, path, check, options_)) return cached;
  }
  if (const std::string computed = hex_text(sha256(library)); computed != digest) {
    return malformed(no_offset, "library of ", quoted(name.filename().native()),
                     " has the SHA-256 digest ", computed, ", the file states ", quoted(digest));
  }
  if (!options_.directory.empty() && store(cache, path, library, options_)) {
    if (auto cached = find_cached(cache, path, check, options_)) return cached;
  }
  return MappedFile::copy(name, library);
}

}  // namespace gantry
