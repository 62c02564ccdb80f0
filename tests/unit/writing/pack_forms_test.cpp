// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.hpp"
#include "core/base/text.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/writing/container_source.hpp"
#include "core/writing/cpu_code.hpp"
#include "tests/unit/writing/packed.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::recipe_text;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// CPU code and a device module, which every generation has.
constexpr std::string_view module_text =
    "schema: \"1.0\"\nsources: [twice.c]\ndevice_modules: [{type_key: npu, data: npu.bin}]\n";

class PackForms : public test::PackTest {
 protected:
  PackForms() { test::write_file(in() / "npu.bin", "payload"); }
  Status write(PackForm form, Generation generation = Generation::g3,
               std::string_view text = recipe_text) const {
    PackOptions options;
    options.form = form;
    options.generation = generation;
    return pack_text(text, options);
  }
  // Returns the bytes of the container of a library.
  static std::vector<std::uint8_t> container_in(const fs::path& library,
                                                std::string_view symbol = "__tvm_dev_mblob") {
    const ElfFile elf = ElfFile::parse(MappedFile::open(library).value()).value();
    const auto bytes = elf.bytes_of(*elf.find(symbol)).value();
    return {bytes.begin(), bytes.end()};
  }
};

TEST_F(PackForms, OfALibraryHasTheContainerInASegmentOfItsOwn) {
  ASSERT_TRUE(write(PackForm::library).ok());

  const ElfFile elf = ElfFile::parse(MappedFile::open(target()).value()).value();
  const Status links = check_link(elf);
  EXPECT_TRUE(links.ok()) << links.error().message;
  const ElfSymbol& symbol = *elf.find("__tvm_dev_mblob");
  EXPECT_EQ(elf.offset_in_file(elf.bytes_of(symbol).value()) % 4096, 0u);
  const auto is_container = [&](const ElfSegment& segment) {
    return segment.type == segment_type::load && segment.address == symbol.value &&
           segment.file_size == symbol.size;
  };
  EXPECT_EQ(std::ranges::count_if(elf.image().segments(), is_container), 1);
}

// The object, the source and the bytes contain what the library contains.
TEST_F(PackForms, OfAContainerAloneHaveTheBytesOfTheLibrary) {
  ASSERT_TRUE(write(PackForm::library).ok());
  const std::vector<std::uint8_t> expected = container_in(target());
  fs::remove(target());

  ASSERT_TRUE(write(PackForm::container).ok());
  EXPECT_EQ(test::read_file(target()), expected);
  fs::remove(target());

  ASSERT_TRUE(write(PackForm::object).ok());
  const ElfFile object = ElfFile::parse(MappedFile::open(target()).value()).value();
  EXPECT_EQ(object.type(), ElfType::relocatable);
  EXPECT_EQ(container_in(target()), expected);
  fs::remove(target());

  ASSERT_TRUE(write(PackForm::source).ok());
  const auto built = run_program(
      {"cc", "-shared", "-o", (out() / "source.so").native(), "-x", "c", target().native()}, out(),
      1 << 16);
  ASSERT_EQ(built->exit_status, 0) << built->output;
  EXPECT_EQ(container_in(out() / "source.so"), expected);
}

// A vendor's module imports the graphs in the order of the recipe; all import the CPU code.
TEST_F(PackForms, OfARootOverGraphsHaveItFirst) {
  constexpr std::string_view text = R"(schema: "1.0"
sources: [twice.c]
root: {type_key: npu, data: npu.bin}
graphs:
  b:
    inputs: {x: "float32[3]"}
    operators:
      - {function: twice, inputs: [x, w], outputs: {out: "float32[3]"}}
    outputs: [out]
    parameters: {w: {file: w.npz, member: w}}
  a:
    inputs: {x: "float32[1]"}
    operators:
      - {function: twice, inputs: [x], outputs: {out: "float32[1]"}}
    outputs: [out]
)";
  // after its length
  const std::string payload("\7\0\0\0\0\0\0\0payload", 15);
  test::write_file(in() / "npu.bin", payload);
  PackReport report;
  PackOptions options;
  options.report = &report;

  const Status packed = pack_text(text, options);

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const auto keys = [](const PackedModule& module) { return module.type_key; };
  EXPECT_THAT(report.modules, ElementsAre(::testing::ResultOf(keys, "npu"),
                                          ::testing::ResultOf(keys, "GraphExecutorFactory"),
                                          ::testing::ResultOf(keys, "GraphExecutorFactory"),
                                          ::testing::ResultOf(keys, "_lib")));
  PayloadLayouts layouts = PayloadLayouts::built_in();
  layouts.add("npu", parse_payload_layout(std::vector<std::string>{"text:str"}).value());
  const ElfFile elf = ElfFile::parse(MappedFile::open(target()).value()).value();
  const Container container = read_container(elf, layouts).value();
  ASSERT_EQ(container.entries.size(), 4u);
  EXPECT_EQ(as_text(container.entries[0].payload), payload);
  EXPECT_TRUE(as_text(container.entries[1].payload).ends_with("b"));
  EXPECT_TRUE(as_text(container.entries[2].payload).ends_with("a"));
  EXPECT_TRUE(container.entries[3].is_library());
  EXPECT_THAT(container.tree.rows(), ElementsAre(0, 2, 3, 4, 4));
  EXPECT_THAT(container.tree.edges(), ElementsAre(1, 2, 3, 3));
}

