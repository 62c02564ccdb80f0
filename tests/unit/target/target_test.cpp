// SPDX-License-Identifier: Apache-2.0
#include "core/formats/target/target.hpp"

#include "core/formats/target/target_form.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kind with an option of every type, and one tag.
TargetKind npu() {
  TargetKind kind{.name = "npu", .device = "npu", .device_type = 12, .keys = {"npu", "gpu"}};
  kind.options = {
      {"arch", TargetType::text, {}, "", "compute_version", "v*"},
      {"cores", TargetType::integer, TargetValue(std::int64_t{4}), "", "multiprocessors"},
      {"fast", TargetType::boolean, {}, "", "is_fast"},
      {"mattr", TargetType::list, {}, ""},
  };
  kind.tags = {{"acme/edge", {{"arch", std::string("v21")}, {"cores", std::int64_t{2}}}}};
  return kind;
}

TargetKinds known() {
  TargetKinds kinds;
  kinds.add(npu(), "acme.npu");
  return kinds;
}

std::string json_of(std::string_view text) {
  const Result<CompileTarget> target = parse_target(text, known());
  if (!target.ok()) return target.error().message.text();
  return target_json(*target);
}

TEST(TargetText, IsReadWithEveryFormOfAnOption) {
  EXPECT_EQ(json_of("npu -arch=v3 --cores=8 -fast -mattr=+a,-b -keys=x,y"),
            R"({"kind":"npu","tag":"","keys":["x","y"],"arch":"v3","cores":8,"fast":true,)"
            R"("mattr":["+a","-b"]})");
  EXPECT_EQ(json_of("  npu\t--arch v3 -cores 8 -fast 0 -mattr \"+a,-b\" "),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"arch":"v3","cores":8,"fast":false,)"
            R"("mattr":["+a","-b"]})");
  EXPECT_EQ(json_of("npu -fast -cores=-1"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"cores":-1,"fast":true})");
  EXPECT_EQ(json_of("npu -fast=false"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"cores":4,"fast":false})");
}

TEST(TargetText, HasQuotesAndBackslashes) {
  EXPECT_EQ(json_of(R"(npu -arch="a b" -mattr=x\,y,z\ w -model='say "hi"' -device="")"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"arch":"a b","cores":4,"device":"",)"
            R"("mattr":["x,y","z w"],"model":"say \"hi\""})");
}

TEST(TargetText, HasAHost) {
  EXPECT_EQ(json_of(R"(npu -host="llvm -mcpu=\"a b\" -mattr=+x")"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"host":{"kind":"llvm","tag":"",)"
            R"("keys":["cpu"],"mattr":["+x"],"mcpu":"a b"},"cores":4})");
}

TEST(TargetJson, IsReadWithEveryType) {
  EXPECT_EQ(json_of(R"( {"arch": "v3", "kind": "npu", "cores": -8, "fast": 1, "mattr": ["+a,b"],)"
                    R"( "keys": ["x"], "tag": "", "host": {"kind": "c"}})"),
            R"({"kind":"npu","tag":"","keys":["x"],"host":{"kind":"c","tag":"","keys":["cpu"]},)"
            R"("arch":"v3","cores":-8,"fast":true,"mattr":["+a,b"]})");
  EXPECT_EQ(json_of(R"({"kind": "npu", "fast": false, "host": "llvm -mcpu=x"})"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"host":{"kind":"llvm","tag":"",)"
            R"("keys":["cpu"],"mcpu":"x"},"cores":4,"fast":false})");
  EXPECT_EQ(json_of(R"({"kind": "npu", "host": null})"),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"cores":4})");
}

TEST(TargetTag, ExpandsToItsValuesWhichOptionsOverride) {
  const std::string expanded =
      R"({"kind":"npu","tag":"acme/edge","keys":["npu","gpu"],"arch":"v21","cores":2})";
  EXPECT_EQ(json_of("acme/edge"), expanded);
  EXPECT_EQ(json_of("npu -tag=acme/edge"), expanded);
  EXPECT_EQ(json_of(R"({"tag": "acme/edge"})"), expanded);
  EXPECT_EQ(json_of(R"({"tag": "acme/edge", "kind": "npu"})"), expanded);
  EXPECT_EQ(json_of("acme/edge -cores=1"),
            R"({"kind":"npu","tag":"acme/edge","keys":["npu","gpu"],"arch":"v21","cores":1})");
}

TEST(TargetKeys, AreThoseGivenOrOfTheKindWithTheDeviceAndNoneTwice) {
  EXPECT_EQ(json_of("npu -device=edge"),
            R"({"kind":"npu","tag":"","keys":["edge","npu","gpu"],"cores":4,"device":"edge"})");
  EXPECT_EQ(json_of("npu -keys=a,b,a -device=b"),
            R"({"kind":"npu","tag":"","keys":["a","b"],"cores":4,"device":"b"})");
  EXPECT_EQ(json_of("npu -keys="), R"({"kind":"npu","tag":"","keys":[],"cores":4})");
}

