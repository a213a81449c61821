#include "cutting.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cutting_table.h"

namespace danlu {
namespace {

constexpr size_t min_bytes = 128 << 10, normal_bytes = 512 << 10, max_bytes = 2 << 20;
constexpr uint32_t rare = (1 << 11) - 1, common = (1 << 9) - 1;
constexpr size_t line_window = 32, window = 64;
constexpr size_t hashing_from_bytes = 256 << 10;
constexpr uint32_t hashing = (1 << 10) - 1;
constexpr size_t hashed_bytes = 9, most_tries = 8192, block_bytes = 4096;

// table[k][byte]: what a byte does to the checksum when k more bytes follow it.
constexpr std::array<std::array<uint32_t, 256>, 8> crc_tables() {
    std::array<std::array<uint32_t, 256>, 8> tables{};
    for (uint32_t number = 0; number < 256; ++number) {
        uint32_t value = number;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        tables[0][number] = value;
    }
    for (size_t k = 1; k < 8; ++k)
        for (size_t i = 0; i < 256; ++i) tables[k][i] = tables[0][tables[k - 1][i] & 255] ^ tables[k - 1][i] >> 8;
    return tables;
}

// zlib's, of a multiple of eight bytes, eight at a time.
uint32_t crc32(const uint8_t *data, size_t size) {
    static constexpr auto table = crc_tables();
    uint32_t value = ~0u;
    for (; size >= 8; size -= 8, data += 8) {
        const auto at = [data](size_t i) { return static_cast<uint32_t>(data[i]); };
        const uint32_t low = value ^ (at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24);
        value = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
                table[3][data[4]] ^ table[2][data[5]] ^ table[1][data[6]] ^ table[0][data[7]];
    }
    return ~value;
}

// The hashes of `size` places. Behind `hashed_bytes` bytes of room, `in` has the table's bytes, and nine more before them.
// Three shifts of the whole as one number, by 9, 18 and 36 bits, each combined by exclusive or.
void hash_places(uint8_t *__restrict in, uint8_t *__restrict other, size_t size) {
    const auto byte = [](int value) { return static_cast<uint8_t>(value); };
    for (size_t i = 2; i < size; ++i) other[i] = byte(in[i] ^ in[i - 1] << 1 ^ in[i - 2] >> 7);
    for (size_t i = 5; i < size; ++i) in[i] = byte(other[i] ^ other[i - 2] << 2 ^ other[i - 3] >> 6);
    for (size_t i = 10; i < size; ++i) other[i] = byte(in[i] ^ in[i - 4] << 4 ^ in[i - 5] >> 4);
}

bool is_one_value(const uint8_t *data, size_t begin, size_t stop) {
    return std::memcmp(data + begin, data + begin + 1, stop - begin - 1) == 0;
}

size_t cut_without_lines(const uint8_t *data, size_t begin, size_t stop) {
    const size_t first = begin + hashing_from_bytes;
    if (is_one_value(data, first, stop)) return stop;
    constexpr size_t before = hashed_bytes + 1;
    uint8_t bytes[before + block_bytes], hashes[before + block_bytes];
    size_t tries = 0;
    for (size_t at = first; at < stop; at += block_bytes) {
        const size_t size = std::min(block_bytes, stop - at);
        for (size_t i = 0; i < before + size; ++i) bytes[i] = cutting_table[data[at - before + i]];
        hash_places(bytes, hashes, before + size);
        const uint8_t *from = hashes + before, *const to = from + size;
        while ((from = static_cast<const uint8_t *>(std::memchr(from, 0, static_cast<size_t>(to - from))))) {
            const size_t behind = at + static_cast<size_t>(from - hashes) - before + 1;
            if ((crc32(data + behind - window, window) & hashing) == 0) return behind;
            if (++tries == most_tries) return stop;
            ++from;
        }
    }
    return stop;
}

} // namespace

size_t next_cut(const uint8_t *data, size_t begin, size_t end) {
    if (end - begin <= min_bytes) return end;
    const size_t stop = std::min(end, begin + max_bytes);
    const struct {
        size_t limit;
        uint32_t mask;
    } parts[] = {{std::min(stop, begin + normal_bytes), rare}, {stop, common}};
    size_t at = begin + min_bytes;
    for (const auto &part : parts) {
        while (at < part.limit) {
            const void *found = std::memchr(data + at, '\n', part.limit - at);
            if (!found) break;
            at = static_cast<size_t>(static_cast<const uint8_t *>(found) - data);
            if ((crc32(data + at - line_window, line_window) & part.mask) == 0) return at + 1;
            ++at;
        }
        at = part.limit;
    }
    return stop - begin == max_bytes ? cut_without_lines(data, begin, stop) : stop;
}

} // namespace danlu
