// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_engine.hpp"

#include "comm/mpi_calls.hpp"
#include "comm/mpi_trial.hpp"
#include "comm/nccl_engine.hpp"
#include "comm/share.hpp"
#include "core/types/fail.hpp"

#include <algorithm>
#include <cstdlib>

namespace portops {
namespace impl {
namespace {

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return rank;
}

int size_of_communicator(MPI_Comm communicator) {
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  return size;
}

MPI_Comm duplicate(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

/// MPI knows no 16-bit numbers.
template <class T>
void add_elements(void* in, void* in_out, int* count, MPI_Datatype*) {
  const T* x = static_cast<const T*>(in);
  T* sum = static_cast<T*>(in_out);
  for (int i = 0; i < *count; ++i) sum[i] = static_cast<T>(static_cast<float>(x[i]) + static_cast<float>(sum[i]));
}

MPI_Op make_sum(MPI_User_function* function) {
  MPI_Op op = MPI_OP_NULL;
  check_mpi(MPI_Op_create(function, 1, &op), "MPI_Op_create");
  return op;
}

int to_int(std::int64_t number) { return static_cast<int>(number); }

}  // namespace

MpiEngine::MpiEngine(MPI_Comm communicator, comm::MpiMemory memory, std::int64_t most)
    : Engine(rank_in(communicator), size_of_communicator(communicator)),
      exchanges_(duplicate(communicator)),
      gathers_(duplicate(communicator)),
      others_(duplicate(communicator)),
      memory_(memory),
      most_(most),
      f16_sum_(make_sum(&add_elements<f16>)),
      bf16_sum_(make_sum(&add_elements<bf16>)),
      memories_(memory) {}

MpiEngine::~MpiEngine() {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized != 0) return;
  MPI_Op_free(&f16_sum_);
  MPI_Op_free(&bf16_sum_);
  // All processes would have to free communicators, and one may be here because of an error: MPI_Finalize does.
}

Context MpiEngine::begin(const Context& ctx) {
  if (memories_.is_gpu_aware() && !tried_.contains(ctx.backend())) {
    try_memory(*this, ctx);  // hosts' too, so that tests on hosts see what is tried
    tried_.insert(ctx.backend());
  }
  return ctx;
}

MPI_Datatype MpiEngine::type_of(ElementType type) const {
  switch (type) {
    case ElementType::f64: return MPI_DOUBLE;
    case ElementType::f32: return MPI_FLOAT;
    case ElementType::i64: return MPI_INT64_T;
    default: return MPI_UINT16_T;
  }
}

MPI_Op MpiEngine::sum_of(ElementType type) const {
  switch (type) {
    case ElementType::f16: return f16_sum_;
    case ElementType::bf16: return bf16_sum_;
    default: return MPI_SUM;
  }
}

TransferPtr MpiEngine::all_reduce(const Context& wire, const TensorRef& x) {
  auto transfer = begin_transfer(wire);
  const TensorRef elements = transfer->adds_up(x);
  transfer->start();
  for (std::int64_t first = 0; first < x.size(); first += most_) {
    const std::int64_t count = std::min(most_, x.size() - first);
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, elements_of(elements, first, count).data(), to_int(count), type_of(x.type()),
                             sum_of(x.type()), exchanges_, transfer->request()),
              "MPI_Iallreduce");
  }
  return transfer;
}

TransferPtr MpiEngine::exchange(const Context& wire, const Exchange& its) {
  auto transfer = begin_transfer(wire);
  const std::int64_t count = its.send.size(), own = comm::share_of(count, rank, size).count;
  const TensorRef send = transfer->sends(its.send);
  const TensorRef receive = transfer->receives(its.receive);
  transfer->start();
  std::vector<int>& send_counts = transfer->list();
  std::vector<int>& send_places = transfer->list();
  std::vector<int>& receive_counts = transfer->list();
  std::vector<int>& receive_places = transfer->list();
  const bool sends = its.is_sender[static_cast<std::size_t>(rank)];
  for (int other = 0; other < size; ++other) {
    const comm::Range share = comm::share_of(count, other, size);
    send_counts.push_back(sends ? to_int(share.count) : 0);
    send_places.push_back(to_int(share.first));
    receive_counts.push_back(its.is_sender[static_cast<std::size_t>(other)] && own > 0 ? 1 : 0);
    receive_places.push_back(other);
  }
  const MPI_Datatype type = type_of(its.send.type());
  const MpiType stretch(std::max<std::int64_t>(own, 1), type);
  check_mpi(
      MPI_Ialltoallv(send.data(), send_counts.data(), send_places.data(), type, receive.data(), receive_counts.data(),
                     receive_places.data(), stretch.get(), exchanges_, transfer->request()),
      "MPI_Ialltoallv");
  return transfer;
}

