// RGBX rows, eight-bit samples, 14-bit weights: products of two taps are summed by one multiply-add.

// Bytes R0G0B0X0 R1G1B1X1 of two neighbouring pixels to words R0R1 G0G1 B0B1 X0X1, in both halves of the register.
inline __m256i pair_up_low(__m256i v) {
    const __m256i order = _mm256_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1, //
                                           0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1);
    return _mm256_shuffle_epi8(v, order);
}
inline __m256i pair_up_high(__m256i v) {
    const __m256i order = _mm256_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1, //
                                           8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1);
    return _mm256_shuffle_epi8(v, order);
}

inline __m256i two_weights(const int16_t *weights) {
    int32_t both;
    memcpy(&both, weights, 4);
    return _mm256_set1_epi32(both);
}

// One output pixel of two rows: four sums of row a in the low half, of row b in the high half.
template <int fixed_taps>
inline __m256i filtered(const uint8_t *a, const uint8_t *b, const int16_t *weights, int any_taps) {
    const int taps = fixed_taps ? fixed_taps : any_taps;
    __m256i sum = _mm256_set1_epi32(1 << 13);
    int i = 0;
    for (; i + 4 <= taps; i += 4) {
        const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(a + 4 * i))),
                                                  _mm_loadu_si128((const __m128i *)(b + 4 * i)), 1);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pair_up_low(v), two_weights(weights + i)));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pair_up_high(v), two_weights(weights + i + 2)));
    }
    if (i < taps) {
        const __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(a + 4 * i))),
                                                  _mm_loadl_epi64((const __m128i *)(b + 4 * i)), 1);
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pair_up_low(v), two_weights(weights + i)));
    }
    return _mm256_srai_epi32(sum, 14);
}

template <int fixed_taps>
inline void resize_rows_of(const uint8_t *a, const uint8_t *b, uint8_t *to_a, uint8_t *to_b, const Filter &filter, int out) {
    const int taps = fixed_taps ? fixed_taps : filter.taps;
    const int16_t *weights = filter.weights;
    const int32_t *first = filter.first;
    int o = 0;
    for (; o + 2 <= out; o += 2, weights += 2 * taps) {
        const size_t at0 = 4 * (size_t)first[o], at1 = 4 * (size_t)first[o + 1];
        const __m256i p0 = filtered<fixed_taps>(a + at0, b + at0, weights, taps);
        const __m256i p1 = filtered<fixed_taps>(a + at1, b + at1, weights + taps, taps);
        __m256i both = _mm256_packs_epi32(p0, p1);
        both = _mm256_packus_epi16(both, both);
        _mm_storel_epi64((__m128i *)(to_a + 4 * o), _mm256_castsi256_si128(both));
        _mm_storel_epi64((__m128i *)(to_b + 4 * o), _mm256_extracti128_si256(both, 1));
    }
    if (o < out) {
        const size_t at = 4 * (size_t)first[o];
        __m256i p = filtered<fixed_taps>(a + at, b + at, weights, taps);
        p = _mm256_packs_epi32(p, p);
        p = _mm256_packus_epi16(p, p);
        const int32_t pixel_a = _mm256_extract_epi32(p, 0), pixel_b = _mm256_extract_epi32(p, 4);
        memcpy(to_a + 4 * o, &pixel_a, 4);
        memcpy(to_b + 4 * o, &pixel_b, 4);
    }
}

void resize_rows(const uint8_t *a, const uint8_t *b, uint8_t *to_a, uint8_t *to_b, const Filter &filter, int out) {
    switch (filter.taps) {
    case 2: return resize_rows_of<2>(a, b, to_a, to_b, filter, out);
    case 4: return resize_rows_of<4>(a, b, to_a, to_b, filter, out);
    case 6: return resize_rows_of<6>(a, b, to_a, to_b, filter, out);
    default: return resize_rows_of<0>(a, b, to_a, to_b, filter, out);
    }
}

