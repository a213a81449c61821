// What Python sees of the cutting: a module of its own, which needs nothing of images.
#include <nanobind/nanobind.h>

#include "cutting.h"

namespace nb = nanobind;

namespace {

// The memory of a Python object, which stays where it is as long as this lives.
class Bytes {
public:
    explicit Bytes(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
    }
    ~Bytes() { PyBuffer_Release(&view_); }
    Bytes(const Bytes &) = delete;
    Bytes &operator=(const Bytes &) = delete;

    const uint8_t *data() const { return static_cast<const uint8_t *>(view_.buf); }
    size_t size() const { return static_cast<size_t>(view_.len); }

private:
    Py_buffer view_;
};

size_t next_cut(nb::handle data, size_t begin, size_t end) {
    const Bytes bytes(data);
    if (begin > end || end > bytes.size()) throw nb::value_error("expected begin <= end <= the number of bytes");
    nb::gil_scoped_release free;
    return danlu::next_cut(bytes.data(), begin, end);
}

} // namespace

NB_MODULE(_cutting, m) {
    m.attr("RULES") = danlu::cutting_rules;
    m.attr("TAKES_BUFFERS") = true;
    m.def("next_cut", next_cut, nb::arg("data"), nb::arg("begin"), nb::arg("end"));
}
