// What a call of Python's says, as the library wants to hear it.

#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.h"
#include "binding.h"
#include "muster/msg/proxy.h"
#include "proxy_handle.h"

namespace muster::python {

// The arguments that all sending calls share; None where nothing was said.
struct SendArguments {
  nb::handle tag;          // Or a Message that says the rest.
  nb::handle destination;  // Invalid where there are several.
  nb::handle body;
  nb::handle session_type;
  nb::handle priority;
  nb::handle compression;
  nb::handle on_loss;
  nb::handle session_id;
  nb::handle answers;
  nb::handle wants_receipt;
};

// With the body encoded.
msg::Draft make_draft(const ProxyHandle& handle, const SendArguments& arguments,
                      const Keeping& keeping);
msg::EncodedBody encode_for(const ProxyHandle& handle, nb::handle body, const Keeping& keeping,
                            nb::handle compression = nb::none());

// Of a call's argument by that name; Code::invalid for what is none.
std::string to_text(nb::handle text, std::string_view what);
Duration to_duration(nb::handle seconds, std::string_view what);
std::pair<nb::object, nb::object> to_pair(nb::handle pair, std::string_view what);
std::uint64_t to_count(nb::handle count, std::string_view what);

std::optional<double> to_seconds(nb::handle timeout);
msg::Wait to_wait(nb::handle timeout, std::stop_token stop = {});
msg::Destination to_destination(nb::handle destination);
// {"worker": 3}, [("worker", 3), "master"] or nothing.
std::vector<msg::Expected> to_expected(nb::handle expected);
std::vector<msg::SessionId> to_ids(nb::handle ids);
// "worker" is a type, "*" all, "w_*" and the like a pattern of names.
msg::Audience to_audience(nb::handle audience);

// What came of a call, decoded; raises if it cannot be.
nb::object give(const ProxyHandle& handle, msg::Message message);
// (messages, failures, missing) as muster.Replies.
nb::object give(const ProxyHandle& handle, const msg::Replies& replies);

}  // namespace muster::python
