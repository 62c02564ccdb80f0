// SPDX-License-Identifier: Apache-2.0
//
// DLPack tensors that are imported and exported through the C API.
#include "core/engine/embed/dlpack.hpp"

#include "tests/unit/embed/digits_run.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using test::floats;

class DlPack : public test::Embedded {
 protected:
  DlPack() {
    versioned.major = 1;
    versioned.minor = 2;
    versioned.manager = plain.manager = &deleted;
    versioned.deleter = [](DLManagedTensorVersioned* self) { ++*static_cast<int*>(self->manager); };
    plain.deleter = [](DLManagedTensor* self) { ++*static_cast<int*>(self->manager); };
    versioned.tensor = plain.tensor = test::tensor_of(elements, shape);
  }
  Status import(DLManagedTensorVersioned* given, DLManagedTensor* other) {
    gantry_value made{};
    const Status status = done([&](gantry_status* reported) {
      return embed().dlpack_import(runtime.get(), given, other, &made, reported);
    });
    tensor = Value::adopt(made);
    return status;
  }
  Status export_tensor(std::uint32_t max_version, void** managed,
                       gantry_object* stream = nullptr) const {
    return done([&](gantry_status* status) {
      return embed().dlpack_export(runtime.get(), tensor.object(), max_version, stream, managed,
                                   status);
    });
  }

  std::vector<float> elements = std::vector<float>(6, 1.5f);
  std::vector<std::int64_t> shape{2, 3};
  int deleted = 0;
  DLManagedTensorVersioned versioned{};
  DLManagedTensor plain{};
  Value tensor;
};

constexpr std::uint32_t version_1 = 1u << 16;

TEST_F(DlPack, IsImportedWithoutACopyAndDeletedOnce) {
  expect_ok(import(&versioned, nullptr));
  EXPECT_EQ(tensor.tensor()->data, elements.data());
  EXPECT_EQ(tensor_text(*tensor.tensor()), "float32[2, 3]");
  EXPECT_EQ(deleted, 0);
  tensor = Value();
  EXPECT_EQ(deleted, 1);

  expect_ok(import(nullptr, &plain));
  EXPECT_EQ(tensor.tensor()->data, elements.data());
  tensor = Value();
  EXPECT_EQ(deleted, 2);
}

TEST_F(DlPack, NeedsNoDeleter) {
  versioned.deleter = nullptr;
  plain.deleter = nullptr;

  expect_ok(import(&versioned, nullptr));
  expect_ok(import(nullptr, &plain));
}

TEST_F(DlPack, InLockedMemoryOfTheHostIsOnTheCpu) {
  plain.tensor.device = {3, 0};

  expect_ok(import(nullptr, &plain));

  EXPECT_EQ(tensor.tensor()->device.type, 1);
}

TEST_F(DlPack, KeepsItsStrides) {
  std::int64_t strides[] = {1, 2};
  plain.tensor.strides = strides;

  expect_ok(import(nullptr, &plain));

  EXPECT_EQ(tensor.tensor()->strides[1], 2);
}

TEST_F(DlPack, OfAnotherMajorVersionIsRefusedAndNotDeleted) {
  versioned.major = 2;

  expect_error(import(&versioned, nullptr), Code::unsupported, "DLPACK_VERSION",
               "dlpack_import: the tensor has version 2.2 of DLPack, this version reads 1");
  EXPECT_EQ(deleted, 0);
}

TEST_F(DlPack, IsRefusedAndNotDeletedAfterOtherFailures) {
  plain.tensor.ndim = -1;
  EXPECT_FALSE(import(nullptr, &plain).ok());
  plain.tensor.ndim = 2;
  plain.tensor.data = nullptr;
  EXPECT_FALSE(import(nullptr, &plain).ok());
  plain.tensor = versioned.tensor;
  plain.tensor.device = {1, 7};
  EXPECT_FALSE(import(nullptr, &plain).ok());
  expect_error(import(nullptr, nullptr), Code::invalid, "ARGUMENT_KIND",
               "dlpack_import: neither of versioned and plain is given, expected one");
  expect_error(import(&versioned, &plain), Code::invalid, "ARGUMENT_KIND",
               "dlpack_import: each of versioned and plain is given, expected one");

  EXPECT_EQ(deleted, 0);
}

TEST_F(DlPack, IsExportedWithStridesAndKeepsTheTensor) {
  expect_ok(import(&versioned, nullptr));
  void* managed = nullptr;

  expect_ok(export_tensor(version_1 | 3, &managed));

  auto& made = *static_cast<DLManagedTensorVersioned*>(managed);
  tensor = Value();
  EXPECT_EQ(deleted, 0);
  EXPECT_EQ(made.major, 1u);
  EXPECT_EQ(made.minor, 0u);
  EXPECT_EQ(made.flags, 0u);
  EXPECT_EQ(made.tensor.data, elements.data());
  EXPECT_EQ(tensor_text(made.tensor), "float32[2, 3]");
  EXPECT_EQ(made.tensor.strides[0], 3);
  EXPECT_EQ(made.tensor.strides[1], 1);
  made.deleter(&made);
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlPack, IsExportedInTheUnversionedForm) {
  expect_ok(import(&versioned, nullptr));
  void* managed = nullptr;

  expect_ok(export_tensor(0, &managed));

  auto& made = *static_cast<DLManagedTensor*>(managed);
  tensor = Value();
  EXPECT_EQ(made.tensor.data, elements.data());
  made.deleter(&made);
  EXPECT_EQ(deleted, 1);
}

