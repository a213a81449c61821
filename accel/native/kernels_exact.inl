// Pillow's own arithmetic: 22-bit weights, sums of 32 bits, one rounding to bytes after each axis. Sums fit: the weights
// of one output add up to one.

inline uint8_t exact_byte(int32_t sum) {
    const int32_t v = sum >> exact_bits;
    return (uint8_t)(v > 255 ? 255 : v);
}

void exact_row(const uint8_t *from, uint8_t *to, const ExactFilter &filter, int out) {
    const int32_t *weights = filter.weights;
    const int taps = filter.taps;
    for (int o = 0; o < out; o++, weights += taps) {
        const uint8_t *p = from + 4 * (size_t)filter.first[o];
#if defined(DANLU_AVX2)
        __m256i sum = _mm256_setzero_si256();
        for (int i = 0; i < taps; i += 2) { // two pixels at once
            const __m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p + 4 * i)));
            const __m256i both = _mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)(weights + i)));
            const __m256i w = _mm256_permutevar8x32_epi32(both, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
            sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(v, w));
        }
        __m128i total = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        total = _mm_srai_epi32(_mm_add_epi32(total, _mm_set1_epi32(1 << (exact_bits - 1))), exact_bits);
        total = _mm_packus_epi32(total, total);
        const int32_t pixel = _mm_cvtsi128_si32(_mm_packus_epi16(total, total));
        memcpy(to + 4 * o, &pixel, 4);
#else
        int32_t sum[4] = {1 << (exact_bits - 1), 1 << (exact_bits - 1), 1 << (exact_bits - 1), 1 << (exact_bits - 1)};
        for (int i = 0; i < taps; i++)
            for (int c = 0; c < 4; c++) sum[c] += weights[i] * p[4 * i + c];
        for (int c = 0; c < 4; c++) to[4 * o + c] = exact_byte(sum[c]);
#endif
    }
}

void exact_blend(const uint8_t *rows, size_t stride, const int32_t *weights, int taps, uint8_t *to, int bytes) {
    for (int x = 0; x < bytes; x += 32) {
        int32_t sum[32];
        for (int j = 0; j < 32; j++) sum[j] = 1 << (exact_bits - 1);
        const uint8_t *p = rows + x;
        for (int i = 0; i < taps; i++, p += stride)
            for (int j = 0; j < 32; j++) sum[j] += weights[i] * p[j];
        for (int j = 0; j < 32; j++) to[x + j] = exact_byte(sum[j]);
    }
}
