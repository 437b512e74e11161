// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/gradient_sum.hpp"

#include "comm/agree.hpp"
#include "comm/bucket.hpp"
#include "comm/partial_sums.hpp"
#include "comm/sparse_terms.hpp"
#include "core/types/fail.hpp"
#include "portops/core/tensor.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace portops::comm {
namespace {

constexpr const char* name = "portops::comm::GradientSum";

std::string text_of(const nn::NamedVariable& its) {
  const TensorRef& tensor = its.variable.tensor();
  return its.name + " " + std::string(name_of(tensor.type())) + " " + tensor.extents().to_string();
}

}  // namespace

class GradientSum::Impl {
 public:
  Impl(const Context& ctx, const Communicator& communicator, const nn::State& parameters,
       const GradientSumParams& params);
  ~Impl();

  Range micro_batches() const { return share_; }
  void backward(const Context& ctx, const autograd::Variable& loss, const autograd::BackwardParams& params);
  void finish(const Context& ctx);

 private:
  struct Parameter {
    nn::NamedVariable its;
    std::size_t bucket = 0;
    bool is_sparse = false;
    bool has_come = false;  ///< in the pass at hand
    bool was_used = false;  ///< in this step
    impl::PartialSums sums;
    impl::SparseTerms terms;
  };

  struct Statistic {
    nn::NamedVariable its;
    autograd::Variable before;  ///< the step
    impl::PartialSums sums;
  };

  void check(const nn::State& parameters) const;
  void agree(const Context& ctx) const;
  void make_buckets();
  void keep_statistics(const Context& ctx);
  template <class Each>
  void add_buckets(std::size_t count, const Each& tensor_of);
  bool is_alone() const { return communicator_.size() == 1 && params_.micro_batches == 1; }
  bool is_last_pass() const { return computed_ + 1 == share_.count; }
  impl::SumRules rules() const {
    return {.items = params_.micro_batches,
            .factor = params_.mean ? 1.0 / static_cast<double>(params_.micro_batches) : 1.0,
            .has_tree = has_tree_};
  }

  void begin_step();
  void has_come(const Context& ctx, std::size_t number);
  void take(const Context& ctx, Parameter& parameter);
  void take_statistics(const Context& ctx);
  void end_pass(const Context& ctx);
  void send_full_buckets(const Context& ctx);
  void send_gradients(const Context& ctx, impl::Bucket& bucket);
  void send_statistics(const Context& ctx, impl::Bucket& bucket);
  void tell(std::size_t bucket, bool is_sent);
  void find_unused();
  void finish_buckets(const Context& ctx);
  void finish_sparse(const Context& ctx);

  Communicator communicator_;
  GradientSumParams params_;
  bool has_tree_;
  Range share_;
  std::vector<Parameter> parameters_;
  std::vector<Statistic> statistics_;
  std::vector<impl::Bucket> buckets_;  ///< of gradients, then of statistics
  std::size_t gradient_buckets_ = 0;
  std::vector<std::size_t> missing_;  ///< by buckets: of how many the last micro-batch is still to come
  std::size_t sent_ = 0;              ///< buckets
  std::size_t told_ = 0;              ///< buckets that on_bucket knows to be sent
  std::int64_t computed_ = 0;         ///< passes of this step
  const Context* ctx_ = nullptr;      ///< of the pass at hand
};

GradientSum::Impl::Impl(const Context& ctx, const Communicator& communicator, const nn::State& parameters,
                        const GradientSumParams& params)
    : communicator_(communicator), params_(params), has_tree_(ctx.deterministic()) {
  const int size = communicator_.size();
  if (params_.micro_batches == 0) params_.micro_batches = size;
  check(parameters);
  share_ = share_of(params_.micro_batches, communicator_.rank(), size);
  for (const nn::NamedVariable& each : parameters) {
    if (!each.variable.wants_gradient()) continue;
    parameters_.push_back({.its = each, .is_sparse = each.variable.wants_sparse_gradient(), .sums = {}, .terms = {}});
  }
  for (const nn::NamedVariable& each : params_.statistics) statistics_.push_back({each, {}, {}});
  agree(ctx);
  if (is_alone()) return;
  make_buckets();
  keep_statistics(ctx);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].its.variable.on_gradient([this, i](const autograd::Variable&) {
      if (ctx_ != nullptr) has_come(*ctx_, i);  // else another backward pass than ours
    });
  }
}

