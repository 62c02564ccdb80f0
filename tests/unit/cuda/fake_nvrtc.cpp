// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/fake_nvrtc.hpp"

#include "tests/unit/cuda/images.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace test = gantry::cuda::test;
using test::fake_nvrtc;

namespace gantry::cuda::test {

FakeNvrtc& fake_nvrtc() {
  static FakeNvrtc fake = [] {
    FakeNvrtc made;
    made.reset();
    return made;
  }();
  return fake;
}

void FakeNvrtc::reset() {
  const int live = programs;
  *this = {};
  programs = live;
  architectures = {90, 75, 80};
  ptx_version = "8.4";
}

}  // namespace gantry::cuda::test

struct _nvrtcProgram {
  test::FakeCompilation what;
  std::string log, ptx, cubin;
};

namespace {

bool fails(std::string_view function) { return fake_nvrtc().failing.contains(function); }

// The names before the parentheses of parameters after each "__global__".
std::vector<std::string> kernels_of(std::string_view source) {
  std::vector<std::string> names;
  constexpr std::string_view mark = "__global__";
  for (std::size_t at = source.find(mark); at != source.npos; at = source.find(mark, at + 1)) {
    std::size_t open = source.find('(', at);
    while (open != source.npos && source.substr(at, open - at).ends_with("__launch_bounds__")) {
      open = source.find('(', open + 1);
    }
    if (open == source.npos) break;
    const std::size_t blank = source.find_last_of(" \n*", open - 1);
    names.emplace_back(source.substr(blank + 1, open - blank - 1));
  }
  return names;
}

int give(const char* function, const std::string& text, std::size_t* size, char* to) {
  if (fails(function)) return fake_nvrtc().fail_result;
  if (size != nullptr) *size = text.size();
  if (to != nullptr) std::memcpy(to, text.data(), text.size());
  return 0;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  if (fails("nvrtcVersion")) return fake_nvrtc().fail_result;
  *major = fake_nvrtc().major;
  *minor = fake_nvrtc().minor;
  return 0;
}
const char* nvrtcGetErrorString(int result) {
  return result == 1   ? "NVRTC_ERROR_OUT_OF_MEMORY"
         : result == 5 ? "NVRTC_ERROR_INVALID_OPTION"
                       : "NVRTC_ERROR_OF_THE_FAKE";
}
int nvrtcGetNumSupportedArchs(int* count) {
  if (fails("nvrtcGetNumSupportedArchs")) return fake_nvrtc().fail_result;
  *count = static_cast<int>(fake_nvrtc().architectures.size());
  return 0;
}
int nvrtcGetSupportedArchs(int* numbers) {
  if (fails("nvrtcGetSupportedArchs")) return fake_nvrtc().fail_result;
  for (const int number : fake_nvrtc().architectures) *numbers++ = number;
  return 0;
}
int nvrtcCreateProgram(_nvrtcProgram** program, const char* source, const char* name, int count,
                       const char* const* texts, const char* const* names) {
  if (fails("nvrtcCreateProgram")) return fake_nvrtc().fail_result;
  *program = new _nvrtcProgram;
  ++fake_nvrtc().programs;
  (*program)->what = {source, name, {}, {}};
  for (int i = 0; i < count; ++i) {
    if (texts[i][0] != 0) (*program)->what.headers.emplace_back(names[i]);
  }
  return 0;
}
int nvrtcDestroyProgram(_nvrtcProgram** program) {
  delete *program;
  *program = nullptr;
  --fake_nvrtc().programs;
  return 0;
}
int nvrtcCompileProgram(_nvrtcProgram* program, int count, const char* const* options) {
  program->what.options.assign(options, options + count);
  fake_nvrtc().compilations.push_back(program->what);
  program->log = fake_nvrtc().log;
  program->log.push_back('\0');
  if (fails("nvrtcCompileProgram")) return fake_nvrtc().fail_result;
  const std::string architecture = program->what.options[0].substr(sizeof "--gpu-architecture");
  const std::string number = architecture.substr(architecture.find('_') + 1);
  program->ptx = ".version " + fake_nvrtc().ptx_version + "\n.target sm_" + number + "\n";
  for (const std::string& kernel : kernels_of(program->what.source)) {
    program->ptx += ".visible .entry " + kernel + "() { ret; }\n";
  }
  program->ptx.push_back('\0');
  const auto cubin = test::cubin({.flags = static_cast<std::uint32_t>(std::atoi(number.c_str()))});
  program->cubin.assign(cubin.begin(), cubin.end());
  return 0;
}
int nvrtcGetPTXSize(_nvrtcProgram* program, std::size_t* size) {
  return give("nvrtcGetPTXSize", program->ptx, size, nullptr);
}
int nvrtcGetPTX(_nvrtcProgram* program, char* to) {
  return give("nvrtcGetPTX", program->ptx, nullptr, to);
}
int nvrtcGetCUBINSize(_nvrtcProgram* program, std::size_t* size) {
  return give("nvrtcGetCUBINSize", program->cubin, size, nullptr);
}
int nvrtcGetCUBIN(_nvrtcProgram* program, char* to) {
  return give("nvrtcGetCUBIN", program->cubin, nullptr, to);
}
int nvrtcGetProgramLogSize(_nvrtcProgram* program, std::size_t* size) {
  return give("nvrtcGetProgramLogSize", program->log, size, nullptr);
}
int nvrtcGetProgramLog(_nvrtcProgram* program, char* to) {
  return give("nvrtcGetProgramLog", program->log, nullptr, to);
}
}
