// Pillow's bilinear resize to the last bit, for pictures that code of the user's resizes itself.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace danlu {

// One axis: 22-bit weights, made as Pillow's Resample.c makes them.
class ExactAxis {
  public:
    void build(int in, int out);
    ExactFilter view() const { return ExactFilter{taps_, first_.data(), weights_.data()}; }
    int taps() const { return taps_; }

  private:
    int taps_ = 0; // even
    std::vector<int32_t> first_, weights_;
    std::vector<double> exact_;
};

// Take rows of RGBX from top to bottom, give out the resized picture.
class ExactResizer {
  public:
    void begin(int width, int height, int out_width, int out_height);
    void add_row(const uint8_t *rgbx, int row); // `taps` pixels behind its last one are read too
    void finish(std::vector<uint8_t> &pixels);
    int row_padding() const { return 4 * across_.taps(); }

  private:
    ExactAxis across_, down_;
    std::vector<uint8_t> middle_;
    int out_width_ = 0, out_height_ = 0;
    size_t stride_ = 0;
};

} // namespace danlu
