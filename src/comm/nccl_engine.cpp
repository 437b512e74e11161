// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/nccl_engine.hpp"

#include "comm/process_sum.hpp"
#include "comm/share.hpp"
#include "core/exec/cuda/cuda_calls.hpp"
#include "core/exec/spaces.hpp"
#include "core/types/fail.hpp"

#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

namespace portops::impl {
namespace {

constexpr const char* label = "portops::comm";

void check_nccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  fail("portops::comm: ", call, " failed: ", ncclGetErrorString(status), " (", ncclGetLastError(nullptr), ")");
}

ncclDataType_t type_of(ElementType type) {
  switch (type) {
    case ElementType::f64: return ncclFloat64;
    case ElementType::f32: return ncclFloat32;
    case ElementType::f16: return ncclFloat16;
    case ElementType::bf16: return ncclBfloat16;
    case ElementType::i64: return ncclInt64;
  }
  return ncclInt8;  // all types are above
}

std::byte* at(const TensorRef& x, std::int64_t element) {
  return static_cast<std::byte*>(x.data()) + static_cast<std::size_t>(element) * size_of(x.type());
}

/// Everything is enqueued on a stream of its own, beside what the GPU computes; nothing is waited for before the end.
class NcclEngine final : public Engine, public std::enable_shared_from_this<NcclEngine> {
 public:
  NcclEngine(int its_rank, int its_size, Rendezvous rendezvous, std::shared_ptr<Engine> host)
      : Engine(its_rank, its_size), rendezvous_(std::move(rendezvous)), host_(std::move(host)) {}

  ~NcclEngine() override {
    if (communicator_ == nullptr) return;
    // What was begun is finished, but not where this process or its GPU has failed: the others may never come.
    const bool is_unwinding = std::uncaught_exceptions() > exceptions_;
    if (!is_unwinding && cudaStreamSynchronize(stream_) == cudaSuccess) {
      ncclCommFinalize(communicator_);
      ncclCommDestroy(communicator_);
    } else {
      ncclCommAbort(communicator_);
    }
    wire_.reset();
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }

  std::string_view name() const override { return "NCCL"; }

  Context begin(const Context& ctx) override {
    if (ctx.backend() != Backend::cuda) {
      fail("portops::comm: NCCL carries tensors of GPUs alone, and the context's backend is ", name_of(ctx.backend()));
    }
    start();
    const int device = instance<Backend::cuda>(ctx).cuda_device();
    if (device != device_) fail("portops::comm: the context is of GPU ", device, ", and NCCL works with GPU ", device_);
    order(stream_of(ctx), stream_);
    return Context(*wire_).deterministic(ctx.deterministic());
  }
  void end(const Context& ctx) override { order(stream_, stream_of(ctx)); }

  TransferPtr all_reduce(const Context&, const TensorRef& x) override {
    check_nccl(ncclAllReduce(x.data(), x.data(), static_cast<std::size_t>(x.size()), type_of(x.type()), ncclSum,
                             communicator_, stream_),
               "ncclAllReduce");
    return nullptr;
  }

