// Between LibTorch's tensors and the graph's types, and proxies: tensors with
// sizes, strides, dtype and device, and no memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "merak/graph/graph.h"

namespace merak::trace {

DType to_dtype(at::ScalarType type);  // usage error for complex and quantized
at::ScalarType to_scalar_type(DType dtype);

// Strides are left empty where the tensor is contiguous.
graph::TensorType type_of(const at::Tensor& tensor);

// A tensor whose storage is a null pointer: composite operators and autograd
// formulas see the real device and choose the kernels that will run there,
// while nothing is allocated. Reading it is a bug that ends in a segmentation
// fault, so proxies never leave a recording.
at::Tensor make_proxy(at::IntArrayRef sizes, at::IntArrayRef strides,
                      at::ScalarType type, c10::Device device);
at::Tensor make_proxy(const graph::TensorType& type, c10::Device device);
bool is_proxy(const at::Tensor& tensor);

}  // namespace merak::trace
