// What a recipe may do to the pixels of a crop: drawn in plan.cpp, done here, with the results of Pillow to the last bit.
// The Python twin of the first half is records/augment.py.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace danlu {

// In torchvision's order: the first `num_choices` are what RandAugment and TrivialAugmentWide choose from.
enum class Op : int32_t {
    identity, shear_x, shear_y, translate_x, translate_y, rotate, brightness, color, contrast, sharpness, posterize, solarize,
    autocontrast, equalize, hue,
};
constexpr int num_choices = 14, num_ops = 15;

struct Operation {
    Op op = Op::identity;
    double value = 0; // degrees, pixels, bits, a threshold, or the factor of a colour
    std::array<uint8_t, 3> fill{0, 0, 0};
    bool bilinear = false;
};

// One step of a recipe: operations from a table of magnitudes, or a colour jitter.
struct AugmentStep {
    int32_t times = 0;            // how many operations; 0: a jitter
    int32_t bins = 0, bin = -1;   // -1: drawn
    std::vector<double> table;    // [num_choices][bins]
    std::array<uint8_t, 3> fill{0, 0, 0};
    bool bilinear = false;
    std::array<double, 8> ranges{}; // of brightness, contrast, saturation, hue: smallest and largest
    std::array<bool, 4> jitters{};  // which of the four
};

struct Erasing {
    double probability = 0, scale_min = 0, scale_max = 0, ratio_min = 1, ratio_max = 1;
    std::array<float, 3> value{0, 0, 0}; // as it is written: levels where the output is bytes
};

// Changes a picture in place; keeps its buffers for the next one.
class Augmenter {
  public:
    // Rows of RGBX, `stride` bytes apart, a multiple of 4. Sides are 1 to 16384.
    void apply(const Operation &operation, uint8_t *rgbx, int width, int height, size_t stride);

  private:
    void move(const Operation &operation, uint8_t *rgbx, int width, int height, size_t stride);
    void sharpen(double factor, uint8_t *rgbx, int width, int height, size_t stride);
    std::vector<uint8_t> before_;
};

} // namespace danlu
