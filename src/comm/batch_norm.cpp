// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/batch_norm.hpp"

#include "comm/engine.hpp"

#include <memory>

namespace portops::comm {
namespace {

class BatchOfProcesses final : public nn::SharedBatch {
 public:
  explicit BatchOfProcesses(const Communicator& communicator) : communicator_(communicator) {
    communicator_.checks_calls(false);  // the modules check what they are about to do
  }

  int size() const override { return communicator_.size(); }
  void gather_numbers(std::span<const std::int64_t> own, std::span<std::int64_t> all) const override {
    communicator_.engine().gather_numbers(own, all);
  }
  void gather(const Context& ctx, const TensorRef& x, const TensorRef& all) const override {
    const TensorRef one(x.data(), x.type(), {x.size()}, {1}, x.space());
    all_gather(ctx, communicator_, one, {all.data(), all.type(), {all.size()}, {1}, all.space()});
  }

 private:
  Communicator communicator_;
};

}  // namespace

void synchronise_batch_norm(const Communicator& communicator, nn::Module& network) {
  if (communicator.size() == 1) return network.share_batch(nullptr);
  network.share_batch(std::make_shared<BatchOfProcesses>(communicator.twin()));
}

}  // namespace portops::comm
