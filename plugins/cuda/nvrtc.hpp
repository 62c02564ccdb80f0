// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, NVIDIA's compiler for CUDA C++ at run time, opened when source is first compiled. It
// requires neither a GPU nor its driver, and its header is not required to build this file.
//
//     GANTRY_TRY(const std::unique_ptr<Nvrtc> nvrtc, Nvrtc::open(""));
//     GANTRY_TRY(const std::string ptx, nvrtc->compile({.source = text, .architecture = "compute_75"}));
#pragma once

#include "image.hpp"

#include <gantry/library.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cuda {

struct CompileJob {
  // CUDA C++ without a NUL.
  std::string_view source;
  // The file's name in diagnostics.
  std::string_view name = "kernels.cu";
  // "compute_75": the result is PTX; "sm_75": a cubin.
  std::string architecture;
  // Directories of headers that the source includes.
  std::vector<std::string> include;
  // Further options, in the syntax of NVRTC.
  std::vector<std::string> options;
};

class Nvrtc {
 public:
  // Opens the library.
  //
  // library  [in]   a path or soname; empty: libnvrtc.so.13, .12 or .11.2, searched as nvrtc.cpp
  //                 describes
  // returns  UNAVAILABLE  no library, the text lists names and reasons, and what to install
  //                       (CUDA_SOURCE); functions are missing (DRIVER_SYMBOL); a function fails
  //                       (DRIVER_CALL)
  static Result<std::unique_ptr<Nvrtc>> open(std::string_view library);

  // "12.9"
  const std::string& version() const { return version_; }
  // The directory of the library; empty: unknown.
  const std::string& directory() const { return directory_; }

  // Returns the best form of code for a device: machine code for exactly this architecture, else
  // PTX for the latest earlier one that NVRTC supports.
  //
  // returns  UNSUPPORTED  NVRTC supports later architectures only (BLOB_ARCH)
  Result<std::string> architecture_for(Architecture device) const;

  // Compiles a source to a cubin or to PTX without a NUL at its end.
  //
  // returns  UNSUPPORTED  the compiler rejects the source; the text contains its log, with file and
  //                       line (KERNEL_BUILD)
  //          UNAVAILABLE  a header is missing, the text names it, the searched directories and what
  //                       to install (HEADER_MISSING); another failure of NVRTC (DRIVER_CALL)
  // thread   any
  // costs    up to seconds
  Result<std::string> compile(const CompileJob& job) const;

 private:
  // nvrtcProgram of nvrtc.h.
  struct Program;
  struct OwnedProgram;
  using Size = int(Program*, std::size_t*);
  using Text = int(Program*, char*);

  Nvrtc() = default;
  Status bind(const Library& library);
  Status read_facts();
  Error failed(std::string_view function, int result) const;
  Result<std::string> text_of(Program* program, std::string_view name, Size* size,
                              Text* text) const;

  int (*get_version_)(int*, int*) = nullptr;
  const char* (*error_text_)(int) = nullptr;
  int (*architecture_count_)(int*) = nullptr;
  int (*get_architectures_)(int*) = nullptr;
  int (*create_)(Program**, const char*, const char*, int, const char* const*,
                 const char* const*) = nullptr;
  int (*compile_)(Program*, int, const char* const*) = nullptr;
  int (*destroy_)(Program**) = nullptr;
  Size* ptx_size_ = nullptr;
  Text* ptx_ = nullptr;
  Size* cubin_size_ = nullptr;
  Text* cubin_ = nullptr;
  Size* log_size_ = nullptr;
  Text* log_ = nullptr;

  std::string version_;
  std::string directory_;
  // 75 is sm_75; ascending.
  std::vector<int> architectures_;
};

// Returns the header that a compiler's log reports as missing; empty: none.
std::string_view missing_header(std::string_view log);

}  // namespace gantry::cuda
