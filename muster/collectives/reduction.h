// Reduction: how the ranks' contributions become one.
//
//   Reduction::sum
//   Reduction::user([](const void* left, const void* right, void* to, std::size_t count) {...},
//                   Reduction::Order::any)
//
// Sums and products of integers wrap around. A NaN in any contribution makes
// min and max NaN. mean is the sum, divided once at the end by the number of
// contributors; of integers, towards zero. Logical results are 0 or 1. f16 and
// bf16 are added up in float and rounded where a rank stores or sends them: over
// links, a mean overflows where the sum does.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace muster::collectives {

// to[i] = left[i] (op) right[i] for `count` elements. `to` may be `left` or
// `right`, and is else apart from both. Runs on the thread that called the
// collective or waits for it, on every rank, on pieces of any length; it must
// give the same on all of them and may not call the communicator. If it throws,
// the operation fails with Code::failed on every rank that has not returned.
using UserFunction =
    std::function<void(const void* left, const void* right, void* to, std::size_t count)>;

class Reduction {
 public:
  // The numbers travel between processes: append, never renumber.
  enum class Kind : std::uint8_t { sum, product, min, max, mean, logical_and, logical_or, user };

  // Whether contributions may be taken in any order (commutative), or only in
  // the order of the ranks. All but `user` are of any order. Every function
  // must be associative, which floats are nearly enough.
  enum class Order : std::uint8_t { any, of_ranks };

  constexpr Reduction(Kind kind) : kind_(kind) {}
  static Reduction user(UserFunction function, Order order) {
    Reduction made(Kind::user);
    made.order_ = order;
    made.function_ = std::make_shared<const UserFunction>(std::move(function));
    return made;
  }

  Kind kind() const { return kind_; }
  Order order() const { return order_; }
  bool is_commutative() const { return order_ == Order::any; }
  // Whether there is all that it needs: a user's function is not made by its kind alone.
  bool is_whole() const {
    return kind_ != Kind::user || (function_ != nullptr && *function_ != nullptr);
  }
  // Of Kind::user.
  const UserFunction& function() const { return *function_; }

  // Whether something is left to be done when all contributions are in: mean
  // divides, logical ones become 0 or 1 (which matters to a single rank).
  bool has_finish() const {
    return kind_ == Kind::mean || kind_ == Kind::logical_and || kind_ == Kind::logical_or;
  }

  // Named as what they stand for.
  // NOLINTBEGIN(readability-identifier-naming)
  static const Reduction sum;
  static const Reduction product;
  static const Reduction min;
  static const Reduction max;
  static const Reduction mean;
  static const Reduction logical_and;
  static const Reduction logical_or;
  // NOLINTEND(readability-identifier-naming)

 private:
  Kind kind_;
  Order order_ = Order::any;
  std::shared_ptr<const UserFunction> function_;
};

inline const Reduction Reduction::sum{Kind::sum};
inline const Reduction Reduction::product{Kind::product};
inline const Reduction Reduction::min{Kind::min};
inline const Reduction Reduction::max{Kind::max};
inline const Reduction Reduction::mean{Kind::mean};
inline const Reduction Reduction::logical_and{Kind::logical_and};
inline const Reduction Reduction::logical_or{Kind::logical_or};

// "sum", ..., "logical_or", "user".
std::string_view name(Reduction::Kind kind);

}  // namespace muster::collectives
