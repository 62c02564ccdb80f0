// SPDX-License-Identifier: Apache-2.0
#include <gantry/value.h>
#include <gantry/abi_boundary.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace gantry {
namespace {

Error full_error() {
  return malformed(0x40, "edge 3 names module 4, module count is 4")
      .with_reason("IMPORT_TREE")
      .native("errno", -22)
      .at("while reading model.so");
}

TEST(AbiBoundary, PassesASuccess) {
  StatusBuffer status;
  EXPECT_EQ(abi_boundary(status.get(), [] { return Status(); }), GANTRY_OK);
  EXPECT_EQ(abi_boundary(status.get(), [] { return Result<int>(7); }), GANTRY_OK);
  EXPECT_EQ(abi_boundary(status.get(), [] { return gantry_code{GANTRY_OK}; }), GANTRY_OK);
}

TEST(AbiBoundary, PassesACodeAndLeavesTheStatusAlone) {
  StatusBuffer buffer;
  gantry_status* status = buffer.get();

  EXPECT_EQ(
      abi_boundary(status,
                   [&] { return gantry_fail(status, GANTRY_NOT_FOUND, "NAME", "no \"run\""); }),
      GANTRY_NOT_FOUND);
  EXPECT_STREQ(status->text, "no \"run\"");
}

TEST(AbiBoundary, PassesEveryFieldOfAnError) {
  StatusBuffer status;

  const gantry_code code = abi_boundary(status.get(), [] { return Status(full_error()); });
  const Error error = status.error(code, "load");

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message, full_error().message);
  EXPECT_EQ(error.offset, 0x40u);
  EXPECT_EQ(error.reason, "IMPORT_TREE");
  EXPECT_EQ(error.native_domain, "errno");
  EXPECT_EQ(error.native_code, -22);
}

TEST(AbiBoundary, ReturnsTheErrorOfAnErrorThrown) {
  StatusBuffer status;

  const gantry_code code =
      abi_boundary(status.get(), []() -> Status { throw ErrorThrown(full_error()); });

  EXPECT_EQ(code, GANTRY_MALFORMED);
  EXPECT_EQ(status.error(code, "load").message, full_error().message);
}

struct Thrown {
  std::string name;
  void (*body)();
  Code code;
  std::string reason;
  std::string message;
};
void PrintTo(const Thrown& thrown, std::ostream* out) { *out << thrown.name; }

class AbiBoundaryStops : public ::testing::TestWithParam<Thrown> {};

TEST_P(AbiBoundaryStops, TheExceptionAndReportsIt) {
  const Thrown& thrown = GetParam();
  StatusBuffer status;

  const gantry_code code = abi_boundary(status.get(), [&]() -> Status {
    thrown.body();
    return {};
  });

  const Error error = status.error(code, "load");
  EXPECT_EQ(error.code, thrown.code);
  EXPECT_EQ(error.reason, thrown.reason);
  EXPECT_EQ(error.message, thrown.message);
  EXPECT_EQ(error.offset, no_offset);
}

struct Silent : std::exception {
  const char* what() const noexcept override { return ""; }
};

INSTANTIATE_TEST_SUITE_P(All, AbiBoundaryStops,
                         ::testing::Values(Thrown{"BadAlloc", [] { throw std::bad_alloc(); },
                                                  Code::exhausted, "MEMORY", "out of memory"},
                                           Thrown{"OutOfRange",
                                                  [] { throw std::out_of_range("index 4"); },
                                                  Code::bug, "EXCEPTION", "index 4"},
                                           Thrown{"Silent", [] { throw Silent(); }, Code::bug,
                                                  "EXCEPTION", "exception without a text"},
                                           Thrown{"Number", [] { throw 7; }, Code::bug, "EXCEPTION",
                                                  "exception that is not a std::exception"}),
                         [](const auto& test) { return test.param.name; });

TEST(AbiBoundary, AcceptsANullStatus) {
  EXPECT_EQ(abi_boundary(nullptr, [] { return Status(full_error()); }), GANTRY_MALFORMED);
  EXPECT_EQ(abi_boundary(nullptr, []() -> Status { throw 7; }), GANTRY_BUG);
}

TEST(Guard, ReturnsTheResultOfTheBody) {
  EXPECT_EQ(guard([] { return Result<int>(7); }).value(), 7);
  EXPECT_EQ(guard([] { return Status(full_error()); }).error().message, full_error().message);
}

