// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <gantry/quoted.hpp>
#include <gantry/trace.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry::opencl {
namespace {

// Part of every cache key; changes when the content of the files changes.
constexpr std::string_view cache_version = "opencl program 1";
// Bytes of a compiler's log in an error text: a status holds about 2,000 bytes. The runtime's log
// contains the whole text.
constexpr std::size_t max_log_shown = 1400;

// error    [out]  the driver's result; CL_SUCCESS unless NULL is returned
cl_program create(cl_context context, const Device& device, const Program& program, cl_int& error) {
  const char* text = program.code.data();
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  const std::size_t size = program.code.size();
  if (program.form == CodeForm::source)
    return clCreateProgramWithSource(context, 1, &text, &size, &error);
  if (program.form == CodeForm::binary)
    return clCreateProgramWithBinary(context, 1, &device.id, &size, &bytes, nullptr, &error);
  // Drivers read SPIR-V as aligned words; a payload has no alignment.
  std::vector<std::uint32_t> words(size / 4);
  std::memcpy(words.data(), text, 4 * words.size());
  return device.platform->create_from_il(context, words.data(), 4 * words.size(), &error);
}

// Returns the error of a binary that the driver rejects.
Error wrong_binary(const Program& code, const Device& device, std::string_view kernel) {
  constexpr std::size_t max_shown = 200;
  const std::string devices =
      code.made_for.empty() ? std::string()
                            : concat("; the binary is for ", quoted(code.made_for, max_shown),
                                     ", the device is ", quoted(device.identity(), max_shown));
  return unsupported("kernel ", quoted(kernel), " is a binary for another device than ",
                     device.described(), ": CL_INVALID_BINARY", devices,
                     "; pack the kernel on a host with this device, or as OpenCL C")
      .with_reason("BLOB_ARCH")
      .native("OPENCL", CL_INVALID_BINARY);
}

}  // namespace

std::vector<std::uint8_t> binary_of(cl_program program, cl_device_id device) {
  cl_uint count = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr) != 0)
    return {};
  std::vector<cl_device_id> devices(count);
  std::vector<std::size_t> sizes(count);
  if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), devices.data(),
                       nullptr) != 0 ||
      clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(std::size_t), sizes.data(),
                       nullptr) != 0)
    return {};
  std::vector<std::uint8_t> binary;
  // NULL: the driver skips this device's binary.
  std::vector<unsigned char*> locations(count, nullptr);
  for (cl_uint i = 0; i < count; ++i) {
    if (devices[i] != device) continue;
    binary.resize(sizes[i]);
    locations[i] = binary.data();
  }
  if (binary.empty() || clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(char*),
                                         locations.data(), nullptr) != 0)
    return {};
  return binary;
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  std::string log;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != 0)
    return log;
  log.resize(size);
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  log.resize(std::strlen(log.c_str()));
  return log;
}

Programs::Programs(Host host, Driver& driver, DiskCache::Options cache, std::string options)
    : host_(host), driver_(driver), cache_(std::move(cache)), options_(std::move(options)) {}

std::string Programs::key_of(const Device& device, const Program& program) const {
  if (program.form == CodeForm::binary || cache_.directory().empty()) return {};
  // The key contains the whole code, not a digest: the cache compares keys byte for byte.
  return DiskCache::key({cache_version, device.platform->name, device.platform->version,
                         device.name, device.version, device.driver, options_,
                         program.form == CodeForm::spirv ? "spirv" : "cl", program.code});
}

OwnedProgram Programs::from_cache(cl_context context, const Device& device,
                                  const std::string& key) {
  if (key.empty()) return {};
  const auto binary = cache_.load(key);
  if (!binary) return {};
  const unsigned char* bytes = binary->data();
  const std::size_t size = binary->size();
  cl_int error = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  OwnedProgram program(
      clCreateProgramWithBinary(context, 1, &device.id, &size, &bytes, &status, &error));
  if (error == CL_SUCCESS) error = status;
  if (error == CL_SUCCESS)
    error = clBuildProgram(program.get(), 1, &device.id, options_.c_str(), nullptr, nullptr);
  if (error == CL_SUCCESS) return program;
  host_.log(GANTRY_LOG_WARNING, {"cache file ", cache_.path_of(key), " is ignored: ",
                                 device.described(), " rejects it: ", error_name(error)});
  cache_.remove(key);
  return {};
}

