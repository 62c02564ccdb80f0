// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose sources are compiled: by the generator of a plugin, by nvcc, or on the host that
// loads them.
#include "core/writing/device_payload.hpp"
#include "core/writing/generator/built_in_generators.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"
#include "tests/unit/writing/bytes_of.hpp"
#include "tests/unit/writing/kernel_words.hpp"

#include <gantry/host.h>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <filesystem>
#include <new>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A generator that records what it is called with.
struct FakeGenerator {
  std::string target, kind;
  std::vector<std::string> sources, kernels;
  std::uint32_t argument_tags = 0, flags = 0;
  int calls = 0;
  // what it does
  gantry_code code = GANTRY_OK;
  std::uint64_t size = 7;
  std::vector<std::uint8_t> payload;
  std::string text, log, reason = "CUDA_SOURCE";
  // what check does, with the same text and reason
  gantry_code checked = GANTRY_OK;
  // to which the failure belongs; -1: to none
  std::int64_t at_kernel = -1;

  static gantry_code check(void* self, const gantry_build* what, gantry_status* status) {
    auto& to = *static_cast<FakeGenerator*>(self);
    EXPECT_EQ(what->source_count, 0u);
    if (to.checked == GANTRY_OK) return GANTRY_OK;
    return gantry_fail(status, to.checked, to.reason.c_str(), to.text.c_str());
  }

  static gantry_code build(void* self, const gantry_build* what, const gantry_sink* sink,
                           gantry_status* status) {
    auto& to = *static_cast<FakeGenerator*>(self);
    ++to.calls;
    to.kind = view_of(what->kind);
    to.target = view_of(what->target);
    to.argument_tags = what->argument_tags;
    to.flags = what->flags;
    for (std::uint64_t i = 0; i < what->source_count; ++i) {
      const gantry_source& source = what->sources[i];
      to.sources.push_back(
          concat(view_of(source.name), ' ', view_of(source.language), ' ', view_of(source.text)));
    }
    for (std::uint64_t i = 0; i < what->kernel_count; ++i) {
      const gantry_kernel_record& kernel = what->kernels[i];
      to.kernels.push_back(concat(view_of(kernel.name), ' ', kernel.source, ' ',
                                  kernel.argument_count, ' ', view_of(kernel.launch_tags[0])));
    }
    what->diagnostic(what->self, GANTRY_LOG_WARNING, gantry_text("a.npu:2: unused\n"));
    if (!to.log.empty())
      what->diagnostic(what->self, GANTRY_LOG_ERROR, gantry_bytes{to.log.data(), to.log.size()});
    if (to.at_kernel >= 0) what->at_kernel(what->self, static_cast<std::uint64_t>(to.at_kernel));
    if (to.code != GANTRY_OK)
      return gantry_fail(status, to.code, to.reason.c_str(), to.text.c_str());
    if (!to.payload.empty()) {
      return sink->write(sink->self, to.payload.data(), to.payload.size(), status);
    }
    return sink->write(sink->self, "payload", to.size, status);
  }
};