GradientSum::Impl::~Impl() {
  if (!is_alone()) {
    for (Parameter& each : parameters_) each.its.variable.on_gradient({});
  }
  // What is under way goes on in its memory: processes that have failed would be waited for for ever. Without memory to
  // keep it by, nothing can be kept.
  for (impl::Bucket& each : buckets_) {
    if (each.is_under_way()) static_cast<void>(new (std::nothrow) impl::Bucket(std::move(each)));
  }
}

void GradientSum::Impl::check(const nn::State& parameters) const {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (params_.micro_batches < communicator_.size() || params_.micro_batches > most) {
    impl::fail(name, ": micro_batches is ", params_.micro_batches, ", expected one for each of ", communicator_.size(),
               " processes or more, and no more than ", most);
  }
  if (params_.bucket_bytes < 1) {
    impl::fail(name, ": bucket_bytes is ", params_.bucket_bytes, ", expected 1 or more");
  }
  for (const nn::NamedVariable& each : parameters) {
    if (!each.variable.is_leaf()) impl::fail(name, ": ", each.name, " is no leaf");
  }
}

void GradientSum::Impl::agree(const Context& ctx) const {
  std::string text = "micro_batches " + std::to_string(params_.micro_batches) + ", bucket_bytes " +
                     std::to_string(params_.bucket_bytes) + (params_.mean ? ", means" : ", sums") +
                     (params_.may_be_unused ? ", may_be_unused" : "") + (has_tree_ ? ", deterministic" : "") + ", by " +
                     std::string(communicator_.engine_name(ctx)) + "\n";
  for (const Parameter& each : parameters_) text += text_of(each.its) + (each.is_sparse ? ", sparse\n" : "\n");
  for (const Statistic& each : statistics_) text += text_of(each.its) + ", statistic\n";
  impl::agree(communicator_.engine(), name, text);
}

/// Buckets of so many things; tensor_of says of each what it is, empty for those that are not sent.
template <class Each>
void GradientSum::Impl::add_buckets(std::size_t count, const Each& tensor_of) {
  std::vector<impl::Bucket> open;  // one for each element type
  for (std::size_t i = count; i-- > 0;) {
    const TensorRef tensor = tensor_of(i);
    if (!tensor) continue;
    auto bucket =
        std::find_if(open.begin(), open.end(), [&](const auto& each) { return each.type() == tensor.type(); });
    if (bucket == open.end()) bucket = open.emplace(open.end(), tensor.type());
    bucket->add(i, tensor.extents());
    if (bucket->bytes() < params_.bucket_bytes) continue;
    buckets_.push_back(std::move(*bucket));
    open.erase(bucket);
  }
  for (impl::Bucket& each : open) buckets_.push_back(std::move(each));
}

/// The last ones first: in the order in which backward passes bring gradients, more or less.
void GradientSum::Impl::make_buckets() {
  add_buckets(parameters_.size(), [this](std::size_t i) {
    return parameters_[i].is_sparse ? TensorRef() : parameters_[i].its.variable.tensor();
  });
  gradient_buckets_ = buckets_.size();
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    for (const std::size_t each : buckets_[i].parameters()) parameters_[each].bucket = i;
  }
  add_buckets(statistics_.size(), [this](std::size_t i) { return statistics_[i].its.variable.tensor(); });
}

void GradientSum::Impl::keep_statistics(const Context& ctx) {
  for (Statistic& each : statistics_) {
    const TensorRef& tensor = each.its.variable.tensor();
    each.before = autograd::Variable(ctx, tensor.type(), tensor.extents());
    copy(ctx, tensor, each.before.tensor());
  }
}

/// What the micro-batch has made of them; the next one begins where this one did.
void GradientSum::Impl::take_statistics(const Context& ctx) {
  for (Statistic& each : statistics_) {
    const TensorRef& tensor = each.its.variable.tensor();
    const autograd::Variable after(ctx, tensor.type(), tensor.extents());
    copy(ctx, tensor, after.tensor());
    each.sums.add(ctx, share_.first + computed_, after);
    copy(ctx, each.before.tensor(), tensor);
    each.its.variable.mark_changed(name);
  }
  if (!is_last_pass()) return;
  for (std::size_t i = gradient_buckets_; i < buckets_.size(); ++i) missing_[i] = 0;
}

void GradientSum::Impl::begin_step() {
  missing_.clear();
  for (const impl::Bucket& each : buckets_) missing_.push_back(each.parameters().size());
  sent_ = told_ = 0;
  for (Statistic& each : statistics_) each.sums.clear();
  for (Parameter& each : parameters_) {
    each.its.variable.clear_grad();
    each.was_used = false;
    each.sums.clear();
    each.terms.clear();
  }
}

