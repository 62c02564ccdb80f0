// SPDX-License-Identifier: Apache-2.0
#include "loaded.hpp"

#include "core/formats/aligned_payload.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_constants.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/join.hpp>
#include <gantry/payload_writer.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>
#include <utility>

namespace gantry::relay {
namespace {

constexpr std::size_t max_listed_constants = 8;

// As in the payload.
constexpr std::uint32_t late_bound_tag = 1;

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Constant> constant_of(const VmConstants& all, std::size_t index) {
  Constant constant;
  if (const ArrayRecord* const array = all.array(index)) {
    GANTRY_CHECK(check_array_bytes(*array));
    constant.array = *array;
    return constant;
  }
  constant.name = std::get<std::string_view>(all.values[index]);
  if (constant.name.empty()) {
    return malformed(all.at[index] + all.tag_bytes, "name of a late-bound constant is empty")
        .with_reason("BLOB_FORMAT");
  }
  return constant;
}

gantry_tensor tensor_of(const ArrayRecord& array) {
  return compact_tensor(array.dtype, array.shape, {cpu_device_type, 0}, array.data.data());
}

}  // namespace

Result<std::shared_ptr<Loaded>> Loaded::read(const Host& host, Blob& blob,
                                             std::shared_ptr<StorageMemory> memory) {
  ByteReader& in = blob.reader();
  GANTRY_TRY(const std::string_view text, in.read_string("code"));
  const auto code_at = in.offset() - text.size();
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  GANTRY_TRY(RelayCode code, read_relay_code({bytes, code_at}));
  GANTRY_TRY(Program program, decode(code));
  std::vector<Constant> constants;
  for (std::size_t i = 0; i < code.constants.size(); ++i) {
    auto constant = constant_of(code.constants, i);
    if (!constant.ok()) return std::move(constant).failure().at("in constant ", i);
    constants.push_back(std::move(*constant));
  }
  return std::shared_ptr<Loaded>(new Loaded(host, std::move(code), std::move(program), blob.keep(),
                                            blob.node(), std::move(memory), std::move(constants)));
}

Loaded::Snapshot Loaded::snapshot() const {
  const std::lock_guard lock(mutex_);
  return {constants_, is_changed_};
}

Result<Value> Loaded::made_on(gantry_device_id device, const Constant& constant,
                              std::string_view scope, const gantry_env* env) const {
  const gantry_tensor in_memory =
      constant.is_late() ? *constant.bound.tensor() : tensor_of(constant.array);
  const bool is_in_place = device.type == cpu_device_type && in_memory.data != nullptr &&
                           is_aligned_in_place(in_memory.data);
  if (!is_in_place) return host_.tensor_copied(in_memory, device, env, scope);
  if (constant.is_late()) return constant.bound;
  return host_.tensor_view(in_memory, kept_.pin.get());
}

Result<Value> Loaded::constant(std::uint32_t index, gantry_device_id device, std::string_view scope,
                               const gantry_env* env) const {
  const Key key(index, device.type, device.index);
  for (;;) {
    Constant constant;
    std::uint64_t changes = 0;
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = on_devices_.find(key); known != on_devices_.end())
        return known->second;
      constant = constants_[index];
      changes = changes_;
    }
    if (constant.is_late() && constant.bound.object() == nullptr) {
      return invalid("constant ", index, " ", quoted(constant.name),
                     " is late-bound and not loaded; call load_late_bound_consts before")
          .with_reason("LATE_BOUND");
    }
    Result<Value> made = made_on(device, constant, scope, env);
    const std::lock_guard lock(mutex_);
    // Another thread may have made it, or changed the constants.
    if (const auto known = on_devices_.find(key); known != on_devices_.end()) return known->second;
    if (!made.ok()) return made;
    if (changes != changes_) continue;
    on_devices_.emplace(key, *made);
    return made;
  }
}

const std::uint8_t* Loaded::host_data(std::uint32_t index) const {
  const std::lock_guard lock(mutex_);
  const Constant& constant = constants_[index];
  return constant.is_late() ? nullptr : constant.array.data.data();
}

std::vector<std::string> Loaded::constant_texts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const Constant& constant : constants_) {
    texts.push_back(constant.is_late() ? concat("late-bound ", quoted(constant.name))
                                       : tensor_text(tensor_of(constant.array)));
  }
  return texts;
}

