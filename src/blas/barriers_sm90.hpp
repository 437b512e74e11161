// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

// What kernels on GPUs of compute capability 9.0 say of their memory: shared memory and its barriers, asynchronous
// copies into it, flags for other blocks, clusters, and how registers are shared out. For files compiled for sm_90a
// alone.

namespace portops::blas::sm90 {

using SharedAddress = std::uint32_t;

__device__ __forceinline__ SharedAddress shared_address(const void* data) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(data));
}

/// The same for an address that is needed again and again, which the compiler would work out each time.
__device__ __forceinline__ SharedAddress kept_shared_address(const void* data) {
  SharedAddress address;
  asm volatile("mov.u32 %0, %1;" : "=r"(address) : "r"(shared_address(data)));
  return address;
}

/// What lies in shared memory, at a multiple of its size.
__device__ __forceinline__ float4 read_float4(SharedAddress address) {
  float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address));
  return value;
}

__device__ __forceinline__ float2 read_float2(SharedAddress address) {
  float2 value;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(address));
  return value;
}

__device__ __forceinline__ std::uint32_t read_word(SharedAddress address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address));
  return value;
}

__device__ __forceinline__ float read_float(SharedAddress address) { return __uint_as_float(read_word(address)); }

/// Two words at a multiple of 8 bytes, or four at one of 16.
__device__ __forceinline__ void write_words(SharedAddress address, std::uint32_t first, std::uint32_t second) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second) : "memory");
}

__device__ __forceinline__ void write_words(SharedAddress address, const std::uint32_t (&words)[4]) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}

/// Four matrices of 8 by 8 numbers of 16 bits: every eight threads give where the rows of one lie, 16 bytes each, and
/// thread i of a warp gets the two numbers from 2 * (i % 4) on of row i / 4 or, where they are turned, column i / 4.
template <bool turned>
__device__ __forceinline__ void read_matrices(SharedAddress row, std::uint32_t (&words)[4]) {
  if constexpr (turned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row));
  }
}

/// A barrier in shared memory, 8 bytes. It changes its phase, which counts from 0, when as many threads as it was made
/// for have arrived and the bytes that were announced have been copied.
class Barrier {
 public:
  __device__ __forceinline__ explicit Barrier(SharedAddress address) : address_(address) {}

  __device__ __forceinline__ void make(int arrivals) const {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_), "r"(arrivals) : "memory");
  }
  __device__ __forceinline__ void arrive() const {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_) : "memory");
  }
  /// Waits until the phase of that parity is over.
  __device__ __forceinline__ void wait(int parity) const {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n"
        "}" ::"r"(address_),
        "r"(parity)
        : "memory");
  }
  __device__ __forceinline__ SharedAddress address() const { return address_; }

  /// Arrives, and announces bytes that copies bring before the phase ends.
  __device__ __forceinline__ void announce(int bytes) const {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_), "r"(bytes) : "memory");
  }
  /// Copies announced bytes from device memory to shared memory; all are multiples of 16.
  __device__ __forceinline__ void copy(SharedAddress to, const void* from, int bytes) const {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(address_)
                 : "memory");
  }

  /// Announces a copy alone, and makes it.
  __device__ __forceinline__ void arrive_with_copy(SharedAddress to, const void* from, int bytes) const {
    announce(bytes);
    copy(to, from, bytes);
  }

 private:
  SharedAddress address_;
};

/// Copies so many of 16 bytes from device memory to shared memory, and zeros for the others, for this thread to read
/// once it has waited for the group that it closes next.
__device__ __forceinline__ void copy_unit(SharedAddress to, const void* from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
/// The same of 4 bytes, or none of them.
__device__ __forceinline__ void copy_number(SharedAddress to, const float* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void close_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Returns when no more than the last `underway` groups of this thread are not over.
template <int underway>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(underway) : "memory");
}

/// After the threads of a block have made its barriers, before others use them.
__device__ __forceinline__ void fence_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Makes what this thread has written to shared memory visible to products.
__device__ __forceinline__ void fence_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// So many threads of a block wait for each other. `barrier` is one of 1 to 15, for each set of threads its own.
template <int barrier, int threads>
__device__ __forceinline__ void synchronize() {
  asm volatile("bar.sync %0, %1;" ::"n"(barrier), "n"(threads) : "memory");
}

