// SPDX-License-Identifier: Apache-2.0
#include "core/writing/converted_payload.hpp"

#include "tests/support/words.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::Words;
using ::testing::ElementsAreArray;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_in(const Words& words) { return {words.bytes().begin(), words.bytes().end()}; }

// The facts of containers of each form.
ExporterFacts facts_of(Generation form) {
  if (form == Generation::g5) return test::ffi();
  return form == Generation::g4 ? test::first_ffi() : test::legacy();
}

const PayloadLayouts& acme_layouts() {
  static const PayloadLayouts all = [] {
    PayloadLayouts made = PayloadLayouts::built_in();
    const std::vector<std::string> sized = {"kernels:sized<map<str,funcinfo>>"};
    made.add("acme.sized", parse_payload_layout(sized).value());
    const std::vector<std::string> aligned = {"kernels:map<str,funcinfo>", "align(8)"};
    made.add("acme.aligned", parse_payload_layout(aligned).value());
    const std::vector<std::string> matrix = {"rows:u8", "cols:u8", "types:rows*cols*dtype",
                                             "align(8)", "one:dtype"};
    made.add("acme.matrix", parse_payload_layout(matrix).value());
    const std::vector<std::string> names = {"kernels:map<str(u8),funcinfo>"};
    made.add("acme.short_names", parse_payload_layout(names).value());
    const std::vector<std::string> list = {"kernels:vec<funcinfo>"};
    made.add("acme.list", parse_payload_layout(list).value());
    const std::vector<std::string> types = {"types:vec<{dtype,u8}>", "one:dtype"};
    made.add("acme.types", parse_payload_layout(types).value());
    return made;
  }();
  return all;
}

Status write_family(std::string_view key, const Words& payload, Generation from, Generation to,
                    Pieces& out) {
  return write_converted_payload(key, payload.bytes(), facts_of(from), acme_layouts(), to, out);
}

Bytes converted_family(std::string_view key, const Words& payload, Generation from, Generation to) {
  Pieces out;
  const Status written = write_family(key, payload, from, to, out);
  EXPECT_TRUE(written.ok()) << written.error().message;
  return test::bytes_of(out);
}

// A kernel f(handle, int32) with the forms of each generation.
struct Kernel {
  std::string_view stored_name;
  std::vector<std::string_view> launch = {"blockIdx.x", "threadIdx.x"};
  bool has_tags = false;
  std::vector<std::int32_t> tags = {0, 0};
  std::uint8_t code = 3, bits = 64;

  Words words() const {
    Words all;
    all.u64(1).str("f").str(stored_name).u64(2);
    all.u8(code).u8(bits).u16(1).u8(0).u8(32).u16(1).strs(launch);
    if (!has_tags) return all;
    all.u64(tags.size());
    for (const std::int32_t tag : tags) all.i32(tag);
    return all;
  }
};

Words code_of_kernel(std::string_view format, const Kernel& kernel,
                     std::string_view data = "data") {
  return Words().str(format).bytes(kernel.words().bytes()).str(data);
}

const Kernel in_g3{.stored_name = ""};
const Kernel in_g4{.stored_name = "", .has_tags = true};
const Kernel in_g5{.stored_name = "f", .has_tags = true};

const Kernel& kernel_in(Generation form) {
  if (form == Generation::g5) return in_g5;
  return form == Generation::g4 ? in_g4 : in_g3;
}

// The same payload in each generation.
struct Family {
  std::string key;
  // of the form
  std::function<Words(Generation)> in;
  std::vector<Generation> forms = {Generation::g2, Generation::g3, Generation::g4, Generation::g5};
};

Words two_shaders(bool is_sized) {
  Words inside = Words().u32(1).u64(2).u32(0x07230203).u32(7);
  Words all = Words().u64(2).str("f");
  if (is_sized) all.u64(inside.size());
  all.bytes(inside.bytes()).str("g");
  if (is_sized) all.u64(12);
  return all.u32(0).u64(0);
}

