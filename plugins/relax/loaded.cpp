// SPDX-License-Identifier: Apache-2.0
#include "loaded.hpp"

#include "core/formats/aligned_payload.hpp"
#include "core/formats/dtype_codes.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/zero_copy.hpp>

#include <algorithm>

namespace gantry::relax {
namespace {

// Returns DLPack's type for the one of a constant.
gantry_dtype dlpack_type(const RelaxCode& code, gantry_dtype dtype) {
  return dlpack_dtype(dtype, code.numbering == Numbering::packed);
}

}  // namespace

Result<std::shared_ptr<const Loaded>> Loaded::read(const Host& host, Blob& blob,
                                                   std::shared_ptr<StorageMemory> memory) {
  GANTRY_TRY(RelaxCode code, read_relax_payload(blob.reader(), blob.numbering()));
  GANTRY_TRY(Program program, decode(code));
  return std::shared_ptr<const Loaded>(
      new Loaded(host, std::move(code), std::move(program), blob, std::move(memory)));
}

Status Loaded::save(const Sink& sink) const {
  SinkStream out(&sink.raw());
  if (sink.alignment() == 0) {
    out.write(kept_.bytes);
    return {};
  }
  ExporterFacts facts;
  facts.numbering = numbering_;
  return write_aligned_payload(relax_executable_key, kept_.bytes, facts,
                               {out, out.position(), sink.alignment()});
}

Result<Value> Loaded::tensor(const ArrayRecord& array, std::string_view scope,
                             gantry_device_id device, const gantry_env* env) const {
  const gantry_tensor in_file = compact_tensor(dlpack_type(code, array.dtype), array.shape,
                                               {cpu_device_type, 0}, array.data.data());
  const bool is_aligned = is_aligned_in_place(in_file.data, in_place_alignment_since_v0_10);
  if (device.type == cpu_device_type && is_aligned && !array.data.empty())
    return host_.tensor_view(in_file, kept_.pin.get());
  return host_.tensor_copied(in_file, device, env, scope);
}

Result<Value> Loaded::constant(std::size_t index, gantry_device_id device,
                               const gantry_env* env) const {
  const VmConstant& constant = code.constants.values[index];
  if (const auto* array = std::get_if<ArrayRecord>(&constant)) {
    const auto scope = std::ranges::find(code.scopes, static_cast<std::int64_t>(index),
                                         &RelaxMemoryScope::constant);
    return tensor(*array, scope != code.scopes.end() ? scope->scope : "", device, env);
  }
  if (const auto* shape = std::get_if<std::vector<std::int64_t>>(&constant))
    return host_.shape(*shape);
  if (const auto* text = std::get_if<std::string_view>(&constant)) return host_.text(*text);
  if (const auto* number = std::get_if<std::int64_t>(&constant))
    return Value::adopt(int_value(*number));
  if (const auto* number = std::get_if<double>(&constant))
    return Value::adopt(float_value(*number));
  return Value::adopt(dtype_value(dlpack_type(code, std::get<gantry_dtype>(constant))));
}

Result<const SharedConstants*> Loaded::constants(gantry_device_id device,
                                                 const gantry_env* env) const {
  const std::lock_guard lock(mutex_);
  const std::pair key(device.type, device.index);
  if (const auto known = constants_.find(key); known != constants_.end()) return &known->second;
  std::vector<Value> values;
  values.reserve(code.constants.size());
  for (std::size_t i = 0; i < code.constants.size(); ++i) {
    if (!program.is_constant_used[i]) {
      values.emplace_back();
      continue;
    }
    auto value = constant(i, device, env);
    if (!value.ok()) return std::move(value).failure().at("in constant ", i);
    values.push_back(std::move(*value));
  }
  GANTRY_TRY(SharedConstants made, SharedConstants::create(host_, std::move(values)));
  return &constants_.emplace(key, std::move(made)).first->second;
}

}  // namespace gantry::relax
