#include "muster/collectives/description.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace muster::collectives {
namespace {

constexpr std::array<std::string_view, 17> kNames{
    "barrier",    "broadcast",      "scatter",    "gather", "reduce",    "all_reduce",
    "all_gather", "reduce_scatter", "all_to_all", "share",  "all_share", "split",
    "dup",        "grow",           "counts",     "commit", "refused"};

std::string_view name_of(Deed deed) {
  const auto number = static_cast<std::size_t>(deed);
  return number < kNames.size() ? kNames[number] : "unknown";
}

bool has_root(Deed deed) {
  return deed == Deed::broadcast || deed == Deed::scatter || deed == Deed::gather ||
         deed == Deed::reduce || deed == Deed::share;
}

bool has_reduction(Deed deed) {
  return deed == Deed::reduce || deed == Deed::all_reduce || deed == Deed::reduce_scatter;
}

}  // namespace

std::string describe(const Description& what) {
  if (what.deed == Deed::refused) return "what was refused";
  std::string text(name_of(what.deed));
  if ((what.form & Description::kUneven) != 0) text += "_v";
  if (what.deed == Deed::grow) return fmt::format("grow({})", what.count);
  if (what.deed == Deed::barrier || what.deed > Deed::all_to_all) return text + "()";
  const auto element = element_of_number(static_cast<std::uint8_t>(what.element));
  const std::string_view type = element ? name(*element) : "unknown";
  if (what.counts != 0) {
    text += fmt::format("(counts {:08x} of {}", what.counts & 0xFFFFFFFF, type);
  } else if ((what.form & Description::kUneven) != 0) {
    text += fmt::format("({}", type);  // Ranks have counts of their own.
  } else {
    text += fmt::format("({} x {}", what.count, type);
  }
  if (has_reduction(what.deed)) text += fmt::format(", {}", name(what.reduction));
  if (has_root(what.deed)) text += fmt::format(", root {}", what.root);
  return text + ")";
}

std::string describe_beside(const Description& other, const Description& what) {
  std::string text = describe(what);
  if (text != describe(other)) return text;
  const auto tell = [&](std::uint8_t form, std::string_view has, std::string_view lacks) {
    if (((what.form ^ other.form) & form) == 0) return;
    text += fmt::format(", {}", (what.form & form) != 0 ? has : lacks);
  };
  tell(Description::kOrdered, "in the order of the ranks", "in any order");
  tell(Description::kElastic, "elastic", "not elastic");
  return text;
}

std::uint64_t digest_of(std::span<const std::uint64_t> numbers) {
  std::uint64_t digest = 0x9E3779B97F4A7C15 + numbers.size();
  for (std::uint64_t number : numbers) {
    number *= 0xBF58476D1CE4E5B9;
    digest = ((digest ^ (number >> 31) ^ number) * 0x94D049BB133111EB) ^ (digest >> 29);
  }
  return digest != 0 ? digest : 1;
}

}  // namespace muster::collectives
