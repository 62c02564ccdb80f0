// SPDX-License-Identifier: Apache-2.0
//
// The code generator of kit_plugin.
#include "kit_plugin.hpp"

#include <cstdio>

namespace kit {
namespace {

std::string_view text_of(gantry_bytes text) {
  return {text.data, static_cast<std::size_t>(text.size)};
}

gantry_code build(void*, const gantry_build* what, const gantry_sink* sink, gantry_status* status) {
  const bool is_plain = text_of(what->target).find("fancy") == std::string_view::npos;
  if (!is_plain && !has("builds_for_any_target"))
    return fail(status, GANTRY_INVALID, "CONFIG", "kit plugin: mode is fancy, expected plain");
  const gantry_source& source = what->sources[0];
  const std::string_view text = text_of(source.text);
  if (has("requires_a_compiler"))
    return fail(status, GANTRY_UNAVAILABLE, "COMPILER", "kit plugin: no compiler");
  if (text.starts_with('!') && !has("builds_broken_sources")) {
    if (has("names_no_kernel")) {
      what->at_kernel(what->self, what->kernel_count);
    } else if (what->kernel_count != 0) {
      what->at_kernel(what->self, 0);
    }
    if (has("wrong_code_of_build"))
      return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: conformance.kit");
    char error[96] = "kit plugin: no";
    if (!has("names_no_file"))
      std::snprintf(error, sizeof error, "kit plugin: %.*s:1: '!'",
                    static_cast<int>(source.name.size), source.name.data);
    return fail(status, GANTRY_UNSUPPORTED, "KERNEL_BUILD", error);
  }
  if (has("fails_to_build"))
    return fail(status, GANTRY_UNSUPPORTED, "KERNEL_BUILD", "kit plugin: no");
  if (has("builds_nothing")) return GANTRY_OK;
  std::uint64_t size = text.size();
  const std::uint64_t bytes = has("builds_too_little") ? --size : size;
  if (has("builds_too_much")) ++size;
  gantry_code code = sink->write(sink->self, &size, sizeof size, status);
  if (code == GANTRY_OK) code = sink->write(sink->self, text.data(), bytes, status);
  if (code != GANTRY_OK && has("ignores_the_sink_of_build")) return GANTRY_OK;
  if (code != GANTRY_OK && has("wrong_code_of_sink"))
    return fail(status, GANTRY_UNAVAILABLE, "MEMORY", "kit plugin: the sink fails");
  return code;
}

gantry_code check(void*, const gantry_build* what, gantry_status* status) {
  if (has("checks_sources")) return what->sources[0].text.size == 0 ? GANTRY_INVALID : GANTRY_OK;
  if (has("checks_too_much"))
    return fail(status, GANTRY_UNAVAILABLE, "COMPILER", "kit plugin: no linker");
  if (has("checks_as_invalid")) return fail(status, GANTRY_INVALID, "CONFIG", "kit plugin: no");
  return GANTRY_OK;
}

}  // namespace

const gantry_generator generator = {sizeof generator, 0, build, check};

}  // namespace kit
