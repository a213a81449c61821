// Loops over RGBX pixels that compilers vectorise well. No multiply-add may be fused (see CMakeLists.txt): results are cut
// off to whole levels, as Pillow does, and one bit less or more would be another level.

inline uint32_t grey_of(uint32_t rgbx) {
    return ((rgbx & 255) * 19595 + (rgbx >> 8 & 255) * 38470 + (rgbx >> 16 & 255) * 7471 + 0x8000) >> 16;
}

inline uint32_t blended(uint32_t from, uint32_t to, float factor) {
    const int32_t v = (int32_t)((float)(int32_t)from + factor * (float)((int32_t)to - (int32_t)from));
    return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

inline uint32_t blended_pixel(uint32_t grey, uint32_t rgbx, float factor) {
    return blended(grey, rgbx & 255, factor) | blended(grey, rgbx >> 8 & 255, factor) << 8 |
           blended(grey, rgbx >> 16 & 255, factor) << 16;
}

uint64_t sum_grey(const uint8_t *rgbx, int n) {
    uint64_t sum = 0;
    for (int begin = 0; begin < n; begin += 4096) {
        uint32_t part = 0;
        for (int i = begin; i < n && i < begin + 4096; i++) {
            uint32_t pixel;
            memcpy(&pixel, rgbx + 4 * (size_t)i, 4);
            part += grey_of(pixel);
        }
        sum += part;
    }
    return sum;
}

void blend_grey(uint8_t *rgbx, int n, float factor, int grey) {
    for (int i = 0; i < n; i++) {
        uint32_t pixel;
        memcpy(&pixel, rgbx + 4 * (size_t)i, 4);
        pixel = blended_pixel((uint32_t)grey, pixel, factor);
        memcpy(rgbx + 4 * (size_t)i, &pixel, 4);
    }
}

void blend_own_grey(uint8_t *rgbx, int n, float factor) {
    for (int i = 0; i < n; i++) {
        uint32_t pixel;
        memcpy(&pixel, rgbx + 4 * (size_t)i, 4);
        pixel = blended_pixel(grey_of(pixel), pixel, factor);
        memcpy(rgbx + 4 * (size_t)i, &pixel, 4);
    }
}

void sharpen_row(const uint8_t *above, const uint8_t *row, const uint8_t *below, uint8_t *to, int bytes, float factor) {
    for (int i = 0; i < bytes; i++) {
        const uint32_t sum = (uint32_t)above[i - 4] + above[i] + above[i + 4] + row[i - 4] + 5u * row[i] + row[i + 4] +
                             below[i - 4] + below[i] + below[i + 4];
        to[i] = (uint8_t)blended((2 * sum + 13) / 26, row[i], factor);
    }
}
