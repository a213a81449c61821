// From coefficients to RGBX. The arithmetic is that of libjpeg-turbo's accurate integer IDCT, its triangle upsampling and
// its colour conversion, so results are equal to the last bit; only the order of work differs.

#define DANLU_PAIR(x, y) _mm256_set1_epi32((int)((uint32_t)(uint16_t)(int16_t)(x) | (uint32_t)(uint16_t)(int16_t)(y) << 16))

// 13-bit fixed point, named after the sines and cosines they stand for.
enum : int {
    c0_298 = 2446,  c0_390 = 3196,  c0_541 = 4433,  c0_765 = 6270,  c0_899 = 7373,  c1_175 = 9633,
    c1_501 = 12299, c1_847 = 15137, c1_961 = 16069, c2_053 = 16819, c2_562 = 20995, c3_072 = 25172,
};

// One direction of the IDCT on eight registers: register i holds input i of eight columns, of two blocks (one per half).
template <int shift> inline void idct_pass(__m256i r[8]) {
    const __m256i round = _mm256_set1_epi32(1 << (shift - 1)), zero = _mm256_setzero_si256();
    const __m256i sum04 = _mm256_add_epi16(r[0], r[4]), diff04 = _mm256_sub_epi16(r[0], r[4]);
    const __m256i z3 = _mm256_add_epi16(r[7], r[3]), z4 = _mm256_add_epi16(r[5], r[1]);
    __m256i out[8][2];
    for (int half = 0; half < 2; half++) {
        auto mix = [half](__m256i x, __m256i y) { return half ? _mm256_unpackhi_epi16(x, y) : _mm256_unpacklo_epi16(x, y); };
        const __m256i e26 = mix(r[2], r[6]), o34 = mix(z3, z4), o71 = mix(r[7], r[1]), o53 = mix(r[5], r[3]);
        // x in the upper half of 32 bits, moved down by three: x * 8192
        const __m256i even0 = _mm256_add_epi32(_mm256_srai_epi32(mix(zero, sum04), 3), round);
        const __m256i even1 = _mm256_add_epi32(_mm256_srai_epi32(mix(zero, diff04), 3), round);
        const __m256i even2 = _mm256_madd_epi16(e26, DANLU_PAIR(c0_541, c0_541 - c1_847));
        const __m256i even3 = _mm256_madd_epi16(e26, DANLU_PAIR(c0_541 + c0_765, c0_541));
        const __m256i t10 = _mm256_add_epi32(even0, even3), t13 = _mm256_sub_epi32(even0, even3);
        const __m256i t11 = _mm256_add_epi32(even1, even2), t12 = _mm256_sub_epi32(even1, even2);
        const __m256i w3 = _mm256_madd_epi16(o34, DANLU_PAIR(c1_175 - c1_961, c1_175));
        const __m256i w4 = _mm256_madd_epi16(o34, DANLU_PAIR(c1_175, c1_175 - c0_390));
        const __m256i odd0 = _mm256_add_epi32(_mm256_madd_epi16(o71, DANLU_PAIR(c0_298 - c0_899, -c0_899)), w3);
        const __m256i odd3 = _mm256_add_epi32(_mm256_madd_epi16(o71, DANLU_PAIR(-c0_899, c1_501 - c0_899)), w4);
        const __m256i odd1 = _mm256_add_epi32(_mm256_madd_epi16(o53, DANLU_PAIR(c2_053 - c2_562, -c2_562)), w4);
        const __m256i odd2 = _mm256_add_epi32(_mm256_madd_epi16(o53, DANLU_PAIR(-c2_562, c3_072 - c2_562)), w3);
        out[0][half] = _mm256_srai_epi32(_mm256_add_epi32(t10, odd3), shift);
        out[7][half] = _mm256_srai_epi32(_mm256_sub_epi32(t10, odd3), shift);
        out[1][half] = _mm256_srai_epi32(_mm256_add_epi32(t11, odd2), shift);
        out[6][half] = _mm256_srai_epi32(_mm256_sub_epi32(t11, odd2), shift);
        out[2][half] = _mm256_srai_epi32(_mm256_add_epi32(t12, odd1), shift);
        out[5][half] = _mm256_srai_epi32(_mm256_sub_epi32(t12, odd1), shift);
        out[3][half] = _mm256_srai_epi32(_mm256_add_epi32(t13, odd0), shift);
        out[4][half] = _mm256_srai_epi32(_mm256_sub_epi32(t13, odd0), shift);
    }
    for (int i = 0; i < 8; i++) r[i] = _mm256_packs_epi32(out[i][0], out[i][1]);
}

