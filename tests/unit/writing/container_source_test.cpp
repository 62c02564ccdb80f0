// SPDX-License-Identifier: Apache-2.0
#include "core/writing/container_source.hpp"
#include "core/base/process.hpp"
#include "tests/support/files.hpp"

#include <dmlc/memory_io.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

using test::TempDir;
using ::testing::HasSubstr;

Pieces bytes_from_0(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(i));
  Pieces pieces;
  // Two pieces, which do not end with a line.
  pieces.Write(bytes.data(), count / 2);
  pieces.append(MadeBytes{count - count / 2, [rest = bytes.substr(count / 2)] {
                            return std::vector<std::uint8_t>(rest.begin(), rest.end());
                          }});
  return pieces;
}

std::string source_of(const ContainerSource& source, const Pieces& container) {
  std::string text;
  dmlc::MemoryStringStream out(&text);
  const Status written = write_container_source(source, container, out);
  EXPECT_TRUE(written.ok()) << written.error().message;
  return text;
}

TEST(ContainerSource, HasTwentyValuesInALine) {
  const std::string text = source_of({"blob", ""}, bytes_from_0(42));

  EXPECT_TRUE(text.starts_with(container_source_mark));
  EXPECT_THAT(
      text,
      HasSubstr(
          "TVM_EXPORT extern const unsigned char blob[];\n"
          "const unsigned char blob[42] = {\n"
          "  0x00,0x01,0x02,0x03,0x04,0x05,0x06,0x07,0x08,0x09,0x0a,0x0b,0x0c,0x0d,0x0e,0x0f,0x10,"
          "0x11,0x12,0x13,\n"
          "  0x14,0x15,0x16,0x17,0x18,0x19,0x1a,0x1b,0x1c,0x1d,0x1e,0x1f,0x20,0x21,0x22,0x23,0x24,"
          "0x25,0x26,0x27,\n"
          "  0x28,0x29,\n"
          "};\n"));
}

// Longer than the writer's buffer. The program compares the bytes and the registration.
TEST(ContainerSource, CompilesAsCAndAsCxxWithEqualBytes) {
  const TempDir temp;
  constexpr std::size_t count = 100'003;
  test::write_file(temp / "blob.c", source_of({"blob", "note_symbol"}, bytes_from_0(count)));
  test::write_file(temp / "blob.cpp", source_of({"blob", "note_symbol"}, bytes_from_0(count)));
  test::write_file(temp / "main.c",
                   "#include <stdio.h>\n#include <string.h>\n"
                   "extern const unsigned char blob[100003];\nstatic int noted;\n"
                   "int note_symbol(const char* name, void* address) {\n"
                   "  noted += strcmp(name, \"blob\") == 0 && address == (void*)blob;\n"
                   "  return 0;\n}\n"
                   "int main(void) {\n"
                   "  for (int i = 0; i < 100003; ++i) if (blob[i] != i % 256) return 1;\n"
                   "  return noted == 1 ? 0 : 2;\n}\n");
  for (const char* const source : {"blob.c", "blob.cpp"}) {
    const auto built = run_program(
        {"cc", "-Wall", "-Wextra", "-Werror", "-o", (temp / "main").native(), "main.c", source},
        temp.path(), 1 << 16);
    ASSERT_TRUE(built.ok());
    ASSERT_EQ(built->exit_status, 0) << built->output;

    const auto end = run_program({(temp / "main").native()}, temp.path(), 1 << 16);

    ASSERT_TRUE(end.ok());
    EXPECT_EQ(end->exit_status, 0) << source;
  }
}

TEST(ContainerSource, IsRefusedForNamesThatAreNoIdentifiers) {
  std::string text;
  dmlc::MemoryStringStream out(&text);
  for (const std::string_view name : {"", "1a", "a-b", "a b"}) {
    const Status of_symbol = write_container_source({name, ""}, bytes_from_0(1), out);
    ASSERT_FALSE(of_symbol.ok());
    EXPECT_EQ(of_symbol.error().code, Code::invalid);
    EXPECT_EQ(of_symbol.error().message,
              concat("symbol of the container is \"", name, "\", expected an identifier of C"));
  }
  const Status of_function = write_container_source({"a", "f()"}, bytes_from_0(1), out);
  ASSERT_FALSE(of_function.ok());
  EXPECT_EQ(of_function.error().message,
            "function that registers the container is \"f()\", expected an identifier of C");
  EXPECT_TRUE(text.empty());
}

}  // namespace
}  // namespace gantry