TransferPtr MpiEngine::all_gather(const Context& wire, const TensorRef& all, std::span<const std::int64_t> counts) {
  auto transfer = begin_transfer(wire);
  std::vector<int>& row_counts = transfer->list();
  std::vector<int>& places = transfer->list();
  std::int64_t rows = 0, first = 0;
  for (std::size_t other = 0; other < counts.size(); ++other) {
    if (static_cast<int>(other) == rank) first = rows;
    row_counts.push_back(to_int(counts[other]));
    places.push_back(to_int(rows));
    rows += counts[other];
  }
  const std::int64_t width = rows > 0 ? all.size() / rows : 1;
  const TensorRef own = elements_of(all, first * width, counts[static_cast<std::size_t>(rank)] * width);
  const TensorRef elements = transfer->sends_and_receives(all, own);
  transfer->start();
  if (rows > most_ || width > most_) {  // then process after process sends its own, in parts
    std::int64_t at = 0;
    for (int other = 0; other < size; ++other) {
      const std::int64_t count = counts[static_cast<std::size_t>(other)] * width;
      begin_broadcast(*transfer, elements_of(elements, at, count), other, gathers_);
      at += count;
    }
    return transfer;
  }
  const MpiType row(std::max<std::int64_t>(width, 1), type_of(all.type()));
  check_mpi(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, elements.data(), row_counts.data(), places.data(),
                            row.get(), gathers_, transfer->request()),
            "MPI_Iallgatherv");
  return transfer;
}

TransferPtr MpiEngine::broadcast(const Context& wire, const TensorRef& x, int root) {
  auto transfer = begin_transfer(wire);
  const TensorRef elements = transfer->sends_and_receives(x, x);
  transfer->start();
  begin_broadcast(*transfer, elements, root, others_);
  return transfer;
}

void MpiEngine::begin_broadcast(MpiTransfer& transfer, const TensorRef& elements, int root,
                                MPI_Comm communicator) const {
  for (std::int64_t first = 0; first < elements.size(); first += most_) {
    const std::int64_t count = std::min(most_, elements.size() - first);
    check_mpi(MPI_Ibcast(elements_of(elements, first, count).data(), to_int(count), type_of(elements.type()), root,
                         communicator, transfer.request()),
              "MPI_Ibcast");
  }
}

void MpiEngine::gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) {
  check_mpi(MPI_Allgather(own.data(), to_int(static_cast<std::int64_t>(own.size())), MPI_INT64_T, all.data(),
                          to_int(static_cast<std::int64_t>(own.size())), MPI_INT64_T, others_),
            "MPI_Allgather");
}

void MpiEngine::broadcast_bytes(std::span<char> bytes, int root) {
  check_mpi(MPI_Bcast(bytes.data(), to_int(static_cast<std::int64_t>(bytes.size())), MPI_CHAR, root, others_),
            "MPI_Bcast");
}

std::shared_ptr<Engine> MpiEngine::twin() { return std::make_shared<MpiEngine>(others_, memory_, most_); }

void MpiEngine::end_job() { MPI_Abort(others_, EXIT_FAILURE); }

std::unique_ptr<MpiTransfer> MpiEngine::begin_transfer(const Context& wire) {
  return std::make_unique<MpiTransfer>(shared_from_this(), memories_, wire);
}

}  // namespace impl

namespace comm {

Communicator mpi_communicator(MPI_Comm communicator, const MpiParams& params) {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized == 0) impl::fail("portops::comm::mpi_communicator: MPI is not initialised");
  const auto host = std::make_shared<impl::MpiEngine>(communicator, params.memory);
  std::shared_ptr<impl::Engine> cuda = host;
  const bool wants_nccl = params.gpu_engine != GpuEngine::mpi && params.memory == MpiMemory::automatic;
  if (params.gpu_engine == GpuEngine::nccl || (wants_nccl && impl::has_nccl())) {
    const auto share = [host](std::span<char> bytes) { host->broadcast_bytes(bytes, 0); };
    cuda = impl::make_nccl_engine(host->rank, host->size, {share, [] {}}, host);
  }
  return {host, cuda};
}

}  // namespace comm
}  // namespace portops
