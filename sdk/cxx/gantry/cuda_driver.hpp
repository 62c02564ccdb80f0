// SPDX-License-Identifier: Apache-2.0
//
// gantry/cuda_driver.hpp - opens the library of NVIDIA's driver.
#pragma once

#include <gantry/library.hpp>

#include <string>
#include <string_view>

namespace gantry {

// Opens the named library, or libcuda.so.1 from the linker's directories, WSL's, or the mount point
// that GPU containers use.
//
// option   [in]   with which users name another file: "library of gantry.cuda"
// returns  UNAVAILABLE  there is none, the text lists names and reasons (DRIVER_MISSING)
inline Result<Library> open_cuda_driver(const std::string& named, std::string_view option) {
  constexpr std::string_view what = "CUDA driver";
  Result<Library> library =
      named.empty() ? Library::open(what, {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                           "/usr/local/nvidia/lib64/libcuda.so.1"})
                    : Library::open(what, {named.c_str()});
  if (library.ok()) return library;
  if (named.empty()) {
    library.error().at(
        "a bare name is looked for where the dynamic linker looks: LD_LIBRARY_PATH, "
        "/etc/ld.so.cache, the system's library directories");
    library.error().at(
        "it comes with NVIDIA's driver for the machine's GPU, not with the CUDA Toolkit; option ",
        option, " names another file");
  } else {
    library.error().at("option ", option, " names this file");
  }
  return library;
}

}  // namespace gantry
