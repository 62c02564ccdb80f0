// SPDX-License-Identifier: Apache-2.0
//
// `gantry repack` with golden artifacts.
#include "tests/golden/cli_command.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

#include <gantry/quoted.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Args = std::vector<std::string>;

class Repack : public ::testing::Test {
 protected:
  Repack() {
    write_file(temp_ / "junk.bin", std::string(100, '\0'));
    fs::create_directory(temp_ / "out");
  }

  std::string path(std::string_view name) const { return (temp_ / name).string(); }
  // Runs `repack FILE -o out/NAME` with the plugins of this build.
  Outcome repack(const std::string& file, const std::string& output, Args more = {}) const {
    Args args{"--plugins", built_plugins(),
              "--config",  "/dev/null",
              "repack",    file,
              "-o",        output == "-" ? output : path("out/" + output)};
    args.insert(args.end(), more.begin(), more.end());
    return run_gantry(args);
  }
  // Expects that the command fails with this text and leaves no file.
  void expect_refused(const Outcome& outcome, const std::string& err) const {
    EXPECT_EQ(outcome.status, 1);
    EXPECT_EQ(outcome.err, err);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_TRUE(fs::is_empty(temp_ / "out"));
  }
  json inspected(const std::string& file) const {
    return json::parse(run_gantry({"inspect", file, "--json"}).out);
  }
  // "0 GraphExecutorFactory 30355 [1]"
  std::vector<std::string> modules_of(const std::string& file) const {
    std::vector<std::string> lines;
    const json report = inspected(file);
    for (const json& module : report["modules"]) {
      lines.push_back(concat(module["index"].get<int>(), " ", module["type_key"].get<std::string>(),
                             " ", module["size"].get<int>(), " ", module["imports"].dump()));
    }
    return lines;
  }
  // Returns a container of the second module alone, in the layout of the file.
  std::vector<std::uint8_t> container_of_second_module(const std::string& file) const {
    const json report = inspected(file);
    const json& module = report["modules"][1];
    const std::string key = module["type_key"].get<std::string>();
    const std::vector<std::uint8_t> all = read_file(golden(file));
    const std::span payload = std::span(all).subspan(module["file_offset"].get<std::size_t>(),
                                                     module["size"].get<std::size_t>());
    Words content;
    if (report["generation"] == "G5") {
      content.u64s({0, 0}).u64s({}).str(key).u64(payload.size()).bytes(payload);
    } else {
      content.u64(2).str(key).bytes(payload).str("_import_tree").u64s({0, 0}).u64s({});
    }
    const Words container = Words().u64(content.size()).bytes(content.bytes());
    return {container.bytes().begin(), container.bytes().end()};
  }
  // Extracts the payloads of a file; returns the path of one of them.
  std::string payload(const std::string& file, const std::string& name) const {
    const std::string directory = path("payloads");
    EXPECT_EQ(run_gantry({"inspect", file, "--extract", directory}).status, 0);
    return directory + "/" + name;
  }

  const TempDir temp_;
};

