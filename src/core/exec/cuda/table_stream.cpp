// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "core/exec/cuda/table_stream.hpp"

#include "core/exec/cuda/cuda_calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace portops::impl {
namespace {

constexpr const char* label = "portops::Levels";

}  // namespace

TableStream::TableStream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), label, "cudaStreamCreateWithFlags");
}

TableStream& TableStream::of(int device) {
  static std::mutex mutex;
  static std::array<TableStream*, 64> of_device{};
  const std::lock_guard lock(mutex);
  TableStream*& stream = of_device.at(static_cast<std::size_t>(device));
  if (stream == nullptr) stream = new TableStream;
  return *stream;
}

void TableStream::copy(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at < bytes; at += block_bytes) {
    const std::size_t count = std::min(block_bytes, bytes - at);
    const Block& block = next_block();
    std::memcpy(block.data, static_cast<const std::byte*>(from) + at, count);
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(to) + at, block.data, count, cudaMemcpyHostToDevice, stream_),
               label, "cudaMemcpyAsync");
    check_cuda(cudaEventRecord(block.read, stream_), label, "cudaEventRecord");
  }
}

TableStream::Block& TableStream::next_block() {
  const bool is_idle = !blocks_.empty() && cudaEventQuery(blocks_[next_].read) == cudaSuccess;
  if (!is_idle && blocks_.size() < most_blocks) {
    // Before the next one, whose turn it will be again after the others.
    Block block;
    check_cuda(cudaEventCreateWithFlags(&block.read, cudaEventDisableTiming), label, "cudaEventCreateWithFlags");
    const cudaError_t status = cudaMallocHost(&block.data, block_bytes);
    if (status != cudaSuccess) cudaEventDestroy(block.read);
    check_cuda(status, label, "cudaMallocHost");
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(next_), block);
  } else if (!is_idle) {
    check_cuda(cudaEventSynchronize(blocks_[next_].read), label, "cudaEventSynchronize");
  }
  Block& block = blocks_[next_];
  next_ = (next_ + 1) % blocks_.size();
  return block;
}

}  // namespace portops::impl
