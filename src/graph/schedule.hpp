// SPDX-FileCopyrightText: 2026 The portops authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace portops::graph {

/// Which instance runs each of some steps, and what it waits for. A step happens before another one when it is done
/// before the other begins, whatever the instances' speed.
class Schedule {
 public:
  explicit Schedule(std::int32_t instances)
      : instances_(instances),
        first_(static_cast<std::size_t>(instances), -1),
        last_(static_cast<std::size_t>(instances), -1) {}

  /// The next step, which stands on the results of these: on the instance of one of them that has nothing behind it
  /// yet, else on the one with the least work so far.
  std::int32_t add(const std::vector<std::int32_t>& dependencies, double work);
  /// The next step, on the first instance, after everything before it.
  std::int32_t add_last();

  std::int32_t instances() const { return instances_; }
  std::int32_t instance(std::int32_t step) const { return steps_[static_cast<std::size_t>(step)].instance; }
  /// What it waits for, on other instances.
  const std::vector<std::int32_t>& after(std::int32_t step) const {
    return steps_[static_cast<std::size_t>(step)].after;
  }
  bool happens_before(std::int32_t a, std::int32_t b) const { return a < b && reached(b, instance(a)) >= a; }
  /// Up to which step all of them, whatever their instance, happen before this one; or −1.
  std::int32_t all_before(std::int32_t step) const;

 private:
  struct Step {
    std::int32_t instance = 0;
    std::vector<std::int32_t> after;
    std::vector<std::int32_t> reached;  ///< of each instance the last step that is done before this, or this; or −1
    std::int32_t next = -1;             ///< on the same instance
  };

  std::int32_t reached(std::int32_t step, std::int32_t instance) const {
    return steps_[static_cast<std::size_t>(step)].reached[static_cast<std::size_t>(instance)];
  }
  std::int32_t choose(const std::vector<std::int32_t>& dependencies) const;
  std::int32_t append(std::int32_t instance, const std::vector<std::int32_t>& dependencies);

  std::int32_t instances_;
  std::vector<std::int32_t> first_;  ///< of each instance its first step, or −1
  std::vector<std::int32_t> last_;   ///< the same of the last one
  std::vector<double> work_ = std::vector<double>(last_.size());
  std::vector<Step> steps_;
};

}  // namespace portops::graph
