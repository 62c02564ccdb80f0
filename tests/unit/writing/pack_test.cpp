// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/graph_payload.hpp"
#include "tests/unit/writing/packed.hpp"

#include <gantry/aligned_record.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::recipe_text;
using test::TempDir;
class Pack : public test::PackTest {};
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

// Opens a library for the lifetime of the object.
class Opened {
 public:
  explicit Opened(const fs::path& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << ::dlerror();
  }
  ~Opened() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  template <class T>
  T symbol(const char* name) const {
    return reinterpret_cast<T>(handle_ != nullptr ? ::dlsym(handle_, name) : nullptr);
  }

 private:
  void* handle_;
};

TEST_F(Pack, ProducesALibraryWithItsFunctionAndItsContainer) {
  const Status packed = pack_text(recipe_text);

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const Opened library(target());
  const auto twice = library.symbol<int (*)()>("twice");
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice(), 2);
  const auto* container = library.symbol<const std::uint8_t*>("__tvm_dev_mblob");
  ASSERT_NE(container, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(container) % record_data_alignment, 0u);
  const ElfFile file = ElfFile::parse(MappedFile::open(target()).value()).value();
  std::uint64_t length = 0;
  std::memcpy(&length, container, sizeof length);
  EXPECT_EQ(file.find("__tvm_dev_mblob")->size, length + 8);
  EXPECT_EQ(file.find("__tvm_dev_mblob")->type, SymbolType::object);
}

TEST_F(Pack, RefusesFlagsThatProduceNoLibrary) {
  const Status packed = pack_text("schema: \"1.0\"\nsources: [twice.c]\nflags: [-c]\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::invalid);
  EXPECT_EQ(packed.error().reason, "FILE_KIND");
  EXPECT_EQ(packed.error().message,
            "C compiler produces no shared library; remove flags such as -c from the recipe");
  EXPECT_THAT(files_out(), ::testing::IsEmpty());
}

// The data are aligned in memory, not only relative to the container's first byte.
TEST_F(Pack, AlignsParameters) {
  ASSERT_TRUE(pack_text(with("sources", "name: model\nsources")).ok());

  const Opened library(target());
  const auto* container = library.symbol<const std::uint8_t*>("__tvm_dev_mblob");
  std::uint64_t length = 0;
  std::memcpy(&length, container, sizeof length);
  ByteReader in({container, length + 8});
  ASSERT_TRUE(in.skip(16, "length and count").ok());
  EXPECT_EQ(in.read_string("key").value(), "GraphExecutorFactory");
  EXPECT_TRUE(in.read_string("graph").ok());
  EXPECT_EQ(in.read_u64("records").value(), 2u);
  EXPECT_EQ(in.read_u64("names").value(), 2u);
  EXPECT_EQ(in.read_string("name").value(), "__gantry_fill_0");
  EXPECT_EQ(in.read_string("name").value(), "w");
  ASSERT_TRUE(read_array_record(in, "filler").ok());
  const ArrayRecord w = read_array_record(in, "w").value();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(w.data.data()) % record_data_alignment, 0u);
  std::array<float, 3> values{};
  ASSERT_EQ(w.data.size(), sizeof values);
  std::memcpy(values.data(), w.data.data(), sizeof values);
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
  EXPECT_EQ(in.read_string("name of the module").value(), "model");
}

TEST_F(Pack, LeavesOnlyTheTarget) {
  const auto open_descriptors = [] {
    const fs::directory_iterator descriptors("/proc/self/fd");
    return std::distance(begin(descriptors), end(descriptors));
  };
  const auto before = open_descriptors();

  ASSERT_TRUE(pack_text(recipe_text).ok());

  EXPECT_THAT(files_out(), ElementsAre("model.so"));
  EXPECT_EQ(open_descriptors(), before);
}