TEST_F(Repack, DropsAModule) {
  const Outcome outcome = repack("tvm-0.12/digits_mlp_opencl.so", "cpu.so", {"--drop", "opencl"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "index  type key              bytes  from\n"
            "    0  GraphExecutorFactory  30355  module 0\n"
            "    1  _lib                      0  module 1\n");
  EXPECT_THAT(modules_of(path("out/cpu.so")),
              ElementsAre("0 GraphExecutorFactory 30355 [1]", "1 _lib 0 []"));
  EXPECT_EQ(inspected(path("out/cpu.so"))["functions"],
            inspected("tvm-0.12/digits_mlp_opencl.so")["functions"]);
}

TEST_F(Repack, OfAModelComputesTheSameOutputs) {
  ASSERT_EQ(repack("tvm-0.12/resnet20_llvm.so", "model.so").status, 0);

  const Outcome run =
      run_gantry({"--plugins", built_plugins("graph"), "run", path("out/model.so"), "--input",
                  "data=tvm-0.12/resnet20.input.npz", "--each", "--expect",
                  "tvm-0.12/resnet20_llvm.expected.npz", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
  struct stat before {
  }, after{};
  ASSERT_EQ(stat(golden("tvm-0.12/resnet20_llvm.so").c_str(), &before), 0);
  ASSERT_EQ(stat(path("out/model.so").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode, before.st_mode);
}

TEST_F(Repack, OfItsResultWritesTheSameFile) {
  ASSERT_EQ(repack("tvm-0.25/digits_mlp_relax_llvm.so", "first.so").status, 0);
  ASSERT_EQ(repack(path("out/first.so"), "second.so").status, 0);

  EXPECT_EQ(read_file(temp_ / "out/first.so"), read_file(temp_ / "out/second.so"));
}

TEST_F(Repack, WritesTheContainerThatTvmWrote) {
  const Outcome outcome = repack("tvm-0.12/digits_mlp_opencl.so", "c.bin", {"--form", "container"});

  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err,
            "gantry: warning: not loaded: entry 1 \"_lib\" of c.bin is not bound: the file is a "
            "container without it\n");
  const json report = inspected("tvm-0.12/digits_mlp_opencl.so");
  const json& opencl = report["modules"][2];
  const std::size_t begin =
      opencl["file_offset"].get<std::size_t>() - opencl["offset"].get<std::size_t>();
  const std::vector<std::uint8_t> library = read_file(golden("tvm-0.12/digits_mlp_opencl.so"));
  const std::vector<std::uint8_t> container = read_file(temp_ / "out/c.bin");
  ASSERT_EQ(container.size(), 42495u);
  EXPECT_TRUE(std::equal(container.begin(), container.end(),
                         library.begin() + static_cast<std::ptrdiff_t>(begin)));
}

TEST_F(Repack, AddsAndReplacesModulesOfABareContainer) {
  const std::string opencl = payload("tvm-0.12/axpy2_opencl.so", "1-opencl.bin");
  const std::string cuda = payload("tvm-0.12/axpy2_cuda_ptx75.so", "1-cuda.bin");
  ASSERT_EQ(repack("tvm-0.12/digits_mlp_opencl.so", "a.bin", {"--form", "container"}).status, 0);

  const Outcome outcome = repack(path("out/a.bin"), "b.bin",
                                 {"--replace", "opencl=" + opencl, "--add", "cuda=" + cuda, "--add",
                                  "cuda=" + cuda + "@opencl", "--json", "--quiet"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(modules_of(path("out/b.bin")),
              ElementsAre("0 GraphExecutorFactory 30355 [1]", "1 _lib 0 [2,3]", "2 opencl 957 [4]",
                          "3 cuda 2008 []", "4 cuda 2008 []"));
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["file"], path("out/a.bin"));
  EXPECT_EQ(report["form"], "container");
  EXPECT_EQ(report["generation"], "G3");
  EXPECT_EQ(report["bytes"], fs::file_size(temp_ / "out/b.bin"));
  EXPECT_EQ(report["modules"][0]["from"], 0);
  EXPECT_EQ(report["modules"][2]["from"], nullptr);
  EXPECT_EQ(report["modules"][4]["size"], 2008);
  EXPECT_EQ(report["dropped"], json::parse(R"([{"index": 2, "type_key": "opencl"}])"));
  EXPECT_EQ(report["loaded"], true);
  EXPECT_THAT(report["warnings"].dump(), HasSubstr("entry 1 \\\"_lib\\\" of b.bin is not bound"));
}

TEST_F(Repack, ReportsWhatWasLoadedAndWhatHasNoPlugin) {
  const Outcome loaded = repack("tvm-0.12/digits_mlp_llvm.so", "a.so", {"--json"});
  // The key of TVM's example, which no plugin serves.
  const Words graph = Words().str("{}");
  write_file(temp_ / "graph.bin",
             std::string(reinterpret_cast<const char*>(graph.bytes().data()), graph.size()));
  const std::string added = "examplejson=" + path("graph.bin");
  const Outcome missing = repack("tvm-0.12/digits_mlp_llvm.so", "b.so", {"--json", "--add", added});
  const Outcome skipped =
      repack("tvm-0.12/digits_mlp_llvm.so", "c.so", {"--json", "--no-load", "--add", added});

  EXPECT_EQ(json::parse(loaded.out)["loaded"], true);
  EXPECT_THAT(loaded.err, IsEmpty());
  EXPECT_EQ(json::parse(missing.out)["loaded"], true);
  EXPECT_THAT(missing.err, StartsWith("gantry: warning: not loaded: entry 2 \"examplejson\" of "
                                      "b.so is not bound: no plugin offers it"));
  EXPECT_EQ(json::parse(skipped.out)["loaded"], false);
  EXPECT_THAT(skipped.err, IsEmpty());
}

// A library of two containers without CPU code.
TEST_F(Repack, RewritesTheContainerOfAPrefix) {
  const std::vector<std::uint8_t> cuda = container_of_second_module("tvm-0.12/axpy2_cuda_ptx75.so");
  write_file(temp_ / "two.so", ElfBuilder()
                                   .hash(ElfBuilder::Hash::both)
                                   .object("a___tvm_dev_mblob", cuda)
                                   .object("b___tvm_dev_mblob",
                                           container_of_second_module("tvm-0.12/axpy2_opencl.so"))
                                   .note("GNU", 3, {})
                                   .build());
  const std::string added = "cuda=" + payload("tvm-0.12/axpy2_cuda_ptx75.so", "1-cuda.bin");
  const auto modules_at = [&](const std::string& file, const std::string& prefix) {
    const Outcome outcome =
        repack(file, "a.bin", {"--prefix", prefix, "--form", "container", "--no-load", "-q"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return modules_of(path("out/a.bin"));
  };

  const Outcome first = repack(path("two.so"), "first.so", {"--no-load", "--add", added, "--json"});
  const Outcome second =
      repack(path("two.so"), "second.so", {"--no-load", "--add", added, "--prefix", "b_"});
  const Outcome object =
      repack(path("two.so"), "b.o", {"--no-load", "--form", "object", "--prefix", "b_"});

  EXPECT_EQ(first.status, 0);
  EXPECT_THAT(first.err, StartsWith("gantry: warning: file contains another container at symbol "
                                    "b___tvm_dev_mblob\n"));
  EXPECT_EQ(json::parse(first.out)["warnings"][0],
            "file contains another container at symbol b___tvm_dev_mblob");
  EXPECT_EQ(second.status, 0);
  EXPECT_THAT(second.err, StartsWith("gantry: warning: file contains another container at symbol "
                                     "a___tvm_dev_mblob\n"));
  EXPECT_EQ(object.status, 0) << object.err;
  EXPECT_EQ(inspected(path("out/b.o"))["symbols"]["blob"], "b___tvm_dev_mblob");
  EXPECT_THAT(modules_at(path("out/first.so"), "a_"),
              ElementsAre("0 cuda 2008 [1]", "1 cuda 2008 []"));
  EXPECT_THAT(modules_at(path("out/first.so"), "b_"), ElementsAre("0 opencl 957 []"));
  EXPECT_THAT(modules_at(path("out/second.so"), "b_"),
              ElementsAre("0 opencl 957 [1]", "1 cuda 2008 []"));
  EXPECT_THAT(modules_at(path("out/second.so"), "a_"), ElementsAre("0 cuda 2008 []"));
  EXPECT_EQ(read_file(temp_ / "out/a.bin"), cuda);
}

TEST_F(Repack, RefusesAPrefixWithoutAContainer) {
  write_file(temp_ / "a.bin", container_of_second_module("tvm-0.12/axpy2_opencl.so"));

  expect_refused(
      repack("tvm-0.12/axpy2_opencl.so", "a.so", {"--prefix", "a_"}),
      "gantry: container with the prefix \"a_\" not found; containers: __tvm_dev_mblob\n");
  expect_refused(repack("tvm-0.12/axpy2_llvm.so", "a.so", {"--prefix", "a_"}),
                 "gantry: container with the prefix \"a_\" not found; containers: none\n");
  expect_refused(repack(path("a.bin"), "b.bin", {"--prefix", "a_"}),
                 "gantry: prefix \"a_\" selects a container by its symbol, " +
                     quoted(path("a.bin")) + " is a container without symbols\n");
}

TEST_F(Repack, WritesToStandardOutput) {
  ASSERT_EQ(repack("tvm-0.12/digits_mlp_llvm.so", "a.so").status, 0);

  const Outcome stream = repack("tvm-0.12/digits_mlp_llvm.so", "-");

  ASSERT_EQ(stream.status, 0) << stream.err;
  const auto file = read_file(temp_ / "out/a.so");
  EXPECT_EQ(stream.out, std::string(file.begin(), file.end()));
}

// The constructor of its library ends the process that loads it.
TEST_F(Repack, ThatEndsItsProcessIsNotWritten) {
  write_file(temp_ / "end.c",
             "#include <stdio.h>\n#include <stdlib.h>\n"
             "__attribute__((constructor)) static void end(void) {\n"
             "  fputs(\"no device\\n\", stderr);\n  abort();\n}\n");
  write_file(temp_ / "end.yaml",
             "schema: \"1.0\"\nsources: [end.c]\n"
             "device_modules: [{type_key: npu, data: junk.bin}]\n");
  ASSERT_EQ(run_gantry({"pack", path("end.yaml"), "-o", path("end.so")}).status, 0);

  const Outcome refused = repack(path("end.so"), "a.so");

  expect_refused(refused,
                 "gantry: the result cannot be loaded: its code ended the process by signal 6 "
                 "(Aborted); its last output is \"no device\"\n"
                 "  while loading the result; --no-load writes it anyway\n");
  EXPECT_EQ(repack(path("end.so"), "a.so", {"--no-load"}).status, 0);
}

// Its constructor and its destructor print to standard output, one of them to the buffer of libc.
TEST_F(Repack, ThatPrintsLeavesStandardOutputToTheResult) {
  write_file(temp_ / "print.c",
             "#include <stdio.h>\n#include <unistd.h>\n"
             "__attribute__((constructor)) static void begin(void) { printf(\"begins\\n\"); }\n"
             "__attribute__((destructor)) static void end(void) {\n"
             "  if (write(1, \"ends\\n\", 5) != 5) _exit(1);\n}\n");
  write_file(temp_ / "print.yaml",
             "schema: \"1.0\"\nsources: [print.c]\n"
             "device_modules: [{type_key: npu, data: junk.bin}]\n");
  ASSERT_EQ(run_gantry({"pack", path("print.yaml"), "-o", path("print.so")}).status, 0);

  const Outcome file = repack(path("print.so"), "a.so", {"--json", "-q"});
  const Outcome stream = repack(path("print.so"), "-", {"-q"});

  EXPECT_EQ(file.status, 0) << file.err;
  EXPECT_EQ(json::parse(file.out)["loaded"], true) << file.out;
  EXPECT_THAT(file.err, HasSubstr("begins\n"));
  EXPECT_THAT(file.err, HasSubstr("ends\n"));
  EXPECT_EQ(stream.status, 0) << stream.err;
  const auto written = read_file(temp_ / "out/a.so");
  EXPECT_EQ(stream.out, std::string(written.begin(), written.end()));
}

// The constructor of its library adds a line to a file.
TEST_F(Repack, LoadsTheResultOnce) {
  write_file(temp_ / "count.c",
             "#include <fcntl.h>\n#include <unistd.h>\n"
             "__attribute__((constructor)) static void count(void) {\n"
             "  const int file = open(\"" +
                 path("count") +
                 "\", O_WRONLY | O_CREAT | O_APPEND, 0600);\n"
                 "  if (write(file, \"1\", 1) != 1) _exit(1);\n  close(file);\n}\n");
  write_file(temp_ / "count.yaml",
             "schema: \"1.0\"\nsources: [count.c]\n"
             "device_modules: [{type_key: npu, data: junk.bin}]\n");
  ASSERT_EQ(run_gantry({"pack", path("count.yaml"), "-o", path("count.so")}).status, 0);
  fs::remove(temp_ / "count");

  const Outcome outcome = repack(path("count.so"), "a.so", {"-q"});

  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(fs::file_size(temp_ / "count"), 1u);
}

// Loaders read the container of the least prefix, a_; that of b_ is loaded, too.
TEST_F(Repack, LoadsEveryContainerOfALibrary) {
  ASSERT_EQ(repack("tvm-0.25/digits_mlp_relax_llvm.so", "c.bin",
                   {"--drop", "_lib", "--form", "container"})
                .status,
            0);
  const std::vector<std::uint8_t> container = read_file(temp_ / "out/c.bin");
  fs::remove(temp_ / "out/c.bin");
  write_file(temp_ / "two.so", ElfBuilder()
                                   .hash(ElfBuilder::Hash::both)
                                   .object("a___tvm_ffi__library_bin", container)
                                   .object("b___tvm_ffi__library_bin", container)
                                   .note("GNU", 3, {})
                                   .build());
  const Args damage = {"--prefix", "b_", "--replace", "0=" + path("junk.bin"), "-q"};

  const Outcome refused = repack(path("two.so"), "a.so", damage);

  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, StartsWith("gantry: magic is 0x0, expected "));
  EXPECT_THAT(refused.err, HasSubstr("container at symbol b___tvm_ffi__library_bin"));
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));
  const Outcome good = repack(path("two.so"), "a.so", {"--prefix", "b_", "-q"});
  EXPECT_EQ(good.status, 0) << good.err;
}

TEST_F(Repack, ThatDoesNotLoadIsNotWritten) {
  const Outcome refused =
      repack("tvm-0.25/digits_mlp_relax_llvm.so", "a.so", {"--replace", "0=" + path("junk.bin")});

  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, StartsWith("gantry: magic is 0x0, expected "));
  EXPECT_THAT(refused.err, HasSubstr("\n  while loading the result; --no-load writes it anyway\n"));
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));

  const Outcome written = repack("tvm-0.25/digits_mlp_relax_llvm.so", "a.so",
                                 {"--replace", "0=" + path("junk.bin"), "--no-load"});

  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_THAT(modules_of(path("out/a.so")),
              ElementsAre("0 relax.VMExecutable 100 [1]", "1 _lib 0 []"));
}

