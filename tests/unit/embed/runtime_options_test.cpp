// SPDX-License-Identifier: Apache-2.0
//
// Options of runtimes of the C API.
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

#include <gantry/output.h>
#include <gantry/progress.h>

#include <cstddef>
#include <cstdint>

namespace gantry {
namespace {

using test::BuiltPlugins;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::Contains;

// A sink that counts.
struct Lines {
  std::vector<std::string> all;
  int destroyed = 0;

  gantry_log_sink sink() {
    return {this,
            [](void* self, std::int32_t level, gantry_bytes line) {
              static_cast<Lines*>(self)->all.push_back(concat(level, ' ', view_of(line)));
            },
            [](void* self) { ++static_cast<Lines*>(self)->destroyed; }};
  }
};

Status created(const void* options) {
  auto made = test::new_runtime(static_cast<const gantry_runtime_options*>(options));
  return made.ok() ? Status() : Status(std::move(made).failure());
}

TEST(EmbedRuntimeOptions, MayBeAbsent) {
  const auto made = test::new_runtime(nullptr);

  ASSERT_TRUE(made.ok()) << made.error().message;
}

TEST(EmbedRuntimeOptions, SendTheLogToASinkThatTheRuntimeDestroys) {
  Lines lines;
  BuiltPlugins built;
  built.options.log_level = gantry_text("debug");
  built.options.log = lines.sink();
  {
    const auto runtime = test::new_runtime(&built.options);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const gantry_host* const host = embed().host(runtime->get());
    host->log(host, GANTRY_LOG_WARNING, gantry_text("text"));
    EXPECT_EQ(lines.destroyed, 0);
  }

  EXPECT_THAT(lines.all, Contains("1 program: text"));
  EXPECT_EQ(lines.destroyed, 1);
}

// What a work sink receives: "1 text".
struct Works {
  std::vector<std::string> all;
  int destroyed = 0;

  gantry_work_sink sink() {
    return {this,
            [](void* self, std::uint64_t work, gantry_bytes text) {
              static_cast<Works*>(self)->all.push_back(concat(work, ' ', view_of(text)));
            },
            [](void* self) { ++static_cast<Works*>(self)->destroyed; }};
  }
};

TEST(EmbedRuntimeOptions, SendWorkToASinkThatTheRuntimeDestroys) {
  Works works;
  BuiltPlugins built;
  built.options.work = works.sink();
  {
    const auto runtime = test::new_runtime(&built.options);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const gantry_host* const host = embed().host(runtime->get());
    const auto* const progress =
        static_cast<const gantry_progress*>(host->get_extension(host, GANTRY_PROGRESS_1));
    progress->work_end(host, progress->work_begin(host, gantry_text("compiling")));
    EXPECT_EQ(works.destroyed, 0);
  }

  EXPECT_THAT(works.all, ::testing::ElementsAre("1 program: compiling", "1 "));
  EXPECT_EQ(works.destroyed, 1);
}

TEST(EmbedRuntimeOptions, DestroyTheWorkSinkAfterAFailure) {
  Works works;
  BuiltPlugins built;
  built.options.work = works.sink();
  built.options.flags = 1u << 31;

  EXPECT_FALSE(test::new_runtime(&built.options).ok());

  EXPECT_EQ(works.destroyed, 1);
}

// What an output sink receives.
struct Texts {
  std::vector<std::string> all;
  int destroyed = 0;