class GeneratedPayload : public ::testing::Test {
 protected:
  GeneratedPayload() {
    TargetKind npu{.name = "npu", .type_key = "acme.npu", .languages = {"npu"}};
    npu.options = {{"cores", TargetType::integer, TargetValue(std::int64_t{4}), ""}};
    TargetKind cuda{.name = "cuda", .type_key = "cuda", .languages = {"cuda"}};
    cuda.options = {{"arch", TargetType::text, {}, ""}};
    kinds.add(std::move(npu), "acme.npu");
    kinds.add(std::move(cuda), "gantry.cuda");
    kinds.add({.name = "opencl", .type_key = "opencl", .languages = {"opencl"}}, "gantry.opencl");
    file("a.cl", "__kernel void a() {}");
    file("a.npu", "code of a");
    file("a.cu", "extern \"C\" __global__ void a() {}");
    generators.tools.directory = directory.path();
    generators.tools.scratch = directory.path();
    generators.kinds = &kinds;
    generators.tools.programs.nvcc = {"no-nvcc"};
    generators.warn = [this](const Message& text) { warnings.push_back(text); };
    generators.open_plugin = [this](std::string_view plugin) -> Result<Generator> {
      opened.emplace_back(plugin);
      gantry_generator table{sizeof table, 0, FakeGenerator::build, FakeGenerator::check};
      return Generator{std::string(plugin), table, &generator, nullptr};
    };
  }
  void file(std::string_view name, std::string_view text) const {
    test::write_file(directory / name, text);
  }
  static DeviceModuleSource module(std::string type_key, std::string source) {
    DeviceModuleSource made{
        type_key,
        type_key,
        "",
        {{"a", {{3, 64, 1}}, {"blockIdx.x"}, std::move(source), "r.yaml:4:7: a"}},
        "r.yaml:3:1: module"};
    made.target_location = "r.yaml:3:9: target";
    return made;
  }
  std::vector<std::uint8_t> write(const DeviceModuleSource& module) const {
    Pieces out;
    const Status written = write_device_payload(module, generators, out);
    EXPECT_TRUE(written.ok()) << written.error().message;
    return test::bytes_of(out);
  }
  Error refused(const DeviceModuleSource& module) const {
    Pieces out;
    const Status written = write_device_payload(module, generators, out);
    EXPECT_FALSE(written.ok());
    EXPECT_EQ(out.size(), 0u);
    return written.ok() ? Error() : written.error();
  }
  // A payload of the kernel `a`.
  static std::vector<std::uint8_t> payload(std::string_view format, std::string_view code) {
    const Words words = test::kernel_words(format, "a").str(code);
    return {words.bytes().begin(), words.bytes().end()};
  }

  const test::TempDir directory;
  TargetKinds kinds;
  FakeGenerator generator;
  Generators generators;
  std::vector<std::string> opened, warnings;
};

TEST_F(GeneratedPayload, IsWhatThePluginOfTheTypeKeyWrites) {
  DeviceModuleSource what = module("acme.npu", "a.npu");
  what.kernels.push_back(what.kernels[0]);
  what.kernels[1].name = "b";

  const std::vector<std::uint8_t> bytes = write(what);

  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "payload");
  EXPECT_THAT(opened, ElementsAre("acme.npu"));
  EXPECT_EQ(generator.kind, "npu");
  EXPECT_EQ(generator.target, R"({"kind":"npu","tag":"","keys":[],"cores":4})");
  EXPECT_THAT(generator.sources, ElementsAre("a.npu npu code of a"));
  EXPECT_THAT(generator.kernels, ElementsAre("a 0 1 blockIdx.x", "b 0 1 blockIdx.x"));
  EXPECT_EQ(generator.argument_tags, std::uint32_t{GANTRY_ARGUMENT_TAGS_NO});
  EXPECT_THAT(warnings, ElementsAre("a.npu:2: unused"));
}

TEST_F(GeneratedPayload, HasTheKernelRecordsOfItsGeneration) {
  for (const Generation generation : {Generation::g4, Generation::g5}) {
    Pieces out;

    ASSERT_TRUE(
        write_device_payload(module("acme.npu", "a.npu"), generators, out, generation).ok());

    EXPECT_EQ(generator.argument_tags, std::uint32_t{GANTRY_ARGUMENT_TAGS_YES});
  }
}

// A generator has no names for them, and every loader of the generation reads some.
TEST_F(GeneratedPayload, OfGeneration5HasTheNamesOfItsKernels) {
  const auto payload = [](std::string_view name) {
    const Words words =
        Words().str("ptx").u64(1).str("a").str(name).u64(0).u64(1).str("tirx.x").u64(0).str("ptx");
    return std::vector<std::uint8_t>(words.bytes().begin(), words.bytes().end());
  };
  generator.payload = payload("");
  DeviceModuleSource what = module("cuda", "a.cu");
  what.kernels[0].launch = {"tir.use_dyn_shared_memory"};
  Pieces out;

  const Status written = write_device_payload(what, generators, out, Generation::g5);

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(test::bytes_of(out), payload("a"));
  EXPECT_THAT(generator.kernels, ElementsAre("a 0 1 tirx.use_dyn_shared_memory"));
  generator.payload = {1, 2, 3};
  const Status refused = write_device_payload(what, generators, out, Generation::g5);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::malformed);
  EXPECT_THAT(
      refused.error().message.text(),
      ::testing::EndsWith("\n  in what generator gantry.cuda builds\n  r.yaml:3:1: module"));
}

