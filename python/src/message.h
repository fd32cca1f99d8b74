// Messages as Python sees them.

#pragma once

#include "binding.h"
#include "muster/msg/message.h"
#include "proxy_handle.h"

namespace muster::python {

struct PyMessage {
  msg::Message message;
  nb::object body;

  // For collected.h: a body may well be given its message.
  template <class Visit>
  int each_held(Visit visit) const {
    return visit(body.ptr());
  }
  void let_go() { body = nb::none(); }
};

// The members of muster's enums, by number; entered by muster/words.py.
enum class Word : std::uint8_t { session_type, stage, priority, on_loss, answers, compression };
nb::object word(Word which, std::size_t number);
// The number of such a member; `otherwise` for None. Raises for what is no member.
std::size_t number_of(Word which, nb::handle member, std::size_t otherwise);

// A tag is a text, or a member of an enum whose value or name is one.
msg::Tag to_tag(nb::handle tag);
msg::SessionId to_id(nb::handle id);

// Decodes the body; Code::unsupported or Code::invalid if it is not wanted here.
Result<nb::object> to_python(const ProxyHandle& handle, msg::Message message);

void bind_message(nb::module_& module);

}  // namespace muster::python