TEST_F(DlPack, ThatIsReadOnlyStaysSo) {
  versioned.flags = dlpack::kReadOnly;
  expect_ok(import(&versioned, nullptr));
  void* managed = nullptr;
  expect_ok(export_tensor(version_1, &managed));
  auto& made = *static_cast<DLManagedTensorVersioned*>(managed);
  EXPECT_EQ(made.flags, dlpack::kReadOnly);
  made.deleter(&made);

  expect_error(export_tensor(0, &managed), Code::invalid, "READ_ONLY",
               "dlpack_export: the memory is read-only, which a DLManagedTensor cannot state");
}

TEST_F(DlPack, OfElementsBelowAByteIsPacked) {
  versioned.tensor.dtype = {0, 4, 1};
  versioned.flags = dlpack::kSubBytePadded;
  expect_error(import(&versioned, nullptr), Code::unsupported, "DLPACK_PADDED",
               "dlpack_import: the elements of int4[2, 3] are padded to a byte each, expected the "
               "packed form");
  EXPECT_EQ(deleted, 0);

  versioned.flags = 0;
  expect_ok(import(&versioned, nullptr));

  EXPECT_EQ(reinterpret_cast<const TensorObject*>(tensor.object())->bytes, 3u);
  versioned.tensor.dtype = {0, 8, 1};
  versioned.flags = dlpack::kSubBytePadded;
  expect_ok(import(&versioned, nullptr));
}

TEST_F(DlPack, RefusesNullAndOtherObjects) {
  void* managed = nullptr;
  expect_error(export_tensor(0, &managed), Code::invalid, "ARGUMENT_KIND",
               "dlpack_export: the object is NULL, expected a tensor");
  expect_ok(import(&versioned, nullptr));
  expect_error(export_tensor(0, nullptr), Code::invalid, "ARGUMENT_KIND",
               "dlpack_export: managed is NULL");
  expect_error(export_tensor(0, &managed, runtime.get()), Code::invalid, "ARGUMENT_KIND",
               "dlpack_export: the object is of kind 96, expected a stream");
  expect_error(done([&](gantry_status* status) {
                 return embed().dlpack_import(runtime.get(), &versioned, nullptr, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "dlpack_import: tensor is NULL");
}

class DlPackRun : public test::EmbedRun {};

TEST_F(DlPackRun, RefusesToFillReadOnlyMemory) {
  std::vector<float> memory(10);
  const std::int64_t scores_shape[] = {1, 10};
  DLManagedTensorVersioned managed{};
  managed.major = 1;
  managed.flags = dlpack::kReadOnly;
  managed.tensor = test::tensor_of(memory, scores_shape);
  gantry_value output{};
  expect_ok(done([&](gantry_status* status) {
    return embed().dlpack_import(runtime.get(), &managed, nullptr, &output, status);
  }));
  const Value owned = Value::adopt(output);
  gantry_tensor row = image(0);

  expect_error(run_with(tensor_ref_value(&row), output), Code::invalid, "READ_ONLY",
               "element 0 of outputs is read-only");
}

// Memory is read-only through any number of views.
TEST_F(DlPackRun, RefusesToFillViewsOfReadOnlyMemory) {
  std::vector<float> memory(40);
  const std::int64_t shape[] = {2, 2, 1, 10};
  DLManagedTensorVersioned managed{};
  managed.major = 1;
  managed.flags = dlpack::kReadOnly;
  managed.tensor = test::tensor_of(memory, shape);
  gantry_value whole{};
  expect_ok(done([&](gantry_status* status) {
    return embed().dlpack_import(runtime.get(), &managed, nullptr, &whole, status);
  }));
  std::vector<Value> views = {Value::adopt(whole)};
  gantry_tensor row = image(0);

  for (int depth = 1; depth <= 3; ++depth) {
    gantry_tensor part = *views.back().tensor();
    if (depth <= 2) {
      --part.ndim;
      ++part.shape;
      part.strides = nullptr;
    }
    gantry_value view{};
    ASSERT_EQ(host->tensor_view(host, &part, views.back().object(), 0, &view, nullptr), GANTRY_OK);
    views.push_back(Value::adopt(view));
    void* made = nullptr;
    expect_ok(done([&](gantry_status* status) {
      return embed().dlpack_export(runtime.get(), view.object, 1u << 16, nullptr, &made, status);
    }));
    auto& exported = *static_cast<DLManagedTensorVersioned*>(made);
    EXPECT_EQ(exported.flags, dlpack::kReadOnly) << depth;
    exported.deleter(&exported);
    if (depth < 2) continue;

    expect_error(run_with(tensor_ref_value(&row), view), Code::invalid, "READ_ONLY",
                 "element 0 of outputs is read-only");
  }
  EXPECT_THAT(memory, ::testing::Each(0.0f));
}

// Columns of a transposed image, one after the other.
TEST_F(DlPackRun, CopiesAnInputWithStrides) {
  std::vector<float> columns(128);
  for (std::size_t k = 0; k < 64; ++k) columns[2 * k] = floats(images.get())[64 * 9 + k];
  std::int64_t strides[] = {0, 2};
  gantry_tensor row = image(9);
  row.data = columns.data();
  row.strides = strides;
  const gantry_value input = tensor_ref_value(&row);
  gantry_run run = test::new_run();
  run.inputs = &input;
  run.input_count = 1;

  expect_ok(test::run(model, run));

  const Value result = Value::adopt(run.result);
  expect_near(floats(items_of(result.get())[0]), scores(9));
  EXPECT_EQ(run.copied_bytes, 256u);
}

}  // namespace
}  // namespace gantry
