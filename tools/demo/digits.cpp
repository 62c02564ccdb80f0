// SPDX-License-Identifier: Apache-2.0
//
// Reads handwritten digits with a packed network, and says how well and how fast.
//
//     gantry-demo-digits digits.so images.npy labels.npy
#include "core/runtime/runtime.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace {

using gantry::Result;
using gantry::Status;
using gantry::Tensor;
using Clock = std::chrono::steady_clock;

constexpr std::size_t side = 8;  // pixels

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// What the network says about one image.
struct Guess {
  std::int64_t image;
  std::int64_t is;  // the label
  std::int64_t taken_for;
  float probability;  // of that, by the network
  double run_us;
};

// The only tensor of a .npy file.
Result<Tensor> read_array(gantry::Runtime& runtime, const std::string& path, gantry_dtype dtype) {
  GANTRY_TRY(auto tensors, runtime.read_tensors(path));
  if (tensors.size() != 1) {
    return gantry::invalid(path, ": ", tensors.size(), " arrays, expected 1");
  }
  Tensor tensor = tensors.front().second;
  if (!gantry::same_dtype(tensor.dtype(), dtype)) {
    return gantry::invalid(path, ": holds ", tensor.describe(), ", expected ",
                           gantry::dtype_text(dtype));
  }
  return tensor;
}

// Four drawings side by side, with what they were taken for.
void draw(std::span<const Guess> guesses, std::span<const float> pixels) {
  constexpr std::string_view ink = " .:-=+*#%@";
  constexpr int width = 2 * side + 3;
  for (; !guesses.empty(); guesses = guesses.subspan(std::min<std::size_t>(4, guesses.size()))) {
    const auto row = guesses.first(std::min<std::size_t>(4, guesses.size()));
    for (std::size_t y = 0; y < side; ++y) {
      std::string line;
      for (const Guess& guess : row) {
        for (std::size_t x = 0; x < side; ++x) {
          const float value =
              pixels[static_cast<std::size_t>(guess.image) * side * side + y * side + x];
          const auto shade = static_cast<std::size_t>(std::clamp(value, 0.0f, 1.0f) * 9);
          line.append(2, ink[shade]);
        }
        line.append("   ");
      }
      std::printf("  %s\n", line.c_str());
    }
    std::printf("  ");
    for (const Guess& guess : row) {
      std::string label =
          gantry::concat(guess.taken_for, ", ", std::lround(100 * guess.probability), " %");
      if (guess.taken_for != guess.is) label += gantry::concat(" (is ", guess.is, ")");
      std::printf("%-*s", width, label.c_str());
    }
    std::printf("\n\n");
  }
}

// Runs one image after the other.
Result<std::vector<Guess>> guess_all(gantry::Runtime& runtime, gantry::Executor& executor,
                                     const Tensor& images, const Tensor& labels) {
  const std::int64_t count = images.shape()[0];
  GANTRY_TRY(const Tensor x,
             runtime.tensor({1, static_cast<std::int64_t>(side * side)}, images.dtype()));
  std::vector<Guess> guesses;
  for (std::int64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const Tensor image, images.row(i));
    GANTRY_CHECK(runtime.copy(image, x));
    const auto start = Clock::now();
    GANTRY_CHECK(executor.set_input("x", x));
    GANTRY_CHECK(executor.run());
    GANTRY_TRY(const Tensor output, executor.output(0));
    const double run_us = microseconds_since(start);
    const auto scores = output.elements<float>();
    const auto best = std::max_element(scores.begin(), scores.end());
    guesses.push_back({i, labels.elements<std::int64_t>()[static_cast<std::size_t>(i)],
                       best - scores.begin(), *best, run_us});
  }
  return guesses;
}

void report(const std::vector<Guess>& guesses, std::span<const float> pixels) {
  std::vector<double> times;
  std::vector<Guess> shown(guesses.begin(),
                           guesses.begin() + std::min<std::ptrdiff_t>(4, std::ssize(guesses)));
  std::size_t right = 0;
  for (const Guess& guess : guesses) {
    if (guess.image != 0) times.push_back(guess.run_us);
    if (guess.taken_for == guess.is) {
      ++right;
    } else if (shown.size() < 8 && guess.image >= 4) {
      shown.push_back(guess);
    }
  }
  std::printf("The first images, and the first that were taken for something else:\n\n");
  draw(shown, pixels);
  std::printf("accuracy    %zu of %zu right (%.1f %%)\n", right, guesses.size(),
              100.0 * static_cast<double>(right) / static_cast<double>(guesses.size()));
  std::printf("first run   %8.1f us\n", guesses.front().run_us);
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  std::printf("then        %8.1f us median, %.1f us for 99 of 100\n", times[times.size() / 2],
              times[times.size() * 99 / 100]);
}

Status run(const char* artifact, const char* images_file, const char* labels_file) {
  GANTRY_TRY(auto runtime, gantry::Runtime::create());
  GANTRY_TRY(const Tensor images, read_array(runtime, images_file, {2, 32, 1}));
  GANTRY_TRY(const Tensor labels, read_array(runtime, labels_file, {0, 64, 1}));
  if (images.shape().size() != 2 || images.shape()[0] == 0 || images.shape()[1] != side * side ||
      labels.shape().size() != 1 || labels.shape()[0] != images.shape()[0]) {
    return gantry::invalid("images are ", images.describe(), ", labels ", labels.describe(),
                           ", expected float32[n, 64] and int64[n] with n >= 1");
  }

  const auto load_start = Clock::now();
  GANTRY_TRY(const auto model, runtime.load(artifact));
  const double load_us = microseconds_since(load_start);
  const auto create_start = Clock::now();
  GANTRY_TRY(auto executor, runtime.executor(model, {"cpu"}));
  const double create_us = microseconds_since(create_start);

  GANTRY_TRY(const auto guesses, guess_all(runtime, executor, images, labels));
  report(guesses, images.elements<float>());
  std::printf("load        %8.1f us\nexecutor    %8.1f us\n", load_us, create_us);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    return gantry::unavailable("cannot write to stdout: ", std::strerror(errno));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: gantry-demo-digits digits.so images.npy labels.npy\n");
    return 2;
  }
  const Status done = run(argv[1], argv[2], argv[3]);
  if (!done.ok()) std::fprintf(stderr, "gantry-demo-digits: %s\n", done.error().message.c_str());
  return done.ok() ? 0 : 1;
}