Words byte_array(std::uint8_t type, std::uint8_t bits) {
  return Words()
      .u64(0xDD5E40F096B4A13F)
      .u64(0)
      .i32(1)
      .i32(0)
      .i32(1)
      .u8(type)
      .u8(bits)
      .u16(1)
      .i64(2)
      .i64(2)
      .u8(0x38)
      .u8(0x40);
}

Words aligned_to_8(Words words) {
  while (words.size() % 8 != 0) words.u8(0);
  return words;
}

// Code with one constant of each kind and a packed function.
Words relax_code(Generation form, std::string_view scope = "") {
  const bool is_packed = form <= Generation::g3;
  const std::uint32_t first = is_packed ? 0 : form == Generation::g4 ? 72 : 70;
  const std::uint32_t shape = is_packed ? 2 : form == Generation::g4 ? 71 : 69;
  Words all =
      Words().u64(form == Generation::g5 ? 0xD225DE2F4214151E : 0xD225DE2F4214151D).str("0.14");
  all.u64(1).i32(0).str("vm.f").i64(0).i64(0).i64(-2).i64(0).u64(0);
  if (form == Generation::g5 && scope.empty()) all.u64(0);
  if (!scope.empty()) all.u64(1).i64(1).str(scope);
  all.u64(6);
  // float8_e4m3fn
  all.u32(first).bytes(byte_array(is_packed ? 6 : 10, 8).bytes());
  all.u32(shape).u64(1).i64(5);
  all.u32(is_packed ? 3 : 65).str("text");
  all.u32(is_packed ? 4 : 1).i64(-1);
  all.u32(is_packed ? 5 : 3).u64(1);
  all.u32(is_packed ? 1 : 5).u8(2).u8(32).u16(1);
  return all.u64(0).u64(0);
}

Words relax_payload_of(Generation form) {
  const Words all = relax_code(form);
  return form == Generation::g5 ? all : Words().u64(all.size()).bytes(all.bytes());
}

