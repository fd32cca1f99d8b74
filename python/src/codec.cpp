#include "codec.h"

#include <utility>

#include "decode.h"
#include "encode.h"
#include "errors.h"

namespace muster::python {
namespace {

nb::object encode_parts(nb::handle body) {
  const msg::EncodedBody encoded = encode(body);
  nb::list parts;
  for (const Buffer& part : encoded.parts) parts.append(to_memory(part));
  return nb::make_tuple(static_cast<int>(encoded.form), parts);
}

nb::object decode_parts(int form, nb::handle parts, bool accepts_pickles) {
  msg::EncodedBody body;
  body.form = static_cast<msg::BodyForm>(form);
  for (const nb::handle part : parts) {
    const nb::bytes bytes = nb::steal<nb::bytes>(PyBytes_FromObject(part.ptr()));
    if (!bytes.is_valid()) throw nb::python_error();
    body.parts.push_back(Buffer::copy_of(std::string_view(bytes.c_str(), bytes.size())));
  }
  DecodeOptions options;
  options.accepts_pickles = accepts_pickles;
  return unwrap(decode(body, options));
}

}  // namespace

void bind_codec(nb::module_& module) {
  module.def("encode", encode_parts, nb::arg("body").none(),
             "The form of a body, and its parts, as they travel.");
  module.def("decode", decode_parts, nb::arg("form"), nb::arg("parts"),
             nb::arg("accepts_pickles") = false, "What such parts say.");
}

}  // namespace muster::python
