// The same arithmetic as the AVX2 loops, written so that a compiler vectorises it (NEON on aarch64).

inline uint8_t clamped(int32_t sum) {
    const int32_t v = sum >> 14;
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

inline void resize_row(const uint8_t *from, uint8_t *to, const Filter &filter, int out) {
    const int16_t *weights = filter.weights;
    for (int o = 0; o < out; o++, weights += filter.taps) {
        const uint8_t *p = from + 4 * (size_t)filter.first[o];
        int32_t sum[4] = {1 << 13, 1 << 13, 1 << 13, 1 << 13};
        for (int i = 0; i < filter.taps; i++)
            for (int c = 0; c < 4; c++) sum[c] += weights[i] * p[4 * i + c];
        for (int c = 0; c < 4; c++) to[4 * o + c] = clamped(sum[c]);
    }
}

void resize_rows(const uint8_t *a, const uint8_t *b, uint8_t *to_a, uint8_t *to_b, const Filter &filter, int out) {
    resize_row(a, to_a, filter, out);
    resize_row(b, to_b, filter, out);
}

void blend_rows(const uint8_t *rows, size_t stride, const int16_t *weights, int taps, uint8_t *to, int bytes) {
    for (int x = 0; x < bytes; x += 32) {
        int32_t sum[32];
        for (int j = 0; j < 32; j++) sum[j] = 1 << 13;
        const uint8_t *p = rows + x;
        for (int i = 0; i < taps; i++, p += stride)
            for (int j = 0; j < 32; j++) sum[j] += weights[i] * p[j];
        for (int j = 0; j < 32; j++) to[x + j] = clamped(sum[j]);
    }
}

void store_planes_f32(const uint8_t *rgbx, int n, float *r, float *g, float *b, const float *scale, const float *shift) {
    for (int i = 0; i < n; i++) {
        r[i] = (float)rgbx[4 * i] * scale[0] + shift[0];
        g[i] = (float)rgbx[4 * i + 1] * scale[1] + shift[1];
        b[i] = (float)rgbx[4 * i + 2] * scale[2] + shift[2];
    }
}

void store_planes_u8(const uint8_t *rgbx, int n, uint8_t *r, uint8_t *g, uint8_t *b) {
    for (int i = 0; i < n; i++) {
        r[i] = rgbx[4 * i];
        g[i] = rgbx[4 * i + 1];
        b[i] = rgbx[4 * i + 2];
    }
}

#include "kernels_store.inl"
