// Checks what the caller gave, before anybody else hears of it.

#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/call.h"

namespace muster::collectives::internal {
namespace {

Call call_of(Operation operation, Element element, std::uint64_t count, Rank root = 0) {
  Call call;
  call.operation = operation;
  call.deed = deed_of(operation);
  call.element = element;
  call.count = count;
  call.root = root;
  return call;
}

const std::byte* bytes_of(const Input& input) { return static_cast<const std::byte*>(input.data); }
std::byte* bytes_of(const Output& output) { return static_cast<std::byte*>(output.data); }

Error wrong(Operation operation, const std::string& why) {
  return Error(Code::invalid, why).during(name(operation));
}

Status check_root(Operation operation, Where where, Rank root) {
  if (root < where.ranks) return ok();
  return wrong(operation, fmt::format("there is no rank {} to be the root", root));
}

Status check_element(Operation operation, Element one, Element other) {
  if (one == other) return ok();
  return wrong(operation, fmt::format("input of {} and result of {}", name(one), name(other)));
}

Status check_count(Operation operation, std::string_view what, std::uint64_t has,
                   std::uint64_t wants) {
  if (has == wants) return ok();
  return wrong(operation, fmt::format("{} has {} elements and must have {}", what, has, wants));
}

Status check_memory(Operation operation, const void* data, std::uint64_t count) {
  if (data != nullptr || count == 0) return ok();
  return wrong(operation, fmt::format("{} elements at no address", count));
}

Status check_reduction(Operation operation, const Reduction& reduction) {
  if (reduction.is_whole()) return ok();
  return wrong(operation, "a user's reduction without a function; make it by Reduction::user()");
}

Status check_counts(Operation operation, Where where, CountSpan counts) {
  if (counts.size() == where.ranks) return ok();
  return wrong(operation, fmt::format("{} counts for {} ranks", counts.size(), where.ranks));
}

std::uint64_t sum(CountSpan counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Plans know two ways to be in place: the same memory, and the own block of the larger.
bool is_known_place(const Call& call, Where where) {
  switch (call.operation) {
    case Operation::gather:
    case Operation::all_gather: return call.input == call.result + call.block_offset(where.rank);
    case Operation::scatter:
    case Operation::reduce_scatter:
      return call.result == call.input + call.block_offset(where.rank);
    default: return call.input == call.result;
  }
}

// The same call, unless its input of so many elements and its result overlap otherwise.
Result<Call> if_apart(Call call, Where where, std::uint64_t inputs, std::uint64_t results) {
  const std::less<const std::byte*> is_before;
  const bool is_apart = inputs == 0 || results == 0 ||
                        !is_before(call.input, call.result + results * size_of(call.element)) ||
                        !is_before(call.result, call.input + inputs * size_of(call.element));
  if (is_apart || is_known_place(call, where)) return call;
  const bool has_blocks = call.operation != Operation::reduce &&
                          call.operation != Operation::all_reduce &&
                          call.operation != Operation::all_to_all;
  return wrong(call.operation,
               fmt::format("input and result overlap; they have to be apart, or {}",
                           has_blocks ? "the smaller this rank's own block of the larger"
                                      : "the same memory"));
}

void set_counts(Call& call, CountSpan counts) {
  call.is_uneven = true;
  call.counts.assign(counts.begin(), counts.end());
}

}  // namespace

Call make_barrier() { return {}; }

Result<Call> make_broadcast(Where where, Output data, Rank root) {
  constexpr auto kWhat = Operation::broadcast;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, data.data, data.count));
  Call call = call_of(kWhat, data.element, data.count, root);
  if (where.rank == root) {
    call.input = bytes_of(data);
  } else {
    call.result = bytes_of(data);
  }
  return call;
}

Result<Call> make_scatter(Where where, Input all, Output mine, Rank root) {
  constexpr auto kWhat = Operation::scatter;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count, root);
  call.result = bytes_of(mine);
  if (where.rank != root) return call;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's input", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  call.input = bytes_of(all);
  return if_apart(std::move(call), where, all.count, mine.count);
}

Result<Call> make_gather(Where where, Input mine, Output all, Rank root) {
  constexpr auto kWhat = Operation::gather;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count, root);
  call.input = bytes_of(mine);
  if (where.rank != root) return call;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  call.result = bytes_of(all);
  return if_apart(std::move(call), where, mine.count, all.count);
}

Result<Call> make_reduce(Where where, Input mine, Output result, const Reduction& reduction,
                         Rank root) {
  constexpr auto kWhat = Operation::reduce;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count, root);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(mine);
  if (where.rank != root) return call;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, result.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", result.count, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, result.data, result.count));
  call.result = bytes_of(result);
  return if_apart(std::move(call), where, mine.count, result.count);
}