Status Loaded::take_late_bound(std::uint64_t min_bytes, const gantry_env* env,
                               const std::function<Status(const std::vector<Named>&)>& store) {
  if (!code.form->has_tags) {
    return unsupported("code of version ", quoted(code.version),
                       " has no late-bound constants, which are those of v0.9 and later")
        .with_reason("LATE_BOUND");
  }
  const auto check_none = [](const std::vector<Constant>& constants) -> Status {
    if (std::ranges::find_if(constants, &Constant::is_late) == constants.end()) return {};
    return invalid("the executable has late-bound constants already").with_reason("LATE_BOUND");
  };
  std::vector<Constant> changed = snapshot().constants;
  GANTRY_CHECK(check_none(changed));
  std::vector<Named> taken;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    Constant& constant = changed[i];
    if (constant.array.data.size() < min_bytes) continue;
    GANTRY_TRY(Value copy,
               host_.tensor_copied(tensor_of(constant.array), {cpu_device_type, 0}, env));
    constant.name = concat("const_", i);
    taken.emplace_back(constant.name, std::move(copy));
  }
  GANTRY_CHECK(store(taken));
  OnDevices released;
  const std::lock_guard lock(mutex_);
  GANTRY_CHECK(check_none(constants_));
  is_changed_ = is_changed_ || !taken.empty();
  constants_.swap(changed);
  ++changes_;
  released.swap(on_devices_);
  return {};
}

Status Loaded::bind(std::vector<Named> tensors) {
  // Destroyed after the lock.
  std::vector<Value> old;
  OnDevices released;
  const std::lock_guard lock(mutex_);
  std::vector<std::string> missing;
  std::vector<std::pair<Constant*, Value>> found;
  for (Constant& constant : constants_) {
    if (!constant.is_late()) continue;
    const auto named = std::ranges::find(tensors, constant.name, &Named::first);
    if (named == tensors.end()) {
      missing.push_back(constant.name);
      continue;
    }
    found.emplace_back(&constant, named->second);
  }
  if (!missing.empty()) {
    return invalid("late-bound constants without a tensor: ",
                   join(missing, ", ", in_quotes, max_listed_constants))
        .with_reason("LATE_BOUND");
  }
  std::vector<std::string> unused;
  for (const Named& named : tensors) {
    if (std::ranges::find(constants_, named.first, &Constant::name) == constants_.end())
      unused.push_back(named.first);
  }
  if (!unused.empty()) {
    return invalid("tensors that are no late-bound constants: ",
                   join(unused, ", ", in_quotes, max_listed_constants))
        .with_reason("LATE_BOUND");
  }
  old.reserve(found.size());
  for (auto& [constant, value] : found)
    old.push_back(std::exchange(constant->bound, std::move(value)));
  ++changes_;
  released.swap(on_devices_);
  return {};
}

// The code with late-bound constants in place of those that have become late-bound.
std::string Loaded::changed_code(const std::vector<Constant>& all) const {
  PayloadWriter constants;
  constants.Write(std::uint64_t{all.size()});
  std::string text(text_of(code.whole.slice(code.whole.at, code.constants_at)));
  text += text_of(constants.bytes());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_late() || code.constants.array(i) == nullptr) {
      text += text_of(code.constants.bytes_of(i, code.whole));
      continue;
    }
    PayloadWriter late;
    late.Write(late_bound_tag);
    late.Write(all[i].name);
    text += text_of(late.bytes());
  }
  return text.append(
      text_of(code.whole.slice(code.constants.at.back(), code.whole.at + code.whole.bytes.size())));
}

std::string Loaded::code_bytes() const {
  const Snapshot now = snapshot();
  return now.is_changed ? changed_code(now.constants) : std::string(text_of(code.whole.bytes));
}

Status Loaded::save(const Sink& sink) const {
  const Snapshot now = snapshot();
  PayloadWriter changed;
  if (now.is_changed) changed.Write(changed_code(now.constants));
  const auto bytes = now.is_changed ? changed.bytes() : kept_.bytes;
  if (sink.alignment() == 0) return sink.write(bytes);
  SinkStream out(&sink.raw());
  return write_aligned_payload(relay_executable_key, bytes, ExporterFacts(),
                               {out, out.position(), sink.alignment()});
}

}  // namespace gantry::relay
