// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without a fuzzer: each file of the arguments unchanged, then with a fixed
// number of mutations that are the same in every run. A file whose name ends in ".z" is decompressed
// and run unchanged only.
//
//     elf_fuzz [--mutations=N] corpus/elf long/elf
//
// The mutations do not search for coverage. They test the mutator with compilers and sanitizers
// that have no libFuzzer, and each target with inputs outside of the corpus.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// Defined by targets that have a custom mutator.
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data,
                                                                     std::size_t size,
                                                                     std::size_t max,
                                                                     unsigned seed);

// A simple replacement for libFuzzer's function: overwrites, inserts or removes a few bytes.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max) {
  static std::minstd_rand random(1);
  constexpr std::uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff};
  for (std::size_t edits = random() % 4 + 1; edits > 0; --edits) {
    const std::size_t at = size == 0 ? 0 : random() % size;
    const auto byte = static_cast<std::uint8_t>(random() % 2 != 0 ? random() : edges[random() % 5]);
    switch (random() % 4) {
      case 0:
        if (size == max) break;
        std::copy_backward(data + at, data + size, data + size + 1);
        data[at] = byte;
        ++size;
        break;
      case 1:
        if (size == 0) break;
        std::copy(data + at + 1, data + size, data + at);
        --size;
        break;
      default:
        if (size != 0) data[at] = byte;
    }
  }
  return size;
}

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Large enough for every file of tests/fuzz/long.
constexpr uLongf max_long_bytes = 8 << 20;

Bytes decompressed(const Bytes& packed) {
  Bytes bytes(max_long_bytes);
  uLongf size = max_long_bytes;
  const int code = uncompress(bytes.data(), &size, packed.data(), packed.size());
  gantry::fuzz::expect(code == Z_OK, "a long input can be decompressed");
  bytes.resize(size);
  return bytes;
}

void mutate(Bytes& bytes, unsigned seed) {
  const std::size_t size = bytes.size();
  const std::size_t max = size + 64;
  bytes.resize(max);
  const auto mutator = LLVMFuzzerCustomMutator != nullptr
                           ? LLVMFuzzerCustomMutator
                           : [](std::uint8_t* data, std::size_t n, std::size_t m, unsigned) {
                               return LLVMFuzzerMutate(data, n, m);
                             };
  bytes.resize(mutator(bytes.data(), size, max, seed));
}

// Runs a copy of the exact size, so that a sanitizer detects a read beyond the input. The minimum
// of three times counts.
void run(const Bytes& bytes) {
  const Bytes exact(bytes.begin(), bytes.end());
  gantry::fuzz::Budget::give_chances(2);
  do {
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  } while (gantry::fuzz::Budget::took_chance());
}

}  // namespace

int main(int count, char** arguments) {
  unsigned mutations = 32;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    constexpr std::string_view option = "--mutations=";
    if (argument.starts_with(option)) {
      std::from_chars(argument.data() + option.size(), argument.data() + argument.size(),
                      mutations);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else {
      files.emplace_back(argument);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "fuzz: no input, expected files or directories\n");
    return 2;
  }
  std::sort(files.begin(), files.end());

  std::size_t runs = 0;
  for (const auto& file : files) {
    const Bytes whole = read(file);
    // After a failure the last line is the file that failed.
    std::fprintf(stderr, "%s\n", file.c_str());
    if (file.extension() == ".z") {
      run(decompressed(whole));
      continue;
    }
    run(whole);
    Bytes bytes = whole;
    for (unsigned i = 0; i < mutations; ++i) {
      if (i % 8 == 0) bytes = whole;
      mutate(bytes, i);
      run(bytes);
      ++runs;
    }
  }
  std::printf("%zu files, %zu mutations of them\n", files.size(), runs);
  return 0;
}
