// Baseline Huffman decoding. The chain that limits speed is: look up the next 11 bits, shift by the length found there.
// Everything else (cutting out the value, its sign, the store) hangs off that chain and costs little.

const uint8_t natural_order[128] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,
    7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46,
    53, 60, 61, 54, 47, 55, 62, 63,
    // A run that leads out of the block lands on the last coefficient, as in libjpeg; so does the zero of an EOB.
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
    63, 63, 63, 63, 63, 63, 63, 63};

inline uint64_t load_big_endian(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

// Bits are kept at the top of `bits`; after this at least 56 of them are valid.
#define DANLU_REFILL()                        \
    do {                                      \
        bits |= load_big_endian(next) >> count; \
        next += (63 - count) >> 3;            \
        count |= 56;                          \
    } while (0)

// A code of more than 11 bits: search by length. Returns an entry of the lookup's form, 0 if there is no such code.
inline uint32_t long_code(const HuffmanTable &table, uint64_t bits, bool is_dc) {
    const int32_t head = (int32_t)(bits >> 48);
    int length = lookup_bits + 1;
    while (length <= 16 && head >= table.max_code[length]) length++;
    if (length > 16) return 0;
    const uint8_t symbol = table.values[((head >> (16 - length)) + table.value_offset[length]) & 255];
    const int size = is_dc ? symbol : symbol & 15;
    const int run = is_dc ? 0 : size ? symbol >> 4 : symbol == 0xF0 ? 15 : 63;
    return (uint32_t)(length + size) | (uint32_t)size << 6 | (uint32_t)run << 10;
}

// The signed value of `size` bits that end `total` bits from the top.
inline int value_of(uint64_t bits, uint32_t total, uint32_t size) {
    const uint64_t from_value = bits << (total - size);
    const int64_t is_positive = (int64_t)from_value >> 63;
    const int raw = (int)(from_value >> 1 >> (63 - size));
    return raw + (int)(~is_positive & (1 - ((int64_t)1 << size)));
}

template <bool keep>
inline bool one_block(const uint8_t *&next_ref, uint64_t &bits_ref, int &count_ref, const HuffmanTable &dc,
                      const HuffmanTable &ac, int16_t &prediction, int16_t *block) {
    const uint8_t *next = next_ref;
    uint64_t bits = bits_ref;
    int count = count_ref;
    DANLU_REFILL();
    uint32_t entry = dc.lookup[bits >> (64 - lookup_bits)];
    if (__builtin_expect(entry == 0, 0)) {
        entry = long_code(dc, bits, true);
        if (entry == 0) return false;
    }
    uint32_t total = entry & 63, size = entry >> 6 & 15; // & 63 is free: a shift looks at six bits only
    prediction = (int16_t)(prediction + value_of(bits, total, size));
    bits <<= total;
    count -= (int)total;
    if (keep) block[0] = prediction;
    uint32_t k = 1;
    // 56 bits hold two symbols of at most 16 + 11 bits.
    while (true) {
        DANLU_REFILL();
        for (int turn = 0; turn < 2; turn++) {
            const QuickSymbol &quick = ac.quick[bits >> (64 - quick_bits)];
            uint32_t advance = quick.advance;
            int16_t value = quick.value;
            total = quick.total;
            if (__builtin_expect(total == 0, 0)) {
                entry = ac.lookup[bits >> (64 - lookup_bits)];
                if (entry == 0) entry = long_code(ac, bits, false);
                if (entry == 0) return false;
                total = entry & 63;
                advance = entry >> 10;
                if (keep) value = (int16_t)value_of(bits, total, entry >> 6 & 15);
            }
            k += advance;
            if (keep) block[natural_order[k]] = value;
            bits <<= total;
            count -= (int)total;
            if (++k > 63) goto done;
        }
    }
done:
    next_ref = next;
    bits_ref = bits;
    count_ref = count;
    return true;
}

// More bits used than the segment had: it was cut.
inline bool overran(const uint8_t *next, int count, const uint8_t *end) { return next - (count >> 3) > end; }

bool decode_mcu(BitState &s, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &layout,
                int16_t *const *blocks) {
    const uint8_t *next = s.next;
    uint64_t bits = s.bits;
    int count = s.count;
    for (int b = 0; b < layout.num_blocks; b++) {
        int16_t &prediction = s.prediction[layout.component[b]];
        if (!one_block<true>(next, bits, count, dc[layout.dc_table[b]], ac[layout.ac_table[b]], prediction, blocks[b]))
            return false;
        if (overran(next, count, s.end)) return false;
    }
    s.next = next;
    s.bits = bits;
    s.count = count;
    return true;
}

bool skip_mcus(BitState &s, const HuffmanTable *dc, const HuffmanTable *ac, const McuLayout &layout, int64_t num_mcus) {
    const uint8_t *next = s.next;
    uint64_t bits = s.bits;
    int count = s.count;
    for (; num_mcus > 0; num_mcus--) {
        for (int b = 0; b < layout.num_blocks; b++) {
            int16_t &prediction = s.prediction[layout.component[b]];
            if (!one_block<false>(next, bits, count, dc[layout.dc_table[b]], ac[layout.ac_table[b]], prediction, nullptr))
                return false;
            if (overran(next, count, s.end)) return false;
        }
    }
    s.next = next;
    s.bits = bits;
    s.count = count;
    return true;
}

size_t find_ff(const uint8_t *data, size_t from, size_t to, uint32_t *positions, size_t room, size_t *scanned_to) {
    size_t found = 0, at = from;
#if defined(DANLU_AVX2)
    const __m256i ff = _mm256_set1_epi8((char)0xFF);
    for (; at + 32 <= to && found + 32 <= room; at += 32) {
        uint32_t mask = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(data + at)), ff));
        for (; mask; mask &= mask - 1) positions[found++] = (uint32_t)(at + (size_t)__builtin_ctz(mask));
    }
#else
    while (at + 8 <= to && found + 8 <= room) {
        uint64_t v;
        memcpy(&v, data + at, 8);
        const uint64_t inverted = ~v; // a byte of zero here is 0xFF there
        if ((inverted - 0x0101010101010101ULL) & ~inverted & 0x8080808080808080ULL)
            for (size_t i = 0; i < 8; i++)
                if (data[at + i] == 0xFF) positions[found++] = (uint32_t)(at + i);
        at += 8;
    }
#endif
    for (; at < to && found < room; at++)
        if (data[at] == 0xFF) positions[found++] = (uint32_t)at;
    *scanned_to = at;
    return found;
}