TEST(TargetDeviceType, IsTheKindsOrTheOneGiven) {
  EXPECT_EQ(parse_target("npu", known())->device_type, 12);
  EXPECT_EQ(parse_target("llvm", known())->device_type, 1);
  EXPECT_EQ(parse_target("npu -target_device_type=14", known())->device_type, 14);
  for (const std::string number : {"0", "128", "-1"}) {
    const auto target = parse_target("npu -target_device_type=" + number, known());
    ASSERT_FALSE(target.ok());
    EXPECT_EQ(target.error().message,
              concat("target_device_type is ", number, ", expected 1 to 127"));
  }
}

TEST(TargetFromDevice, TakesAttributesForOptionsThatAreNotGiven) {
  std::vector<std::string> calls;
  const DeviceAttributes attributes =
      [&](std::string_view device, std::int64_t index,
          std::string_view attribute) -> Result<std::optional<std::string>> {
    calls.push_back(concat(device, ':', index, ' ', attribute));
    if (attribute == "is_fast") return std::optional<std::string>();
    return std::optional<std::string>(attribute == "compute_version" ? "9.0.1" : "132");
  };

  const auto all = parse_target("npu -from_device=1", known(), attributes);
  const auto some =
      parse_target(R"({"kind":"npu","from_device":0,"arch":"x"})", known(), attributes);

  EXPECT_EQ(target_json(*all),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"arch":"v901","cores":132})");
  EXPECT_EQ(target_json(*some),
            R"({"kind":"npu","tag":"","keys":["npu","gpu"],"arch":"x","cores":132})");
  EXPECT_THAT(calls, ElementsAre("npu:1 compute_version", "npu:1 multiprocessors", "npu:1 is_fast",
                                 "npu:0 multiprocessors", "npu:0 is_fast"));
}

TEST(TargetFromDevice, ReportsWhatTheDeviceReports) {
  const auto none = parse_target("npu -from_device=0", known());
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().message, "from_device is given where no device can be read");
  EXPECT_EQ(none.error().offset, 4u);

  const auto failing = parse_target(
      "npu -from_device=7", known(),
      [](std::string_view, std::int64_t, std::string_view) -> Result<std::optional<std::string>> {
        return unavailable("no driver");
      });
  ASSERT_FALSE(failing.ok());
  EXPECT_EQ(failing.error().message, "no driver");

  const auto wrong = parse_target(
      "npu -from_device=7", known(),
      [](std::string_view, std::int64_t, std::string_view) -> Result<std::optional<std::string>> {
        return std::optional<std::string>("many");
      });
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(
      wrong.error().message,
      "attribute multiprocessors of npu:7 for option \"cores\": expected int, found \"many\"");
}

TEST(TargetForms, ArePrintedSoThatTheyReadBack) {
  for (const std::string_view text :
       {R"(npu)", R"(acme/edge -fast -mattr=a\,b,"c d",'"')", R"({"kind":"npu","mattr":[]})",
        R"({"kind":"npu","arch":"","model":"a\\b 'c' \"d\"\n"})",
        R"(npu -host="llvm -mcpu=\"x y\" -model='q\\'z'" -libs=cublas,cudnn)",
        R"({"kind":"npu","keys":["a b","c,d"],"host":{"kind":"c","march":"a\"b"}})"}) {
    const Result<CompileTarget> target = parse_target(text, known());
    ASSERT_TRUE(target.ok()) << text << ": " << target.error().message;

    const std::string as_text = target_text(*target);
    const Result<CompileTarget> from_text = parse_target(as_text, known());
    const Result<CompileTarget> from_json = parse_target(target_json(*target), known());
    const Result<CompileTarget> from_lines = parse_target(target_json(*target, {}), known());

    ASSERT_TRUE(from_text.ok()) << as_text << ": " << from_text.error().message;
    ASSERT_TRUE(from_json.ok()) << from_json.error().message;
    ASSERT_TRUE(from_lines.ok()) << from_lines.error().message;
    EXPECT_EQ(*from_text, *target) << as_text;
    EXPECT_EQ(*from_json, *target);
    EXPECT_EQ(*from_lines, *target);
  }
  EXPECT_EQ(target_text(*parse_target("npu -arch=v3 -fast", known())),
            "npu -keys=npu,gpu -arch=v3 -cores=4 -fast=1");
}

struct BadTarget {
  std::string text;
  std::uint64_t offset;
  std::string message;
};

