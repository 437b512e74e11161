// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace portops::impl {

/// Where the tables of one device come and go. Copies have a stream to themselves: one for an instance must not wait
/// for the work of another. What waits for calls, in order to free what they read, does so in a second stream.
class TableStreams {
 public:
  /// Those of a device, which must be current. They are kept until the program ends. Throws Error where CUDA fails.
  static TableStreams& of(int device);

  cudaStream_t copies() const { return copies_; }
  cudaStream_t frees() const { return frees_; }

  /// Enqueues a copy from the host, which has been read when this returns, in the order of copies(). It goes through
  /// page-locked memory, which the device reads without the host's help: the host waits for nothing but its own copy
  /// and, where more than most_blocks are under way, for the oldest of these. Throws Error where CUDA fails.
  void copy(void* to, const void* from, std::size_t bytes);

 private:
  struct Block {
    void* data = nullptr;
    cudaEvent_t read = nullptr;
  };
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;
  static constexpr std::size_t most_blocks = 16;

  TableStreams();
  Block& next_block();

  cudaStream_t copies_ = nullptr;
  cudaStream_t frees_ = nullptr;
  std::mutex mutex_;
  std::vector<Block> blocks_;  ///< used in turn; never freed, because that waits for all of the device
  std::size_t next_ = 0;
};

}  // namespace portops::impl
