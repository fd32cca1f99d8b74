#include "tests/collectives/cases.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/collectives/oracle.h"

namespace muster::tests {
namespace {

using Kind = Reduction::Kind;
using Value = Numbers::Value;

std::uint64_t before(const std::vector<std::uint64_t>& counts, Rank rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::uint64_t{0});
}

// Both ways of calling, made one.
Result<Outcome> settled(Result<Outcome> outcome) { return outcome; }
Result<Outcome> settled(loop::Future<Outcome> future) { return future.get(); }

#define MUSTER_CALL(name, ...) \
  (one.is_future ? settled(all.i##name(__VA_ARGS__)) : settled(all.name(__VA_ARGS__)))

// One call of one rank.
struct Caller {
  Caller(const Case& case_, Communicator& communicator)
      : one(case_),
        all(communicator),
        me(communicator.rank()),
        ranks(communicator.size()),
        count(case_.counts[0]),
        total(before(case_.counts, ranks)),
        mine(case_.counts[me]),
        offset(before(case_.counts, me)),
        reduction(reduction_of(case_.kind, case_.element, case_.is_ordered)),
        own([this](std::uint64_t i) { return number_of(me, i); }) {}

  Checked run() {
    switch (one.operation) {
      case Operation::barrier: return {MUSTER_CALL(barrier), ""};
      case Operation::broadcast: return broadcast();
      case Operation::scatter: return scatter();
      case Operation::gather:
      case Operation::all_gather: return gather();
      case Operation::reduce:
      case Operation::all_reduce: return reduce();
      case Operation::reduce_scatter: return reduce_scatter();
      case Operation::all_to_all: return all_to_all();
    }
    return {Outcome{}, "unknown"};
  }

  Numbers numbers(std::uint64_t many, const Value& value) const {
    return {one.element, many, value, one.is_in_arena ? &all : nullptr};
  }
  // To be written.
  Numbers space(std::uint64_t many) const {
    return numbers(many, [](auto) { return 99.0; });
  }

  // `wanted` numbers from `at` on.
  Checked check(Result<Outcome> outcome, const Numbers& got, const Value& value,
                std::uint64_t at = 0, std::uint64_t wanted = UINT64_MAX) const {
    Checked checked{std::move(outcome), ""};
    if (!checked.outcome) return checked;
    for (std::uint64_t i = 0; i < std::min(wanted, got.size()); ++i) {
      if (got[at + i] == value(i)) continue;
      checked.wrong = text_of(one) + " rank " + std::to_string(me) + " of " +
                      std::to_string(ranks) + " at " + std::to_string(i) + ": " +
                      std::to_string(got[at + i]) + ", not " + std::to_string(value(i));
      break;
    }
    return checked;
  }

  Checked broadcast() {
    Numbers data = numbers(count, own);
    Result<Outcome> done = MUSTER_CALL(broadcast, data.output(), one.root);
    return check(std::move(done), data, [&](auto i) { return number_of(one.root, i); });
  }

  Checked scatter() {
    const bool is_in_place = one.is_in_place && me == one.root;
    Numbers whole = numbers(me == one.root ? total : 0, own);
    Numbers block = space(mine);
    const Output to = is_in_place ? whole.part(offset, mine) : block.output();
    Result<Outcome> done = one.is_uneven
                               ? MUSTER_CALL(scatter_v, whole.input(), one.counts, to, one.root)
                               : MUSTER_CALL(scatter, whole.input(), to, one.root);
    // In place nothing moves.
    return is_in_place ? check(std::move(done), whole, own)
                       : check(std::move(done), block,
                               [&](auto i) { return number_of(one.root, offset + i); });
  }

  Checked gather() {
    const bool gets = one.operation == Operation::all_gather || me == one.root;
    Numbers whole = numbers(gets ? total : 0, [&](auto i) {
      return i >= offset && i < offset + mine ? own(i - offset) : 99.0;
    });
    const Numbers block = numbers(mine, own);
    const Input from = one.is_in_place && gets ? Input(whole.part(offset, mine)) : block.input();
    Result<Outcome> done = Outcome{};
    if (one.operation == Operation::gather) {
      done = one.is_uneven ? MUSTER_CALL(gather_v, from, whole.output(), one.counts, one.root)
                           : MUSTER_CALL(gather, from, whole.output(), one.root);
    } else {
      done = one.is_uneven ? MUSTER_CALL(all_gather_v, from, whole.output(), one.counts)
                           : MUSTER_CALL(all_gather, from, whole.output());
    }
    Rank rank = 0;  // Whose block it is: they are looked at in order.
    std::uint64_t begin = 0;
    return check(std::move(done), whole, [&, rank, begin](auto i) mutable {
      while (i >= begin + one.counts[rank]) begin += one.counts[rank++];
      return number_of(rank, i - begin);
    });
  }

  Checked reduce() {
    const bool gets = one.operation == Operation::all_reduce || me == one.root;
    Numbers from = numbers(count, own);
    Numbers to = space(gets ? count : 0);
    Numbers& result = one.is_in_place && gets ? from : to;
    Result<Outcome> done =
        one.operation == Operation::all_reduce
            ? MUSTER_CALL(all_reduce, from.input(), result.output(), reduction)
            : MUSTER_CALL(reduce, from.input(), result.output(), reduction, one.root);
    return check(
        std::move(done), result, [&](auto i) { return reduced(reduction, one.element, ranks, i); },
        0, gets ? count : 0);
  }

  Checked reduce_scatter() {
    Numbers whole = numbers(total, own);
    Numbers block = space(mine);
    const Output to = one.is_in_place ? whole.part(offset, mine) : block.output();
    Result<Outcome> done =
        one.is_uneven ? MUSTER_CALL(reduce_scatter_v, whole.input(), one.counts, to, reduction)
                      : MUSTER_CALL(reduce_scatter, whole.input(), to, reduction);
    return check(
        std::move(done), one.is_in_place ? whole : block,
        [&](auto i) { return reduced(reduction, one.element, ranks, offset + i); },
        one.is_in_place ? offset : 0, mine);
  }

  // What rank `from` sends to `to`: another number than what comes back.
  std::uint64_t sent(Rank from, Rank to) const { return one.counts[(2 * from + to) % ranks]; }

  std::vector<std::uint64_t> sends_of(Rank from) const {
    std::vector<std::uint64_t> sends;
    for (Rank to = 0; to < ranks; ++to) sends.push_back(sent(from, to));
    return sends;
  }

  Checked all_to_all() {
    const std::vector<std::uint64_t> sends = sends_of(me);
    std::vector<std::uint64_t> receives;
    for (Rank from = 0; from < ranks; ++from) receives.push_back(sent(from, me));
    const std::uint64_t outgoing = before(sends, ranks);
    const std::uint64_t incoming = before(receives, ranks);
    // In place there is room for both.
    Numbers from = numbers(one.is_in_place ? std::max(outgoing, incoming) : outgoing, own);
    Numbers to = space(incoming);
    const Input input = from.part(0, outgoing);
    Numbers& result = one.is_in_place ? from : to;
    const Output output = result.part(0, incoming);
    Result<Outcome> done = one.is_uneven ? MUSTER_CALL(all_to_all_v, input, sends, output, receives)
                                         : MUSTER_CALL(all_to_all, input, output);
    std::vector<double> expected;
    for (Rank other = 0; other < ranks; ++other) {
      const std::uint64_t begin = before(sends_of(other), me);
      for (std::uint64_t i = 0; i < receives[other]; ++i) {
        expected.push_back(number_of(other, begin + i));
      }
    }
    return check(std::move(done), result, [&](auto i) { return expected[i]; }, 0, incoming);
  }

  const Case& one;
  Communicator& all;
  const Rank me;
  const Rank ranks;
  const std::uint64_t count;
  const std::uint64_t total;
  const std::uint64_t mine;
  const std::uint64_t offset;
  const Reduction reduction;
  const Value own;
};
#undef MUSTER_CALL

}  // namespace

void set_counts(Case& one, Rank ranks, std::uint64_t count) {
  one.counts.clear();
  for (Rank rank = 0; rank < ranks; ++rank) {
    one.counts.push_back(one.is_uneven ? (count + rank * 13) % (count + 1) : count);
  }
}

Case draw(std::minstd_rand& random, Rank ranks) {
  Case made;
  made.operation = collectives::kOperations[random() % collectives::kOperations.size()];
  made.element = collectives::kElements[random() % collectives::kElements.size()];
  made.kind = static_cast<Kind>(random() % 8);
  made.root = random() % ranks;
  made.is_uneven = random() % 3 == 0;
  made.is_in_place = random() % 4 == 0;
  made.is_future = random() % 4 == 0;
  made.is_in_arena = random() % 3 == 0;
  made.is_ordered = made.kind == Kind::user && random() % 2 == 0;
  const std::uint64_t count = kCounts[random() % std::size(kCounts)];
  set_counts(made, ranks, count);
  return made;
}

std::string text_of(const Case& one) {
  return std::string(name(one.operation)) + " " + std::string(name(one.element)) + " " +
         std::string(name(one.kind)) + " root " + std::to_string(one.root) + " of " +
         std::to_string(one.counts[0]) + (one.is_uneven ? " uneven" : "") +
         (one.is_in_place ? " in place" : "") + (one.is_in_arena ? " arena" : "") +
         (one.is_ordered ? " in order" : "") + (one.is_future ? " future" : "");
}

Checked run(const Case& one, Communicator& all) { return Caller(one, all).run(); }

}  // namespace muster::tests