  gantry_output_sink sink() {
    return {this,
            [](void* self, gantry_bytes text) {
              static_cast<Texts*>(self)->all.emplace_back(view_of(text));
            },
            [](void* self) { ++static_cast<Texts*>(self)->destroyed; }};
  }
};

gantry_code print(gantry_object* runtime, std::string_view text) {
  const gantry_host* const host = embed().host(runtime);
  const auto* const output =
      static_cast<const gantry_output*>(host->get_extension(host, GANTRY_OUTPUT_1));
  return output->write(host, bytes_of(text), nullptr);
}

TEST(EmbedRuntimeOptions, PassWhatModelsPrintToASinkThatTheRuntimeDestroys) {
  Texts texts;
  BuiltPlugins built;
  built.options.output = texts.sink();
  {
    const auto runtime = test::new_runtime(&built.options);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    EXPECT_EQ(print(runtime->get(), "[1 2]\n\x1b"), GANTRY_OK);
    EXPECT_EQ(texts.destroyed, 0);
  }

  EXPECT_THAT(texts.all, ::testing::ElementsAre("[1 2]\n\x1b"));
  EXPECT_EQ(texts.destroyed, 1);
}

TEST(EmbedRuntimeOptions, WithoutAnOutputSinkPrintToStandardOutputWithEscapes) {
  BuiltPlugins built;
  const auto runtime = test::new_runtime(&built.options);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;

  ::testing::internal::CaptureStdout();
  const gantry_code code = print(runtime->get(), "a\tb\n\x1b[0m\n");

  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "a\tb\n\\x1b[0m\n");
  EXPECT_EQ(code, GANTRY_OK);
}

TEST(EmbedRuntimeOptions, LimitTheTimeForWhichThreadsSpin) {
  BuiltPlugins built;
  for (const std::int32_t spin_us : {-1, 0, 50, 1'000'000}) {
    built.options.spin_us = spin_us;
    expect_ok(created(&built.options));
  }
  for (const std::int32_t spin_us : {-2, 1'000'001}) {
    built.options.spin_us = spin_us;
    expect_error(created(&built.options), Code::invalid, "ARGUMENT_RANGE",
                 concat("runtime_new: spin_us is ", spin_us, ", expected -1 to 1000000"));
  }
}

TEST(EmbedRuntimeOptions, DestroyTheSinkAfterAFailure) {
  Lines lines;
  BuiltPlugins built;
  built.options.log = lines.sink();
  built.options.flags = 1u << 31;
  EXPECT_FALSE(test::new_runtime(&built.options).ok());
  EXPECT_EQ(lines.destroyed, 1);
  built.options.flags = 0;
  built.options.threads = -1;
  EXPECT_FALSE(test::new_runtime(&built.options).ok());
  EXPECT_EQ(lines.destroyed, 2);
}

TEST(EmbedRuntimeOptions, DestroyASinkThatDoesNotWrite) {
  Lines lines;
  BuiltPlugins built;
  built.options.log = lines.sink();
  built.options.log.write = nullptr;

  EXPECT_TRUE(test::new_runtime(&built.options).ok());

  EXPECT_EQ(lines.destroyed, 1);
}

TEST(EmbedRuntimeOptions, RefuseUnknownFlags) {
  BuiltPlugins built;
  built.options.flags = 1u << 31;

  expect_error(created(&built.options), Code::unsupported, "FLAGS",
               "gantry_runtime_options: flags are 0x80000000, this version has 0x7");
}

// Options as a later version has them.
struct LaterOptions {
  gantry_runtime_options known;
  std::uint64_t later;
};

TEST(EmbedRuntimeOptions, OfALaterVersionAreAcceptedIfWhatIsNewIsZero) {
  const BuiltPlugins built;
  LaterOptions options{built.options, 0};
  options.known.struct_size = sizeof options;
  expect_ok(created(&options));

  options.later = 1;
  expect_error(
      created(&options), Code::unsupported, "STRUCT_SIZE",
      concat("gantry_runtime_options: struct_size is ", sizeof options, ", this version has ",
             sizeof options.known, " bytes, and byte ", sizeof options.known, " is not 0"));
}

TEST(EmbedRuntimeOptions, OfAnEarlierVersionLackMembers) {
  BuiltPlugins built;
  // What follows the member is not read.
  built.options.struct_size = offsetof(gantry_runtime_options, threads);
  built.options.threads = -1;

  expect_ok(created(&built.options));
}

TEST(EmbedRuntimeOptions, RefuseASizeThatIsNone) {
  BuiltPlugins built;
  for (const std::uint32_t size : {0u, 7u, 4097u}) {
    built.options.struct_size = size;
    expect_error(created(&built.options), Code::invalid, "STRUCT_SIZE",
                 concat("gantry_runtime_options: struct_size is ", size, ", range is 8 to 4096"));
  }
}

TEST(EmbedRuntimeOptions, RefuseAPathWithANul) {
  BuiltPlugins built;
  built.options.config_file = {"a\0b", 3};
  expect_error(created(&built.options), Code::invalid, "ARGUMENT",
               "runtime_new: the path \"a\\x00b\" contains a NUL");
  built.options.config_file = {};
  built.path = {"a\0b", 3};
  expect_error(created(&built.options), Code::invalid, "ARGUMENT",
               "runtime_new: the path \"a\\x00b\" contains a NUL");
}

TEST(EmbedRuntimeOptions, RefuseACountWithoutPaths) {
  BuiltPlugins built;
  built.options.plugin_paths = nullptr;

  expect_error(created(&built.options), Code::invalid, "ARGUMENT_KIND",
               "runtime_new: plugin_paths is NULL");
}

TEST(EmbedRuntimeOptions, RefuseValuesAsTheRuntimeDoes) {
  BuiltPlugins built;
  built.options.threads = 5000;
  expect_error(created(&built.options), Code::invalid, "", "threads is 5000, expected 0 to 1024");
  built.options.threads = 1;
  built.options.log_level = gantry_text("loud");
  expect_error(created(&built.options), Code::invalid, "",
               "log level is \"loud\", expected error, warning, info or debug");
}

TEST(EmbedRuntimeOptions, NameAManifest) {
  BuiltPlugins built("graph");
  const std::string manifest = built.directory + "/graph.yaml";
  built.path = bytes_of(manifest);
  const auto runtime = test::new_runtime(&built.options);
  ASSERT_TRUE(runtime.ok()) << runtime.error().message;

  const auto module = test::load(*runtime, test::golden("tvm-0.12/digits_mlp_llvm.so").string());

  EXPECT_TRUE(module.ok()) << module.error().message;
}

}  // namespace
}  // namespace gantry
