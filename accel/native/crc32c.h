// crc32c with the processor's instruction where it has one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace danlu {

uint32_t crc32c(const uint8_t *data, size_t size);

// Whether each block of crc_block_bytes has the checksum that is expected of it; the last one may be shorter.
constexpr size_t crc_block_bytes = 2048;
bool blocks_match(const uint8_t *data, size_t size, const uint32_t *expected);

inline uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

} // namespace danlu