TEST_F(Repack, RefusesAPayloadOfAnotherLayout) {
  const Outcome outcome =
      repack("tvm-0.12/digits_mlp_opencl.so", "a.so", {"--replace", "opencl=" + path("junk.bin")});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, HasSubstr("\n  in " + quoted(path("junk.bin")) +
                                     ", the payload of a module \"opencl\"\n"));
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));
}

TEST_F(Repack, RefusesAPayloadOfUnknownLength) {
  const Outcome outcome =
      repack("tvm-0.12/digits_mlp_opencl.so", "a.so",
             {"--add", "acme=" + path("junk.bin"), "--add", "acme=" + path("junk.bin")});

  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err,
              StartsWith("gantry: payload of module 3 \"acme\" has no known length; the manifest "
                         "of its plugin must declare its layout"));
  EXPECT_THAT(outcome.err, HasSubstr("\n  while reading the result again\n"));
  EXPECT_TRUE(fs::is_empty(temp_ / "out"));
}

TEST_F(Repack, RefusesToLoseModules) {
  expect_refused(
      repack("tvm-0.12/digits_mlp_opencl.so", "a.bin", {"--drop", "_lib", "--form", "container"}),
      "gantry: without the dropped modules, no module imports 2 \"opencl\"; drop it as "
      "well (--drop 2)\n");
}