Error Programs::build_error(cl_program program, const Device& device, std::string_view kernel,
                            cl_int error) const {
  const std::string log = build_log(program, device.id);
  const auto described = [&](std::string_view lines) {
    Message text("kernel ", quoted(kernel), " does not build on ", device.described(), ": ",
                 error_name(error));
    return text.at_lines(lines);
  };
  host_.log(GANTRY_LOG_ERROR, described(log));
  Message what = described(std::string_view(log).substr(0, max_log_shown));
  if (log.empty()) what.at("the compiler's log is empty");
  if (log.size() > max_log_shown) what.at("(the rest is in the log)");
  return unsupported(what).with_reason("KERNEL_BUILD").native("OPENCL", error);
}

Result<Built> Programs::build(Device& device, const Program& code, std::string_view kernel) {
  // Builds dominate the time of a first run.
  const TracedWork traced(host_, concat("build ", kernel), "build");
  GANTRY_TRY(const cl_context context, driver_.context(device));
  Built built;
  built.key = key_of(device, code);
  built.program = from_cache(context, device, built.key);
  if (built.program) {
    built.key.clear();
    return built;
  }
  const AnnouncedWork work(
      host_, concat("compiling kernel ", quoted(kernel), " for ", device.described()));
  const std::string spirv = code.form == CodeForm::spirv ? device.spirv() : std::string();
  if (code.form == CodeForm::spirv && spirv.empty()) {
    return unsupported("kernel ", quoted(kernel), " is SPIR-V, which ", device.described(), ", ",
                       device.version, ", does not accept: export it as OpenCL C")
        .with_reason("SPIRV");
  }
  cl_int error = CL_SUCCESS;
  built.program = OwnedProgram(create(context, device, code, error));
  if (error == CL_INVALID_BINARY) return wrong_binary(code, device, kernel);
  if (error == CL_INVALID_VALUE && !spirv.empty()) {
    return unsupported("kernel ", quoted(kernel), " is SPIR-V that ", device.described(),
                       " rejects; it accepts ", spirv, ": export it for one of these")
        .with_reason("SPIRV")
        .native("OPENCL", error);
  }
  if (error != CL_SUCCESS)
    return driver_error(error, concat("creating the program of kernel ", quoted(kernel)));
  error = clBuildProgram(built.program.get(), 1, &device.id, options_.c_str(), nullptr, nullptr);
  if (error == CL_INVALID_BINARY) return wrong_binary(code, device, kernel);
  if (error != CL_SUCCESS) return build_error(built.program.get(), device, kernel, error);
  built.is_compiled = code.form != CodeForm::binary;
  return built;
}

void Programs::keep_after(const Built& built, const Device& device, std::string_view kernel,
                          OwnedEvent launch) {
  if (!built.is_compiled || !launch || clRetainProgram(built.program.get()) != CL_SUCCESS) return;
  Waiting waiting{OwnedProgram(built.program.get()), device.id, built.key, std::move(launch), {}};
  waiting.work = std::make_unique<const AnnouncedWork>(
      host_, concat("first launch of kernel ", quoted(kernel), " on ", device.described()));
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(waiting));
  has_waiting_.store(true, std::memory_order_release);
}

void Programs::settle(bool wait) {
  if (!has_waiting_.load(std::memory_order_acquire)) return;
  std::vector<Waiting> done;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Waiting> running;
    for (Waiting& waiting : waiting_) {
      cl_int status = CL_QUEUED;
      const cl_event event = waiting.launch.get();
      if (wait) clWaitForEvents(1, &event);
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
      (status <= CL_COMPLETE ? done : running).push_back(std::move(waiting));
    }
    waiting_ = std::move(running);
    has_waiting_.store(!waiting_.empty(), std::memory_order_release);
  }
  for (const Waiting& waiting : done) {
    if (waiting.key.empty()) continue;
    const std::vector<std::uint8_t> binary = binary_of(waiting.program.get(), waiting.device);
    if (!binary.empty()) cache_.store(waiting.key, binary);
  }
}

}  // namespace gantry::opencl
