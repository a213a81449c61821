// Stores that compilers vectorise well enough on their own.

void store_packed_f32(const uint8_t *rgbx, int n, float *to, const float *scale, const float *shift) {
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) to[3 * i + c] = (float)rgbx[4 * i + c] * scale[c] + shift[c];
}

void store_packed_u8(const uint8_t *rgbx, int n, uint8_t *to) {
    for (int i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) to[3 * i + c] = rgbx[4 * i + c];
}
