// Decode a rectangle of an ordinary baseline JPEG, row by row, without libjpeg.
//
//   scan segments -> coefficients of one row of MCUs -> planes (two rows of MCUs are kept) -> one row of RGBX
//
// Pixels are the same as libjpeg-turbo's to the last bit, also at the edges of the rectangle: what upsampling looks at
// beyond them is decoded too.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels.h"
#include "scan.h"

namespace danlu {

class RegionDecoder {
  public:
    // After jpeg_read_header and Scan::open. False: this kind of file is left to libjpeg.
    bool open(const jpeg_decompress_struct &c, const Scan &scan);
    // Columns [left, right) and rows from `top` on will be read; returns the column that rows begin with: `left` or one less.
    int want(int left, int right, int top);
    int columns() const { return right_ - left_; }
    // The next row, as RGBX; `to` has room for pixel_padding bytes more. False: the data is not regular.
    bool read_row(uint8_t *to);

  private:
    struct Plane {
        int width, height;         // of the component
        int horizontal, vertical;  // blocks per MCU
        int first;                 // column of data[padding]
        size_t stride;
        uint8_t *data;             // row r lies at data + (r % kept rows) * stride
        int16_t quantisation[64];
        uint8_t *row(int r, int x) const {
            return data + static_cast<size_t>(r % (16 * vertical)) * stride + (x - first) + static_cast<int>(pixel_padding);
        }
    };
    int first_chroma_row(int row) const;
    int last_chroma_row(int row) const;
    bool decode_mcu_row();
    bool add_run(int64_t segment, int64_t first_mcu, int num_mcus, int64_t first_of_row);
    void repeat_edges(const Plane &plane, int mcu_row) const;
    int mcu_width() const { return 8 * planes_[0].horizontal; }
    int mcu_height() const { return 8 * planes_[0].vertical; }

    const Scan *scan_ = nullptr;
    Plane planes_[3];
    int mcus_per_row_ = 0, first_mcu_ = 0, num_mcus_ = 0;
    int left_ = 0, right_ = 0, row_ = 0, next_mcu_row_ = 0;
    int64_t reached_ = 0;   // without restart markers: the MCU where `whole_` stands
    BitState whole_;
    std::vector<uint8_t> clean_, pixels_, ends_, chroma_;
    std::vector<int16_t> coefficients_; // all zero between rows of MCUs, unless a row was damaged
    bool is_zero_ = true;
    std::vector<Run> runs_;
    size_t clean_used_ = 0;
};

} // namespace danlu
