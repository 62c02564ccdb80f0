// SPDX-License-Identifier: Apache-2.0
#include "nvrtc.hpp"

#include "standard_headers.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

namespace gantry::cuda {
namespace {

// nvrtcResult of nvrtc.h.
constexpr int nvrtc_success = 0;
constexpr int nvrtc_out_of_memory = 1;
constexpr int nvrtc_compilation = 6;

// Bytes of a compiler's log in an error text: a status holds about 2,000 bytes.
constexpr std::size_t max_log_bytes = 1400;

Result<Library> open_nvrtc(const std::string& named) {
  constexpr std::string_view what = "NVRTC, which compiles CUDA C++ source,";
  Result<Library> library =
      named.empty() ? Library::open(what, {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                           "/usr/local/cuda/lib64/libnvrtc.so"})
                    : Library::open(what, {named.c_str()});
  if (library.ok()) return library;
  Error error = std::move(library).error();
  error.reason = "CUDA_SOURCE";
  if (named.empty()) {
    error.at(
        "it comes with the CUDA Toolkit and with the Python packages nvidia-cuda-nvrtc-cu12 and "
        "nvidia-cuda-nvrtc; option nvrtc of gantry.cuda names a file in another directory");
  } else {
    error.at("option nvrtc of gantry.cuda names this file");
  }
  return error;
}

// The package with a header.
struct HeaderPackage {
  std::string_view prefix, package;
};
constexpr HeaderPackage header_packages[] = {
    {"cuda/", "NVIDIA's CCCL (Python package nvidia-cuda-cccl-cu12, Debian's libcub-dev)"},
    {"cub/", "NVIDIA's CCCL (Python package nvidia-cuda-cccl-cu12, Debian's libcub-dev)"},
    {"thrust/", "NVIDIA's CCCL (Python package nvidia-cuda-cccl-cu12, Debian's libthrust-dev)"},
    {"cutlass/", "CUTLASS"},
    {"cute/", "CUTLASS"},
    {"",
     "the CUDA runtime's headers (Python package nvidia-cuda-runtime-cu12, Debian's "
     "nvidia-cuda-dev)"},
};

Error header_error(std::string_view header, const CompileJob& job) {
  const auto* known = std::ranges::find_if(
      header_packages, [&](const HeaderPackage& row) { return header.starts_with(row.prefix); });
  return unavailable(
             "CUDA C++ source includes ", quoted(header), ", which is not in ",
             job.include.empty() ? "any directory, because none is searched" : join(job.include),
             "; install ", known->package,
             " and set option include of gantry.cuda to the directory")
      .with_reason("HEADER_MISSING");
}

}  // namespace

std::string_view missing_header(std::string_view log) {
  constexpr std::string_view mark = "open source file \"";
  const std::size_t at = log.find(mark);
  if (at == log.npos) return {};
  const std::string_view name = log.substr(at + mark.size());
  const std::size_t end = name.find_first_of("\"\n");
  return end == name.npos || name[end] != '"' ? std::string_view() : name.substr(0, end);
}

struct Nvrtc::OwnedProgram {
  const Nvrtc& nvrtc;
  Program* program = nullptr;