const Family families[] = {
    {"cuda", [](Generation form) { return code_of_kernel("ptx", kernel_in(form)); }},
    {"opencl",
     [](Generation form) {
       return code_of_kernel("cl", kernel_in(form), "// Function: f\nkernel void f() {}\n");
     }},
    {"opencl", [](Generation form) { return code_of_kernel("clbin", kernel_in(form)); }},
    {"hip", [](Generation form) { return code_of_kernel("hsaco", kernel_in(form)); }},
    // SPIR-V without a format
    {"opencl",
     [](Generation form) {
       return Words().bytes(kernel_in(form).words().bytes()).bytes(two_shaders(false).bytes());
     }},
    {"vulkan",
     [](Generation form) {
       return Words()
           .str("vulkan")
           .bytes(kernel_in(form).words().bytes())
           .bytes(two_shaders(form == Generation::g5).bytes());
     }},
    {"webgpu",
     [](Generation form) {
       Kernel kernel = kernel_in(form);
       kernel.stored_name = "f";
       return Words().bytes(kernel.words().bytes()).u64(1).str("f").str("@compute");
     },
     {Generation::g3, Generation::g4, Generation::g5}},
    {"metal",
     [](Generation form) {
       const Words sources = Words().u64(1).str("f").str("kernel void f()");
       const Words kernels = kernel_in(form).words();
       if (form == Generation::g5) {
         return Words().str("metal").bytes(kernels.bytes()).bytes(sources.bytes());
       }
       return Words().str("0.1.0").bytes(sources.bytes()).bytes(kernels.bytes()).str("metal");
     },
     {Generation::g3, Generation::g4, Generation::g5}},
    // one source
    {"metal",
     [](Generation form) { return code_of_kernel("metal", kernel_in(form)); },
     {Generation::g2, Generation::g3, Generation::g4}},
    {"hexagon",
     [](Generation form) { return code_of_kernel("so", kernel_in(form), "/build/lib.so"); },
     {Generation::g2, Generation::g3, Generation::g4}},
    {"cuda",
     [](Generation form) {
       Kernel kernel = kernel_in(form);
       const bool is_new = form == Generation::g5;
       kernel.launch = {"threadIdx.x",
                        is_new ? "tirx.use_dyn_shared_memory" : "tir.use_dyn_shared_memory"};
       return code_of_kernel("ptx", kernel);
     },
     {Generation::g3, Generation::g4, Generation::g5}},
    // float8_e5m2 as a parameter
    {"cuda",
     [](Generation form) {
       Kernel kernel = kernel_in(form);
       kernel.code = form <= Generation::g3 ? 7 : 12;
       kernel.bits = 8;
       return code_of_kernel("ptx", kernel);
     }},
    {"const_loader",
     [](Generation form) {
       return Words()
           .strs({"c"})
           .u64(1)
           .bytes(byte_array(form <= Generation::g3 ? 6 : 10, 8).bytes())
           .strs({"s"})
           .u64(1)
           .strs({"c"});
     }},
    {"acme.matrix",
     [](Generation form) {
       const std::uint8_t type = form <= Generation::g3 ? 8 : 17;
       Words words = Words().u8(1).u8(2);
       for (int i = 0; i < 2; ++i) words.u8(type).u8(4).u16(1);
       return aligned_to_8(words).u8(type).u8(4).u16(1);
     }},
    {"acme.types",
     [](Generation form) {
       const std::uint8_t type = form <= Generation::g3 ? 8 : 17;
       return Words()
           .u64(2)
           .u8(type)
           .u8(4)
           .u16(1)
           .u8(9)
           .u8(2)
           .u8(32)
           .u16(1)
           .u8(9)
           .u8(type)
           .u8(4)
           .u16(2);
     }},
    {"relax.VMExecutable", relax_payload_of, {Generation::g3, Generation::g4, Generation::g5}},
    {"tensorrt", [](Generation) { return Words().str("s").str("{}").strs({"c"}); }},
};

// Every direction, and so also there and back.
TEST(ConvertedPayload, HasTheFormOfEveryGeneration) {
  for (const Family& family : families) {
    for (const Generation from : family.forms) {
      for (const Generation to : family.forms) {
        EXPECT_THAT(converted_family(family.key, family.in(from), from, to),
                    ElementsAreArray(bytes_in(family.in(to))))
            << family.key << " from " << name_of(from) << " to " << name_of(to);
      }
    }
  }
}

TEST(ConvertedPayload, OfABareContainerIsReadByTrial) {
  ExporterFacts unknown;
  for (const Generation from : {Generation::g3, Generation::g4}) {
    Pieces kernels, constants;
    const Words cuda = code_of_kernel("ptx", kernel_in(from));
    // without the array, whose element type has a number of G3
    Words relax_text = Words().u64(0xD225DE2F4214151D).str("0.14").u64(0).u64(1);
    relax_text.u32(from == Generation::g3 ? 3 : 65).str("text").u64(0).u64(0);
    const Words relax_payload = Words().u64(relax_text.size()).bytes(relax_text.bytes());

    ASSERT_TRUE(write_converted_payload("cuda", cuda.bytes(), unknown, acme_layouts(),
                                        Generation::g5, kernels)
                    .ok());
    ASSERT_TRUE(write_converted_payload("relax.VMExecutable", relax_payload.bytes(), unknown,
                                        acme_layouts(), Generation::g5, constants)
                    .ok());

    EXPECT_THAT(test::bytes_of(kernels), ElementsAreArray(bytes_in(code_of_kernel("ptx", in_g5))));
    Words expected = Words().u64(0xD225DE2F4214151E).str("0.14").u64(0).u64(0).u64(1);
    expected.u32(65).str("text").u64(0).u64(0);
    EXPECT_THAT(test::bytes_of(constants), ElementsAreArray(bytes_in(expected)));
  }
}