TEST_P(AbiBoundaryStops, TheExceptionOfAFunctionThatReturnsAResult) {
  const Thrown& thrown = GetParam();

  const Status status = guard([&]() -> Status {
    thrown.body();
    return {};
  });

  EXPECT_EQ(status.error().code, thrown.code);
  EXPECT_EQ(status.error().reason, thrown.reason);
  EXPECT_EQ(status.error().message, thrown.message);
}

TEST(ToStatus, TruncatesAndTerminatesLongTexts) {
  char text[8];
  gantry_status status{};
  status.struct_size = sizeof status;
  status.text = text;
  status.text_capacity = sizeof text;
  // e-acute twice: only one fits completely
  const Error error = invalid("abcde\xc3\xa9\xc3\xa9")
                          .with_reason("A_REASON_OF_MORE_THAN_THIRTY_ONE_CHARACTERS")
                          .native("A_DOMAIN_OF_MORE_THAN_FIFTEEN", 1);

  EXPECT_EQ(to_status(error, &status), GANTRY_INVALID);

  EXPECT_STREQ(status.text, "abcde\xc3\xa9");
  EXPECT_EQ(status.text_size, 7u);
  EXPECT_STREQ(status.reason, "A_REASON_OF_MORE_THAN_THIRTY_ON");
  EXPECT_STREQ(status.native_domain, "A_DOMAIN_OF_MOR");
}

TEST(StatusBuffer, NamesACalleeThatFailsWithoutAText) {
  StatusBuffer status;
  status.get();

  EXPECT_EQ(status.error(GANTRY_UNAVAILABLE, "create of plugin acme.npu").message,
            "create of plugin acme.npu fails as unavailable without a reason");
}

TEST(StatusBuffer, ConvertsAnUnknownCodeToBug) {
  StatusBuffer status;
  for (const gantry_code code : {-1, GANTRY_LOST + 1}) {
    gantry_fail(status.get(), code, "X", "text");

    const Error error = status.error(code, "create");

    EXPECT_EQ(error.code, Code::bug);
    EXPECT_EQ(error.reason, "STATUS_CODE");
    EXPECT_EQ(error.message, concat("create returns ", code, ", which is not a code"));
  }
}

TEST(StatusBuffer, ConvertsAnExceptionOfTheCalleeToBug) {
  StatusBuffer status;

  const gantry_code code = status.call([](gantry_status*) -> gantry_code { throw Silent(); });

  EXPECT_EQ(code, GANTRY_BUG);
  const Error error = status.error(code, "create of plugin acme.npu");
  EXPECT_EQ(error.code, Code::bug);
  EXPECT_EQ(error.reason, "EXCEPTION");
  EXPECT_EQ(error.message, "create of plugin acme.npu throws: exception without a text");
  EXPECT_EQ(
      status.call([](gantry_status* said) { return gantry_fail(said, GANTRY_INVALID, "A", "b"); }),
      GANTRY_INVALID);
  EXPECT_EQ(status.error(GANTRY_INVALID, "create").message, "b") << "the next call is another";
}

TEST(StatusBuffer, EscapesATextThatIsNotUtf8AndNamesTheCallee) {
  StatusBuffer status;
  const gantry_code code = gantry_fail(status.get(), GANTRY_INVALID, "A", "caf\xe9");

  EXPECT_EQ(status.error(code, "create of plugin acme.npu").message,
            "caf\\xe9\n  create of plugin acme.npu returns a text that is not UTF-8");
}

// Only the host begins a line at the margin.
TEST(StatusBuffer, IndentsLaterLinesAndEscapesControlCharacters) {
  StatusBuffer status;
  const gantry_code code = gantry_fail(status.get(), GANTRY_INVALID, "A",
                                       "no kernel \"a\ngantry: forged\"\r\n  in entry 2\x1b[2J"
                                       "\xe2\x80\xae");

  EXPECT_EQ(status.error(code, "call").message,
            "no kernel \"a\n  gantry: forged\"\\x0d\n  in entry 2\\x1b[2J\\xe2\\x80\\xae");
}

TEST(StatusBuffer, IndentsTheTextOfAnException) {
  StatusBuffer status;
  const gantry_code code =
      status.call([](gantry_status*) -> gantry_code { throw std::runtime_error("a\ngantry: b"); });

  EXPECT_EQ(status.error(code, "call").message, "call throws: a\n  gantry: b");
}

