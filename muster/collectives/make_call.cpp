// Checks what the caller gave, before anybody else hears of it.

#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "muster/collectives/call.h"

namespace muster::collectives::internal {
namespace {

void begin(Call& call, Operation operation, Element element, std::uint64_t count, Rank root = 0) {
  call.operation = operation;
  call.deed = deed_of(operation);
  call.element = element;
  call.count = count;
  call.root = root;
}

const std::byte* bytes_of(const Input& input) { return static_cast<const std::byte*>(input.data); }
std::byte* bytes_of(const Output& output) { return static_cast<std::byte*>(output.data); }

// Out of the way of calls that are right.
template <class... Args>
[[gnu::cold, gnu::noinline]] Error wrong(Operation operation, fmt::format_string<Args...> text,
                                         Args... args) {
  return Error(Code::invalid, fmt::vformat(text, fmt::make_format_args(args...)))
      .during(name(operation));
}

[[gnu::always_inline]] inline Status check_root(Operation operation, Where where, Rank root) {
  if (root < where.ranks) return ok();
  return wrong(operation, "there is no rank {} to be the root", root);
}

[[gnu::always_inline]] inline Status check_element(Operation operation, Element one,
                                                   Element other) {
  if (one == other) return ok();
  return wrong(operation, "input of {} and result of {}", name(one), name(other));
}

[[gnu::always_inline]] inline Status check_count(Operation operation, std::string_view what,
                                                 std::uint64_t has, std::uint64_t wants) {
  if (has == wants) return ok();
  return wrong(operation, "{} has {} elements and must have {}", what, has, wants);
}

[[gnu::always_inline]] inline Status check_memory(Operation operation, const void* data,
                                                  std::uint64_t count) {
  if (data != nullptr || count == 0) return ok();
  return wrong(operation, "{} elements at no address", count);
}

[[gnu::always_inline]] inline Status check_reduction(Operation operation,
                                                     const Reduction& reduction) {
  if (reduction.is_whole()) return ok();
  return wrong(operation, "a user's reduction without a function; make it by Reduction::user()");
}

Status check_counts(Operation operation, Where where, CountSpan counts) {
  if (counts.size() == where.ranks) return ok();
  return wrong(operation, "{} counts for {} ranks", counts.size(), where.ranks);
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

// An error if its input of so many elements and its result overlap otherwise.
[[gnu::always_inline]] inline Status check_apart(const Call& call, Where where,
                                                 std::uint64_t inputs, std::uint64_t results) {
  const std::less<const std::byte*> is_before;
  const bool is_apart = inputs == 0 || results == 0 ||
                        !is_before(call.input, call.result + results * size_of(call.element)) ||
                        !is_before(call.result, call.input + inputs * size_of(call.element));
  if (is_apart || is_known_place(call, where)) return ok();
  const bool has_blocks = call.operation != Operation::reduce &&
                          call.operation != Operation::all_reduce &&
                          call.operation != Operation::all_to_all;
  return wrong(call.operation, "input and result overlap; they have to be apart, or {}",
               has_blocks ? "the smaller this rank's own block of the larger" : "the same memory");
}

void set_counts(Call& call, CountSpan counts) {
  call.is_uneven = true;
  call.counts.assign(counts.begin(), counts.end());
}

}  // namespace

Call make_barrier() { return {}; }

Status make_broadcast(Call& call, Where where, Output data, Rank root) {
  constexpr auto kWhat = Operation::broadcast;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, data.data, data.count));
  begin(call, kWhat, data.element, data.count, root);
  if (where.rank == root) {
    call.input = bytes_of(data);
  } else {
    call.result = bytes_of(data);
  }
  return ok();
}

Status make_scatter(Call& call, Where where, Input all, Output mine, Rank root) {
  constexpr auto kWhat = Operation::scatter;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count, root);
  call.result = bytes_of(mine);
  if (where.rank != root) return ok();
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's input", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  call.input = bytes_of(all);
  return check_apart(call, where, all.count, mine.count);
}

Status make_gather(Call& call, Where where, Input mine, Output all, Rank root) {
  constexpr auto kWhat = Operation::gather;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count, root);
  call.input = bytes_of(mine);
  if (where.rank != root) return ok();
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  call.result = bytes_of(all);
  return check_apart(call, where, mine.count, all.count);
}

Status make_reduce(Call& call, Where where, Input mine, Output result, const Reduction& reduction,
                   Rank root) {
  constexpr auto kWhat = Operation::reduce;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count, root);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(mine);
  if (where.rank != root) return ok();
  MUSTER_TRY_OK(check_element(kWhat, mine.element, result.element));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", result.count, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, result.data, result.count));
  call.result = bytes_of(result);
  return check_apart(call, where, mine.count, result.count);
}

Status make_all_reduce(Call& call, Where where, Input mine, Output result,
                       const Reduction& reduction) {
  constexpr auto kWhat = Operation::all_reduce;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, result.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", result.count, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, result.data, result.count));
  begin(call, kWhat, mine.element, mine.count);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(mine);
  call.result = bytes_of(result);
  return check_apart(call, where, mine.count, result.count);
}

