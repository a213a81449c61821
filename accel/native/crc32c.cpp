#include "crc32c.h"

#include <cstring>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace danlu {

namespace {

constexpr uint32_t polynomial = 0x82F63B78u;

// table[k][v]: what the byte v does to the state when k more bytes follow it.
struct Tables {
    uint32_t by_byte[8][256];
    // What `lane_bytes` zero bytes make of each byte of a state: joins lanes that were run side by side.
    uint32_t shift_lane[4][256];
    static constexpr size_t lane_bytes = 2048;

    Tables() {
        for (uint32_t v = 0; v < 256; v++) {
            uint32_t crc = v;
            for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1 ? polynomial : 0);
            by_byte[0][v] = crc;
        }
        for (int k = 1; k < 8; k++)
            for (int v = 0; v < 256; v++) by_byte[k][v] = by_byte[0][by_byte[k - 1][v] & 255] ^ (by_byte[k - 1][v] >> 8);
        for (int position = 0; position < 4; position++)
            for (uint32_t v = 0; v < 256; v++) {
                uint32_t crc = v << (8 * position);
                for (size_t i = 0; i < lane_bytes; i++) crc = by_byte[0][crc & 255] ^ (crc >> 8);
                shift_lane[position][v] = crc;
            }
    }
    uint32_t shifted(uint32_t crc) const {
        return shift_lane[0][crc & 255] ^ shift_lane[1][crc >> 8 & 255] ^ shift_lane[2][crc >> 16 & 255] ^
               shift_lane[3][crc >> 24];
    }
};

const Tables &tables() {
    static const Tables made;
    return made;
}

uint64_t load64(const uint8_t *p) {
    uint64_t v;
    std::memcpy(&v, p, 8);
    return v;
}

uint32_t by_table(uint32_t crc, const uint8_t *p, size_t size) {
    const auto &t = tables().by_byte;
    for (; size >= 8; p += 8, size -= 8) {
        const uint32_t a = crc ^ (p[0] | p[1] << 8 | p[2] << 16 | static_cast<uint32_t>(p[3]) << 24);
        crc = t[7][a & 255] ^ t[6][a >> 8 & 255] ^ t[5][a >> 16 & 255] ^ t[4][a >> 24] ^ t[3][p[4]] ^ t[2][p[5]] ^
              t[1][p[6]] ^ t[0][p[7]];
    }
    for (; size; p++, size--) crc = t[0][(crc ^ *p) & 255] ^ (crc >> 8);
    return crc;
}

#if defined(__x86_64__) || defined(__aarch64__)
#if defined(__x86_64__)
#define DANLU_CRC_TARGET __attribute__((target("sse4.2")))
DANLU_CRC_TARGET inline uint64_t step8(uint64_t crc, uint64_t v) { return __builtin_ia32_crc32di(crc, v); }
DANLU_CRC_TARGET inline uint32_t step1(uint32_t crc, uint8_t v) { return __builtin_ia32_crc32qi(crc, v); }
bool has_instruction() { return __builtin_cpu_supports("sse4.2"); }
#else
#define DANLU_CRC_TARGET __attribute__((target("+crc")))
DANLU_CRC_TARGET inline uint64_t step8(uint64_t crc, uint64_t v) {
    return __builtin_aarch64_crc32cx(static_cast<uint32_t>(crc), v);
}
DANLU_CRC_TARGET inline uint32_t step1(uint32_t crc, uint8_t v) { return __builtin_aarch64_crc32cb(crc, v); }
bool has_instruction() { return getauxval(AT_HWCAP) & (1 << 7); } // HWCAP_CRC32
#endif

// The instruction takes three cycles and can start each cycle: three lanes side by side keep it busy.
DANLU_CRC_TARGET uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t size) {
    constexpr size_t lane = Tables::lane_bytes;
    const Tables &t = tables();
    uint64_t a = crc;
    for (; size >= 3 * lane; p += 3 * lane, size -= 3 * lane) {
        uint64_t b = 0, c = 0;
        for (size_t i = 0; i < lane; i += 8) {
            a = step8(a, load64(p + i));
            b = step8(b, load64(p + lane + i));
            c = step8(c, load64(p + 2 * lane + i));
        }
        const uint32_t ab = t.shifted(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b);
        a = t.shifted(ab) ^ static_cast<uint32_t>(c);
    }
    for (; size >= 8; p += 8, size -= 8) a = step8(a, load64(p));
    uint32_t tail = static_cast<uint32_t>(a);
    for (; size; p++, size--) tail = step1(tail, *p);
    return tail;
}

// Three blocks side by side, for the same reason.
DANLU_CRC_TARGET void three_blocks(const uint8_t *p, uint32_t found[3]) {
    uint64_t a = ~0u, b = ~0u, c = ~0u;
    for (size_t i = 0; i < crc_block_bytes; i += 8) {
        a = step8(a, load64(p + i));
        b = step8(b, load64(p + crc_block_bytes + i));
        c = step8(c, load64(p + 2 * crc_block_bytes + i));
    }
    found[0] = ~static_cast<uint32_t>(a), found[1] = ~static_cast<uint32_t>(b), found[2] = ~static_cast<uint32_t>(c);
}
#else
bool has_instruction() { return false; }
uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t size) { return by_table(crc, p, size); }
void three_blocks(const uint8_t *p, uint32_t found[3]) {
    for (int i = 0; i < 3; i++) found[i] = ~by_table(~0u, p + i * crc_block_bytes, crc_block_bytes);
}
#endif

} // namespace

uint32_t crc32c(const uint8_t *data, size_t size) {
    static const bool fast = has_instruction();
    return ~(fast ? by_instruction(~0u, data, size) : by_table(~0u, data, size));
}

bool blocks_match(const uint8_t *data, size_t size, const uint32_t *expected) {
    static const bool fast = has_instruction();
    for (; fast && size >= 3 * crc_block_bytes; data += 3 * crc_block_bytes, size -= 3 * crc_block_bytes, expected += 3) {
        uint32_t found[3];
        three_blocks(data, found);
        if (std::memcmp(found, expected, sizeof found)) return false;
    }
    for (; size; expected++) {
        const size_t part = size < crc_block_bytes ? size : crc_block_bytes;
        if (crc32c(data, part) != *expected) return false;
        data += part, size -= part;
    }
    return true;
}

} // namespace danlu
