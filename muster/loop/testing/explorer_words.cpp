// What an exploration has to say: the run that failed, step by step.

#include <algorithm>
#include <sstream>

#include "muster/loop/testing/explorer.h"

namespace muster::loop::testing {

using exploring::Kind;
using exploring::kNone;
using exploring::Step;

std::string Explorer::describe_stuck() const {
  std::ostringstream out;
  out << "deadlock:";
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].fiber->has_ended()) out << " thread " << i;
  }
  out << " sleeps and nobody is left to wake it";
  return out.str();
}

std::string Explorer::name_of(std::uint32_t cell) const {
  const auto address = reinterpret_cast<std::uintptr_t>(cells_[cell]);
  for (const NamedMemory& memory : names_) {
    if (address >= memory.begin && address < memory.begin + memory.size) return memory.name;
  }
  return "word" + std::to_string(cell);
}

std::string Explorer::transcript() const {
  std::ostringstream out;
  out << *failure_ << '\n';
  for (const Step& step : steps_) {
    for (int i = 0; i < step.thread; ++i) out << "                              ";
    out << step.thread << ": " << name_of(step.cell) << ' ' << step.what << ' ' << std::hex;
    if (step.kind == Kind::load || step.before == step.after) {
      out << step.before;
    } else {
      out << step.before << " -> " << step.after;
    }
    out << std::dec;
    if (step.woken != kNone) out << ", thread " << step.woken;
    out << '\n';
  }
  return out.str();
}

}  // namespace muster::loop::testing
