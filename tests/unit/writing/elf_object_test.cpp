// SPDX-License-Identifier: Apache-2.0
#include "core/base/process.hpp"
#include "core/base/toolchain/link.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_sections.hpp"
#include "core/writing/appended_container.hpp"
#include "tests/support/container_object.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view content = "the bytes of a container";

Pieces pieces_of_content() {
  Pieces pieces;
  pieces.Write(content.data(), content.size());
  return pieces;
}

ElfObject registering_object(ElfMachine machine) {
  ElfObject object;
  object.machine = machine;
  object.symbol = "model_blob";
  object.register_function = "register_symbol";
  return object;
}

class ElfObjectFile : public ::testing::Test {
 protected:
  // Runs a program in the directory of the files, and returns its output.
  std::string run(const std::vector<std::string>& words) const {
    const auto end = run_program(words, temp_.path(), 1 << 20);
    EXPECT_TRUE(end.ok()) << end.error().message;
    EXPECT_EQ(end->exit_status, 0) << end->output;
    return end->output;
  }
  std::filesystem::path operator/(std::string_view name) const { return temp_ / name; }

 private:
  TempDir temp_;
};

class ElfObjectFor : public ElfObjectFile, public ::testing::WithParamInterface<ElfMachine> {};

TEST_P(ElfObjectFor, AMachineIsReadByReadelfWithoutWarnings) {
  ElfObject plain;
  plain.machine = GetParam();
  plain.symbol = "blob";
  plain.reserve_header = true;
  ElfObject registering = registering_object(GetParam());
  registering.reserve_header = true;
  test::write_object(*this / "plain.o", plain, pieces_of_content());
  test::write_object(*this / "registering.o", registering, pieces_of_content());

  const std::string text = run({"readelf", "-aW", "plain.o", "registering.o"});

  EXPECT_THAT(text, HasSubstr("REL (Relocatable file)"));
  EXPECT_THAT(text, HasSubstr(GetParam() == ElfMachine::aarch64
                                  ? "Machine:                           AArch64"
                                  : "Advanced Micro Devices X86-64"));
  EXPECT_THAT(text, HasSubstr(" 24 OBJECT  GLOBAL DEFAULT    1 blob\n"));
  EXPECT_THAT(text, HasSubstr(" 24 OBJECT  GLOBAL DEFAULT    1 model_blob\n"));
  EXPECT_THAT(text, HasSubstr("NOTYPE  GLOBAL DEFAULT  UND register_symbol\n"));
  EXPECT_THAT(text, HasSubstr("gantry.reserve"));
  EXPECT_THAT(text, Not(HasSubstr("readelf:")));
  EXPECT_THAT(text, Not(HasSubstr("<unknown")));
  EXPECT_THAT(text, Not(HasSubstr("<corrupt>")));
}