Result<Call> make_all_reduce(Where where, Input mine, Output result, const Reduction& reduction) {
  constexpr auto kWhat = Operation::all_reduce;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, result.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", result.count, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, result.data, result.count));
  Call call = call_of(kWhat, mine.element, mine.count);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(mine);
  call.result = bytes_of(result);
  return if_apart(std::move(call), where, mine.count, result.count);
}

Result<Call> make_all_gather(Where where, Input mine, Output all) {
  constexpr auto kWhat = Operation::all_gather;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  Call call = call_of(kWhat, mine.element, mine.count);
  call.input = bytes_of(mine);
  call.result = bytes_of(all);
  return if_apart(std::move(call), where, mine.count, all.count);
}

Result<Call> make_reduce_scatter(Where where, Input all, Output mine, const Reduction& reduction) {
  constexpr auto kWhat = Operation::reduce_scatter;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_count(kWhat, "the input", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(all);
  call.result = bytes_of(mine);
  return if_apart(std::move(call), where, all.count, mine.count);
}

Result<Call> make_all_to_all(Where where, Input send, Output receive) {
  constexpr auto kWhat = Operation::all_to_all;
  MUSTER_TRY_OK(check_element(kWhat, send.element, receive.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", receive.count, send.count));
  if (send.count % where.ranks != 0) {
    return wrong(kWhat,
                 fmt::format("{} elements do not make {} equal blocks", send.count, where.ranks));
  }
  MUSTER_TRY_OK(check_memory(kWhat, send.data, send.count));
  MUSTER_TRY_OK(check_memory(kWhat, receive.data, receive.count));
  Call call = call_of(kWhat, send.element, send.count / where.ranks);
  call.input = bytes_of(send);
  call.result = bytes_of(receive);
  return if_apart(std::move(call), where, send.count, receive.count);
}

Result<Call> make_scatter_v(Where where, Input all, CountSpan counts, Output mine, Rank root) {
  constexpr auto kWhat = Operation::scatter;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count, root);
  call.is_uneven = true;
  call.result = bytes_of(mine);
  if (where.rank != root) return call;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the root's input", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the root's own block", mine.count, counts[root]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  set_counts(call, counts);
  call.input = bytes_of(all);
  return if_apart(std::move(call), where, all.count, mine.count);
}

Result<Call> make_gather_v(Where where, Input mine, Output all, CountSpan counts, Rank root) {
  constexpr auto kWhat = Operation::gather;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count, root);
  call.is_uneven = true;
  call.input = bytes_of(mine);
  if (where.rank != root) return call;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the root's own block", mine.count, counts[root]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  set_counts(call, counts);
  call.result = bytes_of(all);
  return if_apart(std::move(call), where, mine.count, all.count);
}

Result<Call> make_all_gather_v(Where where, Input mine, Output all, CountSpan counts) {
  constexpr auto kWhat = Operation::all_gather;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", mine.count, counts[where.rank]));
  MUSTER_TRY_OK(check_count(kWhat, "the result", all.count, sum(counts)));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  Call call = call_of(kWhat, mine.element, mine.count);
  set_counts(call, counts);
  call.input = bytes_of(mine);
  call.result = bytes_of(all);
  return if_apart(std::move(call), where, mine.count, all.count);
}

Result<Call> make_reduce_scatter_v(Where where, Input all, CountSpan counts, Output mine,
                                   const Reduction& reduction) {
  constexpr auto kWhat = Operation::reduce_scatter;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the result", mine.count, counts[where.rank]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  Call call = call_of(kWhat, mine.element, mine.count);
  set_counts(call, counts);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(all);
  call.result = bytes_of(mine);
  return if_apart(std::move(call), where, all.count, mine.count);
}

Result<Call> make_all_to_all_v(Where where, Input send, CountSpan send_counts, Output receive,
                               CountSpan receive_counts) {
  constexpr auto kWhat = Operation::all_to_all;
  MUSTER_TRY_OK(check_element(kWhat, send.element, receive.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, send_counts));
  MUSTER_TRY_OK(check_counts(kWhat, where, receive_counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", send.count, sum(send_counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the result", receive.count, sum(receive_counts)));
  MUSTER_TRY_OK(check_memory(kWhat, send.data, send.count));
  MUSTER_TRY_OK(check_memory(kWhat, receive.data, receive.count));
  Call call = call_of(kWhat, send.element, 0);
  set_counts(call, send_counts);
  call.receives.assign(receive_counts.begin(), receive_counts.end());
  call.input = bytes_of(send);
  call.result = bytes_of(receive);
  return if_apart(std::move(call), where, send.count, receive.count);
}

}  // namespace muster::collectives::internal
