#include "jpeg.h"

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "entropy.h"
#include "region.h"
#include "scan.h"
#include <jerror.h>

#ifndef LIBJPEG_TURBO_VERSION_NUMBER
#error "libjpeg-turbo is needed: plain libjpeg cannot decode a part of an image"
#endif

namespace danlu {

namespace {

constexpr int64_t max_pixels = 178956970; // where Pillow stops with DecompressionBombError
constexpr int margin = 2;                 // upsampling looks one chroma sample to each side

struct ErrorManager {
    jpeg_error_mgr base;
    jmp_buf jump;
    bool hit_end;
};

void on_error(j_common_ptr c) { longjmp(reinterpret_cast<ErrorManager *>(c->err)->jump, 1); }

void on_message(j_common_ptr c, int level) {
    if (level >= 0) return;
    c->err->num_warnings++;
    if (c->err->msg_code == JWRN_JPEG_EOF) reinterpret_cast<ErrorManager *>(c->err)->hit_end = true;
}

void no_output(j_common_ptr) {}

jpeg_error_mgr *set_up(ErrorManager &errors) {
    jpeg_error_mgr *base = jpeg_std_error(&errors.base);
    base->error_exit = on_error;
    base->emit_message = on_message;
    base->output_message = no_output;
    errors.hit_end = false;
    return base;
}

// libjpeg-turbo writes rows that begin on a 32-byte boundary past the caches, and we read them at once: a quarter of
// the time went into waiting for them to come back. So rows begin in the middle of a cache line.
uint8_t *misaligned(uint8_t *p) { return p + ((80 - (reinterpret_cast<uintptr_t>(p) & 63)) & 63); }

bool looks_like_jpeg(const uint8_t *data, size_t size) {
    return size > 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
}

} // namespace

struct Decoder::State {
    jpeg_decompress_struct c;
    ErrorManager errors;
    Scan scan;
    EntropyDecoder entropy;
    RegionDecoder region;
    bool own_huffman = false; // in this attempt
    bool own_pixels = false;  // in this attempt
    bool is_irregular = false;
};

Decoder::Decoder() : state_(new State) {
    state_->c.err = set_up(state_->errors);
    jpeg_create_decompress(&state_->c);
}

Decoder::~Decoder() {
    jpeg_destroy_decompress(&state_->c);
    delete state_;
}

// If our entropy decoder meets something odd, all is done again with libjpeg's, which knows how to go on in damaged files
// the way Pillow does.
template <typename Work> Status Decoder::guarded(const uint8_t *jpeg, size_t size, Work work) {
    if (!looks_like_jpeg(jpeg, size)) return Status::not_jpeg;
    State &s = *state_;
    Status status = attempt(jpeg, size, allowed_, work);
    if (s.is_irregular) status = attempt(jpeg, size, OwnParts{}, work);
    if (!s.own_huffman)
        counts.library_huffman++;
    else if (s.scan.interval() > 0)
        counts.sliced++;
    counts.library_pixels += !s.own_pixels;
    return status;
}

// Read the header, let `work` do the rest; libjpeg's errors end here.
template <typename Work> Status Decoder::attempt(const uint8_t *jpeg, size_t size, OwnParts own, Work &work) {
    State &s = *state_;
    jpeg_decompress_struct &c = s.c;
    s.own_huffman = s.own_pixels = s.is_irregular = false;
    s.errors.hit_end = false;
    s.errors.base.num_warnings = 0;
    if (setjmp(s.errors.jump)) {
        const int why = s.c.err->msg_code;
        jpeg_abort_decompress(&s.c);
        const bool unsupported = why == JERR_BAD_PRECISION || why == JERR_SOF_UNSUPPORTED || why == JERR_CONVERSION_NOTIMPL;
        return unsupported ? Status::unsupported : Status::broken;
    }
    // libjpeg keeps the tables of the last image for one that brings none; what comes out must not depend on that
    jpeg_destroy_decompress(&c);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, jpeg, size);
    jpeg_read_header(&c, TRUE);
    const bool is_rgb_like = c.num_components == 1 ||
                             (c.num_components == 3 && (c.jpeg_color_space == JCS_YCbCr || c.jpeg_color_space == JCS_RGB));
    const bool is_too_large = static_cast<int64_t>(c.image_width) * c.image_height > max_pixels;
    Status status = is_rgb_like ? Status::broken : Status::unsupported;
    if (is_rgb_like && !is_too_large) {
        c.out_color_space = JCS_EXT_RGBX;
        c.dct_method = JDCT_ISLOW;
        const bool is_regular = (own.huffman || own.pixels) && s.scan.open(c);
        s.own_pixels = own.pixels && is_regular && s.region.open(c, s.scan);
        s.own_huffman = s.own_pixels || (own.huffman && is_regular);
        status = work(c);
    }
    jpeg_abort_decompress(&c);
    return status == Status::ok && s.errors.hit_end ? Status::broken : status;
}

