// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/device.hpp>
#include <gantry/external_memory.hpp>

#include <algorithm>
#include <bit>
#include <utility>

namespace gantry::vulkan {
namespace {

constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags visible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags coherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

// True if the host can access all device-local memory, not only the 256 MiB window of older cards.
bool shows_its_memory(const VkPhysicalDeviceMemoryProperties& memory) {
  VkDeviceSize largest_local = 0;
  VkDeviceSize largest_shown = 0;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryType& type = memory.memoryTypes[i];
    if ((type.propertyFlags & local) == 0) continue;
    const VkDeviceSize size = memory.memoryHeaps[type.heapIndex].size;
    largest_local = std::max(largest_local, size);
    if ((type.propertyFlags & visible) != 0) largest_shown = std::max(largest_shown, size);
  }
  return largest_shown != 0 && largest_shown >= largest_local;
}

VkBufferUsageFlags usage_of(BufferUse use) {
  if (use == BufferUse::data) return data_usage;
  if (use == BufferUse::scalars) return VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT;
  return VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
}

Blocks::Options block_options(const Gpu& gpu) {
  Blocks::Options options;
  // Flushed and invalidated ranges must not overlap another buffer.
  options.granule = std::max<std::uint64_t>(
      std::bit_ceil(gpu.properties.limits.nonCoherentAtomSize), options.granule);
  for (std::uint32_t i = 0; i < gpu.memory.memoryTypeCount; ++i) {
    const std::uint32_t heap = gpu.memory.memoryTypes[i].heapIndex;
    options.largest.push_back(largest_block(gpu.memory.memoryHeaps[heap].size));
  }
  return options;
}

}  // namespace

Buffer::~Buffer() {
  cell.magic = 0;
  const bool is_of_others = is_imported && imported == VK_NULL_HANDLE;
  if (handle != VK_NULL_HANDLE && !is_of_others) vkDestroyBuffer(device, handle, nullptr);
  if (imported != VK_NULL_HANDLE) vkFreeMemory(device, imported, nullptr);
}

Memory::Memory(VkDevice device, const Gpu& gpu, MemoryChoice choice)
    : device_(device), gpu_(gpu), choice_(choice), blocks_(*this, block_options(gpu)) {
  is_mapped_ = choice == MemoryChoice::mapped ||
               (choice == MemoryChoice::automatic && shows_its_memory(gpu.memory));
}

int Memory::type_for(std::uint32_t allowed, BufferUse use) const {
  VkMemoryPropertyFlags needed = visible;
  VkMemoryPropertyFlags wanted = coherent;
  VkMemoryPropertyFlags avoided = 0;
  switch (use) {
    case BufferUse::data:
      needed = is_mapped_ ? visible : 0;
      wanted = is_mapped_ ? local | coherent | cached : local;
      // A preference only: a device may have no memory that is not host-visible.
      avoided = is_mapped_ ? 0 : visible;
      break;
    case BufferUse::imported:
      needed = 0;
      wanted = local;
      avoided = visible;
      break;
    case BufferUse::download:
      wanted = coherent | cached;
      break;
    case BufferUse::upload:
    case BufferUse::scalars:
      needed = visible | coherent;
      wanted = 0;
      break;
  }
  int best = -1;
  int best_score = -1;
  for (std::uint32_t i = 0; i < gpu_.memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags has = gpu_.memory.memoryTypes[i].propertyFlags;
    if ((allowed >> i & 1u) == 0 || (has & needed) != needed) continue;
    if ((has & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT)) != 0)
      continue;
    // Device-local memory outweighs all else, then host properties; of equal types the first listed
    // wins, which is the driver's preference.
    const int score = ((has & wanted & local) != 0 ? 8 : 0) +
                      2 * __builtin_popcount(has & wanted & (coherent | cached)) +
                      ((has & avoided) == 0 ? 1 : 0);
    if (score <= best_score) continue;
    best = static_cast<int>(i);
    best_score = score;
  }
  return best;
}

