// What Python sees of the core: one module, a dozen names. Everything slow runs without the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "bindings_recipe.h"
#include "crc32c.h"
#include "jpeg.h"
#include "kernels.h"
#include "pool.h"
#include "tokens.h"
#include <jpeglib.h>

namespace nb = nanobind;
using namespace danlu;

namespace {

template <typename T> using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// A bytes-like object for as long as this lives.
struct View {
    Py_buffer buffer{};
    explicit View(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_SIMPLE)) throw nb::python_error();
    }
    ~View() { PyBuffer_Release(&buffer); }
    View(const View &) = delete;
    const uint8_t *data() const { return static_cast<const uint8_t *>(buffer.buf); }
    size_t size() const { return static_cast<size_t>(buffer.len); }
};

Decoder &own_decoder() {
    thread_local Decoder decoder;
    decoder.allow(own_parts());
    return decoder;
}

size_t output_bytes(const Recipe &r) {
    return static_cast<size_t>(r.out_width) * r.out_height * 3 * (r.normalise ? sizeof(float) : 1);
}

// One image into memory at `out`; returns (status, geometry).
nb::tuple load_image(nb::handle image, const Recipe &recipe, uint64_t key, uintptr_t out, size_t out_bytes) {
    require_sound(recipe);
    if (out_bytes != output_bytes(recipe)) throw nb::value_error("the output has not the size of the recipe");
    View view(image);
    Geometry geometry{};
    Status status;
    {
        nb::gil_scoped_release release;
        auto *place = reinterpret_cast<uint8_t *>(out);
        const Output to{recipe.normalise ? reinterpret_cast<float *>(place) : nullptr, recipe.normalise ? nullptr : place};
        status = own_decoder().run(view.data(), view.size(), recipe, key, to, geometry);
    }
    return nb::make_tuple(static_cast<int>(status), fields(geometry));
}

// The whole image: (status, width, height, RGBX bytes).
nb::tuple decode_image(nb::handle image, bool own_huffman, bool own_pixels) {
    View view(image);
    static thread_local std::vector<uint8_t> pixels;
    int width = 0, height = 0;
    Status status;
    {
        nb::gil_scoped_release release;
        Decoder &decoder = own_decoder();
        decoder.allow(OwnParts{own_huffman && own_parts().huffman, own_pixels && own_parts().pixels});
        status = decoder.decode(view.data(), view.size(), pixels, width, height);
    }
    if (status != Status::ok) return nb::make_tuple(static_cast<int>(status), 0, 0, nb::bytes("", 0));
    return nb::make_tuple(0, width, height, nb::bytes(pixels.data(), static_cast<size_t>(width) * height * 4));
}

// A part of the image: (status, RGBX bytes).
nb::tuple decode_box(nb::handle image, int left, int top, int right, int bottom) {
    View view(image);
    static thread_local std::vector<uint8_t> pixels;
    Status status;
    {
        nb::gil_scoped_release release;
        status = own_decoder().decode_box(view.data(), view.size(), Box{left, top, right, bottom}, pixels);
    }
    if (status != Status::ok) return nb::make_tuple(static_cast<int>(status), nb::bytes("", 0));
    return nb::make_tuple(0, nb::bytes(pixels.data(), pixels.size()));
}

// A part of the image, resized: (status, RGBX bytes).
nb::tuple resize_box(nb::handle image, std::array<int, 4> box, int out_width, int out_height) {
    if (out_width < 1 || out_height < 1 || out_width > 65535 || out_height > 65535)
        throw nb::value_error("expected sides of 1 to 65535");
    View view(image);
    static thread_local std::vector<uint8_t> pixels;
    Status status;
    {
        nb::gil_scoped_release release;
        status = own_decoder().resize_box(view.data(), view.size(), Box{box[0], box[1], box[2], box[3]}, out_width,
                                          out_height, pixels);
    }
    if (status != Status::ok) return nb::make_tuple(static_cast<int>(status), nb::bytes("", 0));
    return nb::make_tuple(0, nb::bytes(pixels.data(), pixels.size()));
}

