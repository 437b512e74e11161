// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace portops::impl {

/// The stream on which the tables of one device come and go, and nothing else: a copy for an instance must not wait for
/// the work of another.
class TableStream {
 public:
  /// That of a device, which must be current. It is kept until the program ends. Throws Error where CUDA fails.
  static TableStream& of(int device);

  cudaStream_t stream() const { return stream_; }

  /// Enqueues a copy from the host, which has been read when this returns. It goes through page-locked memory, which
  /// the device reads without the host's help: the host waits for nothing but its own copy and, where more than
  /// most_blocks are under way, for the oldest of these. Throws Error where CUDA fails.
  void copy(void* to, const void* from, std::size_t bytes);

 private:
  struct Block {
    void* data = nullptr;
    cudaEvent_t read = nullptr;
  };
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_blocks = 16;

  TableStream();
  Block& next_block();

  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;
  std::vector<Block> blocks_;  ///< used in turn; never freed, because that waits for all of the device
  std::size_t next_ = 0;
};

}  // namespace portops::impl
