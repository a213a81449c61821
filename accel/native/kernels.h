// The inner loops, compiled once per instruction set and chosen at run time.
// kernels.cpp must not use std:: templates: a copy compiled for AVX2 could be linked into code for older processors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace danlu {

// ---- Huffman decoding of baseline JPEG ----

constexpr int lookup_bits = 11, quick_bits = 10; // small enough to stay in the first cache beside everything else

// A symbol together with its value, where both fit into the next 10 bits of the stream, as nearly all do.
struct QuickSymbol {
    uint8_t total;   // code length + value bits; 0: look into `lookup`
    uint8_t advance; // how far to move before the value (EOB: 63)
    int16_t value;
};

// One symbol of a Huffman table, found by the next 11 bits of the stream.
// bits 0-5: code length + value bits; 6-9: value bits; 10-15: how far to move before the value.
// 0: the code is longer than 11 bits.
struct HuffmanTable {
    QuickSymbol quick[1 << quick_bits]; // of AC tables only
    uint16_t lookup[1 << lookup_bits];
    int32_t max_code[18]; // per length, left-aligned to 16 bits, exclusive; max_code[17] ends every search
    int32_t value_offset[17];
    uint8_t values[256];
};

constexpr int max_mcu_blocks = 10;

struct McuLayout {
    int num_blocks;                    // per MCU
    uint8_t component[max_mcu_blocks]; // of each block
    uint8_t dc_table[max_mcu_blocks], ac_table[max_mcu_blocks];
};

// Where the decoder stands in one unstuffed, zero-padded entropy segment.
struct BitState {
    const uint8_t *next = nullptr, *end = nullptr;
    uint64_t bits = 0;
    int count = 0;
    int16_t prediction[4] = {0, 0, 0, 0};
};

// Neighbouring MCUs of one segment. `coefficients` of all their blocks are zero before; of each block `ends` then says how
// many of them, in the order of the file, may be anything else.
struct Run {
    BitState bits;
    int num_mcus = 0;
    int16_t *coefficients = nullptr;
    uint8_t *ends = nullptr;
};
constexpr size_t entropy_padding = 256; // zero bytes behind a segment: a block reads at most 64 * 27 bits too far

// ---- from coefficients to pixels; with the same results as libjpeg-turbo's JDCT_ISLOW and fancy upsampling ----

// Where the blocks of one place in the MCU go.
struct BlockTarget {
    uint8_t *to = nullptr; // of the first MCU
    size_t stride = 0;     // from row to row
    size_t step = 0;       // from MCU to MCU
    const int16_t *quantisation = nullptr; // 64 factors in natural order
};

constexpr size_t pixel_padding = 128;

// ---- resizing ----

// Filter of one axis: output o is the sum over i < taps of weights[o * taps + i] * input[first[o] + i], in 1/16384.
struct Filter {
    int taps = 0; // even
    int32_t *first = nullptr;
    int16_t *weights = nullptr;
};

// The same for the exact resize, in 1/(1 << exact_bits).
struct ExactFilter {
    int taps = 0; // even
    const int32_t *first = nullptr;
    const int32_t *weights = nullptr;
};
constexpr int exact_bits = 22; // Pillow's PRECISION_BITS

struct Kernels {
    const char *name;
    // Decode one MCU into blocks (each 64 zeroed coefficients in natural order); false: the data is not regular.
    bool (*decode_mcu)(BitState &, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &, int16_t *const *blocks);
    bool (*skip_mcus)(BitState &, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &, int64_t num_mcus);
    // The same for several runs, two of them side by side: decoding waits for its own last step more than for anything.
    bool (*decode_runs)(Run *runs, int num_runs, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &);
    // Positions of 0xFF bytes in [from, to); returns how many were written, at most `room`; stops early when full.
    size_t (*find_ff)(const uint8_t *data, size_t from, size_t to, uint32_t *positions, size_t room, size_t *scanned_to);
    // These four may be absent: then libjpeg does it all. `coefficients` are zero again afterwards. False: some are too large.
    bool (*inverse_dct)(int16_t *coefficients, const uint8_t *ends, int num_mcus, int num_blocks, const BlockTarget *targets);
    // `n` samples to 2 * n; the sample before the first and the one behind the last are read too. They may read and write
    // `pixel_padding` bytes too far.
    void (*upsample_2x1)(const uint8_t *from, int n, uint8_t *to);
    void (*upsample_2x2)(const uint8_t *nearer, const uint8_t *farther, int n, uint8_t *to);
    void (*ycc_to_rgbx)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int n, uint8_t *to);
    // Two rows of RGBX to two rows of RGBX, `out` pixels wide. A mirrored image has a mirrored filter.
    void (*resize_rows)(const uint8_t *a, const uint8_t *b, uint8_t *to_a, uint8_t *to_b, const Filter &, int out);
    // The exact ones take a row, and rows, by themselves.
    void (*exact_row)(const uint8_t *from, uint8_t *to, const ExactFilter &, int out);
    void (*exact_blend)(const uint8_t *rows, size_t stride, const int32_t *weights, int taps, uint8_t *to, int bytes);
    // `bytes` (a multiple of 32) of one output row from `taps` input rows.
    void (*blend_rows)(const uint8_t *rows, size_t stride, const int16_t *weights, int taps, uint8_t *to, int bytes);
    void (*store_planes_f32)(const uint8_t *rgbx, int n, float *r, float *g, float *b, const float *scale, const float *shift);
    void (*store_packed_f32)(const uint8_t *rgbx, int n, float *to, const float *scale, const float *shift);
    void (*store_planes_u8)(const uint8_t *rgbx, int n, uint8_t *r, uint8_t *g, uint8_t *b);
    void (*store_packed_u8)(const uint8_t *rgbx, int n, uint8_t *to);
    // Pillow's blend, away from a grey: 0 gives the grey, 1 leaves pixels as they are. X becomes anything.
    void (*blend_grey)(uint8_t *rgbx, int n, float factor, int grey);
    void (*blend_own_grey)(uint8_t *rgbx, int n, float factor); // each pixel has its own
    uint64_t (*sum_grey)(const uint8_t *rgbx, int n);
    // The same away from a picture that is blurred 3 x 3; the pixel before and behind is read too.
    void (*sharpen_row)(const uint8_t *above, const uint8_t *row, const uint8_t *below, uint8_t *to, int bytes, float factor);
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
