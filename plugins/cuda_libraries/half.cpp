// SPDX-License-Identifier: Apache-2.0
#include "half.hpp"

#include <algorithm>

namespace gantry::cuda_libraries {
namespace {

constexpr unsigned threads_per_block = 256;
// Threads step through the elements, so that no count exceeds a grid.
constexpr std::uint64_t max_blocks = 65536;

}  // namespace

const char* HalfConversion::ptx() {
  return R"(.version 6.4
.target sm_53
.address_size 64
.visible .entry gantry_halves_of_floats(.param .u64 from, .param .u64 to, .param .u64 count)
.maxntid 256, 1, 1
{
  .reg .pred %done;
  .reg .b16 %half;
  .reg .f32 %float;
  .reg .b32 %block, %size, %thread, %blocks;
  .reg .b64 %i, %step, %from, %to, %count, %at;
  ld.param.u64 %from, [from];
  ld.param.u64 %to, [to];
  ld.param.u64 %count, [count];
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %to, %to;
  mov.u32 %block, %ctaid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %i, %block, %size;
  cvt.u64.u32 %at, %thread;
  add.u64 %i, %i, %at;
  mul.wide.u32 %step, %blocks, %size;
LOOP:
  setp.ge.u64 %done, %i, %count;
  @%done ret;
  shl.b64 %at, %i, 2;
  add.u64 %at, %from, %at;
  ld.global.f32 %float, [%at];
  cvt.rn.f16.f32 %half, %float;
  shl.b64 %at, %i, 1;
  add.u64 %at, %to, %at;
  st.global.b16 [%at], %half;
  add.u64 %i, %i, %step;
  bra LOOP;
}
)";
}

Result<HalfConversion> HalfConversion::create(const Driver& driver) {
  void* module = nullptr;
  GANTRY_CHECK(
      driver.check("cuModuleLoadDataEx", driver.module_load(&module, ptx(), 0, nullptr, nullptr)));
  HalfConversion made(driver, module);
  GANTRY_CHECK(
      driver.check("cuModuleGetFunction", driver.module_function(&made.function_, module, kernel)));
  return made;
}

Status HalfConversion::run(const void* from, void* to, std::uint64_t count, void* stream) const {
  void* parameters[] = {&from, &to, &count};
  const auto blocks =
      static_cast<unsigned>(std::min((count - 1) / threads_per_block + 1, max_blocks));
  return driver_->check("cuLaunchKernel",
                        driver_->launch_kernel(function_, blocks, 1, 1, threads_per_block, 1, 1, 0,
                                               stream, parameters, nullptr));
}

}  // namespace gantry::cuda_libraries
