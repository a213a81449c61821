// crc32c with the processor's instruction where it has one.
#pragma once
#include <cstddef>
#include <cstdint>

namespace danlu {

uint32_t crc32c(const uint8_t *data, size_t size);

inline uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

} // namespace danlu