  TransferPtr exchange(const Context&, const Exchange& its) override {
    const ncclDataType_t type = type_of(its.send.type());
    const std::int64_t count = its.send.size(), own = comm::share_of(count, rank, size).count;
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    for (int other = 0; other < size; ++other) {
      const comm::Range share = comm::share_of(count, other, size);
      if (its.is_sender[static_cast<std::size_t>(rank)] && share.count > 0) {
        check_nccl(ncclSend(at(its.send, share.first), static_cast<std::size_t>(share.count), type, other,
                            communicator_, stream_),
                   "ncclSend");
      }
      if (its.is_sender[static_cast<std::size_t>(other)] && own > 0) {
        check_nccl(
            ncclRecv(at(its.receive, other * own), static_cast<std::size_t>(own), type, other, communicator_, stream_),
            "ncclRecv");
      }
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    return nullptr;
  }

  TransferPtr all_gather(const Context&, const TensorRef& all, std::span<const std::int64_t> counts) override {
    std::int64_t rows = 0;
    for (const std::int64_t each : counts) rows += each;
    if (rows == 0) return nullptr;
    const std::int64_t width = all.size() / rows;
    const ncclDataType_t type = type_of(all.type());
    if (std::all_of(counts.begin(), counts.end(), [&](std::int64_t each) { return each == counts[0]; })) {
      const std::int64_t own = counts[0] * width;
      check_nccl(
          ncclAllGather(at(all, rank * own), all.data(), static_cast<std::size_t>(own), type, communicator_, stream_),
          "ncclAllGather");
      return nullptr;
    }
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    std::int64_t first = 0;
    for (int other = 0; other < size; ++other) {
      const std::int64_t count = counts[static_cast<std::size_t>(other)] * width;
      if (count > 0) {
        check_nccl(ncclBroadcast(at(all, first), at(all, first), static_cast<std::size_t>(count), type, other,
                                 communicator_, stream_),
                   "ncclBroadcast");
      }
      first += count;
    }
    check_nccl(ncclGroupEnd(), "ncclGroupEnd");
    return nullptr;
  }

  TransferPtr broadcast(const Context&, const TensorRef& x, int root) override {
    check_nccl(ncclBroadcast(x.data(), x.data(), static_cast<std::size_t>(x.size()), type_of(x.type()), root,
                             communicator_, stream_),
               "ncclBroadcast");
    return nullptr;
  }

  void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) override {
    if (host_ != nullptr) return host_->gather_numbers(own, all);
    const OnDevice memory(*this, all.size_bytes());
    void* const place = static_cast<char*>(memory.data) + static_cast<std::size_t>(rank) * own.size_bytes();
    move(place, own.data(), own.size_bytes());
    check_nccl(ncclAllGather(place, memory.data, own.size(), ncclInt64, communicator_, stream_), "ncclAllGather");
    move(all.data(), memory.data, all.size_bytes());
  }

  void broadcast_bytes(std::span<char> bytes, int root) override {
    if (host_ != nullptr) return host_->broadcast_bytes(bytes, root);
    const OnDevice memory(*this, bytes.size());
    move(memory.data, bytes.data(), bytes.size());
    check_nccl(ncclBroadcast(memory.data, memory.data, bytes.size(), ncclChar, root, communicator_, stream_),
               "ncclBroadcast");
    move(bytes.data(), memory.data, bytes.size());
  }

  std::shared_ptr<Engine> twin() override { return shared_from_this(); }

  void end_job() override {
    if (host_ != nullptr) return host_->end_job();
    std::_Exit(EXIT_FAILURE);  // the launcher ends the others, which NCCL does not
  }

 private:
  /// A few bytes for the numbers by which processes agree.
  struct OnDevice {
    OnDevice(NcclEngine& engine, std::size_t bytes) {
      engine.start();
      check_cuda(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), label, "cudaMalloc");
    }
    ~OnDevice() { cudaFree(data); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    void* data = nullptr;
  };

  static cudaStream_t stream_of(const Context& ctx) { return instance<Backend::cuda>(ctx).cuda_stream(); }

  /// Waits.
  void move(void* to, const void* from, std::size_t bytes) const {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), label, "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream_), label, "cudaStreamSynchronize");
  }

  /// What is enqueued on `second` from now on comes after what has been on `first`.
  void order(cudaStream_t first, cudaStream_t second) const {
    check_cuda(cudaEventRecord(event_, first), label, "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(second, event_, 0), label, "cudaStreamWaitEvent");
  }

  void start() {
    if (communicator_ != nullptr) return;
    check_cuda(cudaGetDevice(&device_), label, "cudaGetDevice");
    ncclUniqueId id{};
    if (rank == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    rendezvous_.share(std::span<char>(id.internal));
    ncclComm_t communicator = nullptr;
    check_nccl(ncclCommInitRank(&communicator, size, id, rank), "ncclCommInitRank");
    rendezvous_.end();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), label, "cudaStreamCreateWithFlags");
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), label, "cudaEventCreateWithFlags");
    wire_.emplace(Backend::cuda, stream_);
    // It is Kokkos', which may be finalised before the last copy of the communicator goes.
    Kokkos::push_finalize_hook([engine = weak_from_this()] {
      if (const auto its = engine.lock()) its->wire_.reset();
    });
    communicator_ = communicator;
  }

  Rendezvous rendezvous_;
  std::shared_ptr<Engine> host_;
  ncclComm_t communicator_ = nullptr;
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::optional<Context> wire_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

bool has_nccl() { return true; }

std::shared_ptr<Engine> make_nccl_engine(int rank, int size, Rendezvous rendezvous, std::shared_ptr<Engine> host) {
  return std::make_shared<NcclEngine>(rank, size, std::move(rendezvous), std::move(host));
}

}  // namespace portops::impl