TEST_P(ElfObjectFor, AMachineHasItsBytesAtTheSymbol) {
  for (const bool registers : {false, true}) {
    ElfObject object = registering_object(GetParam());
    if (!registers) object.register_function.clear();
    const std::vector<std::uint8_t> bytes =
        test::bytes_of(write_elf_object(object, pieces_of_content()).value());

    const ElfFile elf = ElfFile::parse(bytes).value();

    EXPECT_EQ(elf.machine(), GetParam());
    const ElfSymbol* const symbol = elf.find("model_blob");
    ASSERT_NE(symbol, nullptr);
    EXPECT_EQ(symbol->type, SymbolType::object);
    EXPECT_EQ(symbol->binding, SymbolBinding::global);
    EXPECT_THAT(elf.bytes_of(*symbol).value(), ElementsAreArray(content));
    EXPECT_EQ(elf.offset_in_file(elf.bytes_of(*symbol).value()) % 128, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, ElfObjectFor,
                         ::testing::Values(ElfMachine::x86_64, ElfMachine::aarch64),
                         [](const auto& test) {
                           return test.param == ElfMachine::aarch64 ? "aarch64" : "x86_64";
                         });

TEST_F(ElfObjectFile, IsLinkedAndLoadedOnThisMachine) {
  ElfObject object;
  object.symbol = "blob";
  object.alignment = 8192;
  test::write_object(*this / "blob.o", object, pieces_of_content());
  run({"cc", "-shared", "-o", "blob.so", "blob.o"});

  void* const library = ::dlopen((*this / "blob.so").c_str(), RTLD_NOW | RTLD_LOCAL);

  ASSERT_NE(library, nullptr) << ::dlerror();
  const void* const blob = ::dlsym(library, "blob");
  ASSERT_NE(blob, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blob) % 8192, 0u);
  EXPECT_EQ(std::memcmp(blob, content.data(), content.size()), 0);
  ::dlclose(library);
  // .note.GNU-stack
  EXPECT_FALSE(
      ElfFile::parse(MappedFile::open(*this / "blob.so").value())->flags().executable_stack);
}

// In a program, in a program with fixed addresses, and in a library of a program.
TEST_F(ElfObjectFile, OfASystemLibraryRegistersItselfBeforeMain) {
  test::write_object(*this / "blob.o", registering_object(host_machine()), pieces_of_content());
  test::write_file(
      *this / "main.c",
      "#include <stdio.h>\n#include <string.h>\n"
      "extern const char model_blob[];\nstatic int count;\n"
      "int register_symbol(const char* name, void* address) {\n"
      "  count += strcmp(name, \"model_blob\") == 0 && address == (void*)model_blob &&\n"
      "           memcmp(address, \"the bytes of a container\", 24) == 0 ? 1 : 100;\n"
      "  return 0;\n}\n"
      "int main(void) { printf(\"%d registered\\n\", count); return 0; }\n");
  run({"cc", "-o", "moved", "main.c", "blob.o"});
  run({"cc", "-static", "-no-pie", "-o", "fixed", "main.c", "blob.o"});
  run({"cc", "-shared", "-Wl,-z,now", "-o", "blob.so", "blob.o"});
  run({"cc", "-rdynamic", "-Wl,--no-as-needed", "-o", "with_library", "main.c", "./blob.so"});

  EXPECT_EQ(run({*this / "moved"}), "1 registered\n");
  EXPECT_EQ(run({*this / "fixed"}), "1 registered\n");
  EXPECT_EQ(run({*this / "with_library"}), "1 registered\n");
}

// The constructor of the library loads the symbol's address, which the segment changes.
TEST_F(ElfObjectFile, OfASystemLibraryRegistersAnAppendedContainer) {
  ElfObject object = registering_object(host_machine());
  object.reserve_header = true;
  test::write_object(*this / "blob.o", object, pieces_of_content());
  run({"cc", "-shared", "-Wl,--build-id=none", "-o", "blob.so", "blob.o"});
  test::write_file(*this / "main.c",
                   "#include <stdio.h>\n"
                   "int register_symbol(const char* name, void* address) {\n"
                   "  printf(\"%s is %s\\n\", name, (const char*)address);\n  return 0;\n}\n"
                   "int main(void) { return 0; }\n");
  run({"cc", "-rdynamic", "-Wl,--no-as-needed", "-o", "main", "main.c", "./blob.so"});
  const std::string_view other = "another container";
  Pieces pieces;
  pieces.Write(other.data(), other.size() + 1);
  Pieces library;
  const auto mapped = MappedFile::open(*this / "blob.so").value();
  const Status appended = append_container(mapped, "model_blob", pieces, library);
  ASSERT_TRUE(appended.ok()) << appended.error().message;
  test::write_file(*this / "blob.so", test::bytes_of(library));

  EXPECT_EQ(run({*this / "main"}), "model_blob is another container\n");
}

TEST_F(ElfObjectFile, IsLinkedForAarch64) {
  ElfObject plain;
  plain.machine = ElfMachine::aarch64;
  plain.symbol = "blob";
  plain.reserve_header = true;
  test::write_object(*this / "plain.o", plain, pieces_of_content());
  test::write_object(*this / "registering.o", registering_object(ElfMachine::aarch64),
                     pieces_of_content());
  run({"aarch64-linux-gnu-ld", "--fatal-warnings", "-shared", "-o", "a.so", "plain.o",
       "registering.o"});

  const auto mapped = MappedFile::open(*this / "a.so").value();
  const ElfFile elf = ElfFile::parse(mapped).value();

  EXPECT_EQ(elf.machine(), ElfMachine::aarch64);
  for (const char* const name : {"blob", "model_blob"}) {
    const ElfSymbol* const symbol = elf.find(name);
    ASSERT_NE(symbol, nullptr);
    EXPECT_EQ(symbol->value % 128, 0u);
    EXPECT_THAT(elf.bytes_of(*symbol).value(), ElementsAreArray(content));
  }
  EXPECT_NE(elf.dynamic().find(dynamic_tag::init_array), nullptr);
  const std::string code = run({"aarch64-linux-gnu-objdump", "-dr", "registering.o"});
  for (const char* const line :
       {"bti\tc\n", "adrp\tx0, 0 <", "R_AARCH64_ADR_PREL_PG_HI21\t.rodata.name\n",
        "add\tx0, x0, #0x0\n", "R_AARCH64_ADD_ABS_LO12_NC\t.rodata.name\n", "adrp\tx1, 0 <",
        "R_AARCH64_ADR_GOT_PAGE\tmodel_blob\n", "ldr\tx1, [x1]\n",
        "R_AARCH64_LD64_GOT_LO12_NC\tmodel_blob\n", "R_AARCH64_JUMP26\tregister_symbol\n"}) {
    EXPECT_THAT(code, HasSubstr(line));
  }
}

// Writes to a file and leaves zeros out, as holes.
class SparseStream : public OutputStream {
 public:
  explicit SparseStream(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {}
  ~SparseStream() override { ::close(file_); }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    const auto size = static_cast<off_t>(bytes.size());
    const bool is_zero = !bytes.empty() && bytes[0] == 0 &&
                         std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
    if (!is_zero) {
      EXPECT_EQ(::pwrite(file_, bytes.data(), bytes.size(), at_), size);
    }
    at_ += size;
  }

 private:
  int file_;
  off_t at_ = 0;
};

TEST_F(ElfObjectFile, OfMoreThanAGibibyteIsInTheLargeSection) {
  constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
  test::write_file(*this / "zeros", "");
  std::filesystem::resize_file(*this / "zeros", gibibyte + 1);
  const auto zeros = MappedFile::open(*this / "zeros").value();
  struct Case {
    ElfMachine machine;
    std::uint64_t size;
    std::string_view section;
    bool is_large;
  };
  for (const Case& test : {Case{ElfMachine::x86_64, gibibyte + 1, ".lrodata", true},
                           Case{ElfMachine::x86_64, gibibyte, ".rodata", false},
                           Case{ElfMachine::aarch64, gibibyte + 1, ".rodata", false}}) {
    ElfObject object;
    object.machine = test.machine;
    object.symbol = "blob";
    Pieces pieces;
    pieces.append(FileRange{zeros, 0, test.size});
    const Pieces written = write_elf_object(object, std::move(pieces)).value();
    {
      SparseStream out(*this / "large.o");
      ASSERT_TRUE(written.write_to(out).ok());
    }

    const ElfFile elf = ElfFile::parse(MappedFile::open(*this / "large.o").value()).value();

    const std::size_t section = elf.find("blob")->section;
    EXPECT_EQ(elf.find("blob")->size, test.size);
    EXPECT_EQ(SectionNames::of(elf.image())->name(section).value(), test.section);
    // SHF_X86_64_LARGE
    EXPECT_EQ((elf.image().sections()[section].flags & 0x10000000) != 0, test.is_large);
    EXPECT_EQ(elf.image().sections()[section].size, test.size);
  }
}

TEST_F(ElfObjectFile, IsRefusedForWrongOptions) {
  struct Case {
    ElfObject object;
    Code code;
    std::string message;
  };
  std::vector<Case> cases(5, {registering_object(ElfMachine::x86_64), Code::invalid, ""});
  cases[0].object.machine = ElfMachine::riscv;
  cases[0].code = Code::unsupported;
  cases[0].message = "object file is for riscv, supported are x86-64 and aarch64";
  cases[1].object.alignment = 96;
  cases[1].message = "alignment of the container is 96, expected a power of two";
  cases[2].object.alignment = 0;
  cases[2].message = "alignment of the container is 0, expected a power of two";
  cases[3].object.symbol = "";
  cases[3].message = "symbol of the container is \"\", expected a name without NUL";
  cases[4].object.register_function = std::string("a\0b", 3);
  cases[4].message =
      "function that registers the container is \"a\\x00b\", expected a name without NUL";
  for (const Case& test : cases) {
    const Result<Pieces> written = write_elf_object(test.object, pieces_of_content());

    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().code, test.code);
    EXPECT_EQ(written.error().message, test.message);
  }
}

}  // namespace
}  // namespace gantry
