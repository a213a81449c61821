// Pillow's antialiased bilinear resize, for the part of an image that the output needs.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels.h"
#include "plan.h"

namespace danlu {

// One axis: which input samples are read, and with what weight.
class AxisFilter {
  public:
    // Resize [begin, begin + length) to `virtual_out` samples and keep `out` of them from `window` on.
    void build(int begin, int length, int virtual_out, int window, int out, bool mirrored);
    void rebase(int origin); // let sample `origin` be number 0

    int first_sample() const { return lowest_; }
    int last_sample() const { return highest_; } // exclusive
    Filter view() { return Filter{taps_, first_.data(), weights_.data()}; }
    int taps() const { return taps_; }

  private:
    int taps_ = 0, lowest_ = 0, highest_ = 0;
    std::vector<int32_t> first_;
    std::vector<int16_t> weights_;
    std::vector<float> exact_;
    std::vector<int32_t> used_;
};

// Where an output image goes; exactly one pointer is set.
struct Output {
    float *f32 = nullptr;
    uint8_t *u8 = nullptr;
};

// What happens to the pixels of a picture when it has its size.
struct Changes {
    std::vector<Operation> operations;
    Erased erased;
};

// Take rows of RGBX from top to bottom, give out the finished image.
class Resizer {
  public:
    void begin(const Recipe &recipe, const Geometry &geometry);
    AxisFilter &horizontal() { return horizontal_; }
    AxisFilter &vertical() { return vertical_; }
    void start_rows(int num_rows);
    void add_rows(const uint8_t *a, const uint8_t *b, int row); // b may equal a for the last odd row
    void finish(const Recipe &recipe, const Changes &changes, Output out);

  private:
    void blend_row(int row, uint8_t *to);
    void store_row(const Recipe &recipe, const uint8_t *rgbx, int row, Output out);
    void erase(const Recipe &recipe, const Erased &erased, Output out);
    AxisFilter horizontal_, vertical_;
    Augmenter augmenter_;
    std::vector<uint8_t> middle_, line_, picture_;
    int out_width_ = 0, out_height_ = 0, num_rows_ = 0;
    size_t stride_ = 0;
};

} // namespace danlu