TEST_F(PackForms, OfARootOverGraphsCheckTheFunctionsOfEachGraph) {
  const Status packed = pack_text(R"(schema: "1.0"
sources: [twice.c]
root: {type_key: npu, data: npu.bin}
graphs:
  a: {inputs: {x: "float32[1]"}, outputs: [x]}
  b:
    inputs: {x: "float32[1]"}
    operators:
      - {function: thrice, inputs: [x], outputs: {out: "float32[1]"}}
    outputs: [out]
)");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::not_found);
  EXPECT_EQ(packed.error().message,
            "graph calls function \"thrice\", did you mean \"twice\", the CPU code has twice\n"
            "  for r.yaml:9:20: graphs.b.operators[0].function");
}

// A look-up of the graph would find the function, which the first graph imports.
TEST_F(PackForms, OfARootOverGraphsHaveNoFunctionWithTheNameOfAGraph) {
  const Status packed = write(PackForm::library, Generation::g3,
                              "schema: \"1.0\"\nsources: [twice.c]\n"
                              "root: {type_key: npu, data: npu.bin}\n"
                              "graphs: {twice: {inputs: {x: \"float32[1]\"}, outputs: [x]}}\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().message,
            "graph \"twice\" has the name of a function of the CPU code; expected another name\n"
            "  for r.yaml:4:17: graphs.twice");
}

TEST_F(PackForms, OfARootOverGraphsAreOfGenerationThreeOnly) {
  const Status packed = write(PackForm::library, Generation::g5,
                              "schema: \"1.0\"\nsources: [twice.c]\n"
                              "root: {type_key: npu, data: npu.bin}\n"
                              "graphs: {a: {inputs: {x: \"float32[1]\"}, outputs: [x]}}\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_THAT(packed.error().message, HasSubstr("\n  for r.yaml:4:13: graphs.a"));
}

// No compiler runs, and the sources are not needed.
TEST_F(PackForms, OfAContainerAloneNeedNoCompiler) {
  PackOptions options;
  options.form = PackForm::object;
  options.programs.compiler = {"no-such-compiler"};

  EXPECT_TRUE(pack_text(recipe_text, options).ok());
  EXPECT_THAT(files_out(), ElementsAre("model.so"));
}

TEST_F(PackForms, OfAContainerAloneRequireOne) {
  for (const PackForm form : {PackForm::object, PackForm::source, PackForm::container}) {
    const Status packed = write(form, Generation::g3, "schema: \"1.0\"\nsources: [twice.c]\n");

    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().code, Code::invalid);
    EXPECT_EQ(packed.error().message,
              "recipe has CPU code only, which needs no container; expected a graph or "
              "device_modules");
    EXPECT_THAT(files_out(), ::testing::IsEmpty());
  }
}

// A file of the same form is replaced, every other one is not.
TEST_F(PackForms, ReplaceTheirOwnKindOfFile) {
  struct Case {
    PackForm form;
    std::string kind;
  };
  for (const auto& [form, kind] : {Case{PackForm::library, "an ELF file"},
                                   {PackForm::object, "an ELF file"},
                                   {PackForm::source, "the source of a container"},
                                   {PackForm::container, "a container"}}) {
    test::write_file(target(), "#include <header.h>\n");
    const Status refused = write(form);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message,
              concat("cannot write \"", target().native(), "\": it exists and is not ", kind,
                     "; remove it or choose another output"));

    fs::remove(target());
    EXPECT_TRUE(write(form).ok());
    EXPECT_TRUE(write(form).ok());
  }
}

TEST_F(PackForms, OfAnObjectAreForTheMachineOfTheCompiler) {
  PackOptions options;
  options.form = PackForm::object;
  options.programs.compiler = {"aarch64-linux-gnu-gcc"};

  ASSERT_TRUE(pack_text(recipe_text, options).ok());

  EXPECT_EQ(ElfFile::parse(MappedFile::open(target()).value())->machine(), ElfMachine::aarch64);
}

