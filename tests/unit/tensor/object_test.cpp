// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/object.hpp"

#include "core/engine/tensor/device_set.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "tests/support/thread_stack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <gantry/value.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

using ::testing::ElementsAre;

std::string text_of(const gantry_value& value) {
  gantry_bytes bytes{};
  return gantry_value_bytes(&value, &bytes) ? std::string(bytes.data, bytes.size) : "(no text)";
}

std::uint32_t strong_count(const gantry_object* object) {
  return static_cast<std::uint32_t>(object->counts);
}

// A pin that sets a flag when it is destroyed.
struct Watched {
  bool is_destroyed = false;
  ObjectPtr object = new_pin({this, [](Watched* self) { self->is_destroyed = true; }}).value();
};

TEST(Object, BeginsWithOneStrongAndOneWeakReference) {
  const Value text = new_text(GANTRY_STRING, "12345678").value();

  EXPECT_EQ(text.get().object->counts, 0x1'0000'0001u);
  EXPECT_EQ(text.get().object->kind, GANTRY_STRING);
}

TEST(Object, IsFreedThoughItsDestroyThrows) {
  const gantry_object_type type = {.struct_size = sizeof(gantry_object_type),
                                   .flags = 0,
                                   .name = "acme.Table",
                                   .destroy = [](void*) { throw 1; }};
  ObjectPtr object = new_opaque(&type, nullptr, {}).value();
  ::testing::internal::CaptureStderr();

  object = {};

  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "gantry: destroy of acme.Table throws: exception that is not a std::exception; what it "
            "has not freed is lost\n");
}

TEST(Object, TextKeepsEveryByteAndEndsWithNul) {
  // too long for the cache of the allocator, whose memory M_PERTURB does not fill
  const std::string bytes = std::string("a\0b", 3) + std::string(2000, 'c');

  mallopt(M_PERTURB, 0x55);
  const Value text = new_text(GANTRY_BYTES, bytes).value();
  mallopt(M_PERTURB, 0);

  EXPECT_EQ(text.get().kind, GANTRY_BYTES);
  EXPECT_EQ(text_of(text.get()), bytes);
  EXPECT_EQ(text_of(text.get()).data()[bytes.size()], '\0');
}

TEST(Object, TextOfAtMostSevenBytesIsASmallValue) {
  const Value text = new_text(GANTRY_STRING, "1234567").value();
  const Value bytes = new_text(GANTRY_BYTES, "").value();

  EXPECT_EQ(text.get().kind, GANTRY_SMALL_STRING);
  EXPECT_EQ(text_of(text.get()), "1234567");
  EXPECT_EQ(bytes.get().kind, GANTRY_SMALL_BYTES);
  EXPECT_EQ(gantry_value_is_canonical(&text.get()), 1);
  EXPECT_EQ(gantry_value_is_canonical(&bytes.get()), 1);
}

TEST(Object, TextIsReadableAsAValue) {
  const Value value(new_text(GANTRY_STRING, "hello").value());

  EXPECT_EQ(text_of(value.get()), "hello");
}

TEST(Object, RejectsATextOfAnotherKind) {
  const auto text = new_text(GANTRY_SHAPE, "x");

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::invalid);
  EXPECT_EQ(text.error().message, "kind of a text is 69, kinds are 65 (string) and 66 (bytes)");
}

TEST(Object, ShapeIsACopy) {
  std::vector<std::int64_t> dims = {2, -1, 5};

  const auto shape = new_shape(dims).value();
  dims[0] = 9;

  EXPECT_EQ(shape->header.kind, GANTRY_SHAPE);
  EXPECT_THAT(std::span(shape->dims, shape->count), ElementsAre(2, -1, 5));
}

TEST(Object, ShapeMayBeEmpty) {
  const auto shape = new_shape({}).value();

  EXPECT_EQ(shape->count, 0u);
  EXPECT_NE(shape->dims, nullptr);
}

TEST(Object, PinKeepsItsContentUntilItsLastRelease) {
  Watched watched;
  ObjectPtr second = watched.object;

  watched.object = {};
  EXPECT_FALSE(watched.is_destroyed);
  second = {};

  EXPECT_TRUE(watched.is_destroyed);
}

TEST(Object, RefTakePassesTheReferenceToTheCaller) {
  Watched watched;

  gantry_object* const bare = watched.object.take();

  EXPECT_FALSE(watched.object);
  EXPECT_EQ(strong_count(bare), 1u);
  gantry_release(bare);
  EXPECT_TRUE(watched.is_destroyed);
}

