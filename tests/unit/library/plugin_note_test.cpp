// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/plugin_note.hpp"

#include "core/base/sanitizer.hpp"

#include "tests/support/note_bytes.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::bytes_of;
using test::ElfBuilder;
using test::fake_manifest;
using test::note_record;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<PluginNote> read(const ElfBuilder& builder) {
  const std::vector<std::uint8_t> file = builder.build();
  return read_plugin_note(*ElfFile::parse(file), "/x.so");
}
Result<PluginNote> read(const gantry_note& note) { return read(test::plugin_elf(bytes_of(note))); }

TEST(ReadPluginNote, ReturnsEveryMember) {
  gantry_note record = note_record("acme.npu", "2.3.1-rc.1");
  record.abi = {1, 2, 3, 0};
  record.sanitizer = GANTRY_SANITIZER_THREAD;
  record.isa = 3;

  const auto note = read(record);

  ASSERT_TRUE(note.ok()) << note.error().message;
  EXPECT_EQ(note->id, "acme.npu");
  EXPECT_EQ(note->version, "2.3.1-rc.1");
  EXPECT_EQ(note->sdk_version, "0.1.0");
  EXPECT_EQ(note->abi.major, 1u);
  EXPECT_EQ(note->abi.min_minor, 2u);
  EXPECT_EQ(note->abi.max_minor, 3u);
  EXPECT_EQ(note->sanitizer, GANTRY_SANITIZER_THREAD);
  EXPECT_EQ(note->isa, 3u);
}

// A later version appends members.
TEST(ReadPluginNote, AcceptsALongerNote) {
  gantry_note record = note_record();
  record.struct_size += 16;
  std::vector<std::uint8_t> bytes = bytes_of(record);
  bytes.resize(bytes.size() + 16, 0xff);

  EXPECT_TRUE(read(test::plugin_elf(bytes)).ok());
}

TEST(ReadPluginNote, IgnoresNotesOfOtherOwnersAndTypes) {
  const std::vector<std::uint8_t> note = bytes_of(note_record());
  const ElfBuilder others = ElfBuilder().note("GNU", 1, note).note("GANTRY", 2, note);

  const auto none = read(others);

  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::malformed);
  EXPECT_EQ(none.error().reason, "NOTE_MISSING");
  EXPECT_EQ(none.error().message,
            "/x.so has no note with a plugin's identity among its 2 notes: build it with "
            "GANTRY_PLUGIN or, in C, with GANTRY_NOTE of gantry/note.h");
  EXPECT_TRUE(read(ElfBuilder(others).note("GANTRY", 1, note)).ok());
}

TEST(ReadPluginNote, RefusesEveryTruncation) {
  const std::vector<std::uint8_t> whole = bytes_of(note_record());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto note = read(test::plugin_elf({whole.begin(), whole.begin() + size}));
    ASSERT_FALSE(note.ok()) << size;
    EXPECT_EQ(note.error().reason, "NOTE_INVALID");
    EXPECT_THAT(note.error().message, StartsWith("the note of /x.so has "));
    EXPECT_THAT(note.error().message, HasSubstr(", minimum is 272: "));
  }
}

struct BadNote {
  std::string name;
  void (*spoil)(gantry_note&);
  std::string message;
};

class ReadPluginNoteRejects : public ::testing::TestWithParam<BadNote> {};

TEST_P(ReadPluginNoteRejects, WithTheMember) {
  gantry_note record = note_record();
  GetParam().spoil(record);

  const auto note = read(record);

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().code, Code::malformed);
  EXPECT_EQ(note.error().reason, "NOTE_INVALID");
  EXPECT_EQ(note.error().message,
            concat("the note of /x.so ", GetParam().message, ": build it with gantry/note.h"));
}

INSTANTIATE_TEST_SUITE_P(
    Members, ReadPluginNoteRejects,
    ::testing::Values(
        BadNote{"SmallSize", [](gantry_note& note) { note.struct_size = 271; },
                "has struct_size 271, expected 272 to 272"},
        BadNote{"SizeBeyondTheNote", [](gantry_note& note) { note.struct_size = 273; },
                "has struct_size 273, expected 272 to 272"},
        BadNote{"EndlessSdkVersion",
                [](gantry_note& note) { std::memset(note.sdk_version, '1', 32); },
                "has member sdk_version without an end"},
        BadNote{"EndlessId", [](gantry_note& note) { std::memset(note.id, 'a', 72); },
                "has member id without an end"},
        BadNote{"EndlessVersion", [](gantry_note& note) { std::memset(note.version, '1', 136); },
                "has member version without an end"},
        BadNote{"Id", [](gantry_note& note) { note.id[0] = 'T'; },
                "has id \"Test.fake\", expected vendor.name in lower-case letters, digits, '.' and "
                "'-', at most 64 bytes"}),
    [](const auto& test) { return test.param.name; });

TEST(ReadPluginNote, RefusesAVersionThatIsNotSemantic) {
  gantry_note record = note_record();
  record.version[3] = 0;

  const auto note = read(record);

  ASSERT_FALSE(note.ok());
  EXPECT_EQ(note.error().reason, "NOTE_INVALID");
  EXPECT_THAT(note.error().message,
              StartsWith("the note of /x.so has a wrong version: version \"1.0\" has 2 numbers"));
}