TEST_F(Repack, RefusesToDropTheCpuCodeOfALibrary) {
  expect_refused(repack("tvm-0.12/digits_mlp_llvm.so", "a.so", {"--drop", "_lib"}),
                 "gantry: CPU code cannot be dropped from a library; write only its container "
                 "with --form container\n");
  EXPECT_EQ(
      repack("tvm-0.12/digits_mlp_llvm.so", "a.bin", {"--drop", "_lib", "--form", "container"})
          .status,
      0);
}

TEST_F(Repack, RefusesFilesWithoutAContainer) {
  expect_refused(repack("tvm-0.12/axpy2_llvm.so", "a.so"),
                 "gantry: file has no container\n  in \"tvm-0.12/axpy2_llvm.so\"\n");
  expect_refused(
      repack("tvm-0.12/digits_cpp_graph_c.tar", "a.so"),
      "gantry: \"tvm-0.12/digits_cpp_graph_c.tar\" is a tar archive (unpack it and use "
      "one of the files in it); expected a shared library, an object file or a bare container\n");
}

TEST_F(Repack, WritesOnlyTheContainerOfAnObject) {
  ASSERT_EQ(repack("tvm-0.12/axpy2_opencl.so", "a.bin", {"--form", "container"}).status, 0);
  const std::vector<std::uint8_t> container = read_file(temp_ / "out/a.bin");
  fs::remove(temp_ / "out/a.bin");
  write_file(temp_ / "devc.o", relocatable_object("__tvm_dev_mblob", container));

  expect_refused(repack(path("devc.o"), "a.o"),
                 "gantry: " + quoted(path("devc.o")) +
                     " is an object file, expected a shared library, so that only its container "
                     "can be written: --form container\n");
  expect_refused(repack("tvm-0.12/axpy2_opencl.so", "a.so", {"--drop", "7"}),
                 "gantry: module \"7\" not found; modules: 0 "
                 "\"_lib\", 1 \"opencl\"\n");

  ASSERT_EQ(repack(path("devc.o"), "b.bin", {"--form", "container"}).status, 0);
  EXPECT_EQ(read_file(temp_ / "out/b.bin"), container);
}