void GradientSum::Impl::backward(const Context& ctx, const autograd::Variable& loss,
                                 const autograd::BackwardParams& params) {
  if (computed_ == share_.count) {
    impl::fail(name, ": backward is called ", computed_ + 1, " times, expected finish after the ", share_.count,
               " micro-batches of this process");
  }
  if (is_alone()) {
    autograd::backward(ctx, loss, params);
    ++computed_;
    return;
  }
  if (computed_ == 0) begin_step();
  for (Parameter& each : parameters_) each.has_come = false;
  struct Pass {
    const Context*& ctx;
    ~Pass() { ctx = nullptr; }
  };
  {
    const Pass pass{ctx_};
    ctx_ = &ctx;
    autograd::backward(ctx, loss, params);
  }
  end_pass(ctx);
  ++computed_;
}

/// A gradient of the pass at hand is complete.
void GradientSum::Impl::has_come(const Context& ctx, std::size_t number) {
  Parameter& parameter = parameters_[number];
  parameter.has_come = true;
  parameter.was_used = true;
  take(ctx, parameter);
  if (is_last_pass()) send_full_buckets(ctx);
}

/// Takes what the pass has brought, or zeros, where autograd itself is not to add it up.
void GradientSum::Impl::take(const Context& ctx, Parameter& parameter) {
  autograd::Variable& variable = parameter.its.variable;
  if (parameter.is_sparse) return parameter.terms.take(ctx, variable);
  if (has_tree_) {
    const autograd::Variable gradient = variable.grad();
    variable.clear_grad();
    const std::int64_t at = share_.first + computed_;
    parameter.sums.add(ctx, at, gradient ? gradient : impl::zeros_like(ctx, variable.tensor()));
  }
  if (is_last_pass()) --missing_[parameter.bucket];
}

void GradientSum::Impl::end_pass(const Context& ctx) {
  for (Parameter& each : parameters_) {
    if (each.has_come) continue;
    if (!params_.may_be_unused) {
      impl::fail(name, ": micro-batch ", share_.first + computed_, " has brought no gradient of ", each.its.name,
                 ", expected one, or may_be_unused");
    }
    take(ctx, each);
  }
  take_statistics(ctx);
  if (is_last_pass()) send_full_buckets(ctx);
}

/// Processes send buckets in the same order, so one that is full waits for those before it.
void GradientSum::Impl::send_full_buckets(const Context& ctx) {
  for (; sent_ < buckets_.size() && missing_[sent_] == 0; ++sent_) {
    tell(sent_, false);
    sent_ < gradient_buckets_ ? send_gradients(ctx, buckets_[sent_]) : send_statistics(ctx, buckets_[sent_]);
  }
  for (std::size_t i = 0; i < sent_; ++i) {
    if (!buckets_[i].advance()) break;
  }
  while (params_.on_bucket && told_ < sent_ && buckets_[told_].is_done()) tell(told_++, true);
}

void GradientSum::Impl::tell(std::size_t bucket, bool is_sent) {
  if (!params_.on_bucket) return;
  params_.on_bucket(
      {.number = static_cast<std::int64_t>(bucket), .bytes = buckets_[bucket].bytes(), .is_sent = is_sent});
}

void GradientSum::Impl::send_statistics(const Context& ctx, impl::Bucket& bucket) {
  std::vector<std::vector<autograd::Variable>> lists;
  for (const std::size_t number : bucket.parameters()) {
    const impl::PartialSums& sums = statistics_[number].sums;
    lists.resize(sums.size());
    for (std::size_t node = 0; node < sums.size(); ++node) lists[node].push_back(sums[node]);
  }
  const std::int64_t items = params_.micro_batches;
  bucket.send(communicator_.engine(ctx), ctx, lists,
              {.items = items, .factor = 1.0 / static_cast<double>(items), .has_tree = true});
}

void GradientSum::Impl::send_gradients(const Context& ctx, impl::Bucket& bucket) {
  std::vector<std::vector<autograd::Variable>> lists;
  for (const std::size_t number : bucket.parameters()) {
    Parameter& parameter = parameters_[number];
    autograd::Variable& variable = parameter.its.variable;
    const std::size_t nodes = has_tree_ ? parameter.sums.size() : 1;
    lists.resize(nodes);
    for (std::size_t node = 0; node < nodes; ++node) {
      autograd::Variable gradient = has_tree_ ? parameter.sums[node] : variable.grad();
      lists[node].push_back(gradient ? gradient : impl::zeros_like(ctx, variable.tensor()));
    }
    parameter.sums.clear();
    variable.clear_grad();
  }
  bucket.send(communicator_.engine(ctx), ctx, lists, rules());
}