TEST(Object, OwnedValueCountsReferences) {
  Watched watched;
  const gantry_object* const object = watched.object.get();
  Value first = owned_value(std::move(watched.object));

  {
    const Value second = first;
    EXPECT_EQ(strong_count(object), 2u);
  }

  EXPECT_EQ(strong_count(object), 1u);
  first = {};
  EXPECT_TRUE(watched.is_destroyed);
}

TEST(Items, RetainAndReleaseEveryObject) {
  Watched watched;
  const gantry_value items[] = {int_value(7), value_of(watched.object.get())};

  auto array = new_items(GANTRY_ARRAY, items).value();
  watched.object = {};

  EXPECT_FALSE(watched.is_destroyed);
  ASSERT_EQ(items_of(*array).value().size(), 2u);
  EXPECT_EQ(items_of(*array).value()[0].i, 7);
  array = {};
  EXPECT_TRUE(watched.is_destroyed);
}

TEST(Items, CopyBorrowedTextsIntoObjects) {
  std::string first = "the first", second = "the second";
  const gantry_bytes view = {second.data(), second.size()};
  gantry_value bytes{};
  bytes.kind = GANTRY_BYTES_REF;
  bytes.bytes = &view;
  const gantry_value items[] = {cstring_value(first.c_str()), bytes};

  const auto map = new_items(GANTRY_MAP, items).value();
  first.assign(first.size(), '-');
  second.assign(second.size(), '-');

  EXPECT_EQ(items_of(*map).value()[0].kind, GANTRY_STRING);
  EXPECT_EQ(text_of(items_of(*map).value()[0]), "the first");
  EXPECT_EQ(items_of(*map).value()[1].kind, GANTRY_BYTES);
  EXPECT_EQ(text_of(items_of(*map).value()[1]), "the second");
}

TEST(Items, KeepSmallTexts) {
  gantry_value small{};
  small.kind = GANTRY_SMALL_STRING;
  small.small_size = 2;
  small.small[0] = 'h';
  small.small[1] = 'i';

  const auto array = new_items(GANTRY_ARRAY, {&small, 1}).value();

  EXPECT_EQ(items_of(*array).value()[0].kind, GANTRY_SMALL_STRING);
  EXPECT_EQ(text_of(items_of(*array).value()[0]), "hi");
}

TEST(Items, MayBeEmpty) {
  const auto array = new_items(GANTRY_ARRAY, {}).value();

  EXPECT_TRUE(items_of(*array).value().empty());
}

struct BadItem {
  const char* name;
  gantry_value item;
  const char* message;
};

gantry_value bare(std::int32_t kind) {
  gantry_value value{};
  value.kind = kind;
  return value;
}

class InvalidItem : public ::testing::TestWithParam<BadItem> {};

TEST_P(InvalidItem, IsRejected) {
  Watched watched;
  const gantry_value items[] = {value_of(watched.object.get()), GetParam().item};

  const auto array = new_items(GANTRY_ARRAY, items);

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::invalid);
  EXPECT_EQ(array.error().message, GetParam().message);
  EXPECT_EQ(strong_count(watched.object.get()), 1u) << "the previous item is not released";
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, InvalidItem,
    ::testing::Values(
        BadItem{"BorrowedTensor", bare(GANTRY_TENSOR_REF),
                "item 1 is a borrowed tensor, only tensor objects can be kept"},
        BadItem{"TextAtNull", bare(GANTRY_CSTRING), "item 1 is a text at address 0"},
        BadItem{"BytesAtNull", bare(GANTRY_BYTES_REF), "item 1 is a text at address 0"},
        BadItem{"ObjectAtNull", bare(GANTRY_ARRAY), "item 1 is an object at address 0"},
        BadItem{"MovedReference", bare(10), "item 1 has kind 10, which is not a kind of value"},
        BadItem{"UnlistedObjectAtNull", bare(75), "item 1 is an object at address 0"},
        BadItem{"UnlistedKind", bare(13), "item 1 has kind 13, which is not a kind of value"},
        BadItem{"Negative", bare(-1), "item 1 has kind -1, which is not a kind of value"}),
    [](const auto& test) { return test.param.name; });

// Each value has one nonzero byte that its kind does not use.
class NonCanonicalItem : public ::testing::TestWithParam<gantry_value> {};

