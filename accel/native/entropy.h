// Our own entropy decoder, put in the place of libjpeg-turbo's.
//
// libjpeg calls `decode_mcu` once per MCU from left to right, top to bottom, with nullptr for an MCU it will not use.
// We only count those; when one is really wanted we jump to its restart segment, or run through the MCUs in between
// without storing anything. IDCT, upsampling and colour conversion stay libjpeg-turbo's, so pixels are the same.
#pragma once
#include "scan.h"

namespace danlu {

class EntropyDecoder {
  public:
    // After jpeg_start_decompress, for a scan that was opened before it.
    void install(jpeg_decompress_struct &c, const Scan &scan);
    void want_columns(int first_mcu, int last_mcu) {
        first_column_ = first_mcu;
        last_column_ = last_mcu;
    }
    bool is_irregular() const { return irregular_; }
    boolean on_mcu(JBLOCKROW *blocks);

  private:
    bool enter(int64_t segment);

    const Scan *scan_ = nullptr;
    std::vector<uint8_t> clean_;
    BitState bits_;
    int64_t mcu_ = 0, reached_ = 0, segment_ = -1;
    int column_ = 0, columns_ = 1, first_column_ = 0, last_column_ = 0;
    bool irregular_ = false;
};

} // namespace danlu