/// The threads of a warpgroup of a block wait for each other. Takes a barrier for each, from 1 on.
__device__ __forceinline__ void synchronize_warpgroup(int warpgroup) {
  asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup) : "memory");
}

/// Two warpgroups of a block do something in turn, so that they do not do it, and then both something else, at the same
/// time. Turns are counted from 0; those of even numbers are the first warpgroup's. Takes barriers 1 and 2.
class Turns {
 public:
  __device__ __forceinline__ explicit Turns(int warpgroup) : warpgroup_(warpgroup) {}

  /// Waits until the turn before has been passed on.
  __device__ __forceinline__ void take(int turn) const {
    if (turn > 0) asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup_) : "memory");
  }
  /// Of `turns` in all.
  __device__ __forceinline__ void pass(int turn, int turns) const {
    if (turn + 1 < turns) asm volatile("bar.arrive %0, 256;" ::"r"(2 - warpgroup_) : "memory");
  }

 private:
  int warpgroup_;
};

/// Stages of tiles that some threads fill and others use, in turn. Each stage has two barriers: for that it is full,
/// and for that it is empty.
struct Ring {
  SharedAddress barriers;  ///< 16 bytes a stage
  int stages;
  int stage = 0;
  int round = 0;  ///< its parity

  /// By one thread, before all others of the block use it: how many threads arrive at each barrier.
  __device__ __forceinline__ void make(int fill, int use) const {
    for (int i = 0; i < stages; ++i) {
      Barrier(barriers + 16 * i).make(fill);
      Barrier(barriers + 16 * i + 8).make(use);
    }
    fence_barriers();
  }
  __device__ __forceinline__ Barrier full() const { return Barrier(barriers + 16 * stage); }
  __device__ __forceinline__ Barrier empty() const { return Barrier(barriers + 16 * stage + 8); }
  /// Of the stage before.
  __device__ __forceinline__ Barrier empty_before() const {
    return Barrier(barriers + 16 * (stage == 0 ? stages - 1 : stage - 1) + 8);
  }
  __device__ __forceinline__ void advance() {
    if (++stage == stages) {
      stage = 0;
      round ^= 1;
    }
  }
};

/// Tells the threads of all blocks that wait for the flag that what this thread has written, and seen others write, is
/// there. The flag was 0.
__device__ __forceinline__ void release(int* flag) {
  asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ __forceinline__ void acquire(const int* flag) {
  int value = 0;
  do {
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  } while (value == 0);
}

/// All threads of the blocks of a cluster wait for each other.
__device__ __forceinline__ void synchronize_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// What has an address in this block's shared memory, in that of a block of the cluster.
__device__ __forceinline__ SharedAddress address_in_block(SharedAddress address, int block) {
  SharedAddress remote;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(block));
  return remote;
}

/// Four floats there, two, or one.
__device__ __forceinline__ float4 read_of_block(SharedAddress address, int block) {
  float4 value;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address_in_block(address, block)));
  return value;
}
__device__ __forceinline__ float2 read_pair_of_block(SharedAddress address, int block) {
  float2 value;
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(value.x), "=f"(value.y)
               : "r"(address_in_block(address, block)));
  return value;
}
__device__ __forceinline__ float read_number_of_block(SharedAddress address, int block) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address_in_block(address, block)));
  return value;
}

/// The same place in the shared memory of a block of the cluster.
template <class T>
__device__ __forceinline__ const T* in_block(const T* shared, int block) {
  const T* remote;
  asm("mapa.u64 %0, %1, %2;" : "=l"(remote) : "l"(shared), "r"(block));
  return remote;
}

/// Registers of each thread of this warpgroup from here on. The registers of a block's threads must not exceed 65536.
template <int registers>
__device__ __forceinline__ void take_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
#endif
}
template <int registers>
__device__ __forceinline__ void leave_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
#endif
}

}  // namespace portops::blas::sm90
