// SPDX-License-Identifier: Apache-2.0
//
// Recognises handwritten digits with a packed network, on the CPU and on every device that the
// artifact has kernels for, and prints the accuracy.
//
//     gantry-demo-digits digits.so images.npy labels.npy
#include "tools/demo/child.hpp"
#include "tools/demo/recognise.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>

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

struct Data {
  Tensor images, labels;
};

Result<Data> read_data(const Runtime& runtime, const char* images_file, const char* labels_file) {
  GANTRY_TRY(const Tensor images, read_array(runtime, images_file, {2, 32, 1}));
  GANTRY_TRY(const Tensor labels, read_array(runtime, labels_file, {0, 64, 1}));
  if (images.shape().size() != 3 || images.shape()[0] == 0 || images.shape()[1] != 1 ||
      images.shape()[2] != side * side || labels.shape().size() != 1 ||
      labels.shape()[0] != images.shape()[0]) {
    return invalid("images are ", describe(images), ", labels ", describe(labels),
                   ", expected float32[n, 1, 64] and int64[n] with n >= 1");
  }
  return Data{images, labels};
}

// Recognises the images on all devices of a kind.
Status recognise_on(const std::string& kind, const char* artifact, const char* images_file,
                    const char* labels_file, const std::function<void(const Recognised&)>& add) {
  GANTRY_TRY(const auto runtime, Runtime::create());
  GANTRY_TRY(const Data data, read_data(runtime, images_file, labels_file));
  // A missing device plugin does not prevent runs on the other devices.
  GANTRY_TRY(const auto module, runtime.load(artifact, {.allow_missing = true}));
  GANTRY_TRY(const std::vector<Device> devices, find_devices(runtime, kind));
  for (const Device& device : devices) {
    Recognised row;
    row.device = device;
    if (device.missing.empty()) {
      auto done = recognise(runtime, module, device, data.images, data.labels);
      if (!done.ok()) return std::move(done).error().at("on ", device.name);
      row = *std::move(done);
    }
    add(row);
  }
  return {};
}

Status run(const char* artifact, const char* images_file, const char* labels_file) {
  std::vector<Recognised> rows;
  for (const std::string kind : {"cpu", "opencl", "vulkan", "cuda"}) {
    GANTRY_TRY(std::vector<Recognised> found, in_child(kind, [&](const auto& add) {
                 return recognise_on(kind, artifact, images_file, labels_file, add);
               }));
    for (Recognised& row : found) rows.push_back(std::move(row));
  }
  if (rows[0].guesses.empty())
    return unavailable("the CPU is not available: ", rows[0].device.missing);
  for (Recognised& row : rows) row.max_error = largest_difference(row.outputs, rows[0].outputs);

  GANTRY_TRY(const auto runtime, Runtime::create());
  GANTRY_TRY(const Data data, read_data(runtime, images_file, labels_file));
  draw(rows[0].guesses, data.images.elements<float>());
  std::printf("%zu images, one per run\n\n", rows[0].guesses.size());
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