TEST(TargetRefuses, TheWrongPart) {
  const std::string options =
      "; options: arch, cores, fast, mattr, device, from_device, libs, model, target_device_type";
  for (const BadTarget& bad : {
           BadTarget{"", 0, "target is empty, expected the name of a kind"},
           BadTarget{" \t", 0, "target is empty, expected the name of a kind"},
           BadTarget{" npv", 1,
                     "target kind \"npv\" not found, did you mean \"npu\"; kinds: c, llvm, npu"},
           BadTarget{"acme/edg", 0,
                     "target kind \"acme/edg\" not found, did you mean \"acme/edge\"; kinds: c, "
                     "llvm, npu"},
           BadTarget{"npu -archh=1", 4,
                     "option \"archh\" of target kind \"npu\" not found, did you mean \"arch\"" +
                         options},
           BadTarget{"npu arch", 4,
                     "target has \"arch\", expected an option, -name=value or --name=value"},
           BadTarget{"npu --", 4,
                     "target has \"--\", expected an option, -name=value or --name=value"},
           BadTarget{"npu ---arch=1", 4,
                     "target has \"---arch=1\", expected an option, -name=value or --name=value"},
           BadTarget{"npu -cores=x", 4, "option \"cores\": expected int, found \"x\""},
           BadTarget{"npu -cores=99999999999999999999", 4,
                     "option \"cores\": expected int, found \"99999999999999999999\""},
           BadTarget{"npu -fast=yes", 4, "option \"fast\": expected bool, found \"yes\""},
           BadTarget{"npu -arch", 4, "option \"arch\" has no value, expected -arch=value"},
           BadTarget{"npu -arch -fast", 4, "option \"arch\" has no value, expected -arch=value"},
           BadTarget{"npu -fast -fast", 10, "option \"fast\" is given twice, expected once"},
           BadTarget{"npu -keys=a -keys=b", 18, "option \"keys\" is given twice, expected once"},
           BadTarget{"acme/edge -tag=acme/edge", 15,
                     "option \"tag\" is given twice, expected once"},
           BadTarget{"npu -host=c -host=c", 18, "option \"host\" is given twice, expected once"},
           BadTarget{"npu -tag=acme/ede", 9,
                     "kind \"npu\" has no tag \"acme/ede\", did you mean \"acme/edge\"; tags: "
                     "acme/edge"},
           BadTarget{"llvm -tag=x", 10, "kind \"llvm\" has no tag \"x\"; tags: none"},
           BadTarget{"npu -host=\"c -host=c\"", 18, "target of a host has a host, expected none"},
           BadTarget{"npu -mattr=a,,b", 11, "list \"mattr\" of the target has an empty item"},
           BadTarget{"npu -keys=a,", 10, "list \"keys\" of the target has an empty item"},
           BadTarget{"npu -arch=\"x", 10, "quote in the target is not closed"},
           BadTarget{"npu -arch=\\", 10,
                     "target ends with a backslash, expected a character after it"},
           BadTarget{"{}", 0, "target has no member \"kind\" and no \"tag\""},
           BadTarget{"{\"tag\": \"\"}", 0, "target has no member \"kind\" and no \"tag\""},
           BadTarget{"{\"kind\": 1}", 9,
                     "member \"kind\" of the target is a number, expected a string"},
           BadTarget{"{\"kind\":\"npu\",\"tag\":[]}", 20,
                     "member \"tag\" of the target is a list, expected a string"},
           BadTarget{"{\"kind\":\"npu\",\"kind\":\"c\"}", 21,
                     "member \"kind\" of the target is given twice, expected once"},
           BadTarget{"{\"kind\":\"npu\",\"cors\":1}", 21,
                     "option \"cors\" of target kind \"npu\" not found, did you mean \"cores\"" +
                         options},
           BadTarget{"{\"kind\":\"npu\",\"cores\":1.5}", 22,
                     "member \"cores\" of the target is a fraction, expected an integer"},
           BadTarget{"{\"kind\":\"npu\",\"cores\":9223372036854775808}", 22,
                     "member \"cores\" of the target is a number, expected an integer"},
           BadTarget{"{\"kind\":\"npu\",\"fast\":2}", 21,
                     "member \"fast\" of the target is a number, expected true or false"},
           BadTarget{"{\"kind\":\"npu\",\"arch\":1}", 21,
                     "member \"arch\" of the target is a number, expected a string"},
           BadTarget{"{\"kind\":\"npu\",\"mattr\":\"a\"}", 22,
                     "member \"mattr\" of the target is a string, expected a list of strings"},
           BadTarget{"{\"kind\":\"npu\",\"mattr\":[1]}", 23,
                     "member \"mattr\" of the target is a number, expected a list of strings"},
           BadTarget{"{\"kind\":\"npu\",\"keys\":[\"\"]}", 22,
                     "list \"keys\" of the target has an empty item"},
           BadTarget{"{\"kind\":\"npu\",\"host\":1}", 21,
                     "member \"host\" of the target is a number, expected an object or a string"},
           BadTarget{"{\"kind\":\"npu\",\"host\":{\"kind\":\"c\",\"host\":\"c\"}}", 40,
                     "target of a host has a host, expected none"},
       }) {
    const Result<CompileTarget> target = parse_target(bad.text, known());

    ASSERT_FALSE(target.ok()) << bad.text;
    EXPECT_EQ(target.error().code, Code::malformed) << bad.text;
    EXPECT_EQ(target.error().message, bad.message) << bad.text;
    EXPECT_EQ(target.error().offset, bad.offset) << bad.text;
  }
}

