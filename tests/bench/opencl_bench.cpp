// SPDX-License-Identifier: Apache-2.0
//
// Compares the OpenCL plugin with the driver: launches, copies, the host's share of a model's run,
// and a first run with and without cached programs.
#define CL_TARGET_OPENCL_VERSION 120
#include "tests/bench/child.hpp"
#include "tests/bench/device_rows.hpp"
#include "tests/bench/opencl_kernels.hpp"

#include <CL/cl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>

namespace gantry::bench {
namespace {

void cl(cl_int error, const char* what) {
  if (error != CL_SUCCESS) throw Failed(format(what, static_cast<double>(error)));
}

// Uses the same device, context and kernel with the driver's functions. The objects are never
// released.
struct Raw {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;

  explicit Raw(const std::string& device_name) {
    cl_uint count = 0;
    cl(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs: %.0f");
    std::vector<cl_platform_id> platforms(count);
    clGetPlatformIDs(count, platforms.data(), nullptr);
    for (const cl_platform_id platform : platforms) {
      std::array<char, 256> name{};
      if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) continue;
      clGetDeviceInfo(device, CL_DEVICE_NAME, name.size() - 1, name.data(), nullptr);
      if (device_name == name.data()) break;
    }
    cl_int error = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    cl(error, "clCreateContext: %.0f");
    queue = clCreateCommandQueue(context, device, 0, &error);
    cl(error, "clCreateCommandQueue: %.0f");
    // Same arguments and operations as the compiled kernel of axpy2.
    const char* text =
        "__kernel void axpy2(__global float* restrict c, __global float* restrict a,\n"
        "                    __global float* restrict b, int n, int s, int s1, int s2) {\n"
        "  int i = (int)get_group_id(0) * 64 + (int)get_local_id(0);\n"
        "  if (i < n) c[i * s] = a[i * s1] + b[i * s2] * 2.0f;\n"
        "}\n";
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
    cl(error, "clCreateProgramWithSource: %.0f");
    cl(clBuildProgram(program, 1, &device, nullptr, nullptr, nullptr), "clBuildProgram: %.0f");
    kernel = clCreateKernel(program, "axpy2", &error);
    cl(error, "clCreateKernel: %.0f");
  }
  cl_mem buffer(std::size_t bytes) const {
    cl_int error = CL_SUCCESS;
    const cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &error);
    cl(error, "clCreateBuffer: %.0f");
    return made;
  }
};

Way launches(const Raw& raw) {
  std::vector<std::shared_ptr<_cl_mem>> buffers;
  for (int i = 0; i < 3; ++i) buffers.emplace_back(raw.buffer(4 * kElements), clReleaseMemObject);
  return [&raw, buffers] {
    const cl_int count = kElements;
    const cl_int stride = 1;
    const std::size_t global = kElements;
    const std::size_t local = 64;
    for (int i = 0; i < kLaunches; ++i) {
      for (cl_uint a = 0; a < 3; ++a) {
        const cl_mem buffer = buffers[a].get();
        clSetKernelArg(raw.kernel, a, sizeof buffer, &buffer);
      }
      clSetKernelArg(raw.kernel, 3, sizeof count, &count);
      for (cl_uint a = 4; a < 7; ++a) clSetKernelArg(raw.kernel, a, sizeof stride, &stride);
      cl(clEnqueueNDRangeKernel(raw.queue, raw.kernel, 1, nullptr, &global, &local, 0, nullptr,
                                nullptr),
         "clEnqueueNDRangeKernel: %.0f");
    }
    cl(clFinish(raw.queue), "clFinish: %.0f");
  };
}

Copy copy(const Raw& raw, void* bytes) {
  const std::shared_ptr<_cl_mem> buffer(raw.buffer(kCopyBytes), clReleaseMemObject);
  return [=, queue = raw.queue](bool to_device) {
    cl(to_device ? clEnqueueWriteBuffer(queue, buffer.get(), CL_TRUE, 0, kCopyBytes, bytes, 0,
                                        nullptr, nullptr)
                 : clEnqueueReadBuffer(queue, buffer.get(), CL_TRUE, 0, kCopyBytes, bytes, 0,
                                       nullptr, nullptr),
       "copy: %.0f");
  };
}

// Adds the share of a run that is not kernel time on the device, measured by the device's clock.
void add_steady_run(Suite& suite, const std::shared_ptr<OnDevice>& ours) {
  const Module model =
      or_fail(ours->runtime.load((suite.golden / "tvm-0.12/resnet20_opencl.so").string()));
  const auto executor =
      std::make_shared<Executor>(or_fail(Executor::create(ours->runtime, model, {"opencl:0"})));
  // share of each run that is not the device's
  const auto parts = std::make_shared<std::vector<double>>();
  bench("opencl/resnet20",
        [ours, executor, parts](benchmark::State& state) {
          const auto run = [&] {
            or_fail(executor->run());
            ours->synchronize();
          };
          // Build the kernels before the measurement.
          run();
          for ([[maybe_unused]] auto _ : state) {
            OpenclKernels kernels;
            const auto begun = std::chrono::steady_clock::now();
            run();
            const std::chrono::duration<double, std::nano> whole =
                std::chrono::steady_clock::now() - begun;
            parts->push_back(1 - kernels.device_ns() / whole.count());
            state.SetIterationTime(whole.count() / 1e9);
          }
        })
      ->UseManualTime()
      ->MinTime(0.2);
  suite.figure("OpenCL, resnet20 steady run, not the device's time", [parts](const Times& times) {
    const double whole = times.median("opencl/resnet20");
    return Row{0.05, median_of(*parts), "of the run",
               format("%.2f ms in all", whole / 1e6) +
                   format("; %.0f runs", static_cast<double>(parts->size()))};
  });
}

// Runs the command line, each time with an empty driver cache.
void add_first_runs(Suite& suite) {
  const std::filesystem::path directory = suite.fixtures / "opencl";
  const std::string golden = (suite.golden / "tvm-0.12").string();
  const auto run = [=](bool warm) {
    std::filesystem::remove_all(directory / "driver");
    if (!warm) std::filesystem::remove_all(directory / "ours");
    std::filesystem::create_directories(directory / "driver");
    run_child({"/usr/bin/env", "POCL_CACHE_DIR=" + (directory / "driver").string(),
               "XDG_CACHE_HOME=" + (directory / "ours").string(),
               (suite.build_tree / "bin/gantry").string(), "--plugins",
               (suite.build_tree / "share/gantry/plugins.d").string(), "run",
               golden + "/resnet20_opencl.so", "--device", "opencl:0", "--input",
               "data=" + golden + "/resnet20.input.npz", "--each"});
    return 0;
  };
  bench("opencl/first run/cold",
        [=](benchmark::State& state) { timed(state, [=] { return run(false); }); })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(1);
  bench("opencl/first run/warm",
        [=](benchmark::State& state) {
          if (!std::filesystem::exists(directory / "ours")) run(false);
          timed(state, [=] { return run(true); });
        })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(5);
  suite.figure("OpenCL, first run of resnet20 with programs on disk", [](const Times& times) {
    const double cold = times.median("opencl/first run/cold");
    return Row{0.2, times.median("opencl/first run/warm") / cold, "x cold",
               format("cold %.1f s", cold / 1e9)};
  });
}

}  // namespace

void add_opencl(Suite& suite) {
  const auto ours = on_device(suite, "axpy2_opencl.so", "opencl:0");
  if (ours == nullptr) return;
  const auto raw = std::make_shared<Raw>(ours->attribute("name"));
  const auto bytes = std::make_shared<std::vector<std::uint8_t>>(kCopyBytes, 1);
  add_launches(
      suite, "OpenCL", ours, [raw] { return launches(*raw); }, 1.2);
  add_copies(
      suite, "OpenCL", "", ours, bytes->data(), [raw, bytes] { return copy(*raw, bytes->data()); },
      Clock::wall);
  add_steady_run(suite, ours);
  add_first_runs(suite);
  add_cycles(suite, "OpenCL", "digits_mlp_opencl.so", ours->name);
}

}  // namespace gantry::bench
