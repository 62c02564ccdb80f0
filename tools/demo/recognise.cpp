// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/recognise.hpp"

#include <algorithm>
#include <cmath>

namespace gantry::demo {
namespace {

// Returns the driver's name of a device; empty: it states none.
Result<std::string> product_of(const Runtime& runtime, gantry_device_id id) {
  GANTRY_TRY(const gantry_device device, runtime.device_table(id));
  gantry_value value{};
  const auto attribute = device.table->attribute;
  if (attribute == nullptr ||
      attribute(device.self, id.index, GANTRY_ATTRIBUTE_DEVICE_NAME, &value, nullptr) != GANTRY_OK)
    return std::string();
  const Any name(Value::adopt(value));
  return name.text().ok() ? *name.text() : std::string();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<std::vector<Device>> find_devices(const Runtime& runtime, const std::string& kind) {
  std::vector<Device> found;
  while (true) {
    const std::string name = concat(kind, ":", found.size());
    const auto id = runtime.device(name);
    if (!id.ok() && found.empty())
      return std::vector<Device>{{kind, {}, first_line(id.error().message)}};
    if (!id.ok()) return found;
    GANTRY_TRY(std::string product, product_of(runtime, *id));
    found.push_back({name, kind == "cpu" ? "CPU code" : std::move(product), {}});
  }
}

std::size_t Recognised::correct() const {
  return static_cast<std::size_t>(std::count_if(
      guesses.begin(), guesses.end(), [](const Guess& guess) { return guess.correct(); }));
}

Result<Recognised> recognise(const Runtime& runtime, const Module& module, const Device& device,
                             const Tensor& images, const Tensor& labels) {
  Recognised done;
  done.device = device;
  GANTRY_TRY(const Model model, runtime.model(module, {device.name}));
  GANTRY_TRY(const ModelFunction network, model.function());

  GANTRY_TRY(const Tensor y, runtime.tensor({1, digits}, images.dtype()));
  const std::span<float> scores = y.elements<float>();
  for (std::int64_t i = 0; i < images.shape()[0]; ++i) {
    GANTRY_TRY(const Tensor image, images.row(i));
    GANTRY_TRY(const auto outputs, network.run({{"x", image}}));
    GANTRY_TRY(const Tensor output, outputs.front().value.tensor());
    GANTRY_CHECK(runtime.copy(output, y));
    const auto best = std::max_element(scores.begin(), scores.end());
    const auto image_index = static_cast<std::size_t>(i);
    done.guesses.push_back(
        {image_index, labels.elements<std::int64_t>()[image_index], best - scores.begin(), *best});
    done.outputs.insert(done.outputs.end(), scores.begin(), scores.end());
  }
  return done;
}

double largest_difference(std::span<const float> outputs, std::span<const float> expected) {
  constexpr double min = 1e-6;
  double largest = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double difference = std::abs(double{outputs[i]} - double{expected[i]});
    // NaN
    if (!(difference >= 0)) return HUGE_VAL;
    largest = std::max(largest, difference / std::max(std::abs(double{expected[i]}), min));
  }
  return largest;
}

}  // namespace gantry::demo