TEST(TargetRefuses, ATooLongText) {
  const auto target = parse_target("npu -arch=" + std::string(max_target_bytes, 'x'), known());

  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().message, "target has 65546 bytes, maximum is 65536");
}

TEST(TargetKindsOfAProgram, AreSortedAndTheFirstOfANameRemains) {
  TargetKinds kinds = known();
  TargetKind other = npu();
  other.options.clear();
  kinds.add(std::move(other), "other.npu");

  EXPECT_THAT(kinds.names(), ElementsAre("c", "llvm", "npu"));
  EXPECT_EQ(kinds.find("npu")->plugin, "acme.npu");
  EXPECT_EQ(kinds.find("npu")->kind.options.size(), 4u);
  EXPECT_EQ(kinds.find("np"), nullptr);
  EXPECT_EQ(kinds.find("llvm")->plugin, "");
  EXPECT_THAT(kinds.tags(), ElementsAre("acme/edge"));
}

TEST(TargetKindsOfAProgram, AreFoundByTheTypeKeyOfTheirPayloads) {
  TargetKinds kinds;
  TargetKind kind = npu();
  kind.type_key = "acme.npu";
  kinds.add(std::move(kind), "acme.npu");

  ASSERT_EQ(kinds.for_type_key("acme.npu").size(), 1u);
  EXPECT_EQ(kinds.for_type_key("acme.npu")[0]->kind.name, "npu");
  EXPECT_THAT(kinds.for_type_key("acme"), IsEmpty());
  EXPECT_THAT(kinds.for_type_key(""), IsEmpty());
}

// Kinds and options that are not known, too.
TEST(TargetForm, IsAKindWithOptionsOrAnObject) {
  for (const char* good :
       {"llvm", "llvm -keys=cpu ", "c -keys=arm_cpu,cpu -march=armv8-m -model=\"a b\"",
        "ethos-u -accelerator_config=ethos-u55-256", "npu --arch v3 -fast",
        "acme/edge -a=\\\" -b=' '", " {\"kind\": \"cuda\", \"arch\": \"sm_90\"}",
        "{\"kind\": \"\", \"tag\": \"acme/edge\"}"}) {
    const Status checked = check_target_form(good);
    EXPECT_TRUE(checked.ok()) << good << ": " << checked.error().message;
  }
  struct Case {
    std::string_view text, message;
    std::uint64_t offset;
  };
  const Case cases[] = {
      {"", "target is empty, expected the name of a kind", 0},
      {" \t", "target is empty, expected the name of a kind", 0},
      {" -keys=cpu", "target has \"-keys=cpu\", expected the name of a kind", 1},
      {"/edge", "target has \"/edge\", expected the name of a kind", 0},
      {"llvm cpu", "target has \"cpu\", expected an option, -name=value or --name=value", 5},
      {"llvm -a b c", "target has \"c\", expected an option, -name=value or --name=value", 10},
      {"llvm -", "target has \"-\", expected an option, -name=value or --name=value", 5},
      {"llvm -1=2",
       "target has the option \"1\", expected a letter, then letters, digits, \"_\", \".\" and "
       "\"-\"",
       5},
      {"llvm -a=\"b c", "quote in the target is not closed", 8},
      {"llvm -a=b\\", "target ends with a backslash, expected a character after it", 9},
      {"{\"kind\": 1}", "member \"kind\" of the target is a number, expected a string", 9},
      {"{\"kind\": \"a b\"}", "target has \"a b\", expected the name of a kind", 9},
      {"{\"tag\": \"\"}", "target has no member \"kind\" and no \"tag\"", 0},
  };
  for (const Case& one : cases) {
    const Status checked = check_target_form(one.text);
    ASSERT_FALSE(checked.ok()) << one.text;
    EXPECT_EQ(checked.error().message, one.message);
    EXPECT_EQ(checked.error().offset, one.offset) << one.text;
  }
  EXPECT_FALSE(check_target_form("{\"kind\": ").ok());
  const Status large = check_target_form("llvm -a=" + std::string(max_target_bytes - 7, 'x'));
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().message, "target has 65537 bytes, maximum is 65536");
}

}  // namespace
}  // namespace gantry
