#include <gantry/runtime.hpp>

#include <algorithm>
#include <cstdio>

gantry::Status recognise(const char* model_file, const char* images_file) {
  GANTRY_TRY(auto runtime, gantry::Runtime::create());
  GANTRY_TRY(const auto model, runtime.load(model_file));
  GANTRY_TRY(auto executor, runtime.executor(model, {"cpu"}));
  GANTRY_TRY(const auto inputs, runtime.read_tensors(images_file));
  const gantry::Tensor& images = inputs.front().second;  // float32[n, 1, 64]
  for (std::int64_t i = 0; i < images.shape()[0]; ++i) {
    GANTRY_TRY(const auto image, images.row(i));
    GANTRY_CHECK(executor.set_input("x", image));
    GANTRY_CHECK(executor.run());
    GANTRY_TRY(const auto output, executor.output(0));
    const auto scores = output.elements<float>();
    std::printf("%td\n", std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
  return {};
}

int main(int, char** argv) {
  const auto done = recognise(argv[1], argv[2]);
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
