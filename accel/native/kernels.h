// The inner loops, compiled once per instruction set and chosen at run time.
// kernels.cpp must not use std:: templates: a copy compiled for AVX2 could be linked into code for older processors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace danlu {

// ---- Huffman decoding of baseline JPEG ----

constexpr int lookup_bits = 12;

// One symbol of a Huffman table, found by the next 12 bits of the stream.
// bits 0-5: code length + value bits; 6-9: value bits; 10-15: how far to move before the value (EOB: 63).
// 0: the code is longer than 12 bits.
struct HuffmanTable {
    uint16_t lookup[1 << lookup_bits];
    int32_t max_code[18]; // per length, left-aligned to 16 bits, exclusive; max_code[17] ends every search
    int32_t value_offset[17];
    uint8_t values[256];
};

struct McuLayout {
    int num_blocks;          // per MCU, at most 10
    uint8_t component[10];   // of each block
    uint8_t dc_table[10], ac_table[10];
};

// Where the decoder stands in one unstuffed, zero-padded entropy segment.
struct BitState {
    const uint8_t *next = nullptr, *end = nullptr;
    uint64_t bits = 0;
    int count = 0;
    int16_t prediction[4] = {0, 0, 0, 0};
};
constexpr size_t entropy_padding = 256; // zero bytes behind a segment: a block reads at most 64 * 27 bits too far

// ---- resizing ----

// Filter of one axis: output o is the sum over i < taps of weights[o * taps + i] * input[first[o] + i], in 1/16384.
struct Filter {
    int taps = 0; // even
    int32_t *first = nullptr;
    int16_t *weights = nullptr;
};

struct Kernels {
    const char *name;
    // Decode one MCU into blocks (each 64 zeroed coefficients in natural order); false: the data is not regular.
    bool (*decode_mcu)(BitState &, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &, int16_t *const *blocks);
    bool (*skip_mcus)(BitState &, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &, int64_t num_mcus);
    // Positions of 0xFF bytes in [from, to); returns how many were written, at most `room`; stops early when full.
    size_t (*find_ff)(const uint8_t *data, size_t from, size_t to, uint32_t *positions, size_t room, size_t *scanned_to);
    // Two rows of RGBX to two rows of RGBX, `out` pixels wide. A mirrored image has a mirrored filter.
    void (*resize_rows)(const uint8_t *a, const uint8_t *b, uint8_t *to_a, uint8_t *to_b, const Filter &, int out);
    // `bytes` (a multiple of 32) of one output row from `taps` input rows.
    void (*blend_rows)(const uint8_t *rows, size_t stride, const int16_t *weights, int taps, uint8_t *to, int bytes);
    void (*store_planes_f32)(const uint8_t *rgbx, int n, float *r, float *g, float *b, const float *scale, const float *shift);
    void (*store_packed_f32)(const uint8_t *rgbx, int n, float *to, const float *scale, const float *shift);
    void (*store_planes_u8)(const uint8_t *rgbx, int n, uint8_t *r, uint8_t *g, uint8_t *b);
    void (*store_packed_u8)(const uint8_t *rgbx, int n, uint8_t *to);
};

const Kernels &kernels(); // the best for this processor

namespace portable {
extern const Kernels table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels table;
}
#endif

} // namespace danlu
