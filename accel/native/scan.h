// The entropy-coded data of a baseline JPEG: its Huffman tables, and where its restart segments lie.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio> // jpeglib.h needs FILE
#include <jpeglib.h>
#include <vector>

#include "kernels.h"

namespace danlu {

class Scan {
  public:
    // After jpeg_read_header, with memory source. False: not one regular baseline scan of all components.
    bool open(jpeg_decompress_struct &c);

    int64_t interval() const { return interval_; } // MCUs per segment; 0: there is one segment
    bool has(int64_t segment) const { return segment < static_cast<int64_t>(segments_.size()); }
    // Room that `copy` needs, zeros behind the data included.
    size_t room_for(int64_t segment) const { return at(segment).end - at(segment).begin + entropy_padding; }
    // Copy a segment without its stuffing, and stand at its first bit; returns the end of what was written.
    uint8_t *copy(int64_t segment, uint8_t *to, BitState &bits) const;

    const HuffmanTable *dc() const { return dc_; }
    const HuffmanTable *ac() const { return ac_; }
    const McuLayout &layout() const { return layout_; }

  private:
    struct Segment {
        uint32_t begin, end; // in data_
        uint32_t first_ff, last_ff;
    };
    const Segment &at(int64_t segment) const { return segments_[static_cast<size_t>(segment)]; }
    bool find_segments();
    bool load_tables(jpeg_decompress_struct &c);

    const uint8_t *data_ = nullptr;
    size_t num_bytes_ = 0;
    std::vector<uint32_t> ff_positions_;
    std::vector<Segment> segments_;
    HuffmanTable dc_[4], ac_[4];
    JHUFF_TBL dc_source_[4] = {}, ac_source_[4] = {}; // what the tables above were made from
    McuLayout layout_{};
    int64_t interval_ = 0;
};

} // namespace danlu
