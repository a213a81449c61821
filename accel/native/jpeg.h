// Decode the part of a JPEG that a crop needs, and hand it to the resizer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exact_resize.h"
#include "plan.h"
#include "resize.h"

struct jpeg_decompress_struct;

namespace danlu {

enum class Status : int32_t {
    ok = 0,
    not_jpeg = 1,     // Pillow may know it
    unsupported = 2,  // a JPEG for Pillow: CMYK, 12 bits, ...
    broken = 3,       // Pillow would fail as well
    bad_record = 4,   // wrong length or checksum
    read_failed = 5,
};

struct DecodeCounts {
    int64_t library_huffman = 0; // images that our own entropy decoder left to libjpeg
    int64_t sliced = 0;          // images where restart markers let us jump
    int64_t library_pixels = 0;  // images that libjpeg turned into pixels
};

// How much of the work is not left to libjpeg.
struct OwnParts {
    bool huffman = false; // our entropy decoder, called by libjpeg
    bool pixels = false;  // everything behind the header, for ordinary files
};

// What agrees with the libjpeg that is really there. Found out once, by trying.
OwnParts own_parts();

struct Box {
    int left, top, right, bottom;
};

// One per thread: all buffers and the libjpeg object are used again for the next image.
class Decoder {
  public:
    Decoder();
    ~Decoder();
    Decoder(const Decoder &) = delete;
    Decoder &operator=(const Decoder &) = delete;

    Status run(const uint8_t *jpeg, size_t size, const Recipe &recipe, uint64_t key, Output out, Geometry &geometry);

    // The whole image as RGBX; `pixels` is resized. Not for huge images: width * height * 4 bytes are needed.
    Status decode(const uint8_t *jpeg, size_t size, std::vector<uint8_t> &pixels, int &width, int &height);

    // The pixels of `box`, which lies inside the image, as RGBX. What is outside of it is not looked at.
    Status decode_box(const uint8_t *jpeg, size_t size, const Box &box, std::vector<uint8_t> &pixels);

    // The pixels of `box` resized as Pillow's bilinear resize does it, to the last bit.
    Status resize_box(const uint8_t *jpeg, size_t size, const Box &box, int out_width, int out_height,
                      std::vector<uint8_t> &pixels);

    void allow(OwnParts parts) { allowed_ = parts; }

    DecodeCounts counts;

  private:
    struct State;
    struct Rows {
        int first_column, columns;
    };
    Rows start_rows(jpeg_decompress_struct &c, int left, int right, int top);
    bool read_row(jpeg_decompress_struct &c, uint8_t *to);
    template <typename TakeRow> Status rows_of(jpeg_decompress_struct &c, const Box &box, int padding, TakeRow take_row);
    template <typename Work> Status guarded(const uint8_t *jpeg, size_t size, Work work);
    template <typename Work> Status attempt(const uint8_t *jpeg, size_t size, OwnParts own, Work &work);

    State *state_;
    Resizer resizer_;
    ExactResizer exact_;
    std::vector<uint8_t> rows_;
    OwnParts allowed_;
};

// Lossless rewrite: baseline, optimised Huffman codes, a restart marker every `segment_mcus` MCUs.
// Empty if the file is irregular in any way; nothing is ever guessed.
std::vector<uint8_t> transcode(const uint8_t *jpeg, size_t size, int segment_mcus, bool keep_metadata);

} // namespace danlu
