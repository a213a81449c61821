// What Python sees of the cutting: a module of its own, which needs nothing of images.
#include <nanobind/nanobind.h>

#include "cutting.h"

namespace nb = nanobind;

namespace {

size_t next_cut(nb::bytes data, size_t begin, size_t end) {
    if (begin > end || end > data.size()) throw nb::value_error("expected begin <= end <= the number of bytes");
    const auto *bytes = reinterpret_cast<const uint8_t *>(data.c_str());
    nb::gil_scoped_release free;
    return danlu::next_cut(bytes, begin, end);
}

} // namespace

NB_MODULE(_cutting, m) {
    m.attr("RULES") = danlu::cutting_rules;
    m.def("next_cut", next_cut, nb::arg("data"), nb::arg("begin"), nb::arg("end"));
}