// Loaders of v0.8 and later refuse a text without the names.
TEST(ConvertedPayload, OfOpenclNamesTheKernelOfItsText) {
  const auto with = [](std::string_view text) { return code_of_kernel("cl", in_g3, text); };
  const auto converted = [&](std::string_view text, Generation to) {
    return converted_family("opencl", with(text), Generation::g2, to);
  };

  EXPECT_THAT(converted("kernel void f() {}", Generation::g3),
              ElementsAreArray(bytes_in(with("// Function: f\nkernel void f() {}\n"))));
  EXPECT_THAT(converted("kernel void f() {}\n", Generation::g5),
              ElementsAreArray(
                  bytes_in(code_of_kernel("cl", in_g5, "// Function: f\nkernel void f() {}\n"))));
  EXPECT_THAT(converted("kernel void f() {}", Generation::g2),
              ElementsAreArray(bytes_in(with("kernel void f() {}"))));
  const Words empty = Words().str("cl").u64(0).str("int x;");
  EXPECT_THAT(converted_family("opencl", empty, Generation::g2, Generation::g3),
              ElementsAreArray(bytes_in(empty)));
}

TEST(ConvertedPayload, OfOpenclHasALimitOfCopies) {
  constexpr std::size_t kernels = 8200;
  Words payload = Words().str("cl").u64(kernels);
  for (std::size_t k = 0; k < kernels; ++k) {
    payload.str(concat("f", k)).str("").u64(0).u64(0);
  }
  payload.str(std::string(32768, ' '));
  Pieces out;

  const Status written = write_family("opencl", payload, Generation::g2, Generation::g3, out);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unsupported);
  EXPECT_EQ(written.error().message,
            "text of 32.0 KiB (32768 bytes) is the program of 8200 kernels, G3 (v0.8 to v0.20) "
            "requires a "
            "copy for each, limit is 256.0 MiB (268435456 bytes)");
}

// What a generation cannot express stays as it is in the others.
TEST(ConvertedPayload, KeepsANameThatIsNotTheKernels) {
  const Kernel named{.stored_name = "g", .has_tags = true};
  const Kernel without{.stored_name = "g"};

  EXPECT_THAT(
      converted_family("cuda", code_of_kernel("ptx", named), Generation::g5, Generation::g3),
      ElementsAreArray(bytes_in(code_of_kernel("ptx", without))));
}

TEST(ConvertedPayload, WritesATagForEachParameterInPlaceOfAnEmptyList) {
  const Kernel empty{.stored_name = "f", .has_tags = true, .tags = {}};

  EXPECT_THAT(
      converted_family("cuda", code_of_kernel("ptx", empty), Generation::g5, Generation::g5),
      ElementsAreArray(bytes_in(code_of_kernel("ptx", empty))));
  EXPECT_THAT(
      converted_family("cuda", code_of_kernel("ptx", empty), Generation::g5, Generation::g3),
      ElementsAreArray(bytes_in(code_of_kernel("ptx", in_g3))));
}

TEST(ConvertedPayload, WritesTruthValuesAsIntegersOfOneBit) {
  const auto constants = [](std::uint8_t type, std::uint8_t bits) {
    return Words().strs({"c"}).u64(1).bytes(byte_array(type, bits).bytes()).u64(0).u64(0);
  };

  EXPECT_THAT(converted_family("const_loader", constants(6, 8), Generation::g5, Generation::g3),
              ElementsAreArray(bytes_in(constants(1, 1))));
}

struct RefusedConversion {
  std::string name;
  std::string key;
  Words payload;
  Generation from, to;
  std::string message;
};

class ConvertedPayloadRefuses : public ::testing::TestWithParam<RefusedConversion> {};