Status make_all_gather(Call& call, Where where, Input mine, Output all) {
  constexpr auto kWhat = Operation::all_gather;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  begin(call, kWhat, mine.element, mine.count);
  call.input = bytes_of(mine);
  call.result = bytes_of(all);
  return check_apart(call, where, mine.count, all.count);
}

Status make_reduce_scatter(Call& call, Where where, Input all, Output mine,
                           const Reduction& reduction) {
  constexpr auto kWhat = Operation::reduce_scatter;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_count(kWhat, "the input", all.count, mine.count * where.ranks));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(all);
  call.result = bytes_of(mine);
  return check_apart(call, where, all.count, mine.count);
}

Status make_all_to_all(Call& call, Where where, Input send, Output receive) {
  constexpr auto kWhat = Operation::all_to_all;
  MUSTER_TRY_OK(check_element(kWhat, send.element, receive.element));
  MUSTER_TRY_OK(check_count(kWhat, "the result", receive.count, send.count));
  if (send.count % where.ranks != 0) {
    return wrong(kWhat, "{} elements do not make {} equal blocks", send.count, where.ranks);
  }
  MUSTER_TRY_OK(check_memory(kWhat, send.data, send.count));
  MUSTER_TRY_OK(check_memory(kWhat, receive.data, receive.count));
  begin(call, kWhat, send.element, send.count / where.ranks);
  call.input = bytes_of(send);
  call.result = bytes_of(receive);
  return check_apart(call, where, send.count, receive.count);
}

Status make_scatter_v(Call& call, Where where, Input all, CountSpan counts, Output mine,
                      Rank root) {
  constexpr auto kWhat = Operation::scatter;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count, root);
  call.is_uneven = true;
  call.result = bytes_of(mine);
  if (where.rank != root) return ok();
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the root's input", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the root's own block", mine.count, counts[root]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  set_counts(call, counts);
  call.input = bytes_of(all);
  return check_apart(call, where, all.count, mine.count);
}

Status make_gather_v(Call& call, Where where, Input mine, Output all, CountSpan counts, Rank root) {
  constexpr auto kWhat = Operation::gather;
  MUSTER_TRY_OK(check_root(kWhat, where, root));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count, root);
  call.is_uneven = true;
  call.input = bytes_of(mine);
  if (where.rank != root) return ok();
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the root's result", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the root's own block", mine.count, counts[root]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  set_counts(call, counts);
  call.result = bytes_of(all);
  return check_apart(call, where, mine.count, all.count);
}

Status make_all_gather_v(Call& call, Where where, Input mine, Output all, CountSpan counts) {
  constexpr auto kWhat = Operation::all_gather;
  MUSTER_TRY_OK(check_element(kWhat, mine.element, all.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", mine.count, counts[where.rank]));
  MUSTER_TRY_OK(check_count(kWhat, "the result", all.count, sum(counts)));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  begin(call, kWhat, mine.element, mine.count);
  set_counts(call, counts);
  call.input = bytes_of(mine);
  call.result = bytes_of(all);
  return check_apart(call, where, mine.count, all.count);
}

Status make_reduce_scatter_v(Call& call, Where where, Input all, CountSpan counts, Output mine,
                             const Reduction& reduction) {
  constexpr auto kWhat = Operation::reduce_scatter;
  MUSTER_TRY_OK(check_element(kWhat, all.element, mine.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", all.count, sum(counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the result", mine.count, counts[where.rank]));
  MUSTER_TRY_OK(check_memory(kWhat, all.data, all.count));
  MUSTER_TRY_OK(check_memory(kWhat, mine.data, mine.count));
  begin(call, kWhat, mine.element, mine.count);
  set_counts(call, counts);
  MUSTER_TRY_OK(check_reduction(call.operation, reduction));
  call.reduction = reduction;
  call.input = bytes_of(all);
  call.result = bytes_of(mine);
  return check_apart(call, where, all.count, mine.count);
}

Status make_all_to_all_v(Call& call, Where where, Input send, CountSpan send_counts, Output receive,
                         CountSpan receive_counts) {
  constexpr auto kWhat = Operation::all_to_all;
  MUSTER_TRY_OK(check_element(kWhat, send.element, receive.element));
  MUSTER_TRY_OK(check_counts(kWhat, where, send_counts));
  MUSTER_TRY_OK(check_counts(kWhat, where, receive_counts));
  MUSTER_TRY_OK(check_count(kWhat, "the input", send.count, sum(send_counts)));
  MUSTER_TRY_OK(check_count(kWhat, "the result", receive.count, sum(receive_counts)));
  MUSTER_TRY_OK(check_memory(kWhat, send.data, send.count));
  MUSTER_TRY_OK(check_memory(kWhat, receive.data, receive.count));
  begin(call, kWhat, send.element, 0);
  set_counts(call, send_counts);
  call.receives.assign(receive_counts.begin(), receive_counts.end());
  call.input = bytes_of(send);
  call.result = bytes_of(receive);
  return check_apart(call, where, send.count, receive.count);
}

}  // namespace muster::collectives::internal