TEST_F(Repack, RefusesALibraryFromABareContainer) {
  ASSERT_EQ(repack("tvm-0.12/axpy2_opencl.so", "a.bin", {"--form", "container"}).status, 0);
  fs::rename(temp_ / "out/a.bin", temp_ / "a.bin");

  expect_refused(repack(path("a.bin"), "a.so", {"--form", "library"}),
                 "gantry: " + quoted(path("a.bin")) +
                     " has no library, so that only its container can be written: --form "
                     "container\n");
}

TEST_F(Repack, ReplacesOnlyArtifactsAndNoInput) {
  write_file(temp_ / "out/notes.txt", std::string("text"));
  const std::string opencl = payload("tvm-0.12/axpy2_opencl.so", "1-opencl.bin");
  const auto before = read_file(opencl);

  const Outcome notes = repack("tvm-0.12/axpy2_opencl.so", "notes.txt");
  const Outcome input = run_gantry(
      {"repack", "tvm-0.12/axpy2_opencl.so", "--replace", "opencl=" + opencl, "-o", opencl});
  const Outcome first = repack("tvm-0.12/axpy2_opencl.so", "a.so");
  const Outcome again = repack("tvm-0.12/axpy2_opencl.so", "a.so");

  EXPECT_EQ(notes.status, 1);
  EXPECT_EQ(notes.err, "gantry: cannot write " + quoted(path("out/notes.txt")) +
                           ": it exists and is not an ELF file; remove it or choose another "
                           "output\n");
  EXPECT_EQ(input.status, 1);
  EXPECT_THAT(input.err, HasSubstr(": it is an input of this command"));
  EXPECT_EQ(read_file(opencl), before);
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(again.status, 0);
}

