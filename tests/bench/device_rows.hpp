// SPDX-License-Identifier: Apache-2.0
//
// Benchmarks of every device: launches, copies, and repeated creation of executors. Each device's
// file adds the calls of its driver.
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

  // throws   Failed if the device has no such attribute
  std::string attribute(std::string_view wanted);
  void synchronize() const;
};

// returns  NULL if the device is not available; the reason is printed
std::shared_ptr<OnDevice> on_device(const Suite& suite, const std::string& artifact,
                                    const std::string& name);

// A function to measure, and its factory, which allocates new memory for every repetition.
using Way = std::function<void()>;
using MakeWay = std::function<Way()>;
// The same for copies to the device and from it.
using Copy = std::function<void(bool to_device)>;
using MakeCopy = std::function<Copy()>;

// Adds a figure of kLaunches of axpy2 over kElements and one wait.
//
// what     [in]   name in the figure: "OpenCL"
// raw      [in]   does the same with the driver's functions
void add_launches(Suite& suite, const std::string& what, const std::shared_ptr<OnDevice>& ours,
                  const MakeWay& raw, double limit);

enum class Clock { wall, thread };

// Adds figures of blocking copies of kCopyBytes to the device and to the host, with a limit of 0.95
// of the driver's rate.
//
// location [in]   kind of host memory if several are compared: "page-locked"; else empty
// bytes    [in]   host memory; valid as long as the program runs
// raw      [in]   copies with the driver's functions
void add_copies(Suite& suite, const std::string& what, const std::string& location,
                const std::shared_ptr<OnDevice>& ours, void* bytes, const MakeCopy& raw,
                Clock clock);

// Adds figures of device and process memory: the growth from one executor to 1,000.
void add_cycles(Suite& suite, const std::string& what, const std::string& artifact,
                const std::string& device);

}  // namespace gantry::bench