void blend_rows(const uint8_t *rows, size_t stride, const int16_t *weights, int taps, uint8_t *to, int bytes) {
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << 13);
    for (int x = 0; x < bytes; x += 32) {
        __m256i s0 = half, s1 = half, s2 = half, s3 = half;
        const uint8_t *p = rows + x;
        for (int i = 0; i < taps; i += 2, p += 2 * stride) {
            const __m256i a = _mm256_loadu_si256((const __m256i *)p), b = _mm256_loadu_si256((const __m256i *)(p + stride));
            const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b), w = two_weights(weights + i);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), w));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), w));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), w));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), w));
        }
        const __m256i first = _mm256_packs_epi32(_mm256_srai_epi32(s0, 14), _mm256_srai_epi32(s1, 14));
        const __m256i second = _mm256_packs_epi32(_mm256_srai_epi32(s2, 14), _mm256_srai_epi32(s3, 14));
        _mm256_storeu_si256((__m256i *)(to + x), _mm256_packus_epi16(first, second));
    }
}

void store_planes_f32(const uint8_t *rgbx, int n, float *r, float *g, float *b, const float *scale, const float *shift) {
    const __m256i byte = _mm256_set1_epi32(255);
    const __m256 r_scale = _mm256_set1_ps(scale[0]), g_scale = _mm256_set1_ps(scale[1]), b_scale = _mm256_set1_ps(scale[2]);
    const __m256 r_shift = _mm256_set1_ps(shift[0]), g_shift = _mm256_set1_ps(shift[1]), b_shift = _mm256_set1_ps(shift[2]);
    int i = 0;
    // A batch is far larger than any cache: written past the caches it costs half the memory traffic.
    const bool aligned = !(((uintptr_t)r | (uintptr_t)g | (uintptr_t)b) & 31);
    for (; i + 8 <= n; i += 8) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(rgbx + 4 * i));
        const __m256 red = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_and_si256(v, byte)), r_scale, r_shift);
        const __m256 green =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 8), byte)), g_scale, g_shift);
        const __m256 blue =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(v, 16), byte)), b_scale, b_shift);
        if (aligned) {
            _mm256_stream_ps(r + i, red);
            _mm256_stream_ps(g + i, green);
            _mm256_stream_ps(b + i, blue);
        } else {
            _mm256_storeu_ps(r + i, red);
            _mm256_storeu_ps(g + i, green);
            _mm256_storeu_ps(b + i, blue);
        }
    }
    for (; i < n; i++) {
        r[i] = (float)rgbx[4 * i] * scale[0] + shift[0];
        g[i] = (float)rgbx[4 * i + 1] * scale[1] + shift[1];
        b[i] = (float)rgbx[4 * i + 2] * scale[2] + shift[2];
    }
}

// Eight RGBX pixels to eight of R, of G, of B and of X.
inline __m256i by_channel(const uint8_t *rgbx) {
    const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, //
                                           0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m256i v = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)rgbx), order);
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

void store_planes_u8(const uint8_t *rgbx, int n, uint8_t *r, uint8_t *g, uint8_t *b) {
    int i = 0;
    const bool aligned = !(((uintptr_t)r | (uintptr_t)g | (uintptr_t)b) & 31);
    for (; i + 32 <= n; i += 32) {
        const uint8_t *p = rgbx + 4 * i;
        const __m256i v0 = by_channel(p), v1 = by_channel(p + 32), v2 = by_channel(p + 64), v3 = by_channel(p + 96);
        const __m256i rb0 = _mm256_unpacklo_epi64(v0, v1), rb1 = _mm256_unpacklo_epi64(v2, v3);
        const __m256i gx0 = _mm256_unpackhi_epi64(v0, v1), gx1 = _mm256_unpackhi_epi64(v2, v3);
        const __m256i red = _mm256_permute2x128_si256(rb0, rb1, 0x20), blue = _mm256_permute2x128_si256(rb0, rb1, 0x31);
        const __m256i green = _mm256_permute2x128_si256(gx0, gx1, 0x20);
        if (aligned) {
            _mm256_stream_si256((__m256i *)(r + i), red);
            _mm256_stream_si256((__m256i *)(g + i), green);
            _mm256_stream_si256((__m256i *)(b + i), blue);
        } else {
            _mm256_storeu_si256((__m256i *)(r + i), red);
            _mm256_storeu_si256((__m256i *)(g + i), green);
            _mm256_storeu_si256((__m256i *)(b + i), blue);
        }
    }
    for (; i < n; i++) {
        r[i] = rgbx[4 * i];
        g[i] = rgbx[4 * i + 1];
        b[i] = rgbx[4 * i + 2];
    }
}

#include "kernels_store.inl"
