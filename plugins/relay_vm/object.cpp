// SPDX-License-Identifier: Apache-2.0
#include "object.hpp"

namespace gantry::relay {

void Heap::recycle(Object* object) noexcept {
  object->next = std::exchange(waiting_, object);
  if (is_emptying_) return;
  is_emptying_ = true;
  while (waiting_ != nullptr) empty(*std::exchange(waiting_, waiting_->next));
  is_emptying_ = false;
}

void Heap::empty(Object& object) noexcept {
  switch (object.kind) {
    case ObjectKind::tensor: {
      auto& tensor = static_cast<TensorObject&>(object);
      tensor.storage = {};
      tensor.owner = Value();
      tensor.is_constant = false;
      tensor.input = 0;
      tensor.copy = {};
      tensor.host_data = nullptr;
      keep(unused_tensors_, tensor);
      break;
    }
    case ObjectKind::storage: {
      auto& storage = static_cast<StorageObject&>(object);
      storage.block.reset();
      keep(unused_storages_, storage);
      break;
    }
    case ObjectKind::tuple:
    case ObjectKind::closure: {
      auto& tuple = static_cast<TupleObject&>(object);
      tuple.fields.clear();
      keep(unused_tuples_of(tuple.fields.capacity()), tuple);
      break;
    }
  }
}

}  // namespace gantry::relay
