// SPDX-License-Identifier: Apache-2.0
//
// Cases 93 to 98: the code generator, extension gantry.generator/1.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"
#include "tools/conformance/limited_sink.hpp"

#include "core/plugins/library/table_copy.hpp"

#include <gantry/generator.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gantry::kit {
namespace {

// The generator of the plugin, and what it builds from.
class Builder {
 public:
  // returns  a failure of the case if the plugin has no such extension
  static Result<Builder> open(const Stage& stage, const GoldenBuild& golden) {
    const void* const table = stage.plugin().table.get_extension(stage.self(), GANTRY_GENERATOR_1);
    if (table == nullptr) {
      return bug("get_extension(\"", GANTRY_GENERATOR_1,
                 "\") returns NULL, and the manifest has a target kind with languages");
    }
    Builder builder(stage, golden);
    auto copy = copy_table(static_cast<const gantry_generator*>(table), "the plugin");
    if (!copy.ok()) return bug("the table is wrong: ", first_line(copy.error()));
    builder.table_ = *copy;
    const auto& raw = *static_cast<const gantry_generator*>(table);
    builder.has_check_ = raw.struct_size >= sizeof raw && raw.check != nullptr;
    return builder;
  }

  struct Outcome {
    gantry_code code = GANTRY_OK;
    // of a failure, and with it all diagnostics
    Error error;
    std::string text;
    // the indices that at_kernel received
    std::vector<std::uint64_t> kernels;
  };
  Outcome build(const std::string& source, const std::string& target, LimitedSink& sink,
                std::uint32_t argument_tags = GANTRY_ARGUMENT_TAGS_NO) const {
    const std::string name = file_name();
    const gantry_source only{bytes_of(name), bytes_of(golden_.language), bytes_of(source)};
    std::vector<std::vector<gantry_bytes>> tags;
    std::vector<gantry_kernel_record> kernels;
    for (const GoldenKernel& kernel : golden_.kernels) {
      std::vector<gantry_bytes>& launch = tags.emplace_back();
      for (const std::string& tag : kernel.launch) launch.push_back(bytes_of(tag));
      // The list of a vector that is moved stays where it is.
      kernels.push_back({bytes_of(kernel.name), 0, kernel.arguments.data(), kernel.arguments.size(),
                         launch.data(), launch.size()});
    }
    Outcome outcome;
    gantry_build what = without_sources(target, outcome);
    what.sources = &only;
    what.source_count = 1;
    what.kernels = kernels.data();
    what.kernel_count = kernels.size();
    what.argument_tags = argument_tags;
    run(outcome, "build", [&](gantry_status* failure) {
      return table_.build(stage_.self(), &what, &sink.raw, failure);
    });
    return outcome;
  }

  bool has_check() const { return has_check_; }
  Outcome check() const {
    Outcome outcome;
    const gantry_build what = without_sources(golden_.target, outcome);
    run(outcome, "check",
        [&](gantry_status* failure) { return table_.check(stage_.self(), &what, failure); });
    return outcome;
  }

  // Builds the golden source.
  //
  // returns  not_run() if this host has no compiler
  Result<std::vector<std::uint8_t>> payload(std::uint32_t argument_tags) const {
    LimitedSink sink(SIZE_MAX);
    const Outcome outcome = build(golden_.source, golden_.target, sink, argument_tags);
    if (outcome.code == GANTRY_UNAVAILABLE)
      return not_run("this host cannot build it: ", first_line(outcome.error));
    if (outcome.code != GANTRY_OK)
      return bug("build fails as ", name_of(outcome.error.code), ": ", first_line(outcome.error));
    if (sink.bytes.empty()) return bug("build succeeds without a payload");
    return std::move(sink.bytes);
  }

  // of the source, in diagnostics
  std::string file_name() const { return concat("conformance.", golden_.language); }

 private:
  Builder(const Stage& stage, const GoldenBuild& golden) : stage_(stage), golden_(golden) {}

  gantry_build without_sources(const std::string& target, Outcome& outcome) const {
    gantry_build what{};
    what.struct_size = sizeof what;
    what.kind = bytes_of(golden_.kind);
    what.target = bytes_of(target);
    what.self = &outcome;
    what.diagnostic = [](void* self, std::int32_t, gantry_bytes text) {
      static_cast<Outcome*>(self)->text.append(view_of(text));
    };
    what.at_kernel = [](void* self, std::uint64_t kernel) {
      static_cast<Outcome*>(self)->kernels.push_back(kernel);
    };
    return what;
  }
  template <class Make>
  static void run(Outcome& outcome, std::string_view function, Make&& make) {
    StatusBuffer status;
    outcome.code = status.call(std::forward<Make>(make));
    if (outcome.code == GANTRY_OK) return;
    outcome.error = status.error(outcome.code, function);
    outcome.text += outcome.error.message.text();
  }

