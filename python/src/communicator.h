// Collectives on arrays: Communicator.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "binding.h"
#include "errors.h"
#include "interpreter.h"
#include "operation.h"

namespace muster::python {

// What a communicator does, which those made from it do too.
collectives::Manners to_manners(nb::handle said);

class PyCommunicator {
 public:
  explicit PyCommunicator(std::unique_ptr<collectives::Communicator> communicator)
      : held_(std::make_shared<Held>(std::move(communicator))) {}

  // Raises if it is closed, or a parent's.
  std::shared_ptr<collectives::Communicator> live() const;
  const std::shared_ptr<Held>& held() const { return held_; }

  // Without the interpreter's lock.
  template <class Function>
  auto call(Function function) const {
    std::shared_ptr<collectives::Communicator> here = live();
    const Unlocked unlocked;
    auto result = function(*here);
    here.reset();
    return result;
  }

  // Begins an operation, which has what is lent for as long as it takes.
  template <class Start>
  nb::object begin(Lending lending, Start start) const {
    std::shared_ptr<collectives::Communicator> here = live();
    loop::Loop& loop = here->loop();
    std::optional<loop::Future<collectives::Outcome>> told;
    loop::Future<collectives::Outcome> future = [&] {
      const Unlocked unlocked;
      const collectives::Awaited awaited(is_awaited_.exchange(false));
      // It may be repeated when its caller has dropped the arrays.
      const collectives::Owned owned(std::make_shared<const Lending>(lending));
      for (const Buffer& memory : lending.arena) here->introduce(memory);
      loop::Future<collectives::Outcome> begun = start(*here);
      if (lending.verdict != nullptr) told = tell(*here, *lending.verdict);
      here.reset();
      return begun;
    }();
    return nb::cast(std::make_unique<PyOperation>(held_, loop, std::move(future),
                                                  std::move(lending), std::move(told)));
  }

  // What is begun next is waited for at once. A hint.
  void await_next() const { is_awaited_ = true; }

  // Another that was made from this one; None where this rank is in none.
  template <class Make>
  nb::object derive(Make make) const {
    Result<std::unique_ptr<collectives::Communicator>> made = call(make);
    if (!made) raise(made.error());
    raise_signal();
    if (*made == nullptr) return nb::none();
    return nb::cast(std::make_unique<PyCommunicator>(*std::move(made)));
  }

 private:
  static loop::Future<collectives::Outcome> tell(collectives::Communicator& here, Verdict& verdict);

  std::shared_ptr<Held> held_;
  mutable std::atomic<bool> is_awaited_{false};
};

using CommunicatorClass = nb::class_<PyCommunicator>;

void bind_communicator(nb::module_& module);
// Each begins an operation and gives it; python/muster/collectives.py waits.
void bind_even_operations(CommunicatorClass& type);
void bind_uneven_operations(CommunicatorClass& type);
// Others from one, and what was interrupted.
void bind_reshaping(CommunicatorClass& type);

}  // namespace muster::python
