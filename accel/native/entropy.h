// Our own entropy decoder, put in the place of libjpeg-turbo's.
//
// libjpeg calls `decode_mcu` once per MCU from left to right, top to bottom, with nullptr for an MCU it will not use.
// We only count those; when one is really wanted we jump to its restart segment, or run through the MCUs in between
// without storing anything. IDCT, upsampling and colour conversion stay libjpeg-turbo's, so pixels are the same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio> // jpeglib.h needs FILE
#include <jpeglib.h>
#include <vector>

#include "kernels.h"

namespace danlu {

class EntropyDecoder {
  public:
    // After jpeg_start_decompress, with memory source. False: this scan is left to libjpeg.
    bool install(jpeg_decompress_struct &c);
    void want_columns(int first_mcu, int last_mcu) {
        first_column_ = first_mcu;
        last_column_ = last_mcu;
    }
    bool is_irregular() const { return irregular_; }
    bool has_segments() const { return interval_ > 0; }
    boolean on_mcu(JBLOCKROW *blocks);

  private:
    struct Segment {
        uint32_t begin, end; // in scan_
        uint32_t first_ff, last_ff;
    };
    bool find_segments();
    bool load_tables(jpeg_decompress_struct &c);
    bool enter(int64_t segment);

    const uint8_t *scan_ = nullptr;
    size_t scan_bytes_ = 0;
    std::vector<uint32_t> ff_positions_;
    std::vector<Segment> segments_;
    std::vector<uint8_t> clean_;
    HuffmanTable dc_[4], ac_[4];
    JHUFF_TBL dc_source_[4] = {}, ac_source_[4] = {}; // what the tables above were made from
    McuLayout layout_{};
    BitState bits_;
    int64_t mcu_ = 0, reached_ = 0, segment_ = -1, interval_ = 0;
    int column_ = 0, columns_ = 1, first_column_ = 0, last_column_ = 0;
    bool irregular_ = false;
};

} // namespace danlu