nb::bytes transcode_image(nb::handle image, int segment_mcus, bool keep_metadata) {
    if (segment_mcus < 1 || segment_mcus > 65535) throw nb::value_error("segment_mcus must be 1 to 65535");
    View view(image);
    std::vector<uint8_t> rewritten;
    {
        nb::gil_scoped_release release;
        rewritten = transcode(view.data(), view.size(), segment_mcus, keep_metadata);
    }
    return nb::bytes(rewritten.data(), rewritten.size());
}

uint32_t crc_of(nb::handle data) {
    View view(data);
    nb::gil_scoped_release release;
    return crc32c(view.data(), view.size());
}

// Fills `out` run by run. A run that cannot be read has its status set, and its place in `out` is not written.
void read_tokens(Array<const uint8_t> runs, int stored_bytes, std::optional<Array<const uint32_t>> checksums,
                 nb::ndarray<nb::c_contig, nb::device::cpu> out, Array<int32_t> status) {
    const size_t n = runs.size() / sizeof(TokenRun), out_bytes = out.itemsize();
    if (runs.size() != n * sizeof(TokenRun) || status.size() != n) throw nb::value_error("arrays of different lengths");
    if ((stored_bytes != 2 && stored_bytes != 4) || (out_bytes != 4 && out_bytes != 8))
        throw nb::value_error("tokens are stored in 2 or 4 bytes, and given out in 4 or 8");
    std::vector<TokenRun> each(n);
    if (n) std::memcpy(each.data(), runs.data(), runs.size());
    for (const TokenRun &run : each) {
        const uint64_t last = run.first + run.count;
        if (last < run.first || last > run.shard_bytes / stored_bytes || run.to + run.count < run.to ||
            run.to + run.count > out.size())
            throw nb::value_error("a run leaves its shard or the output");
        const uint64_t blocks = (run.shard_bytes + token_block_bytes - 1) / token_block_bytes;
        if (checksums && (run.checksums_at > checksums->size() || blocks > checksums->size() - run.checksums_at))
            throw nb::value_error("a shard without checksums");
    }
    const uint32_t *expected = checksums ? checksums->data() : nullptr;
    void *to = out.data();
    int32_t *told = status.data();
    nb::gil_scoped_release release;
    std::vector<uint8_t> scratch;
    for (size_t i = 0; i < n; i++)
        told[i] = static_cast<int32_t>(
            read_run(each[i], stored_bytes, expected, static_cast<int>(out_bytes), to, scratch));
}

void fit_documents(Array<const uint32_t> lengths, uint32_t capacity, Array<int64_t> sequences) {
    if (sequences.size() != lengths.size()) throw nb::value_error("arrays of different lengths");
    for (size_t i = 0; i < lengths.size(); i++)
        if (lengths.data()[i] > capacity) throw nb::value_error("a document is longer than a sequence");
    const uint32_t *from = lengths.data();
    const size_t count = lengths.size();
    int64_t *to = sequences.data();
    nb::gil_scoped_release release;
    const std::vector<int64_t> chosen = best_fit(from, count, capacity);
    std::copy(chosen.begin(), chosen.end(), to);
}

// Threads, and the Python objects whose memory they write to. Threads never touch Python: objects are only taken and
// dropped in calls that hold the GIL, and the threads are gone before the objects are (members die last to first).
struct PythonPool {
    std::unordered_map<uint64_t, nb::object> kept;
    std::unique_ptr<Pool> pool;
    const pid_t owner = getpid();
    PythonPool(int threads, int readers) : pool(std::make_unique<Pool>(threads, readers)) {}
    // A forked child has the pool and none of its threads: joining them, or destroying what they wait on, never returns.
    ~PythonPool() {
        if (getpid() != owner) pool.release();
    }
};

