// Runs of tokens from shards, verified and widened, and the packing of documents into sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crc32c.h"
#include "jpeg.h"

namespace danlu {

// Checksums cover this many bytes each; the Python twin is in tokens/index.py.
constexpr size_t token_block_bytes = crc_block_bytes;

// Tokens that lie side by side in a shard; the Python twin is RUN in tokens/reading.py.
struct TokenRun {
    int32_t fd;
    uint32_t count;
    uint64_t first; // in tokens, from the beginning of the shard
    uint64_t to;    // in tokens, from the beginning of the output
    uint64_t shard_bytes;
    uint64_t checksums_at; // where the checksums of the shard begin
};

// Reads one run to `out`, of 4 or 8 bytes a token. Verifies against `checksums`, unless that is null.
Status read_run(const TokenRun &run, int stored_bytes, const uint32_t *checksums, int out_bytes, void *out,
                std::vector<uint8_t> &scratch);

// Best fit, longest documents first: which sequence each document belongs to. No length may exceed `capacity`.
std::vector<int64_t> best_fit(const uint32_t *lengths, size_t count, uint32_t capacity);

} // namespace danlu