Result<std::unique_ptr<Buffer>> Memory::make(std::uint64_t size, BufferUse use) {
  const std::uint64_t max = gpu_.max_allocation_bytes;
  if (size > max) {
    return exhausted("buffer of ", ByteCount(size), ", the device allocates at most ",
                     ByteCount(max))
        .with_reason("MEMORY");
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->device = device_;
  buffer->size = size;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  // Kernels may access memory in words.
  info.size = std::max<std::uint64_t>((size + 3) / 4 * 4, 4);
  info.usage = usage_of(use);
  if (const VkResult made = vkCreateBuffer(device_, &info, nullptr, &buffer->handle);
      made != VK_SUCCESS) {
    return driver_error(made, "vkCreateBuffer").at("while allocating ", ByteCount(size));
  }
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device_, buffer->handle, &needs);
  const int type = type_for(needs.memoryTypeBits, use);
  if (type < 0) {
    return unavailable("no memory of ", std::string_view(gpu_.properties.deviceName), " is ",
                       choice_ == MemoryChoice::mapped ? "mapped, which option memory requires"
                                                       : "visible to the host")
        .with_reason("MEMORY_TYPE");
  }
  const PartRequest part{.type = static_cast<std::uint32_t>(type),
                         .size = needs.size,
                         .alignment = needs.alignment,
                         .is_mapped = use != BufferUse::data || is_mapped_};
  Result<Part> memory = blocks_.take(part);
  if (!memory.ok()) return memory.error().at("while allocating ", ByteCount(size));
  buffer->memory = std::move(*memory);
  GANTRY_CHECK(checked(
      vkBindBufferMemory(device_, buffer->handle, buffer->memory.memory(), buffer->memory.offset()),
      "vkBindBufferMemory"));
  const VkMemoryPropertyFlags has = gpu_.memory.memoryTypes[type].propertyFlags;
  buffer->is_coherent = (has & coherent) != 0;
  buffer->is_cached = (has & cached) != 0;
  if (part.is_mapped) buffer->mapped = buffer->memory.mapped();
  return buffer;
}