TEST_F(Repack, RefusesTwoDocumentsOnStandardOutput) {
  expect_refused(repack("tvm-0.12/axpy2_opencl.so", "-", {"--json"}),
                 "gantry: standard output is used twice, by --output and --json\n");
}

TEST_F(Repack, MovesALibraryBetweenGenerationsOfOneAbi) {
  const Outcome converted =
      repack("tvm-0.12/resnet20_llvm.so", "g2.so", {"--generation", "g2", "--json"});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const json report = json::parse(converted.out);
  EXPECT_EQ(report["from_generation"], "G3");
  EXPECT_EQ(report["generation"], "G2");
  EXPECT_EQ(report["modules"][0]["type_key"], "GraphRuntimeFactory");

  const Outcome run =
      run_gantry({"--plugins", built_plugins("graph"), "run", path("out/g2.so"), "--input",
                  "data=tvm-0.12/resnet20.input.npz", "--each", "--expect",
                  "tvm-0.12/resnet20_llvm.expected.npz", "--atol", "1e-6"});

  EXPECT_EQ(run.status, 0) << run.err;
}

TEST_F(Repack, RefusesToMoveCpuCodeOfAnotherAbi) {
  expect_refused(repack("tvm-0.12/resnet20_llvm.so", "a.so", {"--generation", "g5"}),
                 "gantry: CPU code has the packed dialect (TVMValue), G5 (v0.22 and later) "
                 "requires the ffi dialect (TVMFFIAny)\n");
  expect_refused(repack("tvm-0.25/digits_mlp_relax_llvm.so", "a.so", {"--generation", "g3"}),
                 "gantry: CPU code has the ffi dialect (TVMFFIAny), G3 (v0.8 to v0.20) requires "
                 "the packed dialect (TVMValue)\n");
}

// Without CPU code, what TVM wrote is the same after a way through all generations.
TEST_F(Repack, MovesWhatTvmWroteThereAndBack) {
  struct {
    const char* file;
    std::vector<const char*> generations;
  } const artifacts[] = {
      {"tvm-0.25/digits_mlp_relax_opencl.so", {"g4", "g3", "g4", "g5"}},
      {"tvm-0.25/axpy2_vulkan.so", {"g4", "g2", "g5"}},
      {"tvm-0.25/axpy2_cuda_ptx75.so", {"g3", "g4", "g2", "g5"}},
      {"tvm-0.12/axpy2_vulkan.so", {"g5", "g4", "g3"}},
      {"tvm-0.12/axpy2_cuda_ptx75.so", {"g4", "g5", "g3"}},
  };
  for (const auto& artifact : artifacts) {
    // The root is CPU code: its module takes its place.
    const bool is_relax = std::string_view(artifact.file).find("relax") != std::string::npos;
    if (is_relax) {
      ASSERT_EQ(repack(artifact.file, "0.bin",
                       {"--form", "container", "--drop", "_lib", "--drop", "opencl", "-q"})
                    .status,
                0);
    } else {
      write_file(temp_ / "out/0.bin", container_of_second_module(artifact.file));
    }
    std::string from = "0.bin";
    for (const char* generation : artifact.generations) {
      const std::string to = concat(from, ".", generation);
      const Outcome converted = repack(path("out/" + from), to, {"--generation", generation, "-q"});
      ASSERT_EQ(converted.status, 0) << artifact.file << ": " << converted.err;
      EXPECT_NE(read_file(temp_ / ("out/" + to)), read_file(temp_ / ("out/" + from)))
          << artifact.file << " " << to;
      from = to;
    }
    EXPECT_EQ(read_file(temp_ / ("out/" + from)), read_file(temp_ / "out/0.bin")) << artifact.file;
  }
}