TEST_P(ConvertedPayloadRefuses, WhatTheGenerationCannotExpress) {
  const RefusedConversion& refused = GetParam();
  Pieces out;

  const Status written = write_family(refused.key, refused.payload, refused.from, refused.to, out);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::unsupported);
  EXPECT_EQ(written.error().message, refused.message);
}

Words launched(std::vector<std::string_view> tags) {
  Kernel kernel = in_g5;
  kernel.launch = std::move(tags);
  return code_of_kernel("ptx", kernel);
}

const std::string elf_bytes(
    "\x7f"
    "ELF\2\1\1",
    7);

INSTANTIATE_TEST_SUITE_P(
    Each, ConvertedPayloadRefuses,
    ::testing::Values(
        RefusedConversion{
            "TensorMap", "cuda",
            code_of_kernel("ptx", {.stored_name = "f", .has_tags = true, .tags = {1, 0}}),
            Generation::g5, Generation::g3,
            "parameter 0 is a tensor map, which G3 (v0.8 to v0.20) cannot express\n  in "
            "kernel \"f\""},
        RefusedConversion{
            "Cluster", "cuda", launched({"clusterCtaIdx.x"}), Generation::g5, Generation::g4,
            "launch tag \"clusterCtaIdx.x\" exists since v0.25, G4 is v0.21\n  in kernel "
            "\"f\""},
        RefusedConversion{
            "PreferredCluster", "cuda", launched({"preferredClusterCtaIdx.y"}), Generation::g5,
            Generation::g3,
            "launch tag \"preferredClusterCtaIdx.y\" exists since v0.25, G3 is v0.8 to "
            "v0.20\n  in kernel \"f\""},
        RefusedConversion{
            "Cooperative", "cuda", launched({"tirx.use_cooperative_launch"}), Generation::g5,
            Generation::g4,
            "launch tag \"tirx.use_cooperative_launch\" exists since v0.23, G4 is v0.21\n  "
            "in kernel \"f\""},
        RefusedConversion{
            "Dependent", "cuda", launched({"tir.use_programtic_dependent_launch"}), Generation::g5,
            Generation::g4,
            "launch tag \"tir.use_programtic_dependent_launch\" exists since v0.23, G4 is "
            "v0.21\n  in kernel \"f\""},
        RefusedConversion{
            "SharedMemory", "cuda", launched({"tirx.use_dyn_shared_memory"}), Generation::g5,
            Generation::g2,
            "launch tag \"tirx.use_dyn_shared_memory\" exists since v0.8, G2 is v0.7\n  in "
            "kernel \"f\""},
        RefusedConversion{
            "WriteAccess", "cuda", launched({"paramWriteAccess:[0]"}), Generation::g5,
            Generation::g2,
            "launch tag \"paramWriteAccess:[0]\" exists since v0.16, G2 is v0.7\n  in "
            "kernel \"f\""},
        RefusedConversion{
            "ElementType", "cuda",
            code_of_kernel("ptx", {.stored_name = "f", .has_tags = true, .code = 14, .bits = 8}),
            Generation::g5, Generation::g3,
            "element type float8_e8m0fnu has no number in G3 (v0.8 to v0.20)\n  in kernel "
            "\"f\""},
        RefusedConversion{"OldHexagon", "hexagon", code_of_kernel("so", in_g3, "/build/lib.so"),
                          Generation::g3, Generation::g5,
                          "data of \"hexagon\" are the path of a library, G5 requires its bytes"},
        RefusedConversion{"NewHexagon", "hexagon", code_of_kernel("so", in_g5, elf_bytes),
                          Generation::g5, Generation::g4,
                          "data of \"hexagon\" are a library, G4 requires the path of one"},
        RefusedConversion{
            "OneMetalSource", "metal", code_of_kernel("metal", in_g3), Generation::g3,
            Generation::g5,
            "\"metal\" has one source, G5 (v0.22 and later) requires a source for each "
            "kernel"},
        RefusedConversion{"MetalSources", "metal",
                          Words().str("0.1.0").u64(0).bytes(in_g3.words().bytes()).str("metal"),
                          Generation::g3, Generation::g2,
                          "\"metal\" has a source for each kernel, G2 (v0.7) requires one source"},
        RefusedConversion{
            "KernelsOutsideOfATable", "acme.list",
            Words().u64(1).bytes(std::span(in_g3.words().bytes()).subspan(8 + 9)), Generation::g3,
            Generation::g5,
            "kernel records at 0x8 are not in a table, so that they cannot be written for "
            "G5"},
        RefusedConversion{"SizedTable", "acme.sized",
                          Words().u64(in_g3.words().size()).bytes(in_g3.words().bytes()),
                          Generation::g3, Generation::g5,
                          "kernel records at 0x8 have a fixed size, since a length or an alignment "
                          "depends on it, "
                          "so that they cannot be written for G5"},
        RefusedConversion{"AlignedTable", "acme.aligned", aligned_to_8(in_g3.words()),
                          Generation::g3, Generation::g5,
                          "kernel records at 0x0 have a fixed size, since a length or an alignment "
                          "depends on it, "
                          "so that they cannot be written for G5"},
        RefusedConversion{
            "UnknownKey",
            "acme.npu", Words().u64(1), Generation::g3, Generation::g5,
            "type key \"acme.npu\" has no payload layout, so that its form in G5 is "
            "unknown; drop or replace the module, or declare the layout in the manifest of "
            "its plugin"},
        RefusedConversion{
            "MemoryScope", "relax.VMExecutable", relax_code(Generation::g5, "global.texture"),
            Generation::g5, Generation::g4,
            "code has the memory scope \"global.texture\" of constant 1, G4 (v0.21) has "
            "none"}),
    [](const auto& test) { return test.param.name; });