TEST(ReadPluginNote, RefusesTwoNotes) {
  const std::vector<std::uint8_t> note = bytes_of(note_record());

  const auto both = read(test::plugin_elf().note("GANTRY", 1, note));

  ASSERT_FALSE(both.ok());
  EXPECT_EQ(both.error().reason, "NOTE_INVALID");
  EXPECT_EQ(both.error().message, "the note of /x.so exists twice: build it with gantry/note.h");
}

Manifest manifest_of_note() {
  Manifest manifest = read_manifest(fake_manifest().text(), "/p/x.yaml").value();
  manifest.library_path = "/p/x.so";
  return manifest;
}

constexpr NoteHost kHost{{1, 0, 0, 0}, GANTRY_SANITIZER_NONE, 2};

PluginNote fake_note() {
  PluginNote note;
  note.abi = {1, 0, 0, 0};
  note.id = "test.fake";
  note.version = "1.0.0";
  return note;
}

TEST(CheckNote, AcceptsTheManifestsIdentity) {
  EXPECT_TRUE(check_note(fake_note(), manifest_of_note(), kHost).ok());
}

TEST(CheckNote, ComparesTheIdentityWithTheManifests) {
  PluginNote id = fake_note(), version = fake_note(), abi = fake_note();
  id.id = "test.other";
  version.version = "1.0.0+built";
  abi.abi.max_minor = 3;

  const Error other_id = check_note(id, manifest_of_note(), kHost).error();
  const Error other_version = check_note(version, manifest_of_note(), kHost).error();
  const Error other_abi = check_note(abi, manifest_of_note(), kHost).error();

  const std::string end = ": the two belong to different installations";
  EXPECT_EQ(other_id.reason, "ID_MISMATCH");
  EXPECT_EQ(other_id.message,
            "/p/x.yaml declares id test.fake, the note of /p/x.so declares test.other" + end);
  EXPECT_EQ(other_version.reason, "VERSION_MISMATCH");
  EXPECT_EQ(other_version.message,
            "/p/x.yaml declares version 1.0.0, the note of /p/x.so declares 1.0.0+built" + end);
  EXPECT_EQ(other_abi.reason, "ABI_MISMATCH");
  EXPECT_EQ(other_abi.message,
            "/p/x.yaml declares ABI 1.0, the note of /p/x.so declares 1.0-1.3" + end);
}

TEST(CheckNote, NegotiatesTheAbi) {
  PluginNote newer = fake_note();
  newer.abi = {1, 4, 6, 0};

  const Status status = check_note(newer, manifest_of_note(), kHost);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "ABI_RANGE");
  EXPECT_THAT(status.error().message,
              StartsWith("plugin test.fake 1.0.0 supports ABI 1.4-1.6, this core supports 1.0"));
}

TEST(CheckNote, RefusesAnotherSanitizer) {
  PluginNote note = fake_note();
  note.sanitizer = GANTRY_SANITIZER_ADDRESS;
  NoteHost threads = kHost;
  threads.sanitizer = GANTRY_SANITIZER_THREAD;

  for (const NoteHost& host : {kHost, threads}) {
    const Status status = check_note(note, manifest_of_note(), host);

    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::unsupported);
    EXPECT_EQ(status.error().reason, "SANITIZER");
    EXPECT_EQ(status.error().message,
              concat("/p/x.so is built with the address sanitizer, this program with ",
                     sanitizer_text(host.sanitizer),
                     ": install a build of test.fake without a sanitizer, or start the program "
                     "with the runtime of the sanitizer (LD_PRELOAD)"));
  }
}

TEST(CheckNote, AcceptsTheProgramsSanitizerAndNone) {
  PluginNote note = fake_note();
  NoteHost host = kHost;
  host.sanitizer = GANTRY_SANITIZER_ADDRESS;

  EXPECT_TRUE(check_note(note, manifest_of_note(), host).ok());
  note.sanitizer = GANTRY_SANITIZER_ADDRESS;
  EXPECT_TRUE(check_note(note, manifest_of_note(), host).ok());
}

TEST(CheckNote, RefusesALevelAboveThisCpu) {
  PluginNote note = fake_note();
  note.isa = 2;
  EXPECT_TRUE(check_note(note, manifest_of_note(), kHost).ok());
  note.isa = 3;

  const Status status = check_note(note, manifest_of_note(), kHost);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_EQ(status.error().reason, "ISA");
  EXPECT_EQ(status.error().message,
            concat("/p/x.so needs a CPU of level ", isa_text(3), ", this CPU has ", isa_text(2),
                   ": install a build of test.fake for ", isa_text(2)));
}

TEST(NoteHost, HasALevelOfThisCpu) {
  const NoteHost host = note_host({1, 0, 0, 0});

  EXPECT_GE(host.isa, 1u);
  EXPECT_LE(host.isa, 4u);
  EXPECT_EQ(host.sanitizer, GANTRY_SANITIZER);
}

// Before anything is loaded: the file is never opened by the linker.
TEST(OpenPlugin, RefusesTheNotesLevelBeforeItRunsCode) {
  test::World world;
  gantry_note record = note_record();
  record.isa = 99;
  world.add("x", "");
  test::write_file(world.library("x"), test::plugin_elf(bytes_of(record)).build());

  const auto plugin = open_plugin(world.manifest("x"), test::core_info());

  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.error().reason, "ISA");
}

}  // namespace
}  // namespace gantry
