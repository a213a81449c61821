// The fuzz target: one input goes through everything that touches bytes from outside.
// The first two bytes choose what is done with the rest, so that a mutated corpus also explores recipes.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "crc32c.h"
#include "jpeg.h"
#include "pool.h"

using namespace danlu;

namespace {

constexpr int64_t small_enough = 1 << 22; // pixels; larger ones only cost time and memory here

// Width times height of a JPEG's first frame header, 0 if there is none.
int64_t pixels_of(const uint8_t *p, size_t size) {
    for (size_t i = 0; i + 9 < size; i++)
        if (p[i] == 0xFF && p[i + 1] >= 0xC0 && p[i + 1] <= 0xCF && p[i + 1] != 0xC4 && p[i + 1] != 0xC8 && p[i + 1] != 0xCC)
            return static_cast<int64_t>(p[i + 5] << 8 | p[i + 6]) * (p[i + 7] << 8 | p[i + 8]);
    return 0;
}

// Random operations of any magnitude, a jitter, and a rectangle that is erased.
void augment_by(Recipe &recipe, int choice) {
    AugmentStep choices, jitter;
    choices.times = choice & 3;
    choices.bins = 3;
    choices.table.assign(num_choices * 3, 0.0);
    for (size_t op = 0; op < num_choices; op++) {
        choices.table[3 * op + 1] = 0.9;
        choices.table[3 * op + 2] = 16384;
    }
    choices.bilinear = choice & 4;
    jitter.ranges = {0, 2, 0, 1e6, 0, 2, -0.5, 0.5};
    jitter.jitters = {true, true, true, true};
    if (choices.times) recipe.steps.push_back(choices);
    if (choice & 8) recipe.steps.push_back(jitter);
    recipe.erasing = Erasing{choice & 1 ? 0.5 : 0, 0, 1, 0.01, 100, {1, 2, 255}};
}

} // namespace

// Returns a digest of what came out, so that two builds can be compared.
extern "C" uint32_t danlu_digest_one_input(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const int choice = data[0], key = data[1];
    data += 2;
    size -= 2;
    if (pixels_of(data, size) > small_enough) return 0;

    Recipe recipe;
    recipe.crop = static_cast<Crop>(choice % 3);
    recipe.out_width = 1 + choice % 61;
    recipe.out_height = 1 + choice % 43;
    recipe.short_side = 64;
    recipe.normalise = 0;
    recipe.channels_last = choice & 1;
    recipe.flip_probability = 0.5;
    augment_by(recipe, choice >> 4);
    std::vector<uint8_t> out(static_cast<size_t>(recipe.out_width) * recipe.out_height * 3);
    static Decoder decoder;
    decoder.allow(own_parts());
    Geometry geometry{};
    Status status = decoder.run(data, size, recipe, static_cast<uint64_t>(key), Output{nullptr, out.data()}, geometry);
    uint32_t digest = static_cast<uint32_t>(status);
    if (status == Status::ok) digest ^= crc32c(out.data(), out.size());

    std::vector<uint8_t> own, theirs;
    int width = 0, height = 0;
    decoder.allow(OwnParts{});
    const Status with_library = decoder.decode(data, size, theirs, width, height);
    for (const OwnParts parts : {own_parts(), OwnParts{own_parts().huffman, false}}) {
        decoder.allow(parts);
        const Status with_own = decoder.decode(data, size, own, width, height);
        if (with_own != with_library || (with_own == Status::ok && own != theirs)) __builtin_trap(); // they must agree
    }

    if (with_library == Status::ok) { // a part of it, resized
        const int left = key % width, top = choice % height;
        const Box box{left, top, left + 1 + choice % (width - left), top + 1 + key % (height - top)};
        std::vector<uint8_t> resized;
        decoder.allow(own_parts());
        if (decoder.resize_box(data, size, box, recipe.out_width, recipe.out_height, resized) != Status::ok) __builtin_trap();
        digest ^= crc32c(resized.data(), resized.size());
    }

    const std::vector<uint8_t> rewritten = transcode(data, size, 1 + choice % 9, choice & 2);
    if (!rewritten.empty() && with_library == Status::ok) {
        std::vector<uint8_t> again;
        decoder.allow(own_parts());
        if (decoder.decode(rewritten.data(), rewritten.size(), again, width, height) != Status::ok || again != theirs)
            __builtin_trap(); // a rewrite that changes a pixel
    }

    // The input as a whole record with framing.
    std::vector<uint8_t> buffer(data, data + size);
    buffer.resize(size + 16);
    const Item item{-1, 0, static_cast<uint32_t>(size), static_cast<uint32_t>(key), static_cast<uint32_t>(choice) << 20, 0};
    verify_record(item, buffer, true);
    return digest;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    danlu_digest_one_input(data, size);
    return 0;
}
