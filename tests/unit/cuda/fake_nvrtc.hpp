// SPDX-License-Identifier: Apache-2.0
//
// NVRTC without NVIDIA's library: a library that exports what libnvrtc.so exports, makes PTX or a
// cubin with the kernels of the source, and fails on request.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace gantry::cuda::test {

// What a program was compiled from.
struct FakeCompilation {
  std::string source, name;
  std::vector<std::string> options, headers;
};

struct FakeNvrtc {
  // Simulated properties.
  int major = 12;
  int minor = 9;
  std::vector<int> architectures;
  // Version of the language of its PTX.
  std::string ptx_version;

  // Every call of these functions fails with this result.
  std::set<std::string, std::less<>> failing;
  int fail_result = 3;
  // The compiler's log, with a NUL at its end as NVRTC's.
  std::string log;

  // Compilations since reset(), also those that failed.
  std::vector<FakeCompilation> compilations;
  // Programs that exist.
  int programs = 0;

  // Restores the initial state: version 12.9 for sm_75, sm_80 and sm_90, no failures, no history.
  void reset();
};

// Default visibility, so that the process has one instance.
[[gnu::visibility("default")]] FakeNvrtc& fake_nvrtc();

}  // namespace gantry::cuda::test
