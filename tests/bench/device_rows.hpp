// SPDX-License-Identifier: Apache-2.0
//
// What every device is measured by: launches, copies, and executors made again and again. Each device brings the
// driver's side.
#pragma once

#include "tests/bench/suite.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace gantry::bench {

constexpr int kLaunches = 100;
constexpr int kElements = 1024;
constexpr std::uint64_t kCopyBytes = std::uint64_t{64} << 20;

// A device of a plugin, and the golden artifact that computes c = a + 2 b on it.
struct OnDevice {
  // "opencl:0"
  std::string name;
  Runtime runtime;
  Module model;
  gantry_device_id id{};
  const gantry_device_table* table = nullptr;
  void* self = nullptr;

  // throws   Failed where the device has no such attribute
  std::string attribute(std::string_view wanted);
  void synchronize() const;
};

// returns  NULL where there is no such device, with a line that says why the figures are left out
std::shared_ptr<OnDevice> on_device(const Suite& suite, const std::string& artifact,
                                    const std::string& name);

// One way of doing something, and what makes it: with memory of its own, for every repetition anew.
using Way = std::function<void()>;
using MakeWay = std::function<Way()>;
// The same for copies, to the device and from it.
using Copy = std::function<void(bool to_device)>;
using MakeCopy = std::function<Copy()>;

// kLaunches of axpy2 over kElements and one wait.
//
// what     [in]   "OpenCL": for the figure
// raw      [in]   the same by the driver's own functions
void add_launches(Suite& suite, const std::string& what, const std::shared_ptr<OnDevice>& ours,
                  const MakeWay& raw, double limit);

enum class Clock { abi_boundary, thread };

// Blocking copies of kCopyBytes, to the device and to the host, at 0.95 of the driver's rate at least.
//
// place    [in]   of the host's memory, where several are compared: "page-locked"; else empty
// bytes    [in]   the host's memory, which lives as long as the program
// raw      [in]   by the driver
void add_copies(Suite& suite, const std::string& what, const std::string& location,
                const std::shared_ptr<OnDevice>& ours, void* bytes, const MakeCopy& raw,
                Clock clock);

// Device and process memory after 1,000 executors, compared with those after one.
void add_cycles(Suite& suite, const std::string& what, const std::string& artifact,
                const std::string& device);

}  // namespace gantry::bench
