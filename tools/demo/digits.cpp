// SPDX-License-Identifier: Apache-2.0
//
// Recognises handwritten digits with a packed network, on the CPU and on every device that the
// artifact has kernels for, and prints the accuracy.
//
//     gantry-demo-digits digits.so images.npy labels.npy
#include "tools/demo/recognise.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gantry::demo {
namespace {

// Devices add in another order than the CPU, so the outputs are not equal bit for bit.
constexpr double tolerance = 1e-4;

// "float32[1, 64] on cpu:0"
std::string describe(const Tensor& tensor) {
  return concat(tensor.describe(), " on ", device_text(tensor.device()));
}

// Reads the tensor of a .npy file.
Result<Tensor> read_array(const Runtime& runtime, const std::string& path, gantry_dtype dtype) {
  GANTRY_TRY(auto tensors, runtime.read_tensors(path));
  if (tensors.size() != 1) return invalid(path, ": ", tensors.size(), " arrays, expected 1");
  Tensor tensor = tensors.front().second;
  if (!same_dtype(tensor.dtype(), dtype)) {
    return invalid(path, ": array is ", describe(tensor), ", expected ", dtype_text(dtype));
  }
  return tensor;
}

void print_table(const std::vector<Recognised>& rows) {
  std::printf("%-9s %-11s %7s  %s\n", "device", "correct", "error", "name");
  for (const Recognised& row : rows) {
    if (!row.device.missing.empty()) {
      std::printf("%-9s not available: %s\n", row.device.name.c_str(), row.device.missing.c_str());
      continue;
    }
    std::printf("%-9s %-11s %7.0e  %s\n", row.device.name.c_str(),
                concat(row.correct(), " of ", row.guesses.size()).c_str(), row.max_error,
                row.device.product.c_str());
  }
  std::printf("\nerror: largest relative difference from the CPU's outputs, limit is %.0e\n",
              tolerance);
}

Status run(const char* artifact, const char* images_file, const char* labels_file) {
  GANTRY_TRY(const auto runtime, Runtime::create());
  GANTRY_TRY(const Tensor images, read_array(runtime, images_file, {2, 32, 1}));
  GANTRY_TRY(const Tensor labels, read_array(runtime, labels_file, {0, 64, 1}));
  if (images.shape().size() != 3 || images.shape()[0] == 0 || images.shape()[1] != 1 ||
      images.shape()[2] != side * side || labels.shape().size() != 1 ||
      labels.shape()[0] != images.shape()[0]) {
    return invalid("images are ", describe(images), ", labels ", describe(labels),
                   ", expected float32[n, 1, 64] and int64[n] with n >= 1");
  }

  // A missing device plugin does not prevent runs on the other devices.
  GANTRY_TRY(const auto module, runtime.load(artifact, {.allow_missing = true}));

  GANTRY_TRY(const std::vector<Device> devices, find_devices(runtime));
  std::vector<Recognised> rows;
  for (const Device& device : devices) {
    if (!device.missing.empty()) {
      rows.emplace_back().device = device;
      continue;
    }
    auto done = recognise(runtime, module, device, images, labels);
    if (!done.ok()) return std::move(done).error().at("on ", device.name);
    done->max_error = rows.empty() ? 0 : largest_difference(done->outputs, rows[0].outputs);
    rows.push_back(*std::move(done));
  }

  draw(rows[0].guesses, images.elements<float>());
  std::printf("%zu images, one per run; the artifact is loaded once\n\n", rows[0].guesses.size());
  print_table(rows);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return unavailable("cannot write to stdout: ", std::strerror(errno));
  }
  for (const Recognised& row : rows) {
    if (row.max_error > tolerance) {
      return invalid(row.device.name, ": outputs differ from the CPU's by ", row.max_error,
                     ", limit is ", tolerance);
    }
  }
  return {};
}

}  // namespace
}  // namespace gantry::demo

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gantry-demo-digits digits.so images.npy labels.npy\n");
    return 2;
  }
  const gantry::Status done = gantry::demo::run(argv[1], argv[2], argv[3]);
  if (!done.ok()) std::fprintf(stderr, "gantry-demo-digits: %s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
