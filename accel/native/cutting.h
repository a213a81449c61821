// Where artifacts are cut into chunks: the twin of src/danlu/content/cutting.py, which says why. Same bytes, same places.
#pragma once
#include <cstddef>
#include <cstdint>

namespace danlu {

// Of the rules below. Python uses this form only where it has the same number.
constexpr int cutting_rules = 1;

// Where the chunk that begins at `begin` ends. `end` is the file's, or at least 2 MiB away.
size_t next_cut(const uint8_t *data, size_t begin, size_t end);

} // namespace danlu
