// What to do with one image: which part of it, how large it becomes, mirrored or not, and how its pixels change.
// The Python twin of this file is records/draws.py; both must draw the same numbers.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "augment.h"

namespace danlu {

enum class Crop : int32_t {
    whole = 0,          // resize the whole image to the output size
    random_resized = 1, // torchvision's RandomResizedCrop
    center = 2,         // torchvision's Resize(short side) + CenterCrop
};

struct Recipe {
    Crop crop = Crop::whole;
    int32_t out_width = 224, out_height = 224;
    double scale_min = 0.08, scale_max = 1.0;
    double ratio_min = 3.0 / 4.0, ratio_max = 4.0 / 3.0;
    int32_t short_side = 256; // Crop::center only
    double flip_probability = 0.0;
    int32_t normalise = 1;      // 1: float32 of (v/255 - mean) / deviation; 0: uint8
    int32_t channels_last = 0;  // memory order of the output
    std::array<float, 3> mean{0, 0, 0}, deviation{1, 1, 1};
    std::vector<AugmentStep> steps; // after the crop is resized and mirrored
    Erasing erasing;                // of the finished image
};

// The image's box [x, x+width) x [y, y+height) is resized to virtual_width x virtual_height;
// the window of the output size that begins at (window_x, window_y) is what comes out.
struct Geometry {
    int32_t x, y, width, height;
    int32_t virtual_width, virtual_height;
    int32_t window_x, window_y;
    int32_t flip;
    int32_t image_width, image_height;
};
constexpr int geometry_fields = sizeof(Geometry) / sizeof(int32_t);

// A stream of random numbers that is a pure function of its key.
class Draws {
  public:
    explicit Draws(uint64_t key) : state_(key) {}
    double uniform(); // [0, 1), 53 bits

  private:
    uint64_t state_;
};

Geometry draw_geometry(const Recipe &recipe, int image_width, int image_height, uint64_t key);

// A rectangle of the output; nothing if it has no height or width.
struct Erased {
    int32_t top = 0, left = 0, height = 0, width = 0;
};

// Each has random numbers of its own: what is drawn for the crop does not depend on them, nor they on it.
std::vector<Operation> draw_operations(const Recipe &recipe, uint64_t key);
Erased draw_erased(const Recipe &recipe, uint64_t key);

} // namespace danlu