// Rows to columns, within each half.
inline void transpose(__m256i r[8]) {
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        a[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        b[4 * i] = _mm256_unpacklo_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 1] = _mm256_unpackhi_epi32(a[4 * i], a[4 * i + 2]);
        b[4 * i + 2] = _mm256_unpacklo_epi32(a[4 * i + 1], a[4 * i + 3]);
        b[4 * i + 3] = _mm256_unpackhi_epi32(a[4 * i + 1], a[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        r[2 * i] = _mm256_unpacklo_epi64(b[i], b[i + 4]);
        r[2 * i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 4]);
    }
}

inline __m256i two_rows(const int16_t *first, const int16_t *second) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)first)),
                                   _mm_loadu_si128((const __m128i *)second), 1);
}

inline void store_two_rows(uint8_t *to, size_t stride, __m128i rows) {
    _mm_storel_epi64((__m128i *)to, rows);
    _mm_storeh_pi((__m64 *)(to + stride), _mm_castsi128_ps(rows));
}

// Two blocks that need not have anything in common. Returns the magnitudes in their first rows, or-ed into `seen`.
inline __m256i idct_pair(__m256i seen, const int16_t *a, const int16_t *b, const int16_t *quantise_a, const int16_t *quantise_b, uint8_t *to_a,
                      size_t stride_a, uint8_t *to_b, size_t stride_b) {
    __m256i r[8];
    for (int i = 0; i < 8; i++)
        r[i] = _mm256_mullo_epi16(two_rows(a + 8 * i, b + 8 * i), two_rows(quantise_a + 8 * i, quantise_b + 8 * i));
    seen = _mm256_or_si256(seen, _mm256_abs_epi16(r[0]));
    idct_pass<11>(r);
    transpose(r);
    idct_pass<18>(r);
    // Now register i holds column i. To bytes, and back to rows.
    const __m256i middle = _mm256_set1_epi8((char)128);
    __m256i q[4], t[4], u[4];
    for (int i = 0; i < 4; i++) q[i] = _mm256_add_epi8(_mm256_packs_epi16(r[i], r[i + 4]), middle);
    t[0] = _mm256_unpacklo_epi8(q[0], q[2]); // columns 0 2
    t[1] = _mm256_unpacklo_epi8(q[1], q[3]); // 1 3
    t[2] = _mm256_unpackhi_epi8(q[0], q[2]); // 4 6
    t[3] = _mm256_unpackhi_epi8(q[1], q[3]); // 5 7
    u[0] = _mm256_unpacklo_epi8(t[0], t[1]); // columns 0-3 of rows 0-3
    u[1] = _mm256_unpackhi_epi8(t[0], t[1]); // of rows 4-7
    u[2] = _mm256_unpacklo_epi8(t[2], t[3]); // columns 4-7
    u[3] = _mm256_unpackhi_epi8(t[2], t[3]);
    for (int i = 0; i < 2; i++) {
        const __m256i upper = _mm256_unpacklo_epi32(u[i], u[i + 2]), lower = _mm256_unpackhi_epi32(u[i], u[i + 2]);
        store_two_rows(to_a + (4 * (size_t)i) * stride_a, stride_a, _mm256_castsi256_si128(upper));
        store_two_rows(to_a + (4 * (size_t)i + 2) * stride_a, stride_a, _mm256_castsi256_si128(lower));
        store_two_rows(to_b + (4 * (size_t)i) * stride_b, stride_b, _mm256_extracti128_si256(upper, 1));
        store_two_rows(to_b + (4 * (size_t)i + 2) * stride_b, stride_b, _mm256_extracti128_si256(lower, 1));
    }
    return seen;
}

inline void fill_block(int value, uint8_t *to, size_t stride) {
    const int level = ((value + 4) >> 3) + 128;
    const uint64_t row = 0x0101010101010101ULL * (uint64_t)(level < 0 ? 0 : level > 255 ? 255 : level);
    for (int i = 0; i < 8; i++) memcpy(to + (size_t)i * stride, &row, 8);
}

bool inverse_dct(int16_t *coefficients, const uint8_t *ends, int num_mcus, int num_blocks, const BlockTarget *targets) {
    struct Waiting {
        const int16_t *from, *quantisation;
        uint8_t *to;
        size_t stride;
    } waiting{nullptr, nullptr, nullptr, 0};
    const int16_t *from = coefficients;
    __m256i seen = _mm256_setzero_si256();
    for (int mcu = 0; mcu < num_mcus; mcu++) {
        for (int b = 0; b < num_blocks; b++, from += 64) {
            const BlockTarget &target = targets[b];
            uint8_t *to = target.to + (size_t)mcu * target.step;
            if (*ends++ == 1) {
                const int value = (int16_t)(from[0] * target.quantisation[0]);
                seen = _mm256_or_si256(seen, _mm256_set1_epi16((short)(value < 0 ? -value : value)));
                fill_block(value, to, target.stride);
            } else if (waiting.from) {
                seen = idct_pair(seen, waiting.from, from, waiting.quantisation, target.quantisation, waiting.to, waiting.stride, to,
                          target.stride);
                waiting.from = nullptr;
            } else {
                waiting = Waiting{from, target.quantisation, to, target.stride};
            }
        }
    }
    if (waiting.from) {
        uint8_t nobody[64];
        seen = idct_pair(seen, waiting.from, waiting.from, waiting.quantisation, waiting.quantisation, waiting.to, waiting.stride,
                         nobody, 8);
    }
    memset(coefficients, 0, (size_t)num_mcus * (size_t)num_blocks * 128);
    // No picture has them, and libjpeg-turbo has a shortcut that wraps around there.
    return _mm256_testz_si256(seen, _mm256_set1_epi16((short)0xE000));
}

