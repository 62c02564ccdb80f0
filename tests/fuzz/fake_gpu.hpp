// SPDX-License-Identifier: Apache-2.0
//
// A GPU for targets: gantry.cuda on the fake driver, whose memory is that of the host, and fakes of NVIDIA's libraries.
#pragma once

#include "tests/fuzz/fuzz.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/unit/cuda/fake_driver.hpp"
#include "tests/unit/cuda_libraries/cuda_plugin.hpp"
#include "tests/unit/cuda_libraries/fake_libraries.hpp"

#include <gantry/abi_boundary.hpp>

namespace gantry::fuzz {

using cuda_libraries::test::cuda_plugin;

// Tensors on the first device of gantry.cuda, in whose default stream all calls are.
class OnFakeGpu {
 public:
  static constexpr gantry_device_id device{2, 0};

  explicit OnFakeGpu(test::FakeHost& host) {
    cuda::test::fake_driver().reset();
    cuda_libraries::test::fake_libraries().reset();
    host.options = {
        {"library", GANTRY_FAKE_CUDA},          {"driver", GANTRY_FAKE_CUDA},
        {"cublas", GANTRY_FAKE_CUDA_LIBRARIES}, {"cublaslt", GANTRY_FAKE_CUDA_LIBRARIES},
        {"cudnn", GANTRY_FAKE_CUDA_LIBRARIES},  {"curand", GANTRY_FAKE_CUDA_LIBRARIES}};
    const gantry_code made = cuda_plugin().create(host.table(), &self_, nullptr);
    expect(made == GANTRY_OK, "the plugin of the device is created");
    host.devices[device.type] = {self_, cuda_plugin().devices[0], device};
  }
  OnFakeGpu(const OnFakeGpu&) = delete;
  OnFakeGpu& operator=(const OnFakeGpu&) = delete;
  ~OnFakeGpu() {
    cuda_plugin().destroy(self_);
    expect(cuda::test::fake_driver().live().empty(), "nothing of the driver remains alive");
    expect(cuda_libraries::test::fake_libraries().live == 0, "nothing of a library remains alive");
  }

  void wait() {
    StatusBuffer status;
    const gantry_code done =
        cuda_plugin().devices[0]->synchronize(self_, device.index, nullptr, status.get());
    expect(done == GANTRY_OK, "the work of a call succeeds");
    expect(cuda_libraries::test::fake_libraries().faults.empty(), "the libraries' rules hold");
  }

 private:
  void* self_ = nullptr;
};

}  // namespace gantry::fuzz
