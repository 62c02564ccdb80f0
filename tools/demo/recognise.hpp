// SPDX-License-Identifier: Apache-2.0
//
// Runs one network on one device after the other, over the same images. `gantry bench --device all`
// measures the times.
#pragma once

#include "tools/demo/drawing.hpp"

#include <gantry/embed.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gantry::demo {

struct Device {
  // "opencl:0"; of a kind without devices "opencl"
  std::string name;
  // the driver's name for it
  std::string product;
  // why the kind has no device; empty: the device is available
  std::string missing;
};

// Returns the devices of a kind, or one entry if it has none. Opens no plugin of another kind.
Result<std::vector<Device>> find_devices(const Runtime& runtime, const std::string& kind);

struct Recognised {
  Device device;
  // empty, like all that follows, if the device is missing
  std::vector<Guess> guesses;
  // `digits` values for each image
  std::vector<float> outputs;
  // largest relative difference from the CPU's outputs
  double max_error = 0;

  std::size_t correct() const;
};

// images   [in]   float32[n, 1, side * side] on the CPU, n >= 1
// labels   [in]   int64[n] on the CPU
Result<Recognised> recognise(const Runtime& runtime, const Module& module, const Device& device,
                             const Tensor& images, const Tensor& labels);

// The largest relative difference. Expected values below 1e-6 count as 1e-6.
double largest_difference(std::span<const float> outputs, std::span<const float> expected);

}  // namespace gantry::demo
