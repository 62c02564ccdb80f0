// SPDX-License-Identifier: Apache-2.0
//
// The command line with drivers that abort or hang.
#include "tests/golden/cli_command.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/library/world.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Args = std::vector<std::string>;

class FailingDriver : public ::testing::Test {
 protected:
  Outcome gantry(Args args) {
    args.insert(args.begin(), {"--plugins", world.path().string()});
    return run_gantry(args);
  }
  void add(std::string_view name, std::string_view variant) {
    world.add(name, variant,
              ManifestBuilder().set("keys", "[{key: fake, payload: [str]}]").device("fake_device"));
  }

  World world;
};

TEST_F(FailingDriver, ThatAbortsIsALineWithItsLastOutput) {
  add("aborts", "count_aborts");

  const Outcome devices = gantry({"devices"});

  EXPECT_EQ(devices.status, 0);
  EXPECT_THAT(devices.out, AllOf(HasSubstr("cpu:0"), Not(HasSubstr("fake_device"))));
  EXPECT_EQ(devices.err,
            "gantry: warning: plugin test.fake 1.0.0 is not used: the driver ended the process by "
            "signal 6 (Aborted); its last output is \"fake: no linker\"\n");
}

TEST_F(FailingDriver, ThatHangsIsALineWithTheTime) {
  add("hangs", "count_hangs");

  const Outcome devices = gantry({"devices", "--timeout", "1"});

  EXPECT_EQ(devices.status, 0);
  EXPECT_EQ(devices.err,
            "gantry: warning: plugin test.fake 1.0.0 is not used: the driver did not return within "
            "1 s, without output\n");
}

TEST_F(FailingDriver, ThatHangsInTheCheckOfAGeneratorIsALineWithTheTime) {
  world.add("hangs", "generator_hangs",
            ManifestBuilder()
                .set("keys", "[{key: fake, payload: [str]}]")
                .device("fake_device")
                .set("target_kinds", "[{name: fake, type_key: fake, languages: [f]}]"));

  const Outcome targets = gantry({"targets", "--timeout", "1"});

  EXPECT_EQ(targets.status, 0);
  EXPECT_EQ(targets.err,
            "gantry: warning: plugin test.fake 1.0.0 is not used: the code generator did not "
            "return within 1 s; its last output is \"fake: waiting for the device\"\n");
  EXPECT_THAT(targets.out, HasSubstr("    test.fake  from f: compiled code, not on this host: "));
}

TEST_F(FailingDriver, DoesNotHideAnotherPluginForItsDevice) {
  add("aborts", "count_aborts");
  world.add("works", "second", fake_manifest().id("test.second").version("2.0.0"));

  const Outcome devices = gantry({"devices"});

  EXPECT_THAT(devices.out, HasSubstr("fake_device:0"));
}

TEST_F(FailingDriver, IsRefusedByTheDoctor) {
  add("aborts", "count_aborts");

  const Outcome looked = gantry({"plugins", "doctor", "--key", "fake"});
  const Outcome probed = gantry({"plugins", "doctor", "--key", "fake", "--probe"});

  EXPECT_EQ(looked.status, 0);
  EXPECT_EQ(probed.status, 1);
  EXPECT_THAT(probed.out, AllOf(HasSubstr("REFUSED"), HasSubstr("GANTRY-D512 PROBE_ABORTED"),
                                HasSubstr("while its devices are counted (stage enumerate)"),
                                HasSubstr("fake: no linker"),
                                HasSubstr("  FAILED   plugin test.fake 1.0.0 is not used: ")));
}

TEST_F(FailingDriver, ThatAbortsAtAPayloadIsRefusedByTheDoctor) {
  add("aborts", "check_aborts");
  const std::vector<std::uint64_t> rows{0, 0};
  const Words container = layout_one(1, Words().str("fake").str("x"), rows, {});
  const auto path = world.path() / "model.so";
  write_file(path, ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());

  const Outcome probed = gantry({"plugins", "doctor", "--probe", "--artifact", path.string()});

  EXPECT_EQ(probed.status, 1);
  EXPECT_THAT(probed.out, AllOf(HasSubstr("GANTRY-D601 DRIVER_ENDED"),
                                HasSubstr("payloads\n  none that an installed plugin serves")));
}

}  // namespace
}  // namespace gantry::test