TEST(StatusBuffer, ClearsTheDetailsOfThePreviousCall) {
  StatusBuffer status;
  to_status(full_error(), status.get());

  const gantry_code code = gantry_fail(status.get(), GANTRY_INVALID, "SHAPE", "b");

  const Error error = status.error(code, "call");
  EXPECT_EQ(error.message, "b");
  EXPECT_EQ(error.offset, no_offset);
  EXPECT_EQ(error.native_code, 0);
  EXPECT_EQ(error.native_domain, "");
}

// The callee fills the struct, so its content is untrusted.
TEST(StatusBuffer, IgnoresDetailsWithoutACode) {
  StatusBuffer buffer;
  gantry_status* const status = buffer.get();
  std::strcpy(status->text, "half written");
  status->text_size = 12;
  std::strcpy(status->reason, "HALF");

  const Error error = buffer.error(GANTRY_INVALID, "call of plugin acme.npu");

  EXPECT_EQ(error.message, "call of plugin acme.npu fails as invalid without a reason");
  EXPECT_EQ(error.reason, "");
}

// An error object that counts its destructions.
struct CountedError {
  gantry_object header{(std::uint64_t{1} << 32) | 1, GANTRY_ERROR, 0,
                       [](void* self, std::int32_t) { ++static_cast<CountedError*>(self)->ends; }};
  int ends = 0;
};

TEST(StatusBuffer, PassesAnErrorObject) {
  CountedError object;
  {
    StatusBuffer buffer;
    const gantry_code code = buffer.call([&](gantry_status* status) {
      gantry_fail(status, GANTRY_INVALID, "RAISED", "ValueError: no");
      status->error = &object.header;
      return gantry_code{GANTRY_INVALID};
    });
    const Error error = buffer.error(code, "call");
    EXPECT_EQ(error.raised.get(), &object.header);

    // To another caller, and back.
    StatusBuffer outer;
    const gantry_code same = outer.call([&](gantry_status* s) { return to_status(error, s); });
    EXPECT_EQ(outer.error(same, "call").raised.get(), &object.header);
    EXPECT_EQ(object.ends, 0);
  }
  EXPECT_EQ(object.ends, 1);
}

TEST(StatusBuffer, ReleasesAnErrorObjectThatIsNotRead) {
  CountedError object;
  {
    StatusBuffer buffer;
    gantry_fail(buffer.get(), GANTRY_INVALID, "", "no");
    buffer.get();
    gantry_status* const status = buffer.get();
    gantry_fail(status, GANTRY_INVALID, "", "no");
    status->error = &object.header;
  }
  EXPECT_EQ(object.ends, 1);
}

// A function passes its status to a callee that raises an error, and then has no memory.
TEST(AbiBoundary, ReleasesTheErrorObjectThatAnExceptionReplaces) {
  CountedError object;
  StatusBuffer buffer;
  gantry_status* const status = buffer.get();

  const gantry_code code = abi_boundary(status, [&]() -> gantry_code {
    gantry_fail(status, GANTRY_INVALID, "RAISED", "ValueError: no");
    status->error = &object.header;
    throw std::bad_alloc();
  });

  const Error error = buffer.error(code, "call");
  EXPECT_EQ(error.message, "out of memory");
  EXPECT_FALSE(error.raised);
  EXPECT_EQ(object.ends, 1);
}

TEST(StatusBuffer, ReleasesTheErrorObjectOfACalleeThatThrows) {
  CountedError object;
  StatusBuffer buffer;

  const gantry_code code = buffer.call([&](gantry_status* status) -> gantry_code {
    gantry_fail(status, GANTRY_INVALID, "RAISED", "ValueError: no");
    status->error = &object.header;
    throw Silent();
  });

  EXPECT_FALSE(buffer.error(code, "call").raised);
  EXPECT_EQ(object.ends, 1);
}

TEST(StatusBuffer, DoesNotReadPastItsOwnFields) {
  StatusBuffer buffer;
  gantry_status* status = buffer.get();
  status->code = GANTRY_INVALID;
  std::memset(status->reason, 'r', sizeof status->reason);
  std::memset(status->native_domain, 'd', sizeof status->native_domain);
  std::memset(status->text, 't', status->text_capacity);
  status->text_size = UINT32_MAX;

  const Error error = buffer.error(GANTRY_INVALID, "call");

  EXPECT_EQ(error.reason, std::string(32, 'r'));
  EXPECT_EQ(error.native_domain, std::string(16, 'd'));
  EXPECT_EQ(error.message, std::string(2047, 't'));
}

}  // namespace
}  // namespace gantry