TEST(ConvertedPayload, ThatMatchesNoLayoutIsRefused) {
  Pieces out;

  const Status written =
      write_family("cuda", Words().str("ptx").u64(7), Generation::g3, Generation::g5, out);

  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, Code::malformed);
}

TEST(ConvertedTypeKey, HasTheNameOfTheGeneration) {
  EXPECT_EQ(converted_type_key("GraphExecutorFactory", Generation::g2).value(),
            "GraphRuntimeFactory");
  EXPECT_EQ(converted_type_key("GraphRuntimeFactory", Generation::g3).value(),
            "GraphRuntimeFactory");
  EXPECT_EQ(converted_type_key("const_loader", Generation::g2).value(), "metadata");
  EXPECT_EQ(converted_type_key("metadata", Generation::g3).value(), "metadata");
  EXPECT_EQ(converted_type_key("metadata", Generation::g5).value(), "const_loader");
  EXPECT_EQ(converted_type_key("relax.Executable", Generation::g5).value(), "relax.VMExecutable");
  EXPECT_EQ(converted_type_key("relax.VMExecutable", Generation::g3).value(), "relax.VMExecutable");
  EXPECT_EQ(converted_type_key("acme.npu", Generation::g2).value(), "acme.npu");
}

TEST(ConvertedTypeKey, ThatTheGenerationLacksIsRefused) {
  EXPECT_EQ(
      converted_type_key("VMExecutable", Generation::g5).error().message,
      "modules of type key \"VMExecutable\" do not exist in G5 (v0.22 and later), only in G3");
  EXPECT_EQ(converted_type_key("GraphRuntimeFactory", Generation::g4).error().message,
            "modules of type key \"GraphRuntimeFactory\" do not exist in G4 (v0.21), only in G2 to "
            "G3");
  EXPECT_EQ(converted_type_key("relax.VMExecutable", Generation::g2).error().message,
            "modules of type key \"relax.VMExecutable\" do not exist in G2 (v0.7), only in G3 to "
            "G5");
}

}  // namespace
}  // namespace gantry