Result<std::unique_ptr<Buffer>> Memory::import_host(void* address, std::uint64_t size) {
  const std::uint64_t alignment = gpu_.host_memory_alignment;
  const auto host_properties = reinterpret_cast<PFN_vkGetMemoryHostPointerPropertiesEXT>(
      vkGetDeviceProcAddr(device_, "vkGetMemoryHostPointerPropertiesEXT"));
  if (alignment == 0 || host_properties == nullptr)
    return unsupported("the driver does not import host memory").with_reason("EXTERNAL_KIND");
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (size == 0 || size % alignment != 0 || number % alignment != 0) {
    return invalid("host memory of ", ByteCount(size), " at ", Hex{number},
                   ", the driver imports multiples of ", alignment)
        .with_reason("ALIGNMENT");
  }
  constexpr VkExternalMemoryHandleTypeFlagBits kind =
      VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkMemoryRequirements needs{};
  GANTRY_TRY(std::unique_ptr<Buffer> buffer, external_buffer(size, kind, &needs));
  VkMemoryHostPointerPropertiesEXT allowed{VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  GANTRY_CHECK(checked(host_properties(device_, kind, address, &allowed),
                       "vkGetMemoryHostPointerPropertiesEXT"));
  const std::uint32_t types = needs.memoryTypeBits & allowed.memoryTypeBits;
  if (types == 0 || needs.size > size) {
    return unsupported("no memory of the driver is over host memory of ", ByteCount(size))
        .with_reason("EXTERNAL_KIND");
  }
  const VkImportMemoryHostPointerInfoEXT host{VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
                                              nullptr, kind, address};
  GANTRY_CHECK(bind_import(*buffer, &host, size, std::countr_zero(types)));
  if (buffer->is_coherent) buffer->mapped = static_cast<std::uint8_t*>(address);
  return buffer;
}

Status Memory::check_offset(std::uint64_t offset) const {
  const std::uint64_t alignment = gpu_.properties.limits.minStorageBufferOffsetAlignment;
  if (offset % alignment == 0) return {};
  return invalid("external memory: offset is ", offset, ", expected a multiple of ", alignment)
      .with_reason("ALIGNMENT");
}

Result<std::unique_ptr<Buffer>> Memory::import_descriptor(const gantry_external& what) {
  const bool is_dma_buf = what.kind == GANTRY_EXTERNAL_DMA_BUF;
  const auto kind = is_dma_buf ? VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
                               : VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
  if ((gpu_.descriptor_kinds & kind) == 0) return no_external_kind("vulkan", what.kind);
  GANTRY_CHECK(check_external_range(what));
  GANTRY_CHECK(check_offset(what.offset));
  GANTRY_TRY(Descriptor own, copy_of_descriptor(what));
  VkMemoryRequirements needs{};
  GANTRY_TRY(std::unique_ptr<Buffer> buffer,
             external_buffer(what.offset + what.size, kind, &needs));
  std::uint32_t types = needs.memoryTypeBits;
  // The type of other descriptors is the exporter's, which Vulkan does not report.
  if (is_dma_buf) {
    const auto properties_of = reinterpret_cast<PFN_vkGetMemoryFdPropertiesKHR>(
        vkGetDeviceProcAddr(device_, "vkGetMemoryFdPropertiesKHR"));
    VkMemoryFdPropertiesKHR allowed{VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    GANTRY_CHECK(
        checked(properties_of(device_, kind, own.get(), &allowed), "vkGetMemoryFdPropertiesKHR"));
    types &= allowed.memoryTypeBits;
  }
  const int type = type_for(types, BufferUse::imported);
  if (type < 0) {
    return unsupported("no memory of the driver is over descriptor ", what.fd)
        .with_reason("EXTERNAL_KIND");
  }
  const VkImportMemoryFdInfoKHR import{VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, nullptr, kind,
                                       own.get()};
  Status bound = bind_import(*buffer, &import, needs.size, type);
  // The driver owns the descriptor of memory that it has imported.
  if (buffer->imported != VK_NULL_HANDLE) static_cast<void>(own.release());
  if (!bound.ok()) return std::move(bound).failure().at("while importing descriptor ", what.fd);
  buffer->base = what.offset;
  buffer->size = what.size;
  buffer->other_family = is_dma_buf && gpu_.has_foreign_queues ? VK_QUEUE_FAMILY_FOREIGN_EXT
                                                               : VK_QUEUE_FAMILY_EXTERNAL;
  return buffer;
}

Result<std::unique_ptr<Buffer>> Memory::external_buffer(std::uint64_t size,
                                                        VkExternalMemoryHandleTypeFlagBits kind,
                                                        VkMemoryRequirements* needs) const {
  auto buffer = std::make_unique<Buffer>();
  buffer->device = device_;
  buffer->size = size;
  const VkExternalMemoryBufferCreateInfo external{
      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr, kind};
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, &external};
  info.size = size;
  info.usage = data_usage;
  GANTRY_CHECK(checked(vkCreateBuffer(device_, &info, nullptr, &buffer->handle), "vkCreateBuffer"));
  vkGetBufferMemoryRequirements(device_, buffer->handle, needs);
  return buffer;
}

Status Memory::bind_import(Buffer& buffer, const void* import, std::uint64_t size, int type) const {
  VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, import};
  allocation.allocationSize = size;
  allocation.memoryTypeIndex = static_cast<std::uint32_t>(type);
  GANTRY_CHECK(checked(vkAllocateMemory(device_, &allocation, nullptr, &buffer.imported),
                       "vkAllocateMemory over external memory"));
  buffer.is_imported = true;
  const VkMemoryPropertyFlags has = gpu_.memory.memoryTypes[type].propertyFlags;
  buffer.is_coherent = (has & coherent) != 0;
  buffer.is_cached = (has & cached) != 0;
  return checked(vkBindBufferMemory(device_, buffer.handle, buffer.imported, 0),
                 "vkBindBufferMemory");
}

Result<VkDeviceMemory> Memory::allocate(std::uint32_t type, std::uint64_t size) {
  VkMemoryAllocateInfo allocation{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocation.allocationSize = size;
  allocation.memoryTypeIndex = type;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  GANTRY_CHECK(
      checked(vkAllocateMemory(device_, &allocation, nullptr, &memory), "vkAllocateMemory"));
  return memory;
}

Result<std::uint8_t*> Memory::map(VkDeviceMemory memory) {
  void* mapped = nullptr;
  GANTRY_CHECK(checked(vkMapMemory(device_, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory"));
  return static_cast<std::uint8_t*>(mapped);
}

void Memory::free(VkDeviceMemory memory) { vkFreeMemory(device_, memory, nullptr); }

}  // namespace gantry::vulkan