TEST_P(NonCanonicalItem, IsRejected) {
  const auto array = new_items(GANTRY_ARRAY, {&GetParam(), 1});

  ASSERT_FALSE(array.ok());
  EXPECT_EQ(array.error().code, Code::invalid);
  EXPECT_EQ(array.error().reason, "VALUE_FORM");
  EXPECT_EQ(array.error().message,
            concat("item 0 of kind ", GetParam().kind,
                   " is not canonical: bytes that the kind does not use must be 0"));
}

INSTANTIATE_TEST_SUITE_P(All, NonCanonicalItem, ::testing::ValuesIn([] {
                           std::vector<gantry_value> forms(6, gantry_value{});
                           forms[0].small_size = 1;
                           forms[1].i = 1;
                           forms[2] = {GANTRY_INT, 1, {0}};
                           forms[3] = {GANTRY_BOOL, 0, {2}};
                           forms[4].kind = GANTRY_SMALL_STRING;
                           forms[4].small_size = 8;
                           forms[5].kind = GANTRY_SMALL_BYTES;
                           forms[5].small[7] = 'x';
                           return forms;
                         }()));

TEST(Items, RejectADtypeWithNonzeroPadding) {
  gantry_value item{};
  item.kind = GANTRY_DTYPE;
  item.dtype = {2, 32, 1};
  EXPECT_TRUE(new_items(GANTRY_ARRAY, {&item, 1}).ok());
  item.small[5] = 1;

  EXPECT_FALSE(new_items(GANTRY_ARRAY, {&item, 1}).ok());
}

// Creates an object of one kind that holds a reference to `inner`.
struct EachKind {
  const char* name;
  std::function<ObjectPtr(const ObjectPtr& inner)> make;
};
void PrintTo(const EachKind& kind, std::ostream* out) { *out << kind.name; }

class ObjectOfKind : public ::testing::TestWithParam<EachKind> {};

TEST_P(ObjectOfKind, LosesItsContentWithTheLastStrongReferenceOnly) {
  Watched watched;
  gantry_object* const object = GetParam().make(watched.object).take();
  watched.object = {};
  // adds a weak reference, as tvm-ffi does
  std::atomic_ref(object->counts).fetch_add(std::uint64_t{1} << 32);
  EXPECT_FALSE(watched.is_destroyed);

  gantry_release(object);

  EXPECT_TRUE(watched.is_destroyed);
  EXPECT_EQ(object->counts, std::uint64_t{1} << 32) << "the memory is not freed";
  object->deleter(object, GANTRY_DELETE_MEMORY);
}