inline __m256i widened(const uint8_t *p) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p)); }
inline __m256i tripled(__m256i v) { return _mm256_add_epi16(v, _mm256_add_epi16(v, v)); }

// Even and odd outputs of sixteen samples, as 32 bytes.
inline void store_interleaved(uint8_t *to, __m256i even, __m256i odd) {
    _mm256_storeu_si256((__m256i *)to, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

void upsample_2x1(const uint8_t *from, int n, uint8_t *to) {
    const __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    for (int i = 0; i < n; i += 16) {
        const __m256i three = tripled(widened(from + i));
        const __m256i even = _mm256_add_epi16(_mm256_add_epi16(three, widened(from + i - 1)), one);
        const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(three, widened(from + i + 1)), two);
        store_interleaved(to + 2 * i, _mm256_srli_epi16(even, 2), _mm256_srli_epi16(odd, 2));
    }
}

void upsample_2x2(const uint8_t *nearer, const uint8_t *farther, int n, uint8_t *to) {
    const __m256i seven = _mm256_set1_epi16(7), eight = _mm256_set1_epi16(8);
    auto column = [&](int i) { return _mm256_add_epi16(tripled(widened(nearer + i)), widened(farther + i)); };
    for (int i = 0; i < n; i += 16) {
        const __m256i three = tripled(column(i));
        const __m256i even = _mm256_add_epi16(_mm256_add_epi16(three, column(i - 1)), eight);
        const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(three, column(i + 1)), seven);
        store_interleaved(to + 2 * i, _mm256_srli_epi16(even, 4), _mm256_srli_epi16(odd, 4));
    }
}

inline __m256i clamped_words(__m256i v) {
    return _mm256_min_epi16(_mm256_max_epi16(v, _mm256_setzero_si256()), _mm256_set1_epi16(255));
}

// round(v * factor / 65536) for small v and 16-bit factors
inline __m256i scaled(__m256i v, int factor) {
    const __m256i doubled = _mm256_mulhi_epi16(_mm256_add_epi16(v, v), _mm256_set1_epi16((short)factor));
    return _mm256_srai_epi16(_mm256_add_epi16(doubled, _mm256_set1_epi16(1)), 1);
}

void ycc_to_rgbx(const uint8_t *y_row, const uint8_t *cb_row, const uint8_t *cr_row, int n, uint8_t *to) {
    const __m256i middle = _mm256_set1_epi16(128), half = _mm256_set1_epi32(1 << 15), opaque = _mm256_set1_epi16((short)0xFF00);
    const __m256i for_green = DANLU_PAIR(-22554, 65536 - 46802); // -0.34414, 1 - 0.71414
    for (int i = 0; i < n; i += 16) {
        const __m256i y = widened(y_row + i);
        const __m256i cb = _mm256_sub_epi16(widened(cb_row + i), middle), cr = _mm256_sub_epi16(widened(cr_row + i), middle);
        // 1.402 = 1 + 0.402, 1.772 = 2 - 0.228: the fractions fit 16 bits
        const __m256i r = _mm256_add_epi16(_mm256_add_epi16(y, cr), scaled(cr, 91881 - 65536));
        const __m256i b = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), scaled(cb, 116130 - 131072));
        const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), for_green);
        const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), for_green);
        const __m256i part = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, half), 16),
                                                _mm256_srai_epi32(_mm256_add_epi32(high, half), 16));
        const __m256i g = _mm256_add_epi16(_mm256_sub_epi16(y, cr), part);
        const __m256i rg = _mm256_or_si256(clamped_words(r), _mm256_slli_epi16(clamped_words(g), 8));
        const __m256i bx = _mm256_or_si256(clamped_words(b), opaque);
        const __m256i first = _mm256_unpacklo_epi16(rg, bx), second = _mm256_unpackhi_epi16(rg, bx);
        _mm256_storeu_si256((__m256i *)(to + 4 * i), _mm256_permute2x128_si256(first, second, 0x20));
        _mm256_storeu_si256((__m256i *)(to + 4 * i + 32), _mm256_permute2x128_si256(first, second, 0x31));
    }
}
