#include "tokens.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <numeric>

#include <unistd.h>

namespace danlu {

namespace {

template <typename Stored, typename Wanted> void widen(const uint8_t *from, size_t count, Wanted *to) {
    for (size_t i = 0; i < count; i++) {
        Stored value;
        std::memcpy(&value, from + i * sizeof(Stored), sizeof(Stored));
        to[i] = static_cast<Wanted>(value);
    }
}

template <typename Stored> void widen_to(const uint8_t *from, size_t count, int out_bytes, void *out, uint64_t to) {
    if (out_bytes == 8)
        widen<Stored>(from, count, static_cast<int64_t *>(out) + to);
    else
        widen<Stored>(from, count, static_cast<int32_t *>(out) + to);
}

bool read_all(int fd, uint8_t *to, size_t size, uint64_t offset) {
    while (size) {
        const ssize_t got = pread(fd, to, size, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, offset += static_cast<uint64_t>(got), size -= static_cast<size_t>(got);
    }
    return true;
}

} // namespace

Status read_run(const TokenRun &run, int stored_bytes, const uint32_t *checksums, int out_bytes, void *out,
                std::vector<uint8_t> &scratch) {
    const uint64_t begin = run.first * stored_bytes, end = begin + uint64_t{run.count} * stored_bytes;
    uint64_t from = begin, until = end;
    if (checksums) {
        from = begin / token_block_bytes * token_block_bytes;
        until = std::min((end + token_block_bytes - 1) / token_block_bytes * token_block_bytes, run.shard_bytes);
    }
    scratch.resize(until - from);
    if (!read_all(run.fd, scratch.data(), scratch.size(), from)) return Status::read_failed;
    if (checksums &&
        !blocks_match(scratch.data(), scratch.size(), checksums + run.checksums_at + from / token_block_bytes))
        return Status::bad_record;
    const uint8_t *tokens = scratch.data() + (begin - from);
    if (stored_bytes == 2)
        widen_to<uint16_t>(tokens, run.count, out_bytes, out, run.to);
    else
        widen_to<uint32_t>(tokens, run.count, out_bytes, out, run.to);
    return Status::ok;
}

std::vector<int64_t> best_fit(const uint32_t *lengths, size_t count, uint32_t capacity) {
    std::vector<size_t> longest_first(count);
    std::iota(longest_first.begin(), longest_first.end(), size_t{0});
    std::stable_sort(longest_first.begin(), longest_first.end(),
                     [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
    std::map<uint32_t, std::vector<int64_t>> open; // room left -> sequences with that much, newest last
    std::vector<int64_t> chosen(count);
    int64_t made = 0;
    for (const size_t document : longest_first) {
        const uint32_t length = lengths[document];
        uint32_t room = capacity;
        int64_t sequence;
        const auto tightest = open.lower_bound(length);
        if (tightest == open.end()) {
            sequence = made++;
        } else {
            room = tightest->first;
            sequence = tightest->second.back();
            tightest->second.pop_back();
            if (tightest->second.empty()) open.erase(tightest);
        }
        chosen[document] = sequence;
        if (room > length) open[room - length].push_back(sequence);
    }
    return chosen;
}

} // namespace danlu
