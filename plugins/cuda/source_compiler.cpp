// SPDX-License-Identifier: Apache-2.0
#include "source_compiler.hpp"

#include "standard_headers.hpp"

#include <gantry/join.hpp>
#include <gantry/progress.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace gantry::cuda {
namespace {

// Part of every cache key; changes when the meaning of the other parts changes.
constexpr std::string_view key_version = "cuda source 1";

DiskCache::Options cache_options(Host host) {
  const std::string directory = host.option_text("cache_directory");
  const auto is_on = host.option("cache");
  if (directory.empty() || (is_on && value_int(*is_on) == 0)) return {};
  return {.directory = directory + "/cuda",
          .log = [host](const Message& text) { host.log(GANTRY_LOG_WARNING, text); }};
}

// Splits a text at each of `separators`, without empty parts.
std::vector<std::string> parts_of(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

SourceCompiler::SourceCompiler(Host host)
    : host_(host),
      library_(host.option_text("nvrtc")),
      include_(host.option_text("include")),
      options_(parts_of(host.option_text("compile_options"), " \t")),
      cache_(cache_options(host)) {}

Result<const Nvrtc*> SourceCompiler::nvrtc() {
  if (const Nvrtc* const opened = opened_.load(std::memory_order_acquire)) return opened;
  const std::lock_guard lock(mutex_);
  if (nvrtc_ == nullptr) {
    GANTRY_TRY(nvrtc_, Nvrtc::open(library_));
    opened_.store(nvrtc_.get(), std::memory_order_release);
  }
  return nvrtc_.get();
}

// Without the option: the header directories of a CUDA Toolkit and of NVIDIA's Python packages,
// relative to the library, and of the toolkit's usual location.
std::vector<std::string> SourceCompiler::include_directories(const Nvrtc& nvrtc) const {
  if (!include_.empty()) return parts_of(include_, ":");
  std::vector<std::string> directories;
  const std::filesystem::path library = nvrtc.directory();
  for (const auto& directory :
       {library / "../include", library / "../../cuda_runtime/include",
        library / "../../cuda_cccl/include", std::filesystem::path("/usr/local/cuda/include")}) {
    std::error_code missing;
    if (std::filesystem::is_directory(directory, missing)) {
      directories.push_back(directory.lexically_normal().string());
    }
  }
  return directories;
}

CompileJob SourceCompiler::job(const Nvrtc& nvrtc, std::string_view source,
                               std::string architecture) const {
  return {.source = source,
          .architecture = std::move(architecture),
          .include = include_directories(nvrtc),
          .options = options_};
}

Result<std::string> SourceCompiler::compile(std::string_view source, Architecture device,
                                            std::string_view work) {
  GANTRY_TRY(const Nvrtc* const opened, nvrtc());
  GANTRY_TRY(std::string architecture, opened->architecture_for(device));
  const CompileJob what = job(*opened, source, std::move(architecture));
  // The key contains the whole source, not a digest: the cache compares keys byte for byte. The
  // contents of headers in directories are not a part of it.
  std::string key;
  if (!cache_.directory().empty()) {
    std::string headers;
    for (const StandardHeader& header : standard_headers()) headers += header.text;
    key = DiskCache::key({key_version, opened->version(), what.architecture,
                          join(what.include, ":"), join(what.options, " "), headers, source});
    if (const auto code = cache_.load(key)) return std::string(code->begin(), code->end());
  }
  const AnnouncedWork announced(host_, work);
  GANTRY_TRY(std::string code, opened->compile(what));
  if (!key.empty()) {
    cache_.store(key, {reinterpret_cast<const std::uint8_t*>(code.data()), code.size()});
  }
  return code;
}

Result<std::string> SourceCompiler::compile_ptx(std::string_view source, std::string_view name,
                                                std::string_view architecture) {
  GANTRY_TRY(const Nvrtc* const opened, nvrtc());
  constexpr std::string_view prefix = "sm_";
  CompileJob what = job(*opened, source, concat("compute_", architecture.substr(prefix.size())));
  what.name = name;
  return opened->compile(what);
}

}  // namespace gantry::cuda