Status Decoder::run(const uint8_t *jpeg, size_t size, const Recipe &recipe, uint64_t key, Output out, Geometry &geometry) {
    return guarded(jpeg, size, [&](jpeg_decompress_struct &c) {
        State &s = *state_;
        const int width = static_cast<int>(c.image_width), height = static_cast<int>(c.image_height);
        geometry = draw_geometry(recipe, width, height, key);
        resizer_.begin(recipe, geometry);
        AxisFilter &across = resizer_.horizontal(), &down = resizer_.vertical();
        const int top = down.first_sample(), num_rows = down.last_sample() - top;
        const Rows rows = start_rows(c, across.first_sample(), across.last_sample(), top);
        across.rebase(rows.first_column);
        down.rebase(top);

        // Weights beyond the last column are zero, but the kernels read there.
        const size_t used = (static_cast<size_t>(rows.columns) + static_cast<size_t>(across.taps()) + 8) * 4 + pixel_padding;
        const size_t stride = (used + 63) & ~size_t{63};
        if (rows_.size() < 2 * stride + 64) rows_.resize(2 * stride + 64);
        resizer_.start_rows(num_rows);
        uint8_t *first = misaligned(rows_.data()), *second = first + stride;
        for (int row = 0; row < num_rows; row += 2) {
            const bool has_second = row + 1 < num_rows;
            if (!read_row(c, first) || (has_second && !read_row(c, second))) break;
            resizer_.add_rows(first, has_second ? second : first, row);
        }
        if (s.is_irregular) return Status::broken;
        resizer_.finish(recipe, Changes{draw_operations(recipe, key), draw_erased(recipe, key)}, out);
        return Status::ok;
    });
}

// Be ready to read rows from `top` on that hold the columns [left, right).
Decoder::Rows Decoder::start_rows(jpeg_decompress_struct &c, int left, int right, int top) {
    State &s = *state_;
    if (s.own_pixels) {
        const int first = s.region.want(left, right, top);
        return {first, s.region.columns()};
    }
    jpeg_start_decompress(&c);
    if (s.own_huffman) s.entropy.install(c, s.scan);
    left = std::max(0, left - margin);
    right = std::min(static_cast<int>(c.output_width), right + margin);
    JDIMENSION x = static_cast<JDIMENSION>(left), columns = static_cast<JDIMENSION>(right - left);
    if (columns < c.output_width) jpeg_crop_scanline(&c, &x, &columns);
    if (s.own_huffman) {
        const int mcu_width = c.num_components == 1 ? 8 : 8 * c.max_h_samp_factor;
        s.entropy.want_columns(static_cast<int>(x) / mcu_width, static_cast<int>(x + columns - 1) / mcu_width);
    }
    if (top > 0) jpeg_skip_scanlines(&c, static_cast<JDIMENSION>(top));
    return {static_cast<int>(x), static_cast<int>(columns)};
}

// The next row as RGBX; false if only libjpeg's own entropy decoder can go on.
bool Decoder::read_row(jpeg_decompress_struct &c, uint8_t *to) {
    State &s = *state_;
    if (s.own_pixels) {
        s.is_irregular = !s.region.read_row(to);
        return !s.is_irregular;
    }
    JSAMPROW target = to;
    while (jpeg_read_scanlines(&c, &target, 1) == 0) {}
    s.is_irregular = s.own_huffman && s.entropy.is_irregular();
    return !s.is_irregular;
}

Status Decoder::decode(const uint8_t *jpeg, size_t size, std::vector<uint8_t> &pixels, int &width, int &height) {
    return guarded(jpeg, size, [&](jpeg_decompress_struct &c) {
        width = static_cast<int>(c.image_width);
        height = static_cast<int>(c.image_height);
        const size_t stride = static_cast<size_t>(width) * 4;
        pixels.resize(stride * static_cast<size_t>(height) + pixel_padding);
        start_rows(c, 0, width, 0);
        for (int row = 0; row < height; row++)
            if (!read_row(c, &pixels[stride * static_cast<size_t>(row)])) return Status::broken;
        pixels.resize(stride * static_cast<size_t>(height));
        return Status::ok;
    });
}