// The library imports the function, and the recipe was not read from a text. Other symbols are not
// listed: data, and on aarch64 sections without a name.
TEST_F(Pack, RequiresTheDefinitionOfAFunction) {
  test::write_file(
      in() / "twice.c",
      "int puts(const char*);\nint data = 1;\nint twice(void) { return puts(\"\"); }\n");
  Recipe recipe = parse_recipe(with("function: twice", "function: puts"), "r.yaml", in()).value();
  std::get<GraphDescription>(recipe.graphs[0].source).operators[0].location.clear();

  const Status packed = pack(recipe, target());

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::not_found);
  EXPECT_EQ(packed.error().message, "graph calls function \"puts\", the CPU code has twice");
}

TEST_F(Pack, ProducesEqualBytesInAnotherDirectory) {
  const std::string text = with("sources: [twice.c]", "sources: [twice.c]\nflags: [-g]");
  ASSERT_TRUE(pack_text(text).ok());
  const std::vector<std::uint8_t> first = test::read_file(target());
  const TempDir elsewhere;
  fs::copy(in(), elsewhere / "copy");

  const Recipe copy = parse_recipe(text, "r.yaml", elsewhere / "copy").value();
  ASSERT_TRUE(pack(copy, elsewhere / "other.so").ok());

  EXPECT_EQ(test::read_file(elsewhere / "other.so"), first);
}

TEST_F(Pack, ReportsItsProgress) {
  std::vector<std::string> lines;
  PackOptions options;
  options.progress = [&](std::string_view line) { lines.emplace_back(line); };

  ASSERT_TRUE(pack_text(recipe_text, options).ok());

  EXPECT_THAT(lines, ElementsAre("reading the graph and 1 parameters", "compiling 1 sources",
                                 StartsWith("writing a container of ")));
}

TEST_F(Pack, OfSourcesAloneHasNoContainer) {
  ASSERT_TRUE(pack_text("schema: \"1.0\"\nsources: [twice.c]\n").ok());

  const ElfFile file = ElfFile::parse(MappedFile::open(target()).value()).value();
  EXPECT_EQ(file.find("__tvm_dev_mblob"), nullptr);
  EXPECT_NE(file.find(packed_mark), nullptr);
  EXPECT_NE(file.find("twice"), nullptr);
}

TEST_F(Pack, PacksDeviceModulesBelowTheCpuCode) {
  test::write_file(in() / "k.ptx", "//ptx");

  const Status packed = pack_text(
      "schema: \"1.0\"\nsources: [twice.c]\n"
      "device_modules: [{type_key: cuda, data: k.ptx, format: ptx, kernels: {k: {arguments: "
      "[handle], "
      "launch: [blockIdx.x]}}}]\n");

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const Opened library(target());
  ByteReader in({library.symbol<const std::uint8_t*>("__tvm_dev_mblob"), 44});
  EXPECT_TRUE(in.read_u64("length").ok());
  EXPECT_EQ(in.read_u64("count").value(), 3u);
  EXPECT_EQ(in.read_string("key").value(), "_lib");
  EXPECT_EQ(in.read_string("key").value(), "cuda");
}

TEST_F(Pack, AcceptsAFileOfGraphJson) {
  const std::string graph = R"({"nodes": [{"op": "null", "name": "w", "inputs": []}],
    "arg_nodes": [0], "heads": [[0, 0, 0]], "node_row_ptr": [0, 1],
    "attrs": {"dltype": ["list_str", ["float32"]], "shape": ["list_shape", [[3]]],
              "storage_id": ["list_int", [0]]}})";
  test::write_file(in() / "g.json", graph);

  const Status packed = pack_text(
      "schema: \"1.0\"\ngraph: {file: g.json}\nparameters: {w: {file: w.npz, member: w}}\n");

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const std::vector<std::uint8_t> bytes = test::read_file(target());
  EXPECT_THAT(std::string(bytes.begin(), bytes.end()), HasSubstr(graph));
}