void GradientSum::Impl::finish(const Context& ctx) {
  if (computed_ != share_.count) {
    impl::fail(name, ": finish is called after ", computed_, " of the ", share_.count,
               " micro-batches of this process");
  }
  computed_ = 0;
  if (is_alone()) return;
  if (params_.may_be_unused) find_unused();
  finish_buckets(ctx);
  finish_sparse(ctx);
}

/// A parameter was used where any process used it.
void GradientSum::Impl::find_unused() {
  constexpr std::size_t bits = 63;
  std::vector<std::int64_t> own((parameters_.size() + bits - 1) / bits);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].was_used) own[i / bits] |= std::int64_t{1} << (i % bits);
  }
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(communicator_.size()));
  communicator_.engine().gather_numbers(own, all);
  for (std::size_t i = 0; i < all.size(); ++i) own[i % own.size()] |= all[i];
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].was_used = (own[i / bits] >> (i % bits) & 1) != 0;
  }
}

void GradientSum::Impl::finish_buckets(const Context& ctx) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    buckets_[i].wait();
    if (i == told_) tell(told_++, true);
  }
  communicator_.engine(ctx).end(ctx);
  for (std::size_t number = 0; number < buckets_.size(); ++number) {
    impl::Bucket& bucket = buckets_[number];
    const std::vector<autograd::Variable> taken = bucket.take(ctx);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (number >= gradient_buckets_) {
        Statistic& statistic = statistics_[bucket.parameters()[i]];
        statistic.before = taken[i];
        copy(ctx, taken[i].tensor(), statistic.its.variable.tensor());
        statistic.its.variable.mark_changed(name);
        continue;
      }
      Parameter& parameter = parameters_[bucket.parameters()[i]];
      if (parameter.was_used) parameter.its.variable.set_grad(taken[i]);
    }
  }
}

void GradientSum::Impl::finish_sparse(const Context& ctx) {
  // Of every process as many numbers: for each sparse parameter those of as many passes as any process computes.
  const int size = communicator_.size();
  const auto passes = static_cast<std::size_t>((params_.micro_batches + size - 1) / size);
  std::vector<std::int64_t> own;
  for (const Parameter& each : parameters_) {
    if (!each.is_sparse) continue;
    for (std::size_t pass = 0; pass < passes; ++pass) {
      own.push_back(pass < each.terms.size() ? each.terms.rows_of(pass) : impl::SparseTerms::none);
    }
  }
  if (own.empty()) return;
  std::vector<std::int64_t> all(own.size() * static_cast<std::size_t>(size));
  communicator_.engine().gather_numbers(own, all);
  std::size_t first = 0;
  for (Parameter& each : parameters_) {
    if (!each.is_sparse) continue;
    std::vector<std::int64_t> rows, counts;
    for (int rank = 0; rank < size; ++rank) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(own.size() * static_cast<std::size_t>(rank) + first);
      rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(passes));
      counts.push_back(0);
      for (std::size_t pass = 0; pass < passes; ++pass) {
        counts.back() += std::max<std::int64_t>(begin[static_cast<std::ptrdiff_t>(pass)], 0);
      }
    }
    first += passes;
    impl::Engine& engine = communicator_.engine(ctx);
    autograd::Variable& variable = each.its.variable;
    switch (impl::SparseTerms::kind_of(rows)) {
      case impl::SparseTerms::Kind::none: break;
      case impl::SparseTerms::Kind::sparse: each.terms.sum_rows(ctx, engine, counts, rules().factor, variable); break;
      case impl::SparseTerms::Kind::dense: each.terms.sum_dense(ctx, engine, share_.first, rules(), variable); break;
      case impl::SparseTerms::Kind::mixed:
        impl::fail(name, ": the gradient of ", each.its.name,
                   " is sparse in some micro-batches and dense in others, expected one of both in all");
    }
    each.terms.clear();
  }
}

GradientSum::GradientSum(const Context& ctx, const Communicator& communicator, const nn::State& parameters,
                         const GradientSumParams& params)
    : impl_(std::make_unique<Impl>(ctx, communicator, parameters, params)) {}
GradientSum::~GradientSum() = default;

Range GradientSum::micro_batches() const { return impl_->micro_batches(); }
void GradientSum::backward(const Context& ctx, const autograd::Variable& loss, const autograd::BackwardParams& params) {
  impl_->backward(ctx, loss, params);
}
void GradientSum::finish(const Context& ctx) { impl_->finish(ctx); }

}  // namespace portops::comm