TEST_F(Repack, RefusesALibraryThatNamesItsContainerAsAnotherGeneration) {
  // a library whose container has no CPU code
  write_file(
      temp_ / "model.so",
      ElfBuilder()
          .function("other")
          .object("__tvm_dev_mblob", container_of_second_module("tvm-0.12/axpy2_cuda_ptx75.so"))
          .build());

  expect_refused(repack(path("model.so"), "a.so", {"--generation", "g5"}),
                 "gantry: the library has its container at __tvm_dev_mblob, where G5 does not read "
                 "it, so that only the container can be written: --form container\n");
  EXPECT_EQ(repack(path("model.so"), "a.bin", {"--generation", "g5", "--form", "container"}).status,
            0);
}

// The container of a library without CPU code under the name of another generation.
TEST_F(Repack, WritesAnObjectAndCSourceOfAContainer) {
  write_file(temp_ / "cuda.bin", container_of_second_module("tvm-0.12/axpy2_cuda_ptx75.so"));

  const Outcome object =
      repack(path("cuda.bin"), "cuda.o", {"--generation", "g5", "--form", "object", "--json"});
  const Outcome source =
      repack(path("cuda.bin"), "cuda.c", {"--generation", "g5", "--form", "source"});
  const Outcome bare = repack(path("cuda.bin"), "cuda5.bin", {"--generation", "g5"});

  ASSERT_EQ(object.status, 0) << object.err;
  EXPECT_EQ(json::parse(object.out)["form"], "object");
  const json report = inspected(path("out/cuda.o"));
  EXPECT_EQ(report["generation"], "G5");
  EXPECT_EQ(report["symbols"]["blob"], "__tvm_ffi__library_bin");
  EXPECT_EQ(report["modules"][0]["type_key"], "cuda");
  ASSERT_EQ(source.status, 0) << source.err;
  ASSERT_EQ(bare.status, 0) << bare.err;
  const auto text = read_file(temp_ / "out/cuda.c");
  EXPECT_THAT(std::string(text.begin(), text.end()),
              HasSubstr(concat("const unsigned char __tvm_ffi__library_bin[",
                               fs::file_size(temp_ / "out/cuda5.bin"), "]")));
}

TEST_F(Repack, AlignsTheParametersOfAModel) {
  ASSERT_EQ(repack("tvm-0.12/resnet20_llvm.so", "a.so", {"--align"}).status, 0);
  ASSERT_EQ(repack(path("out/a.so"), "b.so", {"--align"}).status, 0);

  EXPECT_EQ(read_file(temp_ / "out/a.so"), read_file(temp_ / "out/b.so"));
  const Outcome run =
      run_gantry({"--plugins", built_plugins("graph"), "run", path("out/a.so"), "--input",
                  "data=tvm-0.12/resnet20.input.npz", "--each", "--expect",
                  "tvm-0.12/resnet20_llvm.expected.npz", "--atol", "1e-6"});
  EXPECT_EQ(run.status, 0) << run.err;
  const std::string report = run_gantry({"inspect", path("out/a.so"), "-v"}).out;
  EXPECT_THAT(report, HasSubstr("__gantry_fill_"));
}

TEST_F(Repack, AlignsAndConvertsInTwoSteps) {
  expect_refused(repack("tvm-0.12/digits_mlp_llvm.so", "a.bin",
                        {"--align", "--generation", "g5", "--form", "container"}),
                 "gantry: payloads are not converted from G3 to G5 and aligned at once; align "
                 "the result in a second step\n");
}