// The object and the source register the container under its name with the prefix.
TEST_F(PackForms, OfASystemLibraryRegisterTheContainer) {
  struct Case {
    Generation generation;
    std::string function, symbol;
  };
  for (const auto& [generation, function, symbol] :
       {Case{Generation::g3, "TVMBackendRegisterSystemLibSymbol", "digits___tvm_dev_mblob"},
        Case{Generation::g5, "TVMFFIEnvModRegisterSystemLibSymbol",
             "digits___tvm_ffi__library_bin"}}) {
    test::write_file(out() / "main.c",
                     concat("#include <stdio.h>\nextern const char ", symbol, "[];\nint ", function,
                            "(const char* name, void* address) {\n"
                            "  printf(\"%s %d\\n\", name, address == (void*)",
                            symbol, ");\n  return 0;\n}\nint main(void) { return 0; }\n"));
    for (const PackForm form : {PackForm::object, PackForm::source}) {
      PackOptions options;
      options.form = form;
      options.generation = generation;
      options.system_library = "digits_";
      const std::string file = out() / (form == PackForm::object ? "blob.o" : "blob.c");
      fs::remove(file);
      const Status packed = pack(parse_recipe(module_text, "r.yaml", in()).value(), file, options);
      ASSERT_TRUE(packed.ok()) << packed.error().message;
      const auto built =
          run_program({"cc", "-o", (out() / "main").native(), "main.c", file}, out(), 1 << 16);
      ASSERT_EQ(built->exit_status, 0) << built->output;

      const auto end = run_program({(out() / "main").native()}, out(), 1 << 16);

      EXPECT_EQ(end->output, symbol + " 1\n");
    }
  }
}

TEST_F(PackForms, OfASystemLibraryAreObjectAndSource) {
  for (const PackForm form : {PackForm::library, PackForm::container}) {
    PackOptions options;
    options.form = form;
    options.system_library = "";

    const Status packed = pack_text(recipe_text, options);

    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().code, Code::invalid);
    EXPECT_EQ(packed.error().message,
              "a system library is linked into a program; expected form object or source");
    EXPECT_THAT(files_out(), ::testing::IsEmpty());
  }
}

TEST(TargetMachine, IsInTheNameOfTheCompilerOrItsOption) {
  EXPECT_EQ(target_machine({"cc", "-O2"}), host_machine());
  EXPECT_EQ(target_machine({"ccache", "/opt/x/aarch64-linux-gnu-gcc-12"}), ElfMachine::aarch64);
  EXPECT_EQ(target_machine({"x86_64-linux-gnu-gcc"}), ElfMachine::x86_64);
  EXPECT_EQ(target_machine({"clang", "--target=arm64-linux-android"}), ElfMachine::aarch64);
  EXPECT_EQ(target_machine({"cc", "-DNAME=aarch64"}), host_machine());
}

constexpr std::string_view ffi_code =
    "int __tvm_ffi_twice(void* self, const void* args, int count, void* result) {\n"
    "  return self && args && count && result;\n}\n";

TEST_F(PackForms, OfGeneration5HaveLayoutTwo) {
  test::write_file(in() / "twice.c", ffi_code);

  const Status packed = write(PackForm::library, Generation::g5, module_text);

  ASSERT_TRUE(packed.ok()) << packed.error().message;
  const ElfFile elf = ElfFile::parse(MappedFile::open(target()).value()).value();
  const Container found = read_container(elf, PayloadLayouts::built_in()).value();
  EXPECT_EQ(found.facts.generation, Generation::g5);
  EXPECT_EQ(found.blob_symbol, "__tvm_ffi__library_bin");
  EXPECT_EQ(found.facts.dialect, Dialect::ffi);
  ASSERT_EQ(found.entries.size(), 2u);
  EXPECT_TRUE(found.entries[0].is_library());
  EXPECT_EQ(found.entries[1].type_key, "npu");
}

// No release of these generations has an executor of graphs.
TEST_F(PackForms, OfLaterGenerationsHaveNoGraph) {
  for (const auto& [generation, name] :
       {std::pair(Generation::g4, "G4 (v0.21)"), {Generation::g5, "G5 (v0.22 and later)"}}) {
    const Status packed = write(PackForm::container, generation);

    ASSERT_FALSE(packed.ok());
    EXPECT_EQ(packed.error().code, Code::unsupported);
    EXPECT_EQ(packed.error().message,
              concat("modules of type key \"GraphExecutorFactory\" do not exist in ", name,
                     ", only in G3\n  for r.yaml:4:3: graph"));
    EXPECT_THAT(files_out(), ::testing::IsEmpty());
  }
}