  const Stage& stage_;
  const GoldenBuild& golden_;
  gantry_generator table_{};
  bool has_check_ = false;
};

// The result for a failure that another case reports.
Failure left_to_case_93(const Error& error) { return not_run("see case 93: ", first_line(error)); }

using Check =
    std::function<Status(const Stage& stage, const GoldenBuild& golden, const Builder& builder)>;

// reports_all  [in]   false: a plugin without the extension is not_run()
Status for_each_build(Subject& subject, const Check& check, bool reports_all = false) {
  GANTRY_TRY(const std::vector<GoldenBuild>* const builds, subject.needed_builds());
  GANTRY_TRY(const auto stage, Stage::open(subject));
  Status last;
  bool any = false;
  for (const GoldenBuild& golden : *builds) {
    const auto checked = [&]() -> Status {
      const Result<Builder> builder = Builder::open(*stage, golden);
      if (builder.ok()) return check(*stage, golden, *builder);
      return reports_all ? Status(builder.error()) : left_to_case_93(builder.error());
    };
    Status done = checked();
    any = any || done.ok();
    if (done.ok()) continue;
    Error error = std::move(done).error();
    if (error.reason != skip_reason) return std::move(error.at("of ", golden.name));
    last = std::move(error);
  }
  return any ? Status() : last;
}

// True if the golden calls of the plugin's payloads give their results; case 51 reports failures.
bool has_golden_results(Subject& subject, const Stage& stage) {
  for (const Payload& payload : subject.payloads()) {
    const auto device = stage.device_for(payload);
    if (!device.ok() || !check_golden(stage, **device, payload).ok()) return false;
  }
  return true;
}

// 93
Status builds_what_it_loads(Subject& subject) {
  return for_each_build(
      subject,
      [&](const Stage& stage, const GoldenBuild& golden, const Builder& builder) -> Status {
        for (const std::uint32_t tags : {GANTRY_ARGUMENT_TAGS_NO, GANTRY_ARGUMENT_TAGS_YES}) {
          GANTRY_TRY(const std::vector<std::uint8_t> bytes, builder.payload(tags));
          Payload payload;
          payload.name = golden.name;
          payload.key = golden.type_key;
          payload.argument_tags = tags;
          payload.tolerance = golden.tolerance;
          payload.calls = golden.calls;
          const PinnedBytes given = pinned(bytes);
          const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
          if (!module.ok())
            return bug("load_binary refuses what build writes: ", first_line(module.error()));
          if (module->consumed != bytes.size()) {
            return bug("load_binary consumes ", module->consumed, " of ", bytes.size(),
                       " bytes that build writes");
          }
          for (const GoldenKernel& kernel : golden.kernels) {
            const auto function = stage.function(*module, kernel.name);
            if (!function.ok())
              return bug("the payload that build writes has no kernel ", quoted(kernel.name));
          }
          const auto device = stage.device_for(payload);
          if (!device.ok() || !has_golden_results(subject, stage)) continue;
          Status called = check_calls(stage, **device, *module, payload);
          if (!called.ok()) return std::move(called).error().at("in what build writes");
        }
        return {};
      },
      true);
}

// A refusal of what a person wrote.
Status check_build_refusal(const Builder::Outcome& outcome, std::string_view what) {
  if (outcome.code == GANTRY_OK) return bug("build accepts ", what);
  if (outcome.code == GANTRY_UNAVAILABLE)
    return not_run("this host cannot build: ", first_line(outcome.error));
  if (outcome.code == GANTRY_UNSUPPORTED || outcome.code == GANTRY_INVALID ||
      outcome.code == GANTRY_MALFORMED)
    return {};
  return bug("build refuses ", what, " as ", name_of(outcome.error.code),
             ", expected unsupported, invalid or malformed");
}

// 94
Status reports_build_errors(Subject& subject) {
  return for_each_build(
      subject, [](const Stage&, const GoldenBuild& golden, const Builder& builder) -> Status {
        LimitedSink sink(SIZE_MAX);
        const Builder::Outcome outcome = builder.build(golden.broken, golden.target, sink);
        GANTRY_CHECK(check_build_refusal(outcome, "the broken source"));
        if (outcome.text.find(builder.file_name()) != outcome.text.npos) return {};
        return bug("the error of the broken source does not contain ", quoted(builder.file_name()),
                   ": ", first_line(outcome.error));
      });
}

// 95
Status refuses_targets(Subject& subject) {
  return for_each_build(
      subject, [](const Stage&, const GoldenBuild& golden, const Builder& builder) -> Status {
        if (golden.refused_targets.empty()) return skipped("the build has no refused_targets");
        for (const std::string& target : golden.refused_targets) {
          LimitedSink sink(SIZE_MAX);
          GANTRY_CHECK(check_build_refusal(builder.build(golden.source, target, sink),
                                           concat("target ", target)));
        }
        return {};
      });
}

// 96
Status returns_the_sinks_code(Subject& subject) {
  return for_each_build(
      subject, [](const Stage&, const GoldenBuild& golden, const Builder& builder) -> Status {
        const auto whole = builder.payload(GANTRY_ARGUMENT_TAGS_NO);
        if (!whole.ok()) return left_to_case_93(whole.error());
        for (const std::size_t max : {std::size_t{0}, whole->size() - 1}) {
          LimitedSink sink(max);
          const Builder::Outcome outcome = builder.build(golden.source, golden.target, sink);
          if (outcome.code == GANTRY_OK)
            return bug("build succeeds with a sink that fails after ", max, " bytes");
          if (outcome.code != GANTRY_EXHAUSTED)
            return bug("build returns code ", outcome.code, ", its sink returned ",
                       gantry_code{GANTRY_EXHAUSTED});
        }
        return {};
      });
}

// 97
Status checks_what_it_builds(Subject& subject) {
  return for_each_build(
      subject, [](const Stage&, const GoldenBuild& golden, const Builder& builder) -> Status {
        if (!builder.has_check()) return skipped("the table has no check");
        const Builder::Outcome checked = builder.check();
        if (checked.code != GANTRY_OK && checked.code != GANTRY_UNAVAILABLE)
          return bug("check fails as ", name_of(checked.error.code), ": ",
                     first_line(checked.error), ", expected ok or unavailable");
        LimitedSink sink(SIZE_MAX);
        const Builder::Outcome built = builder.build(golden.source, golden.target, sink);
        if (built.code != GANTRY_OK && built.code != GANTRY_UNAVAILABLE)
          return left_to_case_93(built.error);
        if (built.code == checked.code) return {};
        return built.code == GANTRY_OK
                   ? bug("check fails as unavailable, build succeeds: ", first_line(checked.error))
                   : bug("check succeeds, build fails as unavailable: ", first_line(built.error));
      });
}

// 98
Status names_kernels(Subject& subject) {
  return for_each_build(
      subject, [](const Stage&, const GoldenBuild& golden, const Builder& builder) -> Status {
        LimitedSink sink(SIZE_MAX);
        const Builder::Outcome outcome = builder.build(golden.broken, golden.target, sink);
        if (outcome.code == GANTRY_UNAVAILABLE)
          return not_run("this host cannot build: ", first_line(outcome.error));
        for (const std::uint64_t kernel : outcome.kernels) {
          if (kernel < golden.kernels.size()) continue;
          return bug("at_kernel receives index ", kernel, ", kernel count is ",
                     golden.kernels.size());
        }
        return {};
      });
}

constexpr Case kGeneratorCases[] = {
    {93, Level::D, Weight::must, "builds-what-it-loads",
     "build of gantry.generator/1 writes a payload that load_binary loads, in both layouts of "
     "kernel "
     "records, with the kernels and the results of the payload file",
     "write the payload with the functions that the loader's tests use; return the table from "
     "get_extension if the manifest has languages",
     builds_what_it_loads},
    {94, Level::D, Weight::must, "reports-build-errors",
     "build refuses a source that does not compile with a text that contains the name of the file",
     "return UNSUPPORTED with file, line and the compiler's words", reports_build_errors},
    {95, Level::D, Weight::must, "refuses-targets",
     "build refuses the targets of the payload file that it does not support",
     "compare every option of the target with the supported values", refuses_targets},
    {96, Level::D, Weight::must, "returns-the-sinks-code",
     "build returns the code of a sink that fails", "return the code of write()",
     returns_the_sinks_code},
    {97, Level::D, Weight::must, "checks-what-it-builds",
     "check of gantry.generator/1 returns unavailable exactly if build does for the target",
     "open in check what build opens, and nothing else; without sources, sources is NULL",
     checks_what_it_builds},
    {98, Level::D, Weight::must, "names-kernels",
     "at_kernel receives indices of kernels only, for a source that does not compile",
     "pass the index in kernels, not that of a source", names_kernels, "*"},
};

}  // namespace

std::span<const Case> generator_cases() { return kGeneratorCases; }

}  // namespace gantry::kit
