// SPDX-License-Identifier: Apache-2.0
//
// gantry/generator.hpp - a plugin's class that builds payloads from sources.
//
//     class Plugin {
//      public:
//       ...
//       gantry::Status build(const gantry::Build& what, const gantry::Sink& sink) {
//         GANTRY_TRY(const gantry::JsonTree target, what.target());
//         ...
//         return sink.write(payload.bytes());
//       }
//     };
//
// GANTRY_PLUGIN (plugin.hpp) then offers the extension gantry.generator/1. If building requires a
// compiler or a device, the class has `Status check(const Build& what)`, too.
#pragma once

#include <gantry/generator.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/json_tree.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/quoted.hpp>
#include <gantry/sink.hpp>
#include <gantry/value.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct BuildSource {
  std::string_view name, language, text;
};

// How sources declare a kernel.
inline constexpr std::string_view opencl_kernel_declaration = "__kernel void";
inline constexpr std::string_view cuda_kernel_declaration = "extern \"C\" __global__ void";

// The failure of a build whose source lacks a kernel.
//
// source       [in]   its name
// near         [in]   empty, or a suggestion: ", did you mean \"add\""
// returns      UNSUPPORTED  (KERNEL)
inline Failure no_kernel(std::string_view source, std::string_view kernel,
                         std::string_view declaration, std::string_view near = {}) {
  return unsupported("source ", quoted(source), " has no kernel ", quoted(kernel), near,
                     ", expected: ", declaration, " ", kernel, "(...)")
      .with_reason("KERNEL");
}

// Borrowed: valid during the call.
class Build {
 public:
  explicit Build(const gantry_build& raw) : raw_(raw) {}

  std::string_view kind() const { return view_of(raw_.kind); }
  // True if the payload must contain compiled code instead of sources.
  bool requires_code() const { return (raw_.flags & GANTRY_BUILD_COMPILED) != 0; }
  // The target as the text of its JSON, and parsed.
  std::string_view target_text() const { return view_of(raw_.target); }
  Result<JsonTree> target() const { return JsonTree::parse(target_text(), {.name = "target"}); }

  std::vector<BuildSource> sources() const {
    std::vector<BuildSource> all;
    for (std::uint64_t i = 0; i < raw_.source_count; ++i) {
      const gantry_source& source = raw_.sources[i];
      all.push_back({view_of(source.name), view_of(source.language), view_of(source.text)});
    }
    return all;
  }

  // The kernels as they are written to the payload.
  //
  // returns  INVALID  two have one name
  Result<KernelTable> kernels() const {
    KernelTable table;
    for (std::uint64_t i = 0; i < raw_.kernel_count; ++i) {
      const gantry_kernel_record& record = raw_.kernels[i];
      KernelInfo kernel;
      kernel.name = view_of(record.name);
      kernel.parameters.assign(record.arguments, record.arguments + record.argument_count);
      for (std::uint64_t t = 0; t < record.launch_tag_count; ++t) {
        kernel.launch_tags.emplace_back(view_of(record.launch_tags[t]));
      }
      set_kernel_form(kernel, ArgumentTags{raw_.argument_tags});
      const std::string name = kernel.name;
      if (!table.add(std::move(kernel))) {
        return invalid("kernel ", quoted(name), " is listed twice, expected once")
            .with_reason("KERNEL_TABLE");
      }
    }
    return table;
  }
  // The index in sources() of a kernel's code.
  std::size_t source_of(std::size_t kernel) const {
    return static_cast<std::size_t>(raw_.kernels[kernel].source);
  }

  // level    [in]   GANTRY_LOG_*
  void diagnostic(std::int32_t level, std::string_view text) const {
    raw_.diagnostic(raw_.self, level, bytes_of(text));
  }
  // States the kernel to which the error belongs that build() then returns. The host adds its
  // location in the recipe.
  //
  // kernel   [in]   index in kernels()
  void at_kernel(std::size_t kernel) const { raw_.at_kernel(raw_.self, kernel); }

 private:
  const gantry_build& raw_;
};

namespace detail {

template <class P>
concept HasBuild = requires(P& plugin, const Build& what, const Sink& sink) {
  { plugin.build(what, sink) } -> std::same_as<Status>;
};

template <class P>
concept HasCheck = requires(P& plugin, const Build& what) {
  { plugin.check(what) } -> std::same_as<Status>;
};

template <class P>
gantry_code build(void* plugin, const gantry_build* what, const gantry_sink* sink,
                  gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    return static_cast<P*>(plugin)->build(Build(*what), Sink(*sink));
  });
}

template <class P>
gantry_code check(void* plugin, const gantry_build* what, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    if constexpr (HasCheck<P>) return static_cast<P*>(plugin)->check(Build(*what));
    return {};
  });
}

template <class P>
inline constexpr gantry_generator generator_table = {
    .struct_size = sizeof(gantry_generator),
    .zero = 0,
    .build = build<P>,
    .check = check<P>,
};

}  // namespace detail

}  // namespace gantry