// Give `take_row(rgbx, row)` the rows of a box, with `padding` bytes behind each.
template <typename TakeRow>
Status Decoder::rows_of(jpeg_decompress_struct &c, const Box &box, int padding, TakeRow take_row) {
    if (box.left < 0 || box.top < 0 || box.left >= box.right || box.top >= box.bottom ||
        box.right > static_cast<int>(c.image_width) || box.bottom > static_cast<int>(c.image_height))
        return Status::broken;
    const Rows rows = start_rows(c, box.left, box.right, box.top);
    rows_.resize(static_cast<size_t>(rows.columns) * 4 + pixel_padding + static_cast<size_t>(padding));
    for (int row = 0; row < box.bottom - box.top; row++) {
        if (!read_row(c, rows_.data())) return Status::broken;
        take_row(rows_.data() + static_cast<size_t>(box.left - rows.first_column) * 4, row);
    }
    return Status::ok;
}

Status Decoder::decode_box(const uint8_t *jpeg, size_t size, const Box &box, std::vector<uint8_t> &pixels) {
    return guarded(jpeg, size, [&](jpeg_decompress_struct &c) {
        const size_t stride = static_cast<size_t>(std::max(0, box.right - box.left)) * 4;
        return rows_of(c, box, 0, [&](const uint8_t *rgbx, int row) {
            if (row == 0) pixels.resize(stride * static_cast<size_t>(box.bottom - box.top));
            std::memcpy(&pixels[stride * static_cast<size_t>(row)], rgbx, stride);
        });
    });
}

Status Decoder::resize_box(const uint8_t *jpeg, size_t size, const Box &box, int out_width, int out_height,
                           std::vector<uint8_t> &pixels) {
    return guarded(jpeg, size, [&](jpeg_decompress_struct &c) {
        const int width = box.right - box.left, height = box.bottom - box.top;
        if (width < 1 || height < 1 || width > static_cast<int>(c.image_width) || height > static_cast<int>(c.image_height))
            return Status::broken;
        exact_.begin(width, height, out_width, out_height);
        const Status status =
            rows_of(c, box, exact_.row_padding(), [&](const uint8_t *rgbx, int row) { exact_.add_row(rgbx, row); });
        if (status == Status::ok) exact_.finish(pixels);
        return status;
    });
}

namespace {

std::vector<uint8_t> sample_jpeg() {
    constexpr int width = 75, height = 45;
    std::vector<uint8_t> result;
    jpeg_compress_struct c;
    jpeg_error_mgr errors;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    unsigned char *data = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&c, &data, &size);
    c.image_width = width;
    c.image_height = height;
    c.input_components = 3;
    c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 95, TRUE);
    c.restart_interval = 3;
    jpeg_start_compress(&c, TRUE);
    uint32_t noise = 1;
    uint8_t row[width * 3];
    while (c.next_scanline < c.image_height) {
        for (uint8_t &v : row) {
            noise = noise * 1664525u + 1013904223u;
            v = static_cast<uint8_t>(noise >> 24);
        }
        JSAMPROW rows[1] = {row};
        jpeg_write_scanlines(&c, rows, 1);
    }
    jpeg_finish_compress(&c);
    result.assign(data, data + size);
    std::free(data);
    jpeg_destroy_compress(&c);
    return result;
}

OwnParts try_own_parts() {
    const std::vector<uint8_t> jpeg = sample_jpeg();
    Decoder decoder;
    const auto decoded_by = [&](OwnParts parts) {
        std::vector<uint8_t> pixels;
        int width = 0, height = 0;
        decoder.allow(parts);
        decoder.counts = DecodeCounts{};
        if (decoder.decode(jpeg.data(), jpeg.size(), pixels, width, height) != Status::ok) pixels.clear();
        return pixels;
    };
    OwnParts works{true, true};
    const std::vector<uint8_t> expected = decoded_by(OwnParts{});
    works.huffman = decoded_by(OwnParts{true, false}) == expected && decoder.counts.sliced == 1;
    works.pixels = decoded_by(OwnParts{false, true}) == expected && decoder.counts.library_pixels == 0;
    return works;
}

} // namespace

OwnParts own_parts() {
    static const OwnParts works = try_own_parts();
    return works;
}

} // namespace danlu
