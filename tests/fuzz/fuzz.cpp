// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/fuzz.hpp"

#include <cstdio>
#include <cstdlib>

namespace gantry::fuzz {

void expect(bool holds, std::string_view claim) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %.*s\n", static_cast<int>(claim.size()), claim.data());
  std::abort();
}

int expect_refusal(const Error& error, std::uint64_t size) {
  const bool blames_input = error.code == Code::malformed || error.code == Code::unsupported ||
                            error.code == Code::invalid || error.code == Code::not_found ||
                            error.code == Code::exhausted;
  if (!blames_input || error.message.empty() ||
      (error.offset != no_offset && error.offset > size)) {
    std::fprintf(stderr, "fuzz: refusal is %s at %llu of %llu: %s\n",
                 std::string(name_of(error.code)).c_str(),
                 static_cast<unsigned long long>(error.offset),
                 static_cast<unsigned long long>(size), error.message.c_str());
    std::abort();
  }
  return 0;
}

}  // namespace gantry::fuzz
