// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/support.hpp"

#include <portops/core/dlpack.hpp>
#include <portops/ops/lerp.hpp>

// The structures of DLPack, as an application's <dlpack/dlpack.h> declares them.
namespace {

enum DLDeviceType : int { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLOpenCL = 4, kDLCUDAManaged = 13 };

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

constexpr std::uint64_t read_only_flag = 1;
constexpr std::uint64_t is_copied_flag = 2;

}  // namespace

namespace portops::test {
namespace {

class DlpackTest : public testing::Test {
 protected:
  float data_[12] = {};
  std::int64_t shape_[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t strides_[9] = {-1, 4, 1, 1, 1, 1, 1, 1, 1};
  DLTensor tensor_{data_, {kDLCPU, 0}, 2, {2, 32, 1}, shape_, nullptr, 0};
};

TEST_F(DlpackTest, null_strides_mean_contiguous) {
  const TensorRef ref = tensor_;
  EXPECT_TRUE(ref);
  EXPECT_EQ(ref.data(), data_);
  EXPECT_EQ(ref.type(), ElementType::f32);
  EXPECT_EQ(ref.space(), MemorySpace::host);
  EXPECT_EQ(ref.extents(), (Extents{2, 3}));
  EXPECT_EQ(ref.strides(), (Extents{3, 1}));
  EXPECT_FALSE(ref.read_only());
}

TEST_F(DlpackTest, strides_count_elements_and_the_offset_bytes) {
  tensor_.strides = strides_;
  tensor_.byte_offset = 4;
  const TensorRef ref = tensor_;
  EXPECT_EQ(ref.data(), data_ + 1);
  EXPECT_EQ(ref.strides(), (Extents{-1, 4}));
}

TEST_F(DlpackTest, rank_0_needs_no_shape) {
  tensor_.ndim = 0;
  tensor_.shape = nullptr;
  const TensorRef ref = tensor_;
  EXPECT_TRUE(ref);
  EXPECT_EQ(ref.rank(), 0);
  EXPECT_EQ(ref.size(), 1);
}

TEST_F(DlpackTest, axes_without_a_shape_are_refused) {
  tensor_.shape = nullptr;
  expect_error([&] { TensorRef{tensor_}; },
               "portops::TensorRef: DLPack tensor of 2 axes without a shape found, expected their extents");
}

TEST_F(DlpackTest, without_data_there_is_no_offset) {
  tensor_.data = nullptr;
  tensor_.byte_offset = 4;
  EXPECT_FALSE(TensorRef(tensor_).has_data());
}

TEST_F(DlpackTest, a_tensor_without_elements_may_have_no_data) {
  shape_[1] = 0;
  tensor_.data = nullptr;
  const TensorRef ref = tensor_;
  EXPECT_TRUE(ref);
  EXPECT_EQ(ref.size(), 0);
}

TEST_F(DlpackTest, element_types_and_memory_spaces_are_translated) {
  const auto type = [&](std::uint8_t code, std::uint8_t bits) {
    tensor_.dtype = {code, bits, 1};
    return TensorRef(tensor_).type();
  };
  EXPECT_EQ(type(2, 64), ElementType::f64);
  EXPECT_EQ(type(2, 32), ElementType::f32);
  EXPECT_EQ(type(2, 16), ElementType::f16);
  EXPECT_EQ(type(4, 16), ElementType::bf16);
  EXPECT_EQ(type(0, 64), ElementType::i64);
  const auto space = [&](DLDeviceType device) {
    tensor_.device.device_type = device;
    return TensorRef(tensor_).space();
  };
  EXPECT_EQ(space(kDLCPU), MemorySpace::host);
  EXPECT_EQ(space(kDLCUDA), MemorySpace::cuda);
  EXPECT_EQ(space(kDLCUDAHost), MemorySpace::cuda_pinned);
  EXPECT_EQ(space(kDLCUDAManaged), MemorySpace::cuda_managed);
}

TEST_F(DlpackTest, other_element_types_are_refused) {
  const auto expect = [&](DLDataType type, const std::string& found) {
    tensor_.dtype = type;
    expect_error([&] { TensorRef{tensor_}; },
                 "portops::TensorRef: DLPack element type (" + found + ") found, expected f64, f32, f16, bf16 or i64");
  };
  expect({0, 32, 1}, "code 0, 32 bits, 1 lanes");
  expect({2, 32, 4}, "code 2, 32 bits, 4 lanes");
  expect({2, 128, 1}, "code 2, 128 bits, 1 lanes");
  expect({4, 32, 1}, "code 4, 32 bits, 1 lanes");
  expect({5, 64, 1}, "code 5, 64 bits, 1 lanes");
}

TEST_F(DlpackTest, other_devices_are_refused) {
  tensor_.device.device_type = kDLOpenCL;
  expect_error([&] { TensorRef{tensor_}; },
               "portops::TensorRef: DLPack device type 4 found, expected 1 (CPU), 2 (CUDA), 3 (CUDA host) or 13 (CUDA "
               "managed)");
}

TEST_F(DlpackTest, more_than_8_axes_are_refused) {
  tensor_.ndim = 8;
  EXPECT_EQ(TensorRef(tensor_).rank(), 8);
  tensor_.ndim = 9;
  expect_error([&] { TensorRef{tensor_}; }, "portops::Extents: 9 axes given, expected at most 8");
  tensor_.ndim = -1;
  EXPECT_THROW(TensorRef{tensor_}, Error);
}

TEST_F(DlpackTest, negative_extents_are_refused) {
  shape_[0] = -2;
  expect_error([&] { TensorRef{tensor_}; }, "portops::TensorRef: extents [-2, 3] given, expected none negative");
}

TEST_F(DlpackTest, managed_tensors_convert_and_may_be_read_only) {
  const DLManagedTensor managed{tensor_, nullptr, nullptr};
  EXPECT_EQ(TensorRef(managed).data(), data_);
  EXPECT_FALSE(TensorRef(managed).read_only());

  DLManagedTensorVersioned versioned{{1, 0}, nullptr, nullptr, 0, tensor_};
  EXPECT_EQ(TensorRef(versioned).extents(), (Extents{2, 3}));
  EXPECT_FALSE(TensorRef(versioned).read_only());
  versioned.flags = is_copied_flag;
  EXPECT_FALSE(TensorRef(versioned).read_only());
  versioned.flags = is_copied_flag | read_only_flag;
  EXPECT_TRUE(TensorRef(versioned).read_only());
}

TEST_F(DlpackTest, operators_take_dlpack_tensors) {
  static_assert(std::is_convertible_v<DLTensor, TensorRef> && std::is_convertible_v<DLManagedTensor, TensorOrNumber>);
  for (const Backend backend : enabled_backends()) {
    if (default_memory_space(backend) != MemorySpace::host) continue;
    float out[6] = {};
    float weight = 0.25f;
    std::fill(std::begin(data_), std::end(data_), 1.0f);
    DLTensor x = tensor_;  // x[i][j] = data_[1 + 4j - i]
    x.strides = strides_;
    x.byte_offset = 4;
    data_[0] = 5.0f;
    DLTensor out_tensor = tensor_;
    out_tensor.data = out;
    const DLManagedTensor weight_tensor{{&weight, {kDLCPU, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0}, nullptr, nullptr};
    const Context ctx(backend);
    lerp(ctx, x, tensor_, weight_tensor, out_tensor);
    ctx.fence();
    EXPECT_EQ(out[0], 2.0f);  // from x = 1 to y = 5
    EXPECT_EQ(out[3], 4.0f);  // from x = 5 to y = 1
    EXPECT_EQ(out[5], 1.0f);

    const DLManagedTensorVersioned read_only{{1, 0}, nullptr, nullptr, read_only_flag, out_tensor};
    expect_error([&] { lerp(ctx, x, tensor_, weight_tensor, read_only); },
                 "portops::lerp: out is an output, but its elements are const");
  }
}

}  // namespace
}  // namespace portops::test
