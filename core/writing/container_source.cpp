// SPDX-License-Identifier: Apache-2.0
#include "core/writing/container_source.hpp"

#include "core/base/text.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <string>

namespace gantry {
namespace {

Status check_identifier(std::string_view what, std::string_view name) {
  if (is_c_identifier(name)) return {};
  return invalid(what, " is ", quoted(name), ", expected an identifier of C");
}

// Writes bytes as hexadecimal numbers.
class HexStream : public OutputStream {
 public:
  explicit HexStream(dmlc::Stream& out) : out_(out) {}

  void finish() {
    if (column_ != 0) text_ += '\n';
    flush();
  }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    constexpr char digits[] = "0123456789abcdef";
    for (const std::uint8_t byte : bytes) {
      if (column_ == 0) text_ += "  ";
      text_ += {'0', 'x', digits[byte >> 4], digits[byte & 15], ','};
      column_ = (column_ + 1) % values_in_line;
      if (column_ == 0) text_ += '\n';
      if (text_.size() >= buffer_bytes) flush();
    }
  }

 private:
  static constexpr int values_in_line = 20;
  static constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

  void flush() {
    out_.Write(text_.data(), text_.size());
    text_.clear();
  }

  dmlc::Stream& out_;
  std::string text_;
  int column_ = 0;
};

std::string beginning(const ContainerSource& source, std::uint64_t size) {
  std::string text(container_source_mark);
  text +=
      "#if defined(_WIN32)\n"
      "#define TVM_EXPORT __declspec(dllexport)\n"
      "#else\n"
      "#define TVM_EXPORT __attribute__((visibility(\"default\")))\n"
      "#endif\n"
      "#ifdef __cplusplus\n"
      "extern \"C\" {\n"
      "#endif\n";
  if (!source.register_function.empty()) {
    text += concat("int ", source.register_function, "(const char* name, void* address);\n");
  }
  text += concat("TVM_EXPORT extern const unsigned char ", source.symbol, "[];\n",
                 "const unsigned char ", source.symbol, "[", size, "] = {\n");
  return text;
}

std::string ending(const ContainerSource& source) {
  std::string text = "};\n";
  if (!source.register_function.empty()) {
    text += concat("__attribute__((constructor)) static void register_", source.symbol,
                   "(void) {\n  ", source.register_function, "(\"", source.symbol, "\", (void*)",
                   source.symbol, ");\n}\n");
  }
  return text + "#ifdef __cplusplus\n}\n#endif\n";
}

}  // namespace

Status write_container_source(const ContainerSource& source, const Pieces& container,
                              dmlc::Stream& out) {
  GANTRY_CHECK(check_identifier("symbol of the container", source.symbol));
  if (!source.register_function.empty()) {
    GANTRY_CHECK(
        check_identifier("function that registers the container", source.register_function));
  }
  const std::string first = beginning(source, container.size());
  out.Write(first.data(), first.size());
  HexStream hex(out);
  GANTRY_CHECK(container.write_to(hex));
  hex.finish();
  const std::string last = ending(source);
  out.Write(last.data(), last.size());
  return {};
}

}  // namespace gantry
