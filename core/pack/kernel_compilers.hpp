// SPDX-License-Identifier: Apache-2.0
//
// The compilers of kernels: programs, and code generators of plugins.
#pragma once

#include "core/base/find_program.hpp"
#include "core/module/generator.hpp"
#include "core/target/target_kinds.hpp"

#include <gantry/result.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct KernelCompilers {
  // compiler of GLSL: a program and its first arguments
  std::vector<std::string> glslang;
  // base of relative paths of sources
  std::filesystem::path directory;
  // directory for temporary files; its path does not affect the payload
  std::filesystem::path scratch;
  // finds the programs
  ProgramSearch search = {};
  // compiler of CUDA C++, where no plugin has one
  std::vector<std::string> nvcc = {"nvcc"};
  // NULL: those of the host; borrowed
  const TargetKinds* kinds = nullptr;
  // opens the generator of a plugin; empty: there are no plugins
  std::function<Result<Generator>(std::string_view plugin)> open_generator = {};
  // receives texts of compilers and of payloads that contain source; may be empty
  std::function<void(const Message&)> warn = {};
};

}  // namespace gantry
