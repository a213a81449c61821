#include "plan.h"

#include <cmath>
#include <utility>

namespace danlu {

namespace {

uint64_t splitmix64(uint64_t &state) {
    uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

// Python's round(): half to even, which is the default rounding mode of nearbyint.
int round_half_even(double value) { return static_cast<int>(std::nearbyint(value)); }

void random_resized(const Recipe &recipe, Draws &draws, Geometry &g) {
    const int width = g.image_width, height = g.image_height;
    const double area = static_cast<double>(width) * height;
    const double log_min = std::log(recipe.ratio_min), log_max = std::log(recipe.ratio_max);
    for (int attempt = 0; attempt < 10; attempt++) {
        const double target = area * (recipe.scale_min + (recipe.scale_max - recipe.scale_min) * draws.uniform());
        const double ratio = std::exp(log_min + (log_max - log_min) * draws.uniform());
        const int w = round_half_even(std::sqrt(target * ratio));
        const int h = round_half_even(std::sqrt(target / ratio));
        if (w > 0 && w <= width && h > 0 && h <= height) {
            g.y = static_cast<int>(draws.uniform() * (height - h + 1));
            g.x = static_cast<int>(draws.uniform() * (width - w + 1));
            g.width = w;
            g.height = h;
            return;
        }
    }
    const double ratio = static_cast<double>(width) / height;
    g.width = width;
    g.height = height;
    if (ratio < recipe.ratio_min)
        g.height = round_half_even(width / recipe.ratio_min);
    else if (ratio > recipe.ratio_max)
        g.width = round_half_even(height * recipe.ratio_max);
    if (g.width < 1) g.width = 1;
    if (g.height < 1) g.height = 1;
    if (g.width > width) g.width = width;
    if (g.height > height) g.height = height;
    g.x = (width - g.width) / 2;
    g.y = (height - g.height) / 2;
}

// Resize the short side to short_side, then cut the middle: only the window of the big result is computed.
// An image smaller than the window is padded by torchvision; such recipes never get here (see recipe.py).
void center(const Recipe &recipe, Geometry &g) {
    const int w = g.image_width, h = g.image_height;
    const int64_t side = recipe.short_side;
    if (w <= h) {
        g.virtual_width = static_cast<int32_t>(side);
        g.virtual_height = static_cast<int32_t>(side * h / w);
    } else {
        g.virtual_height = static_cast<int32_t>(side);
        g.virtual_width = static_cast<int32_t>(side * w / h);
    }
    g.window_x = round_half_even((g.virtual_width - recipe.out_width) / 2.0);
    g.window_y = round_half_even((g.virtual_height - recipe.out_height) / 2.0);
}

// Random numbers that have nothing to do with those of the crop, nor with those of another `number`.
Draws stream(uint64_t key, uint64_t number) {
    uint64_t state = key + number * 0xD1B54A32D192ED03ULL;
    return Draws(splitmix64(state));
}

// One of the operations that RandAugment and TrivialAugmentWide know. Always three numbers are drawn.
Operation choose(const AugmentStep &step, Draws &draws) {
    const int chosen = static_cast<int>(draws.uniform() * num_choices);
    const int any = static_cast<int>(draws.uniform() * step.bins);
    const bool negative = draws.uniform() < 0.5;
    const Op op = static_cast<Op>(chosen);
    double value = step.table[static_cast<size_t>(chosen) * step.bins + (step.bin < 0 ? any : step.bin)];
    if (op >= Op::shear_x && op <= Op::sharpness && negative) value = -value;
    if (op >= Op::brightness && op <= Op::sharpness) value = 1.0 + value;
    return {op, value, step.fill, step.bilinear};
}

// Factors in torchvision's order, applied in a random one.
void jitter(const AugmentStep &step, Draws &draws, std::vector<Operation> &operations) {
    constexpr Op ops[4] = {Op::brightness, Op::contrast, Op::color, Op::hue};
    int order[4] = {0, 1, 2, 3};
    for (int i = 3; i > 0; i--) std::swap(order[i], order[static_cast<int>(draws.uniform() * (i + 1))]);
    double factors[4];
    for (int i = 0; i < 4; i++)
        factors[i] = step.ranges[2 * i] + (step.ranges[2 * i + 1] - step.ranges[2 * i]) * draws.uniform();
    for (const int i : order)
        if (step.jitters[i]) operations.push_back({ops[i], factors[i], step.fill, step.bilinear});
}

} // namespace

double Draws::uniform() { return static_cast<double>(splitmix64(state_) >> 11) * (1.0 / 9007199254740992.0); }

Geometry draw_geometry(const Recipe &recipe, int image_width, int image_height, uint64_t key) {
    Geometry g{};
    g.image_width = image_width;
    g.image_height = image_height;
    g.width = image_width;
    g.height = image_height;
    g.virtual_width = recipe.out_width;
    g.virtual_height = recipe.out_height;
    Draws draws(key);
    if (recipe.crop == Crop::random_resized)
        random_resized(recipe, draws, g);
    else if (recipe.crop == Crop::center)
        center(recipe, g);
    g.flip = recipe.flip_probability > 0 && draws.uniform() < recipe.flip_probability;
    return g;
}

std::vector<Operation> draw_operations(const Recipe &recipe, uint64_t key) {
    std::vector<Operation> operations;
    Draws draws = stream(key, 1);
    for (const AugmentStep &step : recipe.steps) {
        if (step.times == 0) jitter(step, draws, operations);
        for (int i = 0; i < step.times; i++) operations.push_back(choose(step, draws));
    }
    return operations;
}

Erased draw_erased(const Recipe &recipe, uint64_t key) {
    const Erasing &e = recipe.erasing;
    if (e.probability <= 0) return {};
    Draws draws = stream(key, 2);
    if (draws.uniform() >= e.probability) return {};
    const double area = static_cast<double>(recipe.out_width) * recipe.out_height;
    const double log_min = std::log(e.ratio_min), log_max = std::log(e.ratio_max);
    for (int attempt = 0; attempt < 10; attempt++) {
        const double target = area * (e.scale_min + (e.scale_max - e.scale_min) * draws.uniform());
        const double ratio = std::exp(log_min + (log_max - log_min) * draws.uniform());
        const double h = std::nearbyint(std::sqrt(target * ratio)), w = std::nearbyint(std::sqrt(target / ratio));
        if (h < recipe.out_height && w < recipe.out_width) {
            const int height = static_cast<int>(h), width = static_cast<int>(w);
            const int top = static_cast<int>(draws.uniform() * (recipe.out_height - height + 1));
            return {top, static_cast<int>(draws.uniform() * (recipe.out_width - width + 1)), height, width};
        }
    }
    return {};
}

} // namespace danlu
