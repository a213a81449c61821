#include "augment.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels.h"

namespace danlu {

namespace {

constexpr double pi = 3.141592653589793;
double radians(double degrees) { return degrees * (pi / 180.0); }

struct Tables {
    uint8_t of[3][256]; // what becomes of each level of each channel
};

template <typename Rows> void for_rows(uint8_t *rgbx, int height, size_t stride, Rows rows) {
    for (int y = 0; y < height; y++) rows(rgbx + stride * static_cast<size_t>(y));
}

void map_levels(const Tables &tables, uint8_t *rgbx, int width, int height, size_t stride) {
    for_rows(rgbx, height, stride, [&](uint8_t *row) {
        for (int x = 0; x < width; x++, row += 4)
            for (int c = 0; c < 3; c++) row[c] = tables.of[c][row[c]];
    });
}

template <typename Level> Tables same_for_all(Level level) {
    Tables tables;
    for (int i = 0; i < 256; i++) tables.of[0][i] = tables.of[1][i] = tables.of[2][i] = static_cast<uint8_t>(level(i));
    return tables;
}

struct Histogram {
    int64_t of[3][256] = {};
};

Histogram count_levels(uint8_t *rgbx, int width, int height, size_t stride) {
    Histogram counts;
    for_rows(rgbx, height, stride, [&](uint8_t *row) {
        for (int x = 0; x < width; x++, row += 4)
            for (int c = 0; c < 3; c++) counts.of[c][row[c]]++;
    });
    return counts;
}

void stretch(const int64_t *counts, uint8_t *to) {
    int low = 0, high = 255;
    while (low < 255 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    const double scale = high > low ? 255.0 / (high - low) : 1.0, offset = high > low ? -low * scale : 0.0;
    for (int i = 0; i < 256; i++) to[i] = static_cast<uint8_t>(std::clamp(static_cast<int>(i * scale + offset), 0, 255));
}

void equalise(const int64_t *counts, uint8_t *to) {
    int64_t sum = 0, last = 0;
    for (int i = 0; i < 256; i++) {
        sum += counts[i];
        if (counts[i]) last = counts[i];
    }
    const int64_t step = (sum - last) / 255; // 0 if there is one level only
    int64_t n = step / 2;
    for (int i = 0; i < 256; i++) {
        to[i] = static_cast<uint8_t>(step ? std::min<int64_t>(n / step, 255) : i);
        n += counts[i];
    }
}

// Hue, saturation and value of 0 to 255 each, as Pillow has them, and back with the hue turned.
void turn_hue(uint8_t *p, uint8_t turn) {
    const int r = p[0], g = p[1], b = p[2];
    const int high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
    if (high == low) return; // grey has no hue
    const float range = static_cast<float>(high - low), s = range / static_cast<float>(high);
    const float rc = static_cast<float>(high - r) / range, gc = static_cast<float>(high - g) / range,
                bc = static_cast<float>(high - b) / range;
    float h = r == high ? bc - gc : static_cast<float>(g == high ? 2.0 + rc - bc : 4.0 + gc - rc);
    const double turns = h / 6.0 + 1.0;
    h = static_cast<float>(turns - static_cast<int>(turns));
    const int saturation = static_cast<int>(s * 255.0);
    if (saturation == 0) {
        p[0] = p[1] = p[2] = static_cast<uint8_t>(high);
        return;
    }
    const uint8_t hue = static_cast<uint8_t>(static_cast<int>(h * 255.0) + turn);
    const double sixths = hue * 6.0 / 255.0;
    const int sector = static_cast<int>(sixths);
    const float f = static_cast<float>(sixths - sector);
    const float fs = static_cast<float>(static_cast<float>(saturation) / 255.0), v = static_cast<float>(high);
    const auto level = [](double x) { return static_cast<uint8_t>(std::clamp(static_cast<int>(x + 0.5), 0, 255)); };
    const uint8_t up = level(v * (1.0 - fs)), uq = level(v * (1.0 - fs * f)), ut = level(v * (1.0 - fs * (1.0 - f)));
    const uint8_t uv = static_cast<uint8_t>(high);
    const uint8_t results[6][3] = {{uv, ut, up}, {uq, uv, up}, {up, uv, ut}, {up, uq, uv}, {ut, up, uv}, {uv, up, uq}};
    std::memcpy(p, results[sector % 6], 3);
}

// Output pixel (x, y) is read at (a x + b y + c, d x + e y + f) of the picture before.
struct Affine {
    double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

double to_15_digits(double value) { return std::nearbyint(value * 1e15) / 1e15; }

Affine affine_of(Op op, double value, int width, int height) {
    Affine m;
    const double cx = width / 2.0, cy = height / 2.0;
    if (op == Op::translate_x) m.c = -std::trunc(value);
    if (op == Op::translate_y) m.f = -std::trunc(value);
    // torchvision has an angle between, in degrees; its way back from there is followed
    const double angle = radians(std::atan(value) * (180.0 / pi));
    if (op == Op::shear_x) m.b = std::tan(angle);
    if (op == Op::shear_y) m.d = std::sin(angle) / std::cos(angle);
    if (op == Op::rotate) {
        double turned = std::fmod(value, 360.0);
        if (turned < 0) turned += 360.0;
        const double rotation = -radians(turned);
        m.a = m.e = to_15_digits(std::cos(rotation));
        m.b = to_15_digits(std::sin(rotation));
        m.d = to_15_digits(-std::sin(rotation));
        m.c = m.a * -cx + m.b * -cy + 0.0 + cx;
        m.f = m.d * -cx + m.e * -cy + 0.0 + cy;
    }
    return m;
}

int64_t fixed(double value) { return static_cast<int64_t>(std::floor(value * 65536.0 + 0.5)); }

struct Picture {
    const uint8_t *rows;
    int width, height;
    size_t stride;
    const uint8_t *at(int x, int y) const { return rows + stride * static_cast<size_t>(y) + 4 * static_cast<size_t>(x); }
};

void read_nearest(const Picture &from, const Affine &m, uint32_t fill, uint8_t *rgbx) {
    const int64_t across = fixed(m.a), along = fixed(m.d), next_x = fixed(m.b), next_y = fixed(m.e);
    int64_t row_x = fixed(m.c + m.a * 0.5 + m.b * 0.5), row_y = fixed(m.f + m.d * 0.5 + m.e * 0.5);
    for (int y = 0; y < from.height; y++, row_x += next_x, row_y += next_y) {
        uint8_t *to = rgbx + from.stride * static_cast<size_t>(y);
        int64_t at_x = row_x, at_y = row_y;
        for (int x = 0; x < from.width; x++, to += 4, at_x += across, at_y += along) {
            const int64_t in_x = at_x >> 16, in_y = at_y >> 16;
            const bool inside = in_x >= 0 && in_x < from.width && in_y >= 0 && in_y < from.height;
            if (inside)
                std::memcpy(to, from.at(static_cast<int>(in_x), static_cast<int>(in_y)), 4);
            else
                std::memcpy(to, &fill, 4);
        }
    }
}

void read_bilinear(const Picture &from, const Affine &m, uint32_t fill, uint8_t *rgbx) {
    for (int y = 0; y < from.height; y++) {
        uint8_t *to = rgbx + from.stride * static_cast<size_t>(y);
        for (int x = 0; x < from.width; x++, to += 4) {
            double in_x = m.a * (x + 0.5) + m.b * (y + 0.5) + m.c, in_y = m.d * (x + 0.5) + m.e * (y + 0.5) + m.f;
            if (!(in_x >= 0 && in_x < from.width && in_y >= 0 && in_y < from.height)) {
                std::memcpy(to, &fill, 4);
                continue;
            }
            in_x -= 0.5;
            in_y -= 0.5;
            const int left = in_x < 0 ? -1 : static_cast<int>(in_x), top = in_y < 0 ? -1 : static_cast<int>(in_y);
            const double dx = in_x - left, dy = in_y - top;
            const int x0 = std::max(left, 0), x1 = std::min(left + 1, from.width - 1);
            const int y0 = std::max(top, 0), y1 = std::min(top + 1, from.height - 1);
            const uint8_t *a = from.at(x0, y0), *b = from.at(x1, y0), *c = from.at(x0, y1), *d = from.at(x1, y1);
            for (int i = 0; i < 3; i++) {
                const double upper = a[i] + (b[i] - a[i]) * dx, lower = c[i] + (d[i] - c[i]) * dx;
                to[i] = static_cast<uint8_t>(upper + (lower - upper) * dy);
            }
        }
    }
}

} // namespace

void Augmenter::apply(const Operation &operation, uint8_t *rgbx, int width, int height, size_t stride) {
    const Kernels &k = kernels();
    const double value = operation.value;
    const float factor = static_cast<float>(value);
    switch (operation.op) {
    case Op::identity: return;
    case Op::shear_x: case Op::shear_y: case Op::translate_x: case Op::translate_y: case Op::rotate:
        return move(operation, rgbx, width, height, stride);
    case Op::brightness: return for_rows(rgbx, height, stride, [&](uint8_t *row) { k.blend_grey(row, width, factor, 0); });
    case Op::color: return for_rows(rgbx, height, stride, [&](uint8_t *row) { k.blend_own_grey(row, width, factor); });
    case Op::contrast: {
        uint64_t sum = 0;
        for_rows(rgbx, height, stride, [&](uint8_t *row) { sum += k.sum_grey(row, width); });
        const int mean = static_cast<int>(static_cast<double>(sum) / (static_cast<double>(width) * height) + 0.5);
        return for_rows(rgbx, height, stride, [&](uint8_t *row) { k.blend_grey(row, width, factor, mean); });
    }
    case Op::sharpness: return sharpen(value, rgbx, width, height, stride);
    case Op::posterize: {
        const int mask = ~((1 << (8 - std::clamp(static_cast<int>(value), 0, 8))) - 1);
        return map_levels(same_for_all([&](int i) { return i & mask; }), rgbx, width, height, stride);
    }
    case Op::solarize:
        return map_levels(same_for_all([&](int i) { return i < value ? i : 255 - i; }), rgbx, width, height, stride);
    case Op::autocontrast: case Op::equalize: {
        const Histogram counts = count_levels(rgbx, width, height, stride);
        Tables tables;
        for (int c = 0; c < 3; c++)
            (operation.op == Op::equalize ? equalise : stretch)(counts.of[c], tables.of[c]);
        return map_levels(tables, rgbx, width, height, stride);
    }
    case Op::hue: {
        const uint8_t turn = static_cast<uint8_t>(static_cast<int>(value * 255));
        return for_rows(rgbx, height, stride, [&](uint8_t *row) {
            for (int x = 0; x < width; x++) turn_hue(row + 4 * x, turn);
        });
    }
    }
}

void Augmenter::move(const Operation &operation, uint8_t *rgbx, int width, int height, size_t stride) {
    before_.assign(rgbx, rgbx + stride * static_cast<size_t>(height));
    const Picture from{before_.data(), width, height, stride};
    const Affine affine = affine_of(operation.op, operation.value, width, height);
    uint8_t outside[4] = {operation.fill[0], operation.fill[1], operation.fill[2], 255};
    uint32_t fill;
    std::memcpy(&fill, outside, 4);
    (operation.bilinear ? read_bilinear : read_nearest)(from, affine, fill, rgbx);
}

void Augmenter::sharpen(double factor, uint8_t *rgbx, int width, int height, size_t stride) {
    if (width < 3 || height < 3) return; // the filter leaves the border alone, and here is nothing else
    before_.assign(rgbx, rgbx + stride * static_cast<size_t>(height));
    for (int y = 1; y + 1 < height; y++) {
        const uint8_t *row = before_.data() + stride * static_cast<size_t>(y) + 4;
        kernels().sharpen_row(row - stride, row, row + stride, rgbx + stride * static_cast<size_t>(y) + 4, 4 * (width - 2),
                              static_cast<float>(factor));
    }
}

} // namespace danlu
