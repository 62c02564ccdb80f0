// SPDX-License-Identifier: Apache-2.0
//
// One network on one device after the other, over the same images.
#pragma once

#include <gantry/runtime.hpp>
#include "tools/demo/drawing.hpp"

namespace gantry::demo {

// Those of a device that is there, or why it is not.
struct Device {
  // "opencl:0"
  std::string name;
  // by its driver
  std::string called;
  // empty: it is there
  std::string missing;
};

// The CPU, and every OpenCL and Vulkan device; a kind that has none is one line that says why.
std::vector<Device> find_devices(Runtime& runtime);

struct Measured {
  Device device;
  // empty where the device is missing, as all that follows
  std::vector<Guess> guesses;
  // digits for each image
  std::vector<float> outputs;
  // the executor: memory, and parameters on their device
  double create_us = 0;
  // image by image: to the device, through the network, back
  std::vector<double> run_us;
  // the largest difference from the CPU's outputs, relative to those
  double off_by = 0;

  std::size_t right() const;
};

// images   [in]   float32[n, side * side] on the CPU, n >= 1
// labels   [in]   int64[n] on the CPU
Result<Measured> measure(Runtime& runtime, const Module& model, const Device& device,
                         const Tensor& images, const Tensor& labels);

// Of outputs above a millionth; what is less is 0 to people.
double largest_difference(std::span<const float> outputs, std::span<const float> expected);

}  // namespace gantry::demo
