#include "notifier.h"

#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "errors.h"

namespace muster::python {

struct Notifier::State {
  ~State() {
    if (descriptor >= 0) close(descriptor);
  }
  int descriptor = -1;
  std::mutex mutex;
  std::vector<std::uint64_t> tokens;
};

Notifier::Notifier() : state_(std::make_shared<State>()) {
  state_->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (state_->descriptor < 0) raise(system_error(Code::overloaded, "make an eventfd", errno));
}

int Notifier::descriptor() const { return state_->descriptor; }

std::vector<std::uint64_t> Notifier::take() const {
  std::uint64_t count = 0;
  static_cast<void>(read(state_->descriptor, &count, sizeof(count)));
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->tokens, {});
}

std::function<void()> Notifier::action(std::uint64_t token) const {
  return [state = state_, token] {
    {
      const std::lock_guard lock(state->mutex);
      state->tokens.push_back(token);
    }
    const std::uint64_t one = 1;
    static_cast<void>(write(state->descriptor, &one, sizeof(one)));
  };
}

void bind_notifier(nb::module_& module) {
  nb::class_<Notifier>(module, "Notifier")
      .def(nb::init<>())
      .def("fileno", &Notifier::descriptor)
      .def("take", &Notifier::take);
}

}  // namespace muster::python