uint64_t submit(PythonPool &pool, const Recipe &recipe, Array<const uint8_t> items, nb::object out, nb::object status,
                nb::object geometry, bool verify) {
    require_sound(recipe);
    const size_t n = items.size() / sizeof(Item);
    const auto out_memory = nb::cast<nb::ndarray<nb::c_contig, nb::device::cpu>>(out);
    const auto status_memory = nb::cast<Array<int32_t>>(status);
    const auto geometry_memory = nb::cast<Array<int32_t>>(geometry);
    if (items.size() != n * sizeof(Item) || status_memory.size() != n || geometry_memory.size() != n * geometry_fields)
        throw nb::value_error("arrays of different lengths");
    if (out_memory.nbytes() < n * output_bytes(recipe)) throw nb::value_error("the output is too small for the batch");
    auto batch = std::make_unique<Batch>();
    batch->items.resize(n);
    if (n) std::memcpy(batch->items.data(), items.data(), items.size());
    batch->recipe = recipe;
    batch->verify = verify;
    batch->out = static_cast<uint8_t *>(out_memory.data());
    batch->image_bytes = output_bytes(recipe);
    static_assert(sizeof(Status) == sizeof(int32_t), "written in place");
    batch->status = reinterpret_cast<Status *>(status_memory.data());
    batch->geometry = reinterpret_cast<Geometry *>(geometry_memory.data());
    const uint64_t number = pool.pool->submit(std::move(batch));
    pool.kept[number] = nb::make_tuple(std::move(out), std::move(status), std::move(geometry));
    return number;
}

void wait(PythonPool &pool, uint64_t number) {
    {
        nb::gil_scoped_release release;
        pool.pool->wait(number);
    }
    pool.kept.erase(number);
}

nb::dict statistics(const PythonPool &pool) {
    const Statistics &s = pool.pool->statistics();
    nb::dict d;
    d["images"] = s.images.load();
    d["bytes"] = s.bytes.load();
    d["failed"] = s.failed.load();
    d["library_huffman"] = s.library_huffman.load();
    d["sliced"] = s.sliced.load();
    d["library_pixels"] = s.library_pixels.load();
    d["read_seconds"] = static_cast<double>(s.read_ns.load()) * 1e-9;
    d["verify_seconds"] = static_cast<double>(s.verify_ns.load()) * 1e-9;
    d["decode_seconds"] = static_cast<double>(s.decode_ns.load()) * 1e-9;
    d["idle_seconds"] = static_cast<double>(s.idle_ns.load()) * 1e-9;
    return d;
}

std::string build_info() {
    return std::string("kernels ") + kernels().name + ", own entropy decoder " + (own_parts().huffman ? "yes" : "no") +
           ", own pixels " + (own_parts().pixels ? "yes" : "no") +
           ", libjpeg-turbo " + std::to_string(LIBJPEG_TURBO_VERSION_NUMBER);
}

} // namespace

NB_MODULE(_core, m) {
    // A process may end while objects of ours are alive, as DataLoader's workers do; nobody can do anything about it.
    nb::set_leak_warnings(false);
    m.def("crc32c", &crc_of);
    m.def("build_info", &build_info);
    m.def("transcode", &transcode_image);
    m.def("decode", &decode_image, nb::arg("image"), nb::arg("own_huffman") = true, nb::arg("own_pixels") = true);
    m.def("decode_box", &decode_box);
    m.def("resize_box", &resize_box);
    m.def("load", &load_image);
    m.def("read_tokens", &read_tokens, nb::arg("runs"), nb::arg("stored_bytes"), nb::arg("checksums").none(),
          nb::arg("out"), nb::arg("status"));
    m.def("fit_documents", &fit_documents);
    m.attr("GEOMETRY_FIELDS") = geometry_fields;
    m.attr("ITEM_BYTES") = sizeof(Item);
    bind_recipe(m);
    nb::class_<PythonPool>(m, "Pool")
        .def(nb::init<int, int>())
        .def("submit", &submit)
        .def("wait", &wait)
        .def("cancel", [](PythonPool &pool, uint64_t number) { pool.pool->cancel(number); })
        .def("statistics", &statistics);
}
