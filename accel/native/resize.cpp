#include "resize.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace danlu {

// The triangle filter of Pillow's Resample.c: support is 1 sample when enlarging, `scale` samples when shrinking.
void AxisFilter::build(int begin, int length, int virtual_out, int window, int out, bool mirrored) {
    const double scale = static_cast<double>(length) / virtual_out;
    const double support = std::max(scale, 1.0), inverse = 1.0 / support;
    const int room = static_cast<int>(std::ceil(support)) * 2 + 1;
    first_.resize(out);
    used_.resize(out);
    exact_.assign(static_cast<size_t>(out) * room, 0.0f);
    int longest = 1;
    for (int o = 0; o < out; o++) {
        const double center = (o + window + 0.5) * scale;
        const int low = std::max(0, static_cast<int>(center - support + 0.5));
        const int high = std::min(length, static_cast<int>(center + support + 0.5));
        float *weights = &exact_[static_cast<size_t>(o) * room];
        double sum = 0;
        for (int i = low; i < high; i++) {
            const double weight = std::max(0.0, 1.0 - std::fabs((i - center + 0.5) * inverse));
            weights[i - low] = static_cast<float>(weight);
            sum += weight;
        }
        // Samples with no weight at the ends would only cost time.
        int start = 0, stop = std::max(high - low, 1);
        while (stop - start > 1 && weights[start] < 1e-4f * sum) start++;
        while (stop - start > 1 && weights[stop - 1] < 1e-4f * sum) stop--;
        for (int i = start; i < stop; i++) weights[i - start] = static_cast<float>(weights[i] / sum);
        first_[o] = begin + std::min(low + start, length - 1);
        used_[o] = stop - start;
        longest = std::max(longest, stop - start);
    }
    taps_ = (longest + 1) & ~1;
    weights_.assign(static_cast<size_t>(out) * taps_, 0);
    lowest_ = begin + length;
    highest_ = begin;
    for (int o = 0; o < out; o++) {
        const float *weights = &exact_[static_cast<size_t>(o) * room];
        int16_t *to = &weights_[static_cast<size_t>(mirrored ? out - 1 - o : o) * taps_];
        int left = 16384, largest = 0;
        for (int i = 0; i < used_[o]; i++) {
            to[i] = static_cast<int16_t>(std::lrint(weights[i] * 16384.0f));
            left -= to[i];
            if (to[i] > to[largest]) largest = i;
        }
        to[largest] = static_cast<int16_t>(to[largest] + left); // the weights add up to one exactly: white stays white
        lowest_ = std::min(lowest_, first_[o]);
        highest_ = std::max(highest_, first_[o] + used_[o]);
    }
    if (mirrored) std::reverse(first_.begin(), first_.end());
}

void AxisFilter::rebase(int origin) {
    for (int32_t &first : first_) first -= origin;
}

void Resizer::begin(const Recipe &recipe, const Geometry &g) {
    out_width_ = recipe.out_width;
    out_height_ = recipe.out_height;
    horizontal_.build(g.x, g.width, g.virtual_width, g.window_x, out_width_, g.flip != 0);
    vertical_.build(g.y, g.height, g.virtual_height, g.window_y, out_height_, false);
}

void Resizer::start_rows(int num_rows) {
    num_rows_ = num_rows;
    stride_ = (static_cast<size_t>(out_width_) * 4 + 31) & ~size_t{31};
    // Weights of taps beyond the last row are zero, but the rows are read: they must exist.
    middle_.resize(stride_ * static_cast<size_t>(num_rows + vertical_.taps() + 2));
    line_.resize(stride_ + 32);
}

void Resizer::add_rows(const uint8_t *a, const uint8_t *b, int row) {
    uint8_t *to = &middle_[stride_ * static_cast<size_t>(row)];
    kernels().resize_rows(a, b, to, to + stride_, horizontal_.view(), out_width_);
}

void Resizer::blend_row(int row, uint8_t *to) {
    const Filter filter = vertical_.view();
    const uint8_t *rows = &middle_[stride_ * static_cast<size_t>(filter.first[row])];
    kernels().blend_rows(rows, stride_, filter.weights + static_cast<size_t>(row) * filter.taps, filter.taps, to,
                         static_cast<int>(stride_));
}

void Resizer::finish(const Recipe &recipe, const Changes &changes, Output out) {
    if (changes.operations.empty()) {
        for (int row = 0; row < out_height_; row++) {
            blend_row(row, line_.data());
            store_row(recipe, line_.data(), row, out);
        }
    } else {
        picture_.resize(stride_ * static_cast<size_t>(out_height_));
        for (int row = 0; row < out_height_; row++) blend_row(row, &picture_[stride_ * static_cast<size_t>(row)]);
        for (const Operation &operation : changes.operations)
            augmenter_.apply(operation, picture_.data(), out_width_, out_height_, stride_);
        for (int row = 0; row < out_height_; row++)
            store_row(recipe, &picture_[stride_ * static_cast<size_t>(row)], row, out);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst); // stores past the caches are weakly ordered
    erase(recipe, changes.erased, out);
}

void Resizer::store_row(const Recipe &recipe, const uint8_t *rgbx, int row, Output out) {
    const Kernels &k = kernels();
    float scale[3], shift[3];
    for (int c = 0; c < 3; c++) {
        scale[c] = 1.0f / (255.0f * recipe.deviation[c]);
        shift[c] = -recipe.mean[c] / recipe.deviation[c];
    }
    const size_t w = static_cast<size_t>(out_width_), plane = w * static_cast<size_t>(out_height_);
    const size_t at = static_cast<size_t>(row) * w;
    if (out.f32 && recipe.channels_last)
        k.store_packed_f32(rgbx, out_width_, out.f32 + 3 * at, scale, shift);
    else if (out.f32)
        k.store_planes_f32(rgbx, out_width_, out.f32 + at, out.f32 + plane + at, out.f32 + 2 * plane + at, scale, shift);
    else if (recipe.channels_last)
        k.store_packed_u8(rgbx, out_width_, out.u8 + 3 * at);
    else
        k.store_planes_u8(rgbx, out_width_, out.u8 + at, out.u8 + plane + at, out.u8 + 2 * plane + at);
}

void Resizer::erase(const Recipe &recipe, const Erased &erased, Output out) {
    const size_t w = static_cast<size_t>(out_width_), plane = w * static_cast<size_t>(out_height_);
    const size_t step = recipe.channels_last ? 3 : 1, channel = recipe.channels_last ? 1 : plane;
    for (int y = erased.top; y < erased.top + erased.height; y++)
        for (size_t c = 0; c < 3; c++) {
            const size_t first = (static_cast<size_t>(y) * w + static_cast<size_t>(erased.left)) * step + c * channel;
            const float value = recipe.erasing.value[c];
            for (size_t i = first; i < first + static_cast<size_t>(erased.width) * step; i += step)
                if (out.f32)
                    out.f32[i] = value;
                else
                    out.u8[i] = static_cast<uint8_t>(value);
        }
}

} // namespace danlu