  explicit OwnedProgram(const Nvrtc& owner) : nvrtc(owner) {}
  OwnedProgram(const OwnedProgram&) = delete;
  OwnedProgram& operator=(const OwnedProgram&) = delete;
  ~OwnedProgram() {
    if (program != nullptr) nvrtc.destroy_(&program);
  }
};

Status Nvrtc::bind(const Library& library) {
  return library.bind({
      required("nvrtcVersion", get_version_),
      required("nvrtcGetErrorString", error_text_),
      required("nvrtcGetNumSupportedArchs", architecture_count_),
      required("nvrtcGetSupportedArchs", get_architectures_),
      required("nvrtcCreateProgram", create_),
      required("nvrtcCompileProgram", compile_),
      required("nvrtcDestroyProgram", destroy_),
      required("nvrtcGetPTXSize", ptx_size_),
      required("nvrtcGetPTX", ptx_),
      required("nvrtcGetCUBINSize", cubin_size_),
      required("nvrtcGetCUBIN", cubin_),
      required("nvrtcGetProgramLogSize", log_size_),
      required("nvrtcGetProgramLog", log_),
  });
}

Status Nvrtc::read_facts() {
  int major = 0;
  int minor = 0;
  if (const int result = get_version_(&major, &minor); result != nvrtc_success) {
    return failed("nvrtcVersion", result);
  }
  version_ = concat(major, '.', minor);
  int count = 0;
  if (const int result = architecture_count_(&count); result != nvrtc_success || count < 0) {
    return failed("nvrtcGetNumSupportedArchs", result);
  }
  architectures_.resize(static_cast<std::size_t>(count));
  if (const int result = get_architectures_(architectures_.data()); result != nvrtc_success) {
    return failed("nvrtcGetSupportedArchs", result);
  }
  std::ranges::sort(architectures_);

  Dl_info where{};
  void* address = nullptr;
  std::memcpy(&address, &get_version_, sizeof address);
  std::error_code unresolved;
  if (dladdr(address, &where) != 0 && where.dli_fname != nullptr) {
    const auto real = std::filesystem::canonical(where.dli_fname, unresolved);
    if (!unresolved) directory_ = real.parent_path().string();
  }
  return {};
}

Result<std::unique_ptr<Nvrtc>> Nvrtc::open(std::string_view named) {
  GANTRY_TRY(const Library library, open_nvrtc(std::string(named)));
  std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
  GANTRY_CHECK(nvrtc->bind(library));
  if (Status read = nvrtc->read_facts(); !read.ok()) {
    return std::move(read).error().at("while starting ", library.name());
  }
  return nvrtc;
}

Error Nvrtc::failed(std::string_view function, int result) const {
  const char* const text = error_text_(result);
  return fail(result == nvrtc_out_of_memory ? Code::exhausted : Code::unavailable, function, ": ",
              text == nullptr ? "error" : text, " (", result, ')')
      .with_reason("DRIVER_CALL")
      .native("NVRTC", result);
}

Result<std::string> Nvrtc::architecture_for(Architecture device) const {
  const int number = static_cast<int>(10 * device.major + device.minor);
  const auto later = std::ranges::upper_bound(architectures_, number);
  if (later == architectures_.begin()) {
    return unsupported("NVRTC ", version_, " compiles for ",
                       architectures_.empty() ? "no architecture"
                                              : concat("sm_", architectures_.front(), " and later"),
                       ", the device is ", architecture_text(device),
                       "; install NVRTC of an earlier CUDA version")
        .with_reason("BLOB_ARCH");
  }
  const int nearest = *std::prev(later);
  return concat(nearest == number ? "sm_" : "compute_", nearest);
}

Result<std::string> Nvrtc::text_of(Program* program, std::string_view name, Size* size,
                                   Text* text) const {
  std::size_t bytes = 0;
  int result = size(program, &bytes);
  std::string content(bytes, '\0');
  if (result == nvrtc_success) result = text(program, content.data());
  if (result != nvrtc_success) return failed(name, result);
  return content;
}

Result<std::string> Nvrtc::compile(const CompileJob& job) const {
  // Without the warnings, which are of no use after the export, the log has the errors only.
  std::vector<std::string> options{concat("--gpu-architecture=", job.architecture), "--std=c++17",
                                   "--disable-warnings"};
  for (const std::string& directory : job.include) {
    options.push_back(concat("--include-path=", directory));
  }
  options.insert(options.end(), job.options.begin(), job.options.end());
  std::vector<const char*> option_texts;
  for (const std::string& option : options) option_texts.push_back(option.c_str());
  std::vector<const char*> header_names;
  std::vector<const char*> header_texts;
  for (const StandardHeader& header : standard_headers()) {
    header_names.push_back(header.name);
    header_texts.push_back(header.text);
  }
  // NVRTC reads texts up to a NUL.
  const std::string source(job.source);
  const std::string name(job.name);

  OwnedProgram owned(*this);
  const int created =
      create_(&owned.program, source.c_str(), name.c_str(), static_cast<int>(header_names.size()),
              header_texts.data(), header_names.data());
  if (created != nvrtc_success) return failed("nvrtcCreateProgram", created);
  const int compiled =
      compile_(owned.program, static_cast<int>(option_texts.size()), option_texts.data());
  if (compiled != nvrtc_success) {
    GANTRY_TRY(std::string log, text_of(owned.program, "nvrtcGetProgramLog", log_size_, log_));
    log.resize(std::strlen(log.c_str()));
    if (compiled != nvrtc_compilation) {
      Error error = failed("nvrtcCompileProgram", compiled);
      error.message.at_lines(std::string_view(log).substr(0, max_log_bytes));
      return error.at("options: ", join(options, " "));
    }
    if (const std::string_view header = missing_header(log); !header.empty()) {
      return header_error(header, job).native("NVRTC", compiled);
    }
    Message text("CUDA C++ source does not compile with NVRTC ", version_, " for ",
                 job.architecture);
    text.at_lines(std::string_view(log).substr(0, max_log_bytes));
    if (log.size() > max_log_bytes) text.at("(the log has ", log.size(), " bytes)");
    return unsupported(text).with_reason("KERNEL_BUILD").native("NVRTC", compiled);
  }
  if (job.architecture.starts_with("sm_")) {
    return text_of(owned.program, "nvrtcGetCUBIN", cubin_size_, cubin_);
  }
  GANTRY_TRY(std::string ptx, text_of(owned.program, "nvrtcGetPTX", ptx_size_, ptx_));
  ptx.resize(std::strlen(ptx.c_str()));
  return ptx;
}

}  // namespace gantry::cuda
