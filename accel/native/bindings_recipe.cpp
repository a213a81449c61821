#include "bindings_recipe.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace nb = nanobind;
using namespace danlu;

namespace {

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pixels = nb::ndarray<uint8_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
constexpr double most_of_a_factor = 1e6; // far below where whole levels do not fit into 32 bits

void add_choices(Recipe &recipe, std::array<int, 2> times_and_bin, Table table, std::array<uint8_t, 3> fill, bool bilinear) {
    const auto [times, bin] = times_and_bin;
    if (times < 1 || times > 64 || table.shape(0) != num_choices || table.shape(1) < 1 || table.shape(1) > 1024 || bin < -1 ||
        bin >= static_cast<int>(table.shape(1)))
        throw nb::value_error("expected 1 to 64 operations, a table of 14 rows, and a bin of it or -1");
    AugmentStep step;
    step.times = times;
    step.bins = static_cast<int32_t>(table.shape(1));
    step.bin = bin;
    step.table.assign(table.data(), table.data() + table.size());
    for (const double value : step.table)
        if (!(std::fabs(value) <= 16384)) throw nb::value_error("a magnitude that makes no sense");
    step.fill = fill;
    step.bilinear = bilinear;
    recipe.steps.push_back(std::move(step));
}

void add_jitter(Recipe &recipe, std::array<double, 8> ranges, std::array<bool, 4> jitters) {
    for (int i = 0; i < 4; i++) {
        const double low = i == 3 ? -0.5 : 0.0, high = i == 3 ? 0.5 : most_of_a_factor;
        if (!(low <= ranges[2 * i] && ranges[2 * i] <= ranges[2 * i + 1] && ranges[2 * i + 1] <= high))
            throw nb::value_error("a range of factors that makes no sense");
    }
    AugmentStep step;
    step.ranges = ranges;
    step.jitters = jitters;
    recipe.steps.push_back(step);
}

void set_erasing(Recipe &recipe, double probability, std::array<double, 4> scale_and_ratio, std::array<float, 3> value) {
    recipe.erasing = Erasing{probability, scale_and_ratio[0], scale_and_ratio[1], scale_and_ratio[2], scale_and_ratio[3], value};
}

void require_sound_erasing(const Recipe &r) {
    const Erasing &e = r.erasing;
    if (!(e.probability >= 0 && e.probability <= 1)) throw nb::value_error("a probability is 0 to 1");
    if (e.probability == 0) return;
    if (!(0 <= e.scale_min && e.scale_min <= e.scale_max && e.scale_max <= 1) || !(0 < e.ratio_min && e.ratio_min <= e.ratio_max))
        throw nb::value_error("bad scale or ratio of what is erased");
    for (const float value : e.value)
        if (!std::isfinite(value) || (!r.normalise && !(value >= 0 && value <= 255)))
            throw nb::value_error("a colour of what is erased that is no number, or no byte");
}

nb::tuple operation_fields(const Operation &o) {
    return nb::make_tuple(static_cast<int>(o.op), o.value, nb::make_tuple(o.fill[0], o.fill[1], o.fill[2]), o.bilinear);
}

// Height x width x RGBX, changed in place: for tests, which compare with Pillow.
void augment(Pixels rgbx, int op, double value, std::array<uint8_t, 3> fill, bool bilinear) {
    if (op < 0 || op >= num_ops || !(std::fabs(value) <= most_of_a_factor)) throw nb::value_error("no such operation");
    if (rgbx.shape(2) != 4 || rgbx.shape(0) < 1 || rgbx.shape(1) < 1 || rgbx.shape(0) > 16384 || rgbx.shape(1) > 16384)
        throw nb::value_error("expected height x width x 4 bytes, sides of 1 to 16384");
    const int height = static_cast<int>(rgbx.shape(0)), width = static_cast<int>(rgbx.shape(1));
    uint8_t *pixels = rgbx.data();
    nb::gil_scoped_release release;
    Augmenter().apply(Operation{static_cast<Op>(op), value, fill, bilinear}, pixels, width, height, 4 * static_cast<size_t>(width));
}

} // namespace

// Python fills a recipe field by field; what makes no sense is refused where it is used.
void require_sound(const Recipe &r) {
    const int crop = static_cast<int>(r.crop);
    if (crop < 0 || crop > 2 || r.out_width < 1 || r.out_height < 1 || r.out_width > 16384 || r.out_height > 16384 ||
        r.short_side < 1)
        throw nb::value_error("a recipe needs an output of 1 to 16384 pixels a side");
    if (!(r.ratio_min > 0 && r.ratio_max > 0 && r.scale_min >= 0 && r.scale_max >= r.scale_min))
        throw nb::value_error("bad scale or ratio");
    require_sound_erasing(r);
}

nb::tuple fields(const Geometry &g) {
    return nb::make_tuple(g.x, g.y, g.width, g.height, g.virtual_width, g.virtual_height, g.window_x, g.window_y, g.flip,
                          g.image_width, g.image_height);
}

void bind_recipe(nb::module_ &m) {
    m.def("draw", [](const Recipe &recipe, int width, int height, uint64_t key) {
        require_sound(recipe);
        if (width < 1 || height < 1) throw nb::value_error("an image has at least one pixel");
        return fields(draw_geometry(recipe, width, height, key));
    });
    m.def("draw_changes", [](const Recipe &recipe, uint64_t key) {
        require_sound(recipe);
        nb::list operations;
        for (const Operation &operation : draw_operations(recipe, key)) operations.append(operation_fields(operation));
        const Erased e = draw_erased(recipe, key);
        return nb::make_tuple(operations, nb::make_tuple(e.top, e.left, e.height, e.width));
    });
    m.def("augment", &augment);
    nb::class_<Recipe>(m, "Recipe")
        .def(nb::init<>())
        .def_prop_rw("crop", [](const Recipe &r) { return static_cast<int>(r.crop); },
                     [](Recipe &r, int crop) { r.crop = static_cast<Crop>(crop); })
        .def_rw("width", &Recipe::out_width)
        .def_rw("height", &Recipe::out_height)
        .def_prop_rw("scale", [](const Recipe &r) { return std::array<double, 2>{r.scale_min, r.scale_max}; },
                     [](Recipe &r, std::array<double, 2> v) { r.scale_min = v[0], r.scale_max = v[1]; })
        .def_prop_rw("ratio", [](const Recipe &r) { return std::array<double, 2>{r.ratio_min, r.ratio_max}; },
                     [](Recipe &r, std::array<double, 2> v) { r.ratio_min = v[0], r.ratio_max = v[1]; })
        .def_rw("short_side", &Recipe::short_side)
        .def_rw("flip_probability", &Recipe::flip_probability)
        .def_rw("normalise", &Recipe::normalise)
        .def_rw("channels_last", &Recipe::channels_last)
        .def_prop_rw("mean", [](const Recipe &r) { return r.mean; },
                     [](Recipe &r, std::array<float, 3> v) { r.mean = v; })
        .def_prop_rw("std", [](const Recipe &r) { return r.deviation; },
                     [](Recipe &r, std::array<float, 3> v) { r.deviation = v; })
        .def("add_choices", &add_choices)
        .def("add_jitter", &add_jitter)
        .def("set_erasing", &set_erasing);
}