TEST_P(ObjectOfKind, IsReleasedOnASmallStackHoweverDeepItIsNested) {
  Watched watched;
  ObjectPtr outermost = watched.object;
  watched.object = {};
  for (int i = 0; i < 100'000; ++i) outermost = GetParam().make(outermost);

  test::run_with_stack(64 * 1024, [&] { outermost = {}; });

  EXPECT_TRUE(watched.is_destroyed);
}

INSTANTIATE_TEST_SUITE_P(
    All, ObjectOfKind,
    ::testing::Values(
        EachKind{"Items",
                 [](const ObjectPtr& inner) {
                   const gantry_value item = value_of(inner.get());
                   return ObjectPtr::share(new_items(GANTRY_ARRAY, {&item, 1}).value().base());
                 }},
        EachKind{"Error",
                 [](const ObjectPtr& inner) {
                   gantry_error what{};
                   what.context = inner.get();
                   return ObjectPtr::share(new_error(what).value().base());
                 }},
        EachKind{"Pin",
                 [](const ObjectPtr& inner) {
                   return new_pin(std::make_shared<const ObjectPtr>(inner)).value();
                 }},
        EachKind{"Tensor",
                 [](const ObjectPtr& inner) {
                   gantry_tensor what{};
                   what.device = {kCpu, 0};
                   what.dtype = {2, 32, 1};
                   static float element = 0;
                   what.data = &element;
                   return ObjectPtr::share(tensor_view(what, inner.get()).value().base());
                 }}),
    [](const auto& test) { return test.param.name; });

TEST(ErrorObject, HoldsCopiesOfItsTextsAndItsCause) {
  Watched watched;
  std::string message = "n must be larger than 3";
  gantry_error what{};
  what.kind = gantry_text("ValueError");
  what.message = {message.data(), message.size()};
  what.backtrace = gantry_text("frame 1\n");
  what.cause = watched.object.get();

  const auto error = new_error(what).value();
  message.assign(message.size(), '-');
  watched.object = {};

  gantry_value value = value_of(error.base());
  const gantry_error* read = gantry_value_error(&value);
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(std::string(read->kind.data, read->kind.size), "ValueError");
  EXPECT_EQ(std::string(read->message.data, read->message.size), "n must be larger than 3");
  EXPECT_EQ(std::string(read->backtrace.data, read->backtrace.size), "frame 1\n");
  EXPECT_EQ(read->cause->kind, GANTRY_OBJECT);
  EXPECT_FALSE(watched.is_destroyed);
}

TEST(ErrorObject, UpdatesItsBacktraceLikeTvmFfi) {
  const auto error = new_error({}).value();
  const gantry_bytes first = gantry_text("frame 1\n"), second = gantry_text("frame 2\n");

  error->error.update_backtrace(error.base(), &first, 0);
  error->error.update_backtrace(error.base(), &second, 1);

  const gantry_bytes all = error->error.backtrace;
  EXPECT_EQ(std::string(all.data, all.size), "frame 1\nframe 2\n");
}

// A type of opaque objects whose self counts the calls of destroy.
constexpr gantry_object_type kCounter{sizeof(gantry_object_type), 0, "test.Counter",
                                      [](void* self) { ++*static_cast<int*>(self); }};
constexpr gantry_object_type kOther{sizeof(gantry_object_type), 0, "test.Other", [](void*) {}};

TEST(OpaqueObject, ReturnsItsPointerAndIsDestroyedOnce) {
  int ends = 0;
  {
    const ObjectPtr object = new_opaque(&kCounter, &ends, {}).value();
    const ObjectPtr copy = object;

    EXPECT_EQ(opaque_self(object.get(), &kCounter).value(), &ends);
  }
  EXPECT_EQ(ends, 1);
}

TEST(OpaqueObject, IsRejectedIfItHasAnotherType) {
  int ends = 0;
  const ObjectPtr object = new_opaque(&kCounter, &ends, {}).value();
  const ObjectPtr pin = new_pin({}).value();
  const auto shape = new_shape({}).value();

  const auto other = opaque_self(object.get(), &kOther);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::invalid);
  EXPECT_EQ(other.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(other.error().message, "object is test.Counter, expected test.Other");
  EXPECT_EQ(opaque_self(pin.get(), &kOther).error().message,
            "object is a pin, expected test.Other");
  EXPECT_EQ(opaque_self(shape.base(), &kOther).error().message,
            "object is of kind 69, expected test.Other");
  EXPECT_EQ(opaque_self(nullptr, &kOther).error().message, "object is NULL, expected test.Other");
}

TEST(Items, RejectAMapOfOddCount) {
  const gantry_value item = int_value(1);

  const auto map = new_items(GANTRY_MAP, {&item, 1});

  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code, Code::invalid);
  EXPECT_EQ(map.error().message, "map has 1 items, keys and values come in pairs");
}

TEST(Items, RejectAnotherKind) {
  const auto items = new_items(GANTRY_SHAPE, {});

  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code, Code::invalid);
  EXPECT_EQ(items.error().message, "kind of a collection is 69, kinds are 71 (array) and 72 (map)");
}

TEST(Object, CountsReferencesFromSeveralThreads) {
  Watched watched;
  gantry_object* const object = watched.object.get();
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([object] {
      for (int i = 0; i < 20000; ++i) {
        const ObjectPtr one = ObjectPtr::share(object);
        const ObjectPtr two = one;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(object->counts, kFreshCounts);
  EXPECT_FALSE(watched.is_destroyed);
}

TEST(Object, IsFreedOnceByTheLastOfSeveralThreads) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> freed = 0;
    ObjectPtr object =
        new_pin(std::shared_ptr<const void>(&freed, [](std::atomic<int>* f) { ++*f; })).value();
    std::array<std::thread, 3> threads;
    for (std::thread& thread : threads) {
      thread = std::thread([mine = object]() mutable { mine = {}; });
    }

    object = {};
    for (std::thread& thread : threads) thread.join();

    ASSERT_EQ(freed, 1);
  }
}

TEST(OpaqueObject, IsDestroyedWithItsLastStrongReference) {
  int ends = 0;
  {
    WeakRef<gantry_object> weak;
    {
      const ObjectPtr object = new_opaque(&kCounter, &ends, {}).value();
      weak = WeakRef<gantry_object>(object);
    }
    EXPECT_EQ(ends, 1);
  }
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace gantry
