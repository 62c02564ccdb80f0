// SPDX-License-Identifier: Apache-2.0
//
// A Model Library Format archive, or its metadata.json alone if the input begins with '{'.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/mlf/model_library.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A record of metadata takes several times the memory of its text, and a finding up to a few
// microseconds.
constexpr Cost cost{.bytes_per_input_byte = 64, .nanoseconds_per_input_byte = 1000};

void check_findings(const Findings& findings) {
  const std::size_t all = findings.errors() + findings.warnings();
  expect(findings.kept().size() <= all, "every finding is counted");
  expect(findings.kept().size() <= Findings::max_kept + 1, "few findings are kept");
  expect((findings.first_error() != nullptr) == (findings.errors() != 0),
         "the first error is kept");
  for (const Finding& one : findings.kept()) {
    expect(!one.path.empty() && !one.text.empty(), "a finding has a path and a text");
  }
}

// Metadata that are written are read again and written as the same text.
void check_written(const MlfMetadata& metadata, std::uint64_t version) {
  const auto text = write_mlf_metadata(metadata, version);
  if (!text.ok()) return;
  Findings findings;
  const auto again = read_mlf_metadata(*text, findings);
  expect(again.ok(), "written metadata are read");
  expect(findings.errors() == 0, "written metadata have no errors");
  const auto second = write_mlf_metadata(*again, version);
  expect(second.ok() && *second == *text, "metadata are written as they were");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, cost);
  Findings findings;
  if (size != 0 && data[0] == '{') {
    const auto metadata = read_mlf_metadata(text_of(data, size), findings);
    check_findings(findings);
    if (!metadata.ok()) return expect_refusal(metadata.error(), size);
    expect(!metadata->models.empty(), "metadata have a model");
    if (findings.errors() != 0) return 0;
    check_written(*metadata, 7);
    check_written(*metadata, 5);
    return 0;
  }
  const auto archive = read_model_library({data, size}, findings);
  if (!archive.ok()) {
    if (archive.error().code != Code::not_found) expect_refusal(archive.error(), size);
    return 0;
  }
  expect(archive->model_files.size() == archive->metadata.models.size(), "each model has files");
  for (const auto& [name, member] : archive->files.all()) {
    expect(!name.starts_with('/') && name.find("..") != 0, "names are relative");
    expect(member.size <= size, "a member is inside its archive");
  }
  validate(*archive, findings);
  check_findings(findings);
  return 0;
}
