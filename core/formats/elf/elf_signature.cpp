// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_signature.hpp"

#include "core/formats/elf/elf_sections.hpp"

#include <gantry/concat.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <string_view>

namespace gantry {
namespace {

struct SignatureSection {
  // empty: any name
  std::string_view name;
  // 0: any type
  std::uint32_t type;
  std::string_view writer;
};

// source   the sources and manuals of these programs
constexpr SignatureSection signature_sections[] = {
    {".SUNW_signature", 0, "elfsign of Solaris and illumos"},
    {".codesign", 0, "binary-sign-tool of OpenHarmony"},
    {".text_sig", 0, "linux-elf-binary-signer"},
    {".signature", 0, "kEIPM"},
    {".gpg", 0, "ymp"},
    // 0x80, "sig"
    {"", 0x80736967, "bsign, for DigSig"},
};

// The end of a file that the Linux kernel's sign-file has signed.
constexpr std::string_view trailer = "~Module signature appended~\n";

}  // namespace

Result<std::optional<ElfSignature>> find_signature(const ElfImage& image) {
  GANTRY_TRY(SectionNames names, SectionNames::of(image));
  for (std::size_t i = 0; i < image.sections().size(); ++i) {
    const ElfSection& section = image.sections()[i];
    GANTRY_TRY(const std::string_view name, names.name(i));
    for (const SignatureSection& known : signature_sections) {
      const bool matches = known.name.empty() ? section.type == known.type : name == known.name;
      if (!matches) continue;
      return std::optional(
          ElfSignature{concat("section ", quoted(name)), known.writer, section.offset});
    }
  }
  const auto bytes = image.bytes();
  if (bytes.size() >= trailer.size() &&
      std::ranges::equal(bytes.last(trailer.size()), trailer, {}, {},
                         [](char c) { return static_cast<std::uint8_t>(c); })) {
    return std::optional(ElfSignature{"the text \"~Module signature appended~\" at its end",
                                      "sign-file of Linux", bytes.size() - trailer.size()});
  }
  return std::optional<ElfSignature>();
}

}  // namespace gantry
