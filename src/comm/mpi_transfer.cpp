// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/mpi_transfer.hpp"

#include "comm/mpi_calls.hpp"

#include <utility>

namespace portops::impl {

MpiTransfer::MpiTransfer(std::shared_ptr<void> owner, MpiMemories& memories, const Context& ctx)
    : its_(std::make_unique<State>()), memories_(memories), ctx_(ctx) {
  its_->owner = std::move(owner);
}

MpiTransfer::~MpiTransfer() {
  if (!its_->is_done && !its_->requests.empty()) static_cast<void>(its_.release());  // MPI goes on with it
}

TensorRef MpiTransfer::sends(const TensorRef& x) {
  its_->moved.push_back({x, memories_.place(ctx_, x, false), false});
  MpiMemories::bring(ctx_, x, its_->moved.back().place);
  return its_->moved.back().place.elements;
}

TensorRef MpiTransfer::receives(const TensorRef& x) {
  its_->moved.push_back({x, memories_.place(ctx_, x, false), true});
  return its_->moved.back().place.elements;
}

TensorRef MpiTransfer::sends_and_receives(const TensorRef& x, const TensorRef& own) {
  const TensorRef elements = receives(x);
  if (elements.data() != x.data() && own.size() > 0) {
    const std::ptrdiff_t at = static_cast<std::byte*>(own.data()) - static_cast<std::byte*>(x.data());
    copy(ctx_, own,
         TensorRef(static_cast<std::byte*>(elements.data()) + at, own.type(), own.extents(), own.strides(),
                   elements.space()));
  }
  return elements;
}

TensorRef MpiTransfer::adds_up(const TensorRef& x) {
  its_->moved.push_back({x, memories_.place(ctx_, x, true), true});
  MpiMemories::bring(ctx_, x, its_->moved.back().place);
  return its_->moved.back().place.elements;
}

void MpiTransfer::start() { ctx_.fence(); }

bool MpiTransfer::is_done() {
  if (its_->is_done) return true;
  bool is_done = true;
  for (MPI_Request& each : its_->requests) {
    int flag = 0;
    check_mpi(MPI_Test(&each, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    is_done = is_done && flag != 0;
  }
  if (is_done) finish();
  return is_done;
}

void MpiTransfer::wait() {
  if (its_->is_done) return;
  for (MPI_Request& each : its_->requests) check_mpi(MPI_Wait(&each, MPI_STATUS_IGNORE), "MPI_Wait");
  finish();
}

void MpiTransfer::finish() {
  its_->is_done = true;
  bool waits = false;
  for (const Moved& each : its_->moved) {
    if (!each.is_received) continue;
    MpiMemories::bring_back(ctx_, each.place, each.tensor);
    waits = waits || each.place.owner.ref();
  }
  if (waits) ctx_.fence();  // the next transfer may take the memory
  for (Moved& each : its_->moved) memories_.give_back(std::move(each.place));
}

}  // namespace portops::impl
