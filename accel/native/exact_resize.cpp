#include "exact_resize.h"

#include <algorithm>
#include <cmath>

namespace danlu {

// Every step is Pillow's, in doubles and in its order: another rounding anywhere would show in the last bit.
void ExactAxis::build(int in, int out) {
    const double scale = static_cast<double>(in) / out;
    const double support = std::max(scale, 1.0), inverse = 1.0 / support;
    const int room = static_cast<int>(std::ceil(support)) * 2 + 1;
    taps_ = (room + 1) & ~1;
    first_.resize(static_cast<size_t>(out));
    weights_.assign(static_cast<size_t>(out) * static_cast<size_t>(taps_), 0);
    exact_.resize(static_cast<size_t>(room));
    int longest = 0;
    for (int o = 0; o < out; o++) {
        const double center = (o + 0.5) * scale;
        const int low = std::max(0, static_cast<int>(center - support + 0.5));
        const int count = std::min(in, static_cast<int>(center + support + 0.5)) - low;
        double sum = 0;
        for (int i = 0; i < count; i++) {
            const double distance = std::fabs((i + low - center + 0.5) * inverse);
            exact_[static_cast<size_t>(i)] = distance < 1.0 ? 1.0 - distance : 0.0;
            sum += exact_[static_cast<size_t>(i)];
        }
        int32_t *to = &weights_[static_cast<size_t>(o) * static_cast<size_t>(taps_)];
        for (int i = 0; i < count; i++) {
            const double weight = sum != 0.0 ? exact_[static_cast<size_t>(i)] / sum : exact_[static_cast<size_t>(i)];
            to[i] = static_cast<int>(0.5 + weight * (1 << exact_bits));
            if (to[i]) longest = std::max(longest, i + 1);
        }
        first_[static_cast<size_t>(o)] = low;
    }
    // Weights of zero at the ends of all would only cost time.
    const int shorter = std::max(2, (longest + 1) & ~1);
    for (int o = 0; shorter < taps_ && o < out; o++)
        std::copy_n(&weights_[static_cast<size_t>(o) * static_cast<size_t>(taps_)], shorter,
                    &weights_[static_cast<size_t>(o) * static_cast<size_t>(shorter)]);
    taps_ = std::min(taps_, shorter);
}

void ExactResizer::begin(int width, int height, int out_width, int out_height) {
    across_.build(width, out_width);
    down_.build(height, out_height);
    out_width_ = out_width;
    out_height_ = out_height;
    stride_ = (static_cast<size_t>(out_width) * 4 + 31) & ~size_t{31};
    // Weights of taps beyond the last row are zero, but the rows are read: they must exist.
    middle_.resize(stride_ * static_cast<size_t>(height + down_.taps()));
}

void ExactResizer::add_row(const uint8_t *rgbx, int row) {
    kernels().exact_row(rgbx, &middle_[stride_ * static_cast<size_t>(row)], across_.view(), out_width_);
}

void ExactResizer::finish(std::vector<uint8_t> &pixels) {
    const size_t out_stride = static_cast<size_t>(out_width_) * 4;
    const ExactFilter down = down_.view();
    pixels.resize(out_stride * static_cast<size_t>(out_height_) + 32); // a row is written 32 bytes at a time
    for (int row = 0; row < out_height_; row++)
        kernels().exact_blend(&middle_[stride_ * static_cast<size_t>(down.first[row])], stride_,
                              down.weights + static_cast<size_t>(row) * static_cast<size_t>(down.taps), down.taps,
                              &pixels[out_stride * static_cast<size_t>(row)], static_cast<int>(stride_));
    pixels.resize(out_stride * static_cast<size_t>(out_height_));
}

} // namespace danlu