// After a failure the target is unchanged and no other file exists in its directory.
struct FailedPack {
  std::string name;
  // in the recipe
  std::string before;
  std::string after;
  std::vector<std::string> compiler;
  Code code;
  // a part of it
  std::string message;
};
class PackFails : public Pack, public ::testing::WithParamInterface<FailedPack> {};

TEST_P(PackFails, AndLeavesTheTargetUnchanged) {
  const FailedPack& failure = GetParam();
  test::write_file(in() / "bad.c", "int f(void) { return missing; }\n");
  test::write_file(target(),
                   "\x7f"
                   "ELF");
  PackOptions options;
  if (!failure.compiler.empty()) options.programs.compiler = failure.compiler;

  const Status packed = pack_text(with(failure.before, failure.after), options);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, failure.code);
  EXPECT_THAT(packed.error().message, HasSubstr(failure.message));
  EXPECT_THAT(files_out(), ElementsAre("model.so"));
  EXPECT_EQ(test::read_file(target()).size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PackFails,
    ::testing::Values(
        FailedPack{"NoCompiler",
                   "",
                   "",
                   {"no-such-compiler"},
                   Code::unavailable,
                   "program \"no-such-compiler\" cannot be started: No such file or directory"},
        FailedPack{
            "CompileError", "twice.c", "bad.c", {}, Code::invalid, "\n  bad.c:1:22: error: "},
        FailedPack{"MissingSource",
                   "twice.c",
                   "none.c",
                   {},
                   Code::not_found,
                   "none.c\" does not exist\n  for r.yaml:2:10: sources"},
        FailedPack{"MissingFunction",
                   "function: twice",
                   "function: thrice",
                   {},
                   Code::not_found,
                   "graph calls function \"thrice\", did you mean \"twice\", the CPU code has "
                   "twice\n  for r.yaml:6:18: graph.operators[0].function"},
        FailedPack{"MissingParameterFile", "w.npz", "none.npz", {}, Code::not_found, "none.npz"},
        FailedPack{"MissingMember",
                   "member: w",
                   "member: v",
                   {},
                   Code::not_found,
                   "member \"v\" of the file not found; members: \"w\""},
        FailedPack{"ParameterNotOfItsType",
                   "member: w",
                   "member: w, type: \"float32[4]\"",
                   {},
                   Code::invalid,
                   "array is float32[3], the recipe requires float32[4]"},
        FailedPack{"UnknownTensor",
                   "inputs: [x, w]",
                   "inputs: [x, v]",
                   {},
                   Code::not_found,
                   "operator 0 names tensor \"v\", defined before it are w, x"},
        FailedPack{
            "CompilerThatLosesTheContainer",
            "",
            "",
            {"sh", "-c",
             "while [ \"$1\" != -o ]; do shift; done; cc -shared -x c -o \"$2\" /dev/null", "sh"},
            Code::unavailable,
            "C compiler produces a library with a container of 0 bytes, expected "},
        FailedPack{
            "CompilerThatCutsTheContainer",
            "",
            "",
            {"sh", "-c",
             "while [ \"$1\" != -o ]; do shift; done; echo 'const char __tvm_dev_mblob[3];' | "
             "cc -shared -x c -o \"$2\" -",
             "sh"},
            Code::unavailable,
            "C compiler produces a library with a container of 3 bytes, expected "},
        FailedPack{"CompilerThatMakesNothing", "", "", {"true"}, Code::not_found, "library.so"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Pack, RejectsAFileThatIsNotAGraph) {
  test::write_file(in() / "g.json", R"({"nodes": [}])");

  const Status packed = pack_text("schema: \"1.0\"\ngraph: {file: g.json}\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::malformed);
  EXPECT_EQ(packed.error().reason, "GRAPH");
  EXPECT_EQ(packed.error().offset, 12u);
  EXPECT_EQ(packed.error().message,
            concat("graph is not JSON: \"}\" follows \"{\\\"nodes\\\": [\"\n  in ",
                   (in() / "g.json").native(), "\n  for r.yaml:2:8: graph"));
  EXPECT_TRUE(files_out().empty());
}

// The graph is a file, so its shapes do not come from the parameters.
TEST_F(Pack, RejectsAParameterOfAnotherTypeThanTheGraph) {
  test::write_file(in() / "g.json", R"({"nodes": [{"op": "null", "name": "w", "inputs": []}],
    "arg_nodes": [0], "heads": [[0, 0, 0]], "node_row_ptr": [0, 1],
    "attrs": {"dltype": ["list_str", ["float32"]], "shape": ["list_shape", [[4]]],
              "storage_id": ["list_int", [0]]}})");

  const Status packed = pack_text(
      "schema: \"1.0\"\ngraph: {file: g.json}\nparameters: {w: {file: w.npz, member: w}}\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::invalid);
  EXPECT_EQ(packed.error().message,
            "parameter \"w\" is float32[3], the graph requires float32[4]\n"
            "  for r.yaml:3:14: parameters.w");
  EXPECT_TRUE(files_out().empty());
}

TEST_F(Pack, ReplacesNoFileThatIsNotElf) {
  test::write_file(target(), "text");

  const Status packed = pack_text(recipe_text);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::invalid);
  EXPECT_EQ(packed.error().message,
            concat("cannot write \"", target().native(),
                   "\": it exists and is not an ELF file; remove it or choose another output"));
  EXPECT_EQ(test::read_file(target()).size(), 4u);
}

// All files that a recipe names, under a second name in another directory.
TEST_F(Pack, ReplacesNoFileOfTheRecipe) {
  test::write_file(in() / "r.yaml", R"(schema: "1.0"
sources: [twice.c]
libraries: [extra.o]
graph: {file: g.json}
parameters: {w: {file: w.npz, member: w}}
device_modules:
  - {type_key: acme, data: payload}
  - {type_key: opencl, kernels: {k: {source: k.cl, arguments: [], launch: []}}}
)");
  for (const char* name : {"extra.o", "g.json", "payload", "k.cl", "other"}) {
    test::write_file(in() / name,
                     "\x7f"
                     "ELF");
  }
  const Recipe recipe = read_recipe(in() / "r.yaml").value();
  PackOptions options;
  options.inputs.add(in() / "other");

  for (const char* name :
       {"r.yaml", "twice.c", "extra.o", "g.json", "w.npz", "payload", "k.cl", "other"}) {
    fs::create_hard_link(in() / name, out() / name);
    const Status packed = pack(recipe, out() / name, options);

    ASSERT_FALSE(packed.ok()) << name;
    EXPECT_EQ(packed.error().reason, "OUTPUT_IS_INPUT") << name;
  }
}

TEST_F(Pack, ReportsWhereTheRecipeNamesAFileThatIsMissing) {
  for (const auto& [text, location] :
       {std::pair{"graph: {file: none}\n", "  for r.yaml:2:8: graph"},
        {"device_modules: [{type_key: npu, data: none}]\n",
         "  r.yaml:2:29: device_modules[0].type_key"}}) {
    const Status packed = pack_text(concat("schema: \"1.0\"\n", text));

    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().code, Code::not_found);
    EXPECT_THAT(packed.error().message, StartsWith((in() / "none").native() + " does not exist\n"));
    EXPECT_THAT(packed.error().message, HasSubstr(location));
  }
}

TEST_F(Pack, ReportsWhereTheRecipeHasAnInvalidParameter) {
  const Status of_input = pack_text(with("  w: {", "  x: {"));
  const Status reserved = pack_text(
      "schema: \"1.0\"\nsources: [twice.c]\ngraph:\n  operators: [{function: twice, inputs: "
      "[__gantry_fill_7], outputs: {out: \"float32[3]\"}}]\n  outputs: [out]\nparameters:\n  "
      "__gantry_fill_7: {file: w.npz, member: w}\n");

  ASSERT_FALSE(of_input.ok());
  EXPECT_EQ(of_input.error().message, "tensor \"x\" is defined twice\n  for r.yaml:4:3: graph");
  ASSERT_FALSE(reserved.ok());
  EXPECT_THAT(reserved.error().message,
              HasSubstr("\n  for r.yaml:7:3: parameters.__gantry_fill_7"));
}

TEST_F(Pack, ReportsThatTheDirectoryOfTheTargetIsMissing) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();

  const Status packed = pack(recipe, out() / "none" / "model.so");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::not_found);
  EXPECT_FALSE(fs::exists(out() / "none"));
}

