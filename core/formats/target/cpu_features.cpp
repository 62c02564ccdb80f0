// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/cpu_features.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <string>

namespace gantry {
namespace {

// What both GCC 12 and LLVM 14 can be asked for.
struct Feature {
  std::string_view name;
  bool (*is_present)();
};
#if defined(__x86_64__)
#define GANTRY_FEATURE(name)                               \
  {                                                        \
    name, [] { return __builtin_cpu_supports(name) != 0; } \
  }
constexpr Feature known_features[] = {
    GANTRY_FEATURE("ssse3"),
    GANTRY_FEATURE("sse4.1"),
    GANTRY_FEATURE("sse4.2"),
    GANTRY_FEATURE("sse4a"),
    GANTRY_FEATURE("popcnt"),
    GANTRY_FEATURE("avx"),
    GANTRY_FEATURE("avx2"),
    GANTRY_FEATURE("fma"),
    GANTRY_FEATURE("fma4"),
    GANTRY_FEATURE("xop"),
    GANTRY_FEATURE("bmi"),
    GANTRY_FEATURE("bmi2"),
    GANTRY_FEATURE("avx512f"),
    GANTRY_FEATURE("avx512cd"),
    GANTRY_FEATURE("avx512bw"),
    GANTRY_FEATURE("avx512dq"),
    GANTRY_FEATURE("avx512vl"),
    GANTRY_FEATURE("avx512er"),
    GANTRY_FEATURE("avx512pf"),
    GANTRY_FEATURE("avx512ifma"),
    GANTRY_FEATURE("avx512vbmi"),
    GANTRY_FEATURE("avx512vbmi2"),
    GANTRY_FEATURE("avx512vnni"),
    GANTRY_FEATURE("avx512bitalg"),
    GANTRY_FEATURE("avx512vpopcntdq"),
};
#undef GANTRY_FEATURE
#else
constexpr std::span<const Feature> known_features;
#endif

const Feature* find_feature(std::string_view name) {
  const auto found = std::ranges::find(known_features, name, &Feature::name);
  return found != std::ranges::end(known_features) ? &*found : nullptr;
}

// Each list begins with the one before it.
constexpr std::string_view all_features[] = {
    "ssse3", "sse4.1",  "sse4.2",   "popcnt",   "avx",      "avx2",     "fma",       "bmi",
    "bmi2",  "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"};
constexpr std::size_t ssse3 = 1, level_2 = 4, avx = 5, avx2 = 9, avx512 = 14, avx512_vnni = 15;
constexpr std::string_view bdver1[] = {"ssse3",  "sse4.1", "sse4.2", "sse4a",
                                       "popcnt", "avx",    "fma4",   "xop"};
constexpr std::string_view bdver2[] = {"ssse3", "sse4.1", "sse4.2", "sse4a", "popcnt",
                                       "avx",   "fma4",   "xop",    "fma",   "bmi"};
constexpr std::string_view bdver4[] = {"ssse3", "sse4.1", "sse4.2", "sse4a", "popcnt", "avx",
                                       "fma4",  "xop",    "fma",    "bmi",   "bmi2",   "avx2"};
constexpr std::string_view btver2[] = {"ssse3",  "sse4.1", "sse4.2", "sse4a",
                                       "popcnt", "avx",    "bmi"};
constexpr std::string_view knl[] = {"ssse3",    "sse4.1",   "sse4.2",  "popcnt", "avx",
                                    "avx2",     "fma",      "bmi",     "bmi2",   "avx512f",
                                    "avx512cd", "avx512er", "avx512pf"};

struct Cpu {
  std::string_view name;
  std::span<const std::string_view> features;
};
constexpr std::span<const std::string_view> first(std::size_t count) {
  return std::span(all_features).first(count);
}
// source   llvm/lib/TargetParser/X86TargetParser.cpp
constexpr Cpu cpus[] = {
    {"core2", first(ssse3)},
    {"penryn", first(2)},
    {"bonnell", first(ssse3)},
    {"atom", first(ssse3)},
    {"x86-64-v2", first(level_2)},
    {"nehalem", first(level_2)},
    {"corei7", first(level_2)},
    {"westmere", first(level_2)},
    {"silvermont", first(level_2)},
    {"slm", first(level_2)},
    {"goldmont", first(level_2)},
    {"goldmont-plus", first(level_2)},
    {"tremont", first(level_2)},
    {"sandybridge", first(avx)},
    {"corei7-avx", first(avx)},
    {"ivybridge", first(avx)},
    {"core-avx-i", first(avx)},
    {"btver2", btver2},
    {"bdver1", bdver1},
    {"bdver2", bdver2},
    {"bdver3", bdver2},
    {"bdver4", bdver4},
    {"x86-64-v3", first(avx2)},
    {"haswell", first(avx2)},
    {"core-avx2", first(avx2)},
    {"broadwell", first(avx2)},
    {"skylake", first(avx2)},
    {"alderlake", first(avx2)},
    {"raptorlake", first(avx2)},
    {"meteorlake", first(avx2)},
    {"arrowlake", first(avx2)},
    {"lunarlake", first(avx2)},
    {"gracemont", first(avx2)},
    {"sierraforest", first(avx2)},
    {"grandridge", first(avx2)},
    {"znver1", first(avx2)},
    {"znver2", first(avx2)},
    {"znver3", first(avx2)},
    {"knl", knl},
    {"knm", knl},
    {"x86-64-v4", first(avx512)},
    {"skylake-avx512", first(avx512)},
    {"skx", first(avx512)},
    {"cannonlake", first(avx512)},
    {"cascadelake", first(avx512_vnni)},
    {"cooperlake", first(avx512_vnni)},
    {"icelake-client", first(avx512_vnni)},
    {"icelake-server", first(avx512_vnni)},
    {"rocketlake", first(avx512_vnni)},
    {"tigerlake", first(avx512_vnni)},
    {"sapphirerapids", first(avx512_vnni)},
    {"emeraldrapids", first(avx512_vnni)},
    {"graniterapids", first(avx512_vnni)},
    {"diamondrapids", first(avx512_vnni)},
    {"znver4", first(avx512_vnni)},
    {"znver5", first(avx512_vnni)},
};

}  // namespace

std::span<const std::string_view> features_of_cpu(std::string_view cpu) {
  const std::string name = lower(cpu);
  const auto found = std::ranges::find(cpus, name, &Cpu::name);
  return found != std::end(cpus) ? found->features : std::span<const std::string_view>();
}

bool host_has_feature(std::string_view feature) {
  const Feature* const known = find_feature(feature);
  return known == nullptr || known->is_present();
}

std::string_view known_feature(std::string_view feature) {
  const Feature* const known = find_feature(feature);
  return known != nullptr ? known->name : std::string_view();
}

}  // namespace gantry
