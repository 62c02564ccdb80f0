#include <gantry/embed.hpp>

#include <algorithm>
#include <cstdio>
#include <span>

// Prints the index of the largest of some numbers.
void print_largest(std::span<const float> scores) {
  std::printf("%td\n", std::max_element(scores.begin(), scores.end()) - scores.begin());
}

gantry::Status recognise(const char* model_file, const char* images_file) {
  GANTRY_TRY(auto runtime, gantry::Runtime::create());
  GANTRY_TRY(const auto module, runtime.load(model_file));
  GANTRY_TRY(const auto model, runtime.model(module, {"cpu"}));
  GANTRY_TRY(auto digits, model.function());
  GANTRY_TRY(const auto inputs, runtime.read_tensors(images_file));
  for (std::int64_t i = 0; i < inputs.front().second.shape()[0]; ++i) {
    GANTRY_TRY(const auto image, inputs.front().second.row(i));
    GANTRY_TRY(const auto outputs, digits.run({{"x", image}}));
    GANTRY_TRY(const auto output, outputs.front().value.tensor());
    print_largest(output.elements<float>());
  }
  return {};
}

int main(int argc, char** argv) {
  const auto done = recognise(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
  return done.ok() ? 0 : (std::fprintf(stderr, "%s\n", done.error().message.c_str()), 1);
}