// A sub-graph of one operator: the oneDNN plugin reads it while a file is loaded.
constexpr const char* relu_subgraph =
    R"({"nodes": [{"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[1, 4]]]}},
 {"op": "kernel", "name": "nn.relu", "inputs": [[0, 0, 0]],
  "attrs": {"num_inputs": "1", "num_outputs": "1", "dtype": [["float32"]], "shape": [[[1, 4]]]}}],
 "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]})";

// Modules of vendors.
class RepackVendors : public Repack {
 protected:
  RepackVendors() {
    const auto add = [&](const std::string& key, const Words& words) {
      const auto bytes = words.bytes();
      const std::string file = path(key + ".bin");
      write_file(file, std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
      payloads_.emplace_back(key, std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
      adds_.insert(adds_.end(), {"--add", concat(key, "=", file, "@0")});
    };
    add("coreml", Words().str("main_0").str("bplist00"));
    add("torch", Words().str("main_1").str("PK\x03\x04 script"));
    add("mrvl_hw", Words().str("main_2").str(R"({"nodes": []})").str("code").i32(1).i32(2).i32(3));
    add("mrvl_sim", Words().str("main_3").str(R"({"nodes": []})").str("code"));
    add("VitisAIRuntime", Words().str("module").str("/export").str("main_4").strs({"c"}));
    add("ethos-n", Words().u64(1).str("main_5").str("commands").u64(1).u32(0).u64(1).u32(0));
    add("clml", Words().str("main_6").str(relu_subgraph).strs({}));
    add("cudnn_json", Words().str("main_7").str(relu_subgraph).strs({}));
  }

  // The payloads of a file by type key, without those of the model itself.
  void expect_payloads(const std::string& file) const {
    const std::string to = path(fs::path(file).stem().string() + ".payloads");
    ASSERT_EQ(run_gantry({"inspect", file, "--extract", to}).status, 0);
    for (const auto& [key, bytes] : payloads_) {
      bool is_found = false;
      for (const auto& entry : fs::directory_iterator(to)) {
        if (!entry.path().string().ends_with(concat("-", key, ".bin"))) continue;
        is_found = true;
        EXPECT_EQ(read_file(entry.path()), bytes) << key;
      }
      EXPECT_TRUE(is_found) << key;
    }
  }

  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> payloads_;
  Args adds_;
};

TEST_F(RepackVendors, WritesTheirPayloadsBack) {
  const Outcome first = repack("tvm-0.12/digits_mlp_llvm.so", "first.so", adds_);
  ASSERT_EQ(first.status, 0) << first.err;
  const Outcome second = repack(path("out/first.so"), "second.so");
  ASSERT_EQ(second.status, 0) << second.err;

  expect_payloads(path("out/first.so"));
  expect_payloads(path("out/second.so"));
}

TEST_F(RepackVendors, ListsWhatIsInside) {
  ASSERT_EQ(repack("tvm-0.12/digits_mlp_llvm.so", "all.so", adds_).status, 0);

  const std::string text = run_gantry({"inspect", path("out/all.so")}).out;

  EXPECT_THAT(text, HasSubstr("] coreml\n  symbol  main_0\n  archive  8 B\n"));
  EXPECT_THAT(text, HasSubstr("] torch\n  symbol  main_1\n  archive  11 B\n"
                              "  archive_format  ZIP\n"));
  EXPECT_THAT(text, HasSubstr("] mrvl_hw\n  symbol  main_2\n"));
  EXPECT_THAT(text, HasSubstr("] VitisAIRuntime\n  module  6 B\n  export_path  /export\n"
                              "  symbol  main_4\n"));
  EXPECT_THAT(text, HasSubstr("] clml\n  symbol  main_6\n"));
}

TEST_F(RepackVendors, NamesThePluginsThatARunNeeds) {
  ASSERT_EQ(repack("tvm-0.12/digits_mlp_llvm.so", "all.so", adds_).status, 0);

  const Outcome run = run_gantry({"--plugins", built_plugins("graph"), "run", path("out/all.so")});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("\n  \"coreml\", required by "));
  for (const char* const sentence :
       {"it runs on Apple devices with Core ML, by a plugin of Apple; gantry contains none\n",
        "it runs on Ethos-N NPUs, by a plugin of Arm; gantry contains none\n",
        "it runs on LibTorch, by a plugin of the PyTorch Foundation; gantry contains none\n",
        "it runs on DPUs with Vitis AI, by a plugin of AMD; gantry contains none\n"}) {
    EXPECT_THAT(run.err, HasSubstr(concat("\n    ", sentence)));
  }
}

}  // namespace
}  // namespace gantry::test