TEST_F(PackForms, HaveOnlyModulesOfTheGeneration) {
  const Status packed = write(PackForm::container, Generation::g5,
                              "schema: \"1.0\"\ndevice_modules: [{type_key: metadata_module, "
                              "data: npu.bin}]\n");

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().message,
            "modules of type key \"metadata_module\" do not exist in G5 (v0.22 and later), only in "
            "G3\n  for r.yaml:2:29: device_modules[0].type_key");
}

TEST_F(PackForms, OfGeneration4HaveTheNamesOfThatRelease) {
  ASSERT_TRUE(write(PackForm::library, Generation::g4, module_text).ok());

  const ElfFile elf = ElfFile::parse(MappedFile::open(target()).value()).value();
  const Container found = read_container(elf, PayloadLayouts::built_in()).value();
  EXPECT_EQ(found.facts.generation, Generation::g4);
  EXPECT_EQ(found.blob_symbol, "__tvm_ffi_library_bin");
}

// Kernel records of the ffi generations have an argument tag for each argument, and those of G5
// the kernel's name.
TEST_F(PackForms, OfGeneration5HaveTheKernelRecordsOfItsReleases) {
  test::write_file(in() / "k.ptx", "//ptx");
  constexpr std::string_view text =
      "schema: \"1.0\"\ndevice_modules: [{type_key: cuda, data: k.ptx, format: ptx, kernels: {k: "
      "{arguments: [handle, int32], launch: [blockIdx.x]}}}]\n";
  std::vector<std::size_t> sizes;
  for (const Generation generation : {Generation::g3, Generation::g4, Generation::g5}) {
    fs::remove(target());
    const Status packed = write(PackForm::container, generation, text);
    ASSERT_TRUE(packed.ok()) << packed.error().message;
    const std::vector<std::uint8_t> bytes = test::read_file(target());

    const Result<Container> found = read_container_bytes(bytes, PayloadLayouts::built_in());

    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_EQ(found->entries.size(), 2u);
    EXPECT_EQ(found->entries[1].type_key, "cuda");
    EXPECT_NE(found->entries[1].boundary, Boundary::unknown);
    sizes.push_back(found->entries[1].payload.size());
  }
  EXPECT_EQ(sizes[1], sizes[0] + 8 + 2 * 4);
  EXPECT_EQ(sizes[2], sizes[1] + 1);
}

struct WrongDialect {
  std::string name;
  Generation generation;
  std::string_view code;
  std::string message;
};
class HostDialect : public PackForms, public ::testing::WithParamInterface<WrongDialect> {};

TEST_P(HostDialect, MustBeThatOfTheGeneration) {
  test::write_file(in() / "twice.c", concat("int twice(void) { return 2; }\n", GetParam().code));

  const Status packed = write(PackForm::library, GetParam().generation, module_text);

  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::invalid);
  EXPECT_EQ(packed.error().reason, "HOST_DIALECT");
  EXPECT_EQ(packed.error().message, GetParam().message);
  EXPECT_THAT(files_out(), ::testing::IsEmpty());
}

constexpr std::string_view packed_code = "void* __TVMFuncCall;\n";
constexpr std::string_view first_ffi_code = "void* __TVMFFIFunctionCall;\n";
const std::string prefix_is_missing =
    "CPU code has no function of the ffi dialect of TVM 0.22 or newer, generation G5 requires it: "
    "functions whose symbols begin with \"__tvm_ffi_\"";
INSTANTIATE_TEST_SUITE_P(
    Of, HostDialect,
    ::testing::Values(
        WrongDialect{"FfiInG3", Generation::g3, first_ffi_code,
                     "CPU code has the ffi dialect, by symbol \"__TVMFFIFunctionCall\"; generation "
                     "G3 requires the packed dialect"},
        WrongDialect{"FfiInG2", Generation::g2, first_ffi_code,
                     "CPU code has the ffi dialect, by symbol \"__TVMFFIFunctionCall\"; generation "
                     "G2 requires the packed dialect"},
        WrongDialect{"PackedInG4", Generation::g4, packed_code,
                     "CPU code has the packed dialect, generation G4 requires the ffi dialect"},
        WrongDialect{"LaterFfiInG4", Generation::g4, ffi_code,
                     "CPU code has symbol \"__tvm_ffi_twice\" of TVM 0.22 or newer, generation G4 "
                     "requires code of TVM 0.21"},
        WrongDialect{"PackedInG5", Generation::g5, packed_code, prefix_is_missing},
        WrongDialect{"FirstFfiInG5", Generation::g5, first_ffi_code, prefix_is_missing},
        WrongDialect{"UnknownInG5", Generation::g5, "", prefix_is_missing}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
