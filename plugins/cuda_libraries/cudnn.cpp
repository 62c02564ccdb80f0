// SPDX-License-Identifier: Apache-2.0
#include "cudnn.hpp"

#include "find_library.hpp"
#include "status.hpp"

namespace gantry::cuda_libraries {
namespace {

constexpr const char* cudnn_sonames[] = {"libcudnn.so.9", "libcudnn.so.8"};
constexpr LibraryNames cudnn_names{"cuDNN",
                                   cudnn_sonames,
                                   "cudnn",
                                   "cudnn",
                                   "nvidia-cudnn-cu12",
                                   "nvidia-cudnn",
                                   "NVIDIA's archive of cuDNN"};

// cudnnStatus_t: numbers below 1000 are those of cuDNN 8, since 9 thousands are categories.
Code cudnn_code(int status) {
  enum : int { alloc_failed = 2, bad_param = 3, invalid_value = 5, arch_mismatch = 6 };
  enum : int { not_supported = 9, host_allocation_failed = 4003, device_allocation_failed = 4004 };
  switch (status) {
    case alloc_failed:
    case host_allocation_failed:
    case device_allocation_failed:
      return Code::exhausted;
    case bad_param:
    case invalid_value:
      return Code::invalid;
    case arch_mismatch:
    case not_supported:
      return Code::unsupported;
    default:
      return status / 1000 == 2   ? Code::invalid
             : status / 1000 == 3 ? Code::unsupported
                                  : Code::unavailable;
  }
}

}  // namespace

Failure Cudnn::failure(std::string_view function, int status) const {
  const char* const name = error_name(status);
  return status_failure("cuDNN", name == nullptr ? "unknown status" : name, cudnn_code(status),
                        function, status);
}

Status Cudnn::check(std::string_view function, int status) const {
  if (status == 0) return {};
  return failure(function, status);
}

Result<std::unique_ptr<const Cudnn>> Cudnn::open(const std::string& named) {
  GANTRY_TRY(const Library library, open_library(cudnn_names, named));
  auto made = std::make_unique<Cudnn>();
  made->name = library.name();
  CudnnConvolution &forward = made->forward, &data = made->backward_data,
                   &filter = made->backward_filter;
  forward.workspace_name = "cudnnGetConvolutionForwardWorkspaceSize";
  forward.choose_name = "cudnnGetConvolutionForwardAlgorithm_v7";
  forward.find_name = "cudnnFindConvolutionForwardAlgorithm";
  forward.run_name = "cudnnConvolutionForward";
  data.workspace_name = "cudnnGetConvolutionBackwardDataWorkspaceSize";
  data.choose_name = "cudnnGetConvolutionBackwardDataAlgorithm_v7";
  data.find_name = "cudnnFindConvolutionBackwardDataAlgorithm";
  data.run_name = "cudnnConvolutionBackwardData";
  filter.workspace_name = "cudnnGetConvolutionBackwardFilterWorkspaceSize";
  filter.choose_name = "cudnnGetConvolutionBackwardFilterAlgorithm_v7";
  filter.find_name = "cudnnFindConvolutionBackwardFilterAlgorithm";
  filter.run_name = "cudnnConvolutionBackwardFilter";
  GANTRY_CHECK(library.bind({
      required("cudnnCreate", made->create),
      required("cudnnDestroy", made->destroy),
      required("cudnnSetStream", made->set_stream),
      required("cudnnGetErrorString", made->error_name),
      required("cudnnCreateTensorDescriptor", made->tensor_create),
      required("cudnnDestroyTensorDescriptor", made->tensor_destroy),
      required("cudnnSetTensor4dDescriptor", made->tensor_set_4d),
      required("cudnnSetTensorNdDescriptor", made->tensor_set_nd),
      required("cudnnCreateFilterDescriptor", made->filter_create),
      required("cudnnDestroyFilterDescriptor", made->filter_destroy),
      required("cudnnSetFilter4dDescriptor", made->filter_set_4d),
      required("cudnnSetFilterNdDescriptor", made->filter_set_nd),
      required("cudnnCreateActivationDescriptor", made->activation_create),
      required("cudnnDestroyActivationDescriptor", made->activation_destroy),
      required("cudnnSetActivationDescriptor", made->activation_set),
      required("cudnnCreateConvolutionDescriptor", made->convolution_create),
      required("cudnnDestroyConvolutionDescriptor", made->convolution_destroy),
      required("cudnnSetConvolution2dDescriptor", made->convolution_set_2d),
      required("cudnnSetConvolutionNdDescriptor", made->convolution_set_nd),
      required("cudnnSetConvolutionGroupCount", made->convolution_set_groups),
      required("cudnnSetConvolutionMathType", made->convolution_set_math),
      required(forward.workspace_name, forward.workspace),
      required(forward.choose_name, forward.choose),
      required(forward.find_name, forward.find),
      required(forward.run_name, forward.run),
      required(data.workspace_name, data.workspace),
      required(data.choose_name, data.choose),
      required(data.find_name, data.find),
      required(data.run_name, data.run),
      required(filter.workspace_name, filter.workspace),
      required(filter.choose_name, filter.choose),
      required(filter.find_name, filter.find),
      required(filter.run_name, filter.run),
      required("cudnnConvolutionBiasActivationForward", made->biased),
      required("cudnnSoftmaxForward", made->softmax),
  }));
  return std::unique_ptr<const Cudnn>(std::move(made));
}

Result<std::unique_ptr<CudnnHandle>> CudnnHandle::create(const Cudnn& api, const Driver&) {
  auto made = std::make_unique<CudnnHandle>(api);
  GANTRY_CHECK(api.check("cudnnCreate", api.create(&made->handle)));
  for (void** const tensor : {&made->x, &made->y, &made->bias})
    GANTRY_CHECK(api.check("cudnnCreateTensorDescriptor", api.tensor_create(tensor)));
  GANTRY_CHECK(api.check("cudnnCreateFilterDescriptor", api.filter_create(&made->filter)));
  GANTRY_CHECK(
      api.check("cudnnCreateConvolutionDescriptor", api.convolution_create(&made->convolution)));
  GANTRY_CHECK(
      api.check("cudnnCreateActivationDescriptor", api.activation_create(&made->activation)));
  return made;
}

CudnnHandle::~CudnnHandle() {
  if (activation != nullptr) api.activation_destroy(activation);
  if (convolution != nullptr) api.convolution_destroy(convolution);
  if (filter != nullptr) api.filter_destroy(filter);
  for (void* const tensor : {x, y, bias}) {
    if (tensor != nullptr) api.tensor_destroy(tensor);
  }
  if (handle != nullptr) api.destroy(handle);
}

}  // namespace gantry::cuda_libraries