// The temporary directory, which has no other file, is empty when the reader gets the first byte.
TEST_F(Pack, WritesToAPipeAfterItsTemporaryFilesAreRemoved) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();
  ASSERT_TRUE(pack(recipe, target()).ok());
  const TempDir temporary;
  PackOptions options;
  options.temporary = temporary.path();
  const fs::path pipe = out() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::vector<std::uint8_t> received;
  bool is_empty = false;
  std::thread reader([&] {
    std::ifstream in(pipe, std::ios::binary);
    in.peek();
    is_empty = fs::is_empty(temporary.path());
    received.assign(std::istreambuf_iterator<char>(in), {});
  });

  const Status packed = pack(recipe, pipe, options);

  reader.join();
  EXPECT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(is_empty);
  EXPECT_EQ(received, test::read_file(target()));
  EXPECT_THAT(files_out(), ::testing::UnorderedElementsAre("model.so", "pipe"));
}

// Another user could replace the compiler's files beside the output.
TEST_F(Pack, CompilesElsewhereIfOthersCanReplaceTheDirectoryOfTheOutput) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();
  ASSERT_TRUE(pack(recipe, target()).ok());
  const TempDir temporary, shared;
  fs::permissions(shared.path(), fs::perms::all);
  test::write_file(in() / "cc", "#!/bin/sh\necho $TMPDIR > tmpdir\nexec /usr/bin/cc \"$@\"\n");
  fs::permissions(in() / "cc", fs::perms::owner_all);
  PackOptions options;
  options.temporary = temporary.path();
  options.programs.compiler = {(in() / "cc").native()};

  const Status packed = pack(recipe, shared / "model.so", options);

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  EXPECT_THAT(test::file_text(in() / "tmpdir"),
              StartsWith((temporary / ".gantry-pack.so.").native()));
  EXPECT_EQ(test::read_file(shared / "model.so"), test::read_file(target()));
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST_F(Pack, WritesNothingToAPipeAfterAFailure) {
  const Recipe recipe = parse_recipe(with("twice.c", "bad.c"), "r.yaml", in()).value();
  const TempDir temporary;
  PackOptions options;
  options.temporary = temporary.path();
  const fs::path pipe = out() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::vector<std::uint8_t> received;
  std::thread reader([&] { received = test::read_file(pipe); });

  const Status packed = pack(recipe, pipe, options);

  reader.join();
  EXPECT_FALSE(packed.ok());
  EXPECT_TRUE(received.empty());
  EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST_F(Pack, WritesToADevice) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();

  EXPECT_TRUE(pack(recipe, "/dev/null").ok());

  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Pack, RefusesATerminal) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();
  int master = -1, slave = -1;
  char name[64];
  ASSERT_EQ(openpty(&master, &slave, name, nullptr, nullptr), 0);

  const Status packed = pack(recipe, name);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::invalid);
  EXPECT_EQ(packed.error().message,
            concat("cannot write \"", name, "\": it is a terminal; redirect it, or name a file"));
  ::close(slave);
  ::close(master);
}

// A directory that no user can write to, root included.
TEST_F(Pack, ReportsThatTheTargetCannotBeWritten) {
  const Recipe recipe = parse_recipe(recipe_text, "r.yaml", in()).value();

  const Status packed = pack(recipe, "/proc/model.so");

  ASSERT_FALSE(packed.ok());
  EXPECT_THAT(packed.error().message, StartsWith("cannot write \"/proc/model.so\": "));
}

}  // namespace
}  // namespace gantry