TEST_F(GeneratedPayload, IsForTheTargetOfTheRecipe) {
  DeviceModuleSource what = module("acme.npu", "a.npu");
  what.target = "npu -cores=8";

  write(what);

  EXPECT_EQ(generator.target, R"({"kind":"npu","tag":"","keys":[],"cores":8})");
}

TEST_F(GeneratedPayload, HasTheWholeLogInItsError) {
  generator.code = GANTRY_UNSUPPORTED;
  generator.text = "source does not compile";
  generator.log = "a.npu:1: error: no\n1 error\n";

  const Error error = refused(module("acme.npu", "a.npu"));

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_EQ(error.reason, "CUDA_SOURCE");
  EXPECT_EQ(error.message,
            "source does not compile\n  a.npu:1: error: no\n  1 error\n  r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, HasTheLocationOfTheKernelInItsError) {
  generator.code = GANTRY_UNSUPPORTED;
  generator.text = "source does not compile";
  generator.at_kernel = 0;
  EXPECT_EQ(refused(module("acme.npu", "a.npu")).message,
            "source does not compile\n  r.yaml:4:7: a");

  // There is no such kernel.
  generator.at_kernel = 1;
  EXPECT_EQ(refused(module("acme.npu", "a.npu")).message,
            "source does not compile\n  r.yaml:3:1: module");
}

// An exception must not reach the plugin, which may be in C.
TEST_F(GeneratedPayload, FailsIfThereIsNoMemoryForAText) {
  generators.warn = [](const Message&) { throw std::bad_alloc(); };

  const Error error = refused(module("acme.npu", "a.npu"));

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.message, "out of memory\n  r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, FailsIfThereIsNoMemoryForIt) {
  generator.size = std::uint64_t{1} << 63;

  const Error error = refused(module("acme.npu", "a.npu"));

  EXPECT_EQ(error.code, Code::bug);
  // The first line is that of the C++ library.
  EXPECT_THAT(error.message, ::testing::EndsWith("\n  r.yaml:3:1: module"));
}

struct WrongModule {
  std::string type_key, source, target;
  KernelCode code = KernelCode::automatic;
  std::string message;
};
TEST_F(GeneratedPayload, IsRefusedForAWrongModule) {
  for (const WrongModule& wrong : {
           WrongModule{"acme.npv", "a.npu", "", KernelCode::automatic,
                       "no code generator builds payloads of type key \"acme.npv\", did you mean "
                       "\"acme.npu\"; known type keys: acme.npu, cuda, opencl, vulkan\n  "
                       "r.yaml:3:1: module"},
           WrongModule{"acme.npu", "a.cu", "", KernelCode::automatic,
                       "source \"a.cu\" is of language \"cuda\", payloads of type key \"acme.npu\" "
                       "are built from npu\n  r.yaml:3:1: module"},
           WrongModule{
               "acme.npu", "a.npu", "npu -core=1", KernelCode::automatic,
               "option \"core\" of target kind \"npu\" not found, did you mean \"cores\"; "
               "options: cores, device, from_device, libs, model, target_device_type\n  for "
               "r.yaml:3:9: target"},
           WrongModule{"acme.npu", "a.npu", "cuda", KernelCode::automatic,
                       "target kind \"cuda\" has no generator of payloads of type key "
                       "\"acme.npu\"\n  for r.yaml:3:9: target"},
           WrongModule{"acme.npu", "a.npu", "llvm", KernelCode::automatic,
                       "target kind \"llvm\" has no generator of payloads of type key "
                       "\"acme.npu\"\n  for r.yaml:3:9: target"},
           WrongModule{"acme.npu", "a.npu", "", KernelCode::source,
                       "payloads of type key \"acme.npu\" contain no source, code: source requires "
                       "cuda or opencl\n  r.yaml:3:1: module"},
           WrongModule{"vulkan", "a.npu", "", KernelCode::source,
                       "payloads of type key \"vulkan\" contain no source, code: source requires "
                       "cuda or opencl\n  r.yaml:3:1: module"},
           WrongModule{"cuda", "a.npu", "", KernelCode::automatic,
                       "source \"a.npu\" is of language \"npu\", payloads of type key \"cuda\" "
                       "are built from cuda\n  r.yaml:3:1: module"},
           WrongModule{"opencl", "a.npu", "", KernelCode::automatic,
                       "source \"a.npu\" is of language \"npu\", payloads of type key \"opencl\" "
                       "are built from opencl\n  r.yaml:3:1: module"},
           WrongModule{"vulkan", "a.npu", "", KernelCode::automatic,
                       "source \"a.npu\" is of language \"npu\", payloads of type key \"vulkan\" "
                       "are built from glsl, spirv\n  r.yaml:3:1: module"},
           WrongModule{"vulkan", "a.npu", "cuda", KernelCode::automatic,
                       "target kind \"cuda\" has no generator of payloads of type key "
                       "\"vulkan\"\n  for r.yaml:3:9: target"},
       }) {
    DeviceModuleSource what = module(wrong.type_key, wrong.source);
    what.target = wrong.target;
    what.code = wrong.code;

    EXPECT_EQ(refused(what).message, wrong.message);
  }
  EXPECT_EQ(generator.calls, 0);
}

// Without a target, the source requires neither a plugin nor a driver.
TEST_F(GeneratedPayload, OfOpenclIsBuiltByThePluginForATargetOrIfTheRecipeRequiresCode) {
  DeviceModuleSource what = module("opencl", "a.cl");
  what.format = "cl";
  const std::vector<std::uint8_t> source = write(what);
  EXPECT_EQ(source, payload("cl", "// Function: a\n__kernel void a() {}\n"));
  EXPECT_EQ(generator.calls, 0);

  what.target = "opencl";
  EXPECT_EQ(write(what).size(), 7u);
  EXPECT_EQ(generator.calls, 1);
  EXPECT_EQ(generator.flags, 0u);

  what.code = KernelCode::source;
  EXPECT_EQ(write(what), source);
  EXPECT_EQ(generator.calls, 1);

  what.code = KernelCode::compiled;
  what.target.clear();
  EXPECT_EQ(write(what).size(), 7u);
  EXPECT_EQ(generator.calls, 2);
  EXPECT_EQ(generator.flags, std::uint32_t{GANTRY_BUILD_COMPILED});

  kinds = TargetKinds();
  EXPECT_EQ(refused(what).message,
            "no installed plugin generates \"opencl\" code, which code: compiled requires; "
            "`gantry targets` lists the generators\n  r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, OfCudaIsCompiledByThePlugin) {
  DeviceModuleSource what = module("cuda", "a.cu");
  what.target = "cuda -arch=sm_90";

  const std::vector<std::uint8_t> bytes = write(what);

  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "payload");
  EXPECT_EQ(generator.target, R"({"kind":"cuda","tag":"","keys":[],"arch":"sm_90"})");
}

TEST_F(GeneratedPayload, OfCudaIsCompiledByNvccIfThePluginHasNoCompiler) {
  generator.checked = GANTRY_UNAVAILABLE;
  generator.text = "NVRTC is missing";
  generators.tools.programs.nvcc = {
      "sh", "-c", R"(echo "$@" > args; cat "$5" >> args; printf '.visible .entry a() {}' > "$4")",
      "sh"};
  DeviceModuleSource what = module("cuda", "a.cu");
  what.target = "cuda -arch=sm_90a";

  EXPECT_EQ(write(what), payload("ptx", ".visible .entry a() {}"));

  const std::vector<std::uint8_t> args = test::read_file(directory / "args");
  EXPECT_EQ(std::string(args.begin(), args.end()),
            concat("-ptx -arch=compute_90a -o ", (directory / "kernels.ptx").native(), " ",
                   (directory / "kernels.cu").native(), "\n#include \"",
                   (directory / "a.cu").native(), "\"\n"));
  generators.tools.programs.nvcc = {"sh", "-c", R"(printf '.visible .entry b() {}' > "$4")", "sh"};
  const Error missing = refused(what);
  EXPECT_EQ(missing.code, Code::unsupported);
  EXPECT_EQ(missing.reason, "KERNEL");
  EXPECT_EQ(missing.message,
            "source \"a.cu\" has no kernel \"a\", expected: extern \"C\" __global__ void "
            "a(...)\n  r.yaml:4:7: a");
  generators.tools.programs.nvcc = {"sh", "-c", "echo 'a.cu(1): error: no'; exit 2"};
  EXPECT_EQ(refused(what).message,
            "CUDA compiler \"sh\" exits with status 2, expected 0\n  a.cu(1): error: no\n  "
            "r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, OfCudaIsTheSourceIfNothingCompilesIt) {
  generator.checked = GANTRY_UNAVAILABLE;
  generator.text = "NVRTC is missing";

  EXPECT_EQ(write(module("cuda", "a.cu")),
            payload("cuda", "#line 1 \"a.cu\"\nextern \"C\" __global__ void a() {}\n"));

  EXPECT_EQ(warnings.back(),
            "CUDA C++ is stored as source, which the host that loads the artifact compiles with "
            "NVRTC: this host has neither NVRTC nor nvcc\n  r.yaml:3:1: module");
  kinds = TargetKinds();
  EXPECT_EQ(write(module("cuda", "a.cu")),
            payload("cuda", "#line 1 \"a.cu\"\nextern \"C\" __global__ void a() {}\n"));
}

TEST_F(GeneratedPayload, OfCudaIsTheSourceOnRequest) {
  DeviceModuleSource what = module("cuda", "a.cu");
  what.code = KernelCode::source;

  EXPECT_EQ(write(what),
            payload("cuda", "#line 1 \"a.cu\"\nextern \"C\" __global__ void a() {}\n"));

  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(generator.calls, 0);
}

TEST_F(GeneratedPayload, OfCudaFailsWithoutACompilerIfTheRecipeRequiresOne) {
  generator.checked = GANTRY_UNAVAILABLE;
  generator.text = "NVRTC is missing";
  DeviceModuleSource what = module("cuda", "a.cu");
  what.code = KernelCode::compiled;

  const Error error = refused(what);

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(
      error.message,
      "NVRTC is missing\n  nvcc: program \"no-nvcc\" cannot be started: No such file or directory"
      "\n  code: compiled requires a compiler\n  r.yaml:3:1: module");
}

// Stored source instead of code would hide the failure.
TEST_F(GeneratedPayload, OfCudaFailsIfACompilerFails) {
  generator.code = GANTRY_UNAVAILABLE;
  generator.reason = "HEADER_MISSING";
  generator.text = "a header is missing";
  EXPECT_EQ(refused(module("cuda", "a.cu")).message, "a header is missing\n  r.yaml:3:1: module");

  generator.checked = GANTRY_UNAVAILABLE;
  generators.tools.programs.nvcc = {"sh", "-c", "kill -9 $$"};
  EXPECT_EQ(refused(module("cuda", "a.cu")).message,
            "CUDA compiler \"sh\" is terminated by signal 9\n  r.yaml:3:1: module");
  generators.tools.programs.nvcc = {"true"};
  EXPECT_THAT(refused(module("cuda", "a.cu")).message.text(), HasSubstr("kernels.ptx"));
}

// A wrong target, or a plugin that cannot be opened, is not passed over.
TEST_F(GeneratedPayload, OfCudaFailsIfACheckFails) {
  generators.tools.programs.nvcc = {"sh", "-c", R"(printf '.visible .entry a() {}' > "$4")", "sh"};
  generator.checked = GANTRY_INVALID;
  generator.text = "arch is wrong";
  EXPECT_EQ(refused(module("cuda", "a.cu")).message, "arch is wrong\n  r.yaml:3:1: module");

  generators.open_plugin = [](std::string_view) -> Result<Generator> {
    return unavailable("libcuda.so is missing");
  };
  EXPECT_EQ(refused(module("cuda", "a.cu")).message, "libcuda.so is missing\n  r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, OfCudaFailsIfNvccMustNotRun) {
  generator.checked = GANTRY_UNAVAILABLE;
  generator.text = "NVRTC is missing";
  file("nvcc", "#!/bin/sh\n");
  std::filesystem::permissions(directory / "nvcc", std::filesystem::perms::owner_all);
  generators.tools.programs.nvcc = {"nvcc"};
  const std::string path = std::filesystem::relative(directory.path());
  generators.tools.programs.search = {.path = path, .allow_relative = false};

  const Error error = refused(module("cuda", "a.cu"));

  EXPECT_EQ(error.reason, "SECURE");
  EXPECT_EQ(error.message, concat("program \"nvcc\" is in the relative directory ", quoted(path),
                                  " of PATH, which this secure process does not use; make it "
                                  "absolute\n  r.yaml:3:1: module"));
}

TEST_F(GeneratedPayload, OfCudaFailsIfItsFilesCannotBeWritten) {
  generator.checked = GANTRY_UNAVAILABLE;
  generators.tools.programs.nvcc = {"true"};
  generators.tools.scratch = directory / "none";

  EXPECT_EQ(refused(module("cuda", "a.cu")).message,
            concat((directory / "none/kernels.cu").native(),
                   ": No such file or directory while creating it\n  r.yaml:3:1: module"));
}

// The PTX of the module before it has the same kernel.
TEST_F(GeneratedPayload, OfCudaIsNotThatOfAnotherModule) {
  kinds = TargetKinds();
  generators.tools.programs.nvcc = {"sh", "-c", R"(printf '.visible .entry a() {}' > "$4")", "sh"};
  write(module("cuda", "a.cu"));
  generators.tools.programs.nvcc = {"true"};

  EXPECT_EQ(refused(module("cuda", "a.cu")).code, Code::not_found);
}

TEST_F(GeneratedPayload, OfCudaIsRefusedByNvccAsByThePlugin) {
  generator.checked = GANTRY_UNAVAILABLE;
  generators.tools.programs.nvcc = {"sh", "-c", R"(printf '.visible .entry a() {}' > "$4")", "sh"};
  for (const char* arch : {"gfx90a", "90", "sm_", "sm_9", "sm_90b", "sm_12345"}) {
    DeviceModuleSource what = module("cuda", "a.cu");
    what.target = concat("cuda -arch=", arch);

    const Error error = refused(what);

    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_EQ(error.message, concat("arch of the target is ", quoted(arch),
                                    ", expected sm_75, sm_90a or the like\n  r.yaml:3:1: module"));
  }
}

// No text in #include stands for these characters.
TEST_F(GeneratedPayload, OfCudaHasNoSourceWhoseNameCannotBeIncluded) {
  generator.checked = GANTRY_UNAVAILABLE;
  generators.tools.programs.nvcc = {"sh", "-c", R"(printf '.visible .entry a() {}' > "$4")", "sh"};
  for (const char* name : {"a\".cu", "a\\.cu", "a\n.cu"}) {
    file(name, "extern \"C\" __global__ void a() {}");

    const Error error = refused(module("cuda", name));

    EXPECT_EQ(error.code, Code::invalid);
    EXPECT_EQ(error.message,
              concat("path ", quoted((directory / name).native()),
                     " of a source has a quote, a backslash or the end of a line, which the path "
                     "of a source for nvcc must not have\n  r.yaml:3:1: module"));
  }
}

TEST_F(GeneratedPayload, OfCudaFailsIfItsSourceDoesNotCompile) {
  generator.code = GANTRY_UNSUPPORTED;
  generator.text = "a.cu(1): error: no";

  EXPECT_EQ(refused(module("cuda", "a.cu")).message, "a.cu(1): error: no\n  r.yaml:3:1: module");
}

TEST_F(GeneratedPayload, NamesAMissingSource) {
  const Error error = refused(module("acme.npu", "none.npu"));

  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.message.text(), HasSubstr((directory / "none.npu").native()));
  EXPECT_THAT(error.message.text(), ::testing::EndsWith("\n  r.yaml:4:7: a"));
}

}  // namespace
}  // namespace gantry
